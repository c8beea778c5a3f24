/*
 * The hosts family: allgather. Either way a block enters each host but its own once, so that
 * (hosts - 1) * P blocks travel between hosts, however many ranks each has.
 *
 * Far first, every rank sends its block to one rank of each other host, and the ranks of a host
 * exchange what they have taken in: all send alike, and nobody waits for a leader. Near first,
 * leaders gather the blocks of their hosts, exchange them, and tell their hosts: the fewest
 * messages between hosts.
 */
#include "core/assertion.h"
#include "core/schedule_hosts_parts.h"

/* Every block whose rank is as this one modulo the ranks of a host; where those are alone: all. */
static schedule_region_t schedule_hosts_class(const schedule_hosts_build_t *build, uint32_t rank)
{
    uint32_t ranks = build->ranks;
    uint32_t left = rank % ranks;
    return schedule_rows(SCHEDULE_RECEIVE, left, 1, (build->size - 1 - left) / ranks + 1, ranks);
}

static void schedule_hosts_take_in(schedule_hosts_build_t *build)
{
    schedule_emitter_t *emit = &build->emit;
    const schedule_hosts_t *hosts = build->tree.hosts;
    if (!build->in_place)
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, 0, 1),
                           schedule_run(SCHEDULE_RECEIVE, build->rank, 1));
    schedule_hosts_meet(build, true, 0);
    for (uint32_t step = 1; step < hosts->count; ++step) { /* not all begin with the same host */
        uint32_t host = (uint32_t)(((uint64_t)build->host + step) % hosts->count);
        schedule_emit_send(emit, schedule_hosts_partner(hosts, host, build->rank),
                           schedule_run(SCHEDULE_SEND, 0, 1));
    }
    for (uint64_t rank = build->rank % build->ranks; rank < build->size; rank += build->ranks)
        if (rank < build->first || rank >= build->first + build->ranks)
            schedule_emit_place(emit, (uint32_t)rank, schedule_run(SCHEDULE_RECEIVE, rank, 1),
                                true);
}

static void schedule_hosts_exchange_inside(schedule_hosts_build_t *build)
{
    if (build->ranks == 1)
        return;
    schedule_hosts_meet(build, false, 1);
    for (uint32_t step = 1; step < build->ranks; ++step) {
        uint32_t local = (build->rank - build->first + step) % build->ranks;
        schedule_emit_send(&build->emit, build->first + local,
                           schedule_hosts_class(build, build->rank));
    }
    for (uint32_t local = 0; local < build->ranks; ++local)
        if (build->first + local != build->rank)
            schedule_emit_place(&build->emit, build->first + local,
                                schedule_hosts_class(build, build->first + local), true);
}

static void schedule_hosts_exchange_leaders(schedule_hosts_build_t *build)
{
    const schedule_hosts_t *hosts = build->tree.hosts;
    if (!schedule_hosts_leads(build))
        return;
    schedule_hosts_meet(build, true, 0);
    for (uint32_t step = 1; step < hosts->count; ++step) {
        uint32_t host = (uint32_t)(((uint64_t)build->host + step) % hosts->count);
        schedule_emit_send(&build->emit, hosts->first[host],
                           schedule_run(SCHEDULE_RECEIVE, build->first, build->ranks));
    }
    for (uint32_t host = 0; host < hosts->count; ++host)
        if (host != build->host)
            schedule_emit_place(&build->emit, hosts->first[host],
                                schedule_run(SCHEDULE_RECEIVE, hosts->first[host],
                                             hosts->first[host + 1] - hosts->first[host]),
                                true);
}

void schedule_hosts_allgather(schedule_hosts_build_t *build)
{
    if (build->request->radix.far) {
        schedule_hosts_take_in(build);
        schedule_hosts_exchange_inside(build);
        return;
    }
    schedule_hosts_gather_inside(build);
    schedule_hosts_exchange_leaders(build);
    bool untouched = !build->in_place && !schedule_hosts_has_children(build);
    schedule_hosts_spread(build, SCHEDULE_HOSTS_INSIDE,
                          schedule_run(SCHEDULE_RECEIVE, 0, build->size), untouched);
}
