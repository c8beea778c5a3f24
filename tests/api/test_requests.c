/*
 * Requests: test, wait for one, any and all, with a timeout and without; answers that stay the
 * same; callbacks; many under way, settled in any order, and destroyed while they run.
 */
#include "collective.h"
#include "core/generation.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
static const muster_comm_options_t automatic = {.shape = MUSTER_SHAPE_AUTO};
static const muster_comm_options_t tree = {.shape = MUSTER_SHAPE_TREE,
                                           .arity = {2, true},
                                           .flat_threshold = {0, true},
                                           .generations = MUSTER_GENERATION_COUNTED,
                                           .roots = MUSTER_ROOT_ANY};

#define MANY 12

typedef struct batch {
    muster_request_t *requests[MANY];
    uint64_t mine[MANY], sums[MANY];
} batch_t;

static void batch_start(muster_comm_t *comm, batch_t *batch)
{
    for (uint64_t i = 0; i < MANY; i++) {
        batch->mine[i] = (i + 1) * (ranks_rank() + 1);
        batch->sums[i] = 0;
        EXPECT_STATUS(MUSTER_OK,
                      muster_iallreduce(comm, &batch->mine[i], &batch->sums[i], 1, MUSTER_U64,
                                        MUSTER_SUM, NULL, &batch->requests[i]));
    }
}

static void batch_expect(const batch_t *batch, uint64_t index)
{
    uint64_t n = ranks_size();
    EXPECT_NUMBER((index + 1) * n * (n + 1) / 2, batch->sums[index]);
}

static void batch_end(batch_t *batch)
{
    for (uint64_t i = 0; i < MANY; i++) {
        /* C418: the same however often it is asked */
        EXPECT_STATUS(MUSTER_OK, muster_test(batch->requests[i]));
        EXPECT_STATUS(MUSTER_OK, muster_wait(batch->requests[i], MUSTER_MILLISECONDS(0)));
        EXPECT_STATUS(MUSTER_OK, muster_test(batch->requests[i]));
        EXPECT(muster_request_failure(batch->requests[i]) == NULL);
        batch_expect(batch, i);
        muster_request_destroy(batch->requests[i]);
    }
}

/* C418: completed in reverse, by all, by any, by asking again and again. */
static void many_ways(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "many ways", *options);
    batch_t batch;
    for (int way = 0; way < 4; way++) {
        batch_start(comm, &batch);
        /* Every rank in its own way. */
        int mine = (way + (int)ranks_rank()) % 4;
        for (uint64_t i = MANY; mine == 0 && i-- > 0;) {
            EXPECT_STATUS(MUSTER_OK, muster_wait(batch.requests[i], MUSTER_NO_DEADLINE));
            batch_expect(&batch, i);
        }
        if (mine == 1)
            EXPECT_STATUS(MUSTER_OK, muster_wait_all(batch.requests, MANY, MUSTER_NO_DEADLINE));
        muster_request_t *left[MANY];
        memcpy(left, batch.requests, sizeof left);
        for (int i = 0; mine == 2 && i < MANY; i++) {
            size_t index = SIZE_MAX;
            EXPECT_STATUS(MUSTER_OK, muster_wait_any(left, MANY, MUSTER_NO_DEADLINE, &index));
            EXPECT(index < MANY && left[index] != NULL);
            if (index < MANY) {
                batch_expect(&batch, index);
                left[index] = NULL; /* passed over from now on */
            }
        }
        for (int i = 0; mine == 3 && i < MANY; i++)
            while (muster_test(batch.requests[i]) == MUSTER_IN_PROGRESS)
                sched_yield();
        EXPECT_STATUS(MUSTER_OK, muster_wait_all(batch.requests, MANY, MUSTER_NO_DEADLINE));
        batch_end(&batch);
    }
    muster_comm_destroy(comm);
}

/*
 * C126, C418: nothing here waits for a peer, but what is asked to; a timeout ends the waiting only.
 */
