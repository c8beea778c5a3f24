/* f32, f64 and their complex numbers. */
#include "reduce/kernels.h"

typedef struct complex_f32 {
    float real, imaginary;
} complex_f32_t;

typedef struct complex_f64 {
    double real, imaginary;
} complex_f64_t;

/* A comparison with a NaN is false: a NaN in b falls through to b, one in a is asked for. */
#define REDUCE_FLOAT(suffix, element_t)                                                            \
    REDUCE_KERNEL(sum_##suffix, element_t, a + b)                                                  \
    REDUCE_KERNEL(prod_##suffix, element_t, (a * b))                                               \
    REDUCE_KERNEL(min_##suffix, element_t, ((a < b) | (a != a)) ? a : b)                           \
    REDUCE_KERNEL(max_##suffix, element_t, ((a > b) | (a != a)) ? a : b)

#define REDUCE_COMPLEX(suffix, element_t)                                                          \
    REDUCE_KERNEL(sum_##suffix, element_t,                                                         \
                  ((element_t){a.real + b.real, a.imaginary + b.imaginary}))                       \
    REDUCE_KERNEL(prod_##suffix, element_t,                                                        \
                  ((element_t){a.real * b.real - a.imaginary * b.imaginary,                        \
                               a.real * b.imaginary + a.imaginary * b.real}))

REDUCE_FLOAT(f32, float)
REDUCE_FLOAT(f64, double)
REDUCE_COMPLEX(c32, complex_f32_t)
REDUCE_COMPLEX(c64, complex_f64_t)

#define REDUCE_FLOAT_ROW(name, suffix)                                                             \
    const reduce_row_t reduce_row_##name = {.of = {                                                \
                                                [MUSTER_OP_SUM] = sum_##suffix,                    \
                                                [MUSTER_OP_PROD] = prod_##suffix,                  \
                                                [MUSTER_OP_MIN] = min_##suffix,                    \
                                                [MUSTER_OP_MAX] = max_##suffix,                    \
                                            }};

#define REDUCE_COMPLEX_ROW(name, suffix)                                                           \
    const reduce_row_t reduce_row_##name = {.of = {                                                \
                                                [MUSTER_OP_SUM] = sum_##suffix,                    \
                                                [MUSTER_OP_PROD] = prod_##suffix,                  \
                                            }};

REDUCE_FLOAT_ROW(F32, f32)
REDUCE_FLOAT_ROW(F64, f64)
REDUCE_COMPLEX_ROW(C32, c32)
REDUCE_COMPLEX_ROW(C64, c64)
