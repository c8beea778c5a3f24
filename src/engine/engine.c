#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "engine/creation.h"
#include "engine/farewell.h"
#include "engine/message.h"
#include "engine/outcome.h"
#include "engine/request.h"

/* A control message on its way, or to be sent, with its payload. */
typedef struct control {
    transfer_t transfer;
    struct control *next, *previous;
    uint32_t peer;
    bool spare;      /* the engine's, for want of memory */
    int64_t give_up; /* unsent: the peer is lost then */
    size_t length;
    uint8_t header[WIRE_HEADER_SIZE];
    uint8_t payload[];
} control_t;

/* The longest control message but for claims: a failure, or a state with a small value. */
#define CONTROL_PAYLOAD_MAX (WIRE_STATE_SIZE + COMM_SMALL)
_Static_assert(WIRE_FAILURE_SIZE <= CONTROL_PAYLOAD_MAX, "a failure fits");

static void engine_control_free(engine_t *engine, control_t *control)
{
    if (control && control->spare && !engine->shutting_down)
        engine->spare = control;
    else
        free(control);
}

static void engine_control_done(engine_t *engine, control_t *control)
{
    if (control->previous)
        control->previous->next = control->next;
    else
        engine->controls = control->next;
    if (control->next)
        control->next->previous = control->previous;
    engine_control_free(engine, control);
}

/* The transport has no memory for it now. */
static void engine_remember(engine_t *engine, control_t *control)
{
    if (control->give_up == INT64_MAX)
        control->give_up = engine_now(engine) + ENGINE_GRACE;
    if (engine->unsent)
        engine->unsent_end->next = control;
    else
        engine->unsent = control;
    engine->unsent_end = control;
    if (engine->retry == INT64_MAX)
        engine->retry = engine_now(engine) + ENGINE_RETRY;
}

static void engine_drop_unsent(engine_t *engine, uint32_t peer)
{
    control_t *unsent = engine->unsent;
    engine->unsent = engine->unsent_end = NULL;
    while (unsent) {
        control_t *control = unsent;
        unsent = control->next;
        control->next = NULL;
        if (peer == MUSTER_NO_RANK || control->peer == peer)
            engine_control_free(engine, control);
        else
            engine_remember(engine, control);
    }
}

static muster_status_t engine_make_world(engine_t *engine, muster_outcome_t outcome)
{
    uint32_t *members = malloc(engine->size * sizeof *members);
    if (!members)
        return MUSTER_NO_MEMORY;
    for (uint32_t rank = 0; rank < engine->size; rank++)
        members[rank] = rank;
    muster_comm_options_t options = {.outcome = outcome};
    muster_status_t status = comm_create(engine, "world", 5, members, engine->size, engine->rank,
                                         &options, 0, 0, &engine->world);
    if (status == MUSTER_OK)
        status = farewell_create(engine);
    free(members);
    return status;
}

muster_status_t engine_create(transport_t *transport, int64_t timeout, muster_outcome_t outcome,
                              const settings_t *settings, engine_t **result)
{
    engine_t *engine = calloc(1, sizeof *engine);
    if (!engine)
        return MUSTER_NO_MEMORY;
    engine->transport = transport;
    engine->rank = transport->rank;
    engine->size = transport->size;
    engine->timeout = timeout;
    engine->settings = malloc(sizeof *engine->settings);
    if (engine->settings && settings)
        *engine->settings = *settings;
    else if (engine->settings)
        settings_begin(engine->settings);
    engine->gone = calloc(engine->size, 1);
    engine->how = calloc(engine->size, sizeof *engine->how);
    engine->spare = calloc(1, sizeof *engine->spare + CONTROL_PAYLOAD_MAX);
    engine->retry = INT64_MAX;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    muster_status_t status = engine->gone && engine->how && engine->spare && engine->settings
                                 ? engine_make_world(engine, outcome)
                                 : MUSTER_NO_MEMORY;
    if (engine->spare)
        engine->spare->spare = true;
    if (status != MUSTER_OK) {
        engine->transport = NULL; /* the caller keeps it on failure */
        engine_destroy(engine);
        return status;
    }
    *result = engine;
    return MUSTER_OK;
}

