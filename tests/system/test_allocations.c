/*
 * No memory, at every allocation: the k-th one that a rank makes in a scenario fails, for k = 1, 2,
 * ... until the scenario makes fewer. Nobody crashes, hangs, leaks (an address sanitizer sees that)
 * or gets a wrong value; the outcome is one; and the communicator works again afterwards. Where all
 * further allocations fail, too, ranks may lose each other instead.
 *
 * The test is linked with --wrap: every allocation of Muster goes through the functions below, and
 * none of other libraries does.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "muster.h"

#define RANKS 4
/* Of every call. Nothing here may have to wait for it. */
#define DEADLINE_MS 20000
#define PROMPT_MS 10000
#define LASTING_MS 100 /* of calls that may end with nobody to decide */
#define ALLOCATIONS_MAX 400

/* ---- allocations that fail ---- */

static _Thread_local long allocations_left; /* until one fails; 0: not armed */
static _Thread_local bool failed_once;
static _Thread_local bool goes_on_failing;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

static bool fails(void)
{
    if (allocations_left == 0 || --allocations_left > 0)
        return false;
    if (goes_on_failing)
        allocations_left = 1;
    failed_once = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* ---- ranks ---- */

typedef struct rank {
    uint32_t rank;
    unsigned meetings;
    struct run *run;
    muster_context_t *context;
    muster_comm_t *comm;
    muster_status_t status; /* of the scenario: the generation's outcome, or the creation's */
    muster_failure_t failure;
    unsigned refusals; /* the call was refused to this rank alone, with NO_MEMORY */
    char wrong[MUSTER_FAILURE_TEXT_MAX];
    bool ended;
} rank_t;

typedef struct scenario {
    const char *name;
    void (*play)(rank_t *rank);
    int arity;            /* of the communicator; 0: flat, -1: as the library chooses */
    bool lonely;          /* what has failed leaves no communicator to go on with */
    muster_status_t good; /* the outcome where no allocation fails */
} scenario_t;

typedef struct run {
    const scenario_t *scenario;
    uint32_t victim;
    long allocation; /* that fails */
    bool lasting;    /* and all after it */
    bool failed;     /* there was one */
    muster_local_t *local;
    atomic_uint together; /* ranks that have come to a meeting, all meetings added */
    rank_t ranks[RANKS];
} run_t;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Waits for all ranks beside Muster, and answers them meanwhile. */
static void meet(rank_t *rank)
{
    atomic_fetch_add(&rank->run->together, 1);
    rank->meetings++;
    while (atomic_load(&rank->run->together) < rank->meetings * RANKS)
        muster_progress(rank->context);
}

static void wrong(rank_t *rank, const char *what)
{
    if (rank->wrong[0] == 0)
        snprintf(rank->wrong, sizeof rank->wrong, "%s", what);
}

static void arm(rank_t *rank)
{
    if (rank->rank == rank->run->victim)
        allocations_left = rank->run->allocation;
    goes_on_failing = rank->run->lasting;
}

static void disarm(rank_t *rank)
{
    allocations_left = 0;
    if (failed_once)
        rank->run->failed = true;
    failed_once = false;
}

/* ---- scenarios: armed inside, everything is given back at their end ---- */

static void note(rank_t *rank, muster_status_t status, const muster_failure_t *failure)
{
    rank->status = status;
    if (status == MUSTER_OK || !failure)
        return;
    rank->failure = *failure;
    /* C823: it says what there was no memory for, and nothing that was never written */
    if (status == MUSTER_NO_MEMORY && !strstr(failure->message, "no memory") &&
        !strstr(failure->message, muster_status_text(MUSTER_NO_MEMORY)) &&
        !strstr(failure->message, "no room"))
        wrong(rank, failure->message);
}

/* Ends what was started; a start that was refused for want of memory is made again. */
#define FINISH(rank, START)                                                                        \
    do {                                                                                           \
        muster_request_t *request = NULL;                                                          \
        muster_status_t begun = (START);                                                           \
        if (begun == MUSTER_NO_MEMORY) {                                                           \
            (rank)->refusals++;                                                                    \
            disarm(rank);                                                                          \
            begun = (START);                                                                       \
        }                                                                                          \
        if (begun != MUSTER_OK) {                                                                  \
            note(rank, begun, NULL);                                                               \
            break;                                                                                 \
        }                                                                                          \
        begun = muster_wait(request, MUSTER_NO_DEADLINE);                                          \
        note(rank, begun, muster_request_failure(request));                                        \
        muster_request_destroy(request);                                                           \
    } while (0)

static void play_allreduce(rank_t *rank)
{
    uint64_t mine = rank->rank + 1, sum = 0;
    FINISH(rank,
           muster_iallreduce(rank->comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, NULL, &request));
    if (rank->status == MUSTER_OK && sum != RANKS * (RANKS + 1) / 2)
        wrong(rank, "the sum is wrong");
}

static void play_alltoallv(rank_t *rank)
{
    uint32_t send[RANKS * RANKS], receive[RANKS * RANKS];
    size_t send_counts[RANKS], receive_counts[RANKS], place = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        send_counts[i] = (rank->rank + i) % RANKS;
        receive_counts[i] = (rank->rank + i) % RANKS;
        for (size_t j = 0; j < send_counts[i]; j++)
            send[place++] = 100 * rank->rank + i;
    }
    memset(receive, 0, sizeof receive);
    FINISH(rank, muster_ialltoallv(rank->comm, send, send_counts, NULL, receive, receive_counts,
                                   NULL, MUSTER_U32, NULL, &request));
    place = 0;
    for (uint32_t i = 0; i < RANKS; i++)
        for (size_t j = 0; j < receive_counts[i]; j++)
            if (rank->status == MUSTER_OK && receive[place++] != 100 * i + rank->rank)
                wrong(rank, "a row is wrong");
}

