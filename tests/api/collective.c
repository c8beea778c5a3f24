/* Buffers, arguments and right results of collective calls, from their definition. */
#include "collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTIVE_EMPTY 0xee
#define COLLECTIVE_IDENTITY 22 /* of the user-defined reduction */

typedef struct matrix {
    uint32_t of[4];
} matrix_t;

/* ---- Data ------------------------------------------------------------------------------------ */

static uint64_t collective_word(const collective_t *what, uint32_t source, uint32_t target,
                                size_t index)
{
    uint64_t bits = what->salt + index * UINT64_C(0x9e3779b97f4a7c15) + ((uint64_t)source << 40) +
                    ((uint64_t)target << 20);
    bits = (bits ^ bits >> 31) * UINT64_C(0xd6e8feb86659fd93);
    return bits ^ bits >> 29;
}

static matrix_t collective_matrix(const collective_t *what, uint32_t source, uint32_t target,
                                  size_t index)
{
    uint64_t bits = collective_word(what, source, target, index);
    return (matrix_t){{(uint32_t)bits, (uint32_t)(bits >> 16), (uint32_t)(bits >> 24) | 1,
                       (uint32_t)(bits >> 32)}};
}

static matrix_t collective_multiply(matrix_t left, matrix_t right)
{
    const uint32_t *l = left.of, *r = right.of;
    return (matrix_t){{l[0] * r[0] + l[1] * r[2], l[0] * r[1] + l[1] * r[3],
                       l[2] * r[0] + l[3] * r[2], l[2] * r[1] + l[3] * r[3]}};
}

/* C406: result = left times right, where left is what lower ranks gave. */
static muster_status_t collective_product(void *context, const void *left, const void *right,
                                          void *result, size_t count, muster_datatype_t datatype)
{
    const matrix_t *one = left, *other = right;
    matrix_t *out = result;
    (void)datatype;
    ++*(uint64_t *)context; /* C410: it gets its context */
    for (size_t i = 0; i < count; i++)
        out[i] = collective_multiply(one[i], other[i]);
    return MUSTER_OK;
}

/* Elements that go from source to target. In place, both directions are equally long. */
static size_t collective_row(const collective_t *what, uint32_t source, uint32_t target)
{
    if (!operation_is_ragged(what->operation) || what->count == 0)
        return what->count;
    if (what->operation == OPERATION_ALLTOALLV && what->in_place && source > target)
        return collective_row(what, target, source);
    uint64_t bits = ranks_mix(what->salt ^ 0x77, (uint64_t)source << 8 | target);
    return bits % 4 == 0 ? 0 : (size_t)(bits / 4 % (what->count + 1));
}

static void collective_put(const collective_call_t *call, unsigned char *place, uint32_t source,
                           uint32_t target, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word = collective_word(&call->what, source, target, i);
        matrix_t matrix = {{0}};
        if (call->what.ordered)
            matrix = collective_matrix(&call->what, source, target, i);
        memcpy(place + i * call->element, call->what.ordered ? (void *)&matrix : (void *)&word,
               call->element);
    }
}

/* The reduction over sources first..last of what they have for target, element i. */
static void collective_fold(const collective_call_t *call, uint32_t first, uint32_t last,
                            uint32_t target, size_t i, void *element)
{
    const collective_t *what = &call->what;
    if (what->ordered) {
        matrix_t product = collective_matrix(what, first, target, i);
        for (uint32_t source = first + 1; source <= last; source++)
            product = collective_multiply(product, collective_matrix(what, source, target, i));
        memcpy(element, &product, sizeof product);
        return;
    }
    uint64_t sum = 0;
    for (uint32_t source = first; source <= last; source++)
        sum += collective_word(what, source, target, i);
    memcpy(element, &sum, sizeof sum);
}

/* ---- Sides ----------------------------------------------------------------------------------- */

static void side_open(const collective_call_t *call, collective_side_t *side, size_t elements)
{
    size_t bytes = elements * call->element;
    side->elements = elements;
    side->memory = guarded_take(bytes, call->what.at_end);
    if (bytes > 0)
        memset(side->memory.bytes, COLLECTIVE_EMPTY, bytes);
}

