#include "core/schedule_fold.h"

#include "core/assertion.h"

schedule_region_t schedule_fold_place(const schedule_fold_t *fold, uint32_t rank)
{
    MUSTER_ASSERT(rank != fold->rank && rank < fold->size && fold->width > 0);
    uint32_t number = rank < fold->rank ? rank : rank - 1;
    if (number == 0)
        return fold->first;
    return schedule_run(SCHEDULE_SCRATCH, fold->stage + (number - 1) * fold->stride, fold->width);
}

void schedule_fold_emit(const schedule_fold_t *fold, schedule_emitter_t *emit)
{
    schedule_region_t left = fold->rank == 0 ? fold->own : schedule_fold_place(fold, 0);
    for (uint32_t rank = 1; rank < fold->size; ++rank) {
        schedule_region_t right = rank == fold->rank ? fold->own : schedule_fold_place(fold, rank);
        schedule_region_t into = rank >= fold->from_rank ? fold->into : fold->first;
        schedule_emit_reduce(emit, left, right, into);
        left = into;
    }
}

void schedule_sum_begin(schedule_sum_t *sum, schedule_emitter_t *emit, uint32_t values)
{
    MUSTER_ASSERT(values > 0);
    sum->alone = !sum->started && values == 1;
    if (!sum->started && !sum->alone)
        schedule_emit_copy(emit, sum->own, sum->result);
    sum->started = true;
}

void schedule_sum_add(schedule_sum_t *sum, schedule_emitter_t *emit, uint32_t peer)
{
    MUSTER_ASSERT(sum->started);
    if (sum->alone) {
        schedule_emit_place(emit, peer, sum->result, true);
        schedule_emit_reduce(emit, sum->own, sum->result, sum->result);
        return;
    }
    uint64_t staging = schedule_emit_scratch(emit, sum->stride) + sum->place;
    schedule_emit_combine(emit, peer, schedule_run(SCHEDULE_SCRATCH, staging, 1), sum->result);
}

schedule_region_t schedule_sum_value(const schedule_sum_t *sum)
{
    return sum->started ? sum->result : sum->own;
}
