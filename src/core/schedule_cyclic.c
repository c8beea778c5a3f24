/*
 * The cyclic family: any number of ranks in ceil(log) rounds, without extras (Bruck, Ho, Kipnis,
 * Upfal, Weathersby 1997, with a factor for each round; the barrier is the dissemination of
 * Hensgen, Finkel and Manber 1988).
 *
 * With q the product of the factors so far, a rank k has the blocks of ranks k ... k+q-1, around
 * the end. In a round of radix r it hears from k + s*q, for s = 1 ... r-1, what that one has, as
 * far as it is short of it; it is heard by k - s*q. The last round is cut short where the product
 * passes the size (C612).
 *
 * Blocks lie where they belong in RECEIVE. A message whose blocks go around the end goes through
 * scratch on both sides. With uniform outcome a decision follows, by a star at rank 0.
 */
#include "core/assertion.h"
#include "core/schedule_shift.h"
#include "core/schedule_walk.h"

/* ---- Rounds ---- */

typedef struct schedule_cyclic_round {
    uint32_t number;
    uint32_t stride; /* q */
    uint32_t peers;  /* r - 1, or what is left of it */
    uint32_t last;   /* blocks of the last peer's message; the others' have q */
} schedule_cyclic_round_t;

static uint32_t schedule_cyclic_radix(const schedule_request_t *request, uint32_t number)
{
    const radix_sequence_t *radix = &request->radix;
    return radix->count == 0 ? 2 : radix->factors[number % radix->count];
}

static void schedule_cyclic_cut(const schedule_request_t *request, schedule_cyclic_round_t *round)
{
    uint64_t stride = round->stride, missing = request->size - stride;
    uint64_t peers = (missing + stride - 1) / stride;
    uint32_t radix = schedule_cyclic_radix(request, round->number);
    bool whole = peers >= radix;
    round->peers = whole ? radix - 1 : (uint32_t)peers;
    uint64_t rest = missing - (round->peers - 1) * stride;
    round->last = (uint32_t)(rest < stride ? rest : stride);
}

/* The first round, and the next; false: there is none. */
static bool schedule_cyclic_begin(const schedule_request_t *request, schedule_cyclic_round_t *round)
{
    *round = (schedule_cyclic_round_t){.number = 0, .stride = 1};
    schedule_cyclic_cut(request, round);
    return true;
}

static bool schedule_cyclic_next(const schedule_request_t *request, schedule_cyclic_round_t *round)
{
    uint64_t have = (uint64_t)round->stride * round->peers + round->last;
    if (have >= request->size)
        return false;
    round->number++;
    round->stride = (uint32_t)have;
    schedule_cyclic_cut(request, round);
    return true;
}

static uint32_t schedule_cyclic_blocks(const schedule_cyclic_round_t *round, uint32_t peer)
{
    return peer == round->peers ? round->last : round->stride;
}

/* ---- Building ---- */

typedef struct schedule_cyclic {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    uint32_t size, rank;
} schedule_cyclic_t;

static bool schedule_cyclic_wraps(const schedule_cyclic_t *cyclic, uint32_t first, uint32_t blocks)
{
    return blocks > cyclic->size - first;
}

/* Between scratch from `scratch` on, and the blocks from first on, around the end. */
static void schedule_cyclic_copy(schedule_cyclic_t *cyclic, uint64_t scratch, uint32_t first,
                                 uint32_t blocks, bool out)
{
    uint32_t head = cyclic->size - first;
    schedule_region_t lies[2] = {schedule_run(SCHEDULE_RECEIVE, first, head),
                                 schedule_run(SCHEDULE_RECEIVE, 0, blocks - head)};
    schedule_region_t packed[2] = {schedule_run(SCHEDULE_SCRATCH, scratch, head),
                                   schedule_run(SCHEDULE_SCRATCH, scratch + head, blocks - head)};
    for (int i = 0; i < 2; i++)
        schedule_emit_copy(&cyclic->emit, out ? packed[i] : lies[i], out ? lies[i] : packed[i]);
}

static void schedule_cyclic_sends(schedule_cyclic_t *cyclic, const schedule_cyclic_round_t *round,
                                  bool empty, uint64_t packed)
{
    for (uint32_t peer = 1; peer <= round->peers; peer++) {
        uint32_t blocks = schedule_cyclic_blocks(round, peer);
        uint32_t to = schedule_shift_down(cyclic->size, cyclic->rank, peer * round->stride);
        schedule_region_t region = schedule_cyclic_wraps(cyclic, cyclic->rank, blocks)
                                       ? schedule_run(SCHEDULE_SCRATCH, packed, blocks)
                                       : schedule_run(SCHEDULE_RECEIVE, cyclic->rank, blocks);
        schedule_emit_send(&cyclic->emit, to,
                           empty ? schedule_run(SCHEDULE_NOTHING, 0, 0) : region);
    }
}

