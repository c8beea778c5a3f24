/*
 * Rows whose lengths only the sender knows: every operation with them over flat, trees and auto,
 * with lengths from none to far beyond what goes into one message at once, elements of the
 * program's own, carriers that are no carriers, and ranks that mix them with the v-forms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* ---- Paths and lengths ----------------------------------------------------------------------- */

typedef struct path {
    const char *name;
    muster_shape_t shape;
    uint32_t arity;
} path_t;

static const path_t paths[] = {
    {"rows, flat", MUSTER_SHAPE_FLAT, 0},
    {"rows, tree of 2", MUSTER_SHAPE_TREE, 2},
    {"rows, tree of 3", MUSTER_SHAPE_TREE, 3},
    {"rows, auto", MUSTER_SHAPE_AUTO, 0},
};

static muster_comm_t *path_comm(muster_context_t *context, const path_t *path)
{
    muster_comm_options_t options = {
        .shape = path->shape, .generations = MUSTER_GENERATION_COUNTED, .roots = MUSTER_ROOT_ANY};
    if (path->shape == MUSTER_SHAPE_TREE) {
        options.arity = MUSTER_GIVEN(path->arity);
        options.flat_threshold = MUSTER_GIVEN(0);
    }
    return ranks_comm(context, path->name, options);
}

typedef enum lengths {
    LENGTHS_NONE = 0, /* nobody has anything */
    LENGTHS_EQUAL,    /* uniform rows */
    LENGTHS_RAGGED,   /* 0 to 6, many of them 0 */
    LENGTHS_LONG,     /* some beyond 4,096 bytes */
    LENGTHS_HUGE,     /* one row beyond 64 KiB, for one pair of ranks */
    LENGTHS_COUNT
} lengths_t;

typedef struct pattern {
    lengths_t lengths;
    size_t element; /* bytes */
    muster_datatype_t datatype;
} pattern_t;

#define EQUAL 5

/* Elements from source to target; for a gather, everything goes to target 0. */
static size_t row_length(const pattern_t *pattern, uint32_t source, uint32_t target)
{
    uint64_t chance = ranks_mix(source * 100 + target, 7);
    switch (pattern->lengths) {
    case LENGTHS_NONE:
    case LENGTHS_COUNT:
        return 0;
    case LENGTHS_EQUAL:
        return EQUAL;
    case LENGTHS_LONG:
        return chance % 3 == 0 ? 0 : (size_t)(chance / 3 % 9000) / pattern->element;
    case LENGTHS_HUGE:
        if (source == ranks_size() / 2 && (target == 0 || target == ranks_size() - 1))
            return (size_t)100000 / pattern->element + 1;
        return (size_t)(chance % 2);
    case LENGTHS_RAGGED:
        break;
    }
    return chance % 3 == 0 ? 0 : (size_t)(chance / 3 % 7);
}

static unsigned char byte_of(uint32_t source, uint32_t target, size_t place)
{
    return (unsigned char)(source * 31 + target * 7 + place * 13 + place / 251);
}

/* ---- What is sent and what has to come ------------------------------------------------------- */

typedef struct rows {
    unsigned char *data;
    size_t *offsets;
    size_t rows;
} rows_t;

/* The rows source..source + count - 1 to target, or from source to target.., by `outward`. */
static rows_t rows_make(const pattern_t *pattern, uint32_t source, uint32_t target, size_t count,
                        bool outward)
{
    rows_t rows = {NULL, malloc((count + 1) * sizeof *rows.offsets), count};
    rows.offsets[0] = 0;
    for (size_t i = 0; i < count; i++)
        rows.offsets[i + 1] =
            rows.offsets[i] + (outward ? row_length(pattern, source, target + (uint32_t)i)
                                       : row_length(pattern, source + (uint32_t)i, target));
    rows.data = malloc(rows.offsets[count] * pattern->element + 1);
    for (size_t i = 0; i < count; i++) {
        unsigned char *row = rows.data + rows.offsets[i] * pattern->element;
        size_t bytes = (rows.offsets[i + 1] - rows.offsets[i]) * pattern->element;
        for (size_t place = 0; place < bytes; place++)
            row[place] = outward ? byte_of(source, target + (uint32_t)i, place)
                                 : byte_of(source + (uint32_t)i, target, place);
    }
    return rows;
}