void engine_destroy(engine_t *engine)
{
    if (!engine)
        return;
    engine_lock(engine);
    engine->shutting_down = true;
    if (engine->transport)
        engine->transport->operations->destroy(engine->transport);
    engine->transport = NULL;
    while (engine->creations)
        creation_free((creation_t *)engine->creations);
    request_free_all(engine);
    engine->retired = NULL;
    engine->retired_count = 0;
    while (engine->comms)
        comm_free(engine->comms);
    while (engine->graves) {
        muster_comm_t *grave = engine->graves;
        engine->graves = grave->next;
        free(grave);
    }
    message_drop_orphans(engine);
    for (uint32_t peer = 0; engine->gone && peer < engine->size; peer++)
        message_peer_lost(engine, peer);
    while (engine->controls)
        engine_control_done(engine, engine->controls);
    engine_drop_unsent(engine, MUSTER_NO_RANK);
    free(engine->spare);
    while (engine->claims) {
        early_t *claim = engine->claims;
        engine->claims = claim->next;
        message_free_early(engine, claim);
    }
    engine_unlock(engine);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
    farewell_destroy(engine);
    free(engine->settings);
    free(engine->gone);
    free(engine->how);
    free(engine);
}

void engine_lock(engine_t *engine)
{
    pthread_mutex_lock(&engine->lock);
}

/* Nothing may arrive any more that would: another thread has taken it. */
static void engine_wake_polling(engine_t *engine)
{
    if (!engine->polled || !engine->polled(engine->polled_for))
        return;
    engine->polled = NULL; /* once is enough */
    engine->transport->operations->wake(engine->transport);
}

void engine_unlock(engine_t *engine)
{
    engine_wake_polling(engine);
    comm_reap(engine);
    pthread_mutex_unlock(&engine->lock);
}

int64_t engine_now(engine_t *engine)
{
    return engine->transport->operations->now(engine->transport);
}

int64_t engine_deadline(engine_t *engine, muster_timeout_t timeout, int64_t fallback)
{
    int64_t length = fallback;
    if (timeout.kind == 2)
        length = INT64_MAX;
    else if (timeout.kind == 1)
        length = timeout.milliseconds > INT64_MAX / 2000000
                     ? INT64_MAX
                     : (int64_t)timeout.milliseconds * 1000000;
    int64_t now = engine_now(engine);
    return length > INT64_MAX - now ? INT64_MAX : now + length;
}

/* Without memory for a report the peer would wait in vain: break with it instead. */
static void engine_break(engine_t *engine, uint32_t peer, control_t *control)
{
    engine_control_free(engine, control);
    engine->transport->operations->lose(engine->transport, peer, MUSTER_NO_MEMORY);
}

static bool engine_has_unsent(const engine_t *engine, uint32_t peer)
{
    for (const control_t *control = engine->unsent; control; control = control->next)
        if (control->peer == peer)
            return true;
    return false;
}

/* Room for a control message; NULL: none. */
static control_t *engine_control(engine_t *engine, uint32_t peer, const uint8_t *header,
                                 const uint8_t *payload, size_t length)
{
    control_t *control = malloc(sizeof *control + length);
    if (control) {
        control->spare = false;
    } else if (engine->spare && length <= CONTROL_PAYLOAD_MAX) {
        control = engine->spare;
        engine->spare = NULL;
    } else {
        return NULL;
    }
    memset(&control->transfer, 0, sizeof control->transfer);
    control->transfer.kind = TRANSFER_CONTROL;
    control->next = control->previous = NULL;
    control->peer = peer;
    control->give_up = INT64_MAX;
    control->length = length;
    memcpy(control->header, header, WIRE_HEADER_SIZE);
    if (length > 0)
        memcpy(control->payload, payload, length);
    return control;
}

/* Sends it, or remembers it for later; takes it over. */
static void engine_hand_over(engine_t *engine, control_t *control)
{
    transport_t *transport = engine->transport;
    bool done = false;
    muster_status_t status = MUSTER_NO_MEMORY;
    transport_span_t span = {control->payload, control->length};
    if (!engine_has_unsent(engine, control->peer))
        status = transport->operations->send(transport, control->peer, control->header, &span,
                                             control->length ? 1 : 0, control, &done);
    if (status == MUSTER_NO_MEMORY) {
        engine_remember(engine, control);
    } else if (status != MUSTER_OK || done) {
        engine_control_free(engine, control);
    } else {
        control->previous = NULL;
        control->next = engine->controls;
        if (control->next)
            control->next->previous = control;
        engine->controls = control;
    }
}

