/*
 * Families whose every round is a shift: each rank sends to the rank that is so many before it, or
 * behind it, all around. What they share: where a shift leads to other hosts.
 */
#ifndef MUSTER_CORE_SCHEDULE_SHIFT_H
#define MUSTER_CORE_SCHEDULE_SHIFT_H

#include "core/schedule_family.h"

/* The rank `distance` (below size) behind rank, around the end. */
uint32_t schedule_shift_up(uint32_t size, uint32_t rank, uint32_t distance);
uint32_t schedule_shift_down(uint32_t size, uint32_t rank, uint32_t distance);

/* Of the messages that all ranks send to the one `distance` before them. */
typedef struct schedule_shift {
    uint64_t between; /* to other hosts */
    uint64_t busiest; /* of these, from the host that has most */
} schedule_shift_t;
schedule_shift_t schedule_shift_between(const schedule_request_t *request, uint32_t distance);

/*
 * Adds one round in which every rank sends a message of so many blocks along each of the distances
 * first, first + step, ... (count of them), and counts it for all ranks. blocks[i] of each.
 */
typedef struct schedule_shift_round {
    uint64_t times;
    uint32_t first, step, count;
    uint64_t blocks;      /* of each message, but */
    uint64_t last_blocks; /* of the last one */
    uint64_t reduced, copied;
} schedule_shift_round_t;
void schedule_shift_add(schedule_figures_t *figures, const schedule_request_t *request,
                        const schedule_shift_round_t *round);

#endif