/* Rows that are overwritten are copied first. */
static void play_in_place(rank_t *rank)
{
    uint32_t rows[RANKS * RANKS];
    size_t counts[RANKS], place = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        counts[i] = (rank->rank + i) % RANKS;
        for (size_t j = 0; j < counts[i]; j++)
            rows[place++] = 100 * rank->rank + i;
    }
    FINISH(rank, muster_ialltoallv(rank->comm, MUSTER_IN_PLACE, NULL, NULL, rows, counts, NULL,
                                   MUSTER_U32, NULL, &request));
    place = 0;
    for (uint32_t i = 0; i < RANKS; i++)
        for (size_t j = 0; j < counts[i]; j++)
            if (rank->status == MUSTER_OK && rows[place++] != 100 * i + rank->rank)
                wrong(rank, "a row is wrong");
}

static void play_gatherv(rank_t *rank)
{
    uint16_t send[RANKS], receive[RANKS * RANKS];
    size_t counts[RANKS], place = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        counts[i] = i;
        send[i] = (uint16_t)rank->rank;
    }
    FINISH(rank, muster_igatherv(rank->comm, send, rank->rank, receive, counts, NULL, MUSTER_U16, 0,
                                 NULL, &request));
    for (uint32_t i = 0; i < RANKS; i++)
        for (size_t j = 0; j < i; j++)
            if (rank->rank == 0 && rank->status == MUSTER_OK && receive[place++] != i)
                wrong(rank, "a row is wrong");
}

/* Large messages, which are there before the call that they belong to. */
static void play_early(rank_t *rank)
{
    enum { COUNT = 1000 };
    static uint64_t send[RANKS][COUNT * RANKS], receive[RANKS][COUNT * RANKS];
    for (size_t i = 0; i < COUNT * RANKS; i++)
        send[rank->rank][i] = rank->rank * COUNT * RANKS + i;
    if (rank->rank == rank->run->victim) {
        muster_traffic_t traffic = {0};
        int64_t until = now_ms() + 1000;
        while (traffic.early_messages == 0 && now_ms() < until && !failed_once) {
            muster_progress(rank->context);
            muster_comm_traffic(rank->comm, &traffic);
        }
    }
    FINISH(rank, muster_ialltoall(rank->comm, send[rank->rank], receive[rank->rank], COUNT,
                                  MUSTER_U64, NULL, &request));
    for (size_t i = 0; i < COUNT * RANKS && rank->status == MUSTER_OK; i++)
        if (receive[rank->rank][i] != i / COUNT * COUNT * RANKS + rank->rank * COUNT + i % COUNT)
            wrong(rank, "an element is wrong");
}

static void completed(muster_request_t *request, muster_status_t status, void *argument)
{
    (void)request;
    *(muster_status_t *)argument = status;
}

