/*
 * Making a connection: the addresses of a peer are tried one beside the other, in rounds, until one
 * of them has passed the handshake or the deadline is there.
 */
#include "core/assertion.h"
#include "transport/tcp_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TCP_NEXT_NS ((int64_t)250000000)       /* until the next address is tried as well */
#define TCP_GIVE_UP_NS ((int64_t)2000000000)   /* after which one that does not answer gives way */
#define TCP_HANDSHAKE_NS ((int64_t)5000000000) /* that a peer may take to its CHALLENGE */
#define TCP_PAUSE_FIRST_NS ((int64_t)10000000)
#define TCP_PAUSE_MAX_NS ((int64_t)500000000)
#define TCP_STEPS_MAX 64 /* addresses begun in one tick of an attempt */

bool tcp_connect_begin(tcp_transport_t *tcp, uint32_t peer_rank)
{
    tcp_peer_t *peer = &tcp->peers[peer_rank];
    tcp_location_t location;
    MUSTER_ASSERT(tcp->has_table && peer->state == TCP_IDLE);
    tcp_attempt_t *attempt = calloc(1, sizeof *attempt);
    if (attempt == NULL)
        return false;
    bool read = tcp_location_decode(tcp->table + (size_t)peer_rank * TCP_ADDRESS_SIZE, &location);
    MUSTER_ASSERT(read);
    attempt->peer = peer_rank;
    attempt->count = tcp_location_choose(&tcp->own, &location, attempt->endpoints);
    attempt->due = tcp_clock();
    attempt->deadline = attempt->due + tcp->connect_timeout;
    attempt->reach_deadline = attempt->due + tcp->reach_timeout;
    attempt->pause = TCP_PAUSE_FIRST_NS;
    for (size_t i = 0; i < TCP_TRIES; i++)
        attempt->tries[i].descriptor = -1;
    attempt->next = tcp->attempts;
    if (attempt->next != NULL)
        attempt->next->previous = attempt;
    tcp->attempts = attempt;
    peer->attempt = attempt;
    peer->state = TCP_CONNECTING;
    /* The next poll begins with the first address. */
    tcp_timer(tcp, attempt->due);
    tcp_alert(tcp);
    return true;
}

void tcp_connect_end(tcp_transport_t *tcp, tcp_peer_t *peer)
{
    tcp_attempt_t *attempt = peer->attempt;
    for (size_t i = 0; i < TCP_TRIES; i++) {
        if (attempt->tries[i].descriptor >= 0)
            close(attempt->tries[i].descriptor);
    }
    if (attempt->previous != NULL)
        attempt->previous->next = attempt->next;
    else
        tcp->attempts = attempt->next;
    if (attempt->next != NULL)
        attempt->next->previous = attempt->previous;
    free(attempt);
    peer->attempt = NULL;
    peer->state = TCP_IDLE;
}

bool tcp_connect_is_shown(const tcp_attempt_t *attempt)
{
    for (size_t i = 0; i < TCP_TRIES; i++) {
        if (attempt->tries[i].descriptor >= 0 && attempt->tries[i].connected &&
            attempt->tries[i].handshake.step > 0)
            return true;
    }
    return false;
}

/* ---- The end of an attempt ------------------------------------------------------------------- */

static void tcp_connect_failed(tcp_transport_t *tcp, tcp_attempt_t *attempt, muster_status_t status,
                               const char *reason)
{
    char why[TCP_WHY_MAX];
    text_t text = text_over(why, sizeof why);
    text_string(&text, reason);
    for (uint32_t i = 0; i < attempt->count; i++) {
        text_string(&text, i == 0 ? " at " : ", ");
        tcp_endpoint_print(&attempt->endpoints[i], &text);
    }
    tcp_peer_lose(tcp, &tcp->peers[attempt->peer], status, why);
}

/*
 * What every address together says, at the end of a round. True: it is final, the attempt is gone.
 */
static bool tcp_connect_judge(tcp_transport_t *tcp, tcp_attempt_t *attempt)
{
    char reason[200];
    if (attempt->proven_refusal == MUSTER_VERSION_MISMATCH) {
        snprintf(reason, sizeof reason,
                 "it speaks version %u of the protocol, this rank version %u",
                 attempt->other_version, tcp->identity.version);
        tcp_connect_failed(tcp, attempt, MUSTER_VERSION_MISMATCH, reason);
    } else if (attempt->proven_refusal != MUSTER_OK) {
        tcp_connect_failed(tcp, attempt, attempt->proven_refusal,
                           attempt->proven_refusal == MUSTER_DUPLICATE_RANK
                               ? "it is connected to another process of this rank"
                               : "it counts this rank as lost");
    } else if (attempt->again > 0 || attempt->unreachable > 0) {
        return false;
    } else if (attempt->unproven > 0) {
        tcp_connect_failed(tcp, attempt, MUSTER_NOT_AUTHENTICATED,
                           "who answers does not know the job's secret, or is of another job,");
    } else if (attempt->refused > 0) {
        tcp_connect_failed(tcp, attempt, MUSTER_PEER_LOST, "it refuses connections");
    } else {
        return false;
    }
    return true;
}

