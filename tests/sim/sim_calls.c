/* Buffers and right results of collective calls, from their definition and nothing else. */
#include "sim_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIM_GUARD UINT64_C(0x5ca1ab1e0ddba115)
#define SIM_EMPTY UINT64_C(0xeeeeeeeeeeeeeeee)
#define SIM_IDENTITY 77

static uint64_t mix(uint64_t one, uint64_t other)
{
    uint64_t bits = (one ^ other) * UINT64_C(0x9fb21c651e98df25) + 1;
    return bits ^ (bits >> 28);
}

/*
 * ---- Data --------------------------------------------------------------------------------------
 */

static uint64_t element(const sim_call_t *call, uint32_t source, uint32_t target, size_t index)
{
    return mix(mix(mix(call->salt, source + 1), target + 1), index + 1);
}

/* Elements that go from source to target. In place, both directions are equally long. */
static size_t row(const sim_call_t *call, uint32_t source, uint32_t target)
{
    if (!operation_is_ragged(call->operation) || call->count == 0) {
        return call->count;
    }
    if (call->operation == OPERATION_ALLTOALLV && call->in_place && !call->rows &&
        source > target) {
        return row(call, target, source);
    }
    uint64_t bits = mix(mix(~call->salt, source), target);
    return bits % 4 == 0 ? 0 : (size_t)(bits / 4 % (call->count + 1));
}

/* An affine map x -> a*x + b over 32-bit numbers, a in the low half; left after right. */
static uint64_t compose(uint64_t left, uint64_t right)
{
    uint32_t scale = (uint32_t)left * (uint32_t)right;
    uint32_t shift = (uint32_t)left * (uint32_t)(right >> 32) + (uint32_t)(left >> 32);
    return (uint64_t)shift << 32 | scale;
}

static uint64_t combine(const sim_call_t *call, uint64_t left, uint64_t right)
{
    return call->user ? compose(left, right) : left + right;
}

/* The reduction over sources first..last of what they have for target. */
static uint64_t fold(const sim_call_t *call, uint32_t sources, uint32_t target, size_t index)
{
    uint64_t result = element(call, 0, target, index);
    for (uint32_t source = 1; source < sources; source++) {
        result = combine(call, result, element(call, source, target, index));
    }
    return result;
}

static muster_status_t reduce_maps(void *context, const void *left, const void *right, void *result,
                                   size_t count, muster_datatype_t datatype)
{
    sim_reduction_t *reduction = context;
    const uint64_t *one = left, *other = right;
    uint64_t *out = result;
    (void)datatype;
    reduction->calls++;
    if (reduction->calls == reduction->fail_at) {
        reduction->failed++;
        return MUSTER_REFUSED;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = compose(one[i], other[i]);
    }
    return MUSTER_OK;
}

/*
 * ---- Buffers -----------------------------------------------------------------------------------
 */

static uint64_t *words(size_t count)
{
    uint64_t *memory = malloc((count + 1) * sizeof *memory);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void side_open(sim_side_t *side, size_t length)
{
    side->memory = words(length + 2);
    side->data = side->memory + 1;
    side->length = length;
    for (size_t i = 0; i < length; i++) {
        side->data[i] = SIM_EMPTY;
    }
    side->memory[0] = SIM_GUARD;
    side->memory[length + 1] = SIM_GUARD;
}

static bool side_is_guarded(const sim_side_t *side)
{
    return side->memory == NULL ||
           (side->memory[0] == SIM_GUARD && side->memory[side->length + 1] == SIM_GUARD);
}

/* Rows to or from every rank; where `outward` the caller is their source. */
static void side_open_rows(sim_side_t *side, const sim_call_t *call, uint32_t rank, bool outward)
{
    bool gaps = call->gaps && operation_is_ragged(call->operation) &&
                call->operation != OPERATION_REDUCE_SCATTER;
    size_t length = 0;
    for (uint32_t i = 0; i < call->size; i++) {
        uint32_t peer = gaps ? call->size - 1 - i : i;
        side->counts[peer] = outward ? row(call, rank, peer) : row(call, peer, rank);
        side->displacements[peer] = length;
        length += side->counts[peer] + gaps;
    }
    side_open(side, length);
}

static void put_row(uint64_t *place, const sim_call_t *call, uint32_t source, uint32_t target)
{
    for (size_t i = 0; i < row(call, source, target); i++) {
        place[i] = element(call, source, target, i);
    }
}

/* The caller's rows to everybody, where a side holds them. */
static void put_rows(sim_side_t *side, const sim_call_t *call, uint32_t source)
{
    for (uint32_t target = 0; target < call->size; target++) {
        put_row(side->data + side->displacements[target], call, source, target);
    }
}

static void expect_open(sim_buffers_t *buffers)
{
    size_t length = buffers->receive.length;
    buffers->expected = words(length);
    buffers->compared = length;
    memcpy(buffers->expected, buffers->receive.data, length * sizeof(uint64_t));
}

static void expect_fold(sim_buffers_t *buffers, uint32_t sources, uint32_t target, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffers->expected[i] = fold(&buffers->call, sources, target, i);
    }
}

