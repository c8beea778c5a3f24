/*
 * The split family: long vectors, cut into as many pieces as ranks go through the phases of a radix
 * sequence, the core. A rank sends little more than the vector once to get it, and once to give it.
 *
 * broadcast   the root scatters the pieces along a k-nomial tree, then all gather them (van de
 *             Geijn's; Barnett et al. 1994). Who has had several pieces for those behind it in the
 *             tree does not get them again
 * reduce      reduce_scatter, then the pieces go up the tree to the root
 * allreduce   reduce_scatter, then all gather (Rabenseifner 2004, for radix 2)
 *
 * Reductions follow the sequence while they scatter, so that near first keeps rank order; far first
 * they have to be commutative. A broadcast follows it while it gathers. With a fixed radix extras
 * hand in their vectors before, and get the result after; the root is of the core always. With
 * uniform outcome a decision follows, by a star at rank 0.
 */
#include "core/schedule_split.h"

#include "core/assertion.h"
#include "core/schedule_radix_parts.h"

typedef struct schedule_split {
    schedule_radix_t radix;
    schedule_split_levels_t levels;
    uint64_t piece; /* the rank's own */
} schedule_split_t;

/* ---- Levels ---------------------------------------------------------------------------------- */

void schedule_split_begin(schedule_split_levels_t *levels, const schedule_radix_plan_t *plan,
                          bool backwards, uint32_t root)
{
    *levels = (schedule_split_levels_t){.plan = plan, .count = plan->phases, .root = root};
    uint64_t width = 1;
    for (uint32_t level = 0; level < plan->phases; ++level) {
        uint32_t phase = backwards ? plan->phases - 1 - level : level;
        levels->phases[level] = phase;
        levels->widths[level] = width;
        width *= plan->radices[phase];
    }
}

bool schedule_split_supports(operation_t operation)
{
    return operation == OPERATION_BROADCAST || operation == OPERATION_REDUCE ||
           operation == OPERATION_ALLREDUCE;
}

bool schedule_split_is_backwards(operation_t operation)
{
    return operation != OPERATION_BROADCAST;
}

schedule_radix_meeting_t schedule_split_meet(const schedule_split_levels_t *levels, uint32_t level,
                                             uint32_t place)
{
    return schedule_radix_meet(levels->plan, levels->phases[level], place);
}

uint32_t schedule_split_root_number(const schedule_split_levels_t *levels, uint32_t level)
{
    return schedule_split_meet(levels, level, levels->root).own;
}

uint32_t schedule_split_level_of(const schedule_split_levels_t *levels, uint32_t place)
{
    uint32_t level = 0;
    while (level < levels->count && schedule_split_meet(levels, level, place).own ==
                                        schedule_split_root_number(levels, level))
        ++level;
    return level;
}

uint64_t schedule_split_piece(const schedule_split_levels_t *levels, uint32_t place)
{
    uint64_t piece = 0;
    for (uint32_t level = 0; level < levels->count; ++level)
        piece += schedule_split_meet(levels, level, place).own * levels->widths[level];
    return piece;
}

