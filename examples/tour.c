/*
 * A tour of the operations: each of them flat and in a tree of arity three, blocking and
 * nonblocking, with the values that every rank must get. Made for ten ranks, right for any number.
 *
 *     muster run -n 10 tour
 *
 * Every rank compares what it got; rank 0 collects the answers and prints a row for each operation.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <muster.h>

#define ARITY 3
#define RANKS_MAX 64
#define TEXT_MAX 96
#define UNTOUCHED (-1)

/* How a value is shown: that of one rank, or those of all ranks, one after the other. */
#define ALL_RANKS UINT32_MAX

typedef struct tour {
    muster_comm_t *world; /* for collecting the answers */
    muster_comm_t *comm;  /* what is being tried: flat or a tree */
    bool nonblocking;
    uint64_t generation; /* of comm; a tree wants it given with every call */
    uint32_t rank, size;
    muster_failure_t failure;
    muster_call_t call;
    muster_status_t status; /* of the last call */
    bool right;
    char value[TEXT_MAX]; /* what this rank got */
    char wrong[TEXT_MAX]; /* and what is wrong with it */
} tour_t;

/* ---- Calls and comparisons ------------------------------------------------------------------- */

static const muster_call_t *next_call(tour_t *tour)
{
    tour->call = (muster_call_t){
        .generation = MUSTER_GIVEN(++tour->generation),
        .timeout = MUSTER_MILLISECONDS(20000),
        .failure = &tour->failure,
    };
    return &tour->call;
}

static muster_status_t finish(muster_status_t started, muster_request_t **request)
{
    if (started != MUSTER_OK)
        return started;
    muster_status_t status = muster_wait(*request, MUSTER_NO_DEADLINE);
    muster_request_destroy(*request);
    return status;
}

/* The blocking form of an operation, or the nonblocking one and a wait. */
#define CALL(tour, operation, ...)                                                                 \
    do {                                                                                           \
        muster_request_t *request_;                                                                \
        (tour)->status = (tour)->nonblocking                                                       \
                             ? finish(muster_i##operation((tour)->comm, __VA_ARGS__,               \
                                                          next_call(tour), &request_),             \
                                      &request_)                                                   \
                             : muster_##operation((tour)->comm, __VA_ARGS__, next_call(tour));     \
    } while (0)

static void print_numbers(char *text, size_t room, const int32_t *numbers, size_t count)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && length + 16 < room; i++)
        length +=
            (size_t)snprintf(text + length, room - length, "%s%" PRId32, i ? "," : "", numbers[i]);
}

static void expect_numbers(tour_t *tour, const int32_t *got, const int32_t *expected, size_t count)
{
    print_numbers(tour->value, sizeof tour->value, got, count);
    if (tour->status != MUSTER_OK) {
        snprintf(tour->wrong, sizeof tour->wrong, "%s", muster_status_name(tour->status));
    } else if (memcmp(got, expected, count * sizeof *got) != 0) {
        char text[TEXT_MAX / 2];
        print_numbers(text, sizeof text, expected, count);
        snprintf(tour->wrong, sizeof tour->wrong, "%.*s, expected %s", TEXT_MAX / 3, tour->value,
                 text);
    } else {
        tour->right = true;
    }
}

static void expect_number(tour_t *tour, int32_t got, int32_t expected)
{
    expect_numbers(tour, &got, &expected, 1);
}

static void fill(int32_t *numbers, size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = value;
}

/* 1 + 2 + ... + n */
static int32_t sum_to(uint32_t n)
{
    return (int32_t)(n * (n + 1) / 2);
}

/* The uneven blocks of the v-operations: rank r has r mod 3 elements, all of value r + 1. */
typedef struct blocks {
    size_t counts[RANKS_MAX];
    size_t displacements[RANKS_MAX];
    int32_t numbers[RANKS_MAX * 2];
    size_t total;
} blocks_t;

static void blocks_fill(const tour_t *tour, blocks_t *blocks)
{
    blocks->total = 0;
    for (uint32_t rank = 0; rank < tour->size; rank++) {
        blocks->counts[rank] = rank % 3;
        blocks->displacements[rank] = blocks->total;
        fill(blocks->numbers + blocks->total, rank % 3, (int32_t)rank + 1);
        blocks->total += rank % 3;
    }
}

