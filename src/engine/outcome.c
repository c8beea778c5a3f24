#include "engine/outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/plant.h"
#include "engine/ahead.h"
#include "engine/message.h"
#include "engine/request.h"

typedef struct answer {
    wire_state_t state;
    call_t call;
    bool answered;
} answer_t;

/* The decider asks where everybody is before it decides. */
typedef struct inquiry {
    gate_t gate;
    int64_t deadline;
    muster_failure_t failure; /* what was reported */
    bool has_value;
    size_t value_length;
    uint8_t value[COMM_SMALL];
    uint64_t *words;
    answer_t answers[]; /* by rank */
} inquiry_t;

static void outcome_say(muster_failure_t *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends to the failure's message, as far as there is room. */
static void outcome_say(muster_failure_t *failure, const char *format, ...)
{
    size_t length = strlen(failure->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message + length, sizeof failure->message - length, format, arguments);
    va_end(arguments);
}

static void outcome_add_missing(muster_failure_t *failure, uint32_t rank)
{
    muster_rank_range_t *last =
        failure->range_count ? &failure->missing[failure->range_count - 1] : NULL;
    if (last && (last->last + 1 == rank || failure->range_count == MUSTER_FAILURE_RANGES_MAX))
        last->last = rank;
    else
        failure->missing[failure->range_count++] = (muster_rank_range_t){rank, rank};
}

/* ---- records ---- */

static void outcome_drop_inquiry(muster_comm_t *comm, record_t *record)
{
    if (!record->inquiry)
        return;
    free(record->inquiry->words);
    free(record->inquiry);
    record->inquiry = NULL;
    comm->inquiries--;
}

void outcome_free_record(record_t *record)
{
    if (record->inquiry)
        free(record->inquiry->words);
    free(record->inquiry);
    free(record->failure);
    free(record->reported);
    free(record->value);
    record->reported = NULL;
    record->inquiry = NULL;
    record->failure = NULL;
    record->value = NULL;
}

void outcome_failure(const muster_comm_t *comm, const record_t *record, muster_failure_t *failure)
{
    if (record->failure) {
        *failure = *record->failure;
        return;
    }
    uint8_t operation = record->started ? call_form(&record->call) : OPERATION_COUNT;
    request_failure(comm, record->generation, operation, record->status, record->culprit, failure);
    outcome_say(failure, "%s", muster_status_text(record->status));
}

void outcome_keep_value(muster_comm_t *comm, uint64_t generation, const uint8_t *value,
                        size_t length)
{
    record_t *record = comm_record(comm, generation);
    if (!record || record->value_kept || length > COMM_SMALL)
        return;
    if (!record->value && !(record->value = malloc(COMM_SMALL)))
        return;
    if (length > 0 && value)
        memcpy(record->value, value, length);
    record->value_length = length;
    record->value_kept = true;
}

static muster_request_t *outcome_request(muster_comm_t *comm, uint64_t generation)
{
    muster_request_t *request = comm->operations[generation % GENERATION_WINDOW];
    return request && request->generation == generation ? request : NULL;
}

/* ---- verdicts ---- */

static void outcome_send_failure(muster_comm_t *comm, const muster_failure_t *failure,
                                 uint32_t rank)
{
    uint8_t bytes[WIRE_FAILURE_SIZE];
    wire_encode_failure(failure, bytes);
    wire_message_t message = comm_message(comm, WIRE_VERDICT, failure->generation, sizeof bytes);
    message.label = VERDICT_FAILURE;
    comm_send_control(comm, rank, &message, bytes);
}

static void outcome_send_verdict(muster_comm_t *comm, const record_t *record, uint32_t rank)
{
    if (record->state == RECORD_VALUE) {
        size_t length = record->value_kept ? record->value_length : 0;
        wire_message_t message = comm_message(comm, WIRE_VERDICT, record->generation, length);
        message.label = VERDICT_VALUE;
        comm_send_control(comm, rank, &message, record->value);
        return;
    }
    muster_failure_t failure;
    outcome_failure(comm, record, &failure);
    failure.generation = record->generation;
    outcome_send_failure(comm, &failure, rank);
}

static void outcome_tell_all(muster_comm_t *comm, const record_t *record)
{
    uint32_t size = PLANT(7, comm->size - 1, comm->size);
    for (uint32_t rank = 0; rank < size; rank++)
        if (rank != comm->rank && !comm_is_lost(comm, rank))
            outcome_send_verdict(comm, record, rank);
}

static void outcome_store_failure(muster_comm_t *comm, record_t *record,
                                  const muster_failure_t *failure)
{
    message_drop_early_of(comm, record);
    record->state = RECORD_FAILED;
    record->status = failure->status;
    record->culprit = failure->rank;
    record->failure = malloc(sizeof *failure); /* without memory the status and the rank remain */
    if (record->failure)
        *record->failure = *failure;
}

/* Who has not begun a generation cannot say what it is. */
static void outcome_name_operation(const muster_comm_t *comm, const record_t *record,
                                   muster_failure_t *failure)
{
    if (failure->operation[0] || !record->started)
        return;
    muster_failure_t unnamed, named;
    request_failure(comm, record->generation, OPERATION_COUNT, failure->status, failure->rank,
                    &unnamed);
    size_t length = strlen(unnamed.message);
    if (strncmp(failure->message, unnamed.message, length) != 0)
        return;
    request_failure(comm, record->generation, call_form(&record->call), failure->status,
                    failure->rank, &named);
    outcome_say(&named, "%s", failure->message + length);
    memcpy(failure->operation, named.operation, sizeof failure->operation);
    memcpy(failure->message, named.message, sizeof failure->message);
}

static void outcome_decide_failure(muster_comm_t *comm, record_t *record,
                                   const muster_failure_t *failure)
{
    MUSTER_ASSERT(record->state == RECORD_OPEN);
    muster_failure_t copy = *failure; /* it may lie in the inquiry */
    outcome_name_operation(comm, record, &copy);
    outcome_drop_inquiry(comm, record);
    outcome_store_failure(comm, record, &copy);
    outcome_tell_all(comm, record);
    muster_request_t *request = outcome_request(comm, record->generation);
    if (request)
        request_finish(request, copy.status, &copy);
}

bool outcome_decide_value(muster_comm_t *comm, uint64_t generation)
{
    record_t *record = comm_record(comm, generation);
    MUSTER_ASSERT(record);
    if (record->state == RECORD_FAILED)
        return false;
    record->state = RECORD_VALUE;
    if (record->inquiry) {
        outcome_drop_inquiry(comm, record);
        outcome_tell_all(comm, record); /* who asked may be cut off from the way down */
    }
    return true;
}

/* ---- inquiries ---- */

static void outcome_conclude(muster_comm_t *comm, record_t *record);

static void outcome_own_answer(muster_comm_t *comm, const record_t *record, wire_state_t *state)
{
    *state = (wire_state_t){.started = record->started,
                            .has_value = record->state == RECORD_VALUE,
                            .last_operation = comm->last_operation,
                            .last_generation = comm->last_generation};
}

static bool outcome_inquire(muster_comm_t *comm, record_t *record, const muster_failure_t *failure)
{
    inquiry_t *inquiry = calloc(1, sizeof *inquiry + comm->size * sizeof *inquiry->answers);
    uint64_t *words = malloc(GATE_MEMORY_WORDS(comm->size) * sizeof *words);
    if (!inquiry || !words) {
        free(inquiry);
        free(words);
        return false;
    }
    inquiry->words = words;
    inquiry->failure = *failure;
    /* Whoever is there may hold the value that a lost decider gave out: wait for all of them then,
     * and leave the callers to give up, rather than decide against it. */
    inquiry->deadline = comm->took_over ? INT64_MAX : engine_now(comm->engine) + ENGINE_INQUIRY;
    gate_open(&inquiry->gate, words, comm->size, true, GATE_GO_ON, inquiry->deadline);
    record->inquiry = inquiry;
    comm->inquiries++;
    wire_message_t message = comm_message(comm, WIRE_QUERY, record->generation, 0);
    message.label = comm->took_over ? QUERY_TAKEOVER : QUERY_PLAIN;
    record->fenced = comm->took_over; /* what a lost decider sent may not count here either */
    gate_answer_t last = GATE_WAIT;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        if (rank == comm->rank) {
            outcome_own_answer(comm, record, &inquiry->answers[rank].state);
            inquiry->answers[rank].call = record->call;
            inquiry->answers[rank].answered = true;
        } else if (!comm_is_lost(comm, rank)) {
            comm_send_control(comm, rank, &message, NULL);
            continue;
        }
        gate_event_kind_t kind = rank == comm->rank ? GATE_CONTRIBUTE : GATE_LOSE;
        last = gate_step(&inquiry->gate, (gate_event_t){kind, rank, MUSTER_OK}, 0);
    }
    if (last == GATE_COMPLETE)
        outcome_conclude(comm, record);
    return true;
}