schedule_radix_part_t schedule_split_chunk(const schedule_split_levels_t *levels, uint32_t level,
                                           uint64_t piece, const schedule_radix_meeting_t *meeting,
                                           uint32_t number)
{
    uint64_t width = levels->widths[level];
    uint64_t first = piece / width * width - meeting->own * width; /* of member 0 */
    return (schedule_radix_part_t){.first = first + number * width, .count = width, .stride = 1};
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static uint32_t schedule_split_peer(const schedule_split_t *split,
                                    const schedule_radix_meeting_t *meeting, uint32_t number)
{
    return schedule_radix_rank(&split->radix.plan, schedule_radix_member(meeting, number));
}

/* Scattering rounds are 1 to count, those of gathering follow. */
static schedule_radix_meeting_t schedule_split_open(schedule_split_t *split, uint32_t level,
                                                    bool gathers)
{
    const schedule_split_levels_t *levels = &split->levels;
    schedule_radix_meeting_t meeting = schedule_split_meet(levels, level, split->radix.place);
    uint32_t round = gathers ? levels->count + 1 + level : levels->count - level;
    schedule_radix_open(&split->radix.plan, &split->radix.emit, &meeting, round);
    return meeting;
}

static void schedule_split_send(schedule_split_t *split, uint32_t level,
                                const schedule_radix_meeting_t *meeting, uint32_t to,
                                uint32_t chunk_of, const schedule_radix_store_t *store)
{
    schedule_radix_part_t chunk =
        schedule_split_chunk(&split->levels, level, split->piece, meeting, chunk_of);
    schedule_emit_send(&split->radix.emit, schedule_split_peer(split, meeting, to),
                       schedule_radix_region(store, &chunk));
}

static void schedule_split_place(schedule_split_t *split, uint32_t level,
                                 const schedule_radix_meeting_t *meeting, uint32_t from,
                                 uint32_t chunk_of, const schedule_radix_store_t *store)
{
    schedule_radix_part_t chunk =
        schedule_split_chunk(&split->levels, level, split->piece, meeting, chunk_of);
    schedule_emit_place(&split->radix.emit, schedule_split_peer(split, meeting, from),
                        schedule_radix_region(store, &chunk), !split->radix.in_place);
}

/* ---- Reductions ------------------------------------------------------------------------------ */

/* Returns where the rank has its piece then: in the result, if it has one, else in scratch. */
static schedule_radix_store_t schedule_split_fold(schedule_split_t *split, bool has_result)
{
    schedule_radix_t *radix = &split->radix;
    schedule_radix_fold_t fold = {
        .width = radix->plan.core,
        .mine = {.buffer = SCHEDULE_SEND, .step = 1},
        .result = {.buffer = SCHEDULE_RECEIVE, .step = 1},
    };
    schedule_radix_join(radix, &fold, radix->plan.core);
    for (uint32_t level = radix->phases; level-- > 0;) {
        schedule_radix_meeting_t meeting = schedule_split_meet(&split->levels, level, radix->place);
        bool over = radix->in_place && fold.mine.buffer == SCHEDULE_SEND; /* result over operand */
        fold.members = meeting.radix;
        fold.own = meeting.own;
        fold.part =
            schedule_split_chunk(&split->levels, level, split->piece, &meeting, meeting.own);
        fold.from = level > 0 || !has_result ? fold.members : over ? fold.own : 0;
        schedule_radix_stage(&fold, &radix->emit);
        (void)schedule_split_open(split, level, false);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            schedule_radix_store_t staged = schedule_radix_staged(&fold, number);
            schedule_split_send(split, level, &meeting, number, number, &fold.mine);
            schedule_emit_place(&radix->emit, schedule_split_peer(split, &meeting, number),
                                schedule_radix_region(&staged, &fold.part), true);
        }
        fold.mine = schedule_radix_reduce(&fold, &radix->emit);
    }
    return fold.mine;
}

static void schedule_split_allreduce(schedule_split_t *split)
{
    schedule_radix_t *radix = &split->radix;
    schedule_radix_store_t result = schedule_split_fold(split, true);
    for (uint32_t level = 0; level < radix->phases; ++level) {
        schedule_radix_meeting_t meeting = schedule_split_open(split, level, true);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            schedule_split_send(split, level, &meeting, number, meeting.own, &result);
            schedule_split_place(split, level, &meeting, number, number, &result);
        }
    }
    schedule_region_t all = schedule_run(SCHEDULE_RECEIVE, 0, radix->plan.core);
    schedule_radix_pair(radix, 2 * radix->plan.phases + 1, false, all, all, !radix->in_place);
}