/* Rows to (outward) or from every rank. */
static void side_open_rows(const collective_call_t *call, collective_side_t *side, uint32_t rank,
                           bool outward)
{
    const collective_t *what = &call->what;
    bool gaps = what->displaced && operation_is_ragged(what->operation) &&
                what->operation != OPERATION_REDUCE_SCATTER;
    size_t length = 0;
    for (uint32_t i = 0; i < call->size; i++) {
        uint32_t peer = gaps ? call->size - 1 - i : i;
        side->counts[peer] =
            outward ? collective_row(what, rank, peer) : collective_row(what, peer, rank);
        side->displacements[peer] = length;
        length += side->counts[peer] + (gaps && i + 1 < call->size);
    }
    side_open(call, side, length);
}

static unsigned char *side_row(const collective_call_t *call, const collective_side_t *side,
                               uint32_t peer)
{
    return side->memory.bytes + side->displacements[peer] * call->element;
}

/* ---- Prepare --------------------------------------------------------------------------------- */

static void prepare_vector(collective_call_t *call)
{
    const collective_t *what = &call->what;
    bool root = call->rank == what->root;
    size_t count = what->count;
    if (what->operation == OPERATION_BROADCAST) {
        side_open(call, &call->receive, count);
        if (root)
            collective_put(call, call->receive.memory.bytes, call->rank, 0, count);
        return;
    }
    bool receives = what->operation != OPERATION_REDUCE || root;
    call->placed = what->in_place && receives;
    side_open(call, &call->receive, receives ? count : 0);
    collective_side_t *data = call->placed ? &call->receive : &call->send;
    if (!call->placed)
        side_open(call, &call->send, count);
    collective_put(call, data->memory.bytes, call->rank, 0, count);
    if (what->operation == OPERATION_EXSCAN && what->initial) {
        side_open(call, &call->initial, count);
        collective_put(call, call->initial.memory.bytes, call->size, 0, count);
    }
}

static void prepare_gather(collective_call_t *call)
{
    const collective_t *what = &call->what;
    bool receives = !operation_is_rooted(what->operation) || call->rank == what->root;
    call->own = collective_row(what, call->rank, 0);
    call->placed = what->in_place && receives;
    if (receives)
        side_open_rows(call, &call->receive, 0, false);
    if (call->placed) {
        collective_put(call, side_row(call, &call->receive, call->rank), call->rank, 0, call->own);
        return;
    }
    side_open(call, &call->send, call->own);
    collective_put(call, call->send.memory.bytes, call->rank, 0, call->own);
}

static void prepare_scatter(collective_call_t *call)
{
    const collective_t *what = &call->what;
    bool root = call->rank == what->root;
    call->own = collective_row(what, what->root, call->rank);
    call->placed = what->in_place && root;
    if (root) {
        side_open_rows(call, &call->send, what->root, true);
        for (uint32_t target = 0; target < call->size; target++)
            collective_put(call, side_row(call, &call->send, target), call->rank, target,
                           call->send.counts[target]);
    }
    if (!call->placed)
        side_open(call, &call->receive, call->own);
}

static void prepare_alltoall(collective_call_t *call)
{
    call->placed = call->what.in_place;
    collective_side_t *data = call->placed ? &call->receive : &call->send;
    side_open_rows(call, &call->receive, call->rank, false);
    if (!call->placed)
        side_open_rows(call, &call->send, call->rank, true);
    for (uint32_t target = 0; target < call->size; target++)
        collective_put(call, side_row(call, data, target), call->rank, target,
                       data->counts[target]);
}

/* Everybody's row for a rank is as long as rank 0's, so that counts are the same everywhere. */
static void prepare_reduce_scatter(collective_call_t *call)
{
    call->placed = call->what.in_place;
    call->own = collective_row(&call->what, 0, call->rank);
    collective_side_t *data = call->placed ? &call->receive : &call->send;
    side_open_rows(call, data, 0, true);
    for (uint32_t target = 0; target < call->size; target++)
        collective_put(call, side_row(call, data, target), call->rank, target,
                       data->counts[target]);
    if (!call->placed)
        side_open(call, &call->receive, call->own);
}

