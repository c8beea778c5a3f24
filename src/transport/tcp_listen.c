/*
 * The listening socket, and the handshakes of those who connect: in a fixed number of places, with
 * a deadline, the oldest giving way. Who fails is counted; many failures slow accepting down.
 */
#include "core/assertion.h"
#include "transport/tcp_private.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TCP_BACKLOG 4096
#define TCP_SLOT_NS ((int64_t)5000000000) /* that a handshake may take */
#define TCP_FAILURES_MAX 256              /* in a second; then accepting slows down */
#define TCP_ACCEPTS_MAX 16                /* at once */
#define TCP_FAILURES_PAUSE_NS ((int64_t)10000000)
#define TCP_DESCRIPTORS_PAUSE_NS ((int64_t)100000000)

/* ---- The socket ------------------------------------------------------------------------------ */

static muster_status_t tcp_listen_failed(const struct sockaddr_storage *address, int error,
                                         muster_failure_t *failure)
{
    muster_status_t status = error == EADDRINUSE      ? MUSTER_ADDRESS_IN_USE
                             : error == EADDRNOTAVAIL ? MUSTER_ADDRESS_NOT_AVAILABLE
                             : error == ENOMEM        ? MUSTER_NO_MEMORY
                                                      : MUSTER_ENVIRONMENT;
    if (failure == NULL)
        return status;
    char host[64] = "?", port[16] = "?", text[128];
    socklen_t length = address->ss_family == AF_INET ? (socklen_t)sizeof(struct sockaddr_in)
                                                     : (socklen_t)sizeof(struct sockaddr_in6);
    (void)getnameinfo((const struct sockaddr *)address, length, host, sizeof host, port,
                      sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = address->ss_family == AF_INET6;
    snprintf(failure->message, sizeof failure->message, "cannot listen on %s%s%s:%s: %s",
             six ? "[" : "", host, six ? "]" : "", port, strerror_r(error, text, sizeof text));
    return status;
}

/* Binds and listens; the descriptor, or -1 with errno. */
static int tcp_listen_at(const struct sockaddr *address, socklen_t length, bool both_families)
{
    int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -1;
    int no = 0;
    if (both_families)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(descriptor, address, length) == 0 && listen(descriptor, TCP_BACKLOG) == 0)
        return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

/* All addresses of this host: of both families where there is IPv6. */
static int tcp_listen_everywhere(uint16_t port, struct sockaddr_storage *address)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memset(address, 0, sizeof *address);
    memcpy(address, &six, sizeof six);
    int descriptor = tcp_listen_at((struct sockaddr *)address, sizeof six, true);
    if (descriptor >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL))
        return descriptor;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    memset(address, 0, sizeof *address);
    memcpy(address, &four, sizeof four);
    return tcp_listen_at((struct sockaddr *)address, sizeof four, false);
}

static muster_status_t tcp_listen_parse(const tcp_options_t *options,
                                        struct sockaddr_storage *address, socklen_t *length,
                                        muster_failure_t *failure)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    char port[8];
    snprintf(port, sizeof port, "%u", options->bind_port);
    if (getaddrinfo(options->bind_address, port, &hints, &list) != 0) {
        if (failure != NULL)
            snprintf(failure->message, sizeof failure->message,
                     "cannot listen on %.64s: it is no numeric address", options->bind_address);
        return MUSTER_INVALID_ARGUMENT;
    }
    memset(address, 0, sizeof *address);
    memcpy(address, list->ai_addr, list->ai_addrlen);
    *length = list->ai_addrlen;
    freeaddrinfo(list);
    return MUSTER_OK;
}

muster_status_t tcp_listen_open(tcp_transport_t *tcp, const tcp_options_t *options,
                                muster_failure_t *failure)
{
    struct sockaddr_storage address;
    if (options->bind_address == NULL) {
        tcp->listener = tcp_listen_everywhere(options->bind_port, &address);
    } else {
        socklen_t length;
        muster_status_t status = tcp_listen_parse(options, &address, &length, failure);
        if (status != MUSTER_OK)
            return status;
        tcp->listener = tcp_listen_at((struct sockaddr *)&address, length, false);
    }
    if (tcp->listener < 0)
        return tcp_listen_failed(&address, errno, failure);
    socklen_t length = sizeof address;
    muster_status_t status = MUSTER_ENVIRONMENT;
    if (getsockname(tcp->listener, (struct sockaddr *)&address, &length) == 0)
        status = tcp_location_advertise(&tcp->own, &address);
    if (status != MUSTER_OK)
        return tcp_listen_failed(&address, errno, failure);
    if (!tcp_watch(tcp, EPOLL_CTL_ADD, tcp->listener, EPOLLIN, TCP_TAG_LISTEN, 0))
        return tcp_listen_failed(&address, errno, failure);
    tcp->listening = true;
    return MUSTER_OK;
}

