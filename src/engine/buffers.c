#include "engine/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/carrier.h"
#include "engine/rows.h"

typedef struct chunk {
    struct chunk *next;
    _Alignas(16) uint8_t bytes[];
} chunk_t;

static uint8_t *buffers_chunk(muster_request_t *request, size_t size)
{
    size_t whole;
    chunk_t *chunk = carrier_add(sizeof *chunk, size, &whole) ? malloc(whole) : NULL;
    if (!chunk)
        return NULL;
    chunk->next = request->chunks;
    request->chunks = chunk;
    return chunk->bytes;
}

void buffers_reset(muster_request_t *request)
{
    while (request->chunks) {
        chunk_t *chunk = request->chunks;
        request->chunks = chunk->next;
        free(chunk);
    }
}

/* ---- layouts ---- */

/*
 * Offsets and lengths in bytes from counts and displacements in elements; NULL displacements: one
 * after the other.
 */
static void buffers_displace(const muster_request_t *request, layout_t *layout, void *base,
                             const size_t *counts, const size_t *displacements, size_t *memory)
{
    uint32_t size = request->comm->size;
    size_t next = 0;
    for (uint32_t i = 0; i < size; i++) {
        memory[i] = (displacements ? displacements[i] : next) * request->element;
        memory[size + i] = counts[i] * request->element;
        next += counts[i];
    }
    *layout = (layout_t){
        .kind = LAYOUT_DISPLACED, .base = base, .offsets = memory, .lengths = memory + size};
}

static bool buffers_displaced_memory(muster_request_t *request)
{
    size_t need = 4 * (size_t)request->comm->size;
    if (request->displaced_size >= need)
        return true;
    size_t *memory = malloc(need * sizeof *memory);
    if (!memory)
        return false;
    free(request->displaced);
    request->displaced = memory;
    request->displaced_size = need;
    return true;
}

static void buffers_in_place(muster_request_t *request)
{
    uint32_t rank = request->comm->rank;
    layout_row_t own;
    switch (request->arguments.operation) {
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        own = layout_block(&request->receive, rank);
        request->send = (layout_t){.base = own.bytes, .width = own.length};
        break;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        own = layout_block(&request->send, rank);
        request->receive = (layout_t){.base = own.bytes, .width = own.length};
        break;
    case OPERATION_ALLTOALL:
    case OPERATION_ALLTOALLV:
        request->send = request->receive;
        break;
    default: /* reductions and scans */
        request->send.base = request->receive.base;
        break;
    }
}

muster_status_t buffers_prepare(muster_request_t *request)
{
    const request_arguments_t *arguments = &request->arguments;
    uint32_t rank = request->comm->rank;
    bool root = arguments->root == rank;
    request->element = muster_datatype_size(arguments->datatype);
    size_t width = arguments->count * request->element;
    request->send = (layout_t){.base = (uint8_t *)(uintptr_t)arguments->send, .width = width};
    request->receive = (layout_t){.base = arguments->receive, .width = width};
    request->scratch = (layout_t){.width = width};
    request->initial = (layout_t){.base = (uint8_t *)(uintptr_t)arguments->initial, .width = width};
    if (operation_is_ragged(arguments->operation) && !buffers_displaced_memory(request))
        return MUSTER_NO_MEMORY;
    if (arguments->rows) {
        rows_prepare(request, request->displaced);
        return MUSTER_OK;
    }
    if (operation_is_ragged(arguments->operation)) {
        size_t *first = request->displaced, *second = first + 2 * (size_t)request->comm->size;
        bool sends = arguments->send_counts != NULL, receives = arguments->receive_counts != NULL;
        bool rooted = operation_is_rooted(arguments->operation);
        if (sends && (!rooted || root))
            buffers_displace(request, &request->send, request->send.base, arguments->send_counts,
                             arguments->send_displacements, first);
        if (receives && (!rooted || root))
            buffers_displace(request, &request->receive, request->receive.base,
                             arguments->receive_counts, arguments->receive_displacements, second);
        if (arguments->operation == OPERATION_REDUCE_SCATTER)
            request->receive.width = request->send.lengths[rank];
    }
    if (arguments->in_place)
        buffers_in_place(request);
    return MUSTER_OK;
}

