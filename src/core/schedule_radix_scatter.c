/*
 * The radix family, reduce_scatter: in each phase a rank sends the members of its meeting their
 * parts of what it has folded so far, and folds what it gets for its own. Scratch holds each
 * message's blocks alone where all blocks are equally long; else each has a row of the vector.
 */
#include "core/schedule_radix_parts.h"

static bool schedule_radix_by_residues(const schedule_radix_t *radix)
{
    return !radix->plan.far;
}

/* The result of the last phase: where it goes at once, if it is a block of the rank alone. */
static void schedule_radix_aim(const schedule_radix_t *radix, schedule_radix_fold_t *fold)
{
    if (radix->plan.extras > 0) {
        fold->from = fold->members;
        return;
    }
    fold->result = (schedule_radix_store_t){.buffer = SCHEDULE_RECEIVE,
                                            .offset = 0,
                                            .origin = fold->part.first,
                                            .step = fold->part.stride};
    /* In place, the result may cover the own operand: it is written when that has been used. */
    bool over = radix->in_place && fold->mine.buffer == SCHEDULE_SEND;
    fold->from = !over ? 0 : fold->own == fold->members - 1 ? fold->members : fold->members - 1;
}

static void schedule_radix_scatter(schedule_radix_t *radix, schedule_radix_fold_t *fold,
                                   uint32_t phase)
{
    const schedule_radix_plan_t *plan = &radix->plan;
    bool residues = schedule_radix_by_residues(radix);
    schedule_radix_meeting_t meeting = schedule_radix_meet(plan, phase, radix->place);
    fold->members = meeting.radix;
    fold->own = meeting.own;
    fold->part = schedule_radix_part(plan, residues, phase, radix->place);
    schedule_radix_stage(fold, &radix->emit);
    schedule_radix_open(plan, &radix->emit, &meeting, phase + 1);
    for (uint32_t step = 1; step < meeting.radix; ++step) {
        uint32_t number = schedule_radix_behind(&meeting, step);
        uint32_t place = schedule_radix_member(&meeting, number);
        schedule_radix_part_t part = schedule_radix_part(plan, residues, phase, place);
        schedule_radix_store_t staged = schedule_radix_staged(fold, number);
        uint32_t peer = schedule_radix_rank(plan, place);
        schedule_emit_send(&radix->emit, peer, schedule_radix_region(&fold->mine, &part));
        schedule_emit_place(&radix->emit, peer, schedule_radix_region(&staged, &fold->part), true);
    }
    if (phase + 1 < plan->phases) {
        fold->from = fold->members;
    } else {
        schedule_radix_aim(radix, fold);
        if (radix->in_place) /* the result goes to where the vector has been sent from */
            schedule_emit_drain(&radix->emit);
    }
    fold->mine = schedule_radix_reduce(fold, &radix->emit);
}

/* With extras, blocks go from those who hold them after the phases to their ranks. */
static void schedule_radix_hand_out(schedule_radix_t *radix, const schedule_radix_store_t *store)
{
    const schedule_radix_plan_t *plan = &radix->plan;
    bool residues = schedule_radix_by_residues(radix);
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    uint32_t holder = schedule_radix_holder(plan, residues, radix->rank);
    schedule_radix_part_t held = schedule_radix_held(plan, residues, radix->place);
    bool sends = !radix->extra && (held.count > 1 || held.first != radix->rank);
    schedule_radix_part_t block = {.first = radix->rank, .count = 1, .stride = held.stride};
    if (holder == radix->rank)
        schedule_emit_copy(&radix->emit, schedule_radix_region(store, &block), result);
    if (radix->in_place)
        schedule_emit_drain(&radix->emit);
    if (holder == radix->rank && !sends)
        return;
    uint32_t left = residues ? 0 : 2 * radix->place;
    schedule_emit_round(&radix->emit, left, residues ? plan->size : left + 2, 0, plan->phases + 1);
    for (uint64_t i = 0; sends && i < held.count; ++i) {
        block.first = held.first + i * held.stride;
        if (block.first != radix->rank)
            schedule_emit_send(&radix->emit, (uint32_t)block.first,
                               schedule_radix_region(store, &block));
    }
    if (holder != radix->rank)
        schedule_emit_place(&radix->emit, holder, result, !radix->in_place);
}

void schedule_radix_reduce_scatter(schedule_radix_t *radix)
{
    const schedule_radix_plan_t *plan = &radix->plan;
    bool ragged = operation_is_ragged(radix->request->operation);
    schedule_radix_fold_t fold = {
        .width = ragged ? plan->size : 0,
        .mine = {.buffer = SCHEDULE_SEND, .step = 1},
    };
    schedule_radix_join(radix, &fold, plan->size);
    for (uint32_t phase = 0; phase < radix->phases; ++phase)
        schedule_radix_scatter(radix, &fold, phase);
    if (plan->extras > 0) {
        schedule_radix_hand_out(radix, &fold.mine);
    } else if (fold.mine.buffer == SCHEDULE_SCRATCH) { /* the own operand came last, in place */
        schedule_radix_part_t block = {.first = radix->rank, .count = 1, .stride = 1};
        block.stride = fold.part.stride;
        schedule_emit_copy(&radix->emit, schedule_radix_region(&fold.mine, &block),
                           schedule_run(SCHEDULE_RECEIVE, 0, 1));
    }
}
