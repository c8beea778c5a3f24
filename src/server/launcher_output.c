/*
 * The ranks' output. Whole lines are taken from the pipes and put, with a label, into one queue per
 * standard descriptor of the launcher; the queue is written without ever waiting, so that a reader
 * who stands still does not keep the launcher from its other work. While the queue is long, no more
 * is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/launcher_state.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define QUEUE_FULL ((size_t)1 << 20)
#define READ_SIZE ((size_t)1 << 16)
/* Reads from one pipe before others have their turn. */
#define READS_MAX 4

static void on_stream(uv_poll_t *poll, int status, int events);

/*
 * ---- The launcher's descriptors ---------------------------------------------------------------
 */

static launcher_output_way_t choose_way(int *fd)
{
    struct stat about;
    char path[32];
    if (fstat(*fd, &about) != 0 || S_ISREG(about.st_mode))
        return LAUNCHER_OUTPUT_BLOCKING;
    if (S_ISSOCK(about.st_mode))
        return LAUNCHER_OUTPUT_SOCKET;
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again < 0)
        return LAUNCHER_OUTPUT_CAREFUL;
    *fd = again;
    return LAUNCHER_OUTPUT_NONBLOCKING;
}

bool launcher_output_open(launcher_t *launcher, launcher_output_t *output, int fd)
{
    *output = (launcher_output_t){.launcher = launcher, .fd = fd};
    output->way = choose_way(&output->fd);
    if (output->way == LAUNCHER_OUTPUT_BLOCKING)
        return true;
    /* A device like /dev/null cannot be waited for, and never needs to be. */
    int flags = fcntl(output->fd, F_GETFL);
    output->pollable = uv_poll_init(&launcher->loop, &output->poll, output->fd) == 0;
    /* libuv has made it nonblocking, which would concern everybody who shares it. */
    if (output->way != LAUNCHER_OUTPUT_NONBLOCKING && flags >= 0)
        fcntl(output->fd, F_SETFL, flags);
    output->poll.data = output;
    return true;
}

/* Nobody reads any more: the ranks shall learn it as they would without a launcher. */
static void break_output(launcher_output_t *output)
{
    launcher_t *launcher = output->launcher;
    output->broken = true;
    output->queue_length = 0;
    for (uint32_t rank = 0; rank < launcher->started; rank++) {
        for (int i = 0; i < 2; i++) {
            launcher_stream_t *stream = &launcher->ranks[rank].streams[i];
            if (stream->output == output)
                launcher_stream_close(stream);
        }
    }
}

