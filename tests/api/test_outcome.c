/*
 * One outcome for everybody: late ranks, reductions that fail, calls that differ, cancelled ones;
 * and in each case the next generation works.
 */
#include "collective.h"

#include <stdio.h>
#include <string.h>

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
static const muster_comm_options_t automatic = {.shape = MUSTER_SHAPE_AUTO};
static const muster_comm_options_t tree_of_two = {.shape = MUSTER_SHAPE_TREE,
                                                  .arity = {2, true},
                                                  .flat_threshold = {0, true},
                                                  .generations = MUSTER_GENERATION_COUNTED,
                                                  .roots = MUSTER_ROOT_ANY};
static const muster_comm_options_t tree_of_three = {.shape = MUSTER_SHAPE_TREE,
                                                    .arity = {3, true},
                                                    .flat_threshold = {0, true},
                                                    .generations = MUSTER_GENERATION_COUNTED,
                                                    .roots = MUSTER_ROOT_ANY};

/* C801: the next generation works. */
static void expect_next_works(muster_comm_t *comm)
{
    uint64_t mine = ranks_rank() + 1, sum = 0, n = ranks_size();
    muster_call_t call = {.failure = ranks_failure()};
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call));
    EXPECT_NUMBER(n * (n + 1) / 2, sum);
}

/* The call's outcome here, and how it failed. */
static muster_status_t outcome_of(muster_comm_t *comm, const collective_t *what,
                                  muster_timeout_t timeout, muster_failure_t *failure)
{
    collective_call_t *call = collective_prepare(ranks_rank(), ranks_size(), what);
    memset(failure, 0, sizeof *failure);
    call->options.timeout = timeout;
    muster_status_t status = collective_start(comm, call);
    if (status == MUSTER_OK)
        status = collective_wait(call);
    if (status != MUSTER_OK)
        *failure = *ranks_failure();
    collective_check(call, status == MUSTER_OK); /* C821: nothing beyond the caller's bounds */
    collective_free(call);
    return status;
}

/* ---- Late ranks ------------------------------------------------------------------------------ */

static void expect_missing(const muster_failure_t *failure, uint32_t first, uint32_t last)
{
    EXPECT(failure->range_count == 1 && failure->missing[0].first == first &&
               failure->missing[0].last == last,
           "\"%s\"", failure->message);
    EXPECT_NUMBER(first, failure->rank);
    /* C802: and what each was last seen doing, those together of whom it is the same */
    char text[80];
    if (first == last)
        snprintf(text, sizeof text, "missing: rank %u (last: barrier, generation", first);
    else
        snprintf(text, sizeof text, "missing: ranks %u-%u (last: barrier, generation", first, last);
    EXPECT(strstr(failure->message, text) != NULL, "\"%s\" has not \"%s\"", failure->message, text);
}

/* C801, C802: ranks first..last are late; everybody, they too, gets the one verdict. */
static void late_for(muster_context_t *context, muster_comm_t *comm, const collective_t *what,
                     uint32_t first, uint32_t last)
{
    muster_failure_t failure;
    bool late = ranks_rank() >= first && ranks_rank() <= last;
    EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, NULL));
    if (late) {
        ranks_meet(context); /* the others have returned */
        int64_t begun = ranks_milliseconds();
        EXPECT_STATUS(MUSTER_TIMED_OUT, outcome_of(comm, what, MUSTER_NO_DEADLINE, &failure));
        EXPECT(ranks_milliseconds() - begun < 5000, "the verdict was there");
    } else {
        EXPECT_STATUS(MUSTER_TIMED_OUT, outcome_of(comm, what, MUSTER_MILLISECONDS(120), &failure));
        ranks_meet(context);
    }
    expect_missing(&failure, first, last);
    EXPECT(strcmp(failure.operation, operation_name((uint8_t)what->operation)) == 0, "\"%s\"",
           failure.operation);
    ranks_expect_same_failure(context, &failure, __LINE__);
    expect_next_works(comm);
}

static void late_ranks(muster_context_t *context, const void *argument)
{
    static const operation_t operations[] = {
        OPERATION_ALLREDUCE, OPERATION_BARRIER,  OPERATION_BROADCAST, OPERATION_GATHERV,
        OPERATION_SCATTER,   OPERATION_ALLTOALL, OPERATION_EXSCAN,    OPERATION_REDUCE_SCATTER};
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "late ranks", *options);
    uint32_t n = ranks_size();
    unsigned next = ranks_size(); /* operations take turns */
