#include "engine/creation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/gate.h"
#include "engine/message.h"

/* A claim's label: a new one, or the member's deadline has passed and it asks for a verdict. */
enum { CLAIM_NEW = 0, CLAIM_OVERDUE = 1 };
/* CREATED says in its label that the claim has to be made again, after a while. */
enum { CREATED_VERDICT = 0, CREATED_AGAIN = 1 };
#define CREATION_AGAIN INT64_C(10000000) /* ns */

struct creation {
    struct creation *next;
    engine_t *engine;
    char *name;
    size_t name_length;
    uint32_t *ranks; /* world ranks of the members */
    uint32_t size;
    uint32_t rank;    /* the caller's among them */
    uint32_t creator; /* the creator's */
    muster_comm_options_t options;
    settings_t *settings; /* owned: becomes the communicator's; NULL: the job's */
    uint64_t settings_digest;
    bool owned; /* its caller still looks; else it lingers to answer latecomers */
    muster_status_t status;
    muster_failure_t failure;
    muster_comm_t *prepared; /* owned: becomes comm */
    muster_comm_t *comm;
    uint8_t *claim; /* owned: room for the encoded claim */
    int64_t deadline, give_up;
    int64_t again; /* when the claim is made again */
    bool asked;
    /* Generations of which a message was lost for want of memory; missed: there are some. */
    bool missed;
    uint64_t missed_first, missed_last;
    uint64_t serial; /* of the caller's claim */
    /* at the creator */
    gate_t gate;
    uint64_t *words;
    uint64_t *serials; /* of the members' claims */
    uint32_t creation;
    /* of the claim that differed: its members, and whether who is none here has been answered */
    uint32_t *strangers;
    bool *strangers_told;
    uint32_t stranger_count;
};

static bool creation_is_creator(const creation_t *creation)
{
    return creation->rank == creation->creator;
}

static uint32_t creation_find(const uint32_t *ranks, uint32_t size, uint32_t world_rank)
{
    for (uint32_t i = 0; i < size; i++)
        if (ranks[i] == world_rank)
            return i;
    return MUSTER_NO_RANK;
}

static uint32_t creation_index(const creation_t *creation, uint32_t world_rank)
{
    return creation_find(creation->ranks, creation->size, world_rank);
}

static void creation_unlink(creation_t *creation)
{
    for (creation_t **link = (creation_t **)&creation->engine->creations; *link;
         link = &(*link)->next) {
        if (*link == creation) {
            *link = creation->next;
            return;
        }
    }
}

static void creation_delete(creation_t *creation)
{
    creation_unlink(creation);
    comm_discard(creation->prepared);
    free(creation->settings);
    free(creation->claim);
    free(creation->name);
    free(creation->ranks);
    free(creation->words);
    free(creation->serials);
    free(creation->strangers);
    free(creation->strangers_told);
    free(creation);
}

static void creation_begin_failure(const creation_t *creation, muster_status_t status,
                                   uint32_t rank, muster_failure_t *failure)
{
    memset(failure, 0, sizeof *failure);
    failure->status = status;
    failure->rank = rank;
    snprintf(failure->operation, sizeof failure->operation, "create");
    if (rank != MUSTER_NO_RANK && creation->engine->transport) {
        const transport_operations_t *operations = creation->engine->transport->operations;
        const transport_peer_t *peer =
            operations->peer(creation->engine->transport, creation->ranks[rank]);
        snprintf(failure->host, sizeof failure->host, "%s", peer->host);
        failure->pid = peer->pid;
    }
    snprintf(failure->message, sizeof failure->message,
             "creating communicator \"%.64s\": ", creation->name);
}

