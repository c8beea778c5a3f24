/* A connection that is up: bytes of messages to bytes of the socket, and back. */
#include "core/assertion.h"
#include "transport/tcp_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TCP_PARTS_MAX 64 /* of one write */
/* Payload bytes that are written in one part with the header. */
#define TCP_JOINED_MAX ((size_t)2048)
#define TCP_DRAIN_MAX ((size_t)4 << 20) /* bytes that are read away at the end */

bool tcp_stream_begin(tcp_transport_t *tcp, uint32_t peer_rank, int descriptor)
{
    tcp_peer_t *peer = &tcp->peers[peer_rank];
    tcp_stream_t *stream = malloc(sizeof *stream);
    if (stream == NULL)
        return false;
    /* All but the buffer. */
    memset(stream, 0, offsetof(tcp_stream_t, buffer));
    if (!tcp_watch(tcp, EPOLL_CTL_MOD, descriptor, EPOLLIN, TCP_TAG_STREAM, peer_rank)) {
        free(stream);
        return false;
    }
    stream->descriptor = descriptor;
    stream->peer = peer_rank;
    stream->index = tcp->stream_count;
    tcp->streams[tcp->stream_count++] = stream;
    peer->stream = stream;
    peer->state = TCP_UP;
    /* Whoever connects may have sent at once. */
    atomic_store(&tcp->attention, true);
    if (peer->first != NULL)
        tcp_stream_flush(tcp, stream);
    return true;
}

/* So that closing does not reset the connection under what was sent: what came is read away. */
static void tcp_stream_drain(tcp_stream_t *stream)
{
    shutdown(stream->descriptor, SHUT_WR);
    for (size_t read_away = 0; read_away < TCP_DRAIN_MAX;) {
        ssize_t length =
            recv(stream->descriptor, stream->buffer, sizeof stream->buffer, MSG_DONTWAIT);
        if (length <= 0)
            return;
        read_away += (size_t)length;
    }
}

void tcp_stream_close(tcp_transport_t *tcp, tcp_stream_t *stream)
{
    tcp_stream_await_room(tcp, stream, false);
    if (!stream->ended)
        tcp_stream_drain(stream);
    close(stream->descriptor);
    tcp_stream_t *last = tcp->streams[--tcp->stream_count];
    tcp->streams[stream->index] = last;
    last->index = stream->index;
    for (tcp_stream_t **link = &tcp->doomed; *link != NULL; link = &(*link)->next_doomed) {
        if (*link == stream) {
            *link = stream->next_doomed;
            break;
        }
    }
    if (tcp->current == stream)
        tcp->current = NULL;
    if (tcp->unplaced == stream)
        tcp->unplaced = NULL;
    tcp->peers[stream->peer].stream = NULL;
    free(stream);
}

static void tcp_stream_end(tcp_stream_t *stream, muster_status_t status, const char *why)
{
    stream->ended = true;
    if (stream->doomed)
        return; /* it has its reason */
    stream->status = status;
    snprintf(stream->why, sizeof stream->why, "%s", why);
}

void tcp_stream_doom(tcp_transport_t *tcp, tcp_stream_t *stream, muster_status_t status,
                     const char *why)
{
    if (stream->doomed || stream->ended)
        return;
    stream->doomed = true;
    stream->status = status;
    snprintf(stream->why, sizeof stream->why, "%s", why);
    tcp->peers[stream->peer].closed = true;
    tcp_stream_await_room(tcp, stream, false);
    stream->next_doomed = tcp->doomed;
    tcp->doomed = stream;
    tcp_alert(tcp);
}

/* ---- Writing --------------------------------------------------------------------------------- */

void tcp_stream_await_room(tcp_transport_t *tcp, tcp_stream_t *stream, bool wanted)
{
    if (stream->waits_for_room == wanted)
        return;
    stream->waits_for_room = wanted;
    tcp->rooms_awaited += wanted ? 1 : (uint32_t)-1;
    tcp_watch(tcp, EPOLL_CTL_MOD, stream->descriptor, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN,
              TCP_TAG_STREAM, stream->peer);
}

static void tcp_stream_write_failed(tcp_transport_t *tcp, tcp_stream_t *stream, int error)
{
    char why[TCP_WHY_MAX];
    char text[128];
    snprintf(why, sizeof why, "writing to its connection failed: %s",
             strerror_r(error, text, sizeof text));
    tcp_stream_doom(tcp, stream, MUSTER_PEER_LOST, why);
}

/* Bytes that went, 0 when there is no room; -1: broken. */
static ssize_t tcp_stream_write_parts(tcp_transport_t *tcp, tcp_stream_t *stream,
                                      struct iovec *parts, size_t count)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    for (;;) {
        ssize_t written = count == 1
                              ? send(stream->descriptor, parts->iov_base, parts->iov_len, flags)
                              : sendmsg(stream->descriptor, &message, flags);
        if (written >= 0)
            return written;
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM)
            return 0;
        tcp_stream_write_failed(tcp, stream, errno);
        return -1;
    }
}

