/*
 * One rank of a job, in which a rank forks, executes another program, has few descriptors, gives
 * something up, or leaves at once.
 *
 *     child_process fork | exec | become | outlived [VICTIM] | descriptors [ROUNDS]
 *     child_process overlap FIRST | killed FIRST | leave FIFO | mesh | list
 *
 * CHILD_TIMEOUT_MS is the context's timeout (30000). Prints what has to be true and is not, "wrong
 * ...", and otherwise what each mode says.
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster.h"

#define DEADLINE_MS 30000
#define DESCRIPTORS_MAX 64

/* A thread sanitizer allows a forked child no threads. */
#ifdef __SANITIZE_THREAD__
#define FORKED_HAS_THREADS false
#endif
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define FORKED_HAS_THREADS false
#endif
#endif
#ifndef FORKED_HAS_THREADS
#define FORKED_HAS_THREADS true
#endif

static char **own_arguments;
static uint32_t rank, size;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(90);
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            say("wrong, line %d of rank %u: %s\n", __LINE__, rank, #condition);                    \
    } while (0)

/* The open descriptors in order, as text. */
static void list_descriptors(char *text, size_t room)
{
    bool open_ones[1024] = {false};
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        _exit(92);
    for (struct dirent *entry; (entry = readdir(directory));) {
        long number = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && number < 1024 && number != dirfd(directory))
            open_ones[number] = true;
    }
    closedir(directory);
    size_t length = 0;
    text[0] = 0;
    for (int i = 0; i < 1024 && length < room; i++)
        if (open_ones[i])
            length += (size_t)snprintf(text + length, room - length, " %d", i);
}

static unsigned count_descriptors(void)
{
    char text[4096];
    unsigned count = 0;
    list_descriptors(text, sizeof text);
    for (const char *next = text; (next = strchr(next, ' ')); next++)
        count++;
    return count;
}

static muster_context_t *join(void)
{
    muster_failure_t failure = {0};
    muster_context_t *context = NULL;
    const char *timeout = getenv("CHILD_TIMEOUT_MS");
    uint64_t milliseconds = timeout ? strtoull(timeout, NULL, 10) : DEADLINE_MS;
    muster_context_options_t options = {.timeout = MUSTER_MILLISECONDS(milliseconds),
                                        .failure = &failure};
    if (muster_context_create(&options, &context) != MUSTER_OK) {
        say("wrong context: %s\n", failure.message);
        exit(1);
    }
    rank = muster_context_rank(context);
    size = muster_context_size(context);
    return context;
}

static muster_status_t sum_up(muster_comm_t *comm, const muster_call_t *call)
{
    int32_t mine = (int32_t)muster_comm_rank(comm) + 1, sum = 0;
    int32_t count = (int32_t)muster_comm_size(comm);
    muster_status_t status = muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, call);
    MUST(status != MUSTER_OK || sum == count * (count + 1) / 2);
    return status;
}

/* ---- fork and exec ---- */

