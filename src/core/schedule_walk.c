#include "core/schedule_walk.h"

#include "core/assertion.h"

static const schedule_region_t schedule_no_blocks = {.buffer = SCHEDULE_NOTHING};

bool schedule_walk_is_flat(const schedule_request_t *request)
{
    return request->arity >= request->size;
}

void schedule_walk_begin(schedule_walk_t *walk, schedule_emitter_t *emit,
                         const schedule_request_t *request, uint32_t centre)
{
    MUSTER_ASSERT(request->size >= 2 && request->arity >= 2 && request->rank < request->size);
    walk->emit = emit;
    walk->size = request->size;
    walk->rank = request->rank;
    walk->flat = schedule_walk_is_flat(request);
    walk->arity = walk->flat ? request->size : request->arity;
    walk->centre = centre;
    MUSTER_ASSERT(centre == 0 || walk->flat);
    walk->depth = split_path(walk->size, walk->arity, walk->rank, walk->path);
    MUSTER_ASSERT(walk->depth >= 1);
    if (walk->rank == centre) {
        walk->base = 0;
        walk->span = walk->size;
    } else {
        walk->base = walk->rank;
        walk->span = schedule_walk_member(walk, 0, walk->path[0].index).size;
    }
    walk->children = 0;
    for (uint32_t level = 0; level < walk->depth; ++level)
        if (schedule_walk_leads(walk, level))
            walk->children += walk->path[level].members - 1;
}

uint32_t schedule_walk_leader_index(const schedule_walk_t *walk)
{
    return walk->centre; /* 0 in a tree: leaders are leftmost */
}

bool schedule_walk_leads(const schedule_walk_t *walk, uint32_t level)
{
    return walk->path[level].index == schedule_walk_leader_index(walk);
}

split_part_t schedule_walk_member(const schedule_walk_t *walk, uint32_t level, uint32_t index)
{
    return split_member(&walk->path[level], walk->arity, index);
}

uint32_t schedule_walk_leader(const schedule_walk_t *walk, uint32_t level)
{
    return schedule_walk_member(walk, level, schedule_walk_leader_index(walk)).left;
}

void schedule_walk_phase(const schedule_walk_t *walk, uint32_t level, unsigned slot,
                         schedule_label_t label)
{
    const split_group_t *group = &walk->path[level];
    schedule_emit_phase(walk->emit, group->left, group->right, slot, label);
}

schedule_region_t schedule_bundle_part(const schedule_bundle_t *bundle, split_part_t part)
{
    if (bundle->buffer == SCHEDULE_NOTHING)
        return schedule_no_blocks;
    MUSTER_ASSERT(part.left >= bundle->base);
    return schedule_run(bundle->buffer, bundle->first + (part.left - bundle->base) * bundle->width,
                        part.size * bundle->width);
}

static void schedule_walk_collect(const schedule_walk_t *walk, const schedule_bundle_t *bundle,
                                  schedule_region_t own, uint32_t top, unsigned slot,
                                  schedule_label_t label)
{
    for (uint32_t level = walk->depth; level-- > top;) {
        schedule_walk_phase(walk, level, slot, label);
        if (!schedule_walk_leads(walk, level)) {
            schedule_emit_send(walk->emit, schedule_walk_leader(walk, level), own);
            continue;
        }
        for (uint32_t index = 0; index < walk->path[level].members; ++index) {
            if (index == schedule_walk_leader_index(walk))
                continue;
            split_part_t part = schedule_walk_member(walk, level, index);
            schedule_emit_place(walk->emit, part.left, schedule_bundle_part(bundle, part), true);
        }
    }
}

void schedule_walk_gather(const schedule_walk_t *walk, const schedule_bundle_t *bundle,
                          schedule_region_t own, bool skip_top)
{
    schedule_walk_collect(walk, bundle, own, skip_top ? 1 : 0, 0, SCHEDULE_UP);
}

void schedule_walk_up(const schedule_walk_t *walk, unsigned slot, schedule_label_t label)
{
    const schedule_bundle_t nothing = {.buffer = SCHEDULE_NOTHING};
    schedule_walk_collect(walk, &nothing, schedule_no_blocks, 0, slot, label);
}

void schedule_walk_scatter(const schedule_walk_t *walk, const schedule_bundle_t *bundle,
                           schedule_region_t own, bool early)
{
    for (uint32_t level = 0; level < walk->depth; ++level) {
        schedule_walk_phase(walk, level, 1, SCHEDULE_DOWN);
        if (!schedule_walk_leads(walk, level)) {
            schedule_emit_place(walk->emit, schedule_walk_leader(walk, level), own, early);
            continue;
        }
        for (uint32_t index = 0; index < walk->path[level].members; ++index) {
            if (index == schedule_walk_leader_index(walk))
                continue;
            split_part_t part = schedule_walk_member(walk, level, index);
            schedule_emit_send(walk->emit, part.left, schedule_bundle_part(bundle, part));
        }
    }
}

/* A leader's phase of a downward pass in which all members get the same. */
static void schedule_walk_tell(const schedule_walk_t *walk, uint32_t level, unsigned slot,
                               schedule_label_t label, schedule_region_t data, uint32_t except)
{
    bool opened = false;
    for (uint32_t index = 0; index < walk->path[level].members; ++index) {
        uint32_t member = schedule_walk_member(walk, level, index).left;
        if (index == schedule_walk_leader_index(walk) || member == except)
            continue;
        if (!opened)
            schedule_walk_phase(walk, level, slot, label);
        opened = true;
        schedule_emit_send(walk->emit, member, data);
    }
}

static void schedule_walk_hand_down(const schedule_walk_t *walk, unsigned slot,
                                    schedule_label_t label, schedule_region_t data, bool early,
                                    uint32_t except)
{
    for (uint32_t level = 0; level < walk->depth; ++level) {
        if (schedule_walk_leads(walk, level)) {
            schedule_walk_tell(walk, level, slot, label, data, except);
        } else if (walk->rank != except) {
            schedule_walk_phase(walk, level, slot, label);
            schedule_emit_place(walk->emit, schedule_walk_leader(walk, level), data, early);
        }
    }
}

void schedule_walk_spread(const schedule_walk_t *walk, schedule_region_t data, bool early,
                          uint32_t except)
{
    schedule_walk_hand_down(walk, 1, SCHEDULE_DOWN, data, early, except);
}

void schedule_walk_down(const schedule_walk_t *walk, unsigned slot, schedule_label_t label)
{
    schedule_walk_hand_down(walk, slot, label, schedule_no_blocks, true, SPLIT_NONE);
}

void schedule_walk_decide(const schedule_walk_t *walk)
{
    schedule_walk_t decision = *walk;
    decision.centre = 0;
    schedule_walk_up(&decision, 1, SCHEDULE_DECIDE_UP);
    if (decision.rank == 0)
        schedule_emit_decision(decision.emit);
    schedule_walk_down(&decision, 1, SCHEDULE_DECIDE_DOWN);
}

void schedule_walk_append_decision(schedule_emitter_t *emit, const schedule_request_t *request)
{
    if (!request->uniform)
        return;
    schedule_request_t star = *request;
    star.arity = request->size;
    schedule_walk_t walk;
    schedule_walk_begin(&walk, emit, &star, 0);
    schedule_walk_decide(&walk);
}
