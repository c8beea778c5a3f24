/* The builders of the hosts family; at least two hosts. */
#ifndef MUSTER_CORE_SCHEDULE_HOSTS_PARTS_H
#define MUSTER_CORE_SCHEDULE_HOSTS_PARTS_H

#include "core/schedule_fold.h"
#include "core/schedule_hosts.h"

/* What is built for one rank. */
typedef struct schedule_hosts_build {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    schedule_hosts_tree_t tree;
    uint32_t size, rank, root;
    uint32_t host, first, ranks; /* its host, and the ranks on it */
    bool in_place;               /* of a rank that may */
    bool on_the_way;             /* rank 0 decides in a data phase */
} schedule_hosts_build_t;

bool schedule_hosts_leads(const schedule_hosts_build_t *build);
/* Children in either tree. */
bool schedule_hosts_has_children(const schedule_hosts_build_t *build);

/* Which of the two trees a pass goes through. */
typedef enum schedule_hosts_levels {
    SCHEDULE_HOSTS_INSIDE = 1,
    SCHEDULE_HOSTS_BETWEEN = 2,
    SCHEDULE_HOSTS_BOTH = 3
} schedule_hosts_levels_t;

/* Up in slot 0: messages without a payload; values in rank order from the top on, into sum. */
void schedule_hosts_report(schedule_hosts_build_t *build, schedule_hosts_levels_t levels);
void schedule_hosts_reduce_up(schedule_hosts_build_t *build, schedule_sum_t *sum);
/* Down in slot 1: the same for all. */
void schedule_hosts_spread(schedule_hosts_build_t *build, schedule_hosts_levels_t levels,
                           schedule_region_t data, bool early);
/* Up inside the hosts, whose leaders are their first ranks: blocks, by rank in RECEIVE. */
void schedule_hosts_gather_inside(schedule_hosts_build_t *build);
/* Where rank 0 may decide on the way: now. */
void schedule_hosts_decision(schedule_hosts_build_t *build);
/* The appended decision, up to rank 0 and down by the trees of which it is the top. */
void schedule_hosts_decide(schedule_hosts_build_t *build);

/* One meeting of all ranks, or of all of the host; slots tell two of them apart. */
void schedule_hosts_meet(schedule_hosts_build_t *build, bool between, unsigned slot);

void schedule_hosts_allgather(schedule_hosts_build_t *build);
void schedule_hosts_allreduce_slices(schedule_hosts_build_t *build);

#endif