static ssize_t write_some(const launcher_output_t *output, const char *bytes, size_t length)
{
    struct pollfd ready = {.fd = output->fd, .events = POLLOUT};
    switch (output->way) {
    case LAUNCHER_OUTPUT_SOCKET:
        return send(output->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    case LAUNCHER_OUTPUT_CAREFUL:
        if (poll(&ready, 1, 0) <= 0) {
            errno = EAGAIN;
            return -1;
        }
        return write(output->fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
    case LAUNCHER_OUTPUT_BLOCKING:
    case LAUNCHER_OUTPUT_NONBLOCKING:
        break;
    }
    return write(output->fd, bytes, length);
}

static void resume_streams(launcher_output_t *output)
{
    launcher_t *launcher = output->launcher;
    for (uint32_t rank = 0; rank < launcher->started; rank++) {
        for (int i = 0; i < 2; i++) {
            launcher_stream_t *stream = &launcher->ranks[rank].streams[i];
            if (stream->output != output || stream->fd < 0 || !stream->paused)
                continue;
            stream->paused = false;
            uv_poll_start(&stream->poll, UV_READABLE, on_stream);
        }
    }
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    launcher_output_t *output = poll->data;
    (void)status;
    (void)events;
    bool all = launcher_output_flush(output);
    if (output->queue_length < QUEUE_FULL / 2)
        resume_streams(output);
    if (all)
        launcher_check_finished(output->launcher);
}

bool launcher_output_flush(launcher_output_t *output)
{
    while (output->queue_length > 0) {
        ssize_t written =
            write_some(output, output->queue + output->queue_start, output->queue_length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && output->pollable) {
            if (!output->polling)
                uv_poll_start(&output->poll, UV_WRITABLE, on_writable);
            output->polling = true;
            return false;
        }
        if (written < 0) {
            int reason = errno;
            break_output(output);
            if (reason == EPIPE)
                break; /* nobody wants it any more, as the ranks will see */
            output->launcher->output_lost = true;
            if (output == &output->launcher->outputs[0])
                launcher_say(output->launcher, "cannot write: %s", strerror(reason));
            break;
        }
        output->queue_start += (size_t)written;
        output->queue_length -= (size_t)written;
    }
    output->queue_start = 0;
    if (output->polling)
        uv_poll_stop(&output->poll);
    output->polling = false;
    return true;
}

void launcher_output_close(launcher_output_t *output)
{
    if (output->pollable)
        uv_close((uv_handle_t *)&output->poll, NULL);
    if (output->way == LAUNCHER_OUTPUT_NONBLOCKING)
        close(output->fd);
    free(output->queue);
    output->queue = NULL;
    output->queue_length = 0;
    output->broken = true;
}

static bool reserve(launcher_output_t *output, size_t more)
{
    if (output->queue_start + output->queue_length + more <= output->queue_size)
        return true;
    if (output->queue_start > 0) {
        memmove(output->queue, output->queue + output->queue_start, output->queue_length);
        output->queue_start = 0;
    }
    size_t wanted = output->queue_length + more;
    if (wanted <= output->queue_size)
        return true;
    size_t size = output->queue_size * 2 > wanted ? output->queue_size * 2 : wanted;
    char *grown = realloc(output->queue, size);
    if (grown == NULL)
        return false;
    output->queue = grown;
    output->queue_size = size;
    return true;
}

static void put(launcher_output_t *output, const char *bytes, size_t length)
{
    if (length == 0)
        return;
    memcpy(output->queue + output->queue_start + output->queue_length, bytes, length);
    output->queue_length += length;
    output->in_line = bytes[length - 1] != '\n';
}

/* Queues one line, which is first and then rest; ended where it does not end itself and shall. */
static void put_line(launcher_output_t *output, const char *label, const char *first,
                     size_t first_length, const char *rest, size_t rest_length, bool ended)
{
    size_t label_length = strlen(label);
    if (output->broken || first_length + rest_length == 0)
        return;
    if (!reserve(output, label_length + first_length + rest_length + 2)) {
        output->launcher->output_lost = true;
        break_output(output);
        return;
    }
    if (output->in_line)
        put(output, "\n", 1);
    put(output, label, label_length);
    put(output, first, first_length);
    put(output, rest, rest_length);
    if (ended && output->in_line)
        put(output, "\n", 1);
}

void launcher_say(launcher_t *launcher, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t shown = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    put_line(&launcher->outputs[1], "muster run: ", line, shown, "", 0, true);
    launcher_output_flush(&launcher->outputs[1]);
}

/*
 * ---- The ranks' pipes -------------------------------------------------------------------------
 */

static void emit(launcher_stream_t *stream, const char *bytes, size_t length)
{
    char label[16] = "";
    bool labelled = stream->rank->launcher->options->label;
    if (labelled)
        snprintf(label, sizeof label, "[%u] ", stream->rank->rank);
    put_line(stream->output, label, stream->line, stream->line_length, bytes, length, labelled);
    stream->line_length = 0;
}

static void keep(launcher_stream_t *stream, const char *bytes, size_t length)
{
    if (length == 0)
        return;
    size_t wanted = stream->line_length + length;
    if (wanted > stream->line_size) {
        size_t size = stream->line_size * 2 > wanted ? stream->line_size * 2 : wanted;
        char *grown = realloc(stream->line, size);
        if (grown == NULL) {
            emit(stream, bytes, length);
            return;
        }
        stream->line = grown;
        stream->line_size = size;
    }
    memcpy(stream->line + stream->line_length, bytes, length);
    stream->line_length = wanted;
    if (wanted >= LINE_MAX_BYTES)
        emit(stream, "", 0);
}

static void take(launcher_stream_t *stream, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        if (end == NULL)
            break;
        size_t line = (size_t)(end - bytes) + 1;
        emit(stream, bytes, line);
        bytes += line;
        length -= line;
    }
    keep(stream, bytes, length);
}

void launcher_stream_close(launcher_stream_t *stream)
{
    if (stream->fd < 0)
        return;
    uv_close((uv_handle_t *)&stream->poll, NULL);
    close(stream->fd);
    stream->fd = -1;
    emit(stream, "", 0);
    free(stream->line);
    stream->line = NULL;
    stream->line_size = 0;
}

static void on_stream(uv_poll_t *poll, int status, int events)
{
    static char bytes[READ_SIZE];
    launcher_stream_t *stream = poll->data;
    launcher_output_t *output = stream->output;
    (void)status;
    (void)events;
    for (int i = 0; i < READS_MAX && stream->fd >= 0; i++) {
        if (output->queue_length >= QUEUE_FULL) {
            stream->paused = true;
            uv_poll_stop(poll);
            break;
        }
        ssize_t got = read(stream->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (got > 0)
            take(stream, bytes, (size_t)got);
        else
            launcher_stream_close(stream);
    }
    launcher_output_flush(output);
    if (stream->paused && output->queue_length < QUEUE_FULL / 2)
        resume_streams(output);
    if (stream->fd < 0)
        launcher_check_finished(stream->rank->launcher);
}

bool launcher_stream_open(launcher_stream_t *stream, launcher_rank_t *rank,
                          launcher_output_t *output, int fd)
{
    *stream = (launcher_stream_t){.rank = rank, .output = output, .fd = -1};
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        uv_poll_init(&rank->launcher->loop, &stream->poll, fd) != 0) {
        close(fd);
        return false;
    }
    stream->fd = fd;
    stream->poll.data = stream;
    uv_poll_start(&stream->poll, UV_READABLE, on_stream);
    if (output->broken)
        launcher_stream_close(stream);
    return true;
}
