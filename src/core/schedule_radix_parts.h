/* What the parts of the radix and split families share. */
#ifndef MUSTER_CORE_SCHEDULE_RADIX_PARTS_H
#define MUSTER_CORE_SCHEDULE_RADIX_PARTS_H

#include "core/schedule_radix_plan.h"

typedef struct schedule_radix {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    schedule_radix_plan_t plan;
    uint32_t rank;
    uint32_t place;  /* an extra has its proxy's */
    uint32_t phases; /* that the rank goes through: none for an extra */
    bool extra;
    bool in_place;
} schedule_radix_t;

bool schedule_radix_supports(operation_t operation);

/* NOT_SUPPORTED where the request's radix is nothing for its size, and then nothing has begun. */
muster_status_t schedule_radix_begin(schedule_radix_t *radix, const schedule_request_t *request,
                                     schedule_t *schedule, uint32_t keeper);
/* Appends the decision, where there is to be one. */
void schedule_radix_end(schedule_radix_t *radix);

/* Whether the plan's meetings, one after the other, fold values as the operation allows. */
bool schedule_radix_keeps_order(const schedule_radix_t *radix);

/* The pair of an extra and its proxy, if the rank is of one: one sends to the other. */
void schedule_radix_pair(schedule_radix_t *radix, uint32_t round, bool to_proxy,
                         schedule_region_t send, schedule_region_t receive, bool early);

/* Round 0 of the reductions: extras hand in vectors of so many blocks, which their proxies fold. */
void schedule_radix_join(schedule_radix_t *radix, schedule_radix_fold_t *fold, uint64_t blocks);

void schedule_radix_reduce_scatter(schedule_radix_t *radix);

#endif
