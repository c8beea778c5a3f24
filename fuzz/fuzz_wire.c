/* A message's header, and a state behind it: what is accepted is what encoding writes. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/assertion.h"
#include "core/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_state(const uint8_t *data, size_t size)
{
    wire_state_t state;
    uint8_t again[WIRE_STATE_SIZE];
    if (!wire_decode_state(data, size, &state))
        return;
    wire_encode_state(&state, again);
    MUSTER_ASSERT(size == WIRE_STATE_SIZE && memcmp(data, again, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_state(data, size);
    if (size < WIRE_HEADER_SIZE)
        return 0;
    wire_message_t message;
    uint8_t again[WIRE_HEADER_SIZE];
    if (wire_decode(data, &message)) {
        wire_encode(&message, again);
        MUSTER_ASSERT(memcmp(data, again, WIRE_HEADER_SIZE) == 0);
        MUSTER_ASSERT(message.payload_length <= WIRE_PAYLOAD_MAX);
        MUSTER_ASSERT(call_compare(&message.call, &message.call) == CALL_FIELD_NONE);
    }
    fuzz_state(data + WIRE_HEADER_SIZE, size - WIRE_HEADER_SIZE);
    return 0;
}
