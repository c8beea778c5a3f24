/*
 * The way to rank 0 of the environment: tried again until the deadline, since nobody says when it
 * comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <sodium.h>

#include "boot/boot_fork.h"
#include "boot/boot_network.h"

#define MILLISECOND INT64_C(1000000)
#define PAUSE_LEAST (5 * MILLISECOND)
#define PAUSE_MOST (200 * MILLISECOND)
/* For one address, where there are others to try. */
#define ADDRESS_TIME (3000 * MILLISECOND)

void boot_format_endpoint(const struct addrinfo *address, char text[BOOT_ENDPOINT_MAX])
{
    char host[64], port[8];
    if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        snprintf(text, BOOT_ENDPOINT_MAX, "?");
        return;
    }
    snprintf(text, BOOT_ENDPOINT_MAX, address->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
             port);
}

void boot_prepare_socket(int fd)
{
    int one = 1, idle = BOOT_SILENCE_MS / 4000, interval = idle, count = 3;
    unsigned silence = BOOT_SILENCE_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    /* While bytes are under way there are no probes. */
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
}

static void make_mac(void *context, const uint8_t *bytes, size_t length,
                     uint8_t mac[HANDSHAKE_MAC_SIZE])
{
    const boot_t *boot = context;
    crypto_generichash(mac, HANDSHAKE_MAC_SIZE, bytes, length, boot->hub_key, sizeof boot->hub_key);
}

void boot_identify(boot_t *boot, uint32_t number, handshake_identity_t *identity)
{
    *identity = (handshake_identity_t){.version = CONTROL_VERSION,
                                       .rank = number,
                                       .size = boot->size,
                                       .mac = make_mac,
                                       .mac_context = boot};
    memcpy(identity->job, boot->hub_name, sizeof identity->job);
}

/* false: the connection is broken. */
static bool say(int fd, handshake_t *handshake)
{
    const uint8_t *bytes;
    for (size_t length; (length = handshake_output(handshake, &bytes)) > 0;) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        handshake_sent(handshake, (size_t)sent);
    }
    return true;
}

