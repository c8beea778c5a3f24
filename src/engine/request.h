/*
 * An operation of one rank: a small state machine over the phases of its schedule. The public
 * request handle points to it.
 */
#ifndef MUSTER_ENGINE_REQUEST_H
#define MUSTER_ENGINE_REQUEST_H

#include "core/gate.h"
#include "engine/comm.h"
#include "engine/layout.h"

/* What the caller gave; checked. Arrays are read before request_start returns. */
typedef struct request_arguments {
    operation_t operation;
    const void *send;
    void *receive;
    const void *initial;
    bool in_place;
    /* elements in a block; in the v-forms: of the caller's one block */
    size_t count;
    const size_t *send_counts, *send_displacements; /* elements; NULL: none or prefix sums */
    const size_t *receive_counts, *receive_displacements;
    muster_datatype_t datatype;
    muster_op_t op;
    uint32_t root;
    /*
     * The form with rows (operation: one that operation_is_form has with them): lengths come with
     * the data, counts and displacements are not given.
     */
    bool rows;
    const muster_carrier_t *send_rows; /* scatterv: at the root; alltoallv; read at the start */
    muster_carrier_t *receive_rows;    /* written when the request ends well */
} request_arguments_t;

typedef enum request_state {
    REQUEST_QUEUED = 0, /* the window is full */
    REQUEST_RUNNING,    /* in its schedule */
    REQUEST_FAILING,    /* has reported a failure and awaits the verdict */
    REQUEST_FINISHED
} request_state_t;

typedef enum receive_state {
    RECEIVE_AWAITED = 0,
    RECEIVE_FILLING,
    RECEIVE_ARRIVED
} receive_state_t;

struct muster_request {
    muster_comm_t *comm;               /* held */
    muster_request_t *next, *previous; /* the engine's active list, a queue, or the spare list */
    muster_request_t *next_queued;     /* in the communicator's queue, or among the callbacks */
    request_state_t state;
    bool owned;        /* a handle points here: else it belongs to a blocking call */
    bool abandoned;    /* the owner has destroyed it while it ran */
    bool released;     /* destroyed: the handle is of no use until it is given out again */
    bool leaving;      /* to be recycled when the last visitor has gone */
    unsigned visitors; /* calls that look at it, though a callback may destroy it meanwhile */
    call_t call;
    uint64_t generation;
    uint64_t given; /* explicit generation asked for, 0: automatic */
    bool small;     /* the result is small enough to be kept with its verdict */
    bool uniform;   /* in fact: the outcome asked for, or a synchronizing generation */
    int64_t begun, deadline;
    int64_t look;    /* the decider looks around at this time */
    bool asked;      /* the deadline has passed and the decider been asked */
    int64_t give_up; /* when asked or failing: UNDECIDED from then on */
    muster_status_t status;
    muster_failure_t failure; /* valid where status is a failure */
    muster_completion_t on_complete;
    void *on_complete_argument;

    request_arguments_t arguments;
    size_t element; /* bytes */
    layout_t send, receive, scratch, initial;
    uint8_t *scratch_memory;
    size_t scratch_size;
    size_t *displaced; /* owned: offsets and lengths of the v-forms */
    size_t displaced_size;
    layout_row_t *rows; /* owned: LEARNT scratch, then LEARNT receive */
    size_t row_capacity;
    void *chunks;               /* owned, linked: what rows point to */
    bool carrier;               /* messages bring their blocks' lengths */
    muster_carrier_t collected; /* owned: what has come in a form with rows */

    cached_schedule_t *cached;
    const schedule_t *schedule;
    uint32_t phase;
    bool held;    /* may not send yet: other members are too far behind */
    bool entered; /* the phase's steps are done and its sends are out */
    gate_t gate;  /* of the current phase */
    uint64_t *gate_words;
    uint32_t next_combine;   /* receive, absolute index */
    uint32_t sends_out;      /* handed to the transport, not done */
    uint8_t *receive_states; /* by receive */
    transfer_t *send_transfers, *receive_transfers;
    size_t state_capacity; /* bytes behind gate_words .. transfers */
    void *state_memory;
};