/* The first field in which two of those who have started differ, and how they differ. */
static bool outcome_find_mismatch(const muster_comm_t *comm, const inquiry_t *inquiry,
                                  muster_failure_t *failure)
{
    const answer_t *first = NULL;
    call_field_t field = CALL_FIELD_NONE;
    uint32_t culprit = MUSTER_NO_RANK;
    for (uint32_t rank = 0; rank < comm->size && field == CALL_FIELD_NONE; rank++) {
        const answer_t *answer = &inquiry->answers[rank];
        if (!answer->answered || !answer->state.started)
            continue;
        if (!first)
            first = answer;
        else if ((field = call_compare(&first->call, &answer->call)) != CALL_FIELD_NONE)
            culprit = rank;
    }
    if (field == CALL_FIELD_NONE)
        return false;
    request_failure(comm, inquiry->failure.generation, call_form(&first->call), MUSTER_MISMATCH,
                    culprit, failure);
    snprintf(failure->field, sizeof failure->field, "%s", call_field_name(field));
    outcome_say(failure, "%s differs:", call_field_name(field));
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        const answer_t *answer = &inquiry->answers[rank];
        if (!answer->answered || !answer->state.started)
            continue;
        uint64_t value = call_value(&answer->call, field);
        bool told = false;
        for (uint32_t other = 0; other < rank && !told; other++)
            told = inquiry->answers[other].answered && inquiry->answers[other].state.started &&
                   call_value(&inquiry->answers[other].call, field) == value;
        if (told)
            continue;
        const char *separator = answer == first ? "" : ";";
        if (field == CALL_FIELD_OPERATION)
            outcome_say(failure, "%s %s on rank %u", separator, operation_name((uint8_t)value),
                        rank);
        else
            outcome_say(failure, "%s %llu on rank %u", separator, (unsigned long long)value, rank);
        for (uint32_t other = rank + 1; other < comm->size; other++)
            if (inquiry->answers[other].answered && inquiry->answers[other].state.started &&
                call_value(&inquiry->answers[other].call, field) == value)
                outcome_say(failure, ", %u", other);
    }
    return true;
}

