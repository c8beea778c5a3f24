/* Communicators: create, duplicate, split, destroy, describe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/creation.h"
#include "lib/check.h"
#include "lib/context.h"

#define REFUSE(status, ...) return check_refuse(failure, NULL, status, __VA_ARGS__)

static muster_status_t communicator_check_options(const muster_comm_options_t *options)
{
    muster_failure_t *failure = options->failure;
    if (options->shape > MUSTER_SHAPE_TREE)
        REFUSE(MUSTER_INVALID_ARGUMENT, "options: shape %d is unknown", (int)options->shape);
    if (options->arity.given && options->arity.value < 2)
        REFUSE(MUSTER_INVALID_ARITY, "arity: %llu is below 2",
               (unsigned long long)options->arity.value);
    if (options->flat_threshold.given && options->flat_threshold.value > UINT32_MAX)
        REFUSE(MUSTER_INVALID_ARGUMENT, "flat_threshold: too large");
    if (options->generations > MUSTER_GENERATION_COUNTED || options->roots > MUSTER_ROOT_ANY ||
        options->outcome > MUSTER_OUTCOME_LOCAL)
        REFUSE(MUSTER_INVALID_ARGUMENT, "options: generations, roots or outcome is unknown");
    if (!check_timeout(options->timeout))
        REFUSE(MUSTER_INVALID_ARGUMENT, "timeout: kind %u is unknown", options->timeout.kind);
    return MUSTER_OK;
}

static int communicator_compare(const void *one, const void *other)
{
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return left < right ? -1 : left > right;
}

static muster_status_t communicator_check_ranks(const engine_t *engine, const uint32_t *ranks,
                                                size_t count, muster_failure_t *failure)
{
    bool mine = false;
    if (count == 0)
        REFUSE(MUSTER_INVALID_ARGUMENT, "ranks: none");
    if (count > engine->size)
        REFUSE(MUSTER_INVALID_RANK, "ranks: %zu in a job of %u", count, engine->size);
    uint32_t *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        REFUSE(MUSTER_NO_MEMORY, "no memory for %zu ranks", count);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = ranks[i];
        mine = mine || ranks[i] == engine->rank;
    }
    qsort(sorted, count, sizeof *sorted, communicator_compare);
    uint32_t twice = MUSTER_NO_RANK, highest = sorted[count - 1];
    for (size_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            twice = sorted[i];
    free(sorted);
    if (highest >= engine->size)
        REFUSE(MUSTER_INVALID_RANK, "ranks: %u is outside of 0..%u", highest, engine->size - 1);
    if (twice != MUSTER_NO_RANK)
        REFUSE(MUSTER_INVALID_RANK, "ranks: %u stands there twice", twice);
    if (!mine)
        REFUSE(MUSTER_INVALID_RANK, "ranks: the caller's own rank %u is not among them",
               engine->rank);
    return MUSTER_OK;
}

static bool communicator_settled(void *argument)
{
    muster_comm_t *comm;
    return creation_status(argument, &comm, NULL) != MUSTER_IN_PROGRESS;
}

/* Room for a communicator of up to size members, before anybody hears of it. */
static creation_t *communicator_prepare(engine_t *engine, uint32_t size)
{
    engine_lock(engine);
    creation_t *creation = creation_prepare(engine, size);
    engine_unlock(engine);
    return creation;
}

/*
 * What the options set, over the job's settings; or, without options, what the parent has. OK with
 * *settings NULL: nothing of its own.
 */
static muster_status_t communicator_settings(engine_t *engine, const muster_comm_options_t *options,
                                             const muster_comm_t *parent, creation_t *creation)
{
    const settings_t *base = !options && parent ? parent->settings : NULL;
    muster_failure_t *failure = options ? options->failure : NULL;
    if (!base && !(options && options->settings))
        return MUSTER_OK;
    settings_t *settings = malloc(sizeof *settings);
    char *text = malloc(SETTINGS_TEXT_MAX + 1);
    muster_status_t status = settings && text ? MUSTER_OK : MUSTER_NO_MEMORY;
    settings_error_t error = {0};
    if (status == MUSTER_OK) {
        *settings = base ? *base : *engine->settings;
        settings->origin[SETTINGS_PLACES] = SETTINGS_BUILTIN;
        if (!base)
            status = settings_read(settings, options->settings, strlen(options->settings),
                                   SETTINGS_FROM_PROGRAM, &error);
    }
    if (status == MUSTER_OK && settings->origin[SETTINGS_PLACES] != SETTINGS_BUILTIN)
        status = check_refuse(failure, NULL, MUSTER_INVALID_ARGUMENT,
                              "options: settings: hosts are the whole job's");
    else if (status == MUSTER_NO_MEMORY)
        check_refuse(failure, NULL, status, "no memory for settings");
    else if (status != MUSTER_OK)
        check_refuse(failure, NULL, status, "options: settings, line %u, column %u: %s", error.line,
                     error.column, error.reason);
    if (status == MUSTER_OK)
        creation_use_settings(creation, settings, settings_digest(settings, text));
    else
        free(settings);
    free(text);
    return status;
}