/*
 * Starts an operation; never waits for a peer. Refused (status) to the caller alone, before
 * anything is changed, or started: then *request is its handle.
 */
muster_status_t request_start(muster_comm_t *comm, const request_arguments_t *arguments,
                              const muster_call_t *call, bool owned, muster_request_t **request);

/* Goes as far as it can. */
void request_advance(muster_request_t *request);

/* A message of its generation: takes it, or says that it has to wait, or that it is of no use. */
typedef enum request_answer { REQUEST_TAKEN = 0, REQUEST_LATER, REQUEST_DROP } request_answer_t;
request_answer_t request_accept(muster_request_t *request, const wire_message_t *message,
                                const uint8_t *payload, size_t length);
/* Where a long message may be received straight into: its transfer and spans; NULL: nowhere. */
transfer_t *request_place(muster_request_t *request, const wire_message_t *message,
                          transport_span_t *spans, size_t *span_count);
void request_received(transfer_t *transfer);
void request_sent(transfer_t *transfer);

/* Whether a message that it needs has still to come from rank. */
bool request_awaits(const muster_request_t *request, uint32_t rank);

/* A generation mode seen in a call or message: a conflict fails both generations (C207). */
void request_note_mode(muster_comm_t *comm, uint64_t generation, generation_mode_t mode);

/* The peer is lost: what was being sent to it is over. */
void request_peer_lost(muster_request_t *request, uint32_t world_rank);

/* As request_report, of a failure that why tells and rank caused. */
void request_fail_here(muster_request_t *request, muster_status_t status, uint32_t rank,
                       const char *why);

/* A failure seen here: reported to the decider, whose verdict ends the request. */
void request_report(muster_request_t *request, const muster_failure_t *failure);

/* Ends it: gives the buffers back, wakes waiters, runs the completion callback. */
void request_finish(muster_request_t *request, muster_status_t status,
                    const muster_failure_t *failure);

/* Takes the value that came with a verdict and ends it well. */
void request_finish_with_value(muster_request_t *request, const uint8_t *value, size_t length);

/* Deadlines and graces at now. */
void request_tick(muster_request_t *request, int64_t now);
int64_t request_next_deadline(const muster_request_t *request);

void request_cancel(muster_request_t *request);
/* Everything that is pending in the context. */
void request_cancel_all(engine_t *engine);
/* The owner is done with it. */
void request_release(muster_request_t *request);
/* Between the two it stays what it is, finished when it was destroyed. */
void request_visit(muster_request_t *request);
void request_leave(muster_request_t *request);
/* Frees a finished or never started one. */
void request_free(muster_request_t *request);
/* The engine ends: finishes and frees all of them. */
void request_free_all(engine_t *engine);
/*
 * Completion callbacks are run without the lock. A request stays what it is while its callback
 * runs, whoever destroys it.
 */
void request_run_callback(muster_request_t *request, muster_completion_t function, void *argument);
/* Those that are due. */
void request_run_callbacks(engine_t *engine);
/* Whether the calling thread is inside a callback of the engine: it must not wait for others. */
bool request_is_calling(const engine_t *engine);
/* Whether a callback of this request is running, on any thread. */
bool request_is_called(const muster_request_t *request);
/* Finished, and its callback has returned. */
bool request_is_settled(const muster_request_t *request);
/* Whether its handle is a caller's: not one that was destroyed, nor a blocking call's. */
bool request_is_given(const muster_request_t *request);
/* The window has moved: starts what waited for it. */
void request_start_queued(muster_comm_t *comm);

/* A failure about an operation, its text begun: "allreduce of generation 7 on \"name\"". */
void request_failure(const muster_comm_t *comm, uint64_t generation, uint8_t operation,
                     muster_status_t status, uint32_t rank, muster_failure_t *failure);

#endif
