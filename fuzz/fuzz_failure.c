/* A failure: texts are closed, ranges in order, and what is accepted is what encoding writes. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/assertion.h"
#include "core/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    muster_failure_t failure;
    uint8_t again[WIRE_FAILURE_SIZE];
    if (!wire_decode_failure(data, size, &failure))
        return 0;
    MUSTER_ASSERT((unsigned)failure.status < MUSTER_STATUS_COUNT);
    MUSTER_ASSERT(memchr(failure.operation, 0, sizeof failure.operation) != NULL);
    MUSTER_ASSERT(memchr(failure.field, 0, sizeof failure.field) != NULL);
    MUSTER_ASSERT(memchr(failure.host, 0, sizeof failure.host) != NULL);
    MUSTER_ASSERT(memchr(failure.message, 0, sizeof failure.message) != NULL);
    MUSTER_ASSERT(failure.range_count <= MUSTER_FAILURE_RANGES_MAX);
    for (uint32_t i = 0; i < failure.range_count; i++)
        MUSTER_ASSERT(failure.missing[i].first <= failure.missing[i].last);
    wire_encode_failure(&failure, again);
    MUSTER_ASSERT(size == sizeof again && memcmp(data, again, size) == 0);
    return 0;
}