/* Leaves the listening socket alone for a while; who wants to connect waits in its queue. */
static void tcp_listen_pause(tcp_transport_t *tcp, int64_t now, int64_t pause)
{
    tcp->counters.delays++;
    tcp->listening = false;
    tcp->resume = now + pause;
    tcp_watch(tcp, EPOLL_CTL_MOD, tcp->listener, 0, TCP_TAG_LISTEN, 0);
    tcp_timer(tcp, tcp->resume);
}

/* ---- Handshakes ------------------------------------------------------------------------------ */

static void tcp_slot_free(tcp_transport_t *tcp, tcp_slot_t *slot)
{
    slot->descriptor = -1;
    tcp->slots_used--;
}

/* Closes one that did not come to anything, which is counted by the caller. */
static void tcp_slot_fail(tcp_transport_t *tcp, tcp_slot_t *slot, uint64_t *counter)
{
    (*counter)++;
    close(slot->descriptor);
    tcp_slot_free(tcp, slot);
    int64_t now = tcp_clock();
    if (now - tcp->failures_since > 1000000000) {
        tcp->failures_since = now;
        tcp->failures = 0;
    }
    tcp->failures++;
}

/* A slot for a new connection: a free one, or that of the oldest. */
static tcp_slot_t *tcp_slot_take(tcp_transport_t *tcp)
{
    tcp_slot_t *oldest = &tcp->slots[0];
    for (size_t i = 0; i < TCP_SLOTS; i++) {
        tcp_slot_t *slot = &tcp->slots[i];
        if (slot->descriptor < 0)
            return slot;
        if (slot->begin < oldest->begin)
            oldest = slot;
    }
    tcp_slot_fail(tcp, oldest, &tcp->counters.evicted);
    return oldest;
}

