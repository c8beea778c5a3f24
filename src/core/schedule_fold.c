#include "core/schedule_fold.h"

#include "core/assertion.h"

schedule_region_t schedule_fold_place(const schedule_fold_t *fold, uint32_t rank)
{
    MUSTER_ASSERT(rank != fold->rank && rank < fold->size);
    uint32_t number = rank < fold->rank ? rank : rank - 1;
    if (number == 0)
        return fold->first;
    return schedule_run(SCHEDULE_SCRATCH, fold->stage + (number - 1) * fold->stride, 1);
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