static void creation_say(muster_failure_t *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void creation_say(muster_failure_t *failure, const char *format, ...)
{
    size_t length = strlen(failure->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message + length, sizeof failure->message - length, format, arguments);
    va_end(arguments);
}

/* ---- answers of the creator ---- */

static void creation_answer_to(creation_t *creation, uint32_t peer, uint64_t serial)
{
    engine_t *engine = creation->engine;
    uint8_t bytes[WIRE_FAILURE_SIZE];
    bool good = creation->status == MUSTER_OK;
    wire_message_t message = {.kind = WIRE_CREATED,
                              .label = CREATED_VERDICT,
                              .payload_length = good ? 0 : sizeof bytes,
                              .creator = engine->rank,
                              .creation = creation->creation,
                              .generation = serial,
                              .source = engine->rank};
    message.call.outcome = MUSTER_OUTCOME_UNIFORM;
    if (!good)
        wire_encode_failure(&creation->failure, bytes);
    engine_send(engine, peer, &message, bytes);
}

static void creation_answer(creation_t *creation, uint32_t index)
{
    if (index != creation->rank)
        creation_answer_to(creation, creation->ranks[index], creation->serials[index]);
}

static void creation_tell_arrived(creation_t *creation)
{
    for (uint32_t i = 0; i < creation->size; i++)
        if (gate_state(&creation->gate, i) == GATE_CONTRIBUTED)
            creation_answer(creation, i);
}

static void creation_make(creation_t *creation)
{
    muster_comm_t *comm = creation->prepared;
    creation->prepared = NULL;
    creation->comm = comm;
    creation->status = MUSTER_OK;
    comm_establish(comm, creation->name, creation->name_length, creation->ranks, creation->size,
                   creation->rank, &creation->options, creation->ranks[creation->creator],
                   creation->creation);
    comm->settings = creation->settings;
    comm->settings_digest = creation->settings_digest;
    creation->settings = NULL;
    if (!creation->missed)
        return;
    for (uint64_t generation = creation->missed_first; generation <= creation->missed_last;
         generation++)
        message_no_room(comm, generation, OPERATION_COUNT, 0);
}

static void creation_fail(creation_t *creation, const muster_failure_t *failure)
{
    if (creation->status != MUSTER_IN_PROGRESS)
        return;
    creation->status = failure->status;
    creation->failure = *failure;
    if (creation_is_creator(creation))
        creation_tell_arrived(creation);
}

static void creation_name_missing(creation_t *creation, muster_failure_t *failure)
{
    for (uint32_t i = 0; i < creation->size; i++) {
        if (gate_state(&creation->gate, i) != GATE_AWAITED)
            continue;
        if (failure->rank == MUSTER_NO_RANK)
            failure->rank = i;
        muster_rank_range_t *last =
            failure->range_count ? &failure->missing[failure->range_count - 1] : NULL;
        if (last && (last->last + 1 == i || failure->range_count == MUSTER_FAILURE_RANGES_MAX))
            last->last = i;
        else
            failure->missing[failure->range_count++] = (muster_rank_range_t){i, i};
    }
    for (uint32_t i = 0; i < failure->range_count; i++) {
        const muster_rank_range_t *range = &failure->missing[i];
        const char *before = i ? "," : "missing:";
        if (range->first == range->last)
            creation_say(failure, "%s rank %u", before, range->first);
        else
            creation_say(failure, "%s ranks %u-%u", before, range->first, range->last);
    }
}

static void creation_time_out(creation_t *creation)
{
    muster_failure_t failure;
    creation_begin_failure(creation, MUSTER_TIMED_OUT, MUSTER_NO_RANK, &failure);
    creation_say(&failure, "timed out, ");
    creation_name_missing(creation, &failure);
    creation_fail(creation, &failure);
}

/* ---- claims ---- */

static void creation_encode(const creation_t *creation, wire_claim_t *claim)
{
    const muster_comm_options_t *options = &creation->options;
    *claim = (wire_claim_t){.size = creation->size,
                            .rank = creation->rank,
                            .shape = (uint8_t)options->shape,
                            .generations = (uint8_t)options->generations,
                            .roots = (uint8_t)options->roots,
                            .outcome = (uint8_t)options->outcome,
                            .arity_given = options->arity.given,
                            .threshold_given = options->flat_threshold.given,
                            .arity = options->arity.given ? options->arity.value : 0,
                            .threshold =
                                options->flat_threshold.given ? options->flat_threshold.value : 0,
                            .settings = creation->settings_digest,
                            .name_length = (uint32_t)creation->name_length,
                            .name = creation->name};
}

/* Who else is concerned by a claim that differs; without memory their deadline tells them. */
static void creation_note_strangers(creation_t *creation, const wire_claim_t *claim)
{
    if (creation->strangers)
        return;
    creation->strangers = malloc(claim->size * sizeof *creation->strangers);
    creation->strangers_told = calloc(claim->size, sizeof *creation->strangers_told);
    if (!creation->strangers || !creation->strangers_told)
        return;
    creation->stranger_count = claim->size;
    for (uint32_t i = 0; i < claim->size; i++) {
        creation->strangers[i] = wire_claim_rank(claim, i);
        creation->strangers_told[i] =
            creation_index(creation, creation->strangers[i]) != MUSTER_NO_RANK;
    }
}

/* Compares a member's claim with the creator's own; the first field that differs, both values. */
static bool creation_same(creation_t *creation, uint32_t index, const wire_claim_t *claim)
{
    wire_claim_t own;
    creation_encode(creation, &own);
    const struct {
        const char *field;
        uint64_t mine, theirs;
    } fields[] = {
        {"size", own.size, claim->size},
        {"rank", index, claim->rank},
        {"shape", own.shape, claim->shape},
        {"arity", own.arity_given ? own.arity : UINT64_MAX,
         claim->arity_given ? claim->arity : UINT64_MAX},
        {"threshold", own.threshold_given ? own.threshold : UINT64_MAX,
         claim->threshold_given ? claim->threshold : UINT64_MAX},
        {"roots", own.roots, claim->roots},
        {"generations", own.generations, claim->generations},
        {"outcome", own.outcome, claim->outcome},
        {"settings", own.settings, claim->settings},
    };
    const char *field = NULL;
    uint64_t mine = 0, theirs = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !field; i++) {
        if (fields[i].mine != fields[i].theirs) {
            field = fields[i].field;
            mine = fields[i].mine;
            theirs = fields[i].theirs;
        }
    }
    for (uint32_t i = 0; !field && i < creation->size; i++) {
        if (wire_claim_rank(claim, i) != creation->ranks[i]) {
            field = "members";
            mine = creation->ranks[i];
            theirs = wire_claim_rank(claim, i);
        }
    }
    if (!field)
        return true;
    muster_failure_t failure;
    creation_begin_failure(creation, MUSTER_MISMATCH, index, &failure);
    snprintf(failure.field, sizeof failure.field, "%s", field);
    char values[2][24];
    bool digests = strcmp(field, "settings") == 0; /* which say nothing to anybody */
    snprintf(values[0], sizeof values[0], "%llu", (unsigned long long)mine);
    snprintf(values[1], sizeof values[1], "%llu", (unsigned long long)theirs);
    if (digests)
        creation_say(&failure, "settings differs: not the same on rank %u and rank %u",
                     creation->engine->rank, creation->ranks[index]);
    else
        creation_say(&failure, "%s differs: %s on rank %u, %s on rank %u", field,
                     mine == UINT64_MAX ? "not given" : values[0], creation->engine->rank,
                     theirs == UINT64_MAX ? "not given" : values[1], creation->ranks[index]);
    creation_note_strangers(creation, claim);
    creation_fail(creation, &failure);
    return false;
}

