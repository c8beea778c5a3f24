/*
 * Reductions: which operation goes with which datatype, and the loops that do it.
 *
 *                       sum prod   min max   band bor bxor   land lor lxor   minloc maxloc
 *     i8 .. u64            x          x            x               x
 *     f32 f64 f16 bf16     x          x
 *     bool                                                         x
 *     byte                                         x
 *     c32 c64              x
 *     pairs                                                                        x
 *
 * A user-defined operation goes with every datatype, a user-defined datatype with no other.
 *
 * Integers wrap. Logical operations take every value but 0 for true and give 0 or 1. f16 and bf16
 * are combined in f32 and rounded to nearest, ties to even; min and max give one of the operands,
 * bit for bit. A NaN operand of min, max, minloc or maxloc is the result (of two NaNs, min and max
 * give the left one); zeros are equal whatever their sign. Of equal values, min and max give the
 * right one, minloc and maxloc that with the lower index. Complex products follow the formula
 * (ac - bd) + (ad + bc)i, without special treatment of infinities.
 */
#ifndef MUSTER_REDUCE_REDUCE_H
#define MUSTER_REDUCE_REDUCE_H

#include "muster.h"

/*
 * OK where the two go together; INVALID_DATATYPE where datatype is none, else INVALID_OPERATION,
 * also for NULL and for a user-defined operation without function. Pure, any thread.
 */
muster_status_t reduce_check(muster_datatype_t datatype, const muster_op_t *op);

/*
 * result[i] = left[i] op right[i] for count elements of datatype. The pair has passed reduce_check
 * (asserted). result is left, or right, or overlaps neither; all are aligned as their C type is.
 * count 0 does nothing and calls nobody. OK, or REDUCTION_FAILED where a user-defined operation
 * returned anything else than OK. Any thread; blocks as long as a user's function does.
 */
muster_status_t reduce_apply(const muster_op_t *op, muster_datatype_t datatype, const void *left,
                             const void *right, void *result, size_t count);

/* "sum"; "user"; "?" for what is no operation. */
const char *reduce_op_name(uint8_t op_kind);

#endif
