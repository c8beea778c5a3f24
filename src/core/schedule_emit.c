#include "core/schedule_emit.h"

#include "core/assertion.h"

static const schedule_region_t schedule_no_region = {.buffer = SCHEDULE_NOTHING};

void schedule_emit_begin(schedule_emitter_t *emitter, schedule_t *schedule, uint32_t rank)
{
    *emitter = (schedule_emitter_t){
        .schedule = schedule,
        .room = *schedule,
        .rank = rank,
        .storing = schedule->phases != NULL,
    };
    schedule->phase_count = 0;
    schedule->step_count = 0;
    schedule->send_count = 0;
    schedule->receive_count = 0;
    schedule->scratch_blocks = 0;
    schedule->pieces = 1;
    schedule->carrier = false;
    schedule->self_deciding = false;
}

/* A phase for steps alone: a group of one completes at once, without a message (C302). */
static void schedule_emit_steps(schedule_emitter_t *emitter)
{
    schedule_emit_phase(emitter, emitter->rank, emitter->rank + 1, 1, SCHEDULE_DOWN);
}

void schedule_emit_end(schedule_emitter_t *emitter)
{
    const schedule_t *schedule = emitter->schedule;
    if (emitter->taken_steps < schedule->step_count)
        schedule_emit_steps(emitter);
    if (!emitter->storing)
        return;
    MUSTER_ASSERT(schedule->phase_count == emitter->room.phase_count);
    MUSTER_ASSERT(schedule->step_count == emitter->room.step_count);
    MUSTER_ASSERT(schedule->send_count == emitter->room.send_count);
    MUSTER_ASSERT(schedule->receive_count == emitter->room.receive_count);
    MUSTER_ASSERT(schedule->scratch_blocks == emitter->room.scratch_blocks);
}

void schedule_emit_pieces(schedule_emitter_t *emitter, uint32_t pieces)
{
    MUSTER_ASSERT(pieces >= 1 && emitter->schedule->phase_count == 0 &&
                  emitter->schedule->step_count == 0);
    emitter->schedule->pieces = pieces;
}

uint64_t schedule_emit_scratch(schedule_emitter_t *emitter, uint64_t blocks)
{
    uint64_t first = emitter->schedule->scratch_blocks;
    MUSTER_ASSERT(first <= UINT64_MAX - blocks);
    emitter->schedule->scratch_blocks = first + blocks;
    return first;
}

static void schedule_emit_step(schedule_emitter_t *emitter, schedule_step_t step)
{
    schedule_t *schedule = emitter->schedule;
    if (emitter->storing) {
        MUSTER_ASSERT(schedule->step_count < emitter->room.step_count);
        schedule->steps[schedule->step_count] = step;
    }
    ++schedule->step_count;
}

void schedule_emit_copy(schedule_emitter_t *emitter, schedule_region_t from, schedule_region_t into)
{
    MUSTER_ASSERT(schedule_region_blocks(&from) == schedule_region_blocks(&into));
    schedule_emit_step(emitter, (schedule_step_t){.work = SCHEDULE_COPY,
                                                  .from = from,
                                                  .left = schedule_no_region,
                                                  .into = into});
}

void schedule_emit_reduce(schedule_emitter_t *emitter, schedule_region_t left,
                          schedule_region_t from, schedule_region_t into)
{
    MUSTER_ASSERT(schedule_region_blocks(&left) == schedule_region_blocks(&from));
    MUSTER_ASSERT(schedule_region_blocks(&left) == schedule_region_blocks(&into));
    schedule_emit_step(
        emitter,
        (schedule_step_t){.work = SCHEDULE_REDUCE, .from = from, .left = left, .into = into});
}

void schedule_emit_drain(schedule_emitter_t *emitter)
{
    emitter->drain = true;
}

