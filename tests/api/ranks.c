/* Jobs of threads and of processes, and what holds in them. */
#include "ranks.h"

#include "guarded.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RANKS_SIZE_MAX 17
#define RANKS_FAILURES_MAX 20 /* printed; then the program ends */
#define RANKS_JOB_SECONDS 120 /* times CK_TIMEOUT_MULTIPLIER */
#define RANKS_CALL_MS 30000   /* deadline of a call, so that nothing waits for ever */
#define RANKS_CONTEXT_MS 60000

extern char **environ;

static _Thread_local struct {
    uint32_t rank, size;
    const char *name; /* of the case */
    muster_failure_t failure;
} self;

static atomic_int failures;
static bool processes;
static const char *_Atomic case_now = "start-up";

/* ---- Checks ---------------------------------------------------------------------------------- */

static void ranks_print(const char *file, int line, const char *text)
{
    const char *base = strrchr(file, '/');
    char message[1600];
    int length = snprintf(message, sizeof message, "rank %u of %u (%s), %s, %s:%d: %s\n", self.rank,
                          self.size, processes ? "processes" : "threads",
                          self.name ? self.name : "start-up", base ? base + 1 : file, line, text);
    if (length >= (int)sizeof message)
        length = (int)sizeof message - 1;
    if (write(STDERR_FILENO, message, (size_t)length) < 0)
        abort();
    if (atomic_fetch_add(&failures, 1) + 1 >= RANKS_FAILURES_MAX)
        _exit(1);
}

void ranks_fail(const char *file, int line, const char *expression, const char *format, ...)
{
    char text[1200];
    int length = snprintf(text, sizeof text, "does not hold: %s.", expression);
    if (length > 0 && length < (int)sizeof text) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text + length, sizeof text - (size_t)length, format, arguments);
        va_end(arguments);
    }
    ranks_print(file, line, text);
}

void ranks_expect_status(const char *file, int line, const char *expression,
                         muster_status_t expected, muster_status_t actual)
{
    if (expected == actual)
        return;
    char failure[700] = "", text[1200];
    if (self.failure.status == actual)
        muster_failure_print(&self.failure, failure, sizeof failure);
    snprintf(text, sizeof text, "%s is %s, not %s %s", expression, muster_status_name(actual),
             muster_status_name(expected), failure);
    ranks_print(file, line, text);
}

void ranks_expect_number(const char *file, int line, const char *expression, uint64_t expected,
                         uint64_t actual)
{
    if (expected == actual)
        return;
    char text[400];
    snprintf(text, sizeof text, "%s is %llu, not %llu", expression, (unsigned long long)actual,
             (unsigned long long)expected);
    ranks_print(file, line, text);
}

static void ranks_stop(const char *what, muster_status_t status)
{
    char text[900] = "";
    if (self.failure.status == status)
        muster_failure_print(&self.failure, text, sizeof text);
    ranks_fail(__FILE__, __LINE__, what, " %s: %s", muster_status_name(status), text);
    _exit(1);
}

/* ---- For bodies ------------------------------------------------------------------------------ */

uint32_t ranks_rank(void)
{
    return self.rank;
}

uint32_t ranks_size(void)
{
    return self.size;
}

bool ranks_are_processes(void)
{
    return processes;
}

muster_failure_t *ranks_failure(void)
{
    return &self.failure;
}

uint64_t ranks_mix(uint64_t seed, uint64_t place)
{
    uint64_t bits =
        (seed ^ (place + 1) * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 29) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 32;
}

int64_t ranks_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

muster_comm_t *ranks_comm(muster_context_t *context, const char *name,
                          muster_comm_options_t options)
{
    muster_comm_t *comm = NULL;
    if (options.timeout.kind == 0)
        options.timeout = MUSTER_MILLISECONDS(RANKS_CALL_MS);
    options.failure = &self.failure;
    muster_status_t status = muster_comm_create(context, name, NULL, 0, &options, &comm);
    if (status != MUSTER_OK)
        ranks_stop("a communicator could be created", status);
    return comm;
}

void ranks_meet(muster_context_t *context)
{
    muster_call_t call = {.failure = &self.failure};
    muster_status_t status = muster_barrier(muster_context_world(context), &call);
    if (status != MUSTER_OK)
        ranks_stop("all ranks meet", status);
}

