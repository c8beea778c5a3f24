#include "boot/boot.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "boot/boot_fork.h"
#include "boot/boot_state.h"
#include "core/assertion.h"
#include "core/text.h"

#define NANOSECONDS_PER_SECOND INT64_C(1000000000)
#define NANOSECONDS_PER_MILLISECOND INT64_C(1000000)
/*
 * An exchange is given up this long before the deadline, so that everybody hears who is missing in
 * time.
 */
#define EXPIRY_MARGIN (250 * NANOSECONDS_PER_MILLISECOND)
#define CLOSE_FLUSH_TIME NANOSECONDS_PER_SECOND

int64_t boot_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

int boot_milliseconds_until(int64_t time)
{
    const int64_t hour = 3600 * 1000;
    int64_t now = boot_now();
    if (time <= now)
        return 0;
    int64_t left = (time - now - 1) / NANOSECONDS_PER_MILLISECOND + 1;
    return (int)(left < hour ? left : hour);
}

muster_status_t boot_fail(muster_failure_t *failure, muster_status_t status, uint32_t rank,
                          const char *format, ...)
{
    if (failure == NULL)
        return status;
    *failure = (muster_failure_t){.status = status, .rank = rank};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

boot_t *boot_new(void)
{
    boot_t *boot = calloc(1, sizeof *boot);
    if (boot == NULL)
        return NULL;
    boot->size = 1;
    boot->pid = getpid();
    boot->epoll = -1;
    boot->link.fd = -1;
    boot->link.epoll = -1;
    return boot;
}

bool boot_set_size(boot_t *boot, uint32_t rank, uint32_t size)
{
    MUSTER_ASSERT(rank < size);
    boot->members = calloc(size, sizeof *boot->members);
    boot->events = calloc(size, sizeof *boot->events);
    boot->rank = rank;
    boot->size = size;
    return boot->members != NULL && boot->events != NULL;
}

bool boot_watch(boot_t *boot)
{
    boot->epoll = boot_fork_epoll();
    if (boot->epoll < 0)
        return false;
    return boot->link.fd < 0 || boot_link_watch(&boot->link, boot->epoll, 0);
}

/*
 * ---- What the hub says ------------------------------------------------------------------------
 */

static void push_event(boot_t *boot, uint32_t rank)
{
    MUSTER_ASSERT(boot->event_count < boot->size);
    boot->events[boot->event_count++] = rank;
}

static void exchange_ends(boot_t *boot, uint32_t rank)
{
    if (boot->exchange.state != BOOT_EXCHANGE_OPEN)
        return;
    boot->exchange.state = BOOT_EXCHANGE_LOST;
    boot->exchange.rank = rank;
}

void boot_mark_lost(boot_t *boot, uint32_t rank, uint32_t pid, const char *host, const char *how)
{
    boot_member_t *member = &boot->members[rank];
    if (rank == boot->rank || member->state != BOOT_MEMBER_PRESENT)
        return;
    member->state = BOOT_MEMBER_LOST;
    member->pid = pid;
    snprintf(member->host, sizeof member->host, "%s", host);
    snprintf(member->how, sizeof member->how, "%.*s", (int)sizeof member->how - 1, how);
    push_event(boot, rank);
    exchange_ends(boot, rank);
}

static void mark_left(boot_t *boot, uint32_t rank)
{
    boot_member_t *member = &boot->members[rank];
    if (rank == boot->rank || member->state != BOOT_MEMBER_PRESENT)
        return;
    member->state = BOOT_MEMBER_LEFT;
    push_event(boot, rank);
    exchange_ends(boot, rank);
}

static bool receive_table(boot_t *boot, const control_message_t *message)
{
    boot_exchange_state_t *exchange = &boot->exchange;
    if (exchange->state != BOOT_EXCHANGE_OPEN) {
        /* An exchange that this rank has given up may still end well for the others. */
        return exchange->state != BOOT_EXCHANGE_DONE;
    }
    if (message->blob_length != exchange->length || message->rank != exchange->received ||
        message->count > boot->size - exchange->received) {
        return false;
    }
    memcpy(exchange->all + (size_t)message->rank * exchange->length, message->blob,
           (size_t)message->count * exchange->length);
    exchange->received += message->count;
    if (exchange->received == boot->size)
        exchange->state = BOOT_EXCHANGE_DONE;
    return true;
}

static bool receive_welcome(boot_t *boot, const control_message_t *message)
{
    if (boot->welcomed)
        return false;
    if (boot->members == NULL) {
        /* The launcher says who this is. */
        if (!boot_set_size(boot, message->rank, message->size))
            return false;
        memcpy(boot->secret, message->secret, sizeof boot->secret);
    } else if (message->rank != boot->rank || message->size != boot->size) {
        return false;
    }
    memcpy(boot->job, message->job, sizeof boot->job);
    boot->welcomed = true;
    return true;
}

bool boot_receive(boot_t *boot, const control_message_t *message)
{
    switch (message->kind) {
    case CONTROL_WELCOME:
        return receive_welcome(boot, message);
    case CONTROL_REFUSED:
        boot->refusal = *message;
        return true;
    case CONTROL_TABLE:
        return boot->welcomed && receive_table(boot, message);
    case CONTROL_MISSING:
        boot->given_up = *message;
        boot->given_up_after = boot->event_count;
        if (boot->exchange.state == BOOT_EXCHANGE_OPEN)
            boot->exchange.state = BOOT_EXCHANGE_MISSING;
        return true;
    case CONTROL_LOST:
        if (!boot->welcomed || message->rank >= boot->size)
            return false;
        boot_mark_lost(boot, message->rank, message->pid, message->host, message->text);
        return true;
    case CONTROL_LEFT:
        if (!boot->welcomed || message->rank >= boot->size)
            return false;
        mark_left(boot, message->rank);
        return true;
    case CONTROL_NONE:
    case CONTROL_JOIN:
    case CONTROL_ADDRESS:
    case CONTROL_EXPIRED:
    case CONTROL_LEAVE:
    case CONTROL_KIND_COUNT:
        break;
    }
    return false;
}

/* The hub is gone: nobody tells any more who is lost. */
static void lose_hub(boot_t *boot)
{
    boot_link_close(&boot->link, false);
    if (!boot->welcomed)
        return;
    if (!boot->launched) {
        boot_mark_lost(boot, 0, 0, "", "closed its control connection without leaving");
        return;
    }
    /* The launcher takes all its ranks along. */
    for (uint32_t rank = 0; rank < boot->size; rank++) {
        boot_mark_lost(boot, rank, 0, "", "lost together with the launcher");
    }
}

static void read_link(boot_t *boot)
{
    control_message_t message;
    boot_link_flush(&boot->link);
    boot_link_read(&boot->link);
    for (;;) {
        boot_link_result_t result = boot_link_next(&boot->link, &message);
        if (result == BOOT_LINK_NOTHING)
            return;
        if (result == BOOT_LINK_BROKEN || !boot_receive(boot, &message)) {
            lose_hub(boot);
            return;
        }
    }
}

/* Does what can be done, waiting at most so long for it to become possible. */
static void pump(boot_t *boot, int timeout_ms)
{
    if (boot->hub != NULL) {
        boot_hub_pump(boot, timeout_ms);
        return;
    }
    if (boot->link.fd < 0)
        return;
    struct pollfd ready = {.fd = boot->link.fd, .events = POLLIN};
    if (boot->link.out_length > 0)
        ready.events |= POLLOUT;
    if (poll(&ready, 1, timeout_ms) > 0)
        read_link(boot);
}

/*
 * ---- Joining ----------------------------------------------------------------------------------
 */

static muster_status_t fail_refused(const boot_t *boot, muster_failure_t *failure)
{
    const control_message_t *refusal = &boot->refusal;
    boot_fail(failure, refusal->status, boot->members != NULL ? boot->rank : MUSTER_NO_RANK, "%s",
              refusal->text);
    if (failure != NULL) {
        failure->pid = refusal->pid;
        memcpy(failure->host, refusal->host, sizeof failure->host);
    }
    return refusal->status;
}

muster_status_t boot_join(boot_t *boot, const char *hub, int64_t deadline_ns,
                          muster_failure_t *failure)
{
    control_message_t join = {.kind = CONTROL_JOIN,
                              .version = CONTROL_VERSION,
                              .pid = (uint32_t)boot->pid,
                              .size = boot->launched ? 0 : boot->size};
    gethostname(join.host, sizeof join.host - 1);
    boot_link_send(&boot->link, &join);
    uint32_t hub_rank = boot->launched ? MUSTER_NO_RANK : 0;
    while (!boot->welcomed && boot->refusal.kind == CONTROL_NONE && boot->link.fd >= 0) {
        if (boot_now() >= deadline_ns) {
            return boot_fail(failure, MUSTER_TIMED_OUT, hub_rank,
                             "%s did not answer before the deadline", hub);
        }
        pump(boot, boot_milliseconds_until(deadline_ns));
    }
    if (boot->refusal.kind != CONTROL_NONE)
        return fail_refused(boot, failure);
    if (!boot->welcomed) {
        return boot_fail(failure, boot->launched ? MUSTER_ENVIRONMENT : MUSTER_PEER_LOST, hub_rank,
                         "%s closed the connection without an answer", hub);
    }
    return MUSTER_OK;
}

muster_status_t boot_open(int64_t deadline_ns, boot_t **boot, muster_failure_t *failure)
{
    boot_t *opened = boot_new();
    if (sodium_init() < 0) {
        free(opened);
        return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK, "libsodium does not start");
    }
    if (opened == NULL) {
        return boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
    }
    const char *descriptor = getenv("MUSTER_CONTROL_FD");
    muster_status_t status = descriptor != NULL && descriptor[0] != 0
                                 ? boot_open_launcher(opened, descriptor, deadline_ns, failure)
                                 : boot_open_environment(opened, deadline_ns, failure);
    if (status != MUSTER_OK) {
        boot_close(opened);
        return status;
    }
    if (opened->epoll < 0) {
        randombytes_buf(opened->secret, sizeof opened->secret);
        randombytes_buf(opened->job, sizeof opened->job);
    }
    *boot = opened;
    return MUSTER_OK;
}

