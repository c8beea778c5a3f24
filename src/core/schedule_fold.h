/* What families compute from values that came to one rank: all at once, or round by round. */
#ifndef MUSTER_CORE_SCHEDULE_FOLD_H
#define MUSTER_CORE_SCHEDULE_FOLD_H

#include "core/schedule_emit.h"

/*
 * Folds the values of all ranks, in rank order, where the rank has its own in SEND and has received
 * all others: the foreign ones, counted without the rank itself, lie in `first` (number 0) and in
 * scratch (number k > 0 at stage + (k - 1) * stride), `width` blocks each. Results go to `into`
 * from the operand of rank `from_rank` on, before that to `first`, which is scratch then.
 */
typedef struct schedule_fold {
    uint32_t size, rank;
    uint64_t width;
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

/*
 * A running total, of one block, to which values from the right come round by round. It begins as
 * `own`, and is in `result` from the first value on: one that comes alone then is placed there and
 * own op it computed in its place, without a copy. Where result is where own lies, it has started.
 * Scratch is taken in rows of stride blocks, of which block `place` is used.
 */
typedef struct schedule_sum {
    schedule_region_t own;
    schedule_region_t result;
    uint64_t stride;
    uint64_t place;
    bool started;
    bool alone; /* the round's only value, and the first */
} schedule_sum_t;
/* Before the phase of a round that brings so many values. */
void schedule_sum_begin(schedule_sum_t *sum, schedule_emitter_t *emit, uint32_t values);
/* Within the phase, for each value, from left to right. */
void schedule_sum_add(schedule_sum_t *sum, schedule_emitter_t *emit, uint32_t peer);
/* Where the total is now. */
schedule_region_t schedule_sum_value(const schedule_sum_t *sum);

#endif
