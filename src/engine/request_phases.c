/* An operation under way: from phase to phase, and what arrives for it. */
#include "engine/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/plant.h"
#include "engine/ahead.h"
#include "engine/buffers.h"
#include "engine/message.h"
#include "engine/outcome.h"
#include "engine/rows.h"

/* ---- phases ---- */

static bool request_reduce(muster_request_t *request, const void *left, const void *right,
                           void *result, size_t bytes)
{
    if (bytes == 0)
        return true;
    request->comm->traffic.reductions++;
    muster_status_t status =
        reduce_apply(&request->arguments.op, request->arguments.datatype, PLANT(19, right, left),
                     PLANT(19, left, right), result, bytes / request->element);
    if (status == MUSTER_OK || PLANTED(21))
        return true;
    char why[96];
    snprintf(why, sizeof why, "the reduction failed on rank %u: %s", request->comm->rank,
             muster_status_text(status));
    request_fail_here(request, MUSTER_REDUCTION_FAILED, request->comm->rank, why);
    return false;
}

static bool request_step(muster_request_t *request, const schedule_step_t *step)
{
    if (step->work == SCHEDULE_REDUCE) {
        const layout_t *into = buffers_layout(request, step->into.buffer);
        return request_reduce(
            request, layout_contiguous(buffers_layout(request, step->left.buffer), &step->left),
            layout_contiguous(buffers_layout(request, step->from.buffer), &step->from),
            layout_contiguous(into, &step->into), layout_bytes(into, &step->into));
    }
    char why[96] = "";
    size_t copied = 0;
    muster_status_t status =
        buffers_copy(request, &step->from, &step->into, &copied, why, sizeof why);
    request->comm->traffic.bytes_copied += copied;
    if (status != MUSTER_OK)
        request_fail_here(request, status, request->comm->rank, why);
    return status == MUSTER_OK;
}

static void request_send(muster_request_t *request, const schedule_phase_t *phase, uint32_t index)
{
    muster_comm_t *comm = request->comm;
    transport_t *transport = comm->engine->transport;
    const schedule_send_t *send = &request->schedule->sends[index];
    transfer_t *transfer = &request->send_transfers[index];
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    size_t count = 0, bytes = 0;
    *transfer = (transfer_t){TRANSFER_SEND, index, request, NULL};
    if (!buffers_outgoing(request, &send->region, spans, &count, &bytes, &transfer->packed)) {
        request_fail_here(request, MUSTER_NO_MEMORY, comm->rank, "no memory to pack a message");
        return;
    }
    wire_message_t message = comm_message(comm, WIRE_DATA, request->generation, bytes);
    message.generation = generation_internal(request->generation, phase->slot);
    message.label = phase->label;
    message.round = phase->round;
    message.group_left = phase->group_left;
    message.group_right = phase->group_right;
    message.call = request->call;
    uint8_t header[WIRE_HEADER_SIZE];
    wire_encode(&message, header);
    bool done = false;
    muster_status_t status = transport->operations->send(transport, comm->members[send->peer],
                                                         header, spans, count, transfer, &done);
    comm->traffic.messages_sent++;
    comm->traffic.bytes_sent += bytes;
    if (choice_is_between(comm, send->peer))
        comm->traffic.bytes_between_hosts += bytes;
    if (status == MUSTER_OK && !done) {
        request->sends_out++;
        return;
    }
    free(transfer->packed);
    transfer->packed = NULL;
    transfer->request = NULL;
    if (status == MUSTER_NO_MEMORY)
        request_fail_here(request, status, comm->rank, "no memory to send a message");
    /* A lost peer is told by its own event. */
}

void request_sent(transfer_t *transfer)
{
    muster_request_t *request = transfer->request;
    free(transfer->packed);
    transfer->packed = NULL;
    transfer->request = NULL;
    MUSTER_ASSERT(request && request->sends_out > 0);
    request->sends_out--;
    request_advance(request);
}

static void request_contribute(muster_request_t *request, uint32_t index)
{
    uint32_t first = request->schedule->phases[request->phase].first_receive;
    gate_step(&request->gate, (gate_event_t){GATE_CONTRIBUTE, index - first, MUSTER_OK}, 0);
}

/* Combines what has its turn, in the order of the receives. */
static void request_settle(muster_request_t *request)
{
    const schedule_phase_t *phase = &request->schedule->phases[request->phase];
    uint32_t end = phase->first_receive + phase->receive_count;
    for (; request->next_combine < end; request->next_combine++) {
        uint32_t index = request->next_combine;
        const schedule_receive_t *receive = &request->schedule->receives[index];
        if (receive->action != SCHEDULE_COMBINE)
            continue;
        if (request->receive_states[index] != RECEIVE_ARRIVED && PLANTED(4))
            continue;
        if (request->receive_states[index] != RECEIVE_ARRIVED)
            return;
        const layout_t *into = buffers_layout(request, receive->into.buffer);
        uint8_t *result = layout_contiguous(into, &receive->into);
        const uint8_t *right =
            layout_contiguous(buffers_layout(request, receive->region.buffer), &receive->region);
        if (!request_reduce(request, result, right, result, layout_bytes(into, &receive->into)))
            return;
        request_contribute(request, index);
    }
}

