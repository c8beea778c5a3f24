/* The tree family: dispatch, and the operations that only move data. */
#include "core/assertion.h"
#include "core/schedule_tree_parts.h"

void schedule_tree_decision(schedule_tree_t *tree)
{
    if (tree->on_the_way && tree->rank == 0)
        schedule_emit_decision(&tree->emit);
}

void schedule_tree_relay(schedule_tree_t *tree, unsigned slot)
{
    schedule_emit_phase(&tree->emit, 0, tree->size, slot, SCHEDULE_RELAY);
}

static void schedule_tree_barrier(schedule_tree_t *tree)
{
    schedule_walk_up(&tree->walk, 0, SCHEDULE_UP);
    schedule_tree_decision(tree);
    schedule_walk_down(&tree->walk, 1, SCHEDULE_DOWN);
}

static void schedule_tree_broadcast(schedule_tree_t *tree)
{
    schedule_region_t data =
        schedule_run(tree->rank == tree->root ? SCHEDULE_SEND : SCHEDULE_RECEIVE, 0, 1);
    if (tree->on_the_way)
        schedule_walk_up(&tree->walk, 0, SCHEDULE_UP);
    schedule_tree_decision(tree);
    if (tree->relayed && tree->rank == tree->root) {
        schedule_tree_relay(tree, 0);
        schedule_emit_send(&tree->emit, 0, data);
    } else if (tree->relayed && tree->rank == 0) {
        schedule_tree_relay(tree, 0);
        schedule_emit_place(&tree->emit, tree->root, data, true);
    }
    /* The root of a relayed broadcast has the data before its leader does. */
    schedule_walk_spread(&tree->walk, data, true, tree->relayed ? tree->root : SPLIT_NONE);
}

static void schedule_tree_gather(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_bundle_t bundle = {.base = walk->base, .width = 1};
    split_part_t part = {.left = walk->base, .size = walk->span};
    if (tree->rank == walk->centre && !tree->relayed) {
        bundle.buffer = SCHEDULE_RECEIVE;
        if (!tree->in_place)
            schedule_emit_copy(&tree->emit, own, schedule_run(SCHEDULE_RECEIVE, tree->rank, 1));
    } else if (walk->span > 1) {
        bundle.buffer = SCHEDULE_SCRATCH;
        bundle.first = schedule_emit_scratch(&tree->emit, walk->span);
        schedule_emit_copy(&tree->emit, own, schedule_run(SCHEDULE_SCRATCH, bundle.first, 1));
        own = schedule_bundle_part(&bundle, part);
    }
    schedule_walk_gather(walk, &bundle, own, false);
    schedule_tree_decision(tree);
    if (tree->relayed && tree->rank == 0) {
        schedule_tree_relay(tree, 1);
        schedule_emit_send(&tree->emit, tree->root, own);
    } else if (tree->relayed && tree->rank == tree->root) {
        schedule_tree_relay(tree, 1);
        schedule_emit_place(&tree->emit, 0, schedule_run(SCHEDULE_RECEIVE, 0, tree->size),
                            !tree->in_place);
    }
    if (tree->on_the_way)
        schedule_walk_down(walk, 1, SCHEDULE_DOWN);
}

static void schedule_tree_scatter(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    bool centre = tree->rank == walk->centre;
    schedule_bundle_t bundle = {.base = walk->base, .width = 1};
    schedule_region_t own = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    if (centre && !tree->relayed) {
        bundle.buffer = SCHEDULE_SEND;
    } else if (walk->span > 1) {
        bundle.buffer = SCHEDULE_SCRATCH;
        bundle.first = schedule_emit_scratch(&tree->emit, walk->span);
        own = schedule_run(SCHEDULE_SCRATCH, bundle.first, walk->span);
    } else if (tree->in_place) {
        /* The block comes back to the root, which has it and may not write it. */
        own = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(&tree->emit, 1), 1);
    }
    if (tree->relayed && tree->rank == tree->root) {
        schedule_tree_relay(tree, 0);
        schedule_emit_send(&tree->emit, 0, schedule_run(SCHEDULE_SEND, 0, tree->size));
    } else if (tree->relayed && centre) {
        schedule_tree_relay(tree, 0);
        schedule_emit_place(&tree->emit, tree->root, own, true);
    }
    schedule_walk_scatter(walk, &bundle, own, true);
    if (bundle.buffer != SCHEDULE_NOTHING && !tree->in_place)
        schedule_emit_copy(
            &tree->emit,
            schedule_bundle_part(&bundle, (split_part_t){.left = tree->rank, .size = 1}),
            schedule_run(SCHEDULE_RECEIVE, 0, 1));
}

