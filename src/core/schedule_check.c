#include "core/schedule_check.h"

#include <string.h>

#include "core/assertion.h"
#include "core/schedule_check_state.h"

static const char *check_buffer_name(schedule_buffer_t buffer)
{
    static const char *const names[] = {"", "send", "receive", "scratch", "initial"};
    return names[buffer];
}

bool check_fault(schedule_checker_t *checker, uint32_t rank, uint32_t phase, const char *what,
                 schedule_buffer_t buffer, uint64_t block)
{
    if (checker->failed)
        return false;
    checker->failed = true;
    text_t *why = checker->why;
    if (why == NULL)
        return false;
    const schedule_t *schedule = &checker->schedules[rank];
    text_string(why, operation_name((uint8_t)checker->request->operation));
    text_string(why, ": rank ");
    text_number(why, rank);
    if (phase != CHECK_NONE) {
        text_string(why, " phase ");
        text_number(why, phase);
        if (phase < schedule->phase_count) {
            const schedule_phase_t *place = &schedule->phases[phase];
            text_string(why, " (");
            text_string(why, schedule_label_name(place->label));
            text_string(why, " [");
            text_number(why, place->group_left);
            text_character(why, ',');
            text_number(why, place->group_right);
            text_string(why, "))");
        }
    }
    text_string(why, ": ");
    if (buffer != SCHEDULE_NOTHING) {
        text_string(why, "block ");
        text_number(why, block);
        text_string(why, " of ");
        text_string(why, check_buffer_name(buffer));
        text_character(why, ' ');
    }
    text_string(why, what);
    return false;
}

/* ---- The caller's memory --------------------------------------------------------------------- */

/* More scratch than any algorithm needs is a fault, and is not laid out. */
static uint64_t check_scratch_blocks(const schedule_request_t *request, const schedule_t *schedule)
{
    uint64_t most = check_scratch_most(request, schedule);
    return schedule->scratch_blocks <= most ? schedule->scratch_blocks : most;
}

typedef struct check_needs {
    uint64_t cells, phases, sends, receives, values;
} check_needs_t;

static void check_add_needs(const schedule_request_t *request, const schedule_t *schedule,
                            uint32_t rank, check_needs_t *needs)
{
    for (unsigned buffer = SCHEDULE_SEND; buffer <= SCHEDULE_INITIAL; ++buffer)
        if (buffer != SCHEDULE_SCRATCH)
            needs->cells += check_buffer_blocks(request, schedule, rank, buffer);
    needs->cells += check_scratch_blocks(request, schedule);
    needs->phases += schedule->phase_count;
    needs->sends += schedule->send_count;
    needs->receives += schedule->receive_count;
    for (uint32_t i = 0; i < schedule->send_count; ++i) {
        uint64_t blocks;
        if (check_region_fits(request, schedule, rank, &schedule->sends[i].region, &blocks))
            needs->values += blocks;
    }
}

static check_needs_t check_all_needs(const schedule_request_t *request, const schedule_t *schedules)
{
    check_needs_t needs = {0};
    for (uint32_t rank = 0; rank < request->size; ++rank)
        check_add_needs(request, &schedules[rank], rank, &needs);
    return needs;
}

typedef struct check_room {
    uint8_t *bytes; /* NULL: only counts */
    size_t taken;
} check_room_t;

static void *check_take(check_room_t *room, uint64_t count, size_t element)
{
    size_t at = room->taken;
    room->taken += ((size_t)count * element + 15) / 16 * 16;
    if (room->bytes == NULL)
        return NULL;
    memset(room->bytes + at, 0, room->taken - at);
    return room->bytes + at;
}

static size_t check_lay_out(schedule_checker_t *checker, const check_needs_t *needs, void *memory)
{
    check_room_t room = {.bytes = memory, .taken = 0};
    uint64_t size = checker->size;
    checker->ranks = check_take(&room, size, sizeof *checker->ranks);
    checker->cells = check_take(&room, needs->cells, sizeof *checker->cells);
    checker->messages = check_take(&room, needs->sends, sizeof *checker->messages);
    checker->message_of = check_take(&room, needs->receives, sizeof *checker->message_of);
    checker->values = check_take(&room, needs->values, sizeof *checker->values);
    checker->known = check_take(&room, size * size, sizeof *checker->known);
    checker->known_at = check_take(&room, needs->phases * size, sizeof *checker->known_at);
    checker->known_at_decision = check_take(&room, size, sizeof *checker->known_at_decision);
    return room.taken;
}

size_t schedule_check_memory(const schedule_request_t *request, const schedule_t *schedules)
{
    schedule_checker_t checker = {.request = request, .size = request->size};
    check_needs_t needs = check_all_needs(request, schedules);
    return check_lay_out(&checker, &needs, NULL);
}

static void check_number_ranks(schedule_checker_t *checker)
{
    uint32_t cells = 0;
    uint32_t phases = 0;
    uint32_t sends = 0;
    uint32_t receives = 0;
    uint64_t values = 0;
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        const schedule_t *schedule = &checker->schedules[rank];
        check_rank_t *state = &checker->ranks[rank];
        state->in_place =
            checker->request->in_place &&
            schedule_may_be_in_place(checker->request->operation, rank, checker->request->root);
        for (unsigned buffer = SCHEDULE_SEND; buffer <= SCHEDULE_INITIAL; ++buffer) {
            state->blocks[buffer] = check_buffer_blocks(checker->request, schedule, rank, buffer);
            state->first_cell[buffer] = cells;
            cells += (uint32_t)state->blocks[buffer];
        }
        state->first_phase = phases;
        state->first_send = sends;
        state->first_receive = receives;
        phases += schedule->phase_count;
        receives += schedule->receive_count;
        for (uint32_t i = 0; i < schedule->send_count; ++i) {
            checker->messages[sends].source = rank;
            checker->messages[sends].receive = CHECK_NONE;
            checker->messages[sends++].first_value = values;
            values += schedule_region_blocks(&schedule->sends[i].region);
        }
    }
    for (uint32_t i = 0; i < receives; ++i)
        checker->message_of[i] = CHECK_NONE;
}

muster_status_t schedule_check(const schedule_request_t *request, const schedule_t *schedules,
                               void *memory, text_t *why)
{
    MUSTER_ASSERT(request->size >= 1 && memory != NULL);
    schedule_checker_t checker = {
        .request = request,
        .schedules = schedules,
        .why = why,
        .size = request->size,
        .decision = CHECK_NONE,
        .everybody = check_symbol(1, request->size + 1, 0),
    };
    check_needs_t needs = check_all_needs(request, schedules);
    (void)check_lay_out(&checker, &needs, memory);
    if (!check_form(&checker))
        return MUSTER_INTERNAL;
    check_number_ranks(&checker);
    if (!check_match(&checker))
        return MUSTER_INTERNAL;
    check_fill_memory(&checker);
    if (!check_run(&checker) || !check_results(&checker) || !check_outcome(&checker))
        return MUSTER_INTERNAL;
    return MUSTER_OK;
}
