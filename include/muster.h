/*
 * Muster: collective operations among processes, all together, or all told why.
 *
 * A process joins a job by making a *context*. A context knows the job's ranks, numbered from 0 to
 * size - 1, and makes *communicators*: named sets of ranks that do collective operations together.
 * The world communicator, with every rank, is there from the start.
 *
 *     muster_context_t *context;
 *     if (muster_context_create(NULL, &context) != MUSTER_OK) return 1;
 *     muster_comm_t *world = muster_context_world(context);
 *     int32_t mine = muster_comm_rank(world) + 1, sum;
 *     muster_allreduce(world, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, NULL);
 *     muster_context_destroy(context);
 *
 * Every rank of a communicator calls the same operations. Each use of a communicator has a number,
 * its *generation*: 1, 2, 3, ... Operations are matched by generation, so a message of one use can
 * never be taken for another's. Generations are counted by the library (automatic) or given by the
 * caller (explicit, muster_call_t::generation).
 *
 * *Outcome.* A generation has one outcome: the value, or the first failure. By default it is
 * uniform: every rank returns the same one. MUSTER_OUTCOME_LOCAL gives MPI's weaker and cheaper
 * meaning: a rank returns as soon as its own part is done. Every call has a deadline; when the
 * first one passes, everybody returns MUSTER_TIMED_OUT with the names of the missing ranks. A
 * failed generation does not harm the next.
 *
 * *Failures.* A status says what happened and, by its group, what has to be rebuilt. Pass a
 * muster_failure_t (muster_call_t::failure) to learn who, where and why; muster_failure_print
 * writes it as one line. On failure, handles and scalar results are untouched; the contents of
 * receive buffers are undefined, within their bounds.
 *
 * *Threads.* All functions of a context may be called from any thread, unless stated otherwise.
 * A blocking call blocks its caller only. There is no global state: one process may have many
 * contexts, also of one job (logical ranks, muster_local_create).
 *
 * *Ownership.* A returned pointer is borrowed, a pointer stored through an out argument is owned by
 * the caller. Destructors accept NULL. Buffers given to a blocking call are the caller's again when
 * it returns; those given to a nonblocking one, when its request has completed.
 *
 * *Not given* is never a number: optional arguments are muster_optional_t, and a zeroed one is not
 * given. A zeroed options structure, or NULL in its place, asks for all defaults.
 */
#ifndef MUSTER_H
#define MUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_VERSION_MAJOR 0
#define MUSTER_VERSION_MINOR 1
#define MUSTER_VERSION_PATCH 0

#if defined(__GNUC__)
#define MUSTER_API __attribute__((visibility("default")))
#else
#define MUSTER_API
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

/*
 * X(name, text). The groups say what has to be rebuilt after it:
 * nothing (the call was refused to its caller alone, or goes on), the generation (the next one
 * works), the communicator, the context.
 */
#define MUSTER_STATUS_LIST(X)                                                                      \
    X(OK, "success")                                                                               \
    X(IN_PROGRESS, "the operation has not completed")                                              \
    X(PARTIAL_SUCCESS, "completed without the ranks that departed")                                \
    /* refused to the caller alone: make the right call next */                                    \
    X(INVALID_ARGUMENT, "an argument is not valid")                                                \
    X(INVALID_HANDLE,                                                                              \
      "the context, communicator or request is null, destroyed or inherited by fork")              \
    X(INVALID_RANK, "the rank is outside the communicator or not the caller's own")                \
    X(INVALID_ROOT, "the root is outside the communicator or not allowed on it")                   \
    X(INVALID_BUFFER, "a buffer is null though its count is not zero")                             \
    X(INVALID_COUNT, "a count, a displacement or their product with the size overflows")           \
    X(INVALID_DATATYPE, "the datatype is unknown")                                                 \
    X(INVALID_OPERATION, "the reduction is unknown or makes no sense for the datatype")            \
    X(INVALID_ARITY, "the arity is below 2")                                                       \
    X(INVALID_NAME, "the name is null, empty or too long")                                         \
    X(INVALID_GENERATION, "the generation is zero, too large or beyond the window")                \
    X(STALE_GENERATION, "the generation has been used already")                                    \
    X(GENERATION_MODE, "automatic and explicit generations do not go together here")               \
    X(NOT_SUPPORTED, "not supported")                                                              \
    X(NOT_FOUND, "not found")                                                                      \
    X(REFUSED, "refused")                                                                          \
    /* the generation failed: the next one works */                                                \
    X(MISMATCH, "ranks made different calls")                                                      \
    X(TRUNCATED, "a contribution has another length than its receiver expects")                    \
    X(TIMED_OUT, "the deadline passed before everybody arrived")                                   \
    X(REDUCTION_FAILED, "a user-defined reduction returned a failure")                             \
    X(CANCELLED, "cancelled")                                                                      \
    X(NO_MEMORY, "out of memory")                                                                  \
    /* the communicator has to be rebuilt */                                                       \
    X(PEER_LOST, "a rank was lost")                                                                \
    X(UNDECIDED, "the decider could not be reached, the outcome is not known")                     \
    X(REVOKED, "the communicator was revoked")                                                     \
    X(LOST_CONNECTION, "nobody is left to be answered")                                            \
    /* the context has to be rebuilt */                                                            \
    X(ENVIRONMENT, "the environment does not allow it")                                            \
    X(ADDRESS_IN_USE, "the address is in use")                                                     \
    X(ADDRESS_NOT_AVAILABLE, "the address is not one of this host")                                \
    X(UNREACHABLE, "the peer could not be reached")                                                \
    X(VERSION_MISMATCH, "the versions differ")                                                     \
    X(NOT_AUTHENTICATED, "the job's secret was not shown")                                         \
    X(DUPLICATE_RANK, "another process holds this rank")                                           \
    X(PROTOCOL, "bytes that do not follow the protocol")                                           \
    X(SHUT_DOWN, "the context is being shut down")                                                 \
    X(INTERNAL, "a fault in Muster")

