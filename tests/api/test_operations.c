/*
 * Every operation, over every path, size, root, count, in place or not, blocking or not, with both
 * outcomes, over logical ranks and processes: results, bounds, and the schedule's own figures.
 * The product is thinned by a fixed pattern where it is large.
 */
#include "collective.h"
#include "engine/comm.h"

#include <stdio.h>
#include <string.h>

/* ---- Paths ----------------------------------------------------------------------------------- */

typedef struct path {
    const char *name;
    muster_shape_t shape;
    uint32_t arity;
    bool falls_back;
} path_t;

static const path_t paths[] = {
    {"flat", MUSTER_SHAPE_FLAT, 0, false},
    {"tree of 2", MUSTER_SHAPE_TREE, 2, false},
    {"tree of 3", MUSTER_SHAPE_TREE, 3, false},
    {"tree of 4", MUSTER_SHAPE_TREE, 4, false},
    {"tree that falls back", MUSTER_SHAPE_TREE, 2, true},
    {"auto", MUSTER_SHAPE_AUTO, 0, false},
};

static muster_comm_t *path_comm(muster_context_t *context, const path_t *path,
                                muster_comm_description_t *description)
{
    uint32_t size = ranks_size();
    muster_comm_options_t options = {
        .shape = path->shape, .generations = MUSTER_GENERATION_COUNTED, .roots = MUSTER_ROOT_ANY};
    if (path->arity)
        options.arity = MUSTER_GIVEN(path->arity);
    if (path->shape == MUSTER_SHAPE_TREE) /* C311: 0 disables the fallback, n + 1 forces it */
        options.flat_threshold = MUSTER_GIVEN(path->falls_back ? size + 1 : 0);
    muster_comm_t *comm = ranks_comm(context, path->name, options);
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, description));
    /* C313: the path that a case claims is the one that is taken. C311: an arity >= n is flat. */
    bool tree = path->shape == MUSTER_SHAPE_TREE && !path->falls_back && path->arity < size;
    if (path->shape != MUSTER_SHAPE_AUTO) {
        EXPECT_NUMBER(tree ? MUSTER_SHAPE_TREE : MUSTER_SHAPE_FLAT, description->shape);
        EXPECT_NUMBER(tree ? path->arity : size < 2 ? 2 : size, description->arity);
    } else {
        EXPECT_NUMBER(MUSTER_SHAPE_AUTO, description->shape);
    }
    return comm;
}

/* ---- One call with its figures --------------------------------------------------------------- */

static void expect_figures(const muster_comm_description_t *description, const collective_t *what,
                           const collective_call_t *call, const muster_traffic_t *before,
                           const muster_traffic_t *after)
{
    collective_figures_t figures =
        collective_figures(description, what, ranks_rank());
    const char *name = operation_name((uint8_t)what->operation);
#define SAME(figure, counted)                                                                      \
    EXPECT((figure) == (counted), "%s of %zu, root %u, outcome %d%s%s: %llu, counted %llu", name,  \
           what->count, what->root, (int)what->outcome, what->in_place ? ", in place" : "",        \
           what->ordered ? ", ordered" : "", (unsigned long long)(figure),                         \
           (unsigned long long)(counted))
    /* C313, C615: messages and bytes are the schedule's own. */
    SAME(figures.messages_sent, after->messages_sent - before->messages_sent);
    SAME(figures.messages_received, after->messages_received - before->messages_received);
    if (figures.bytes_known)
        SAME(figures.bytes_sent, after->bytes_sent - before->bytes_sent);
    /*
     * C410: a reduction is called as often as the schedule says; the library's count is the truth.
     */
    if (figures.bytes_known)
        SAME(figures.reductions, after->reductions - before->reductions);
    if (what->ordered && operation_is_reducing(what->operation))
        SAME(call->reductions, after->reductions - before->reductions);
    /* C506: no hidden copies, but for what came before its turn. */
    uint64_t copied = after->bytes_copied - before->bytes_copied -
                      (after->bytes_copied_early - before->bytes_copied_early);
    if (figures.copied_known)
        SAME(figures.copied, copied);
#undef SAME
}

/*
 * A decider that has waited for long looks around, and then its verdict may overtake the schedule's
 * last messages. So figures of uniform outcomes hold only where no control message was sent lately.
 */