static void request_arrived(muster_request_t *request, uint32_t index)
{
    request->receive_states[index] = RECEIVE_ARRIVED;
    const schedule_phase_t *phase = &request->schedule->phases[request->phase];
    if (!request->entered || index < phase->first_receive ||
        index >= phase->first_receive + phase->receive_count)
        return; /* before its phase: counted when that is entered */
    if (request->schedule->receives[index].action == SCHEDULE_PLACE)
        request_contribute(request, index);
    else
        request_settle(request);
}

/* Rows that have come: put together before this rank says that it succeeds, since it may fail. */
static bool request_collect(muster_request_t *request)
{
    char why[128] = "";
    muster_status_t status = rows_collect(request, why, sizeof why);
    if (status != MUSTER_OK)
        request_fail_here(request, status, request->comm->rank, why);
    return status == MUSTER_OK;
}

static bool request_enter(muster_request_t *request)
{
    const schedule_phase_t *phase = &request->schedule->phases[request->phase];
    if (phase->drain && request->sends_out > 0 && !PLANTED(5))
        return false;
    for (uint32_t i = 0; i < phase->step_count; i++)
        if (!request_step(request, &request->schedule->steps[phase->first_step + i]))
            return false;
    if (phase->label == SCHEDULE_DECIDE_UP && !request_collect(request))
        return false;
    request->entered = true;
    request->next_combine = phase->first_receive;
    if (phase->receive_count > 0)
        gate_open(&request->gate, request->gate_words, phase->receive_count, true,
                  GATE_FAIL_ON_LOSS, GATE_NO_DEADLINE);
    for (uint32_t i = 0; i < phase->send_count && request->state == REQUEST_RUNNING; i++)
        request_send(request, phase, phase->first_send + i);
    for (uint32_t i = 0; i < phase->receive_count; i++) {
        uint32_t index = phase->first_receive + i;
        if (request->receive_states[index] == RECEIVE_ARRIVED &&
            request->schedule->receives[index].action == SCHEDULE_PLACE)
            request_contribute(request, index);
    }
    request_settle(request);
    message_offer_early(request->comm, request->generation);
    return request->state == REQUEST_RUNNING;
}

/* The value is decided here, or known to be: keep it for those who may have to ask. */
static void request_keep(muster_request_t *request)
{
    if (!request->uniform || !request->schedule->self_deciding || !request->small)
        return;
    const layout_t *layout = &request->receive;
    switch (request->call.operation) {
    case OPERATION_BROADCAST:
        if (request->comm->rank == request->call.root)
            layout = &request->send;
        break;
    case OPERATION_ALLREDUCE:
    case OPERATION_ALLGATHER:
        break;
    default:
        return;
    }
    outcome_keep_value(request->comm, request->generation, layout->base, buffers_result(request));
}

/* Only its own sends are to be waited for: from here on nobody may decide anything else. */
static void request_know_value(muster_request_t *request)
{
    record_t *record = comm_record(request->comm, request->generation);
    request_keep(request);
    if (record && request->uniform && record->state == RECORD_OPEN && !PLANTED(12))
        record->state = RECORD_VALUE;
}

/* Sends nothing that its receiver would be too far behind to keep. */
static bool request_is_held(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    if (request->held && ahead_may_send(comm, request->generation)) {
        request->held = false;
        comm->held--;
    }
    return request->held;
}

void request_advance(muster_request_t *request)
{
    if (request_is_held(request))
        return;
    while (request->state == REQUEST_RUNNING) {
        if (request->phase == request->schedule->phase_count) {
            if (!request_collect(request))
                return;
            request_know_value(request);
            if (request->sends_out == 0)
                request_finish(request, MUSTER_OK, NULL);
            return;
        }
        const schedule_phase_t *phase = &request->schedule->phases[request->phase];
        if (!request->entered && !request_enter(request))
            return;
        if (phase->receive_count > 0 && request->gate.outcome == MUSTER_IN_PROGRESS)
            return;
        const record_t *record = comm_record(request->comm, request->generation);
        if (record && record->fenced)
            return; /* a new decider asks around: only its verdict ends this */
        if (phase->decides && request->uniform) {
            if (!request_collect(request))
                return;
            request_keep(request);
            if (!outcome_decide_value(request->comm, request->generation))
                return;
        }
        request->phase++;
        request->entered = false;
    }
}

/* ---- arrivals ---- */

static bool request_is_of(const schedule_phase_t *phase, const wire_message_t *message,
                          unsigned slot)
{
    return (PLANTED(6) || (phase->label == message->label && phase->slot == slot)) &&
           phase->round == message->round && phase->group_left == message->group_left &&
           phase->group_right == message->group_right;
}

