/* f16 and bf16: combined in f32, which holds twice their digits and more, then rounded once. */
#include "reduce/half.h"
#include "reduce/kernels.h"

/* Integers that are ordered as the numbers are, with both zeros 0; only for what is no NaN. */
static inline int32_t half_order(uint16_t half)
{
    int32_t magnitude = half & 0x7fff;
    return half & 0x8000 ? -magnitude : magnitude;
}

#define REDUCE_IS_NAN(half, infinity) (((half)&0x7fff) > (infinity))

/* min and max choose by order; a NaN in a, then one in b, is chosen before all else. */
#define REDUCE_CHOOSE(infinity, comparison)                                                        \
    ((REDUCE_IS_NAN(a, infinity) |                                                                 \
      (!REDUCE_IS_NAN(b, infinity) & (half_order(a) comparison half_order(b))))                    \
         ? a                                                                                       \
         : b)

#define REDUCE_HALF(suffix, infinity)                                                              \
    REDUCE_KERNEL(sum_##suffix, uint16_t,                                                          \
                  half_f32_to_##suffix(half_##suffix##_to_f32(a) + half_##suffix##_to_f32(b)))     \
    REDUCE_KERNEL(prod_##suffix, uint16_t,                                                         \
                  half_f32_to_##suffix(half_##suffix##_to_f32(a) * half_##suffix##_to_f32(b)))     \
    REDUCE_KERNEL(min_##suffix, uint16_t, REDUCE_CHOOSE(infinity, <))                              \
    REDUCE_KERNEL(max_##suffix, uint16_t, REDUCE_CHOOSE(infinity, >))

REDUCE_HALF(f16, 0x7c00)
REDUCE_HALF(bf16, 0x7f80)

#define REDUCE_HALF_ROW(name, suffix)                                                              \
    const reduce_row_t reduce_row_##name = {.of = {                                                \
                                                [MUSTER_OP_SUM] = sum_##suffix,                    \
                                                [MUSTER_OP_PROD] = prod_##suffix,                  \
                                                [MUSTER_OP_MIN] = min_##suffix,                    \
                                                [MUSTER_OP_MAX] = max_##suffix,                    \
                                            }};

REDUCE_HALF_ROW(F16, f16)
REDUCE_HALF_ROW(BF16, bf16)