ssize_t tcp_stream_write(tcp_transport_t *tcp, tcp_stream_t *stream, const uint8_t *header,
                         const transport_span_t *spans, size_t span_count, size_t length)
{
    if (length <= TCP_JOINED_MAX) {
        /* The kernel takes one part more cheaply than several, by more than the copy costs. */
        uint8_t joined[WIRE_HEADER_SIZE + TCP_JOINED_MAX];
        memcpy(joined, header, WIRE_HEADER_SIZE);
        size_t end = WIRE_HEADER_SIZE;
        for (size_t i = 0; i < span_count; i++) {
            if (spans[i].length > 0)
                memcpy(joined + end, spans[i].bytes, spans[i].length);
            end += spans[i].length;
        }
        struct iovec whole = {.iov_base = joined, .iov_len = end};
        return tcp_stream_write_parts(tcp, stream, &whole, 1);
    }
    struct iovec parts[1 + TRANSPORT_SPANS_MAX];
    parts[0] = (struct iovec){.iov_base = (void *)(uintptr_t)header, .iov_len = WIRE_HEADER_SIZE};
    for (size_t i = 0; i < span_count; i++)
        parts[1 + i] = (struct iovec){.iov_base = spans[i].bytes, .iov_len = spans[i].length};
    return tcp_stream_write_parts(tcp, stream, parts, 1 + span_count);
}

/* The rest of a message as parts; returns how many, at most room. */
static size_t tcp_send_parts(const tcp_send_t *send, struct iovec *parts, size_t room)
{
    size_t count = 0;
    if (send->header_left > 0 && room > 0)
        parts[count++] = (struct iovec){
            .iov_base = (void *)(uintptr_t)(send->header + WIRE_HEADER_SIZE - send->header_left),
            .iov_len = send->header_left};
    for (size_t i = send->span; i < send->span_count && count < room; i++) {
        size_t offset = i == send->span ? send->span_offset : 0;
        if (send->spans[i].length > offset)
            parts[count++] = (struct iovec){.iov_base = (uint8_t *)send->spans[i].bytes + offset,
                                            .iov_len = send->spans[i].length - offset};
    }
    return count;
}

