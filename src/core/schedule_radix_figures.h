/* What the figures of the radix and split families share: the rounds of a radix plan. */
#ifndef MUSTER_CORE_SCHEDULE_RADIX_FIGURES_H
#define MUSTER_CORE_SCHEDULE_RADIX_FIGURES_H

#include "core/schedule_edges.h"
#include "core/schedule_radix_plan.h"

/* What goes from one member of a meeting to another. */
typedef enum schedule_radix_load {
    SCHEDULE_RADIX_FIXED,  /* `fixed` blocks */
    SCHEDULE_RADIX_GATHER, /* the sender's part */
    SCHEDULE_RADIX_SCATTER /* the receiver's part */
} schedule_radix_load_t;

typedef struct schedule_radix_loads {
    schedule_radix_load_t load;
    uint64_t fixed;
    bool residues;
    bool reduces; /* what comes is combined */
} schedule_radix_loads_t;

/* Appends a phase's round and adds its messages and blocks, over all ranks. */
void schedule_radix_add_phase(const schedule_radix_plan_t *plan, const schedule_request_t *request,
                              const schedule_radix_loads_t *loads, uint32_t phase,
                              schedule_figures_t *figures);
/* What a place sends in a phase. */
uint64_t schedule_radix_sent(const schedule_radix_plan_t *plan, const schedule_radix_loads_t *loads,
                             uint32_t phase, uint32_t place);
/* The round in which extras send to their proxies, or the other way; reduced: the proxies combine*/
void schedule_radix_add_pairs(const schedule_radix_plan_t *plan, const schedule_request_t *request,
                              bool to_proxies, uint64_t blocks, bool reduced,
                              schedule_figures_t *figures);
/* A rank's messages and blocks, the appended decision's too, are raised to the busiest so far. */
void schedule_radix_raise(const schedule_request_t *request, uint32_t rank, uint64_t messages,
                          uint64_t blocks, schedule_figures_t *figures);

#endif