/* One that was not begun; NULL: nothing. */
static void communicator_abandon(engine_t *engine, creation_t *creation)
{
    engine_lock(engine);
    creation_free(creation);
    engine_unlock(engine);
}

/* Checked arguments; with the lock. */
static muster_status_t communicator_make(engine_t *engine, creation_t *creation, const char *name,
                                         const uint32_t *ranks, size_t count,
                                         const muster_comm_options_t *options, muster_comm_t **comm)
{
    creation_begin(creation, name, ranks, (uint32_t)count, options);
    engine_wait(engine, communicator_settled, creation, INT64_MAX); /* it has its own deadline */
    muster_status_t status = creation_status(creation, comm, options->failure);
    creation_free(creation);
    return status;
}

muster_status_t muster_comm_create(muster_context_t *context, const char *name,
                                   const uint32_t *ranks, size_t count,
                                   const muster_comm_options_t *options, muster_comm_t **comm)
{
    static const muster_comm_options_t defaults;
    if (!options)
        options = &defaults;
    muster_failure_t *failure = options->failure;
    if (!context_usable(context))
        REFUSE(MUSTER_INVALID_HANDLE, "context: null or inherited by fork");
    if (!name || !name[0] || strlen(name) > MUSTER_NAME_MAX)
        REFUSE(MUSTER_INVALID_NAME, "name: %s", !name ? "null" : name[0] ? "too long" : "empty");
    if (!comm || (!ranks && count > 0))
        REFUSE(MUSTER_INVALID_ARGUMENT, "%s: null", comm ? "ranks" : "comm");
    muster_status_t status = communicator_check_options(options);
    if (status != MUSTER_OK)
        return status;
    engine_t *engine = context->engine;
    uint32_t *all = NULL;
    if (!ranks) {
        count = engine->size;
        all = malloc(count * sizeof *all);
        if (!all)
            REFUSE(MUSTER_NO_MEMORY, "no memory for %zu ranks", count);
        for (uint32_t i = 0; i < count; i++)
            all[i] = i;
        ranks = all;
    }
    status = communicator_check_ranks(engine, ranks, count, failure);
    creation_t *creation = NULL;
    if (status == MUSTER_OK) {
        creation = communicator_prepare(engine, (uint32_t)count);
        if (!creation)
            status = check_refuse(failure, NULL, MUSTER_NO_MEMORY, "no memory for \"%.64s\"", name);
        else
            status = communicator_settings(engine, options, NULL, creation);
    }
    if (status == MUSTER_OK) {
        engine_lock(engine);
        status = communicator_make(engine, creation, name, ranks, count, options, comm);
        engine_unlock(engine);
    } else if (creation) {
        communicator_abandon(engine, creation);
    }
    free(all);
    return status;
}

static void communicator_derive(const muster_comm_t *comm, const char *how, uint64_t number,
                                uint64_t color, char *name, size_t size)
{
    snprintf(name, size, "%.*s/%s%llu.%llu", 160, comm->name, how, (unsigned long long)number,
             (unsigned long long)color);
}

muster_status_t muster_comm_duplicate(muster_comm_t *comm, const muster_comm_options_t *options,
                                      muster_comm_t **duplicate)
{
    muster_failure_t *failure = options ? options->failure : NULL;
    if (!check_comm(comm))
        REFUSE(MUSTER_INVALID_HANDLE, "comm: null, destroyed or inherited by fork");
    if (!duplicate)
        REFUSE(MUSTER_INVALID_ARGUMENT, "duplicate: null");
    if (options) {
        muster_status_t status = communicator_check_options(options);
        if (status != MUSTER_OK)
            return status;
    }
    char name[MUSTER_NAME_MAX + 1];
    engine_t *engine = comm->engine;
    creation_t *creation = communicator_prepare(engine, comm->size);
    if (!creation) /* a call that is refused is none: made again it meets the others' */
        REFUSE(MUSTER_NO_MEMORY, "no memory to duplicate \"%.64s\"", comm->name);
    muster_status_t status = communicator_settings(engine, options, comm, creation);
    if (status != MUSTER_OK) {
        communicator_abandon(engine, creation);
        return status;
    }
    engine_lock(engine);
    communicator_derive(comm, "duplicate", ++comm->duplicates, 0, name, sizeof name);
    status = communicator_make(engine, creation, name, comm->members, comm->size,
                               options ? options : &comm->options, duplicate);
    engine_unlock(engine);
    return status;
}

/* ---- split ---- */

