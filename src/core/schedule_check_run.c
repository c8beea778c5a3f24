/* The validator, third part: runs all ranks against each other. */
#include <string.h>

#include "core/assertion.h"
#include "core/schedule_check_state.h"

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Whether two blocks of a rank share memory, and not all of it. */
static bool check_overlaps_partly(const schedule_checker_t *checker, uint32_t rank,
                                  const schedule_region_t *into, const schedule_region_t *operand)
{
    uint64_t blocks = schedule_region_blocks(into);
    uint32_t one = check_cell_of(checker, rank, into->buffer, into->offset);
    uint32_t other = check_cell_of(checker, rank, operand->buffer, operand->offset);
    if (one != other)
        return one < other + blocks && other < one + blocks;
    return false;
}

static bool check_reduce_step(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                              const schedule_step_t *step)
{
    operation_t operation = checker->request->operation;
    bool scatters =
        operation == OPERATION_REDUCE_SCATTER || operation == OPERATION_REDUCE_SCATTER_BLOCK;
    if (check_overlaps_partly(checker, rank, &step->into, &step->left) ||
        check_overlaps_partly(checker, rank, &step->into, &step->from) ||
        (checker->ranks[rank].in_place && scatters && rank != 0 &&
         step->into.buffer == SCHEDULE_RECEIVE &&
         (step->left.buffer == SCHEDULE_SEND || step->from.buffer == SCHEDULE_SEND)))
        return check_fault(checker, rank, phase, "begins a result that overlaps an operand",
                           step->into.buffer, step->into.offset);
    uint64_t blocks = schedule_region_blocks(&step->into);
    for (uint64_t i = 0; i < blocks; ++i) {
        check_value_t left, right, result;
        if (!check_read(checker, rank, phase, step->left.buffer, step->left.offset + i, &left) ||
            !check_read(checker, rank, phase, step->from.buffer, step->from.offset + i, &right) ||
            !check_combine(checker, rank, phase, left, right, &result) ||
            !check_write(checker, rank, phase, step->into.buffer, step->into.offset + i, result))
            return false;
    }
    return true;
}

