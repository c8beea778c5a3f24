/*
 * The pairwise family: alltoall(v) in size - 1 rounds, in round k to the rank that is k behind and
 * from the one that is k before: each block goes once and straight, and nobody hears from two at a
 * time. With uniform outcome a decision follows, by a star at rank 0.
 *
 * In place, what is to be sent lies where blocks arrive, and goes out of a copy.
 */
#include "core/assertion.h"
#include "core/schedule_shift.h"
#include "core/schedule_walk.h"

static bool schedule_pairwise_supports(operation_t operation)
{
    return operation == OPERATION_ALLTOALL || operation == OPERATION_ALLTOALLV;
}

static void schedule_pairwise_rounds(schedule_emitter_t *emit, const schedule_request_t *request)
{
    uint32_t size = request->size, rank = request->rank;
    schedule_buffer_t buffer = SCHEDULE_SEND;
    uint64_t first = 0;
    if (request->in_place) {
        buffer = SCHEDULE_SCRATCH;
        first = schedule_emit_scratch(emit, size);
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, 0, size),
                           schedule_run(buffer, first, size));
    } else {
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, rank, 1),
                           schedule_run(SCHEDULE_RECEIVE, rank, 1));
    }
    for (uint32_t distance = 1; distance < size; distance++) {
        uint32_t to = schedule_shift_up(size, rank, distance);
        uint32_t from = schedule_shift_down(size, rank, distance);
        schedule_emit_round(emit, 0, size, 0, distance - 1);
        schedule_emit_send(emit, to, schedule_run(buffer, first + to, 1));
        schedule_emit_place(emit, from, schedule_run(SCHEDULE_RECEIVE, from, 1),
                            !request->in_place);
    }
}

muster_status_t schedule_pairwise(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_pairwise_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_emitter_t emit;
    schedule_emit_begin(&emit, schedule, request->rank);
    schedule_pairwise_rounds(&emit, request);
    schedule_walk_append_decision(&emit, request);
    schedule_emit_end(&emit);
    return MUSTER_OK;
}

/* The blocks that leave the host which most leave, in all. */
static uint64_t schedule_pairwise_leaving(const schedule_request_t *request)
{
    uint64_t most = 0;
    for (uint32_t host = 0; request->hosts && host < request->hosts->count; host++) {
        uint64_t ranks = request->hosts->first[host + 1] - request->hosts->first[host];
        uint64_t leaving = ranks * (request->size - ranks);
        most = leaving > most ? leaving : most;
    }
    return most;
}

muster_status_t schedule_pairwise_figures(const schedule_request_t *request,
                                          schedule_figures_t *figures)
{
    if (!schedule_pairwise_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    uint64_t size = request->size, rounds = size - 1;
    uint64_t between = schedule_pairs_between(request);
    *figures = (schedule_figures_t){.pieces = 1,
                                    .rank_messages = rounds,
                                    .rank_blocks = rounds,
                                    .messages = size * rounds,
                                    .blocks = size * rounds,
                                    .messages_between = between,
                                    .blocks_between = between};
    if (rounds == 0)
        return MUSTER_OK;
    /* Every distance crosses the end of some host; the busiest one's share is spread evenly. */
    schedule_round_t round = {.times = 1,
                              .messages = 1,
                              .received = 1,
                              .blocks = 1,
                              .messages_between = between > 0,
                              .blocks_between = between > 0,
                              .host_blocks_between =
                                  (schedule_pairwise_leaving(request) + rounds - 1) / rounds,
                              .copied = request->in_place ? size : 1};
    schedule_figures_add(figures, round);
    round.times = rounds - 1;
    round.copied = 0;
    schedule_figures_add(figures, round);
    schedule_figures_decide(figures, request);
    return MUSTER_OK;
}
