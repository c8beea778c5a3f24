#include "engine/comm.h"

#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "engine/message.h"
#include "engine/outcome.h"
#include "engine/request.h"

#define COMM_DEFAULT_ARITY 2
#define COMM_DEFAULT_THRESHOLD 16

static void comm_set_options(muster_comm_t *comm, const muster_comm_options_t *options)
{
    comm->options = *options;
    comm->options.failure = NULL;
    comm->options.settings = NULL;
    comm->shape = options->shape;
    comm->flat_threshold = options->flat_threshold.given ? (uint32_t)options->flat_threshold.value
                                                         : COMM_DEFAULT_THRESHOLD;
    comm->arity = comm->size < 2 ? 2 : comm->size;
    if (options->shape == MUSTER_SHAPE_TREE) {
        uint64_t arity = options->arity.given ? options->arity.value : COMM_DEFAULT_ARITY;
        /* Strict: a size of exactly the threshold is a tree (C311). 0 disables the fallback. */
        if (comm->size < comm->flat_threshold || arity >= comm->size)
            comm->shape = MUSTER_SHAPE_FLAT;
        else
            comm->arity = (uint32_t)arity;
    }
    /* What was asked for rules roots and generations, also where the tree fell back (C206). */
    bool hierarchical = options->shape == MUSTER_SHAPE_TREE;
    comm->any_root = !hierarchical || options->roots == MUSTER_ROOT_ANY;
    comm->outcome =
        options->outcome == MUSTER_OUTCOME_DEFAULT ? MUSTER_OUTCOME_UNIFORM : options->outcome;
    bool automatic = !hierarchical || options->generations == MUSTER_GENERATION_COUNTED;
    generation_start_clock(&comm->clock, 1, automatic);
}

/* Keeps the empty structure for a while, so that a handle that is used too late is refused. */
static void comm_bury(muster_comm_t *comm)
{
    engine_t *engine = comm->engine;
    memset(comm, 0, sizeof *comm);
    comm->engine = engine;
    comm->destroyed = true;
    muster_comm_t **link = &engine->graves;
    while (*link)
        link = &(*link)->next;
    *link = comm;
    if (++engine->grave_count > ENGINE_GRAVES) {
        muster_comm_t *oldest = engine->graves;
        engine->graves = oldest->next;
        engine->grave_count--;
        free(oldest);
    }
}

void comm_free(muster_comm_t *comm)
{
    engine_t *engine = comm->engine;
    for (muster_comm_t **link = &engine->comms; *link; link = &(*link)->next) {
        if (*link == comm) {
            *link = comm->next;
            break;
        }
    }
    if (engine->last == comm)
        engine->last = NULL;
    if (comm->records)
        message_drop_early(comm);
    while (comm->spare) {
        muster_request_t *request = comm->spare;
        comm->spare = request->next;
        request_free(request);
    }
    for (size_t i = 0; comm->records && i < COMM_RECORDS; i++)
        outcome_free_record(&comm->records[i]);
    choice_free(&comm->choice);
    free(comm->settings);
    free(comm->records);
    free(comm->lost);
    free(comm->heard);
    free(comm->members);
    free(comm->name);
    comm_bury(comm);
}

muster_comm_t *comm_prepare(engine_t *engine, size_t name_length, uint32_t size)
{
    muster_comm_t *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->engine = engine;
    comm->name = calloc(1, name_length + 1);
    comm->members = malloc(size * sizeof *comm->members);
    comm->records = calloc(COMM_RECORDS, sizeof *comm->records);
    comm->lost = calloc(GATE_WORDS(size), sizeof *comm->lost);
    comm->heard = calloc(size, sizeof *comm->heard);
    bool choice = choice_prepare(&comm->choice, size);
    if (choice && comm->name && comm->members && comm->records && comm->lost && comm->heard)
        return comm;
    comm_discard(comm);
    return NULL;
}

