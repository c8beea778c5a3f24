/*
 * A communicator: members, clock, the operations under way, what arrived early, and the record of
 * each recent generation's outcome. The public handle points to it.
 */
#ifndef MUSTER_ENGINE_COMM_H
#define MUSTER_ENGINE_COMM_H

#include "core/gate.h"
#include "core/generation.h"
#include "core/schedule.h"
#include "core/split.h"
#include "engine/choice.h"
#include "engine/engine.h"

#define COMM_RECORDS 1024  /* generations whose call and outcome are remembered */
#define COMM_RETIRED_MAX 8 /* communicators that are kept to answer others */
#define COMM_SMALL 1024    /* a result up to so many bytes is kept with its verdict */
/*
 * With local outcome, ranks that only send run ahead. Every so many generations an operation of
 * theirs is uniform, so that nobody's messages pile up; fewer where all since the last one were of
 * at most COMM_SMALL bytes a rank. The larger is a multiple of the smaller.
 */
#define COMM_SYNCHRONIZED 32
#define COMM_SYNCHRONIZED_SMALL 256
_Static_assert(COMM_SYNCHRONIZED_SMALL % COMM_SYNCHRONIZED == 0,
               "every synchronization is one whatever came before");
/*
 * How far ahead of this rank's lowest open generation data of a peer can be. Its own lowest one is
 * at most a window and a distance of two synchronizations ahead, and the last that it has started
 * less than another window; where generations have failed, engine/ahead sees to it. Data from
 * further ahead was sent by no Muster.
 */
#define COMM_AHEAD (2 * GENERATION_WINDOW + COMM_SYNCHRONIZED_SMALL)
/*
 * As far beyond a generation that every member has begun (so none has a lowest open one further
 * back than a window) is near for all. No rank gets there where calls do well.
 */
#define COMM_LEAD (COMM_AHEAD - GENERATION_WINDOW)
/* What comes from as far ahead never takes the record of what a peer as far behind may ask for. */
_Static_assert(COMM_AHEAD + GENERATION_WINDOW + COMM_SYNCHRONIZED_SMALL <= COMM_RECORDS,
               "generations of which peers speak share no record");

struct inquiry;
struct muster_request;

/* A message kept until its turn, or while it is being received. */
typedef struct early {
    transfer_t transfer; /* first: the transport's token */
    struct early *next;
    muster_comm_t *comm; /* NULL: none yet */
    wire_message_t message;
    uint32_t peer;
    bool complete; /* payload is all there */
    uint8_t payload[];
} early_t;

typedef enum record_state { RECORD_OPEN = 0, RECORD_VALUE, RECORD_FAILED } record_state_t;

/* What is known of one generation, here. */
typedef struct record {
    uint64_t generation; /* 0: unused */
    call_t call;         /* own call, where started */
    bool started;
    bool finished; /* own request has completed */
    uint8_t state; /* record_state_t: decided, as far as this rank knows */
    /* answered "no value" to a decider that took over: only a verdict counts */
    bool fenced;
    muster_status_t status;
    uint32_t culprit;
    muster_failure_t *failure;  /* owned; NULL where there was no memory for the details */
    bool told;                  /* decider only: the value, to everybody */
    uint32_t asker;             /* 1 + the rank that asked before its turn to decide; 0: none */
    uint32_t reporter;          /* of reported */
    muster_failure_t *reported; /* owned; a report that came before this rank's turn to decide */
    struct inquiry *inquiry;    /* decider only: under way */
    uint8_t *value;             /* owned, COMM_SMALL bytes, made when first needed */
    size_t value_length;
    bool value_kept;
    early_t *early; /* messages that wait for their turn, in order of arrival */
    early_t **early_end;
} record_t;

struct muster_comm {
    engine_t *engine;
    muster_comm_t *next;
    char *name;
    uint32_t rank, size;
    uint32_t *members; /* world ranks, by rank */
    uint32_t creator, creation;
    muster_comm_options_t options; /* as asked for; failure and settings NULL */
    settings_t *settings;          /* owned; its own, NULL: the job's */
    uint64_t settings_digest;      /* of its own, 0: none */
    muster_shape_t shape;
    uint32_t arity; /* effective */
    uint32_t flat_threshold;
    bool any_root;
    muster_outcome_t outcome;
    int64_t timeout;             /* ns */
    bool destroyed;              /* by its owner; lives on while requests hold it */
    unsigned holders;            /* requests that point here, and the owner */
    muster_comm_t *next_retired; /* when nobody holds it */
    unsigned duplicates;         /* made from it, for their names */