typedef struct quiet {
    uint64_t control; /* messages, when looked at last */
    unsigned calls;   /* since they have changed */
} quiet_t;

#define QUIET_CALLS 64 /* no rank is further ahead of another */

static bool quiet_after(quiet_t *quiet, const muster_traffic_t *after)
{
    quiet->calls = quiet->control == after->control_messages ? quiet->calls + 1 : 0;
    quiet->control = after->control_messages;
    return quiet->calls >= QUIET_CALLS;
}

static void run_one(muster_comm_t *comm, const collective_t *what, quiet_t *quiet)
{
    muster_comm_description_t description;
    muster_traffic_t before, after;
    collective_call_t *call =
        collective_prepare(muster_comm_rank(comm), muster_comm_size(comm), what);
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
    muster_status_t status = collective_start(comm, call); /* C418: both forms */
    if (status == MUSTER_OK)
        status = collective_wait(call);
    EXPECT_STATUS(MUSTER_OK, status);
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
    collective_check(call, status == MUSTER_OK);
    bool local = what->outcome == MUSTER_OUTCOME_LOCAL;
    bool quiet_now = quiet_after(quiet, &after);
    /* Some local calls are uniform, depending on those before: run_ahead in test_generations.c. */
    bool exact = local ? description.next_generation % COMM_SYNCHRONIZED != 0 : quiet_now;
    if (status == MUSTER_OK && description.shape != MUSTER_SHAPE_AUTO && exact)
        expect_figures(&description, what, call, &before, &after);
    collective_free(call);
}

/* ---- The product ----------------------------------------------------------------------------- */

/* C404 … C421, cases 21, 22, 24: sizes on either side of each switch-over, zero included. */
static const size_t counts[] = {0, 1, 3, 100, 5000, 70000};

#define FORMS 16 /* in place, blocking, outcome, ordered or displaced */

/* Elements that one rank holds at most. */
#define PRODUCT_WIDE_MAX 220000

static bool product_is_too_long(operation_t operation, size_t count)
{
    bool vector = operation == OPERATION_BROADCAST || operation == OPERATION_REDUCE ||
                  operation == OPERATION_ALLREDUCE || operation == OPERATION_SCAN ||
                  operation == OPERATION_EXSCAN;
    return (vector ? count : count * ranks_size()) > PRODUCT_WIDE_MAX;
}

/* One call in so many; odd, so that it takes every form in turn. */
static unsigned product_thinning(void)
{
    unsigned slow = ranks_are_slow() ? 5 : 1;
    if (ranks_are_processes())
        return slow * (ranks_size() <= 3 ? 5 : ranks_size() <= 8 ? 11 : 19);
    return slow * (ranks_size() <= 3 ? 3 : ranks_size() <= 8 ? 5 : 13);
}

/* All forms of one operation at one root; index counts through the product. */
static void run_forms(muster_comm_t *comm, operation_t operation, uint32_t root, unsigned *index,
                      quiet_t *quiet)
{
    unsigned thinning = product_thinning();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (product_is_too_long(operation, counts[i]))
            continue;
        unsigned times = counts[i] > 10000 ? 3 : 1; /* long ones are thinned more */
        for (unsigned form = 0; form < FORMS; form++) {
            bool moves = operation != OPERATION_BARRIER;
            if ((!moves && (i > 0 || (form & 9))) || ++*index * 7 % (thinning * times) != 0)
                continue;
            collective_t what = {
                .operation = operation,
                .root = root,
                .count = counts[i],
                .in_place = (form & 1) && operation != OPERATION_BROADCAST && moves,
                .nonblocking = form >> 1 & 1,
                .outcome = form >> 2 & 1 ? MUSTER_OUTCOME_LOCAL : MUSTER_OUTCOME_UNIFORM,
                .ordered = form >> 3 & 1,
                .displaced = form >> 3 & 1,
                .initial = (form ^ form >> 1) & 1,
                .at_end = *index / thinning % 2,
                .salt = ranks_mix(counts[i] + form, (uint64_t)root << 8 | operation),
            };
            run_one(comm, &what, quiet);
        }
    }
}