uint32_t boot_rank(const boot_t *boot)
{
    return boot->rank;
}
uint32_t boot_size(const boot_t *boot)
{
    return boot->size;
}
const uint8_t *boot_secret(const boot_t *boot)
{
    return boot->secret;
}
const uint8_t *boot_job(const boot_t *boot)
{
    return boot->job;
}
bool boot_is_one_host(const boot_t *boot)
{
    return boot->launched;
}
int boot_fd(const boot_t *boot)
{
    return boot->epoll;
}

/*
 * ---- The exchange -----------------------------------------------------------------------------
 */

static muster_status_t fail_lost(boot_t *boot, uint32_t rank, int64_t deadline_ns,
                                 muster_failure_t *failure)
{
    const boot_member_t *member = &boot->members[rank];
    /* Who has not come yet would find nobody to tell why, if the hub went now. */
    if (boot->hub != NULL)
        boot_hub_tell_all(boot, deadline_ns);
    if (member->state == BOOT_MEMBER_LEFT) {
        boot_fail(failure, MUSTER_PEER_LOST, rank,
                  "rank %" PRIu32 " left the job before all ranks had each other's address", rank);
    } else {
        boot_fail(failure, MUSTER_PEER_LOST, rank, "rank %" PRIu32 " was lost: %s", rank,
                  member->how);
    }
    if (failure != NULL) {
        failure->pid = member->pid;
        memcpy(failure->host, member->host, sizeof failure->host);
    }
    return MUSTER_PEER_LOST;
}

