#include "core/carrier.h"

#include "core/wire.h"

#define CARRIER_LENGTH_SIZE 8

bool carrier_add(size_t one, size_t other, size_t *result)
{
    if (one > SIZE_MAX - other)
        return false;
    *result = one + other;
    return true;
}

bool carrier_multiply(size_t one, size_t other, size_t *result)
{
    if (other != 0 && one > SIZE_MAX / other)
        return false;
    *result = one * other;
    return true;
}

muster_status_t carrier_uniform_check(const carrier_uniform_t *shape, size_t length)
{
    size_t product;
    if (!carrier_multiply(shape->rows, shape->width, &product) || product != length)
        return MUSTER_INVALID_COUNT;
    return MUSTER_OK;
}

muster_status_t carrier_ragged_check(const carrier_ragged_t *shape, size_t length)
{
    if (shape->offsets == NULL || shape->offsets[0] != 0)
        return MUSTER_INVALID_ARGUMENT;
    for (size_t row = 0; row < shape->rows; row++)
        if (shape->offsets[row] > shape->offsets[row + 1])
            return MUSTER_INVALID_ARGUMENT;
    return shape->offsets[shape->rows] == length ? MUSTER_OK : MUSTER_INVALID_COUNT;
}

bool carrier_wire_size(size_t rows, size_t data_bytes, size_t *size)
{
    size_t header;
    return carrier_multiply(rows, CARRIER_LENGTH_SIZE, &header) &&
           carrier_add(header, data_bytes, size);
}

void carrier_wire_put_length(uint8_t *header, size_t row, uint64_t length)
{
    wire_put_u64(header + row * CARRIER_LENGTH_SIZE, length);
}

muster_status_t carrier_wire_check(const uint8_t *bytes, size_t size, size_t rows)
{
    if (rows > size / CARRIER_LENGTH_SIZE)
        return MUSTER_PROTOCOL;
    uint64_t left = size - rows * CARRIER_LENGTH_SIZE;
    for (size_t row = 0; row < rows; row++) {
        uint64_t length = carrier_wire_length(bytes, row);
        if (length > left)
            return MUSTER_PROTOCOL;
        left -= length;
    }
    return left == 0 ? MUSTER_OK : MUSTER_PROTOCOL;
}

uint64_t carrier_wire_length(const uint8_t *bytes, size_t row)
{
    return wire_get_u64(bytes + row * CARRIER_LENGTH_SIZE);
}