static void every_operation(muster_context_t *context, const void *argument)
{
    const path_t *path = argument;
    muster_comm_description_t description;
    muster_comm_t *comm = path_comm(context, path, &description);
    uint32_t size = ranks_size();
    unsigned index = size;
    quiet_t quiet = {0, QUIET_CALLS};
    for (int operation = 0; operation < OPERATION_COUNT; operation++) {
        uint32_t roots[3] = {0, size / 2, size - 1};
        unsigned root_count = operation_is_rooted((operation_t)operation) ? 3 : 1;
        for (unsigned i = 0; i < root_count; i++)
            if (i == 0 || roots[i] != roots[i - 1])
                run_forms(comm, (operation_t)operation, roots[i], &index, &quiet);
    }
    /* C201, C202, C203: every call, whatever its path, has taken exactly one public generation. */
    muster_comm_description_t after;
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &after));
    ranks_expect_same(context, &after.next_generation, sizeof after.next_generation, __LINE__);
    muster_comm_destroy(comm);
}

/* ---- Counted messages ------------------------------------------------------------------------ */

/* Messages of one call over all ranks. */
static uint64_t count_messages(muster_context_t *context, muster_comm_t *comm,
                               const collective_t *what)
{
    muster_traffic_t before, after;
    uint64_t sum = 0;
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
    collective_run(comm, what);
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
    uint64_t mine = after.messages_sent - before.messages_sent;
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(muster_context_world(context), &mine, &sum, 1,
                                              MUSTER_U64, MUSTER_SUM, NULL));
    return sum;
}

static void flat_counts(muster_context_t *context, const void *argument)
{
    (void)argument;
    static const operation_t two_way[] = {OPERATION_BARRIER,   OPERATION_ALLREDUCE,
                                          OPERATION_ALLGATHER, OPERATION_ALLTOALL,
                                          OPERATION_SCAN,      OPERATION_REDUCE_SCATTER};
    static const operation_t one_way[] = {OPERATION_BROADCAST, OPERATION_REDUCE,
                                          OPERATION_GATHER,    OPERATION_SCATTER,
                                          OPERATION_GATHERV,   OPERATION_SCATTERV};
    muster_comm_description_t description;
    muster_comm_t *comm = path_comm(context, &paths[0], &description);
    uint64_t edges = ranks_size() - 1;
    for (size_t i = 0; i < sizeof two_way / sizeof two_way[0]; i++) {
        collective_t what = {.operation = two_way[i], .count = 2, .outcome = MUSTER_OUTCOME_LOCAL};
        EXPECT_NUMBER(2 * edges, count_messages(context, comm, &what)); /* C313 */
    }
    for (size_t i = 0; i < sizeof one_way / sizeof one_way[0]; i++) {
        collective_t what = {.operation = one_way[i],
                             .count = 2,
                             .outcome = MUSTER_OUTCOME_LOCAL,
                             .root = ranks_size() - 1};
        EXPECT_NUMBER(edges, count_messages(context, comm, &what)); /* C313 */
    }
    /* A small uniform outcome of a two-way operation costs nothing more. */
    collective_t what = {.operation = OPERATION_ALLREDUCE, .count = 2};
    EXPECT_NUMBER(2 * edges, count_messages(context, comm, &what));
    muster_comm_destroy(comm);
}

/* ---- The contract's own examples ------------------------------------------------------------- */

static void examples_reduce(muster_comm_t *comm)
{
    uint32_t rank = ranks_rank(), n = ranks_size();
    int32_t mine = (int32_t)rank + 1, sum = 0, scan = 0, before = 77, zero = 0;
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, NULL));
    EXPECT_NUMBER(n * (n + 1) / 2, sum); /* C101, C102, C408 */
    EXPECT_STATUS(MUSTER_OK, muster_scan(comm, &mine, &scan, 1, MUSTER_I32, MUSTER_SUM, NULL));
    EXPECT_NUMBER((rank + 1) * (rank + 2) / 2, scan); /* C415: 1 3 6 10 15 */
    EXPECT_STATUS(MUSTER_OK,
                  muster_exscan(comm, &mine, &before, &zero, 1, MUSTER_I32, MUSTER_SUM, NULL));
    EXPECT_NUMBER(rank * (rank + 1) / 2, before); /* C415: 0 1 3 6 10 */
    before = 77;
    EXPECT_STATUS(MUSTER_OK,
                  muster_exscan(comm, &mine, &before, NULL, 1, MUSTER_I32, MUSTER_SUM, NULL));
    EXPECT_NUMBER(rank == 0 ? 77 : rank * (rank + 1) / 2, before); /* C415: untouched on rank 0 */
}