#define NEXT operations[next++ % (sizeof operations / sizeof operations[0])]
    for (uint32_t late = 0; late < n; late++) {
        collective_t what = {.operation = NEXT, .count = late % 2 ? 3 : 900, .root = (n - 1) / 2};
        late_for(context, comm, &what, late, late);
    }
    if (n > 3) {
        late_for(context, comm, &(collective_t){.operation = NEXT, .count = 2}, 1, n - 1);
        late_for(context, comm, &(collective_t){.operation = NEXT, .count = 2}, 0, n - 2);
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        late_for(context, comm, &(collective_t){.operation = NEXT, .count = 1, .root = n - 1},
                 n - 1 - i % 2, n - 1 - i % 2);
#undef NEXT
    muster_comm_destroy(comm);
}

/* C802: the communicator's own deadline, and a call's instead of it. */
static void whose_deadline(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_options_t options = flat;
    options.timeout = MUSTER_MILLISECONDS(100);
    muster_comm_t *comm = ranks_comm(context, "whose deadline", options);
    muster_request_t *request = NULL;
    muster_failure_t failure = {0};
    muster_call_t call = {.failure = &failure};
    if (ranks_rank() == 0) {
        EXPECT_STATUS(MUSTER_TIMED_OUT, muster_barrier(comm, &call));
        ranks_meet(context);
        call.timeout = MUSTER_NO_DEADLINE;
        EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, &call, &request));
        /* A timeout of the waiting ends only the waiting (C418). */
        EXPECT_STATUS(MUSTER_IN_PROGRESS, muster_wait(request, MUSTER_MILLISECONDS(250)));
        ranks_meet(context);
        EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
        muster_request_destroy(request);
    } else {
        ranks_meet(context);
        EXPECT_STATUS(MUSTER_TIMED_OUT, muster_barrier(comm, &call));
        ranks_meet(context);
        EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, &call));
    }
    muster_comm_destroy(comm);
}

/* ---- Reductions that fail -------------------------------------------------------------------- */

typedef struct trigger {
    uint32_t mask; /* the right operand at which it fails */
    unsigned calls, failed, after;
} trigger_t;

/* Sets of ranks under union: the right operand shows which subtree it comes from. */
static muster_status_t unite(void *context, const void *left, const void *right, void *result,
                             size_t count, muster_datatype_t datatype)
{
    trigger_t *trigger = context;
    (void)datatype;
    trigger->calls++;
    if (trigger->failed)
        trigger->after++;
    for (size_t i = 0; i < count; i++) {
        uint32_t set = ((const uint32_t *)right)[i];
        if (set == trigger->mask) {
            trigger->failed++;
            return MUSTER_REFUSED;
        }
        ((uint32_t *)result)[i] = ((const uint32_t *)left)[i] | set;
    }
    return MUSTER_OK;
}

static muster_status_t reduce_sets(muster_comm_t *comm, int form, trigger_t *trigger,
                                   muster_failure_t *failure)
{
    uint32_t mine[COLLECTIVE_RANKS_MAX], all[COLLECTIVE_RANKS_MAX];
    muster_op_t op = MUSTER_USER_OP(unite, trigger, false, 8);
    muster_datatype_t type = MUSTER_USER_DATATYPE(4);
    muster_call_t call = {.failure = failure};
    for (uint32_t i = 0; i < COLLECTIVE_RANKS_MAX; i++)
        mine[i] = 1u << ranks_rank();
    switch (form) {
    case 0:
        return muster_allreduce(comm, mine, all, 1, type, op, &call);
    case 1:
        return muster_reduce(comm, mine, all, 1, type, op, ranks_size() - 1, &call);
    case 2:
        return muster_scan(comm, mine, all, 1, type, op, &call);
    case 3:
        return muster_exscan(comm, mine, all, NULL, 1, type, op, &call);
    default:
        return muster_reduce_scatter_block(comm, mine, all, 1, type, op, &call);
    }
}

