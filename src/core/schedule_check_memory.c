/* The validator, second part: the ranks' memory, in symbols. */
#include "core/assertion.h"
#include "core/schedule_check_state.h"

/* A bijection that scatters (splitmix64's finaliser: Steele, Lea, Flood 2014). */
static uint64_t check_mix(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

check_value_t check_symbol(uint32_t begin, uint32_t end, uint32_t block)
{
    check_value_t value = {.begin = begin, .end = end, .block = block};
    for (uint32_t position = begin; position < end; ++position)
        value.ranks += check_mix(position + 1);
    value.form = check_mix(value.ranks);
    return value;
}

uint64_t check_block_at(const schedule_region_t *region, uint64_t position)
{
    if (position < region->run)
        return region->offset + position;
    return schedule_region_start(region, position / region->run) + position % region->run;
}

/* In place, block 0 of a reduce_scatter's result begins where its vector does. */
static bool check_result_covers_send(const schedule_checker_t *checker, uint32_t rank)
{
    operation_t operation = checker->request->operation;
    return checker->ranks[rank].in_place &&
           (operation == OPERATION_REDUCE_SCATTER || operation == OPERATION_REDUCE_SCATTER_BLOCK);
}

uint32_t check_cell_of(const schedule_checker_t *checker, uint32_t rank, schedule_buffer_t buffer,
                       uint64_t block)
{
    const check_rank_t *state = &checker->ranks[rank];
    MUSTER_ASSERT(buffer != SCHEDULE_NOTHING && block < state->blocks[buffer]);
    if (state->in_place && (buffer == SCHEDULE_SEND || buffer == SCHEDULE_RECEIVE)) {
        switch (checker->request->operation) {
        case OPERATION_GATHER:
        case OPERATION_GATHERV:
        case OPERATION_ALLGATHER:
        case OPERATION_ALLGATHERV:
            if (buffer == SCHEDULE_SEND)
                return state->first_cell[SCHEDULE_RECEIVE] + rank;
            break;
        case OPERATION_SCATTER:
        case OPERATION_SCATTERV:
            if (buffer == SCHEDULE_RECEIVE)
                return state->first_cell[SCHEDULE_SEND] + rank;
            break;
        case OPERATION_REDUCE_SCATTER:
        case OPERATION_REDUCE_SCATTER_BLOCK:
            if (buffer == SCHEDULE_RECEIVE && rank == 0) /* exactly block 0 */
                return state->first_cell[SCHEDULE_SEND];
            break;
        default:
            return state->first_cell[SCHEDULE_RECEIVE] + (uint32_t)block;
        }
    }
    return state->first_cell[buffer] + (uint32_t)block;
}

void check_fill_memory(schedule_checker_t *checker)
{
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        const check_rank_t *state = &checker->ranks[rank];
        for (uint32_t block = 0; block < state->blocks[SCHEDULE_SEND]; ++block)
            checker->cells[check_cell_of(checker, rank, SCHEDULE_SEND, block)].value =
                check_symbol(rank + 1, rank + 2, block);
        if (state->blocks[SCHEDULE_INITIAL] > 0)
            checker->cells[state->first_cell[SCHEDULE_INITIAL]].value = check_symbol(0, 1, 0);
    }
}

bool check_read(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                schedule_buffer_t buffer, uint64_t block, check_value_t *value)
{
    check_cell_t *cell = &checker->cells[check_cell_of(checker, rank, buffer, block)];
    if (cell->value.begin == cell->value.end)
        return check_fault(checker, rank, phase,
                           cell->written ? "is read, and has been overwritten"
                                         : "is read, and was never written",
                           buffer, block);
    cell->touched = true;
    *value = cell->value;
    return true;
}

/* Whether a send's source has the cell. */
static bool check_sends_cell(const schedule_checker_t *checker, uint32_t rank,
                             const schedule_region_t *region, uint32_t cell)
{
    uint64_t blocks = schedule_region_blocks(region);
    for (uint64_t i = 0; i < blocks; ++i)
        if (check_cell_of(checker, rank, region->buffer, check_block_at(region, i)) == cell)
            return true;
    return false;
}

/*
 * No send that may be under way reads the cell. A message has arrived when its receiver is known to
 * have begun the phase after the one in which it is received: known when this phase began, or from
 * the very message that is being written.
 */
