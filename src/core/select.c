#include "core/select.h"

#include <string.h>

#include "core/assertion.h"
#include "core/radix_choice.h"

#define SELECT_NS UINT64_C(1000)

/* ---- Sums and products that stop at the end ---- */

static uint64_t select_add(uint64_t one, uint64_t other)
{
    return one > SELECT_FOREVER - other ? SELECT_FOREVER : one + other;
}

static uint64_t select_times(uint64_t one, uint64_t other)
{
    return other != 0 && one > SELECT_FOREVER / other ? SELECT_FOREVER : one * other;
}

static uint64_t select_larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* ---- Cost ---- */

select_parameters_t select_builtin(void)
{
    return (select_parameters_t){
        .inside = {.latency = 4000 * SELECT_NS, .message = 2500 * SELECT_NS, .byte = 150},
        .between = {.latency = 15000 * SELECT_NS, .message = 2500 * SELECT_NS, .byte = 800},
        .reduce = 120,
        .copy = 60,
        .cores = 0,
    };
}

/* Blocks are pieces of a vector: so many bytes take so many blocks, rounded up. */
static uint64_t select_bytes(const schedule_figures_t *figures, uint64_t blocks, uint64_t bytes)
{
    uint64_t pieces = figures->pieces > 1 ? figures->pieces : 1;
    uint64_t whole = select_times(blocks / pieces, bytes);
    uint64_t rest = select_times(blocks % pieces, bytes);
    return select_add(whole, rest == SELECT_FOREVER ? rest : (rest + pieces - 1) / pieces);
}

static uint64_t select_round_cost(const schedule_figures_t *figures, const schedule_round_t *round,
                                  const select_parameters_t *parameters, uint64_t bytes)
{
    bool between = round->messages_between > 0;
    const select_link_t *in = &parameters->inside, *out = &parameters->between;
    uint64_t inside_messages = round->messages - round->messages_between;
    /* A rank sends and receives at once: what is more counts. */
    uint64_t handled = select_larger(round->messages, round->received);
    uint64_t busy = select_add(select_times(inside_messages, in->message),
                               select_times(round->messages_between, out->message));
    if (handled > round->messages)
        busy = select_add(
            busy, select_times(handled - round->messages, between ? out->message : in->message));
    uint64_t moved =
        select_times(select_bytes(figures, round->blocks - round->blocks_between, bytes), in->byte);
    uint64_t carried =
        select_times(select_bytes(figures, round->host_blocks_between, bytes), out->byte);
    uint64_t cost = select_add(between ? out->latency : in->latency, busy);
    cost = select_add(cost, select_larger(moved, carried));
    cost = select_add(
        cost, select_times(select_bytes(figures, round->reduced, bytes), parameters->reduce));
    return select_add(cost,
                      select_times(select_bytes(figures, round->copied, bytes), parameters->copy));
}

/* All that the ranks do, if the cores of all hosts share it out evenly. */
static uint64_t select_work(const schedule_figures_t *figures,
                            const select_parameters_t *parameters, uint32_t hosts, uint64_t bytes)
{
    const select_link_t *in = &parameters->inside, *out = &parameters->between;
    uint64_t inside = figures->messages - figures->messages_between;
    uint64_t work = select_add(select_times(inside, 2 * in->message),
                               select_times(figures->messages_between, 2 * out->message));
    uint64_t moved = select_bytes(figures, figures->blocks - figures->blocks_between, bytes);
    work = select_add(work, select_times(moved, in->byte));
    return work / ((uint64_t)parameters->cores * hosts);
}

uint64_t select_cost(const schedule_figures_t *figures, const select_parameters_t *parameters,
                     uint32_t ranks, uint32_t hosts, uint64_t bytes)
{
    MUSTER_ASSERT(hosts >= 1);
    uint64_t cost = 0;
    for (uint32_t i = 0; i < figures->round_count; i++) {
        const schedule_round_t *round = &figures->rounds[i];
        uint64_t one = select_round_cost(figures, round, parameters, bytes);
        cost = select_add(cost, select_times(round->times, one));
    }
    if (parameters->cores == 0 || ranks / hosts <= parameters->cores)
        return cost;
    return select_larger(cost, select_work(figures, parameters, hosts, bytes));
}

