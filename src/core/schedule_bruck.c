/*
 * The Bruck family: alltoall of any number of ranks in a logarithm of rounds, each block on a way
 * of several hops (Bruck, Ho, Kipnis, Upfal, Weathersby 1997, with a radix for each digit).
 *
 * Row j of scratch begins with the own block for the rank that is j behind. Digit after digit of j,
 * of weight q and radix r, the rows whose digit is s go to the rank that is s*q behind; in the end
 * row j has come from the rank that is j before. Rows of one digit are packed into one message and
 * unpacked behind it, in scratch that no other round uses. With uniform outcome a decision follows,
 * by a star at rank 0.
 */
#include "core/assertion.h"
#include "core/schedule_shift.h"
#include "core/schedule_walk.h"

typedef struct schedule_bruck_digit {
    uint32_t number;
    uint64_t weight; /* q, below the size */
    uint64_t radix;
} schedule_bruck_digit_t;

static bool schedule_bruck_supports(operation_t operation)
{
    return operation == OPERATION_ALLTOALL;
}

static uint32_t schedule_bruck_radix(const schedule_request_t *request, uint32_t number)
{
    const radix_sequence_t *radix = &request->radix;
    return radix->count == 0 ? 2 : radix->factors[number % radix->count];
}

static schedule_bruck_digit_t schedule_bruck_begin(const schedule_request_t *request)
{
    return (schedule_bruck_digit_t){.weight = 1, .radix = schedule_bruck_radix(request, 0)};
}

/* False: that was the last one. */
static bool schedule_bruck_next(const schedule_request_t *request, schedule_bruck_digit_t *digit)
{
    digit->weight *= digit->radix;
    digit->radix = schedule_bruck_radix(request, ++digit->number);
    return digit->weight < request->size;
}

/* Values that the digit of a row below size can have, beside 0. */
static uint32_t schedule_bruck_values(const schedule_bruck_digit_t *digit, uint32_t size)
{
    uint64_t most = (size - 1) / digit->weight;
    return (uint32_t)(most < digit->radix ? most : digit->radix - 1);
}

/* Rows whose digit is value: `whole` runs of q rows, r*q apart, then `rest` rows. */
typedef struct schedule_bruck_rows {
    uint64_t first, whole, rest;
} schedule_bruck_rows_t;

static schedule_bruck_rows_t schedule_bruck_rows(const schedule_bruck_digit_t *digit, uint32_t size,
                                                 uint32_t value)
{
    uint64_t period = digit->weight * digit->radix;
    uint64_t first = value * digit->weight;
    schedule_bruck_rows_t rows = {.first = first, .whole = size / period};
    uint64_t behind = size - rows.whole * period; /* rows of the last, incomplete period */
    if (behind >= first + digit->weight)
        rows.whole++;
    else if (behind > first)
        rows.rest = behind - first;
    return rows;
}

static uint64_t schedule_bruck_count(const schedule_bruck_digit_t *digit, uint32_t size,
                                     uint32_t value)
{
    schedule_bruck_rows_t rows = schedule_bruck_rows(digit, size, value);
    return rows.whole * digit->weight + rows.rest;
}

/* ---- Building ---- */

typedef struct schedule_bruck {
    schedule_emitter_t emit;
    const schedule_request_t *request;
    uint32_t size, rank;
    uint64_t table; /* the first row */
} schedule_bruck_t;

/* Between the rows of one value, and scratch from packed on. */
static void schedule_bruck_pack(schedule_bruck_t *bruck, const schedule_bruck_digit_t *digit,
                                uint32_t value, uint64_t packed, bool out)
{
    schedule_bruck_rows_t rows = schedule_bruck_rows(digit, bruck->size, value);
    uint64_t period = digit->weight * digit->radix, done = rows.whole * digit->weight;
    schedule_region_t parts[2][2] = {
        {schedule_rows(SCHEDULE_SCRATCH, bruck->table + rows.first, digit->weight, rows.whole,
                       period),
         schedule_run(SCHEDULE_SCRATCH, packed, done)},
        {schedule_run(SCHEDULE_SCRATCH, bruck->table + rows.first + rows.whole * period, rows.rest),
         schedule_run(SCHEDULE_SCRATCH, packed + done, rows.rest)}};
    for (int i = 0; i < 2; i++)
        if (schedule_region_blocks(&parts[i][0]) > 0)
            schedule_emit_copy(&bruck->emit, parts[i][out ? 1 : 0], parts[i][out ? 0 : 1]);
}