static void rows_free(rows_t *rows)
{
    free(rows->data);
    free(rows->offsets);
}

/* A carrier of them: uniform where all rows are equally long, and nothing is left to chance. */
static muster_carrier_t rows_carrier(const pattern_t *pattern, const rows_t *rows)
{
    if (pattern->lengths == LENGTHS_EQUAL || pattern->lengths == LENGTHS_NONE)
        return muster_carrier_uniform(rows->data, rows->rows,
                                      pattern->lengths == LENGTHS_EQUAL ? EQUAL : 0);
    return muster_carrier_ragged(rows->data, rows->offsets, rows->rows);
}

static const muster_carrier_t nothing = {.width = 4711, .length = 4712};

static void expect_untouched(const muster_carrier_t *carrier)
{
    EXPECT(memcmp(carrier, &nothing, sizeof nothing) == 0, "rows %zu", carrier->rows);
}

/* C502: R + 1 offsets from 0 to the length, two equal ones for an empty row. C505: owned. */
static void expect_rows(const pattern_t *pattern, const rows_t *expected,
                        const muster_carrier_t *carrier)
{
    EXPECT(carrier->owned && carrier->offsets && carrier->width == 0);
    EXPECT_NUMBER(expected->rows, carrier->rows);
    if (!carrier->offsets || carrier->rows != expected->rows)
        return;
    for (size_t i = 0; i <= expected->rows; i++)
        EXPECT(carrier->offsets[i] == expected->offsets[i], "offset %zu is %zu, not %zu", i,
               carrier->offsets[i], expected->offsets[i]);
    EXPECT_NUMBER(expected->offsets[expected->rows], carrier->length);
    size_t bytes = carrier->length * pattern->element;
    EXPECT(bytes == 0 || memcmp(carrier->data, expected->data, bytes) == 0, "%zu bytes", bytes);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

typedef enum operation {
    GATHER_ROWS = 0,
    SCATTER_ROWS,
    ALLGATHER_ROWS,
    ALLTOALL_ROWS,
    OPERATIONS
} operation_t;

/* What one rank passes. */
typedef struct arguments {
    operation_t operation;
    muster_comm_t *comm;
    const void *send; /* gathers: a block of count elements */
    size_t count;
    const muster_carrier_t *carrier; /* the others */
    muster_datatype_t datatype;
    uint32_t root;
    muster_carrier_t *receive;
    muster_call_t call;
} arguments_t;

static muster_status_t start(const arguments_t *of, muster_request_t **request)
{
    switch (of->operation) {
    case GATHER_ROWS:
        return muster_igather_rows(of->comm, of->send, of->count, of->datatype, of->root,
                                   of->receive, &of->call, request);
    case SCATTER_ROWS:
        return muster_iscatter_rows(of->comm, of->carrier, of->datatype, of->root, of->receive,
                                    &of->call, request);
    case ALLGATHER_ROWS:
        return muster_iallgather_rows(of->comm, of->send, of->count, of->datatype, of->receive,
                                      &of->call, request);
    default:
        return muster_ialltoall_rows(of->comm, of->carrier, of->datatype, of->receive, &of->call,
                                     request);
    }
}

static muster_status_t run(const arguments_t *of, bool nonblocking)
{
    if (nonblocking) {
        muster_request_t *request = NULL;
        muster_status_t status = start(of, &request);
        if (status == MUSTER_OK)
            status = muster_wait(request, MUSTER_NO_DEADLINE);
        muster_request_destroy(request);
        return status;
    }
    switch (of->operation) {
    case GATHER_ROWS:
        return muster_gather_rows(of->comm, of->send, of->count, of->datatype, of->root,
                                  of->receive, &of->call);
    case SCATTER_ROWS:
        return muster_scatter_rows(of->comm, of->carrier, of->datatype, of->root, of->receive,
                                   &of->call);
    case ALLGATHER_ROWS:
        return muster_allgather_rows(of->comm, of->send, of->count, of->datatype, of->receive,
                                     &of->call);
    default:
        return muster_alltoall_rows(of->comm, of->carrier, of->datatype, of->receive, &of->call);
    }
}

/* Whether this rank sends a carrier, and whether it receives one. */
static bool gives(operation_t operation, uint32_t root)
{
    return operation == ALLTOALL_ROWS || (operation == SCATTER_ROWS && ranks_rank() == root);
}

static bool takes(operation_t operation, uint32_t root)
{
    return operation != GATHER_ROWS || ranks_rank() == root;
}

static rows_t expected_of(operation_t operation, const pattern_t *pattern, uint32_t root)
{
    switch (operation) {
    case SCATTER_ROWS:
        return rows_make(pattern, root, ranks_rank(), 1, true);
    case ALLTOALL_ROWS:
        return rows_make(pattern, 0, ranks_rank(), ranks_size(), false);
    default:
        return rows_make(pattern, 0, 0, ranks_size(), false);
    }
}

/* C506: what is copied, but for what came early, is what the result takes, once. */
static void expect_copies(muster_comm_t *comm, const muster_traffic_t *before, size_t bytes)
{
    muster_traffic_t after;
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
    EXPECT_NUMBER(bytes, after.bytes_copied - before->bytes_copied -
                             (after.bytes_copied_early - before->bytes_copied_early));
}

static void run_one(muster_comm_t *comm, operation_t operation, const pattern_t *pattern,
                    uint32_t root, unsigned form, bool flat)
{
    uint32_t rank = ranks_rank();
    bool carries = operation == SCATTER_ROWS || operation == ALLTOALL_ROWS;
    rows_t sent = carries ? rows_make(pattern, rank, 0, ranks_size(), true)
                          : rows_make(pattern, rank, 0, 1, true);
    muster_carrier_t carrier = rows_carrier(pattern, &sent), receive = nothing;
    EXPECT(!carrier.owned && carrier.data == sent.data); /* C505: it says that it borrows */
    arguments_t arguments = {
        .operation = operation,
        .comm = comm,
        .send = sent.data,
        .count = sent.offsets[sent.rows],
        .carrier = gives(operation, root) ? &carrier : NULL,
        .datatype = pattern->datatype,
        .root = root,
        .receive = takes(operation, root) || form & 1 ? &receive : NULL,
        .call = {.outcome = form & 2 ? MUSTER_OUTCOME_LOCAL : MUSTER_OUTCOME_UNIFORM,
                 .failure = ranks_failure()},
    };
    muster_traffic_t before;
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
    muster_status_t status = run(&arguments, form & 1);
    EXPECT_STATUS(MUSTER_OK, status);
    /* C505: what came is independent of what was sent. */
    memset(sent.data, 0xee, sent.offsets[sent.rows] * pattern->element);
    rows_free(&sent);
    if (status == MUSTER_OK && takes(operation, root)) {
        rows_t expected = expected_of(operation, pattern, root);
        expect_rows(pattern, &expected, &receive);
        if (flat && (operation == GATHER_ROWS || operation == SCATTER_ROWS))
            expect_copies(comm, &before, receive.length * pattern->element);
        rows_free(&expected);
        muster_carrier_release(&receive);
        EXPECT(!receive.data && !receive.offsets && !receive.owned);
    } else {
        expect_untouched(&receive);
    }
}

static void every_form(muster_context_t *context, const void *argument)
{
    static const struct {
        size_t element;
        muster_datatype_t datatype;
    } types[] = {{4, MUSTER_I32},
                 {1, MUSTER_BYTE},
                 {3, MUSTER_USER_DATATYPE(3)},
                 {40, MUSTER_USER_DATATYPE(40)}};
    const path_t *path = argument;
    muster_comm_t *comm = path_comm(context, path);
    uint32_t roots[3] = {0, ranks_size() / 2, ranks_size() - 1};
    unsigned form = ranks_size();
    for (unsigned lengths = 0; lengths < LENGTHS_COUNT; lengths++)
        for (unsigned type = 0; type < 4; type++)
            for (unsigned operation = 0; operation < OPERATIONS; operation++) {
                pattern_t pattern = {(lengths_t)lengths, types[type].element, types[type].datatype};
                bool rooted = operation == GATHER_ROWS || operation == SCATTER_ROWS;
                for (unsigned i = 0; i < (rooted ? 3 : 1); i++)
                    if (i == 0 || roots[i] != roots[i - 1])
                        run_one(comm, (operation_t)operation, &pattern, roots[i], form++,
                                path->shape == MUSTER_SHAPE_FLAT);
            }
    muster_comm_destroy(comm);
}

/* ---- The contract's own examples ------------------------------------------------------------- */

static void examples(muster_context_t *context, const void *argument)
{
    (void)argument;
    static const int32_t numbers[] = {10, 11, 12, 20, 30, 31, 32, 33, 34};
    static const size_t offsets[] = {0, 3, 4, 6}, borders[] = {0, 3, 4, 6};
    muster_comm_t *comm = path_comm(context, &paths[1]);
    uint32_t rank = ranks_rank();
    muster_carrier_t gathered, row;
    /* C502: [10 11 12] [20] [30 31] */
    EXPECT_STATUS(MUSTER_OK, muster_allgather_rows(comm, numbers + borders[rank],
                                                   borders[rank + 1] - borders[rank], MUSTER_I32,
                                                   &gathered, NULL));
    EXPECT(memcmp(gathered.offsets, offsets, sizeof offsets) == 0);
    EXPECT(gathered.length == 6 && memcmp(gathered.data, numbers, 6 * sizeof *numbers) == 0);
    /* A carrier that came can be sent on. */
    EXPECT_STATUS(MUSTER_OK, muster_scatter_rows(comm, &gathered, MUSTER_I32, 0, &row, NULL));
    EXPECT_NUMBER(borders[rank + 1] - borders[rank], row.length);
    EXPECT_NUMBER(numbers[borders[rank]], *(int32_t *)row.data);
    muster_carrier_release(&row);
    muster_carrier_release(&gathered);
    /* C501: 3 x 3, row i starts at 3 i */
    static const int32_t square[] = {10, 11, 12, 20, 21, 22, 30, 31, 32};
    muster_carrier_t uniform = muster_carrier_uniform(square, 3, 3);
    EXPECT_STATUS(MUSTER_OK, muster_scatter_rows(comm, &uniform, MUSTER_I32, 2, &row, NULL));
    EXPECT(row.length == 3 && memcmp(row.data, square + 3 * rank, 3 * sizeof *square) == 0);
    muster_carrier_release(&row);
    muster_carrier_release(&row);
    muster_carrier_release(NULL);
    muster_comm_destroy(comm);
}

/*
 * C412, C413 for rows: ten ranks, arity three, as alltoall: seven messages up, six between the
 * leaders, seven down. Of 8 bytes a row and 8 for its length, rank 0 is sent its three members'
 * rows, and of the other six only what is for its four: nobody has all rows.
 */
static void ten_of_three(muster_context_t *context, const void *argument)
{
    (void)argument;
    uint64_t numbers[10], sent = 0, all = 0;
    for (uint32_t i = 0; i < 10; i++)
        numbers[i] = 100 * ranks_rank() + i;
    muster_comm_t *comm = path_comm(context, &paths[2]);
    muster_carrier_t rows = muster_carrier_uniform(numbers, 10, 1), received;
    muster_call_t call = {.outcome = MUSTER_OUTCOME_LOCAL, .failure = ranks_failure()};
    muster_traffic_t before, after;
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
    EXPECT_STATUS(MUSTER_OK, muster_alltoall_rows(comm, &rows, MUSTER_U64, &received, &call));
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
    EXPECT_NUMBER(10, received.length);
    for (uint32_t i = 0; i < 10; i++)
        EXPECT_NUMBER(100 * i + ranks_rank(), ((uint64_t *)received.data)[i]);
    muster_carrier_release(&received);
    sent = after.messages_sent - before.messages_sent;
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(muster_context_world(context), &sent, &all, 1,
                                              MUSTER_U64, MUSTER_SUM, NULL));
    EXPECT_NUMBER(7 + 6 + 7, all);
    if (ranks_rank() == 0)
        EXPECT_NUMBER((8 + 8) * (3 * 10 + 6 * 4), after.bytes_received - before.bytes_received);
    muster_comm_destroy(comm);
}

