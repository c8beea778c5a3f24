#include "core/schedule_radix_plan.h"

#include "core/assertion.h"
#include "core/radix_choice.h"

muster_status_t schedule_radix_plan(schedule_radix_plan_t *plan, const radix_sequence_t *radix,
                                    uint32_t size, uint32_t keeper)
{
    MUSTER_ASSERT(size >= 2 && (keeper < size || keeper == SCHEDULE_NO_RANK));
    radix_sequence_t sequence = *radix;
    if (radix->count == 0 || radix_sequence_sound(radix, NULL) != MUSTER_OK)
        return MUSTER_NOT_SUPPORTED;
    if (radix->count == 1 && !radix_fixed_sequence(size, radix->factors[0], radix->far, &sequence))
        return MUSTER_NOT_SUPPORTED;
    uint32_t core = radix_sequence_product(&sequence);
    if (core > size || (core != size && radix->count != 1))
        return MUSTER_NOT_SUPPORTED;
    *plan = (schedule_radix_plan_t){
        .size = size,
        .core = core,
        .extras = size - core,
        .swapped = SCHEDULE_NO_RANK,
        .phases = sequence.count,
        .far = sequence.far,
    };
    if (keeper != SCHEDULE_NO_RANK && keeper / 2 < plan->extras && keeper % 2 == 1)
        plan->swapped = keeper / 2;
    for (uint32_t phase = 0; phase < plan->phases; ++phase) {
        plan->radices[phase] = sequence.factors[phase];
        plan->strides[phase] = radix_sequence_stride(&sequence, phase);
    }
    return MUSTER_OK;
}

/* ---- Who ------------------------------------------------------------------------------------- */

/* The first block of a place, where a pair's two are both its proxy's; size for the place behind.*/
static uint64_t schedule_radix_first(const schedule_radix_plan_t *plan, uint64_t place)
{
    return place + (place < plan->extras ? place : plan->extras);
}

uint32_t schedule_radix_rank(const schedule_radix_plan_t *plan, uint32_t place)
{
    MUSTER_ASSERT(place < plan->core);
    return (uint32_t)schedule_radix_first(plan, place) + (place == plan->swapped);
}

uint32_t schedule_radix_place(const schedule_radix_plan_t *plan, uint32_t rank)
{
    return rank / 2 < plan->extras ? rank / 2 : rank - plan->extras;
}

uint32_t schedule_radix_extra(const schedule_radix_plan_t *plan, uint32_t place)
{
    return place < plan->extras ? 2 * place + (place != plan->swapped) : SCHEDULE_NO_RANK;
}

bool schedule_radix_is_extra(const schedule_radix_plan_t *plan, uint32_t rank)
{
    return schedule_radix_extra(plan, schedule_radix_place(plan, rank)) == rank;
}

schedule_radix_meeting_t schedule_radix_meet(const schedule_radix_plan_t *plan, uint32_t phase,
                                             uint32_t place)
{
    MUSTER_ASSERT(phase < plan->phases && place < plan->core);
    uint32_t stride = plan->strides[phase];
    uint32_t own = place / stride % plan->radices[phase];
    return (schedule_radix_meeting_t){
        .base = place - own * stride, .stride = stride, .radix = plan->radices[phase], .own = own};
}

uint32_t schedule_radix_member(const schedule_radix_meeting_t *meeting, uint32_t number)
{
    MUSTER_ASSERT(number < meeting->radix);
    return meeting->base + number * meeting->stride;
}

uint32_t schedule_radix_behind(const schedule_radix_meeting_t *meeting, uint32_t step)
{
    return (meeting->own + step) % meeting->radix;
}

void schedule_radix_open(const schedule_radix_plan_t *plan, schedule_emitter_t *emit,
                         const schedule_radix_meeting_t *meeting, uint32_t round)
{
    uint32_t last = schedule_radix_member(meeting, meeting->radix - 1);
    schedule_emit_round(emit, schedule_radix_rank(plan, meeting->base),
                        schedule_radix_rank(plan, last) + 1, 0, round);
}

/* ---- What ------------------------------------------------------------------------------------ */

static schedule_radix_part_t schedule_radix_alike(const schedule_radix_plan_t *plan,
                                                  uint64_t modulus, uint64_t place)
{
    uint64_t first = place % modulus;
    return (schedule_radix_part_t){
        .first = first, .count = (plan->size - first - 1) / modulus + 1, .stride = modulus};
}