static void examples_move(muster_comm_t *comm)
{
    uint32_t rank = ranks_rank(), n = ranks_size();
    int32_t mine = (int32_t)rank + 1, row[17], column[17], all[17];
    EXPECT_STATUS(MUSTER_OK, muster_allgather(comm, &mine, all, 1, MUSTER_I32, NULL));
    for (uint32_t i = 0; i < n; i++) {
        EXPECT_NUMBER(i + 1, all[i]); /* C407 */
        row[i] = (int32_t)(100 * rank + i);
    }
    EXPECT_STATUS(MUSTER_OK, muster_alltoall(comm, row, column, 1, MUSTER_I32, NULL));
    for (uint32_t i = 0; i < n; i++)
        EXPECT_NUMBER(100 * i + rank, column[i]); /* C411, C413: 207 at place 2 of rank 7 */
    int32_t got = 0;
    for (uint32_t root = 0; root < n; root += n - 1) {
        memset(all, 0, sizeof all);
        EXPECT_STATUS(MUSTER_OK, muster_gather(comm, &mine, all, 1, MUSTER_I32, root, NULL));
        for (uint32_t i = 0; rank == root && i < n; i++)
            EXPECT_NUMBER(i + 1, all[i]); /* C403 */
        EXPECT_STATUS(MUSTER_OK, muster_scatter(comm, all, &got, 1, MUSTER_I32, root, NULL));
        EXPECT_NUMBER(mine, got); /* C404 */
        got = rank == root ? 99 : 0;
        EXPECT_STATUS(MUSTER_OK, muster_broadcast(comm, &got, 1, MUSTER_I32, root, NULL));
        EXPECT_NUMBER(99, got); /* C402 */
    }
}

/* C405: the result is at the root only: what others pass is not touched. */
static void examples_at_the_root(muster_comm_t *comm)
{
    int32_t mine = 1;
    for (uint32_t root = 0; root < ranks_size(); root++) {
        int32_t sum = -5;
        EXPECT_STATUS(MUSTER_OK,
                      muster_reduce(comm, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, root, NULL));
        EXPECT_NUMBER(ranks_rank() == root ? (int32_t)ranks_size() : -5, sum);
    }
}

static muster_comm_t *tree_of_three(muster_context_t *context)
{
    muster_comm_description_t description;
    return path_comm(context, &paths[2], &description);
}

static void examples(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_description_t description;
    for (int i = 0; i < 2; i++) {
        muster_comm_t *comm =
            i == 0 ? path_comm(context, &paths[0], &description) : tree_of_three(context);
        examples_reduce(comm);
        examples_move(comm);
        examples_at_the_root(comm);
        muster_comm_destroy(comm);
    }
}

/* C302, C114: where a rank of ten, arity three, meets others: its own path, up only as a leader. */
static void expect_path_of_ten(muster_comm_t *comm)
{
    /* [0,10) = [0,4) + [4,7) + [7,10); [0,4) = [0,2) + [2,3) + [3,4) */
    static const muster_group_t lowest[10] = {
        {0, 2, 2, 0}, {0, 2, 2, 1}, {0, 4, 3, 1},  {0, 4, 3, 2},  {4, 7, 3, 0},
        {4, 7, 3, 1}, {4, 7, 3, 2}, {7, 10, 3, 0}, {7, 10, 3, 1}, {7, 10, 3, 2},
    };
    static const uint32_t levels[10] = {3, 1, 1, 1, 2, 1, 1, 2, 1, 1};
    uint32_t rank = ranks_rank();
    muster_comm_description_t description;
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    EXPECT_NUMBER(levels[rank], description.group_count);
    muster_group_t group = description.groups[levels[rank] - 1];
    EXPECT(memcmp(&group, &lowest[rank], sizeof group) == 0, "[%u,%u) of %u, place %u", group.left,
           group.right, group.members, group.index);
    if (levels[rank] > 1) {
        group = description.groups[0];
        EXPECT(group.left == 0 && group.right == 10 && group.members == 3 &&
                   group.index == rank / 3,
               "place %u", group.index);
    }
}