/* ---- What is no carrier ---------------------------------------------------------------------- */

/* Refused with a line that names the argument, before anything is done or sent (C414, C503). */
static void expect_refused(arguments_t *arguments, muster_status_t expected, const char *name,
                           bool nonblocking)
{
    muster_comm_description_t before, after;
    muster_traffic_t sent_before, sent_after;
    muster_carrier_t receive = nothing;
    muster_failure_t failure = {0};
    bool given = arguments->receive != NULL;
    if (given)
        arguments->receive = &receive;
    arguments->call.failure = &failure;
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(arguments->comm, &before));
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(arguments->comm, &sent_before));
    EXPECT_STATUS(expected, run(arguments, nonblocking));
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(arguments->comm, &after));
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(arguments->comm, &sent_after));
    EXPECT(strncmp(failure.message, name, strlen(name)) == 0, "\"%s\"", failure.message);
    EXPECT_NUMBER(expected, failure.status);
    EXPECT_NUMBER(before.next_generation, after.next_generation);
    EXPECT_NUMBER(sent_before.messages_sent, sent_after.messages_sent);
    expect_untouched(&receive);
}

static void refuse_shapes(arguments_t *arguments, size_t n)
{
    int64_t data[40] = {0};
    size_t good[20], late[20], falling[20], back[20];
    for (size_t i = 0; i <= n + 1; i++) {
        good[i] = 2 * i;
        late[i] = 2 * i + 1;
        falling[i] = i == 1 ? 6 : 2 * i;
        back[i] = i == 1 ? 2 : 0; /* a row, though the length is 0 */
    }
    const struct {
        muster_carrier_t carrier;
        muster_status_t status;
    } bad[] = {
        /* C414 */
        {muster_carrier_ragged(data, good, n + 1), MUSTER_INVALID_ARGUMENT},
        {muster_carrier_ragged(data, good, n - 1), MUSTER_INVALID_ARGUMENT},
        {muster_carrier_uniform(data, n + 1, 2), MUSTER_INVALID_ARGUMENT},
        {{0}, MUSTER_INVALID_ARGUMENT},
        /* C503: no offsets, the first not 0, a decrease, the last not the length */
        {muster_carrier_ragged(data, NULL, n), MUSTER_INVALID_ARGUMENT},
        {{data, NULL, n, 0, 2 * n, false}, MUSTER_INVALID_ARGUMENT},
        {muster_carrier_ragged(data, late, n), MUSTER_INVALID_ARGUMENT},
        {{data, falling, n, 0, falling[n], false}, MUSTER_INVALID_ARGUMENT},
        {{data, back, n, 0, 0, false}, MUSTER_INVALID_ARGUMENT},
        {{data, good, n, 0, 0, false}, MUSTER_INVALID_COUNT},
        {{data, good, n, 0, 2 * n + 1, false}, MUSTER_INVALID_COUNT},
        {{data, good, n, 0, 2 * n - 1, false}, MUSTER_INVALID_COUNT},
        /* C503: the width does not divide the length, or gives other rows */
        {{data, NULL, n, 2, 2 * n + 1, false}, MUSTER_INVALID_COUNT},
        {{data, NULL, n, 2, 2 * n + 2, false}, MUSTER_INVALID_COUNT},
        /* C504: overflow of rows*width, and of the bytes */
        {muster_carrier_uniform(data, n, SIZE_MAX / n + 1), MUSTER_INVALID_COUNT},
        {muster_carrier_uniform(data, n, SIZE_MAX / n / 2), MUSTER_INVALID_COUNT},
        {muster_carrier_uniform(NULL, n, 2), MUSTER_INVALID_BUFFER},
        {muster_carrier_uniform(MUSTER_IN_PLACE, n, 2), MUSTER_INVALID_BUFFER},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bool falls = bad[i].carrier.offsets == falling || bad[i].carrier.offsets == back;
        if ((falls && n < 2) || (n == 1 && i == 14)) /* no overflow, no decrease with one row */
            continue;
        arguments->carrier = &bad[i].carrier;
        expect_refused(arguments, bad[i].status, "send:", i % 2);
    }
    arguments->carrier = NULL;
    expect_refused(arguments, MUSTER_INVALID_ARGUMENT, "send: null", false);
    muster_carrier_t fine = muster_carrier_ragged(data, good, n);
    arguments->carrier = &fine;
    arguments->receive = NULL;
    expect_refused(arguments, MUSTER_INVALID_ARGUMENT, "receive: null", true);
}