static void expect_rows(sim_buffers_t *buffers, uint32_t target_or_none)
{
    const sim_call_t *call = &buffers->call;
    for (uint32_t source = 0; source < call->size; source++) {
        put_row(buffers->expected + buffers->receive.displacements[source], call, source,
                target_or_none);
    }
}

/*
 * ---- Operations --------------------------------------------------------------------------------
 */

static void open_broadcast(sim_buffers_t *buffers)
{
    const sim_call_t *call = &buffers->call;
    side_open(&buffers->receive, call->count);
    if (buffers->rank == call->root) {
        put_row(buffers->receive.data, call, call->root, 0);
    }
    expect_open(buffers);
    put_row(buffers->expected, call, call->root, 0);
    buffers->arguments.send = buffers->receive.data;
}

static void open_reduction(sim_buffers_t *buffers)
{
    const sim_call_t *call = &buffers->call;
    bool receives = call->operation != OPERATION_REDUCE || buffers->rank == call->root;
    bool scans = call->operation == OPERATION_SCAN || call->operation == OPERATION_EXSCAN;
    side_open(&buffers->receive, receives ? call->count : 0);
    if (call->in_place && receives) {
        buffers->arguments.in_place = true;
        put_row(buffers->receive.data, call, buffers->rank, 0);
    } else {
        side_open(&buffers->send, call->count);
        put_row(buffers->send.data, call, buffers->rank, 0);
    }
    if (call->operation == OPERATION_EXSCAN && call->initial) {
        side_open(&buffers->initial, call->count);
        put_row(buffers->initial.data, call, call->size, 0);
    }
    expect_open(buffers);
    uint32_t sources = scans ? buffers->rank + (call->operation == OPERATION_SCAN) : call->size;
    for (size_t i = 0; receives && i < call->count; i++) {
        uint64_t *place = &buffers->expected[i];
        if (call->operation != OPERATION_EXSCAN) {
            *place = fold(call, sources, 0, i);
        } else if (call->initial) {
            uint64_t first = element(call, call->size, 0, i);
            *place = sources == 0 ? first : combine(call, first, fold(call, sources, 0, i));
        } else if (sources > 0) {
            *place = fold(call, sources, 0, i);
        }
    }
}

static void open_gather(sim_buffers_t *buffers)
{
    sim_call_t *call = &buffers->call;
    bool everywhere = operation_is_rooted(call->operation) == false;
    bool receives = everywhere || buffers->rank == call->root;
    buffers->arguments.count = row(call, buffers->rank, 0);
    if (receives) {
        /* Every row goes to "0": the same for all who get it. */
        side_open_rows(&buffers->receive, call, 0, false);
    }
    if (receives && call->in_place) {
        buffers->arguments.in_place = true;
        put_row(buffers->receive.data + buffers->receive.displacements[buffers->rank], call,
                buffers->rank, 0);
    } else {
        side_open(&buffers->send, row(call, buffers->rank, 0));
        put_row(buffers->send.data, call, buffers->rank, 0);
    }
    if (receives) {
        expect_open(buffers);
        expect_rows(buffers, 0);
    }
}

