#include "unit/schedule_play.h"

#include <stdlib.h>

#include "core/schedule_check_state.h"
#include "unit/require.h"

int64_t play_sum(int64_t left, int64_t right)
{
    return left + right;
}

int64_t play_join(int64_t left, int64_t right)
{
    int64_t scale = 10;
    while (scale <= right)
        scale *= 10;
    return left * scale + right;
}

static int64_t *untouched(uint64_t blocks)
{
    int64_t *memory = malloc((blocks + 1) * sizeof *memory);
    REQUIRE(memory != NULL);
    for (uint64_t i = 0; i <= blocks; i++)
        memory[i] = PLAY_UNTOUCHED;
    return memory;
}

/* In place, as the header of schedules says it. */
static void lay_in_place(schedule_play_t *play, uint32_t rank)
{
    switch (play->team->request.operation) {
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        play->send[rank] = play->receive[rank] + rank;
        break;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        play->receive[rank] = play->send[rank] + rank;
        break;
    default:
        play->send[rank] = play->receive[rank];
        break;
    }
}

void schedule_play_begin(schedule_play_t *play, const schedule_team_t *team,
                         int64_t (*reduce)(int64_t, int64_t))
{
    *play = (schedule_play_t){.team = team, .reduce = reduce};
    const schedule_request_t *request = &team->request;
    REQUIRE(request->size <= 64);
    for (uint32_t rank = 0; rank < request->size; rank++) {
        const schedule_t *schedule = &team->schedules[rank];
        uint64_t sends = check_buffer_blocks(request, schedule, rank, SCHEDULE_SEND);
        uint64_t receives = check_buffer_blocks(request, schedule, rank, SCHEDULE_RECEIVE);
        uint64_t vector = sends > receives ? sends : receives;
        int64_t *memory = untouched(2 * vector + 1 + schedule->scratch_blocks);
        play->owned[rank] = memory;
        play->send[rank] = memory;
        play->receive[rank] = memory + vector;
        play->initial[rank] = memory + 2 * vector;
        play->scratch[rank] = memory + 2 * vector + 1;
        if (request->in_place && schedule_may_be_in_place(request->operation, rank, request->root))
            lay_in_place(play, rank);
    }
}

void schedule_play_fill(schedule_play_t *play, int64_t (*value)(uint32_t rank, uint32_t block))
{
    const schedule_request_t *request = &play->team->request;
    for (uint32_t rank = 0; rank < request->size; rank++) {
        uint64_t sends =
            check_buffer_blocks(request, &play->team->schedules[rank], rank, SCHEDULE_SEND);
        for (uint32_t block = 0; block < sends; block++)
            play->send[rank][block] = value(rank, block);
    }
}

static int64_t *play_block(schedule_play_t *play, uint32_t rank, const schedule_region_t *region,
                           uint64_t position)
{
    uint64_t block = check_block_at(region, position);
    switch (region->buffer) {
    case SCHEDULE_SEND:
        return &play->send[rank][block];
    case SCHEDULE_RECEIVE:
        return &play->receive[rank][block];
    case SCHEDULE_SCRATCH:
        return &play->scratch[rank][block];
    default:
        return &play->initial[rank][block];
    }
}

static void play_step(schedule_play_t *play, uint32_t rank, const schedule_step_t *step)
{
    uint64_t blocks = schedule_region_blocks(&step->into);
    for (uint64_t i = 0; i < blocks; i++) {
        int64_t value = *play_block(play, rank, &step->from, i);
        if (step->work == SCHEDULE_REDUCE)
            value = play->reduce(*play_block(play, rank, &step->left, i), value);
        else
            play->copied++;
        *play_block(play, rank, &step->into, i) = value;
    }
}