    generation_clock_t clock;
    record_t *records;                                    /* COMM_RECORDS, by generation */
    struct muster_request *operations[GENERATION_WINDOW]; /* by generation, started, not finished */
    struct muster_request *queue, *queue_end;             /* waiting for the window */
    struct muster_request *spare;                         /* finished, for the next call */
    choice_t choice;

    uint32_t decider; /* rank; the lowest that is not known to be gone */
    uint64_t *lost;   /* bit by rank: gone */
    bool has_lost;
    bool took_over;         /* decides since a lower rank is gone: asks before it does */
    unsigned inquiries;     /* records with one */
    uint64_t large;         /* highest generation of a one-way call that was not small */
    uint8_t last_operation; /* started last, OPERATION_COUNT: none */
    uint64_t last_generation;

    uint64_t ended; /* somebody has destroyed it: this generation and later ones fail; 0: no */
    uint32_t ended_by;
    uint64_t reached;    /* every member is known to have begun this generation, or a later one */
    uint64_t missed;     /* highest generation of a verdict that came when it was too far ahead */
    uint64_t awaited;    /* the decider waits to hear that this rank has begun it; 0: none */
    uint64_t reported;   /* as far this rank had come when it told the decider last */
    uint64_t wanted;     /* decider only: highest generation somebody waits for all to have begun */
    uint64_t *heard;     /* decider only, by rank: highest generation it is known to have begun */
    unsigned held;       /* operations that wait to be allowed to send */
    uint64_t late_first; /* as the decider, this rank has failed these before it began them */
    uint64_t late_last;  /* 0: none */
    muster_status_t forgotten; /* of the failed generation whose record was reused last; OK: none */
    uint32_t forgotten_culprit;

    muster_traffic_t traffic;
};

/*
 * All the memory that a communicator of up to size members needs; in no table. NULL: there is none.
 * comm_discard frees one that was not established.
 */
muster_comm_t *comm_prepare(engine_t *engine, size_t name_length, uint32_t size);
void comm_discard(muster_comm_t *comm);

/*
 * Makes a prepared one the communicator that all members have agreed on, and puts it into the
 * engine's table. members is copied.
 */
void comm_establish(muster_comm_t *comm, const char *name, size_t name_length,
                    const uint32_t *members, uint32_t size, uint32_t rank,
                    const muster_comm_options_t *options, uint32_t creator, uint32_t creation);

/* Both in one. */
muster_status_t comm_create(engine_t *engine, const char *name, size_t name_length,
                            const uint32_t *members, uint32_t size, uint32_t rank,
                            const muster_comm_options_t *options, uint32_t creator,
                            uint32_t creation, muster_comm_t **comm);
/*
 * The owner is done with it: cancels what is pending. With its last holder it retires: it answers
 * the other members until COMM_RETIRED_MAX have retired after it.
 */
void comm_destroy(muster_comm_t *comm);
/* This rank takes part in nothing further, and says so to the members of all that it has. */
void comm_quit_all(engine_t *engine);
void comm_release(muster_comm_t *comm);
/* Frees those that have been retired for long enough. Nobody may be in the middle of one. */
void comm_reap(engine_t *engine);
/* Frees it at once, whoever holds it, when its requests are gone; not one that is retired. */
void comm_free(muster_comm_t *comm);

/* In the engine's table; NULL. */
muster_comm_t *comm_find(engine_t *engine, uint32_t creator, uint32_t creation);
/* The rank of a world rank; MUSTER_NO_RANK: no member. */
uint32_t comm_rank_of(const muster_comm_t *comm, uint32_t world_rank);

/*
 * The generation's record: found or begun anew (replacing one COMM_RECORDS older). NULL: too old.
 */
record_t *comm_record(muster_comm_t *comm, uint64_t generation);

/* Whether a peer can have something to say about that generation. */
bool comm_is_near(const muster_comm_t *comm, uint64_t generation);

/*
 * Whether a one-way operation with local outcome is uniform all the same, so that no rank runs too
 * far ahead. small: each rank's part has at most COMM_SMALL bytes, as every rank knows. Called once
 * for each, when it takes its generation.
 */
bool comm_synchronizes(muster_comm_t *comm, uint64_t generation, generation_mode_t mode,
                       bool small);

bool comm_is_lost(const muster_comm_t *comm, uint32_t rank);
bool comm_is_decider(const muster_comm_t *comm);

/* A message of this communicator, about a generation, from its own rank. */
wire_message_t comm_message(const muster_comm_t *comm, wire_kind_t kind, uint64_t generation,
                            size_t payload_length);
/* Sends one to a rank; to itself is a fault. Counted as control. */
void comm_send_control(muster_comm_t *comm, uint32_t rank, const wire_message_t *message,
                       const uint8_t *payload);

void comm_describe(const muster_comm_t *comm, muster_comm_description_t *description);

#endif
