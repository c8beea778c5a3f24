/*
 * The keeper: a thread that stands in while the program does not call the library. It sleeps; it
 * wakes for what boot tells (a rank was lost) and, as a keeper, a few times a second, to make
 * progress where nobody else has: so reports, queries and deadlines are answered while the program
 * computes.
 */
#ifndef MUSTER_LIB_KEEPER_H
#define MUSTER_LIB_KEEPER_H

#include "boot/boot.h"
#include "engine/engine.h"

#define KEEPER_TICK_MS 200

typedef struct keeper keeper_t;

/*
 * boot may be NULL. ENVIRONMENT: no thread or descriptor. Without the engine's lock, as
 * keeper_stop.
 */
muster_status_t keeper_start(engine_t *engine, boot_t *boot, muster_progress_mode_t mode,
                             keeper_t **keeper);
/* Ends and joins the thread; boot is the caller's again. NULL is accepted. */
void keeper_stop(keeper_t *keeper);

#endif
