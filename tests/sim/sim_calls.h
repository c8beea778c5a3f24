/*
 * Collective calls with known results: from one description follow, for every rank, the buffers,
 * the arguments and what has to be in every byte afterwards. Elements are 8 bytes: u64 sums, or
 * affine maps under composition, which shows the order of the ranks.
 */
#ifndef MUSTER_TESTS_SIM_CALLS_H
#define MUSTER_TESTS_SIM_CALLS_H

#include "engine/request.h"

#define SIM_CALL_RANKS_MAX 64

typedef struct sim_call {
    operation_t operation;
    uint32_t size;
    uint32_t root;
    size_t count;  /* elements in a block; ragged operations: in the longest row */
    bool in_place; /* where the operation and the rank have it */
    bool initial;  /* exscan */
    bool user;     /* reductions: affine maps, not commutative; else u64 sums */
    bool gaps;     /* v-forms: rows in reverse order with gaps between them */
    bool rows;     /* the form with rows, where the operation has one; never in place */
    uint64_t salt; /* of the data */
} sim_call_t;

/* What a user-defined reduction of one rank does and has done. */
typedef struct sim_reduction {
    uint64_t calls;
    uint64_t fail_at; /* the call that fails; 0: none */
    uint64_t failed;  /* calls that have failed */
} sim_reduction_t;

typedef struct sim_side {
    uint64_t *memory; /* with a word of guard at both ends */
    uint64_t *data;
    size_t length; /* elements */
    size_t counts[SIM_CALL_RANKS_MAX];
    size_t displacements[SIM_CALL_RANKS_MAX];
} sim_side_t;

typedef struct sim_buffers {
    sim_call_t call;
    uint32_t rank;
    request_arguments_t arguments;
    sim_side_t send, receive, initial;
    muster_carrier_t sent_rows, received_rows;
    size_t offsets[SIM_CALL_RANKS_MAX + 1]; /* of sent_rows */
    uint64_t *sent;                         /* send's contents before */
    uint64_t *expected;                     /* receive's contents after */
    size_t compared;                        /* elements of it that are defined */
    sim_reduction_t reduction;
} sim_buffers_t;

/* Never NULL. */
sim_buffers_t *sim_buffers_create(const sim_call_t *call, uint32_t rank);
void sim_buffers_destroy(sim_buffers_t *buffers);

/* From now on they are nobody's: overwritten here, and to stay so. */
void sim_buffers_abandon(sim_buffers_t *buffers);
bool sim_buffers_are_untouched(const sim_buffers_t *buffers);

/* Whether nothing was written beyond bounds; after success also whether every element is right. */
bool sim_buffers_are_right(const sim_buffers_t *buffers, bool succeeded, char *why, size_t size);

/*
 * A call of chance: every operation, root, count and form is drawn. any_root: else the root is 0.
 */
sim_call_t sim_call_draw(uint64_t (*draw)(void *argument, uint64_t bound), void *argument,
                         uint32_t size, bool any_root);

#endif
