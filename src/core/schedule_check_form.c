/* The validator, first part: form, and which send belongs to which receive. */
#include "core/schedule_check_state.h"

/* Operations whose vector may be cut into pieces. */
static bool check_is_cut(operation_t operation)
{
    return operation == OPERATION_BROADCAST || operation == OPERATION_REDUCE ||
           operation == OPERATION_ALLREDUCE;
}

uint64_t check_scratch_most(const schedule_request_t *request, const schedule_t *schedule)
{
    return 4 * (uint64_t)request->size * request->size + 8 * (uint64_t)schedule->pieces + 64;
}

uint64_t check_buffer_blocks(const schedule_request_t *request, const schedule_t *schedule,
                             uint32_t rank, schedule_buffer_t buffer)
{
    uint64_t size = request->size;
    bool at_root = rank == request->root;
    bool sends = buffer == SCHEDULE_SEND;
    if (buffer == SCHEDULE_NOTHING)
        return 0;
    if (buffer == SCHEDULE_SCRATCH)
        return schedule->scratch_blocks;
    if (buffer == SCHEDULE_INITIAL)
        return request->operation == OPERATION_EXSCAN && request->initial;
    switch (request->operation) {
    case OPERATION_BARRIER:
    case OPERATION_COUNT:
        return 0;
    case OPERATION_BROADCAST:
        return sends == at_root ? schedule->pieces : 0;
    case OPERATION_REDUCE:
        return sends || at_root ? schedule->pieces : 0;
    case OPERATION_ALLREDUCE:
        return schedule->pieces;
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        return 1;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        return sends ? 1 : at_root ? size : 0;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        return !sends ? 1 : at_root ? size : 0;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return sends ? 1 : size;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        return size;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        return sends ? size : 1;
    }
    return 0;
}

/* The last block that count steps of a stride reach, or false where that passes limit. */
static bool check_reach(uint64_t *last, uint64_t count, uint64_t stride, uint64_t limit)
{
    if (count > limit || (count > 1 && stride > limit))
        return false; /* so that the product cannot overflow: limits are below 2^31 */
    *last += (count - 1) * stride;
    return *last < limit;
}

bool check_region_fits(const schedule_request_t *request, const schedule_t *schedule, uint32_t rank,
                       const schedule_region_t *region, uint64_t *blocks)
{
    *blocks = 0;
    if (region->buffer > SCHEDULE_INITIAL)
        return false;
    if (region->buffer == SCHEDULE_NOTHING)
        return region->run == 0 && region->inner_count == 0 && region->outer_count == 0;
    uint64_t limit = check_buffer_blocks(request, schedule, rank, region->buffer);
    uint64_t last = region->offset;
    if (limit > INT32_MAX || last >= limit)
        return false;
    if (region->run == 0 || region->inner_count == 0 || region->outer_count == 0)
        return false;
    if (!check_reach(&last, region->run, 1, limit) ||
        !check_reach(&last, region->inner_count, region->inner_stride, limit) ||
        !check_reach(&last, region->outer_count, region->outer_stride, limit))
        return false;
    uint64_t inner = region->run * region->inner_count;
    if (inner > limit || inner * region->outer_count > limit)
        return false; /* blocks twice */
    *blocks = inner * region->outer_count;
    return true;
}

static bool check_is_contiguous(const schedule_region_t *region)
{
    return region->inner_count * region->outer_count == 1;
}

/* A region that is read, or with `writes` written: the caller's inputs never are. */
static bool check_region(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                         const schedule_region_t *region, bool writes, uint64_t *blocks)
{
    const schedule_t *schedule = &checker->schedules[rank];
    const schedule_request_t *request = checker->request;
    if (!check_region_fits(request, schedule, rank, region, blocks))
        return check_fault(checker, rank, phase, "is where a region leaves its buffer",
                           region->buffer <= SCHEDULE_INITIAL ? region->buffer : SCHEDULE_NOTHING,
                           region->offset);
    if (!writes || region->buffer == SCHEDULE_NOTHING)
        return true;
    bool stays =
        request->in_place && rank == request->root &&
        (request->operation == OPERATION_SCATTER || request->operation == OPERATION_SCATTERV);
    if (region->buffer == SCHEDULE_SEND || region->buffer == SCHEDULE_INITIAL ||
        (region->buffer == SCHEDULE_RECEIVE && stays))
        return check_fault(checker, rank, phase, "is the caller's and may not be written",
                           region->buffer, region->offset);
    return true;
}