/* Whether the same is known of both: they are named together. */
static bool outcome_is_alike(const answer_t *one, const answer_t *other)
{
    if (one->answered != other->answered)
        return false;
    return !one->answered || (one->state.last_generation == other->state.last_generation &&
                              one->state.last_operation == other->state.last_operation &&
                              one->state.started == other->state.started);
}

static void outcome_say_seen(muster_failure_t *failure, const answer_t *answer)
{
    if (!answer->answered)
        outcome_say(failure, " (no answer)");
    else if (answer->state.last_generation == 0)
        outcome_say(failure, " (has made no call)");
    else
        outcome_say(failure, " (last: %s, generation %llu)",
                    operation_name(answer->state.last_operation),
                    (unsigned long long)answer->state.last_generation);
}

static void outcome_name_missing(const muster_comm_t *comm, const inquiry_t *inquiry,
                                 muster_failure_t *failure)
{
    failure->range_count = 0;
    failure->rank = MUSTER_NO_RANK;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        const answer_t *answer = &inquiry->answers[rank];
        if (answer->answered && PLANT(9, true, answer->state.started))
            continue;
        const char *before = failure->range_count ? "," : ", missing:";
        if (failure->rank == MUSTER_NO_RANK) {
            muster_failure_t named;
            request_failure(comm, failure->generation, OPERATION_COUNT, failure->status, rank,
                            &named);
            failure->rank = rank;
            failure->pid = named.pid;
            memcpy(failure->host, named.host, sizeof failure->host);
        }
        uint32_t last = rank;
        while (last + 1 < comm->size && outcome_is_alike(answer, &inquiry->answers[last + 1]))
            last++;
        if (rank == last)
            outcome_say(failure, "%s rank %u", before, rank);
        else
            outcome_say(failure, "%s ranks %u-%u", before, rank, last);
        outcome_say_seen(failure, answer);
        for (; rank < last; rank++)
            outcome_add_missing(failure, rank);
        outcome_add_missing(failure, rank);
    }
    if (failure->range_count == 0)
        outcome_say(failure, ", though every rank has arrived");
}