/* Everything that a forked child can call with what it has inherited. */
static void call_everything(muster_context_t *context, muster_comm_t *comm,
                            muster_request_t *request)
{
    int32_t send[8] = {0}, receive[64] = {0};
    size_t counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, index = 7;
    muster_comm_t *made = NULL;
    muster_request_t *started = NULL;
    muster_comm_description_t description;
    muster_traffic_t traffic;
    muster_failure_t failure = {0};
    muster_comm_options_t options = {.failure = &failure};
    const muster_status_t refused = MUSTER_INVALID_HANDLE;
    MUST(muster_context_rank(context) == MUSTER_NO_RANK);
    MUST(muster_context_size(context) == 0);
    MUST(muster_context_world(context) == NULL);
    MUST(muster_progress(context) == refused);
    MUST(muster_comm_create(context, "child", NULL, 0, &options, &made) == refused);
    MUST(failure.status == refused);
    MUST(muster_comm_duplicate(comm, NULL, &made) == refused);
    MUST(muster_comm_split(comm, MUSTER_NOT_GIVEN, 0, NULL, &made) == refused);
    MUST(made == NULL);
    MUST(muster_comm_rank(comm) == MUSTER_NO_RANK);
    MUST(muster_comm_size(comm) == 0);
    MUST(strcmp(muster_comm_name(comm), "") == 0);
    MUST(muster_comm_describe(comm, &description) == refused);
    MUST(muster_comm_traffic(comm, &traffic) == refused);
    MUST(muster_barrier(comm, NULL) == refused);
    MUST(muster_ibarrier(comm, NULL, &started) == refused);
    MUST(muster_broadcast(comm, receive, 1, MUSTER_I32, 0, NULL) == refused);
    MUST(muster_allreduce(comm, send, receive, 1, MUSTER_I32, MUSTER_SUM, NULL) == refused);
    MUST(muster_reduce(comm, send, receive, 1, MUSTER_I32, MUSTER_SUM, 0, NULL) == refused);
    MUST(muster_gather(comm, send, receive, 1, MUSTER_I32, 0, NULL) == refused);
    MUST(muster_gatherv(comm, send, 1, receive, counts, NULL, MUSTER_I32, 0, NULL) == refused);
    MUST(muster_scatter(comm, send, receive, 1, MUSTER_I32, 0, NULL) == refused);
    MUST(muster_allgather(comm, send, receive, 1, MUSTER_I32, NULL) == refused);
    MUST(muster_alltoall(comm, send, receive, 1, MUSTER_I32, NULL) == refused);
    MUST(muster_scan(comm, send, receive, 1, MUSTER_I32, MUSTER_SUM, NULL) == refused);
    MUST(muster_iallgather(comm, send, receive, 1, MUSTER_I32, NULL, &started) == refused);
    MUST(started == NULL);
    MUST(muster_test(request) == refused);
    MUST(muster_wait(request, MUSTER_NO_DEADLINE) == refused);
    MUST(muster_wait_any(&request, 1, MUSTER_NO_DEADLINE, &index) == refused);
    MUST(muster_wait_all(&request, 1, MUSTER_NO_DEADLINE) == refused);
    MUST(index == 7);
    MUST(muster_cancel(request) == refused);
    MUST(muster_request_failure(request) == NULL);
    muster_request_destroy(request);
    muster_comm_destroy(comm);
    muster_context_destroy(context);
}

/* Nothing is global: a forked child can have a job of its own. */
static void have_own_job(void)
{
    muster_local_t *local = NULL;
    muster_context_t *context = NULL;
    MUST(muster_local_create(1, &local) == MUSTER_OK);
    muster_context_options_t options = {.local = local, .rank = MUSTER_GIVEN(0)};
    MUST(muster_context_create(&options, &context) == MUSTER_OK);
    MUST(sum_up(muster_context_world(context), NULL) == MUSTER_OK);
    muster_context_destroy(context);
    muster_local_destroy(local);
}

/* C933: the child's handles are invalid and harmless, and the parent goes on. */
static void play_fork(muster_context_t *context)
{
    muster_comm_t *world = muster_context_world(context), *comm = NULL;
    MUST(muster_comm_create(context, "forked", NULL, 0, NULL, &comm) == MUSTER_OK);
    MUST(sum_up(comm, NULL) == MUSTER_OK);
    muster_request_t *request = NULL;
    if (rank == 0) {
        MUST(muster_ibarrier(comm, NULL, &request) == MUSTER_OK);
        pid_t child = fork();
        if (child == 0) {
            call_everything(context, comm, request);
            if (FORKED_HAS_THREADS)
                have_own_job();
            exit(17);
        }
        int status = 0;
        MUST(waitpid(child, &status, 0) == child);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 17);
    }
    MUST(sum_up(world, NULL) == MUSTER_OK);
    if (rank != 0)
        MUST(muster_ibarrier(comm, NULL, &request) == MUSTER_OK);
    MUST(muster_wait(request, MUSTER_NO_DEADLINE) == MUSTER_OK);
    muster_request_destroy(request);
    MUST(sum_up(comm, NULL) == MUSTER_OK);
    muster_comm_destroy(comm);
}

static _Noreturn void execute_list(void)
{
    execl("/proc/self/exe", own_arguments[0], "list", (char *)NULL);
    _exit(93);
}