void comm_discard(muster_comm_t *comm)
{
    if (!comm)
        return;
    choice_free(&comm->choice);
    free(comm->settings);
    free(comm->records);
    free(comm->lost);
    free(comm->heard);
    free(comm->members);
    free(comm->name);
    free(comm);
}

void comm_establish(muster_comm_t *comm, const char *name, size_t name_length,
                    const uint32_t *members, uint32_t size, uint32_t rank,
                    const muster_comm_options_t *options, uint32_t creator, uint32_t creation)
{
    engine_t *engine = comm->engine;
    comm->rank = rank;
    comm->size = size;
    comm->creator = creator;
    comm->creation = creation;
    comm->last_operation = OPERATION_COUNT;
    memcpy(comm->name, name, name_length);
    memcpy(comm->members, members, size * sizeof *members);
    comm_set_options(comm, options);
    choice_find_hosts(comm);
    comm->timeout = engine->timeout;
    if (options->timeout.kind == 1)
        comm->timeout = options->timeout.milliseconds > INT64_MAX / 2000000
                            ? INT64_MAX
                            : (int64_t)options->timeout.milliseconds * 1000000;
    else if (options->timeout.kind == 2)
        comm->timeout = INT64_MAX;
    comm->holders = 1; /* the owner */
    comm->next = engine->comms;
    engine->comms = comm;
    for (uint32_t member = 0; member < size; member++)
        if (engine->gone[members[member]] != ENGINE_HERE)
            outcome_on_gone(comm, member, (engine_gone_t)engine->gone[members[member]]);
    message_adopt_orphans(comm);
}

muster_status_t comm_create(engine_t *engine, const char *name, size_t name_length,
                            const uint32_t *members, uint32_t size, uint32_t rank,
                            const muster_comm_options_t *options, uint32_t creator,
                            uint32_t creation, muster_comm_t **result)
{
    muster_comm_t *comm = comm_prepare(engine, name_length, size);
    if (!comm)
        return MUSTER_NO_MEMORY;
    comm_establish(comm, name, name_length, members, size, rank, options, creator, creation);
    *result = comm;
    return MUSTER_OK;
}

void comm_quit_all(engine_t *engine)
{
    for (muster_comm_t *comm = engine->comms; comm; comm = comm->next) {
        if (comm->destroyed)
            continue;
        message_refuse_early(comm);
        outcome_quit(comm);
    }
}

void comm_destroy(muster_comm_t *comm)
{
    if (comm->destroyed)
        return;
    comm->destroyed = true;
    for (unsigned i = 0; i < GENERATION_WINDOW; i++)
        if (comm->operations[i])
            request_release(comm->operations[i]);
    while (comm->queue) {
        muster_request_t *request = comm->queue;
        comm->queue = request->next_queued;
        request_finish(request, MUSTER_CANCELLED, NULL);
    }
    message_refuse_early(comm);
    outcome_quit(comm);
    comm_release(comm);
}

/*
 * Other members may still have to ask what was decided: it stays in the table until
 * COMM_RETIRED_MAX more have come to this. Nothing is freed here, since whoever let go of it may be
 * in the middle of it.
 */
static void comm_retire(muster_comm_t *comm)
{
    engine_t *engine = comm->engine;
    message_drop_early(comm);
    comm->next_retired = NULL;
    if (engine->retired)
        engine->retired_end->next_retired = comm;
    else
        engine->retired = comm;
    engine->retired_end = comm;
    engine->retired_count++;
}

void comm_reap(engine_t *engine)
{
    while (engine->retired_count > COMM_RETIRED_MAX) {
        muster_comm_t *oldest = engine->retired;
        engine->retired = oldest->next_retired;
        engine->retired_count--;
        comm_free(oldest);
    }
}

void comm_release(muster_comm_t *comm)
{
    MUSTER_ASSERT(comm->holders > 0);
    if (--comm->holders == 0)
        comm_retire(comm);
}

