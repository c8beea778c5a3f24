/*
 * The k-nomial family: rooted operations. A round for each digit: up from the lowest to the
 * highest, down the other way, so that the widest parts are served first. Reductions go in rank
 * order from the top on; where that is not rank order, and has to be, the top is rank 0, which
 * relays the result to the root. With uniform outcome rank 0 decides on the way, where it is the
 * root and the result is small, or a decision follows by a star.
 */
#include "core/schedule_knomial.h"

#include "core/assertion.h"
#include "core/schedule_fold.h"
#include "core/schedule_walk.h"

typedef struct schedule_knomial {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    schedule_knomial_place_t at;
    uint32_t rank, root;
    bool in_place, on_the_way;
    /* Blocks by place, of all that the rank speaks for, in order; at the top, of all by rank. */
    schedule_buffer_t buffer;
    uint64_t first;
    bool wraps; /* at the top: the child whose blocks lie apart, and where they lie together */
    uint32_t wrapping, wrapping_span;
    uint64_t wrapping_blocks;
} schedule_knomial_t;

static void schedule_knomial_phase(schedule_knomial_t *knomial, unsigned slot, uint32_t round)
{
    schedule_emit_round(&knomial->emit, 0, knomial->at.size, slot, round);
}

static bool schedule_knomial_is_top(const schedule_knomial_t *knomial)
{
    return knomial->at.place == 0;
}

static uint32_t schedule_knomial_parent(const schedule_knomial_t *knomial)
{
    return schedule_knomial_rank(&knomial->at, knomial->at.parent);
}

static schedule_region_t schedule_knomial_scratch(schedule_knomial_t *knomial, uint64_t blocks)
{
    return schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(&knomial->emit, blocks), blocks);
}

