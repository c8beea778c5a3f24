/*
 * One rank that goes through start-up alone: finds its job, exchanges addresses, hears of others.
 *
 *     child_boot [STEP=RANK[:ACTION]]
 *
 * That rank does ACTION at STEP. Steps: begin, opened, exchanged, left. Actions: kill (itself, by
 * SIGKILL; the default), exit (with 3), stop (waits for ever), quit (closes without leaving, and
 * goes on living), fork (a child uses what is not its own, and ends), garbage (sends nonsense
 * through the launcher's door, and goes on), version (joins as a rank whose messages have the
 * version before this one, and ends).
 *
 * CHILD_TIMEOUT_MS is the time for start-up (10000). With CHILD_STAYS a rank stays until it has
 * heard of all others' end or of a loss, or, where it is "all", of all others' end; with CHILD_JOBS
 * it does everything so many times.
 *
 * Prints "opened RANK of SIZE", "exchanged", "lost RANK: HOW", "left RANK", "done", and on a
 * failure "failed STEP: STATUS rank RANK pid PID missing RANGES: MESSAGE"; exits with 0, or 1 then.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "boot/boot.h"

#define ADDRESS_SIZE 700

static const char *plan = "";

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static bool planned(const char *step, uint32_t rank, char action[16])
{
    char name[16] = "";
    unsigned which = 0;
    strcpy(action, "kill");
    if (sscanf(plan, "%15[a-z]=%u:%15s", name, &which, action) < 2)
        return false;
    return strcmp(name, step) == 0 && which == rank;
}

/* A connection to the launcher that no library has made; -1: none. */
static int knock(void)
{
    int pair[2];
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    const char *door = getenv("MUSTER_CONTROL_FD");
    if (door == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &pair[1], sizeof(int));
    ssize_t sent = sendmsg((int)strtol(door, NULL, 10), &message, 0);
    close(pair[1]);
    return sent == 1 ? pair[0] : -1;
}

/* The launcher closes it, and that is all. */
static void send_garbage(void)
{
    uint8_t bytes[5000];
    int fd = knock();
    memset(bytes, 0xee, sizeof bytes);
    if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0 && recv(fd, bytes, sizeof bytes, 0) <= 0)
        printf("closed\n");
    close(fd);
}

static _Noreturn void join_as_other_version(void)
{
    uint8_t bytes[CONTROL_FRAME_MAX];
    size_t length = 0, used = 0;
    int fd = knock();
    control_message_t message = {.kind = CONTROL_JOIN, .version = WIRE_VERSION - 1};
    control_encode(&message, bytes);
    ssize_t got = send(fd, bytes, control_size(&message), MSG_NOSIGNAL);
    while (got > 0 && (got = recv(fd, bytes + length, sizeof bytes - length, 0)) > 0) {
        length += (size_t)got;
        if (control_decode(bytes, length, &message, &used) != CONTROL_READ_MESSAGE)
            continue;
        if (message.kind == CONTROL_REFUSED)
            printf("refused: %s: %s\n", muster_status_name(message.status), message.text);
        break;
    }
    fflush(stdout);
    _exit(4);
}

