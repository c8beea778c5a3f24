#include "engine/farewell.h"

#include <stdlib.h>

/* What a LEAVE message says, in its label. */
enum { LEAVE_READY = 0, LEAVE_GO = 1, LEAVE_ALONE = 2 };

struct farewell {
    gate_t gate;
    bool ready; /* this rank */
    bool over;
    uint64_t words[];
};

muster_status_t farewell_create(engine_t *engine)
{
    size_t words = GATE_MEMORY_WORDS(engine->size);
    farewell_t *farewell = calloc(1, sizeof *farewell + words * sizeof(uint64_t));
    if (!farewell)
        return MUSTER_NO_MEMORY;
    gate_open(&farewell->gate, farewell->words, engine->size, true, GATE_GO_ON, GATE_NO_DEADLINE);
    engine->farewell = farewell;
    return MUSTER_OK;
}

void farewell_destroy(engine_t *engine)
{
    free(engine->farewell);
    engine->farewell = NULL;
}

static void farewell_send(engine_t *engine, uint32_t peer, uint8_t label)
{
    wire_message_t message = {.kind = WIRE_LEAVE, .label = label, .source = engine->rank};
    message.call.outcome = MUSTER_OUTCOME_UNIFORM;
    engine_send(engine, peer, &message, NULL);
}

static uint32_t farewell_decider(const engine_t *engine)
{
    uint32_t rank = 0;
    while (rank < engine->rank && engine->gone[rank] != ENGINE_HERE)
        rank++;
    return rank;
}

static void farewell_send_all(engine_t *engine, uint8_t label)
{
    for (uint32_t peer = 0; peer < engine->size; peer++)
        if (peer != engine->rank && engine->gone[peer] == ENGINE_HERE)
            farewell_send(engine, peer, label);
}

static void farewell_step(engine_t *engine, gate_event_kind_t kind, uint32_t rank)
{
    farewell_t *farewell = engine->farewell;
    gate_step(&farewell->gate, (gate_event_t){kind, rank, MUSTER_OK}, 0);
    if (farewell->over || !farewell->ready || farewell_decider(engine) != engine->rank ||
        farewell->gate.outcome == MUSTER_IN_PROGRESS)
        return;
    farewell->over = true;
    farewell_send_all(engine, LEAVE_GO);
}

void farewell_ready(engine_t *engine)
{
    engine->farewell->ready = true;
    uint32_t decider = farewell_decider(engine);
    if (decider != engine->rank)
        farewell_send(engine, decider, LEAVE_READY);
    farewell_step(engine, GATE_CONTRIBUTE, engine->rank);
}

bool farewell_is_over(const engine_t *engine)
{
    return engine->farewell->over;
}

void farewell_leave_alone(engine_t *engine)
{
    farewell_send_all(engine, LEAVE_ALONE);
}

void farewell_on_message(engine_t *engine, uint32_t peer, const wire_message_t *message)
{
    if (message->label == LEAVE_READY)
        farewell_step(engine, GATE_CONTRIBUTE, peer);
    else if (message->label == LEAVE_GO)
        engine->farewell->over = true;
    else if (message->label == LEAVE_ALONE)
        engine_peer_leaves(engine, peer);
    else
        engine->bad_messages++;
}

void farewell_on_gone(engine_t *engine, uint32_t world_rank)
{
    farewell_t *farewell = engine->farewell;
    uint32_t decider = farewell_decider(engine);
    if (farewell->ready && !farewell->over && world_rank < decider && decider != engine->rank)
        farewell_send(engine, decider, LEAVE_READY); /* the one before may not have heard all */
    farewell_step(engine, GATE_LOSE, world_rank);
}