static void tcp_connect_expired(tcp_transport_t *tcp, tcp_attempt_t *attempt)
{
    char reason[200], text[100];
    const char *last =
        attempt->last_error == 0 ? "no answer" : strerror_r(attempt->last_error, text, sizeof text);
    if (attempt->unproven > 0)
        tcp_connect_failed(tcp, attempt, MUSTER_NOT_AUTHENTICATED,
                           "who answers does not know the job's secret, or is of another job,");
    else {
        int64_t time = attempt->reached ? tcp->connect_timeout : tcp->reach_timeout;
        snprintf(reason, sizeof reason, "no connection within %lld ms (%s)",
                 (long long)(time / 1000000), last);
        tcp_connect_failed(tcp, attempt, MUSTER_UNREACHABLE, reason);
    }
}

/* ---- One address ----------------------------------------------------------------------------- */

static void tcp_try_close(tcp_attempt_t *attempt, tcp_try_t *try, uint32_t *counter)
{
    close(try->descriptor);
    try->descriptor = -1;
    (*counter)++;
    attempt->due = 0; /* the next address at once */
}

/* Which of the counters an error of connect belongs to. */
static uint32_t *tcp_try_counter(tcp_attempt_t *attempt, int error)
{
    switch (error) {
    case ECONNREFUSED:
        return &attempt->refused;
    case ENETUNREACH:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL:
        attempt->last_error = error;
        return &attempt->absent;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
    case EAGAIN:
    case ECONNRESET:
        attempt->last_error = error;
        return &attempt->again;
    default:
        attempt->last_error = error;
        return &attempt->unreachable;
    }
}

static void tcp_try_begin(tcp_transport_t *tcp, tcp_attempt_t *attempt, uint32_t index, int64_t now)
{
    tcp_try_t *try = &attempt->tries[index];
    struct sockaddr_storage address;
    socklen_t length = tcp_endpoint_socket(&attempt->endpoints[attempt->next_endpoint++], &address);
    int descriptor = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
        (*tcp_try_counter(attempt, errno))++;
        attempt->due = 0;
        return;
    }
    tcp_socket_options(descriptor);
    int result = connect(descriptor, (struct sockaddr *)&address, length);
    int error = result == 0 || errno == EINPROGRESS || errno == EINTR ? 0 : errno;
    if (error == 0 && !tcp_watch(tcp, EPOLL_CTL_ADD, descriptor, EPOLLOUT, TCP_TAG_TRY,
                                 attempt->peer * TCP_TRIES + index))
        error = errno;
    try->descriptor = descriptor;
    try->connected = false;
    try->begin = now;
    if (error != 0) {
        tcp_try_close(attempt, try, tcp_try_counter(attempt, error));
        return;
    }
    uint8_t nonce[HANDSHAKE_NONCE_SIZE];
    tcp_nonce(nonce);
    handshake_connect(&try->handshake, &tcp->identity, attempt->peer, nonce);
    attempt->due = now + TCP_NEXT_NS;
}

/* The peer has accepted: this connection is the one. */
static void tcp_try_won(tcp_transport_t *tcp, tcp_attempt_t *attempt, tcp_try_t *try)
{
    uint32_t rank = attempt->peer;
    tcp_peer_t *peer = &tcp->peers[rank];
    int descriptor = try->descriptor;
    try->descriptor = -1;
    tcp_connect_end(tcp, peer);
    if (!tcp_stream_begin(tcp, rank, descriptor)) {
        close(descriptor);
        tcp_peer_lose(tcp, peer, MUSTER_NO_MEMORY, "there was no memory for its connection");
    }
}

static void tcp_try_refused(tcp_attempt_t *attempt, tcp_try_t *try)
{
    const handshake_t *handshake = &try->handshake;
    if (!handshake->authentic || handshake->status == MUSTER_NOT_AUTHENTICATED ||
        handshake->status == MUSTER_PROTOCOL) {
        tcp_try_close(attempt, try, &attempt->unproven);
    } else {
        if (handshake->answer != HANDSHAKE_RETRY) {
            attempt->proven_refusal = handshake->status;
            attempt->other_version = handshake->peer_version;
        }
        tcp_try_close(attempt, try, &attempt->again);
    }
}

static bool tcp_try_connected(tcp_transport_t *tcp, tcp_attempt_t *attempt, uint32_t index)
{
    tcp_try_t *try = &attempt->tries[index];
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(try->descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error == 0) {
        struct sockaddr_storage name;
        length = sizeof name;
        if (getpeername(try->descriptor, (struct sockaddr *)&name, &length) != 0)
            return false; /* not yet */
        if (!tcp_watch(tcp, EPOLL_CTL_MOD, try->descriptor, EPOLLIN, TCP_TAG_TRY,
                       attempt->peer * TCP_TRIES + index))
            error = errno;
    }
    if (error != 0) {
        tcp_try_close(attempt, try, tcp_try_counter(attempt, error));
        return false;
    }
    try->connected = true;
    attempt->reached = true;
    try->begin = tcp_clock();
    return true;
}

