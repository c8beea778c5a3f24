/*
 * The launcher's side of the control protocol. Through a rank's door come connections; a connection
 * joins the next meeting of its rank, and the meeting's hub does the rest. One process may join
 * several times, one after the other or at once; another process that wants to be the same rank
 * meanwhile is refused and told who holds it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "core/assertion.h"
#include "server/launcher_state.h"

/* The longest frame that a rank sends. */
#define FRAME_MAX (CONTROL_HEADER_SIZE + CONTROL_BLOB_MAX)
#define CONNECTIONS_MAX 16
#define DOOR_ACCEPTS_MAX 4
#define QUEUE_MAX ((size_t)256 << 20)
/*
 * A process's descriptors are closed a little before its end can be seen: only that says how it
 * ended.
 */
#define END_WAIT_MS 100

struct launcher_connection {
    launcher_connection_t *next;
    launcher_rank_t *rank;
    uv_pipe_t pipe;
    uv_timer_t timer;            /* its end is seen, the process's is not yet */
    uint32_t handles;            /* that are still to be closed before it can be freed */
    launcher_meeting_t *meeting; /* NULL: has not joined */
    uint32_t pid;
    bool left;
    bool closing;
    size_t length;
    uint8_t bytes[FRAME_MAX];
};

typedef struct frame {
    uv_write_t request;
    launcher_connection_t *last; /* to be closed when it is written; NULL: go on */
    uint8_t bytes[];
} frame_t;

static void close_connection(launcher_connection_t *connection);

/*
 * ---- Sending ----------------------------------------------------------------------------------
 */

static void on_written(uv_write_t *request, int status)
{
    frame_t *frame = (frame_t *)request;
    (void)status;
    if (frame->last != NULL)
        close_connection(frame->last);
    free(frame);
}

static void send_message(launcher_connection_t *connection, const control_message_t *message,
                         bool last)
{
    size_t size = control_size(message);
    frame_t *frame;
    int fd;
    if (connection->closing)
        return;
    /*
     * Where there is no memory, or nobody reads, the connection's end tells what the message
     * cannot.
     */
    if (uv_stream_get_write_queue_size((uv_stream_t *)&connection->pipe) > QUEUE_MAX ||
        (frame = malloc(sizeof *frame + size)) == NULL) {
        if (uv_fileno((uv_handle_t *)&connection->pipe, &fd) == 0)
            shutdown(fd, SHUT_RDWR);
        return;
    }
    control_encode(message, frame->bytes);
    frame->last = last ? connection : NULL;
    uv_buf_t part = uv_buf_init((char *)frame->bytes, (unsigned)size);
    if (uv_write(&frame->request, (uv_stream_t *)&connection->pipe, &part, 1, on_written) != 0) {
        free(frame);
        if (last)
            close_connection(connection);
    }
}

static void refuse(launcher_connection_t *connection, control_message_t *refusal)
{
    refusal->kind = CONTROL_REFUSED;
    connection->left = true; /* nothing more is heard from it */
    send_message(connection, refusal, true);
}

/*
 * ---- Meetings ---------------------------------------------------------------------------------
 */

static void hub_sends(void *owner, uint32_t rank, const control_message_t *message)
{
    launcher_meeting_t *meeting = owner;
    launcher_connection_t *connection = meeting->connections[rank];
    if (connection != NULL)
        send_message(connection, message, false);
}

static void close_meeting_if_over(launcher_meeting_t *meeting)
{
    if (!meeting->open || !hub_over(&meeting->hub))
        return;
    for (uint32_t rank = 0; rank < meeting->launcher->size; rank++) {
        if (meeting->connections[rank] != NULL)
            return;
    }
    free(meeting->memory);
    free(meeting->connections);
    sodium_memzero(meeting->secret, sizeof meeting->secret);
    meeting->open = false;
}

