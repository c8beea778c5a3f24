/*
 * What a schedule's blocks are in bytes, for one buffer of one operation.
 *
 * UNIFORM: block i is width bytes at base + i*width. DISPLACED: lengths[i] bytes at base +
 * offsets[i]. CYCLIC: rows of `modulo` blocks; block i is lengths[i % modulo] bytes at base +
 * (i / modulo)*width + offsets[i % modulo]. SPLIT: rows of `modulo` pieces of a vector of width
 * bytes, cut between elements by split_block. LEARNT: rows[i], filled as carriers arrive.
 *
 * A layout borrows everything it points to.
 */
#ifndef MUSTER_ENGINE_LAYOUT_H
#define MUSTER_ENGINE_LAYOUT_H

#include "core/schedule.h"
#include "transport/transport.h"

typedef enum layout_kind {
    LAYOUT_UNIFORM = 0,
    LAYOUT_DISPLACED,
    LAYOUT_CYCLIC,
    LAYOUT_SPLIT,
    LAYOUT_LEARNT
} layout_kind_t;

typedef struct layout_row {
    uint8_t *bytes;
    size_t length;
} layout_row_t;

typedef struct layout {
    layout_kind_t kind;
    uint8_t *base;
    size_t width;          /* UNIFORM: of a block; CYCLIC, SPLIT: of a row */
    size_t modulo;         /* CYCLIC, SPLIT */
    size_t element;        /* SPLIT: bytes */
    const size_t *offsets; /* bytes; DISPLACED, CYCLIC */
    const size_t *lengths; /* bytes */
    layout_row_t *rows;    /* LEARNT */
} layout_t;

layout_row_t layout_block(const layout_t *layout, uint64_t block);

/* Bytes of a region; blocks of a LEARNT layout must be known. */
size_t layout_bytes(const layout_t *layout, const schedule_region_t *region);

/*
 * The region as one piece of memory, where it is one: its address, else NULL. Empty: any non-NULL.
 */
uint8_t *layout_contiguous(const layout_t *layout, const schedule_region_t *region);

/* At most max spans, neighbours merged; 0 with *fits false where that is not enough. */
size_t layout_spans(const layout_t *layout, const schedule_region_t *region,
                    transport_span_t *spans, size_t max, bool *fits);

/* Between a region and layout_bytes contiguous bytes. */
void layout_pack(const layout_t *layout, const schedule_region_t *region, uint8_t *bytes);
void layout_unpack(const layout_t *layout, const schedule_region_t *region, const uint8_t *bytes);

/*
 * Block by block from one region to another with as many blocks; overlapping blocks must be the
 * same memory and are left alone. Returns the bytes that were copied.
 */
size_t layout_copy(const layout_t *from, const schedule_region_t *source, const layout_t *to,
                   const schedule_region_t *destination);

/* Walks the blocks of a region in message order. */
typedef struct layout_walk {
    const schedule_region_t *region;
    uint64_t outer, inner, within;
} layout_walk_t;
layout_walk_t layout_walk(const schedule_region_t *region);
bool layout_walk_next(layout_walk_t *walk, uint64_t *block);

#endif
