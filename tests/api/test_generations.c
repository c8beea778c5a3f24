/*
 * Generations: counted and given, in step over every path, refused where they are stale or mixed,
 * and started in any order within the window, from several threads.
 */
#include "collective.h"
#include "core/generation.h"
#include "engine/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
static const muster_comm_options_t automatic = {.shape = MUSTER_SHAPE_AUTO};
static const muster_comm_options_t automatic_local = {.shape = MUSTER_SHAPE_AUTO,
                                                      .outcome = MUSTER_OUTCOME_LOCAL};
static const muster_comm_options_t tree = {
    .shape = MUSTER_SHAPE_TREE, .arity = {3, true}, .flat_threshold = {0, true}};
static const muster_comm_options_t counted = {.shape = MUSTER_SHAPE_TREE,
                                              .arity = {2, true},
                                              .flat_threshold = {0, true},
                                              .generations = MUSTER_GENERATION_COUNTED,
                                              .roots = MUSTER_ROOT_ANY};
static const muster_comm_options_t fallen = {.shape = MUSTER_SHAPE_TREE,
                                             .flat_threshold = {100, true}};

static uint64_t next_generation(const muster_comm_t *comm)
{
    muster_comm_description_t description;
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    return description.next_generation;
}

static muster_status_t sum_in(muster_comm_t *comm, uint64_t generation, muster_failure_t *failure)
{
    uint64_t mine = ranks_rank() + 1, sum = 0, n = ranks_size();
    muster_call_t call = {.failure = failure};
    if (generation)
        call.generation = MUSTER_GIVEN(generation);
    muster_status_t status = muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call);
    EXPECT(status != MUSTER_OK || sum == n * (n + 1) / 2, "generation %llu, sum %llu",
           (unsigned long long)generation, (unsigned long long)sum);
    return status;
}

#define SUM(expected, comm, generation)                                                            \
    EXPECT_STATUS(expected, sum_in(comm, generation, ranks_failure()))

/* ---- In step --------------------------------------------------------------------------------- */

/* C202, C203: whatever the call, and however few phases it has, it takes one public generation. */
static void one_each(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "one each", *options);
    uint64_t generation = 1;
    for (int round = 0; round < 3; round++) {
        for (int operation = 0; operation < OPERATION_COUNT; operation++) {
            EXPECT_NUMBER(generation, next_generation(comm));
            collective_run(comm, &(collective_t){.operation = (operation_t)operation,
                                                 .count = (size_t)round * 200,
                                                 .generation = generation});
            generation++;
        }
    }
    EXPECT_NUMBER(generation, next_generation(comm));
    muster_comm_destroy(comm);
}

/* C210, case 14: the named sequence leaves every group ready for public 5. */
static void named_sequence(muster_context_t *context, const void *argument)
{
    static const operation_t sequence[] = {OPERATION_ALLREDUCE, OPERATION_ALLTOALL,
                                           OPERATION_ALLGATHER, OPERATION_SCAN};
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "named sequence", *options);
    for (uint64_t generation = 1; generation <= 4; generation++)
        collective_run(comm, &(collective_t){.operation = sequence[generation - 1],
                                             .count = 1,
                                             .generation = generation});
    EXPECT_NUMBER(5, next_generation(comm));
    for (uint64_t generation = 5; generation <= 8; generation++)
        collective_run(
            comm,
            &(collective_t){.operation = OPERATION_ALLTOALL, .count = 3, .generation = generation});
    muster_comm_destroy(comm);
}

#define SEED UINT64_C(20)
#define OVERLAP 5

static collective_t drawn(uint64_t seed, unsigned index)
{
    static const size_t counts[] = {0, 1, 2, 7, 60, 600};
    uint64_t bits = ranks_mix(seed, index);
    return (collective_t){
        .operation = (operation_t)(bits % OPERATION_COUNT),
        .root = (uint32_t)(bits >> 8) % ranks_size(),
        .count = counts[(bits >> 16) % 6],
        .in_place = (bits >> 24 & 3) == 0 && bits % OPERATION_COUNT > OPERATION_BROADCAST,
        .nonblocking = bits >> 26 & 1,
        .ordered = bits >> 27 & 1,
        .displaced = bits >> 28 & 1,
        .initial = bits >> 29 & 1,
        .at_end = bits >> 30 & 1,
        .outcome = bits >> 31 & 1 ? MUSTER_OUTCOME_LOCAL : MUSTER_OUTCOME_UNIFORM,
        .salt = bits,
    };
}

