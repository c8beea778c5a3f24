/*
 * Radix sequences: how many ranks meet in each phase of an exact schedule.
 *
 * A sequence r1 x r2 x ... x rn is exact for a team of that product. Near first (the default):
 * q(1) = 1, q(i+1) = q(i)*r(i). Far first: q(i) = P/(r(1)*...*r(i)). A sequence lists its phases in
 * the order they run; 8x6 and 6x8 differ.
 *
 * core/radix_text.h is the text that says so, core/radix_choice.h what a team makes of it. All of
 * it is pure: any thread, nothing blocks, nothing is allocated, all loops are bounded.
 */
#ifndef MUSTER_CORE_RADIX_H
#define MUSTER_CORE_RADIX_H

#include "core/text.h"
#include "muster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RADIX_FACTORS_MAX 31
#define RADIX_MIN 2
#define RADIX_MAX 65535

typedef struct radix_sequence {
    uint16_t factors[RADIX_FACTORS_MAX]; /* in the order the phases run */
    uint8_t count;                       /* 0: no sequence; 1: a fixed radix (C609) */
    bool far;
} radix_sequence_t;

/* ---- What is wrong --------------------------------------------------------------------------- */

/* The memory types of a radix setting, X(NAME, "text"); in this order they are printed. */
#define RADIX_MEMORY_LIST(X)                                                                       \
    X(HOST, "host")                                                                                \
    X(CUDA, "cuda")                                                                                \
    X(CUDA_MANAGED, "cuda-managed")                                                                \
    X(ROCM, "rocm")                                                                                \
    X(ROCM_MANAGED, "rocm-managed")                                                                \
    X(ZE_HOST, "ze-host")                                                                          \
    X(ZE_DEVICE, "ze-device")                                                                      \
    X(ZE_MANAGED, "ze-managed")

#define RADIX_MEMORY_TEXT(name, text) " " text

/* X(NAME, "text"): why a sequence or a text is refused. */
#define RADIX_FAULT_LIST(X)                                                                        \
    X(NONE, "nothing is wrong")                                                                    \
    /* a sequence's factors, from a program or from a text */                                      \
    X(STORAGE, "there is a length but nothing to read")                                            \
    X(NO_FACTORS, "a sequence has at least one factor")                                            \
    X(OUT_OF_RANGE, "a radix lies within 2 and 65535")                                             \
    X(TOO_MANY_FACTORS, "a sequence has at most 31 factors")                                       \
    X(PRODUCT, "the product is larger than any team (2^32 - 1 ranks)")                             \
    /* the whole text */                                                                           \
    X(EMPTY, "the text is empty")                                                                  \
    X(TOO_LONG, "the text is longer than 4095 bytes")                                              \
    X(TOO_MANY_ENTRIES, "there are more than 32 entries")                                          \
    X(NUL, "a zero byte stands within the text")                                                   \
    X(BLANK, "blanks are not allowed")                                                             \
    X(UNEXPECTED, "this character cannot stand here")                                              \
    /* numbers */                                                                                  \
    X(SIGN, "a number has no sign")                                                                \
    X(LEADING_ZERO, "a number does not begin with a zero")                                         \
    X(DIGITS, "the number is too large (64 bits)")                                                 \
    /* an entry */                                                                                 \
    X(EMPTY_ENTRY, "an entry is empty")                                                            \
    X(EMPTY_PART, "nothing stands beside a colon")                                                 \
    X(NO_VALUE, "the entry has no value (auto, a radix or a sequence)")                            \
    X(TWO_VALUES, "the entry has a value already")                                                 \
    X(TWO_RANGES, "the entry has a size range already")                                            \
    X(TWO_MEMORIES, "the entry has a list of memory types already (they are joined by ^)")         \
    X(NEVER_MATCHES, "the entry never matches: earlier ones take all its sizes and memory types")  \
    X(NO_NAME, "neither auto nor a name that is known here")                                       \
    /* a value */                                                                                  \
    X(NO_RADIX, "a radix is missing here")                                                         \
    X(NODE_TWICE, "node can stand once only")                                                      \
    X(NO_PLACE, "near or far has to follow @")                                                     \
    X(PLACE_TWICE, "@ can stand once only")                                                        \
    X(AUTO_PLAIN, "auto takes neither a prefix nor a factor nor @")                                \
    X(ALLOWED_TWICE, "this factor is allowed already")                                             \
    /* a size range */                                                                             \
    X(NO_SIZE, "a size is missing here")                                                           \
    X(RANGE_OPEN, "a size range has two ends: a-b")                                                \
    X(SUFFIX, "no suffix of a size (K, M, G, T); factors are joined by a small x")                 \
    X(RANGE_SWAPPED, "the end of the range lies below its beginning")                              \
    X(RANGE_INFINITE, "a range cannot begin at inf")                                               \
    /* memory types */                                                                             \
    X(NO_MEMORY, "a memory type is missing here")                                                  \
    X(WORD, "neither auto, node nor a known memory type:" RADIX_MEMORY_LIST(RADIX_MEMORY_TEXT))    \
    X(MEMORY_TWICE, "this memory type is in the list already")