/* NULL: no memory, or too many of them are open. */
static launcher_meeting_t *open_meeting(launcher_t *launcher, uint64_t number)
{
    launcher_meeting_t *meeting = &launcher->meetings[number % LAUNCHER_MEETINGS_MAX];
    if (meeting->open)
        return meeting->number == number ? meeting : NULL;
    void *memory = malloc(hub_memory(launcher->size));
    launcher_connection_t **connections = calloc(launcher->size, sizeof(launcher_connection_t *));
    if (memory == NULL || connections == NULL) {
        free(memory);
        free(connections);
        return NULL;
    }
    *meeting = (launcher_meeting_t){.launcher = launcher,
                                    .number = number,
                                    .open = true,
                                    .memory = memory,
                                    .connections = connections};
    randombytes_buf(meeting->job, sizeof meeting->job);
    randombytes_buf(meeting->secret, sizeof meeting->secret);
    hub_begin(&meeting->hub, launcher->size, memory, hub_sends, meeting);
    for (uint32_t rank = 0; rank < launcher->size; rank++) {
        launcher_rank_t *member = &launcher->ranks[rank];
        if (member->ended)
            hub_lose(&meeting->hub, rank, (uint32_t)member->pid, member->how);
    }
    return meeting;
}

/* Another process that holds the rank; NULL: none. */
static launcher_connection_t *holder(const launcher_connection_t *claimant)
{
    launcher_connection_t *other = claimant->rank->connections;
    for (; other != NULL; other = other->next) {
        if (other->meeting != NULL && !other->left && !other->closing &&
            other->pid != claimant->pid) {
            break;
        }
    }
    return other;
}

static void describe_host(char host[MUSTER_HOST_MAX])
{
    memset(host, 0, MUSTER_HOST_MAX);
    gethostname(host, MUSTER_HOST_MAX - 1);
}

static void learn_process(launcher_connection_t *connection, uint32_t said)
{
    struct ucred who = {0};
    socklen_t size = sizeof who;
    int fd;
    connection->pid = said;
    /* The kernel knows better, unless the process lives where its number is another one. */
    if (uv_fileno((uv_handle_t *)&connection->pipe, &fd) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 0) {
        connection->pid = (uint32_t)who.pid;
    }
}

static void welcome(launcher_connection_t *connection, launcher_meeting_t *meeting,
                    const char *host)
{
    launcher_rank_t *rank = connection->rank;
    control_message_t message = {.kind = CONTROL_WELCOME,
                                 .version = CONTROL_VERSION,
                                 .rank = rank->rank,
                                 .size = rank->launcher->size};
    memcpy(message.job, meeting->job, sizeof message.job);
    memcpy(message.secret, meeting->secret, sizeof message.secret);
    connection->meeting = meeting;
    meeting->connections[rank->rank] = connection;
    rank->joins++;
    send_message(connection, &message, false);
    bool joined = hub_join(&meeting->hub, rank->rank, connection->pid, host);
    MUSTER_ASSERT(joined);
}

static void join(launcher_connection_t *connection, const control_message_t *message)
{
    launcher_rank_t *rank = connection->rank;
    control_message_t refusal = {.pid = (uint32_t)getpid()};
    describe_host(refusal.host);
    if (hub_refuses_version("the launcher", rank->rank, message->version, &refusal)) {
        refuse(connection, &refusal);
        return;
    }
    learn_process(connection, message->pid);
    launcher_connection_t *other = holder(connection);
    if (other != NULL) {
        char host[MUSTER_HOST_MAX];
        describe_host(host);
        hub_refuse_duplicate(rank->rank, other->pid, host, &refusal);
        refuse(connection, &refusal);
        return;
    }
    launcher_meeting_t *meeting = rank->ended ? NULL : open_meeting(rank->launcher, rank->joins);
    if (meeting == NULL) {
        refusal.status = MUSTER_REFUSED;
        snprintf(
            refusal.text, sizeof refusal.text,
            "rank %u has joined %llu times, and the ranks that were with it the first %llu times "
            "have not all left yet",
            rank->rank, (unsigned long long)rank->joins,
            (unsigned long long)(rank->joins - LAUNCHER_MEETINGS_MAX + 1));
        refuse(connection, &refusal);
        return;
    }
    welcome(connection, meeting, message->host);
}