static bool request_find_in(const schedule_t *schedule, uint32_t index,
                            const wire_message_t *message, uint32_t *receive_index)
{
    const schedule_phase_t *phase = &schedule->phases[index];
    const schedule_receive_t *receives = schedule->receives + phase->first_receive;
    uint32_t count = phase->receive_count;
    if (count == 0)
        return false;
    /* Receives mostly stand in the order of the ranks: look where it should be first. */
    uint32_t guess = message->source - receives[0].peer;
    if (guess >= count || receives[guess].peer != message->source)
        for (guess = 0; guess < count && receives[guess].peer != message->source;)
            guess++;
    *receive_index = phase->first_receive + guess;
    return guess < count;
}

/* Messages come in about the order of the phases: from the current one on, and round again. */
static bool request_find(const muster_request_t *request, const wire_message_t *message,
                         uint32_t *phase_index, uint32_t *receive_index)
{
    const schedule_t *schedule = request->schedule;
    unsigned slot = generation_slot(message->generation);
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        uint32_t p = request->phase + i;
        if (p >= schedule->phase_count)
            p -= schedule->phase_count;
        if (!request_is_of(&schedule->phases[p], message, slot) ||
            !request_find_in(schedule, p, message, receive_index))
            continue;
        *phase_index = p;
        return true;
    }
    return false;
}

static request_answer_t request_match(const muster_request_t *request,
                                      const wire_message_t *message, uint32_t *index)
{
    uint32_t phase;
    if (request->state != REQUEST_RUNNING || !request_find(request, message, &phase, index))
        return REQUEST_DROP;
    if (request->receive_states[*index] != RECEIVE_AWAITED)
        return REQUEST_DROP;
    if (phase == request->phase && request->entered)
        return REQUEST_TAKEN;
    if (phase < request->phase)
        return REQUEST_DROP;
    return request->schedule->receives[*index].early ? REQUEST_TAKEN : REQUEST_LATER;
}

request_answer_t request_accept(muster_request_t *request, const wire_message_t *message,
                                const uint8_t *payload, size_t length)
{
    uint32_t index;
    request_answer_t answer = request_match(request, message, &index);
    if (answer != REQUEST_TAKEN)
        return answer;
    muster_traffic_t *traffic = &request->comm->traffic;
    traffic->messages_received++;
    traffic->bytes_received += length;
    char why[128] = "";
    muster_status_t status = buffers_incoming(request, &request->schedule->receives[index].region,
                                              payload, length, why, sizeof why);
    if (status == MUSTER_OK)
        request_arrived(request, index);
    else
        request_fail_here(request, status, message->source, why);
    return REQUEST_TAKEN;
}

transfer_t *request_place(muster_request_t *request, const wire_message_t *message,
                          transport_span_t *spans, size_t *span_count)
{
    uint32_t index;
    if (request_match(request, message, &index) != REQUEST_TAKEN || request->carrier)
        return NULL;
    const schedule_region_t *region = &request->schedule->receives[index].region;
    const layout_t *layout = buffers_layout(request, region->buffer);
    bool fits;
    if (!layout || layout_bytes(layout, region) != message->payload_length)
        return NULL; /* refused when it has been received elsewhere */
    *span_count = layout_spans(layout, region, spans, TRANSPORT_SPANS_MAX, &fits);
    if (!fits)
        return NULL;
    request->receive_states[index] = RECEIVE_FILLING;
    request->comm->traffic.messages_received++;
    request->comm->traffic.bytes_received += message->payload_length;
    request->receive_transfers[index] = (transfer_t){TRANSFER_RECEIVE, index, request, NULL};
    return &request->receive_transfers[index];
}

void request_received(transfer_t *transfer)
{
    muster_request_t *request = transfer->request;
    transfer->request = NULL;
    MUSTER_ASSERT(request && request->receive_states[transfer->index] == RECEIVE_FILLING);
    if (request->state != REQUEST_RUNNING) {
        request->receive_states[transfer->index] = RECEIVE_ARRIVED;
        return;
    }
    request_arrived(request, transfer->index);
    request_advance(request);
}

bool request_awaits(const muster_request_t *request, uint32_t rank)
{
    if (request->state != REQUEST_RUNNING)
        return false;
    for (uint32_t i = 0; i < request->schedule->receive_count; i++)
        if (request->schedule->receives[i].peer == rank &&
            request->receive_states[i] != RECEIVE_ARRIVED)
            return true;
    return false;
}

void request_peer_lost(muster_request_t *request, uint32_t world_rank)
{
    muster_comm_t *comm = request->comm;
    if (!request->schedule || !request->send_transfers || request->state == REQUEST_FINISHED)
        return;
    for (uint32_t i = 0; i < request->schedule->send_count; i++) {
        transfer_t *transfer = &request->send_transfers[i];
        if (!transfer->request || comm->members[request->schedule->sends[i].peer] != world_rank)
            continue;
        free(transfer->packed);
        *transfer = (transfer_t){0};
        request->sends_out -= PLANT(24, 0, 1);
    }
    for (uint32_t i = 0; i < request->schedule->receive_count; i++)
        if (request->receive_transfers[i].request &&
            comm->members[request->schedule->receives[i].peer] == world_rank) {
            request->receive_transfers[i] = (transfer_t){0};
            request->receive_states[i] = RECEIVE_AWAITED;
        }
    request_advance(request);
}