void schedule_emit_phase(schedule_emitter_t *emitter, uint32_t group_left, uint32_t group_right,
                         unsigned slot, schedule_label_t label)
{
    schedule_t *schedule = emitter->schedule;
    MUSTER_ASSERT(slot <= 1);
    if (emitter->storing) {
        MUSTER_ASSERT(schedule->phase_count < emitter->room.phase_count);
        schedule->phases[schedule->phase_count] = (schedule_phase_t){
            .group_left = group_left,
            .group_right = group_right,
            .slot = (uint8_t)slot,
            .label = (uint8_t)label,
            .decides = false,
            .drain = emitter->drain,
            .first_step = emitter->taken_steps,
            .step_count = schedule->step_count - emitter->taken_steps,
            .first_send = schedule->send_count,
            .first_receive = schedule->receive_count,
        };
    }
    emitter->taken_steps = schedule->step_count;
    emitter->drain = false;
    ++schedule->phase_count;
}

void schedule_emit_round(schedule_emitter_t *emitter, uint32_t group_left, uint32_t group_right,
                         unsigned slot, uint32_t round)
{
    MUSTER_ASSERT(round < SCHEDULE_ROUNDS_MAX);
    schedule_emit_phase(emitter, group_left, group_right, slot, SCHEDULE_ROUND);
    if (emitter->storing)
        emitter->schedule->phases[emitter->schedule->phase_count - 1].round = round;
}

void schedule_emit_send(schedule_emitter_t *emitter, uint32_t peer, schedule_region_t region)
{
    schedule_t *schedule = emitter->schedule;
    MUSTER_ASSERT(schedule->phase_count > 0 && peer != emitter->rank);
    if (emitter->storing) {
        MUSTER_ASSERT(schedule->send_count < emitter->room.send_count);
        schedule->sends[schedule->send_count] = (schedule_send_t){.peer = peer, .region = region};
        ++schedule->phases[schedule->phase_count - 1].send_count;
    }
    ++schedule->send_count;
}

static void schedule_emit_receive(schedule_emitter_t *emitter, schedule_receive_t receive)
{
    schedule_t *schedule = emitter->schedule;
    MUSTER_ASSERT(schedule->phase_count > 0 && receive.peer != emitter->rank);
    if (emitter->storing) {
        MUSTER_ASSERT(schedule->receive_count < emitter->room.receive_count);
        schedule->receives[schedule->receive_count] = receive;
        ++schedule->phases[schedule->phase_count - 1].receive_count;
    }
    ++schedule->receive_count;
}

void schedule_emit_place(schedule_emitter_t *emitter, uint32_t peer, schedule_region_t region,
                         bool early)
{
    schedule_emit_receive(emitter, (schedule_receive_t){.peer = peer,
                                                        .action = SCHEDULE_PLACE,
                                                        .early = early,
                                                        .region = region,
                                                        .into = schedule_no_region});
}

void schedule_emit_combine(schedule_emitter_t *emitter, uint32_t peer, schedule_region_t staging,
                           schedule_region_t into)
{
    MUSTER_ASSERT(schedule_region_blocks(&staging) == schedule_region_blocks(&into));
    schedule_emit_receive(emitter, (schedule_receive_t){.peer = peer,
                                                        .action = SCHEDULE_COMBINE,
                                                        .early = true,
                                                        .region = staging,
                                                        .into = into});
}

void schedule_emit_decision(schedule_emitter_t *emitter)
{
    schedule_t *schedule = emitter->schedule;
    MUSTER_ASSERT(emitter->rank == 0);
    if (emitter->taken_steps < schedule->step_count || schedule->phase_count == 0)
        schedule_emit_steps(emitter);
    if (emitter->storing)
        schedule->phases[schedule->phase_count - 1].decides = true;
}

void schedule_emit_alone(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size == 1 && request->rank == 0);
    schedule_emitter_t emit;
    schedule_emit_begin(&emit, schedule, 0);
    schedule_region_t result = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    switch (request->operation) {
    case OPERATION_BARRIER:
    case OPERATION_BROADCAST:
    case OPERATION_COUNT:
        break;
    case OPERATION_EXSCAN:
        if (request->initial)
            schedule_emit_copy(&emit, schedule_run(SCHEDULE_INITIAL, 0, 1), result);
        break;
    default: /* everything else gives a rank alone its own block */
        if (!request->in_place)
            schedule_emit_copy(&emit, schedule_run(SCHEDULE_SEND, 0, 1), result);
        break;
    }
    if (request->uniform)
        schedule_emit_decision(&emit);
    schedule->self_deciding = request->uniform;
    schedule_emit_end(&emit);
}
