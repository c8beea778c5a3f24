/*
 * Payload shapes. Uniform: rows of equal width in one array. Ragged: one array and R + 1 offsets
 * for R rows, the first 0, the last the length, never decreasing; an empty row is two equal
 * neighbours. All arithmetic is checked before anything is allocated or copied. On the wire a
 * ragged carrier is its rows' lengths (8 bytes each, little-endian), then the data.
 *
 * A carrier here borrows: `data` and `offsets` stay the caller's (C505).
 */
#ifndef MUSTER_CORE_CARRIER_H
#define MUSTER_CORE_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "muster.h"

/* false on overflow, and then *result is untouched. */
bool carrier_add(size_t one, size_t other, size_t *result);
bool carrier_multiply(size_t one, size_t other, size_t *result);

/* In units of the caller's choice (elements or bytes). */
typedef struct carrier_uniform {
    size_t rows;
    size_t width; /* may be 0, then length is 0 */
} carrier_uniform_t;
/*
 * INVALID_COUNT: length is not rows*width, the width does not divide it, or the product overflows.
 */
muster_status_t carrier_uniform_check(const carrier_uniform_t *shape, size_t length);

typedef struct carrier_ragged {
    const size_t *offsets; /* rows + 1 */
    size_t rows;
} carrier_ragged_t;
/* INVALID_ARGUMENT: no offsets, first not 0, a decrease; INVALID_COUNT: last is not length. */
muster_status_t carrier_ragged_check(const carrier_ragged_t *shape, size_t length);

/* A carrier's size on the wire: rows*8 + sum of lengths; false on overflow. */
bool carrier_wire_size(size_t rows, size_t data_bytes, size_t *size);
void carrier_wire_put_length(uint8_t *header, size_t row, uint64_t length);
/*
 * Reads and checks the lengths of rows rows at the head of size bytes: PROTOCOL where they do not
 * add up to exactly what follows. Never reads past size.
 */
muster_status_t carrier_wire_check(const uint8_t *bytes, size_t size, size_t rows);
uint64_t carrier_wire_length(const uint8_t *bytes, size_t row);

#endif