typedef enum muster_status {
#define X(name, text) MUSTER_##name,
    MUSTER_STATUS_LIST(X)
#undef X
        MUSTER_STATUS_COUNT
} muster_status_t;

/* The name ("MUSTER_OK") and a text in English; never NULL, also for numbers that are no status. */
MUSTER_API const char *muster_status_name(muster_status_t status);
MUSTER_API const char *muster_status_text(muster_status_t status);

/* ---- Optional arguments ---------------------------------------------------------------------- */

/* A number that may be absent: absence is never one of the numbers. */
typedef struct muster_optional {
    uint64_t value;
    bool given;
} muster_optional_t;

#define MUSTER_GIVEN(number) ((muster_optional_t){.value = (uint64_t)(number), .given = true})
#define MUSTER_NOT_GIVEN ((muster_optional_t){.value = 0, .given = false})

/* A length of time in milliseconds, or none at all (wait for ever), or not given (the default). */
typedef struct muster_timeout {
    uint64_t milliseconds;
    uint8_t kind; /* 0: not given, 1: milliseconds, 2: no deadline; others are refused */
} muster_timeout_t;

#define MUSTER_MILLISECONDS(number)                                                                \
    ((muster_timeout_t){.milliseconds = (uint64_t)(number), .kind = 1})
#define MUSTER_NO_DEADLINE ((muster_timeout_t){.milliseconds = 0, .kind = 2})

/* ---- Failure --------------------------------------------------------------------------------- */

#define MUSTER_HOST_MAX 64
#define MUSTER_FAILURE_TEXT_MAX 512
#define MUSTER_FAILURE_RANGES_MAX 32

/* Ranks first..last, both included, of the communicator. */
typedef struct muster_rank_range {
    uint32_t first;
    uint32_t last;
} muster_rank_range_t;

/*
 * What went wrong, the same on every rank when the outcome is uniform. rank is the rank that caused
 * it, in the communicator's numbers, or MUSTER_NO_RANK; missing lists the ranks that had not
 * arrived (TIMED_OUT), range_count entries, the last one widened where there were more.
 */
typedef struct muster_failure {
    muster_status_t status;
    uint32_t rank;
    uint32_t pid;                          /* of the process behind rank, 0: not known */
    uint64_t generation;                   /* public generation, 0: none */
    char operation[24];                    /* "allreduce", "": none */
    char field[16];                        /* MISMATCH: "count", "root", ... */
    char host[MUSTER_HOST_MAX];            /* of the process behind rank, "": not known */
    char message[MUSTER_FAILURE_TEXT_MAX]; /* one line, in English */
    uint32_t range_count;
    muster_rank_range_t missing[MUSTER_FAILURE_RANGES_MAX];
} muster_failure_t;

#define MUSTER_NO_RANK UINT32_MAX

/*
 * Writes the failure as one line without a newline, like snprintf: at most size bytes with the
 * closing zero, and returns the length that the whole line has.
 */
MUSTER_API size_t muster_failure_print(const muster_failure_t *failure, char *text, size_t size);

/* ---- Context --------------------------------------------------------------------------------- */

typedef struct muster_context muster_context_t;
typedef struct muster_comm muster_comm_t;
typedef struct muster_request muster_request_t;
typedef struct muster_local muster_local_t;

/* Who makes progress while the program does not call the library. */
typedef enum muster_progress_mode {
    MUSTER_PROGRESS_KEEPER = 0, /* a sleeping thread that answers peers within about 0.2 s */
    MUSTER_PROGRESS_NONE,       /* nobody: peers wait until the next call */
    MUSTER_PROGRESS_THREAD      /* a thread that makes progress all the time */
} muster_progress_mode_t;

typedef enum muster_outcome {
    MUSTER_OUTCOME_DEFAULT = 0, /* the communicator's; for a communicator: uniform */
    MUSTER_OUTCOME_UNIFORM,     /* every rank returns the same outcome */
    MUSTER_OUTCOME_LOCAL        /* a rank returns when its own part is done, as in MPI */
} muster_outcome_t;

typedef struct muster_context_options {
    muster_local_t *local;    /* join this set of logical ranks; NULL: the process's job */
    muster_optional_t rank;   /* with local: which of its ranks */
    muster_timeout_t timeout; /* for start-up and calls; default 60 s */
    muster_progress_mode_t progress;
    muster_outcome_t outcome;  /* of the world communicator */
    muster_failure_t *failure; /* filled when the creation fails */
} muster_context_options_t;

/*
 * Joins the job: the launcher's (muster run), that of the environment (RANK, WORLD_SIZE,
 * MASTER_ADDR, MASTER_PORT), that of options->local, or a job of one. Blocks until every rank
 * of the job has come or the deadline passes. options may be NULL.
 */
MUSTER_API muster_status_t muster_context_create(const muster_context_options_t *options,
                                                 muster_context_t **context);

