#include "engine/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/plant.h"
#include "engine/buffers.h"
#include "engine/message.h"
#include "engine/outcome.h"
#include "engine/rows.h"

/* ---- lists ---- */

static void request_link(muster_request_t **head, muster_request_t *request)
{
    request->previous = NULL;
    request->next = *head;
    if (*head)
        (*head)->previous = request;
    *head = request;
}

static void request_unlink(muster_request_t **head, muster_request_t *request)
{
    if (request->previous)
        request->previous->next = request->next;
    else
        *head = request->next;
    if (request->next)
        request->next->previous = request->previous;
    request->next = request->previous = NULL;
}

/* ---- failures ---- */

void request_failure(const muster_comm_t *comm, uint64_t generation, uint8_t operation,
                     muster_status_t status, uint32_t rank, muster_failure_t *failure)
{
    memset(failure, 0, sizeof *failure);
    failure->status = status;
    failure->rank = rank;
    failure->generation = generation;
    if (operation != OPERATION_COUNT)
        snprintf(failure->operation, sizeof failure->operation, "%s", operation_name(operation));
    if (rank != MUSTER_NO_RANK && rank < comm->size && comm->engine->transport) {
        const transport_operations_t *operations = comm->engine->transport->operations;
        const transport_peer_t *peer =
            operations->peer(comm->engine->transport, comm->members[rank]);
        snprintf(failure->host, sizeof failure->host, "%s", peer->host);
        failure->pid = peer->pid;
    }
    snprintf(failure->message, sizeof failure->message, "%s of generation %llu on \"%.64s\": ",
             operation != OPERATION_COUNT ? operation_name(operation) : "operation",
             (unsigned long long)generation, comm->name);
}

static void request_failed_here(muster_request_t *request, muster_status_t status, uint32_t rank,
                                const char *why)
{
    muster_failure_t failure;
    request_failure(request->comm, request->generation, call_form(&request->call), status, rank,
                    &failure);
    size_t length = strlen(failure.message);
    snprintf(failure.message + length, sizeof failure.message - length, "%s", why);
    request_report(request, &failure);
}

void request_report(muster_request_t *request, const muster_failure_t *failure)
{
    if (request->state != REQUEST_RUNNING)
        return;
    int64_t from = request->deadline;
    int64_t now = engine_now(request->comm->engine);
    if (from < now || from == INT64_MAX)
        from = now;
    request->state = REQUEST_FAILING;
    request->give_up = from + ENGINE_GRACE;
    muster_comm_t *comm = request->comm;
    uint64_t generation = request->generation;
    outcome_report(comm, generation, failure);
    /* Too late: the value had been decided, here, and now everybody has been told. */
    const record_t *record = comm_record(comm, generation);
    if (record && record->state == RECORD_VALUE &&
        comm->operations[generation % GENERATION_WINDOW] == request)
        request_finish(request, MUSTER_OK, NULL);
}

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
    request_failed_here(request, MUSTER_REDUCTION_FAILED, request->comm->rank, why);
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
    char why[96];
    size_t copied = 0;
    muster_status_t status =
        buffers_copy(request, &step->from, &step->into, &copied, why, sizeof why);
    request->comm->traffic.bytes_copied += copied;
    if (status != MUSTER_OK)
        request_failed_here(request, status, request->comm->rank, why);
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
        request_failed_here(request, MUSTER_NO_MEMORY, comm->rank, "no memory to pack a message");
        return;
    }
    wire_message_t message = comm_message(comm, WIRE_DATA, request->generation, bytes);
    message.generation = generation_internal(request->generation, phase->slot);
    message.label = phase->label;
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
    if (status == MUSTER_OK && !done) {
        request->sends_out++;
        return;
    }
    free(transfer->packed);
    transfer->packed = NULL;
    transfer->request = NULL;
    if (status == MUSTER_NO_MEMORY)
        request_failed_here(request, status, comm->rank, "no memory to send a message");
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
    char why[128];
    muster_status_t status = rows_collect(request, why, sizeof why);
    if (status != MUSTER_OK)
        request_failed_here(request, status, request->comm->rank, why);
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
    if (request->comm->early)
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

