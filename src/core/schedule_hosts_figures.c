/*
 * Figures of the hosts family. Its trees are followed edge by edge; what hosts and their ranks
 * exchange beside is counted host by host.
 */
#include "core/assertion.h"
#include "core/schedule_edges.h"
#include "core/schedule_hosts.h"
#include "core/schedule_hosts_far.h"

typedef enum schedule_hosts_load {
    SCHEDULE_HOSTS_EMPTY = 0,
    SCHEDULE_HOSTS_VALUE, /* so many blocks on every edge as the pass is wide */
    SCHEDULE_HOSTS_PARTS  /* a block for every rank that the member speaks for; inside only */
} schedule_hosts_load_t;

typedef struct schedule_hosts_way {
    schedule_hosts_load_t load;
    uint64_t width;
    bool goes, between, reduces;
} schedule_hosts_way_t;

typedef enum schedule_hosts_middle {
    SCHEDULE_HOSTS_NO_MIDDLE = 0,
    SCHEDULE_HOSTS_RELAY,
    SCHEDULE_HOSTS_LEADERS_EXCHANGE,
    SCHEDULE_HOSTS_LEADERS_DISSEMINATE,
    SCHEDULE_HOSTS_FAR /* all ranks exchange, nothing goes up or down */
} schedule_hosts_middle_t;

/* Up, what happens in the middle, down, and the appended decision. */
typedef struct schedule_hosts_plan {
    const schedule_request_t *request;
    schedule_hosts_tree_t tree, decision;
    schedule_hosts_way_t up, down;
    schedule_hosts_middle_t middle;
    bool decides;
    uint32_t carriers; /* of slices, on each host */
} schedule_hosts_plan_t;