void tcp_stream_flush(tcp_transport_t *tcp, tcp_stream_t *stream)
{
    tcp_peer_t *peer = &tcp->peers[stream->peer];
    while (peer->first != NULL && !stream->doomed && !stream->ended) {
        struct iovec parts[TCP_PARTS_MAX];
        size_t count = 0, asked = 0;
        for (tcp_send_t *send = peer->first; send != NULL && count < TCP_PARTS_MAX;
             send = send->next)
            count += tcp_send_parts(send, parts + count, TCP_PARTS_MAX - count);
        for (size_t i = 0; i < count; i++)
            asked += parts[i].iov_len;
        ssize_t written = tcp_stream_write_parts(tcp, stream, parts, count);
        if (written < 0)
            return;
        size_t left = (size_t)written;
        while (peer->first != NULL) {
            tcp_send_t *send = peer->first;
            size_t whole = send->header_left + send->payload_left;
            if (left < whole) {
                tcp_send_advance(send, left);
                break;
            }
            left -= whole;
            tcp_peer_sent(tcp, peer);
        }
        if ((size_t)written < asked)
            break;
    }
    tcp_stream_await_room(tcp, stream, peer->first != NULL && !stream->doomed && !stream->ended);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* How the bytes that come next are laid out: what is missing of a payload, then the buffer. */
static size_t tcp_stream_parts(tcp_stream_t *stream, struct iovec *parts)
{
    size_t count = 0;
    if (stream->receiving && !stream->dropping) {
        for (size_t i = stream->span; i < stream->span_count; i++) {
            size_t offset = i == stream->span ? stream->span_offset : 0;
            parts[count++] = (struct iovec){.iov_base = (uint8_t *)stream->spans[i].bytes + offset,
                                            .iov_len = stream->spans[i].length - offset};
        }
    }
    parts[count++] = (struct iovec){.iov_base = stream->buffer + stream->end,
                                    .iov_len = sizeof stream->buffer - stream->end};
    return count;
}

/* Moves the place in the spans forward; what lies there is written already. */
static void tcp_stream_fill(tcp_stream_t *stream, size_t length)
{
    stream->left -= length;
    while (length > 0) {
        size_t room = stream->spans[stream->span].length - stream->span_offset;
        if (length < room) {
            stream->span_offset += length;
            return;
        }
        length -= room;
        stream->span++;
        stream->span_offset = 0;
    }
}

static void tcp_stream_read_failed(tcp_stream_t *stream, int error)
{
    char why[TCP_WHY_MAX];
    char text[128];
    snprintf(why, sizeof why, "its connection broke: %s", strerror_r(error, text, sizeof text));
    tcp_stream_end(stream, MUSTER_PEER_LOST, why);
}

bool tcp_stream_read(tcp_transport_t *tcp, tcp_stream_t *stream)
{
    (void)tcp;
    if (stream->ended)
        return true;
    if (stream->begin > 0) {
        memmove(stream->buffer, stream->buffer + stream->begin, stream->end - stream->begin);
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    ssize_t length;
    do {
        if (stream->receiving && !stream->dropping) {
            struct iovec parts[TRANSPORT_SPANS_MAX + 1];
            struct msghdr message = {.msg_iov = parts,
                                     .msg_iovlen = tcp_stream_parts(stream, parts)};
            length = recvmsg(stream->descriptor, &message, MSG_DONTWAIT);
        } else {
            length = recv(stream->descriptor, stream->buffer + stream->end,
                          sizeof stream->buffer - stream->end, MSG_DONTWAIT);
        }
    } while (length < 0 && errno == EINTR);
    /* The result tells the end; errno means something only below zero. */
    if (length == 0) {
        tcp_stream_end(stream, MUSTER_PEER_LOST, "it closed its connection");
        return true;
    }
    if (length < 0) {
        bool nothing = errno == EAGAIN || errno == EWOULDBLOCK;
        if (nothing && !stream->doomed)
            return false;
        tcp_stream_read_failed(stream, errno);
        return true;
    }
    size_t arrived = (size_t)length;
    if (stream->receiving && !stream->dropping) {
        size_t placed = arrived < stream->left ? arrived : stream->left;
        tcp_stream_fill(stream, placed);
        arrived -= placed;
    }
    stream->end += arrived;
    return true;
}

/* Takes a placed or dropped payload's bytes out of the buffer. */
static void tcp_stream_unload(tcp_stream_t *stream)
{
    size_t there = stream->end - stream->begin;
    size_t length = there < stream->left ? there : stream->left;
    if (stream->dropping) {
        stream->left -= length;
        stream->begin += length;
        return;
    }
    while (length > 0) {
        transport_span_t *span = &stream->spans[stream->span];
        size_t room = span->length - stream->span_offset;
        size_t part = length < room ? length : room;
        if (part > 0)
            memcpy((uint8_t *)span->bytes + stream->span_offset, stream->buffer + stream->begin,
                   part);
        tcp_stream_fill(stream, part);
        if (part == 0) {
            stream->span++; /* an empty span */
            stream->span_offset = 0;
        }
        stream->begin += part;
        length -= part;
    }
}

bool tcp_stream_next(tcp_transport_t *tcp, tcp_stream_t *stream, transport_event_t *event)
{
    *event = (transport_event_t){.peer = stream->peer};
    if (stream->receiving) {
        tcp_stream_unload(stream);
        if (stream->left > 0)
            return false;
        stream->receiving = false;
        if (!stream->dropping) {
            event->kind = TRANSPORT_RECEIVED;
            event->token = stream->token;
            return true;
        }
    }
    size_t there = stream->end - stream->begin;
    if (there < WIRE_HEADER_SIZE)
        return false;
    const uint8_t *bytes = stream->buffer + stream->begin;
    uint64_t length = wire_payload_length(bytes);
    if (length > WIRE_PAYLOAD_MAX) {
        stream->begin = stream->end;
        tcp_stream_end(stream, MUSTER_PROTOCOL, "it sent a message longer than any message is");
        return false;
    }
    event->header = bytes;
    event->payload_length = (size_t)length;
    if (length > TRANSPORT_INLINE_MAX) {
        stream->begin += WIRE_HEADER_SIZE;
        stream->left = (size_t)length;
        stream->unplaced = true;
        tcp->unplaced = stream;
        event->kind = TRANSPORT_HEADER;
        return true;
    }
    if (there < WIRE_HEADER_SIZE + length)
        return false;
    stream->begin += WIRE_HEADER_SIZE + (size_t)length;
    event->kind = TRANSPORT_MESSAGE;
    event->payload = bytes + WIRE_HEADER_SIZE;
    return true;
}

void tcp_stream_place(tcp_stream_t *stream, const transport_span_t *spans, size_t span_count,
                      void *token)
{
    MUSTER_ASSERT(stream->unplaced && span_count <= TRANSPORT_SPANS_MAX);
    size_t length = 0;
    for (size_t i = 0; i < span_count; i++)
        length += spans[i].length;
    MUSTER_ASSERT(span_count == 0 || length == stream->left);
    stream->unplaced = false;
    stream->receiving = true;
    stream->dropping = span_count == 0;
    stream->token = token;
    stream->span = 0;
    stream->span_offset = 0;
    stream->span_count = span_count;
    if (span_count > 0)
        memcpy(stream->spans, spans, span_count * sizeof *spans);
}
