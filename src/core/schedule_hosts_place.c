/* Where ranks stand in two-level trees: arithmetic, which builder and figures share. */
#include "core/assertion.h"
#include "core/schedule_family.h"
#include "core/schedule_hosts.h"

bool schedule_hosts_supports(operation_t operation)
{
    switch (operation) {
    case OPERATION_BARRIER:
    case OPERATION_BROADCAST:
    case OPERATION_REDUCE:
    case OPERATION_ALLREDUCE:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return true;
    default:
        return false;
    }
}

bool schedule_hosts_are_several(const schedule_request_t *request)
{
    return request->hosts != NULL && request->hosts->count > 1;
}

schedule_hosts_tree_t schedule_hosts_tree(const schedule_request_t *request, uint32_t top)
{
    const radix_sequence_t *radix = &request->radix;
    uint32_t between = schedule_knomial_radix(request);
    return (schedule_hosts_tree_t){
        .hosts = request->hosts,
        .top = top,
        .top_host = schedule_host_of(request, top),
        .between_radix = between,
        .inside_radix = radix->count > 1 ? radix->factors[1] : between,
    };
}

uint32_t schedule_hosts_top(const schedule_request_t *request)
{
    if (!operation_is_rooted(request->operation))
        return 0;
    return schedule_knomial_top(request);
}

bool schedule_hosts_decide_on_the_way(const schedule_request_t *request)
{
    switch (request->operation) {
    case OPERATION_BARRIER:
        return request->uniform;
    case OPERATION_ALLREDUCE:
        return request->uniform && request->small && !request->radix.far;
    case OPERATION_BROADCAST:
    case OPERATION_REDUCE:
        return request->uniform && request->small && request->root == 0;
    default:
        return false;
    }
}

uint32_t schedule_hosts_first(const schedule_hosts_tree_t *tree, uint32_t host)
{
    MUSTER_ASSERT(host < tree->hosts->count);
    return tree->hosts->first[host];
}

uint32_t schedule_hosts_ranks(const schedule_hosts_tree_t *tree, uint32_t host)
{
    MUSTER_ASSERT(host < tree->hosts->count);
    return tree->hosts->first[host + 1] - tree->hosts->first[host];
}

uint32_t schedule_hosts_smallest(const schedule_hosts_t *hosts)
{
    uint32_t smallest = UINT32_MAX;
    for (uint32_t host = 0; host < hosts->count; ++host)
        if (hosts->first[host + 1] - hosts->first[host] < smallest)
            smallest = hosts->first[host + 1] - hosts->first[host];
    return smallest;
}

uint32_t schedule_hosts_leader(const schedule_hosts_tree_t *tree, uint32_t host)
{
    return host == tree->top_host ? tree->top : schedule_hosts_first(tree, host);
}

schedule_hosts_leg_t schedule_hosts_inside(const schedule_hosts_tree_t *tree, uint32_t host,
                                           uint32_t rank)
{
    uint32_t first = schedule_hosts_first(tree, host);
    return (schedule_hosts_leg_t){
        .tree = tree,
        .at = schedule_knomial_at(schedule_hosts_ranks(tree, host), tree->inside_radix,
                                  schedule_hosts_leader(tree, host) - first, rank - first),
        .host = host,
        .between = false,
    };
}

schedule_hosts_leg_t schedule_hosts_between(const schedule_hosts_tree_t *tree, uint32_t host)
{
    return (schedule_hosts_leg_t){
        .tree = tree,
        .at = schedule_knomial_at(tree->hosts->count, tree->between_radix, tree->top_host, host),
        .host = host,
        .between = true,
    };
}

uint32_t schedule_hosts_leg_rank(const schedule_hosts_leg_t *leg, uint32_t place)
{
    uint32_t number = schedule_knomial_rank(&leg->at, place);
    return leg->between ? schedule_hosts_leader(leg->tree, number)
                        : schedule_hosts_first(leg->tree, leg->host) + number;
}

uint32_t schedule_hosts_partner(const schedule_hosts_t *hosts, uint32_t host, uint32_t rank)
{
    uint32_t first = hosts->first[host];
    uint32_t ranks = hosts->first[host + 1] - first;
    return first + (rank % ranks + ranks - first % ranks) % ranks;
}
