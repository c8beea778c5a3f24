/*
 * The ring family: each rank hears from the one before it and tells the one behind it, around the
 * end, size - 1 times: the least bytes there can be, one neighbour for each rank, and a way as long
 * as the team (Patarasuk and Yuan 2009 for the allreduce).
 *
 * allgather(v): in round t, rank k sends block k - t on. reduce_scatter(_block): block b sets out
 * at rank b + 1 and is combined on its way to rank b; allreduce: the same with as many pieces as
 * ranks, piece p from rank p on, then the whole pieces go round. So values are combined in the
 * order of the ring, alike for every rank, and only where the reduction is commutative. With
 * uniform outcome a decision follows, by a star at rank 0.
 */
#include "core/assertion.h"
#include "core/schedule_shift.h"
#include "core/schedule_walk.h"

typedef struct schedule_ring {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    uint32_t size, rank;
    bool in_place;
} schedule_ring_t;

/* The block that is `distance` before this rank's. */
static uint32_t schedule_ring_block(const schedule_ring_t *ring, uint32_t distance)
{
    return schedule_shift_down(ring->size, ring->rank, distance % ring->size);
}

static void schedule_ring_round(schedule_ring_t *ring, uint32_t round, schedule_region_t sends,
                                schedule_region_t receives, bool early)
{
    schedule_emit_round(&ring->emit, 0, ring->size, 0, round);
    schedule_emit_send(&ring->emit, schedule_shift_up(ring->size, ring->rank, 1), sends);
    schedule_emit_place(&ring->emit, schedule_shift_down(ring->size, ring->rank, 1), receives,
                        early);
}

static schedule_region_t schedule_ring_at(schedule_buffer_t buffer, uint64_t block)
{
    return schedule_run(buffer, block, 1);
}

static void schedule_ring_allgather(schedule_ring_t *ring)
{
    if (!ring->in_place)
        schedule_emit_copy(&ring->emit, schedule_ring_at(SCHEDULE_SEND, 0),
                           schedule_ring_at(SCHEDULE_RECEIVE, ring->rank));
    for (uint32_t round = 0; round + 1 < ring->size; round++)
        schedule_ring_round(
            ring, round, schedule_ring_at(SCHEDULE_RECEIVE, schedule_ring_block(ring, round)),
            schedule_ring_at(SCHEDULE_RECEIVE, schedule_ring_block(ring, round + 1)), true);
}

/*
 * size - 1 rounds in which block `ahead` before this rank's is sent first. What comes is combined
 * with the own value, where it has come, or into RECEIVE.
 */
static void schedule_ring_combine(schedule_ring_t *ring, uint32_t ahead, bool into_receive)
{
    uint64_t row = schedule_emit_scratch(&ring->emit, ring->size);
    schedule_region_t sends = schedule_ring_at(SCHEDULE_SEND, schedule_ring_block(ring, ahead));
    for (uint32_t round = 0; round + 1 < ring->size; round++) {
        uint32_t block = schedule_ring_block(ring, ahead + round + 1);
        schedule_region_t staged = schedule_ring_at(SCHEDULE_SCRATCH, row + block);
        schedule_ring_round(ring, round, sends, staged, true);
        sends = into_receive ? schedule_ring_at(SCHEDULE_RECEIVE, block) : staged;
        schedule_emit_reduce(&ring->emit, staged, schedule_ring_at(SCHEDULE_SEND, block), sends);
    }
    if (into_receive)
        return;
    if (ring->in_place) /* the result begins where the vector does, which may be on its way */
        schedule_emit_drain(&ring->emit);
    schedule_emit_copy(&ring->emit, sends, schedule_ring_at(SCHEDULE_RECEIVE, 0));
}

static void schedule_ring_allreduce(schedule_ring_t *ring)
{
    schedule_ring_combine(ring, 0, true);
    /* Piece k + 1 is whole here; the others come round, the own one first: nothing lies there. */
    for (uint32_t round = 0; round + 1 < ring->size; round++)
        schedule_ring_round(
            ring, ring->size + round,
            schedule_ring_at(SCHEDULE_RECEIVE, schedule_ring_block(ring, ring->size - 1 + round)),
            schedule_ring_at(SCHEDULE_RECEIVE, schedule_ring_block(ring, round)),
            round == 0 && !ring->in_place);
}

static bool schedule_ring_supports(const schedule_request_t *request)
{
    switch (request->operation) {
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return true;
    case OPERATION_ALLREDUCE:
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        return request->commutative;
    default:
        return false;
    }
}

static void schedule_ring_build(schedule_ring_t *ring)
{
    if (ring->request->operation == OPERATION_ALLREDUCE)
        schedule_ring_allreduce(ring);
    else if (operation_is_reducing(ring->request->operation))
        schedule_ring_combine(ring, 1, false);
    else
        schedule_ring_allgather(ring);
}

muster_status_t schedule_ring(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_ring_supports(request))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_ring_t ring = {.request = request,
                            .size = request->size,
                            .rank = request->rank,
                            .in_place = request->in_place};
    schedule_emit_begin(&ring.emit, schedule, request->rank);
    if (request->operation == OPERATION_ALLREDUCE)
        schedule_emit_pieces(&ring.emit, request->size);
    schedule_ring_build(&ring);
    schedule_walk_append_decision(&ring.emit, request);
    schedule_emit_end(&ring.emit);
    return MUSTER_OK;
}

muster_status_t schedule_ring_figures(const schedule_request_t *request,
                                      schedule_figures_t *figures)
{
    if (!schedule_ring_supports(request))
        return MUSTER_NOT_SUPPORTED;
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1)
        return MUSTER_OK;
    bool whole = request->operation == OPERATION_ALLREDUCE;
    figures->pieces = whole ? request->size : 1;
    schedule_shift_round_t round = {.times = request->size - 1,
                                    .first = 1,
                                    .step = 1,
                                    .count = 1,
                                    .blocks = 1,
                                    .last_blocks = 1,
                                    .reduced = operation_is_reducing(request->operation)};
    schedule_shift_add(figures, request, &round);
    round.reduced = 0;
    if (whole)
        schedule_shift_add(figures, request, &round);
    schedule_figures_decide(figures, request);
    return MUSTER_OK;
}