static void outcome_conclude(muster_comm_t *comm, record_t *record)
{
    inquiry_t *inquiry = record->inquiry;
    if (inquiry->has_value && !PLANTED(16)) {
        uint64_t generation = record->generation;
        outcome_keep_value(comm, generation, inquiry->value, inquiry->value_length);
        record->state = RECORD_VALUE;
        record->fenced = false;
        outcome_drop_inquiry(comm, record);
        outcome_tell_all(comm, record);
        muster_request_t *request = outcome_request(comm, generation);
        if (request)
            request_finish_with_value(request, record->value,
                                      record->value_kept ? record->value_length : 0);
        return;
    }
    /* As long as one who lives has not told whether it knows the value, nothing else is decided. */
    MUSTER_ASSERT(!comm->took_over || gate_is_complete(&inquiry->gate));
    muster_failure_t failure = inquiry->failure;
    bool look = failure.status == MUSTER_IN_PROGRESS;
    bool differ =
        (look || failure.status == MUSTER_TIMED_OUT || failure.status == MUSTER_MISMATCH) &&
        outcome_find_mismatch(comm, inquiry, &failure);
    if (look && !differ) {
        outcome_drop_inquiry(comm, record);
        return;
    }
    if (!differ && failure.status == MUSTER_TIMED_OUT)
        outcome_name_missing(comm, inquiry, &failure);
    outcome_decide_failure(comm, record, &failure);
}

/* ---- ranks that are far apart ---- */

/* The decider is asked about a generation that has ended so long ago that its record is gone. */
static void outcome_send_forgotten(muster_comm_t *comm, const muster_failure_t *asked,
                                   uint32_t rank)
{
    muster_failure_t failure = *asked;
    failure.status = comm->forgotten != MUSTER_OK ? comm->forgotten : MUSTER_TIMED_OUT;
    failure.rank = comm->forgotten != MUSTER_OK ? comm->forgotten_culprit : rank;
    if (failure.rank != MUSTER_NO_RANK && failure.status == MUSTER_TIMED_OUT)
        outcome_add_missing(&failure, failure.rank);
    outcome_say(&failure, "%s; rank %u has come so late that no more is known",
                muster_status_text(failure.status), rank);
    outcome_send_failure(comm, &failure, rank);
}

static bool outcome_is_late(const muster_comm_t *comm, uint64_t generation)
{
    return generation >= comm->late_first && generation <= comm->late_last;
}

/* The same whenever it is made. */
static void outcome_late_failure(const muster_comm_t *comm, uint64_t generation,
                                 muster_failure_t *failure)
{
    request_failure(comm, generation, OPERATION_COUNT, MUSTER_TIMED_OUT, comm->rank, failure);
    outcome_add_missing(failure, comm->rank);
    outcome_say(failure, "timed out, missing: rank %u (far behind)", comm->rank);
}

/*
 * This rank decides, but is so far behind that it could not even remember a decision: all that is
 * reported from so far ahead fails in the same way, here too when its turn comes.
 */
static void outcome_fail_late(muster_comm_t *comm, uint64_t generation)
{
    if (comm->late_last < comm->clock.low || generation < comm->late_first)
        comm->late_first = generation;
    if (generation > comm->late_last)
        comm->late_last = generation;
    muster_failure_t failure;
    outcome_late_failure(comm, generation, &failure);
    for (uint32_t rank = 0; rank < comm->size; rank++)
        if (rank != comm->rank && !comm_is_lost(comm, rank))
            outcome_send_failure(comm, &failure, rank);
}

