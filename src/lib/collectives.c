/* The operations: blocking and nonblocking forms over one start. */
#include "lib/collectives.h"

#include "lib/check.h"

static const muster_op_t no_op = {MUSTER_OP_NONE, true, NULL, NULL, 0};

static muster_status_t collectives_start(muster_comm_t *comm, request_arguments_t *arguments,
                                         const muster_call_t *call, bool owned,
                                         muster_request_t **request)
{
    muster_failure_t *failure = call ? call->failure : NULL;
    if (!check_comm(comm))
        return check_refuse(failure, NULL, MUSTER_INVALID_HANDLE,
                            "comm: null, destroyed or inherited by fork");
    const void *placed =
        arguments->operation == OPERATION_SCATTER || arguments->operation == OPERATION_SCATTERV
            ? arguments->receive
            : arguments->send;
    arguments->in_place = placed == MUSTER_IN_PLACE && !arguments->rows;
    muster_status_t status = check_arguments(comm, arguments, call);
    if (status != MUSTER_OK)
        return status;
    status = request_start(comm, arguments, call, owned, request);
    if (status != MUSTER_OK)
        return check_refuse(failure, comm, status, "%s: %s", check_name(arguments),
                            muster_status_text(status));
    return MUSTER_OK;
}

muster_status_t collectives_post(muster_comm_t *comm, request_arguments_t *arguments,
                                 const muster_call_t *call, muster_request_t **request)
{
    muster_failure_t *failure = call ? call->failure : NULL;
    if (!request)
        return check_refuse(failure, NULL, MUSTER_INVALID_ARGUMENT, "request: null");
    if (!check_comm(comm))
        return check_refuse(failure, NULL, MUSTER_INVALID_HANDLE,
                            "comm: null, destroyed or inherited by fork");
    engine_t *engine = comm->engine;
    engine_lock(engine);
    muster_status_t status = collectives_start(comm, arguments, call, true, request);
    engine_unlock(engine);
    return status;
}

static bool collectives_finished(void *argument)
{
    return ((const muster_request_t *)argument)->state == REQUEST_FINISHED;
}

muster_status_t collectives_run(muster_comm_t *comm, request_arguments_t *arguments,
                                const muster_call_t *call)
{
    if (!check_comm(comm))
        return check_refuse(call ? call->failure : NULL, NULL, MUSTER_INVALID_HANDLE,
                            "comm: null, destroyed or inherited by fork");
    engine_t *engine = comm->engine;
    muster_request_t *request = NULL;
    engine_lock(engine);
    muster_status_t status = collectives_start(comm, arguments, call, false, &request);
    if (status == MUSTER_OK) {
        engine_wait(engine, collectives_finished, request, INT64_MAX);
        status = request->status;
        if (status != MUSTER_OK && call && call->failure)
            *call->failure = request->failure;
        request_release(request);
    }
    engine_unlock(engine);
    return status;
}

#define BARRIER_PARAMETERS(...) (muster_comm_t * comm, __VA_ARGS__)
COLLECTIVE(barrier, BARRIER_PARAMETERS, .operation = OPERATION_BARRIER, .op = no_op)

#define BROADCAST_PARAMETERS(...)                                                                  \
    (muster_comm_t * comm, void *buffer, size_t count, muster_datatype_t datatype, uint32_t root,  \
     __VA_ARGS__)
COLLECTIVE(broadcast, BROADCAST_PARAMETERS, .operation = OPERATION_BROADCAST, .send = buffer,
           .receive = buffer, .count = count, .datatype = datatype, .root = root, .op = no_op)

#define REDUCE_PARAMETERS(...)                                                                     \
    (muster_comm_t * comm, const void *send, void *receive, size_t count,                          \
     muster_datatype_t datatype, muster_op_t op, uint32_t root, __VA_ARGS__)
COLLECTIVE(reduce, REDUCE_PARAMETERS, .operation = OPERATION_REDUCE, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .op = op, .root = root)

#define ALLREDUCE_PARAMETERS(...)                                                                  \
    (muster_comm_t * comm, const void *send, void *receive, size_t count,                          \
     muster_datatype_t datatype, muster_op_t op, __VA_ARGS__)
COLLECTIVE(allreduce, ALLREDUCE_PARAMETERS, .operation = OPERATION_ALLREDUCE, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .op = op)
COLLECTIVE(reduce_scatter_block, ALLREDUCE_PARAMETERS, .operation = OPERATION_REDUCE_SCATTER_BLOCK,
           .send = send, .receive = receive, .count = count, .datatype = datatype, .op = op)
