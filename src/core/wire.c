#include "core/wire.h"

#include <string.h>

#include "core/assertion.h"

/* ---- Numbers --------------------------------------------------------------------------------- */

void wire_put_u16(uint8_t *bytes, uint16_t number)
{
    bytes[0] = (uint8_t)number;
    bytes[1] = (uint8_t)(number >> 8);
}

void wire_put_u32(uint8_t *bytes, uint32_t number)
{
    wire_put_u16(bytes, (uint16_t)number);
    wire_put_u16(bytes + 2, (uint16_t)(number >> 16));
}

void wire_put_u64(uint8_t *bytes, uint64_t number)
{
    wire_put_u32(bytes, (uint32_t)number);
    wire_put_u32(bytes + 4, (uint32_t)(number >> 32));
}

uint16_t wire_get_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | (unsigned)bytes[1] << 8);
}

uint32_t wire_get_u32(const uint8_t *bytes)
{
    return wire_get_u16(bytes) | (uint32_t)wire_get_u16(bytes + 2) << 16;
}

uint64_t wire_get_u64(const uint8_t *bytes)
{
    return wire_get_u32(bytes) | (uint64_t)wire_get_u32(bytes + 4) << 32;
}

static bool wire_is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* ---- Header ---------------------------------------------------------------------------------- */

#define WIRE_FLAG_EXPLICIT 1u
#define WIRE_FLAG_LOCAL 2u
#define WIRE_FLAG_COMMUTATIVE 4u
#define WIRE_FLAG_INITIAL 8u
#define WIRE_FLAG_ROWS 16u
#define WIRE_FLAGS 31u

static bool wire_is_datatype(uint64_t datatype)
{
    static const uint8_t sizes[MUSTER_DATATYPE_KIND_COUNT] = {
#define X(name, size, text) [MUSTER_DATATYPE_##name] = size,
        MUSTER_DATATYPE_LIST(X)
#undef X
    };
    uint64_t kind = datatype & 0xff;
    uint64_t size = datatype >> 8;
    if (kind == MUSTER_DATATYPE_USER)
        return size >= 1 && size <= (uint64_t)1 << 40;
    return kind < MUSTER_DATATYPE_KIND_COUNT && size == sizes[kind]; /* none: 0 */
}

static uint8_t wire_flags(const call_t *call)
{
    unsigned flags = 0;
    if (call->mode == GENERATION_EXPLICIT)
        flags |= WIRE_FLAG_EXPLICIT;
    if (call->outcome == MUSTER_OUTCOME_LOCAL)
        flags |= WIRE_FLAG_LOCAL;
    if (call->commutative)
        flags |= WIRE_FLAG_COMMUTATIVE;
    if (call->initial)
        flags |= WIRE_FLAG_INITIAL;
    if (call->rows)
        flags |= WIRE_FLAG_ROWS;
    return (uint8_t)flags;
}

void wire_encode(const wire_message_t *message, uint8_t bytes[WIRE_HEADER_SIZE])
{
    const call_t *call = &message->call;
    MUSTER_ASSERT(message->kind > WIRE_NONE && message->kind < WIRE_KIND_COUNT);
    MUSTER_ASSERT(message->payload_length <= WIRE_PAYLOAD_MAX && message->round < 1U << 24);
    MUSTER_ASSERT(call->operation < OPERATION_COUNT && operation_is_form(call_form(call)));
    MUSTER_ASSERT(call->op_kind < MUSTER_OP_KIND_COUNT);
    MUSTER_ASSERT(wire_is_datatype(call->datatype) && message->generation != UINT64_MAX);
    memset(bytes, 0, WIRE_HEADER_SIZE);
    bytes[0] = message->kind;
    bytes[1] = call->operation;
    bytes[2] = message->label;
    bytes[3] = wire_flags(call);
    bytes[4] = call->op_kind;
    bytes[5] = (uint8_t)message->round;
    bytes[6] = (uint8_t)(message->round >> 8);
    bytes[7] = (uint8_t)(message->round >> 16);
    wire_put_u64(bytes + 8, message->payload_length);
    wire_put_u32(bytes + 16, message->creator);
    wire_put_u32(bytes + 20, message->creation);
    wire_put_u64(bytes + 24, message->generation);
    wire_put_u32(bytes + 32, message->group_left);
    wire_put_u32(bytes + 36, message->group_right);
    wire_put_u32(bytes + 40, message->source);
    wire_put_u32(bytes + 44, call->root);
    wire_put_u64(bytes + 48, call->datatype);
    wire_put_u64(bytes + 56, call->count);
    wire_put_u64(bytes + 64, call->op_identity);
}