/* ---- The operations: each calls, compares, and leaves the answer in tour --------------------- */

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Nobody leaves before all have arrived; the last rank arrives late. The ranks share one clock. */
static void try_barrier(tour_t *tour)
{
    if (tour->rank == tour->size - 1)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    uint64_t arrived = now(), last = 0, left, first = 0;
    muster_request_t *request;
    tour->status = tour->nonblocking
                       ? finish(muster_ibarrier(tour->comm, next_call(tour), &request), &request)
                       : muster_barrier(tour->comm, next_call(tour));
    left = now();
    muster_allreduce(tour->world, &arrived, &last, 1, MUSTER_U64, MUSTER_MAX, NULL);
    muster_allreduce(tour->world, &left, &first, 1, MUSTER_U64, MUSTER_MIN, NULL);
    expect_number(tour, first >= last, 1);
    snprintf(tour->value, sizeof tour->value, "nobody left before the last came");
}

static void try_broadcast(tour_t *tour)
{
    int32_t number = tour->rank == 0 ? 42 : UNTOUCHED;
    CALL(tour, broadcast, &number, 1, MUSTER_I32, 0);
    expect_number(tour, number, 42);
}

static void try_reduce(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, sum = UNTOUCHED;
    CALL(tour, reduce, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, 0);
    expect_number(tour, sum, tour->rank == 0 ? sum_to(tour->size) : UNTOUCHED);
}

static void try_allreduce(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, sum = UNTOUCHED;
    CALL(tour, allreduce, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM);
    expect_number(tour, sum, sum_to(tour->size));
}

/* Appends strings: associative, not commutative. */
static muster_status_t append(void *context, const void *left, const void *right, void *result,
                              size_t count, muster_datatype_t datatype)
{
    (void)context, (void)datatype;
    for (size_t i = 0; i < count; i++) {
        char text[2 * RANKS_MAX + 2] = "";
        snprintf(text, sizeof text, "%.*s%.*s", RANKS_MAX, (const char *)left + i * (RANKS_MAX + 1),
                 RANKS_MAX, (const char *)right + i * (RANKS_MAX + 1));
        text[RANKS_MAX] = '\0';
        memcpy((char *)result + i * (RANKS_MAX + 1), text, RANKS_MAX + 1);
    }
    return MUSTER_OK;
}

/* A reduction and elements of one's own: combined in the order of the ranks, whatever the path. */
static void try_append(tour_t *tour)
{
    char mine[RANKS_MAX + 1] = {(char)('a' + tour->rank % 26)}, got[RANKS_MAX + 1] = "";
    char expected[RANKS_MAX + 1] = "";
    for (uint32_t rank = 0; rank < tour->size; rank++)
        expected[rank] = (char)('a' + rank % 26);
    CALL(tour, allreduce, mine, got, 1, MUSTER_USER_DATATYPE(RANKS_MAX + 1),
         MUSTER_USER_OP(append, NULL, false, 1));
    expect_number(tour, memcmp(got, expected, sizeof got) == 0, 1);
    got[RANKS_MAX] = '\0';
    snprintf(tour->value, sizeof tour->value, "%s", got);
    if (!tour->right && tour->status == MUSTER_OK)
        snprintf(tour->wrong, sizeof tour->wrong, "'%s'", got);
}

static void try_gather(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, got[RANKS_MAX], expected[RANKS_MAX];
    fill(got, tour->size, UNTOUCHED);
    fill(expected, tour->size, UNTOUCHED);
    for (uint32_t rank = 0; rank < tour->size && tour->rank == 0; rank++)
        expected[rank] = (int32_t)rank + 1;
    CALL(tour, gather, &mine, got, 1, MUSTER_I32, 0);
    expect_numbers(tour, got, expected, tour->size);
}

static void try_gatherv(tour_t *tour)
{
    blocks_t blocks;
    int32_t got[RANKS_MAX * 2];
    blocks_fill(tour, &blocks);
    fill(got, blocks.total, UNTOUCHED);
    const int32_t *mine = blocks.numbers + blocks.displacements[tour->rank];
    CALL(tour, gatherv, mine, blocks.counts[tour->rank], got, blocks.counts, blocks.displacements,
         MUSTER_I32, 0);
    if (tour->rank != 0)
        fill(blocks.numbers, blocks.total, UNTOUCHED);
    expect_numbers(tour, got, blocks.numbers, blocks.total);
}