static void while_one_is_late(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "late one", *options);
    batch_t batch;
    size_t index = 99;
    bool late = ranks_rank() == ranks_size() - 1;
    if (late)
        ranks_meet(context);
    batch_start(comm, &batch);
    if (!late) {
        muster_request_t *const none[2] = {NULL, NULL};
        EXPECT_STATUS(MUSTER_IN_PROGRESS, muster_test(batch.requests[0]));
        EXPECT_STATUS(MUSTER_IN_PROGRESS, muster_wait(batch.requests[0], MUSTER_MILLISECONDS(1)));
        EXPECT_STATUS(MUSTER_IN_PROGRESS,
                      muster_wait_any(batch.requests, MANY, MUSTER_MILLISECONDS(1), &index));
        EXPECT_NUMBER(99, index); /* untouched */
        EXPECT_STATUS(MUSTER_IN_PROGRESS,
                      muster_wait_all(batch.requests, MANY, MUSTER_MILLISECONDS(0)));
        EXPECT(muster_request_failure(batch.requests[0]) == NULL);
        EXPECT_STATUS(MUSTER_INVALID_ARGUMENT,
                      muster_wait_any(none, 2, MUSTER_NO_DEADLINE, &index));
        EXPECT_STATUS(MUSTER_OK, muster_wait_all(none, 2, MUSTER_NO_DEADLINE));
        ranks_meet(context);
    }
    EXPECT_STATUS(MUSTER_OK, muster_wait_all(batch.requests, MANY, MUSTER_NO_DEADLINE));
    batch_end(&batch);
    muster_comm_destroy(comm);
}

/* Of many, one fails: the others do not, and wait_all says the first that did. */
static void one_of_many(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "one of many", *options);
    batch_t batch;
    for (uint64_t i = 0; i < MANY; i++) {
        batch.mine[i] = (i + 1) * (ranks_rank() + 1);
        size_t count = i == 5 && ranks_rank() == 1 ? 0 : 1; /* C821 */
        EXPECT_STATUS(MUSTER_OK,
                      muster_iallreduce(comm, &batch.mine[i], &batch.sums[i], count, MUSTER_U64,
                                        MUSTER_SUM, NULL, &batch.requests[i]));
    }
    EXPECT_STATUS(MUSTER_MISMATCH, muster_wait_all(batch.requests, MANY, MUSTER_NO_DEADLINE));
    for (uint64_t i = 0; i < MANY; i++) {
        muster_status_t right = i == 5 ? MUSTER_MISMATCH : MUSTER_OK;
        EXPECT_STATUS(right, muster_wait(batch.requests[i], MUSTER_NO_DEADLINE));
        EXPECT_STATUS(right, muster_test(batch.requests[i]));       /* the same again */
        EXPECT_STATUS(MUSTER_OK, muster_cancel(batch.requests[i])); /* over: nothing happens */
        EXPECT_STATUS(right, muster_test(batch.requests[i]));
        const muster_failure_t *failure = muster_request_failure(batch.requests[i]);
        EXPECT((failure != NULL) == (i == 5));
        if (failure)
            ranks_expect_same_failure(context, failure, __LINE__);
        else
            batch_expect(&batch, i);
        muster_request_destroy(batch.requests[i]);
    }
    muster_comm_destroy(comm);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

typedef struct chain {
    muster_comm_t *comm;
    unsigned left, done, wrong;
    uint64_t mine, sum;
    muster_request_t *last;
} chain_t;

/* Destroys its request, and starts the next operation. */
static void chain_on(muster_request_t *request, muster_status_t status, void *argument)
{
    chain_t *chain = argument;
    uint64_t n = muster_comm_size(chain->comm);
    chain->done++;
    chain->wrong += status != MUSTER_OK || chain->sum != chain->done * n;
    muster_request_destroy(request);
    chain->last = NULL;
    if (--chain->left == 0)
        return;
    chain->mine++;
    chain->wrong += muster_iallreduce(chain->comm, &chain->mine, &chain->sum, 1, MUSTER_U64,
                                      MUSTER_SUM, NULL, &chain->last) != MUSTER_OK ||
                    muster_request_on_complete(chain->last, chain_on, chain) != MUSTER_OK;
}

static void callbacks(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "callbacks", *options);
    chain_t chain = {.comm = comm, .left = 50, .mine = 1};
    EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &chain.mine, &chain.sum, 1, MUSTER_U64,
                                               MUSTER_SUM, NULL, &chain.last));
    EXPECT_STATUS(MUSTER_OK, muster_request_on_complete(chain.last, chain_on, &chain));
    while (chain.left > 0) {
        EXPECT_STATUS(MUSTER_OK, muster_progress(context));
        sched_yield();
    }
    EXPECT_NUMBER(50, chain.done);
    EXPECT_NUMBER(0, chain.wrong);
    ranks_meet(context);
    muster_comm_destroy(comm);
}