/*
 * Leaves the job: cancels what is pending; tells the others, whose operations beyond the caller's
 * last fail with PEER_LOST at once; meets the other ranks and flushes what was sent, for at most
 * the context's timeout; and frees everything, communicators and requests included. Must not race
 * with other calls on the context; none of its handles may be used afterwards.
 */
MUSTER_API void muster_context_destroy(muster_context_t *context);

/*
 * Where lines go that the setting log_choice asks for, without their end; NULL, and at first: to
 * stderr. Without that setting nothing is said. function is called from whichever thread starts an
 * operation, and must not call the library.
 */
typedef void (*muster_log_t)(const char *line, void *argument);
MUSTER_API muster_status_t muster_context_set_log(muster_context_t *context, muster_log_t function,
                                                  void *argument);

MUSTER_API uint32_t muster_context_rank(const muster_context_t *context);
MUSTER_API uint32_t muster_context_size(const muster_context_t *context);

/* The communicator of all ranks, flat, with both generation modes; borrowed. */
MUSTER_API muster_comm_t *muster_context_world(muster_context_t *context);

/* Makes progress without blocking; completion callbacks run inside. */
MUSTER_API muster_status_t muster_progress(muster_context_t *context);

/* Logical ranks: size ranks as threads of this process, each with a context of its own. */
MUSTER_API muster_status_t muster_local_create(uint32_t size, muster_local_t **local);
MUSTER_API void muster_local_destroy(muster_local_t *local); /* after its contexts */

/* ---- Communicators --------------------------------------------------------------------------- */

typedef enum muster_shape {
    MUSTER_SHAPE_AUTO = 0, /* chosen by the library, call by call */
    MUSTER_SHAPE_FLAT,     /* one meeting at rank 0 (a rooted operation: at its root) */
    MUSTER_SHAPE_TREE      /* a hierarchy of meetings of at most arity ranks */
} muster_shape_t;

typedef enum muster_generation_rule {
    MUSTER_GENERATION_DEFAULT = 0, /* flat: automatic or explicit; tree: explicit */
    MUSTER_GENERATION_COUNTED /* the communicator counts its calls; automatic works on a tree */
} muster_generation_rule_t;

typedef enum muster_root_rule {
    MUSTER_ROOT_DEFAULT = 0, /* flat: any root; tree: rank 0 only */
    MUSTER_ROOT_ANY          /* every rooted operation works for every root */
} muster_root_rule_t;

typedef struct muster_comm_options {
    muster_shape_t shape;
    muster_optional_t arity;          /* tree: at least 2; default 2 */
    muster_optional_t flat_threshold; /* tree: below this size it is flat; default 16, 0: never */
    muster_generation_rule_t generations;
    muster_root_rule_t roots;
    muster_outcome_t outcome;
    muster_timeout_t timeout;  /* of the creation and of each call; default: the context's */
    muster_failure_t *failure; /* filled when the creation fails */
    /*
     * Lines of `name = value` as in muster.conf, over the job's settings (`muster info --config`
     * lists them): "allreduce_algorithm = ring\nreproducible = 1". hosts cannot be set here. Read
     * during the call; NULL: none.
     */
    const char *settings;
} muster_comm_options_t;

#define MUSTER_NAME_MAX 255

/*
 * Creates a communicator over count ranks of the context's job, in the order of ranks (NULL and 0:
 * all of them). All of them call it with the same name, ranks and options, in any order of arrival;
 * others may not. Blocks until all have come. The name is copied.
 * MISMATCH where their arguments differ, TIMED_OUT, PEER_LOST.
 */
MUSTER_API muster_status_t muster_comm_create(muster_context_t *context, const char *name,
                                              const uint32_t *ranks, size_t count,
                                              const muster_comm_options_t *options,
                                              muster_comm_t **comm);

/* A communicator of the same ranks; options NULL: the same options. Collective, blocking. */
MUSTER_API muster_status_t muster_comm_duplicate(muster_comm_t *comm,
                                                 const muster_comm_options_t *options,
                                                 muster_comm_t **duplicate);

/*
 * One communicator for each color, its ranks ordered by key, then by rank in comm. A color not
 * given takes part and gets none (*part is set to NULL). Collective over comm, blocking.
 */
MUSTER_API muster_status_t muster_comm_split(muster_comm_t *comm, muster_optional_t color,
                                             uint64_t key, const muster_comm_options_t *options,
                                             muster_comm_t **part);

/*
 * Local; may be called at once after the last operation. Pending requests are cancelled; operations
 * that the others have begun or begin beyond the caller's last fail with PEER_LOST. The handles of
 * the last 64 that were destroyed are told from good ones (INVALID_HANDLE).
 */
MUSTER_API void muster_comm_destroy(muster_comm_t *comm);

MUSTER_API uint32_t muster_comm_rank(const muster_comm_t *comm);
MUSTER_API uint32_t muster_comm_size(const muster_comm_t *comm);
MUSTER_API const char *muster_comm_name(const muster_comm_t *comm);

/*
 * A group on the caller's own path through the tree: the ranks [left, right) meet by their leaders.
 */
typedef struct muster_group {
    uint32_t left;
    uint32_t right;
    uint32_t members; /* how many meet there */
    uint32_t index;   /* the caller's place among them; 0: it leads */
} muster_group_t;

#define MUSTER_GROUPS_MAX 32