static void try_scatter(tour_t *tour)
{
    int32_t all[RANKS_MAX], got = UNTOUCHED;
    for (uint32_t rank = 0; rank < tour->size; rank++)
        all[rank] = (int32_t)rank + 1;
    CALL(tour, scatter, tour->rank == 0 ? all : NULL, &got, 1, MUSTER_I32, 0);
    expect_number(tour, got, (int32_t)tour->rank + 1);
}

static void try_scatterv(tour_t *tour)
{
    blocks_t blocks;
    int32_t got[2] = {UNTOUCHED, UNTOUCHED};
    blocks_fill(tour, &blocks);
    size_t count = blocks.counts[tour->rank];
    CALL(tour, scatterv, blocks.numbers, blocks.counts, blocks.displacements, got, count,
         MUSTER_I32, 0);
    expect_numbers(tour, got, blocks.numbers + blocks.displacements[tour->rank], count);
}

static void try_allgather(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, got[RANKS_MAX], expected[RANKS_MAX];
    fill(got, tour->size, UNTOUCHED);
    for (uint32_t rank = 0; rank < tour->size; rank++)
        expected[rank] = (int32_t)rank + 1;
    CALL(tour, allgather, &mine, got, 1, MUSTER_I32);
    expect_numbers(tour, got, expected, tour->size);
}

static void try_allgatherv(tour_t *tour)
{
    blocks_t blocks;
    int32_t got[RANKS_MAX * 2];
    blocks_fill(tour, &blocks);
    fill(got, blocks.total, UNTOUCHED);
    const int32_t *mine = blocks.numbers + blocks.displacements[tour->rank];
    CALL(tour, allgatherv, mine, blocks.counts[tour->rank], got, blocks.counts,
         blocks.displacements, MUSTER_I32);
    expect_numbers(tour, got, blocks.numbers, blocks.total);
}

/* 100 * source + destination, so that every number says where it came from and went to. */
static void try_alltoall(tour_t *tour)
{
    int32_t mine[RANKS_MAX], got[RANKS_MAX], expected[RANKS_MAX];
    fill(got, tour->size, UNTOUCHED);
    for (uint32_t rank = 0; rank < tour->size; rank++) {
        mine[rank] = (int32_t)(100 * tour->rank + rank);
        expected[rank] = (int32_t)(100 * rank + tour->rank);
    }
    CALL(tour, alltoall, mine, got, 1, MUSTER_I32);
    expect_numbers(tour, got, expected, tour->size);
}

/* As alltoall, with (source + destination) mod 2 elements a pair. */
static void try_alltoallv(tour_t *tour)
{
    int32_t mine[RANKS_MAX], got[RANKS_MAX], expected[RANKS_MAX];
    size_t counts[RANKS_MAX], displacements[RANKS_MAX], total = 0;
    for (uint32_t rank = 0; rank < tour->size; rank++) {
        counts[rank] = (tour->rank + rank) % 2;
        displacements[rank] = total;
        mine[total] = (int32_t)(100 * tour->rank + rank);
        expected[total] = (int32_t)(100 * rank + tour->rank);
        total += counts[rank];
    }
    fill(got, total, UNTOUCHED);
    CALL(tour, alltoallv, mine, counts, displacements, got, counts, displacements, MUSTER_I32);
    expect_numbers(tour, got, expected, total);
}

/* Block r of the result has r mod 3 elements, each the sum of rank + 1 over all ranks. */
static void try_reduce_scatter(tour_t *tour)
{
    blocks_t blocks;
    int32_t got[2] = {UNTOUCHED, UNTOUCHED}, expected[2];
    blocks_fill(tour, &blocks);
    fill(blocks.numbers, blocks.total, (int32_t)tour->rank + 1);
    fill(expected, 2, sum_to(tour->size));
    CALL(tour, reduce_scatter, blocks.numbers, got, blocks.counts, MUSTER_I32, MUSTER_SUM);
    expect_numbers(tour, got, expected, blocks.counts[tour->rank]);
}

static void try_reduce_scatter_block(tour_t *tour)
{
    int32_t mine[RANKS_MAX], got = UNTOUCHED;
    for (uint32_t rank = 0; rank < tour->size; rank++)
        mine[rank] = (int32_t)(rank * (tour->rank + 1));
    CALL(tour, reduce_scatter_block, mine, &got, 1, MUSTER_I32, MUSTER_SUM);
    expect_number(tour, got, (int32_t)tour->rank * sum_to(tour->size));
}