static void at(const char *step, uint32_t rank, boot_t *boot)
{
    char action[16];
    if (!planned(step, rank, action))
        return;
    if (strcmp(action, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(action, "version") == 0)
        join_as_other_version();
    if (strcmp(action, "garbage") == 0) {
        send_garbage();
        return;
    }
    if (strcmp(action, "exit") == 0)
        _exit(3);
    if (strcmp(action, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            boot_leave(boot);
            boot_close(boot);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        return;
    }
    if (strcmp(action, "quit") == 0)
        boot_close(boot);
    for (;;)
        pause();
}

static int fail(const char *step, muster_status_t status, const muster_failure_t *failure)
{
    printf("failed %s: %s rank %d pid %u missing", step, muster_status_name(status),
           (int)failure->rank, failure->pid);
    for (uint32_t i = 0; i < failure->range_count; i++) {
        printf(" %u-%u", failure->missing[i].first, failure->missing[i].last);
    }
    printf(": %s\n", failure->message);
    fflush(stdout);
    return 1;
}

static void make_address(uint8_t *address, uint32_t rank, const uint8_t *secret)
{
    for (uint32_t i = 0; i < ADDRESS_SIZE; i++)
        address[i] = (uint8_t)(secret[i % 32] + rank * 31 + i);
}

/* The others' addresses are what they must be, so everybody has the same secret, too. */
static bool check_addresses(const uint8_t *all, const boot_t *boot)
{
    uint8_t expected[ADDRESS_SIZE];
    for (uint32_t rank = 0; rank < boot_size(boot); rank++) {
        make_address(expected, rank, boot_secret(boot));
        if (memcmp(expected, all + (size_t)rank * ADDRESS_SIZE, ADDRESS_SIZE) != 0)
            return false;
    }
    return true;
}

/* Until everybody else is gone, or one was lost, or the time is over. */
static void listen_to_others(boot_t *boot, const char *stays, int64_t deadline)
{
    uint32_t gone = 0;
    boot_event_t event;
    while (gone + 1 < boot_size(boot)) {
        while (boot_poll(boot, &event)) {
            gone++;
            if (event.kind == BOOT_LEFT)
                printf("left %u\n", event.rank);
            else
                printf("lost %u: %s\n", event.rank, event.how);
            fflush(stdout);
            if (event.kind == BOOT_LOST && strcmp(stays, "all") != 0)
                return;
        }
        int64_t left = (deadline - now()) / 1000000;
        if (gone + 1 == boot_size(boot) || left <= 0)
            return;
        struct pollfd ready = {.fd = boot_fd(boot), .events = POLLIN};
        poll(&ready, 1, (int)left);
    }
}

static int run(int64_t deadline)
{
    muster_failure_t failure = {.status = MUSTER_OK};
    boot_t *boot;
    const char *rank = getenv("RANK");
    at("begin", rank != NULL ? (uint32_t)atoi(rank) : 0, NULL);
    muster_status_t status = boot_open(deadline, &boot, &failure);
    if (status != MUSTER_OK)
        return fail("open", status, &failure);
    printf("opened %u of %u\n", boot_rank(boot), boot_size(boot));
    fflush(stdout);
    at("opened", boot_rank(boot), boot);
    uint8_t mine[ADDRESS_SIZE], *all = malloc((size_t)boot_size(boot) * ADDRESS_SIZE);
    if (all == NULL)
        return 1;
    make_address(mine, boot_rank(boot), boot_secret(boot));
    for (int round = 0; round < 2 && status == MUSTER_OK; round++) {
        status = boot_exchange(boot, mine, sizeof mine, all, deadline, &failure);
        if (status == MUSTER_OK && !check_addresses(all, boot))
            status = MUSTER_INTERNAL;
    }
    free(all);
    if (status != MUSTER_OK) {
        fail("exchange", status, &failure);
        boot_close(boot);
        return 1;
    }
    printf("exchanged\n");
    fflush(stdout);
    at("exchanged", boot_rank(boot), boot);
    const char *stays = getenv("CHILD_STAYS");
    if (stays != NULL)
        listen_to_others(boot, stays, deadline);
    boot_leave(boot);
    at("left", boot_rank(boot), boot);
    boot_close(boot);
    printf("done\n");
    fflush(stdout);
    return 0;
}

int main(int count, char **arguments)
{
    const char *timeout = getenv("CHILD_TIMEOUT_MS");
    const char *rounds = getenv("CHILD_JOBS");
    if (count > 1)
        plan = arguments[1];
    int64_t time = (timeout != NULL ? atoll(timeout) : 10000) * INT64_C(1000000);
    int code = 0;
    for (int i = rounds != NULL ? atoi(rounds) : 1; i > 0 && code == 0; i--)
        code = run(now() + time);
    return code;
}