static void schedule_raise(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static uint64_t schedule_hosts_blocks(const schedule_hosts_way_t *way, uint64_t span)
{
    switch (way->load) {
    case SCHEDULE_HOSTS_VALUE:
        return way->width;
    case SCHEDULE_HOSTS_PARTS:
        return span;
    case SCHEDULE_HOSTS_EMPTY:
        break;
    }
    return 0;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* The rounds of the deepest tree inside a host. */
static uint32_t schedule_hosts_inside_rounds(const schedule_hosts_tree_t *tree)
{
    uint32_t widest = 1;
    for (uint32_t host = 0; host < tree->hosts->count; ++host)
        if (schedule_hosts_ranks(tree, host) > widest)
            widest = schedule_hosts_ranks(tree, host);
    return schedule_knomial_at(widest, tree->inside_radix, 0, 0).level;
}

/* The edges of one tree; its round p is level `deepest` - p. */
static void schedule_hosts_edges(schedule_edges_t *edges, const schedule_hosts_way_t *way,
                                 schedule_hosts_leg_t top, uint32_t deepest)
{
    MUSTER_ASSERT(top.at.place == 0);
    for (uint32_t place = 1; place < top.at.size; ++place) {
        schedule_knomial_place_t at = schedule_knomial_at_place(&top.at, place);
        schedule_edges_add(edges, deepest - at.level, schedule_hosts_leg_rank(&top, at.parent),
                           schedule_hosts_leg_rank(&top, place),
                           schedule_hosts_blocks(way, at.span));
    }
}

static void schedule_hosts_pass(const schedule_hosts_plan_t *plan,
                                const schedule_hosts_tree_t *tree, const schedule_hosts_way_t *way,
                                bool down, schedule_figures_t *figures)
{
    schedule_edges_t edges;
    uint32_t hosts = tree->hosts->count;
    schedule_hosts_leg_t top = schedule_hosts_between(tree, tree->top_host);
    uint32_t rounds = way->between ? top.at.level : 0;
    if (!way->goes)
        return;
    schedule_edges_begin(&edges, plan->request, down, way->reduces);
    if (way->between)
        schedule_hosts_edges(&edges, way, top, rounds - 1);
    rounds += schedule_hosts_inside_rounds(tree);
    for (uint32_t host = 0; host < hosts; ++host)
        schedule_hosts_edges(&edges, way,
                             schedule_hosts_inside(tree, host, schedule_hosts_leader(tree, host)),
                             rounds - 1);
    schedule_edges_end(&edges, figures);
}

/* ---- The middle ------------------------------------------------------------------------------ */

static void schedule_hosts_add(schedule_figures_t *figures, schedule_round_t round,
                               schedule_totals_t totals)
{
    schedule_figures_add(figures, round);
    figures->messages += totals.messages;
    figures->blocks += totals.blocks;
    figures->messages_between += totals.messages;
    figures->blocks_between += totals.blocks;
}

static void schedule_hosts_relays(const schedule_hosts_plan_t *plan, schedule_figures_t *figures)
{
    uint64_t between = schedule_host_of(plan->request, plan->request->root) != plan->tree.top_host;
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

static void schedule_hosts_leaders_exchange(const schedule_hosts_plan_t *plan,
                                            schedule_figures_t *figures)
{
    uint64_t hosts = plan->tree.hosts->count;
    uint64_t widest = 0;
    for (uint32_t host = 0; host < hosts; ++host)
        schedule_raise(&widest, schedule_hosts_ranks(&plan->tree, host));
    schedule_round_t round = {.times = 1,
                              .messages = hosts - 1,
                              .received = hosts - 1,
                              .blocks = widest * (hosts - 1),
                              .messages_between = hosts - 1,
                              .blocks_between = widest * (hosts - 1),
                              .host_blocks_between = widest * (hosts - 1)};
    schedule_hosts_add(figures, round,
                       (schedule_totals_t){.messages = hosts * (hosts - 1),
                                           .blocks = plan->request->size * (hosts - 1)});
}

/* What one leader sends; a round at a time where figures are wanted. */
static uint64_t schedule_hosts_disseminates(const schedule_hosts_plan_t *plan,
                                            schedule_figures_t *figures)
{
    uint64_t hosts = plan->tree.hosts->count;
    uint64_t radix = plan->tree.between_radix;
    uint64_t sent = 0;
    for (uint64_t distance = 1; distance < hosts; distance *= radix) {
        uint64_t messages = (hosts - 1) / distance;
        if (messages > radix - 1)
            messages = radix - 1;
        sent += messages;
        if (figures != NULL)
            schedule_hosts_add(figures,
                               (schedule_round_t){.times = 1,
                                                  .messages = messages,
                                                  .received = messages,
                                                  .messages_between = messages},
                               (schedule_totals_t){.messages = hosts * messages, .blocks = 0});
    }
    return sent;
}

static void schedule_hosts_in_the_middle(const schedule_hosts_plan_t *plan,
                                         schedule_figures_t *figures)
{
    switch (plan->middle) {
    case SCHEDULE_HOSTS_NO_MIDDLE:
        break;
    case SCHEDULE_HOSTS_RELAY:
        schedule_hosts_relays(plan, figures);
        break;
    case SCHEDULE_HOSTS_LEADERS_EXCHANGE:
        schedule_hosts_leaders_exchange(plan, figures);
        break;
    case SCHEDULE_HOSTS_LEADERS_DISSEMINATE:
        (void)schedule_hosts_disseminates(plan, figures);
        break;
    case SCHEDULE_HOSTS_FAR:
        schedule_hosts_far_rounds(plan->request, figures);
        break;
    }
}

/* ---- One rank, in all ------------------------------------------------------------------------ */

static void schedule_hosts_rank_pass(const schedule_hosts_tree_t *tree,
                                     const schedule_hosts_way_t *way, bool down, uint32_t rank,
                                     uint32_t host, schedule_totals_t *totals)
{
    bool leads = rank == schedule_hosts_leader(tree, host);
    for (unsigned between = 0; way->goes && between < 2; ++between) {
        if (between && (!leads || !way->between))
            break;
        schedule_hosts_leg_t leg =
            between ? schedule_hosts_between(tree, host) : schedule_hosts_inside(tree, host, rank);
        if (!down && leg.at.place != 0) {
            totals->messages += 1;
            totals->blocks += schedule_hosts_blocks(way, leg.at.span);
        }
        for (uint32_t round = 0; down && round < leg.at.level; ++round) {
            uint64_t count = schedule_knomial_children(&leg.at, round).count;
            totals->messages += count;
            totals->blocks += count * schedule_hosts_blocks(way, 0);
        }
    }
}

static void schedule_hosts_rank_middle(const schedule_hosts_plan_t *plan, uint32_t rank,
                                       uint32_t host, schedule_totals_t *totals)
{
    uint64_t others = plan->tree.hosts->count - 1;
    schedule_totals_t far;
    if (rank != schedule_hosts_leader(&plan->tree, host))
        return;
    switch (plan->middle) {
    case SCHEDULE_HOSTS_NO_MIDDLE:
        break;
    case SCHEDULE_HOSTS_RELAY:
        totals->messages += rank == plan->tree.top;
        totals->blocks += rank == plan->tree.top;
        break;
    case SCHEDULE_HOSTS_LEADERS_EXCHANGE:
        totals->messages += others;
        totals->blocks += others * schedule_hosts_ranks(&plan->tree, host);
        break;
    case SCHEDULE_HOSTS_LEADERS_DISSEMINATE:
        totals->messages += schedule_hosts_disseminates(plan, NULL);
        break;
    case SCHEDULE_HOSTS_FAR:
        far = schedule_hosts_far_rank(plan->request, host, plan->carriers);
        totals->messages += far.messages;
        totals->blocks += far.blocks;
        break;
    }
}

static const schedule_hosts_way_t schedule_hosts_empty_way = {
    .load = SCHEDULE_HOSTS_EMPTY, .goes = true, .between = true};

static void schedule_hosts_rank_figures(const schedule_hosts_plan_t *plan, uint32_t rank,
                                        uint32_t host, schedule_figures_t *figures)
{
    schedule_totals_t totals = {0, 0};
    schedule_hosts_rank_pass(&plan->tree, &plan->up, false, rank, host, &totals);
    schedule_hosts_rank_middle(plan, rank, host, &totals);
    schedule_hosts_rank_pass(&plan->tree, &plan->down, true, rank, host, &totals);
    for (unsigned down = 0; plan->decides && down < 2; ++down)
        schedule_hosts_rank_pass(&plan->decision, &schedule_hosts_empty_way, down, rank, host,
                                 &totals);
    schedule_raise(&figures->rank_messages, totals.messages);
    schedule_raise(&figures->rank_blocks, totals.blocks);
}

/* Leaders send most; in the top's host, another rank may lead where rank 0 decides. */
static void schedule_hosts_busiest(const schedule_hosts_plan_t *plan, schedule_figures_t *figures)
{
    const schedule_hosts_t *hosts = plan->tree.hosts;
    uint32_t top_host = plan->tree.top_host;
    for (uint32_t host = 0; host < hosts->count; ++host)
        schedule_hosts_rank_figures(plan, hosts->first[host], host, figures);
    for (uint32_t rank = hosts->first[top_host]; rank < hosts->first[top_host + 1]; ++rank)
        schedule_hosts_rank_figures(plan, rank, top_host, figures);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void schedule_hosts_follow(const schedule_hosts_plan_t *plan, schedule_figures_t *figures)
{
    schedule_hosts_pass(plan, &plan->tree, &plan->up, false, figures);
    schedule_hosts_in_the_middle(plan, figures);
    schedule_hosts_pass(plan, &plan->tree, &plan->down, true, figures);
    for (unsigned down = 0; plan->decides && down < 2; ++down)
        schedule_hosts_pass(plan, &plan->decision, &schedule_hosts_empty_way, down, figures);
    schedule_hosts_busiest(plan, figures);
}

static void schedule_hosts_plan_both_ways(schedule_hosts_plan_t *plan, bool on_the_way)
{
    schedule_hosts_way_t empty = schedule_hosts_empty_way;
    schedule_hosts_way_t value = {
        .load = SCHEDULE_HOSTS_VALUE, .width = 1, .goes = true, .between = true};
    switch (plan->request->operation) {
    case OPERATION_BARRIER:
        empty.between = on_the_way;
        plan->up = empty;
        plan->down = empty;
        plan->middle = on_the_way ? SCHEDULE_HOSTS_NO_MIDDLE : SCHEDULE_HOSTS_LEADERS_DISSEMINATE;
        break;
    case OPERATION_ALLREDUCE:
        plan->down = value;
        plan->up = value;
        plan->up.reduces = true;
        break;
    default: /* allgather, allgatherv */
        plan->up =
            (schedule_hosts_way_t){.load = SCHEDULE_HOSTS_PARTS, .goes = true, .between = false};
        plan->middle = SCHEDULE_HOSTS_LEADERS_EXCHANGE;
        plan->down = value;
        plan->down.width = plan->request->size;
        plan->down.between = false;
        break;
    }
}

static void schedule_hosts_plan_rooted(schedule_hosts_plan_t *plan, bool on_the_way)
{
    schedule_hosts_way_t value = {
        .load = SCHEDULE_HOSTS_VALUE, .width = 1, .goes = true, .between = true};
    schedule_hosts_way_t other = schedule_hosts_empty_way;
    other.goes = on_the_way;
    if (plan->request->operation == OPERATION_BROADCAST) {
        plan->up = other;
        plan->down = value;
        return;
    }
    plan->up = value;
    plan->up.reduces = true;
    plan->down = other;
    if (plan->request->root != plan->tree.top)
        plan->middle = SCHEDULE_HOSTS_RELAY;
}

static bool schedule_hosts_goes_far(const schedule_request_t *request)
{
    return request->radix.far && (request->operation == OPERATION_ALLREDUCE ||
                                  request->operation == OPERATION_ALLGATHER ||
                                  request->operation == OPERATION_ALLGATHERV);
}

muster_status_t schedule_hosts_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    if (!schedule_hosts_supports(request->operation) || !schedule_hosts_are_several(request))
        return MUSTER_NOT_SUPPORTED;
    bool on_the_way = schedule_hosts_decide_on_the_way(request);
    schedule_hosts_plan_t plan = {
        .request = request,
        .tree = schedule_hosts_tree(request, schedule_hosts_top(request)),
        .decision = schedule_hosts_tree(request, 0),
        .decides = request->uniform && !on_the_way,
        .carriers = schedule_hosts_smallest(request->hosts),
    };
    *figures = (schedule_figures_t){.pieces = 1};
    if (schedule_hosts_goes_far(request))
        plan.middle = SCHEDULE_HOSTS_FAR;
    else if (operation_is_rooted(request->operation))
        schedule_hosts_plan_rooted(&plan, on_the_way);
    else
        schedule_hosts_plan_both_ways(&plan, on_the_way);
    schedule_hosts_follow(&plan, figures);
    return MUSTER_OK;
}