static void try_scan(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, got = UNTOUCHED;
    CALL(tour, scan, &mine, &got, 1, MUSTER_I32, MUSTER_SUM);
    expect_number(tour, got, sum_to(tour->rank + 1));
}

static void try_exscan(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, got = UNTOUCHED, initial = 0;
    CALL(tour, exscan, &mine, &got, &initial, 1, MUSTER_I32, MUSTER_SUM);
    expect_number(tour, got, sum_to(tour->rank));
}

/* Without an initial value, rank 0 has nothing to get. */
static void try_exscan_untouched(tour_t *tour)
{
    int32_t mine = (int32_t)tour->rank + 1, got = UNTOUCHED;
    CALL(tour, exscan, &mine, &got, NULL, 1, MUSTER_I32, MUSTER_SUM);
    expect_number(tour, got, tour->rank == 0 ? UNTOUCHED : sum_to(tour->rank));
}

typedef struct stop {
    const char *name;
    void (*try)(tour_t *tour);
    uint32_t shown; /* whose value is printed: a rank, or ALL_RANKS */
} stop_t;

static const stop_t stops[] = {
    {"barrier", try_barrier, 0},
    {"broadcast", try_broadcast, ALL_RANKS},
    {"reduce", try_reduce, 0},
    {"allreduce", try_allreduce, ALL_RANKS},
    {"allreduce, own operation", try_append, 0},
    {"gather", try_gather, 0},
    {"gatherv", try_gatherv, 0},
    {"scatter", try_scatter, ALL_RANKS},
    {"scatterv", try_scatterv, ALL_RANKS},
    {"allgather", try_allgather, 7},
    {"allgatherv", try_allgatherv, 7},
    {"alltoall", try_alltoall, 7},
    {"alltoallv", try_alltoallv, 7},
    {"reduce_scatter", try_reduce_scatter, ALL_RANKS},
    {"reduce_scatter_block", try_reduce_scatter_block, ALL_RANKS},
    {"scan", try_scan, ALL_RANKS},
    {"exscan from 0", try_exscan, ALL_RANKS},
    {"exscan", try_exscan_untouched, ALL_RANKS},
};

/* ---- The table ------------------------------------------------------------------------------- */

enum { FLAT, FLAT_NONBLOCKING, TREE, TREE_NONBLOCKING, WAYS };

static const char *const way_names[WAYS] = {"flat", "flat, i", "tree", "tree, i"};

/* What all ranks say about one way, at rank 0. */
typedef struct answers {
    bool right[RANKS_MAX];
    char values[RANKS_MAX][TEXT_MAX];
    char wrongs[RANKS_MAX][TEXT_MAX];
} answers_t;

static muster_status_t collect(tour_t *tour, answers_t *answers)
{
    muster_status_t status = muster_gather(tour->world, &tour->right, answers->right, sizeof(bool),
                                           MUSTER_BYTE, 0, NULL);
    if (status == MUSTER_OK)
        status = muster_gather(tour->world, tour->value, answers->values, TEXT_MAX, MUSTER_BYTE, 0,
                               NULL);
    if (status == MUSTER_OK)
        status = muster_gather(tour->world, tour->wrong, answers->wrongs, TEXT_MAX, MUSTER_BYTE, 0,
                               NULL);
    return status;
}

/* The first rank that is wrong, or size. */
static uint32_t first_wrong(const tour_t *tour, const answers_t *answers)
{
    uint32_t rank = 0;
    while (rank < tour->size && answers->right[rank])
        rank++;
    return rank;
}

static void print_value(const tour_t *tour, const answers_t *answers, uint32_t shown)
{
    if (shown != ALL_RANKS) {
        uint32_t rank = shown < tour->size ? shown : tour->size - 1;
        printf("  rank %" PRIu32 ": %s\n", rank, answers->values[rank]);
        return;
    }
    printf(" ");
    for (uint32_t rank = 0; rank < tour->size; rank++)
        printf(" %s", answers->values[rank][0] ? answers->values[rank] : ".");
    printf("\n");
}

