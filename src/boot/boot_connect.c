/*
 * The way to rank 0 of the environment: tried again until the deadline, since nobody says when it
 * comes. MASTER_ADDR may mean several addresses: they are tried one beside the other, and the first
 * at which rank 0 has shown the secret is the one.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <sodium.h>

#include "boot/boot_fork.h"
#include "boot/boot_network.h"

#define MILLISECOND INT64_C(1000000)
/* Before the addresses are gone through once more. */
#define PAUSE_LEAST (5 * MILLISECOND)
#define PAUSE_MOST (200 * MILLISECOND)
/* Until the next address is tried as well, and until then where something has answered. */
#define NEXT_TIME (250 * MILLISECOND)
#define ANSWER_TIME (1000 * MILLISECOND)
/* After which one gives way to others that wait for their turn, and after which it begins anew. */
#define GIVE_WAY_TIME (2000 * MILLISECOND)
#define ADDRESS_TIME (3000 * MILLISECOND)
#define TRIES_MAX 8 /* addresses that are tried at once; the others wait for their turn */

/* One of the addresses. */
typedef struct target {
    const struct addrinfo *address;
    int fd; /* -1: it is not being tried */
    bool connected;
    bool hopeless; /* it was tried, and would end the same way again */
    int64_t begun;
    handshake_t handshake;
} target_t;

typedef struct connector {
    boot_t *boot;
    target_t *targets;
    size_t count;
    size_t next;   /* whose turn it is; 0: a pass over all of them is about to begin */
    unsigned open; /* that are being tried */
    int64_t due;   /* of the next one */
    int64_t pause; /* after this pass */
    /* What to say if nothing better comes. */
    bool failed;
    bool failed_hopelessly;
    char endpoint[BOOT_ENDPOINT_MAX];
    muster_status_t status;
    char why[200];
} connector_t;

/* ---- One address ----------------------------------------------------------------------------- */

static void fail_target(connector_t *connector, target_t *target, muster_status_t status,
                        bool hopeless, const char *why)
{
    if (target->fd >= 0) {
        boot_fork_close(target->fd);
        target->fd = -1;
        connector->open--;
        if (connector->next > 0)
            connector->due = boot_now();
    }
    target->hopeless = hopeless;
    if (connector->failed_hopelessly && !hopeless)
        return;
    connector->failed = true;
    connector->failed_hopelessly = hopeless;
    connector->status = status;
    boot_format_endpoint(target->address, connector->endpoint);
    snprintf(connector->why, sizeof connector->why, "%s", why);
}

static void fail_system(connector_t *connector, target_t *target, int reason)
{
    bool no_way = reason == EHOSTUNREACH || reason == ENETUNREACH || reason == EADDRNOTAVAIL;
    fail_target(connector, target, no_way ? MUSTER_UNREACHABLE : MUSTER_TIMED_OUT, false,
                strerror(reason));
}

