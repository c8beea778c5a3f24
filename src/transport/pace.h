/*
 * Whether a wait begins eagerly (spinning or yielding) or sleeps at once. Which is better depends
 * on who else wants the processors, and nobody tells: so it is learnt. The mean duration of waits
 * of both kinds is kept, the better kind is used, and the other one is tried now and then.
 */
#ifndef MUSTER_TRANSPORT_PACE_H
#define MUSTER_TRANSPORT_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed at first. Used by the thread that waits; atomic because that is now this one, now that. */
typedef struct pace {
    _Atomic uint32_t waits;
    _Atomic int64_t eager; /* mean duration in ns, 0: not known */
    _Atomic int64_t asleep;
} pace_t;

/* Whether the next wait should be eager. */
bool pace_is_eager(pace_t *pace);
/* A wait that somebody else ended took so long. */
void pace_learn(pace_t *pace, bool eager, int64_t duration);

#endif
