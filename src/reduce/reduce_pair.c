/* minloc and maxloc on {value, index}: of equal values, that with the lower index. */
#include "reduce/kernels.h"

typedef struct pair_i32 {
    int32_t value, index;
} pair_i32_t;

typedef struct pair_i64 {
    int64_t value;
    int32_t index;
} pair_i64_t;

typedef struct pair_f32 {
    float value;
    int32_t index;
} pair_f32_t;

typedef struct pair_f64 {
    double value;
    int32_t index;
} pair_f64_t;

/*
 * A NaN (of integers, nothing) goes before every number, and of two NaNs the lower index: the
 * result does not depend on the order of combining.
 */
#define REDUCE_PAIR(suffix, element_t)                                                             \
    static inline int first_##suffix(const element_t *a, const element_t *b, int a_is_beyond)      \
    {                                                                                              \
        int a_is_nan = a->value != a->value;                                                       \
        int b_is_nan = b->value != b->value;                                                       \
        int equal = a_is_nan & b_is_nan ? 1 : a->value == b->value;                                \
        if (equal)                                                                                 \
            return a->index <= b->index;                                                           \
        return a_is_nan || (!b_is_nan && a_is_beyond);                                             \
    }                                                                                              \
    REDUCE_KERNEL(minloc_##suffix, element_t, first_##suffix(&a, &b, a.value < b.value) ? a : b)   \
    REDUCE_KERNEL(maxloc_##suffix, element_t, first_##suffix(&a, &b, a.value > b.value) ? a : b)

REDUCE_PAIR(i32, pair_i32_t)
REDUCE_PAIR(i64, pair_i64_t)
REDUCE_PAIR(f32, pair_f32_t)
REDUCE_PAIR(f64, pair_f64_t)

#define REDUCE_PAIR_ROW(name, suffix)                                                              \
    const reduce_row_t reduce_row_##name = {.of = {                                                \
                                                [MUSTER_OP_MINLOC] = minloc_##suffix,              \
                                                [MUSTER_OP_MAXLOC] = maxloc_##suffix,              \
                                            }};

REDUCE_PAIR_ROW(I32_I32, i32)
REDUCE_PAIR_ROW(I64_I32, i64)
REDUCE_PAIR_ROW(F32_I32, f32)
REDUCE_PAIR_ROW(F64_I32, f64)
