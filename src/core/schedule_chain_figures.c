/* Figures of the chain family: one link after the other, or all of them in a pipeline. */
#include "core/schedule_chain_parts.h"
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

/* The longest way of a piece, in links; how many are between hosts, of a way, and of all. */
typedef struct schedule_pipe_way {
    uint64_t links, between;
    uint64_t all_between;
    bool two_sided;
} schedule_pipe_way_t;

static schedule_pipe_way_t schedule_pipe_way(const schedule_request_t *request)
{
    uint64_t last = request->size - 1;
    uint64_t borders = request->hosts == NULL ? 0 : request->hosts->count - 1;
    uint32_t root = request->root;
    if (!schedule_chain_is_straight(request)) { /* a ring without the link that ends at the root */
        uint64_t between = borders > 0 ? borders + 1 : 0;
        between -= schedule_host_of(request, root - 1) != schedule_host_of(request, root);
        return (schedule_pipe_way_t){
            .links = last, .between = between, .all_between = between, .two_sided = false};
    }
    uint64_t left = schedule_host_of(request, root);
    return (schedule_pipe_way_t){
        .links = root > last - root ? root : last - root,
        .between = left > borders - left ? left : borders - left,
        .all_between = borders,
        .two_sided = root > 0 && root < last,
    };
}

/*
 * A piece passes all links, one round each; the others follow it, one round each, as fast as the
 * slowest link is.
 */
static void schedule_pipe_rounds(const schedule_request_t *request, const schedule_pipe_way_t *way,
                                 schedule_figures_t *figures)
{
    uint64_t sides = way->two_sided ? 2 : 1;
    uint64_t behind = figures->pieces - 1;
    uint64_t between = way->between + (way->all_between > 0 ? behind : 0);
    schedule_round_t round = {
        .times = way->links + behind - between,
        .messages = 1,
        .received = sides,
        .blocks = 1,
        .reduced = request->operation == OPERATION_REDUCE ? sides : 0,
    };
    schedule_figures_add(figures, round);
    round.times = between;
    round.messages_between = 1;
    round.blocks_between = 1;
    round.host_blocks_between = 1;
    schedule_figures_add(figures, round);
}

static bool schedule_pipe_rank_0_sends(const schedule_request_t *request)
{
    if (request->operation == OPERATION_REDUCE)
        return request->root != 0;
    return request->root == 0 || !schedule_chain_is_straight(request) ? request->root != 1 : false;
}

static muster_status_t schedule_chain_pipe_figures(const schedule_request_t *request,
                                                   schedule_figures_t *figures)
{
    uint64_t links = request->size - 1;
    uint64_t pieces = schedule_chain_pieces(request);
    *figures = (schedule_figures_t){.pieces = (uint32_t)pieces};
    if (links == 0)
        return MUSTER_OK;
    schedule_pipe_way_t way = schedule_pipe_way(request);
    schedule_pipe_rounds(request, &way, figures);
    figures->messages = links * pieces;
    figures->blocks = links * pieces;
    figures->messages_between = way.all_between * pieces;
    figures->blocks_between = way.all_between * pieces;
    figures->rank_messages = pieces;
    figures->rank_blocks = pieces;
    if (!request->uniform)
        return MUSTER_OK;
    bool first_sends = schedule_pipe_rank_0_sends(request);
    figures->rank_messages = first_sends ? pieces : 0;
    schedule_figures_decide(figures, request);
    uint64_t others = links > 1 || !first_sends ? pieces + 1 : 1;
    if (figures->rank_messages < others)
        figures->rank_messages = others;
    return MUSTER_OK;
}

muster_status_t schedule_chain_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    switch (request->operation) {
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        return schedule_chain_scan_figures(request, figures);
    case OPERATION_BROADCAST:
    case OPERATION_REDUCE:
        return schedule_chain_pipe_figures(request, figures);
    default:
        return MUSTER_NOT_SUPPORTED;
    }
}