static uint64_t bytes_of(muster_comm_t *comm, operation_t operation, uint64_t *messages)
{
    muster_traffic_t before, after;
    collective_t what = {.operation = operation, .count = 1, .outcome = MUSTER_OUTCOME_LOCAL};
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
    collective_run(comm, &what);
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
    *messages = after.messages_sent - before.messages_sent;
    return after.bytes_sent - before.bytes_sent;
}

/* Ten ranks, arity three: what each rank sends, counted. */
static void ten_of_three(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *comm = tree_of_three(context);
    uint32_t rank = ranks_rank();
    expect_path_of_ten(comm);
    uint64_t messages = 0, all = 0;
    uint64_t gathered = bytes_of(comm, OPERATION_ALLGATHER, &messages);
    uint64_t reduced = bytes_of(comm, OPERATION_ALLREDUCE, &messages);
    uint64_t exchanged = bytes_of(comm, OPERATION_ALLTOALL, &messages);
    if (rank == 4 || rank == 7) {
        EXPECT_NUMBER(8 * (3 + 2 * 10), gathered); /* C407: its three go up, all ten go down */
        EXPECT_NUMBER(8 * (1 + 2), reduced);       /* C408: one value goes up a level, and down */
        /* C412, C413: to the others' leaders what their groups need; down a row for each member */
        EXPECT_NUMBER(8 * (3 * 4 + 3 * 3 + 2 * 10), exchanged);
    }
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(muster_context_world(context), &messages, &all, 1,
                                              MUSTER_U64, MUSTER_SUM, NULL));
    EXPECT_NUMBER(2 * 7 + 6, all); /* C412: six between the leaders, seven up, seven down */
    muster_comm_destroy(comm);
}

/* ---- Order ----------------------------------------------------------------------------------- */

typedef struct word {
    char text[40];
} word_t;

static muster_status_t join(void *context, const void *left, const void *right, void *result,
                            size_t count, muster_datatype_t datatype)
{
    (void)context;
    (void)datatype;
    for (size_t i = 0; i < count; i++) {
        word_t joined = {""};
        snprintf(joined.text, sizeof joined.text, "%.19s%.19s", ((const word_t *)left)[i].text,
                 ((const word_t *)right)[i].text);
        ((word_t *)result)[i] = joined;
    }
    return MUSTER_OK;
}

/* C406, case 23: "a", "ab", "abc", "abcd", never "bacd", over every path and with any root. */
static void words_in_order(muster_context_t *context, const void *argument)
{
    muster_comm_description_t description;
    muster_comm_t *comm = path_comm(context, argument, &description);
    muster_op_t op = MUSTER_USER_OP(join, NULL, false, 3);
    muster_datatype_t type = MUSTER_USER_DATATYPE(sizeof(word_t));
    char whole[] = "abcdefghijklmnopq";
    uint32_t rank = ranks_rank(), n = ranks_size();
    word_t mine[2] = {{""}, {""}}, result[2];
    mine[0].text[0] = (char)('a' + rank);
    mine[1].text[0] = (char)('a' + rank);
    for (uint32_t root = 0; root < n; root++) {
        EXPECT_STATUS(MUSTER_OK, muster_reduce(comm, mine, result, 2, type, op, root, NULL));
        if (rank == root)
            EXPECT(strncmp(result[0].text, whole, n) == 0 && strlen(result[1].text) == n, "\"%s\"",
                   result[0].text);
    }
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, mine, result, 2, type, op, NULL));
    EXPECT(strncmp(result[1].text, whole, n) == 0 && strlen(result[0].text) == n, "\"%s\"",
           result[1].text);
    EXPECT_STATUS(MUSTER_OK, muster_scan(comm, mine, result, 2, type, op, NULL));
    EXPECT(strncmp(result[0].text, whole, rank + 1) == 0 && strlen(result[0].text) == rank + 1,
           "\"%s\"", result[0].text);
    word_t first[2] = {{"A"}, {"A"}};
    EXPECT_STATUS(MUSTER_OK, muster_exscan(comm, mine, result, first, 2, type, op, NULL));
    EXPECT(result[0].text[0] == 'A' && strncmp(result[0].text + 1, whole, rank) == 0 &&
               strlen(result[0].text) == rank + 1,
           "\"%s\"", result[0].text);
    muster_comm_destroy(comm);
}

