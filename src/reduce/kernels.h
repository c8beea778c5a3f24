/*
 * What the files with loops share: one row a datatype, one function an operation, NULL where the
 * two do not go together. A datatype's row is reduce_row_NAME, so one without loops does not link.
 *
 * The loops work on blocks of fixed length, which compilers turn into vector code without a tail,
 * and are marked as free of dependences between elements: result may be left or right itself.
 */
#ifndef MUSTER_REDUCE_KERNELS_H
#define MUSTER_REDUCE_KERNELS_H

#include "muster.h"

typedef void (*reduce_kernel_t)(const void *left, const void *right, void *result, size_t count);

typedef struct reduce_row {
    reduce_kernel_t of[MUSTER_OP_KIND_COUNT];
} reduce_row_t;

#define X(name, size, text) extern const reduce_row_t reduce_row_##name;
MUSTER_DATATYPE_LIST(X)
#undef X

#define REDUCE_BLOCK 128 /* elements */

#if defined(__clang__)
#define REDUCE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define REDUCE_INDEPENDENT _Pragma("GCC ivdep")
#else
#define REDUCE_INDEPENDENT
#endif

/* function(left, right, result, count): result[i] = expression in a and b, of element_t. */
#define REDUCE_KERNEL(function, element_t, expression)                                             \
    static void function(const void *left, const void *right, void *result, size_t count)          \
    {                                                                                              \
        const element_t *as = left;                                                                \
        const element_t *bs = right;                                                               \
        element_t *into = result;                                                                  \
        size_t rest = count % REDUCE_BLOCK;                                                        \
        const element_t *end = as + (count - rest);                                                \
        while (as != end) {                                                                        \
            REDUCE_INDEPENDENT                                                                     \
            for (size_t i = 0; i < REDUCE_BLOCK; i++) {                                            \
                element_t a = as[i], b = bs[i];                                                    \
                into[i] = (expression);                                                            \
            }                                                                                      \
            as += REDUCE_BLOCK;                                                                    \
            bs += REDUCE_BLOCK;                                                                    \
            into += REDUCE_BLOCK;                                                                  \
        }                                                                                          \
        for (size_t i = 0; i < rest; i++) {                                                        \
            element_t a = as[i], b = bs[i];                                                        \
            into[i] = (expression);                                                                \
        }                                                                                          \
    }

#endif