/* "rank 2", "ranks 2-3, 5": who has not come. */
static void name_missing(const control_message_t *missing, text_t *text)
{
    bool one = missing->count == 1 && missing->ranges[0].first == missing->ranges[0].last;
    text_string(text, one ? "rank " : "ranks ");
    for (uint32_t i = 0; i < missing->count; i++) {
        if (i > 0)
            text_string(text, ", ");
        text_number(text, missing->ranges[i].first);
        if (missing->ranges[i].last == missing->ranges[i].first)
            continue;
        text_character(text, '-');
        text_number(text, missing->ranges[i].last);
    }
}

static muster_status_t fail_missing(const boot_t *boot, muster_failure_t *failure)
{
    const control_message_t *missing = &boot->given_up;
    uint32_t rank = missing->count > 0 && missing->ranges[0].first == missing->ranges[0].last
                        ? missing->ranges[0].first
                        : MUSTER_NO_RANK;
    if (missing->count > 1)
        rank = MUSTER_NO_RANK;
    char who[256];
    text_t text = text_over(who, sizeof who);
    if (boot->exchange.state != BOOT_EXCHANGE_MISSING)
        text_string(&text, boot->launched ? "the launcher" : "rank 0");
    else if (missing->count > 0)
        name_missing(missing, &text);
    boot_fail(failure, MUSTER_TIMED_OUT, rank, "%s did not %s before the deadline",
              text.length > 0 ? who : "some rank",
              boot->exchange.state == BOOT_EXCHANGE_MISSING ? "join" : "answer");
    if (failure != NULL) {
        failure->range_count = missing->count;
        memcpy(failure->missing, missing->ranges, sizeof missing->ranges);
    }
    return MUSTER_TIMED_OUT;
}

/* Somebody of whom it is known already that the exchange cannot succeed, or MUSTER_NO_RANK. */
static uint32_t gone_member(const boot_t *boot)
{
    /* The first is the cause: others may have ended because of it. */
    return boot->event_count > 0 ? boot->events[0] : MUSTER_NO_RANK;
}

static void give_address(boot_t *boot, const uint8_t *blob, uint32_t length)
{
    control_message_t address = {.kind = CONTROL_ADDRESS, .blob = blob, .blob_length = length};
    if (boot->hub != NULL)
        boot_hub_address(boot, blob, length);
    else
        boot_link_send(&boot->link, &address);
}

