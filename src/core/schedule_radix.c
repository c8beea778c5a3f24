/*
 * The radix family: exact sequences and fixed radices (k-nomial exchange; the published form of
 * both is that of UCC's k-nomial allgather). In the phase of radix r and stride q, r ranks that
 * stand q apart exchange what they have, so that each has r times as much. With a fixed radix the
 * extras hand theirs to their proxies before, and get everything after.
 *
 * allgather(v)      near first by segments, far first by residues
 * reduce_scatter    the mirror: with every phase there is less of the vector, folded over more
 *                   ranks. Near first meet neighbours, so that rank order is kept, and parts are
 *                   residues; far first needs a commutative operation, and parts are contiguous
 * allreduce         whole vectors: each member of a meeting folds all of theirs, in the order of
 *                   the members, so that all compute alike (recursive multiplying: Ruefenacht,
 *                   Bull, Booth 2017). The split family has it in pieces
 * barrier           without data
 *
 * With uniform outcome a decision follows, by a star at rank 0.
 */
#include "core/assertion.h"
#include "core/schedule_radix_parts.h"
#include "core/schedule_walk.h"

static const schedule_region_t schedule_no_data = {.buffer = SCHEDULE_NOTHING};

void schedule_radix_pair(schedule_radix_t *radix, uint32_t round, bool to_proxy,
                         schedule_region_t send, schedule_region_t receive, bool early)
{
    uint32_t extra = schedule_radix_extra(&radix->plan, radix->place);
    if (extra == SCHEDULE_NO_RANK)
        return;
    uint32_t proxy = schedule_radix_rank(&radix->plan, radix->place);
    schedule_emit_round(&radix->emit, 2 * radix->place, 2 * radix->place + 2, 0, round);
    if (radix->rank == (to_proxy ? extra : proxy))
        schedule_emit_send(&radix->emit, to_proxy ? proxy : extra, send);
    else
        schedule_emit_place(&radix->emit, to_proxy ? extra : proxy, receive, early);
}

static void schedule_radix_barrier(schedule_radix_t *radix)
{
    schedule_radix_pair(radix, 0, true, schedule_no_data, schedule_no_data, true);
    for (uint32_t phase = 0; phase < radix->phases; ++phase) {
        schedule_radix_meeting_t meeting = schedule_radix_meet(&radix->plan, phase, radix->place);
        schedule_radix_open(&radix->plan, &radix->emit, &meeting, phase + 1);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            uint32_t peer =
                schedule_radix_rank(&radix->plan, schedule_radix_member(&meeting, number));
            schedule_emit_send(&radix->emit, peer, schedule_no_data);
            schedule_emit_place(&radix->emit, peer, schedule_no_data, true);
        }
    }
    schedule_radix_pair(radix, radix->plan.phases + 1, false, schedule_no_data, schedule_no_data,
                        true);
}

/* ---- Allgather ------------------------------------------------------------------------------- */

static const schedule_radix_store_t schedule_radix_all = {
    .buffer = SCHEDULE_RECEIVE, .offset = 0, .origin = 0, .step = 1};

static schedule_region_t schedule_radix_one(uint64_t block)
{
    return schedule_run(SCHEDULE_RECEIVE, block, 1);
}

/* Blocks go to those who hold them when the phases begin. */
static void schedule_radix_hand_in(schedule_radix_t *radix)
{
    const schedule_radix_plan_t *plan = &radix->plan;
    bool residues = plan->far;
    uint32_t holder = schedule_radix_holder(plan, residues, radix->rank);
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    if (holder == radix->rank && !radix->in_place)
        schedule_emit_copy(&radix->emit, own, schedule_radix_one(radix->rank));
    schedule_radix_part_t held = schedule_radix_held(plan, residues, radix->place);
    bool receives = !radix->extra && (held.count > 1 || held.first != radix->rank);
    if (plan->extras == 0 || (holder == radix->rank && !receives))
        return;
    uint32_t left = residues ? 0 : 2 * radix->place;
    schedule_emit_round(&radix->emit, left, residues ? plan->size : left + 2, 0, 0);
    if (holder != radix->rank)
        schedule_emit_send(&radix->emit, holder, own);
    for (uint64_t i = 0; receives && i < held.count; ++i) {
        uint32_t block = (uint32_t)(held.first + i * held.stride);
        if (block != radix->rank)
            schedule_emit_place(&radix->emit, block, schedule_radix_one(block), true);
    }
}

static void schedule_radix_allgather(schedule_radix_t *radix)
{
    const schedule_radix_plan_t *plan = &radix->plan;
    bool residues = plan->far;
    bool kept = schedule_radix_holder(plan, residues, radix->rank) == radix->rank;
    schedule_radix_hand_in(radix);
    for (uint32_t phase = 0; phase < radix->phases; ++phase) {
        schedule_radix_meeting_t meeting = schedule_radix_meet(plan, phase, radix->place);
        schedule_radix_part_t own = schedule_radix_part(plan, residues, phase, radix->place);
        schedule_region_t region = schedule_radix_region(&schedule_radix_all, &own);
        schedule_radix_open(plan, &radix->emit, &meeting, phase + 1);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t place = schedule_radix_member(&meeting, schedule_radix_behind(&meeting, step));
            uint32_t peer = schedule_radix_rank(plan, place);
            schedule_radix_part_t part = schedule_radix_part(plan, residues, phase, place);
            bool back = !kept && schedule_radix_contains(&part, radix->rank);
            schedule_emit_send(&radix->emit, peer, region);
            schedule_emit_place(&radix->emit, peer,
                                schedule_radix_region(&schedule_radix_all, &part),
                                !(back && radix->in_place));
        }
    }
    schedule_region_t all = schedule_run(SCHEDULE_RECEIVE, 0, plan->size);
    schedule_radix_pair(radix, plan->phases + 1, false, all, all, !radix->in_place);
}