uint64_t wire_payload_length(const uint8_t header[WIRE_HEADER_SIZE])
{
    return wire_get_u64(header + 8);
}

static bool wire_is_header(const uint8_t bytes[WIRE_HEADER_SIZE])
{
    const call_t form = {.operation = bytes[1], .rows = (bytes[3] & WIRE_FLAG_ROWS) != 0};
    return bytes[0] > WIRE_NONE && bytes[0] < WIRE_KIND_COUNT && bytes[1] < OPERATION_COUNT &&
           operation_is_form(call_form(&form)) && (bytes[3] & ~WIRE_FLAGS) == 0 &&
           bytes[4] < MUSTER_OP_KIND_COUNT &&
           (bytes[0] == WIRE_DATA || wire_is_zero(bytes + 5, 3)) &&
           wire_payload_length(bytes) <= WIRE_PAYLOAD_MAX &&
           wire_get_u64(bytes + 24) != UINT64_MAX && wire_is_datatype(wire_get_u64(bytes + 48));
}

bool wire_decode(const uint8_t bytes[WIRE_HEADER_SIZE], wire_message_t *message)
{
    if (!wire_is_header(bytes))
        return false;
    unsigned flags = bytes[3];
    *message = (wire_message_t){
        .kind = bytes[0],
        .label = bytes[2],
        .round = bytes[5] | (uint32_t)bytes[6] << 8 | (uint32_t)bytes[7] << 16,
        .payload_length = wire_payload_length(bytes),
        .creator = wire_get_u32(bytes + 16),
        .creation = wire_get_u32(bytes + 20),
        .generation = wire_get_u64(bytes + 24),
        .group_left = wire_get_u32(bytes + 32),
        .group_right = wire_get_u32(bytes + 36),
        .source = wire_get_u32(bytes + 40),
        .call =
            {
                .operation = bytes[1],
                .mode = flags & WIRE_FLAG_EXPLICIT ? GENERATION_EXPLICIT : GENERATION_AUTOMATIC,
                .outcome = flags & WIRE_FLAG_LOCAL ? MUSTER_OUTCOME_LOCAL : MUSTER_OUTCOME_UNIFORM,
                .op_kind = bytes[4],
                .commutative = (flags & WIRE_FLAG_COMMUTATIVE) != 0,
                .initial = (flags & WIRE_FLAG_INITIAL) != 0,
                .rows = (flags & WIRE_FLAG_ROWS) != 0,
                .root = wire_get_u32(bytes + 44),
                .datatype = wire_get_u64(bytes + 48),
                .count = wire_get_u64(bytes + 56),
                .op_identity = wire_get_u64(bytes + 64),
            },
    };
    return true;
}

/* ---- Failure --------------------------------------------------------------------------------- */

#define WIRE_FAILURE_OPERATION 24
#define WIRE_FAILURE_FIELD (WIRE_FAILURE_OPERATION + 24)
#define WIRE_FAILURE_HOST (WIRE_FAILURE_FIELD + 16)
#define WIRE_FAILURE_MESSAGE (WIRE_FAILURE_HOST + MUSTER_HOST_MAX)
#define WIRE_FAILURE_RANGES (WIRE_FAILURE_MESSAGE + MUSTER_FAILURE_TEXT_MAX)

/* Into size zeroed bytes; the last one stays zero. */
static void wire_put_text(uint8_t *bytes, const char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size && text[i] != '\0'; i++)
        bytes[i] = (uint8_t)text[i];
}

/* Whether a closed text stands there, and nothing but zeros behind it. */
static bool wire_is_text(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == 0)
            return wire_is_zero(bytes + i, size - i);
    return false;
}