/* A claim like the one that differed, of a rank that is no member here: it has the same failure. */
static bool creation_refuses(creation_t *creation, const wire_claim_t *claim, uint32_t peer,
                             uint64_t serial)
{
    uint32_t place = creation_find(creation->strangers, creation->stranger_count, peer);
    if (place == MUSTER_NO_RANK || creation->strangers_told[place] ||
        claim->size != creation->stranger_count || claim->name_length != creation->name_length ||
        memcmp(claim->name, creation->name, creation->name_length) != 0)
        return false;
    for (uint32_t i = 0; i < claim->size; i++)
        if (wire_claim_rank(claim, i) != creation->strangers[i])
            return false;
    creation->strangers_told[place] = true;
    creation_answer_to(creation, peer, serial);
    return true;
}

static bool creation_has_to_answer(const creation_t *creation)
{
    for (uint32_t i = 0; i < creation->stranger_count; i++)
        if (!creation->strangers_told[i])
            return true;
    return !gate_is_complete(&creation->gate);
}

static bool creation_wants(const creation_t *creation, const wire_claim_t *claim, uint32_t peer,
                           uint32_t *index)
{
    if (!creation_is_creator(creation) || claim->name_length != creation->name_length ||
        memcmp(claim->name, creation->name, creation->name_length) != 0)
        return false;
    *index = creation_index(creation, peer);
    return *index != MUSTER_NO_RANK && gate_state(&creation->gate, *index) == GATE_AWAITED;
}