static bool outcome_has_ended(const muster_comm_t *comm, uint64_t generation)
{
    return comm->ended != 0 && generation >= comm->ended;
}

/* The same on every rank that makes the same call. */
static void outcome_destroyed_failure(const muster_comm_t *comm, uint64_t generation,
                                      uint8_t operation, uint32_t rank, muster_failure_t *failure)
{
    request_failure(comm, generation, operation, MUSTER_PEER_LOST, rank, failure);
    outcome_say(failure, "rank %u has destroyed its communicator", rank);
}

void outcome_begin(muster_comm_t *comm, record_t *record)
{
    muster_failure_t failure;
    if (record->state != RECORD_OPEN)
        return;
    if (outcome_is_late(comm, record->generation))
        outcome_late_failure(comm, record->generation, &failure);
    else if (outcome_has_ended(comm, record->generation))
        outcome_destroyed_failure(comm, record->generation,
                                  record->started ? call_form(&record->call) : OPERATION_COUNT,
                                  comm->ended_by, &failure);
    else
        return;
    outcome_store_failure(comm, record, &failure);
}

/* From this generation on all fail, those that are under way at once. */
static void outcome_end(muster_comm_t *comm, uint64_t generation, uint32_t rank)
{
    if (comm->ended != 0 && comm->ended <= generation)
        return;
    comm->ended = generation;
    comm->ended_by = rank;
    wire_message_t message = comm_message(comm, WIRE_VERDICT, generation, 0);
    message.label = VERDICT_ENDED;
    message.call.root = rank;
    for (uint32_t other = 0; other < comm->size && comm_is_decider(comm); other++)
        if (other != comm->rank && other != rank && !comm_is_lost(comm, other))
            comm_send_control(comm, other, &message, NULL);
    for (unsigned i = 0; i < GENERATION_WINDOW; i++) {
        muster_request_t *request = comm->operations[i];
        record_t *record = request && outcome_has_ended(comm, request->generation)
                               ? comm_record(comm, request->generation)
                               : NULL;
        if (!record || record->state != RECORD_OPEN)
            continue;
        outcome_drop_inquiry(comm, record);
        outcome_begin(comm, record);
        muster_failure_t failure;
        outcome_failure(comm, record, &failure);
        request_finish(request, failure.status, &failure);
    }
}

void outcome_quit(muster_comm_t *comm)
{
    for (uint64_t generation = comm->clock.low; generation < comm->clock.next; generation++) {
        const record_t *record = comm_record(comm, generation);
        if (record && !record->started)
            outcome_report_never(comm, generation, OPERATION_COUNT);
    }
    if (comm_is_decider(comm)) {
        outcome_end(comm, comm->clock.next, comm->rank);
        return;
    }
    muster_failure_t failure;
    uint8_t bytes[WIRE_FAILURE_SIZE];
    outcome_destroyed_failure(comm, comm->clock.next, OPERATION_COUNT, comm->rank, &failure);
    wire_encode_failure(&failure, bytes);
    wire_message_t message = comm_message(comm, WIRE_REPORT, comm->clock.next, sizeof bytes);
    message.label = REPORT_QUIT;
    comm_send_control(comm, comm->decider, &message, bytes);
}

/* ---- reports ---- */

static void outcome_consider(muster_comm_t *comm, uint64_t generation,
                             const muster_failure_t *failure, uint32_t from)
{
    record_t *record = comm_record(comm, generation);
    if (!record) {
        if (from != comm->rank)
            outcome_send_forgotten(comm, failure, from);
        return;
    }
    outcome_begin(comm, record);
    if (record->state == RECORD_VALUE && !record->told && !PLANTED(18)) {
        /* Who reports stops passing things on: those behind it must not wait for it. */
        record->told = true;
        outcome_tell_all(comm, record);
        return;
    }
    if (record->state != RECORD_OPEN) {
        if (from != comm->rank)
            outcome_send_verdict(comm, record, from);
        return;
    }
    if (failure->status == MUSTER_IN_PROGRESS) {
        ahead_answer(comm, from, generation);
        return;
    }
    if (record->inquiry) {
        if (record->inquiry->failure.status == MUSTER_IN_PROGRESS)
            /* it was only a look; now somebody has to be told */
            record->inquiry->failure = *failure;
        return;
    }
    bool ask = failure->status == MUSTER_TIMED_OUT || failure->status == MUSTER_MISMATCH ||
               comm->took_over;
    if (ask && outcome_inquire(comm, record, failure))
        return;
    /* Without memory to ask, what a lost decider gave out is not known: the callers give up. */
    if (!comm->took_over)
        outcome_decide_failure(comm, record, failure);
}