static void note(muster_request_t *request, muster_status_t status, void *argument)
{
    muster_status_t *noted = argument;
    (void)request;
    *noted = status;
}

/* Where it has completed, the callback runs at once; a failure is told like a success. */
static void callbacks_after(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "callbacks after", *options);
    muster_request_t *request = NULL;
    muster_status_t noted = MUSTER_IN_PROGRESS;
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &request));
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_request_on_complete(request, NULL, NULL));
    EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
    EXPECT_STATUS(MUSTER_OK, muster_request_on_complete(request, note, &noted));
    EXPECT_STATUS(MUSTER_OK, noted);
    muster_request_destroy(request);
    noted = MUSTER_IN_PROGRESS;
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &request));
    EXPECT_STATUS(MUSTER_OK, muster_request_on_complete(request, note, &noted));
    if (ranks_rank() == 0)
        EXPECT_STATUS(MUSTER_OK, muster_cancel(request));
    muster_status_t status = muster_wait(request, MUSTER_NO_DEADLINE);
    muster_progress(context);
    EXPECT_STATUS(status, noted);
    ranks_expect_same(context, &status, sizeof status, __LINE__);
    muster_request_destroy(request);
    muster_comm_destroy(comm);
}

typedef struct ending {
    muster_comm_t *comm; /* to destroy; NULL: to go on with */
    muster_comm_t *next;
    muster_request_t *following;
    muster_status_t status, started;
} ending_t;

/* Destroys the request, and what it belongs to or starts another in its place. */
static void end(muster_request_t *request, muster_status_t status, void *argument)
{
    ending_t *ending = argument;
    ending->status = status;
    if (ending->comm)
        muster_comm_destroy(ending->comm);
    muster_request_destroy(request);
    if (ending->next)
        ending->started = muster_ibarrier(ending->next, NULL, &ending->following);
}

/* A callback destroys the request that is being tested or waited for: the call still answers. */
static void callbacks_that_destroy(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    for (int way = 0; way < 8; way++) {
        muster_comm_t *comm = ranks_comm(context, "callbacks that destroy", *options);
        ending_t ending = {.comm = way & 1 ? comm : NULL, .next = way & 1 ? NULL : comm};
        muster_request_t *requests[2] = {NULL, NULL};
        EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &requests[0]));
        EXPECT_STATUS(MUSTER_OK, muster_request_on_complete(requests[0], end, &ending));
        muster_status_t status = MUSTER_IN_PROGRESS;
        size_t index = 9;
        while (status == MUSTER_IN_PROGRESS && way / 2 == 0)
            status = muster_test(requests[0]);
        if (way / 2 == 1)
            status = muster_wait(requests[0], MUSTER_NO_DEADLINE);
        if (way / 2 == 2)
            status = muster_wait_any(requests, 2, MUSTER_NO_DEADLINE, &index);
        if (way / 2 == 3)
            status = muster_wait_all(requests, 2, MUSTER_NO_DEADLINE);
        EXPECT_STATUS(MUSTER_OK, status);
        ranks_meet(context); /* the callback has run where a wait has seen the end before it */
        muster_progress(context);
        EXPECT_STATUS(MUSTER_OK, ending.status);
        if (ending.next) {
            EXPECT_STATUS(MUSTER_OK, ending.started);
            EXPECT_STATUS(MUSTER_OK, muster_wait(ending.following, MUSTER_NO_DEADLINE));
            muster_request_destroy(ending.following);
            muster_comm_destroy(comm);
        }
    }
}

/* ---- Destroyed while it runs ----------------------------------------------------------------- */