/* One reduction, at one trigger: whether it failed, which everybody has to say alike. */
static bool one_failing(muster_context_t *context, muster_comm_t *comm, int form, uint32_t mask)
{
    trigger_t trigger = {.mask = mask};
    muster_failure_t failure = {0};
    muster_status_t status = reduce_sets(comm, form, &trigger, &failure);
    uint32_t mine[2] = {trigger.failed, trigger.failed ? ranks_rank() + 1 : 0}, most[2];
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(muster_context_world(context), mine, most, 2,
                                              MUSTER_U32, MUSTER_MAX, NULL));
    EXPECT_NUMBER(0, trigger.after); /* C410, C806 */
    EXPECT(trigger.failed <= 1);
    EXPECT_STATUS(most[0] ? MUSTER_REDUCTION_FAILED : MUSTER_OK, status);
    if (!most[0])
        return false;
    ranks_expect_same_failure(context, &failure, __LINE__);
    if (form < 2) /* in the others several ranks may see it fail */
        EXPECT_NUMBER(most[1] - 1, failure.rank);
    expect_next_works(comm);
    return true;
}

/*
 * C806, case 15: whichever subtree's contribution makes the reduction fail, at every level, all
 * ranks have the same failure; it is not called again where it failed (C410).
 */
static void failing_reductions(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "failing reductions", *options);
    uint32_t n = ranks_size(), fails = 0;
    for (uint32_t first = 1; first < n; first++) {
        for (uint32_t last = first; last < n; last++) {
            uint32_t mask = ((2u << last) - 1) & ~((1u << first) - 1);
            fails += one_failing(context, comm, 0, mask);
            one_failing(context, comm, 1 + (int)((first + last) % 4), mask);
        }
    }
    EXPECT_NUMBER(n - 1, fails); /* every rank's or subtree's part is a right operand once */
    muster_comm_destroy(comm);
}

static muster_status_t not_three(void *context, const void *left, const void *right, void *result,
                                 size_t count, muster_datatype_t datatype)
{
    (void)datatype;
    ++*(unsigned *)context;
    for (size_t i = 0; i < count; i++) {
        if (((const int32_t *)right)[i] == 3)
            return MUSTER_INVALID_ARGUMENT;
        ((int32_t *)result)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
    }
    return MUSTER_OK;
}

/* C806 as it is written down: right == 3, which rank 2 alone contributes to its subtree's sum. */
static void right_is_three(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "right is three", *options);
    for (int round = 0; round < 5; round++) {
        int32_t mine = ranks_rank() == 2 ? 3 : 0, sum = 0;
        unsigned calls = 0;
        muster_failure_t failure = {0};
        muster_call_t call = {.failure = &failure};
        EXPECT_STATUS(MUSTER_REDUCTION_FAILED,
                      muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32,
                                       MUSTER_USER_OP(not_three, &calls, true, 1), &call));
        ranks_expect_same_failure(context, &failure, __LINE__);
        mine = 10;
        EXPECT_STATUS(MUSTER_OK,
                      muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32,
                                       MUSTER_USER_OP(not_three, &calls, true, 1), &call));
        EXPECT_NUMBER(10 * ranks_size(), sum);
    }
    muster_comm_destroy(comm);
}

/* The contributors of a rooted operation whose root fails: they hear it, though they had sent. */
static void root_fails(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "root fails", *options);
    uint32_t n = ranks_size(), rank = ranks_rank();
    for (uint32_t root = 0; root < n; root++) {
        /* Its reduction fails, where it has one to call. */
        unsigned calls = 0;
        uint32_t mine = 3, sum = 0;
        muster_failure_t failure = {0};
        muster_call_t call = {.failure = &failure};
        EXPECT_STATUS(MUSTER_REDUCTION_FAILED,
                      muster_reduce(comm, &mine, &sum, 1, MUSTER_U32,
                                    MUSTER_USER_OP(not_three, &calls, true, 1), root, &call));
        ranks_expect_same_failure(context, &failure, __LINE__);
        /* It expects other lengths than come. */
        uint32_t many[COLLECTIVE_RANKS_MAX * 2];
        size_t counts[COLLECTIVE_RANKS_MAX];
        for (uint32_t i = 0; i < n; i++)
            counts[i] = i == (root + 1) % n ? 2 : 1;
        EXPECT_STATUS(MUSTER_TRUNCATED,
                      muster_gatherv(comm, &mine, 1, many, counts, NULL, MUSTER_U32, root, &call));
        ranks_expect_same_failure(context, &failure, __LINE__);
        /* It gives up. */
        muster_request_t *request = NULL;
        if (rank != root)
            EXPECT_STATUS(MUSTER_OK,
                          muster_igather(comm, &mine, many, 1, MUSTER_U32, root, NULL, &request));
        if (rank == root) {
            muster_ibarrier(comm, NULL, &request);
            muster_cancel(request);
        }
        muster_status_t status = muster_wait(request, MUSTER_NO_DEADLINE);
        EXPECT(status == MUSTER_CANCELLED || status == MUSTER_MISMATCH, "%s",
               muster_status_name(status));
        ranks_expect_same(context, &status, sizeof status, __LINE__);
        muster_request_destroy(request);
        expect_next_works(comm);
    }
    muster_comm_destroy(comm);
}