static void refuse_blocks(arguments_t *arguments)
{
    int64_t data[4] = {0};
    arguments->send = data;
    arguments->count = SIZE_MAX / 4; /* C504 */
    expect_refused(arguments, MUSTER_INVALID_COUNT, "count:", false);
    arguments->count = 4;
    arguments->send = NULL;
    expect_refused(arguments, MUSTER_INVALID_BUFFER, "send:", true);
    arguments->send = MUSTER_IN_PLACE;
    expect_refused(arguments, MUSTER_INVALID_BUFFER, "send:", false);
    arguments->send = data;
    arguments->receive = NULL;
    expect_refused(arguments, MUSTER_INVALID_ARGUMENT, "receive: null", true);
}

static void no_carriers(muster_context_t *context, const void *argument)
{
    muster_comm_t *comm = path_comm(context, argument);
    uint32_t root = ranks_size() - 1;
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        muster_carrier_t somewhere = nothing;
        arguments_t arguments = {.operation = (operation_t)operation,
                                 .comm = comm,
                                 .datatype = MUSTER_I64,
                                 .root = root,
                                 .receive = &somewhere};
        if (gives((operation_t)operation, root))
            refuse_shapes(&arguments, ranks_size());
        else if (operation == ALLGATHER_ROWS || (operation == GATHER_ROWS && ranks_rank() == root))
            refuse_blocks(&arguments);
    }
    ranks_meet(context);
    /* C503: a zero width is explicit, and good. Nobody was harmed. */
    pattern_t empty = {LENGTHS_NONE, 8, MUSTER_I64}, ragged = {LENGTHS_RAGGED, 8, MUSTER_I64};
    run_one(comm, ALLTOALL_ROWS, &empty, 0, 0, false);
    run_one(comm, ALLTOALL_ROWS, &ragged, 0, 0, false);
    muster_comm_destroy(comm);
}

