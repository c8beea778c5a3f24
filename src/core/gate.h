/*
 * The gate: one meeting. Who is expected, who has contributed, who has departed, and one predicate
 * that says when it is over. Used by the data path, by the server and by the simulator.
 *
 * A member is in one state. The predicate looks at the states and never at a counter: the
 * definition is complete and no expected member is awaited. One function, gate_step, evaluates it,
 * whatever the cause (seed 003). Duplicates are idempotent, strangers are refused. A frozen gate
 * (its upcall has been made, or its outcome decided) is driven by nothing.
 *
 * Pure; the members' states are bits in the caller's memory: GATE_WORDS(members) words each.
 */
#ifndef MUSTER_CORE_GATE_H
#define MUSTER_CORE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "muster.h"

#define GATE_WORDS(members) (((size_t)(members) + 63) / 64)
/* Words that a gate of so many members needs in all. */
#define GATE_MEMORY_WORDS(members) (3 * GATE_WORDS(members))
#define GATE_NO_DEADLINE INT64_MAX

typedef enum gate_member {
    GATE_STRANGER = 0,
    GATE_AWAITED,
    GATE_CONTRIBUTED,
    GATE_DEPARTED
} gate_member_t;

/*
 * FAIL_ON_LOSS: PEER_LOST at the first loss of an awaited member of a complete definition.
 * GO_ON: the others complete without it (C703); OK if nobody departed, else PARTIAL_SUCCESS, or
 * LOST_CONNECTION where nobody contributed. The culprit is the lowest member that departed.
 */
typedef enum gate_policy { GATE_FAIL_ON_LOSS = 0, GATE_GO_ON } gate_policy_t;

typedef struct gate {
    uint64_t *expected; /* bit m: member m belongs to the definition */
    uint64_t *contributed;
    uint64_t *departed; /* lost before contributing */
    uint32_t members;
    uint8_t policy;          /* gate_policy_t */
    bool defined;            /* the definition is complete */
    bool frozen;             /* over: nothing drives it any more */
    muster_status_t outcome; /* IN_PROGRESS until over */
    uint32_t culprit;        /* the member behind a failure, or MUSTER_NO_RANK */
    int64_t deadline;        /* ns on the caller's clock, or GATE_NO_DEADLINE */
} gate_t;

typedef enum gate_event_kind {
    GATE_CONTRIBUTE, /* member */
    GATE_LOSE,       /* member */
    GATE_REGISTER, /* member joins the definition (member == MUSTER_NO_RANK: it is complete now) */
    GATE_TICK,     /* time has passed */
    GATE_ABORT,    /* status says why, member who */
    GATE_FREEZE    /* the result is being delivered: nothing counts any more */
} gate_event_kind_t;

typedef struct gate_event {
    gate_event_kind_t kind;
    uint32_t member;
    muster_status_t status; /* ABORT */
} gate_event_t;

/* What the caller has to do. */
typedef enum gate_answer {
    GATE_WAIT = 0,  /* nothing yet */
    GATE_COMPLETE,  /* over just now: read outcome; said exactly once */
    GATE_DUPLICATE, /* changed nothing: has contributed or departed before */
    GATE_REFUSED,   /* changed nothing: a stranger */
    GATE_LATE       /* changed nothing: frozen */
} gate_answer_t;

/* An empty gate over words (GATE_MEMORY_WORDS(members), zeroed here). all: everyone is expected. */
void gate_open(gate_t *gate, uint64_t *words, uint32_t members, bool all, gate_policy_t policy,
               int64_t deadline);
gate_answer_t gate_step(gate_t *gate, gate_event_t event, int64_t now);
/* The one predicate: defined, and no expected member is awaited. */
bool gate_is_complete(const gate_t *gate);
gate_member_t gate_state(const gate_t *gate, uint32_t member);
/* The first awaited (or departed) member at or after from; MUSTER_NO_RANK: none. */
uint32_t gate_next_awaited(const gate_t *gate, uint32_t from);
uint32_t gate_next_departed(const gate_t *gate, uint32_t from);

#endif