/* The blocks of a child and all that it speaks for. */
static schedule_region_t schedule_knomial_part(const schedule_knomial_t *knomial, uint32_t child,
                                               uint32_t stride)
{
    uint32_t left = knomial->at.size - child;
    uint32_t span = left < stride ? left : stride;
    if (knomial->buffer == SCHEDULE_NOTHING)
        return schedule_run(SCHEDULE_NOTHING, 0, 0);
    if (knomial->wraps && child == knomial->wrapping)
        return schedule_run(SCHEDULE_SCRATCH, knomial->wrapping_blocks, span);
    uint64_t offset = schedule_knomial_is_top(knomial) ? schedule_knomial_rank(&knomial->at, child)
                                                       : child - knomial->at.place;
    return schedule_run(knomial->buffer, knomial->first + offset, span);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void schedule_knomial_collect(schedule_knomial_t *knomial, schedule_region_t own)
{
    for (uint32_t round = 0; round < knomial->at.level; ++round) {
        schedule_knomial_round_t children = schedule_knomial_children(&knomial->at, round);
        if (children.count == 0)
            break;
        schedule_knomial_phase(knomial, 0, round);
        for (uint32_t i = 0; i < children.count; ++i) {
            uint32_t child = children.first + i * children.stride;
            schedule_emit_place(&knomial->emit, schedule_knomial_rank(&knomial->at, child),
                                schedule_knomial_part(knomial, child, children.stride), true);
        }
    }
    if (schedule_knomial_is_top(knomial))
        return;
    schedule_knomial_phase(knomial, 0, knomial->at.level);
    schedule_emit_send(&knomial->emit, schedule_knomial_parent(knomial), own);
}

/* Everybody gets `own`, which is the same for all, or is to be divided: parts of the buffer. */
static void schedule_knomial_spread(schedule_knomial_t *knomial, schedule_region_t own,
                                    bool divided)
{
    if (!schedule_knomial_is_top(knomial)) {
        schedule_knomial_phase(knomial, 1, knomial->at.level);
        schedule_emit_place(&knomial->emit, schedule_knomial_parent(knomial), own, true);
    }
    for (uint32_t round = knomial->at.level; round-- > 0;) {
        schedule_knomial_round_t children = schedule_knomial_children(&knomial->at, round);
        if (children.count == 0)
            continue;
        schedule_knomial_phase(knomial, 1, round);
        for (uint32_t i = 0; i < children.count; ++i) {
            uint32_t child = children.first + i * children.stride;
            schedule_emit_send(&knomial->emit, schedule_knomial_rank(&knomial->at, child),
                               divided ? schedule_knomial_part(knomial, child, children.stride)
                                       : own);
        }
    }
}

static void schedule_knomial_decision(schedule_knomial_t *knomial)
{
    if (knomial->on_the_way && knomial->rank == 0)
        schedule_emit_decision(&knomial->emit);
}

/* The way back of what has been decided on the way up. */
static void schedule_knomial_tell(schedule_knomial_t *knomial)
{
    schedule_knomial_decision(knomial);
    if (knomial->on_the_way)
        schedule_knomial_spread(knomial, schedule_run(SCHEDULE_NOTHING, 0, 0), false);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void schedule_knomial_broadcast(schedule_knomial_t *knomial)
{
    bool at_root = knomial->rank == knomial->root;
    if (knomial->on_the_way)
        schedule_knomial_collect(knomial, schedule_run(SCHEDULE_NOTHING, 0, 0));
    schedule_knomial_decision(knomial);
    schedule_knomial_spread(knomial, schedule_run(at_root ? SCHEDULE_SEND : SCHEDULE_RECEIVE, 0, 1),
                            false);
}

/* The values of a round's children, from left to right. */
static void schedule_knomial_combine(schedule_knomial_t *knomial, uint32_t round,
                                     schedule_sum_t *sum)
{
    schedule_knomial_round_t children = schedule_knomial_children(&knomial->at, round);
    schedule_sum_begin(sum, &knomial->emit, children.count);
    schedule_knomial_phase(knomial, 0, round);
    for (uint32_t i = 0; i < children.count; ++i)
        schedule_sum_add(sum, &knomial->emit,
                         schedule_knomial_rank(&knomial->at, children.first + i * children.stride));
}

static void schedule_knomial_relay(schedule_knomial_t *knomial, schedule_region_t result,
                                   bool early)
{
    schedule_emitter_t *emit = &knomial->emit;
    if (knomial->root == knomial->at.top)
        return;
    bool from = schedule_knomial_is_top(knomial);
    if (!from && knomial->rank != knomial->root)
        return;
    schedule_emit_phase(emit, 0, knomial->at.size, 1, SCHEDULE_RELAY);
    if (from)
        schedule_emit_send(emit, knomial->root, result);
    else
        schedule_emit_place(emit, knomial->at.top, result, early);
}

static void schedule_knomial_reduce(schedule_knomial_t *knomial)
{
    bool at_root = knomial->rank == knomial->root;
    schedule_sum_t sum = {.own = schedule_run(SCHEDULE_SEND, 0, 1),
                          .result = schedule_run(SCHEDULE_RECEIVE, 0, 1),
                          .stride = 1,
                          .started = knomial->in_place};
    if (!at_root && knomial->at.span > 1)
        sum.result = schedule_knomial_scratch(knomial, 1);
    for (uint32_t round = 0; round < knomial->at.level; ++round)
        if (schedule_knomial_children(&knomial->at, round).count > 0)
            schedule_knomial_combine(knomial, round, &sum);
    if (!schedule_knomial_is_top(knomial)) {
        schedule_knomial_phase(knomial, 0, knomial->at.level);
        schedule_emit_send(&knomial->emit, schedule_knomial_parent(knomial),
                           schedule_sum_value(&sum));
    }
    schedule_knomial_relay(knomial, sum.result, !sum.started);
    schedule_knomial_tell(knomial);
}

/* Where the blocks of all that the rank speaks for lie; at the top, in a buffer of the call. */
static void schedule_knomial_hold(schedule_knomial_t *knomial, schedule_buffer_t at_top)
{
    if (schedule_knomial_is_top(knomial)) {
        knomial->buffer = at_top;
        knomial->wraps =
            schedule_knomial_wraps(&knomial->at, &knomial->wrapping, &knomial->wrapping_span);
        if (knomial->wraps)
            knomial->wrapping_blocks =
                schedule_emit_scratch(&knomial->emit, knomial->wrapping_span);
    } else if (knomial->at.span > 1) {
        knomial->buffer = SCHEDULE_SCRATCH;
        knomial->first = schedule_emit_scratch(&knomial->emit, knomial->at.span);
    }
}

/* Between the top's buffer, with the blocks of the wrapping child at both ends, and scratch. */
static void schedule_knomial_copy_wrapping(schedule_knomial_t *knomial, bool into_buffer)
{
    if (!knomial->wraps)
        return;
    uint64_t left = schedule_knomial_rank(&knomial->at, knomial->wrapping);
    uint64_t tail = knomial->at.size - left; /* the ranks up to the last one */
    uint64_t head = knomial->wrapping_span - tail;
    const schedule_region_t ends[2] = {schedule_run(knomial->buffer, left, tail),
                                       schedule_run(knomial->buffer, 0, head)};
    const schedule_region_t together[2] = {
        schedule_run(SCHEDULE_SCRATCH, knomial->wrapping_blocks, tail),
        schedule_run(SCHEDULE_SCRATCH, knomial->wrapping_blocks + tail, head)};
    for (unsigned i = 0; i < 2; ++i)
        schedule_emit_copy(&knomial->emit, into_buffer ? together[i] : ends[i],
                           into_buffer ? ends[i] : together[i]);
}

static void schedule_knomial_gather(schedule_knomial_t *knomial)
{
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_knomial_hold(knomial, SCHEDULE_RECEIVE);
    if (schedule_knomial_is_top(knomial)) {
        if (!knomial->in_place)
            schedule_emit_copy(&knomial->emit, own,
                               schedule_run(SCHEDULE_RECEIVE, knomial->rank, 1));
    } else if (knomial->buffer == SCHEDULE_SCRATCH) {
        schedule_emit_copy(&knomial->emit, own, schedule_run(SCHEDULE_SCRATCH, knomial->first, 1));
        own = schedule_run(SCHEDULE_SCRATCH, knomial->first, knomial->at.span);
    }
    schedule_knomial_collect(knomial, own);
    schedule_knomial_copy_wrapping(knomial, true);
    schedule_knomial_tell(knomial);
}

static void schedule_knomial_scatter(schedule_knomial_t *knomial)
{
    schedule_region_t own = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    schedule_knomial_hold(knomial, SCHEDULE_SEND);
    if (knomial->buffer == SCHEDULE_SCRATCH)
        own = schedule_run(SCHEDULE_SCRATCH, knomial->first, knomial->at.span);
    schedule_knomial_copy_wrapping(knomial, false);
    schedule_knomial_spread(knomial, own, true);
    if (knomial->buffer != SCHEDULE_NOTHING && !knomial->in_place)
        schedule_emit_copy(
            &knomial->emit,
            schedule_run(knomial->buffer,
                         schedule_knomial_is_top(knomial) ? knomial->rank : knomial->first, 1),
            schedule_run(SCHEDULE_RECEIVE, 0, 1));
}

static void schedule_knomial_build(schedule_knomial_t *knomial)
{
    switch (knomial->request->operation) {
    case OPERATION_BROADCAST:
        schedule_knomial_broadcast(knomial);
        break;
    case OPERATION_REDUCE:
        schedule_knomial_reduce(knomial);
        break;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        schedule_knomial_gather(knomial);
        break;
    default: /* scatter, scatterv */
        schedule_knomial_scatter(knomial);
        break;
    }
}

muster_status_t schedule_knomial(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!operation_is_rooted(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_knomial_t knomial = {
        .request = request,
        .at = schedule_knomial_at(request->size, schedule_knomial_radix(request),
                                  schedule_knomial_top(request), request->rank),
        .rank = request->rank,
        .root = request->root,
        .in_place = request->in_place &&
                    schedule_may_be_in_place(request->operation, request->rank, request->root),
        .on_the_way = schedule_knomial_decides_on_the_way(request),
        .buffer = SCHEDULE_NOTHING,
    };
    schedule_emit_begin(&knomial.emit, schedule, request->rank);
    schedule_knomial_build(&knomial);
    if (!knomial.on_the_way)
        schedule_walk_append_decision(&knomial.emit, request);
    schedule->carrier = operation_is_ragged(request->operation);
    schedule->self_deciding = knomial.on_the_way;
    schedule_emit_end(&knomial.emit);
    return MUSTER_OK;
}