static void settle(collective_call_t **pending, uint64_t seed)
{
    if (!*pending)
        return;
    muster_status_t status = collective_wait(*pending);
    EXPECT(status == MUSTER_OK, "seed %llu: %s of salt %llu is %s", (unsigned long long)seed,
           operation_name((uint8_t)(*pending)->what.operation),
           (unsigned long long)(*pending)->what.salt, muster_status_name(status));
    collective_check(*pending, status == MUSTER_OK);
    collective_free(*pending);
    *pending = NULL;
}

/*
 * C210: 1,000 mixed operations keep step, up to five of them under way. What is drawn follows from
 * the seed alone, so that every rank draws the same; which of them is settled next is the rank's
 * own choice. MUSTER_SEED replays a seed.
 */
static void mixed_thousand(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "mixed", *options);
    const char *given = getenv("MUSTER_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : SEED + options->shape;
    bool tells = options->shape == MUSTER_SHAPE_TREE && !options->generations;
    collective_call_t *pending[OVERLAP] = {NULL};
    for (unsigned index = 0; index < 1000; index++) {
        collective_call_t **slot = &pending[ranks_mix(seed ^ ranks_rank(), index) % OVERLAP];
        settle(slot, seed);
        collective_t what = drawn(seed, index);
        if (tells)
            what.generation = index + 1;
        if (options->roots != MUSTER_ROOT_ANY && options->shape == MUSTER_SHAPE_TREE)
            what.root = 0;
        *slot = collective_prepare(ranks_rank(), ranks_size(), &what);
        muster_status_t status = collective_start(comm, *slot);
        EXPECT(status == MUSTER_OK, "seed %llu, %u: %s", (unsigned long long)seed, index,
               muster_status_name(status));
    }
    for (unsigned i = 0; i < OVERLAP; i++)
        settle(&pending[i], seed);
    EXPECT_NUMBER(1001, next_generation(comm));
    muster_comm_destroy(comm);
}

/* ---- Refused --------------------------------------------------------------------------------- */

/* C204, C822: what is refused is refused to its caller, who may go on; nobody else notices. */
static void refused_numbers(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "refused", *options);
    SUM(MUSTER_OK, comm, 1);
    SUM(MUSTER_OK, comm, 2);
    SUM(MUSTER_INVALID_GENERATION, comm, GENERATION_MAX + 1);
    SUM(MUSTER_INVALID_GENERATION, comm, UINT64_MAX);
    SUM(MUSTER_INVALID_GENERATION, comm, 3 + GENERATION_WINDOW);
    SUM(MUSTER_STALE_GENERATION, comm, 1);
    SUM(MUSTER_STALE_GENERATION, comm, 2);
    muster_call_t zero = {.generation = MUSTER_GIVEN(0)};
    EXPECT_STATUS(MUSTER_INVALID_GENERATION, muster_barrier(comm, &zero)); /* C106 */
    SUM(MUSTER_OK, comm, 3);
    muster_comm_destroy(comm);
}

/*
 * A second arrival of one rank: a repeated generation is refused while the first is under way, and
 * changes nothing (C822, C204, C124).
 */
static void second_arrival(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "second arrival", *options);
    uint64_t n = ranks_size();
    for (uint64_t generation = 1; generation <= n; generation++) {
        uint64_t mine = ranks_rank() + 1, sum = 0, other = 1000, none = 0;
        muster_call_t call = {.generation = MUSTER_GIVEN(generation)};
        muster_request_t *request = NULL, *second = NULL;
        bool last = ranks_rank() == generation - 1;
        if (!last) {
            EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM,
                                                       &call, &request));
            EXPECT_STATUS(
                MUSTER_STALE_GENERATION,
                muster_iallreduce(comm, &other, &none, 1, MUSTER_U64, MUSTER_SUM, &call, &second));
            EXPECT_STATUS(MUSTER_STALE_GENERATION, muster_barrier(comm, &call));
            EXPECT(second == NULL);
        }
        ranks_meet(context);
        if (last)
            EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM,
                                                       &call, &request));
        EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
        muster_request_destroy(request);
        EXPECT_NUMBER(n * (n + 1) / 2, sum);
        EXPECT_NUMBER(0, none);
    }
    muster_comm_destroy(comm);
}