static bool check_step_form(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                            const schedule_step_t *step)
{
    uint64_t from, into, left;
    if (!check_region(checker, rank, phase, &step->from, false, &from) ||
        !check_region(checker, rank, phase, &step->into, true, &into) ||
        !check_region(checker, rank, phase, &step->left, false, &left))
        return false;
    if (from != into || from == 0)
        return check_fault(checker, rank, phase, "a step's regions differ in blocks", 0, 0);
    if (step->work == SCHEDULE_COPY)
        return left == 0 || check_fault(checker, rank, phase, "a copy has two sources", 0, 0);
    if (step->work != SCHEDULE_REDUCE || !operation_is_reducing(checker->request->operation))
        return check_fault(checker, rank, phase, "a step is of no known kind here", 0, 0);
    if (left != into)
        return check_fault(checker, rank, phase, "a reduction's operands differ in blocks", 0, 0);
    if (!check_is_contiguous(&step->from) || !check_is_contiguous(&step->left) ||
        !check_is_contiguous(&step->into))
        return check_fault(checker, rank, phase, "a reduction's operand is not contiguous", 0, 0);
    return true;
}

static bool check_receive_form(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                               const schedule_receive_t *receive)
{
    uint64_t blocks, into;
    if (!check_region(checker, rank, phase, &receive->region, true, &blocks) ||
        !check_region(checker, rank, phase, &receive->into, true, &into))
        return false;
    if (receive->action == SCHEDULE_PLACE)
        return into == 0 || check_fault(checker, rank, phase, "a placed message is combined", 0, 0);
    if (receive->action != SCHEDULE_COMBINE || !operation_is_reducing(checker->request->operation))
        return check_fault(checker, rank, phase, "a receive's action is not known here", 0, 0);
    if (blocks != into || blocks == 0)
        return check_fault(checker, rank, phase, "a combined message differs in blocks", 0, 0);
    if (!check_is_contiguous(&receive->region) || !check_is_contiguous(&receive->into))
        return check_fault(checker, rank, phase, "a combined message is not contiguous", 0, 0);
    return true;
}

static bool check_peer(schedule_checker_t *checker, uint32_t rank, uint32_t phase, uint32_t peer)
{
    const schedule_phase_t *place = &checker->schedules[rank].phases[phase];
    if (peer == rank || peer < place->group_left || peer >= place->group_right)
        return check_fault(checker, rank, phase, "a peer is not of the group", 0, 0);
    return true;
}

static bool check_phase_form(schedule_checker_t *checker, uint32_t rank, uint32_t phase)
{
    const schedule_t *schedule = &checker->schedules[rank];
    const schedule_phase_t *place = &schedule->phases[phase];
    if (place->group_left > rank || place->group_right <= rank ||
        place->group_right > checker->size)
        return check_fault(checker, rank, phase, "the rank is not of the group", 0, 0);
    if (place->slot > 1)
        return check_fault(checker, rank, phase, "there are two slots only", 0, 0);
    for (uint32_t i = 0; i < place->step_count; ++i)
        if (!check_step_form(checker, rank, phase, &schedule->steps[place->first_step + i]))
            return false;
    for (uint32_t i = 0; i < place->send_count; ++i) {
        const schedule_send_t *send = &schedule->sends[place->first_send + i];
        uint64_t blocks;
        if (!check_peer(checker, rank, phase, send->peer) ||
            !check_region(checker, rank, phase, &send->region, false, &blocks))
            return false;
    }
    for (uint32_t i = 0; i < place->receive_count; ++i) {
        const schedule_receive_t *receive = &schedule->receives[place->first_receive + i];
        if (!check_peer(checker, rank, phase, receive->peer) ||
            !check_receive_form(checker, rank, phase, receive))
            return false;
    }
    return true;
}

