/*
 * For those who write figures: passes along the edges of a tree, up from members to leaders or down
 * again, one round for each level. The edges are named one by one, so that hosts may be laid out in
 * any way; the rounds and the totals come out.
 */
#ifndef MUSTER_CORE_SCHEDULE_EDGES_H
#define MUSTER_CORE_SCHEDULE_EDGES_H

#include "core/schedule_family.h"

#define SCHEDULE_EDGES_LEVELS 64

/* A level: its busiest ranks, and the leader and the host whose edges are being named. */
typedef struct schedule_edge_level {
    schedule_round_t round;
    schedule_round_t group; /* of the leader: messages, blocks and those between */
    uint32_t leader;
    uint32_t host, first_host;
    uint64_t host_blocks, first_host_blocks;
} schedule_edge_level_t;

typedef struct schedule_edges {
    const schedule_request_t *request;
    bool down;
    uint64_t reduced; /* blocks that a leader combines for each of its messages */
    uint32_t depth;   /* levels in which there was an edge, from 0 at the top */
    uint32_t leader_host, member_host;
    schedule_round_t total;
    schedule_edge_level_t levels[SCHEDULE_EDGES_LEVELS];
} schedule_edges_t;

void schedule_edges_begin(schedule_edges_t *edges, const schedule_request_t *request, bool down,
                          uint64_t reduced);
/*
 * An edge, with so many blocks on it. In each level they come leader by leader, from left to right
 * or from any rank on around.
 */
void schedule_edges_add(schedule_edges_t *edges, uint32_t level, uint32_t leader, uint32_t member,
                        uint64_t blocks);
/* Adds totals and rounds: up, the deepest level comes first. */
void schedule_edges_end(schedule_edges_t *edges, schedule_figures_t *figures);

#endif