static schedule_radix_part_t schedule_radix_segment(const schedule_radix_plan_t *plan,
                                                    uint64_t width, uint64_t place)
{
    uint64_t left = place / width * width;
    uint64_t first = schedule_radix_first(plan, left);
    return (schedule_radix_part_t){
        .first = first, .count = schedule_radix_first(plan, left + width) - first, .stride = 1};
}

schedule_radix_part_t schedule_radix_part(const schedule_radix_plan_t *plan, bool residues,
                                          uint32_t phase, uint32_t place)
{
    uint64_t stride = plan->strides[phase];
    if (residues)
        return schedule_radix_alike(plan, stride * plan->radices[phase], place);
    return schedule_radix_segment(plan, stride, place);
}

schedule_radix_part_t schedule_radix_whole(const schedule_radix_plan_t *plan, bool residues,
                                           uint32_t phase, uint32_t place)
{
    uint64_t stride = plan->strides[phase];
    if (residues)
        return schedule_radix_alike(plan, stride, place);
    return schedule_radix_segment(plan, stride * plan->radices[phase], place);
}

schedule_radix_part_t schedule_radix_held(const schedule_radix_plan_t *plan, bool residues,
                                          uint32_t place)
{
    if (residues)
        return schedule_radix_alike(plan, plan->core, place);
    return schedule_radix_segment(plan, 1, place);
}

uint32_t schedule_radix_holder(const schedule_radix_plan_t *plan, bool residues, uint64_t block)
{
    uint32_t place =
        residues ? (uint32_t)(block % plan->core) : schedule_radix_place(plan, (uint32_t)block);
    return schedule_radix_rank(plan, place);
}

bool schedule_radix_contains(const schedule_radix_part_t *part, uint64_t block)
{
    return block >= part->first && (block - part->first) % part->stride == 0 &&
           (block - part->first) / part->stride < part->count;
}

/* ---- Where ----------------------------------------------------------------------------------- */

schedule_region_t schedule_radix_region(const schedule_radix_store_t *store,
                                        const schedule_radix_part_t *part)
{
    MUSTER_ASSERT(part->first >= store->origin);
    return schedule_rows(store->buffer, store->offset + (part->first - store->origin) / store->step,
                         1, part->count, part->stride / store->step);
}

void schedule_radix_stage(schedule_radix_fold_t *fold, schedule_emitter_t *emit)
{
    uint64_t pitch = fold->width > 0 ? fold->width : fold->part.count;
    fold->stage = schedule_emit_scratch(emit, (fold->members - 1) * pitch);
}

schedule_radix_store_t schedule_radix_staged(const schedule_radix_fold_t *fold, uint32_t number)
{
    MUSTER_ASSERT(number != fold->own && number < fold->members);
    uint64_t message = number < fold->own ? number : number - 1;
    if (fold->width > 0)
        return (schedule_radix_store_t){.buffer = SCHEDULE_SCRATCH,
                                        .offset = fold->stage + message * fold->width,
                                        .origin = 0,
                                        .step = 1};
    return (schedule_radix_store_t){.buffer = SCHEDULE_SCRATCH,
                                    .offset = fold->stage + message * fold->part.count,
                                    .origin = fold->part.first,
                                    .step = fold->part.stride};
}

/* Operands are contiguous: one step where all three are, else one for each block. */
static void schedule_radix_step(schedule_emitter_t *emit, const schedule_radix_part_t *part,
                                const schedule_radix_store_t *left,
                                const schedule_radix_store_t *right,
                                const schedule_radix_store_t *into)
{
    bool whole = part->count == 1 || (part->stride == left->step && part->stride == right->step &&
                                      part->stride == into->step);
    schedule_radix_part_t some = *part;
    some.count = whole ? part->count : 1;
    for (uint64_t done = 0; done < part->count; done += some.count) {
        schedule_emit_reduce(emit, schedule_radix_region(left, &some),
                             schedule_radix_region(right, &some),
                             schedule_radix_region(into, &some));
        some.first += part->stride;
    }
}

schedule_radix_store_t schedule_radix_reduce(const schedule_radix_fold_t *fold,
                                             schedule_emitter_t *emit)
{
    MUSTER_ASSERT(fold->members >= 2);
    schedule_radix_store_t scratch = schedule_radix_staged(fold, fold->own == 0 ? 1 : 0);
    schedule_radix_store_t left = fold->own == 0 ? fold->mine : scratch;
    for (uint32_t number = 1; number < fold->members; ++number) {
        schedule_radix_store_t right =
            number == fold->own ? fold->mine : schedule_radix_staged(fold, number);
        schedule_radix_store_t into = number >= fold->from ? fold->result : scratch;
        schedule_radix_step(emit, &fold->part, &left, &right, &into);
        left = into;
    }
    return left;
}