/* Rounded up, as aligned_alloc wants it; false: more than can be told in bytes. */
static bool buffers_scratch_bytes(muster_request_t *request, uint64_t blocks, size_t *bytes)
{
    uint64_t rows = blocks;
    size_t size = request->comm->size, row = 0;
    if (request->scratch.kind == LAYOUT_SPLIT) {
        rows = (blocks + request->scratch.modulo - 1) / request->scratch.modulo;
    } else if (request->arguments.operation == OPERATION_REDUCE_SCATTER) {
        for (size_t i = 0; i < size; i++)
            row += request->send.lengths[i];
        request->scratch = (layout_t){.kind = LAYOUT_CYCLIC,
                                      .width = row,
                                      .modulo = size,
                                      .offsets = request->send.offsets,
                                      .lengths = request->send.lengths};
        rows = (blocks + size - 1) / size;
    }
    if (!carrier_multiply(rows, request->scratch.width, bytes) || !carrier_add(*bytes, 63, bytes))
        return false;
    *bytes = *bytes / 64 * 64;
    return true;
}

/* Rows to be learnt: of scratch, and behind them those that the caller receives. */
static muster_status_t buffers_learnt(muster_request_t *request, uint64_t blocks)
{
    size_t expected = rows_expected(&request->arguments, request->comm), count, bytes;
    if (!carrier_add(blocks, expected, &count) ||
        !carrier_multiply(count, sizeof *request->rows, &bytes))
        return MUSTER_NO_MEMORY;
    if (count > request->row_capacity) {
        layout_row_t *rows = malloc(bytes);
        if (!rows)
            return MUSTER_NO_MEMORY;
        free(request->rows);
        request->rows = rows;
        request->row_capacity = count;
    }
    if (count > 0)
        memset(request->rows, 0, bytes);
    request->scratch = (layout_t){.kind = LAYOUT_LEARNT, .rows = request->rows};
    if (expected > 0)
        request->receive.rows = request->rows + blocks;
    return MUSTER_OK;
}

static void buffers_cut(muster_request_t *request, uint32_t pieces)
{
    layout_t *layouts[] = {&request->send, &request->receive, &request->scratch};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        layouts[i]->kind = LAYOUT_SPLIT;
        layouts[i]->modulo = pieces;
        layouts[i]->element = request->element;
    }
}

muster_status_t buffers_scratch(muster_request_t *request, uint64_t blocks, uint32_t pieces)
{
    operation_t operation = request->arguments.operation;
    if (request->arguments.rows || operation == OPERATION_GATHERV ||
        operation == OPERATION_SCATTERV || operation == OPERATION_ALLTOALLV)
        return buffers_learnt(request, blocks);
    if (pieces > 1)
        buffers_cut(request, pieces);
    if (blocks == 0)
        return MUSTER_OK;
    size_t bytes;
    if (!buffers_scratch_bytes(request, blocks, &bytes))
        return MUSTER_NO_MEMORY;
    if (bytes > request->scratch_size) {
        uint8_t *memory = aligned_alloc(64, bytes);
        if (!memory)
            return MUSTER_NO_MEMORY;
        free(request->scratch_memory);
        request->scratch_memory = memory;
        request->scratch_size = bytes;
    }
    request->scratch.base = request->scratch_memory;
    return MUSTER_OK;
}

const layout_t *buffers_layout(const muster_request_t *request, uint8_t buffer)
{
    switch (buffer) {
    case SCHEDULE_SEND:
        return &request->send;
    case SCHEDULE_RECEIVE:
        return &request->receive;
    case SCHEDULE_SCRATCH:
        return &request->scratch;
    case SCHEDULE_INITIAL:
        return &request->initial;
    default:
        return NULL;
    }
}

