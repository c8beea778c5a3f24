/*
 * Bytes between ranks. All numbers are little-endian. Every message is a header of WIRE_HEADER_SIZE
 * bytes and payload_length bytes of payload.
 *
 *      0  kind (1)   operation (1)   label (1)   flags (1)   op_kind (1)   round (3)
 *      8  payload_length (8)
 *     16  creator (4)   creation (4)
 *     24  internal generation (8)
 *     32  group_left (4)   group_right (4)
 *     40  source (4)   root (4)
 *     48  datatype (8)
 *     56  count (8)
 *     64  op_identity (8)
 *     72
 *
 * flags: bit 0 explicit generation, bit 1 local outcome, bit 2 commutative, bit 3 initial value,
 * bit 4 rows; the others are zero.
 */
#ifndef MUSTER_CORE_WIRE_H
#define MUSTER_CORE_WIRE_H

#include "core/call.h"

/* Raised with every change of these bytes, of core/control.h, or of how ranks choose schedules. */
#define WIRE_VERSION 3
#define WIRE_HEADER_SIZE 72
#define WIRE_PAYLOAD_MAX ((uint64_t)1 << 46)

/* X(NAME) */
#define WIRE_KIND_LIST(X)                                                                          \
    X(DATA)    /* a phase's blocks */                                                              \
    X(REPORT)  /* to the decider: a failure seen; payload: wire_failure */                         \
    X(QUERY)   /* from the decider: where are you? */                                              \
    X(STATE)   /* the answer; payload: wire_state */                                               \
    X(VERDICT) /* from the decider: the outcome; payload: wire_failure, or the small value */      \
    X(CLAIM)   /* to the creator of a communicator: I create it too; payload: wire_claim */        \
    X(CREATED) /* from the creator: it exists (payload empty) or does not (wire_failure) */        \
    X(LEAVE)   /* the rank leaves the job properly */

typedef enum wire_kind {
    WIRE_NONE = 0,
#define X(name) WIRE_##name,
    WIRE_KIND_LIST(X)
#undef X
        WIRE_KIND_COUNT
} wire_kind_t;

typedef struct wire_message {
    uint8_t kind;
    uint8_t label;
    uint32_t round; /* below 2^24 */
    uint64_t payload_length;
    uint32_t creator;    /* world rank that made the communicator; the world: 0 */
    uint32_t creation;   /* its count there; the world: 0 */
    uint64_t generation; /* internal; 0 where none */
    uint32_t group_left;
    uint32_t group_right;
    uint32_t source; /* rank in the communicator (CLAIM, CREATED, LEAVE: world rank) */
    call_t call;
} wire_message_t;

void wire_encode(const wire_message_t *message, uint8_t bytes[WIRE_HEADER_SIZE]);
/*
 * false: bytes that no Muster writes (unknown kind, operation, flag, nonzero filler, huge payload).
 */
bool wire_decode(const uint8_t bytes[WIRE_HEADER_SIZE], wire_message_t *message);

/*
 * A failure: status (4) rank (4) pid (4) range_count (4) generation (8) operation (24) field (16)
 * host (64) message (512) ranges (32 * 8). Texts are zero-padded and closed, unused ranges zero.
 * Fixed size. Encoding cuts a text that is not closed; decoding returns false, and leaves failure
 * untouched, for anything that encoding does not write.
 */
#define WIRE_FAILURE_SIZE (24 + 24 + 16 + 64 + 512 + MUSTER_FAILURE_RANGES_MAX * 8)
void wire_encode_failure(const muster_failure_t *failure, uint8_t bytes[WIRE_FAILURE_SIZE]);
bool wire_decode_failure(const uint8_t *bytes, size_t size, muster_failure_t *failure);

/*
 * STATE, the answer to a QUERY about a generation: what the rank knows of it and did last.
 * flags (1): bit 0 started it, bit 1 completed it with a value; last_operation (1; OPERATION_COUNT:
 * none) zero (6) last_generation (8): the latest it started on this communicator, 0: none. The call
 * that it made is in the header of the message.
 */
#define WIRE_STATE_SIZE 16
typedef struct wire_state {
    bool started;
    bool has_value;
    uint8_t last_operation; /* as call_form has it; OPERATION_COUNT: none */
    uint64_t last_generation;
} wire_state_t;
void wire_encode_state(const wire_state_t *state, uint8_t bytes[WIRE_STATE_SIZE]);
bool wire_decode_state(const uint8_t *bytes, size_t size, wire_state_t *state);

/*
 * CLAIM: what a rank asks for when it creates a communicator. size (4) rank (4) shape (1)
 * generations (1) roots (1) outcome (1) arity given (1) threshold given (1) zero (2) arity (8)
 * threshold (8) name_length (4) name, then size world ranks (4 each).
 */
typedef struct wire_claim {
    uint32_t size;
    uint32_t rank;
    uint8_t shape, generations, roots, outcome;
    bool arity_given, threshold_given;
    uint64_t arity, threshold;
    uint64_t settings; /* digest of the communicator's own, 0: none */
    uint32_t name_length;
    const char *name;     /* borrowed; not closed by a zero when decoded */
    const uint8_t *ranks; /* decoded: borrowed, size times 4 bytes little-endian */
} wire_claim_t;
size_t wire_claim_size(const wire_claim_t *claim);
/* ranks: host numbers, size of them. bytes: wire_claim_size. */
void wire_encode_claim(const wire_claim_t *claim, const uint32_t *ranks, uint8_t *bytes);
bool wire_decode_claim(const uint8_t *bytes, size_t size, wire_claim_t *claim);
uint32_t wire_claim_rank(const wire_claim_t *claim, uint32_t index);

/* The payload's length by a header, valid or not: transports read no more of it than this. */
uint64_t wire_payload_length(const uint8_t header[WIRE_HEADER_SIZE]);

/* Little-endian numbers, for all codecs. */
void wire_put_u16(uint8_t *bytes, uint16_t number);
void wire_put_u32(uint8_t *bytes, uint32_t number);
void wire_put_u64(uint8_t *bytes, uint64_t number);
uint16_t wire_get_u16(const uint8_t *bytes);
uint32_t wire_get_u32(const uint8_t *bytes);
uint64_t wire_get_u64(const uint8_t *bytes);

#endif