typedef struct muster_comm_description {
    uint32_t rank;
    uint32_t size;
    muster_shape_t shape; /* the path that operations take: FLAT also where a tree fell back */
    uint32_t arity;       /* effective: size where flat */
    uint32_t flat_threshold;
    uint32_t group_count; /* on the caller's own path, from the top down */
    muster_group_t groups[MUSTER_GROUPS_MAX];
    uint64_t creation;        /* tells communicators of one name apart */
    uint64_t next_generation; /* the next public generation that automatic would use */
} muster_comm_description_t;

MUSTER_API muster_status_t muster_comm_describe(const muster_comm_t *comm,
                                                muster_comm_description_t *description);

/*
 * Counts since creation, of this rank. Messages and bytes of schedules; control is counted apart.
 */
typedef struct muster_traffic {
    uint64_t messages_sent;
    uint64_t bytes_sent;          /* payload */
    uint64_t bytes_between_hosts; /* of these: to ranks on other hosts */
    uint64_t messages_received;
    uint64_t bytes_received;
    uint64_t control_messages;   /* sent: reports, queries, states, verdicts */
    uint64_t early_messages;     /* received before their turn and kept */
    uint64_t late_messages;      /* received after their generation had ended and dropped */
    uint64_t bytes_copied;       /* by the library, between buffers of the process */
    uint64_t bytes_copied_early; /* of these: for early messages */
    uint64_t reductions;         /* calls of a reduction */
} muster_traffic_t;

MUSTER_API muster_status_t muster_comm_traffic(const muster_comm_t *comm,
                                               muster_traffic_t *traffic);

/* ---- Datatypes and reductions ---------------------------------------------------------------- */

/*
 * X(NAME, size in bytes, text). bf16 and f16 are 2 bytes; a pair is {value, index}, packed as in C.
 */
#define MUSTER_DATATYPE_LIST(X)                                                                    \
    X(I8, 1, "i8")                                                                                 \
    X(I16, 2, "i16")                                                                               \
    X(I32, 4, "i32")                                                                               \
    X(I64, 8, "i64")                                                                               \
    X(U8, 1, "u8")                                                                                 \
    X(U16, 2, "u16")                                                                               \
    X(U32, 4, "u32")                                                                               \
    X(U64, 8, "u64")                                                                               \
    X(F32, 4, "f32")                                                                               \
    X(F64, 8, "f64")                                                                               \
    X(F16, 2, "f16")                                                                               \
    X(BF16, 2, "bf16")                                                                             \
    X(BOOL, 1, "bool")                                                                             \
    X(BYTE, 1, "byte")                                                                             \
    X(C32, 8, "c32")                                                                               \
    X(C64, 16, "c64")                                                                              \
    X(I32_I32, 8, "i32_i32")                                                                       \
    X(I64_I32, 16, "i64_i32")                                                                      \
    X(F32_I32, 8, "f32_i32")                                                                       \
    X(F64_I32, 16, "f64_i32")

typedef enum muster_datatype_kind {
    MUSTER_DATATYPE_NONE = 0,
#define X(name, size, text) MUSTER_DATATYPE_##name,
    MUSTER_DATATYPE_LIST(X)
#undef X
        MUSTER_DATATYPE_USER,
    MUSTER_DATATYPE_KIND_COUNT
} muster_datatype_kind_t;

/* The kind in the low byte, the size of one element in bytes above it. */
typedef uint64_t muster_datatype_t;

#define MUSTER_I8 ((muster_datatype_t)MUSTER_DATATYPE_I8 | 1u << 8)
#define MUSTER_I16 ((muster_datatype_t)MUSTER_DATATYPE_I16 | 2u << 8)
#define MUSTER_I32 ((muster_datatype_t)MUSTER_DATATYPE_I32 | 4u << 8)
#define MUSTER_I64 ((muster_datatype_t)MUSTER_DATATYPE_I64 | 8u << 8)
#define MUSTER_U8 ((muster_datatype_t)MUSTER_DATATYPE_U8 | 1u << 8)
#define MUSTER_U16 ((muster_datatype_t)MUSTER_DATATYPE_U16 | 2u << 8)
#define MUSTER_U32 ((muster_datatype_t)MUSTER_DATATYPE_U32 | 4u << 8)
#define MUSTER_U64 ((muster_datatype_t)MUSTER_DATATYPE_U64 | 8u << 8)
#define MUSTER_F32 ((muster_datatype_t)MUSTER_DATATYPE_F32 | 4u << 8)
#define MUSTER_F64 ((muster_datatype_t)MUSTER_DATATYPE_F64 | 8u << 8)
#define MUSTER_F16 ((muster_datatype_t)MUSTER_DATATYPE_F16 | 2u << 8)
#define MUSTER_BF16 ((muster_datatype_t)MUSTER_DATATYPE_BF16 | 2u << 8)
#define MUSTER_BOOL ((muster_datatype_t)MUSTER_DATATYPE_BOOL | 1u << 8)
#define MUSTER_BYTE ((muster_datatype_t)MUSTER_DATATYPE_BYTE | 1u << 8)
#define MUSTER_C32 ((muster_datatype_t)MUSTER_DATATYPE_C32 | 8u << 8)
#define MUSTER_C64 ((muster_datatype_t)MUSTER_DATATYPE_C64 | 16u << 8)
#define MUSTER_I32_I32 ((muster_datatype_t)MUSTER_DATATYPE_I32_I32 | 8u << 8)
#define MUSTER_I64_I32 ((muster_datatype_t)MUSTER_DATATYPE_I64_I32 | 16u << 8)
#define MUSTER_F32_I32 ((muster_datatype_t)MUSTER_DATATYPE_F32_I32 | 8u << 8)
#define MUSTER_F64_I32 ((muster_datatype_t)MUSTER_DATATYPE_F64_I32 | 16u << 8)

