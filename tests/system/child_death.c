/*
 * One rank of a job in which a rank, the victim, dies at a chosen moment.
 *
 *     child_death OPERATION SHAPE ROOT VICTIM MOMENT MANNER
 *
 * SHAPE: flat, or the arity of a tree. MOMENT: join (the context is there, no communicator is),
 * first (before the first call), before (after two calls, before contributing), started (has
 * contributed what can be sent at once), done (the call has completed), reduce (inside a reduction
 * of its own), or a number: instead of that send of the transport from the third call on; "torn"
 * and a number: halfway through that send; "cold" and a number: instead of that send from the first
 * call on, when connections have still to be made. MANNER: kill, abort, exit0, exit3.
 *
 * Prints one line at a time: "victim PID HOST" once; then for each of four calls "call I STATUS
 * CULPRIT PID HOST", the victim "before its end I STATUS ..."; and at last "end DESCRIPTORS", how
 * many more it has than before.
 * "wrong ..." where a successful call did not bring what it has to.
 */
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "muster.h"

#define RANKS_MAX 16
#define CALLS 4
#define WARM_UP 2
#define DEADLINE_MS 30000

typedef struct plan {
    const char *operation, *moment, *manner;
    int arity; /* 0: flat */
    uint32_t root, victim;
} plan_t;

static plan_t plan;
static uint32_t rank, size;
static long sends_left; /* until the victim dies; 0: it does not */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(90);
}

static _Noreturn void die(void)
{
    if (strcmp(plan.manner, "exit0") == 0)
        _exit(0);
    if (strcmp(plan.manner, "exit3") == 0)
        _exit(3);
    if (strcmp(plan.manner, "abort") == 0) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    raise(SIGKILL);
    _exit(91);
}

static void at(const char *moment)
{
    if (rank == plan.victim && strcmp(plan.moment, moment) == 0)
        die();
}

/* In place of the C library's: the transport's sends are counted. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    bool last = __atomic_load_n(&sends_left, __ATOMIC_RELAXED) > 0 &&
                __atomic_fetch_sub(&sends_left, 1, __ATOMIC_RELAXED) == 1;
    if (last && strncmp(plan.moment, "torn", 4) == 0 && message->msg_iovlen > 0)
        syscall(SYS_sendto, fd, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len / 2,
                flags, NULL, 0);
    if (last)
        die();
    return syscall(SYS_sendmsg, fd, message, flags);
}

static muster_status_t add(void *context, const void *left, const void *right, void *result,
                           size_t count, muster_datatype_t datatype)
{
    const bool *dies = context;
    (void)datatype;
    if (*dies)
        at("reduce");
    for (size_t i = 0; i < count; i++)
        ((int32_t *)result)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
    return MUSTER_OK;
}

typedef struct buffers {
    int32_t send[RANKS_MAX], receive[RANKS_MAX];
} buffers_t;

static muster_status_t start(muster_comm_t *comm, const char *operation, bool armed, int round,
                             buffers_t *buffers, muster_request_t **request)
{
    static bool dies[2] = {false, true};
    muster_op_t sum = MUSTER_USER_OP(add, &dies[armed], false, 1);
    int32_t *send = buffers->send, *receive = buffers->receive;
    for (uint32_t i = 0; i < size; i++) {
        send[i] = round + 100 * (int32_t)rank + (int32_t)i;
        receive[i] = -1;
    }
    if (strcmp(operation, "barrier") == 0)
        return muster_ibarrier(comm, NULL, request);
    if (strcmp(operation, "broadcast") == 0) {
        receive[0] = rank == plan.root ? 7 + round : -1;
        return muster_ibroadcast(comm, receive, 1, MUSTER_I32, plan.root, NULL, request);
    }
    if (strcmp(operation, "reduce") == 0)
        return muster_ireduce(comm, send, receive, 1, MUSTER_I32, sum, plan.root, NULL, request);
    if (strcmp(operation, "allreduce") == 0)
        return muster_iallreduce(comm, send, receive, 1, MUSTER_I32, sum, NULL, request);
    if (strcmp(operation, "gather") == 0)
        return muster_igather(comm, send, receive, 1, MUSTER_I32, plan.root, NULL, request);
    if (strcmp(operation, "scatter") == 0)
        return muster_iscatter(comm, send, receive, 1, MUSTER_I32, plan.root, NULL, request);
    if (strcmp(operation, "allgather") == 0)
        return muster_iallgather(comm, send, receive, 1, MUSTER_I32, NULL, request);
    if (strcmp(operation, "alltoall") == 0)
        return muster_ialltoall(comm, send, receive, 1, MUSTER_I32, NULL, request);
    if (strcmp(operation, "scan") == 0)
        return muster_iscan(comm, send, receive, 1, MUSTER_I32, sum, NULL, request);
    return MUSTER_NOT_SUPPORTED;
}

/* receive[i] after success; false: not defined. */
static bool expected(const char *operation, int round, uint32_t i, int32_t *value)
{
    bool root = rank == plan.root, first = i == 0;
    int32_t sum = 0;
    uint32_t last = strcmp(operation, "scan") == 0 ? rank : size - 1;
    for (uint32_t other = 0; other <= last; other++)
        sum += round + 100 * (int32_t)other;
    *value = sum;
    if (strcmp(operation, "reduce") == 0)
        return root && first;
    if (strcmp(operation, "allreduce") == 0 || strcmp(operation, "scan") == 0)
        return first;
    *value = 7 + round;
    if (strcmp(operation, "broadcast") == 0)
        return first;
    *value = round + 100 * (int32_t)i;
    if (strcmp(operation, "gather") == 0)
        return root;
    if (strcmp(operation, "allgather") == 0)
        return true;
    *value += (int32_t)rank;
    if (strcmp(operation, "alltoall") == 0)
        return true;
    *value = round + 100 * (int32_t)plan.root + (int32_t)rank;
    return first && strcmp(operation, "scatter") == 0;
}

