/* What both families compute from values that all came to one rank. */
#ifndef MUSTER_CORE_SCHEDULE_FOLD_H
#define MUSTER_CORE_SCHEDULE_FOLD_H

#include "core/schedule_emit.h"

/*
 * Folds the values of all ranks, in rank order, where the rank has its own in SEND and has received
 * all others: the foreign ones, counted without the rank itself, lie in `first` (number 0) and in
 * scratch (number k > 0 at stage + (k - 1) * stride), a block each. Results go to `into` from the
 * operand of rank `from_rank` on, before that to `first`, which is scratch then.
 */
typedef struct schedule_fold {
    uint32_t size, rank;
    schedule_region_t own;
    schedule_region_t first;
    uint64_t stage;
    uint64_t stride;
    schedule_region_t into;
    uint32_t from_rank;
} schedule_fold_t;
/* Where the value of another rank goes. */
schedule_region_t schedule_fold_place(const schedule_fold_t *fold, uint32_t rank);
void schedule_fold_emit(const schedule_fold_t *fold, schedule_emitter_t *emit);

#endif