/* Receives; what goes around the end is copied out of scratch from here on. */
static void schedule_cyclic_receives(schedule_cyclic_t *cyclic,
                                     const schedule_cyclic_round_t *round, bool empty)
{
    uint64_t first_scratch = cyclic->emit.schedule->scratch_blocks, scratch = first_scratch;
    for (uint32_t peer = 1; peer <= round->peers; peer++) {
        uint32_t blocks = schedule_cyclic_blocks(round, peer);
        uint32_t from = schedule_shift_up(cyclic->size, cyclic->rank, peer * round->stride);
        schedule_region_t region = schedule_run(SCHEDULE_RECEIVE, from, blocks);
        if (!empty && schedule_cyclic_wraps(cyclic, from, blocks))
            region = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(&cyclic->emit, blocks),
                                  blocks);
        schedule_emit_place(&cyclic->emit, from,
                            empty ? schedule_run(SCHEDULE_NOTHING, 0, 0) : region, true);
    }
    for (uint32_t peer = 1; !empty && peer <= round->peers; peer++) {
        uint32_t blocks = schedule_cyclic_blocks(round, peer);
        uint32_t from = schedule_shift_up(cyclic->size, cyclic->rank, peer * round->stride);
        if (!schedule_cyclic_wraps(cyclic, from, blocks))
            continue;
        schedule_cyclic_copy(cyclic, scratch, from, blocks, true);
        scratch += blocks;
    }
}

static void schedule_cyclic_rounds(schedule_cyclic_t *cyclic, bool empty)
{
    schedule_cyclic_round_t round;
    for (bool more = schedule_cyclic_begin(cyclic->request, &round); more;
         more = schedule_cyclic_next(cyclic->request, &round)) {
        uint32_t most = round.peers > 1 ? round.stride : round.last;
        uint64_t packed = 0;
        if (!empty && schedule_cyclic_wraps(cyclic, cyclic->rank, most)) {
            packed = schedule_emit_scratch(&cyclic->emit, most);
            schedule_cyclic_copy(cyclic, packed, cyclic->rank, most, false);
        }
        schedule_emit_round(&cyclic->emit, 0, cyclic->size, 0, round.number);
        schedule_cyclic_sends(cyclic, &round, empty, packed);
        schedule_cyclic_receives(cyclic, &round, empty);
    }
}

/* Not allgatherv: blocks of scratch are all alike there, and what goes around the end is not. */
static bool schedule_cyclic_supports(operation_t operation)
{
    return operation == OPERATION_BARRIER || operation == OPERATION_ALLGATHER;
}

muster_status_t schedule_cyclic(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_cyclic_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    bool empty = request->operation == OPERATION_BARRIER;
    schedule_cyclic_t cyclic = {.request = request, .size = request->size, .rank = request->rank};
    schedule_emit_begin(&cyclic.emit, schedule, request->rank);
    if (!empty && !request->in_place)
        schedule_emit_copy(&cyclic.emit, schedule_run(SCHEDULE_SEND, 0, 1),
                           schedule_run(SCHEDULE_RECEIVE, request->rank, 1));
    schedule_cyclic_rounds(&cyclic, empty);
    schedule_walk_append_decision(&cyclic.emit, request);
    schedule_emit_end(&cyclic.emit);
    return MUSTER_OK;
}

muster_status_t schedule_cyclic_figures(const schedule_request_t *request,
                                        schedule_figures_t *figures)
{
    if (!schedule_cyclic_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1)
        return MUSTER_OK;
    bool empty = request->operation == OPERATION_BARRIER;
    schedule_cyclic_round_t round;
    for (bool more = schedule_cyclic_begin(request, &round); more;
         more = schedule_cyclic_next(request, &round)) {
        schedule_shift_round_t shift = {.times = 1,
                                        .first = round.stride,
                                        .step = round.stride,
                                        .count = round.peers,
                                        .blocks = empty ? 0 : round.stride,
                                        .last_blocks = empty ? 0 : round.last};
        if (!empty) /* the own block; what goes around the end, on one side or the other */
            shift.copied = round.number == 0 ? 1 : round.peers > 1 ? round.stride : round.last;
        schedule_shift_add(figures, request, &shift);
    }
    schedule_figures_decide(figures, request);
    return MUSTER_OK;
}
