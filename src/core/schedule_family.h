/*
 * The families of schedules: each is an algorithm, or several that share a form, for one or more
 * operations. Adding one is a builder, its figures, and a line in the list.
 */
#ifndef MUSTER_CORE_SCHEDULE_FAMILY_H
#define MUSTER_CORE_SCHEDULE_FAMILY_H

#include "core/schedule.h"

/*
 * X(NAME, text, builder, figures). The text is what configuration and output call it.
 *
 * tree      groups of a given arity, a star where it is the size (all operations)
 * direct    every pair exchanges at once (barrier, allgather(v), alltoall(v), allreduce,
 *           reduce_scatter)
 * chain     each rank hears from the one before it and tells the one after it (scans; broadcast
 *           and reduce in pieces, one behind the other)
 * knomial   a k-nomial tree around the root (broadcast, reduce, gather(v), scatter(v))
 * hosts     two levels, inside hosts and between them, even or not; by leaders or, far first, by
 *           all ranks (barrier, broadcast, reduce, allreduce, allgather(v))
 * radix     exact radix sequences and fixed radices (barrier, allgather(v), allreduce,
 *           reduce_scatter)
 * split     the same, on long vectors in pieces (broadcast, reduce, allreduce)
 * ring      to the neighbour, as often as there are others (allgather(v); where commutative,
 *           allreduce in pieces, reduce_scatter)
 * cyclic    a shift around all ranks for each digit, for every size (barrier, allgather)
 * pairwise  with one rank after the other (alltoall(v))
 * bruck     a shift around all ranks for each digit, blocks on a way of several hops (alltoall)
 */
#define SCHEDULE_FAMILY_LIST(X)                                                                    \
    X(TREE, "tree", schedule_tree, schedule_tree_figures)                                          \
    X(DIRECT, "direct", schedule_direct, schedule_direct_figures)                                  \
    X(CHAIN, "chain", schedule_chain, schedule_chain_figures)                                      \
    X(KNOMIAL, "knomial", schedule_knomial, schedule_knomial_figures)                              \
    X(HOSTS, "hosts", schedule_hosts, schedule_hosts_figures)                                      \
    X(RADIX, "radix", schedule_radix, schedule_radix_figures)                                      \
    X(SPLIT, "split", schedule_split, schedule_split_figures)                                      \
    X(CYCLIC, "cyclic", schedule_cyclic, schedule_cyclic_figures)                                  \
    X(RING, "ring", schedule_ring, schedule_ring_figures)                                          \
    X(PAIRWISE, "pairwise", schedule_pairwise, schedule_pairwise_figures)                          \
    X(BRUCK, "bruck", schedule_bruck, schedule_bruck_figures)

typedef enum schedule_family {
#define X(name, text, builder, figures) SCHEDULE_FAMILY_##name,
    SCHEDULE_FAMILY_LIST(X)
#undef X
        SCHEDULE_FAMILY_COUNT
} schedule_family_t;

/*
 * Figures of a schedule for all ranks together, without building it: what costs are made of. Rounds
 * follow each other: a rank begins one when it has everything that the round before brings it. For
 * "the busiest rank" each figure takes the rank for which it is largest.
 */
typedef struct schedule_round {
    uint64_t times;               /* so many rounds like this, one after the other */
    uint64_t messages;            /* that the busiest rank sends, in one of them */
    uint64_t received;            /* that the busiest rank receives */
    uint64_t blocks;              /* that the busiest rank sends */
    uint64_t messages_between;    /* of messages: to other hosts */
    uint64_t blocks_between;      /* of blocks: to other hosts */
    uint64_t host_blocks_between; /* that the busiest host sends to others, all its ranks */
    uint64_t reduced;             /* blocks that the busiest rank combines */
    uint64_t copied;              /* blocks that the busiest rank copies or packs */
} schedule_round_t;

#define SCHEDULE_FIGURES_ROUNDS 128 /* different ones; `times` makes them many */

typedef struct schedule_figures {
    uint32_t round_count;
    schedule_round_t rounds[SCHEDULE_FIGURES_ROUNDS];
    uint32_t pieces;           /* of a vector, as in schedule_t: the unit of blocks */
    uint64_t phases;           /* sum of times */
    uint64_t rank_messages;    /* that the rank which sends most sends, in all */
    uint64_t rank_blocks;      /* that the rank which sends most sends, in all */
    uint64_t messages;         /* over all ranks */
    uint64_t blocks;           /* over all ranks */
    uint64_t messages_between; /* over all ranks, to other hosts */
    uint64_t blocks_between;
} schedule_figures_t;

/*
 * Up to 2^20 ranks in well under a second, without memory. request->rank is ignored; in_place and
 * initial are taken for every rank that may. Ragged operations: as if all blocks were alike. What
 * it says of messages, blocks and those between hosts equals what building all ranks gives; rounds
 * are the critical path. NOT_SUPPORTED exactly where the builder says so.
 */
typedef muster_status_t (*schedule_figures_of_t)(const schedule_request_t *request,
                                                 schedule_figures_t *figures);

muster_status_t schedule_tree_figures(const schedule_request_t *request,
                                      schedule_figures_t *figures);
muster_status_t schedule_direct_figures(const schedule_request_t *request,
                                        schedule_figures_t *figures);
muster_status_t schedule_chain_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures);
muster_status_t schedule_knomial_figures(const schedule_request_t *request,
                                         schedule_figures_t *figures);
muster_status_t schedule_hosts_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures);
muster_status_t schedule_radix_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures);
muster_status_t schedule_ring_figures(const schedule_request_t *request,
                                      schedule_figures_t *figures);
muster_status_t schedule_cyclic_figures(const schedule_request_t *request,
                                        schedule_figures_t *figures);
muster_status_t schedule_pairwise_figures(const schedule_request_t *request,
                                          schedule_figures_t *figures);
muster_status_t schedule_bruck_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures);
muster_status_t schedule_split_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures);

const char *schedule_family_name(schedule_family_t family);
schedule_builder_t schedule_family_builder(schedule_family_t family);
schedule_figures_of_t schedule_family_figures(schedule_family_t family);

/* ---- For those who write figures ---- */

/* The host of a rank: its number, 0 where the request has no hosts. O(log hosts). */
uint32_t schedule_host_of(const schedule_request_t *request, uint32_t rank);
/* Ranks on each of several hosts; 0: uneven, or one host. hosts may be NULL. */
uint32_t schedule_hosts_each(const schedule_hosts_t *hosts);
/* Ordered pairs of ranks that are on different hosts. */
uint64_t schedule_pairs_between(const schedule_request_t *request);
/* Appends a round and adds it to phases; a round of 0 times is left out, like ones are joined. */
void schedule_figures_add(schedule_figures_t *figures, schedule_round_t round);
/*
 * With uniform outcome: adds the appended decision by a star at rank 0, up and down, to rounds and
 * to messages. rank_messages is taken to be rank 0's so far: where another rank sends more, say so
 * afterwards.
 */
void schedule_figures_decide(schedule_figures_t *figures, const schedule_request_t *request);

#endif