/* It is cancelled for everybody, and its buffers are the caller's again. */
static void destroyed_running(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "destroyed running", *options);
    uint32_t n = ranks_size();
    for (uint32_t who = 0; who < n; who++) {
        enum { LONG = 20000 };
        size_t bytes = LONG * sizeof(uint64_t);
        guarded_t buffer = guarded_take(bytes, true);
        muster_request_t *request = NULL;
        bool late = ranks_rank() == (who + 1) % n;
        if (late)
            ranks_meet(context);
        memset(buffer.bytes, 1, bytes);
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, MUSTER_IN_PLACE, buffer.bytes, LONG,
                                                   MUSTER_U64, MUSTER_MAX, NULL, &request));
        if (ranks_rank() == who) {
            muster_request_destroy(request);
            request = NULL;
            memset(buffer.bytes, 0x5a, bytes); /* C507: not touched afterwards */
        }
        if (!late)
            ranks_meet(context);
        if (request)
            EXPECT_STATUS(MUSTER_CANCELLED, muster_wait(request, MUSTER_MILLISECONDS(20000)));
        muster_request_destroy(request);
        uint64_t mine = 1, sum = 0;
        EXPECT_STATUS(MUSTER_OK,
                      muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, NULL));
        EXPECT_NUMBER(n, sum);
        for (size_t i = 0; ranks_rank() == who && i < bytes; i++)
            if (buffer.bytes[i] != 0x5a) {
                EXPECT(buffer.bytes[i] == 0x5a, "byte %zu", i);
                break;
            }
        EXPECT(guarded_give(&buffer));
    }
    muster_comm_destroy(comm);
}

/* A communicator destroyed with operations under way: they are cancelled, for the others too. */
static void comm_destroyed_running(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "comm destroyed", *options);
    batch_t batch;
    if (ranks_rank() == ranks_size() - 1) {
        muster_comm_destroy(comm); /* it never takes part */
        ranks_meet(context);
        return;
    }
    batch_start(comm, &batch);
    for (int i = 0; i < MANY; i++) {
        muster_status_t status = muster_wait(batch.requests[i], MUSTER_MILLISECONDS(20000));
        EXPECT(status == MUSTER_CANCELLED || status == MUSTER_PEER_LOST, "%s",
               muster_status_name(status));
        muster_request_destroy(batch.requests[i]);
    }
    muster_comm_destroy(comm);
    ranks_meet(context);
}

/*
 * C418: beyond the window operations queue; the last of the queue is cancelled, by its owner alone,
 * since nobody has heard of it, and what is started behind it still has its turn.
 */
static void cancelled_in_the_queue(muster_context_t *context, const void *argument)
{
    enum { STARTED = GENERATION_WINDOW + 3, GIVEN_UP = GENERATION_WINDOW + 1 };
    muster_comm_options_t options = *(const muster_comm_options_t *)argument;
    options.timeout = MUSTER_MILLISECONDS(20000);
    muster_comm_t *comm = ranks_comm(context, "cancelled in the queue", options);
    muster_request_t *requests[STARTED];
    if (ranks_rank() == 0) {
        for (int i = 0; i < STARTED; i++) {
            EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &requests[i]));
            if (i == GIVEN_UP)
                EXPECT_STATUS(MUSTER_OK, muster_cancel(requests[i]));
        }
        EXPECT_STATUS(MUSTER_CANCELLED, muster_test(requests[GIVEN_UP]));
    }
    ranks_meet(context); /* the others begin when all that is settled */
    for (int i = 0; i < STARTED - 1 && ranks_rank() != 0; i++)
        EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, NULL));
    for (int i = 0; i < STARTED && ranks_rank() == 0; i++) {
        EXPECT_STATUS(i == GIVEN_UP ? MUSTER_CANCELLED : MUSTER_OK,
                      muster_wait(requests[i], MUSTER_MILLISECONDS(20000)));
        muster_request_destroy(requests[i]);
    }
    ranks_meet(context);
    muster_comm_destroy(comm);
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct lane {
    muster_comm_t *comm;
    uint32_t rank, size;
    unsigned wrong;
    pthread_t thread;
} lane_t;

static void *lane_main(void *argument)
{
    lane_t *lane = argument;
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t mine = i + lane->rank, most = 0;
        lane->wrong += muster_allreduce(lane->comm, &mine, &most, 1, MUSTER_U64, MUSTER_MAX,
                                        NULL) != MUSTER_OK ||
                       most != i + lane->size - 1;
    }
    return NULL;
}

/* C102: threads of one rank, each in a communicator of its own, stand in for nobody. */
static void threads_of_a_rank(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    lane_t lanes[3];
    for (int i = 0; i < 3; i++)
        lanes[i] = (lane_t){.comm = ranks_comm(context, "lane", *options),
                            .rank = ranks_rank(),
                            .size = ranks_size()};
    for (int i = 0; i < 3; i++)
        EXPECT(pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]) == 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(lanes[i].thread, NULL);
        EXPECT_NUMBER(0, lanes[i].wrong);
        muster_comm_destroy(lanes[i].comm);
    }
}

/* ---- Two threads on one request -------------------------------------------------------------- */

