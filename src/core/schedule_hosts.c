/*
 * The hosts family: two levels, inside hosts and between them. What hosts send each other goes
 * through one rank of each, or is shared out over their ranks; hosts may have any mix of sizes.
 * With uniform outcome rank 0 decides on the way where it may, or a decision follows, by a tree
 * inside each host and one between them.
 */
#include "core/schedule_hosts.h"

#include "core/assertion.h"
#include "core/schedule_family.h"
#include "core/schedule_hosts_parts.h"

/*
 * Leaders hear of each other in rounds: in round q those that are j * k^q hosts before them, for j
 * below the radix (Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988).
 */
static void schedule_hosts_disseminate(schedule_hosts_build_t *build)
{
    uint64_t hosts = build->tree.hosts->count;
    uint32_t round = 0;
    if (!schedule_hosts_leads(build))
        return;
    for (uint64_t distance = 1; distance < hosts; distance *= build->tree.between_radix, ++round) {
        schedule_emit_round(&build->emit, 0, build->size, 0, round);
        for (uint64_t j = 1; j < build->tree.between_radix && j * distance < hosts; ++j) {
            uint32_t to = (uint32_t)((build->host + j * distance) % hosts);
            uint32_t from = (uint32_t)((build->host + hosts - j * distance) % hosts);
            schedule_emit_send(&build->emit, schedule_hosts_leader(&build->tree, to),
                               schedule_run(SCHEDULE_NOTHING, 0, 0));
            schedule_emit_place(&build->emit, schedule_hosts_leader(&build->tree, from),
                                schedule_run(SCHEDULE_NOTHING, 0, 0), true);
        }
    }
}

static void schedule_hosts_barrier(schedule_hosts_build_t *build)
{
    schedule_hosts_levels_t levels =
        build->on_the_way ? SCHEDULE_HOSTS_BOTH : SCHEDULE_HOSTS_INSIDE;
    schedule_hosts_report(build, levels);
    schedule_hosts_decision(build);
    if (!build->on_the_way)
        schedule_hosts_disseminate(build);
    schedule_hosts_spread(build, levels, schedule_run(SCHEDULE_NOTHING, 0, 0), true);
}

static void schedule_hosts_broadcast(schedule_hosts_build_t *build)
{
    bool at_root = build->rank == build->root;
    if (build->on_the_way)
        schedule_hosts_report(build, SCHEDULE_HOSTS_BOTH);
    schedule_hosts_decision(build);
    schedule_hosts_spread(build, SCHEDULE_HOSTS_BOTH,
                          schedule_run(at_root ? SCHEDULE_SEND : SCHEDULE_RECEIVE, 0, 1), true);
}

/* From rank 0, where values have been combined in rank order, to the root. */
static void schedule_hosts_relay(schedule_hosts_build_t *build, const schedule_sum_t *sum)
{
    uint32_t top = build->tree.top;
    if (build->root == top || (build->rank != top && build->rank != build->root))
        return;
    schedule_emit_phase(&build->emit, 0, build->size, 1, SCHEDULE_RELAY);
    if (build->rank == top)
        schedule_emit_send(&build->emit, build->root, schedule_sum_value(sum));
    else
        schedule_emit_place(&build->emit, top, sum->result, !sum->started);
}

static void schedule_hosts_reduce(schedule_hosts_build_t *build)
{
    schedule_sum_t sum = {.own = schedule_run(SCHEDULE_SEND, 0, 1),
                          .result = schedule_run(SCHEDULE_RECEIVE, 0, 1),
                          .stride = 1,
                          .started = build->in_place};
    if (build->rank != build->root && schedule_hosts_has_children(build))
        sum.result = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(&build->emit, 1), 1);
    schedule_hosts_reduce_up(build, &sum);
    schedule_hosts_decision(build);
    schedule_hosts_relay(build, &sum);
    if (build->on_the_way)
        schedule_hosts_spread(build, SCHEDULE_HOSTS_BOTH, schedule_run(SCHEDULE_NOTHING, 0, 0),
                              true);
}

static void schedule_hosts_allreduce(schedule_hosts_build_t *build)
{
    schedule_sum_t sum = {.own = schedule_run(SCHEDULE_SEND, 0, 1),
                          .result = schedule_run(SCHEDULE_RECEIVE, 0, 1),
                          .stride = 1,
                          .started = build->in_place};
    schedule_hosts_reduce_up(build, &sum);
    schedule_hosts_decision(build);
    schedule_hosts_spread(build, SCHEDULE_HOSTS_BOTH, sum.result, !sum.started);
}

static void schedule_hosts_emit(schedule_hosts_build_t *build)
{
    switch (build->request->operation) {
    case OPERATION_BARRIER:
        schedule_hosts_barrier(build);
        break;
    case OPERATION_BROADCAST:
        schedule_hosts_broadcast(build);
        break;
    case OPERATION_REDUCE:
        schedule_hosts_reduce(build);
        break;
    case OPERATION_ALLREDUCE:
        if (build->request->radix.far)
            schedule_hosts_allreduce_slices(build);
        else
            schedule_hosts_allreduce(build);
        break;
    default: /* allgather, allgatherv */
        schedule_hosts_allgather(build);
        break;
    }
}

muster_status_t schedule_hosts(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_hosts_supports(request->operation) || !schedule_hosts_are_several(request))
        return MUSTER_NOT_SUPPORTED;
    MUSTER_ASSERT(request->hosts->first[request->hosts->count] == request->size);
    schedule_hosts_build_t build = {
        .request = request,
        .tree = schedule_hosts_tree(request, schedule_hosts_top(request)),
        .size = request->size,
        .rank = request->rank,
        .root = operation_is_rooted(request->operation) ? request->root : 0,
        .host = schedule_host_of(request, request->rank),
        .on_the_way = schedule_hosts_decide_on_the_way(request),
    };
    build.first = schedule_hosts_first(&build.tree, build.host);
    build.ranks = schedule_hosts_ranks(&build.tree, build.host);
    build.in_place =
        request->in_place && schedule_may_be_in_place(request->operation, build.rank, build.root);
    schedule_emit_begin(&build.emit, schedule, request->rank);
    schedule_hosts_emit(&build);
    if (request->uniform && !build.on_the_way)
        schedule_hosts_decide(&build);
    schedule->self_deciding = build.on_the_way;
    schedule_emit_end(&build.emit);
    return MUSTER_OK;
}