/* An element of the program's own, of size bytes (1 to 2^40), which no algorithm splits. */
#define MUSTER_USER_DATATYPE(size)                                                                 \
    ((muster_datatype_t)MUSTER_DATATYPE_USER | (muster_datatype_t)(size) << 8)

/* The size of one element in bytes; 0 where datatype is none. */
MUSTER_API size_t muster_datatype_size(muster_datatype_t datatype);
MUSTER_API const char *muster_datatype_name(muster_datatype_t datatype);

/* X(NAME, text). Integers wrap; bool takes the logical ones. */
#define MUSTER_OP_LIST(X)                                                                          \
    X(SUM, "sum")                                                                                  \
    X(PROD, "prod")                                                                                \
    X(MIN, "min")                                                                                  \
    X(MAX, "max")                                                                                  \
    X(BAND, "band")                                                                                \
    X(BOR, "bor")                                                                                  \
    X(BXOR, "bxor")                                                                                \
    X(LAND, "land")                                                                                \
    X(LOR, "lor")                                                                                  \
    X(LXOR, "lxor")                                                                                \
    X(MINLOC, "minloc")                                                                            \
    X(MAXLOC, "maxloc")

typedef enum muster_op_kind {
    MUSTER_OP_NONE = 0,
#define X(name, text) MUSTER_OP_##name,
    MUSTER_OP_LIST(X)
#undef X
        MUSTER_OP_USER,
    MUSTER_OP_KIND_COUNT
} muster_op_kind_t;

/*
 * result[i] = left[i] op right[i] for count elements, where left holds what lower ranks gave.
 * result is left or right itself, or another buffer; the three never overlap otherwise. Anything
 * but MUSTER_OK fails the operation on every rank with MUSTER_REDUCTION_FAILED. Must not call
 * Muster. It has to be associative.
 */
typedef muster_status_t (*muster_reduce_function_t)(void *context, const void *left,
                                                    const void *right, void *result, size_t count,
                                                    muster_datatype_t datatype);

typedef struct muster_op {
    muster_op_kind_t kind;
    bool commutative; /* may be combined in any order; else in rank order */
    muster_reduce_function_t function;
    void *context;
    uint64_t identity; /* user-defined: the same on every rank, to tell different ones apart */
} muster_op_t;

#define MUSTER_OP_BUILTIN(kind) ((muster_op_t){(kind), true, NULL, NULL, 0})
#define MUSTER_SUM MUSTER_OP_BUILTIN(MUSTER_OP_SUM)
#define MUSTER_PROD MUSTER_OP_BUILTIN(MUSTER_OP_PROD)
#define MUSTER_MIN MUSTER_OP_BUILTIN(MUSTER_OP_MIN)
#define MUSTER_MAX MUSTER_OP_BUILTIN(MUSTER_OP_MAX)
#define MUSTER_BAND MUSTER_OP_BUILTIN(MUSTER_OP_BAND)
#define MUSTER_BOR MUSTER_OP_BUILTIN(MUSTER_OP_BOR)
#define MUSTER_BXOR MUSTER_OP_BUILTIN(MUSTER_OP_BXOR)
#define MUSTER_LAND MUSTER_OP_BUILTIN(MUSTER_OP_LAND)
#define MUSTER_LOR MUSTER_OP_BUILTIN(MUSTER_OP_LOR)
#define MUSTER_LXOR MUSTER_OP_BUILTIN(MUSTER_OP_LXOR)
#define MUSTER_MINLOC MUSTER_OP_BUILTIN(MUSTER_OP_MINLOC)
#define MUSTER_MAXLOC MUSTER_OP_BUILTIN(MUSTER_OP_MAXLOC)
#define MUSTER_USER_OP(function, context, commutative, identity)                                   \
    ((muster_op_t){MUSTER_OP_USER, (commutative), (function), (context), (identity)})

/* ---- Operations ------------------------------------------------------------------------------ */

/* Options of one call; NULL or zeroed: all defaults. */
typedef struct muster_call {
    muster_optional_t generation; /* explicit public generation, from 1; not given: automatic */
    muster_timeout_t timeout;     /* not given: the communicator's */
    muster_optional_t rank;       /* stated rank: refused unless it is the caller's own */
    muster_outcome_t outcome;
    muster_failure_t *failure; /* filled when a blocking call fails; may be NULL */
} muster_call_t;

/* As send buffer (scatter: receive buffer at the root): the data is in the other buffer. */
#define MUSTER_IN_PLACE ((void *)-1)

/*
 * All buffers are arrays of elements of datatype. count is per rank: an allgather of count c over n
 * ranks receives n*c elements, an alltoall sends and receives n*c, a reduce_scatter_block sends
 * n*c. Counts and displacements of the v-forms are in elements, arrays of n; they are read before
 * the call returns. A rank other than the root may pass NULL for what only the root uses.
 *
 * In place: allreduce, reduce (root), scan, exscan, reduce_scatter(_block): send is
 * MUSTER_IN_PLACE, the data is in receive. gather(v) (root), allgather(v): the caller's block is in
 * its place in receive. scatter(v) (root): receive is MUSTER_IN_PLACE, its block stays in send.
 * alltoall(v): the rows are in receive (alltoallv: with the receive counts).
 *
 * The blocking form blocks until the outcome is known, and returns it. The i-form starts the same
 * operation, never waits for a peer, and stores a request that the caller owns; its status says
 * whether it was started.
 */