COLLECTIVE(scan, ALLREDUCE_PARAMETERS, .operation = OPERATION_SCAN, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .op = op)

#define EXSCAN_PARAMETERS(...)                                                                     \
    (muster_comm_t * comm, const void *send, void *receive, const void *initial, size_t count,     \
     muster_datatype_t datatype, muster_op_t op, __VA_ARGS__)
COLLECTIVE(exscan, EXSCAN_PARAMETERS, .operation = OPERATION_EXSCAN, .send = send,
           .receive = receive, .initial = initial, .count = count, .datatype = datatype, .op = op)

#define GATHER_PARAMETERS(...)                                                                     \
    (muster_comm_t * comm, const void *send, void *receive, size_t count,                          \
     muster_datatype_t datatype, uint32_t root, __VA_ARGS__)
COLLECTIVE(gather, GATHER_PARAMETERS, .operation = OPERATION_GATHER, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .root = root, .op = no_op)
COLLECTIVE(scatter, GATHER_PARAMETERS, .operation = OPERATION_SCATTER, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .root = root, .op = no_op)

#define ALLGATHER_PARAMETERS(...)                                                                  \
    (muster_comm_t * comm, const void *send, void *receive, size_t count,                          \
     muster_datatype_t datatype, __VA_ARGS__)
COLLECTIVE(allgather, ALLGATHER_PARAMETERS, .operation = OPERATION_ALLGATHER, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .op = no_op)
COLLECTIVE(alltoall, ALLGATHER_PARAMETERS, .operation = OPERATION_ALLTOALL, .send = send,
           .receive = receive, .count = count, .datatype = datatype, .op = no_op)

#define GATHERV_PARAMETERS(...)                                                                    \
    (muster_comm_t * comm, const void *send, size_t send_count, void *receive,                     \
     const size_t *counts, const size_t *displacements, muster_datatype_t datatype, uint32_t root, \
     __VA_ARGS__)
COLLECTIVE(gatherv, GATHERV_PARAMETERS, .operation = OPERATION_GATHERV, .send = send,
           .receive = receive, .count = send_count, .receive_counts = counts,
           .receive_displacements = displacements, .datatype = datatype, .root = root, .op = no_op)

#define SCATTERV_PARAMETERS(...)                                                                   \
    (muster_comm_t * comm, const void *send, const size_t *counts, const size_t *displacements,    \
     void *receive, size_t receive_count, muster_datatype_t datatype, uint32_t root, __VA_ARGS__)
COLLECTIVE(scatterv, SCATTERV_PARAMETERS, .operation = OPERATION_SCATTERV, .send = send,
           .receive = receive, .count = receive_count, .send_counts = counts,
           .send_displacements = displacements, .datatype = datatype, .root = root, .op = no_op)

#define ALLGATHERV_PARAMETERS(...)                                                                 \
    (muster_comm_t * comm, const void *send, size_t send_count, void *receive,                     \
     const size_t *counts, const size_t *displacements, muster_datatype_t datatype, __VA_ARGS__)
COLLECTIVE(allgatherv, ALLGATHERV_PARAMETERS, .operation = OPERATION_ALLGATHERV, .send = send,
           .receive = receive, .count = send_count, .receive_counts = counts,
           .receive_displacements = displacements, .datatype = datatype, .op = no_op)

#define ALLTOALLV_PARAMETERS(...)                                                                  \
    (muster_comm_t * comm, const void *send, const size_t *send_counts,                            \
     const size_t *send_displacements, void *receive, const size_t *receive_counts,                \
     const size_t *receive_displacements, muster_datatype_t datatype, __VA_ARGS__)
COLLECTIVE(alltoallv, ALLTOALLV_PARAMETERS, .operation = OPERATION_ALLTOALLV, .send = send,
           .send_counts = send_counts, .send_displacements = send_displacements, .receive = receive,
           .receive_counts = receive_counts, .receive_displacements = receive_displacements,
           .datatype = datatype, .op = no_op)

#define REDUCE_SCATTER_PARAMETERS(...)                                                             \
    (muster_comm_t * comm, const void *send, void *receive, const size_t *counts,                  \
     muster_datatype_t datatype, muster_op_t op, __VA_ARGS__)
COLLECTIVE(reduce_scatter, REDUCE_SCATTER_PARAMETERS, .operation = OPERATION_REDUCE_SCATTER,
           .send = send, .receive = receive, .send_counts = counts, .datatype = datatype, .op = op)
