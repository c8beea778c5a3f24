/*
 * Figures of the k-nomial family. Every edge is met once, in the order of places; of blocks that
 * are gathered or scattered, each travels once for every digit of its place that is not 0.
 */
#include "core/assertion.h"
#include "core/schedule_edges.h"
#include "core/schedule_knomial.h"

typedef enum schedule_knomial_load {
    SCHEDULE_KNOMIAL_EMPTY = 0,
    SCHEDULE_KNOMIAL_VALUE, /* one block on every edge */
    SCHEDULE_KNOMIAL_PARTS  /* a block for every place that the member speaks for */
} schedule_knomial_load_t;

typedef struct schedule_knomial_plan {
    const schedule_request_t *request;
    schedule_knomial_place_t top;
    schedule_knomial_load_t up, down;
    bool goes_up, goes_down, relays;
} schedule_knomial_plan_t;

static uint64_t schedule_knomial_blocks(schedule_knomial_load_t load, uint32_t span)
{
    if (load == SCHEDULE_KNOMIAL_PARTS)
        return span;
    return load == SCHEDULE_KNOMIAL_VALUE;
}

static schedule_knomial_plan_t schedule_knomial_plan(const schedule_request_t *request)
{
    schedule_knomial_plan_t plan = {.request = request};
    bool on_the_way = schedule_knomial_decides_on_the_way(request);
    uint32_t top = schedule_knomial_top(request);
    plan.top = schedule_knomial_at(request->size, schedule_knomial_radix(request), top, top);
    switch (request->operation) {
    case OPERATION_BROADCAST:
        plan.down = SCHEDULE_KNOMIAL_VALUE;
        plan.goes_up = on_the_way;
        plan.goes_down = true;
        break;
    case OPERATION_REDUCE:
        plan.up = SCHEDULE_KNOMIAL_VALUE;
        plan.goes_up = true;
        plan.goes_down = on_the_way;
        plan.relays = request->root != top;
        break;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        plan.up = SCHEDULE_KNOMIAL_PARTS;
        plan.goes_up = true;
        plan.goes_down = on_the_way;
        break;
    default: /* scatter, scatterv */
        plan.down = SCHEDULE_KNOMIAL_PARTS;
        plan.goes_down = true;
        break;
    }
    return plan;
}

/* Blocks that the top copies: its own, and those of the child whose blocks lie at both ends. */
static uint64_t schedule_knomial_copied(const schedule_knomial_plan_t *plan)
{
    uint32_t child, span;
    uint64_t own = plan->request->in_place ? 0 : 1;
    return schedule_knomial_wraps(&plan->top, &child, &span) ? own + span : own;
}

static void schedule_knomial_pass(const schedule_knomial_plan_t *plan, bool down,
                                  schedule_figures_t *figures)
{
    const schedule_knomial_place_t *top = &plan->top;
    schedule_knomial_load_t load = down ? plan->down : plan->up;
    bool reduces = !down && plan->request->operation == OPERATION_REDUCE;
    schedule_edges_t edges;
    schedule_edges_begin(&edges, plan->request, down, reduces);
    for (uint32_t place = 1; place < top->size; ++place) {
        schedule_knomial_place_t at = schedule_knomial_at_place(top, place);
        schedule_edges_add(&edges, top->highest - at.level, schedule_knomial_rank(top, at.parent),
                           schedule_knomial_rank(top, place),
                           schedule_knomial_blocks(load, at.span));
    }
    if (load == SCHEDULE_KNOMIAL_PARTS)
        edges.levels[0].round.copied = schedule_knomial_copied(plan);
    schedule_edges_end(&edges, figures);
}

static void schedule_knomial_relay_figures(const schedule_knomial_plan_t *plan,
                                           schedule_figures_t *figures)
{
    const schedule_request_t *request = plan->request;
    uint64_t between =
        schedule_host_of(request, plan->top.top) != schedule_host_of(request, request->root);
    schedule_figures_add(figures, (schedule_round_t){.times = 1,
                                                     .messages = 1,
                                                     .received = 1,
                                                     .blocks = 1,
                                                     .messages_between = between,
                                                     .blocks_between = between,
                                                     .host_blocks_between = between});
    figures->messages += 1;
    figures->blocks += 1;
    figures->messages_between += between;
    figures->blocks_between += between;
}

/* What a rank sends in all, its part in an appended decision included. */
static void schedule_knomial_rank_figures(const schedule_knomial_plan_t *plan, uint32_t rank,
                                          schedule_figures_t *figures)
{
    const schedule_request_t *request = plan->request;
    schedule_knomial_place_t at =
        schedule_knomial_at(plan->top.size, plan->top.radix, plan->top.top, rank);
    uint64_t messages = 0, blocks = 0;
    for (uint32_t round = 0; plan->goes_down && round < at.level; ++round) {
        uint64_t count = schedule_knomial_children(&at, round).count;
        messages += count;
        if (plan->down == SCHEDULE_KNOMIAL_VALUE)
            blocks += count;
    }
    if (plan->down == SCHEDULE_KNOMIAL_PARTS)
        blocks += at.span - 1;
    if (plan->goes_up && at.place != 0) {
        messages += 1;
        blocks += schedule_knomial_blocks(plan->up, at.span);
    }
    if (plan->relays && at.place == 0) {
        messages += 1;
        blocks += 1;
    }
    if (request->uniform && !schedule_knomial_decides_on_the_way(request))
        messages += rank == 0 ? request->size - 1 : 1;
    if (messages > figures->rank_messages)
        figures->rank_messages = messages;
    if (blocks > figures->rank_blocks)
        figures->rank_blocks = blocks;
}

/* The top sends most downwards, its widest children do upwards, and rank 0 in a decision. */
static void schedule_knomial_busiest(const schedule_knomial_plan_t *plan,
                                     schedule_figures_t *figures)
{
    const schedule_knomial_place_t *top = &plan->top;
    figures->rank_messages = 0;
    schedule_knomial_rank_figures(plan, 0, figures);
    schedule_knomial_rank_figures(plan, top->top, figures);
    for (uint32_t round = top->highest, seen = 0; seen < 2; --round, ++seen) {
        schedule_knomial_round_t children = schedule_knomial_children(top, round);
        schedule_knomial_rank_figures(plan, schedule_knomial_rank(top, children.first), figures);
        if (round == 0)
            break;
    }
}

muster_status_t schedule_knomial_figures(const schedule_request_t *request,
                                         schedule_figures_t *figures)
{
    if (!operation_is_rooted(request->operation))
        return MUSTER_NOT_SUPPORTED;
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1)
        return MUSTER_OK;
    schedule_knomial_plan_t plan = schedule_knomial_plan(request);
    if (plan.goes_up)
        schedule_knomial_pass(&plan, false, figures);
    if (plan.relays)
        schedule_knomial_relay_figures(&plan, figures);
    if (plan.goes_down)
        schedule_knomial_pass(&plan, true, figures);
    if (!schedule_knomial_decides_on_the_way(request))
        schedule_figures_decide(figures, request);
    schedule_knomial_busiest(&plan, figures);
    return MUSTER_OK;
}