void engine_send(engine_t *engine, uint32_t peer, const wire_message_t *message,
                 const uint8_t *payload)
{
    uint8_t header[WIRE_HEADER_SIZE];
    transport_t *transport = engine->transport;
    size_t length = message->payload_length;
    if (!transport || engine->gone[peer] == ENGINE_LOST)
        return;
    wire_encode(message, header);
    if (length == 0 && !engine->unsent) { /* nothing has to be kept, as a rule */
        bool done = false;
        transport_span_t none = {NULL, 0};
        if (transport->operations->send(transport, peer, header, &none, 0, NULL, &done) !=
            MUSTER_NO_MEMORY)
            return;
    }
    control_t *control = engine_control(engine, peer, header, payload, length);
    if (control)
        engine_hand_over(engine, control);
    else
        engine_break(engine, peer, NULL);
}

bool engine_is_flushed(const engine_t *engine)
{
    return !engine->unsent && engine->transport->operations->flushed(engine->transport);
}

static void engine_sent(engine_t *engine, transfer_t *transfer)
{
    if (!transfer)
        return;
    if (transfer->kind == TRANSFER_CONTROL)
        engine_control_done(engine, (control_t *)transfer);
    else
        request_sent(transfer);
}

/* Sends again what the transport had no memory for. */
static void engine_retry(engine_t *engine, int64_t now)
{
    control_t *unsent = engine->unsent;
    engine->unsent = engine->unsent_end = NULL;
    engine->retry = INT64_MAX;
    while (unsent) {
        control_t *control = unsent;
        unsent = control->next;
        control->next = NULL;
        if (engine->gone[control->peer] == ENGINE_LOST)
            engine_control_free(engine, control);
        else if (now >= control->give_up)
            engine_break(engine, control->peer, control);
        else
            engine_hand_over(engine, control);
    }
}

static void engine_tick(engine_t *engine)
{
    int64_t now = engine_now(engine);
    for (muster_request_t *request = engine->active, *next; request; request = next) {
        next = request->next;
        request_tick(request, now);
    }
    for (muster_comm_t *comm = engine->comms; comm; comm = comm->next) {
        outcome_tick(comm, now);
        if (comm->queue)
            request_start_queued(comm);
    }
    creation_tick(engine, now);
    if (now >= engine->retry)
        engine_retry(engine, now);
}

int64_t engine_next_deadline(const engine_t *engine)
{
    int64_t earliest = creation_next_deadline(engine);
    if (engine->retry < earliest)
        earliest = engine->retry;
    for (const muster_request_t *request = engine->active; request; request = request->next) {
        int64_t deadline = request_next_deadline(request);
        if (deadline < earliest)
            earliest = deadline;
    }
    for (const muster_comm_t *comm = engine->comms; comm; comm = comm->next) {
        int64_t deadline = outcome_next_deadline(comm);
        if (deadline < earliest)
            earliest = deadline;
    }
    return earliest;
}

static void engine_mark_gone(engine_t *engine, uint32_t world_rank, engine_gone_t gone)
{
    if (world_rank >= engine->size || engine->gone[world_rank] != ENGINE_HERE)
        return;
    engine->gone[world_rank] = (uint8_t)gone;
    for (muster_comm_t *comm = engine->comms; comm; comm = comm->next) {
        uint32_t rank = comm_rank_of(comm, world_rank);
        if (rank != MUSTER_NO_RANK)
            outcome_on_gone(comm, rank, gone);
    }
    creation_on_gone(engine, world_rank);
    farewell_on_gone(engine, world_rank);
}

/* The transport has delivered everything of a peer that is gone. */
static void engine_lost(engine_t *engine, uint32_t peer, muster_status_t why)
{
    for (muster_comm_t *comm = engine->comms; comm; comm = comm->next)
        for (unsigned i = 0; i < GENERATION_WINDOW; i++)
            if (comm->operations[i]) /* one may end others */
                request_peer_lost(comm->operations[i], peer);
    message_peer_lost(engine, peer);
    for (control_t *control = engine->controls, *next; control; control = next) {
        next = control->next;
        if (control->peer == peer)
            engine_control_done(engine, control);
    }
    engine_drop_unsent(engine, peer);
    if (engine->how[peer][0] == 0 && why != MUSTER_PEER_LOST && why != MUSTER_SHUT_DOWN) {
        const transport_peer_t *known =
            engine->transport->operations->peer(engine->transport, peer);
        snprintf(engine->how[peer], sizeof engine->how[peer], "%s",
                 known->why ? known->why : muster_status_text(why));
    }
    engine_mark_gone(engine, peer, why == MUSTER_SHUT_DOWN ? ENGINE_LEFT : ENGINE_LOST);
}