collective_call_t *collective_prepare(uint32_t rank, uint32_t size, const collective_t *what)
{
    collective_call_t *call = calloc(1, sizeof *call);
    if (!call || size > COLLECTIVE_RANKS_MAX)
        abort();
    bool ordered = what->ordered && operation_is_reducing(what->operation);
    call->what = *what;
    call->what.ordered = ordered;
    call->rank = rank;
    call->size = size;
    call->own = what->count;
    call->element = ordered ? sizeof(matrix_t) : sizeof(uint64_t);
    call->datatype = ordered ? MUSTER_USER_DATATYPE(sizeof(matrix_t)) : MUSTER_U64;
    call->op =
        ordered ? MUSTER_USER_OP(collective_product, &call->reductions, false, COLLECTIVE_IDENTITY)
                : MUSTER_SUM;
    call->options = (muster_call_t){.outcome = what->outcome, .failure = ranks_failure()};
    if (what->generation)
        call->options.generation = MUSTER_GIVEN(what->generation);
    static void (*const prepare[OPERATION_COUNT])(collective_call_t *) = {
        [OPERATION_BROADCAST] = prepare_vector,
        [OPERATION_REDUCE] = prepare_vector,
        [OPERATION_ALLREDUCE] = prepare_vector,
        [OPERATION_SCAN] = prepare_vector,
        [OPERATION_EXSCAN] = prepare_vector,
        [OPERATION_GATHER] = prepare_gather,
        [OPERATION_GATHERV] = prepare_gather,
        [OPERATION_ALLGATHER] = prepare_gather,
        [OPERATION_ALLGATHERV] = prepare_gather,
        [OPERATION_SCATTER] = prepare_scatter,
        [OPERATION_SCATTERV] = prepare_scatter,
        [OPERATION_ALLTOALL] = prepare_alltoall,
        [OPERATION_ALLTOALLV] = prepare_alltoall,
        [OPERATION_REDUCE_SCATTER] = prepare_reduce_scatter,
        [OPERATION_REDUCE_SCATTER_BLOCK] = prepare_reduce_scatter,
    };
    if (prepare[what->operation])
        prepare[what->operation](call);
    return call;
}

/* ---- The call -------------------------------------------------------------------------------- */