void outcome_report(muster_comm_t *comm, uint64_t generation, const muster_failure_t *failure)
{
    if (comm_is_decider(comm)) {
        outcome_consider(comm, generation, failure, comm->rank);
        return;
    }
    uint8_t bytes[WIRE_FAILURE_SIZE];
    wire_encode_failure(failure, bytes);
    wire_message_t message = comm_message(comm, WIRE_REPORT, generation, sizeof bytes);
    comm_send_control(comm, comm->decider, &message, bytes);
}

void outcome_report_never(muster_comm_t *comm, uint64_t generation, uint8_t operation)
{
    muster_failure_t failure;
    outcome_destroyed_failure(comm, generation, operation, comm->rank, &failure);
    outcome_report(comm, generation, &failure);
}

void outcome_look(muster_comm_t *comm, uint64_t generation)
{
    record_t *record = comm_record(comm, generation);
    if (!comm_is_decider(comm) || !record || record->state != RECORD_OPEN || record->inquiry ||
        comm->took_over)
        return;
    muster_failure_t look;
    request_failure(comm, generation, call_form(&record->call), MUSTER_IN_PROGRESS, MUSTER_NO_RANK,
                    &look);
    outcome_inquire(comm, record, &look); /* without memory: it comes out at the deadline */
}

/* ---- messages ---- */

void outcome_on_report(muster_comm_t *comm, const wire_message_t *message, const uint8_t *payload)
{
    muster_failure_t failure;
    uint64_t generation = generation_public(message->generation);
    if (!wire_decode_failure(payload, message->payload_length, &failure) || generation == 0) {
        comm->engine->bad_messages++;
        return;
    }
    failure.generation = generation;
    bool question = failure.status == MUSTER_IN_PROGRESS, near = comm_is_near(comm, generation);
    if (comm_is_decider(comm) && message->label == REPORT_QUIT) {
        outcome_end(comm, generation, message->source);
        return;
    }
    if (comm_is_decider(comm)) {
        ahead_heard(comm, message->source, generation);
        if (near)
            outcome_consider(comm, generation, &failure, message->source);
        else if (!question || outcome_is_late(comm, generation))
            outcome_fail_late(comm, generation);
        else
            ahead_answer(comm, message->source, generation);
        return;
    }
    if (question || !near || message->label == REPORT_QUIT)
        return; /* one who takes this rank for the decider has heard of a loss that ends it all */
    /* Who reports here takes every lower rank for lost. This rank may hear the same soon; if it
     * does not, the reporter is cut off from the decider, and the decider's word counts. */
    record_t *record = comm_record(comm, generation);
    if (!record || record->reported || !(record->reported = malloc(sizeof failure)))
        return;
    *record->reported = failure;
    record->reporter = message->source;
}

/* Says where this rank is. What has been decided as far as it knows, stays: a failure goes to the
 * new decider as the verdict that it is. */
static void outcome_answer(muster_comm_t *comm, record_t *record, uint32_t asker, bool takeover)
{
    uint64_t generation = record->generation;
    if (record->state == RECORD_FAILED && !PLANTED(11)) {
        outcome_send_verdict(comm, record, asker);
        return;
    }
    uint8_t bytes[WIRE_STATE_SIZE + COMM_SMALL];
    wire_state_t state;
    size_t length = WIRE_STATE_SIZE;
    outcome_own_answer(comm, record, &state);
    wire_encode_state(&state, bytes);
    if (record->state == RECORD_VALUE && record->value_kept) {
        memcpy(bytes + length, record->value, record->value_length);
        length += record->value_length;
    }
    if (takeover && record->state == RECORD_OPEN && !PLANTED(10))
        record->fenced = true;
    wire_message_t answer = comm_message(comm, WIRE_STATE, generation, length);
    if (record->started)
        answer.call = record->call;
    comm_send_control(comm, asker, &answer, bytes);
}