static void play_callback(rank_t *rank)
{
    uint32_t value = rank->rank == 0 ? 17 : 0;
    muster_status_t told = MUSTER_IN_PROGRESS, status;
    muster_request_t *request = NULL;
    status = muster_ibroadcast(rank->comm, &value, 1, MUSTER_U32, 0, NULL, &request);
    if (status == MUSTER_NO_MEMORY) {
        rank->refusals++;
        disarm(rank);
        status = muster_ibroadcast(rank->comm, &value, 1, MUSTER_U32, 0, NULL, &request);
    }
    if (status != MUSTER_OK) {
        note(rank, status, NULL);
        return;
    }
    if (muster_request_on_complete(request, completed, &told) != MUSTER_OK)
        wrong(rank, "no callback");
    status = muster_wait(request, MUSTER_NO_DEADLINE);
    note(rank, status, muster_request_failure(request));
    while (told == MUSTER_IN_PROGRESS)
        muster_progress(rank->context);
    if (told != status || (status == MUSTER_OK && value != 17))
        wrong(rank, "the value or the callback is wrong");
    muster_request_destroy(request);
}

static void play_mismatch(rank_t *rank)
{
    uint64_t send[2] = {1, 2}, sum[2];
    FINISH(rank, muster_iallreduce(rank->comm, send, sum, rank->rank == 1 ? 2 : 1, MUSTER_U64,
                                   MUSTER_SUM, NULL, &request));
}

/* The last rank comes when the others have got the verdict. */
static void play_time_out(rank_t *rank)
{
    muster_call_t call = {.timeout = MUSTER_MILLISECONDS(20)};
    bool late = rank->run->victim == RANKS - 1 ? rank->rank == 1 : rank->rank == RANKS - 1;
    if (late)
        meet(rank);
    FINISH(rank, muster_ibarrier(rank->comm, &call, &request));
    if (!late)
        meet(rank);
}

/* A new communicator's first call, which some make before others have heard that it is there. */
static void use(rank_t *rank, muster_comm_t *comm)
{
    uint32_t value = rank->rank, sum = 0;
    muster_request_t *request = NULL;
    muster_status_t status =
        muster_iallreduce(comm, &value, &sum, 1, MUSTER_U32, MUSTER_SUM, NULL, &request);
    if (status == MUSTER_NO_MEMORY)
        status = muster_iallreduce(comm, &value, &sum, 1, MUSTER_U32, MUSTER_SUM, NULL, &request);
    if (status == MUSTER_OK)
        status = muster_wait(request, MUSTER_NO_DEADLINE);
    if (status == MUSTER_OK && sum != RANKS * (RANKS - 1) / 2)
        wrong(rank, "the sum is wrong");
    note(rank, status, status == MUSTER_OK ? NULL : muster_request_failure(request));
    muster_request_destroy(request);
}

static void play_create(rank_t *rank)
{
    muster_failure_t failure = {0};
    muster_comm_options_t options = {.failure = &failure};
    if (rank->run->lasting)
        options.timeout = MUSTER_MILLISECONDS(LASTING_MS);
    muster_comm_t *comm = NULL;
    muster_status_t status = muster_comm_create(rank->context, "another", NULL, 0, &options, &comm);
    if (status == MUSTER_NO_MEMORY && failure.operation[0] == 0) {
        rank->refusals++;
        disarm(rank);
        status = muster_comm_create(rank->context, "another", NULL, 0, &options, &comm);
    }
    note(rank, status, &failure);
    if (status == MUSTER_OK) {
        if (muster_comm_size(comm) != RANKS || muster_comm_rank(comm) != rank->rank)
            wrong(rank, "the communicator is wrong");
        use(rank, comm);
        muster_comm_destroy(comm);
    } else if (comm) {
        wrong(rank, "a handle in spite of the failure");
    }
}

/* A call that was refused is made again: it meets the others', under the same name (C124). */
static void play_duplicate(rank_t *rank)
{
    muster_failure_t failure = {0};
    muster_comm_options_t options = {.failure = &failure};
    for (int i = 0; i < 2; i++) {
        muster_comm_t *same = NULL;
        muster_status_t status = muster_comm_duplicate(rank->comm, &options, &same);
        if (status == MUSTER_NO_MEMORY && failure.operation[0] == 0) {
            rank->refusals++;
            disarm(rank);
            status = muster_comm_duplicate(rank->comm, &options, &same);
        }
        note(rank, status, &failure);
        if (status != MUSTER_OK)
            return;
        if (muster_comm_size(same) != RANKS || muster_comm_rank(same) != rank->rank)
            wrong(rank, "the duplicate is wrong");
        muster_comm_destroy(same);
    }
}

