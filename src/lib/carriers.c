/* Carriers, and the operations on rows whose lengths only the sender knows. */
#include <stdlib.h>
#include <string.h>

#include "core/carrier.h"
#include "lib/check.h"
#include "lib/collectives.h"

/* The length of a carrier that no array can have: refused wherever it is used. */
#define CARRIERS_NO_LENGTH SIZE_MAX

muster_carrier_t muster_carrier_uniform(const void *data, size_t rows, size_t width)
{
    muster_carrier_t carrier = {.data = (void *)(uintptr_t)data, .rows = rows, .width = width};
    if (!carrier_multiply(rows, width, &carrier.length))
        carrier.length = CARRIERS_NO_LENGTH;
    return carrier;
}

muster_carrier_t muster_carrier_ragged(const void *data, const size_t *offsets, size_t rows)
{
    return (muster_carrier_t){.data = (void *)(uintptr_t)data,
                              .offsets = offsets,
                              .rows = rows,
                              .length = offsets ? offsets[rows] : CARRIERS_NO_LENGTH};
}

void muster_carrier_release(muster_carrier_t *carrier)
{
    if (!carrier)
        return;
    if (carrier->owned) {
        free(carrier->data);
        free((void *)(uintptr_t)carrier->offsets);
    }
    memset(carrier, 0, sizeof *carrier);
}

static const muster_op_t no_op = {MUSTER_OP_NONE, true, NULL, NULL, 0};

#define GATHER_ROWS_PARAMETERS(...)                                                                \
    (muster_comm_t * comm, const void *send, size_t send_count, muster_datatype_t datatype,        \
     uint32_t root, muster_carrier_t *receive, __VA_ARGS__)
COLLECTIVE(gather_rows, GATHER_ROWS_PARAMETERS, .operation = OPERATION_GATHERV, .rows = true,
           .send = send, .count = send_count, .receive_rows = receive, .datatype = datatype,
           .root = root, .op = no_op)

#define SCATTER_ROWS_PARAMETERS(...)                                                               \
    (muster_comm_t * comm, const muster_carrier_t *send, muster_datatype_t datatype,               \
     uint32_t root, muster_carrier_t *receive, __VA_ARGS__)
COLLECTIVE(scatter_rows, SCATTER_ROWS_PARAMETERS, .operation = OPERATION_SCATTERV, .rows = true,
           .send_rows = send, .receive_rows = receive, .datatype = datatype, .root = root,
           .op = no_op)

#define ALLGATHER_ROWS_PARAMETERS(...)                                                             \
    (muster_comm_t * comm, const void *send, size_t send_count, muster_datatype_t datatype,        \
     muster_carrier_t *receive, __VA_ARGS__)
COLLECTIVE(allgather_rows, ALLGATHER_ROWS_PARAMETERS, .operation = OPERATION_ALLGATHERV,
           .rows = true, .send = send, .count = send_count, .receive_rows = receive,
           .datatype = datatype, .op = no_op)

#define ALLTOALL_ROWS_PARAMETERS(...)                                                              \
    (muster_comm_t * comm, const muster_carrier_t *send, muster_datatype_t datatype,               \
     muster_carrier_t *receive, __VA_ARGS__)
COLLECTIVE(alltoall_rows, ALLTOALL_ROWS_PARAMETERS, .operation = OPERATION_ALLTOALLV, .rows = true,
           .send_rows = send, .receive_rows = receive, .datatype = datatype, .op = no_op)