static void open_scatter(sim_buffers_t *buffers)
{
    const sim_call_t *call = &buffers->call;
    bool root = buffers->rank == call->root;
    size_t length = row(call, call->root, buffers->rank);
    buffers->arguments.count = length;
    if (root) {
        side_open_rows(&buffers->send, call, call->root, true);
        put_rows(&buffers->send, call, call->root);
    }
    if (root && call->in_place) {
        buffers->arguments.in_place = true;
        return;
    }
    side_open(&buffers->receive, length);
    expect_open(buffers);
    put_row(buffers->expected, call, call->root, buffers->rank);
}

static void open_alltoall(sim_buffers_t *buffers)
{
    const sim_call_t *call = &buffers->call;
    side_open_rows(&buffers->receive, call, buffers->rank, false);
    if (call->in_place) {
        buffers->arguments.in_place = true;
        put_rows(&buffers->receive, call, buffers->rank);
    } else {
        side_open_rows(&buffers->send, call, buffers->rank, true);
        put_rows(&buffers->send, call, buffers->rank);
    }
    expect_open(buffers);
    expect_rows(buffers, buffers->rank);
}

/* Everybody's row for a rank is as long as rank 0's, so that counts are the same everywhere. */
static void open_reduce_scatter(sim_buffers_t *buffers)
{
    const sim_call_t *call = &buffers->call;
    sim_side_t *side = call->in_place ? &buffers->receive : &buffers->send;
    size_t own = row(call, 0, buffers->rank);
    side_open_rows(side, call, 0, true);
    for (uint32_t target = 0; target < call->size; target++) {
        for (size_t i = 0; i < side->counts[target]; i++) {
            side->data[side->displacements[target] + i] = element(call, buffers->rank, target, i);
        }
    }
    buffers->arguments.in_place = call->in_place;
    if (!call->in_place) {
        side_open(&buffers->receive, own);
    }
    expect_open(buffers);
    expect_fold(buffers, call->size, buffers->rank, own);
    buffers->compared = own;
}

static bool has_rows(const sim_call_t *call)
{
    return call->rows &&
           (call->operation == OPERATION_GATHERV || call->operation == OPERATION_SCATTERV ||
            call->operation == OPERATION_ALLGATHERV || call->operation == OPERATION_ALLTOALLV);
}

/* How many rows come, and where from and to the first of them goes. */
static size_t rows_come(const sim_buffers_t *buffers, uint32_t *source, uint32_t *target)
{
    const sim_call_t *call = &buffers->call;
    bool root = buffers->rank == call->root;
    bool gathers = call->operation == OPERATION_GATHERV || call->operation == OPERATION_ALLGATHERV;
    *source = call->operation == OPERATION_SCATTERV ? call->root : 0;
    *target = gathers ? 0 : buffers->rank;
    if (call->operation == OPERATION_SCATTERV) {
        return 1;
    }
    return call->operation == OPERATION_GATHERV && !root ? 0 : call->size;
}

static void open_rows(sim_buffers_t *buffers)
{
    sim_call_t *call = &buffers->call;
    call->in_place = false;
    call->gaps = false;
    buffers->arguments.rows = true;
    buffers->arguments.receive_rows = &buffers->received_rows;
    if (call->operation == OPERATION_GATHERV || call->operation == OPERATION_ALLGATHERV) {
        buffers->arguments.count = row(call, buffers->rank, 0);
        side_open(&buffers->send, buffers->arguments.count);
        put_row(buffers->send.data, call, buffers->rank, 0);
        return;
    }
    buffers->arguments.count = 0;
    if (call->operation == OPERATION_SCATTERV && buffers->rank != call->root) {
        return;
    }
    side_open_rows(&buffers->send, call, buffers->rank, true);
    put_rows(&buffers->send, call, buffers->rank);
    for (uint32_t i = 0; i < call->size; i++) {
        buffers->offsets[i] = buffers->send.displacements[i];
    }
    buffers->offsets[call->size] = buffers->send.length;
    buffers->sent_rows = (muster_carrier_t){.data = buffers->send.data,
                                            .offsets = buffers->offsets,
                                            .rows = call->size,
                                            .length = buffers->send.length};
    buffers->arguments.send_rows = &buffers->sent_rows;
}