/* C933: what a rank's child executes has none of Muster's descriptors. */
static void play_exec(muster_context_t *context, const char *before)
{
    muster_comm_t *world = muster_context_world(context);
    MUST(sum_up(world, NULL) == MUSTER_OK);
    if (rank == 0) {
        say("before%s\n", before);
        pid_t child = fork();
        if (child == 0)
            execute_list();
        int status = 0;
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    MUST(sum_up(world, NULL) == MUSTER_OK);
}

static void hear_of_loss(muster_context_t *context)
{
    muster_failure_t failure = {0};
    muster_call_t call = {.failure = &failure};
    muster_status_t status = sum_up(muster_context_world(context), &call);
    say("heard %s %d %u\n", muster_status_name(status), (int)failure.rank, failure.pid);
}

/* The rank itself becomes another program: as a rank it is gone, though its process lives. */
static void play_become(muster_context_t *context, const char *before)
{
    MUST(sum_up(muster_context_world(context), NULL) == MUSTER_OK);
    if (rank == 0) {
        say("victim %d\nbefore%s\n", (int)getpid(), before);
        execute_list();
    }
    hear_of_loss(context);
}

/* The rank is killed, and its forked child, which executes nothing, lives on. */
static void play_outlived(muster_context_t *context, uint32_t victim)
{
    MUST(sum_up(muster_context_world(context), NULL) == MUSTER_OK);
    if (rank == victim) {
        int ready[2];
        char byte;
        MUST(pipe(ready) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(ready[0]);
            MUST(write(ready[1], "x", 1) == 1);
            for (;;)
                pause();
        }
        MUST(read(ready[0], &byte, 1) == 1);
        say("victim %d\nchild %d\n", (int)getpid(), (int)child);
        raise(SIGKILL);
    }
    hear_of_loss(context);
}

/* ---- descriptors and memory ---- */

static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A communicator is made, used and destroyed; its handle is good for nothing afterwards. */
static void use_communicator(muster_context_t *context)
{
    muster_comm_t *comm = NULL;
    muster_failure_t failure = {0};
    muster_comm_options_t options = {.failure = &failure};
    if (muster_comm_create(context, "many", NULL, 0, &options, &comm) != MUSTER_OK) {
        say("wrong communicator: %s\n", failure.message);
        exit(1);
    }
    MUST(sum_up(comm, NULL) == MUSTER_OK);
    muster_comm_destroy(comm);
    MUST(muster_barrier(comm, NULL) == MUSTER_INVALID_HANDLE);
}

static void play_descriptors(muster_context_t *context, int rounds)
{
    enum { SETTLED = 200 };
    struct rlimit limit = {DESCRIPTORS_MAX, DESCRIPTORS_MAX};
    unsigned descriptors = 0;
    size_t memory = 0;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < rounds; i++) {
        use_communicator(context);
        if (i == SETTLED) {
            descriptors = count_descriptors();
            memory = memory_in_use();
        }
    }
    MUST(count_descriptors() == descriptors);
    size_t grown = memory_in_use() > memory ? memory_in_use() - memory : 0;
    if (grown > 262144)
        say("wrong: %zu bytes more after %d communicators\n", grown, rounds - SETTLED);
    say("flat %u\n", descriptors);
}

/* ---- overlapping communicators ---- */

static void make_overlapping(muster_context_t *context, muster_comm_t **left, muster_comm_t **right)
{
    static const uint32_t lower[] = {0, 1, 2}, upper[] = {1, 2, 3};
    *left = *right = NULL;
    if (rank < 3)
        MUST(muster_comm_create(context, "left", lower, 3, NULL, left) == MUSTER_OK);
    if (rank > 0)
        MUST(muster_comm_create(context, "right", upper, 3, NULL, right) == MUSTER_OK);
    if (*left)
        MUST(sum_up(*left, NULL) == MUSTER_OK);
    if (*right)
        MUST(sum_up(*right, NULL) == MUSTER_OK);
}

static void tell(const char *name, muster_status_t status)
{
    say("%s %s\n", name, muster_status_name(status));
}

/*
 * Ranks 1 and 2 block in two communicators in opposite orders, which would never end; rank 0 gives
 * up the left one or rank 3 the right one, whichever is first, and afterwards the other does so
 * too, unless that has been completed by then.
 */
static void play_overlap(muster_context_t *context, const char *first)
{
    muster_comm_t *left, *right, *world = muster_context_world(context);
    muster_request_t *request = NULL;
    make_overlapping(context, &left, &right);
    if (rank == 0 || rank == 3) {
        bool waits = (rank == 0) != (strcmp(first, "left") == 0);
        MUST(muster_ibarrier(rank == 0 ? left : right, NULL, &request) == MUSTER_OK);
        if (waits)
            MUST(muster_barrier(world, NULL) == MUSTER_OK);
        MUST(muster_cancel(request) == MUSTER_OK);
        tell(rank == 0 ? "left" : "right", muster_wait(request, MUSTER_NO_DEADLINE));
        if (!waits)
            MUST(muster_barrier(world, NULL) == MUSTER_OK);
    } else {
        MUST(muster_ibarrier(world, NULL, &request) == MUSTER_OK);
        tell(rank == 1 ? "left" : "right", muster_barrier(rank == 1 ? left : right, NULL));
        tell(rank == 1 ? "right" : "left", muster_barrier(rank == 1 ? right : left, NULL));
        MUST(muster_wait(request, MUSTER_NO_DEADLINE) == MUSTER_OK);
    }
    muster_request_destroy(request);
    /* C801: the next generation works, on both */
    if (left)
        MUST(sum_up(left, NULL) == MUSTER_OK);
    if (right)
        MUST(sum_up(right, NULL) == MUSTER_OK);
}