static void creation_take_waiting(creation_t *creation);

/* Takes a member's claim: compares it, and makes the communicator when it was the last. */
static void creation_take(creation_t *creation, uint32_t index, const wire_message_t *message,
                          const wire_claim_t *claim)
{
    creation->serials[index] = message->generation;
    bool pending = creation->status == MUSTER_IN_PROGRESS;
    gate_event_t event = {GATE_CONTRIBUTE, index, MUSTER_OK};
    gate_answer_t answer = gate_step(&creation->gate, event, 0);
    if (!pending) {
        creation_answer(creation, index); /* a latecomer hears the old verdict */
    } else if (creation_same(creation, index, claim)) {
        if (message->label == CLAIM_OVERDUE) {
            creation_time_out(creation);
        } else if (answer == GATE_COMPLETE) {
            creation_make(creation);
            creation_tell_arrived(creation);
        }
    }
}

static creation_t *creation_for(engine_t *engine, const wire_claim_t *claim, uint32_t peer,
                                uint32_t *index)
{
    creation_t *oldest = NULL;
    for (creation_t *creation = (creation_t *)engine->creations; creation;
         creation = creation->next) {
        uint32_t place;
        if (creation_wants(creation, claim, peer, &place)) {
            oldest = creation; /* newer ones stand in front */
            *index = place;
        }
    }
    return oldest;
}

static bool creation_is_refused(engine_t *engine, const wire_claim_t *claim, uint32_t peer,
                                uint64_t serial)
{
    for (creation_t *creation = (creation_t *)engine->creations; creation;
         creation = creation->next)
        if (creation_refuses(creation, claim, peer, serial))
            return true;
    return false;
}

/* The place of a world rank among the members that a claim names; 0 where it is none. */
static uint32_t creation_claimed_rank(const early_t *early, uint32_t world_rank)
{
    wire_claim_t claim;
    if (!wire_decode_claim(early->payload, early->message.payload_length, &claim))
        return 0;
    for (uint32_t i = 0; i < claim.size; i++)
        if (wire_claim_rank(&claim, i) == world_rank)
            return i;
    return 0;
}

/*
 * The member's deadline has passed: its claim is either taken, or waits for a creator that is late.
 */
static void creation_overdue(engine_t *engine, uint32_t peer, uint64_t serial)
{
    for (creation_t *creation = (creation_t *)engine->creations; creation;
         creation = creation->next) {
        uint32_t index =
            creation_is_creator(creation) ? creation_index(creation, peer) : MUSTER_NO_RANK;
        if (index == MUSTER_NO_RANK || creation->serials[index] != serial ||
            gate_state(&creation->gate, index) != GATE_CONTRIBUTED)
            continue;
        if (creation->status == MUSTER_IN_PROGRESS)
            creation_time_out(creation);
        else
            creation_answer(creation, index);
        break;
    }
    for (early_t *claim = engine->claims; claim; claim = claim->next) {
        if (claim->peer != peer || claim->message.generation != serial)
            continue;
        /* The creator has not come yet: say so, and let it hear the same when it does. */
        claim->message.label = CLAIM_OVERDUE;
        uint32_t rank = creation_claimed_rank(claim, engine->rank);
        muster_failure_t failure = {.status = MUSTER_TIMED_OUT, .rank = rank, .range_count = 1};
        failure.missing[0] = (muster_rank_range_t){rank, rank};
        snprintf(failure.operation, sizeof failure.operation, "create");
        creation_say(&failure, "creating a communicator: timed out, missing: rank %u, its creator",
                     rank);
        uint8_t bytes[WIRE_FAILURE_SIZE];
        wire_encode_failure(&failure, bytes);
        wire_message_t message = {.kind = WIRE_CREATED,
                                  .payload_length = sizeof bytes,
                                  .creator = engine->rank,
                                  .generation = serial,
                                  .source = engine->rank};
        message.call.outcome = MUSTER_OUTCOME_UNIFORM;
        engine_send(engine, peer, &message, bytes);
        break;
    }
}

