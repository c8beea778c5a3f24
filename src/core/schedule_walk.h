/*
 * A rank's walk through the tree of groups, for the builders of the tree family: up from its leaf
 * to the top, and down again. Where one group holds everybody (arity >= size) the tree is a star,
 * and its centre may be any rank; elsewhere the centre is rank 0.
 *
 * The passes emit one phase for each group on the rank's path that has anything to say.
 */
#ifndef MUSTER_CORE_SCHEDULE_WALK_H
#define MUSTER_CORE_SCHEDULE_WALK_H

#include "core/schedule_emit.h"
#include "core/split.h"

typedef struct schedule_walk {
    schedule_emitter_t *emit;
    split_group_t path[SPLIT_PATH_MAX]; /* from the top down */
    uint32_t depth;                     /* groups on the path; 0 for one rank alone */
    uint32_t size, rank;
    uint32_t arity;  /* at most size */
    uint32_t centre; /* the rank at which walks up end */
    uint32_t base;   /* the rank speaks for [base, base + span): at the centre, for everybody */
    uint32_t span;
    uint32_t children; /* ranks that report to this one, in all its groups */
    bool flat;
} schedule_walk_t;

/* centre: 0, or any rank where the request is flat. */
void schedule_walk_begin(schedule_walk_t *walk, schedule_emitter_t *emit,
                         const schedule_request_t *request, uint32_t centre);
bool schedule_walk_is_flat(const schedule_request_t *request);

/* Whether the rank leads group path[level]; the group's leader, and its place among the members. */
bool schedule_walk_leads(const schedule_walk_t *walk, uint32_t level);
uint32_t schedule_walk_leader(const schedule_walk_t *walk, uint32_t level);
uint32_t schedule_walk_leader_index(const schedule_walk_t *walk);
split_part_t schedule_walk_member(const schedule_walk_t *walk, uint32_t level, uint32_t index);
void schedule_walk_phase(const schedule_walk_t *walk, uint32_t level, unsigned slot,
                         schedule_label_t label);

/* Blocks by rank: those of rank x begin at first + (x - base) * width. */
typedef struct schedule_bundle {
    schedule_buffer_t buffer;
    uint64_t first;
    uint32_t base;
    uint64_t width;
} schedule_bundle_t;
/* The blocks of the ranks of part. */
schedule_region_t schedule_bundle_part(const schedule_bundle_t *bundle, split_part_t part);

/*
 * Up: leaders receive their members' parts into the bundle, and send their own part on: `own`,
 * which is the whole bundle of its part for a leader. skip_top leaves the top group out.
 */
void schedule_walk_gather(const schedule_walk_t *walk, const schedule_bundle_t *bundle,
                          schedule_region_t own, bool skip_top);
/* Down: a rank receives `own` and sends the members of its groups their parts of the bundle. */
void schedule_walk_scatter(const schedule_walk_t *walk, const schedule_bundle_t *bundle,
                           schedule_region_t own, bool early);
/* Down: the same region for all. Rank except (SPLIT_NONE: none) neither gets nor awaits it. */
void schedule_walk_spread(const schedule_walk_t *walk, schedule_region_t data, bool early,
                          uint32_t except);
/* Messages without a payload. */
void schedule_walk_up(const schedule_walk_t *walk, unsigned slot, schedule_label_t label);
void schedule_walk_down(const schedule_walk_t *walk, unsigned slot, schedule_label_t label);

/* The appended decision (uniform outcome): everybody reports to rank 0, and hears from it. */
void schedule_walk_decide(const schedule_walk_t *walk);
/* The same behind a schedule of another family, by a star; nothing where the outcome is local. */
void schedule_walk_append_decision(schedule_emitter_t *emit, const schedule_request_t *request);

#endif