/*
 * ---- Connections ------------------------------------------------------------------------------
 */

static void on_handle_closed(uv_handle_t *handle)
{
    launcher_connection_t *connection = handle->data;
    if (--connection->handles == 0)
        free(connection);
}

static void close_connection(launcher_connection_t *connection)
{
    launcher_rank_t *rank = connection->rank;
    if (connection->closing)
        return;
    connection->closing = true;
    launcher_connection_t **place = &rank->connections;
    while (*place != connection)
        place = &(*place)->next;
    *place = connection->next;
    rank->connection_count--;
    launcher_meeting_t *meeting = connection->meeting;
    if (meeting != NULL) {
        meeting->connections[rank->rank] = NULL;
        close_meeting_if_over(meeting);
    }
    uv_close((uv_handle_t *)&connection->pipe, on_handle_closed);
    uv_close((uv_handle_t *)&connection->timer, on_handle_closed);
}

static void lose(launcher_connection_t *connection, const char *how)
{
    launcher_meeting_t *meeting = connection->meeting;
    if (meeting != NULL)
        hub_lose(&meeting->hub, connection->rank->rank, connection->pid, how);
    close_connection(connection);
}

/* false: the connection is closed. */
static bool take_message(launcher_connection_t *connection, const control_message_t *message)
{
    uint32_t rank = connection->rank->rank;
    launcher_meeting_t *meeting = connection->meeting;
    if ((message->kind == CONTROL_JOIN) != (meeting == NULL) || connection->left) {
        lose(connection, "sent a control message out of turn");
        return false;
    }
    if (message->kind == CONTROL_JOIN) {
        join(connection, message);
        return !connection->closing;
    }
    connection->left = message->kind == CONTROL_LEAVE;
    const char *fault = hub_take(&meeting->hub, rank, message);
    if (fault != NULL) {
        lose(connection, fault);
        return false;
    }
    return !connection->closing;
}

/* false: the connection is closed. */
static bool feed(launcher_connection_t *connection)
{
    for (;;) {
        control_message_t message;
        size_t used;
        switch (control_decode(connection->bytes, connection->length, &message, &used)) {
        case CONTROL_READ_MORE:
            if (connection->length < FRAME_MAX)
                return true;
            lose(connection, "sent a control message that is too long");
            return false;
        case CONTROL_READ_GARBAGE:
            lose(connection, "sent bytes that are no control message");
            return false;
        case CONTROL_READ_MESSAGE:
            break;
        }
        if (!take_message(connection, &message))
            return false;
        connection->length -= used;
        memmove(connection->bytes, connection->bytes + used, connection->length);
    }
}

static void on_timer(uv_timer_t *timer)
{
    lose(timer->data, "closed its control connection without leaving");
}

static void on_end(launcher_connection_t *connection)
{
    uv_read_stop((uv_stream_t *)&connection->pipe);
    if (connection->meeting == NULL || connection->left)
        close_connection(connection);
    else
        uv_timer_start(&connection->timer, on_timer, END_WAIT_MS, 0);
}

static void on_allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    launcher_connection_t *connection = handle->data;
    (void)wanted;
    *room = uv_buf_init((char *)connection->bytes + connection->length,
                        (unsigned)(FRAME_MAX - connection->length));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *room)
{
    launcher_connection_t *connection = stream->data;
    (void)room;
    if (got > 0) {
        connection->length += (size_t)got;
        feed(connection);
    } else if (got < 0) {
        on_end(connection);
    }
}

