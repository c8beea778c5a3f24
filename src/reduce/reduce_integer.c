/*
 * Integers, bool and byte. All but min and max do the same to signed and unsigned numbers of one
 * width, and run on unsigned ones, which wrap by definition (in 32 bits at least: narrower ones
 * would be promoted to a signed type that overflows).
 */
#include "reduce/kernels.h"

#define REDUCE_UNSIGNED(width, wide_t)                                                             \
    REDUCE_KERNEL(sum_##width, uint##width##_t, (uint##width##_t)((wide_t)a + (wide_t)b))          \
    REDUCE_KERNEL(prod_##width, uint##width##_t, (uint##width##_t)((wide_t)a * (wide_t)b))         \
    REDUCE_KERNEL(band_##width, uint##width##_t, (uint##width##_t)(a & b))                         \
    REDUCE_KERNEL(bor_##width, uint##width##_t, (uint##width##_t)(a | b))                          \
    REDUCE_KERNEL(bxor_##width, uint##width##_t, (uint##width##_t)(a ^ b))                         \
    REDUCE_KERNEL(land_##width, uint##width##_t, (uint##width##_t)((a != 0) & (b != 0)))           \
    REDUCE_KERNEL(lor_##width, uint##width##_t, (uint##width##_t)((a | b) != 0))                   \
    REDUCE_KERNEL(lxor_##width, uint##width##_t, (uint##width##_t)((a != 0) ^ (b != 0)))

#define REDUCE_EXTREMES(suffix, element_t)                                                         \
    REDUCE_KERNEL(min_##suffix, element_t, a < b ? a : b)                                          \
    REDUCE_KERNEL(max_##suffix, element_t, a > b ? a : b)

REDUCE_UNSIGNED(8, uint32_t)
REDUCE_UNSIGNED(16, uint32_t)
REDUCE_UNSIGNED(32, uint32_t)
REDUCE_UNSIGNED(64, uint64_t)
REDUCE_EXTREMES(i8, int8_t)
REDUCE_EXTREMES(i16, int16_t)
REDUCE_EXTREMES(i32, int32_t)
REDUCE_EXTREMES(i64, int64_t)
REDUCE_EXTREMES(u8, uint8_t)
REDUCE_EXTREMES(u16, uint16_t)
REDUCE_EXTREMES(u32, uint32_t)
REDUCE_EXTREMES(u64, uint64_t)

#define REDUCE_BITWISE(width)                                                                      \
    [MUSTER_OP_BAND] = band_##width, [MUSTER_OP_BOR] = bor_##width, [MUSTER_OP_BXOR] = bxor_##width

#define REDUCE_LOGICAL(width)                                                                      \
    [MUSTER_OP_LAND] = land_##width, [MUSTER_OP_LOR] = lor_##width, [MUSTER_OP_LXOR] = lxor_##width

#define REDUCE_INTEGER_ROW(name, suffix, width)                                                    \
    const reduce_row_t reduce_row_##name = {.of = {                                                \
                                                [MUSTER_OP_SUM] = sum_##width,                     \
                                                [MUSTER_OP_PROD] = prod_##width,                   \
                                                [MUSTER_OP_MIN] = min_##suffix,                    \
                                                [MUSTER_OP_MAX] = max_##suffix,                    \
                                                REDUCE_BITWISE(width),                             \
                                                REDUCE_LOGICAL(width),                             \
                                            }};

REDUCE_INTEGER_ROW(I8, i8, 8)
REDUCE_INTEGER_ROW(I16, i16, 16)
REDUCE_INTEGER_ROW(I32, i32, 32)
REDUCE_INTEGER_ROW(I64, i64, 64)
REDUCE_INTEGER_ROW(U8, u8, 8)
REDUCE_INTEGER_ROW(U16, u16, 16)
REDUCE_INTEGER_ROW(U32, u32, 32)
REDUCE_INTEGER_ROW(U64, u64, 64)

const reduce_row_t reduce_row_BOOL = {.of = {REDUCE_LOGICAL(8)}};
const reduce_row_t reduce_row_BYTE = {.of = {REDUCE_BITWISE(8)}};
