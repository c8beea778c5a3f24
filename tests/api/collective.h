/*
 * One collective call through the public API, with its right result: from a description follow, for
 * every rank, guarded buffers, arguments, what has to be in every byte afterwards, and what the
 * rank's schedule says about messages, bytes, reductions and copies.
 *
 * Elements are u64 of 8 bytes with sums; or, ordered, 2x2 matrices over 32-bit numbers of 16 bytes
 * under multiplication, a user-defined datatype and reduction that shows the order of the ranks.
 */
#ifndef MUSTER_TESTS_API_COLLECTIVE_H
#define MUSTER_TESTS_API_COLLECTIVE_H

#include "core/call.h"
#include "guarded.h"
#include "ranks.h"

#define COLLECTIVE_RANKS_MAX 17

typedef struct collective {
    operation_t operation;
    uint32_t root;
    size_t count; /* elements in a block; ragged operations: in the longest row */
    bool in_place;
    bool nonblocking;
    bool ordered;   /* reductions: matrices, else sums */
    bool initial;   /* exscan */
    bool displaced; /* v-forms: rows in reverse order with gaps between them */
    bool at_end;    /* buffers end at a guard page, else they begin at one */
    muster_outcome_t outcome;
    uint64_t generation; /* explicit, 0: automatic */
    uint64_t salt;       /* of the data */
} collective_t;

typedef struct collective_side {
    guarded_t memory;
    size_t elements;
    size_t counts[COLLECTIVE_RANKS_MAX];
    size_t displacements[COLLECTIVE_RANKS_MAX];
} collective_side_t;

typedef struct collective_call {
    collective_t what;
    uint32_t rank, size;
    size_t element; /* bytes */
    muster_datatype_t datatype;
    muster_op_t op;
    uint64_t reductions; /* calls of the user-defined one, with its context */
    size_t own;          /* elements of the caller's own block */
    bool placed;         /* in place, here */
    collective_side_t send, receive, initial;
    muster_call_t options;
    muster_request_t *request;
    muster_status_t status;
} collective_call_t;

/* Buffers and arguments of one rank; never NULL. */
collective_call_t *collective_prepare(uint32_t rank, uint32_t size, const collective_t *what);
/* Makes the call: blocking to its end, else only started. The status is that of the start. */
muster_status_t collective_start(muster_comm_t *comm, collective_call_t *call);
/* The outcome, which is waited for. */
muster_status_t collective_wait(collective_call_t *call);
/* Expects that nothing was written beyond bounds and, where succeeded, that all is right. */
void collective_check(collective_call_t *call, bool succeeded);
void collective_free(collective_call_t *call);

/* All of it, on every rank of comm: expects success and the right result. */
void collective_run(muster_comm_t *comm, const collective_t *what);

/* ---- The schedule's own figures -------------------------------------------------------------- */

typedef struct collective_figures {
    uint64_t messages_sent, messages_received;
    uint64_t bytes_sent;
    bool bytes_known; /* false: where they depend on what others contribute */
    uint64_t reductions;
    uint64_t copied; /* bytes that its copies and packing move */
    bool copied_known;
} collective_figures_t;

/*
 * Of one rank's call on a communicator whose path is known (flat, tree), or of all ranks together:
 * rank COLLECTIVE_ALL.
 */
#define COLLECTIVE_ALL UINT32_MAX
collective_figures_t collective_figures(const muster_comm_description_t *description,
                                        const collective_t *what, uint32_t rank);

#endif
