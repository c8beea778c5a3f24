/*
 * The chain family: pipelines. A vector is sent in pieces, one behind the other, over the links of
 * a chain that begins at the root, or towards it. Every rank passes on each piece once, whatever
 * the size of the team, so that long vectors take little more than their own time; that time does
 * not grow with the team, but the first piece has to pass all links.
 */
#include "core/assertion.h"
#include "core/schedule_chain_parts.h"

#define SCHEDULE_CHAIN_NONE UINT32_MAX

typedef struct schedule_pipe {
    schedule_chain_t *chain;
    uint32_t pieces;
    uint32_t nearer; /* the next rank towards the root; at the root: NONE */
    /* The next ranks away from it, or NONE: its value belongs to the left or the right of this. */
    uint32_t left, right;
} schedule_pipe_t;

bool schedule_chain_is_straight(const schedule_request_t *request)
{
    return request->root == 0 || request->root == request->size - 1 ||
           (request->operation == OPERATION_REDUCE && !request->commutative);
}

uint32_t schedule_chain_pieces(const schedule_request_t *request)
{
    uint32_t pieces = request->segments > 0 && request->size > 1 ? request->segments : 1;
    MUSTER_ASSERT(pieces <= SCHEDULE_ROUNDS_MAX);
    return pieces;
}

static schedule_pipe_t schedule_pipe_of(schedule_chain_t *chain)
{
    const schedule_request_t *request = chain->request;
    uint32_t rank = chain->rank;
    uint32_t root = request->root;
    uint32_t last = chain->size - 1;
    schedule_pipe_t pipe = {.chain = chain,
                            .pieces = schedule_chain_pieces(request),
                            .nearer = SCHEDULE_CHAIN_NONE,
                            .left = SCHEDULE_CHAIN_NONE,
                            .right = SCHEDULE_CHAIN_NONE};
    if (schedule_chain_is_straight(request)) {
        if (rank != root)
            pipe.nearer = rank < root ? rank + 1 : rank - 1;
        if (rank > 0 && rank <= root)
            pipe.left = rank - 1;
        if (rank < last && rank >= root)
            pipe.right = rank + 1;
        return pipe;
    }
    uint32_t next = rank < last ? rank + 1 : 0;
    if (rank != root)
        pipe.nearer = rank > 0 ? rank - 1 : last;
    if (next != root)
        pipe.right = next;
    return pipe;
}

/*
 * The link between two ranks, by its ends. The root, with a chain on either side, meets both at
 * once: its links have one name.
 */
static void schedule_pipe_link(const schedule_pipe_t *pipe, uint32_t other, uint32_t piece)
{
    uint32_t rank = pipe->chain->rank;
    uint32_t root = pipe->chain->request->root;
    uint32_t last = pipe->chain->size - 1;
    uint32_t left = rank < other ? rank : other;
    uint32_t right = rank < other ? other : rank;
    bool two_sided = schedule_chain_is_straight(pipe->chain->request) && root > 0 && root < last;
    if (two_sided && (rank == root || other == root)) {
        left = root - 1;
        right = root + 1;
    }
    schedule_emit_round(&pipe->chain->emit, left, right + 1, 0, piece);
}

void schedule_chain_broadcast(schedule_chain_t *chain)
{
    schedule_pipe_t pipe = schedule_pipe_of(chain);
    schedule_emitter_t *emit = &chain->emit;
    bool at_root = pipe.nearer == SCHEDULE_CHAIN_NONE;
    uint32_t farther = pipe.right != SCHEDULE_CHAIN_NONE ? pipe.right : pipe.left;
    schedule_emit_pieces(emit, pipe.pieces);
    for (uint32_t piece = 0; piece < pipe.pieces; ++piece) {
        schedule_region_t data = schedule_run(at_root ? SCHEDULE_SEND : SCHEDULE_RECEIVE, piece, 1);
        if (!at_root) {
            schedule_pipe_link(&pipe, pipe.nearer, piece);
            schedule_emit_place(emit, pipe.nearer, data, true);
        }
        if (farther != SCHEDULE_CHAIN_NONE) {
            schedule_pipe_link(&pipe, farther, piece);
            schedule_emit_send(emit, farther, data);
        }
    }
}