typedef enum radix_fault {
#define X(name, text) RADIX_FAULT_##name,
    RADIX_FAULT_LIST(X)
#undef X
        RADIX_FAULT_COUNT
} radix_fault_t;

/* A person's reason, in English; never NULL, also for numbers that are no fault. */
const char *radix_fault_text(radix_fault_t fault);

/* Where and why. A text's byte, or a sequence's factor, counted from 0. */
typedef struct radix_error {
    size_t position;
    radix_fault_t fault;
} radix_error_t;

/* "column 3: a radix is missing here"; columns are bytes, counted from 1. */
void radix_error_print(const radix_error_t *error, text_t *text);

/* ---- Sequences ------------------------------------------------------------------------------- */

/*
 * A sequence from a program's factors, held to what a text is held to (C616): 1 to 31 factors, each
 * in 2..65535, product at most 2^32 - 1. factors may be NULL when count is 0, which is refused all
 * the same. OK, and then sequence is filled (what is unused in it is 0); or INVALID_ARGUMENT, and
 * then sequence is untouched and error says which factor and why. sequence and error may be NULL.
 */
muster_status_t radix_sequence_check(const uint32_t *factors, size_t count, bool far,
                                     radix_sequence_t *sequence, radix_error_t *error);

/* The same for a structure that a program has filled itself; NULL is refused. */
muster_status_t radix_sequence_sound(const radix_sequence_t *sequence, radix_error_t *error);

/* The team it is exact for; 0 for a sequence that is not sound. */
uint32_t radix_sequence_product(const radix_sequence_t *sequence);

/* Same factors in the same order, both near or both far. */
bool radix_sequence_equal(const radix_sequence_t *one, const radix_sequence_t *other);

/* "8x6", "12x8@far"; "none" where there are no factors. */
void radix_sequence_print(const radix_sequence_t *sequence, text_t *text);

/*
 * q of a phase, counted from 0: how far apart the ranks stand that meet in it. Near first: the
 * product of the factors before it; far first: of those behind it. Asserts a sound sequence and
 * phase < count.
 */
uint32_t radix_sequence_stride(const radix_sequence_t *sequence, uint32_t phase);

/* ---- Values ---------------------------------------------------------------------------------- */

typedef enum radix_kind {
    RADIX_KIND_AUTO = 0,
    RADIX_KIND_PLAIN,   /* 8, 8x6: a fixed radix, or exact where the product is the team */
    RADIX_KIND_STRICT,  /* =8x6: exact or nothing */
    RADIX_KIND_ALLOWED, /* ~2x3x5: each team is decomposed with these factors */
    RADIX_KIND_NAME     /* of the caller's list: node is its number */
} radix_kind_t;

#define RADIX_NO_NODE 255u

/* What a setting asks for. */
typedef struct radix_value {
    uint8_t kind;              /* radix_kind_t */
    uint8_t node;              /* which factor is `node`, the ranks per host; or RADIX_NO_NODE */
                               /* NAME: the number of the name */
    radix_sequence_t sequence; /* factors[node] is 0; no factors when kind is AUTO */
} radix_value_t;

bool radix_value_equal(const radix_value_t *one, const radix_value_t *other);
/* As the grammar takes it: "auto", "8", "=nodex12@far", "~2x3x5". */
void radix_value_print(const radix_value_t *value, text_t *text);

#endif