#define EITHER(name, ...)                                                                          \
    (call->what.nonblocking ? muster_i##name(comm, __VA_ARGS__, options, &call->request)           \
                            : muster_##name(comm, __VA_ARGS__, options))

static muster_status_t collective_call(muster_comm_t *comm, collective_call_t *call)
{
    const collective_t *what = &call->what;
    const muster_call_t *options = &call->options;
    const void *send = call->placed ? MUSTER_IN_PLACE : call->send.memory.bytes;
    void *receive = call->receive.memory.bytes;
    muster_datatype_t type = call->datatype;
    muster_op_t op = call->op;
    size_t count = what->count;
    uint32_t root = what->root;
    const collective_side_t *in = &call->send, *out = &call->receive;
    const size_t *in_places = what->displaced ? in->displacements : NULL;
    const size_t *out_places = what->displaced ? out->displacements : NULL;
    void *scattered = call->placed ? MUSTER_IN_PLACE : receive;
    const void *scatters = call->send.memory.bytes;
    switch (what->operation) {
    case OPERATION_BARRIER:
        return what->nonblocking ? muster_ibarrier(comm, options, &call->request)
                                 : muster_barrier(comm, options);
    case OPERATION_BROADCAST:
        return EITHER(broadcast, receive, count, type, root);
    case OPERATION_REDUCE:
        return EITHER(reduce, send, receive, count, type, op, root);
    case OPERATION_ALLREDUCE:
        return EITHER(allreduce, send, receive, count, type, op);
    case OPERATION_GATHER:
        return EITHER(gather, send, receive, count, type, root);
    case OPERATION_GATHERV:
        return EITHER(gatherv, send, call->own, receive, out->counts, out_places, type, root);
    case OPERATION_SCATTER:
        return EITHER(scatter, scatters, scattered, count, type, root);
    case OPERATION_SCATTERV:
        return EITHER(scatterv, scatters, in->counts, in_places, scattered, call->own, type, root);
    case OPERATION_ALLGATHER:
        return EITHER(allgather, send, receive, count, type);
    case OPERATION_ALLGATHERV:
        return EITHER(allgatherv, send, call->own, receive, out->counts, out_places, type);
    case OPERATION_ALLTOALL:
        return EITHER(alltoall, send, receive, count, type);
    case OPERATION_ALLTOALLV:
        return EITHER(alltoallv, send, in->counts, in_places, receive, out->counts, out_places,
                      type);
    case OPERATION_REDUCE_SCATTER:
        return EITHER(reduce_scatter, send, receive, call->placed ? out->counts : in->counts, type,
                      op);
    case OPERATION_REDUCE_SCATTER_BLOCK:
        return EITHER(reduce_scatter_block, send, receive, count, type, op);
    case OPERATION_SCAN:
        return EITHER(scan, send, receive, count, type, op);
    case OPERATION_EXSCAN:
        return EITHER(exscan, send, receive, call->initial.memory.bytes, count, type, op);
    default:
        return MUSTER_INTERNAL;
    }
}

muster_status_t collective_start(muster_comm_t *comm, collective_call_t *call)
{
    return call->status = collective_call(comm, call);
}

muster_status_t collective_wait(collective_call_t *call)
{
    if (!call->request)
        return call->status;
    call->status = muster_wait(call->request, MUSTER_NO_DEADLINE);
    if (call->status != MUSTER_OK && muster_request_failure(call->request))
        *ranks_failure() = *muster_request_failure(call->request);
    muster_request_destroy(call->request);
    call->request = NULL;
    return call->status;
}

/* ---- Check ----------------------------------------------------------------------------------- */

static void check_bytes(const collective_call_t *call, const char *where, size_t at,
                        const void *place, const void *expected, size_t length)
{
    const collective_t *what = &call->what;
    if (memcmp(place, expected, length) != 0)
        ranks_fail(__FILE__, __LINE__, "the result is right",
                   " %s of %s: element %zu is wrong, root %u, count %zu%s%s%s, salt %llu", where,
                   operation_name((uint8_t)what->operation), at, what->root, what->count,
                   what->in_place ? ", in place" : "", what->ordered ? ", ordered" : "",
                   what->nonblocking ? ", nonblocking" : "", (unsigned long long)what->salt);
}

/* The row is what source has for target; count elements. */
static void check_row(const collective_call_t *call, const char *where, const unsigned char *place,
                      uint32_t source, uint32_t target, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *here = place + i * call->element;
        uint64_t word = collective_word(&call->what, source, target, i);
        matrix_t matrix = {{0}};
        if (call->what.ordered)
            matrix = collective_matrix(&call->what, source, target, i);
        const void *right = call->what.ordered ? (const void *)&matrix : (const void *)&word;
        if (memcmp(here, right, call->element) == 0)
            continue;
        check_bytes(call, where, i, here, right, call->element);
        return;
    }
}

static void check_untouched(const collective_call_t *call, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count * call->element; i++)
        if (bytes[i] != COLLECTIVE_EMPTY) {
            check_bytes(call, "what is nobody's", i / call->element, "x", "y", 1);
            return;
        }
}

