/*
 * The tree family: scans. On the way up every rank sends the total of its part, and a leader turns
 * what it has received into running totals of its own part:
 *
 *     slot 0: own        slot j: own op total of child 1 op ... op total of child j
 *
 * On the way down every rank gets the prefix: the reduction over all ranks left of its part. Child
 * j gets prefix op slot j - 1. Children are numbered from 1 in rank order: those of the deepest
 * group first. Only rank 0 has nothing to its left; its prefix is the initial value, if there is
 * one. Where a part ends with the last rank, nobody needs its total: the message up is empty then.
 */
#include "core/assertion.h"
#include "core/schedule_tree_parts.h"

typedef struct schedule_scan {
    schedule_tree_t *tree;
    uint64_t slots;           /* slot j, from 1 on, is scratch block slots + j - 1 */
    schedule_region_t own;    /* slot 0: SEND, or scratch */
    schedule_region_t prefix; /* of ranks but 0 */
    schedule_region_t result;
    bool inclusive;
    bool starts_with_initial; /* rank 0 of an exscan with an initial value */
    bool needs_total;         /* there are ranks right of the part */
} schedule_scan_t;

static schedule_region_t schedule_scan_slot(const schedule_scan_t *scan, uint32_t child)
{
    return child == 0 ? scan->own : schedule_run(SCHEDULE_SCRATCH, scan->slots + child - 1, 1);
}

static void schedule_scan_prepare(schedule_scan_t *scan)
{
    schedule_tree_t *tree = scan->tree;
    schedule_emitter_t *emit = &tree->emit;
    schedule_region_t send = schedule_run(SCHEDULE_SEND, 0, 1);
    uint32_t children = tree->walk.children;
    scan->inclusive = tree->request->operation == OPERATION_SCAN;
    scan->starts_with_initial = !scan->inclusive && tree->rank == 0 && tree->request->initial;
    scan->needs_total = tree->walk.base + tree->walk.span < tree->size;
    scan->own = send;
    scan->result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    scan->prefix = scan->result;
    if (scan->inclusive && tree->in_place && tree->rank != 0)
        scan->prefix = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(emit, 1), 1);
    /* A leader of an exscan needs prefix op own for its first child, beside the prefix itself. */
    if (!scan->inclusive && children > 0 && (tree->rank != 0 || scan->starts_with_initial)) {
        scan->own = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(emit, 1), 1);
        if (scan->starts_with_initial)
            schedule_emit_reduce(emit, schedule_run(SCHEDULE_INITIAL, 0, 1), send, scan->own);
        else if (tree->in_place) /* the prefix will come to where the own value lies */
            schedule_emit_copy(emit, send, scan->own);
    }
    if (children > 0)
        scan->slots = schedule_emit_scratch(emit, scan->needs_total ? children : children - 1);
}

static void schedule_scan_up(const schedule_scan_t *scan)
{
    const schedule_walk_t *walk = &scan->tree->walk;
    schedule_emitter_t *emit = &scan->tree->emit;
    schedule_region_t total =
        scan->starts_with_initial ? scan->own : schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_region_t nothing = schedule_run(SCHEDULE_NOTHING, 0, 0);
    uint32_t child = 0;
    for (uint32_t level = walk->depth; level-- > 0;) {
        schedule_walk_phase(walk, level, 0, SCHEDULE_UP);
        if (!schedule_walk_leads(walk, level)) {
            schedule_emit_send(emit, schedule_walk_leader(walk, level),
                               scan->needs_total ? total : nothing);
            continue;
        }
        for (uint32_t index = 1; index < walk->path[level].members; ++index) {
            bool unused = ++child == walk->children && !scan->needs_total;
            schedule_region_t slot = unused ? nothing : schedule_scan_slot(scan, child);
            schedule_emit_place(emit, schedule_walk_member(walk, level, index).left, slot, true);
            if (unused)
                break;
            schedule_emit_reduce(emit, total, slot, slot);
            total = slot;
        }
    }
}

/* What child number `child` gets; every rank but 0 puts its own prefix before it. */
static schedule_region_t schedule_scan_for_child(const schedule_scan_t *scan, uint32_t child)
{
    schedule_emitter_t *emit = &scan->tree->emit;
    schedule_region_t running = schedule_scan_slot(scan, child - 1);
    if (scan->tree->rank == 0)
        return running;
    if (child > 1) {
        schedule_emit_reduce(emit, scan->prefix, running, running);
        return running;
    }
    /* This uses up the prefix of an inclusive scan, so it comes last. */
    schedule_region_t into = scan->inclusive ? scan->result : scan->own;
    schedule_region_t own = scan->tree->in_place ? scan->own : schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_emit_reduce(emit, scan->prefix, own, into);
    return into;
}

static void schedule_scan_down_to(const schedule_scan_t *scan, uint32_t level, uint32_t first)
{
    const schedule_walk_t *walk = &scan->tree->walk;
    schedule_emitter_t *emit = &scan->tree->emit;
    uint32_t members = walk->path[level].members;
    for (uint32_t index = members; index-- > 1;)
        (void)schedule_scan_for_child(scan, first + index - 1);
    schedule_walk_phase(walk, level, 1, SCHEDULE_DOWN);
    for (uint32_t index = 1; index < members; ++index) {
        uint32_t child = first + index - 1;
        schedule_region_t running = schedule_scan_slot(scan, child - 1);
        if (child == 1 && walk->rank != 0 && scan->inclusive)
            running = scan->result;
        schedule_emit_send(emit, schedule_walk_member(walk, level, index).left, running);
    }
}

static void schedule_scan_down(const schedule_scan_t *scan)
{
    const schedule_walk_t *walk = &scan->tree->walk;
    schedule_emitter_t *emit = &scan->tree->emit;
    /* In place, the prefix of an exscan comes to where the own value was read from, if it was. */
    bool early =
        !scan->tree->in_place || scan->inclusive || (walk->children == 0 && !scan->needs_total);
    uint32_t first = walk->children + 1; /* number of the first child of the level above */
    for (uint32_t level = 0; level < walk->depth; ++level) {
        if (schedule_walk_leads(walk, level)) {
            first -= walk->path[level].members - 1;
            schedule_scan_down_to(scan, level, first);
        } else {
            schedule_walk_phase(walk, level, 1, SCHEDULE_DOWN);
            schedule_emit_place(emit, schedule_walk_leader(walk, level), scan->prefix, early);
        }
    }
    MUSTER_ASSERT(first == 1);
}

void schedule_tree_scan(schedule_tree_t *tree)
{
    schedule_scan_t scan = {.tree = tree};
    schedule_region_t send = schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_scan_prepare(&scan);
    schedule_scan_up(&scan);
    schedule_scan_down(&scan);
    if (tree->rank != 0) {
        if (scan.inclusive && tree->walk.children == 0)
            schedule_emit_reduce(&tree->emit, scan.prefix, send, scan.result);
    } else if (scan.inclusive && !tree->in_place) {
        schedule_emit_copy(&tree->emit, send, scan.result);
    } else if (scan.starts_with_initial) {
        schedule_emit_copy(&tree->emit, schedule_run(SCHEDULE_INITIAL, 0, 1), scan.result);
    }
}