void engine_peer_leaves(engine_t *engine, uint32_t peer)
{
    engine_mark_gone(engine, peer, ENGINE_LEFT);
}

void engine_hear_gone(engine_t *engine, uint32_t world_rank, engine_gone_t gone, const char *how)
{
    if (world_rank >= engine->size || world_rank == engine->rank ||
        engine->gone[world_rank] != ENGINE_HERE)
        return;
    snprintf(engine->how[world_rank], sizeof engine->how[world_rank], "%s", how);
    engine->transport->operations->lose(engine->transport, world_rank,
                                        gone == ENGINE_LEFT ? MUSTER_SHUT_DOWN : MUSTER_PEER_LOST);
}

static void engine_event(engine_t *engine, const transport_event_t *event)
{
    switch (event->kind) {
    case TRANSPORT_MESSAGE:
    case TRANSPORT_HEADER:
    case TRANSPORT_RECEIVED:
        message_event(engine, event);
        break;
    case TRANSPORT_SENT:
        engine_sent(engine, event->token);
        break;
    case TRANSPORT_LOST:
        engine_lost(engine, event->peer, event->status);
        break;
    }
}

void engine_progress(engine_t *engine)
{
    transport_t *transport = engine->transport;
    transport_event_t event;
    bool any = false;
    engine->progressed++;
    while (transport->operations->poll(transport, &event)) {
        engine_event(engine, &event);
        any = true;
    }
    engine_tick(engine);
    if (any && engine->waiters > 0)
        pthread_cond_broadcast(&engine->changed);
    request_run_callbacks(engine);
}

static void engine_await_until(engine_t *engine, int64_t until)
{
    engine_wake_polling(engine); /* the lock is given up */
    engine->waiters++;
    int64_t capped = until == INT64_MAX ? engine_now(engine) + 1000000000 : until;
    struct timespec time = {capped / 1000000000, capped % 1000000000};
    pthread_cond_timedwait(&engine->changed, &engine->lock, &time);
    engine->waiters--;
}

void engine_await(engine_t *engine)
{
    engine_await_until(engine, INT64_MAX);
}

static void engine_sleep(engine_t *engine, bool (*done)(void *argument), void *argument,
                         int64_t until)
{
    if (engine->polling) {
        if (until < engine->polled_until)
            engine->transport->operations->wake(engine->transport);
        engine_await_until(engine, until);
        return;
    }
    int64_t next = engine_next_deadline(engine);
    if (next > until)
        next = until;
    int64_t timeout = -1;
    if (next != INT64_MAX) {
        timeout = next - engine_now(engine);
        if (timeout < 0)
            timeout = 0;
    }
    transport_t *transport = engine->transport;
    engine->polling = true;
    engine->polled = done;
    engine->polled_for = argument;
    engine->polled_until = next;
    engine_unlock(engine);
    transport->operations->wait(transport, timeout);
    engine_lock(engine);
    engine->polling = false;
    engine->polled = NULL;
}

/* As engine_progress, but stops at the event that brings what is waited for: true then. */
static bool engine_progress_until(engine_t *engine, bool (*done)(void *argument), void *argument)
{
    transport_t *transport = engine->transport;
    transport_event_t event;
    engine->progressed++;
    while (transport->operations->poll(transport, &event)) {
        engine_event(engine, &event);
        if (done(argument))
            break;
    }
    bool finished = done(argument);
    if (!finished) {
        engine_tick(engine);
        finished = done(argument);
    }
    if (engine->callbacks)
        request_run_callbacks(engine);
    return finished || done(argument); /* what is waited for may be a callback's end */
}

bool engine_wait(engine_t *engine, bool (*done)(void *argument), void *argument, int64_t deadline)
{
    bool finished = done(argument);
    while (!finished) {
        finished = engine_progress_until(engine, done, argument);
        if (finished || (deadline != INT64_MAX && engine_now(engine) >= deadline))
            break;
        engine_sleep(engine, done, argument, deadline);
        finished = done(argument);
    }
    /* Whoever still waits has something to see, or has to poll now. */
    if (engine->waiters > 0)
        pthread_cond_broadcast(&engine->changed);
    return finished;
}