void ranks_expect_same(muster_context_t *context, const void *bytes, size_t length, int line)
{
    const uint8_t *byte = bytes;
    uint64_t mine = length;
    uint64_t all[RANKS_SIZE_MAX + 1];
    for (size_t i = 0; i < length; i++)
        mine = ranks_mix(mine, byte[i]);
    muster_call_t call = {.failure = &self.failure};
    muster_status_t status =
        muster_allgather(muster_context_world(context), &mine, all, 1, MUSTER_U64, &call);
    if (status != MUSTER_OK)
        ranks_stop("all ranks compare", status);
    for (uint32_t rank = 0; rank < self.size; rank++)
        if (all[rank] != all[0])
            ranks_fail(__FILE__, line, "everybody has the same", " rank %u has not what 0 has",
                       rank);
}

void ranks_expect_same_failure(muster_context_t *context, const muster_failure_t *failure, int line)
{
    char text[1200];
    size_t length = muster_failure_print(failure, text, sizeof text);
    muster_failure_t copy; /* bytes behind a text's end are nobody's business */
    memset(&copy, 0, sizeof copy);
    copy.status = failure->status;
    copy.rank = failure->rank;
    copy.pid = failure->pid;
    copy.generation = failure->generation;
    copy.range_count = failure->range_count;
    snprintf(copy.operation, sizeof copy.operation, "%s", failure->operation);
    snprintf(copy.field, sizeof copy.field, "%s", failure->field);
    snprintf(copy.host, sizeof copy.host, "%s", failure->host);
    snprintf(copy.message, sizeof copy.message, "%s", failure->message);
    memcpy(copy.missing, failure->missing, failure->range_count * sizeof copy.missing[0]);
    muster_failure_t before = self.failure;
    ranks_expect_same(context, &copy, sizeof copy, line);
    if (length >= sizeof text)
        ranks_fail(__FILE__, line, "a failure is one line", " it has %zu bytes", length);
    self.failure = before;
}

/* ---- A rank ---------------------------------------------------------------------------------- */

typedef struct ranks_job {
    const ranks_case_t *cases;
    size_t case_count;
    const char *only; /* name of the one case; NULL: all */
    uint32_t size;
    muster_local_t *local;
} ranks_job_t;

static bool ranks_is_chosen(const ranks_job_t *job, size_t index)
{
    const ranks_case_t *one = &job->cases[index];
    ranks_sizes_t sizes = processes ? one->processes : one->threads;
    return (sizes >> job->size & 1) && (!job->only || strcmp(job->only, one->name) == 0);
}

static bool ranks_has_cases(const ranks_job_t *job)
{
    for (size_t i = 0; i < job->case_count; i++)
        if (ranks_is_chosen(job, i))
            return true;
    return false;
}