size_t buffers_result(const muster_request_t *request)
{
    switch (request->arguments.operation) {
    case OPERATION_BARRIER:
    case OPERATION_REDUCE:
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        return 0;
    case OPERATION_BROADCAST:
    case OPERATION_ALLREDUCE:
        return request->receive.width;
    case OPERATION_ALLGATHER:
        return request->receive.width * request->comm->size;
    default:
        return SIZE_MAX;
    }
}

/* ---- copies ---- */

static muster_status_t buffers_copy_learnt(muster_request_t *request, const layout_t *source,
                                           const schedule_region_t *from, const layout_t *place,
                                           const schedule_region_t *into, size_t *copied, char *why,
                                           size_t why_size)
{
    layout_walk_t reading = layout_walk(from), writing = layout_walk(into);
    uint64_t one, other;
    while (layout_walk_next(&reading, &one) && layout_walk_next(&writing, &other)) {
        layout_row_t row = layout_block(source, one);
        if (request->arguments.in_place && row.length > 0) {
            /* What it points to is about to be overwritten. */
            uint8_t *bytes = buffers_chunk(request, row.length);
            if (!bytes) {
                snprintf(why, why_size, "no memory for a row of %zu bytes on rank %u", row.length,
                         request->comm->rank);
                return MUSTER_NO_MEMORY;
            }
            memcpy(bytes, row.bytes, row.length);
            *copied += row.length;
            row.bytes = bytes;
        }
        place->rows[other] = row;
    }
    return MUSTER_OK;
}

muster_status_t buffers_copy(muster_request_t *request, const schedule_region_t *from,
                             const schedule_region_t *into, size_t *copied, char *why,
                             size_t why_size)
{
    const layout_t *source = buffers_layout(request, from->buffer);
    const layout_t *place = buffers_layout(request, into->buffer);
    if (!source || !place)
        return MUSTER_OK;
    if (place->kind == LAYOUT_LEARNT)
        return buffers_copy_learnt(request, source, from, place, into, copied, why, why_size);
    layout_walk_t reading = layout_walk(from), writing = layout_walk(into);
    uint64_t one, other;
    if (operation_is_ragged(request->arguments.operation)) {
        while (layout_walk_next(&reading, &one) && layout_walk_next(&writing, &other)) {
            size_t has = layout_block(source, one).length,
                   takes = layout_block(place, other).length;
            if (has == takes)
                continue;
            snprintf(why, why_size, "a block of %zu bytes for rank %u, which expects %zu", has,
                     request->comm->rank, takes);
            return MUSTER_TRUNCATED;
        }
    }
    *copied = layout_copy(source, from, place, into);
    return MUSTER_OK;
}

/* ---- messages ---- */

static bool buffers_pack(muster_request_t *request, const layout_t *layout,
                         const schedule_region_t *region, size_t head, transport_span_t *spans,
                         size_t *count, size_t bytes, void **packed)
{
    uint8_t *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        return false;
    if (head > 0)
        memcpy(memory, *packed, head);
    layout_pack(layout, region, memory + head);
    request->comm->traffic.bytes_copied += bytes - head;
    free(*packed);
    *packed = memory;
    spans[0] = (transport_span_t){memory, bytes};
    *count = bytes > 0;
    return true;
}

/* The lengths before a carrier's data, owned by the caller, and how much both take together. */
static bool buffers_head(const layout_t *layout, const schedule_region_t *region, void **lengths,
                         size_t *head, size_t *bytes)
{
    size_t rows = schedule_region_blocks(region), row = 0, data = 0;
    if (!carrier_wire_size(rows, 0, head))
        return false;
    uint8_t *memory = malloc(*head ? *head : 1);
    if (!memory)
        return false;
    uint64_t block;
    bool fits = true;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block); row++) {
        size_t length = layout_block(layout, block).length;
        carrier_wire_put_length(memory, row, length);
        fits = carrier_add(data, length, &data) && fits;
    }
    if (!fits || !carrier_wire_size(rows, data, bytes)) {
        free(memory);
        return false;
    }
    *lengths = memory;
    return true;
}

