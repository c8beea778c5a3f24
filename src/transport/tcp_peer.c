/* A peer's messages that wait to be written, and its loss. */
#include "core/assertion.h"
#include "transport/tcp_private.h"

#include <stdlib.h>
#include <string.h>

tcp_send_t *tcp_send_create(const uint8_t *header, const transport_span_t *spans, size_t span_count,
                            size_t length, size_t skip, bool copied)
{
    tcp_send_t *send = malloc(sizeof *send + (copied ? length : 0));
    if (send == NULL)
        return NULL;
    send->next = NULL;
    send->token = NULL;
    send->borrowed = !copied;
    send->header_left = WIRE_HEADER_SIZE;
    send->payload_left = length;
    send->span = 0;
    send->span_offset = 0;
    memcpy(send->header, header, WIRE_HEADER_SIZE);
    if (copied) {
        size_t at = 0;
        for (size_t i = 0; i < span_count; i++) {
            if (spans[i].length > 0)
                memcpy(send->copy + at, spans[i].bytes, spans[i].length);
            at += spans[i].length;
        }
        send->spans[0] = (transport_span_t){.bytes = send->copy, .length = length};
        send->span_count = 1;
    } else {
        if (span_count > 0)
            memcpy(send->spans, spans, span_count * sizeof *spans);
        send->span_count = span_count;
    }
    tcp_send_advance(send, skip);
    return send;
}

void tcp_send_advance(tcp_send_t *send, size_t written)
{
    size_t of_header = written < send->header_left ? written : send->header_left;
    send->header_left -= of_header;
    written -= of_header;
    MUSTER_ASSERT(written <= send->payload_left);
    send->payload_left -= written;
    while (written > 0) {
        size_t left = send->spans[send->span].length - send->span_offset;
        if (written < left) {
            send->span_offset += written;
            return;
        }
        written -= left;
        send->span++;
        send->span_offset = 0;
    }
}

void tcp_peer_queue(tcp_transport_t *tcp, tcp_peer_t *peer, tcp_send_t *send)
{
    *peer->last = send;
    peer->last = &send->next;
    tcp->queued++;
    if (!send->borrowed)
        peer->copied += send->payload_left + WIRE_HEADER_SIZE;
}

static tcp_send_t *tcp_peer_take(tcp_transport_t *tcp, tcp_peer_t *peer)
{
    tcp_send_t *send = peer->first;
    peer->first = send->next;
    if (peer->first == NULL)
        peer->last = &peer->first;
    tcp->queued--;
    return send;
}

void tcp_peer_sent(tcp_transport_t *tcp, tcp_peer_t *peer)
{
    tcp_send_t *send = tcp_peer_take(tcp, peer);
    if (peer->first == NULL)
        peer->copied = 0; /* counted whole, until nothing waits: an upper bound is enough */
    if (!send->borrowed) {
        free(send);
        return;
    }
    send->next = NULL;
    *tcp->sent_last = send;
    tcp->sent_last = &send->next;
}

void tcp_peer_drop(tcp_transport_t *tcp, tcp_peer_t *peer)
{
    while (peer->first != NULL)
        free(tcp_peer_take(tcp, peer));
    peer->copied = 0;
}

/* What is left of a message, as a copy. */
static tcp_send_t *tcp_send_copy(const tcp_send_t *send)
{
    transport_span_t rest[TRANSPORT_SPANS_MAX];
    size_t count = 0;
    for (size_t i = send->span; i < send->span_count; i++) {
        size_t offset = i == send->span ? send->span_offset : 0;
        rest[count++] = (transport_span_t){.bytes = (uint8_t *)send->spans[i].bytes + offset,
                                           .length = send->spans[i].length - offset};
    }
    tcp_send_t *copy = tcp_send_create(send->header, rest, count, send->payload_left, 0, true);
    if (copy != NULL)
        copy->header_left = send->header_left;
    return copy;
}

bool tcp_peer_forget(tcp_transport_t *tcp, tcp_peer_t *peer, void *token)
{
    for (tcp_send_t **link = &peer->first; *link != NULL; link = &(*link)->next) {
        tcp_send_t *send = *link;
        if (!send->borrowed || send->token != token)
            continue;
        tcp_send_t *copy = tcp_send_copy(send);
        if (copy == NULL)
            return false;
        /* The header's bytes that are written are the first ones: its rest is its end. */
        copy->peer = send->peer;
        copy->next = send->next;
        *link = copy;
        if (peer->last == &send->next)
            peer->last = &copy->next;
        free(send);
    }
    (void)tcp;
    return true;
}

void tcp_peer_lose(tcp_transport_t *tcp, tcp_peer_t *peer, muster_status_t status, const char *why)
{
    if (peer->state == TCP_LOST)
        return;
    /* why may lie in what is closed now. */
    peer->why = strdup(why);
    peer->about.why = peer->why;
    peer->status = status;
    if (peer->stream != NULL)
        tcp_stream_close(tcp, peer->stream);
    if (peer->attempt != NULL)
        tcp_connect_end(tcp, peer);
    tcp_peer_drop(tcp, peer);
    peer->state = TCP_LOST;
    peer->closed = true;
    peer->next_lost = NULL;
    *tcp->lost_last = peer;
    tcp->lost_last = &peer->next_lost;
    tcp_alert(tcp);
}