static void give_up(boot_t *boot)
{
    control_message_t expired = {.kind = CONTROL_EXPIRED};
    if (boot->hub != NULL)
        boot_hub_expire(boot);
    else
        boot_link_send(&boot->link, &expired);
}

static void run_exchange(boot_t *boot, int64_t deadline_ns)
{
    int64_t now = boot_now();
    int64_t margin =
        (deadline_ns - now) / 4 < EXPIRY_MARGIN ? (deadline_ns - now) / 4 : EXPIRY_MARGIN;
    int64_t until = deadline_ns - (margin > 0 ? margin : 0);
    bool expired = false;
    while (boot->exchange.state == BOOT_EXCHANGE_OPEN) {
        now = boot_now();
        if (now >= deadline_ns && expired)
            return;
        if (now >= until) {
            if (!expired)
                give_up(boot);
            expired = true;
            until = deadline_ns;
            if (boot->exchange.state != BOOT_EXCHANGE_OPEN)
                return;
        }
        pump(boot, boot_milliseconds_until(until));
    }
}

muster_status_t boot_exchange(boot_t *boot, const uint8_t *mine, size_t length, uint8_t *all,
                              int64_t deadline_ns, muster_failure_t *failure)
{
    if (length < 1 || length > BOOT_ADDRESS_MAX) {
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "an address has 1 to %d bytes, not %zu", BOOT_ADDRESS_MAX, length);
    }
    if (boot->epoll < 0) {
        memcpy(all, mine, length);
        return MUSTER_OK;
    }
    pump(boot, 0);
    if (boot->given_up.kind == CONTROL_MISSING && boot->given_up_after == 0) {
        boot->exchange.state = BOOT_EXCHANGE_MISSING;
        return fail_missing(boot, failure);
    }
    uint32_t gone = gone_member(boot);
    if (gone != MUSTER_NO_RANK)
        return fail_lost(boot, gone, deadline_ns, failure);
    boot->exchange = (boot_exchange_state_t){
        .state = BOOT_EXCHANGE_OPEN, .all = all, .length = (uint32_t)length};
    give_address(boot, mine, (uint32_t)length);
    run_exchange(boot, deadline_ns);
    boot_exchange_state_t *exchange = &boot->exchange;
    muster_status_t status;
    switch (exchange->state) {
    case BOOT_EXCHANGE_DONE:
        status = MUSTER_OK;
        break;
    case BOOT_EXCHANGE_LOST:
        status = fail_lost(boot, exchange->rank, deadline_ns, failure);
        break;
    default:
        status = fail_missing(boot, failure);
        break;
    }
    exchange->state = BOOT_EXCHANGE_NONE;
    return status;
}

/*
 * ---- Afterwards -------------------------------------------------------------------------------
 */

bool boot_poll(boot_t *boot, boot_event_t *event)
{
    if (boot->epoll < 0)
        return false;
    if (boot->event_next == boot->event_count)
        pump(boot, 0);
    if (boot->event_next == boot->event_count)
        return false;
    uint32_t rank = boot->events[boot->event_next++];
    const boot_member_t *member = &boot->members[rank];
    *event = (boot_event_t){
        .kind = member->state == BOOT_MEMBER_LOST ? BOOT_LOST : BOOT_LEFT,
        .rank = rank,
        .pid = member->pid,
    };
    memcpy(event->host, member->host, sizeof event->host);
    memcpy(event->how, member->how, sizeof event->how);
    return true;
}

void boot_leave(boot_t *boot)
{
    if (boot->epoll < 0 || boot->left || boot->pid != getpid())
        return;
    boot->left = true;
    control_message_t leave = {.kind = CONTROL_LEAVE};
    if (boot->hub != NULL)
        boot_hub_leave(boot);
    else
        boot_link_send(&boot->link, &leave);
}

/* In a forked child: they are closed, and their numbers may be somebody else's. */
static void forget_descriptors(boot_t *boot)
{
    boot->link.fd = -1;
    boot->epoll = -1;
    if (boot->hub != NULL)
        boot_hub_forget_descriptors(boot);
}

void boot_close(boot_t *boot)
{
    if (boot == NULL)
        return;
    bool own = boot->pid == getpid();
    if (!own)
        forget_descriptors(boot);
    int64_t until = boot_now() + CLOSE_FLUSH_TIME;
    while (own && boot->link.fd >= 0 && boot->link.out_length > 0 && boot_now() < until) {
        pump(boot, boot_milliseconds_until(until));
    }
    if (boot->hub != NULL)
        boot_hub_close(boot, own, until);
    boot_link_close(&boot->link, own);
    if (boot->epoll >= 0)
        boot_fork_close(boot->epoll);
    sodium_memzero(boot->secret, sizeof boot->secret);
    sodium_memzero(boot->hub_key, sizeof boot->hub_key);
    free(boot->members);
    free(boot->events);
    free(boot);
}