void wire_encode_failure(const muster_failure_t *failure, uint8_t bytes[WIRE_FAILURE_SIZE])
{
    MUSTER_ASSERT((unsigned)failure->status < MUSTER_STATUS_COUNT);
    MUSTER_ASSERT(failure->range_count <= MUSTER_FAILURE_RANGES_MAX);
    memset(bytes, 0, WIRE_FAILURE_SIZE);
    wire_put_u32(bytes, (uint32_t)failure->status);
    wire_put_u32(bytes + 4, failure->rank);
    wire_put_u32(bytes + 8, failure->pid);
    wire_put_u32(bytes + 12, failure->range_count);
    wire_put_u64(bytes + 16, failure->generation);
    wire_put_text(bytes + WIRE_FAILURE_OPERATION, failure->operation, sizeof failure->operation);
    wire_put_text(bytes + WIRE_FAILURE_FIELD, failure->field, sizeof failure->field);
    wire_put_text(bytes + WIRE_FAILURE_HOST, failure->host, sizeof failure->host);
    wire_put_text(bytes + WIRE_FAILURE_MESSAGE, failure->message, sizeof failure->message);
    for (uint32_t i = 0; i < failure->range_count; i++) {
        MUSTER_ASSERT(failure->missing[i].first <= failure->missing[i].last);
        wire_put_u32(bytes + WIRE_FAILURE_RANGES + i * 8, failure->missing[i].first);
        wire_put_u32(bytes + WIRE_FAILURE_RANGES + i * 8 + 4, failure->missing[i].last);
    }
}

static bool wire_is_failure(const uint8_t *bytes)
{
    uint32_t range_count = wire_get_u32(bytes + 12);
    if (wire_get_u32(bytes) >= MUSTER_STATUS_COUNT || range_count > MUSTER_FAILURE_RANGES_MAX)
        return false;
    for (uint32_t i = 0; i < range_count; i++) {
        const uint8_t *range = bytes + WIRE_FAILURE_RANGES + i * 8;
        if (wire_get_u32(range) > wire_get_u32(range + 4))
            return false;
    }
    return wire_is_text(bytes + WIRE_FAILURE_OPERATION, 24) &&
           wire_is_text(bytes + WIRE_FAILURE_FIELD, 16) &&
           wire_is_text(bytes + WIRE_FAILURE_HOST, MUSTER_HOST_MAX) &&
           wire_is_text(bytes + WIRE_FAILURE_MESSAGE, MUSTER_FAILURE_TEXT_MAX) &&
           wire_is_zero(bytes + WIRE_FAILURE_RANGES + range_count * 8,
                        (MUSTER_FAILURE_RANGES_MAX - range_count) * 8);
}

bool wire_decode_failure(const uint8_t *bytes, size_t size, muster_failure_t *failure)
{
    _Static_assert(sizeof failure->operation == 24 && sizeof failure->field == 16,
                   "the layout follows the structure");
    if (size != WIRE_FAILURE_SIZE || !wire_is_failure(bytes))
        return false;
    memset(failure, 0, sizeof *failure);
    failure->status = (muster_status_t)wire_get_u32(bytes);
    failure->rank = wire_get_u32(bytes + 4);
    failure->pid = wire_get_u32(bytes + 8);
    failure->range_count = wire_get_u32(bytes + 12);
    failure->generation = wire_get_u64(bytes + 16);
    memcpy(failure->operation, bytes + WIRE_FAILURE_OPERATION, sizeof failure->operation);
    memcpy(failure->field, bytes + WIRE_FAILURE_FIELD, sizeof failure->field);
    memcpy(failure->host, bytes + WIRE_FAILURE_HOST, sizeof failure->host);
    memcpy(failure->message, bytes + WIRE_FAILURE_MESSAGE, sizeof failure->message);
    for (uint32_t i = 0; i < failure->range_count; i++) {
        failure->missing[i].first = wire_get_u32(bytes + WIRE_FAILURE_RANGES + i * 8);
        failure->missing[i].last = wire_get_u32(bytes + WIRE_FAILURE_RANGES + i * 8 + 4);
    }
    return true;
}

/* ---- State ----------------------------------------------------------------------------------- */

#define WIRE_STATE_STARTED 1u
#define WIRE_STATE_HAS_VALUE 2u

void wire_encode_state(const wire_state_t *state, uint8_t bytes[WIRE_STATE_SIZE])
{
    MUSTER_ASSERT(state->last_operation == OPERATION_COUNT ||
                  operation_is_form(state->last_operation));
    memset(bytes, 0, WIRE_STATE_SIZE);
    bytes[0] = (uint8_t)((state->started ? WIRE_STATE_STARTED : 0) |
                         (state->has_value ? WIRE_STATE_HAS_VALUE : 0));
    bytes[1] = state->last_operation;
    wire_put_u64(bytes + 8, state->last_generation);
}

