#include "transport/pace.h"

#define PACE_TRY_EAGER 32              /* every so many waits that sleep, one is eager */
#define PACE_TRY_ASLEEP 1024           /* every so many waits that are eager, one sleeps */
#define PACE_BIAS 4                    /* eager, unless it takes so many times as long */
#define PACE_FIRST 8                   /* waits of both kinds in turn, to begin with */
#define PACE_USEFUL ((int64_t)1000000) /* ns; longer waits say nothing about pace */
#define PACE_WEIGHT 8                  /* of the mean against one new duration */

bool pace_is_eager(pace_t *pace)
{
    uint32_t waits = atomic_load_explicit(&pace->waits, memory_order_relaxed);
    atomic_store_explicit(&pace->waits, waits + 1, memory_order_relaxed);
    if (waits < PACE_FIRST)
        return waits % 2 == 0;
    /*
     * A wait ends as soon as the other side's does, so two ranks that sleep because the other one
     * does would never find out that both could spin: what is about equal counts for eager. Where
     * something else burns the processors, eager waits are many times longer.
     */
    bool eager = atomic_load_explicit(&pace->eager, memory_order_relaxed) / PACE_BIAS <=
                 atomic_load_explicit(&pace->asleep, memory_order_relaxed);
    return waits % (eager ? PACE_TRY_ASLEEP : PACE_TRY_EAGER) == 0 ? !eager : eager;
}

void pace_learn(pace_t *pace, bool eager, int64_t duration)
{
    if (duration > PACE_USEFUL)
        return;
    _Atomic int64_t *mean = eager ? &pace->eager : &pace->asleep;
    int64_t old = atomic_load_explicit(mean, memory_order_relaxed);
    int64_t new = old == 0 ? duration : old + (duration - old) / PACE_WEIGHT;
    atomic_store_explicit(mean, new, memory_order_relaxed);
}
