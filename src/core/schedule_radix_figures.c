/*
 * Figures of the phases of a radix plan. The ranks of a host have a range of places, and of a
 * superblock of q*r places, in which the phase's meetings lie, the host has a range too: so the
 * members that a host has in each meeting follow from the range's length, and all is counted in
 * O(hosts + superblocks), not pair by pair.
 */
#include "core/schedule_radix_figures.h"

#include "core/assertion.h"

/* Places [left, right) of one host in one superblock, and the ones of [first, last) among them. */
typedef struct schedule_radix_range {
    uint64_t left, right;
    uint64_t stride, radix;
    uint64_t rounds, more; /* length of the range: rounds * stride + more */
} schedule_radix_range_t;

static schedule_radix_range_t schedule_radix_range(uint64_t left, uint64_t right, uint64_t stride,
                                                   uint64_t radix)
{
    return (schedule_radix_range_t){.left = left,
                                    .right = right,
                                    .stride = stride,
                                    .radix = radix,
                                    .rounds = (right - left) / stride,
                                    .more = (right - left) % stride};
}

/* Places of the range below `place` in whose meetings the host has one member more. */
static uint64_t schedule_radix_richer(const schedule_radix_range_t *range, uint64_t place)
{
    uint64_t length = place - range->left;
    uint64_t rest = length % range->stride;
    return length / range->stride * range->more + (rest < range->more ? rest : range->more);
}

/* What the places [first, last) of a range, whose loads are alike, send to other hosts. */
static void schedule_radix_add_range(const schedule_radix_range_t *range, uint64_t first,
                                     uint64_t last, uint64_t load, schedule_round_t *host,
                                     schedule_round_t *round)
{
    if (first >= last)
        return;
    uint64_t places = last - first;
    uint64_t richer = schedule_radix_richer(range, last) - schedule_radix_richer(range, first);
    uint64_t away = places * (range->radix - range->rounds) - richer;
    uint64_t most = range->radix - range->rounds - (richer == places);
    host->messages_between += away;
    host->blocks_between += away * load;
    if (most > round->messages_between)
        round->messages_between = most;
    if (most * load > round->blocks_between)
        round->blocks_between = most * load;
}

/* Of a place, what one of its messages carries; by receivers: what one to it carries. */
static uint64_t schedule_radix_load(const schedule_radix_plan_t *plan,
                                    const schedule_radix_loads_t *loads, uint32_t phase,
                                    uint64_t place)
{
    if (loads->load == SCHEDULE_RADIX_FIXED)
        return loads->fixed;
    return schedule_radix_part(plan, loads->residues, phase, (uint32_t)place).count;
}

/* Cuts a range where loads change: once or twice with extras, and never without. */
static void schedule_radix_cut_range(const schedule_radix_plan_t *plan,
                                     const schedule_radix_loads_t *loads, uint32_t phase,
                                     const schedule_radix_range_t *range, schedule_round_t *host,
                                     schedule_round_t *round)
{
    uint64_t width = range->stride * range->radix;
    uint64_t cuts[4] = {range->left, range->right, range->right, range->right};
    if (plan->extras > 0 && loads->residues) {
        cuts[1] = range->left / width * width + plan->extras % width;
    } else if (plan->extras > 0) {
        cuts[1] = plan->extras / range->stride * range->stride;
        cuts[2] = cuts[1] + range->stride;
    }
    for (unsigned i = 1; i < 4; ++i) {
        cuts[i] = cuts[i] < cuts[i - 1] ? cuts[i - 1] : cuts[i];
        cuts[i] = cuts[i] > range->right ? range->right : cuts[i];
        if (cuts[i - 1] < cuts[i])
            schedule_radix_add_range(range, cuts[i - 1], cuts[i],
                                     schedule_radix_load(plan, loads, phase, cuts[i - 1]), host,
                                     round);
    }
}

/* Ranks of the core below a rank. */
static uint64_t schedule_radix_places_below(const schedule_radix_plan_t *plan, uint64_t rank)
{
    if (rank >= 2 * (uint64_t)plan->extras)
        return rank - plan->extras;
    return rank / 2 + (rank % 2 == 1 && rank / 2 != plan->swapped);
}

