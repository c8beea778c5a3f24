/*
 * Which schedule an operation takes: a cost model over the families' figures, and the choice.
 *
 * A rank's way through a schedule is its rounds, one after the other. A round takes
 *
 *     latency + messages * message + max(bytes inside * byte, host's bytes between * byte between)
 *             + reduced bytes * reduce + copied bytes * copy
 *
 * (after Hockney's latency and bandwidth, 1994, and LogGP's overhead for each message, Alexandrov
 * and others, 1995; a host's ranks share its link). Where more ranks than cores are on a host, all
 * their work together also has to fit on its cores: the cost is the larger of the longest way and
 * the whole work over all cores.
 *
 * All numbers are whole picoseconds, so that every rank computes the same choice, whatever its
 * compiler does with fractions. Sums and products stop at SELECT_FOREVER.
 */
#ifndef MUSTER_CORE_SELECT_H
#define MUSTER_CORE_SELECT_H

#include "core/schedule_family.h"

#define SELECT_FOREVER UINT64_MAX

/* Between two ranks, one way. */
typedef struct select_link {
    uint64_t latency; /* ps, of a message of no bytes, beyond what follows */
    uint64_t message; /* ps that a rank is busy for each message it sends or receives */
    uint64_t byte;    /* ps a byte */
} select_link_t;

typedef struct select_parameters {
    select_link_t inside;  /* of a host */
    select_link_t between; /* hosts; byte: of a host's link, which its ranks share */
    uint64_t reduce;       /* ps a byte that is combined */
    uint64_t copy;         /* ps a byte that is packed or copied */
    uint32_t cores;        /* of a host that its ranks share; 0: one for each rank */
    bool measured;         /* false: the built-in ones */
} select_parameters_t;

/* Those of loopback TCP on a common machine, and of a 10 Gbit/s Ethernet between hosts. */
select_parameters_t select_builtin(void);

/* What is chosen: enough to build it. */
typedef struct select_plan {
    schedule_family_t family;
    uint32_t arity; /* TREE; else size */
    radix_sequence_t radix;
    uint32_t segments;
} select_plan_t;

/* Puts a plan into a request. */
void select_apply(const select_plan_t *plan, schedule_request_t *request);
bool select_is_same(const select_plan_t *one, const select_plan_t *other);
/* "radix 4x4x6", "tree of 3", "ring in 4 segments": what configuration takes, and people read. */
void select_print(const select_plan_t *plan, text_t *text);

/*
 * ps for a schedule with these figures, for vectors or blocks of `bytes` each (of a vector: the
 * whole, cut into figures->pieces). ranks: of the team; hosts: 1 or more.
 */
uint64_t select_cost(const schedule_figures_t *figures, const select_parameters_t *parameters,
                     uint32_t ranks, uint32_t hosts, uint64_t bytes);

#define SELECT_PLANS_MAX 256

typedef struct select_candidate {
    select_plan_t plan;
    uint64_t cost; /* ps */
} select_candidate_t;

/* What the choice is bound to. */
typedef struct select_limits {
    bool has_family; /* only this family */
    schedule_family_t family;
    bool has_radix;  /* this sequence in families that follow one */
    bool only_radix; /* and no other family */
    radix_sequence_t radix;
    bool reproducible; /* only schedules that reduce as a left fold in rank order (C420) */
} select_limits_t;

/*
 * All schedules that come into question for the request (its radix, arity and segments are
 * ignored): what would be chosen, then the others, cheapest first; equal ones in a fixed order.
 * Returns how many. bytes: of a vector or a
 * block. limits may be NULL. Room for SELECT_PLANS_MAX.
 */
uint32_t select_candidates(const schedule_request_t *request, const select_parameters_t *parameters,
                           const select_limits_t *limits, uint64_t bytes,
                           select_candidate_t *candidates);

/* Puts a plan first, where it is among so many candidates; false: it is not. */
bool select_to_front(select_candidate_t *candidates, uint32_t count, const select_plan_t *plan);

/* The cheapest. NOT_SUPPORTED: the limits leave none. */
muster_status_t select_choose(const schedule_request_t *request,
                              const select_parameters_t *parameters, const select_limits_t *limits,
                              uint64_t bytes, select_plan_t *plan);

#endif