/* ---- Calls that differ ----------------------------------------------------------------------- */

typedef struct differing {
    const char *field;
    collective_t others, odd;
} differing_t;

#define CALL(name, ...)                                                                            \
    {                                                                                              \
        .operation = OPERATION_##name, .count = 3, __VA_ARGS__                                     \
    }

/*
 * C821, cases 28, 29: every field, in both directions: the odd one is any rank, and larger or not.
 */
static const differing_t differing[] = {
    {"operation", CALL(BROADCAST, ), CALL(BARRIER, )},
    {"operation", CALL(BARRIER, ), CALL(BROADCAST, )},
    {"operation", CALL(ALLREDUCE, ), CALL(REDUCE, )},
    {"operation", CALL(GATHER, ), CALL(GATHERV, )},
    {"operation", CALL(ALLTOALL, ), CALL(ALLGATHER, )},
    {"operation", CALL(SCAN, ), CALL(EXSCAN, )},
    {"count", CALL(BROADCAST, ), {.operation = OPERATION_BROADCAST, .count = 4}},
    {"count", CALL(BROADCAST, ), {.operation = OPERATION_BROADCAST, .count = 0}},
    {"count", {.operation = OPERATION_BROADCAST, .count = 9000}, CALL(BROADCAST, )},
    {"count", CALL(BROADCAST, ), {.operation = OPERATION_BROADCAST, .count = 9000}},
    {"count", CALL(ALLREDUCE, ), {.operation = OPERATION_ALLREDUCE, .count = 2}},
    {"count", CALL(ALLGATHER, ), {.operation = OPERATION_ALLGATHER, .count = 700}},
    {"count", CALL(ALLTOALL, ), {.operation = OPERATION_ALLTOALL, .count = 0}},
    {"count", CALL(SCATTER, ), {.operation = OPERATION_SCATTER, .count = 5}},
    {"count", CALL(GATHER, ), {.operation = OPERATION_GATHER, .count = 2}},
    {"count", CALL(SCAN, ), {.operation = OPERATION_SCAN, .count = 1}},
    {"datatype", CALL(ALLREDUCE, .ordered = true), CALL(ALLREDUCE, )},
    {"datatype", CALL(REDUCE_SCATTER_BLOCK, ), CALL(REDUCE_SCATTER_BLOCK, .ordered = true)},
    {"root", CALL(BROADCAST, ), CALL(BROADCAST, .root = 1)},
    {"root", CALL(REDUCE, .root = 1), CALL(REDUCE, )},
    {"root", CALL(GATHER, .root = 1), CALL(GATHER, )},
    {"root", CALL(SCATTER, ), CALL(SCATTER, .root = 1)},
    {"outcome", CALL(ALLREDUCE, ), CALL(ALLREDUCE, .outcome = MUSTER_OUTCOME_LOCAL)},
    {"initial", CALL(EXSCAN, .initial = true), CALL(EXSCAN, )},
};

static void expect_mismatch(muster_context_t *context, muster_comm_t *comm, const differing_t *one,
                            uint32_t odd)
{
    collective_t what = ranks_rank() == odd ? one->odd : one->others;
    muster_failure_t failure;
    what.at_end = odd % 2;
    what.nonblocking = odd % 3 == 1;
    muster_status_t status = outcome_of(comm, &what, (muster_timeout_t){0}, &failure);
    EXPECT(status == MUSTER_MISMATCH, "%s, rank %u is odd: %s, %s", one->field, odd,
           muster_status_name(status), failure.message);
    EXPECT(strcmp(failure.field, one->field) == 0, "%s, rank %u is odd: \"%s\", \"%s\"", one->field,
           odd, failure.field, failure.message);
    ranks_expect_same_failure(context, &failure, __LINE__);
    expect_next_works(comm);
}

static void calls_differ(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "calls differ", *options);
    uint32_t n = ranks_size();
    for (size_t i = 0; i < sizeof differing / sizeof differing[0]; i++) {
        expect_mismatch(context, comm, &differing[i], (uint32_t)i % n);
        expect_mismatch(context, comm, &differing[i], (uint32_t)(i + n - 1) % n);
    }
    muster_comm_destroy(comm);
}

