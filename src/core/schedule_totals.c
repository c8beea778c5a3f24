/* Messages and blocks over all ranks, without building a schedule. */
#include "core/assertion.h"
#include "core/schedule.h"
#include "core/split.h"

/* Parts of one level of the tree: their sizes differ by one at most. */
typedef struct schedule_level {
    uint64_t width; /* `narrow` of so many ranks, `wide` of one more */
    uint64_t narrow;
    uint64_t wide;
} schedule_level_t;

/* Adds the parts into which `times` ranges of n ranks are divided. */
static void schedule_level_add(schedule_level_t *level, uint64_t n, uint32_t arity, uint64_t times)
{
    uint64_t count = n < arity ? n : arity;
    uint64_t remainder = n % count;
    /* Where every part is one wider, these are the wide ones of this level. */
    if (n / count > level->width) {
        MUSTER_ASSERT(n / count == level->width + 1 && remainder == 0);
        level->wide += times * count;
    } else {
        level->narrow += times * (count - remainder);
        level->wide += times * remainder;
    }
}

static schedule_level_t schedule_level_below(const schedule_level_t *level, uint32_t arity)
{
    uint64_t narrowest = level->narrow > 0 ? level->width : level->width + 1;
    uint64_t count = narrowest < arity ? narrowest : arity;
    schedule_level_t below = {.width = narrowest / count, .narrow = 0, .wide = 0};
    if (level->narrow > 0)
        schedule_level_add(&below, level->width, arity, level->narrow);
    if (level->wide > 0)
        schedule_level_add(&below, level->width + 1, arity, level->wide);
    return below;
}

/*
 * Blocks that bundles carry up or down the tree where every rank has one: each rank's block travels
 * once for every leader above it. A range of n ranks whose first part has s moves n - s blocks to
 * its leader, so a level moves what it holds less the first parts of its ranges.
 */
static uint64_t schedule_bundle_blocks(schedule_level_t level, uint32_t arity)
{
    uint64_t blocks = 0;
    while (level.width > 1 || level.wide > 0) {
        for (uint64_t more = 0; more < 2; ++more) {
            uint64_t n = level.width + more;
            uint64_t count = n < arity ? n : arity;
            uint64_t first = n / count + (n % count > 0 ? 1 : 0);
            blocks += (more == 0 ? level.narrow : level.wide) * (n - first);
        }
        level = schedule_level_below(&level, arity);
    }
    return blocks;
}

/* Parts, at any depth, that end with the last rank: nobody needs their totals in a scan. */
static uint64_t schedule_last_parts(uint64_t n, uint32_t arity)
{
    uint64_t parts = 0;
    for (; n > 1; ++parts)
        n /= n < arity ? n : arity;
    return parts;
}

static schedule_totals_t schedule_alltoall_totals(uint64_t n, uint32_t arity)
{
    if (arity >= n)
        return (schedule_totals_t){.messages = 2 * (n - 1), .blocks = 2 * n * (n - 1)};
    schedule_level_t whole = {.width = n, .narrow = 1, .wide = 0};
    schedule_level_t parts = schedule_level_below(&whole, arity);
    uint64_t leaders = parts.narrow + parts.wide;
    uint64_t stay = parts.narrow * parts.width * parts.width +
                    parts.wide * (parts.width + 1) * (parts.width + 1);
    return (schedule_totals_t){
        .messages = 2 * (n - leaders) + leaders * (leaders - 1),
        .blocks = 2 * n * schedule_bundle_blocks(parts, arity) + n * n - stay,
    };
}

static bool schedule_decides_on_the_way(const schedule_request_t *request)
{
    switch (request->operation) {
    case OPERATION_BARRIER:
        return true;
    case OPERATION_ALLREDUCE:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return request->small;
    default:
        return false;
    }
}

schedule_totals_t schedule_tree_totals(const schedule_request_t *request)
{
    uint64_t n = request->size;
    uint64_t edges = n - 1;
    schedule_level_t whole = {.width = n, .narrow = 1, .wide = 0};
    bool rooted = operation_is_rooted(request->operation);
    bool relayed = rooted && request->root != 0 && request->arity < n;
    schedule_totals_t totals = {.messages = 0, .blocks = 0};
    if (n == 1)
        return totals;
    switch (request->operation) {
    case OPERATION_BARRIER:
        totals = (schedule_totals_t){2 * edges, 0};
        break;
    case OPERATION_BROADCAST: /* relayed: one message more, and one less */
        totals = (schedule_totals_t){edges, edges};
        break;
    case OPERATION_REDUCE:
        totals = (schedule_totals_t){edges + relayed, edges + relayed};
        break;
    case OPERATION_ALLREDUCE:
        totals = (schedule_totals_t){2 * edges, 2 * edges};
        break;
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        totals = (schedule_totals_t){2 * edges, 2 * edges - schedule_last_parts(n, request->arity)};
        break;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        totals = (schedule_totals_t){
            edges + relayed, schedule_bundle_blocks(whole, request->arity) + (relayed ? n : 0)};
        break;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        totals = (schedule_totals_t){2 * edges,
                                     n * edges + schedule_bundle_blocks(whole, request->arity)};
        break;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        totals = schedule_alltoall_totals(n, request->arity);
        break;
    case OPERATION_COUNT:
        break;
    }
    /* One way and small at rank 0: the other way is the decision. Appended: both ways. */
    if (request->uniform && !schedule_decides_on_the_way(request)) {
        bool one_way = rooted && request->root == 0 && request->small &&
                       request->operation != OPERATION_SCATTER &&
                       request->operation != OPERATION_SCATTERV;
        totals.messages += one_way ? edges : 2 * edges;
    }
    return totals;
}

schedule_totals_t schedule_direct_totals(const schedule_request_t *request)
{
    uint64_t n = request->size;
    uint64_t pairs = n * (n - 1);
    return (schedule_totals_t){
        .messages = pairs + (request->uniform ? 2 * (n - 1) : 0),
        .blocks = request->operation == OPERATION_BARRIER ? 0 : pairs,
    };
}