/* Phases lay out steps, sends and receives one after the other, without gaps. */
static bool check_ranges(schedule_checker_t *checker, uint32_t rank)
{
    const schedule_t *schedule = &checker->schedules[rank];
    uint64_t steps = 0, sends = 0, receives = 0;
    for (uint32_t phase = 0; phase < schedule->phase_count; ++phase) {
        const schedule_phase_t *place = &schedule->phases[phase];
        if (place->first_step != steps || place->first_send != sends ||
            place->first_receive != receives)
            return check_fault(checker, rank, phase, "does not begin where the last one ends", 0,
                               0);
        steps += place->step_count;
        sends += place->send_count;
        receives += place->receive_count;
    }
    if (steps != schedule->step_count || sends != schedule->send_count ||
        receives != schedule->receive_count)
        return check_fault(checker, rank, CHECK_NONE, "phases and counts do not agree", 0, 0);
    return true;
}

bool check_form(schedule_checker_t *checker)
{
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        const schedule_t *schedule = &checker->schedules[rank];
        if (schedule->pieces != checker->schedules[0].pieces || schedule->pieces == 0 ||
            (schedule->pieces > 1 && !check_is_cut(checker->request->operation)))
            return check_fault(checker, rank, CHECK_NONE, "vectors are cut differently", 0, 0);
        if (schedule->carrier != checker->schedules[0].carrier ||
            schedule->self_deciding != checker->schedules[0].self_deciding)
            return check_fault(checker, rank, CHECK_NONE, "a flag differs from rank 0's", 0, 0);
        if (schedule->scratch_blocks > check_scratch_most(checker->request, schedule))
            return check_fault(checker, rank, CHECK_NONE, "there is too much scratch", 0, 0);
        if (!check_ranges(checker, rank))
            return false;
        for (uint32_t phase = 0; phase < schedule->phase_count; ++phase)
            if (!check_phase_form(checker, rank, phase))
                return false;
    }
    return true;
}

/* ---- Matching -------------------------------------------------------------------------------- */

/* One message for each group, slot, label, source and destination: the send has one receive. */
static bool check_match_send(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                             uint32_t number)
{
    const schedule_phase_t *place = &checker->schedules[rank].phases[phase];
    const schedule_send_t *send = &checker->schedules[rank].sends[number];
    const schedule_t *there = &checker->schedules[send->peer];
    const check_rank_t *peer = &checker->ranks[send->peer];
    check_message_t *message = &checker->messages[checker->ranks[rank].first_send + number];
    message->source_phase = phase;
    for (uint32_t at = 0; at < there->phase_count; ++at) {
        const schedule_phase_t *other = &there->phases[at];
        if (other->group_left != place->group_left || other->group_right != place->group_right ||
            other->slot != place->slot || other->label != place->label ||
            other->round != place->round)
            continue;
        for (uint32_t i = 0; i < other->receive_count; ++i) {
            const schedule_receive_t *receive = &there->receives[other->first_receive + i];
            if (receive->peer != rank)
                continue;
            uint32_t global = peer->first_receive + other->first_receive + i;
            if (message->receive != CHECK_NONE || checker->message_of[global] != CHECK_NONE)
                return check_fault(checker, rank, phase, "two messages have one name", 0, 0);
            message->receive = global;
            message->receive_phase = at;
            checker->message_of[global] = checker->ranks[rank].first_send + number;
            if (schedule_region_blocks(&receive->region) != schedule_region_blocks(&send->region))
                return check_fault(checker, rank, phase, "a send and its receive differ in blocks",
                                   0, 0);
        }
    }
    if (message->receive == CHECK_NONE)
        return check_fault(checker, rank, phase, "a send has no receive", 0, 0);
    return true;
}

bool check_match(schedule_checker_t *checker)
{
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        const schedule_t *schedule = &checker->schedules[rank];
        for (uint32_t phase = 0; phase < schedule->phase_count; ++phase) {
            const schedule_phase_t *place = &schedule->phases[phase];
            for (uint32_t i = 0; i < place->send_count; ++i)
                if (!check_match_send(checker, rank, phase, place->first_send + i))
                    return false;
        }
    }
    for (uint32_t rank = 0; rank < checker->size; ++rank) {
        const schedule_t *schedule = &checker->schedules[rank];
        for (uint32_t phase = 0; phase < schedule->phase_count; ++phase) {
            const schedule_phase_t *place = &schedule->phases[phase];
            for (uint32_t i = 0; i < place->receive_count; ++i) {
                uint32_t global = checker->ranks[rank].first_receive + place->first_receive + i;
                if (checker->message_of[global] == CHECK_NONE)
                    return check_fault(checker, rank, phase, "a receive has no send", 0, 0);
            }
        }
    }
    return true;
}
