/*
 * How far ranks run ahead of each other. What a rank sends has to be near its receiver's clock to
 * be kept there (comm_is_near). A generation that ends well shows that every member has begun it,
 * and calls that do well meet often enough; but calls that fail need not wait for anybody, so a
 * rank may be far ahead of one that has made no call at all. From COMM_LEAD generations past the
 * last that all are known to have begun, it therefore sends no data, and asks the decider: whether
 * the generation has failed already, or how far everybody has come. The decider asks those of whom
 * it does not know, and tells all.
 */
#ifndef MUSTER_ENGINE_AHEAD_H
#define MUSTER_ENGINE_AHEAD_H

#include "engine/comm.h"

/* Whether every member is known to be so far that data of this generation will be kept. */
bool ahead_may_send(const muster_comm_t *comm, uint64_t generation);

/* Whether an operation that begins has to ask, since its verdict may have come when it was far. */
bool ahead_has_to_ask(const muster_comm_t *comm, uint64_t generation);
void ahead_ask(muster_comm_t *comm, uint64_t generation, uint8_t operation);

/* This rank has begun a generation: who waits to hear that is told. */
void ahead_begun(muster_comm_t *comm);
/* All members have begun it. */
void ahead_reached(muster_comm_t *comm, uint64_t generation);
/* The decider has heard that a rank has begun it. */
void ahead_heard(muster_comm_t *comm, uint32_t rank, uint64_t generation);
/* The decider is asked by a rank (which may be itself) whether it may begin it. */
void ahead_answer(muster_comm_t *comm, uint32_t rank, uint64_t generation);

/* The decider wants to hear how far this rank is, until it has begun a generation. */
void ahead_on_query(muster_comm_t *comm, const wire_message_t *message);

#endif