/* The same, and instead of giving up ranks 0 and 3 are killed, one after the other. */
static void play_killed(muster_context_t *context, const char *first)
{
    muster_comm_t *left, *right;
    make_overlapping(context, &left, &right);
    bool left_first = strcmp(first, "left") == 0;
    muster_comm_t *alive = left_first ? right : left;
    muster_comm_t *dead = left_first ? left : right;
    if (rank == (left_first ? 0 : 3))
        raise(SIGKILL);
    /* Who is left in both: the death of one's member is not the other's. */
    if (rank == 1 || rank == 2) {
        muster_failure_t failure = {0};
        muster_call_t call = {.failure = &failure};
        MUST(muster_barrier(dead, &call) == MUSTER_PEER_LOST);
        MUST(failure.rank == (left_first ? 0 : 2));
    }
    MUST(sum_up(alive, NULL) == MUSTER_OK);
    if (rank == (left_first ? 3 : 0))
        raise(SIGKILL);
    muster_failure_t failure = {0};
    muster_call_t call = {.failure = &failure};
    MUST(muster_barrier(alive, &call) == MUSTER_PEER_LOST);
    MUST(failure.rank == (left_first ? 2 : 0));
    say("over\n");
}

/* ---- leaving at once ---- */

/* A value is given out and its giver has gone before the last rank has made a connection. */
static void play_leave(muster_context_t *context, const char *fifo)
{
    char byte = 'x';
    int32_t value = rank == 0 ? 42 : 0;
    muster_call_t local = {.outcome = MUSTER_OUTCOME_LOCAL};
    muster_comm_t *world = muster_context_world(context);
    if (rank == size - 1) {
        int fd = open(fifo, O_RDONLY | O_CLOEXEC);
        MUST(read(fd, &byte, 1) == 1);
        close(fd);
    }
    muster_status_t status = muster_broadcast(world, &value, 1, MUSTER_I32, 0, &local);
    MUST(status == MUSTER_OK && value == 42);
    if (rank == 0) {
        int fd = open(fifo, O_WRONLY | O_CLOEXEC);
        MUST(write(fd, &byte, 1) == 1);
        close(fd);
    }
    say("got %d\n", value);
}

/* ---- between hosts ---- */

/* Everybody talks with everybody, without going through another rank. */
static void play_mesh(muster_context_t *context)
{
    enum { COUNT = 256 };
    muster_failure_t failure = {0};
    muster_call_t call = {.failure = &failure};
    uint64_t *send = calloc(COUNT * size, sizeof *send);
    uint64_t *receive = calloc(COUNT * size, sizeof *receive);
    if (!send || !receive)
        exit(1);
    for (uint32_t i = 0; i < COUNT * size; i++)
        send[i] = rank * 1000 + i / COUNT;
    muster_status_t status =
        muster_alltoall(muster_context_world(context), send, receive, COUNT, MUSTER_U64, &call);
    for (uint32_t i = 0; status == MUSTER_OK && i < COUNT * size; i++)
        MUST(receive[i] == i / COUNT * 1000 + rank);
    say("mesh %s: %s\n", muster_status_name(status), failure.message);
    free(send);
    free(receive);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    const char *argument = count > 2 ? arguments[2] : "";
    char before[4096];
    own_arguments = arguments;
    list_descriptors(before, sizeof before);
    if (strcmp(mode, "list") == 0) {
        say("list%s\n", before);
        return 0;
    }
    muster_context_t *context = join();
    if (strcmp(mode, "fork") == 0)
        play_fork(context);
    else if (strcmp(mode, "exec") == 0)
        play_exec(context, before);
    else if (strcmp(mode, "become") == 0)
        play_become(context, before);
    else if (strcmp(mode, "outlived") == 0)
        play_outlived(context, (uint32_t)atoi(argument));
    else if (strcmp(mode, "descriptors") == 0)
        play_descriptors(context, atoi(argument));
    else if (strcmp(mode, "overlap") == 0)
        play_overlap(context, argument);
    else if (strcmp(mode, "killed") == 0)
        play_killed(context, argument);
    else if (strcmp(mode, "leave") == 0)
        play_leave(context, argument);
    else if (strcmp(mode, "mesh") == 0)
        play_mesh(context);
    else
        return 2;
    muster_context_destroy(context);
    char after[4096];
    list_descriptors(after, sizeof after);
    MUST(strcmp(before, after) == 0);
    say("end\n");
    return 0;
}
