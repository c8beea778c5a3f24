/*
 * Two-level trees over hosts: where ranks stand in them. In every host one rank leads; the others
 * hang from it in a k-nomial tree, and the leaders hang from one of them in another. The top is any
 * rank; it leads its host, and other hosts are led by their first rank.
 */
#ifndef MUSTER_CORE_SCHEDULE_HOSTS_H
#define MUSTER_CORE_SCHEDULE_HOSTS_H

#include "core/schedule_knomial.h"

typedef struct schedule_hosts_tree {
    const schedule_hosts_t *hosts;
    uint32_t top, top_host;
    uint32_t between_radix, inside_radix;
} schedule_hosts_tree_t;

/* A rank's place in one of the trees: among the ranks of its host, or among the leaders. */
typedef struct schedule_hosts_leg {
    const schedule_hosts_tree_t *tree;
    schedule_knomial_place_t at;
    uint32_t host;
    bool between;
} schedule_hosts_leg_t;

bool schedule_hosts_supports(operation_t operation);
/* At least two hosts: else the family has nothing to say. */
bool schedule_hosts_are_several(const schedule_request_t *request);
/*
 * Radices: factors[0] between hosts and factors[1] inside; one factor is both, and without factors
 * both are 2.
 */
schedule_hosts_tree_t schedule_hosts_tree(const schedule_request_t *request, uint32_t top);
/* The top of a request's tree: the root, or rank 0 where a result is relayed (rank order). */
uint32_t schedule_hosts_top(const schedule_request_t *request);
/* Whether rank 0 decides in a data phase; no decision is appended then. */
bool schedule_hosts_decide_on_the_way(const schedule_request_t *request);

uint32_t schedule_hosts_first(const schedule_hosts_tree_t *tree, uint32_t host);
uint32_t schedule_hosts_ranks(const schedule_hosts_tree_t *tree, uint32_t host);
uint32_t schedule_hosts_smallest(const schedule_hosts_t *hosts);
uint32_t schedule_hosts_leader(const schedule_hosts_tree_t *tree, uint32_t host);
schedule_hosts_leg_t schedule_hosts_inside(const schedule_hosts_tree_t *tree, uint32_t host,
                                           uint32_t rank);
schedule_hosts_leg_t schedule_hosts_between(const schedule_hosts_tree_t *tree, uint32_t host);
/* The rank at a place. */
uint32_t schedule_hosts_leg_rank(const schedule_hosts_leg_t *leg, uint32_t place);

/*
 * The rank of another host that gets a rank's block in an allgather far first: on a host of s ranks
 * each takes in the blocks of all ranks that are as itself modulo s. In its own host, that is its
 * own, so that every block enters every other host once.
 */
uint32_t schedule_hosts_partner(const schedule_hosts_t *hosts, uint32_t host, uint32_t rank);

#endif