void creation_put_off(engine_t *engine, uint32_t peer, const wire_message_t *message)
{
    wire_message_t again = {.kind = WIRE_CREATED,
                            .label = CREATED_AGAIN,
                            .creator = engine->rank,
                            .generation = message->generation,
                            .source = engine->rank};
    again.call.outcome = MUSTER_OUTCOME_UNIFORM;
    engine_send(engine, peer, &again, NULL);
}

void creation_miss(engine_t *engine, const wire_message_t *message)
{
    uint64_t generation = generation_public(message->generation);
    for (creation_t *creation = (creation_t *)engine->creations; creation;
         creation = creation->next) {
        if (creation->status != MUSTER_IN_PROGRESS ||
            creation->ranks[creation->creator] != message->creator || generation == 0 ||
            generation > GENERATION_WINDOW)
            continue;
        if (!creation->missed || generation < creation->missed_first)
            creation->missed_first = generation;
        if (!creation->missed || generation > creation->missed_last)
            creation->missed_last = generation;
        creation->missed = true;
    }
}

void creation_on_claim(engine_t *engine, uint32_t peer, const wire_message_t *message,
                       const uint8_t *payload)
{
    wire_claim_t claim;
    if (!wire_decode_claim(payload, message->payload_length, &claim)) {
        engine->bad_messages++;
        return;
    }
    if (message->label == CLAIM_OVERDUE) {
        creation_overdue(engine, peer, message->generation);
        return;
    }
    uint32_t index = 0;
    if (creation_is_refused(engine, &claim, peer, message->generation))
        return;
    creation_t *creation = creation_for(engine, &claim, peer, &index);
    if (!creation) {
        if (!message_keep_whole(engine, peer, message, payload, &engine->claims))
            creation_put_off(engine, peer, message);
        return;
    }
    creation_take(creation, index, message, &claim);
    if (creation->stranger_count > 0)
        creation_take_waiting(creation); /* those that it has become able to answer */
}

static void creation_take_waiting(creation_t *creation)
{
    engine_t *engine = creation->engine;
    early_t **link = &engine->claims;
    while (*link) {
        early_t *early = *link;
        wire_claim_t claim;
        uint32_t index;
        bool valid = wire_decode_claim(early->payload, early->message.payload_length, &claim);
        MUSTER_ASSERT(valid);
        bool refused = creation_refuses(creation, &claim, early->peer, early->message.generation);
        if (!refused && !creation_wants(creation, &claim, early->peer, &index)) {
            link = &early->next;
            continue;
        }
        *link = early->next;
        bool differed = creation->stranger_count > 0;
        if (!refused)
            creation_take(creation, index, &early->message, &claim);
        message_free_early(engine, early);
        if (!differed && creation->stranger_count > 0)
            link = &engine->claims; /* those before it may be answered now */
    }
}

static void creation_send_claim(creation_t *creation, uint8_t label)
{
    wire_claim_t claim;
    creation_encode(creation, &claim);
    size_t size = wire_claim_size(&claim);
    wire_encode_claim(&claim, creation->ranks, creation->claim);
    wire_message_t message = {.kind = WIRE_CLAIM,
                              .label = label,
                              .payload_length = size,
                              .generation = creation->serial,
                              .source = creation->engine->rank};
    message.call.outcome = MUSTER_OUTCOME_UNIFORM;
    engine_send(creation->engine, creation->ranks[creation->creator], &message, creation->claim);
}

/* ---- start and end ---- */