static void schedule_radix_between(const schedule_radix_plan_t *plan,
                                   const schedule_request_t *request,
                                   const schedule_radix_loads_t *loads, uint32_t phase,
                                   schedule_round_t *round, schedule_figures_t *figures)
{
    uint64_t stride = plan->strides[phase];
    uint64_t width = stride * plan->radices[phase];
    uint64_t heaviest = schedule_radix_load(plan, loads, phase, 0);
    for (uint32_t i = 0; request->hosts != NULL && i < request->hosts->count; ++i) {
        schedule_round_t host = {0};
        uint64_t left = schedule_radix_places_below(plan, request->hosts->first[i]);
        uint64_t end = schedule_radix_places_below(plan, request->hosts->first[i + 1]);
        while (left < end) {
            uint64_t right = left / width * width + width;
            right = right < end ? right : end;
            schedule_radix_range_t range =
                schedule_radix_range(left, right, stride, plan->radices[phase]);
            schedule_radix_cut_range(plan, loads, phase, &range, &host, round);
            left = right;
        }
        figures->messages_between += host.messages_between;
        figures->blocks_between += host.blocks_between;
        /* Where the receivers' parts differ, as if all were the largest. */
        uint64_t sent = loads->load == SCHEDULE_RADIX_SCATTER ? host.messages_between * heaviest
                                                              : host.blocks_between;
        if (sent > round->host_blocks_between)
            round->host_blocks_between = sent;
    }
    if (loads->load == SCHEDULE_RADIX_SCATTER)
        round->blocks_between = round->messages_between * heaviest;
    if (round->blocks_between > round->blocks)
        round->blocks_between = round->blocks;
}

uint64_t schedule_radix_sent(const schedule_radix_plan_t *plan, const schedule_radix_loads_t *loads,
                             uint32_t phase, uint32_t place)
{
    uint64_t load = schedule_radix_load(plan, loads, phase, place);
    if (loads->load == SCHEDULE_RADIX_SCATTER)
        return schedule_radix_whole(plan, loads->residues, phase, place).count - load;
    return (plan->radices[phase] - 1) * load;
}

/* All places' loads. Parts of one phase make up all blocks, and each is that of several places. */
static uint64_t schedule_radix_all_loads(const schedule_radix_plan_t *plan,
                                         const schedule_radix_loads_t *loads, uint32_t phase)
{
    uint64_t stride = plan->strides[phase];
    if (loads->load == SCHEDULE_RADIX_FIXED)
        return plan->core * loads->fixed;
    uint64_t alike = loads->residues ? plan->core / (stride * plan->radices[phase]) : stride;
    return alike * plan->size;
}

void schedule_radix_add_phase(const schedule_radix_plan_t *plan, const schedule_request_t *request,
                              const schedule_radix_loads_t *loads, uint32_t phase,
                              schedule_figures_t *figures)
{
    /* No place's part is larger than the first one's, no member's smaller than the last one's. */
    uint64_t peers = plan->radices[phase] - 1;
    uint32_t last = (uint32_t)peers * plan->strides[phase];
    uint32_t busiest = loads->load == SCHEDULE_RADIX_SCATTER ? last : 0;
    schedule_round_t round = {.times = 1,
                              .messages = peers,
                              .received = peers,
                              .blocks = schedule_radix_sent(plan, loads, phase, busiest)};
    if (loads->reduces)
        round.reduced = peers * schedule_radix_load(plan, loads, phase, 0);
    figures->messages += peers * plan->core;
    figures->blocks += peers * schedule_radix_all_loads(plan, loads, phase);
    schedule_radix_between(plan, request, loads, phase, &round, figures);
    schedule_figures_add(figures, round);
}

void schedule_radix_add_pairs(const schedule_radix_plan_t *plan, const schedule_request_t *request,
                              bool to_proxies, uint64_t blocks, bool reduced,
                              schedule_figures_t *figures)
{
    schedule_edges_t edges;
    schedule_edges_begin(&edges, request, true, reduced ? blocks : 0);
    for (uint32_t place = 0; place < plan->extras; ++place) {
        uint32_t proxy = schedule_radix_rank(plan, place);
        uint32_t extra = schedule_radix_extra(plan, place);
        schedule_edges_add(&edges, 0, to_proxies ? extra : proxy, to_proxies ? proxy : extra,
                           blocks);
    }
    schedule_edges_end(&edges, figures);
}

void schedule_radix_raise(const schedule_request_t *request, uint32_t rank, uint64_t messages,
                          uint64_t blocks, schedule_figures_t *figures)
{
    if (request->uniform)
        messages += rank == 0 ? request->size - 1 : 1;
    if (messages > figures->rank_messages)
        figures->rank_messages = messages;
    if (blocks > figures->rank_blocks)
        figures->rank_blocks = blocks;
}