/* Tries one operation in all ways; whether all ranks were right in all of them (at rank 0). */
static bool visit(tour_t *tour, const stop_t *stop, muster_comm_t *const *comms,
                  uint64_t *generations)
{
    static answers_t answers[WAYS];
    bool good = true;
    for (int way = 0; way < WAYS; way++) {
        tour->comm = comms[way];
        tour->nonblocking = way == FLAT_NONBLOCKING || way == TREE_NONBLOCKING;
        tour->generation = generations[way / 2];
        tour->right = false;
        memset(tour->value, 0, sizeof tour->value);
        memset(tour->wrong, 0, sizeof tour->wrong);
        stop->try(tour);
        generations[way / 2] = tour->generation;
        if (collect(tour, &answers[way]) != MUSTER_OK)
            return false;
    }
    if (tour->rank != 0)
        return true;
    printf("%-25s", stop->name);
    for (int way = 0; way < WAYS; way++) {
        bool right = first_wrong(tour, &answers[way]) == tour->size;
        printf("   %s    ", right ? "✓" : "✗");
        good &= right;
    }
    print_value(tour, &answers[TREE_NONBLOCKING], stop->shown);
    for (int way = 0; way < WAYS; way++) {
        uint32_t rank = first_wrong(tour, &answers[way]);
        if (rank < tour->size)
            printf("    ✗ %s: rank %" PRIu32 ": %s\n", way_names[way], rank,
                   answers[way].wrongs[rank]);
    }
    return good;
}

/* What the communicator says of its path; false where it is not the one that is claimed. */
static bool describe(const char *name, const muster_comm_t *comm, muster_shape_t claimed,
                     bool print)
{
    muster_comm_description_t description;
    if (muster_comm_describe(comm, &description) != MUSTER_OK)
        return false;
    if (print) {
        printf("%s: %s, arity %" PRIu32 "; rank 0 meets", name,
               description.shape == MUSTER_SHAPE_TREE ? "a tree" : "one meeting",
               description.arity);
        for (uint32_t i = 0; i < description.group_count; i++)
            printf("%s %" PRIu32 " of [%" PRIu32 ",%" PRIu32 ")", i ? "," : "",
                   description.groups[i].members, description.groups[i].left,
                   description.groups[i].right);
        printf("\n");
    }
    return description.shape == claimed || description.size <= ARITY;
}

static bool take_tour(tour_t *tour, muster_context_t *context)
{
    muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
    muster_comm_options_t tree = {.shape = MUSTER_SHAPE_TREE,
                                  .arity = MUSTER_GIVEN(ARITY),
                                  .flat_threshold = MUSTER_GIVEN(0)};
    flat.failure = tree.failure = &tour->failure;
    muster_comm_t *comms[WAYS] = {NULL};
    uint64_t generations[WAYS / 2] = {0};
    bool good = false;
    if (muster_comm_create(context, "tour/flat", NULL, 0, &flat, &comms[FLAT]) == MUSTER_OK &&
        muster_comm_create(context, "tour/tree", NULL, 0, &tree, &comms[TREE]) == MUSTER_OK) {
        comms[FLAT_NONBLOCKING] = comms[FLAT];
        comms[TREE_NONBLOCKING] = comms[TREE];
        good = describe("flat", comms[FLAT], MUSTER_SHAPE_FLAT, tour->rank == 0);
        good &= describe("tree", comms[TREE], MUSTER_SHAPE_TREE, tour->rank == 0);
        if (tour->rank == 0)
            printf("i: the nonblocking form and a wait\n\n%-25s  flat    flat,i   tree   tree,i "
                   "  what the ranks got\n",
                   "operation");
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
            good &= visit(tour, &stops[i], comms, generations);
    } else {
        fprintf(stderr, "tour: %s\n", tour->failure.message);
    }
    muster_comm_destroy(comms[FLAT]);
    muster_comm_destroy(comms[TREE]);
    return good;
}

int main(void)
{
    muster_context_t *context;
    tour_t tour = {0};
    muster_context_options_t options = {.failure = &tour.failure};
    muster_status_t status = muster_context_create(&options, &context);
    if (status != MUSTER_OK) {
        fprintf(stderr, "tour: %s: %s\n", muster_status_name(status), tour.failure.message);
        return 1;
    }
    tour.world = muster_context_world(context);
    tour.rank = muster_comm_rank(tour.world);
    tour.size = muster_comm_size(tour.world);
    bool good = false;
    if (tour.size <= RANKS_MAX)
        good = take_tour(&tour, context);
    else
        fprintf(stderr, "tour: at most %d ranks\n", RANKS_MAX);
    if (tour.rank == 0)
        printf("%s\n", good ? "PASS" : "FAIL");
    muster_context_destroy(context);
    return good ? 0 : 1;
}