typedef struct sleeper {
    muster_request_t *request;
    atomic_int thread; /* 0: not begun */
    muster_status_t status;
} sleeper_t;

static void *sleeper_main(void *argument)
{
    sleeper_t *sleeper = argument;
    atomic_store(&sleeper->thread, gettid());
    sleeper->status = muster_wait(sleeper->request, MUSTER_NO_DEADLINE);
    return NULL;
}

/* The kernel says so: state S. */
static bool sleeps(int thread)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    const char *state = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    return state && state[1] == ' ' && state[2] == 'S';
}

static atomic_bool woken[COLLECTIVE_RANKS_MAX + 1]; /* by size of the job */

/* What a thread waits for is ended by another one, and nothing arrives: it is woken (C418). */
static void woken_by_another(muster_context_t *context, const void *argument)
{
    enum { STARTED = GENERATION_WINDOW + 1 };
    muster_comm_options_t options = *(const muster_comm_options_t *)argument;
    options.timeout = MUSTER_MILLISECONDS(20000);
    muster_comm_t *comm = ranks_comm(context, "woken by another", options);
    muster_request_t *requests[STARTED];
    bool first = ranks_rank() == ranks_size() - 1; /* does not decide: nothing else wakes it */
    if (first) {
        for (int i = 0; i < STARTED; i++)
            EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &requests[i]));
        sleeper_t sleeper = {.request = requests[STARTED - 1]};
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, sleeper_main, &sleeper) == 0);
        while (atomic_load(&sleeper.thread) == 0 || !sleeps(atomic_load(&sleeper.thread)))
            sched_yield();
        int64_t begun = ranks_milliseconds();
        EXPECT_STATUS(MUSTER_OK, muster_cancel(sleeper.request));
        pthread_join(thread, NULL);
        EXPECT(ranks_milliseconds() - begun < 10000); /* not by the others' deadline */
        EXPECT_STATUS(MUSTER_CANCELLED, sleeper.status);
        muster_request_destroy(sleeper.request);
        atomic_store(&woken[ranks_size()], true);
    }
    while (!atomic_load(&woken[ranks_size()])) /* silent: a message would wake the sleeper */
        sched_yield();
    for (int i = 0; i < STARTED - 1; i++) {
        EXPECT_STATUS(MUSTER_OK, first ? muster_wait(requests[i], MUSTER_NO_DEADLINE)
                                       : muster_barrier(comm, NULL));
        if (first)
            muster_request_destroy(requests[i]);
    }
    muster_comm_destroy(comm);
}

typedef struct slow {
    muster_context_t *context;
    atomic_bool begun, over, stop;
} slow_t;

static void slow_callback(muster_request_t *request, muster_status_t status, void *argument)
{
    slow_t *slow = argument;
    (void)request;
    (void)status;
    atomic_store(&slow->begun, true);
    for (int i = 0; i < 1000; i++) /* whoever does not wait for the end is seen to be early */
        sched_yield();
    atomic_store(&slow->over, true);
}

static void *slow_main(void *argument)
{
    slow_t *slow = argument;
    while (!atomic_load(&slow->stop)) {
        muster_progress(slow->context);
        sched_yield();
    }
    return NULL;
}

/* A callback that another thread runs has returned when wait or destroy has. */
static void callbacks_elsewhere(muster_context_t *context, const void *argument)
{
    muster_comm_t *comm =
        ranks_comm(context, "callbacks elsewhere", *(const muster_comm_options_t *)argument);
    for (int way = 0; way < 4; way++) {
        slow_t slow = {.context = context};
        pthread_t thread;
        muster_request_t *request = NULL;
        size_t index = 9;
        EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &request));
        EXPECT_STATUS(MUSTER_OK, muster_request_on_complete(request, slow_callback, &slow));
        EXPECT(pthread_create(&thread, NULL, slow_main, &slow) == 0);
        while (!atomic_load(&slow.begun))
            sched_yield();
        if (way == 0)
            EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
        if (way == 1)
            EXPECT_STATUS(MUSTER_OK, muster_wait_any(&request, 1, MUSTER_NO_DEADLINE, &index));
        if (way == 2)
            EXPECT_STATUS(MUSTER_OK, muster_wait_all(&request, 1, MUSTER_NO_DEADLINE));
        if (way == 3)
            muster_request_destroy(request);
        EXPECT(atomic_load(&slow.over), "way %d", way);
        if (way != 3)
            muster_request_destroy(request);
        atomic_store(&slow.stop, true);
        pthread_join(thread, NULL);
    }
    muster_comm_destroy(comm);
}