static void buffers_open(sim_buffers_t *buffers)
{
    if (has_rows(&buffers->call)) {
        open_rows(buffers);
        return;
    }
    switch (buffers->call.operation) {
    case OPERATION_BROADCAST:
        open_broadcast(buffers);
        break;
    case OPERATION_REDUCE:
    case OPERATION_ALLREDUCE:
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        open_reduction(buffers);
        break;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        open_gather(buffers);
        break;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        open_scatter(buffers);
        break;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        open_alltoall(buffers);
        break;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        open_reduce_scatter(buffers);
        break;
    default: /* barrier */
        break;
    }
}

/* Counts and displacements as the v-forms take them. */
static void buffers_argue(sim_buffers_t *buffers)
{
    request_arguments_t *arguments = &buffers->arguments;
    operation_t operation = buffers->call.operation;
    bool ragged = operation_is_ragged(operation) && !has_rows(&buffers->call);
    bool rooted = operation_is_rooted(operation) && buffers->rank != buffers->call.root;
    bool in_place = arguments->in_place;
    bool gives = operation == OPERATION_SCATTERV || operation == OPERATION_REDUCE_SCATTER ||
                 (operation == OPERATION_ALLTOALLV && !in_place);
    bool takes = operation == OPERATION_GATHERV || operation == OPERATION_ALLGATHERV ||
                 operation == OPERATION_ALLTOALLV;
    const sim_side_t *giver =
        operation == OPERATION_REDUCE_SCATTER && in_place ? &buffers->receive : &buffers->send;
    if (ragged && gives && !rooted) {
        arguments->send_counts = giver->counts;
        arguments->send_displacements = buffers->call.gaps && operation != OPERATION_REDUCE_SCATTER
                                            ? giver->displacements
                                            : NULL;
    }
    if (ragged && takes && !rooted) {
        arguments->receive_counts = buffers->receive.counts;
        arguments->receive_displacements =
            buffers->call.gaps ? buffers->receive.displacements : NULL;
    }
}

sim_buffers_t *sim_buffers_create(const sim_call_t *call, uint32_t rank)
{
    sim_buffers_t *buffers = calloc(1, sizeof *buffers);
    if (buffers == NULL || call->size > SIM_CALL_RANKS_MAX) {
        abort();
    }
    buffers->call = *call;
    buffers->rank = rank;
    bool barrier = call->operation == OPERATION_BARRIER;
    buffers->arguments =
        (request_arguments_t){.operation = call->operation,
                              .count = barrier ? 0 : call->count,
                              .datatype = barrier ? 0 : MUSTER_U64,
                              .root = operation_is_rooted(call->operation) ? call->root : 0};
    buffers_open(buffers);
    if (operation_is_reducing(call->operation)) {
        buffers->arguments.op = MUSTER_SUM;
        if (call->user) {
            buffers->arguments.datatype = MUSTER_USER_DATATYPE(8);
            buffers->arguments.op =
                MUSTER_USER_OP(reduce_maps, &buffers->reduction, false, SIM_IDENTITY);
        }
    }
    if (buffers->arguments.send == NULL) {
        buffers->arguments.send = buffers->send.data;
    }
    buffers->arguments.receive = buffers->receive.data;
    buffers->arguments.initial = buffers->initial.data;
    buffers_argue(buffers);
    buffers->sent = words(buffers->send.length);
    if (buffers->send.length != 0) {
        memcpy(buffers->sent, buffers->send.data, buffers->send.length * sizeof(uint64_t));
    }
    return buffers;
}

void sim_buffers_destroy(sim_buffers_t *buffers)
{
    if (buffers == NULL) {
        return;
    }
    free(buffers->send.memory);
    free(buffers->receive.memory);
    free(buffers->initial.memory);
    if (buffers->received_rows.owned) {
        free(buffers->received_rows.data);
        free((void *)(uintptr_t)buffers->received_rows.offsets);
    }
    free(buffers->sent);
    free(buffers->expected);
    free(buffers);
}

static void side_abandon(sim_side_t *side)
{
    for (size_t i = 0; i < side->length; i++) {
        side->data[i] = SIM_EMPTY;
    }
}

