/* A context: the engine, its place in the job, and who makes progress while the program is away. */
#ifndef MUSTER_LIB_CONTEXT_H
#define MUSTER_LIB_CONTEXT_H

#include "boot/boot.h"
#include "engine/engine.h"
#include "lib/keeper.h"
#include "transport/mem.h"

struct muster_local {
    mem_hub_t *hub;
    uint32_t size;
};

struct muster_context {
    engine_t *engine;
    boot_t *boot; /* NULL: logical ranks */
    keeper_t *keeper;
    uint8_t *alive;  /* a page that a forked child finds zeroed */
    int64_t timeout; /* ns, INT64_MAX: none */
};

/* Not NULL and not inherited by fork. */
bool context_usable(const muster_context_t *context);

#endif
