/* The tree family: reductions whose result is one value. */
#include "core/assertion.h"
#include "core/schedule_tree_parts.h"

/*
 * A leader is the leftmost of its part and its groups follow each other from left to right,
 * deepest first, so that combining each arrival into one accumulator keeps rank order. Before the
 * first arrival the accumulator is to hold the rank's own value. Where just one arrives first, it
 * is placed there and own op it computed in its place, without a copy; where several do, the own
 * value is copied, so that they can be combined while others are on their way.
 */
void schedule_tree_reduce_up(schedule_tree_t *tree, uint64_t width, schedule_region_t result,
                             bool holds_own)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, width);
    bool started = holds_own;
    for (uint32_t level = walk->depth; level-- > 0;) {
        if (!schedule_walk_leads(walk, level)) {
            schedule_walk_phase(walk, level, 0, SCHEDULE_UP);
            schedule_emit_send(emit, schedule_walk_leader(walk, level), started ? result : own);
            continue;
        }
        uint32_t members = walk->path[level].members;
        bool only_one = !started && members == 2;
        if (!started && !only_one)
            schedule_emit_copy(emit, own, result);
        started = true;
        schedule_walk_phase(walk, level, 0, SCHEDULE_UP);
        for (uint32_t index = 1; index < members; ++index) {
            uint32_t member = schedule_walk_member(walk, level, index).left;
            if (only_one) {
                schedule_emit_place(emit, member, result, true);
                schedule_emit_reduce(emit, own, result, result);
            } else {
                uint64_t staging = schedule_emit_scratch(emit, width);
                schedule_emit_combine(emit, member, schedule_run(SCHEDULE_SCRATCH, staging, width),
                                      result);
            }
        }
    }
}

/* The root of a star that is not rank 0: its own value belongs in the middle. */
static void schedule_tree_reduce_at_centre(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    schedule_fold_t fold = {
        .size = tree->size,
        .rank = tree->rank,
        .width = 1,
        .own = schedule_run(SCHEDULE_SEND, 0, 1),
        .first = result,
        .stride = 1,
        .into = result,
    };
    if (tree->in_place) { /* the result's place holds the own value until that has been used */
        fold.first = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(emit, 1), 1);
        fold.from_rank = tree->rank;
    }
    fold.stage = schedule_emit_scratch(emit, tree->size - 2);
    schedule_walk_phase(walk, 0, 0, SCHEDULE_UP);
    for (uint32_t rank = 0; rank < tree->size; ++rank)
        if (rank != tree->rank)
            schedule_emit_place(emit, rank, schedule_fold_place(&fold, rank), true);
    schedule_fold_emit(&fold, emit);
}

void schedule_tree_reduce(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    bool at_root = tree->rank == tree->root;
    if (at_root && walk->flat && tree->root != 0) {
        schedule_tree_reduce_at_centre(tree);
        return;
    }
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    if (!at_root && walk->children > 0)
        result = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(emit, 1), 1);
    schedule_tree_reduce_up(tree, 1, result, tree->in_place);
    schedule_tree_decision(tree);
    if (tree->relayed && tree->rank == 0) {
        schedule_tree_relay(tree, 1);
        schedule_emit_send(emit, tree->root, result);
    } else if (tree->relayed && at_root) {
        schedule_tree_relay(tree, 1);
        schedule_emit_place(emit, 0, result, walk->children == 0 && !tree->in_place);
    }
    if (tree->on_the_way)
        schedule_walk_down(walk, 1, SCHEDULE_DOWN);
}

void schedule_tree_allreduce(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    schedule_tree_reduce_up(tree, 1, result, tree->in_place);
    schedule_tree_decision(tree);
    schedule_walk_spread(walk, result, walk->children == 0 && !tree->in_place, SPLIT_NONE);
}

void schedule_tree_reduce_scatter(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    schedule_region_t own = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    schedule_region_t row = own;
    schedule_bundle_t bundle = {.base = 0, .width = 1};
    bool leader = walk->children > 0;
    if (leader) {
        bundle.buffer = SCHEDULE_SCRATCH;
        bundle.first = schedule_emit_scratch(emit, tree->size);
        row = schedule_run(SCHEDULE_SCRATCH, bundle.first, tree->size);
        own = schedule_bundle_part(&bundle, (split_part_t){.left = walk->base, .size = walk->span});
    }
    schedule_tree_reduce_up(tree, tree->size, row, false);
    schedule_walk_scatter(walk, &bundle, own, !leader && !tree->in_place);
    if (leader)
        schedule_emit_copy(
            emit, schedule_bundle_part(&bundle, (split_part_t){.left = tree->rank, .size = 1}),
            schedule_run(SCHEDULE_RECEIVE, 0, 1));
}
