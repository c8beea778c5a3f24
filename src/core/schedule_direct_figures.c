/* Figures of the direct family: one round in which every pair exchanges. */
#include "core/schedule_family.h"

/* What the round costs the busiest rank beside its messages. */
static void schedule_direct_work(const schedule_request_t *request, schedule_round_t *round)
{
    uint64_t size = request->size;
    bool in_place = request->in_place;
    switch (request->operation) {
    case OPERATION_ALLREDUCE:
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        round->reduced = size - 1;
        break;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        round->copied = in_place ? size : 1;
        break;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        round->copied = in_place ? 0 : 1;
        break;
    default:
        break;
    }
}

/* Ranks outside the smallest host, and blocks that leave the host which most leave. */
static void schedule_direct_between(const schedule_request_t *request, schedule_round_t *round,
                                    uint64_t width)
{
    uint64_t size = request->size;
    if (request->hosts == NULL)
        return;
    for (uint32_t host = 0; host < request->hosts->count; ++host) {
        uint64_t ranks = request->hosts->first[host + 1] - request->hosts->first[host];
        uint64_t away = size - ranks;
        if (away > round->messages_between)
            round->messages_between = away;
        if (ranks * away * width > round->host_blocks_between)
            round->host_blocks_between = ranks * away * width;
    }
    round->blocks_between = round->messages_between * width;
}

muster_status_t schedule_direct_figures(const schedule_request_t *request,
                                        schedule_figures_t *figures)
{
    schedule_t none = {0};
    schedule_request_t alone = *request; /* the builder says what it supports */
    alone.size = 1;
    alone.rank = 0;
    if (schedule_direct(&alone, &none) != MUSTER_OK)
        return MUSTER_NOT_SUPPORTED;
    uint64_t size = request->size;
    uint64_t width = request->operation == OPERATION_BARRIER ? 0 : 1;
    *figures = (schedule_figures_t){
        .pieces = 1,
        .rank_messages = size - 1,
        .rank_blocks = (size - 1) * width,
        .messages = size * (size - 1),
        .blocks = size * (size - 1) * width,
        .messages_between = schedule_pairs_between(request),
        .blocks_between = schedule_pairs_between(request) * width,
    };
    schedule_round_t round = {.times = size > 1,
                              .messages = size - 1,
                              .received = size - 1,
                              .blocks = (size - 1) * width};
    schedule_direct_work(request, &round);
    schedule_direct_between(request, &round, width);
    schedule_figures_add(figures, round);
    schedule_figures_decide(figures, request);
    return MUSTER_OK;
}
