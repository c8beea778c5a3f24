#include "boot/boot_link.h"

#include "boot/boot_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLOSE_READS_MAX 256

bool boot_link_open(boot_link_t *link, int fd, size_t frame_max)
{
    uint8_t *in = malloc(frame_max);
    int flags = fcntl(fd, F_GETFL);
    if (in == NULL || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        free(in);
        boot_fork_close(fd);
        return false;
    }
    *link = (boot_link_t){.fd = fd, .in = in, .in_size = frame_max, .epoll = -1};
    return true;
}

void boot_link_close(boot_link_t *link, bool end)
{
    if (link->fd >= 0) {
        /* What is unread would turn the end into a reset, which may overtake what was sent last. */
        uint8_t dropped[4096];
        if (end)
            shutdown(link->fd, SHUT_WR);
        for (int i = 0; end && i < CLOSE_READS_MAX; i++) {
            if (recv(link->fd, dropped, sizeof dropped, MSG_DONTWAIT) <= 0)
                break;
        }
        boot_fork_close(link->fd);
    }
    free(link->in);
    free(link->out);
    *link = (boot_link_t){.fd = -1, .epoll = -1};
}

bool boot_link_watch(boot_link_t *link, int epoll, uint64_t data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};
    if (link->out_length > 0)
        event.events |= EPOLLOUT;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, link->fd, &event) != 0)
        return false;
    link->epoll = epoll;
    link->data = data;
    link->watching_out = link->out_length > 0;
    return true;
}

/* Wakes for writing only while there is something to write. */
static void update_interest(boot_link_t *link)
{
    bool wanted = link->out_length > 0 && !link->broken;
    if (link->epoll < 0 || wanted == link->watching_out)
        return;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = link->data};
    if (wanted)
        event.events |= EPOLLOUT;
    if (epoll_ctl(link->epoll, EPOLL_CTL_MOD, link->fd, &event) == 0)
        link->watching_out = wanted;
}

void boot_link_flush(boot_link_t *link)
{
    while (link->fd >= 0 && !link->broken && link->out_length > 0) {
        ssize_t sent = send(link->fd, link->out + link->out_start, link->out_length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (sent < 0) {
            /* What had come before the end stays readable: only the writing is over. */
            link->out_length = 0;
            break;
        }
        link->out_start += (size_t)sent;
        link->out_length -= (size_t)sent;
    }
    if (link->out_length == 0)
        link->out_start = 0;
    update_interest(link);
}

static bool reserve(boot_link_t *link, size_t more)
{
    size_t wanted = link->out_length + more;
    if (wanted > BOOT_LINK_QUEUE_MAX)
        return false;
    if (link->out_start > 0) {
        memmove(link->out, link->out + link->out_start, link->out_length);
        link->out_start = 0;
    }
    if (wanted <= link->out_size)
        return true;
    size_t size = link->out_size * 2 > wanted ? link->out_size * 2 : wanted;
    uint8_t *grown = realloc(link->out, size);
    if (grown == NULL)
        return false;
    link->out = grown;
    link->out_size = size;
    return true;
}

void boot_link_send(boot_link_t *link, const control_message_t *message)
{
    if (link->fd < 0 || link->broken)
        return;
    size_t size = control_size(message);
    if (!reserve(link, size)) {
        link->broken = true;
        shutdown(link->fd, SHUT_RDWR); /* so that it is noticed */
        update_interest(link);
        return;
    }
    control_encode(message, link->out + link->out_length);
    link->out_length += size;
    boot_link_flush(link);
}

void boot_link_read(boot_link_t *link)
{
    if (link->fd < 0 || link->broken)
        return;
    if (link->in_start > 0) {
        memmove(link->in, link->in + link->in_start, link->in_length);
        link->in_start = 0;
    }
    if (link->in_length == link->in_size)
        return;
    ssize_t got;
    do {
        got = recv(link->fd, link->in + link->in_length, link->in_size - link->in_length, 0);
    } while (got < 0 && errno == EINTR);
    if (got > 0)
        link->in_length += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
        link->broken = true;
}

boot_link_result_t boot_link_next(boot_link_t *link, control_message_t *message)
{
    size_t used = 0;
    if (link->fd < 0)
        return BOOT_LINK_BROKEN;
    switch (control_decode(link->in + link->in_start, link->in_length, message, &used)) {
    case CONTROL_READ_MESSAGE:
        link->in_start += used;
        link->in_length -= used;
        return BOOT_LINK_MESSAGE;
    case CONTROL_READ_GARBAGE:
        link->broken = true;
        break;
    case CONTROL_READ_MORE:
        /* A frame that is longer than the room for it is not meant for this side. */
        if (link->in_start == 0 && link->in_length == link->in_size)
            link->broken = true;
        break;
    }
    return link->broken ? BOOT_LINK_BROKEN : BOOT_LINK_NOTHING;
}