/* ---- Allreduce ------------------------------------------------------------------------------- */

static void schedule_radix_allreduce(schedule_radix_t *radix)
{
    schedule_emitter_t *emit = &radix->emit;
    const schedule_radix_store_t result = {.buffer = SCHEDULE_RECEIVE, .step = 1};
    schedule_radix_fold_t fold = {
        .part = {.first = 0, .count = 1, .stride = 1},
        .mine = {.buffer = SCHEDULE_SEND, .step = 1},
        .result = result,
    };
    schedule_radix_join(radix, &fold, 1);
    for (uint32_t phase = 0; phase < radix->phases; ++phase) {
        schedule_radix_meeting_t meeting = schedule_radix_meet(&radix->plan, phase, radix->place);
        schedule_region_t own = schedule_radix_region(&fold.mine, &fold.part);
        bool last = phase + 1 == radix->phases;
        bool over = radix->in_place && fold.mine.buffer == SCHEDULE_SEND; /* result over operand */
        fold.members = meeting.radix;
        fold.own = meeting.own;
        fold.from = !last ? fold.members : over ? fold.own : 0;
        schedule_radix_stage(&fold, emit);
        schedule_radix_open(&radix->plan, emit, &meeting, phase + 1);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            uint32_t peer =
                schedule_radix_rank(&radix->plan, schedule_radix_member(&meeting, number));
            schedule_radix_store_t staged = schedule_radix_staged(&fold, number);
            schedule_emit_send(emit, peer, own);
            schedule_emit_place(emit, peer, schedule_radix_region(&staged, &fold.part), true);
        }
        if (last && radix->in_place) /* the own vector, where the result goes, has been sent */
            schedule_emit_drain(emit);
        fold.mine = schedule_radix_reduce(&fold, emit);
    }
    schedule_region_t whole = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    schedule_radix_pair(radix, radix->plan.phases + 1, false, whole, whole, !radix->in_place);
}

/* An extra's vector goes to its proxy, which folds both and has the result as its own. */
void schedule_radix_join(schedule_radix_t *radix, schedule_radix_fold_t *fold, uint64_t blocks)
{
    uint32_t extra = schedule_radix_extra(&radix->plan, radix->place);
    if (extra == SCHEDULE_NO_RANK)
        return;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, blocks);
    if (radix->extra) {
        schedule_radix_pair(radix, 0, true, own, schedule_no_data, true);
        return;
    }
    schedule_radix_fold_t pair = *fold;
    pair.members = 2;
    pair.own = radix->rank < extra ? 0 : 1;
    pair.part = (schedule_radix_part_t){.first = 0, .count = blocks, .stride = 1};
    pair.from = pair.members;
    schedule_radix_stage(&pair, &radix->emit);
    schedule_radix_store_t staged = schedule_radix_staged(&pair, 1 - pair.own);
    schedule_radix_pair(radix, 0, true, own, schedule_radix_region(&staged, &pair.part), true);
    fold->mine = schedule_radix_reduce(&pair, &radix->emit);
}

/* ---- The family ------------------------------------------------------------------------------ */

bool schedule_radix_keeps_order(const schedule_radix_t *radix)
{
    return radix->request->commutative || !radix->plan.far || radix->plan.phases == 1;
}

static muster_status_t schedule_radix_build(schedule_radix_t *radix)
{
    if (operation_is_reducing(radix->request->operation) && !schedule_radix_keeps_order(radix))
        return MUSTER_NOT_SUPPORTED;
    switch (radix->request->operation) {
    case OPERATION_BARRIER:
        schedule_radix_barrier(radix);
        return MUSTER_OK;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        schedule_radix_allgather(radix);
        return MUSTER_OK;
    case OPERATION_ALLREDUCE:
        schedule_radix_allreduce(radix);
        return MUSTER_OK;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        schedule_radix_reduce_scatter(radix);
        return MUSTER_OK;
    default:
        return MUSTER_NOT_SUPPORTED;
    }
}

bool schedule_radix_supports(operation_t operation)
{
    switch (operation) {
    case OPERATION_BARRIER:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
    case OPERATION_ALLREDUCE:
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        return true;
    default:
        return false;
    }
}

muster_status_t schedule_radix_begin(schedule_radix_t *radix, const schedule_request_t *request,
                                     schedule_t *schedule, uint32_t keeper)
{
    muster_status_t status =
        schedule_radix_plan(&radix->plan, &request->radix, request->size, keeper);
    if (status != MUSTER_OK)
        return status;
    radix->request = request;
    radix->rank = request->rank;
    radix->place = schedule_radix_place(&radix->plan, request->rank);
    radix->extra = schedule_radix_is_extra(&radix->plan, request->rank);
    radix->phases = radix->extra ? 0 : radix->plan.phases;
    radix->in_place = request->in_place &&
                      schedule_may_be_in_place(request->operation, request->rank, request->root);
    schedule_emit_begin(&radix->emit, schedule, request->rank);
    return MUSTER_OK;
}

void schedule_radix_end(schedule_radix_t *radix)
{
    schedule_walk_append_decision(&radix->emit, radix->request);
    schedule_emit_end(&radix->emit);
}

muster_status_t schedule_radix(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_radix_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_radix_t radix;
    muster_status_t status = schedule_radix_begin(&radix, request, schedule, SCHEDULE_NO_RANK);
    if (status == MUSTER_OK)
        status = schedule_radix_build(&radix);
    if (status == MUSTER_OK)
        schedule_radix_end(&radix);
    return status;
}
