/* The hosts family: passes through its two trees. */
#include "core/assertion.h"
#include "core/schedule_hosts_parts.h"

static const schedule_region_t schedule_hosts_nothing = {.buffer = SCHEDULE_NOTHING};

typedef struct schedule_hosts_pass {
    schedule_hosts_build_t *build;
    const schedule_hosts_tree_t *tree;
    unsigned slot;
    schedule_label_t label; /* ROUND, or of a decision */
} schedule_hosts_pass_t;

bool schedule_hosts_leads(const schedule_hosts_build_t *build)
{
    return build->rank == schedule_hosts_leader(&build->tree, build->host);
}

static bool schedule_hosts_leg_has_children(const schedule_hosts_leg_t *leg)
{
    return leg->at.span > 1;
}

bool schedule_hosts_has_children(const schedule_hosts_build_t *build)
{
    schedule_hosts_leg_t inside = schedule_hosts_inside(&build->tree, build->host, build->rank);
    if (schedule_hosts_leg_has_children(&inside))
        return true;
    schedule_hosts_leg_t between = schedule_hosts_between(&build->tree, build->host);
    return schedule_hosts_leads(build) && schedule_hosts_leg_has_children(&between);
}

/* Whether the rank takes part in the level, and how. */
static bool schedule_hosts_leg_of(const schedule_hosts_pass_t *pass, bool between,
                                  schedule_hosts_levels_t levels, schedule_hosts_leg_t *leg)
{
    const schedule_hosts_build_t *build = pass->build;
    if ((levels & (between ? SCHEDULE_HOSTS_BETWEEN : SCHEDULE_HOSTS_INSIDE)) == 0)
        return false;
    if (between && build->rank != schedule_hosts_leader(pass->tree, build->host))
        return false;
    *leg = between ? schedule_hosts_between(pass->tree, build->host)
                   : schedule_hosts_inside(pass->tree, build->host, build->rank);
    return true;
}

/*
 * A place and its children of a round meet, in a phase that has the round's number. A decision's
 * phases have none: there, each meeting is a group of its own, from the place to the end of what
 * its children of the round speak for. The top is rank 0 then, so that places are in rank order.
 */
static void schedule_hosts_phase(const schedule_hosts_pass_t *pass, const schedule_hosts_leg_t *leg,
                                 uint32_t round, uint32_t place)
{
    schedule_emitter_t *emit = &pass->build->emit;
    const uint32_t *first = pass->tree->hosts->first;
    if (pass->label == SCHEDULE_ROUND) {
        schedule_emit_round(emit, leg->between ? 0 : first[leg->host],
                            leg->between ? pass->build->size : first[leg->host + 1], pass->slot,
                            round);
        return;
    }
    uint64_t end = 1;
    for (uint32_t i = 0; i <= round; ++i)
        end *= leg->at.radix;
    end = place + end < leg->at.size ? place + end : leg->at.size;
    uint32_t left = leg->between ? first[place] : first[leg->host] + place;
    uint32_t right = leg->between ? first[end] : first[leg->host] + (uint32_t)end;
    schedule_emit_phase(emit, left, right, pass->slot, pass->label);
}

static uint32_t schedule_hosts_child(const schedule_hosts_leg_t *leg,
                                     const schedule_knomial_round_t *children, uint32_t number)
{
    return schedule_hosts_leg_rank(leg, children->first + number * children->stride);
}

/* ---- Up -------------------------------------------------------------------------------------- */

/* What comes from children is added to sum; without one, it is empty. */
static void schedule_hosts_climb(const schedule_hosts_pass_t *pass, const schedule_hosts_leg_t *leg,
                                 schedule_sum_t *sum)
{
    schedule_emitter_t *emit = &pass->build->emit;
    for (uint32_t round = 0; round < leg->at.level; ++round) {
        schedule_knomial_round_t children = schedule_knomial_children(&leg->at, round);
        if (children.count == 0)
            break;
        if (sum != NULL)
            schedule_sum_begin(sum, emit, children.count);
        schedule_hosts_phase(pass, leg, round, leg->at.place);
        for (uint32_t i = 0; i < children.count; ++i) {
            uint32_t child = schedule_hosts_child(leg, &children, i);
            if (sum != NULL)
                schedule_sum_add(sum, emit, child);
            else
                schedule_emit_place(emit, child, schedule_hosts_nothing, true);
        }
    }
    if (leg->at.place == 0)
        return;
    schedule_hosts_phase(pass, leg, leg->at.level, leg->at.parent);
    schedule_emit_send(emit, schedule_hosts_leg_rank(leg, leg->at.parent),
                       sum != NULL ? schedule_sum_value(sum) : schedule_hosts_nothing);
}

static void schedule_hosts_up(const schedule_hosts_pass_t *pass, schedule_hosts_levels_t levels,
                              schedule_sum_t *sum)
{
    schedule_hosts_leg_t leg;
    for (unsigned between = 0; between < 2; ++between)
        if (schedule_hosts_leg_of(pass, between, levels, &leg))
            schedule_hosts_climb(pass, &leg, sum);
}

