/*
 * The tree family: alltoall. Rows go up to the leaders of the top group's parts, which exchange the
 * blocks that are for each other's parts; columns go down. With S ranks in a part, its leader holds
 *
 *     rows      S rows of n blocks, by source      (block s*n + d: from base + s to d)
 *     columns   n rows of S blocks, by source      (block s*S + d: from s to base + d)
 *
 * and nobody holds all rows, unless the tree is a star: then rank 0 does.
 */
#include "core/assertion.h"
#include "core/schedule_tree_parts.h"

typedef struct schedule_transpose {
    schedule_tree_t *tree;
    split_part_t part; /* of which the rank holds the rows */
    schedule_bundle_t rows;
    schedule_buffer_t column_buffer;
    uint64_t columns;
    bool in_top; /* takes part in the exchange */
} schedule_transpose_t;

static schedule_region_t schedule_transpose_for(const schedule_transpose_t *transpose,
                                                split_part_t part)
{
    return schedule_rows(transpose->column_buffer,
                         transpose->columns + (part.left - transpose->part.left), part.size,
                         transpose->tree->size, transpose->part.size);
}

static void schedule_transpose_prepare(schedule_transpose_t *transpose)
{
    schedule_tree_t *tree = transpose->tree;
    schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    uint64_t size = tree->size;
    uint64_t held = 0;
    transpose->part = schedule_walk_member(walk, 0, walk->path[0].index);
    transpose->in_top = walk->path[0].left == 0 && walk->path[0].right == tree->size;
    transpose->rows =
        (schedule_bundle_t){.buffer = SCHEDULE_SEND, .first = 0, .base = tree->rank, .width = size};
    transpose->column_buffer = SCHEDULE_RECEIVE;
    if (transpose->part.size > 1) {
        held = transpose->part.size * size;
        transpose->column_buffer = SCHEDULE_SCRATCH;
        transpose->columns = schedule_emit_scratch(emit, held);
    } else if (transpose->in_top && tree->in_place) {
        held = size; /* what is to be sent lies where columns arrive */
    }
    if (held > 0) {
        transpose->rows.buffer = SCHEDULE_SCRATCH;
        transpose->rows.first = schedule_emit_scratch(emit, held);
        schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, 0, size),
                           schedule_run(SCHEDULE_SCRATCH, transpose->rows.first, size));
    }
}

static void schedule_transpose_exchange(const schedule_transpose_t *transpose)
{
    schedule_tree_t *tree = transpose->tree;
    const schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    const schedule_bundle_t *rows = &transpose->rows;
    split_part_t own = transpose->part;
    uint32_t members = walk->path[0].members;
    bool early = transpose->column_buffer == SCHEDULE_SCRATCH || !tree->in_place;
    /* The diagonal stays; in place with a part of one rank, it lies where it belongs. */
    if (early)
        schedule_emit_copy(
            emit,
            schedule_rows(rows->buffer, rows->first + own.left, own.size, own.size, tree->size),
            schedule_run(transpose->column_buffer,
                         transpose->columns + (uint64_t)own.left * own.size,
                         (uint64_t)own.size * own.size));
    schedule_walk_phase(walk, 0, 0, SCHEDULE_EXCHANGE);
    for (uint32_t step = 1; step < members; ++step) {
        uint32_t index = (walk->path[0].index + step) % members;
        split_part_t part = schedule_walk_member(walk, 0, index);
        schedule_emit_send(
            emit, part.left,
            schedule_rows(rows->buffer, rows->first + part.left, part.size, own.size, tree->size));
    }
    for (uint32_t index = 0; index < members; ++index) {
        split_part_t part = schedule_walk_member(walk, 0, index);
        if (index != walk->path[0].index)
            schedule_emit_place(emit, part.left,
                                schedule_run(transpose->column_buffer,
                                             transpose->columns + (uint64_t)part.left * own.size,
                                             (uint64_t)part.size * own.size),
                                early);
    }
}

static void schedule_transpose_down(const schedule_transpose_t *transpose)
{
    schedule_tree_t *tree = transpose->tree;
    const schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    bool scratch = transpose->column_buffer == SCHEDULE_SCRATCH;
    for (uint32_t level = transpose->in_top ? 1 : 0; level < walk->depth; ++level) {
        schedule_walk_phase(walk, level, 1, SCHEDULE_DOWN);
        if (!schedule_walk_leads(walk, level)) {
            schedule_emit_place(emit, schedule_walk_leader(walk, level),
                                schedule_transpose_for(transpose, transpose->part),
                                scratch || !tree->in_place);
            continue;
        }
        for (uint32_t index = 1; index < walk->path[level].members; ++index) {
            split_part_t part = schedule_walk_member(walk, level, index);
            schedule_emit_send(emit, part.left, schedule_transpose_for(transpose, part));
        }
    }
    if (scratch)
        schedule_emit_copy(
            emit, schedule_transpose_for(transpose, (split_part_t){.left = tree->rank, .size = 1}),
            schedule_run(SCHEDULE_RECEIVE, 0, tree->size));
}

/* A star: rank 0 holds the rows and sends columns from among them. */
static void schedule_transpose_at_centre(schedule_tree_t *tree)
{
    const schedule_walk_t *walk = &tree->walk;
    schedule_emitter_t *emit = &tree->emit;
    uint64_t size = tree->size;
    uint64_t rows = schedule_emit_scratch(emit, size * size);
    schedule_emit_copy(emit, schedule_run(SCHEDULE_SEND, 0, size),
                       schedule_run(SCHEDULE_SCRATCH, rows, size));
    schedule_walk_phase(walk, 0, 0, SCHEDULE_UP);
    for (uint32_t rank = 1; rank < tree->size; ++rank)
        schedule_emit_place(emit, rank, schedule_run(SCHEDULE_SCRATCH, rows + rank * size, size),
                            true);
    schedule_walk_phase(walk, 0, 1, SCHEDULE_DOWN);
    for (uint32_t rank = 1; rank < tree->size; ++rank)
        schedule_emit_send(emit, rank, schedule_rows(SCHEDULE_SCRATCH, rows + rank, 1, size, size));
    schedule_emit_copy(emit, schedule_rows(SCHEDULE_SCRATCH, rows, 1, size, size),
                       schedule_run(SCHEDULE_RECEIVE, 0, size));
}

void schedule_tree_alltoall(schedule_tree_t *tree)
{
    schedule_walk_t *walk = &tree->walk;
    if (walk->flat && tree->rank == 0) {
        schedule_transpose_at_centre(tree);
        return;
    }
    if (walk->flat) {
        schedule_walk_phase(walk, 0, 0, SCHEDULE_UP);
        schedule_emit_send(&tree->emit, 0, schedule_run(SCHEDULE_SEND, 0, tree->size));
        schedule_walk_phase(walk, 0, 1, SCHEDULE_DOWN);
        schedule_emit_place(&tree->emit, 0, schedule_run(SCHEDULE_RECEIVE, 0, tree->size),
                            !tree->in_place);
        return;
    }
    schedule_transpose_t transpose = {.tree = tree};
    schedule_transpose_prepare(&transpose);
    schedule_walk_gather(walk, &transpose.rows,
                         schedule_bundle_part(&transpose.rows, transpose.part), transpose.in_top);
    if (transpose.in_top)
        schedule_transpose_exchange(&transpose);
    schedule_transpose_down(&transpose);
}
