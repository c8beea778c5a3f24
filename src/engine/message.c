#include "engine/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/plant.h"
#include "engine/creation.h"
#include "engine/farewell.h"
#include "engine/outcome.h"
#include "engine/request.h"

/* ---- keeping ---- */

static early_t *message_keep(engine_t *engine, uint32_t peer, const wire_message_t *message)
{
    size_t length = message->payload_length;
    if (length > ENGINE_EARLY_MAX || engine->early_bytes > ENGINE_EARLY_MAX - length)
        return NULL;
    early_t *early = malloc(sizeof *early + length);
    if (!early)
        return NULL;
    engine->early_bytes += length;
    *early = (early_t){.transfer = {.kind = TRANSFER_EARLY}, .message = *message, .peer = peer};
    return early;
}

static void message_fill(early_t *early, const uint8_t *payload)
{
    if (early->message.payload_length > 0)
        memcpy(early->payload, payload, early->message.payload_length);
    early->complete = true;
}

void message_free_early(engine_t *engine, early_t *early)
{
    engine->early_bytes -= early->message.payload_length;
    free(early);
}

static void message_append(early_t **list, early_t *early)
{
    while (*list)
        list = &(*list)->next;
    early->next = NULL;
    *list = early;
}

bool message_keep_whole(engine_t *engine, uint32_t peer, const wire_message_t *message,
                        const uint8_t *payload, early_t **list)
{
    early_t *early = message_keep(engine, peer, message);
    if (!early)
        return false;
    message_fill(early, payload);
    message_append(list, early);
    return true;
}

/* Keeps a message until its generation's turn, unless that has ended. */
static void message_defer(muster_comm_t *comm, early_t *early)
{
    record_t *record = comm_record(comm, generation_public(early->message.generation));
    if (!record || record->finished || record->state == RECORD_FAILED) {
        comm->traffic.late_messages++;
        message_free_early(comm->engine, early);
        return;
    }
    early->comm = comm;
    early->next = NULL;
    if (!record->early)
        record->early_end = &record->early;
    *record->early_end = early;
    record->early_end = &early->next;
}

void message_drop_early_of(muster_comm_t *comm, record_t *record)
{
    while (record->early) {
        early_t *early = record->early;
        record->early = early->next;
        comm->traffic.late_messages++;
        message_free_early(comm->engine, early);
    }
}

void message_drop_early(muster_comm_t *comm)
{
    for (size_t i = 0; i < COMM_RECORDS; i++)
        message_drop_early_of(comm, &comm->records[i]);
}

void message_drop_orphans(engine_t *engine)
{
    while (engine->orphans) {
        early_t *early = engine->orphans;
        engine->orphans = early->next;
        engine->late_messages++;
        message_free_early(engine, early);
    }
}

void message_adopt_orphans(muster_comm_t *comm)
{
    engine_t *engine = comm->engine;
    early_t **link = &engine->orphans;
    while (*link) {
        early_t *early = *link;
        if (early->message.creator != comm->creator || early->message.creation != comm->creation) {
            link = &early->next;
            continue;
        }
        *link = early->next;
        if (comm_is_near(comm, generation_public(early->message.generation))) {
            comm->traffic.early_messages++;
            message_defer(comm, early);
        } else {
            engine->bad_messages++;
            message_free_early(engine, early);
        }
    }
}

/* ---- data ---- */

static void message_mismatch(muster_comm_t *comm, const record_t *record,
                             const wire_message_t *message, call_field_t field)
{
    muster_failure_t failure;
    request_failure(comm, record->generation, call_form(&record->call), MUSTER_MISMATCH,
                    message->source, &failure);
    snprintf(failure.field, sizeof failure.field, "%s", call_field_name(field));
    size_t length = strlen(failure.message);
    if (field == CALL_FIELD_OPERATION)
        snprintf(failure.message + length, sizeof failure.message - length,
                 "operation differs: %s on rank %u, %s on rank %u",
                 operation_name(call_form(&record->call)), comm->rank,
                 operation_name(call_form(&message->call)), message->source);
    else
        snprintf(failure.message + length, sizeof failure.message - length,
                 "%s differs: %llu on rank %u, %llu on rank %u", call_field_name(field),
                 (unsigned long long)call_value(&record->call, field), comm->rank,
                 (unsigned long long)call_value(&message->call, field), message->source);
    muster_request_t *request = comm->operations[record->generation % GENERATION_WINDOW];
    if (request && request->generation == record->generation && request->state == REQUEST_RUNNING)
        request_report(request, &failure);
    else
        outcome_report(comm, record->generation, &failure);
}

void message_refuse_early(muster_comm_t *comm)
{
    for (size_t i = 0; i < COMM_RECORDS; i++) {
        const record_t *record = &comm->records[i];
        if (record->early && !record->started && record->state == RECORD_OPEN)
            outcome_report_never(comm, record->generation, call_form(&record->early->message.call));
    }
}