/* ---- Plans ---- */

void select_apply(const select_plan_t *plan, schedule_request_t *request)
{
    request->arity = plan->arity;
    request->radix = plan->radix;
    request->segments = plan->segments;
}

bool select_is_same(const select_plan_t *one, const select_plan_t *other)
{
    return one->family == other->family && one->arity == other->arity &&
           one->segments == other->segments && radix_sequence_equal(&one->radix, &other->radix);
}

void select_print(const select_plan_t *plan, text_t *text)
{
    text_string(text, schedule_family_name(plan->family));
    if (plan->family == SCHEDULE_FAMILY_TREE) {
        text_string(text, " of ");
        text_number(text, plan->arity);
    }
    if (plan->radix.count > 0) {
        text_character(text, ' ');
        radix_sequence_print(&plan->radix, text);
    }
    if (plan->segments > 1) {
        text_string(text, " in ");
        text_number(text, plan->segments);
        text_string(text, " segments");
    }
}

/* ---- Candidates ---- */

typedef struct select_search {
    const schedule_request_t *request;
    const select_parameters_t *parameters;
    const select_limits_t *limits;
    uint64_t bytes;
    uint32_t hosts;
    uint32_t count;
    select_candidate_t *candidates;
} select_search_t;

/* Keeps the list sorted; of equal costs, the one that came first stays first. */
static void select_insert(select_search_t *search, const select_candidate_t *candidate)
{
    uint32_t at = search->count;
    if (at == SELECT_PLANS_MAX) {
        if (candidate->cost >= search->candidates[at - 1].cost)
            return;
        at--;
    } else {
        search->count++;
    }
    for (; at > 0 && search->candidates[at - 1].cost > candidate->cost; at--)
        search->candidates[at] = search->candidates[at - 1];
    search->candidates[at] = *candidate;
}

/*
 * Whether the plan reduces as a left fold in rank order, x0 op x1 op ..., whatever the size of the
 * team and of the message (C420): everybody's values to one rank, or to every rank, or along the
 * chain.
 */
static bool select_is_canonical(const select_plan_t *plan, const schedule_request_t *request)
{
    operation_t operation = request->operation;
    if (!operation_is_reducing(operation))
        return true;
    if (operation == OPERATION_SCAN || operation == OPERATION_EXSCAN)
        return plan->family == SCHEDULE_FAMILY_CHAIN;
    return plan->family == SCHEDULE_FAMILY_DIRECT ||
           (plan->family == SCHEDULE_FAMILY_TREE && plan->arity >= request->size);
}

static void select_try(select_search_t *search, select_plan_t plan)
{
    schedule_request_t request = *search->request;
    schedule_figures_t figures;
    if (search->limits && search->limits->reproducible && !select_is_canonical(&plan, &request))
        return;
    for (uint32_t i = 0; i < search->count; i++)
        if (select_is_same(&search->candidates[i].plan, &plan))
            return;
    select_apply(&plan, &request);
    if (schedule_family_figures(plan.family)(&request, &figures) != MUSTER_OK)
        return;
    select_candidate_t candidate = {
        .plan = plan,
        .cost =
            select_cost(&figures, search->parameters, request.size, search->hosts, search->bytes),
    };
    select_insert(search, &candidate);
}

static select_plan_t select_plain(const select_search_t *search, schedule_family_t family)
{
    return (select_plan_t){.family = family, .arity = search->request->size};
}

static radix_sequence_t select_fixed(uint16_t radix)
{
    return (radix_sequence_t){.factors = {radix}, .count = 1};
}

static void select_fixed_radices(select_search_t *search, schedule_family_t family)
{
    static const uint16_t radices[] = {2, 3, 4, 5, 6, 8, 10, 16};
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++) {
        select_plan_t plan = select_plain(search, family);
        plan.radix = select_fixed(radices[i]);
        if (i == 0 || radices[i] < search->request->size)
            select_try(search, plan);
    }
}

static void select_both_ways(select_search_t *search, schedule_family_t family,
                             const radix_sequence_t *sequence)
{
    select_plan_t plan = select_plain(search, family);
    plan.radix = *sequence;
    select_try(search, plan);
    if (search->hosts == 1)
        return;
    plan.radix.far = !plan.radix.far;
    select_try(search, plan);
}