boot_move_t boot_move_handshake(int fd, handshake_t *handshake)
{
    const uint8_t *unsent;
    uint8_t bytes[HANDSHAKE_MESSAGE_MAX];
    for (;;) {
        if (!say(fd, handshake))
            return BOOT_MOVE_BROKEN;
        if (handshake_output(handshake, &unsent) > 0)
            return BOOT_MOVE_WAITS;
        if (handshake->state != HANDSHAKE_OPEN)
            return BOOT_MOVE_MADE;
        ssize_t got = recv(fd, bytes, handshake_wants(handshake), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return BOOT_MOVE_WAITS;
        if (got <= 0)
            return BOOT_MOVE_BROKEN;
        handshake_input(handshake, bytes, (size_t)got);
    }
}

/* ---- One attempt ----------------------------------------------------------------------------- */

typedef struct attempt {
    char endpoint[BOOT_ENDPOINT_MAX];
    muster_status_t status; /* what it would be if it were the last */
    char why[200];
    bool hopeless; /* another attempt would end the same way */
} attempt_t;

static int fail_attempt(attempt_t *attempt, int fd, muster_status_t status, bool hopeless,
                        const char *why)
{
    if (fd >= 0)
        boot_fork_close(fd);
    attempt->status = status;
    attempt->hopeless = hopeless;
    snprintf(attempt->why, sizeof attempt->why, "%s", why);
    return -1;
}

static int fail_system(attempt_t *attempt, int fd, int reason)
{
    bool no_way = reason == EHOSTUNREACH || reason == ENETUNREACH || reason == EADDRNOTAVAIL;
    return fail_attempt(attempt, fd, no_way ? MUSTER_UNREACHABLE : MUSTER_TIMED_OUT, false,
                        strerror(reason));
}

/* A connected descriptor, or -1. */
static int connect_to(attempt_t *attempt, const struct addrinfo *address, int64_t until)
{
    int fd = boot_fork_socket(address->ai_family);
    int one = 1, error = 0;
    socklen_t size = sizeof error;
    if (fd < 0)
        return fail_attempt(attempt, -1, MUSTER_ENVIRONMENT, true, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    if (errno != EINPROGRESS)
        return fail_system(attempt, fd, errno);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    for (;;) {
        int wait = boot_milliseconds_until(until);
        int count = poll(&ready, 1, wait);
        if (count > 0)
            break;
        if (count < 0 && errno != EINTR)
            return fail_system(attempt, fd, errno);
        if (wait == 0)
            return fail_attempt(attempt, fd, MUSTER_TIMED_OUT, false, "no answer");
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return error == 0 ? fd : fail_system(attempt, fd, error);
}

static int fail_handshake(attempt_t *attempt, int fd, const handshake_t *handshake)
{
    char why[sizeof attempt->why];
    switch (handshake->status) {
    case MUSTER_VERSION_MISMATCH:
        snprintf(why, sizeof why, "rank 0 speaks version %u of the control protocol, this rank %u",
                 handshake->peer_version, handshake->version);
        break;
    case MUSTER_NOT_AUTHENTICATED:
        snprintf(why, sizeof why,
                 "another job is there, or MUSTER_SECRET or WORLD_SIZE is another one");
        break;
    case MUSTER_PROTOCOL:
        snprintf(why, sizeof why, "what listens there is no rank of Muster");
        break;
    default:
        snprintf(why, sizeof why, "%s", muster_status_text(handshake->status));
        break;
    }
    return fail_attempt(attempt, fd, handshake->status, true, why);
}

/* Shows the secret and sees it shown; the descriptor, or -1. */
static int shake_hands(boot_t *boot, attempt_t *attempt, int fd, int64_t until)
{
    handshake_t handshake;
    handshake_identity_t identity;
    uint8_t nonce[HANDSHAKE_NONCE_SIZE];
    const uint8_t *unsent;
    randombytes_buf(nonce, sizeof nonce);
    boot_identify(boot, boot->rank, &identity);
    handshake_connect(&handshake, &identity, BOOT_HUB_NUMBER, nonce);
    for (;;) {
        boot_move_t move = boot_move_handshake(fd, &handshake);
        if (move == BOOT_MOVE_MADE)
            break;
        if (move == BOOT_MOVE_BROKEN) {
            return fail_attempt(attempt, fd, MUSTER_TIMED_OUT, false, "the connection was closed");
        }
        int wait = boot_milliseconds_until(until);
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (handshake_output(&handshake, &unsent) > 0)
            ready.events |= POLLOUT;
        if (wait == 0)
            return fail_attempt(attempt, fd, MUSTER_TIMED_OUT, false, "no answer");
        poll(&ready, 1, wait);
    }
    return handshake.state == HANDSHAKE_DONE ? fd : fail_handshake(attempt, fd, &handshake);
}

/* ---- Until it is there ----------------------------------------------------------------------- */

/*
 * IN_PROGRESS: try again. A hub that closes without an answer is one that this rank has left
 * before, and that has not ended yet.
 */
static muster_status_t join_at(boot_t *boot, const struct addrinfo *address, bool only,
                               int64_t deadline_ns, attempt_t *attempt, muster_failure_t *failure)
{
    int64_t until = boot_now() + ADDRESS_TIME;
    if (only || until > deadline_ns)
        until = deadline_ns;
    boot_format_endpoint(address, attempt->endpoint);
    int fd = connect_to(attempt, address, until);
    if (fd >= 0)
        fd = shake_hands(boot, attempt, fd, until);
    if (fd < 0)
        return MUSTER_IN_PROGRESS;
    boot_prepare_socket(fd);
    if (!boot_link_open(&boot->link, fd, CONTROL_FRAME_MAX)) {
        return boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
    }
    muster_status_t status = boot_join(boot, "rank 0", deadline_ns, failure);
    if (status != MUSTER_PEER_LOST)
        return status;
    fail_attempt(attempt, -1, MUSTER_TIMED_OUT, false, "rank 0 has closed the connection");
    boot_link_close(&boot->link, true);
    return MUSTER_IN_PROGRESS;
}

static muster_status_t fail_connect(const attempt_t *attempt, muster_failure_t *failure)
{
    boot_fail(failure, attempt->status, 0,
              "rank 0 was not reached at %s (MASTER_ADDR, MASTER_PORT): %s", attempt->endpoint,
              attempt->why);
    if (failure != NULL && attempt->status == MUSTER_TIMED_OUT) {
        failure->range_count = 1;
        failure->missing[0] = (muster_rank_range_t){0, 0};
    }
    return attempt->status;
}

static void pause_for(int64_t time, int64_t deadline_ns)
{
    int64_t left = deadline_ns - boot_now();
    if (time > left)
        time = left;
    if (time <= 0)
        return;
    struct timespec pause = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
    nanosleep(&pause, NULL);
}

muster_status_t boot_connect(boot_t *boot, const boot_place_t *place, int64_t deadline_ns,
                             muster_failure_t *failure)
{
    bool only = place->found->ai_next == NULL;
    attempt_t attempt = {.status = MUSTER_TIMED_OUT};
    for (int64_t pause = PAUSE_LEAST;; pause = pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST) {
        bool hopeless = true;
        for (const struct addrinfo *address = place->found; address != NULL;
             address = address->ai_next) {
            muster_status_t status = join_at(boot, address, only, deadline_ns, &attempt, failure);
            if (status != MUSTER_IN_PROGRESS) {
                if (status != MUSTER_OK)
                    return status;
                if (boot_watch(boot))
                    return MUSTER_OK;
                return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK,
                                 "cannot watch the connection to rank 0: %s", strerror(errno));
            }
            hopeless = hopeless && attempt.hopeless;
            if (attempt.hopeless && attempt.status == MUSTER_VERSION_MISMATCH)
                break;
        }
        if (hopeless || boot_now() >= deadline_ns)
            return fail_connect(&attempt, failure);
        pause_for(pause, deadline_ns);
    }
}
