/*
 * The direct family: one phase in which every pair exchanges, and what a rank then computes by
 * itself. Sends begin with the next rank, so that not all begin with the same. With uniform outcome
 * a decision follows, by a star at rank 0.
 */
#include "core/assertion.h"
#include "core/schedule_fold.h"
#include "core/schedule_walk.h"

typedef struct schedule_direct {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    uint32_t size, rank;
    bool in_place;
} schedule_direct_t;

static uint32_t schedule_direct_peer(const schedule_direct_t *direct, uint32_t step)
{
    uint32_t behind = direct->size - direct->rank; /* ranks from this one to the last */
    return step < behind ? direct->rank + step : step - behind;
}

static void schedule_direct_phase(schedule_direct_t *direct)
{
    schedule_emit_phase(&direct->emit, 0, direct->size, 0, SCHEDULE_EXCHANGE);
}

/* Sends everybody the same, or each its own block of from. */
static void schedule_direct_send(schedule_direct_t *direct, schedule_buffer_t buffer,
                                 uint64_t first, bool blocks)
{
    for (uint32_t step = 1; step < direct->size; ++step) {
        uint32_t peer = schedule_direct_peer(direct, step);
        schedule_emit_send(&direct->emit, peer,
                           schedule_run(buffer, first + (blocks ? peer : 0), 1));
    }
}

static void schedule_direct_place(schedule_direct_t *direct, schedule_buffer_t buffer, bool early)
{
    for (uint32_t peer = 0; peer < direct->size; ++peer)
        if (peer != direct->rank)
            schedule_emit_place(&direct->emit, peer, schedule_run(buffer, peer, 1), early);
}

static void schedule_direct_barrier(schedule_direct_t *direct)
{
    schedule_direct_phase(direct);
    schedule_direct_send(direct, SCHEDULE_NOTHING, 0, false);
    schedule_direct_place(direct, SCHEDULE_NOTHING, true);
}

static void schedule_direct_allgather(schedule_direct_t *direct)
{
    schedule_direct_phase(direct);
    schedule_direct_send(direct, SCHEDULE_SEND, 0, false);
    schedule_direct_place(direct, SCHEDULE_RECEIVE, true);
    if (!direct->in_place)
        schedule_emit_copy(&direct->emit, schedule_run(SCHEDULE_SEND, 0, 1),
                           schedule_run(SCHEDULE_RECEIVE, direct->rank, 1));
}

static void schedule_direct_alltoall(schedule_direct_t *direct)
{
    schedule_emitter_t *emit = &direct->emit;
    schedule_buffer_t buffer = SCHEDULE_SEND;
    uint64_t first = 0;
    if (direct->in_place) { /* what is to be sent lies where blocks arrive */
        buffer = SCHEDULE_SCRATCH;
        first = schedule_emit_scratch(emit, direct->size);
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, 0, direct->size),
                           schedule_run(buffer, first, direct->size));
    }
    schedule_direct_phase(direct);
    schedule_direct_send(direct, buffer, first, true);
    schedule_direct_place(direct, SCHEDULE_RECEIVE, !direct->in_place);
    if (!direct->in_place)
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, direct->rank, 1),
                           schedule_run(SCHEDULE_RECEIVE, direct->rank, 1));
}

static void schedule_direct_fold(schedule_direct_t *direct, const schedule_fold_t *fold,
                                 bool blocks)
{
    schedule_direct_phase(direct);
    schedule_direct_send(direct, SCHEDULE_SEND, 0, blocks);
    for (uint32_t peer = 0; peer < direct->size; ++peer)
        if (peer != direct->rank)
            schedule_emit_place(&direct->emit, peer, schedule_fold_place(fold, peer), true);
    if (direct->in_place) /* the result goes to where the own value is being sent from */
        schedule_emit_drain(&direct->emit);
    schedule_fold_emit(fold, &direct->emit);
}

static void schedule_direct_allreduce(schedule_direct_t *direct)
{
    schedule_emitter_t *emit = &direct->emit;
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    schedule_fold_t fold = {
        .size = direct->size,
        .rank = direct->rank,
        .width = 1,
        .own = schedule_run(SCHEDULE_SEND, 0, 1),
        .first = result,
        .stride = 1,
        .into = result,
    };
    if (direct->in_place) {
        fold.first = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(emit, 1), 1);
        fold.from_rank = direct->rank;
    }
    fold.stage = schedule_emit_scratch(emit, direct->size - 2);
    schedule_direct_fold(direct, &fold, false);
}

/*
 * In place, the result begins where the vector does and may cover part of the own block, so it is
 * written only once that has been used: by the last reduction, or by a copy where that one uses it.
 * Scratch blocks are as long as the rank's block: any one, where all are equally long, else those
 * that stand for it in rows of n.
 */
static void schedule_direct_reduce_scatter(schedule_direct_t *direct)
{
    schedule_emitter_t *emit = &direct->emit;
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    bool ragged = operation_is_ragged(direct->request->operation);
    uint64_t stride = ragged ? direct->size : 1;
    uint64_t place = ragged ? direct->rank : 0;
    bool own_is_last = direct->rank == direct->size - 1;
    schedule_fold_t fold = {
        .size = direct->size,
        .rank = direct->rank,
        .width = 1,
        .own = schedule_run(SCHEDULE_SEND, direct->rank, 1),
        .first = result,
        .stride = stride,
        .into = result,
    };
    if (direct->in_place) {
        fold.first = schedule_run(SCHEDULE_SCRATCH, schedule_emit_scratch(emit, stride) + place, 1);
        fold.from_rank = direct->size - 1;
        if (own_is_last)
            fold.into = fold.first;
    }
    fold.stage = schedule_emit_scratch(emit, (direct->size - 2) * stride) + place;
    schedule_direct_fold(direct, &fold, true);
    if (direct->in_place && own_is_last)
        schedule_emit_copy(emit, fold.first, result);
}

static muster_status_t schedule_direct_build(schedule_direct_t *direct)
{
    switch (direct->request->operation) {
    case OPERATION_BARRIER:
        schedule_direct_barrier(direct);
        return MUSTER_OK;
    case OPERATION_ALLREDUCE:
        schedule_direct_allreduce(direct);
        return MUSTER_OK;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        schedule_direct_allgather(direct);
        return MUSTER_OK;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        schedule_direct_alltoall(direct);
        return MUSTER_OK;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        schedule_direct_reduce_scatter(direct);
        return MUSTER_OK;
    default:
        return MUSTER_NOT_SUPPORTED;
    }
}

static bool schedule_direct_supports(operation_t operation)
{
    switch (operation) {
    case OPERATION_BARRIER:
    case OPERATION_ALLREDUCE:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        return true;
    default:
        return false;
    }
}

muster_status_t schedule_direct(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_direct_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_direct_t direct = {
        .request = request,
        .size = request->size,
        .rank = request->rank,
        .in_place =
            request->in_place && schedule_may_be_in_place(request->operation, request->rank, 0),
    };
    schedule_emit_begin(&direct.emit, schedule, request->rank);
    muster_status_t status = schedule_direct_build(&direct);
    if (status == MUSTER_OK)
        schedule_walk_append_decision(&direct.emit, request);
    schedule_emit_end(&direct.emit);
    return status;
}