static void creation_start_at_creator(creation_t *creation)
{
    engine_t *engine = creation->engine;
    creation->creation = ++engine->creation_count;
    gate_open(&creation->gate, creation->words, creation->size, true, GATE_FAIL_ON_LOSS,
              GATE_NO_DEADLINE);
    gate_event_t own = {GATE_CONTRIBUTE, creation->rank, MUSTER_OK};
    if (gate_step(&creation->gate, own, 0) == GATE_COMPLETE) {
        creation_make(creation);
        return;
    }
    for (uint32_t i = 0; i < creation->size; i++)
        if (engine->gone[creation->ranks[i]] != ENGINE_HERE)
            creation_on_gone(engine, creation->ranks[i]);
    creation_take_waiting(creation);
}

creation_t *creation_prepare(engine_t *engine, uint32_t size)
{
    creation_t *creation = calloc(1, sizeof *creation);
    if (!creation)
        return NULL;
    wire_claim_t largest = {.size = size, .name_length = MUSTER_NAME_MAX};
    creation->engine = engine;
    creation->status = MUSTER_IN_PROGRESS;
    creation->name = malloc(MUSTER_NAME_MAX + 1);
    creation->ranks = malloc(size * sizeof *creation->ranks);
    creation->words = malloc(GATE_MEMORY_WORDS(size) * sizeof *creation->words);
    creation->serials = calloc(size, sizeof *creation->serials);
    creation->claim = malloc(wire_claim_size(&largest));
    creation->prepared = comm_prepare(engine, MUSTER_NAME_MAX, size);
    if (creation->name && creation->ranks && creation->words && creation->serials &&
        creation->claim && creation->prepared)
        return creation;
    creation_delete(creation);
    return NULL;
}

void creation_use_settings(creation_t *creation, settings_t *settings, uint64_t digest)
{
    creation->settings = settings;
    creation->settings_digest = digest;
}

void creation_begin(creation_t *creation, const char *name, const uint32_t *ranks, uint32_t size,
                    const muster_comm_options_t *options)
{
    engine_t *engine = creation->engine;
    creation->name_length = strlen(name);
    MUSTER_ASSERT(creation->name_length <= MUSTER_NAME_MAX);
    memcpy(creation->name, name, creation->name_length + 1);
    memcpy(creation->ranks, ranks, size * sizeof *ranks);
    creation->size = size;
    creation->rank = creation_index(creation, engine->rank);
    MUSTER_ASSERT(creation->rank != MUSTER_NO_RANK);
    for (uint32_t i = 1; i < size; i++)
        if (ranks[i] < ranks[creation->creator])
            creation->creator = i;
    creation->options = *options;
    creation->options.failure = NULL;
    creation->options.settings = NULL;
    creation->owned = true;
    creation->deadline = engine_deadline(engine, options->timeout, engine->timeout);
    creation->give_up = INT64_MAX;
    creation->again = INT64_MAX;
    creation->next = (creation_t *)engine->creations;
    engine->creations = creation;
    if (creation_is_creator(creation)) {
        creation_start_at_creator(creation);
    } else {
        creation->serial = ++engine->claim_count;
        uint32_t creator = ranks[creation->creator];
        if (engine->gone[creator] != ENGINE_HERE)
            creation_on_gone(engine, creator);
        else
            creation_send_claim(creation, CLAIM_NEW);
    }
}

muster_status_t creation_start(engine_t *engine, const char *name, const uint32_t *ranks,
                               uint32_t size, const muster_comm_options_t *options,
                               creation_t **result)
{
    creation_t *creation = creation_prepare(engine, size);
    if (!creation)
        return MUSTER_NO_MEMORY;
    creation_begin(creation, name, ranks, size, options);
    *result = creation;
    return MUSTER_OK;
}

muster_status_t creation_status(const creation_t *creation, muster_comm_t **comm,
                                muster_failure_t *failure)
{
    if (creation->status == MUSTER_OK)
        *comm = creation->comm;
    else if (creation->status != MUSTER_IN_PROGRESS && failure)
        *failure = creation->failure;
    return creation->status;
}