bool buffers_outgoing(muster_request_t *request, const schedule_region_t *region,
                      transport_span_t *spans, size_t *count, size_t *bytes, void **packed)
{
    const layout_t *layout = buffers_layout(request, region->buffer);
    *count = 0;
    *bytes = 0;
    *packed = NULL;
    if (!layout)
        return true;
    bool fits;
    if (!request->carrier) {
        *count = layout_spans(layout, region, spans, TRANSPORT_SPANS_MAX, &fits);
        for (size_t i = 0; i < *count; i++)
            *bytes += spans[i].length;
        if (fits)
            return true;
        *bytes = layout_bytes(layout, region);
        return buffers_pack(request, layout, region, 0, spans, count, *bytes, packed);
    }
    size_t head;
    if (!buffers_head(layout, region, packed, &head, bytes))
        return false;
    spans[0] = (transport_span_t){*packed, head};
    *count = 1 + layout_spans(layout, region, spans + 1, TRANSPORT_SPANS_MAX - 1, &fits);
    if (fits)
        return true;
    if (buffers_pack(request, layout, region, head, spans, count, *bytes, packed))
        return true;
    free(*packed);
    *packed = NULL;
    return false;
}

static muster_status_t buffers_carrier(muster_request_t *request, const layout_t *layout,
                                       const schedule_region_t *region, const uint8_t *payload,
                                       size_t length, char *why, size_t why_size)
{
    size_t rows = schedule_region_blocks(region), row = 0;
    if (carrier_wire_check(payload, length, rows) != MUSTER_OK) {
        snprintf(why, why_size, "a carrier of %zu bytes does not hold %zu rows", length, rows);
        return MUSTER_TRUNCATED;
    }
    const uint8_t *data = payload + rows * 8;
    bool learnt = layout->kind == LAYOUT_LEARNT;
    if (learnt && length > rows * 8) {
        uint8_t *bytes = buffers_chunk(request, length - rows * 8);
        if (!bytes) {
            snprintf(why, why_size, "no memory for a carrier of %zu bytes on rank %u", length,
                     request->comm->rank);
            return MUSTER_NO_MEMORY;
        }
        memcpy(bytes, data, length - rows * 8);
        data = bytes;
    }
    uint64_t block;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block); row++) {
        size_t bytes = carrier_wire_length(payload, row);
        if (learnt) {
            layout->rows[block] = (layout_row_t){(uint8_t *)(uintptr_t)data, bytes};
        } else {
            layout_row_t place = layout_block(layout, block);
            if (place.length != bytes) {
                snprintf(why, why_size, "a block of %zu bytes for rank %u, which expects %zu",
                         bytes, request->comm->rank, place.length);
                return MUSTER_TRUNCATED;
            }
            if (bytes > 0)
                memcpy(place.bytes, data, bytes);
        }
        data += bytes;
    }
    return MUSTER_OK;
}

muster_status_t buffers_incoming(muster_request_t *request, const schedule_region_t *region,
                                 const uint8_t *payload, size_t length, char *why, size_t why_size)
{
    const layout_t *layout = buffers_layout(request, region->buffer);
    if (layout && request->carrier)
        return buffers_carrier(request, layout, region, payload, length, why, why_size);
    size_t expected = layout ? layout_bytes(layout, region) : 0;
    if (expected != length) {
        snprintf(why, why_size, "%zu bytes for rank %u, which expects %zu", length,
                 request->comm->rank, expected);
        return MUSTER_TRUNCATED;
    }
    if (length == 0)
        return MUSTER_OK;
    uint8_t *place = layout_contiguous(layout, region);
    if (place)
        memcpy(place, payload, length);
    else
        layout_unpack(layout, region, payload);
    return MUSTER_OK;
}
