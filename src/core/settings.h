/*
 * A job's settings: for each operation, which algorithms and which radix sequences, by size; the
 * cost model's parameters; and a few switches. One grammar for all of them, wherever they come
 * from: a file, the environment, a communicator's options.
 *
 * Every rank of a job goes by the same settings: those of rank 0, which are handed round as text
 * where ranks' own ones differ.
 */
#ifndef MUSTER_CORE_SETTINGS_H
#define MUSTER_CORE_SETTINGS_H

#include "core/call.h"
#include "core/hosts.h"
#include "core/radix_choice.h"
#include "core/radix_text.h"
#include "core/select.h"

/* Numbers, X(NAME, "text", default text, what it is). Times take ps, ns or us behind the number. */
#define SETTINGS_NUMBER_LIST(X)                                                                    \
    X(LATENCY_INSIDE, "latency_inside", "of a message between ranks of one host")                  \
    X(MESSAGE_INSIDE, "message_inside", "that a rank is busy for each, inside a host")             \
    X(BYTE_INSIDE, "byte_inside", "for a byte, inside a host")                                     \
    X(LATENCY_BETWEEN, "latency_between", "of a message between hosts")                            \
    X(MESSAGE_BETWEEN, "message_between", "that a rank is busy for each, between hosts")           \
    X(BYTE_BETWEEN, "byte_between", "for a byte on a host's link")                                 \
    X(REDUCE, "reduce_byte", "for a byte that is combined")                                        \
    X(COPY, "copy_byte", "for a byte that is copied")

typedef enum settings_kind {
    SETTINGS_ALGORITHM, /* a table of families */
    SETTINGS_RADIX,     /* a table of radix sequences */
    SETTINGS_TIME,      /* 2500ns */
    SETTINGS_COUNT,     /* a number */
    SETTINGS_SWITCH,    /* 0 or 1 */
    SETTINGS_HOSTS      /* where the job's ranks are */
} settings_kind_t;

enum {
    SETTINGS_FIRST_ALGORITHM = 0,
    SETTINGS_FIRST_RADIX = SETTINGS_FIRST_ALGORITHM + OPERATION_COUNT,
    SETTINGS_FIRST_TIME = SETTINGS_FIRST_RADIX + OPERATION_COUNT,
#define X(name, text, what) SETTINGS_##name##_PLACE,
    SETTINGS_TIMES_BEFORE = SETTINGS_FIRST_TIME - 1,
    SETTINGS_NUMBER_LIST(X)
#undef X
        SETTINGS_CORES,
    SETTINGS_REPRODUCIBLE,
    SETTINGS_LOG,
    SETTINGS_PLACES,
    SETTINGS_ALL
};

typedef enum settings_origin {
    SETTINGS_BUILTIN = 0,
    SETTINGS_FROM_TUNED, /* the file that muster tune writes */
    SETTINGS_FROM_FILE,
    SETTINGS_FROM_ENVIRONMENT,
    SETTINGS_FROM_PROGRAM,
    SETTINGS_FROM_HOST, /* what there is on rank 0's host */
    SETTINGS_FROM_RANK_0
} settings_origin_t;

typedef struct settings {
    radix_table_t algorithm[OPERATION_COUNT]; /* values are families */
    radix_table_t radix[OPERATION_COUNT];
    select_parameters_t parameters;
    bool reproducible;            /* reductions of all communicators are (C420) */
    bool log;                     /* choices are told */
    hosts_t hosts;                /* where ranks are, whatever their hosts say of themselves */
    uint8_t origin[SETTINGS_ALL]; /* settings_origin_t */
} settings_t;

/* What is wrong with a text. The reason is a constant. */
typedef struct settings_error {
    uint32_t line;   /* of a whole text, from 1; 0: of one value */
    uint32_t column; /* from 1 */
    const char *reason;
} settings_error_t;

/* The built-in ones. */
void settings_begin(settings_t *settings);

/* "allgather_radix"; in the environment MUSTER_ALLGATHER_RADIX. number < SETTINGS_ALL. */
const char *settings_name(uint32_t number, char *name, size_t size);
/* SETTINGS_ALL: there is none of that name. */
uint32_t settings_find(const char *name, size_t length);
settings_kind_t settings_kind(uint32_t number);
/* One line of what it is for; a constant. */
const char *settings_about(uint32_t number);
const char *settings_origin_text(uint8_t origin);

/* INVALID_ARGUMENT, with error, and nothing is changed. error may be NULL. */
muster_status_t settings_set(settings_t *settings, uint32_t number, const char *text, size_t length,
                             settings_origin_t origin, settings_error_t *error);
/* The value, as set would take it. */
void settings_print(const settings_t *settings, uint32_t number, text_t *text);

/*
 * Lines of `name = value`; blanks around both are left out, a line that begins with # is a remark.
 * All lines or none take effect.
 */
#define SETTINGS_TEXT_MAX (64u << 10)
muster_status_t settings_read(settings_t *settings, const char *text, size_t length,
                              settings_origin_t origin, settings_error_t *error);
/* What differs from the built-in ones, as settings_read takes it; the same for equal settings. */
void settings_write(const settings_t *settings, text_t *text);
/* Of what settings_write gives, in text, which has room for SETTINGS_TEXT_MAX + 1. Never 0. */
uint64_t settings_digest(const settings_t *settings, char *text);

/*
 * What binds the choice for a message of so many bytes in total. team, per_host: as radix_resolve
 * takes them. reason (may be NULL) says why a radix that is set does not bind. NOT_SUPPORTED: exact
 * or nothing was asked for (`=`), and it is not exact; limits are untouched.
 */
muster_status_t settings_limits(const settings_t *settings, operation_t operation, uint64_t bytes,
                                radix_memory_t memory, uint32_t team, uint32_t per_host,
                                select_limits_t *limits, radix_reason_t *reason);

/* Whether anything is set that binds the choice of this operation. */
bool settings_bind(const settings_t *settings, operation_t operation);
/*
 * The plan for a call: what binds it for `bytes` of a vector or a block, and the cheapest of what
 * is left when it is reckoned with `reckoned` bytes. A family that is set and has nothing for the
 * team or the call does not bind. reason (not NULL) as above. NOT_SUPPORTED: exact or nothing was
 * asked for, and it is not exact.
 */
muster_status_t settings_choose(const settings_t *settings, const schedule_request_t *request,
                                uint64_t bytes, uint64_t reckoned, select_plan_t *plan,
                                radix_reason_t *reason);

#endif