/* ---- Ranks that do not agree ----------------------------------------------------------------- */

static muster_status_t run_lengths(operation_t operation, muster_comm_t *comm, uint32_t root,
                                   const muster_call_t *call)
{
    int32_t data[20] = {0}, received[20];
    size_t counts[20];
    for (uint32_t i = 0; i < ranks_size(); i++)
        counts[i] = 1;
    switch (operation) {
    case GATHER_ROWS:
        return muster_gatherv(comm, data, 1, received, counts, NULL, MUSTER_I32, root, call);
    case SCATTER_ROWS:
        return muster_scatterv(comm, data, counts, NULL, received, 1, MUSTER_I32, root, call);
    case ALLGATHER_ROWS:
        return muster_allgatherv(comm, data, 1, received, counts, NULL, MUSTER_I32, call);
    default:
        return muster_alltoallv(comm, data, counts, NULL, received, counts, NULL, MUSTER_I32, call);
    }
}

/* C105, C821: the same data, another operation: everybody hears of it, and nothing is stored. */
static void mixed(muster_context_t *context, const void *argument)
{
    static const char *const names[OPERATIONS] = {"gather_rows", "scatter_rows", "allgather_rows",
                                                  "alltoall_rows"};
    muster_comm_t *comm = path_comm(context, argument);
    uint32_t n = ranks_size(), root = n - 1;
    int32_t data[20] = {0};
    muster_carrier_t uniform = muster_carrier_uniform(data, n, 1);
    for (unsigned i = 0; i < 3 * OPERATIONS; i++) {
        operation_t operation = (operation_t)(i % OPERATIONS);
        uint32_t other = i / OPERATIONS == 0 ? 0 : i / OPERATIONS == 1 ? n / 2 : root;
        muster_carrier_t receive = nothing;
        muster_failure_t failure = {0};
        arguments_t arguments = {.operation = operation,
                                 .comm = comm,
                                 .send = data,
                                 .count = 1,
                                 .carrier = &uniform,
                                 .datatype = MUSTER_I32,
                                 .root = root,
                                 .receive = &receive,
                                 .call = {.failure = &failure}};
        EXPECT_STATUS(MUSTER_MISMATCH, ranks_rank() == other
                                           ? run_lengths(operation, comm, root, &arguments.call)
                                           : run(&arguments, false));
        expect_untouched(&receive);
        EXPECT(strcmp(failure.field, "operation") == 0, "\"%s\"", failure.field);
        EXPECT(strstr(failure.message, names[operation]) != NULL, "\"%s\"", failure.message);
        ranks_expect_same_failure(context, &failure, __LINE__);
        pattern_t pattern = {LENGTHS_RAGGED, 4, MUSTER_I32};
        run_one(comm, operation, &pattern, root, 0, false);
    }
    muster_comm_destroy(comm);
}