/* C204: a number that one rank never starts makes that rank missing at the others' deadline. */
static void never_started(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "never started", *options);
    uint32_t absent = ranks_size() - 1;
    muster_failure_t failure = {0};
    muster_call_t call = {
        .generation = MUSTER_GIVEN(1), .failure = &failure, .timeout = MUSTER_MILLISECONDS(100)};
    if (ranks_rank() != absent) {
        EXPECT_STATUS(MUSTER_TIMED_OUT, muster_barrier(comm, &call));
        EXPECT(failure.range_count == 1 && failure.missing[0].first == absent &&
                   failure.missing[0].last == absent,
               "\"%s\"", failure.message);
    }
    ranks_meet(context);
    SUM(MUSTER_OK, comm, 2); /* it never starts 1, and goes on with 2 */
    SUM(MUSTER_OK, comm, 3);
    muster_comm_destroy(comm);
}

/* C205: automatic, then explicit: rejected; explicit, then automatic: allowed. */
static void flat_modes(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "flat modes", *options);
    SUM(MUSTER_OK, comm, 1);
    SUM(MUSTER_OK, comm, 3); /* 2 is left out by all */
    SUM(MUSTER_OK, comm, 0);
    EXPECT_NUMBER(5, next_generation(comm));
    SUM(MUSTER_GENERATION_MODE, comm, 5);
    SUM(MUSTER_GENERATION_MODE, comm, 2);
    SUM(MUSTER_OK, comm, 0); /* C124 */
    EXPECT_NUMBER(6, next_generation(comm));
    muster_comm_destroy(comm);
}

/* C206: a hierarchy, fallen back or not, needs explicit ones, unless it counts. */
static void tree_modes(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "tree modes", *options);
    SUM(MUSTER_GENERATION_MODE, comm, 0);
    SUM(MUSTER_OK, comm, 1);
    SUM(MUSTER_GENERATION_MODE, comm, 0);
    muster_request_t *request = NULL;
    EXPECT_STATUS(MUSTER_GENERATION_MODE, muster_ibarrier(comm, NULL, &request));
    EXPECT(request == NULL);
    SUM(MUSTER_OK, comm, 2);
    muster_comm_destroy(comm);
}

/*
 * C207: automatic first, then explicit, and the other way round: some ranks let the communicator
 * count and one gives the number. Everybody gets the error, whoever comes first; nobody waits.
 */
static void mixed_modes(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    for (int form = 0; form < 4; form++) {
        muster_comm_t *comm = ranks_comm(context, "mixed modes", *options);
        bool odd = ranks_rank() == (form & 1 ? ranks_size() - 1 : 0);
        bool waits = form & 2 ? odd : !odd; /* who comes last */
        SUM(MUSTER_OK, comm, 1);
        muster_failure_t failure = {0};
        if (waits)
            ranks_meet(context);
        muster_request_t *request = NULL;
        uint64_t mine = 1, sum = 0;
        muster_call_t call = {.failure = &failure};
        if (odd)
            call.generation = MUSTER_GIVEN(2);
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM,
                                                   &call, &request));
        if (!waits)
            ranks_meet(context);
        EXPECT_STATUS(MUSTER_MISMATCH, muster_wait(request, MUSTER_MILLISECONDS(20000)));
        if (muster_request_failure(request)) {
            failure = *muster_request_failure(request);
            EXPECT(strcmp(failure.field, "mode") == 0, "\"%s\"", failure.message);
            ranks_expect_same_failure(context, &failure, __LINE__);
        }
        muster_request_destroy(request);
        muster_comm_destroy(comm);
    }
}

/*
 * C207: nor do they meet in one generation: the one gives a number that the others' count has not
 * reached. Both generations fail, everywhere they were started, and nobody waits for a deadline.
 */