void outcome_on_query(muster_comm_t *comm, const wire_message_t *message)
{
    uint64_t generation = generation_public(message->generation);
    record_t far = {.generation = generation}; /* not begun here, and not to be remembered */
    record_t *record = generation == 0                  ? NULL
                       : comm_is_near(comm, generation) ? comm_record(comm, generation)
                                                        : &far;
    if (!record) {
        comm->engine->bad_messages += generation == 0;
        return;
    }
    if (message->label == QUERY_BEGUN) {
        ahead_on_query(comm, message);
        return;
    }
    bool takeover = message->label == QUERY_TAKEOVER;
    if (takeover && comm->decider != message->source && record != &far && !PLANTED(23)) {
        record->asker = message->source + 1; /* answered when its turn has come here, too */
        return;
    }
    bool never = comm->destroyed && !record->started && record->state == RECORD_OPEN;
    if (never && comm->decider == message->source)
        outcome_report_never(comm, generation, OPERATION_COUNT);
    outcome_answer(comm, record, message->source, takeover);
}

void outcome_on_state(muster_comm_t *comm, const wire_message_t *message, const uint8_t *payload)
{
    uint64_t generation = generation_public(message->generation);
    wire_state_t state;
    if (message->payload_length < WIRE_STATE_SIZE ||
        !wire_decode_state(payload, WIRE_STATE_SIZE, &state) || !comm_is_near(comm, generation) ||
        message->payload_length > WIRE_STATE_SIZE + COMM_SMALL) {
        comm->engine->bad_messages++;
        return;
    }
    if (comm_is_decider(comm))
        ahead_heard(comm, message->source, state.last_generation);
    record_t *record = comm_record(comm, generation);
    inquiry_t *inquiry = record ? record->inquiry : NULL;
    if (!inquiry)
        return;
    answer_t *answer = &inquiry->answers[message->source];
    answer->state = state;
    answer->call = message->call;
    answer->answered = true;
    if (state.has_value && comm->took_over) {
        inquiry->has_value = true;
        size_t length = message->payload_length - WIRE_STATE_SIZE;
        if (length > 0) {
            memcpy(inquiry->value, payload + WIRE_STATE_SIZE, length);
            inquiry->value_length = length;
        }
    }
    gate_event_t event = {GATE_CONTRIBUTE, message->source, MUSTER_OK};
    if (gate_step(&inquiry->gate, event, 0) == GATE_COMPLETE)
        outcome_conclude(comm, record);
}

void outcome_on_verdict(muster_comm_t *comm, const wire_message_t *message, const uint8_t *payload)
{
    uint64_t generation = generation_public(message->generation);
    if (message->label == VERDICT_REACHED && message->source == comm->decider) {
        ahead_reached(comm, generation);
        return;
    }
    if (message->label == VERDICT_ENDED && message->source == comm->decider && generation > 0 &&
        message->call.root < comm->size) {
        outcome_end(comm, generation, message->call.root);
        return;
    }
    if (generation > 0 && !comm_is_near(comm, generation)) {
        /* Nobody but failures can be so far ahead: asked for again when this rank gets there. */
        if (message->label == VERDICT_FAILURE && generation > comm->missed)
            comm->missed = generation;
        comm->traffic.late_messages++;
        return;
    }
    record_t *record = generation > 0 ? comm_record(comm, generation) : NULL;
    if (!record || record->state != RECORD_OPEN)
        return;
    if (message->source != comm->decider && !record->inquiry)
        return; /* of a decider that another has replaced, or of one before its turn */
    muster_request_t *request = outcome_request(comm, generation);
    if (message->label == VERDICT_VALUE) {
        if (!record->started || message->payload_length > COMM_SMALL)
            return;
        record->state = RECORD_VALUE;
        record->fenced = false;
        if (request)
            request_finish_with_value(request, payload, message->payload_length);
        return;
    }
    muster_failure_t failure;
    if (!wire_decode_failure(payload, message->payload_length, &failure)) {
        comm->engine->bad_messages++;
        return;
    }
    outcome_store_failure(comm, record, &failure);
    if (record->inquiry) { /* the lost decider had decided, and told somebody */
        outcome_drop_inquiry(comm, record);
        outcome_tell_all(comm, record);
    }
    if (request)
        request_finish(request, failure.status, &failure);
}