/* The receiver gives up: nothing is written behind its back, and nobody waits for it. */
static void given_up(muster_context_t *context, const void *argument)
{
    muster_comm_t *comm = path_comm(context, argument);
    int32_t data[20] = {0};
    muster_carrier_t uniform = muster_carrier_uniform(data, ranks_size(), 1);
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        muster_carrier_t receive = nothing;
        arguments_t arguments = {.operation = (operation_t)operation,
                                 .comm = comm,
                                 .send = data,
                                 .count = 1,
                                 .carrier = &uniform,
                                 .datatype = MUSTER_I32,
                                 .receive = &receive};
        if (ranks_rank() == 0) {
            muster_request_t *request = NULL;
            EXPECT_STATUS(MUSTER_OK, start(&arguments, &request));
            muster_request_destroy(request);
        }
        ranks_meet(context); /* the others begin when it has been given up */
        if (ranks_rank() != 0)
            EXPECT_STATUS(MUSTER_CANCELLED, run(&arguments, false));
        expect_untouched(&receive);
        pattern_t pattern = {LENGTHS_RAGGED, 4, MUSTER_I32};
        run_one(comm, (operation_t)operation, &pattern, 0, 0, false);
    }
    muster_comm_destroy(comm);
}

#define SIZES RANKS_UP_TO(10)
#define SOME (RANKS_SIZE(2) | RANKS_SIZE(5))
#define TWO_OR_MORE (SIZES & ~RANKS_SIZE(1))

