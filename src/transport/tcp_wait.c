/* Waiting and waking, and the time: what any thread may do without the lock. */
#include "transport/cores.h"
#include "transport/tcp_private.h"

#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define TCP_SPIN_NS ((int64_t)100000) /* a wait spins so long, where every rank has a processor */
#define TCP_YIELDS 8                  /* and yields so often, where not */
#define TCP_WAIT_EVENTS 16

static tcp_transport_t *tcp_of(transport_t *transport)
{
    return (tcp_transport_t *)transport;
}

int64_t tcp_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Ends a wait that is in the kernel. */
static void tcp_interrupt(tcp_transport_t *tcp)
{
    uint64_t one = 1;
    ssize_t written = write(tcp->wake, &one, sizeof one);
    (void)written; /* it fails only where it is full, and then the wait ends anyway */
}

void tcp_timer(tcp_transport_t *tcp, int64_t time)
{
    if (time >= atomic_load(&tcp->timer))
        return;
    atomic_store(&tcp->timer, time);
    if (atomic_load(&tcp->blocking))
        tcp_interrupt(tcp);
}

void tcp_alert(tcp_transport_t *tcp)
{
    atomic_store(&tcp->pending, true);
    if (atomic_load(&tcp->blocking))
        tcp_interrupt(tcp);
}

/* A reason to return that no descriptor shows. */
static bool tcp_is_ready(tcp_transport_t *tcp)
{
    if (atomic_load_explicit(&tcp->woken, memory_order_relaxed) &&
        atomic_exchange(&tcp->woken, false))
        return true;
    return atomic_load(&tcp->pending);
}

/*
 * Asks the kernel, for at most some ms (negative: for ever). True when there is a reason to
 * return.
 */
static bool tcp_wait_for(tcp_transport_t *tcp, int milliseconds)
{
    struct epoll_event events[TCP_WAIT_EVENTS];
    int count = epoll_wait(tcp->epoll, events, TCP_WAIT_EVENTS, milliseconds);
    for (int i = 0; i < count; i++) {
        tcp_tag_t tag = (tcp_tag_t)(events[i].data.u64 >> 32);
        if (tag == TCP_TAG_WAKE) {
            uint64_t number;
            ssize_t length = read(tcp->wake, &number, sizeof number);
            (void)length;
            atomic_store(&tcp->woken, false);
        } else if (tag != TCP_TAG_STREAM) {
            atomic_store(&tcp->attention, true);
        }
    }
    return count > 0;
}

/* Waits without sleeping as long as that is sensible; true when there is a reason to return. */
static bool tcp_spin(tcp_transport_t *tcp, int64_t begin, int64_t end)
{
    if (tcp->base.local_ranks > tcp->base.cores) {
        for (int i = 0; i < TCP_YIELDS; i++) {
            if (tcp_wait_for(tcp, 0) || tcp_is_ready(tcp))
                return true;
            sched_yield();
        }
        return false;
    }
    if (end > begin + TCP_SPIN_NS)
        end = begin + TCP_SPIN_NS;
    do {
        for (int i = 0; i < 4; i++) {
            if (tcp_wait_for(tcp, 0) || tcp_is_ready(tcp))
                return true;
            cores_pause();
        }
    } while (tcp_clock() < end);
    return false;
}

/*
 * Sleeps until the limit, or until poll has something to do by the clock. False: nobody ended it.
 */
static bool tcp_sleep(tcp_transport_t *tcp, int64_t limit)
{
    bool ended = false;
    /*
     * From here on others see that only the descriptor ends this wait; what they did before is
     * seen now.
     */
    atomic_store(&tcp->blocking, true);
    int64_t timer = atomic_load(&tcp->timer);
    int64_t end = timer < limit ? timer : limit;
    while (!(ended = tcp_is_ready(tcp))) {
        int milliseconds = -1;
        if (end != TCP_NEVER) {
            int64_t left = end - tcp_clock();
            if (left <= 0)
                break;
            int64_t rounded = (left + 999999) / 1000000;
            milliseconds = rounded < 1000000 ? (int)rounded : 1000000;
        }
        if ((ended = tcp_wait_for(tcp, milliseconds)))
            break;
    }
    atomic_store(&tcp->blocking, false);
    return ended;
}

void tcp_wait(transport_t *transport, int64_t timeout_ns)
{
    tcp_transport_t *tcp = tcp_of(transport);
    if (tcp_is_ready(tcp))
        return;
    int64_t begin = tcp_clock();
    bool endless = timeout_ns < 0 || timeout_ns > TCP_NEVER - begin;
    int64_t limit = endless ? TCP_NEVER : begin + timeout_ns;
    int64_t timer = atomic_load(&tcp->timer);
    int64_t end = timer < limit ? timer : limit;
    if (end <= begin)
        return;
    bool eager = pace_is_eager(&tcp->pace);
    if ((eager && tcp_spin(tcp, begin, end)) || tcp_sleep(tcp, limit))
        pace_learn(&tcp->pace, eager, tcp_clock() - begin);
}

void tcp_wake(transport_t *transport)
{
    tcp_transport_t *tcp = tcp_of(transport);
    atomic_store(&tcp->woken, true);
    if (atomic_load(&tcp->blocking))
        tcp_interrupt(tcp);
}

int64_t tcp_now(transport_t *transport)
{
    (void)transport;
    return tcp_clock();
}