typedef struct place {
    uint64_t color, key;
    uint32_t given;
    uint32_t rank;
} place_t;

static int communicator_order(const void *one, const void *other)
{
    const place_t *left = one, *right = other;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

/*
 * Everybody's color and key, over the communicator's own next generation: its number names the
 * parts, so that ranks of which some see it fail do not count differently.
 */
static muster_status_t communicator_exchange(muster_comm_t *comm, const place_t *own,
                                             place_t *places, uint64_t *generation,
                                             muster_failure_t *failure)
{
    muster_call_t call = {.failure = failure};
    if (!comm->clock.automatic_allowed)
        call.generation = MUSTER_GIVEN(comm->clock.next);
    muster_request_t *request;
    muster_status_t status = muster_iallgather(
        comm, own, places, 1, MUSTER_USER_DATATYPE(sizeof(place_t)), &call, &request);
    if (status != MUSTER_OK)
        return status;
    status = muster_wait(request, MUSTER_NO_DEADLINE);
    *generation = request->generation;
    if (status != MUSTER_OK && failure)
        *failure = *muster_request_failure(request);
    muster_request_destroy(request);
    return status;
}

muster_status_t muster_comm_split(muster_comm_t *comm, muster_optional_t color, uint64_t key,
                                  const muster_comm_options_t *options, muster_comm_t **part)
{
    muster_failure_t *failure = options ? options->failure : NULL;
    if (!check_comm(comm))
        REFUSE(MUSTER_INVALID_HANDLE, "comm: null, destroyed or inherited by fork");
    if (!part)
        REFUSE(MUSTER_INVALID_ARGUMENT, "part: null");
    muster_status_t status = options ? communicator_check_options(options) : MUSTER_OK;
    if (status != MUSTER_OK)
        return status;
    place_t own = {color.value, key, color.given, comm->rank};
    uint64_t generation = 0;
    engine_t *engine = comm->engine;
    place_t *places = calloc(comm->size, sizeof *places);
    uint32_t *ranks = malloc(comm->size * sizeof *ranks);
    creation_t *creation = communicator_prepare(engine, comm->size);
    if (!places || !ranks || !creation) {
        status = check_refuse(failure, NULL, MUSTER_NO_MEMORY, "no memory to split");
    } else {
        status = communicator_settings(engine, options, comm, creation);
        if (status == MUSTER_OK)
            status = communicator_exchange(comm, &own, places, &generation, failure);
    }
    if (status == MUSTER_OK) {
        char name[MUSTER_NAME_MAX + 1];
        qsort(places, comm->size, sizeof *places, communicator_order);
        size_t count = 0;
        for (uint32_t i = 0; i < comm->size; i++)
            if (places[i].given && places[i].color == color.value)
                ranks[count++] = comm->members[places[i].rank];
        engine_lock(engine);
        communicator_derive(comm, "split", generation, color.value, name, sizeof name);
        muster_comm_t *made = NULL;
        if (color.given) {
            status = communicator_make(engine, creation, name, ranks, count,
                                       options ? options : &comm->options, &made);
            creation = NULL;
        }
        engine_unlock(engine);
        if (status == MUSTER_OK)
            *part = made;
    }
    communicator_abandon(engine, creation);
    free(places);
    free(ranks);
    return status;
}

/* ---- the rest ---- */

void muster_comm_destroy(muster_comm_t *comm)
{
    if (!check_comm(comm) || comm == comm->engine->world)
        return; /* the world is the context's */
    engine_t *engine = comm->engine;
    engine_lock(engine);
    comm_destroy(comm);
    engine_unlock(engine);
}

uint32_t muster_comm_rank(const muster_comm_t *comm)
{
    return check_comm(comm) ? comm->rank : MUSTER_NO_RANK;
}

uint32_t muster_comm_size(const muster_comm_t *comm)
{
    return check_comm(comm) ? comm->size : 0;
}

const char *muster_comm_name(const muster_comm_t *comm)
{
    return check_comm(comm) ? comm->name : "";
}

muster_status_t muster_comm_describe(const muster_comm_t *comm,
                                     muster_comm_description_t *description)
{
    if (!check_comm(comm))
        return MUSTER_INVALID_HANDLE;
    if (!description)
        return MUSTER_INVALID_ARGUMENT;
    engine_lock(comm->engine);
    comm_describe(comm, description);
    engine_unlock(comm->engine);
    return MUSTER_OK;
}

muster_status_t muster_comm_traffic(const muster_comm_t *comm, muster_traffic_t *traffic)
{
    if (!check_comm(comm))
        return MUSTER_INVALID_HANDLE;
    if (!traffic)
        return MUSTER_INVALID_ARGUMENT;
    engine_lock(comm->engine);
    *traffic = comm->traffic;
    engine_unlock(comm->engine);
    return MUSTER_OK;
}