static void play_split(rank_t *rank)
{
    muster_failure_t failure = {0};
    muster_comm_options_t options = {.failure = &failure};
    muster_comm_t *part = NULL;
    muster_optional_t color = MUSTER_GIVEN(rank->rank % 2);
    muster_status_t status = muster_comm_split(rank->comm, color, rank->rank, &options, &part);
    if (status == MUSTER_NO_MEMORY && failure.generation == 0 && failure.operation[0] == 0) {
        rank->refusals++;
        disarm(rank);
        status = muster_comm_split(rank->comm, color, rank->rank, &options, &part);
    }
    note(rank, status, &failure);
    disarm(rank);
    if (status == MUSTER_OK && muster_comm_size(part) != RANKS / 2)
        wrong(rank, "the part is wrong");
    if (status != MUSTER_OK && part)
        wrong(rank, "a handle in spite of the failure");
    muster_comm_destroy(part);
}

static const scenario_t scenarios[] = {
    {"context", NULL, -1, false, MUSTER_OK},
    {"create", play_create, 0, false, MUSTER_OK},
    {"allreduce, flat", play_allreduce, 0, false, MUSTER_OK},
    {"allreduce, tree", play_allreduce, 2, false, MUSTER_OK},
    {"alltoallv, tree", play_alltoallv, 2, false, MUSTER_OK},
    {"alltoallv in place, tree", play_in_place, 2, false, MUSTER_OK},
    {"gatherv, tree", play_gatherv, 2, false, MUSTER_OK},
    {"early messages", play_early, -1, false, MUSTER_OK},
    {"callback", play_callback, 2, false, MUSTER_OK},
    {"duplicate", play_duplicate, 0, true, MUSTER_OK},
    {"split", play_split, 0, true, MUSTER_OK},
    {"mismatch", play_mismatch, 0, false, MUSTER_MISMATCH},
    {"time out", play_time_out, 2, false, MUSTER_TIMED_OUT},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* ---- a run ---- */

static muster_status_t open_context(rank_t *rank)
{
    muster_context_options_t options = {.local = rank->run->local,
                                        .rank = MUSTER_GIVEN(rank->rank),
                                        .timeout = MUSTER_MILLISECONDS(DEADLINE_MS),
                                        .progress = MUSTER_PROGRESS_NONE};
    return muster_context_create(&options, &rank->context);
}

static void open_rank(rank_t *rank)
{
    const scenario_t *scenario = rank->run->scenario;
    bool tested = scenario->play == NULL;
    if (tested)
        arm(rank);
    muster_status_t status = open_context(rank);
    disarm(rank);
    if (status == MUSTER_NO_MEMORY && tested) {
        rank->refusals++;
        if (rank->context)
            wrong(rank, "a handle in spite of the failure");
        status = open_context(rank);
    }
    if (status != MUSTER_OK) {
        wrong(rank, muster_status_name(status));
        return;
    }
    muster_comm_options_t options = {.shape = MUSTER_SHAPE_AUTO,
                                     .flat_threshold = MUSTER_GIVEN(0),
                                     .generations = MUSTER_GENERATION_COUNTED};
    if (scenario->arity >= 0)
        options.shape = scenario->arity ? MUSTER_SHAPE_TREE : MUSTER_SHAPE_FLAT;
    if (rank->run->lasting)
        options.timeout = MUSTER_MILLISECONDS(LASTING_MS);
    if (scenario->arity > 0)
        options.arity = MUSTER_GIVEN(scenario->arity);
    status = muster_comm_create(rank->context, "memory", NULL, 0, &options, &rank->comm);
    if (status != MUSTER_OK)
        wrong(rank, muster_status_name(status));
}

/* C801: the next generation works */
static void go_on(rank_t *rank)
{
    uint64_t mine = rank->rank + 1, sum = 0;
    muster_failure_t failure;
    muster_call_t call = {.failure = &failure};
    muster_status_t status =
        muster_allreduce(rank->comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call);
    if (status != MUSTER_OK && !rank->run->lasting)
        wrong(rank, failure.message);
    if (status == MUSTER_OK && sum != RANKS * (RANKS + 1) / 2)
        wrong(rank, "the next sum is wrong");
}

static void *run_rank(void *argument)
{
    rank_t *rank = argument;
    run_t *run = rank->run;
    open_rank(rank);
    if (rank->comm && run->scenario->play) {
        meet(rank);
        arm(rank);
        run->scenario->play(rank);
        disarm(rank);
        meet(rank);
    }
    if (rank->comm)
        go_on(rank);
    muster_comm_destroy(rank->comm);
    muster_context_destroy(rank->context);
    rank->ended = true;
    return NULL;
}

static void describe(const run_t *run, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "%s, allocation %ld of rank %u",
                                     run->scenario->name, run->allocation, run->victim);
    for (int i = 0; i < RANKS; i++) {
        const rank_t *rank = &run->ranks[i];
        if (length < size)
            length += (size_t)snprintf(text + length, size - length, "\n  rank %d: %s %s %s", i,
                                       muster_status_name(rank->status), rank->failure.message,
                                       rank->wrong);
    }
}