static void schedule_split_reduce(schedule_split_t *split)
{
    schedule_radix_t *radix = &split->radix;
    const schedule_split_levels_t *levels = &split->levels;
    schedule_radix_store_t store = schedule_split_fold(split, radix->rank == radix->request->root);
    for (uint32_t level = 0; level < radix->phases; ++level) {
        schedule_radix_meeting_t meeting = schedule_split_open(split, level, true);
        uint32_t up = schedule_split_root_number(levels, level);
        if (up != meeting.own) {
            schedule_split_send(split, level, &meeting, up, meeting.own, &store);
            return;
        }
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            schedule_split_place(split, level, &meeting, number, number, &store);
        }
    }
}

/* ---- Broadcast ------------------------------------------------------------------------------- */

/* Down the tree: the chunk that the rank stands for, and on to others their chunks of it. */
static void schedule_split_scatter(schedule_split_t *split, uint32_t like,
                                   const schedule_radix_store_t *store)
{
    const schedule_split_levels_t *levels = &split->levels;
    if (like < levels->count) {
        schedule_radix_meeting_t meeting = schedule_split_open(split, like, false);
        schedule_split_place(split, like, &meeting, schedule_split_root_number(levels, like),
                             meeting.own, store);
    }
    for (uint32_t level = like; level-- > 0;) {
        schedule_radix_meeting_t meeting = schedule_split_open(split, level, false);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            schedule_split_send(split, level, &meeting, number, number, store);
        }
    }
}

/* Nobody gets what it has from the scattering: those like the root up to the level have it all. */
static void schedule_split_gather(schedule_split_t *split, uint32_t like,
                                  const schedule_radix_store_t *store)
{
    const schedule_split_levels_t *levels = &split->levels;
    for (uint32_t level = 0; level < levels->count; ++level) {
        schedule_radix_meeting_t meeting = schedule_split_open(split, level, true);
        uint32_t root = schedule_split_root_number(levels, level);
        for (uint32_t step = 1; step < meeting.radix; ++step) {
            uint32_t number = schedule_radix_behind(&meeting, step);
            if (like < level || number != root)
                schedule_split_send(split, level, &meeting, number, meeting.own, store);
            if (like <= level)
                schedule_split_place(split, level, &meeting, number, number, store);
        }
    }
}

static void schedule_split_broadcast(schedule_split_t *split)
{
    schedule_radix_t *radix = &split->radix;
    bool is_root = radix->rank == radix->request->root;
    schedule_radix_store_t store = {.buffer = is_root ? SCHEDULE_SEND : SCHEDULE_RECEIVE,
                                    .step = 1};
    if (!radix->extra) {
        uint32_t like = schedule_split_level_of(&split->levels, radix->place);
        schedule_split_scatter(split, like, &store);
        schedule_split_gather(split, like, &store);
    }
    schedule_region_t all = schedule_run(store.buffer, 0, radix->plan.core);
    schedule_radix_pair(radix, 2 * radix->plan.phases + 1, false, all, all, true);
}

/* ---- The family ------------------------------------------------------------------------------ */

muster_status_t schedule_split(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_split_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    bool rooted = operation_is_rooted(request->operation);
    schedule_split_t split;
    muster_status_t status = schedule_radix_begin(&split.radix, request, schedule,
                                                  rooted ? request->root : SCHEDULE_NO_RANK);
    if (status != MUSTER_OK)
        return status;
    schedule_radix_t *radix = &split.radix;
    if (operation_is_reducing(request->operation) && !schedule_radix_keeps_order(radix))
        return MUSTER_NOT_SUPPORTED;
    schedule_split_begin(&split.levels, &radix->plan,
                         schedule_split_is_backwards(request->operation),
                         rooted ? schedule_radix_place(&radix->plan, request->root) : 0);
    split.piece = schedule_split_piece(&split.levels, radix->place);
    schedule_emit_pieces(&radix->emit, radix->plan.core);
    if (request->operation == OPERATION_BROADCAST)
        schedule_split_broadcast(&split);
    else if (request->operation == OPERATION_REDUCE)
        schedule_split_reduce(&split);
    else
        schedule_split_allreduce(&split);
    schedule_radix_end(radix);
    return MUSTER_OK;
}