muster_comm_t *comm_find(engine_t *engine, uint32_t creator, uint32_t creation)
{
    muster_comm_t *comm = engine->last;
    if (comm && comm->creator == creator && comm->creation == creation)
        return comm;
    for (comm = engine->comms; comm; comm = comm->next)
        if (comm->creator == creator && comm->creation == creation)
            break;
    if (comm)
        engine->last = comm;
    return comm;
}

uint32_t comm_rank_of(const muster_comm_t *comm, uint32_t world_rank)
{
    if (world_rank < comm->size && comm->members[world_rank] == world_rank)
        return world_rank;
    for (uint32_t rank = 0; rank < comm->size; rank++)
        if (comm->members[rank] == world_rank)
            return rank;
    return MUSTER_NO_RANK;
}

record_t *comm_record(muster_comm_t *comm, uint64_t generation)
{
    record_t *record = &comm->records[generation % COMM_RECORDS];
    if (record->generation == generation)
        return record;
    if (record->generation > generation)
        return NULL;
    if (record->state == RECORD_FAILED) {
        comm->forgotten = record->status;
        comm->forgotten_culprit = record->culprit;
    }
    uint8_t *value = record->value;
    record->value = NULL;
    message_drop_early_of(comm, record);
    outcome_free_record(record);
    memset(record, 0, sizeof *record);
    record->generation = generation;
    record->value = value;
    return record;
}

bool comm_is_near(const muster_comm_t *comm, uint64_t generation)
{
    return generation > 0 &&
           (generation < comm->clock.low || generation - comm->clock.low <= COMM_AHEAD);
}

bool comm_synchronizes(muster_comm_t *comm, uint64_t generation, generation_mode_t mode, bool small)
{
    /* Explicit generations may be taken in any order: what came before differs among ranks. */
    if ((!small || mode == GENERATION_EXPLICIT) && generation > comm->large)
        comm->large = generation;
    if (generation % COMM_SYNCHRONIZED != 0)
        return false;
    return generation % COMM_SYNCHRONIZED_SMALL == 0 ||
           (comm->large > 0 && generation < comm->large + COMM_SYNCHRONIZED);
}

bool comm_is_lost(const muster_comm_t *comm, uint32_t rank)
{
    return comm->lost[rank / 64] >> rank % 64 & 1;
}

bool comm_is_decider(const muster_comm_t *comm)
{
    return comm->decider == comm->rank;
}

/* ---- messages ---- */

wire_message_t comm_message(const muster_comm_t *comm, wire_kind_t kind, uint64_t generation,
                            size_t payload_length)
{
    wire_message_t message = {.kind = (uint8_t)kind,
                              .payload_length = payload_length,
                              .creator = comm->creator,
                              .creation = comm->creation,
                              .generation = generation_internal(generation, 0),
                              .source = comm->rank};
    message.call.outcome = MUSTER_OUTCOME_UNIFORM;
    return message;
}

void comm_send_control(muster_comm_t *comm, uint32_t rank, const wire_message_t *message,
                       const uint8_t *payload)
{
    MUSTER_ASSERT(rank != comm->rank);
    comm->traffic.control_messages++;
    engine_send(comm->engine, comm->members[rank], message, payload);
}

void comm_describe(const muster_comm_t *comm, muster_comm_description_t *description)
{
    memset(description, 0, sizeof *description);
    description->rank = comm->rank;
    description->size = comm->size;
    description->shape = comm->shape;
    description->arity = comm->arity;
    description->flat_threshold = comm->flat_threshold;
    description->creation = (uint64_t)comm->creator << 32 | comm->creation;
    description->next_generation = comm->clock.next;
    split_group_t groups[SPLIT_PATH_MAX];
    uint32_t count = split_path(comm->size, comm->arity, comm->rank, groups);
    description->group_count = count < MUSTER_GROUPS_MAX ? count : MUSTER_GROUPS_MAX;
    for (uint32_t i = 0; i < description->group_count; i++)
        description->groups[i] =
            (muster_group_t){groups[i].left, groups[i].right, groups[i].members, groups[i].index};
}