static unsigned failures; /* that somebody has heard of */

static bool may_be(const run_t *run, muster_status_t status)
{
    return status == run->scenario->good || status == MUSTER_NO_MEMORY ||
           (run->lasting && (status == MUSTER_PEER_LOST || status == MUSTER_UNDECIDED ||
                             status == MUSTER_TIMED_OUT));
}

/* False: the scenario makes no such allocation. */
static bool run_scenario(const scenario_t *scenario, uint32_t victim, long allocation, bool lasting)
{
    run_t run = {
        .scenario = scenario, .victim = victim, .allocation = allocation, .lasting = lasting};
    pthread_t threads[RANKS];
    char why[8000];
    int64_t begun = now_ms();
    ck_assert_int_eq(muster_local_create(RANKS, &run.local), MUSTER_OK);
    for (uint32_t i = 0; i < RANKS; i++) {
        run.ranks[i] = (rank_t){.rank = i, .run = &run};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &run.ranks[i]), 0);
    }
    for (uint32_t i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
    muster_local_destroy(run.local);
    describe(&run, why, sizeof why);
    for (uint32_t i = 0; i < RANKS; i++) {
        const rank_t *rank = &run.ranks[i];
        ck_assert_msg(rank->wrong[0] == 0, "%s", why);
        ck_assert_msg(rank->comm != NULL, "%s", why);
        ck_assert_msg(may_be(&run, rank->status), "%s", why);
        /* C801: one outcome, unless what failed was done by the rank alone */
        ck_assert_msg(scenario->lonely || lasting || rank->status == run.ranks[0].status, "%s",
                      why);
        ck_assert_msg(rank->refusals == 0 || i == victim, "%s", why);
        failures += rank->refusals > 0 || rank->status == MUSTER_NO_MEMORY;
    }
    ck_assert_msg(now_ms() - begun < PROMPT_MS, "%s", why);
    return run.failed;
}

static void try_every_allocation(const scenario_t *scenario, uint32_t victim, bool lasting)
{
    /* Those that last are often waited for: only some of them are tried, all if asked for. */
    bool thin = lasting && getenv("MUSTER_TEST_FULL") == NULL;
    long allocation = thin ? 1 + victim : 1, step = thin ? 6 : 1;
    /* Which allocations are made depends a little on who is quicker. */
    for (int without = 0; without < 3; allocation += step) {
        ck_assert_int_lt(allocation, ALLOCATIONS_MAX);
        without = run_scenario(scenario, victim, allocation, lasting) ? 0 : without + 1;
    }
}

START_TEST(test_every_allocation)
{
    static const uint32_t victims[] = {0, 1, RANKS - 1};
    const scenario_t *scenario = &scenarios[_i / 2];
    failures = 0;
    for (int i = 0; i < 3; i++)
        try_every_allocation(scenario, victims[i], _i % 2);
    ck_assert_msg(failures > 0, "%s: nobody has heard of a failed allocation", scenario->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allocations");
    TCase *tcase = tcase_create("allocations");
    tcase_set_timeout(tcase, 200);
    tcase_add_loop_test(tcase, test_every_allocation, 0, 2 * SCENARIOS);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
