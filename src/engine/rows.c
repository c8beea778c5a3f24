#include "engine/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/carrier.h"

size_t rows_expected(const request_arguments_t *arguments, const muster_comm_t *comm)
{
    bool root = arguments->root == comm->rank;
    if (!arguments->rows)
        return 0;
    switch (arguments->operation) {
    case OPERATION_GATHERV:
        return root ? comm->size : 0;
    case OPERATION_SCATTERV:
        return 1;
    default: /* allgatherv, alltoallv */
        return comm->size;
    }
}

static void rows_displace(layout_t *layout, const muster_carrier_t *carrier, size_t element,
                          size_t *memory)
{
    size_t *offsets = memory, *lengths = memory + carrier->rows;
    for (size_t row = 0; row < carrier->rows; row++) {
        size_t begin = carrier->offsets ? carrier->offsets[row] : row * carrier->width;
        size_t end = carrier->offsets ? carrier->offsets[row + 1] : begin + carrier->width;
        offsets[row] = begin * element;
        lengths[row] = (end - begin) * element;
    }
    *layout = (layout_t){
        .kind = LAYOUT_DISPLACED, .base = carrier->data, .offsets = offsets, .lengths = lengths};
}

void rows_prepare(muster_request_t *request, size_t *memory)
{
    request_arguments_t *arguments = &request->arguments;
    bool root = arguments->root == request->comm->rank;
    if (rows_expected(arguments, request->comm) == 0)
        arguments->receive_rows = NULL;
    request->receive = (layout_t){.kind = LAYOUT_LEARNT};
    request->collected = (muster_carrier_t){0};
    if (arguments->operation == OPERATION_ALLTOALLV ||
        (arguments->operation == OPERATION_SCATTERV && root))
        rows_displace(&request->send, arguments->send_rows, request->element, memory);
    arguments->send_rows = NULL; /* has been read */
}

/* Offsets in elements; false where a row is no whole number of them. */
static bool rows_measure(const muster_request_t *request, size_t rows, size_t *offsets,
                         size_t *bytes)
{
    *bytes = 0;
    offsets[0] = 0;
    for (size_t row = 0; row < rows; row++) {
        size_t length = request->receive.rows[row].length;
        if (length % request->element != 0 || !carrier_add(*bytes, length, bytes))
            return false;
        offsets[row + 1] = *bytes / request->element;
    }
    return true;
}

muster_status_t rows_collect(muster_request_t *request, char *why, size_t why_size)
{
    size_t rows = rows_expected(&request->arguments, request->comm), bytes;
    if (rows == 0 || request->collected.offsets)
        return MUSTER_OK;
    size_t *offsets = malloc((rows + 1) * sizeof *offsets);
    uint8_t *data = NULL;
    if (offsets && !rows_measure(request, rows, offsets, &bytes)) {
        free(offsets);
        snprintf(why, why_size, "a row for rank %u is no whole number of elements of %zu bytes",
                 request->comm->rank, request->element);
        return MUSTER_TRUNCATED;
    }
    if (offsets && bytes > 0)
        data = malloc(bytes);
    if (!offsets || (bytes > 0 && !data)) {
        free(offsets);
        snprintf(why, why_size, "no memory for %zu rows on rank %u", rows, request->comm->rank);
        return MUSTER_NO_MEMORY;
    }
    uint8_t *place = data;
    for (size_t row = 0; row < rows; row++) {
        layout_row_t from = request->receive.rows[row];
        if (from.length == 0)
            continue;
        memcpy(place, from.bytes, from.length);
        place += from.length;
    }
    request->comm->traffic.bytes_copied += bytes;
    request->collected = (muster_carrier_t){
        .data = data, .offsets = offsets, .rows = rows, .length = offsets[rows], .owned = true};
    return MUSTER_OK;
}

muster_status_t rows_finish(muster_request_t *request, muster_status_t status)
{
    muster_carrier_t collected = request->collected;
    request->collected = (muster_carrier_t){0};
    if (!request->arguments.receive_rows)
        return status;
    if (status == MUSTER_OK && !collected.offsets)
        return MUSTER_UNDECIDED;
    if (status == MUSTER_OK && !request->abandoned) {
        *request->arguments.receive_rows = collected;
        return status;
    }
    free(collected.data);
    free((void *)(uintptr_t)collected.offsets);
    return status;
}
