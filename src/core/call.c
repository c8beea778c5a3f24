#include "core/call.h"

#include "core/assertion.h"

typedef struct operation_traits {
    const char *name;
    bool rooted;
    bool reducing;
    bool ragged;
} operation_traits_t;

static const operation_traits_t operation_traits[OPERATION_COUNT] = {
#define X(name, text, rooted, reducing, ragged) {text, rooted, reducing, ragged},
    OPERATION_LIST(X)
#undef X
};

static bool call_same_reduction(const call_t *one, const call_t *other)
{
    return one->op_kind == other->op_kind && one->commutative == other->commutative &&
           one->op_identity == other->op_identity;
}

call_field_t call_compare(const call_t *one, const call_t *other)
{
    if (call_form(one) != call_form(other))
        return CALL_FIELD_OPERATION;
    if (one->mode != other->mode)
        return CALL_FIELD_MODE;
    if (one->outcome != other->outcome)
        return CALL_FIELD_OUTCOME;
    if (one->datatype != other->datatype)
        return CALL_FIELD_DATATYPE;
    if (one->count != other->count)
        return CALL_FIELD_COUNT;
    if (one->root != other->root)
        return CALL_FIELD_ROOT;
    if (!call_same_reduction(one, other))
        return CALL_FIELD_REDUCTION;
    if (one->initial != other->initial)
        return CALL_FIELD_INITIAL;
    return CALL_FIELD_NONE;
}

uint64_t call_value(const call_t *call, call_field_t field)
{
    switch (field) {
    case CALL_FIELD_NONE:
        return 0;
    case CALL_FIELD_OPERATION:
        return call_form(call);
    case CALL_FIELD_MODE:
        return call->mode;
    case CALL_FIELD_OUTCOME:
        return call->outcome;
    case CALL_FIELD_DATATYPE:
        return call->datatype;
    case CALL_FIELD_COUNT:
        return call->count;
    case CALL_FIELD_ROOT:
        return call->root;
    case CALL_FIELD_REDUCTION:
        return (uint64_t)call->op_kind | (uint64_t)call->commutative << 8 | call->op_identity << 16;
    case CALL_FIELD_INITIAL:
        return call->initial;
    }
    return 0;
}

const char *call_field_name(call_field_t field)
{
    switch (field) {
    case CALL_FIELD_NONE:
        return "";
    case CALL_FIELD_OPERATION:
        return "operation";
    case CALL_FIELD_MODE:
        return "mode";
    case CALL_FIELD_OUTCOME:
        return "outcome";
    case CALL_FIELD_DATATYPE:
        return "datatype";
    case CALL_FIELD_COUNT:
        return "count";
    case CALL_FIELD_ROOT:
        return "root";
    case CALL_FIELD_REDUCTION:
        return "reduction";
    case CALL_FIELD_INITIAL:
        return "initial";
    }
    return "";
}

uint8_t call_form(const call_t *call)
{
    return (uint8_t)(call->operation | (call->rows ? OPERATION_ROWS : 0));
}

bool operation_is_form(uint8_t form)
{
    uint8_t operation = form & (OPERATION_ROWS - 1);
    if (operation >= OPERATION_COUNT)
        return false;
    return form == operation ||
           (operation_traits[operation].ragged && !operation_traits[operation].reducing);
}

const char *operation_name(uint8_t operation)
{
    switch (operation) {
    case OPERATION_GATHERV | OPERATION_ROWS:
        return "gather_rows";
    case OPERATION_SCATTERV | OPERATION_ROWS:
        return "scatter_rows";
    case OPERATION_ALLGATHERV | OPERATION_ROWS:
        return "allgather_rows";
    case OPERATION_ALLTOALLV | OPERATION_ROWS:
        return "alltoall_rows";
    default:
        return operation < OPERATION_COUNT ? operation_traits[operation].name : "?";
    }
}

bool operation_is_rooted(operation_t operation)
{
    MUSTER_ASSERT((unsigned)operation < OPERATION_COUNT);
    return operation_traits[operation].rooted;
}

bool operation_is_one_way(operation_t operation)
{
    return operation_is_rooted(operation) || operation == OPERATION_SCAN ||
           operation == OPERATION_EXSCAN;
}

bool operation_is_reducing(operation_t operation)
{
    MUSTER_ASSERT((unsigned)operation < OPERATION_COUNT);
    return operation_traits[operation].reducing;
}

bool operation_is_ragged(operation_t operation)
{
    MUSTER_ASSERT((unsigned)operation < OPERATION_COUNT);
    return operation_traits[operation].ragged;
}
