/* Operations: their beginning and their end. Between the two: request_phases.c. */
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
    char which[48] = ""; /* none where the operation is not begun */
    if (generation > 0)
        snprintf(which, sizeof which, " of generation %llu", (unsigned long long)generation);
    snprintf(failure->message, sizeof failure->message, "%s%s on \"%.64s\": ",
             operation != OPERATION_COUNT ? operation_name(operation) : "operation", which,
             comm->name);
}

void request_fail_here(muster_request_t *request, muster_status_t status, uint32_t rank,
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

static void request_empty(muster_request_t *request)
{
    buffers_reset(request);
    free(request->scratch_memory);
    free(request->displaced);
    free(request->rows);
    free(request->state_memory);
    request->scratch_memory = NULL;
    request->displaced = NULL;
    request->rows = NULL;
    request->state_memory = NULL;
    request->scratch_size = request->displaced_size = 0;
    request->row_capacity = request->state_capacity = 0;
}

static void request_recycle(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    request->released = true;
    request->leaving = request->visitors > 0;
    if (request->leaving)
        return;
    choice_release(request->cached);
    request->cached = NULL;
    buffers_reset(request);
    if (comm->engine->shutting_down) {
        request_free(request);
    } else {
        if (comm->destroyed)
            request_empty(request); /* nothing is started any more, but a handle may be told */
        request->next = comm->spare;
        comm->spare = request;
    }
    comm_release(comm);
}

void request_visit(muster_request_t *request)
{
    request->visitors++;
}

void request_leave(muster_request_t *request)
{
    MUSTER_ASSERT(request->visitors > 0);
    if (--request->visitors == 0 && request->leaving)
        request_recycle(request);
}

void request_free(muster_request_t *request)
{
    request_empty(request);
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
    bool one_way = operation_is_one_way((operation_t)request->call.operation);
    request->schedule = NULL;
    request->send_transfers = request->receive_transfers = NULL;
    if (one_way && request->call.outcome == MUSTER_OUTCOME_LOCAL) {
        bool small = !operation_is_ragged((operation_t)request->call.operation) &&
                     !request->arguments.rows && request->send.width <= COMM_SMALL;
        if (comm_synchronizes(comm, request->generation, (generation_mode_t)request->call.mode,
                              small))
            request->call.outcome = MUSTER_OUTCOME_UNIFORM;
    }
    request->uniform = request->call.outcome == MUSTER_OUTCOME_UNIFORM;
    request->small = buffers_result(request) <= COMM_SMALL;
    choice_call_t call = {.call = &request->call,
                          .in_place = request->arguments.in_place,
                          .uniform = request->uniform,
                          .small = request->small,
                          .bytes = request->call.count * request->element};
    muster_status_t status = choice_schedule(comm, &call, &request->cached);
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
    return buffers_scratch(request, schedule->scratch_blocks, schedule->pieces);
}

static void request_lost_at_start(muster_request_t *request)
{
    muster_comm_t *comm = request->comm;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        if (!comm_is_lost(comm, rank))
            continue;
        char why[ENGINE_HOW_MAX + 64];
        uint32_t member = comm->members[rank];
        const char *how = comm->engine->how[member];
        snprintf(why, sizeof why, "rank %u %s%s%s", rank,
                 comm->engine->gone[member] == ENGINE_LEFT ? "has left" : "was lost",
                 how[0] ? ": " : "", how);
        request_fail_here(request, MUSTER_PEER_LOST, rank, why);
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
    request->held = false;
    request->sends_out = 0;
    request->asked = false;
    request->give_up = INT64_MAX;
    request_link(&comm->engine->active, request);
    ahead_begun(comm);
    outcome_begin(comm, record);
    if (record->state == RECORD_FAILED && !PLANTED(8)) {
        muster_failure_t failure;
        outcome_failure(comm, record, &failure);
        request_finish(request, failure.status, &failure);
        return;
    }
    if (prepared != MUSTER_OK) {
        request_fail_here(request, prepared, comm->rank, "no memory for the operation");
        return;
    }
    request_note_mode(comm, request->generation, (generation_mode_t)request->call.mode);
    if (comm->has_lost && request->state == REQUEST_RUNNING)
        request_lost_at_start(request);
    if (request->state == REQUEST_RUNNING && ahead_has_to_ask(comm, request->generation)) {
        request->held = true;
        comm->held++;
        ahead_ask(comm, request->generation, call_form(&request->call));
    }
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
    request->released = false;
    request->abandoned = false;
    request->on_complete = NULL;
    request->status = MUSTER_IN_PROGRESS;
    request->generation = 0;
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

/* Where nothing else is known of a failure. */
static void request_say_status(muster_request_t *request, muster_status_t status)
{
    muster_failure_t *failure = &request->failure;
    request_failure(request->comm, request->generation, call_form(&request->call), status,
                    MUSTER_NO_RANK, failure);
    size_t length = strlen(failure->message);
    snprintf(failure->message + length, sizeof failure->message - length, "%s",
             muster_status_text(status));
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
            message_drop_early_of(comm, record);
            if (status == MUSTER_OK && request->uniform && record->state == RECORD_OPEN)
                record->state = RECORD_VALUE;
        }
        comm->operations[request->generation % GENERATION_WINDOW] = NULL;
        request_unlink(&engine->active, request);
        generation_complete(&comm->clock, request->generation);
    }
    if (request->held)
        comm->held--;
    request->held = false;
    bool all_begun =
        request->state != REQUEST_QUEUED && status == MUSTER_OK &&
        (request->uniform || !operation_is_one_way((operation_t)request->call.operation));
    uint64_t generation = request->generation;
    request->state = REQUEST_FINISHED;
    request->status = status;
    if (status != MUSTER_OK) {
        if (failure)
            request->failure = *failure;
        else
            request_say_status(request, status);
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
    if (all_begun)
        ahead_reached(comm, generation);
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
    request_fail_here(request, MUSTER_CANCELLED, comm->rank, why);
}

void request_release(muster_request_t *request)
{
    if (!request || request->released)
        return;
    request->released = true;
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

/* ---- callbacks ---- */

struct calling {
    struct calling *next;
    const muster_request_t *request;
    pthread_t thread;
};

void request_run_callback(muster_request_t *request, muster_completion_t function, void *argument)
{
    engine_t *engine = request->comm->engine;
    struct calling calling = {engine->calling, request, pthread_self()};
    muster_status_t status = request->status;
    engine->calling = &calling;
    request_visit(request);
    engine_unlock(engine);
    function(request, status, argument);
    engine_lock(engine);
    struct calling **link = &engine->calling;
    while (*link != &calling)
        link = &(*link)->next;
    *link = calling.next;
    request_leave(request);
    if (engine->waiters > 0)
        pthread_cond_broadcast(&engine->changed);
}

void request_run_callbacks(engine_t *engine)
{
    while (engine->callbacks) {
        muster_request_t *request = engine->callbacks;
        engine->callbacks = request->next_queued;
        muster_completion_t function = request->on_complete;
        request->on_complete = NULL;
        if (function)
            request_run_callback(request, function, request->on_complete_argument);
    }
}

bool request_is_calling(const engine_t *engine)
{
    for (const struct calling *calling = engine->calling; calling; calling = calling->next)
        if (pthread_equal(calling->thread, pthread_self()))
            return true;
    return false;
}

bool request_is_called(const muster_request_t *request)
{
    for (const struct calling *calling = request->comm->engine->calling; calling;
         calling = calling->next)
        if (calling->request == request)
            return true;
    return false;
}

bool request_is_settled(const muster_request_t *request)
{
    return request->state == REQUEST_FINISHED && !request->on_complete &&
           !request_is_called(request);
}

bool request_is_given(const muster_request_t *request)
{
    return request->owned && !request->released;
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
