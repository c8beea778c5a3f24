/*
 * From the transport's events to the requests: matching, early and late messages.
 */
#ifndef MUSTER_ENGINE_MESSAGE_H
#define MUSTER_ENGINE_MESSAGE_H

#include "engine/comm.h"

void message_event(engine_t *engine, const transport_event_t *event);

/*
 * Offers the early messages of a generation to its request; called when it starts or moves on.
 */
void message_offer_early(muster_comm_t *comm, uint64_t generation);

/* A communicator has been made: what had come for it before. */
void message_adopt_orphans(muster_comm_t *comm);
/* Nothing is being created any more: drops what is held for it. */
void message_drop_orphans(engine_t *engine);
/* The communicator has been destroyed here: who has begun something new on it is told. */
void message_refuse_early(muster_comm_t *comm);
/* Drops what waits on the communicator, or for one of its generations. */
void message_drop_early(muster_comm_t *comm);
void message_drop_early_of(muster_comm_t *comm, record_t *record);
/* The peer is lost: long messages that were being received from it will not be completed. */
void message_peer_lost(engine_t *engine, uint32_t peer);
void message_free_early(engine_t *engine, early_t *early);

/* Keeps a message that has come whole at the end of a list; false: there is no memory. */
bool message_keep_whole(engine_t *engine, uint32_t peer, const wire_message_t *message,
                        const uint8_t *payload, early_t **list);
/* There was no memory for a message of this generation, of so many bytes: nobody waits for it. */
void message_no_room(muster_comm_t *comm, uint64_t generation, uint8_t operation, uint64_t bytes);

#endif