static void fail_handshake(connector_t *connector, target_t *target)
{
    char why[sizeof connector->why];
    const handshake_t *handshake = &target->handshake;
    switch (handshake->status) {
    case MUSTER_VERSION_MISMATCH:
        snprintf(why, sizeof why, "rank 0 speaks version %u of the protocol, this rank version %u",
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
    fail_target(connector, target, handshake->status, true, why);
}

static void begin_target(connector_t *connector, target_t *target, int64_t now)
{
    const struct addrinfo *address = target->address;
    int fd = boot_fork_socket(address->ai_family);
    if (fd < 0) {
        fail_target(connector, target, MUSTER_ENVIRONMENT, true, strerror(errno));
        return;
    }
    target->fd = fd;
    target->connected = false;
    target->begun = now;
    connector->open++;
    connector->due = now + NEXT_TIME;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS)
        fail_system(connector, target, errno);
}

/* The connection is there, or has failed. */
static bool finish_connecting(connector_t *connector, target_t *target)
{
    boot_t *boot = connector->boot;
    int error = 0;
    socklen_t size = sizeof error;
    handshake_identity_t identity;
    uint8_t nonce[HANDSHAKE_NONCE_SIZE];
    if (getsockopt(target->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error != 0) {
        fail_system(connector, target, error);
        return false;
    }
    boot_prepare_socket(target->fd);
    randombytes_buf(nonce, sizeof nonce);
    boot_identify(boot, boot->rank, &identity);
    handshake_connect(&target->handshake, &identity, BOOT_HUB_NUMBER, nonce);
    target->connected = true;
    if (connector->next > 0 && connector->due < target->begun + ANSWER_TIME)
        connector->due = target->begun + ANSWER_TIME;
    return true;
}

/* true: each has shown the secret to the other. */
static bool advance_target(connector_t *connector, target_t *target)
{
    if (!target->connected && !finish_connecting(connector, target))
        return false;
    switch (boot_move_handshake(target->fd, &target->handshake)) {
    case BOOT_MOVE_WAITS:
        return false;
    case BOOT_MOVE_BROKEN:
        fail_target(connector, target, MUSTER_TIMED_OUT, false, "the connection was closed");
        return false;
    case BOOT_MOVE_MADE:
        break;
    }
    if (target->handshake.state == HANDSHAKE_DONE)
        return true;
    fail_handshake(connector, target);
    return false;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* Whether there is a place for one more; otherwise due says when. */
static bool make_place(connector_t *connector, int64_t now)
{
    target_t *oldest = NULL;
    if (connector->open < TRIES_MAX)
        return true;
    for (size_t i = 0; i < connector->count; i++) {
        target_t *target = &connector->targets[i];
        if (target->fd >= 0 && (oldest == NULL || target->begun < oldest->begun))
            oldest = target;
    }
    if (now - oldest->begun >= GIVE_WAY_TIME) {
        fail_target(connector, oldest, MUSTER_TIMED_OUT, false, "no answer");
        return true;
    }
    connector->due = oldest->begun + GIVE_WAY_TIME;
    return false;
}

/* Whether its turn is used: it is not being tried, or has been for too long. */
static bool is_idle(connector_t *connector, target_t *target, int64_t now)
{
    if (target->fd < 0)
        return true;
    /* Rank 0 may be slow; where there is no other address, it is the one. */
    if (now - target->begun < ADDRESS_TIME || (target->connected && connector->count == 1))
        return false;
    fail_target(connector, target, MUSTER_TIMED_OUT, false, "no answer");
    return true;
}

static void begin_due(connector_t *connector, int64_t now)
{
    while (connector->due <= now) {
        if (connector->next == connector->count) {
            connector->next = 0;
            connector->due = now + connector->pause;
            connector->pause =
                connector->pause * 2 < PAUSE_MOST ? connector->pause * 2 : PAUSE_MOST;
            return;
        }
        target_t *target = &connector->targets[connector->next];
        bool idle = is_idle(connector, target, now);
        if (idle && !make_place(connector, now))
            return;
        connector->next++;
        if (idle)
            begin_target(connector, target, now);
    }
}

/* Waits for one of them to move. One that has come to a good end, or NULL. */
static target_t *await_target(connector_t *connector, int64_t deadline_ns)
{
    struct pollfd ready[TRIES_MAX];
    target_t *targets[TRIES_MAX];
    const uint8_t *unsent;
    nfds_t count = 0;
    for (size_t i = 0; i < connector->count && count < TRIES_MAX; i++) {
        target_t *target = &connector->targets[i];
        if (target->fd < 0)
            continue;
        bool writes = !target->connected || handshake_output(&target->handshake, &unsent) > 0;
        ready[count] = (struct pollfd){.fd = target->fd, .events = writes ? POLLOUT : POLLIN};
        targets[count++] = target;
    }
    int64_t until = connector->due < deadline_ns ? connector->due : deadline_ns;
    if (poll(ready, count, boot_milliseconds_until(until)) <= 0)
        return NULL;
    for (nfds_t i = 0; i < count; i++) {
        if (ready[i].revents != 0 && advance_target(connector, targets[i]))
            return targets[i];
    }
    return NULL;
}

static void stop_trying(connector_t *connector)
{
    for (size_t i = 0; i < connector->count; i++) {
        if (connector->targets[i].fd >= 0)
            boot_fork_close(connector->targets[i].fd);
        connector->targets[i].fd = -1;
    }
    connector->open = 0;
}

static bool all_are_hopeless(const connector_t *connector)
{
    for (size_t i = 0; i < connector->count; i++) {
        if (!connector->targets[i].hopeless)
            return false;
    }
    return true;
}

/* ---- Until it is there ----------------------------------------------------------------------- */

/*
 * IN_PROGRESS: try again. A hub that closes without an answer is one that this rank has left
 * before, and that has not ended yet.
 */
static muster_status_t join_at(connector_t *connector, target_t *target, int64_t deadline_ns,
                               muster_failure_t *failure)
{
    boot_t *boot = connector->boot;
    int fd = target->fd;
    target->fd = -1;
    stop_trying(connector);
    if (!boot_link_open(&boot->link, fd, CONTROL_FRAME_MAX)) {
        return boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
    }
    muster_status_t status = boot_join(boot, "rank 0", deadline_ns, failure);
    if (status == MUSTER_OK && !boot_watch(boot)) {
        return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK,
                         "cannot watch the connection to rank 0: %s", strerror(errno));
    }
    if (status != MUSTER_PEER_LOST)
        return status;
    fail_target(connector, target, MUSTER_TIMED_OUT, false, "rank 0 has closed the connection");
    boot_link_close(&boot->link, true);
    connector->next = connector->count; /* the pass is over */
    connector->due = boot_now();
    return MUSTER_IN_PROGRESS;
}

static muster_status_t fail_connect(connector_t *connector, muster_failure_t *failure)
{
    for (size_t i = 0; i < connector->count && !connector->failed; i++) {
        if (connector->targets[i].fd >= 0)
            fail_target(connector, &connector->targets[i], MUSTER_TIMED_OUT, false, "no answer");
    }
    char others[64] = "";
    if (connector->count > 1)
        snprintf(others, sizeof others, ", nor at %zu other addresses", connector->count - 1);
    boot_fail(failure, connector->status, 0,
              "rank 0 was not reached at %s (MASTER_ADDR, MASTER_PORT): %s%s", connector->endpoint,
              connector->why, others);
    if (failure != NULL && connector->status == MUSTER_TIMED_OUT) {
        failure->range_count = 1;
        failure->missing[0] = (muster_rank_range_t){0, 0};
    }
    return connector->status;
}

static muster_status_t connect_until(connector_t *connector, int64_t deadline_ns,
                                     muster_failure_t *failure)
{
    for (;;) {
        int64_t now = boot_now();
        begin_due(connector, now);
        target_t *target = await_target(connector, deadline_ns);
        if (target != NULL) {
            muster_status_t status = join_at(connector, target, deadline_ns, failure);
            if (status != MUSTER_IN_PROGRESS)
                return status;
        }
        /* Of this version it is proven that it is rank 0's. */
        bool other_version =
            connector->failed_hopelessly && connector->status == MUSTER_VERSION_MISMATCH;
        if (other_version || all_are_hopeless(connector) || boot_now() >= deadline_ns)
            return fail_connect(connector, failure);
    }
}

muster_status_t boot_connect(boot_t *boot, const boot_place_t *place, int64_t deadline_ns,
                             muster_failure_t *failure)
{
    connector_t connector = {.boot = boot, .status = MUSTER_TIMED_OUT, .pause = PAUSE_LEAST};
    for (const struct addrinfo *address = place->found; address != NULL; address = address->ai_next)
        connector.count++;
    connector.targets = calloc(connector.count, sizeof *connector.targets);
    if (connector.targets == NULL)
        return boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
    size_t i = 0;
    for (const struct addrinfo *address = place->found; address != NULL; address = address->ai_next)
        connector.targets[i++] = (target_t){.address = address, .fd = -1};
    muster_status_t status = connect_until(&connector, deadline_ns, failure);
    stop_trying(&connector);
    free(connector.targets);
    return status;
}