static void schedule_tree_allgather(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    const schedule_bundle_t bundle = {
        .buffer = SCHEDULE_RECEIVE, .first = 0, .base = 0, .width = 1};
    bool leader = walk->children > 0;
    if (leader && !tree->in_place)
        schedule_emit_copy(&tree->emit, own, schedule_run(SCHEDULE_RECEIVE, tree->rank, 1));
    if (leader)
        own = schedule_bundle_part(&bundle, (split_part_t){.left = walk->base, .size = walk->span});
    schedule_walk_gather(walk, &bundle, own, false);
    schedule_tree_decision(tree);
    schedule_walk_spread(walk, schedule_run(SCHEDULE_RECEIVE, 0, tree->size),
                         !leader && !tree->in_place, SPLIT_NONE);
}

bool schedule_tree_decides_on_the_way(const schedule_request_t *request)
{
    switch (request->operation) {
    case OPERATION_BARRIER:
        return request->uniform;
    case OPERATION_ALLREDUCE:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return request->uniform && request->small;
    case OPERATION_BROADCAST:
    case OPERATION_REDUCE:
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        return request->uniform && request->small && request->root == 0;
    default:
        return false;
    }
}

static muster_status_t schedule_tree_build(schedule_tree_t *tree)
{
    switch (tree->request->operation) {
    case OPERATION_BARRIER:
        schedule_tree_barrier(tree);
        return MUSTER_OK;
    case OPERATION_BROADCAST:
        schedule_tree_broadcast(tree);
        return MUSTER_OK;
    case OPERATION_REDUCE:
        schedule_tree_reduce(tree);
        return MUSTER_OK;
    case OPERATION_ALLREDUCE:
        schedule_tree_allreduce(tree);
        return MUSTER_OK;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        schedule_tree_gather(tree);
        return MUSTER_OK;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        schedule_tree_scatter(tree);
        return MUSTER_OK;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        schedule_tree_allgather(tree);
        return MUSTER_OK;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        schedule_tree_alltoall(tree);
        return MUSTER_OK;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        schedule_tree_reduce_scatter(tree);
        return MUSTER_OK;
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        schedule_tree_scan(tree);
        return MUSTER_OK;
    case OPERATION_COUNT:
        break;
    }
    return MUSTER_NOT_SUPPORTED;
}

muster_status_t schedule_tree(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->arity >= 2);
    MUSTER_ASSERT(request->rank < request->size && request->root < request->size);
    if ((unsigned)request->operation >= OPERATION_COUNT)
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_tree_t tree = {
        .request = request,
        .size = request->size,
        .rank = request->rank,
        .root = operation_is_rooted(request->operation) ? request->root : 0,
        .on_the_way = schedule_tree_decides_on_the_way(request),
    };
    bool flat = schedule_walk_is_flat(request);
    tree.in_place =
        request->in_place && schedule_may_be_in_place(request->operation, tree.rank, tree.root);
    tree.relayed = tree.root != 0 && !flat;
    schedule_emit_begin(&tree.emit, schedule, tree.rank);
    schedule_walk_begin(&tree.walk, &tree.emit, request, flat ? tree.root : 0);
    muster_status_t status = schedule_tree_build(&tree);
    if (status != MUSTER_OK)
        return status;
    if (request->uniform && !tree.on_the_way)
        schedule_walk_decide(&tree.walk);
    schedule->carrier = request->operation == OPERATION_GATHERV ||
                        request->operation == OPERATION_SCATTERV ||
                        request->operation == OPERATION_ALLTOALLV;
    schedule->self_deciding = tree.on_the_way;
    schedule_emit_end(&tree.emit);
    return MUSTER_OK;
}