void request_advance(muster_request_t *request)
{
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

static bool request_find(const muster_request_t *request, const wire_message_t *message,
                         uint32_t *phase_index, uint32_t *receive_index)
{
    const schedule_t *schedule = request->schedule;
    unsigned slot = generation_slot(message->generation);
    for (uint32_t p = 0; p < schedule->phase_count; p++) {
        const schedule_phase_t *phase = &schedule->phases[p];
        if ((!PLANTED(6) && (phase->label != message->label || phase->slot != slot)) ||
            phase->group_left != message->group_left || phase->group_right != message->group_right)
            continue;
        const schedule_receive_t *receives = schedule->receives + phase->first_receive;
        uint32_t count = phase->receive_count;
        if (count == 0)
            continue;
        /* Receives mostly stand in the order of the ranks: look where it should be first. */
        uint32_t guess = message->source - receives[0].peer;
        if (guess >= count || receives[guess].peer != message->source)
            for (guess = 0; guess < count && receives[guess].peer != message->source;)
                guess++;
        if (guess < count) {
            *phase_index = p;
            *receive_index = phase->first_receive + guess;
            return true;
        }
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
    char why[128];
    muster_status_t status = buffers_incoming(request, &request->schedule->receives[index].region,
                                              payload, length, why, sizeof why);
    if (status == MUSTER_OK)
        request_arrived(request, index);
    else
        request_failed_here(request, status, message->source, why);
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
    if (!request->schedule || request->state == REQUEST_FINISHED)
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

/* ---- start ---- */

static muster_request_t *request_obtain(muster_comm_t *comm)
{
    muster_request_t *request = comm->spare;
    if (request) {
        comm->spare = request->next;
        request->next = NULL;
        return request;
    }
    return calloc(1, sizeof *request);
}

static void request_recycle(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    comm_schedule_release(request->cached);
    request->cached = NULL;
    buffers_reset(request);
    if (comm->destroyed || comm->engine->shutting_down) {
        request_free(request);
    } else {
        request->next = comm->spare;
        comm->spare = request;
    }
    comm_release(comm);
}

void request_free(muster_request_t *request)
{
    buffers_reset(request);
    free(request->scratch_memory);
    free(request->displaced);
    free(request->rows);
    free(request->state_memory);
    free(request);
}

static size_t request_align(size_t size)
{
    return (size + 15) / 16 * 16;
}

/* Everything that needs the schedule: known once the generation is. */
static muster_status_t request_prepare(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    bool one_way = operation_is_rooted((operation_t)request->call.operation);
    request->schedule = NULL;
    request->uniform = request->call.outcome == MUSTER_OUTCOME_UNIFORM ||
                       (one_way && request->generation % COMM_SYNCHRONIZED == 0);
    request->small = buffers_result(request) <= COMM_SMALL;
    muster_status_t status =
        comm_schedule(comm, &request->call, request->arguments.in_place, request->uniform,
                      request->small, request->send.width, &request->cached);
    if (status != MUSTER_OK)
        return status;
    const schedule_t *schedule = request->schedule = &request->cached->schedule;
    request->carrier = schedule->carrier || request->arguments.rows;
    uint32_t widest = 0;
    for (uint32_t p = 0; p < schedule->phase_count; p++)
        if (schedule->phases[p].receive_count > widest)
            widest = schedule->phases[p].receive_count;
    size_t words = request_align(GATE_MEMORY_WORDS(widest ? widest : 1) * sizeof(uint64_t));
    size_t sends = request_align(schedule->send_count * sizeof(transfer_t));
    size_t receives = request_align(schedule->receive_count * sizeof(transfer_t));
    size_t need = words + sends + receives + schedule->receive_count;
    if (need > request->state_capacity) {
        void *memory = malloc(need);
        if (!memory)
            return MUSTER_NO_MEMORY;
        free(request->state_memory);
        request->state_memory = memory;
        request->state_capacity = need;
    }
    uint8_t *memory = request->state_memory;
    request->gate_words = (uint64_t *)memory;
    request->send_transfers = (transfer_t *)(memory + words);
    request->receive_transfers = (transfer_t *)(memory + words + sends);
    request->receive_states = memory + words + sends + receives;
    memset(request->send_transfers, 0, sends + receives + schedule->receive_count);
    return buffers_scratch(request, schedule->scratch_blocks);
}

static void request_lost_at_start(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        if (!comm_is_lost(comm, rank))
            continue;
        char why[96];
        snprintf(why, sizeof why, "rank %u %s", rank,
                 comm->engine->gone[comm->members[rank]] == ENGINE_LEFT ? "has left" : "was lost");
        request_failed_here(request, MUSTER_PEER_LOST, rank, why);
        return;
    }
}

static void request_mode_conflict(muster_comm_t *comm, uint64_t generation, uint64_t other)
{
    muster_failure_t failure;
    uint64_t both[2] = {generation, other};
    for (int i = 0; i < 2; i++) {
        const record_t *record = comm_record(comm, both[i]);
        uint8_t operation = record && record->started ? call_form(&record->call) : OPERATION_COUNT;
        request_failure(comm, both[i], operation, MUSTER_MISMATCH, MUSTER_NO_RANK, &failure);
        snprintf(failure.field, sizeof failure.field, "mode");
        size_t length = strlen(failure.message);
        snprintf(failure.message + length, sizeof failure.message - length,
                 "some ranks count generations automatically and others give them");
        if (record)
            outcome_report(comm, both[i], &failure);
    }
}

void request_note_mode(muster_comm_t *comm, uint64_t generation, generation_mode_t mode)
{
    uint64_t conflict;
    if (!generation_note(&comm->clock, generation, mode, &conflict) && !PLANTED(15))
        request_mode_conflict(comm, generation, conflict);
}

/* The generation is taken: from here on others may wait for this rank. */
static void request_begin(muster_request_t *request, muster_status_t prepared)
{
    muster_comm_t *comm = request->comm;
    record_t *record = comm_record(comm, request->generation);
    MUSTER_ASSERT(record && !record->started);
    record->started = true;
    record->call = request->call;
    comm->operations[request->generation % GENERATION_WINDOW] = request;
    comm->last_operation = call_form(&request->call);
    comm->last_generation = request->generation;
    request->state = REQUEST_RUNNING;
    request->phase = 0;
    request->entered = false;
    request->sends_out = 0;
    request->asked = false;
    request->give_up = INT64_MAX;
    request_link(&comm->engine->active, request);
    if (record->state == RECORD_FAILED && !PLANTED(8)) {
        muster_failure_t failure;
        outcome_failure(comm, record, &failure);
        request_finish(request, failure.status, &failure);
        return;
    }
    if (prepared != MUSTER_OK) {
        request_failed_here(request, prepared, comm->rank, "no memory for the operation");
        return;
    }
    request_note_mode(comm, request->generation, (generation_mode_t)request->call.mode);
    if (comm->has_lost && request->state == REQUEST_RUNNING)
        request_lost_at_start(request);
    if (request->state == REQUEST_RUNNING)
        request_advance(request);
}

/* Takes the generation and begins, or queues where the window is full. */
static muster_status_t request_take(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    muster_optional_t given = {request->given, request->given != 0};
    muster_status_t status = generation_may_take(&comm->clock, given);
    if (status != MUSTER_OK)
        return status;
    request->generation = given.given ? given.value : comm->clock.next;
    muster_status_t prepared = request_prepare(request);
    if (prepared != MUSTER_OK && prepared != MUSTER_NO_MEMORY)
        return prepared;
    generation_mode_t mode;
    status = generation_take(&comm->clock, given, &request->generation, &mode);
    MUSTER_ASSERT(status == MUSTER_OK && mode == request->call.mode);
    request_begin(request, prepared);
    return MUSTER_OK;
}

muster_status_t request_start(muster_comm_t *comm, const request_arguments_t *arguments,
                              const muster_call_t *call, bool owned, muster_request_t **result)
{
    static const muster_call_t defaults;
    if (!call)
        call = &defaults;
    engine_t *engine = comm->engine;
    if (call->generation.given && call->generation.value == 0)
        return MUSTER_INVALID_GENERATION;
    muster_request_t *request = request_obtain(comm);
    if (!request)
        return MUSTER_NO_MEMORY;
    request->comm = comm;
    comm->holders++;
    request->owned = owned;
    request->abandoned = false;
    request->on_complete = NULL;
    request->status = MUSTER_IN_PROGRESS;
    request->arguments = *arguments;
    request->given = call->generation.given ? call->generation.value : 0;
    request->begun = engine_now(engine);
    request->look = request->begun + ENGINE_LOOK;
    int64_t length = comm->timeout;
    request->deadline = call->timeout.kind == 0 && length != INT64_MAX
                            ? request->begun + length
                            : engine_deadline(engine, call->timeout, length);
    bool rooted = operation_is_rooted(arguments->operation);
    request->call =
        (call_t){.operation = (uint8_t)arguments->operation,
                 .mode = call->generation.given ? GENERATION_EXPLICIT : GENERATION_AUTOMATIC,
                 .outcome = (uint8_t)(call->outcome == MUSTER_OUTCOME_DEFAULT ? comm->outcome
                                                                              : call->outcome),
                 .op_kind = (uint8_t)arguments->op.kind,
                 .commutative = arguments->op.commutative,
                 .initial = arguments->initial != NULL,
                 .rows = arguments->rows,
                 .root = rooted ? arguments->root : 0,
                 .datatype = arguments->datatype,
                 .count = operation_is_ragged(arguments->operation) ? 0 : arguments->count,
                 .op_identity = arguments->op.identity};
    muster_status_t status = buffers_prepare(request);
    if (status == MUSTER_OK)
        status = comm->queue ? MUSTER_IN_PROGRESS : request_take(request);
    if (status == MUSTER_IN_PROGRESS) {
        request->state = REQUEST_QUEUED;
        request->next_queued = NULL;
        if (comm->queue)
            comm->queue_end->next_queued = request;
        else
            comm->queue = request;
        comm->queue_end = request;
    } else if (status != MUSTER_OK) {
        request_recycle(request);
        return status;
    }
    *result = request;
    return MUSTER_OK;
}

void request_start_queued(muster_comm_t *comm)
{
    while (comm->queue && !comm->engine->shutting_down) {
        muster_request_t *request = comm->queue;
        muster_request_t *following = request->next_queued;
        muster_status_t status = request_take(request);
        if (status == MUSTER_IN_PROGRESS)
            return;
        comm->queue = following;
        if (status != MUSTER_OK)
            request_finish(request, status, NULL);
    }
}

/* ---- finish ---- */

static void request_forget(muster_request_t *request)
{
    transport_t *transport = request->comm->engine->transport;
    if (!request->schedule || request->state == REQUEST_QUEUED || !request->send_transfers)
        return;
    const schedule_t *schedule = request->schedule;
    for (uint32_t i = 0; i < schedule->send_count; i++) {
        transfer_t *transfer = &request->send_transfers[i];
        if (!transfer->request)
            continue;
        if (transport)
            transport->operations->forget(transport, transfer);
        free(transfer->packed);
        *transfer = (transfer_t){0};
    }
    for (uint32_t i = 0; i < schedule->receive_count; i++) {
        transfer_t *transfer = &request->receive_transfers[i];
        if (transfer->request && transport)
            transport->operations->forget(transport, transfer);
        *transfer = (transfer_t){0};
    }
    request->sends_out = 0;
}

static void request_queue_callback(engine_t *engine, muster_request_t *request)
{
    request->next_queued = NULL;
    if (engine->callbacks)
        engine->callbacks_end->next_queued = request;
    else
        engine->callbacks = request;
    engine->callbacks_end = request;
}

static void request_drop_callback(engine_t *engine, muster_request_t *request)
{
    muster_request_t **link = &engine->callbacks, *before = NULL;
    for (; *link && *link != request; link = &(*link)->next_queued)
        before = *link;
    if (!*link)
        return;
    *link = request->next_queued;
    if (engine->callbacks_end == request)
        engine->callbacks_end = before;
}

void request_finish(muster_request_t *request, muster_status_t status,
                    const muster_failure_t *failure)
{
    muster_comm_t *comm = request->comm;
    engine_t *engine = comm->engine;
    if (request->state == REQUEST_FINISHED)
        return;
    if ((status != MUSTER_OK || request->sends_out > 0) && !PLANTED(17))
        request_forget(request);
    status = rows_finish(request, status);
    if (request->state != REQUEST_QUEUED) {
        record_t *record = comm_record(comm, request->generation);
        if (record) {
            record->finished = true;
            if (status == MUSTER_OK && request->uniform && record->state == RECORD_OPEN)
                record->state = RECORD_VALUE;
        }
        comm->operations[request->generation % GENERATION_WINDOW] = NULL;
        request_unlink(&engine->active, request);
        generation_complete(&comm->clock, request->generation);
    }
    request->state = REQUEST_FINISHED;
    request->status = status;
    if (status != MUSTER_OK) {
        if (failure)
            request->failure = *failure;
        else
            request_failure(comm, request->generation, call_form(&request->call), status,
                            MUSTER_NO_RANK, &request->failure);
    }
    if (request->abandoned) {
        request_recycle(request);
    } else if (request->owned) {
        request_link(&engine->finished, request);
        if (request->on_complete)
            request_queue_callback(engine, request);
    }
    if (engine->waiters > 0)
        pthread_cond_broadcast(&engine->changed);
}

void request_finish_with_value(muster_request_t *request, const uint8_t *value, size_t length)
{
    if (request->state == REQUEST_FINISHED)
        return;
    bool everywhere = request->call.operation == OPERATION_BROADCAST ||
                      request->call.operation == OPERATION_ALLREDUCE ||
                      request->call.operation == OPERATION_ALLGATHER;
    if (everywhere && PLANT(13, true, !request->abandoned) && request->schedule &&
        request->schedule->self_deciding) {
        if (length != buffers_result(request)) {
            request_finish(request, MUSTER_UNDECIDED, NULL);
            return;
        }
        request_forget(request); /* nothing may write there behind the value */
        if (length > 0 && request->receive.base)
            memcpy(request->receive.base, value, length);
        outcome_keep_value(request->comm, request->generation, value, length);
    }
    request_finish(request, MUSTER_OK, NULL);
}

/* ---- time, cancel, release ---- */

void request_tick(muster_request_t *request, int64_t now)
{
    if (request->state == REQUEST_RUNNING && request->phase == request->schedule->phase_count &&
        now >= request_next_deadline(request)) {
        request_finish(request, MUSTER_OK, NULL); /* a copy of what is still to be sent will do */
        return;
    }
    if (request->state == REQUEST_RUNNING && now >= request->look && now < request->deadline) {
        request->look = now + 2 * (now - request->begun);
        outcome_look(request->comm, request->generation);
        if (request->state != REQUEST_RUNNING)
            return;
    }
    if (request->state == REQUEST_RUNNING && !request->asked && now >= request->deadline) {
        request->asked = true;
        request->give_up = now + ENGINE_GRACE;
        muster_failure_t failure;
        request_failure(request->comm, request->generation, call_form(&request->call),
                        MUSTER_TIMED_OUT, MUSTER_NO_RANK, &failure);
        size_t length = strlen(failure.message);
        snprintf(failure.message + length, sizeof failure.message - length,
                 "timed out after %lld ms",
                 (long long)((request->deadline - request->begun) / 1000000));
        if (!PLANTED(22))
            outcome_report(request->comm, request->generation, &failure);
        return;
    }
    bool waiting = request->state == REQUEST_FAILING || request->asked;
    if (request->state != REQUEST_FINISHED && waiting && now >= request->give_up) {
        muster_failure_t failure;
        request_failure(request->comm, request->generation, call_form(&request->call),
                        MUSTER_UNDECIDED, request->comm->decider, &failure);
        size_t length = strlen(failure.message);
        snprintf(failure.message + length, sizeof failure.message - length,
                 "the decider, rank %u, did not answer", request->comm->decider);
        request_finish(request, MUSTER_UNDECIDED, &failure);
    }
}

int64_t request_next_deadline(const muster_request_t *request)
{
    if (request->state == REQUEST_FAILING || request->asked)
        return request->give_up;
    bool looks = comm_is_decider(request->comm) && request->look < request->deadline;
    return looks ? request->look : request->deadline;
}

void request_cancel(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    if (request->state == REQUEST_QUEUED) {
        muster_request_t **link = &comm->queue;
        muster_request_t *before = NULL;
        for (; *link && *link != request; link = &(*link)->next_queued)
            before = *link;
        if (*link)
            *link = request->next_queued;
        if (comm->queue_end == request)
            comm->queue_end = before;
        request_finish(request, MUSTER_CANCELLED, NULL);
        return;
    }
    char why[64];
    snprintf(why, sizeof why, "cancelled by rank %u", comm->rank);
    request_failed_here(request, MUSTER_CANCELLED, comm->rank, why);
}

void request_release(muster_request_t *request)
{
    if (!request)
        return;
    if (request->state == REQUEST_FINISHED) {
        if (request->owned)
            request_unlink(&request->comm->engine->finished, request);
        if (request->on_complete)
            request_drop_callback(request->comm->engine, request);
        request_recycle(request);
        return;
    }
    engine_t *engine = request->comm->engine;
    request->abandoned = true;
    request->on_complete = NULL;
    if (request->state == REQUEST_QUEUED) {
        request_cancel(request);
        return;
    }
    request->comm->holders++; /* across what cancelling may finish */
    muster_comm_t *comm = request->comm;
    uint64_t generation = request->generation;
    request_cancel(request);
    if (comm->operations[generation % GENERATION_WINDOW] == request) {
        request_forget(request);
        request->state = REQUEST_FAILING;
        request->give_up = engine_now(engine) + ENGINE_GRACE;
    }
    comm_release(comm);
}

void request_free_all(engine_t *engine)
{
    while (engine->active)
        request_finish(engine->active, MUSTER_CANCELLED, NULL);
    for (muster_comm_t *comm = engine->comms; comm; comm = comm->next) {
        while (comm->queue) {
            muster_request_t *request = comm->queue;
            comm->queue = request->next_queued;
            request_finish(request, MUSTER_CANCELLED, NULL);
        }
        comm->holders++; /* the engine frees them itself */
    }
    while (engine->finished) {
        muster_request_t *request = engine->finished;
        request_unlink(&engine->finished, request);
        request_recycle(request);
    }
}

void request_run_callbacks(engine_t *engine)
{
    while (engine->callbacks) {
        muster_request_t *request = engine->callbacks;
        engine->callbacks = request->next_queued;
        muster_completion_t function = request->on_complete;
        void *argument = request->on_complete_argument;
        muster_status_t status = request->status;
        request->on_complete = NULL;
        if (!function)
            continue;
        engine_unlock(engine);
        function(request, status, argument);
        engine_lock(engine);
    }
}

void request_cancel_all(engine_t *engine)
{
    for (muster_comm_t *comm = engine->comms; comm; comm = comm->next) {
        while (comm->queue)
            request_cancel(comm->queue);
        for (unsigned i = 0; i < GENERATION_WINDOW; i++)
            if (comm->operations[i])
                request_cancel(comm->operations[i]);
    }
}
