/*
 * For the figures of the tree family: a schedule is a list of stages. A pass goes through the tree,
 * up or down, with one round for each level; a relay goes between rank 0 and another root; and an
 * alltoall exchanges at the top.
 */
#ifndef MUSTER_CORE_SCHEDULE_TREE_STAGE_H
#define MUSTER_CORE_SCHEDULE_TREE_STAGE_H

#include "core/schedule_family.h"
#include "core/split.h"

typedef enum schedule_stage_kind {
    SCHEDULE_STAGE_UP = 0, /* from members to leaders */
    SCHEDULE_STAGE_DOWN,
    SCHEDULE_STAGE_RELAY,
    SCHEDULE_STAGE_EXCHANGE
} schedule_stage_kind_t;

/* What the message of an edge carries, times width. */
typedef enum schedule_load {
    SCHEDULE_LOAD_VALUE = 0, /* the same on every edge */
    SCHEDULE_LOAD_PART,      /* something for every rank of the member's part */
    SCHEDULE_LOAD_TOTAL      /* as VALUE, nothing where the part ends with the last rank */
} schedule_load_t;

typedef struct schedule_stage {
    uint8_t kind;
    uint8_t load;
    bool reduces;
    uint64_t width;
    uint32_t centre;
    uint32_t top;    /* the first level that takes part */
    uint32_t except; /* the rank that is passed over, or NONE; RELAY: from centre to this one */
} schedule_stage_t;

#define SCHEDULE_STAGES_MAX 8

typedef struct schedule_plan {
    const schedule_request_t *request;
    uint32_t size, root, arity;
    bool flat, relayed, on_the_way;
    uint32_t count;
    schedule_stage_t stages[SCHEDULE_STAGES_MAX];
} schedule_plan_t;

/* Adds a stage's rounds and totals. Passes are followed edge by edge: time O(size). */
void schedule_plan_stage(const schedule_plan_t *plan, const schedule_stage_t *stage,
                         schedule_figures_t *figures);
/* Raises rank_messages and rank_blocks to what the rank sends in all stages. */
void schedule_plan_rank(const schedule_plan_t *plan, uint32_t rank, schedule_figures_t *figures);

#endif
