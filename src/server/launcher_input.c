/*
 * Standard input: rank 0 has it, the others have none. A terminal is relayed, line by line as it
 * gives them.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "server/launcher_state.h"

static void on_terminal(uv_poll_t *poll, int status, int events);

static void stop_relaying(launcher_input_t *input)
{
    if (!input->relaying)
        return;
    input->relaying = false;
    uv_close((uv_handle_t *)&input->terminal, NULL);
    uv_close((uv_handle_t *)&input->pipe, NULL);
    close(input->fd);
}

static void on_pipe(uv_poll_t *poll, int status, int events)
{
    launcher_input_t *input = poll->data;
    (void)status;
    (void)events;
    while (input->length > 0) {
        ssize_t written = write(input->fd, input->bytes + input->start, input->length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN) {
            uv_poll_start(&input->pipe, UV_WRITABLE, on_pipe);
            return;
        }
        if (written < 0) {
            stop_relaying(input);
            return;
        }
        input->start += (size_t)written;
        input->length -= (size_t)written;
    }
    uv_poll_stop(&input->pipe);
    uv_poll_start(&input->terminal, UV_READABLE, on_terminal);
}

static void on_terminal(uv_poll_t *poll, int status, int events)
{
    launcher_input_t *input = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(&input->terminal);
    /* In the background, reading would stop the launcher. It goes on when it is continued. */
    if (tcgetpgrp(STDIN_FILENO) != getpgrp())
        return;
    ssize_t got = read(STDIN_FILENO, input->bytes, sizeof input->bytes);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        stop_relaying(input);
        return;
    }
    input->start = 0;
    input->length = got > 0 ? (size_t)got : 0;
    on_pipe(&input->pipe, 0, UV_WRITABLE);
}

static int relay_terminal(launcher_t *launcher)
{
    launcher_input_t *input = &launcher->input;
    int ends[2];
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 ||
        uv_poll_init(&launcher->loop, &input->terminal, STDIN_FILENO) != 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    if (uv_poll_init(&launcher->loop, &input->pipe, ends[1]) != 0) {
        uv_close((uv_handle_t *)&input->terminal, NULL);
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    /* libuv has made the terminal nonblocking: it belongs to others, too. */
    if (flags >= 0)
        fcntl(STDIN_FILENO, F_SETFL, flags);
    input->fd = ends[1];
    input->relaying = true;
    input->terminal.data = input;
    input->pipe.data = input;
    uv_poll_start(&input->terminal, UV_READABLE, on_terminal);
    return ends[0];
}

int launcher_input_open(launcher_t *launcher, uint32_t rank)
{
    if (rank > 0)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (isatty(STDIN_FILENO))
        return relay_terminal(launcher);
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

void launcher_input_resume(launcher_t *launcher)
{
    launcher_input_t *input = &launcher->input;
    if (input->relaying && input->length == 0) {
        uv_poll_start(&input->terminal, UV_READABLE, on_terminal);
    }
}

void launcher_input_close(launcher_t *launcher)
{
    stop_relaying(&launcher->input);
}