/* C821: the reduction: another one, another identity, another claim of commutativity. */
static void reductions_differ(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "reductions differ", *options);
    unsigned calls = 0;
    const muster_op_t pairs[][2] = {
        {MUSTER_SUM, MUSTER_MAX},
        {MUSTER_SUM, MUSTER_USER_OP(not_three, &calls, true, 1)},
        {MUSTER_USER_OP(not_three, &calls, true, 1), MUSTER_USER_OP(not_three, &calls, true, 2)},
        {MUSTER_USER_OP(not_three, &calls, true, 1), MUSTER_USER_OP(not_three, &calls, false, 1)},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (uint32_t odd = 0; odd < ranks_size(); odd++) {
            int32_t mine = 10, sum = 0;
            muster_failure_t failure = {0};
            muster_call_t call = {.failure = &failure};
            EXPECT_STATUS(MUSTER_MISMATCH, muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32,
                                                            pairs[i][ranks_rank() == odd], &call));
            EXPECT(strcmp(failure.field, "reduction") == 0, "\"%s\"", failure.message);
            ranks_expect_same_failure(context, &failure, __LINE__);
            expect_next_works(comm);
        }
    }
    muster_comm_destroy(comm);
}

/* C821, case 28: the v-operations' counts may differ, but not from what their peers expect. */
static void lengths_differ(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "lengths differ", *options);
    uint32_t n = ranks_size(), rank = ranks_rank();
    uint32_t in[COLLECTIVE_RANKS_MAX * 3] = {0}, out[COLLECTIVE_RANKS_MAX * 3];
    size_t right[COLLECTIVE_RANKS_MAX], wrong[COLLECTIVE_RANKS_MAX];
    for (size_t more = 0; more < 3; more += 2) { /* shorter, longer */
        for (uint32_t odd = 0; odd < n; odd++) {
            for (uint32_t i = 0; i < n; i++) {
                right[i] = 1;
                wrong[i] = i == (odd + 1) % n ? more : 1;
            }
            const size_t *mine = rank == odd ? wrong : right;
            size_t sent = rank == odd ? more : 1;
            muster_failure_t failure[3] = {{0}, {0}, {0}};
            muster_call_t call[3] = {
                {.failure = &failure[0]}, {.failure = &failure[1]}, {.failure = &failure[2]}};
            EXPECT_STATUS(MUSTER_TRUNCATED, muster_gatherv(comm, in, sent, out, right, NULL,
                                                           MUSTER_U32, n - 1, &call[0]));
            EXPECT_STATUS(MUSTER_TRUNCATED, muster_scatterv(comm, in, right, NULL, out, sent,
                                                            MUSTER_U32, 0, &call[1]));
            EXPECT_STATUS(MUSTER_TRUNCATED, muster_alltoallv(comm, in, mine, NULL, out, right, NULL,
                                                             MUSTER_U32, &call[2]));
            for (int i = 0; i < 3; i++)
                ranks_expect_same_failure(context, &failure[i], __LINE__);
            expect_next_works(comm);
        }
    }
    muster_comm_destroy(comm);
}

/* C821, case 30: right calls raise no alarm. */
static void no_false_alarm(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "no false alarm", *options);
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t mine = i, sum = 0;
        muster_status_t status =
            i % 8 == 7 ? muster_broadcast(comm, &mine, 1, MUSTER_U64, (uint32_t)(i / 8) % 2, NULL)
                       : muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_MAX, NULL);
        if (status != MUSTER_OK || (i % 8 != 7 && sum != i))
            EXPECT(status == MUSTER_OK, "call %llu: %s", (unsigned long long)i,
                   muster_status_name(status));
    }
    expect_next_works(comm);
    muster_comm_destroy(comm);
}

/* ---- Cancelled ------------------------------------------------------------------------------- */

/*
 * C418, C801: one gives up, everybody gets CANCELLED: those inside, and the one that comes later.
 */
