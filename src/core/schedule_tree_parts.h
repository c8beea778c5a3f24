/* The builders of the tree family, one for each kind of operation; size >= 2. */
#ifndef MUSTER_CORE_SCHEDULE_TREE_PARTS_H
#define MUSTER_CORE_SCHEDULE_TREE_PARTS_H

#include "core/schedule_fold.h"
#include "core/schedule_walk.h"

typedef struct schedule_tree {
    schedule_emitter_t emit;
    schedule_walk_t walk;
    const schedule_request_t *request;
    uint32_t size, rank, root;
    bool in_place;   /* of a rank that may */
    bool relayed;    /* a tree whose root is not rank 0 */
    bool on_the_way; /* rank 0 decides in a data phase */
} schedule_tree_t;

/*
 * Reduces rows of width blocks up to the centre, in rank order: SEND block 0.. of every rank into
 * result there, which is also the accumulator of the ranks on the way. holds_own: the result lies
 * where SEND does.
 */
void schedule_tree_reduce_up(schedule_tree_t *tree, uint64_t width, schedule_region_t result,
                             bool holds_own);
void schedule_tree_reduce(schedule_tree_t *tree);
void schedule_tree_allreduce(schedule_tree_t *tree);
void schedule_tree_reduce_scatter(schedule_tree_t *tree);
void schedule_tree_scan(schedule_tree_t *tree);
void schedule_tree_alltoall(schedule_tree_t *tree);

/* Whether a data phase of rank 0 decides; no decision is appended then. */
bool schedule_tree_decides_on_the_way(const schedule_request_t *request);
/* Where rank 0 may decide on the way: now, after the upward phases. */
void schedule_tree_decision(schedule_tree_t *tree);

/* A phase between rank 0 and the root of a relayed operation. */
void schedule_tree_relay(schedule_tree_t *tree, unsigned slot);

#endif