/* The request that a message is for, checked against its call; NULL with an answer otherwise. */
static muster_request_t *message_request(muster_comm_t *comm, const wire_message_t *message,
                                         request_answer_t *answer)
{
    uint64_t generation = generation_public(message->generation);
    *answer = REQUEST_DROP;
    if (!comm_is_near(comm, generation)) {
        comm->engine->bad_messages++;
        return NULL;
    }
    request_note_mode(comm, generation, (generation_mode_t)message->call.mode);
    const record_t *record = comm_record(comm, generation);
    if (!record || record->state == RECORD_FAILED)
        return NULL;
    if (!record->started && comm->destroyed) {
        outcome_report_never(comm, generation, call_form(&message->call));
        return NULL;
    }
    if (!record->started) {
        *answer = PLANT(3, REQUEST_DROP, REQUEST_LATER);
        return NULL;
    }
    call_field_t field = PLANT(2, CALL_FIELD_NONE, call_compare(&record->call, &message->call));
    if (field != CALL_FIELD_NONE) {
        message_mismatch(comm, record, message, field);
        return NULL;
    }
    muster_request_t *request = comm->operations[generation % GENERATION_WINDOW];
    if (!request || request->generation != generation)
        return NULL;
    *answer = REQUEST_LATER;
    return request;
}

void message_offer_early(muster_comm_t *comm, uint64_t generation)
{
    record_t *record = comm_record(comm, generation);
    if (!record || !record->early)
        return;
    early_t *offered = record->early; /* what is kept again is put back: the record may be reused */
    record->early = NULL;
    while (offered) {
        early_t *early = offered;
        offered = early->next;
        request_answer_t answer;
        muster_request_t *request = message_request(comm, &early->message, &answer);
        if (request)
            answer = request_accept(request, &early->message, early->payload,
                                    early->message.payload_length);
        if (answer == REQUEST_LATER) {
            message_defer(comm, early);
            continue;
        }
        if (answer == REQUEST_DROP)
            comm->traffic.late_messages++;
        message_free_early(comm->engine, early);
    }
}

void message_no_room(muster_comm_t *comm, uint64_t generation, uint8_t operation, uint64_t bytes)
{
    muster_failure_t failure;
    request_failure(comm, generation, operation, MUSTER_NO_MEMORY, comm->rank, &failure);
    size_t length = strlen(failure.message);
    snprintf(failure.message + length, sizeof failure.message - length,
             "rank %u has no room for a message of %llu bytes", comm->rank,
             (unsigned long long)bytes);
    outcome_report(comm, generation, &failure);
}

static void message_data(muster_comm_t *comm, uint32_t peer, const wire_message_t *message,
                         const uint8_t *payload)
{
    request_answer_t answer;
    muster_request_t *request = message_request(comm, message, &answer);
    if (request)
        answer = request_accept(request, message, payload, message->payload_length);
    if (answer == REQUEST_TAKEN) {
        request_advance(request);
        return;
    }
    if (answer == REQUEST_DROP) {
        comm->traffic.late_messages++;
        return;
    }
    early_t *early = message_keep(comm->engine, peer, message);
    if (!early) {
        message_no_room(comm, generation_public(message->generation), call_form(&message->call),
                        message->payload_length);
        return;
    }
    message_fill(early, payload);
    comm->traffic.bytes_copied += message->payload_length;
    comm->traffic.bytes_copied_early += message->payload_length;
    comm->traffic.early_messages++;
    message_defer(comm, early);
}

/* ---- dispatch ---- */

static bool message_is_from(const muster_comm_t *comm, uint32_t peer, const wire_message_t *message)
{
    return message->source < comm->size && comm->members[message->source] == peer;
}

static void message_orphan(engine_t *engine, uint32_t peer, const wire_message_t *message,
                           const uint8_t *payload)
{
    /*
     * A member that has heard of a new communicator before this rank has. All members have to come
     * for it to be made, so this rank's creation is pending: anything else is of one that is gone.
     */
    if (!engine->creations)
        engine->late_messages++;
    else if (!message_keep_whole(engine, peer, message, payload, &engine->orphans))
        creation_miss(engine, message);
}