/* Where the pieces of a reduction are, at one rank: blocks from which piece 0 begins. */
typedef struct schedule_pipe_places {
    schedule_buffer_t result; /* RECEIVE at the root, else scratch */
    uint64_t into;
    schedule_buffer_t from_left, from_right;
    uint64_t left, right; /* what comes from either side */
} schedule_pipe_places_t;

static uint64_t schedule_pipe_row(schedule_pipe_t *pipe)
{
    return schedule_emit_scratch(&pipe->chain->emit, pipe->pieces);
}

/*
 * What comes goes to where the result will be, unless the own value lies there, or something from
 * the other side does.
 */
static schedule_pipe_places_t schedule_pipe_prepare(schedule_pipe_t *pipe)
{
    bool at_root = pipe->nearer == SCHEDULE_CHAIN_NONE;
    bool comes_left = pipe->left != SCHEDULE_CHAIN_NONE;
    bool comes_right = pipe->right != SCHEDULE_CHAIN_NONE;
    schedule_pipe_places_t places = {.result = SCHEDULE_RECEIVE};
    if (!at_root) {
        places.result = SCHEDULE_SCRATCH;
        if (comes_left || comes_right)
            places.into = schedule_pipe_row(pipe);
    }
    places.from_left = places.result;
    places.from_right = places.result;
    places.left = places.into;
    places.right = places.into;
    if (comes_left && pipe->chain->in_place) {
        places.from_left = SCHEDULE_SCRATCH;
        places.left = schedule_pipe_row(pipe);
    }
    if (comes_right && (comes_left || pipe->chain->in_place)) {
        places.from_right = SCHEDULE_SCRATCH;
        places.right = schedule_pipe_row(pipe);
    }
    return places;
}

/* Receives a piece from the ranks farther away, and combines. Returns what is to be passed on. */
static schedule_region_t schedule_pipe_combine(const schedule_pipe_t *pipe,
                                               const schedule_pipe_places_t *places, uint32_t piece)
{
    schedule_emitter_t *emit = &pipe->chain->emit;
    bool comes_left = pipe->left != SCHEDULE_CHAIN_NONE;
    bool comes_right = pipe->right != SCHEDULE_CHAIN_NONE;
    schedule_region_t total = schedule_run(SCHEDULE_SEND, piece, 1);
    schedule_region_t into = schedule_run(places->result, places->into + piece, 1);
    schedule_region_t left = schedule_run(places->from_left, places->left + piece, 1);
    schedule_region_t right = schedule_run(places->from_right, places->right + piece, 1);
    if (!comes_left && !comes_right)
        return total;
    schedule_pipe_link(pipe, comes_left ? pipe->left : pipe->right, piece);
    if (comes_left)
        schedule_emit_place(emit, pipe->left, left, true);
    if (comes_right)
        schedule_emit_place(emit, pipe->right, right, true);
    if (comes_left) {
        schedule_emit_reduce(emit, left, total, into);
        total = into;
    }
    if (comes_right)
        schedule_emit_reduce(emit, total, right, into);
    return into;
}

void schedule_chain_reduce(schedule_chain_t *chain)
{
    schedule_pipe_t pipe = schedule_pipe_of(chain);
    schedule_emit_pieces(&chain->emit, pipe.pieces);
    schedule_pipe_places_t places = schedule_pipe_prepare(&pipe);
    for (uint32_t piece = 0; piece < pipe.pieces; ++piece) {
        schedule_region_t total = schedule_pipe_combine(&pipe, &places, piece);
        if (pipe.nearer == SCHEDULE_CHAIN_NONE)
            continue;
        schedule_pipe_link(&pipe, pipe.nearer, piece);
        schedule_emit_send(&chain->emit, pipe.nearer, total);
    }
}