/* C409: 500 consecutive explicit generations. */
static void five_hundred(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *comm =
        ranks_comm(context, "five hundred", (muster_comm_options_t){.shape = MUSTER_SHAPE_FLAT});
    for (uint64_t generation = 1; generation <= 500; generation++) {
        muster_call_t call = {.generation = MUSTER_GIVEN(generation), .failure = ranks_failure()};
        uint64_t mine = generation * (ranks_rank() + 1), sum = 0;
        EXPECT_STATUS(MUSTER_OK,
                      muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call));
        EXPECT_NUMBER(generation * ranks_size() * (ranks_size() + 1) / 2, sum);
    }
    muster_comm_destroy(comm);
}

/* C401: nobody leaves before all have arrived: who has not come has not yet let the others go. */
static void barrier_holds(muster_context_t *context, const void *argument)
{
    muster_comm_description_t description;
    muster_comm_t *comm = path_comm(context, argument, &description);
    for (uint32_t last = 0; last < ranks_size(); last++) {
        muster_request_t *request = NULL;
        if (ranks_rank() != last) {
            EXPECT_STATUS(MUSTER_OK, muster_ibarrier(comm, NULL, &request)); /* C126 */
            for (int i = 0; i < 5; i++)
                EXPECT_STATUS(MUSTER_IN_PROGRESS, muster_test(request));
        }
        ranks_meet(context); /* everybody but the last is inside, and nobody has left */
        if (ranks_rank() != last)
            EXPECT_STATUS(MUSTER_IN_PROGRESS, muster_test(request));
        ranks_meet(context);
        if (ranks_rank() == last)
            EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, NULL));
        else
            EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
        muster_request_destroy(request);
    }
    muster_comm_destroy(comm);
}

#define ALL RANKS_UP_TO(17)
#define SOME                                                                                       \
    (RANKS_SIZE(2) | RANKS_SIZE(3) | RANKS_SIZE(4) | RANKS_SIZE(5) | RANKS_SIZE(8) |               \
     RANKS_SIZE(10) | RANKS_SIZE(13) | RANKS_SIZE(17))
/* C305: arity 4 at these sizes. */
#define FOUR                                                                                       \
    (RANKS_SIZE(5) | RANKS_SIZE(6) | RANKS_SIZE(7) | RANKS_SIZE(9) | RANKS_SIZE(10) |              \
     RANKS_SIZE(11) | RANKS_SIZE(13) | RANKS_SIZE(15))

static const ranks_case_t cases[] = {
    /* C103, C401 … C408, C411, C413, C415, C416, C418, C421; C312: the paths agree, since each has
       the one right result */
    {"every operation, flat", every_operation, &paths[0], ALL, SOME},
    {"every operation, tree of 2", every_operation, &paths[1], ALL, SOME},
    {"every operation, tree of 3", every_operation, &paths[2], ALL, SOME},
    {"every operation, tree of 4", every_operation, &paths[3], FOUR, FOUR},
    {"every operation, fallen back", every_operation, &paths[4], RANKS_SIZE(5) | RANKS_SIZE(16),
     RANKS_SIZE(5)},
    {"every operation, auto", every_operation, &paths[5], ALL, SOME},
    {"flat counts", flat_counts, NULL, ALL & ~RANKS_SIZE(1), SOME},
    {"examples", examples, NULL, ALL & ~RANKS_SIZE(1), SOME},
    {"ten of three", ten_of_three, NULL, RANKS_SIZE(10), RANKS_SIZE(10)},
    {"words in order, flat", words_in_order, &paths[0], ALL, SOME},
    {"words in order, tree of 2", words_in_order, &paths[1], ALL, SOME},
    {"words in order, tree of 3", words_in_order, &paths[2], ALL, SOME},
    {"words in order, auto", words_in_order, &paths[5], ALL, SOME},
    {"five hundred", five_hundred, NULL, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(2)},
    {"barrier holds, flat", barrier_holds, &paths[0], RANKS_SIZE(2) | RANKS_SIZE(5), RANKS_SIZE(3)},
    {"barrier holds, tree", barrier_holds, &paths[1], RANKS_SIZE(5) | RANKS_SIZE(8), RANKS_SIZE(5)},
    {"barrier holds, auto", barrier_holds, &paths[5], RANKS_SIZE(2) | RANKS_SIZE(4), RANKS_SIZE(2)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
