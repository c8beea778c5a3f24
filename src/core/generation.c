#include "core/generation.h"

#include "core/assertion.h"

uint64_t generation_internal(uint64_t generation, unsigned slot)
{
    MUSTER_ASSERT(generation >= 1 && generation <= GENERATION_MAX && slot <= 1);
    return 2 * generation - 1 + slot;
}

uint64_t generation_public(uint64_t internal)
{
    return internal / 2 + internal % 2;
}

unsigned generation_slot(uint64_t internal)
{
    MUSTER_ASSERT(internal >= 1);
    return internal % 2 == 0;
}

void generation_start_clock(generation_clock_t *clock, uint64_t first, bool automatic_allowed)
{
    MUSTER_ASSERT(first >= 1 && first <= GENERATION_MAX);
    *clock = (generation_clock_t){
        .low = first,
        .next = first,
        .automatic_allowed = automatic_allowed,
    };
}

static bool generation_is_started(const generation_clock_t *clock, uint64_t generation)
{
    MUSTER_ASSERT(generation >= clock->low && generation - clock->low < GENERATION_WINDOW);
    return clock->started >> (generation - clock->low) & 1;
}

/* Moves low up over what has completed; bit 0 of both sets is then an incomplete generation's. */
static void generation_advance(generation_clock_t *clock)
{
    while (clock->completed & 1) {
        clock->completed >>= 1;
        clock->started >>= 1;
        clock->low++;
    }
    MUSTER_ASSERT((clock->completed & ~clock->started) == 0);
    MUSTER_ASSERT(clock->low <= clock->next);
}

/*
 * The first automatic use gives up the numbers that explicit ones have left out: they cannot be
 * taken any more, and waiting for them would hold the window for ever.
 */
static void generation_give_up_gaps(generation_clock_t *clock)
{
    uint64_t below = clock->next - clock->low; /* generations from low that next has passed */
    uint64_t passed = below >= GENERATION_WINDOW ? UINT64_MAX : ((uint64_t)1 << below) - 1;
    uint64_t gaps = passed & ~clock->started;
    clock->started |= gaps;
    clock->completed |= gaps;
    generation_advance(clock);
}

static muster_status_t generation_may_take_explicit(const generation_clock_t *clock,
                                                    uint64_t generation)
{
    if (generation == 0 || generation > GENERATION_MAX)
        return MUSTER_INVALID_GENERATION;
    if (clock->automatic_used)
        return MUSTER_GENERATION_MODE;
    if (generation < clock->low)
        return MUSTER_STALE_GENERATION;
    if (generation - clock->low >= GENERATION_WINDOW)
        return MUSTER_INVALID_GENERATION;
    return generation_is_started(clock, generation) ? MUSTER_STALE_GENERATION : MUSTER_OK;
}

static muster_status_t generation_may_take_automatic(const generation_clock_t *clock)
{
    if (!clock->automatic_allowed)
        return MUSTER_GENERATION_MODE;
    if (clock->next > GENERATION_MAX)
        return MUSTER_INVALID_GENERATION;
    generation_clock_t then = *clock; /* as it would be: gaps given up */
    generation_give_up_gaps(&then);
    return then.next - then.low >= GENERATION_WINDOW ? MUSTER_IN_PROGRESS : MUSTER_OK;
}

muster_status_t generation_may_take(const generation_clock_t *clock, muster_optional_t given)
{
    return given.given ? generation_may_take_explicit(clock, given.value)
                       : generation_may_take_automatic(clock);
}

muster_status_t generation_take(generation_clock_t *clock, muster_optional_t given,
                                uint64_t *generation, generation_mode_t *mode)
{
    muster_status_t status = generation_may_take(clock, given);
    if (status != MUSTER_OK)
        return status;
    if (!given.given) {
        generation_give_up_gaps(clock);
        clock->automatic_used = true;
    }
    uint64_t taken = given.given ? given.value : clock->next;
    MUSTER_ASSERT(!generation_is_started(clock, taken));
    clock->started |= (uint64_t)1 << (taken - clock->low);
    if (taken >= clock->next)
        clock->next = taken + 1;
    *generation = taken;
    *mode = given.given ? GENERATION_EXPLICIT : GENERATION_AUTOMATIC;
    return MUSTER_OK;
}

void generation_complete(generation_clock_t *clock, uint64_t generation)
{
    MUSTER_ASSERT(generation_is_started(clock, generation));
    uint64_t bit = (uint64_t)1 << (generation - clock->low);
    MUSTER_ASSERT((clock->completed & bit) == 0);
    clock->completed |= bit;
    generation_advance(clock);
}

bool generation_note(generation_clock_t *clock, uint64_t generation, generation_mode_t mode,
                     uint64_t *conflict)
{
    MUSTER_ASSERT(generation >= 1);
    uint64_t automatic = clock->lowest_automatic;
    if (mode == GENERATION_AUTOMATIC) {
        if (automatic == 0 || generation < automatic)
            clock->lowest_automatic = generation;
        if (clock->highest_explicit < generation)
            return true;
        *conflict = clock->highest_explicit;
        return false;
    }
    if (generation > clock->highest_explicit)
        clock->highest_explicit = generation;
    if (automatic == 0 || generation < automatic)
        return true;
    *conflict = automatic;
    return false;
}