static void message_dispatch(engine_t *engine, uint32_t peer, const wire_message_t *message,
                             const uint8_t *payload)
{
    if (message->kind == WIRE_LEAVE) {
        farewell_on_message(engine, peer, message);
        return;
    }
    if (message->kind == WIRE_CLAIM) {
        creation_on_claim(engine, peer, message, payload);
        return;
    }
    if (message->kind == WIRE_CREATED) {
        creation_on_created(engine, peer, message, payload);
        return;
    }
    muster_comm_t *comm = comm_find(engine, message->creator, message->creation);
    if (!comm) {
        message_orphan(engine, peer, message, payload);
        return;
    }
    if (!message_is_from(comm, peer, message)) {
        engine->bad_messages++;
        return;
    }
    switch (message->kind) {
    case WIRE_DATA:
        message_data(comm, peer, message, payload);
        break;
    case WIRE_REPORT:
        outcome_on_report(comm, message, payload);
        break;
    case WIRE_QUERY:
        outcome_on_query(comm, message);
        break;
    case WIRE_STATE:
        outcome_on_state(comm, message, payload);
        break;
    case WIRE_VERDICT:
        outcome_on_verdict(comm, message, payload);
        break;
    default:
        engine->bad_messages++;
    }
}

/* The beginning of a long message: says where its payload goes. */
static void message_begin(engine_t *engine, uint32_t peer, const wire_message_t *message)
{
    transport_t *transport = engine->transport;
    muster_comm_t *comm = NULL;
    if (message->kind == WIRE_DATA &&
        (comm = comm_find(engine, message->creator, message->creation)) &&
        message_is_from(comm, peer, message)) {
        request_answer_t answer;
        muster_request_t *request = message_request(comm, message, &answer);
        transport_span_t spans[TRANSPORT_SPANS_MAX];
        size_t count = 0;
        transfer_t *transfer = request ? request_place(request, message, spans, &count) : NULL;
        if (transfer) {
            transport->operations->place(transport, peer, spans, count, transfer);
            return;
        }
        if (answer == REQUEST_DROP) {
            comm->traffic.late_messages++;
            transport->operations->place(transport, peer, NULL, 0, NULL);
            return;
        }
    }
    early_t *early = message_keep(engine, peer, message);
    if (!early) {
        transport->operations->place(transport, peer, NULL, 0, NULL);
        if (comm)
            message_no_room(comm, generation_public(message->generation), call_form(&message->call),
                            message->payload_length);
        else if (message->kind == WIRE_CLAIM)
            creation_put_off(engine, peer, message);
        else if (message->kind == WIRE_DATA)
            creation_miss(engine, message);
        return;
    }
    transport_span_t span = {early->payload, message->payload_length};
    early->next = engine->filling;
    engine->filling = early;
    transport->operations->place(transport, peer, &span, 1, early);
}

static void message_unfill(engine_t *engine, early_t *early)
{
    early_t **link = &engine->filling;
    while (*link != early) {
        MUSTER_ASSERT(*link);
        link = &(*link)->next;
    }
    *link = early->next;
    early->next = NULL;
}

void message_peer_lost(engine_t *engine, uint32_t peer)
{
    early_t **link = &engine->filling;
    while (*link) {
        early_t *early = *link;
        if (early->peer != peer) {
            link = &early->next;
            continue;
        }
        *link = early->next;
        message_free_early(engine, early);
    }
}

/* A long message that had no place to go straight to. */
static void message_complete(engine_t *engine, early_t *early)
{
    message_unfill(engine, early);
    wire_message_t message = early->message;
    muster_comm_t *comm =
        message.kind == WIRE_DATA ? comm_find(engine, message.creator, message.creation) : NULL;
    early->complete = true;
    if (!comm || !message_is_from(comm, early->peer, &message)) {
        message_dispatch(engine, early->peer, &message, early->payload);
        message_free_early(engine, early);
        return;
    }
    request_answer_t answer;
    muster_request_t *request = message_request(comm, &message, &answer);
    if (request)
        answer = request_accept(request, &message, early->payload, message.payload_length);
    if (answer == REQUEST_LATER) {
        comm->traffic.early_messages++;
        message_defer(comm, early);
        return;
    }
    message_free_early(engine, early);
    if (answer == REQUEST_TAKEN)
        request_advance(request);
    else
        comm->traffic.late_messages++;
}

void message_event(engine_t *engine, const transport_event_t *event)
{
    if (event->kind == TRANSPORT_RECEIVED) {
        transfer_t *transfer = event->token;
        if (!transfer)
            return; /* was dropped */
        if (transfer->kind == TRANSFER_EARLY)
            message_complete(engine, (early_t *)transfer);
        else
            request_received(transfer);
        return;
    }
    wire_message_t message;
    bool valid =
        wire_decode(event->header, &message) && message.payload_length == event->payload_length;
    if (!valid) {
        engine->bad_messages++;
        if (event->kind == TRANSPORT_HEADER)
            engine->transport->operations->place(engine->transport, event->peer, NULL, 0, NULL);
        return;
    }
    if (event->kind == TRANSPORT_HEADER)
        message_begin(engine, event->peer, &message);
    else
        message_dispatch(engine, event->peer, &message, event->payload);
}
