#include "reduce/reduce.h"

#include "core/assertion.h"
#include "reduce/kernels.h"

static const reduce_row_t *const reduce_rows[MUSTER_DATATYPE_KIND_COUNT] = {
#define X(name, size, text) [MUSTER_DATATYPE_##name] = &reduce_row_##name,
    MUSTER_DATATYPE_LIST(X)
#undef X
};

/* NULL where the two do not go together; datatype is one. */
static reduce_kernel_t reduce_kernel(muster_datatype_t datatype, muster_op_kind_t kind)
{
    const reduce_row_t *row = reduce_rows[datatype & 0xff];
    return row != NULL && (unsigned)kind < MUSTER_OP_KIND_COUNT ? row->of[kind] : NULL;
}

muster_status_t reduce_check(muster_datatype_t datatype, const muster_op_t *op)
{
    if (muster_datatype_size(datatype) == 0)
        return MUSTER_INVALID_DATATYPE;
    if (op == NULL)
        return MUSTER_INVALID_OPERATION;
    if (op->kind == MUSTER_OP_USER)
        return op->function != NULL ? MUSTER_OK : MUSTER_INVALID_OPERATION;
    return reduce_kernel(datatype, op->kind) != NULL ? MUSTER_OK : MUSTER_INVALID_OPERATION;
}

muster_status_t reduce_apply(const muster_op_t *op, muster_datatype_t datatype, const void *left,
                             const void *right, void *result, size_t count)
{
    MUSTER_ASSERT(reduce_check(datatype, op) == MUSTER_OK);
    if (count == 0)
        return MUSTER_OK;
    if (op->kind == MUSTER_OP_USER) {
        muster_status_t status = op->function(op->context, left, right, result, count, datatype);
        return status == MUSTER_OK ? MUSTER_OK : MUSTER_REDUCTION_FAILED;
    }
    reduce_kernel(datatype, op->kind)(left, right, result, count);
    return MUSTER_OK;
}

const char *reduce_op_name(uint8_t op_kind)
{
    static const char *const names[MUSTER_OP_KIND_COUNT] = {
        [MUSTER_OP_NONE] = "?",
#define X(name, text) [MUSTER_OP_##name] = text,
        MUSTER_OP_LIST(X)
#undef X
            [MUSTER_OP_USER] = "user",
    };
    return op_kind < MUSTER_OP_KIND_COUNT ? names[op_kind] : "?";
}