MUSTER_API muster_status_t muster_barrier(muster_comm_t *comm, const muster_call_t *call);
MUSTER_API muster_status_t muster_ibarrier(muster_comm_t *comm, const muster_call_t *call,
                                           muster_request_t **request);

/* buffer: count elements, read at root, written elsewhere. */
MUSTER_API muster_status_t muster_broadcast(muster_comm_t *comm, void *buffer, size_t count,
                                            muster_datatype_t datatype, uint32_t root,
                                            const muster_call_t *call);
MUSTER_API muster_status_t muster_ibroadcast(muster_comm_t *comm, void *buffer, size_t count,
                                             muster_datatype_t datatype, uint32_t root,
                                             const muster_call_t *call, muster_request_t **request);

MUSTER_API muster_status_t muster_reduce(muster_comm_t *comm, const void *send, void *receive,
                                         size_t count, muster_datatype_t datatype, muster_op_t op,
                                         uint32_t root, const muster_call_t *call);
MUSTER_API muster_status_t muster_ireduce(muster_comm_t *comm, const void *send, void *receive,
                                          size_t count, muster_datatype_t datatype, muster_op_t op,
                                          uint32_t root, const muster_call_t *call,
                                          muster_request_t **request);

MUSTER_API muster_status_t muster_allreduce(muster_comm_t *comm, const void *send, void *receive,
                                            size_t count, muster_datatype_t datatype,
                                            muster_op_t op, const muster_call_t *call);
MUSTER_API muster_status_t muster_iallreduce(muster_comm_t *comm, const void *send, void *receive,
                                             size_t count, muster_datatype_t datatype,
                                             muster_op_t op, const muster_call_t *call,
                                             muster_request_t **request);

MUSTER_API muster_status_t muster_gather(muster_comm_t *comm, const void *send, void *receive,
                                         size_t count, muster_datatype_t datatype, uint32_t root,
                                         const muster_call_t *call);
MUSTER_API muster_status_t muster_igather(muster_comm_t *comm, const void *send, void *receive,
                                          size_t count, muster_datatype_t datatype, uint32_t root,
                                          const muster_call_t *call, muster_request_t **request);

/* counts, displacements: at the root, of the blocks in receive; send_count: of the caller. */
MUSTER_API muster_status_t muster_gatherv(muster_comm_t *comm, const void *send, size_t send_count,
                                          void *receive, const size_t *counts,
                                          const size_t *displacements, muster_datatype_t datatype,
                                          uint32_t root, const muster_call_t *call);
MUSTER_API muster_status_t muster_igatherv(muster_comm_t *comm, const void *send, size_t send_count,
                                           void *receive, const size_t *counts,
                                           const size_t *displacements, muster_datatype_t datatype,
                                           uint32_t root, const muster_call_t *call,
                                           muster_request_t **request);

MUSTER_API muster_status_t muster_scatter(muster_comm_t *comm, const void *send, void *receive,
                                          size_t count, muster_datatype_t datatype, uint32_t root,
                                          const muster_call_t *call);
MUSTER_API muster_status_t muster_iscatter(muster_comm_t *comm, const void *send, void *receive,
                                           size_t count, muster_datatype_t datatype, uint32_t root,
                                           const muster_call_t *call, muster_request_t **request);

/* counts, displacements: at the root, of the blocks in send; receive_count: of the caller. */
MUSTER_API muster_status_t muster_scatterv(muster_comm_t *comm, const void *send,
                                           const size_t *counts, const size_t *displacements,
                                           void *receive, size_t receive_count,
                                           muster_datatype_t datatype, uint32_t root,
                                           const muster_call_t *call);
MUSTER_API muster_status_t muster_iscatterv(muster_comm_t *comm, const void *send,
                                            const size_t *counts, const size_t *displacements,
                                            void *receive, size_t receive_count,
                                            muster_datatype_t datatype, uint32_t root,
                                            const muster_call_t *call, muster_request_t **request);

MUSTER_API muster_status_t muster_allgather(muster_comm_t *comm, const void *send, void *receive,
                                            size_t count, muster_datatype_t datatype,
                                            const muster_call_t *call);
MUSTER_API muster_status_t muster_iallgather(muster_comm_t *comm, const void *send, void *receive,
                                             size_t count, muster_datatype_t datatype,
                                             const muster_call_t *call, muster_request_t **request);

/* counts, displacements: of the blocks in receive, the same on every rank. */
MUSTER_API muster_status_t muster_allgatherv(muster_comm_t *comm, const void *send,
                                             size_t send_count, void *receive, const size_t *counts,
                                             const size_t *displacements,
                                             muster_datatype_t datatype, const muster_call_t *call);
MUSTER_API muster_status_t muster_iallgatherv(muster_comm_t *comm, const void *send,
                                              size_t send_count, void *receive,
                                              const size_t *counts, const size_t *displacements,
                                              muster_datatype_t datatype, const muster_call_t *call,
                                              muster_request_t **request);

MUSTER_API muster_status_t muster_alltoall(muster_comm_t *comm, const void *send, void *receive,
                                           size_t count, muster_datatype_t datatype,
                                           const muster_call_t *call);