static bool check_is_quiet(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                           uint32_t cell)
{
    const check_rank_t *state = &checker->ranks[rank];
    const schedule_t *schedule = &checker->schedules[rank];
    const uint32_t *known =
        &checker->known_at[(uint64_t)(state->first_phase + phase) * checker->size];
    if (checker->cells[cell].sent <= state->drained)
        return true;
    for (uint32_t at = state->drained; at <= phase; ++at) {
        const schedule_phase_t *place = &schedule->phases[at];
        for (uint32_t i = 0; i < place->send_count; ++i) {
            const schedule_send_t *send = &schedule->sends[place->first_send + i];
            const check_message_t *message =
                &checker->messages[state->first_send + place->first_send + i];
            uint32_t arrived = message->receive_phase + 2;
            if (known[send->peer] >= arrived ||
                (checker->told != NULL && checker->told[send->peer] >= arrived))
                continue;
            if (check_sends_cell(checker, rank, &send->region, cell))
                return false;
        }
    }
    return true;
}

/* A block's place says how long it is; with carriers, what comes there, which is one thing then. */
static bool check_length_fits(const schedule_checker_t *checker, uint32_t rank,
                              schedule_buffer_t buffer, uint64_t block, check_value_t value)
{
    if (checker->schedules[rank].carrier)
        return buffer != SCHEDULE_SCRATCH ||
               !checker->cells[check_cell_of(checker, rank, buffer, block)].written;
    switch (checker->request->operation) {
    case OPERATION_REDUCE_SCATTER:
        return value.block == (buffer == SCHEDULE_SCRATCH ? block % checker->size : rank);
    case OPERATION_ALLTOALLV:
        return buffer != SCHEDULE_SCRATCH || value.block == block % checker->size;
    case OPERATION_ALLGATHERV:
        return buffer == SCHEDULE_RECEIVE && value.begin == block + 1;
    default:
        return true;
    }
}

bool check_write(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                 schedule_buffer_t buffer, uint64_t block, check_value_t value)
{
    uint32_t number = check_cell_of(checker, rank, buffer, block);
    check_cell_t *cell = &checker->cells[number];
    if (!check_is_quiet(checker, rank, phase, number))
        return check_fault(checker, rank, phase, "is overwritten while it may still be sent",
                           buffer, block);
    if (!check_length_fits(checker, rank, buffer, block, value))
        return check_fault(checker, rank, phase, "is given a block of another length", buffer,
                           block);
    if (buffer == SCHEDULE_RECEIVE && check_result_covers_send(checker, rank)) {
        uint32_t first = checker->ranks[rank].first_cell[SCHEDULE_SEND];
        for (uint32_t i = 0; i < checker->size; ++i) {
            if (!check_is_quiet(checker, rank, phase, first + i))
                return check_fault(checker, rank, phase,
                                   "is overwritten while it may still be sent", SCHEDULE_SEND, i);
            checker->cells[first + i].value = (check_value_t){0};
            checker->cells[first + i].written = true;
        }
    }
    cell->value = value;
    cell->touched = true;
    cell->written = true;
    return true;
}

bool check_touched(const schedule_checker_t *checker, uint32_t rank, schedule_buffer_t buffer,
                   uint64_t block)
{
    if (checker->cells[check_cell_of(checker, rank, buffer, block)].touched)
        return true;
    if (buffer != SCHEDULE_RECEIVE || !check_result_covers_send(checker, rank))
        return false;
    for (uint32_t i = 0; i < checker->size; ++i)
        if (checker->cells[checker->ranks[rank].first_cell[SCHEDULE_SEND] + i].touched)
            return true;
    return false;
}

bool check_combine(schedule_checker_t *checker, uint32_t rank, uint32_t phase, check_value_t left,
                   check_value_t right, check_value_t *into)
{
    if (left.block != right.block)
        return check_fault(checker, rank, phase, "different blocks are combined", 0, 0);
    bool ordered = left.begin != CHECK_SCATTERED && left.end == right.begin;
    if (!ordered && !checker->request->commutative)
        return check_fault(checker, rank, phase, "values are combined out of rank order", 0, 0);
    *into = (check_value_t){.begin = ordered ? left.begin : CHECK_SCATTERED,
                            .end = ordered ? right.end : 0,
                            .block = left.block,
                            .ranks = left.ranks + right.ranks,
                            .form = check_mix(left.form * 3 + check_mix(right.form))};
    return true;
}