void tcp_listen_accept(tcp_transport_t *tcp)
{
    bool suspicious = tcp->failures >= TCP_FAILURES_MAX;
    for (int i = 0; i < TCP_ACCEPTS_MAX && tcp->listening; i++) {
        int descriptor = accept4(tcp->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (descriptor < 0) {
            if (errno == ECONNABORTED || errno == EINTR)
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                tcp_listen_pause(tcp, tcp_clock(), TCP_DESCRIPTORS_PAUSE_NS);
            return;
        }
        tcp->counters.accepted++;
        tcp_slot_t *slot = tcp_slot_take(tcp);
        uint8_t nonce[HANDSHAKE_NONCE_SIZE];
        tcp_nonce(nonce);
        handshake_accept(&slot->handshake, &tcp->identity, nonce);
        slot->descriptor = descriptor;
        slot->begin = tcp_clock();
        tcp->slots_used++;
        uint32_t index = (uint32_t)(slot - tcp->slots);
        if (!tcp_watch(tcp, EPOLL_CTL_ADD, descriptor, EPOLLIN, TCP_TAG_SLOT, index)) {
            tcp_slot_fail(tcp, slot, &tcp->counters.silent);
            continue;
        }
        tcp_timer(tcp, slot->begin + TCP_SLOT_NS);
        tcp_listen_slot(tcp, index);
    }
    if (suspicious && tcp->listening)
        tcp_listen_pause(tcp, tcp_clock(), TCP_FAILURES_PAUSE_NS);
}

/*
 * What a rank that has shown the secret hears. Where both have shown it to each other, on two
 * connections, each might accept the other's and so end its own: the lower rank's goes on. A
 * connection on which it was not yet shown cannot have been accepted, and is given up.
 */
static handshake_answer_t tcp_slot_decide(const tcp_transport_t *tcp, uint32_t from)
{
    const tcp_peer_t *peer = &tcp->peers[from];
    if (peer->state == TCP_UP && !peer->closed)
        return HANDSHAKE_DUPLICATE;
    if (peer->closed)
        return HANDSHAKE_LOST;
    if (peer->state == TCP_CONNECTING && tcp->base.rank < from &&
        tcp_connect_is_shown(peer->attempt))
        return HANDSHAKE_RETRY;
    return HANDSHAKE_ACCEPT;
}

/* The answer is ACCEPT and was sent: the connection is up. */
static void tcp_slot_accept(tcp_transport_t *tcp, tcp_slot_t *slot)
{
    uint32_t from = slot->handshake.from;
    int descriptor = slot->descriptor;
    tcp_peer_t *peer = &tcp->peers[from];
    tcp_slot_free(tcp, slot);
    tcp_socket_options(descriptor);
    if (peer->attempt != NULL)
        tcp_connect_end(tcp, peer);
    if (!tcp_stream_begin(tcp, from, descriptor)) {
        close(descriptor);
        tcp_peer_lose(tcp, peer, MUSTER_NO_MEMORY, "there was no memory for its connection");
    }
}

static void tcp_slot_refused(tcp_transport_t *tcp, tcp_slot_t *slot)
{
    const handshake_t *handshake = &slot->handshake;
    if (handshake->authentic && handshake->status == MUSTER_VERSION_MISMATCH) {
        char why[TCP_WHY_MAX];
        snprintf(why, sizeof why, "it speaks version %u of the protocol, this rank version %u",
                 handshake->peer_version, handshake->version);
        tcp_peer_t *peer = &tcp->peers[handshake->from];
        if (peer->state != TCP_UP)
            tcp_peer_lose(tcp, peer, MUSTER_VERSION_MISMATCH, why);
        tcp_slot_fail(tcp, slot, &tcp->counters.versions);
    } else if (handshake->authentic) {
        /* One of the job that comes at the wrong moment. */
        tcp->counters.proven++;
        close(slot->descriptor);
        tcp_slot_free(tcp, slot);
    } else {
        bool stranger =
            handshake->status == MUSTER_PROTOCOL || handshake->answer == HANDSHAKE_STRANGER;
        tcp_slot_fail(tcp, slot, stranger ? &tcp->counters.garbage : &tcp->counters.unproven);
    }
}

void tcp_listen_slot(tcp_transport_t *tcp, uint32_t index)
{
    MUSTER_ASSERT(index < TCP_SLOTS);
    tcp_slot_t *slot = &tcp->slots[index];
    if (slot->descriptor < 0)
        return;
    for (;;) {
        switch (tcp_handshake_move(slot->descriptor, &slot->handshake)) {
        case TCP_WAITS:
            return;
        case TCP_CLOSED:
            tcp_slot_fail(tcp, slot, &tcp->counters.silent);
            return;
        case TCP_MOVED:
            break;
        }
        if (slot->handshake.state == HANDSHAKE_ASKS) {
            handshake_answer(&slot->handshake, tcp_slot_decide(tcp, slot->handshake.from));
            continue; /* to send it */
        }
        if (slot->handshake.state == HANDSHAKE_DONE) {
            tcp->counters.proven++;
            tcp_slot_accept(tcp, slot);
        } else {
            tcp_slot_refused(tcp, slot);
        }
        return;
    }
}

int64_t tcp_listen_tick(tcp_transport_t *tcp, int64_t now)
{
    int64_t next = TCP_NEVER;
    for (size_t i = 0; i < TCP_SLOTS && tcp->slots_used > 0; i++) {
        tcp_slot_t *slot = &tcp->slots[i];
        if (slot->descriptor < 0)
            continue;
        int64_t deadline = slot->begin + TCP_SLOT_NS;
        if (deadline <= now)
            tcp_slot_fail(tcp, slot, &tcp->counters.silent);
        else if (deadline < next)
            next = deadline;
    }
    if (tcp->failures > 0 && now - tcp->failures_since > 1000000000)
        tcp->failures = 0;
    if (!tcp->listening && tcp->resume <= now) {
        tcp->listening = tcp_watch(tcp, EPOLL_CTL_MOD, tcp->listener, EPOLLIN, TCP_TAG_LISTEN, 0);
        if (!tcp->listening)
            tcp->resume = now + TCP_DESCRIPTORS_PAUSE_NS;
    }
    if (!tcp->listening && tcp->resume < next)
        next = tcp->resume;
    return next;
}

void tcp_listen_close(tcp_transport_t *tcp)
{
    for (size_t i = 0; i < TCP_SLOTS; i++) {
        if (tcp->slots[i].descriptor >= 0)
            close(tcp->slots[i].descriptor);
    }
    if (tcp->listener >= 0)
        close(tcp->listener);
}