static void ranks_be(const ranks_job_t *job, uint32_t rank)
{
    muster_context_t *context = NULL;
    muster_context_options_t options = {.local = job->local,
                                        .timeout = MUSTER_MILLISECONDS(RANKS_CONTEXT_MS),
                                        .failure = &self.failure};
    if (job->local)
        options.rank = MUSTER_GIVEN(rank);
    self.rank = rank;
    self.size = job->size;
    muster_status_t status = muster_context_create(&options, &context);
    if (status != MUSTER_OK)
        ranks_stop("the job starts", status);
    self.rank = muster_context_rank(context);
    if (muster_context_size(context) != job->size)
        ranks_stop("the job has the size that was asked for", MUSTER_INTERNAL);
    for (size_t i = 0; i < job->case_count; i++) {
        if (!ranks_is_chosen(job, i))
            continue;
        self.name = job->cases[i].name;
        atomic_store(&case_now, self.name);
        ranks_meet(context);
        int64_t begun = ranks_milliseconds();
        job->cases[i].body(context, job->cases[i].argument);
        if (self.rank == 0 && getenv("MUSTER_TEST_TIMES"))
            fprintf(stderr, "%6lld ms %s %u %s\n", (long long)(ranks_milliseconds() - begun),
                    self.name, self.size, processes ? "processes" : "threads");
    }
    self.name = "the end";
    atomic_store(&case_now, self.name);
    muster_context_destroy(context);
    guarded_release_all();
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void ranks_too_long(int number)
{
    static const char text[] = "the job takes too long, in case ";
    (void)number;
    const char *name = atomic_load(&case_now);
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, name, strlen(name)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

/* How much slower than usual this build is taken to be. */
static unsigned ranks_slowness(void)
{
    const char *factor = getenv("CK_TIMEOUT_MULTIPLIER");
    unsigned long times = factor ? strtoul(factor, NULL, 10) : 1;
    return (unsigned)(times >= 1 && times <= 20 ? times : 1);
}

static unsigned ranks_limit(void)
{
    return RANKS_JOB_SECONDS * ranks_slowness();
}

bool ranks_are_slow(void)
{
    return ranks_slowness() >= 5;
}

typedef struct ranks_thread {
    const ranks_job_t *job;
    uint32_t rank;
    pthread_t thread;
} ranks_thread_t;

static void *ranks_thread_main(void *argument)
{
    const ranks_thread_t *thread = argument;
    ranks_be(thread->job, thread->rank);
    return NULL;
}

static void ranks_run_threads(ranks_job_t *job)
{
    ranks_thread_t threads[RANKS_SIZE_MAX];
    if (muster_local_create(job->size, &job->local) != MUSTER_OK)
        ranks_stop("logical ranks can be made", MUSTER_ENVIRONMENT);
    alarm(ranks_limit());
    for (uint32_t rank = 0; rank < job->size; rank++) {
        threads[rank] = (ranks_thread_t){job, rank, 0};
        if (pthread_create(&threads[rank].thread, NULL, ranks_thread_main, &threads[rank]) != 0)
            ranks_stop("a thread can be made", MUSTER_ENVIRONMENT);
    }
    for (uint32_t rank = 0; rank < job->size; rank++)
        pthread_join(threads[rank].thread, NULL);
    alarm(0);
    muster_local_destroy(job->local);
    job->local = NULL;
}

/* Starts this program again, under muster run. */
static void ranks_run_processes(const ranks_job_t *job)
{
    static char path[PATH_MAX];
    const char *command = getenv("MUSTER_COMMAND");
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    char size[16], limit[16];
    if (!command || length < 0) {
        fprintf(stderr, "MUSTER_COMMAND names no muster\n");
        atomic_fetch_add(&failures, 1);
        return;
    }
    path[length] = 0;
    snprintf(size, sizeof size, "%u", job->size);
    snprintf(limit, sizeof limit, "%u", ranks_limit());
    const char *arguments[] = {command,   "run", "-n", size,  "--no-label", "--timeout", limit,
                               "--grace", "2",   path, "job", size,         job->only,   NULL};
    pid_t pid;
    int state = 0;
    fflush(NULL);
    if (posix_spawn(&pid, command, NULL, NULL, (char *const *)(uintptr_t)arguments, environ) != 0 ||
        waitpid(pid, &state, 0) != pid || !WIFEXITED(state) || WEXITSTATUS(state) != 0) {
        fprintf(stderr, "the job of %u processes failed\n", job->size);
        atomic_fetch_add(&failures, 1);
    }
}

static void ranks_run(ranks_job_t *job, bool as_processes, uint32_t only_size)
{
    processes = as_processes;
    for (job->size = 1; job->size <= RANKS_SIZE_MAX; job->size++) {
        if ((only_size && job->size != only_size) || !ranks_has_cases(job))
            continue;
        if (as_processes)
            ranks_run_processes(job);
        else
            ranks_run_threads(job);
        if (atomic_load(&failures) > 0)
            return;
    }
}

int ranks_main(int count, char **arguments, const ranks_case_t *cases, size_t case_count)
{
    const char *mode = count > 1 ? arguments[1] : "both";
    signal(SIGALRM, ranks_too_long);
    if (strcmp(mode, "job") == 0 && count > 2) {
        ranks_job_t job = {cases, case_count, count > 3 ? arguments[3] : NULL,
                           (uint32_t)strtoul(arguments[2], NULL, 10), NULL};
        processes = true;
        alarm(ranks_limit());
        ranks_be(&job, 0);
        return atomic_load(&failures) > 0;
    }
    ranks_job_t job = {cases, case_count, count > 2 ? arguments[2] : NULL, 0, NULL};
    uint32_t only_size = count > 3 ? (uint32_t)strtoul(arguments[3], NULL, 10) : 0;
    if (strcmp(mode, "processes") != 0)
        ranks_run(&job, false, only_size);
    if (strcmp(mode, "threads") != 0 && atomic_load(&failures) == 0)
        ranks_run(&job, true, only_size);
    return atomic_load(&failures) > 0;
}