/* ---- loss and time ---- */

static void outcome_report_gone(muster_comm_t *comm, muster_request_t *request, uint32_t rank,
                                engine_gone_t how)
{
    muster_failure_t failure;
    request_failure(comm, request->generation, call_form(&request->call), MUSTER_PEER_LOST, rank,
                    &failure);
    const char *detail = comm->engine->how[comm->members[rank]];
    outcome_say(&failure, "rank %u %s%s%s", rank, how == ENGINE_LEFT ? "has left" : "was lost",
                detail[0] ? ": " : "", detail);
    /* It stays as it is: its value may be on the way, or its verdict is. */
    int64_t now = engine_now(comm->engine);
    bool later = request->deadline > now && request->deadline != INT64_MAX;
    request->asked = true;
    request->give_up = (later ? request->deadline : now) + ENGINE_GRACE;
    outcome_report(comm, request->generation, &failure);
}

/* Another rank's turn has come to decide: what had to wait for that. */
static void outcome_catch_up(muster_comm_t *comm)
{
    for (size_t i = 0; i < COMM_RECORDS; i++) {
        record_t *record = &comm->records[i];
        if (record->asker == comm->decider + 1) {
            record->asker = 0;
            outcome_answer(comm, record, comm->decider, true);
        }
        if (record->reported && comm_is_decider(comm) && !PLANTED(20)) {
            muster_failure_t failure = *record->reported;
            free(record->reported);
            record->reported = NULL;
            outcome_consider(comm, record->generation, &failure, record->reporter);
        }
    }
}

void outcome_on_gone(muster_comm_t *comm, uint32_t rank, engine_gone_t how)
{
    if (comm_is_lost(comm, rank) || rank == comm->rank)
        return;
    bool was_decider = rank == comm->decider;
    uint32_t before = comm->decider;
    comm->lost[rank / 64] |= UINT64_C(1) << rank % 64;
    comm->has_lost = true;
    while (comm_is_lost(comm, comm->decider) && !PLANTED(14))
        comm->decider++;
    if (was_decider && comm_is_decider(comm))
        comm->took_over = true;
    for (unsigned i = 0; i < GENERATION_WINDOW; i++) {
        muster_request_t *request = comm->operations[i];
        if (!request)
            continue;
        bool reported = request->state == REQUEST_FAILING || request->asked;
        bool concerned = (how == ENGINE_LOST && request->uniform) || request->held ||
                         request_awaits(request, rank) || (was_decider && reported);
        if (concerned)
            outcome_report_gone(comm, request, rank, how);
    }
    for (size_t i = 0; comm->inquiries > 0 && i < COMM_RECORDS; i++) {
        record_t *record = &comm->records[i];
        gate_event_t event = {GATE_LOSE, rank, MUSTER_OK};
        if (record->inquiry && gate_step(&record->inquiry->gate, event, 0) == GATE_COMPLETE)
            outcome_conclude(comm, record);
    }
    if (comm->decider != before)
        outcome_catch_up(comm);
}

void outcome_tick(muster_comm_t *comm, int64_t now)
{
    for (size_t i = 0; comm->inquiries > 0 && i < COMM_RECORDS; i++) {
        record_t *record = &comm->records[i];
        if (record->inquiry && now >= record->inquiry->deadline)
            outcome_conclude(comm, record);
    }
}

int64_t outcome_next_deadline(const muster_comm_t *comm)
{
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; comm->inquiries > 0 && i < COMM_RECORDS; i++) {
        const record_t *record = &comm->records[i];
        if (record->inquiry && record->inquiry->deadline < earliest)
            earliest = record->inquiry->deadline;
    }
    return earliest;
}