static void select_reverse(radix_sequence_t *sequence)
{
    for (uint32_t i = 0; i < sequence->count / 2U; i++) {
        uint16_t kept = sequence->factors[i];
        sequence->factors[i] = sequence->factors[sequence->count - 1 - i];
        sequence->factors[sequence->count - 1 - i] = kept;
    }
}

/* Hosts first and far, or the host first and near: levels that follow the machine (C613). */
static void select_by_hosts(select_search_t *search, schedule_family_t family)
{
    uint32_t each = schedule_hosts_each(search->request->hosts);
    if (each < 2 || each > RADIX_MAX)
        return;
    radix_sequence_t among;
    if (!radix_published(search->hosts, 0, &among)) {
        if (search->hosts > RADIX_MAX)
            return;
        among = select_fixed((uint16_t)search->hosts);
    }
    if (among.count == RADIX_FACTORS_MAX)
        return;
    radix_sequence_t sequence = among;
    sequence.factors[sequence.count++] = (uint16_t)each;
    sequence.far = true;
    select_plan_t plan = select_plain(search, family);
    plan.radix = sequence;
    select_try(search, plan);
    select_reverse(&sequence);
    sequence.far = false;
    plan.radix = sequence;
    select_try(search, plan);
}

/* Exact sequences: the published ones (C611); with measured parameters also all others in order. */
static void select_exact(select_search_t *search, schedule_family_t family)
{
    uint32_t size = search->request->size;
    uint64_t total = select_times(search->bytes, size);
    radix_sequence_t sequence;
    bool published = radix_published(size, total, &sequence);
    if (published)
        select_both_ways(search, family, &sequence);
    if (search->hosts > 1)
        select_by_hosts(search, family);
    if (!search->parameters->measured && search->hosts == 1)
        return;
    static const uint16_t sets[][8] = {
        {2, 3, 5, 7},       {3, 2, 5, 7},       {4, 3, 2, 5, 7}, {4, 2, 3, 5, 7},
        {6, 4, 3, 2, 5, 7}, {8, 4, 3, 2, 5, 7}, {9, 3, 2, 5, 7}, {12, 8, 6, 4, 3, 2, 5, 7}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        size_t count = 0;
        while (count < 8 && sets[i][count] != 0)
            count++;
        if (!radix_decompose(size, sets[i], count, &sequence))
            continue;
        select_both_ways(search, family, &sequence);
        select_reverse(&sequence);
        select_both_ways(search, family, &sequence);
    }
    if (radix_published(size, RADIX_PUBLISHED_LARGE, &sequence))
        select_both_ways(search, family, &sequence);
}

/* By leaders, in trees of several radices; and far first by all ranks, in what has such a form. */
static void select_levels(select_search_t *search, schedule_family_t family)
{
    operation_t operation = search->request->operation;
    if (search->hosts == 1)
        return;
    select_fixed_radices(search, family);
    if (operation == OPERATION_BARRIER || operation_is_rooted(operation))
        return;
    select_plan_t plan = select_plain(search, family);
    plan.radix = select_fixed(2);
    plan.radix.far = true;
    select_try(search, plan);
}

static void select_arities(select_search_t *search, schedule_family_t family)
{
    static const uint32_t arities[] = {2, 3, 4, 8, 16};
    select_try(search, select_plain(search, family)); /* a star */
    for (size_t i = 0; i < sizeof arities / sizeof *arities; i++) {
        select_plan_t plan = select_plain(search, family);
        plan.arity = arities[i];
        if (plan.arity < search->request->size)
            select_try(search, plan);
    }
}

static void select_segments(select_search_t *search, schedule_family_t family)
{
    static const uint32_t counts[] = {1, 4, 16, 64};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        select_plan_t plan = select_plain(search, family);
        plan.segments = counts[i];
        if (i == 0 || search->bytes / counts[i] >= 4096) /* shorter ones only cost */
            select_try(search, plan);
    }
}

static bool select_is_named(schedule_family_t family, const char *name)
{
    const char *own = schedule_family_name(family);
    return strlen(own) == strlen(name) && memcmp(own, name, strlen(name)) == 0;
}

/* A radix for each digit, of any team. */
static bool select_is_cyclic(schedule_family_t family)
{
    return family == SCHEDULE_FAMILY_CYCLIC || family == SCHEDULE_FAMILY_BRUCK;
}