static schedule_hosts_pass_t schedule_hosts_data(schedule_hosts_build_t *build, unsigned slot)
{
    return (schedule_hosts_pass_t){
        .build = build, .tree = &build->tree, .slot = slot, .label = SCHEDULE_ROUND};
}

void schedule_hosts_report(schedule_hosts_build_t *build, schedule_hosts_levels_t levels)
{
    schedule_hosts_pass_t pass = schedule_hosts_data(build, 0);
    schedule_hosts_up(&pass, levels, NULL);
}

void schedule_hosts_reduce_up(schedule_hosts_build_t *build, schedule_sum_t *sum)
{
    schedule_hosts_pass_t pass = schedule_hosts_data(build, 0);
    schedule_hosts_up(&pass, SCHEDULE_HOSTS_BOTH, sum);
}

void schedule_hosts_gather_inside(schedule_hosts_build_t *build)
{
    schedule_emitter_t *emit = &build->emit;
    schedule_hosts_pass_t pass = schedule_hosts_data(build, 0);
    schedule_hosts_leg_t leg = schedule_hosts_inside(&build->tree, build->host, build->rank);
    MUSTER_ASSERT(leg.at.top == 0);
    bool holds = schedule_hosts_leg_has_children(&leg) || leg.at.place == 0;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    if (holds && !build->in_place)
        schedule_emit_copy(emit, own, schedule_run(SCHEDULE_RECEIVE, build->rank, 1));
    if (holds)
        own = schedule_run(SCHEDULE_RECEIVE, build->rank, leg.at.span);
    for (uint32_t round = 0; round < leg.at.level; ++round) {
        schedule_knomial_round_t children = schedule_knomial_children(&leg.at, round);
        if (children.count == 0)
            break;
        schedule_hosts_phase(&pass, &leg, round, leg.at.place);
        for (uint32_t i = 0; i < children.count; ++i) {
            uint32_t place = children.first + i * children.stride;
            uint32_t left = leg.at.size - place;
            uint32_t child = schedule_hosts_leg_rank(&leg, place);
            schedule_emit_place(emit, child,
                                schedule_run(SCHEDULE_RECEIVE, child,
                                             left < children.stride ? left : children.stride),
                                true);
        }
    }
    if (leg.at.place == 0)
        return;
    schedule_hosts_phase(&pass, &leg, leg.at.level, leg.at.parent);
    schedule_emit_send(emit, schedule_hosts_leg_rank(&leg, leg.at.parent), own);
}

/* ---- Down ------------------------------------------------------------------------------------ */

static void schedule_hosts_descend(const schedule_hosts_pass_t *pass,
                                   const schedule_hosts_leg_t *leg, schedule_region_t data,
                                   bool early)
{
    schedule_emitter_t *emit = &pass->build->emit;
    if (leg->at.place != 0) {
        schedule_hosts_phase(pass, leg, leg->at.level, leg->at.parent);
        schedule_emit_place(emit, schedule_hosts_leg_rank(leg, leg->at.parent), data, early);
    }
    for (uint32_t round = leg->at.level; round-- > 0;) {
        schedule_knomial_round_t children = schedule_knomial_children(&leg->at, round);
        if (children.count == 0)
            continue;
        schedule_hosts_phase(pass, leg, round, leg->at.place);
        for (uint32_t i = 0; i < children.count; ++i)
            schedule_emit_send(emit, schedule_hosts_child(leg, &children, i), data);
    }
}

static void schedule_hosts_down(const schedule_hosts_pass_t *pass, schedule_hosts_levels_t levels,
                                schedule_region_t data, bool early)
{
    schedule_hosts_leg_t leg;
    for (unsigned between = 2; between-- > 0;)
        if (schedule_hosts_leg_of(pass, between, levels, &leg))
            schedule_hosts_descend(pass, &leg, data, early);
}

void schedule_hosts_spread(schedule_hosts_build_t *build, schedule_hosts_levels_t levels,
                           schedule_region_t data, bool early)
{
    schedule_hosts_pass_t pass = schedule_hosts_data(build, 1);
    schedule_hosts_down(&pass, levels, data, early);
}

/* ---- Decisions and meetings ------------------------------------------------------------------ */

void schedule_hosts_decision(schedule_hosts_build_t *build)
{
    if (build->on_the_way && build->rank == 0)
        schedule_emit_decision(&build->emit);
}

void schedule_hosts_decide(schedule_hosts_build_t *build)
{
    schedule_hosts_tree_t tree = schedule_hosts_tree(build->request, 0);
    schedule_hosts_pass_t pass = {
        .build = build, .tree = &tree, .slot = 1, .label = SCHEDULE_DECIDE_UP};
    schedule_hosts_up(&pass, SCHEDULE_HOSTS_BOTH, NULL);
    if (build->rank == 0)
        schedule_emit_decision(&build->emit);
    pass.label = SCHEDULE_DECIDE_DOWN;
    schedule_hosts_down(&pass, SCHEDULE_HOSTS_BOTH, schedule_hosts_nothing, true);
}

void schedule_hosts_meet(schedule_hosts_build_t *build, bool between, unsigned slot)
{
    schedule_emit_phase(&build->emit, between ? 0 : build->first,
                        between ? build->size : build->first + build->ranks, slot,
                        SCHEDULE_EXCHANGE);
}
