/* What a stage of a tree's schedule adds to its figures, whatever the layout of hosts. */
#include "core/schedule_tree_stage.h"

#include "core/assertion.h"
#include "core/schedule_edges.h"

static void schedule_raise(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static uint64_t schedule_stage_blocks(const schedule_plan_t *plan, const schedule_stage_t *stage,
                                      split_part_t part)
{
    if (stage->load == SCHEDULE_LOAD_PART)
        return part.size * stage->width;
    if (stage->load == SCHEDULE_LOAD_TOTAL && part.left + part.size == plan->size)
        return 0;
    return stage->width;
}

/* ---- A pass, edge by edge -------------------------------------------------------------------- */

typedef struct schedule_frame {
    split_part_t range;
    uint32_t part, count; /* the next part, and how many */
} schedule_frame_t;

static schedule_frame_t schedule_plan_frame(const schedule_plan_t *plan, split_part_t range)
{
    return (schedule_frame_t){.range = range, .count = split_count(range.size, plan->arity)};
}

/* Groups of one level are met from left to right. */
static void schedule_plan_pass(const schedule_plan_t *plan, const schedule_stage_t *stage,
                               schedule_figures_t *figures)
{
    schedule_edges_t edges;
    schedule_frame_t frames[SPLIT_PATH_MAX];
    uint32_t depth = 0;
    schedule_edges_begin(&edges, plan->request, stage->kind == SCHEDULE_STAGE_DOWN,
                         stage->reduces ? stage->width : 0);
    frames[0] = schedule_plan_frame(plan, (split_part_t){0, plan->size});
    for (;;) { /* each turn passes a part or leaves a group */
        schedule_frame_t *frame = &frames[depth];
        if (frame->part == frame->count) {
            if (depth-- == 0)
                break;
            continue;
        }
        uint32_t leader = plan->flat ? stage->centre : frame->range.left;
        split_part_t part = split_part(frame->range.size, plan->arity, frame->part++);
        part.left += frame->range.left;
        if (depth >= stage->top && part.left != leader && part.left != stage->except)
            schedule_edges_add(&edges, depth, leader, part.left,
                               schedule_stage_blocks(plan, stage, part));
        if (part.size > 1) {
            MUSTER_ASSERT(depth + 1 < SPLIT_PATH_MAX);
            frames[++depth] = schedule_plan_frame(plan, part);
        }
    }
    schedule_edges_end(&edges, figures);
}

/* ---- Relay and exchange ---------------------------------------------------------------------- */

static void schedule_plan_relay(const schedule_plan_t *plan, const schedule_stage_t *stage,
                                schedule_figures_t *figures)
{
    bool between = schedule_host_of(plan->request, stage->centre) !=
                   schedule_host_of(plan->request, stage->except);
    uint64_t away = between ? stage->width : 0;
    schedule_figures_add(figures, (schedule_round_t){.times = 1,
                                                     .messages = 1,
                                                     .received = 1,
                                                     .blocks = stage->width,
                                                     .messages_between = between,
                                                     .blocks_between = away,
                                                     .host_blocks_between = away});
    figures->messages += 1;
    figures->blocks += stage->width;
    figures->messages_between += between;
    figures->blocks_between += away;
}

/* Leaders of the top parts on one host, one after the other. The first has the widest part. */
typedef struct schedule_neighbours {
    uint64_t leaders, ranks, widest, squares;
} schedule_neighbours_t;

static void schedule_exchange_host(const schedule_plan_t *plan, uint64_t members,
                                   const schedule_neighbours_t *here, schedule_round_t *round,
                                   schedule_figures_t *figures)
{
    uint64_t away = plan->size - here->ranks;
    figures->messages += here->leaders * (members - 1);
    figures->blocks += here->ranks * plan->size - here->squares;
    figures->messages_between += here->leaders * (members - here->leaders);
    figures->blocks_between += here->ranks * away;
    schedule_raise(&round->blocks, here->widest * (plan->size - here->widest));
    schedule_raise(&round->copied, here->widest * plan->size);
    schedule_raise(&round->messages_between, members - here->leaders);
    schedule_raise(&round->blocks_between, here->widest * away);
    schedule_raise(&round->host_blocks_between, here->ranks * away);
}

static void schedule_plan_exchange(const schedule_plan_t *plan, schedule_figures_t *figures)
{
    uint32_t members = split_count(plan->size, plan->arity);
    schedule_round_t round = {.times = 1, .messages = members - 1, .received = members - 1};
    schedule_neighbours_t here = {0};
    uint32_t host = 0;
    for (uint32_t index = 0; index < members; ++index) {
        split_part_t part = split_part(plan->size, plan->arity, index);
        uint32_t next = schedule_host_of(plan->request, part.left);
        if (next != host && here.leaders > 0) {
            schedule_exchange_host(plan, members, &here, &round, figures);
            here = (schedule_neighbours_t){0};
        }
        host = next;
        here.leaders += 1;
        here.ranks += part.size;
        here.squares += (uint64_t)part.size * part.size;
        schedule_raise(&here.widest, part.size);
    }
    schedule_exchange_host(plan, members, &here, &round, figures);
    schedule_figures_add(figures, round);
}

void schedule_plan_stage(const schedule_plan_t *plan, const schedule_stage_t *stage,
                         schedule_figures_t *figures)
{
    switch ((schedule_stage_kind_t)stage->kind) {
    case SCHEDULE_STAGE_UP:
    case SCHEDULE_STAGE_DOWN:
        schedule_plan_pass(plan, stage, figures);
        break;
    case SCHEDULE_STAGE_RELAY:
        schedule_plan_relay(plan, stage, figures);
        break;
    case SCHEDULE_STAGE_EXCHANGE:
        schedule_plan_exchange(plan, figures);
        break;
    }
}

/* ---- One rank, in all ------------------------------------------------------------------------ */

static bool schedule_stage_passes_over(const schedule_plan_t *plan, const schedule_stage_t *stage,
                                       const split_group_t *group)
{
    uint32_t except = stage->except;
    if (except == SPLIT_NONE || except <= group->left || except >= group->right)
        return false;
    uint32_t index = split_classify(group->right - group->left, plan->arity, except - group->left);
    return split_member(group, plan->arity, index).left == except;
}

static schedule_totals_t schedule_stage_of_level(const schedule_plan_t *plan,
                                                 const schedule_stage_t *stage,
                                                 const split_group_t *group)
{
    bool leads = group->index == (plan->flat ? stage->centre : 0);
    split_part_t own = split_member(group, plan->arity, group->index);
    if (stage->kind == SCHEDULE_STAGE_UP)
        return leads ? (schedule_totals_t){0, 0}
                     : (schedule_totals_t){1, schedule_stage_blocks(plan, stage, own)};
    if (!leads)
        return (schedule_totals_t){0, 0};
    uint64_t members = group->members - 1 - schedule_stage_passes_over(plan, stage, group);
    uint64_t others = group->right - group->left - own.size;
    return (schedule_totals_t){members, stage->width *
                                            (stage->load == SCHEDULE_LOAD_PART ? others : members)};
}

void schedule_plan_rank(const schedule_plan_t *plan, uint32_t rank, schedule_figures_t *figures)
{
    split_group_t path[SPLIT_PATH_MAX];
    uint32_t depth = split_path(plan->size, plan->arity, rank, path);
    schedule_totals_t totals = {0, 0};
    for (uint32_t i = 0; i < plan->count; ++i) {
        const schedule_stage_t *stage = &plan->stages[i];
        if (stage->kind == SCHEDULE_STAGE_RELAY) {
            totals.messages += rank == stage->centre;
            totals.blocks += rank == stage->centre ? stage->width : 0;
            continue;
        }
        bool in_top = path[0].left == 0 && path[0].right == plan->size;
        if (stage->kind == SCHEDULE_STAGE_EXCHANGE) {
            uint64_t own = split_member(&path[0], plan->arity, path[0].index).size;
            totals.messages += in_top ? path[0].members - 1 : 0;
            totals.blocks += in_top ? own * (plan->size - own) : 0;
            continue;
        }
        for (uint32_t level = in_top ? stage->top : 0; level < depth; ++level) {
            schedule_totals_t more = schedule_stage_of_level(plan, stage, &path[level]);
            totals.messages += more.messages;
            totals.blocks += more.blocks;
        }
    }
    schedule_raise(&figures->rank_messages, totals.messages);
    schedule_raise(&figures->rank_blocks, totals.blocks);
}