/* Reads what the process had sent before it ended: perhaps that it leaves. */
static void drain(launcher_connection_t *connection)
{
    int fd;
    if (uv_fileno((uv_handle_t *)&connection->pipe, &fd) != 0)
        return;
    for (;;) {
        ssize_t got = recv(fd, connection->bytes + connection->length,
                           FRAME_MAX - connection->length, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        connection->length += (size_t)got;
        if (!feed(connection))
            return;
    }
}

static bool open_connection(launcher_rank_t *rank, int fd)
{
    launcher_connection_t *connection = calloc(1, sizeof *connection);
    if (connection == NULL || rank->connection_count >= CONNECTIONS_MAX ||
        uv_pipe_init(&rank->launcher->loop, &connection->pipe, 0) != 0) {
        free(connection);
        close(fd);
        return false;
    }
    uv_timer_init(&rank->launcher->loop, &connection->timer);
    connection->handles = 2;
    connection->rank = rank;
    connection->pipe.data = connection;
    connection->timer.data = connection;
    connection->next = rank->connections;
    rank->connections = connection;
    rank->connection_count++;
    if (uv_pipe_open(&connection->pipe, fd) != 0) {
        close(fd);
        close_connection(connection);
        return false;
    }
    if (uv_read_start((uv_stream_t *)&connection->pipe, on_allocate, on_read) != 0) {
        close_connection(connection);
        return false;
    }
    return true;
}

/*
 * ---- Doors ------------------------------------------------------------------------------------
 */

/* One descriptor that was passed through the door; -1: none is there, -2: something else was. */
static int receive_descriptor(int door)
{
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    int fd;
    ssize_t got = recvmsg(door, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EINTR ? -2 : -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(int))) {
        return got == 0 ? -1 : -2;
    }
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

static void close_door(launcher_rank_t *rank)
{
    if (rank->door_polling)
        uv_close((uv_handle_t *)&rank->door_poll, NULL);
    rank->door_polling = false;
    if (rank->door >= 0)
        close(rank->door);
    rank->door = -1;
}

static void on_door(uv_poll_t *poll, int status, int events)
{
    launcher_rank_t *rank = poll->data;
    (void)status;
    for (int i = 0; i < DOOR_ACCEPTS_MAX; i++) {
        int fd = receive_descriptor(rank->door);
        if (fd >= 0)
            open_connection(rank, fd);
        if (fd != -1)
            continue;
        /* Nobody holds the other end any more. */
        if ((events & UV_DISCONNECT) != 0 && i == 0)
            close_door(rank);
        return;
    }
}

bool launcher_door_open(launcher_rank_t *rank, int door)
{
    rank->door = door;
    if (uv_poll_init_socket(&rank->launcher->loop, &rank->door_poll, door) != 0)
        return false;
    rank->door_poll.data = rank;
    rank->door_polling = true;
    return uv_poll_start(&rank->door_poll, UV_READABLE | UV_DISCONNECT, on_door) == 0;
}

void launcher_control_ended(launcher_rank_t *rank)
{
    launcher_t *launcher = rank->launcher;
    if (rank->door >= 0)
        on_door(&rank->door_poll, 0, UV_READABLE);
    for (launcher_connection_t *next, *connection = rank->connections; connection != NULL;
         connection = next) {
        next = connection->next;
        drain(connection);
    }
    for (int i = 0; i < LAUNCHER_MEETINGS_MAX; i++) {
        launcher_meeting_t *meeting = &launcher->meetings[i];
        if (meeting->open)
            hub_lose(&meeting->hub, rank->rank, (uint32_t)rank->pid, rank->how);
    }
    while (rank->connections != NULL)
        close_connection(rank->connections);
    for (int i = 0; i < LAUNCHER_MEETINGS_MAX; i++)
        close_meeting_if_over(&launcher->meetings[i]);
    close_door(rank);
}

void launcher_control_close(launcher_t *launcher)
{
    for (uint32_t i = 0; i < launcher->size; i++) {
        while (launcher->ranks[i].connections != NULL)
            close_connection(launcher->ranks[i].connections);
        close_door(&launcher->ranks[i]);
    }
    for (int i = 0; i < LAUNCHER_MEETINGS_MAX; i++) {
        launcher_meeting_t *meeting = &launcher->meetings[i];
        if (!meeting->open)
            continue;
        free(meeting->memory);
        free(meeting->connections);
        meeting->open = false;
    }
}