static bool check_copy_step(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                            const schedule_step_t *step)
{
    uint64_t blocks = schedule_region_blocks(&step->from);
    uint32_t number = (uint32_t)(step - checker->schedules[rank].steps) + 1;
    for (uint64_t i = 0; i < blocks; ++i) {
        uint64_t from = check_block_at(&step->from, i);
        checker->cells[check_cell_of(checker, rank, step->from.buffer, from)].copied = number;
    }
    for (uint64_t i = 0; i < blocks; ++i) {
        check_value_t value;
        uint64_t into = check_block_at(&step->into, i);
        if (checker->cells[check_cell_of(checker, rank, step->into.buffer, into)].copied == number)
            return check_fault(checker, rank, phase, "is copied from and to in one step",
                               step->into.buffer, into);
        if (!check_read(checker, rank, phase, step->from.buffer, check_block_at(&step->from, i),
                        &value) ||
            !check_write(checker, rank, phase, step->into.buffer, into, value))
            return false;
    }
    return true;
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static bool check_send(schedule_checker_t *checker, uint32_t rank, uint32_t phase, uint32_t number)
{
    const schedule_send_t *send = &checker->schedules[rank].sends[number];
    const check_message_t *message = &checker->messages[checker->ranks[rank].first_send + number];
    uint64_t blocks = schedule_region_blocks(&send->region);
    for (uint64_t i = 0; i < blocks; ++i) {
        uint64_t block = check_block_at(&send->region, i);
        if (!check_read(checker, rank, phase, send->region.buffer, block,
                        &checker->values[message->first_value + i]))
            return false;
        checker->cells[check_cell_of(checker, rank, send->region.buffer, block)].sent = phase + 1;
    }
    return true;
}

static bool check_begin_phase(schedule_checker_t *checker, uint32_t rank)
{
    check_rank_t *state = &checker->ranks[rank];
    const schedule_t *schedule = &checker->schedules[rank];
    uint32_t phase = state->begun++;
    const schedule_phase_t *place = &schedule->phases[phase];
    uint64_t size = checker->size;
    checker->known[rank * size + rank] = phase + 1;
    memcpy(&checker->known_at[(state->first_phase + phase) * size], &checker->known[rank * size],
           size * sizeof *checker->known);
    if (place->drain)
        state->drained = phase;
    for (uint32_t i = 0; i < place->step_count; ++i) {
        const schedule_step_t *step = &schedule->steps[place->first_step + i];
        if (!(step->work == SCHEDULE_COPY ? check_copy_step(checker, rank, phase, step)
                                          : check_reduce_step(checker, rank, phase, step)))
            return false;
    }
    for (uint32_t i = 0; i < place->send_count; ++i)
        if (!check_send(checker, rank, phase, place->first_send + i))
            return false;
    return true;
}

/* Messages may be placed early exactly where nothing has read or written before. */
static bool check_early(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                        const schedule_receive_t *receive)
{
    const schedule_region_t *region = &receive->region;
    uint64_t blocks = schedule_region_blocks(region);
    bool free = true;
    for (uint64_t i = 0; i < blocks && free; ++i)
        free = !check_touched(checker, rank, region->buffer, check_block_at(region, i));
    if (receive->early && !free)
        return check_fault(checker, rank, phase, "begins a region that is not free early",
                           region->buffer, region->offset);
    if (!receive->early && free)
        return check_fault(checker, rank, phase, "begins a region that is free early, unsaid",
                           region->buffer, region->offset);
    return true;
}

/* Puts one block where it goes: messages of a phase arrive in any order, so they share nothing. */
static bool check_place_block(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                              schedule_buffer_t buffer, uint64_t block, check_value_t value)
{
    check_cell_t *cell = &checker->cells[check_cell_of(checker, rank, buffer, block)];
    if (cell->placed == phase + 1 || cell->combined == phase + 1)
        return check_fault(checker, rank, phase, "is where two messages of a phase go", buffer,
                           block);
    cell->placed = phase + 1;
    return check_write(checker, rank, phase, buffer, block, value);
}

static bool check_combine_block(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                                schedule_buffer_t buffer, uint64_t block, check_value_t right)
{
    check_cell_t *cell = &checker->cells[check_cell_of(checker, rank, buffer, block)];
    check_value_t left, result;
    if (cell->placed == phase + 1)
        return check_fault(checker, rank, phase, "is placed and combined in one phase", buffer,
                           block);
    cell->combined = phase + 1;
    return check_read(checker, rank, phase, buffer, block, &left) &&
           check_combine(checker, rank, phase, left, right, &result) &&
           check_write(checker, rank, phase, buffer, block, result);
}

static bool check_receive(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                          uint32_t number)
{
    const schedule_receive_t *receive = &checker->schedules[rank].receives[number];
    const check_message_t *message =
        &checker->messages[checker->message_of[checker->ranks[rank].first_receive + number]];
    uint64_t blocks = schedule_region_blocks(&receive->region);
    uint64_t size = checker->size;
    checker->told = &checker->known_at[size * (checker->ranks[message->source].first_phase +
                                               message->source_phase)];
    for (uint64_t i = 0; i < blocks; ++i) {
        check_value_t value = checker->values[message->first_value + i];
        if (!check_place_block(checker, rank, phase, receive->region.buffer,
                               check_block_at(&receive->region, i), value))
            return false;
        if (receive->action == SCHEDULE_COMBINE &&
            !check_combine_block(checker, rank, phase, receive->into.buffer,
                                 receive->into.offset + i, value))
            return false;
    }
    for (uint64_t other = 0; other < size; ++other)
        if (checker->known[rank * size + other] < checker->told[other])
            checker->known[rank * size + other] = checker->told[other];
    checker->told = NULL;
    return true;
}

static bool check_complete_phase(schedule_checker_t *checker, uint32_t rank)
{
    check_rank_t *state = &checker->ranks[rank];
    const schedule_t *schedule = &checker->schedules[rank];
    uint32_t phase = state->completed++;
    const schedule_phase_t *place = &schedule->phases[phase];
    uint64_t size = checker->size;
    for (uint32_t i = 0; i < place->receive_count; ++i)
        if (!check_early(checker, rank, phase, &schedule->receives[place->first_receive + i]))
            return false;
    for (uint32_t i = 0; i < place->receive_count; ++i)
        if (!check_receive(checker, rank, phase, place->first_receive + i))
            return false;
    if (!place->decides)
        return true;
    if (rank != 0 || !checker->request->uniform || checker->decision != CHECK_NONE)
        return check_fault(checker, rank, phase, "decides, and is not the one to", 0, 0);
    checker->decision = phase;
    memcpy(checker->known_at_decision, checker->known, size * sizeof *checker->known);
    return true;
}

/* The first peer of the phase whose message has not been sent, or NONE. */
static uint32_t check_awaited(const schedule_checker_t *checker, uint32_t rank)
{
    const check_rank_t *state = &checker->ranks[rank];
    const schedule_phase_t *place = &checker->schedules[rank].phases[state->completed];
    for (uint32_t i = 0; i < place->receive_count; ++i) {
        uint32_t send = checker->message_of[state->first_receive + place->first_receive + i];
        const check_message_t *message = &checker->messages[send];
        if (checker->ranks[message->source].begun <= message->source_phase)
            return message->source;
    }
    return CHECK_NONE;
}

/* Runs a rank as far as it comes; *moved is set where that is anywhere. */
static bool check_advance(schedule_checker_t *checker, uint32_t rank, bool *moved)
{
    check_rank_t *state = &checker->ranks[rank];
    while (state->completed < checker->schedules[rank].phase_count) {
        if (state->begun == state->completed) {
            *moved = true;
            if (!check_begin_phase(checker, rank))
                return false;
        }
        if (check_awaited(checker, rank) != CHECK_NONE)
            return true;
        *moved = true;
        if (!check_complete_phase(checker, rank))
            return false;
    }
    return true;
}

bool check_run(schedule_checker_t *checker)
{
    bool moved = true;
    while (moved) { /* each round begins or completes a phase */
        moved = false;
        for (uint32_t rank = 0; rank < checker->size; ++rank)
            if (!check_advance(checker, rank, &moved))
                return false;
    }
    for (uint32_t rank = 0; rank < checker->size; ++rank)
        if (checker->ranks[rank].completed < checker->schedules[rank].phase_count)
            return check_fault(checker, rank, checker->ranks[rank].completed,
                               "waits for ever, in a circle of ranks", 0, 0);
    return true;
}