bool wire_decode_state(const uint8_t *bytes, size_t size, wire_state_t *state)
{
    if (size != WIRE_STATE_SIZE || (bytes[0] & ~(WIRE_STATE_STARTED | WIRE_STATE_HAS_VALUE)) != 0 ||
        (bytes[1] != OPERATION_COUNT && !operation_is_form(bytes[1])) ||
        !wire_is_zero(bytes + 2, 6))
        return false;
    *state = (wire_state_t){
        .started = (bytes[0] & WIRE_STATE_STARTED) != 0,
        .has_value = (bytes[0] & WIRE_STATE_HAS_VALUE) != 0,
        .last_operation = bytes[1],
        .last_generation = wire_get_u64(bytes + 8),
    };
    return true;
}

/* ---- Claim ----------------------------------------------------------------------------------- */

#define WIRE_CLAIM_FIXED 44

size_t wire_claim_size(const wire_claim_t *claim)
{
    return WIRE_CLAIM_FIXED + (size_t)claim->name_length + (size_t)claim->size * 4;
}

void wire_encode_claim(const wire_claim_t *claim, const uint32_t *ranks, uint8_t *bytes)
{
    MUSTER_ASSERT(claim->rank < claim->size && claim->name_length <= MUSTER_NAME_MAX);
    MUSTER_ASSERT(claim->shape <= MUSTER_SHAPE_TREE && claim->outcome <= MUSTER_OUTCOME_LOCAL);
    MUSTER_ASSERT(claim->generations <= MUSTER_GENERATION_COUNTED &&
                  claim->roots <= MUSTER_ROOT_ANY);
    memset(bytes, 0, WIRE_CLAIM_FIXED);
    wire_put_u32(bytes, claim->size);
    wire_put_u32(bytes + 4, claim->rank);
    bytes[8] = claim->shape;
    bytes[9] = claim->generations;
    bytes[10] = claim->roots;
    bytes[11] = claim->outcome;
    bytes[12] = claim->arity_given;
    bytes[13] = claim->threshold_given;
    wire_put_u64(bytes + 16, claim->arity_given ? claim->arity : 0);
    wire_put_u64(bytes + 24, claim->threshold_given ? claim->threshold : 0);
    wire_put_u32(bytes + 32, claim->name_length);
    wire_put_u64(bytes + 36, claim->settings);
    if (claim->name_length > 0)
        memcpy(bytes + WIRE_CLAIM_FIXED, claim->name, claim->name_length);
    uint8_t *list = bytes + WIRE_CLAIM_FIXED + claim->name_length;
    for (uint32_t i = 0; i < claim->size; i++)
        wire_put_u32(list + (size_t)i * 4, ranks[i]);
}

static bool wire_is_claim(const uint8_t *bytes, const wire_claim_t *claim)
{
    return claim->rank < claim->size && claim->shape <= MUSTER_SHAPE_TREE &&
           claim->generations <= MUSTER_GENERATION_COUNTED && claim->roots <= MUSTER_ROOT_ANY &&
           claim->outcome <= MUSTER_OUTCOME_LOCAL && bytes[12] <= 1 && bytes[13] <= 1 &&
           wire_is_zero(bytes + 14, 2) && (claim->arity_given || claim->arity == 0) &&
           (claim->threshold_given || claim->threshold == 0);
}

bool wire_decode_claim(const uint8_t *bytes, size_t size, wire_claim_t *claim)
{
    if (size < WIRE_CLAIM_FIXED)
        return false;
    wire_claim_t read = {
        .size = wire_get_u32(bytes),
        .rank = wire_get_u32(bytes + 4),
        .shape = bytes[8],
        .generations = bytes[9],
        .roots = bytes[10],
        .outcome = bytes[11],
        .arity_given = bytes[12] != 0,
        .threshold_given = bytes[13] != 0,
        .arity = wire_get_u64(bytes + 16),
        .threshold = wire_get_u64(bytes + 24),
        .name_length = wire_get_u32(bytes + 32),
        .settings = wire_get_u64(bytes + 36),
        .name = (const char *)bytes + WIRE_CLAIM_FIXED,
    };
    if (!wire_is_claim(bytes, &read) || read.name_length > MUSTER_NAME_MAX ||
        wire_claim_size(&read) != size)
        return false;
    read.ranks = bytes + WIRE_CLAIM_FIXED + read.name_length; /* all within size now */
    *claim = read;
    return true;
}

uint32_t wire_claim_rank(const wire_claim_t *claim, uint32_t index)
{
    MUSTER_ASSERT(index < claim->size);
    return wire_get_u32(claim->ranks + (size_t)index * 4);
}