static const ranks_case_t cases[] = {
    {"examples", examples, NULL, RANKS_SIZE(3), RANKS_SIZE(3)},
    {"ten_of_three", ten_of_three, NULL, RANKS_SIZE(10), RANKS_SIZE(10)},
    {"flat", every_form, &paths[0], SIZES, SOME},
    {"tree_of_2", every_form, &paths[1], SIZES, SOME},
    {"tree_of_3", every_form, &paths[2], SIZES, SOME},
    {"auto", every_form, &paths[3], SIZES, RANKS_NEVER},
    {"no_carriers_flat", no_carriers, &paths[0], SIZES, RANKS_NEVER},
    {"no_carriers_tree", no_carriers, &paths[1], SIZES, RANKS_NEVER},
    {"mixed_flat", mixed, &paths[0], TWO_OR_MORE, RANKS_SIZE(3)},
    {"mixed_tree_of_2", mixed, &paths[1], TWO_OR_MORE, RANKS_NEVER},
    {"mixed_tree_of_3", mixed, &paths[2], TWO_OR_MORE, RANKS_NEVER},
    {"mixed_auto", mixed, &paths[3], TWO_OR_MORE, RANKS_NEVER},
    {"given_up_flat", given_up, &paths[0], TWO_OR_MORE, RANKS_NEVER},
    {"given_up_tree", given_up, &paths[1], TWO_OR_MORE, RANKS_NEVER},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