static void modes_apart(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    for (uint32_t who = 0; who < 2; who++) {
        muster_comm_t *comm = ranks_comm(context, "modes apart", *options);
        bool odd = ranks_rank() == (who ? ranks_size() - 1 : 0);
        uint64_t mine = 1, sum = 0;
        muster_failure_t failure = {0};
        muster_call_t call = {.failure = &failure, .timeout = MUSTER_MILLISECONDS(20000)};
        if (odd)
            call.generation = MUSTER_GIVEN(4);
        EXPECT_STATUS(MUSTER_MISMATCH,
                      muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call));
        EXPECT(strcmp(failure.field, "mode") == 0, "\"%s\"", failure.message);
        EXPECT_NUMBER(odd ? 4 : 1, failure.generation);
        ranks_meet(context);
        muster_comm_destroy(comm);
    }
}

/* ---- Early and late -------------------------------------------------------------------------- */

/* ---- Running ahead --------------------------------------------------------------------------- */

typedef enum one_way { SMALL, LARGE, SCANS, ALTERNATING } one_way_t;

/*
 * With local outcome the last rank sends nothing in a broadcast or a scan, unless it is uniform all
 * the same, so that nobody runs further ahead: what it sends tells where that is.
 */
static void runs_ahead(muster_comm_t *comm, one_way_t kind, uint64_t first, uint64_t last)
{
    static uint8_t bytes[2 * COMM_SMALL], result[2 * COMM_SMALL];
    for (uint64_t generation = first; generation <= last; generation++) {
        bool large = kind == LARGE || (kind == ALTERNATING && generation % 2 == 1);
        size_t count = large ? COMM_SMALL + 1 : COMM_SMALL;
        muster_traffic_t before, after;
        EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
        if (kind == SCANS)
            EXPECT_STATUS(MUSTER_OK,
                          muster_scan(comm, bytes, result, 8, MUSTER_U8, MUSTER_MAX, NULL));
        else
            EXPECT_STATUS(MUSTER_OK, muster_broadcast(comm, bytes, count, MUSTER_U8, 0, NULL));
        EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
        bool near = kind == LARGE || kind == ALTERNATING;
        bool meets = generation % (near ? COMM_SYNCHRONIZED : COMM_SYNCHRONIZED_SMALL) == 0;
        if (ranks_rank() == ranks_size() - 1)
            EXPECT(meets == (after.messages_sent > before.messages_sent),
                   "generation %llu, kind %d: %llu messages sent", (unsigned long long)generation,
                   (int)kind, (unsigned long long)(after.messages_sent - before.messages_sent));
    }
}

static void run_ahead(muster_context_t *context, const void *argument)
{
    muster_comm_t *comm = ranks_comm(context, "run ahead", automatic_local);
    (void)argument;
    runs_ahead(comm, SMALL, 1, 2 * COMM_SYNCHRONIZED_SMALL);
    runs_ahead(comm, LARGE, 2 * COMM_SYNCHRONIZED_SMALL + 1, 3 * COMM_SYNCHRONIZED_SMALL);
    runs_ahead(comm, SCANS, 3 * COMM_SYNCHRONIZED_SMALL + 1, 4 * COMM_SYNCHRONIZED_SMALL);
    runs_ahead(comm, ALTERNATING, 4 * COMM_SYNCHRONIZED_SMALL + 1, 5 * COMM_SYNCHRONIZED_SMALL);
    muster_comm_destroy(comm);
}

/* C208: what comes early is kept until its turn, and counted. */
static void far_ahead(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "far ahead", *options);
    enum { AHEAD = 40 };
    muster_request_t *requests[AHEAD];
    uint64_t mine[AHEAD], sums[AHEAD];
    bool late = ranks_rank() == 0; /* the one that everybody sends to */
    if (late)
        ranks_meet(context);
    for (uint64_t i = 0; i < AHEAD; i++) {
        muster_call_t call = {.generation = MUSTER_GIVEN(i + 1)};
        mine[i] = i * 100 + ranks_rank();
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine[i], &sums[i], 1, MUSTER_U64,
                                                   MUSTER_MAX, &call, &requests[i]));
    }
    if (!late)
        ranks_meet(context);
    EXPECT_STATUS(MUSTER_OK, muster_wait_all(requests, AHEAD, MUSTER_NO_DEADLINE));
    for (uint64_t i = 0; i < AHEAD; i++) {
        EXPECT_NUMBER(i * 100 + ranks_size() - 1, sums[i]);
        muster_request_destroy(requests[i]);
    }
    muster_traffic_t traffic;
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &traffic));
    if (late)
        EXPECT(traffic.early_messages >= AHEAD, "%llu early messages",
               (unsigned long long)traffic.early_messages);
    EXPECT_NUMBER(0, traffic.late_messages);
    muster_comm_destroy(comm);
}

