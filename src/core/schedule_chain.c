/*
 * The chain family: dispatch, and scans. Each rank hears the reduction over all ranks before it
 * from the rank to its left, and tells the rank to its right the reduction with its own value. The
 * least messages there are, one over each link; the last rank waits for all links one after the
 * other, but calls back to back follow each other along the chain. Each link is a group of two.
 * With uniform outcome a decision follows, by a star at rank 0.
 */
#include "core/assertion.h"
#include "core/schedule_chain_parts.h"
#include "core/schedule_walk.h"

/* The link from a rank to the next. */
static void schedule_chain_link(schedule_chain_t *chain, uint32_t from)
{
    schedule_emit_phase(&chain->emit, from, from + 2, 0, SCHEDULE_ROUND);
}

static void schedule_chain_receive(schedule_chain_t *chain, schedule_region_t prefix, bool early)
{
    schedule_chain_link(chain, chain->rank - 1);
    schedule_emit_place(&chain->emit, chain->rank - 1, prefix, early);
}

static void schedule_chain_send(schedule_chain_t *chain, schedule_region_t total)
{
    if (chain->rank == chain->size - 1)
        return;
    schedule_chain_link(chain, chain->rank);
    schedule_emit_send(&chain->emit, chain->rank + 1, total);
}

static schedule_region_t schedule_chain_scratch(schedule_chain_t *chain)
{
    return schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(&chain->emit, 1), 1);
}

static void schedule_chain_scan(schedule_chain_t *chain)
{
    schedule_emitter_t *emit = &chain->emit;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    if (chain->rank == 0) {
        schedule_chain_send(chain, own);
        if (!chain->in_place)
            schedule_emit_copy(emit, own, result);
        return;
    }
    schedule_region_t prefix = chain->in_place ? schedule_chain_scratch(chain) : result;
    schedule_chain_receive(chain, prefix, true);
    schedule_emit_reduce(emit, prefix, own, result);
    schedule_chain_send(chain, result);
}

static void schedule_chain_exscan(schedule_chain_t *chain)
{
    schedule_emitter_t *emit = &chain->emit;
    schedule_region_t own = schedule_run(SCHEDULE_SEND, 0, 1);
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    bool last = chain->rank == chain->size - 1;
    if (chain->rank == 0) {
        schedule_region_t initial = schedule_run(SCHEDULE_INITIAL, 0, 1);
        schedule_region_t total = own;
        if (chain->request->initial) {
            total = schedule_chain_scratch(chain);
            schedule_emit_reduce(emit, initial, own, total);
        }
        schedule_chain_send(chain, total);
        if (chain->request->initial)
            schedule_emit_copy(emit, initial, result);
        return;
    }
    /* In place, the prefix would come to where the own value lies, which the next rank needs. */
    bool apart = chain->in_place && !last;
    schedule_region_t prefix = apart ? schedule_chain_scratch(chain) : result;
    schedule_chain_receive(chain, prefix, true);
    if (!last) {
        schedule_region_t total = schedule_chain_scratch(chain);
        schedule_emit_reduce(emit, prefix, own, total);
        schedule_chain_send(chain, total);
    }
    if (apart)
        schedule_emit_copy(emit, prefix, result);
}

static bool schedule_chain_supports(operation_t operation)
{
    return operation == OPERATION_SCAN || operation == OPERATION_EXSCAN ||
           operation == OPERATION_BROADCAST || operation == OPERATION_REDUCE;
}

static void schedule_chain_build(schedule_chain_t *chain)
{
    switch (chain->request->operation) {
    case OPERATION_SCAN:
        schedule_chain_scan(chain);
        break;
    case OPERATION_EXSCAN:
        schedule_chain_exscan(chain);
        break;
    case OPERATION_BROADCAST:
        schedule_chain_broadcast(chain);
        break;
    default:
        schedule_chain_reduce(chain);
        break;
    }
}

muster_status_t schedule_chain(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_chain_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_chain_t chain = {
        .request = request,
        .size = request->size,
        .rank = request->rank,
        .in_place = request->in_place &&
                    schedule_may_be_in_place(request->operation, request->rank, request->root),
    };
    schedule_emit_begin(&chain.emit, schedule, request->rank);
    schedule_chain_build(&chain);
    schedule_walk_append_decision(&chain.emit, request);
    schedule_emit_end(&chain.emit);
    return MUSTER_OK;
}

schedule_totals_t schedule_chain_totals(const schedule_request_t *request)
{
    uint64_t links = request->size - 1;
    uint64_t pieces = operation_is_rooted(request->operation) ? schedule_chain_pieces(request) : 1;
    return (schedule_totals_t){.messages = links * pieces + (request->uniform ? 2 * links : 0),
                               .blocks = links * pieces};
}