/* Every element of the caller's block is the reduction over the first `sources` ranks. */
static void check_folds(const collective_call_t *call, uint32_t sources, uint32_t target)
{
    const unsigned char *place = call->receive.memory.bytes;
    size_t count = call->own;
    bool initial = call->what.operation == OPERATION_EXSCAN && call->what.initial;
    if (sources == 0 && !initial) { /* C415: left untouched */
        if (call->placed)
            check_row(call, "receive", place, call->rank, 0, count);
        else
            check_untouched(call, place, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char element[sizeof(matrix_t)], first[sizeof(matrix_t)];
        if (sources > 0)
            collective_fold(call, 0, sources - 1, target, i, element);
        if (initial) {
            collective_fold(call, call->size, call->size, 0, i, first);
            matrix_t left, right;
            uint64_t one, other;
            if (sources == 0) {
                memcpy(element, first, sizeof element);
            } else if (call->what.ordered) {
                memcpy(&left, first, sizeof left);
                memcpy(&right, element, sizeof right);
                left = collective_multiply(left, right);
                memcpy(element, &left, sizeof left);
            } else {
                memcpy(&one, first, sizeof one);
                memcpy(&other, element, sizeof other);
                one += other;
                memcpy(element, &one, sizeof one);
            }
        }
        if (memcmp(place + i * call->element, element, call->element) == 0)
            continue;
        check_bytes(call, "receive", i, place + i * call->element, element, call->element);
        return;
    }
}

static void check_result(const collective_call_t *call)
{
    const collective_t *what = &call->what;
    uint32_t rank = call->rank;
    bool root = rank == what->root;
    const collective_side_t *out = &call->receive;
    switch (what->operation) {
    case OPERATION_BROADCAST:
        check_row(call, "buffer", out->memory.bytes, what->root, 0, what->count);
        break;
    case OPERATION_REDUCE:
        if (root)
            check_folds(call, call->size, 0);
        break;
    case OPERATION_ALLREDUCE:
        check_folds(call, call->size, 0);
        break;
    case OPERATION_SCAN:
        check_folds(call, rank + 1, 0);
        break;
    case OPERATION_EXSCAN:
        check_folds(call, rank, 0);
        break;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        check_folds(call, call->size, rank);
        break;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        if (!call->placed)
            check_row(call, "receive", out->memory.bytes, what->root, rank, call->own);
        break;
    case OPERATION_BARRIER:
        break;
    default: { /* gathers and alltoalls: a row from every source */
        bool mine = what->operation == OPERATION_ALLTOALL || what->operation == OPERATION_ALLTOALLV;
        if (operation_is_rooted(what->operation) && !root)
            break;
        for (uint32_t source = 0; source < call->size; source++)
            check_row(call, "receive", side_row(call, out, source), source, mine ? rank : 0,
                      out->counts[source]);
        break;
    }
    }
}

/* C421: what is sent is never written; gaps between rows are nobody's. */
static void check_around(const collective_call_t *call)
{
    const collective_t *what = &call->what;
    const collective_side_t *in = &call->send, *out = &call->receive;
    bool rows = in->memory.region &&
                (what->operation == OPERATION_ALLTOALL || what->operation == OPERATION_ALLTOALLV ||
                 what->operation == OPERATION_SCATTER || what->operation == OPERATION_SCATTERV ||
                 what->operation == OPERATION_REDUCE_SCATTER ||
                 what->operation == OPERATION_REDUCE_SCATTER_BLOCK);
    for (uint32_t target = 0; rows && target < call->size; target++)
        check_row(call, "send", side_row(call, in, target), call->rank, target, in->counts[target]);
    if (!rows && in->memory.region)
        check_row(call, "send", in->memory.bytes, call->rank, 0, in->elements);
    bool gaps = what->displaced && out->memory.region && operation_is_ragged(what->operation) &&
                what->operation != OPERATION_REDUCE_SCATTER &&
                what->operation != OPERATION_SCATTERV;
    for (uint32_t source = 1; gaps && source < call->size; source++)
        check_untouched(call, side_row(call, out, source) + out->counts[source] * call->element, 1);
}

void collective_check(collective_call_t *call, bool succeeded)
{
    check_around(call);
    if (succeeded)
        check_result(call);
}

void collective_free(collective_call_t *call)
{
    bool whole = guarded_give(&call->send.memory);
    whole = guarded_give(&call->receive.memory) && whole;
    whole = guarded_give(&call->initial.memory) && whole;
    EXPECT(whole, "%s wrote beside a buffer", operation_name((uint8_t)call->what.operation));
    free(call);
}

void collective_run(muster_comm_t *comm, const collective_t *what)
{
    collective_call_t *call =
        collective_prepare(muster_comm_rank(comm), muster_comm_size(comm), what);
    muster_status_t status = collective_start(comm, call);
    if (status == MUSTER_OK)
        status = collective_wait(call);
    EXPECT_STATUS(MUSTER_OK, status);
    collective_check(call, status == MUSTER_OK);
    collective_free(call);
}
