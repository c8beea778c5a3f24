/*
 * Carriers. The first byte is a number of rows, what follows a carrier's bytes; and the same bytes
 * are taken for lengths, from which offsets are built.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/assertion.h"
#include "core/carrier.h"
#include "core/wire.h"

#define ROWS_MAX 255

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted adds up to exactly what follows the lengths. */
static void fuzz_wire_carrier(const uint8_t *bytes, size_t size, size_t rows)
{
    if (carrier_wire_check(bytes, size, rows) != MUSTER_OK)
        return;
    size_t sum = 0, wire_size = 0;
    for (size_t row = 0; row < rows; row++)
        MUSTER_ASSERT(carrier_add(sum, carrier_wire_length(bytes, row), &sum));
    MUSTER_ASSERT(carrier_wire_size(rows, sum, &wire_size) && wire_size == size);
}

/* What is built passes its own check; of a length and a width, the product is the length. */
static void fuzz_shapes(const uint8_t *bytes, size_t size)
{
    size_t lengths[ROWS_MAX] = {0}, offsets[ROWS_MAX + 1];
    size_t rows = size / 8 < ROWS_MAX ? size / 8 : ROWS_MAX;
    for (size_t row = 0; row < rows; row++)
        lengths[row] = (size_t)wire_get_u64(bytes + row * 8);
    if (carrier_ragged_build(lengths, rows, offsets) == MUSTER_OK) {
        carrier_ragged_t shape = {.offsets = offsets, .rows = rows};
        MUSTER_ASSERT(carrier_ragged_check(&shape, offsets[rows]) == MUSTER_OK);
        MUSTER_ASSERT(carrier_ragged_check(&shape, offsets[rows] + 1) == MUSTER_INVALID_COUNT);
    }
    carrier_ragged_t any = {.offsets = lengths, .rows = rows > 0 ? rows - 1 : 0};
    if (rows > 0 && carrier_ragged_check(&any, lengths[rows - 1]) == MUSTER_OK)
        for (size_t row = 0; row + 1 < rows; row++)
            MUSTER_ASSERT(lengths[row] <= lengths[row + 1]);
    carrier_uniform_t uniform;
    if (rows >= 2 && carrier_uniform_from(lengths[0], lengths[1], &uniform) == MUSTER_OK)
        MUSTER_ASSERT(carrier_uniform_check(&uniform, lengths[0]) == MUSTER_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fuzz_wire_carrier(data + 1, size - 1, data[0]);
    fuzz_shapes(data + 1, size - 1);
    return 0;
}
