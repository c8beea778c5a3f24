/*
 * The clock of a communicator: which public generation a call has, which internal ones it owns, and
 * what is refused.
 */
#ifndef MUSTER_CORE_GENERATION_H
#define MUSTER_CORE_GENERATION_H

#include "core/call.h"

#define GENERATION_WINDOW 64
#define GENERATION_MAX (UINT64_MAX / 2) /* public */

/* Public k owns internal 2k-1 (slot 0) and 2k (slot 1): the one place that says so (C201). */
uint64_t generation_internal(uint64_t generation, unsigned slot);
uint64_t generation_public(uint64_t internal); /* 0 for 0 */
unsigned generation_slot(uint64_t internal);

typedef struct generation_clock {
    uint64_t low;              /* lowest public generation that has not completed */
    uint64_t next;             /* what automatic takes: above everything started */
    uint64_t started;          /* bit i: low + i has been started, or given up */
    uint64_t completed;        /* bit i: low + i has completed, or was given up */
    uint64_t lowest_automatic; /* lowest generation seen in automatic mode, anybody's; 0: none */
    uint64_t highest_explicit; /* highest generation seen in explicit mode, anybody's */
    bool automatic_used;       /* by the caller itself */
    bool automatic_allowed;    /* flat, or counted */
} generation_clock_t;

/* first: the first public generation, 1 but in tests of C213. */
void generation_start_clock(generation_clock_t *clock, uint64_t first, bool automatic_allowed);

/*
 * Takes a generation for a call: the given one, or the next. Nothing changes unless OK.
 * INVALID_GENERATION: zero, above GENERATION_MAX, or >= low + GENERATION_WINDOW (explicit only; for
 * automatic an exhausted window returns IN_PROGRESS: the caller queues the operation and asks
 * again).
 * STALE_GENERATION: started before. GENERATION_MODE: explicit after automatic, or automatic where
 * it is not allowed. The first automatic use gives up the numbers that explicit ones left out.
 */
muster_status_t generation_take(generation_clock_t *clock, muster_optional_t given,
                                uint64_t *generation, generation_mode_t *mode);
/* Whether generation_take would give it, without taking it. */
muster_status_t generation_may_take(const generation_clock_t *clock, muster_optional_t given);

/* A started generation has completed, once, in any order: low moves up over completed ones. */
void generation_complete(generation_clock_t *clock, uint64_t generation);

/*
 * Notes a mode seen, own or from a message. After an automatic use no explicit one may follow, so
 * an explicit generation at or above an automatic one means that ranks disagree (C207): returns
 * false then, and *conflict is the other generation that has to fail with this one.
 */
bool generation_note(generation_clock_t *clock, uint64_t generation, generation_mode_t mode,
                     uint64_t *conflict);

#endif