static bool side_is_abandoned(const sim_side_t *side)
{
    for (size_t i = 0; i < side->length; i++) {
        if (side->data[i] != SIM_EMPTY) {
            return false;
        }
    }
    return side_is_guarded(side);
}

void sim_buffers_abandon(sim_buffers_t *buffers)
{
    side_abandon(&buffers->send);
    side_abandon(&buffers->receive);
    side_abandon(&buffers->initial);
}

bool sim_buffers_are_untouched(const sim_buffers_t *buffers)
{
    return side_is_abandoned(&buffers->send) && side_is_abandoned(&buffers->receive) &&
           side_is_abandoned(&buffers->initial);
}

/* After success the rows that were sent, in the order of their sources; else nothing. */
static bool rows_are_right(const sim_buffers_t *buffers, bool succeeded)
{
    const muster_carrier_t *carrier = &buffers->received_rows;
    uint32_t source, target;
    size_t come = has_rows(&buffers->call) ? rows_come(buffers, &source, &target) : 0;
    if (!succeeded || come == 0) {
        return carrier->data == NULL && carrier->offsets == NULL && carrier->rows == 0;
    }
    if (!carrier->owned || carrier->rows != come || carrier->length != carrier->offsets[come]) {
        return false;
    }
    const uint64_t *data = carrier->data;
    size_t at = 0;
    for (size_t i = 0; i < come; i++, source++) {
        if (carrier->offsets[i] != at) {
            return false;
        }
        for (size_t j = 0; j < row(&buffers->call, source, target); j++) {
            if (data[at++] != element(&buffers->call, source, target, j)) {
                return false;
            }
        }
    }
    return at == carrier->length;
}

bool sim_buffers_are_right(const sim_buffers_t *buffers, bool succeeded, char *why, size_t size)
{
    const char *name = operation_name((uint8_t)buffers->call.operation);
    if (!side_is_guarded(&buffers->send) || !side_is_guarded(&buffers->receive) ||
        !side_is_guarded(&buffers->initial)) {
        snprintf(why, size, "%s on rank %u wrote beyond its bounds", name, buffers->rank);
        return false;
    }
    for (size_t i = 0; i < buffers->send.length; i++) {
        if (buffers->send.data[i] != buffers->sent[i]) {
            snprintf(why, size, "%s on rank %u changed its send buffer at %zu", name, buffers->rank,
                     i);
            return false;
        }
    }
    if (!rows_are_right(buffers, succeeded)) {
        snprintf(why, size, "%s with rows on rank %u of %u, root %u, count %zu", name,
                 buffers->rank, buffers->call.size, buffers->call.root, buffers->call.count);
        return false;
    }
    for (size_t i = 0; succeeded && i < buffers->compared; i++) {
        if (buffers->receive.data[i] != buffers->expected[i]) {
            snprintf(why, size,
                     "%s on rank %u of %u, root %u, count %zu: element %zu is %" PRIx64
                     ", not %" PRIx64 "%s%s%s",
                     name, buffers->rank, buffers->call.size, buffers->call.root,
                     buffers->call.count, i, buffers->receive.data[i], buffers->expected[i],
                     buffers->call.in_place ? ", in place" : "", buffers->call.user ? ", user" : "",
                     buffers->call.gaps ? ", gaps" : "");
            return false;
        }
    }
    return true;
}

sim_call_t sim_call_draw(uint64_t (*draw)(void *argument, uint64_t bound), void *argument,
                         uint32_t size, bool any_root)
{
    static const size_t counts[] = {0, 1, 2, 5, 64, 200, 700};
    sim_call_t call = {.size = size};
    call.operation = (operation_t)draw(argument, OPERATION_COUNT);
    call.root = any_root ? (uint32_t)draw(argument, size) : 0;
    call.count = counts[draw(argument, sizeof counts / sizeof counts[0])];
    call.in_place = draw(argument, 3) == 0;
    call.initial = draw(argument, 2) == 0;
    call.user = draw(argument, 2) == 0;
    call.gaps = draw(argument, 2) == 0;
    call.rows = draw(argument, 3) == 0;
    call.salt = draw(argument, UINT64_MAX);
    return call;
}