static void cancelled(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "cancelled", *options);
    uint32_t n = ranks_size();
    for (uint32_t late = 0; late < n; late++) {
        uint32_t canceller = (late + 1) % n;
        uint64_t mine = 1, sum = 0;
        muster_request_t *request = NULL;
        if (ranks_rank() == late)
            ranks_meet(context);
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM,
                                                   NULL, &request));
        if (ranks_rank() == canceller)
            EXPECT_STATUS(MUSTER_OK, muster_cancel(request));
        if (ranks_rank() != late)
            EXPECT_STATUS(MUSTER_CANCELLED, muster_wait(request, MUSTER_MILLISECONDS(20000)));
        if (ranks_rank() != late)
            ranks_meet(context);
        EXPECT_STATUS(MUSTER_CANCELLED, muster_wait(request, MUSTER_MILLISECONDS(20000)));
        const muster_failure_t *failure = muster_request_failure(request);
        EXPECT(failure != NULL);
        if (failure) {
            EXPECT_NUMBER(canceller, failure->rank);
            ranks_expect_same_failure(context, failure, __LINE__);
        }
        muster_request_destroy(request);
        expect_next_works(comm);
    }
    muster_comm_destroy(comm);
}

#define FEW (RANKS_SIZE(2) | RANKS_SIZE(3))
#define SOME (RANKS_SIZE(2) | RANKS_SIZE(4) | RANKS_SIZE(5))
#define DEEP (RANKS_SIZE(5) | RANKS_SIZE(10))
#define TEN RANKS_SIZE(10)

static const ranks_case_t cases[] = {
    {"late ranks, flat", late_ranks, &flat, FEW | RANKS_SIZE(5), RANKS_SIZE(3)},
    {"late ranks, tree of 2", late_ranks, &tree_of_two, RANKS_SIZE(5), RANKS_SIZE(4)},
    {"late ranks, tree of 3", late_ranks, &tree_of_three, TEN, RANKS_SIZE(4)},
    {"late ranks, auto", late_ranks, &automatic, FEW, RANKS_SIZE(2)},
    {"whose deadline", whose_deadline, NULL, RANKS_SIZE(2), RANKS_SIZE(2)},
    {"failing reductions, flat", failing_reductions, &flat, SOME | TEN, RANKS_SIZE(4)},
    {"failing reductions, tree of 2", failing_reductions, &tree_of_two, RANKS_UP_TO(10) & ~2ull,
     RANKS_SIZE(5)},
    {"failing reductions, tree of 3", failing_reductions, &tree_of_three, DEEP, TEN},
    {"failing reductions, auto", failing_reductions, &automatic, SOME, RANKS_SIZE(2)},
    {"right is three, flat", right_is_three, &flat, RANKS_SIZE(3) | RANKS_SIZE(5), RANKS_SIZE(4)},
    {"right is three, tree of 3", right_is_three, &tree_of_three, DEEP, RANKS_SIZE(5)},
    {"root fails, flat", root_fails, &flat, SOME, RANKS_SIZE(3)},
    {"root fails, tree of 2", root_fails, &tree_of_two, SOME, RANKS_SIZE(5)},
    {"root fails, auto", root_fails, &automatic, SOME, RANKS_SIZE(2)},
    {"calls differ, flat", calls_differ, &flat, FEW | RANKS_SIZE(5), RANKS_SIZE(3)},
    {"calls differ, tree of 2", calls_differ, &tree_of_two, RANKS_SIZE(3) | RANKS_SIZE(5),
     RANKS_SIZE(5)},
    {"calls differ, tree of 3", calls_differ, &tree_of_three, TEN, RANKS_NEVER},
    {"calls differ, auto", calls_differ, &automatic, FEW, RANKS_SIZE(2)},
    {"reductions differ, flat", reductions_differ, &flat, FEW, RANKS_SIZE(2)},
    {"reductions differ, tree of 2", reductions_differ, &tree_of_two, RANKS_SIZE(5), RANKS_SIZE(4)},
    {"lengths differ, flat", lengths_differ, &flat, FEW, RANKS_SIZE(3)},
    {"lengths differ, tree of 2", lengths_differ, &tree_of_two, DEEP, RANKS_SIZE(5)},
    {"lengths differ, auto", lengths_differ, &automatic, SOME, RANKS_SIZE(2)},
    {"no false alarm, flat", no_false_alarm, &flat, RANKS_SIZE(2), RANKS_SIZE(2)},
    {"cancelled, flat", cancelled, &flat, SOME, RANKS_SIZE(3)},
    {"cancelled, tree of 2", cancelled, &tree_of_two, SOME | TEN, RANKS_SIZE(5)},
    {"cancelled, auto", cancelled, &automatic, SOME, RANKS_SIZE(2)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