/* A handle is of no use once it is destroyed, and nobody else's operation suffers from it. */
static void destroyed_twice(muster_context_t *context, const void *argument)
{
    muster_comm_t *comm =
        ranks_comm(context, "destroyed twice", *(const muster_comm_options_t *)argument);
    muster_request_t *stale = NULL, *one = NULL, *other = NULL;
    size_t index = 9;
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &stale));
    EXPECT_STATUS(MUSTER_OK, muster_wait(stale, MUSTER_NO_DEADLINE));
    muster_request_destroy(stale);
    for (int blocking = 0; blocking < 2; blocking++) {
        muster_request_destroy(stale);
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_test(stale));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_cancel(stale));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_wait(stale, MUSTER_NO_DEADLINE));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE,
                      muster_wait_any(&stale, 1, MUSTER_NO_DEADLINE, &index));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_wait_all(&stale, 1, MUSTER_NO_DEADLINE));
        EXPECT(muster_request_failure(stale) == NULL);
        EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, NULL)); /* does not bring it back */
    }
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &one));
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &other));
    EXPECT(one != other);
    EXPECT_STATUS(MUSTER_OK, muster_wait(one, MUSTER_NO_DEADLINE));
    EXPECT_STATUS(MUSTER_OK, muster_wait(other, MUSTER_NO_DEADLINE));
    muster_request_destroy(one);
    muster_comm_destroy(comm);
    muster_request_destroy(other); /* held the communicator */
    ranks_meet(context);
}

#define FEW (RANKS_SIZE(2) | RANKS_SIZE(3))
#define SOME (FEW | RANKS_SIZE(5))

static const ranks_case_t cases[] = {
    {"many ways, flat", many_ways, &flat, RANKS_SIZE(1) | SOME, RANKS_SIZE(3)},
    {"many ways, tree", many_ways, &tree, SOME | RANKS_SIZE(10), RANKS_SIZE(5)},
    {"many ways, auto", many_ways, &automatic, SOME, RANKS_SIZE(2)},
    {"while one is late, flat", while_one_is_late, &flat, FEW, RANKS_SIZE(2)},
    {"while one is late, tree", while_one_is_late, &tree, SOME, RANKS_SIZE(5)},
    {"one of many, flat", one_of_many, &flat, FEW, RANKS_SIZE(2)},
    {"one of many, tree", one_of_many, &tree, SOME, RANKS_SIZE(5)},
    {"callbacks, flat", callbacks, &flat, SOME, RANKS_SIZE(2)},
    {"callbacks, tree", callbacks, &tree, SOME, RANKS_SIZE(5)},
    {"callbacks that destroy", callbacks_that_destroy, &flat, SOME, RANKS_SIZE(2)},
    {"callbacks after", callbacks_after, &flat, FEW, RANKS_SIZE(2)},
    {"destroyed running, flat", destroyed_running, &flat, SOME, RANKS_SIZE(3)},
    {"destroyed running, tree", destroyed_running, &tree, SOME, RANKS_SIZE(5)},
    {"destroyed running, auto", destroyed_running, &automatic, FEW, RANKS_SIZE(2)},
    {"comm destroyed running, flat", comm_destroyed_running, &flat, FEW, RANKS_SIZE(2)},
    {"comm destroyed running, tree", comm_destroyed_running, &tree, SOME, RANKS_SIZE(5)},
    {"cancelled in the queue, flat", cancelled_in_the_queue, &flat, FEW, RANKS_SIZE(2)},
    {"cancelled in the queue, tree", cancelled_in_the_queue, &tree, RANKS_SIZE(3), RANKS_NEVER},
    {"woken by another", woken_by_another, &flat, FEW, RANKS_NEVER},
    {"callbacks elsewhere", callbacks_elsewhere, &flat, RANKS_SIZE(1) | FEW, RANKS_SIZE(2)},
    {"destroyed twice", destroyed_twice, &flat, RANKS_SIZE(1) | FEW, RANKS_SIZE(2)},
    {"threads of a rank, flat", threads_of_a_rank, &flat, FEW, RANKS_SIZE(2)},
    {"threads of a rank, tree", threads_of_a_rank, &tree, RANKS_SIZE(5), RANKS_SIZE(3)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
