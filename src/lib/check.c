#include "lib/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/carrier.h"
#include "reduce/reduce.h"

bool check_comm(const muster_comm_t *comm)
{
    return comm && *comm->engine->alive && !comm->destroyed;
}

bool check_request(const muster_request_t *request)
{
    return request && request->comm && *request->comm->engine->alive;
}

bool check_timeout(muster_timeout_t timeout)
{
    return timeout.kind <= MUSTER_NO_DEADLINE.kind;
}

muster_status_t check_refuse(muster_failure_t *failure, const muster_comm_t *comm,
                             muster_status_t status, const char *format, ...)
{
    if (!failure)
        return status;
    memset(failure, 0, sizeof *failure);
    failure->status = status;
    failure->rank = comm && check_comm(comm) ? comm->rank : MUSTER_NO_RANK;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

const char *check_name(const request_arguments_t *arguments)
{
    call_t call = {.operation = (uint8_t)arguments->operation, .rows = arguments->rows};
    return operation_name(call_form(&call));
}

#define REFUSE(status, ...)                                                                        \
    return check_refuse(call ? call->failure : NULL, comm, status, __VA_ARGS__)

/* What a rank passes for one of its two sides. */
typedef struct side {
    const char *name;
    const void *buffer;
    bool used;            /* by this rank in this operation */
    size_t blocks;        /* equal blocks of count elements, or */
    const size_t *counts; /* one for each rank */
    const size_t *displacements;
} side_t;

static muster_status_t check_side(const muster_comm_t *comm, const muster_call_t *call,
                                  const side_t *side, size_t count, size_t element)
{
    size_t elements = 0, bytes;
    if (!side->used)
        return MUSTER_OK;
    if (!side->counts) {
        if (!carrier_multiply(count, side->blocks, &elements) ||
            !carrier_multiply(elements, element, &bytes))
            REFUSE(MUSTER_INVALID_COUNT, "count: %zu elements of %zu bytes for %zu ranks overflow",
                   count, element, side->blocks);
    }
    for (size_t i = 0; side->counts && i < comm->size; i++) {
        size_t end = elements;
        if (!carrier_add(side->displacements ? side->displacements[i] : elements, side->counts[i],
                         &end) ||
            !carrier_multiply(end, element, &bytes))
            REFUSE(MUSTER_INVALID_COUNT,
                   "%s counts: block %zu, %zu elements of %zu bytes, overflows", side->name, i,
                   side->counts[i], element);
        if (!side->displacements || end > elements)
            elements = end;
    }
    if (elements > 0 && (!side->buffer || side->buffer == MUSTER_IN_PLACE))
        REFUSE(MUSTER_INVALID_BUFFER, "%s: the buffer is %s though its count is not zero",
               side->name, side->buffer ? "in place" : "null");
    return MUSTER_OK;
}

static muster_status_t check_datatype(const muster_comm_t *comm,
                                      const request_arguments_t *arguments,
                                      const muster_call_t *call)
{
    if (arguments->operation == OPERATION_BARRIER)
        return MUSTER_OK;
    if (muster_datatype_size(arguments->datatype) == 0)
        REFUSE(MUSTER_INVALID_DATATYPE, "datatype: %#llx is unknown",
               (unsigned long long)arguments->datatype);
    if (!operation_is_reducing(arguments->operation))
        return MUSTER_OK;
    muster_status_t status = reduce_check(arguments->datatype, &arguments->op);
    if (status != MUSTER_OK)
        REFUSE(status, "op: %s of %s makes no sense", reduce_op_name((uint8_t)arguments->op.kind),
               muster_datatype_name(arguments->datatype));
    return MUSTER_OK;
}

static muster_status_t check_root(const muster_comm_t *comm, const request_arguments_t *arguments,
                                  const muster_call_t *call)
{
    if (!operation_is_rooted(arguments->operation))
        return MUSTER_OK;
    if (arguments->root >= comm->size)
        REFUSE(MUSTER_INVALID_ROOT, "root: %u is outside of 0..%u", arguments->root,
               comm->size - 1);
    if (arguments->root != 0 && !comm->any_root)
        REFUSE(MUSTER_INVALID_ROOT,
               "root: %u, but this hierarchical communicator allows rank 0 only", arguments->root);
    return MUSTER_OK;
}

static bool check_may_be_in_place(const muster_comm_t *comm, const request_arguments_t *arguments)
{
    bool root = arguments->root == comm->rank;
    switch (arguments->operation) {
    case OPERATION_BARRIER:
    case OPERATION_BROADCAST:
        return false;
    default:
        return root || !operation_is_rooted(arguments->operation);
    }
}

static bool check_needs_counts(const muster_comm_t *comm, const request_arguments_t *arguments,
                               bool *send, bool *receive)
{
    bool root = arguments->root == comm->rank;
    *send = (arguments->operation == OPERATION_SCATTERV && root) ||
            (arguments->operation == OPERATION_ALLTOALLV && !arguments->in_place) ||
            arguments->operation == OPERATION_REDUCE_SCATTER;
    *receive = (arguments->operation == OPERATION_GATHERV && root) ||
               arguments->operation == OPERATION_ALLGATHERV ||
               arguments->operation == OPERATION_ALLTOALLV;
    return (!*send || arguments->send_counts) && (!*receive || arguments->receive_counts);
}

/* Shapes of both sides, from the operation's table in schedule.h. */
static void check_shapes(const muster_comm_t *comm, const request_arguments_t *arguments,
                         side_t *send, side_t *receive)
{
    bool root = arguments->root == comm->rank;
    size_t all = comm->size;
    bool placed = arguments->in_place;
    *send = (side_t){"send", arguments->send, !placed, 1, NULL, NULL};
    *receive = (side_t){"receive", arguments->receive, true, 1, NULL, NULL};
    switch (arguments->operation) {
    case OPERATION_BARRIER:
        send->used = receive->used = false;
        break;
    case OPERATION_BROADCAST:
        send->used = false; /* one buffer */
        receive->name = "buffer";
        break;
    case OPERATION_REDUCE:
        receive->used = root;
        break;
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        receive->used = root;
        receive->blocks = all;
        break;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        send->used = root;
        send->blocks = all;
        receive->used = !placed;
        break;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        receive->blocks = all;
        break;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        send->blocks = receive->blocks = all;
        break;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        send->blocks = all;
        if (placed)
            receive->blocks = all;
        break;
    default:
        break;
    }
}

/* The shape of a carrier to be sent: one row for each rank. */
static muster_status_t check_shape(const muster_comm_t *comm, const muster_call_t *call,
                                   const muster_carrier_t *carrier, size_t element)
{
    size_t bytes;
    if (carrier->rows != comm->size)
        REFUSE(MUSTER_INVALID_ARGUMENT, "send: %zu rows for %u ranks", carrier->rows, comm->size);
    if (!carrier->offsets && carrier->width == 0 && carrier->length != 0)
        REFUSE(MUSTER_INVALID_ARGUMENT, "send: no offsets, and a width of 0 with a length of %zu",
               carrier->length);
    if (!carrier_multiply(carrier->length, element, &bytes))
        REFUSE(MUSTER_INVALID_COUNT, "send: %zu elements of %zu bytes overflow", carrier->length,
               element);
    if (!carrier->offsets) {
        carrier_uniform_t shape = {carrier->rows, carrier->width};
        if (carrier_uniform_check(&shape, carrier->length) != MUSTER_OK)
            REFUSE(MUSTER_INVALID_COUNT, "send: %zu rows of %zu elements are not %zu elements",
                   carrier->rows, carrier->width, carrier->length);
        return MUSTER_OK;
    }
    carrier_ragged_t shape = {carrier->offsets, carrier->rows};
    muster_status_t status = carrier_ragged_check(&shape, carrier->length);
    if (status == MUSTER_INVALID_COUNT)
        REFUSE(status, "send: the last offset is %zu, the length %zu",
               carrier->offsets[carrier->rows], carrier->length);
    if (status != MUSTER_OK)
        REFUSE(status, "send: the offsets do not begin with 0, or decrease");
    return MUSTER_OK;
}

/* The forms with rows: a carrier or one block to be sent, a carrier to be filled. */
static muster_status_t check_rows(const muster_comm_t *comm, const request_arguments_t *arguments,
                                  const muster_call_t *call)
{
    bool root = arguments->root == comm->rank,
         scatters = arguments->operation == OPERATION_SCATTERV;
    bool carries = scatters || arguments->operation == OPERATION_ALLTOALLV;
    side_t send = {"send", arguments->send, true, 1, NULL, NULL};
    size_t count = arguments->count, element = muster_datatype_size(arguments->datatype);
    if ((root || arguments->operation != OPERATION_GATHERV) && !arguments->receive_rows)
        REFUSE(MUSTER_INVALID_ARGUMENT, "receive: null");
    if (carries) {
        send.used = root || !scatters;
        if (send.used && !arguments->send_rows)
            REFUSE(MUSTER_INVALID_ARGUMENT, "send: null");
        muster_status_t status =
            send.used ? check_shape(comm, call, arguments->send_rows, element) : MUSTER_OK;
        if (status != MUSTER_OK)
            return status;
        send.buffer = send.used ? arguments->send_rows->data : NULL;
        count = send.used ? arguments->send_rows->length : 0;
    }
    return check_side(comm, call, &send, count, element);
}

muster_status_t check_arguments(const muster_comm_t *comm, const request_arguments_t *arguments,
                                const muster_call_t *call)
{
    if (call && call->rank.given && call->rank.value != comm->rank)
        REFUSE(MUSTER_INVALID_RANK, "rank: %llu is stated, but this is rank %u of %u",
               (unsigned long long)call->rank.value, comm->rank, comm->size);
    if (call && call->outcome > MUSTER_OUTCOME_LOCAL)
        REFUSE(MUSTER_INVALID_ARGUMENT, "outcome: %d is unknown", (int)call->outcome);
    if (call && !check_timeout(call->timeout))
        REFUSE(MUSTER_INVALID_ARGUMENT, "timeout: kind %u is unknown", call->timeout.kind);
    muster_status_t status = check_datatype(comm, arguments, call);
    if (status == MUSTER_OK)
        status = check_root(comm, arguments, call);
    if (status != MUSTER_OK)
        return status;
    if (arguments->rows)
        return check_rows(comm, arguments, call);
    if (arguments->in_place && !check_may_be_in_place(comm, arguments))
        REFUSE(MUSTER_INVALID_BUFFER, "in place is not possible here for %s",
               check_name(arguments));
    if (arguments->initial == MUSTER_IN_PLACE)
        REFUSE(MUSTER_INVALID_BUFFER, "initial: in place is not possible here");
    bool send_counts, receive_counts;
    if (!check_needs_counts(comm, arguments, &send_counts, &receive_counts))
        REFUSE(MUSTER_INVALID_ARGUMENT, "counts: null");
    side_t send, receive;
    check_shapes(comm, arguments, &send, &receive);
    if (send_counts) {
        send.counts = arguments->send_counts;
        send.displacements = arguments->send_displacements;
    }
    if (receive_counts) {
        receive.counts = arguments->receive_counts;
        receive.displacements = arguments->receive_displacements;
    }
    size_t element = muster_datatype_size(arguments->datatype), count = arguments->count;
    size_t own = count;
    if (arguments->operation == OPERATION_REDUCE_SCATTER) {
        own = arguments->send_counts[comm->rank];
        if (arguments->in_place) { /* the whole vector lies in receive */
            receive.counts = arguments->send_counts;
            own = 0;
        }
    }
    if (arguments->operation == OPERATION_ALLGATHERV && !arguments->in_place &&
        count != arguments->receive_counts[comm->rank])
        REFUSE(MUSTER_INVALID_COUNT, "send count: %zu, but counts[%u] is %zu", count, comm->rank,
               arguments->receive_counts[comm->rank]);
    status = check_side(comm, call, &send, count, element);
    if (status == MUSTER_OK)
        status = check_side(comm, call, &receive, own, element);
    return status;
}