/* ---- The window ------------------------------------------------------------------------------ */

#define THREADS 4
#define ROUNDS 4

typedef struct worker {
    muster_comm_t *comm;
    uint32_t rank, size;
    unsigned index;
    uint64_t first; /* of this round */
    uint64_t wrong;
    pthread_t thread;
} worker_t;

/* Sixteen of the 64 generations of a round, in an order that rank and thread choose. */
static void *work(void *argument)
{
    worker_t *worker = argument;
    enum { SHARE = GENERATION_WINDOW / THREADS };
    muster_request_t *requests[SHARE];
    uint64_t generations[SHARE], mine[SHARE], sums[SHARE];
    for (unsigned i = 0; i < SHARE; i++)
        generations[i] = worker->first + i * THREADS + worker->index;
    for (unsigned i = SHARE - 1; i > 0; i--) {
        unsigned other = (unsigned)(ranks_mix(worker->first ^ worker->rank, i) % (i + 1));
        uint64_t kept = generations[i];
        generations[i] = generations[other];
        generations[other] = kept;
    }
    for (unsigned i = 0; i < SHARE; i++) {
        muster_call_t call = {.generation = MUSTER_GIVEN(generations[i])};
        mine[i] = generations[i] * (worker->rank + 1);
        worker->wrong += muster_iallreduce(worker->comm, &mine[i], &sums[i], 1, MUSTER_U64,
                                           MUSTER_SUM, &call, &requests[i]) != MUSTER_OK;
    }
    if (worker->wrong)
        return NULL;
    for (unsigned i = SHARE; i-- > 0;) { /* and asked for in reverse */
        uint64_t right = generations[i] * worker->size * (worker->size + 1) / 2;
        worker->wrong += muster_wait(requests[i], MUSTER_NO_DEADLINE) != MUSTER_OK;
        worker->wrong += sums[i] != right;
        muster_request_destroy(requests[i]);
    }
    return NULL;
}

/* C212: any order within a window of 64, from several threads; each meets its own. */
static void any_order(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "any order", *options);
    worker_t workers[THREADS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (worker_t){.comm = comm,
                                    .rank = ranks_rank(),
                                    .size = ranks_size(),
                                    .index = i,
                                    .first = 1 + round * GENERATION_WINDOW};
            EXPECT(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            EXPECT(workers[i].wrong == 0, "thread %u has %llu wrong", i,
                   (unsigned long long)workers[i].wrong);
        }
    }
    EXPECT_NUMBER(1 + ROUNDS * GENERATION_WINDOW, next_generation(comm));
    muster_comm_destroy(comm);
}

/* One that is queued is the caller's alone: given up at once, and it says of what. */
static void cancel_queued(muster_comm_t *comm)
{
    muster_request_t *request = NULL;
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &request));
    EXPECT_STATUS(MUSTER_OK, muster_cancel(request));
    EXPECT_STATUS(MUSTER_CANCELLED, muster_test(request));
    const muster_failure_t *failure = muster_request_failure(request);
    EXPECT(failure && strcmp(failure->message, "barrier on \"queued\": cancelled") == 0, "\"%s\"",
           failure ? failure->message : "");
    EXPECT_NUMBER(0, failure->generation);
    muster_request_destroy(request);
}

