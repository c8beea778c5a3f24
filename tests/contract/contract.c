/* The driver of the contract suite, and its main program. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONTRACT_SEQUENCE_AT 24 /* in the header */

int64_t contract_deadline(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

uint64_t contract_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static uint8_t contract_byte(uint64_t sequence, size_t place)
{
    return (uint8_t)(sequence * 31 + place * 7 + (place >> 8) * 13 + (place >> 16));
}

void contract_fill(uint64_t sequence, uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = contract_byte(sequence, i);
}

bool contract_is(uint64_t sequence, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != contract_byte(sequence, i))
            return false;
    }
    return true;
}

void contract_header(uint64_t sequence, size_t length, uint8_t header[WIRE_HEADER_SIZE])
{
    contract_fill(sequence, header, WIRE_HEADER_SIZE);
    header[0] = WIRE_DATA;
    wire_put_u64(header + 8, length);
    wire_put_u64(header + CONTRACT_SEQUENCE_AT, sequence);
}

uint64_t contract_sequence(const uint8_t *header)
{
    uint64_t sequence = wire_get_u64(header + CONTRACT_SEQUENCE_AT);
    uint8_t expected[WIRE_HEADER_SIZE];
    contract_header(sequence, wire_get_u64(header + 8), expected);
    ck_assert_mem_eq(header, expected, WIRE_HEADER_SIZE);
    return sequence;
}

void contract_spans(uint8_t *bytes, size_t length, size_t count, transport_span_t *spans)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t rest = length - at;
        size_t part = i + 1 == count ? rest : i % 3 == 1 ? 0 : rest / (count - i) / 2 + rest % 3;
        if (part > rest)
            part = rest;
        spans[i] = (transport_span_t){.bytes = bytes + at, .length = part};
        at += part;
    }
}

/* ---- A group --------------------------------------------------------------------------------- */

void contract_begin(contract_t *contract, uint32_t size)
{
    memset(contract, 0, sizeof *contract);
    contract->group.size = size;
    contract_factory.create(size, &contract->group);
    for (uint32_t i = 0; i < size; i++) {
        contract->ranks[i].transport = contract->group.transports[i];
        contract->ranks[i].place_spans = 1;
    }
}

void contract_leave(contract_t *contract, uint32_t rank)
{
    transport_t *transport = contract->group.transports[rank];
    transport->operations->destroy(transport);
    contract->group.transports[rank] = NULL;
    contract->ranks[rank].transport = NULL;
}

void contract_end(contract_t *contract)
{
    for (uint32_t i = 0; i < contract->group.size; i++) {
        if (contract->group.transports[i] != NULL)
            contract_leave(contract, i);
        free(contract->ranks[i].events);
        while (contract->ranks[i].buffers != NULL) {
            contract_buffer_t *buffer = contract->ranks[i].buffers;
            contract->ranks[i].buffers = buffer->next;
            free(buffer);
        }
    }
    contract_factory.destroy(&contract->group);
}

static contract_buffer_t *contract_buffer(contract_rank_t *rank, uint64_t sequence, size_t length)
{
    contract_buffer_t *buffer = malloc(sizeof *buffer + length);
    ck_assert_ptr_nonnull(buffer);
    buffer->next = rank->buffers;
    rank->buffers = buffer;
    buffer->sequence = sequence;
    buffer->length = length;
    return buffer;
}

static void contract_answer(contract_rank_t *rank, const transport_event_t *event,
                            uint64_t sequence)
{
    if (rank->policy == CONTRACT_DROP) {
        rank->transport->operations->place(rank->transport, event->peer, NULL, 0, rank);
        return;
    }
    contract_buffer_t *buffer = contract_buffer(rank, sequence, event->payload_length);
    memset(buffer->bytes, 0xee, buffer->length);
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    contract_spans(buffer->bytes, buffer->length, rank->place_spans, spans);
    rank->transport->operations->place(rank->transport, event->peer, spans, rank->place_spans,
                                       buffer);
    /* The spans' array itself is not borrowed. */
    memset(spans, 0xff, sizeof spans);
}

contract_event_t *contract_poll(contract_rank_t *rank)
{
    transport_event_t event = {.kind = TRANSPORT_LOST, .peer = UINT32_MAX};
    if (!rank->transport->operations->poll(rank->transport, &event))
        return NULL;
    ck_assert_uint_lt(event.peer, rank->transport->size);
    ck_assert_uint_ne(event.peer, rank->transport->rank);
    if (rank->count == rank->room) {
        rank->room = rank->room * 2 + 64;
        rank->events = realloc(rank->events, rank->room * sizeof *rank->events);
        ck_assert_ptr_nonnull(rank->events);
    }
    contract_event_t *told = &rank->events[rank->count++];
    *told = (contract_event_t){.kind = event.kind,
                               .peer = event.peer,
                               .status = event.status,
                               .length = event.payload_length,
                               .token = event.token};
    contract_buffer_t *buffer = event.token;
    switch (event.kind) {
    case TRANSPORT_MESSAGE:
        ck_assert_uint_le(event.payload_length, TRANSPORT_INLINE_MAX);
        ck_assert_uint_eq(event.payload_length, wire_payload_length(event.header));
        told->sequence = contract_sequence(event.header);
        told->good = contract_is(told->sequence, event.payload, event.payload_length);
        break;
    case TRANSPORT_HEADER:
        ck_assert_uint_gt(event.payload_length, TRANSPORT_INLINE_MAX);
        ck_assert_uint_eq(event.payload_length, wire_payload_length(event.header));
        told->sequence = contract_sequence(event.header);
        if (rank->policy != CONTRACT_LEAVE)
            contract_answer(rank, &event, told->sequence);
        break;
    case TRANSPORT_RECEIVED:
        ck_assert_ptr_nonnull(buffer);
        told->sequence = buffer->sequence;
        told->length = buffer->length;
        told->good = contract_is(buffer->sequence, buffer->bytes, buffer->length);
        break;
    case TRANSPORT_SENT:
        ck_assert_ptr_nonnull(buffer);
        told->sequence = buffer->sequence;
        ck_assert_uint_gt(rank->sends_under_way, 0);
        rank->sends_under_way--;
        memset(buffer->bytes, 0xdd, buffer->length);
        break;
    case TRANSPORT_LOST:
        break;
    }
    return told;
}

