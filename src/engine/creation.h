/*
 * Making a communicator: a meeting at its creator, the lowest world rank of its members (so that
 * members who disagree about their order still meet). Every member sends the creator its claim
 * (name, members, options); the creator compares them with its own, field by field, and answers all
 * with the new communicator's identity or with the failure: also those whom only the claim that
 * differs takes for members.
 *
 * Which of several creations of one name a claim belongs to follows from order: a member's claims
 * for a name meet the creator's creations of that name in which it is a member, one after the
 * other.
 */
#ifndef MUSTER_ENGINE_CREATION_H
#define MUSTER_ENGINE_CREATION_H

#include "engine/comm.h"

typedef struct creation creation_t;

/*
 * All the memory that making a communicator of up to size members takes, so that nothing fails here
 * once the others have been told. NULL: there is none.
 */
creation_t *creation_prepare(engine_t *engine, uint32_t size);
/* The communicator's own settings, and their digest. Before creation_begin; takes them over. */
void creation_use_settings(creation_t *creation, settings_t *settings, uint64_t digest);
/*
 * Starts; the engine's progress goes on with it. name: up to MUSTER_NAME_MAX bytes. ranks: world
 * ranks, checked. options is copied.
 */
void creation_begin(creation_t *creation, const char *name, const uint32_t *ranks, uint32_t size,
                    const muster_comm_options_t *options);
/* Both in one. NO_MEMORY: refused to the caller alone. */
muster_status_t creation_start(engine_t *engine, const char *name, const uint32_t *ranks,
                               uint32_t size, const muster_comm_options_t *options,
                               creation_t **creation);
/* IN_PROGRESS, or the outcome: OK with *comm, or a failure. */
muster_status_t creation_status(const creation_t *creation, muster_comm_t **comm,
                                muster_failure_t *failure);
void creation_free(creation_t *creation);

void creation_on_claim(engine_t *engine, uint32_t peer, const wire_message_t *message,
                       const uint8_t *payload);
/* There was no memory to receive or to keep a claim: its sender makes it again. */
void creation_put_off(engine_t *engine, uint32_t peer, const wire_message_t *message);
/* There was no memory for a message of a communicator that is being created. */
void creation_miss(engine_t *engine, const wire_message_t *message);
void creation_on_created(engine_t *engine, uint32_t peer, const wire_message_t *message,
                         const uint8_t *payload);
void creation_on_gone(engine_t *engine, uint32_t world_rank);
void creation_tick(engine_t *engine, int64_t now);
int64_t creation_next_deadline(const engine_t *engine);

#endif