static void play_send(schedule_play_t *play, uint32_t rank, const schedule_phase_t *phase,
                      const schedule_send_t *send)
{
    if (play->message_count == play->message_room) {
        play->message_room = play->message_room * 2 + 64;
        play->messages = realloc(play->messages, play->message_room * sizeof *play->messages);
        REQUIRE(play->messages != NULL);
    }
    play_message_t *message = &play->messages[play->message_count++];
    *message = (play_message_t){
        .source = rank,
        .destination = send->peer,
        .group_left = phase->group_left,
        .group_right = phase->group_right,
        .slot = phase->slot,
        .label = phase->label,
        .count = schedule_region_blocks(&send->region),
    };
    message->values = untouched(message->count);
    for (uint64_t i = 0; i < message->count; i++)
        message->values[i] = *play_block(play, rank, &send->region, i);
}

static void play_begin_phase(schedule_play_t *play, uint32_t rank)
{
    const schedule_t *schedule = &play->team->schedules[rank];
    const schedule_phase_t *phase = &schedule->phases[play->begun[rank]++];
    for (uint32_t i = 0; i < phase->step_count; i++)
        play_step(play, rank, &schedule->steps[phase->first_step + i]);
    for (uint32_t i = 0; i < phase->send_count; i++)
        play_send(play, rank, phase, &schedule->sends[phase->first_send + i]);
}

static const play_message_t *play_arrival(const schedule_play_t *play, uint32_t rank,
                                          const schedule_phase_t *phase, uint32_t peer)
{
    for (size_t i = 0; i < play->message_count; i++) {
        const play_message_t *message = &play->messages[i];
        if (message->source == peer && message->destination == rank &&
            message->group_left == phase->group_left &&
            message->group_right == phase->group_right && message->slot == phase->slot &&
            message->label == phase->label)
            return message;
    }
    return NULL;
}

static bool play_complete_phase(schedule_play_t *play, uint32_t rank)
{
    const schedule_t *schedule = &play->team->schedules[rank];
    const schedule_phase_t *phase = &schedule->phases[play->completed[rank]];
    for (uint32_t i = 0; i < phase->receive_count; i++)
        if (!play_arrival(play, rank, phase, schedule->receives[phase->first_receive + i].peer))
            return false;
    for (uint32_t i = 0; i < phase->receive_count; i++) {
        const schedule_receive_t *receive = &schedule->receives[phase->first_receive + i];
        const play_message_t *message = play_arrival(play, rank, phase, receive->peer);
        REQUIRE(message->count == schedule_region_blocks(&receive->region));
        for (uint64_t k = 0; k < message->count; k++) {
            *play_block(play, rank, &receive->region, k) = message->values[k];
            if (receive->action != SCHEDULE_COMBINE)
                continue;
            int64_t *into = play_block(play, rank, &receive->into, k);
            *into = play->reduce(*into, message->values[k]);
        }
    }
    play->completed[rank]++;
    return true;
}

bool schedule_play_run(schedule_play_t *play, uint32_t order)
{
    uint32_t size = play->team->request.size;
    uint32_t idle = 0; /* ranks in a row that could do nothing */
    uint32_t rank = order % size;
    for (;;) {
        const schedule_t *schedule = &play->team->schedules[rank];
        idle++;
        if (play->completed[rank] < schedule->phase_count) {
            if (play->begun[rank] == play->completed[rank]) {
                play_begin_phase(play, rank);
                idle = 0;
            }
            if (play_complete_phase(play, rank))
                idle = 0;
        }
        if (idle == size)
            break;
        order = order * 1664525U + 1013904223U;
        rank = idle > 0 ? (rank + 1) % size : (order >> 8) % size;
    }
    for (rank = 0; rank < size; rank++)
        if (play->completed[rank] < play->team->schedules[rank].phase_count)
            return false;
    return true;
}

void schedule_play_end(schedule_play_t *play)
{
    for (size_t i = 0; i < play->message_count; i++)
        free(play->messages[i].values);
    free(play->messages);
    for (uint32_t rank = 0; rank < 64; rank++)
        free(play->owned[rank]);
    *play = (schedule_play_t){0};
}

const play_message_t *schedule_play_find(const schedule_play_t *play, uint32_t source,
                                         uint32_t destination, schedule_label_t label)
{
    for (size_t i = 0; i < play->message_count; i++)
        if (play->messages[i].source == source && play->messages[i].destination == destination &&
            play->messages[i].label == label)
            return &play->messages[i];
    return NULL;
}