void contract_round(contract_t *contract)
{
    bool some = false;
    for (uint32_t i = 0; i < contract->group.size; i++) {
        contract_rank_t *rank = &contract->ranks[i];
        /* Bounded, so that no rank keeps the others from their turn. */
        for (int n = 0; n < 1000 && rank->transport != NULL && contract_poll(rank) != NULL; n++)
            some = true;
    }
    if (some)
        return;
    for (uint32_t i = 0; i < contract->group.size; i++) {
        contract_rank_t *rank = &contract->ranks[contract->turn++ % contract->group.size];
        if (rank->transport == NULL)
            continue;
        rank->transport->operations->wait(rank->transport, 1000000);
        return;
    }
}

/* The status; token: NULL where nothing is under way. */
static muster_status_t contract_send_buffer(contract_rank_t *rank, uint32_t peer, uint64_t sequence,
                                            size_t length, size_t span_count, void **token)
{
    contract_buffer_t *buffer = contract_buffer(rank, sequence, length);
    contract_fill(sequence, buffer->bytes, length);
    uint8_t header[WIRE_HEADER_SIZE];
    contract_header(sequence, length, header);
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    contract_spans(buffer->bytes, length, span_count, spans);
    bool done = false;
    muster_status_t status = rank->transport->operations->send(rank->transport, peer, header, spans,
                                                               span_count, buffer, &done);
    /* Header and spans' array are copied; the payload is only when it is done. */
    memset(header, 0xcc, sizeof header);
    memset(spans, 0xcc, sizeof spans);
    *token = NULL;
    if (status == MUSTER_OK && !done) {
        rank->sends_under_way++;
        *token = buffer;
        return status;
    }
    rank->buffers = buffer->next;
    memset(buffer->bytes, 0xcc, length);
    free(buffer);
    return status;
}

void *contract_send(contract_rank_t *rank, uint32_t peer, uint64_t sequence, size_t length,
                    size_t span_count)
{
    void *token;
    ck_assert_int_eq(contract_send_buffer(rank, peer, sequence, length, span_count, &token),
                     MUSTER_OK);
    return token;
}

muster_status_t contract_try_send(contract_rank_t *rank, uint32_t peer, uint64_t sequence,
                                  size_t length, size_t span_count)
{
    void *token;
    return contract_send_buffer(rank, peer, sequence, length, span_count, &token);
}

size_t contract_count(const contract_rank_t *rank, transport_event_kind_t kind, uint32_t peer)
{
    size_t count = 0;
    for (size_t i = 0; i < rank->count; i++)
        count += rank->events[i].kind == kind && rank->events[i].peer == peer;
    return count;
}

size_t contract_arrived(const contract_rank_t *rank, uint32_t peer)
{
    return contract_count(rank, TRANSPORT_MESSAGE, peer) +
           contract_count(rank, TRANSPORT_RECEIVED, peer);
}

void contract_in_order(const contract_rank_t *rank, uint32_t peer, uint64_t first, size_t count)
{
    uint64_t next = first;
    for (size_t i = 0; i < rank->count; i++) {
        const contract_event_t *event = &rank->events[i];
        if (event->peer != peer ||
            (event->kind != TRANSPORT_MESSAGE && event->kind != TRANSPORT_RECEIVED))
            continue;
        ck_assert_uint_eq(event->sequence, next);
        ck_assert_msg(event->good, "the payload of message %lu is wrong", (unsigned long)next);
        next++;
    }
    ck_assert_uint_eq(next - first, count);
}

const contract_event_t *contract_find(const contract_rank_t *rank, transport_event_kind_t kind,
                                      uint32_t peer)
{
    for (size_t i = 0; i < rank->count; i++) {
        if (rank->events[i].kind == kind && rank->events[i].peer == peer)
            return &rank->events[i];
    }
    return NULL;
}

void contract_meet(contract_t *contract)
{
    contract_rank_t *ranks = contract->ranks;
    contract_send(&ranks[0], 1, 0, 8, 1);
    contract_send(&ranks[1], 0, 0, 8, 1);
    CONTRACT_UNTIL(contract, contract_arrived(&ranks[0], 1) == 1 &&
                                 contract_arrived(&ranks[1], 0) == 1 &&
                                 ranks[0].sends_under_way + ranks[1].sends_under_way == 0);
}

int main(void)
{
    Suite *suite = suite_create(contract_factory.name);
    TCase *carrying = tcase_create("carrying");
    contract_add_carrying(carrying);
    tcase_set_timeout(carrying, 60);
    suite_add_tcase(suite, carrying);
    TCase *losing = tcase_create("losing");
    contract_add_losing(losing);
    tcase_set_timeout(losing, 60);
    suite_add_tcase(suite, losing);
    if (contract_factory.threads) {
        TCase *threads = tcase_create("threads");
        contract_add_threads(threads);
        tcase_set_timeout(threads, 60);
        suite_add_tcase(suite, threads);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