static void select_family(select_search_t *search, schedule_family_t family)
{
    const select_limits_t *limits = search->limits;
    bool follows = select_is_named(family, "radix") || select_is_named(family, "split");
    bool rooted = select_is_named(family, "knomial");
    if (limits && limits->has_radix) {
        bool fits = follows ||
                    ((rooted || select_is_cyclic(family)) && (limits->radix.count == 1 || !rooted));
        select_plan_t plan = select_plain(search, family);
        plan.radix = limits->radix;
        if (fits)
            select_try(search, plan);
        if (fits || limits->only_radix)
            return;
    }
    if (family == SCHEDULE_FAMILY_TREE) {
        select_arities(search, family);
    } else if (follows) {
        select_exact(search, family);
        select_fixed_radices(search, family);
    } else if (family == SCHEDULE_FAMILY_HOSTS) {
        select_levels(search, family);
    } else if (rooted || select_is_cyclic(family)) {
        select_fixed_radices(search, family);
    } else if (family == SCHEDULE_FAMILY_CHAIN) {
        select_segments(search, family);
    } else {
        select_try(search, select_plain(search, family));
    }
}

/* ---- Choice ---- */

/*
 * With built-in parameters, allgather on one host whose ranks all have a core follows the published
 * rule (C611).
 */
static bool select_by_rule(const schedule_request_t *request, const select_parameters_t *parameters,
                           const select_limits_t *limits, uint64_t bytes, select_plan_t *plan)
{
    bool gathers =
        request->operation == OPERATION_ALLGATHER || request->operation == OPERATION_ALLGATHERV;
    bool one_host = request->hosts == NULL || request->hosts->count == 1;
    bool limited = limits && (limits->has_family || limits->has_radix || limits->reproducible);
    bool shared = parameters->cores > 0 && parameters->cores < request->size;
    if (!gathers || !one_host || limited || shared || parameters->measured)
        return false;
    radix_sequence_t sequence;
    if (!radix_published(request->size, select_times(bytes, request->size), &sequence))
        return false;
    for (unsigned family = 0; family < SCHEDULE_FAMILY_COUNT; family++) {
        if (!select_is_named((schedule_family_t)family, "radix"))
            continue;
        *plan = (select_plan_t){
            .family = (schedule_family_t)family, .arity = request->size, .radix = sequence};
        return true;
    }
    return false;
}

bool select_to_front(select_candidate_t *candidates, uint32_t count, const select_plan_t *plan)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!select_is_same(&candidates[i].plan, plan))
            continue;
        select_candidate_t first = candidates[i];
        for (; i > 0; i--)
            candidates[i] = candidates[i - 1];
        candidates[0] = first;
        return true;
    }
    return false;
}

uint32_t select_candidates(const schedule_request_t *request, const select_parameters_t *parameters,
                           const select_limits_t *limits, uint64_t bytes,
                           select_candidate_t *candidates)
{
    MUSTER_ASSERT(request->size >= 1);
    select_search_t search = {
        .request = request,
        .parameters = parameters,
        .limits = limits,
        .bytes = bytes,
        .hosts = request->hosts ? request->hosts->count : 1,
        .candidates = candidates,
    };
    for (unsigned family = 0; family < SCHEDULE_FAMILY_COUNT; family++) {
        bool wanted = !limits || !limits->has_family || limits->family == family;
        if (wanted)
            select_family(&search, (schedule_family_t)family);
    }
    select_plan_t ruled;
    if (select_by_rule(request, parameters, limits, bytes, &ruled))
        select_to_front(candidates, search.count, &ruled);
    return search.count;
}

muster_status_t select_choose(const schedule_request_t *request,
                              const select_parameters_t *parameters, const select_limits_t *limits,
                              uint64_t bytes, select_plan_t *plan)
{
    select_candidate_t candidates[SELECT_PLANS_MAX];
    if (select_by_rule(request, parameters, limits, bytes, plan))
        return MUSTER_OK;
    if (select_candidates(request, parameters, limits, bytes, candidates) == 0)
        return MUSTER_NOT_SUPPORTED;
    *plan = candidates[0].plan;
    return MUSTER_OK;
}