void creation_free(creation_t *creation)
{
    if (!creation)
        return;
    engine_t *engine = creation->engine;
    creation->owned = false;
    /* A failed one goes on answering members that come later, for a while. */
    bool lingers = !engine->shutting_down && creation_is_creator(creation) &&
                   creation->status != MUSTER_OK && creation->status != MUSTER_IN_PROGRESS &&
                   creation_has_to_answer(creation);
    if (lingers)
        creation->give_up = engine_now(engine) + ENGINE_DEFAULT_TIMEOUT;
    else
        creation_delete(creation);
    if (!engine->creations)
        message_drop_orphans(engine);
}

/* ---- events ---- */

void creation_on_created(engine_t *engine, uint32_t peer, const wire_message_t *message,
                         const uint8_t *payload)
{
    creation_t *creation = (creation_t *)engine->creations;
    while (creation &&
           (creation_is_creator(creation) || creation->ranks[creation->creator] != peer ||
            creation->serial != message->generation))
        creation = creation->next;
    if (!creation || creation->status != MUSTER_IN_PROGRESS)
        return;
    if (message->label == CREATED_AGAIN) {
        creation->again = engine_now(engine) + CREATION_AGAIN;
        return;
    }
    if (message->payload_length == 0) {
        creation->creation = message->creation;
        creation_make(creation);
        return;
    }
    muster_failure_t failure;
    if (wire_decode_failure(payload, message->payload_length, &failure))
        creation_fail(creation, &failure);
    else
        engine->bad_messages++;
}

void creation_on_gone(engine_t *engine, uint32_t world_rank)
{
    for (creation_t *creation = (creation_t *)engine->creations; creation;
         creation = creation->next) {
        uint32_t index = creation_index(creation, world_rank);
        if (index == MUSTER_NO_RANK || creation->status != MUSTER_IN_PROGRESS)
            continue;
        if (creation_is_creator(creation) ? gate_state(&creation->gate, index) != GATE_AWAITED
                                          : index != creation->creator)
            continue;
        muster_failure_t failure;
        creation_begin_failure(creation, MUSTER_PEER_LOST, index, &failure);
        const char *how = engine->how[world_rank];
        creation_say(&failure, "rank %u %s%s%s", index,
                     engine->gone[world_rank] == ENGINE_LEFT ? "has left" : "was lost",
                     how[0] ? ": " : "", how);
        creation_fail(creation, &failure);
    }
}

void creation_tick(engine_t *engine, int64_t now)
{
    for (creation_t *creation = (creation_t *)engine->creations, *next; creation; creation = next) {
        next = creation->next;
        if (!creation->owned) {
            if (now >= creation->give_up || !creation_has_to_answer(creation))
                creation_delete(creation);
            continue;
        }
        if (creation->status != MUSTER_IN_PROGRESS)
            continue;
        if (now >= creation->again && !creation->asked) {
            creation->again = INT64_MAX;
            creation_send_claim(creation, CLAIM_NEW);
        }
        if (now >= creation->deadline && creation_is_creator(creation)) {
            creation_time_out(creation);
        } else if (now >= creation->deadline && !creation->asked) {
            creation->asked = true;
            creation->give_up = now + ENGINE_GRACE;
            creation_send_claim(creation, CLAIM_OVERDUE);
        } else if (now >= creation->give_up) {
            muster_failure_t failure;
            creation_begin_failure(creation, MUSTER_UNDECIDED, creation->creator, &failure);
            creation_say(&failure, "its creator, rank %u, did not answer", creation->creator);
            creation_fail(creation, &failure);
        }
    }
}

int64_t creation_next_deadline(const engine_t *engine)
{
    int64_t earliest = INT64_MAX;
    for (const creation_t *creation = (const creation_t *)engine->creations; creation;
         creation = creation->next) {
        int64_t due = creation->asked || !creation->owned ? creation->give_up : creation->deadline;
        if (creation->again < due && !creation->asked)
            due = creation->again;
        if (creation->owned && creation->status != MUSTER_IN_PROGRESS)
            continue;
        if (due < earliest)
            earliest = due;
    }
    return earliest;
}