MUSTER_API muster_status_t muster_ialltoall(muster_comm_t *comm, const void *send, void *receive,
                                            size_t count, muster_datatype_t datatype,
                                            const muster_call_t *call, muster_request_t **request);

MUSTER_API muster_status_t muster_alltoallv(muster_comm_t *comm, const void *send,
                                            const size_t *send_counts,
                                            const size_t *send_displacements, void *receive,
                                            const size_t *receive_counts,
                                            const size_t *receive_displacements,
                                            muster_datatype_t datatype, const muster_call_t *call);
MUSTER_API muster_status_t muster_ialltoallv(muster_comm_t *comm, const void *send,
                                             const size_t *send_counts,
                                             const size_t *send_displacements, void *receive,
                                             const size_t *receive_counts,
                                             const size_t *receive_displacements,
                                             muster_datatype_t datatype, const muster_call_t *call,
                                             muster_request_t **request);

/* counts: of the blocks of the result, the same on every rank; the caller gets its own block. */
MUSTER_API muster_status_t muster_reduce_scatter(muster_comm_t *comm, const void *send,
                                                 void *receive, const size_t *counts,
                                                 muster_datatype_t datatype, muster_op_t op,
                                                 const muster_call_t *call);
MUSTER_API muster_status_t muster_ireduce_scatter(muster_comm_t *comm, const void *send,
                                                  void *receive, const size_t *counts,
                                                  muster_datatype_t datatype, muster_op_t op,
                                                  const muster_call_t *call,
                                                  muster_request_t **request);
MUSTER_API muster_status_t muster_reduce_scatter_block(muster_comm_t *comm, const void *send,
                                                       void *receive, size_t count,
                                                       muster_datatype_t datatype, muster_op_t op,
                                                       const muster_call_t *call);
MUSTER_API muster_status_t muster_ireduce_scatter_block(muster_comm_t *comm, const void *send,
                                                        void *receive, size_t count,
                                                        muster_datatype_t datatype, muster_op_t op,
                                                        const muster_call_t *call,
                                                        muster_request_t **request);

/* Rank i gets the reduction over ranks 0..i. */
MUSTER_API muster_status_t muster_scan(muster_comm_t *comm, const void *send, void *receive,
                                       size_t count, muster_datatype_t datatype, muster_op_t op,
                                       const muster_call_t *call);
MUSTER_API muster_status_t muster_iscan(muster_comm_t *comm, const void *send, void *receive,
                                        size_t count, muster_datatype_t datatype, muster_op_t op,
                                        const muster_call_t *call, muster_request_t **request);

/*
 * Rank i gets the reduction over ranks 0..i-1. initial: count elements put before rank 0's, the
 * same on every rank; NULL: none, and then rank 0's receive buffer is left untouched.
 */
MUSTER_API muster_status_t muster_exscan(muster_comm_t *comm, const void *send, void *receive,
                                         const void *initial, size_t count,
                                         muster_datatype_t datatype, muster_op_t op,
                                         const muster_call_t *call);
MUSTER_API muster_status_t muster_iexscan(muster_comm_t *comm, const void *send, void *receive,
                                          const void *initial, size_t count,
                                          muster_datatype_t datatype, muster_op_t op,
                                          const muster_call_t *call, muster_request_t **request);

/* ---- Rows: operations whose receivers do not know the lengths -------------------------------- */

/*
 * Rows of elements in one array. offsets NULL: uniform, row i is width elements from i*width on,
 * length is rows*width, and width may be 0. Else ragged: rows + 1 offsets in elements, the first 0,
 * never decreasing, the last length; row i is the elements offsets[i]..offsets[i + 1] - 1, none
 * where the two are equal, and width means nothing.
 *
 *     [10 11 12] [20] [30 31]: data 10 11 12 20 30 31, offsets 0 3 4 6, rows 3, length 6
 *
 * owned: data and offsets were allocated for this carrier, which muster_carrier_release frees; else
 * they are borrowed and stay their owner's. Without elements, data may be NULL.
 */
typedef struct muster_carrier {
    void *data;
    const size_t *offsets;
    size_t rows;
    size_t width;
    size_t length; /* elements */
    bool owned;
} muster_carrier_t;

/*
 * Carriers that borrow what they are given, to be sent: nothing is copied, checked or written, so
 * data may be const. Every call refuses one whose rows*width overflows, and one without offsets.
 */
MUSTER_API muster_carrier_t muster_carrier_uniform(const void *data, size_t rows, size_t width);
MUSTER_API muster_carrier_t muster_carrier_ragged(const void *data, const size_t *offsets,
                                                  size_t rows);

/* Frees what the carrier owns and zeroes it. NULL and a zeroed carrier are accepted. */
MUSTER_API void muster_carrier_release(muster_carrier_t *carrier);

/*
 * gather, scatter, allgather and alltoall where only the sender knows how long a row is: lengths
 * travel with the data, and what is received is stored in *receive as a ragged carrier that owns
 * its buffers (release it) when the operation succeeds. What *receive held before is overwritten,
 * not released. Where the operation fails it is untouched; a rank that receives nothing may pass
 * NULL. There is no form in place. Ranks that call a v-form instead make another call: MISMATCH.
 *
 * A carrier to be sent is read before the call returns, its data is the caller's again when the
 * operation has completed; a nonblocking form stores *receive then, too. Refused to the caller
 * alone, before anything is sent: INVALID_ARGUMENT (a carrier that is NULL, has another number of
 * rows than the communicator has ranks, no offsets though its width is 0 and its length is not,
 * or offsets that do not begin with 0 or that decrease), INVALID_COUNT (the last offset is not
 * length, the width does not divide it, rows*width is not length, or the bytes overflow),
 * INVALID_BUFFER (data is NULL and length is not 0).
 *
 * gather_rows: send_count elements from every rank; the root receives n rows, by rank.
 */
