/*
 * The last meeting of a job: nobody closes its connections while another may still have to ask it
 * something. A gate over all ranks that goes on without those that are gone: every rank that is
 * ready says so to the lowest rank that is there, which lets all go when the gate is complete.
 */
#ifndef MUSTER_ENGINE_FAREWELL_H
#define MUSTER_ENGINE_FAREWELL_H

#include "core/gate.h"
#include "engine/engine.h"

/* NO_MEMORY. */
muster_status_t farewell_create(engine_t *engine);
void farewell_destroy(engine_t *engine);

/* This rank is ready to leave. */
void farewell_ready(engine_t *engine);
/* All are ready, or gone. */
bool farewell_is_over(const engine_t *engine);
/* This rank leaves without the others, and tells them. */
void farewell_leave_alone(engine_t *engine);

void farewell_on_message(engine_t *engine, uint32_t peer, const wire_message_t *message);
void farewell_on_gone(engine_t *engine, uint32_t world_rank);

#endif
