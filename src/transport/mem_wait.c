/* Waiting and waking, and the time: what any thread may do without the lock. */
#include "transport/cores.h"
#include "transport/mem_private.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MEM_SPIN_NS 50000 /* a wait spins so long, where every rank has a processor */
#define MEM_YIELDS 8      /* and yields so often, where not */

static mem_transport_t *mem_of(transport_t *transport)
{
    return (mem_transport_t *)transport;
}

void mem_ring(mem_endpoint_t *endpoint, unsigned reason)
{
    unsigned before = atomic_fetch_or(&endpoint->ready, reason);
    if (before & MEM_SLEEPING) {
        atomic_fetch_and(&endpoint->ready, ~MEM_SLEEPING);
        syscall(SYS_futex, &endpoint->ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static int64_t mem_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* True when a wait has a reason to return; takes the wake along. */
static bool mem_is_ready(mem_endpoint_t *own)
{
    if (!(atomic_load_explicit(&own->ready, memory_order_acquire) & (MEM_ITEMS | MEM_WAKE)))
        return false;
    atomic_fetch_and(&own->ready, ~MEM_WAKE);
    return true;
}

/*
 * Waits without the kernel's help as long as that is sensible; true when there is a reason to
 * return.
 */
static bool mem_spin(mem_transport_t *mem, int64_t begin, int64_t timeout_ns)
{
    if (mem->base.local_ranks > mem->base.cores) {
        for (int i = 0; i < MEM_YIELDS && timeout_ns != 0; i++) {
            sched_yield();
            if (mem_is_ready(mem->own))
                return true;
        }
        return false;
    }
    int64_t budget = timeout_ns >= 0 && timeout_ns < MEM_SPIN_NS ? timeout_ns : MEM_SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            cores_pause();
            if (mem_is_ready(mem->own))
                return true;
        }
    } while (mem_clock() - begin < budget);
    return false;
}

/* Sleeps until there is a reason to return, or the time has passed: then false. */
static bool mem_sleep(mem_endpoint_t *own, int64_t begin, int64_t timeout_ns)
{
    for (;;) {
        int64_t left = timeout_ns < 0 ? 0 : timeout_ns - (mem_clock() - begin);
        if (timeout_ns >= 0 && left <= 0)
            return false;
        unsigned before = atomic_fetch_or(&own->ready, MEM_SLEEPING);
        if (!(before & (MEM_ITEMS | MEM_WAKE))) {
            struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
            syscall(SYS_futex, &own->ready, FUTEX_WAIT_PRIVATE, before | MEM_SLEEPING,
                    timeout_ns < 0 ? NULL : &time, NULL, 0);
        }
        atomic_fetch_and(&own->ready, ~MEM_SLEEPING);
        if (mem_is_ready(own))
            return true;
    }
}

void mem_wait(transport_t *transport, int64_t timeout_ns)
{
    mem_transport_t *mem = mem_of(transport);
    if (mem_is_ready(mem->own))
        return;
    int64_t begin = mem_clock();
    bool eager = pace_is_eager(&mem->pace);
    if ((eager && mem_spin(mem, begin, timeout_ns)) || mem_sleep(mem->own, begin, timeout_ns))
        pace_learn(&mem->pace, eager, mem_clock() - begin);
}

void mem_wake(transport_t *transport)
{
    mem_ring(mem_of(transport)->own, MEM_WAKE);
}

int64_t mem_now(transport_t *transport)
{
    (void)transport;
    return mem_clock();
}
