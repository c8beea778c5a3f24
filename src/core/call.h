/*
 * What is asked of a communicator: the call whose parts every rank has to agree on. It travels in
 * every message's header, and two ranks that disagree learn the field, both values and the ranks.
 */
#ifndef MUSTER_CORE_CALL_H
#define MUSTER_CORE_CALL_H

#include "muster.h"

/* X(NAME, "text", rooted, reducing, ragged). One list: dispatch, names, test matrix. */
#define OPERATION_LIST(X)                                                                          \
    X(BARRIER, "barrier", false, false, false)                                                     \
    X(BROADCAST, "broadcast", true, false, false)                                                  \
    X(REDUCE, "reduce", true, true, false)                                                         \
    X(ALLREDUCE, "allreduce", false, true, false)                                                  \
    X(GATHER, "gather", true, false, false)                                                        \
    X(GATHERV, "gatherv", true, false, true)                                                       \
    X(SCATTER, "scatter", true, false, false)                                                      \
    X(SCATTERV, "scatterv", true, false, true)                                                     \
    X(ALLGATHER, "allgather", false, false, false)                                                 \
    X(ALLGATHERV, "allgatherv", false, false, true)                                                \
    X(ALLTOALL, "alltoall", false, false, false)                                                   \
    X(ALLTOALLV, "alltoallv", false, false, true)                                                  \
    X(REDUCE_SCATTER, "reduce_scatter", false, true, true)                                         \
    X(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", false, true, false)                            \
    X(SCAN, "scan", false, true, false)                                                            \
    X(EXSCAN, "exscan", false, true, false)

typedef enum operation {
#define X(name, text, rooted, reducing, ragged) OPERATION_##name,
    OPERATION_LIST(X)
#undef X
        OPERATION_COUNT
} operation_t;

typedef enum generation_mode {
    GENERATION_AUTOMATIC = 0,
    GENERATION_EXPLICIT = 1
} generation_mode_t;

/* The agreed parts of a call (C105). */
typedef struct call {
    uint8_t operation; /* operation_t */
    uint8_t mode;      /* generation_mode_t */
    uint8_t outcome;   /* MUSTER_OUTCOME_UNIFORM or MUSTER_OUTCOME_LOCAL */
    uint8_t op_kind;   /* muster_op_kind_t; NONE where nothing is reduced */
    bool commutative;
    bool initial;      /* exscan: an initial value is given */
    bool rows;         /* (all)gatherv, scatterv, alltoallv: receivers learn rows' lengths */
    uint32_t root;     /* 0 where there is none */
    uint64_t datatype; /* muster_datatype_t; 0 for a barrier */
    uint64_t count;    /* elements a rank; 0 in the v-operations, whose counts may differ */
    uint64_t op_identity;
} call_t;

typedef enum call_field {
    CALL_FIELD_NONE = 0,
    CALL_FIELD_OPERATION,
    CALL_FIELD_MODE,
    CALL_FIELD_OUTCOME,
    CALL_FIELD_DATATYPE,
    CALL_FIELD_COUNT,
    CALL_FIELD_ROOT,
    CALL_FIELD_REDUCTION,
    CALL_FIELD_INITIAL
} call_field_t;

/* The first field in which they differ, in the order above; NONE where they agree. */
call_field_t call_compare(const call_t *one, const call_t *other);
/*
 * The field's value as a number, for a report. REDUCTION: the kind in the low byte, bit 8
 * commutative, the identity above bit 16 (its upper 16 bits are cut off).
 */
uint64_t call_value(const call_t *call, call_field_t field);
const char *call_field_name(call_field_t field); /* "count"; "" for none */
/*
 * "allreduce"; "?" for an unknown one. Also for what call_form gives: "gather_rows".
 */
const char *operation_name(uint8_t operation);
/* The operation, in the form with rows with OPERATION_ROWS added. */
#define OPERATION_ROWS 128u
uint8_t call_form(const call_t *call);
/* Whether call_form may give it: an operation, or one of the four that have a form with rows. */
bool operation_is_form(uint8_t form);
bool operation_is_rooted(operation_t operation);
/* Whether some ranks may only send, or only receive: rooted ones and scans. */
bool operation_is_one_way(operation_t operation);
bool operation_is_reducing(operation_t operation);
bool operation_is_ragged(operation_t operation);

#endif
