/*
 * The outcome of a generation, decided once, by one rank: the decider, the lowest rank of the
 * communicator that is not gone. A rank that sees a failure reports it; the decider decides, unless
 * it has decided already, and tells every member. For TIMED_OUT and MISMATCH it first asks all
 * members where they are, so that the answer names the missing, or who called what. A decider that
 * takes over from a lost one asks whether anybody has learnt a value before it decides; who answers
 * that it has not is fenced: only the new decider's verdict counts for it.
 */
#ifndef MUSTER_ENGINE_OUTCOME_H
#define MUSTER_ENGINE_OUTCOME_H

#include "engine/comm.h"

/* REPORT, VERDICT and QUERY say in their label which kind they are. */
enum { REPORT_FAILURE = 0, REPORT_QUIT = 1 };
enum { VERDICT_FAILURE = 0, VERDICT_VALUE = 1, VERDICT_REACHED = 2, VERDICT_ENDED = 3 };
enum { QUERY_PLAIN = 0, QUERY_TAKEOVER = 1, QUERY_BEGUN = 2 };

/*
 * The generation of a record begins here: it may have been failed already, as one too far ahead or
 * after somebody's last.
 */
void outcome_begin(muster_comm_t *comm, record_t *record);

/*
 * A failure seen here, of a generation of comm: sent to the decider, or decided. IN_PROGRESS asks
 * only what is known of it (engine/ahead).
 */
void outcome_report(muster_comm_t *comm, uint64_t generation, const muster_failure_t *failure);

/*
 * The others have begun what this rank cannot take part in any more, its communicator being
 * destroyed: they need not wait for it. operation: OPERATION_COUNT where it is not known.
 */
void outcome_report_never(muster_comm_t *comm, uint64_t generation, uint8_t operation);

/* This rank destroys its communicator: the others need not wait for what it has not begun. */
void outcome_quit(muster_comm_t *comm);

/*
 * The decider has waited for a while: looks whether everybody who has come makes the same call,
 * since calls that differ may never meet in a message. Decides only a mismatch.
 */
void outcome_look(muster_comm_t *comm, uint64_t generation);

/*
 * The decider's own schedule says that everybody has contributed. False: a failure was decided
 * before.
 */
bool outcome_decide_value(muster_comm_t *comm, uint64_t generation);

/* Keeps a small result for ranks that may have to ask for it. */
void outcome_keep_value(muster_comm_t *comm, uint64_t generation, const uint8_t *value,
                        size_t length);

/* A failed record as a failure, its details as far as there was memory for them. */
void outcome_failure(const muster_comm_t *comm, const record_t *record, muster_failure_t *failure);

/* Messages, by kind. from: rank in comm. */
void outcome_on_report(muster_comm_t *comm, const wire_message_t *message, const uint8_t *payload);
void outcome_on_query(muster_comm_t *comm, const wire_message_t *message);
void outcome_on_state(muster_comm_t *comm, const wire_message_t *message, const uint8_t *payload);
void outcome_on_verdict(muster_comm_t *comm, const wire_message_t *message, const uint8_t *payload);

/* A member is gone. */
void outcome_on_gone(muster_comm_t *comm, uint32_t rank, engine_gone_t how);

/* Inquiries whose time is over. */
void outcome_tick(muster_comm_t *comm, int64_t now);
int64_t outcome_next_deadline(const muster_comm_t *comm);
void outcome_free_record(record_t *record);

#endif
