#include "core/schedule_edges.h"

#include "core/assertion.h"

#define SCHEDULE_EDGES_NONE UINT32_MAX

static void schedule_raise(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

void schedule_edges_begin(schedule_edges_t *edges, const schedule_request_t *request, bool down,
                          uint64_t reduced)
{
    *edges = (schedule_edges_t){.request = request, .down = down, .reduced = reduced};
    for (uint32_t level = 0; level < SCHEDULE_EDGES_LEVELS; ++level) {
        edges->levels[level].leader = SCHEDULE_EDGES_NONE;
        edges->levels[level].host = SCHEDULE_EDGES_NONE;
        edges->levels[level].first_host = SCHEDULE_EDGES_NONE;
    }
}

/* Neighbours are asked for one after the other, mostly. */
static uint32_t schedule_edges_host(const schedule_edges_t *edges, uint32_t rank, uint32_t *known)
{
    const schedule_hosts_t *hosts = edges->request->hosts;
    if (hosts == NULL)
        return 0;
    if (rank < hosts->first[*known] || rank >= hosts->first[*known + 1])
        *known = schedule_host_of(edges->request, rank);
    return *known;
}

/* Senders come host by host; only the first host may come twice, in the end again. */
static void schedule_edges_leave_host(schedule_edge_level_t *level, uint32_t host, uint64_t blocks)
{
    if (level->first_host == SCHEDULE_EDGES_NONE)
        level->first_host = host;
    if (level->first_host == host) {
        level->first_host_blocks += blocks;
        schedule_raise(&level->round.host_blocks_between, level->first_host_blocks);
        return;
    }
    if (level->host != host) {
        level->host = host;
        level->host_blocks = 0;
    }
    level->host_blocks += blocks;
    schedule_raise(&level->round.host_blocks_between, level->host_blocks);
}

static void schedule_edges_end_group(schedule_edges_t *edges, schedule_edge_level_t *level)
{
    schedule_round_t *round = &level->round;
    const schedule_round_t *group = &level->group;
    schedule_raise(&round->reduced, group->messages * edges->reduced);
    if (edges->down) {
        schedule_raise(&round->messages, group->messages);
        schedule_raise(&round->blocks, group->blocks);
        schedule_raise(&round->messages_between, group->messages_between);
        schedule_raise(&round->blocks_between, group->blocks_between);
    } else {
        schedule_raise(&round->received, group->messages);
    }
    level->group = (schedule_round_t){0};
}

void schedule_edges_add(schedule_edges_t *edges, uint32_t number, uint32_t leader, uint32_t member,
                        uint64_t blocks)
{
    MUSTER_ASSERT(number < SCHEDULE_EDGES_LEVELS);
    schedule_edge_level_t *level = &edges->levels[number];
    uint32_t leader_host = schedule_edges_host(edges, leader, &edges->leader_host);
    uint32_t member_host = schedule_edges_host(edges, member, &edges->member_host);
    uint64_t between = leader_host != member_host;
    if (number >= edges->depth)
        edges->depth = number + 1;
    if (level->leader != leader)
        schedule_edges_end_group(edges, level);
    level->leader = leader;
    level->round.times = 1;
    level->group.messages += 1;
    level->group.blocks += blocks;
    level->group.messages_between += between;
    level->group.blocks_between += between * blocks;
    edges->total.messages += 1;
    edges->total.blocks += blocks;
    edges->total.messages_between += between;
    edges->total.blocks_between += between * blocks;
    if (between)
        schedule_edges_leave_host(level, edges->down ? leader_host : member_host, blocks);
    if (edges->down) {
        level->round.received = 1;
        return;
    }
    level->round.messages = 1;
    schedule_raise(&level->round.messages_between, between);
    schedule_raise(&level->round.blocks, blocks);
    schedule_raise(&level->round.blocks_between, between * blocks);
}

void schedule_edges_end(schedule_edges_t *edges, schedule_figures_t *figures)
{
    figures->messages += edges->total.messages;
    figures->blocks += edges->total.blocks;
    figures->messages_between += edges->total.messages_between;
    figures->blocks_between += edges->total.blocks_between;
    for (uint32_t i = 0; i < edges->depth; ++i) {
        schedule_edge_level_t *level = &edges->levels[edges->down ? i : edges->depth - 1 - i];
        schedule_edges_end_group(edges, level);
        schedule_figures_add(figures, level->round);
    }
}
