#include "transport/tcp.h"

#include "core/assertion.h"
#include "transport/cores.h"
#include "transport/tcp_private.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define TCP_CONNECT_NS ((int64_t)30000000000)
#define TCP_POLLS_MAX 64  /* polls until the kernel is asked for what is ready anyway */
#define TCP_IDLE_POLLS 16 /* polls without anything until that */

static tcp_transport_t *tcp_of(transport_t *transport)
{
    return (tcp_transport_t *)transport;
}

/* ---- For the other files --------------------------------------------------------------------- */

bool tcp_watch(tcp_transport_t *tcp, int operation, int descriptor, uint32_t events, tcp_tag_t tag,
               uint32_t which)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)tag << 32 | which};
    return epoll_ctl(tcp->epoll, operation, descriptor, &event) == 0;
}

void tcp_nonce(uint8_t nonce[HANDSHAKE_NONCE_SIZE])
{
    randombytes_buf(nonce, HANDSHAKE_NONCE_SIZE);
}

void tcp_socket_options(int descriptor)
{
    int yes = 1, idle = 10, interval = 5, count = 4;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static void tcp_mac(void *context, const uint8_t *bytes, size_t length,
                    uint8_t mac[HANDSHAKE_MAC_SIZE])
{
    const tcp_transport_t *tcp = context;
    crypto_generichash(mac, HANDSHAKE_MAC_SIZE, bytes, length, tcp->secret, sizeof tcp->secret);
}

tcp_progress_t tcp_handshake_move(int descriptor, handshake_t *handshake)
{
    for (;;) {
        const uint8_t *output;
        size_t length = handshake_output(handshake, &output);
        if (length > 0) {
            ssize_t sent = send(descriptor, output, length, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && errno == EINTR)
                continue;
            if (sent <= 0)
                return TCP_CLOSED; /* nobody's buffer is too small for so little */
            handshake_sent(handshake, (size_t)sent);
            continue;
        }
        if (handshake->state != HANDSHAKE_OPEN)
            return TCP_MOVED;
        uint8_t input[HANDSHAKE_MESSAGE_MAX];
        ssize_t arrived = recv(descriptor, input, handshake_wants(handshake), MSG_DONTWAIT);
        if (arrived > 0)
            handshake_input(handshake, input, (size_t)arrived);
        else if (arrived == 0)
            return TCP_CLOSED;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return TCP_WAITS;
        else if (errno != EINTR)
            return TCP_CLOSED;
    }
}

/* ---- Sending --------------------------------------------------------------------------------- */

static muster_status_t tcp_send(transport_t *transport, uint32_t peer_rank,
                                const uint8_t header[WIRE_HEADER_SIZE],
                                const transport_span_t *spans, size_t span_count, void *token,
                                bool *done)
{
    tcp_transport_t *tcp = tcp_of(transport);
    MUSTER_ASSERT(peer_rank < transport->size && peer_rank != transport->rank);
    MUSTER_ASSERT(span_count <= TRANSPORT_SPANS_MAX);
    tcp_peer_t *peer = &tcp->peers[peer_rank];
    size_t length = 0;
    for (size_t i = 0; i < span_count; i++)
        length += spans[i].length;
    MUSTER_ASSERT(length == wire_payload_length(header));
    *done = false;
    if (peer->closed)
        return MUSTER_PEER_LOST;
    size_t written = 0;
    if (peer->state == TCP_UP && peer->first == NULL) {
        ssize_t went = tcp_stream_write(tcp, peer->stream, header, spans, span_count, length);
        if (went < 0)
            return MUSTER_PEER_LOST;
        written = (size_t)went;
        if (written == WIRE_HEADER_SIZE + length) {
            *done = true;
            return MUSTER_OK;
        }
    }
    bool copied = length <= TRANSPORT_INLINE_MAX &&
                  peer->copied + WIRE_HEADER_SIZE + length <= TCP_COPIED_MAX;
    tcp_send_t *send = tcp_send_create(header, spans, span_count, length, written, copied);
    if (send == NULL || (peer->state == TCP_IDLE && !tcp_connect_begin(tcp, peer_rank))) {
        free(send);
        if (written > 0)
            tcp_stream_doom(tcp, peer->stream, MUSTER_NO_MEMORY,
                            "there was no memory for the rest of a message to it");
        return written > 0 ? MUSTER_PEER_LOST : MUSTER_NO_MEMORY;
    }
    send->peer = peer_rank;
    send->token = token;
    tcp_peer_queue(tcp, peer, send);
    if (peer->state == TCP_UP)
        tcp_stream_await_room(tcp, peer->stream, true);
    *done = copied;
    return MUSTER_OK;
}

static void tcp_place(transport_t *transport, uint32_t peer, const transport_span_t *spans,
                      size_t span_count, void *token)
{
    tcp_transport_t *tcp = tcp_of(transport);
    MUSTER_ASSERT(tcp->unplaced != NULL && tcp->unplaced->peer == peer);
    tcp_stream_place(tcp->unplaced, spans, span_count, token);
    tcp->unplaced = NULL;
}

static void tcp_lose(transport_t *transport, uint32_t peer_rank, muster_status_t why)
{
    tcp_transport_t *tcp = tcp_of(transport);
    MUSTER_ASSERT(peer_rank < transport->size && peer_rank != transport->rank);
    tcp_peer_t *peer = &tcp->peers[peer_rank];
    if (peer->closed)
        return;
    if (peer->state == TCP_UP)
        tcp_stream_doom(tcp, peer->stream, why, "it was reported to have ended");
    else
        tcp_peer_lose(tcp, peer, why, "it was reported to have ended");
}

static void tcp_forget(transport_t *transport, void *token)
{
    tcp_transport_t *tcp = tcp_of(transport);
    for (tcp_send_t **link = &tcp->sent; *link != NULL;) {
        tcp_send_t *send = *link;
        if (send->token != token) {
            link = &send->next;
            continue;
        }
        *link = send->next;
        if (tcp->sent_last == &send->next)
            tcp->sent_last = link;
        free(send);
    }
    for (uint32_t i = 0; i < tcp->stream_count; i++) {
        tcp_stream_t *stream = tcp->streams[i];
        if (stream->receiving && !stream->dropping && stream->token == token)
            stream->dropping = true;
        tcp_peer_t *peer = &tcp->peers[stream->peer];
        if (!tcp_peer_forget(tcp, peer, token)) {
            tcp_peer_drop(tcp, peer);
            tcp_stream_doom(tcp, stream, MUSTER_NO_MEMORY,
                            "there was no memory for the rest of a message to it");
        }
    }
    for (tcp_attempt_t *attempt = tcp->attempts, *next; attempt != NULL; attempt = next) {
        next = attempt->next;
        tcp_peer_t *peer = &tcp->peers[attempt->peer];
        if (!tcp_peer_forget(tcp, peer, token))
            tcp_peer_lose(tcp, peer, MUSTER_NO_MEMORY, "there was no memory for a message to it");
    }
}

/* ---- Polling --------------------------------------------------------------------------------- */

static bool tcp_tell_sent(tcp_transport_t *tcp, transport_event_t *event)
{
    tcp_send_t *send = tcp->sent;
    if (send == NULL)
        return false;
    tcp->sent = send->next;
    if (tcp->sent == NULL)
        tcp->sent_last = &tcp->sent;
    *event = (transport_event_t){.kind = TRANSPORT_SENT, .peer = send->peer, .token = send->token};
    free(send);
    return true;
}

static bool tcp_tell_lost(tcp_transport_t *tcp, transport_event_t *event)
{
    tcp_peer_t *peer = tcp->lost;
    if (peer == NULL)
        return false;
    tcp->lost = peer->next_lost;
    if (tcp->lost == NULL)
        tcp->lost_last = &tcp->lost;
    *event = (transport_event_t){
        .kind = TRANSPORT_LOST, .peer = (uint32_t)(peer - tcp->peers), .status = peer->status};
    return true;
}

/* Tells what the current stream has, or ends it. */
static bool tcp_tell_current(tcp_transport_t *tcp, transport_event_t *event)
{
    tcp_stream_t *stream = tcp->current;
    if (tcp_stream_next(tcp, stream, event))
        return true;
    tcp->current = NULL;
    if (stream->ended)
        tcp_peer_lose(tcp, &tcp->peers[stream->peer], stream->status, stream->why);
    return false;
}

static void tcp_read(tcp_transport_t *tcp, tcp_stream_t *stream)
{
    if (tcp_stream_read(tcp, stream))
        tcp->current = stream;
}

/*
 * One of the descriptors that the kernel has called ready. What has been closed since is not
 * there.
 */
static void tcp_handle(tcp_transport_t *tcp, uint64_t data, uint32_t events)
{
    uint32_t which = (uint32_t)data;
    switch ((tcp_tag_t)(data >> 32)) {
    case TCP_TAG_WAKE:
        break; /* wait's */
    case TCP_TAG_LISTEN:
        tcp_listen_accept(tcp);
        break;
    case TCP_TAG_SLOT:
        tcp_listen_slot(tcp, which);
        break;
    case TCP_TAG_TRY:
        tcp_connect_try(tcp, which / TCP_TRIES, which % TCP_TRIES);
        break;
    case TCP_TAG_STREAM: {
        tcp_stream_t *stream = tcp->peers[which].stream;
        if (stream == NULL)
            break;
        if (events & EPOLLOUT)
            tcp_stream_flush(tcp, stream);
        if (events & ~(uint32_t)EPOLLOUT)
            tcp_read(tcp, stream);
        break;
    }
    }
}

/* Asks the kernel what is ready. */
static void tcp_ask(tcp_transport_t *tcp)
{
    struct epoll_event events[TCP_EVENTS];
    atomic_store_explicit(&tcp->attention, false, memory_order_relaxed);
    tcp->polls = 0;
    int count = epoll_wait(tcp->epoll, events, TCP_EVENTS, 0);
    tcp->ready_next = 0;
    tcp->ready_count = count > 0 ? (uint32_t)count : 0;
    for (uint32_t i = 0; i < tcp->ready_count; i++) {
        tcp->ready[i] = events[i].data.u64;
        tcp->ready_events[i] = events[i].events;
    }
}

static void tcp_tick(tcp_transport_t *tcp)
{
    int64_t time = atomic_load_explicit(&tcp->timer, memory_order_relaxed);
    if (time == TCP_NEVER)
        return;
    int64_t now = tcp_clock();
    if (now < time)
        return;
    atomic_store(&tcp->timer, TCP_NEVER);
    tcp_timer(tcp, tcp_listen_tick(tcp, now));
    tcp_timer(tcp, tcp_connect_tick(tcp, now));
}

/* What one call of poll has already looked at. */
typedef struct tcp_look {
    bool ticked;
    bool asked;
    uint32_t direct; /* streams that were read without asking */
    bool all_direct;
} tcp_look_t;

/*
 * Looks at the next thing that may have something; false when all were looked at. With few
 * connections they are read directly: asking first which of them is ready costs as much as reading.
 */
static bool tcp_look_on(tcp_transport_t *tcp, tcp_look_t *look)
{
    if (!look->ticked) {
        look->ticked = true;
        tcp_tick(tcp);
        return true;
    }
    if (tcp->doomed != NULL) {
        tcp_read(tcp, tcp->doomed);
        return true;
    }
    if (tcp->ready_next < tcp->ready_count) {
        uint32_t next = tcp->ready_next++;
        tcp_handle(tcp, tcp->ready[next], tcp->ready_events[next]);
        return true;
    }
    bool few = tcp->stream_count <= TCP_DIRECT_MAX;
    if (few && tcp->polls < TCP_POLLS_MAX && look->direct < tcp->stream_count) {
        uint32_t index = (tcp->rotor + look->direct++) % tcp->stream_count;
        tcp_read(tcp, tcp->streams[index]);
        if (tcp->current != NULL)
            tcp->rotor = index;
        return true;
    }
    if (look->asked)
        return false;
    look->asked = true;
    if (few && tcp->stream_count > 0 && tcp->rooms_awaited == 0 && tcp->attempts == NULL &&
        tcp->slots_used == 0 && tcp->polls < TCP_POLLS_MAX && tcp->polls % TCP_IDLE_POLLS != 0 &&
        !atomic_load_explicit(&tcp->attention, memory_order_relaxed))
        return false;
    tcp_ask(tcp);
    return tcp->ready_count > 0;
}

static bool tcp_poll(transport_t *transport, transport_event_t *event)
{
    tcp_transport_t *tcp = tcp_of(transport);
    MUSTER_ASSERT(tcp->unplaced == NULL);
    tcp_look_t look = {.ticked = false};
    tcp->polls++;
    for (;;) {
        if (tcp_tell_sent(tcp, event) || tcp_tell_lost(tcp, event) ||
            (tcp->current != NULL && tcp_tell_current(tcp, event))) {
            if (!atomic_load_explicit(&tcp->pending, memory_order_relaxed))
                atomic_store(&tcp->pending, true);
            return true;
        }
        if (tcp->current == NULL && tcp->lost == NULL && tcp->sent == NULL &&
            !tcp_look_on(tcp, &look))
            break;
    }
    if (atomic_load_explicit(&tcp->pending, memory_order_relaxed))
        atomic_store(&tcp->pending, false);
    return false;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static const transport_peer_t *tcp_peer(transport_t *transport, uint32_t peer)
{
    MUSTER_ASSERT(peer < transport->size);
    return &tcp_of(transport)->peers[peer].about;
}

static bool tcp_flushed(transport_t *transport)
{
    return tcp_of(transport)->queued == 0;
}

static void tcp_destroy(transport_t *transport)
{
    tcp_transport_t *tcp = tcp_of(transport);
    while (tcp->stream_count > 0)
        tcp_stream_close(tcp, tcp->streams[tcp->stream_count - 1]);
    while (tcp->attempts != NULL)
        tcp_connect_end(tcp, &tcp->peers[tcp->attempts->peer]);
    tcp_listen_close(tcp);
    if (tcp->epoll >= 0)
        close(tcp->epoll);
    if (tcp->wake >= 0)
        close(tcp->wake);
    while (tcp->sent != NULL) {
        tcp_send_t *send = tcp->sent;
        tcp->sent = send->next;
        free(send);
    }
    for (uint32_t i = 0; tcp->peers != NULL && i < transport->size; i++) {
        tcp_peer_drop(tcp, &tcp->peers[i]);
        free(tcp->peers[i].why);
    }
    free(tcp->peers);
    free(tcp->streams);
    free(tcp->table);
    sodium_memzero(tcp->secret, sizeof tcp->secret);
    free(tcp);
}

static const transport_operations_t tcp_operations = {
    .name = "tcp",
    .send = tcp_send,
    .place = tcp_place,
    .forget = tcp_forget,
    .poll = tcp_poll,
    .wait = tcp_wait,
    .wake = tcp_wake,
    .now = tcp_now,
    .lose = tcp_lose,
    .peer = tcp_peer,
    .flushed = tcp_flushed,
    .destroy = tcp_destroy,
};

/* ---- Creation -------------------------------------------------------------------------------- */

/* Everything but the listening socket. */
static muster_status_t tcp_prepare(tcp_transport_t *tcp, const tcp_options_t *options,
                                   muster_failure_t *failure)
{
    tcp->base = (transport_t){.operations = &tcp_operations,
                              .rank = options->rank,
                              .size = options->size,
                              .cores = cores_usable(),
                              .local_ranks = 1};
    memcpy(tcp->secret, options->secret, sizeof tcp->secret);
    tcp->identity =
        (handshake_identity_t){.version = options->version != 0 ? options->version : WIRE_VERSION,
                               .rank = options->rank,
                               .size = options->size,
                               .mac = tcp_mac,
                               .mac_context = tcp};
    memcpy(tcp->identity.job, options->job, sizeof tcp->identity.job);
    tcp->connect_timeout = options->connect_timeout > 0 ? options->connect_timeout : TCP_CONNECT_NS;
    tcp->reach_timeout = options->reach_timeout > 0 ? options->reach_timeout : tcp->connect_timeout;
    tcp->sent_last = &tcp->sent;
    tcp->lost_last = &tcp->lost;
    atomic_init(&tcp->timer, TCP_NEVER);
    for (size_t i = 0; i < TCP_SLOTS; i++)
        tcp->slots[i].descriptor = -1;
    tcp->listener = -1;
    tcp->wake = -1;
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (tcp->epoll >= 0)
        tcp->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tcp->wake < 0 || !tcp_watch(tcp, EPOLL_CTL_ADD, tcp->wake, EPOLLIN, TCP_TAG_WAKE, 0)) {
        char text[128];
        if (failure != NULL)
            snprintf(failure->message, sizeof failure->message, "no descriptor to wait with: %s",
                     strerror_r(errno, text, sizeof text));
        return MUSTER_ENVIRONMENT;
    }
    tcp->peers = calloc(options->size, sizeof *tcp->peers);
    tcp->streams = calloc(options->size, sizeof *tcp->streams);
    if (tcp->peers == NULL || tcp->streams == NULL)
        return MUSTER_NO_MEMORY;
    for (uint32_t i = 0; i < options->size; i++)
        tcp->peers[i].last = &tcp->peers[i].first;
    return MUSTER_OK;
}

muster_status_t tcp_create(const tcp_options_t *options, transport_t **transport,
                           muster_failure_t *failure)
{
    muster_failure_t unasked;
    if (failure == NULL)
        failure = &unasked;
    *failure = (muster_failure_t){.rank = MUSTER_NO_RANK};
    muster_status_t status = MUSTER_OK;
    tcp_transport_t *tcp = NULL;
    if (options->rank >= options->size || options->size > UINT32_MAX / TCP_TRIES)
        status = MUSTER_INVALID_ARGUMENT;
    else if (sodium_init() < 0)
        status = MUSTER_ENVIRONMENT;
    else if ((tcp = calloc(1, sizeof *tcp)) == NULL)
        status = MUSTER_NO_MEMORY;
    if (status == MUSTER_OK)
        status = tcp_prepare(tcp, options, failure);
    if (status == MUSTER_OK) {
        tcp_location_describe(&tcp->own);
        status = tcp_listen_open(tcp, options, failure);
    }
    if (status != MUSTER_OK) {
        failure->status = status;
        if (failure->message[0] == '\0')
            snprintf(failure->message, sizeof failure->message, "%s", muster_status_text(status));
        if (tcp != NULL)
            tcp_destroy(&tcp->base);
        return status;
    }
    *transport = &tcp->base;
    return MUSTER_OK;
}

void tcp_address(transport_t *transport, uint8_t address[TCP_ADDRESS_SIZE])
{
    tcp_location_encode(&tcp_of(transport)->own, address);
}

muster_status_t tcp_connect_table(transport_t *transport, const uint8_t *addresses,
                                  muster_failure_t *failure)
{
    tcp_transport_t *tcp = tcp_of(transport);
    MUSTER_ASSERT(!tcp->has_table);
    size_t size = (size_t)transport->size * TCP_ADDRESS_SIZE;
    uint8_t *table = malloc(size);
    if (table == NULL) {
        if (failure != NULL)
            *failure = (muster_failure_t){.status = MUSTER_NO_MEMORY, .rank = MUSTER_NO_RANK};
        return MUSTER_NO_MEMORY;
    }
    memcpy(table, addresses, size);
    uint32_t local_ranks = 0;
    for (uint32_t rank = 0; rank < transport->size; rank++) {
        tcp_location_t location;
        if (!tcp_location_decode(table + (size_t)rank * TCP_ADDRESS_SIZE, &location)) {
            if (failure != NULL) {
                *failure = (muster_failure_t){.status = MUSTER_PROTOCOL, .rank = rank};
                snprintf(failure->message, sizeof failure->message,
                         "the address of rank %u is none that Muster writes", rank);
            }
            free(table);
            return MUSTER_PROTOCOL;
        }
        if (memcmp(location.host_id, tcp->own.host_id, sizeof location.host_id) == 0)
            local_ranks++;
        memcpy(tcp->peers[rank].about.host, location.host, sizeof location.host);
        tcp->peers[rank].about.pid = location.pid;
    }
    tcp->table = table;
    tcp->has_table = true;
    transport->local_ranks = local_ranks;
    return MUSTER_OK;
}

tcp_counters_t tcp_counters(transport_t *transport)
{
    return tcp_of(transport)->counters;
}