static void schedule_bruck_round(schedule_bruck_t *bruck, const schedule_bruck_digit_t *digit)
{
    schedule_emitter_t *emit = &bruck->emit;
    uint32_t size = bruck->size, values = schedule_bruck_values(digit, size);
    uint64_t all = 0;
    for (uint32_t value = 1; value <= values; value++)
        all += schedule_bruck_count(digit, size, value);
    uint64_t leaves = schedule_emit_scratch(emit, all), comes = schedule_emit_scratch(emit, all);
    for (uint32_t value = 1, at = 0; value <= values; value++) {
        schedule_bruck_pack(bruck, digit, value, leaves + at, false);
        at += (uint32_t)schedule_bruck_count(digit, size, value);
    }
    schedule_emit_round(emit, 0, size, 0, digit->number);
    for (uint32_t value = 1, at = 0; value <= values; value++) {
        uint32_t distance = (uint32_t)(value * digit->weight);
        uint64_t count = schedule_bruck_count(digit, size, value);
        schedule_emit_send(emit, schedule_shift_up(size, bruck->rank, distance),
                           schedule_run(SCHEDULE_SCRATCH, leaves + at, count));
        at += (uint32_t)count;
    }
    for (uint32_t value = 1, at = 0; value <= values; value++) {
        uint32_t distance = (uint32_t)(value * digit->weight);
        uint64_t count = schedule_bruck_count(digit, size, value);
        schedule_emit_place(emit, schedule_shift_down(size, bruck->rank, distance),
                            schedule_run(SCHEDULE_SCRATCH, comes + at, count), true);
        at += (uint32_t)count;
    }
    for (uint32_t value = 1, at = 0; value <= values; value++) {
        schedule_bruck_pack(bruck, digit, value, comes + at, true);
        at += (uint32_t)schedule_bruck_count(digit, size, value);
    }
}

static void schedule_bruck_build(schedule_bruck_t *bruck)
{
    schedule_emitter_t *emit = &bruck->emit;
    uint32_t size = bruck->size, rank = bruck->rank;
    bruck->table = schedule_emit_scratch(emit, size);
    schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, rank, size - rank),
                       schedule_run(SCHEDULE_SCRATCH, bruck->table, size - rank));
    if (rank > 0)
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, 0, rank),
                           schedule_run(SCHEDULE_SCRATCH, bruck->table + size - rank, rank));
    schedule_bruck_digit_t digit = schedule_bruck_begin(bruck->request);
    do
        schedule_bruck_round(bruck, &digit);
    while (schedule_bruck_next(bruck->request, &digit));
    for (uint32_t row = 0; row < size; row++)
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SCRATCH, bruck->table + row, 1),
                           schedule_run(SCHEDULE_RECEIVE, schedule_shift_down(size, rank, row), 1));
}

muster_status_t schedule_bruck(const schedule_request_t *request, schedule_t *schedule)
{
    MUSTER_ASSERT(request->size >= 1 && request->rank < request->size);
    if (!schedule_bruck_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    if (request->size == 1) {
        schedule_emit_alone(request, schedule);
        return MUSTER_OK;
    }
    schedule_bruck_t bruck = {.request = request, .size = request->size, .rank = request->rank};
    schedule_emit_begin(&bruck.emit, schedule, request->rank);
    schedule_bruck_build(&bruck);
    schedule_walk_append_decision(&bruck.emit, request);
    schedule_emit_end(&bruck.emit);
    return MUSTER_OK;
}

/* ---- Figures ---- */

static void schedule_bruck_add(const schedule_request_t *request,
                               const schedule_bruck_digit_t *digit, schedule_figures_t *figures)
{
    uint64_t size = request->size;
    uint32_t values = schedule_bruck_values(digit, request->size);
    schedule_round_t round = {.times = 1, .messages = values, .received = values};
    for (uint32_t value = 1; value <= values; value++) {
        uint64_t blocks = schedule_bruck_count(digit, request->size, value);
        schedule_shift_t shift = schedule_shift_between(request, (uint32_t)(value * digit->weight));
        round.blocks += blocks;
        round.messages_between += shift.between > 0;
        round.blocks_between += shift.between > 0 ? blocks : 0;
        round.host_blocks_between += shift.busiest * blocks;
        figures->messages_between += shift.between;
        figures->blocks_between += shift.between * blocks;
    }
    round.copied = 2 * round.blocks;
    if (digit->number == 0) /* into the table, and out of it */
        round.copied += 2 * size;
    figures->messages += values * size;
    figures->blocks += round.blocks * size;
    figures->rank_messages += values;
    figures->rank_blocks += round.blocks;
    schedule_figures_add(figures, round);
}

muster_status_t schedule_bruck_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    if (!schedule_bruck_supports(request->operation))
        return MUSTER_NOT_SUPPORTED;
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1)
        return MUSTER_OK;
    schedule_bruck_digit_t digit = schedule_bruck_begin(request);
    do
        schedule_bruck_add(request, &digit, figures);
    while (schedule_bruck_next(request, &digit));
    schedule_figures_decide(figures, request);
    return MUSTER_OK;
}
