/* The builders of the chain family; size >= 2. */
#ifndef MUSTER_CORE_SCHEDULE_CHAIN_PARTS_H
#define MUSTER_CORE_SCHEDULE_CHAIN_PARTS_H

#include "core/schedule_emit.h"

typedef struct schedule_chain {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    uint32_t size, rank;
    bool in_place; /* of a rank that may */
} schedule_chain_t;

/*
 * How a rooted operation's chain runs: to both sides of the root, in the order of ranks, or from
 * the root on around. With the root at an end the first is one chain as well, with as few links
 * between hosts as there can be. Broadcasts with another root go around, and so do reductions that
 * may.
 */
bool schedule_chain_is_straight(const schedule_request_t *request);
/* The pieces that its vector is sent in, one behind the other. */
uint32_t schedule_chain_pieces(const schedule_request_t *request);

void schedule_chain_broadcast(schedule_chain_t *chain);
void schedule_chain_reduce(schedule_chain_t *chain);

#endif
