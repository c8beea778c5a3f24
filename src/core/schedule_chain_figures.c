/* Figures of the chain family: one link after the other. */
#include "core/schedule_family.h"

static muster_status_t schedule_chain_scan_figures(const schedule_request_t *request,
                                                   schedule_figures_t *figures)
{
    uint64_t links = request->size - 1;
    uint64_t between = request->hosts == NULL ? 0 : request->hosts->count - 1;
    schedule_round_t round = {
        .times = links - between, .messages = 1, .received = 1, .blocks = 1, .reduced = 1};
    *figures = (schedule_figures_t){
        .pieces = 1,
        .rank_messages = links > 0,
        .rank_blocks = links > 0,
        .messages = links,
        .blocks = links,
        .messages_between = between,
        .blocks_between = between,
    };
    schedule_figures_add(figures, round);
    round.times = between;
    round.messages_between = 1;
    round.blocks_between = 1;
    round.host_blocks_between = 1;
    schedule_figures_add(figures, round);
    schedule_figures_decide(figures, request);
    return MUSTER_OK;
}

muster_status_t schedule_chain_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    switch (request->operation) {
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        return schedule_chain_scan_figures(request, figures);
    default:
        return MUSTER_NOT_SUPPORTED;
    }
}