MUSTER_API muster_status_t muster_gather_rows(muster_comm_t *comm, const void *send,
                                              size_t send_count, muster_datatype_t datatype,
                                              uint32_t root, muster_carrier_t *receive,
                                              const muster_call_t *call);
MUSTER_API muster_status_t muster_igather_rows(muster_comm_t *comm, const void *send,
                                               size_t send_count, muster_datatype_t datatype,
                                               uint32_t root, muster_carrier_t *receive,
                                               const muster_call_t *call,
                                               muster_request_t **request);

/* send: at the root, n rows, row i for rank i; elsewhere it may be NULL. Each receives one row. */
MUSTER_API muster_status_t muster_scatter_rows(muster_comm_t *comm, const muster_carrier_t *send,
                                               muster_datatype_t datatype, uint32_t root,
                                               muster_carrier_t *receive,
                                               const muster_call_t *call);
MUSTER_API muster_status_t muster_iscatter_rows(muster_comm_t *comm, const muster_carrier_t *send,
                                                muster_datatype_t datatype, uint32_t root,
                                                muster_carrier_t *receive,
                                                const muster_call_t *call,
                                                muster_request_t **request);

/* send_count elements from every rank; everybody receives n rows, by rank. */
MUSTER_API muster_status_t muster_allgather_rows(muster_comm_t *comm, const void *send,
                                                 size_t send_count, muster_datatype_t datatype,
                                                 muster_carrier_t *receive,
                                                 const muster_call_t *call);
MUSTER_API muster_status_t muster_iallgather_rows(muster_comm_t *comm, const void *send,
                                                  size_t send_count, muster_datatype_t datatype,
                                                  muster_carrier_t *receive,
                                                  const muster_call_t *call,
                                                  muster_request_t **request);

/* send: n rows, row i for rank i. Everybody receives n rows, by source. */
MUSTER_API muster_status_t muster_alltoall_rows(muster_comm_t *comm, const muster_carrier_t *send,
                                                muster_datatype_t datatype,
                                                muster_carrier_t *receive,
                                                const muster_call_t *call);
MUSTER_API muster_status_t muster_ialltoall_rows(muster_comm_t *comm, const muster_carrier_t *send,
                                                 muster_datatype_t datatype,
                                                 muster_carrier_t *receive,
                                                 const muster_call_t *call,
                                                 muster_request_t **request);

/* ---- Requests -------------------------------------------------------------------------------- */

/*
 * The outcome, or MUSTER_IN_PROGRESS; makes progress; never blocks. A completed request answers the
 * same however often it is asked, until it is destroyed.
 */
MUSTER_API muster_status_t muster_test(muster_request_t *request);

/* Blocks until the outcome is known; a timeout given here ends only the waiting (IN_PROGRESS). */
MUSTER_API muster_status_t muster_wait(muster_request_t *request, muster_timeout_t timeout);

/*
 * Blocks until one of count requests has completed, stores which in *index and returns its outcome.
 * NULL entries are passed over; INVALID_ARGUMENT where there is no other.
 */
MUSTER_API muster_status_t muster_wait_any(muster_request_t *const *requests, size_t count,
                                           muster_timeout_t timeout, size_t *index);

/* Blocks until all have completed; the first outcome in array order that is not OK, else OK. */
MUSTER_API muster_status_t muster_wait_all(muster_request_t *const *requests, size_t count,
                                           muster_timeout_t timeout);

/*
 * Asks that the operation be given up: unless its outcome is known already, every rank gets
 * MUSTER_CANCELLED. Does not block; the request still has to complete (test, wait).
 */
MUSTER_API muster_status_t muster_cancel(muster_request_t *request);

/* What went wrong with a completed request; NULL where nothing did. Borrowed, until destroyed. */
MUSTER_API const muster_failure_t *muster_request_failure(const muster_request_t *request);

/*
 * Calls function once when the request completes, from whichever thread makes progress, or at once
 * where it has completed. It may start operations and destroy the request, and must not block. A
 * test or wait that is under way returns the outcome all the same; an array that is being waited
 * for has to stay as it is. A wait without a timeout returns when the callback has returned, too,
 * whichever thread runs it; but for one that is called from a callback.
 */
typedef void (*muster_completion_t)(muster_request_t *request, muster_status_t status,
                                    void *argument);
MUSTER_API muster_status_t muster_request_on_complete(muster_request_t *request,
                                                      muster_completion_t function, void *argument);

/*
 * Frees it; one that has not completed is cancelled, and its buffers are not touched afterwards.
 * Its callback is not begun any more; where another thread runs it, this waits until it has
 * returned, unless called from a callback. A destroyed handle is refused (INVALID_HANDLE; destroyed
 * again: nothing happens) until its communicator is destroyed or the next nonblocking operation is
 * started there, which may get the same pointer.
 */
MUSTER_API void muster_request_destroy(muster_request_t *request);

/* ---- About the library ----------------------------------------------------------------------- */

/* "0.1.0" */
MUSTER_API const char *muster_version(void);

#ifdef __cplusplus
}
#endif
#endif
