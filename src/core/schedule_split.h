/*
 * What builder and figures of the split family share: the levels of a plan.
 *
 * The core's ranks have a piece of the vector each. Levels are the phases in the order in which
 * pieces are gathered; scattering takes them the other way round. Before level l a place has the
 * width(l) pieces of the chunk in which its own piece lies, and the members of its meeting have the
 * chunks beside it. So which piece is a place's follows from its digits; they are laid out so that
 * all chunks are contiguous.
 *
 * A tree leads from a place, the root's, to all others: those which are like the root in all levels
 * below l, and not in l, meet in l the one that is like it in l too.
 */
#ifndef MUSTER_CORE_SCHEDULE_SPLIT_H
#define MUSTER_CORE_SCHEDULE_SPLIT_H

#include "core/schedule_radix_plan.h"

typedef struct schedule_split_levels {
    const schedule_radix_plan_t *plan;
    uint32_t count;
    uint32_t phases[RADIX_FACTORS_MAX]; /* of the plan, by level */
    uint64_t widths[RADIX_FACTORS_MAX];
    uint32_t root; /* a place; 0 where there is no root */
} schedule_split_levels_t;

/* backwards: the sequence is that of the scattering, and the gathering goes back along it. */
void schedule_split_begin(schedule_split_levels_t *levels, const schedule_radix_plan_t *plan,
                          bool backwards, uint32_t root);
bool schedule_split_supports(operation_t operation);
/* Of the plan, for the operation: reductions follow the sequence while they scatter. */
bool schedule_split_is_backwards(operation_t operation);

schedule_radix_meeting_t schedule_split_meet(const schedule_split_levels_t *levels, uint32_t level,
                                             uint32_t place);
/* The number that the root has in its own meeting of the level. */
uint32_t schedule_split_root_number(const schedule_split_levels_t *levels, uint32_t level);
/* The first level in which the place is not like the root; count for the root itself. */
uint32_t schedule_split_level_of(const schedule_split_levels_t *levels, uint32_t place);
/* Which piece is the place's; and, before a level, the chunk of a member of its meeting. */
uint64_t schedule_split_piece(const schedule_split_levels_t *levels, uint32_t place);
schedule_radix_part_t schedule_split_chunk(const schedule_split_levels_t *levels, uint32_t level,
                                           uint64_t piece, const schedule_radix_meeting_t *meeting,
                                           uint32_t number);

#endif