void tcp_connect_try(tcp_transport_t *tcp, uint32_t peer, uint32_t index)
{
    tcp_attempt_t *attempt = tcp->peers[peer].attempt;
    MUSTER_ASSERT(index < TCP_TRIES);
    if (attempt == NULL || attempt->tries[index].descriptor < 0)
        return;
    tcp_try_t *try = &attempt->tries[index];
    if (!try->connected && !tcp_try_connected(tcp, attempt, index)) {
        tcp_timer(tcp, attempt->due);
        return;
    }
    switch (tcp_handshake_move(try->descriptor, &try->handshake)) {
    case TCP_WAITS:
        return;
    case TCP_CLOSED:
        tcp_try_close(attempt, try, &attempt->again);
        break;
    case TCP_MOVED:
        if (try->handshake.state == HANDSHAKE_DONE) {
            tcp_try_won(tcp, attempt, try);
            return;
        }
        tcp_try_refused(attempt, try);
        break;
    }
    tcp_timer(tcp, attempt->due);
}

/* ---- Time ------------------------------------------------------------------------------------ */

/*
 * A free place for a try; where there is none, that of one that does not answer. TCP_TRIES: none.
 */
static uint32_t tcp_attempt_place(tcp_attempt_t *attempt, int64_t now)
{
    for (uint32_t i = 0; i < TCP_TRIES; i++) {
        if (attempt->tries[i].descriptor < 0)
            return i;
    }
    for (uint32_t i = 0; i < TCP_TRIES; i++) {
        tcp_try_t *try = &attempt->tries[i];
        if (!try->connected && now - try->begin >= TCP_GIVE_UP_NS) {
            tcp_try_close(attempt, try, &attempt->unreachable);
            return i;
        }
    }
    return TCP_TRIES;
}

/* Ends tries that take too long; one that has sent its proof may be accepted already and stays. */
static uint32_t tcp_attempt_open(tcp_attempt_t *attempt, int64_t now)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < TCP_TRIES; i++) {
        tcp_try_t *try = &attempt->tries[i];
        if (try->descriptor >= 0 && try->connected && try->handshake.step == 0 &&
            now - try->begin >= TCP_HANDSHAKE_NS)
            tcp_try_close(attempt, try, &attempt->again);
        if (try->descriptor >= 0)
            open++;
    }
    return open;
}

static void tcp_attempt_new_round(tcp_attempt_t *attempt)
{
    attempt->resting = false;
    attempt->next_endpoint = 0;
    attempt->refused = attempt->absent = attempt->unreachable = 0;
    attempt->unproven = attempt->again = 0;
    attempt->due = 0;
}

/* Does what is due for an attempt, which may end by it; returns when it wants to be called next. */
static int64_t tcp_attempt_tick(tcp_transport_t *tcp, tcp_attempt_t *attempt, int64_t now)
{
    if (attempt->count == 0) {
        tcp_connect_failed(tcp, attempt, MUSTER_UNREACHABLE,
                           "it has no address that can be reached from this host");
        return TCP_NEVER;
    }
    int64_t deadline = attempt->reached ? attempt->deadline : attempt->reach_deadline;
    if (now >= deadline) {
        tcp_connect_expired(tcp, attempt);
        return TCP_NEVER;
    }
    if (attempt->resting && now >= attempt->due)
        tcp_attempt_new_round(attempt);
    uint32_t open = tcp_attempt_open(attempt, now);
    for (int i = 0; i < TCP_STEPS_MAX && !attempt->resting &&
                    attempt->next_endpoint < attempt->count && now >= attempt->due;
         i++) {
        uint32_t place = tcp_attempt_place(attempt, now);
        if (place < TCP_TRIES)
            tcp_try_begin(tcp, attempt, place, now);
        else
            attempt->due = now + TCP_NEXT_NS;
        open = tcp_attempt_open(attempt, now);
    }
    if (open == 0 && !attempt->resting && attempt->next_endpoint == attempt->count) {
        if (tcp_connect_judge(tcp, attempt))
            return TCP_NEVER;
        attempt->resting = true;
        attempt->due = now + attempt->pause;
        attempt->pause =
            attempt->pause * 2 < TCP_PAUSE_MAX_NS ? attempt->pause * 2 : TCP_PAUSE_MAX_NS;
    }
    int64_t next = deadline;
    bool more = attempt->resting || attempt->next_endpoint < attempt->count;
    if (more && attempt->due < next)
        next = attempt->due;
    /* A try that stays silent is looked at again now and then. */
    if (now + TCP_HANDSHAKE_NS < next)
        next = now + TCP_HANDSHAKE_NS;
    return next;
}

int64_t tcp_connect_tick(tcp_transport_t *tcp, int64_t now)
{
    int64_t next = TCP_NEVER;
    for (tcp_attempt_t *attempt = tcp->attempts, *following; attempt != NULL; attempt = following) {
        following = attempt->next;
        int64_t time = tcp_attempt_tick(tcp, attempt, now);
        if (time < next)
            next = time;
    }
    return next;
}
