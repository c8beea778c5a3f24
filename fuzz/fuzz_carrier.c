/*
 * Carriers. The first byte is a number of rows, what follows a carrier's bytes; and the same bytes
 * are taken for offsets, and for a width and a number of rows.
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

/* Offsets that pass never decrease; rows and a width that pass have their product for length. */
static void fuzz_shapes(const uint8_t *bytes, size_t size)
{
    size_t numbers[ROWS_MAX] = {0};
    size_t count = size / 8 < ROWS_MAX ? size / 8 : ROWS_MAX;
    for (size_t i = 0; i < count; i++)
        numbers[i] = (size_t)wire_get_u64(bytes + i * 8);
    carrier_ragged_t ragged = {.offsets = numbers, .rows = count > 0 ? count - 1 : 0};
    if (count > 0 && carrier_ragged_check(&ragged, numbers[count - 1]) == MUSTER_OK) {
        MUSTER_ASSERT(carrier_ragged_check(&ragged, numbers[count - 1] + 1) ==
                      MUSTER_INVALID_COUNT);
        for (size_t row = 0; row + 1 < count; row++)
            MUSTER_ASSERT(numbers[row] <= numbers[row + 1]);
    }
    carrier_uniform_t uniform = {.rows = numbers[1], .width = numbers[2]};
    if (carrier_uniform_check(&uniform, numbers[0]) == MUSTER_OK)
        MUSTER_ASSERT(uniform.width == 0 ? numbers[0] == 0
                                         : numbers[0] / uniform.width == uniform.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fuzz_wire_carrier(data + 1, size - 1, data[0]);
    fuzz_shapes(data + 1, size - 1);
    return 0;
}
