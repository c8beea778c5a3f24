#include "lib/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

_Static_assert(KEEPER_TICK_MS *INT64_C(1000000) < ENGINE_INQUIRY,
               "a rank whose program is away answers an inquiry in time");

struct keeper {
    engine_t *engine;
    boot_t *boot;
    muster_progress_mode_t mode;
    pthread_t thread;
    int stop; /* eventfd: readable when the thread has to end */
    atomic_bool stopping;
    uint64_t seen; /* progress calls at the last look */
};

static void keeper_hear(keeper_t *keeper)
{
    boot_event_t event;
    bool heard = false;
    engine_t *engine = keeper->engine;
    while (boot_poll(keeper->boot, &event)) {
        engine_lock(engine);
        engine_hear_gone(engine, event.rank, event.kind == BOOT_LEFT ? ENGINE_LEFT : ENGINE_LOST,
                         event.kind == BOOT_LOST ? event.how : "");
        engine_unlock(engine);
        heard = true;
    }
    if (!heard)
        return;
    engine_lock(engine);
    engine_progress(engine);
    bool polling = engine->polling;
    engine_unlock(engine);
    if (polling)
        engine->transport->operations->wake(engine->transport);
}

/* Progress, unless somebody is at it or has been since the last tick. */
static void keeper_tick(keeper_t *keeper)
{
    engine_t *engine = keeper->engine;
    engine_lock(engine);
    if (!engine->polling && engine->progressed == keeper->seen)
        engine_progress(engine);
    keeper->seen = engine->progressed;
    engine_unlock(engine);
}

static bool keeper_stopped(void *argument)
{
    return atomic_load(&((keeper_t *)argument)->stopping);
}

static void keeper_progress(keeper_t *keeper)
{
    engine_t *engine = keeper->engine;
    engine_lock(engine);
    int64_t until = engine_now(engine) + KEEPER_TICK_MS * INT64_C(1000000);
    engine_wait(engine, keeper_stopped, keeper, until);
    engine_unlock(engine);
}

static void *keeper_run(void *argument)
{
    keeper_t *keeper = argument;
    struct pollfd descriptors[2] = {
        {.fd = keeper->stop, .events = POLLIN},
        {.fd = keeper->boot ? boot_fd(keeper->boot) : -1, .events = POLLIN}};
    bool ticks = keeper->mode == MUSTER_PROGRESS_KEEPER;
    bool busy = keeper->mode == MUSTER_PROGRESS_THREAD;
    if (keeper->boot)
        keeper_hear(keeper); /* what came with the last bytes of the start makes nothing readable */
    while (!atomic_load(&keeper->stopping)) {
        if (busy)
            keeper_progress(keeper);
        int ready = poll(descriptors, 2, busy ? 0 : ticks ? KEEPER_TICK_MS : -1);
        if (ready < 0 && errno != EINTR)
            break;
        if (ready > 0 && descriptors[1].revents)
            keeper_hear(keeper);
        if (ready == 0 && ticks)
            keeper_tick(keeper);
    }
    return NULL;
}

muster_status_t keeper_start(engine_t *engine, boot_t *boot, muster_progress_mode_t mode,
                             keeper_t **result)
{
    keeper_t *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return MUSTER_NO_MEMORY;
    *keeper = (keeper_t){.engine = engine, .boot = boot, .mode = mode};
    keeper->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* the program's signals are not for this thread */
    int failed = keeper->stop < 0 || pthread_create(&keeper->thread, NULL, keeper_run, keeper) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        if (keeper->stop >= 0)
            close(keeper->stop);
        free(keeper);
        return MUSTER_ENVIRONMENT;
    }
    *result = keeper;
    return MUSTER_OK;
}

void keeper_stop(keeper_t *keeper)
{
    if (!keeper)
        return;
    atomic_store(&keeper->stopping, true);
    uint64_t one = 1;
    ssize_t written = write(keeper->stop, &one, sizeof one);
    (void)written; /* a full counter wakes as well */
    keeper->engine->transport->operations->wake(keeper->engine->transport);
    pthread_join(keeper->thread, NULL);
    close(keeper->stop);
    free(keeper);
}