static void check(const char *operation, int round, const buffers_t *buffers)
{
    for (uint32_t i = 0; i < size; i++) {
        int32_t value;
        if (expected(operation, round, i, &value) && buffers->receive[i] != value)
            say("wrong %s: rank %u has %d at %u, not %d\n", operation, rank, buffers->receive[i], i,
                value);
    }
}

static muster_status_t call(muster_comm_t *comm, bool armed, int round, muster_failure_t *failure)
{
    buffers_t buffers;
    muster_request_t *request;
    muster_status_t status = start(comm, plan.operation, armed, round, &buffers, &request);
    memset(failure, 0, sizeof *failure);
    failure->rank = MUSTER_NO_RANK;
    if (status != MUSTER_OK)
        return status;
    if (armed) {
        muster_test(request);
        at("started");
    }
    status = muster_wait(request, MUSTER_NO_DEADLINE);
    if (status == MUSTER_OK)
        check(plan.operation, round, &buffers);
    else if (muster_request_failure(request))
        *failure = *muster_request_failure(request);
    muster_request_destroy(request);
    return status;
}

static int descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static void calls(muster_comm_t *comm)
{
    muster_failure_t failure;
    int round = 0;
    bool cold = strncmp(plan.moment, "cold", 4) == 0 || strcmp(plan.moment, "first") == 0;
    for (; !cold && round < WARM_UP; round++) {
        muster_status_t status = call(comm, false, round, &failure);
        if (status != MUSTER_OK)
            say("wrong warm-up: %s %s\n", muster_status_name(status), failure.message);
    }
    at("first");
    at("before");
    if (rank == plan.victim)
        __atomic_store_n(&sends_left, atol(plan.moment + strcspn(plan.moment, "0123456789")),
                         __ATOMIC_RELAXED);
    for (int i = 0; i < CALLS; i++) {
        muster_status_t status = call(comm, true, round + i, &failure);
        say("%s %d %s %d %u %s\n", rank == plan.victim ? "before its end" : "call", i,
            muster_status_name(status), (int)failure.rank, failure.pid,
            failure.host[0] ? failure.host : "-");
        at("done");
    }
}

static int run(void)
{
    muster_failure_t failure = {0};
    muster_context_t *context;
    muster_context_options_t options = {.timeout = MUSTER_MILLISECONDS(DEADLINE_MS),
                                        .failure = &failure};
    muster_status_t status = muster_context_create(&options, &context);
    if (status != MUSTER_OK) {
        say("wrong context: %s: %s\n", muster_status_name(status), failure.message);
        return 1;
    }
    rank = muster_context_rank(context);
    size = muster_context_size(context);
    char host[MUSTER_HOST_MAX] = "";
    gethostname(host, sizeof host - 1);
    if (rank == plan.victim)
        say("victim %d %s\n", (int)getpid(), host);
    at("join");
    muster_comm_options_t shape = {.shape = plan.arity ? MUSTER_SHAPE_TREE : MUSTER_SHAPE_FLAT,
                                   .flat_threshold = MUSTER_GIVEN(0),
                                   .generations = MUSTER_GENERATION_COUNTED,
                                   .roots = MUSTER_ROOT_ANY,
                                   .failure = &failure};
    if (plan.arity)
        shape.arity = MUSTER_GIVEN(plan.arity);
    muster_comm_t *comm;
    status = muster_comm_create(context, "deaths", NULL, 0, &shape, &comm);
    if (status == MUSTER_OK) {
        calls(comm);
        muster_comm_destroy(comm);
    } else {
        say("call 0 %s %d %u %s\n", muster_status_name(status), (int)failure.rank, failure.pid,
            failure.host[0] ? failure.host : "-");
    }
    muster_context_destroy(context);
    return 0;
}

int main(int count, char **arguments)
{
    if (count != 7)
        return 2;
    plan = (plan_t){.operation = arguments[1],
                    .moment = arguments[5],
                    .manner = arguments[6],
                    .arity = atoi(arguments[2]),
                    .root = (uint32_t)atoi(arguments[3]),
                    .victim = (uint32_t)atoi(arguments[4])};
    int before = descriptors();
    int code = run();
    say("end %d\n", descriptors() - before);
    return code;
}
