/* For the figures of the hosts family: far first, where all ranks of a host send alike. */
#ifndef MUSTER_CORE_SCHEDULE_HOSTS_FAR_H
#define MUSTER_CORE_SCHEDULE_HOSTS_FAR_H

#include "core/schedule_family.h"

/* An allgather(v), or an allreduce by slices: adds rounds and totals, and sets pieces. */
void schedule_hosts_far_rounds(const schedule_request_t *request, schedule_figures_t *figures);
/*
 * What the busiest rank of a host sends, in data; its first rank is one that does. carriers: of
 * slices, as many on each host as the smallest has ranks.
 */
schedule_totals_t schedule_hosts_far_rank(const schedule_request_t *request, uint32_t host,
                                          uint32_t carriers);

#endif
