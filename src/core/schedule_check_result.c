/* The validator, last part: what came out, and who knew what when. */
#include "core/schedule_check_state.h"

/* What block of RECEIVE a rank must have in the end. */
static check_value_t check_expected(const schedule_checker_t *checker, uint32_t rank,
                                    uint32_t block)
{
    const schedule_request_t *request = checker->request;
    check_value_t everybody = checker->everybody;
    uint32_t root = request->root;
    switch (request->operation) {
    case OPERATION_BROADCAST:
        return check_symbol(root + 1, root + 2, block);
    case OPERATION_REDUCE:
    case OPERATION_ALLREDUCE:
        everybody.block = block;
        return everybody;
    case OPERATION_SCAN:
        return check_symbol(1, rank + 2, 0);
    case OPERATION_EXSCAN: /* nothing, at rank 0 without an initial value */
        return check_symbol(request->initial ? 0 : 1, rank + 1, 0);
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return check_symbol(block + 1, block + 2, 0);
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        return check_symbol(root + 1, root + 2, rank);
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        return check_symbol(block + 1, block + 2, rank);
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        everybody.block = rank;
        return everybody;
    case OPERATION_BARRIER:
    case OPERATION_COUNT:
        break;
    }
    return (check_value_t){0};
}

/* What every rank gets of an allreduce has been computed alike: floating point agrees (C420). */
static bool check_computed_alike(schedule_checker_t *checker)
{
    if (checker->request->operation != OPERATION_ALLREDUCE)
        return true;
    for (uint32_t rank = 1; rank < checker->size; ++rank)
        for (uint32_t block = 0; block < checker->ranks[rank].blocks[SCHEDULE_RECEIVE]; ++block) {
            uint32_t here = check_cell_of(checker, rank, SCHEDULE_RECEIVE, block);
            uint32_t there = check_cell_of(checker, 0, SCHEDULE_RECEIVE, block);
            if (checker->cells[here].value.form != checker->cells[there].value.form)
                return check_fault(checker, rank, CHECK_NONE, "is not computed as on rank 0",
                                   SCHEDULE_RECEIVE, block);
        }
    return true;
}

bool check_results(schedule_checker_t *checker)
{
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        uint64_t blocks = checker->ranks[rank].blocks[SCHEDULE_RECEIVE];
        for (uint32_t block = 0; block < blocks; ++block) {
            check_value_t expected = check_expected(checker, rank, block);
            const check_cell_t *cell =
                &checker->cells[check_cell_of(checker, rank, SCHEDULE_RECEIVE, block)];
            if (expected.begin == expected.end && !cell->written)
                continue;
            bool interval = cell->value.begin == expected.begin && cell->value.end == expected.end;
            bool same = interval || cell->value.begin == CHECK_SCATTERED;
            if (expected.begin == expected.end || !same || cell->value.ranks != expected.ranks ||
                cell->value.block != expected.block)
                return check_fault(checker, rank, CHECK_NONE, "is wrong in the end",
                                   SCHEDULE_RECEIVE, block);
        }
    }
    return check_computed_alike(checker);
}

/* Phases up to the last that is no part of the appended decision. */
static uint32_t check_data_phases(const schedule_t *schedule)
{
    uint32_t count = schedule->phase_count;
    while (count > 0 && (schedule->phases[count - 1].label == SCHEDULE_DECIDE_UP ||
                         schedule->phases[count - 1].label == SCHEDULE_DECIDE_DOWN))
        --count;
    return count;
}

/* No reduction, which may fail, remains when rank 0 decides. */
static bool check_reduced_by_then(schedule_checker_t *checker, uint32_t rank)
{
    const schedule_t *schedule = &checker->schedules[rank];
    /* Phases begun, and completed, as far as rank 0 knows. */
    uint32_t begun = rank == 0 ? checker->decision + 1 : checker->known_at_decision[rank];
    uint32_t completed = rank == 0 ? begun : begun - 1;
    for (uint32_t phase = 0; phase < schedule->phase_count; ++phase) {
        const schedule_phase_t *place = &schedule->phases[phase];
        for (uint32_t i = 0; i < place->step_count; ++i)
            if (phase >= begun && schedule->steps[place->first_step + i].work == SCHEDULE_REDUCE)
                return check_fault(checker, rank, phase, "reduces after the decision", 0, 0);
        for (uint32_t i = 0; i < place->receive_count; ++i)
            if (phase >= completed &&
                schedule->receives[place->first_receive + i].action == SCHEDULE_COMBINE)
                return check_fault(checker, rank, phase, "reduces after the decision", 0, 0);
    }
    return true;
}

static bool check_decision(schedule_checker_t *checker)
{
    if (checker->decision == CHECK_NONE)
        return check_fault(checker, 0, CHECK_NONE, "nothing decides", 0, 0);
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        const schedule_t *schedule = &checker->schedules[rank];
        uint32_t heard = checker->known_at_decision[rank];
        uint64_t size = checker->size;
        if (rank != 0 && heard == 0)
            return check_fault(checker, rank, CHECK_NONE,
                               "has not been heard of when rank 0 decides", 0, 0);
        if (rank != 0 && !schedule->self_deciding && heard <= check_data_phases(schedule))
            return check_fault(checker, rank, CHECK_NONE,
                               "may not be done with its data when rank 0 decides", 0, 0);
        if (rank != 0 && checker->known[rank * size] < checker->decision + 2)
            return check_fault(checker, rank, CHECK_NONE, "ends before it hears of the decision", 0,
                               0);
        if (!check_reduced_by_then(checker, rank))
            return false;
    }
    return true;
}

bool check_outcome(schedule_checker_t *checker)
{
    uint64_t size = checker->size;
    if (checker->request->uniform && !check_decision(checker))
        return false;
    if (checker->request->operation != OPERATION_BARRIER)
        return true;
    for (uint32_t rank = 0; rank < size; ++rank)
        for (uint32_t other = 0; other < size; ++other)
            if (checker->known[rank * size + other] == 0 && rank != other)
                return check_fault(checker, rank, CHECK_NONE, "leaves before all have arrived", 0,
                                   0);
    return true;
}
