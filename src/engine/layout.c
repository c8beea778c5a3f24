#include "engine/layout.h"

#include <string.h>

#include "core/assertion.h"
#include "core/split.h"

/* Where a piece begins in its row. */
static size_t layout_cut(const layout_t *layout, uint64_t piece)
{
    return split_block(layout->width / layout->element, layout->modulo, piece) * layout->element;
}

/* A run of pieces within one row of a SPLIT layout is one piece of memory. */
static bool layout_run(const layout_t *layout, const schedule_region_t *region, layout_row_t *run)
{
    if (region->inner_count * region->outer_count != 1)
        return false;
    uint64_t row = region->offset / layout->modulo, place = region->offset % layout->modulo;
    if (place + region->run > layout->modulo)
        return false;
    size_t first = layout_cut(layout, place), end = layout_cut(layout, place + region->run);
    *run = (layout_row_t){layout->base ? layout->base + row * layout->width + first : NULL,
                          end - first};
    return true;
}

layout_row_t layout_block(const layout_t *layout, uint64_t block)
{
    switch (layout->kind) {
    case LAYOUT_UNIFORM:
        return (layout_row_t){layout->base + block * layout->width, layout->width};
    case LAYOUT_DISPLACED:
        return (layout_row_t){layout->base + layout->offsets[block], layout->lengths[block]};
    case LAYOUT_CYCLIC: {
        uint64_t row = block / layout->modulo, place = block % layout->modulo;
        return (layout_row_t){layout->base + row * layout->width + layout->offsets[place],
                              layout->lengths[place]};
    }
    case LAYOUT_SPLIT: {
        uint64_t row = block / layout->modulo, place = block % layout->modulo;
        size_t first = layout_cut(layout, place), end = layout_cut(layout, place + 1);
        if (!layout->base)
            return (layout_row_t){NULL, end - first};
        return (layout_row_t){layout->base + row * layout->width + first, end - first};
    }
    case LAYOUT_LEARNT:
        return layout->rows[block];
    }
    MUSTER_ASSERT(!"a layout has one of the known kinds");
    return (layout_row_t){NULL, 0};
}

layout_walk_t layout_walk(const schedule_region_t *region)
{
    return (layout_walk_t){region, 0, 0, 0};
}

bool layout_walk_next(layout_walk_t *walk, uint64_t *block)
{
    const schedule_region_t *region = walk->region;
    if (walk->outer >= region->outer_count || region->inner_count == 0 || region->run == 0)
        return false;
    *block = region->offset + walk->outer * region->outer_stride +
             walk->inner * region->inner_stride + walk->within;
    if (++walk->within == region->run) {
        walk->within = 0;
        if (++walk->inner == region->inner_count) {
            walk->inner = 0;
            walk->outer++;
        }
    }
    return true;
}

size_t layout_bytes(const layout_t *layout, const schedule_region_t *region)
{
    if (layout->kind == LAYOUT_UNIFORM)
        return schedule_region_blocks(region) * layout->width;
    layout_row_t run;
    if (layout->kind == LAYOUT_SPLIT && layout_run(layout, region, &run))
        return run.length;
    size_t bytes = 0;
    uint64_t block;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block);)
        bytes += layout_block(layout, block).length;
    return bytes;
}

uint8_t *layout_contiguous(const layout_t *layout, const schedule_region_t *region)
{
    static uint8_t nothing[1];
    if (layout->kind == LAYOUT_UNIFORM && region->inner_count * region->outer_count == 1)
        return layout->base ? layout->base + region->offset * layout->width : nothing;
    layout_row_t run;
    if (layout->kind == LAYOUT_SPLIT && layout_run(layout, region, &run))
        return run.bytes ? run.bytes : nothing;
    uint8_t *first = NULL, *end = NULL;
    uint64_t block;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block);) {
        layout_row_t row = layout_block(layout, block);
        if (row.length == 0)
            continue;
        if (!first)
            first = row.bytes;
        else if (row.bytes != end)
            return NULL;
        end = row.bytes + row.length;
    }
    return first ? first : nothing;
}

size_t layout_spans(const layout_t *layout, const schedule_region_t *region,
                    transport_span_t *spans, size_t max, bool *fits)
{
    *fits = true;
    if (layout->kind == LAYOUT_UNIFORM && region->inner_count * region->outer_count == 1) {
        spans[0].bytes = layout->base + region->offset * layout->width;
        spans[0].length = region->run * layout->width;
        return spans[0].length > 0;
    }
    layout_row_t run;
    if (layout->kind == LAYOUT_SPLIT && layout_run(layout, region, &run)) {
        spans[0] = (transport_span_t){run.bytes, run.length};
        return run.length > 0;
    }
    size_t count = 0;
    uint64_t block;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block);) {
        layout_row_t row = layout_block(layout, block);
        if (row.length == 0)
            continue;
        if (count > 0 && (uint8_t *)spans[count - 1].bytes + spans[count - 1].length == row.bytes) {
            spans[count - 1].length += row.length;
            continue;
        }
        if (count == max) {
            *fits = false;
            return 0;
        }
        spans[count].bytes = row.bytes;
        spans[count++].length = row.length;
    }
    return count;
}

void layout_pack(const layout_t *layout, const schedule_region_t *region, uint8_t *bytes)
{
    uint64_t block;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block);) {
        layout_row_t row = layout_block(layout, block);
        if (row.length > 0)
            memcpy(bytes, row.bytes, row.length);
        bytes += row.length;
    }
}

void layout_unpack(const layout_t *layout, const schedule_region_t *region, const uint8_t *bytes)
{
    uint64_t block;
    for (layout_walk_t walk = layout_walk(region); layout_walk_next(&walk, &block);) {
        layout_row_t row = layout_block(layout, block);
        if (row.length > 0)
            memcpy(row.bytes, bytes, row.length);
        bytes += row.length;
    }
}

size_t layout_copy(const layout_t *from, const schedule_region_t *source, const layout_t *to,
                   const schedule_region_t *destination)
{
    uint8_t *into = layout_contiguous(to, destination), *out = layout_contiguous(from, source);
    size_t bytes = layout_bytes(from, source), copied = 0;
    MUSTER_ASSERT(bytes == layout_bytes(to, destination));
    if (into && out) {
        if (into == out || bytes == 0)
            return 0;
        memcpy(into, out, bytes);
        return bytes;
    }
    layout_walk_t reading = layout_walk(source), writing = layout_walk(destination);
    uint64_t one, other;
    while (layout_walk_next(&reading, &one) && layout_walk_next(&writing, &other)) {
        layout_row_t row = layout_block(from, one), place = layout_block(to, other);
        MUSTER_ASSERT(row.length == place.length);
        if (row.length == 0 || row.bytes == place.bytes)
            continue;
        memcpy(place.bytes, row.bytes, row.length);
        copied += row.length;
    }
    return copied;
}