/* Automatic ones beyond the window are queued: starting them never waits (C126). */
static void queued(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "queued", *options);
    enum { MANY = 3 * GENERATION_WINDOW };
    muster_request_t *requests[MANY];
    uint64_t mine[MANY], sums[MANY];
    if (ranks_rank() == ranks_size() - 1)
        ranks_meet(context); /* the others have started all of theirs */
    for (uint64_t i = 0; i < MANY; i++) {
        mine[i] = i + ranks_rank();
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine[i], &sums[i], 1, MUSTER_U64,
                                                   MUSTER_MAX, NULL, &requests[i]));
    }
    if (ranks_rank() != ranks_size() - 1) {
        cancel_queued(comm);
        ranks_meet(context);
    }
    EXPECT_STATUS(MUSTER_OK, muster_wait_all(requests, MANY, MUSTER_NO_DEADLINE));
    for (uint64_t i = 0; i < MANY; i++) {
        EXPECT_NUMBER(i + ranks_size() - 1, sums[i]);
        muster_request_destroy(requests[i]);
    }
    muster_comm_destroy(comm);
}

#define FEW (RANKS_SIZE(2) | RANKS_SIZE(3))
#define MORE (FEW | RANKS_SIZE(5) | RANKS_SIZE(10))

static const ranks_case_t cases[] = {
    {"one each, flat", one_each, &flat, MORE, RANKS_SIZE(3)},
    {"one each, tree", one_each, &tree, MORE, RANKS_SIZE(5)},
    {"one each, fallen back", one_each, &fallen, MORE, RANKS_SIZE(3)},
    {"named sequence, tree", named_sequence, &tree, RANKS_UP_TO(13), RANKS_SIZE(10)},
    {"mixed thousand, flat", mixed_thousand, &flat, RANKS_SIZE(3), RANKS_SIZE(2)},
    {"mixed thousand, tree", mixed_thousand, &tree, RANKS_SIZE(7), RANKS_SIZE(5)},
    {"mixed thousand, counted", mixed_thousand, &counted, RANKS_SIZE(5), RANKS_SIZE(5)},
    {"mixed thousand, auto", mixed_thousand, &automatic, FEW, RANKS_SIZE(2)},
    {"refused numbers, flat", refused_numbers, &flat, FEW, RANKS_SIZE(2)},
    {"refused numbers, tree", refused_numbers, &tree, MORE, RANKS_SIZE(5)},
    {"second arrival, flat", second_arrival, &flat, FEW, RANKS_SIZE(3)},
    {"second arrival, tree", second_arrival, &tree, MORE, RANKS_SIZE(5)},
    {"never started, flat", never_started, &flat, FEW, RANKS_SIZE(3)},
    {"never started, tree", never_started, &tree, RANKS_SIZE(10), RANKS_SIZE(5)},
    {"flat modes", flat_modes, &flat, FEW, RANKS_SIZE(2)},
    {"flat modes, auto", flat_modes, &automatic, FEW, RANKS_SIZE(2)},
    {"tree modes", tree_modes, &tree, MORE, RANKS_SIZE(5)},
    {"tree modes, fallen back", tree_modes, &fallen, FEW, RANKS_SIZE(3)},
    {"flat modes, counted tree", flat_modes, &counted, MORE, RANKS_SIZE(5)},
    {"mixed modes, flat", mixed_modes, &flat, MORE, RANKS_SIZE(3)},
    {"mixed modes, counted tree", mixed_modes, &counted, MORE, RANKS_SIZE(5)},
    {"mixed modes, auto", mixed_modes, &automatic, FEW, RANKS_SIZE(2)},
    {"modes apart, flat", modes_apart, &flat, MORE, RANKS_SIZE(3)},
    {"modes apart, counted tree", modes_apart, &counted, MORE, RANKS_SIZE(5)},
    {"run ahead", run_ahead, NULL, FEW, RANKS_SIZE(2)},
    {"far ahead, flat", far_ahead, &flat, FEW, RANKS_SIZE(2)},
    {"far ahead, tree", far_ahead, &tree, MORE, RANKS_SIZE(5)},
    {"any order, flat", any_order, &flat, FEW, RANKS_SIZE(2)},
    {"any order, tree", any_order, &tree, RANKS_SIZE(5) | RANKS_SIZE(7), RANKS_SIZE(5)},
    {"queued, flat", queued, &flat, FEW, RANKS_SIZE(2)},
    {"queued, counted tree", queued, &counted, RANKS_SIZE(5), RANKS_SIZE(5)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
