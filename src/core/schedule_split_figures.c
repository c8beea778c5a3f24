/*
 * Figures of the split family: in every level r places send r-1 others a chunk. What a broadcast
 * leaves out while it gathers is, pair by pair, what its tree has brought the other way: so both
 * together are as many messages and blocks, and between hosts too, as a whole gathering.
 */
#include "core/schedule_radix_figures.h"
#include "core/schedule_split.h"

typedef struct schedule_split_sums {
    const schedule_request_t *request;
    schedule_radix_plan_t plan;
    schedule_split_levels_t levels;
} schedule_split_sums_t;

static uint64_t schedule_split_peers(const schedule_split_sums_t *sums, uint32_t level)
{
    return sums->plan.radices[sums->levels.phases[level]] - 1;
}

static void schedule_split_add_level(const schedule_split_sums_t *sums, uint32_t level,
                                     bool reduces, schedule_figures_t *figures)
{
    schedule_radix_loads_t loads = {
        .load = SCHEDULE_RADIX_FIXED, .fixed = sums->levels.widths[level], .reduces = reduces};
    schedule_radix_add_phase(&sums->plan, sums->request, &loads, sums->levels.phases[level],
                             figures);
}

static void schedule_split_add_fold(const schedule_split_sums_t *sums, schedule_figures_t *figures)
{
    schedule_radix_add_pairs(&sums->plan, sums->request, true, sums->plan.core, true, figures);
    for (uint32_t level = sums->levels.count; level-- > 0;)
        schedule_split_add_level(sums, level, true, figures);
}

static void schedule_split_add_gather(const schedule_split_sums_t *sums,
                                      schedule_figures_t *figures)
{
    for (uint32_t level = 0; level < sums->levels.count; ++level)
        schedule_split_add_level(sums, level, false, figures);
    schedule_radix_add_pairs(&sums->plan, sums->request, false, sums->plan.core, false, figures);
}

/* Up the tree: every place but the root's sends its chunk once. */
static void schedule_split_add_up(const schedule_split_sums_t *sums, schedule_figures_t *figures)
{
    const schedule_split_levels_t *levels = &sums->levels;
    schedule_edges_t edges;
    schedule_edges_begin(&edges, sums->request, true, 0);
    for (uint32_t place = 0; place < sums->plan.core; ++place) {
        uint32_t level = schedule_split_level_of(levels, place);
        if (level == levels->count)
            continue;
        schedule_radix_meeting_t meeting = schedule_split_meet(levels, level, place);
        uint32_t up = schedule_radix_member(&meeting, schedule_split_root_number(levels, level));
        schedule_edges_add(&edges, level, schedule_radix_rank(&sums->plan, place),
                           schedule_radix_rank(&sums->plan, up), levels->widths[level]);
    }
    for (uint32_t level = 0; level < levels->count; ++level)
        edges.levels[level].round.received = schedule_split_peers(sums, level);
    schedule_edges_end(&edges, figures);
}

/* Down the tree: rounds only, as the gathering counts all messages. */
static void schedule_split_add_down(const schedule_split_sums_t *sums, schedule_figures_t *figures)
{
    const schedule_split_levels_t *levels = &sums->levels;
    schedule_edges_t edges;
    schedule_edges_begin(&edges, sums->request, true, 0);
    for (uint32_t place = 0; place < sums->plan.core; ++place) {
        uint32_t rank = schedule_radix_rank(&sums->plan, place);
        for (uint32_t level = schedule_split_level_of(levels, place); level-- > 0;) {
            schedule_radix_meeting_t meeting = schedule_split_meet(levels, level, place);
            for (uint32_t number = 0; number < meeting.radix; ++number)
                if (number != meeting.own)
                    schedule_edges_add(
                        &edges, levels->count - 1 - level, rank,
                        schedule_radix_rank(&sums->plan, schedule_radix_member(&meeting, number)),
                        levels->widths[level]);
        }
    }
    edges.total = (schedule_round_t){0};
    schedule_edges_end(&edges, figures);
}

/* Messages that a place sends in a level, both ways; it is like the root below level `like`. */
static uint64_t schedule_split_sent(const schedule_split_sums_t *sums, uint32_t level,
                                    uint32_t like)
{
    uint64_t peers = schedule_split_peers(sums, level);
    switch (sums->request->operation) {
    case OPERATION_ALLREDUCE:
        return 2 * peers;
    case OPERATION_REDUCE:
        return level == like ? peers + 1 : peers; /* its chunk to above */
    default:
        return level < like ? 2 * peers : level == like ? peers - 1 : peers; /* above has it all */
    }
}

static void schedule_split_add_rank(const schedule_split_sums_t *sums, uint32_t rank,
                                    schedule_figures_t *figures)
{
    operation_t operation = sums->request->operation;
    const schedule_split_levels_t *levels = &sums->levels;
    uint32_t place = schedule_radix_place(&sums->plan, rank);
    bool proxy = schedule_radix_extra(&sums->plan, place) != SCHEDULE_NO_RANK;
    bool hands = operation != OPERATION_BROADCAST; /* extras their vectors in */
    if (schedule_radix_is_extra(&sums->plan, rank)) {
        schedule_radix_raise(sums->request, rank, hands, hands * sums->plan.core, figures);
        return;
    }
    uint32_t like = schedule_split_level_of(levels, place);
    uint64_t out = proxy && operation != OPERATION_REDUCE; /* of the result, to extras */
    uint64_t messages = out;
    uint64_t blocks = out * sums->plan.core;
    for (uint32_t level = 0; level < levels->count; ++level) {
        uint64_t sent = schedule_split_sent(sums, level, like);
        messages += sent;
        blocks += sent * levels->widths[level];
    }
    schedule_radix_raise(sums->request, rank, messages, blocks, figures);
}

static void schedule_split_add_rounds(const schedule_split_sums_t *sums,
                                      schedule_figures_t *figures)
{
    operation_t operation = sums->request->operation;
    if (operation == OPERATION_BROADCAST)
        schedule_split_add_down(sums, figures);
    else
        schedule_split_add_fold(sums, figures);
    if (operation == OPERATION_REDUCE)
        schedule_split_add_up(sums, figures);
    else
        schedule_split_add_gather(sums, figures);
}

muster_status_t schedule_split_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    schedule_request_t first = *request;
    schedule_t none = {0};
    first.rank = 0;
    first.uniform = false; /* the decision is counted by itself */
    if (schedule_split(&first, &none) != MUSTER_OK)
        return MUSTER_NOT_SUPPORTED;
    bool rooted = operation_is_rooted(request->operation);
    schedule_split_sums_t sums = {.request = request};
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1 ||
        schedule_radix_plan(&sums.plan, &request->radix, request->size,
                            rooted ? request->root : SCHEDULE_NO_RANK) != MUSTER_OK)
        return MUSTER_OK;
    schedule_split_begin(&sums.levels, &sums.plan, schedule_split_is_backwards(request->operation),
                         rooted ? schedule_radix_place(&sums.plan, request->root) : 0);
    figures->pieces = sums.plan.core;
    schedule_split_add_rounds(&sums, figures);
    schedule_figures_decide(figures, request);
    figures->rank_messages = 0;
    for (uint32_t rank = 0; rank < (rooted ? request->size : 1); ++rank)
        schedule_split_add_rank(&sums, rank, figures);
    return MUSTER_OK;
}
