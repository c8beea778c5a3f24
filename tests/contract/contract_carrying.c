/* Messages arrive whole and in order, and buffers are whose the contract says. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const size_t contract_sizes[] = {0, 1, 7, 4095, 4096, 4097, 65535, 65536, 1 << 20, 16 << 20};
#define CONTRACT_SIZES (sizeof contract_sizes / sizeof contract_sizes[0])

START_TEST(every_size_in_every_number_of_spans)
{
    static const size_t counts[] = {1, 2, 5, TRANSPORT_SPANS_MAX};
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    uint64_t sequence = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t sizes = i == 2 ? CONTRACT_SIZES : CONTRACT_SIZES - 1;
        for (size_t size = 0; size < sizes; size++) {
            ranks[0].place_spans = counts[3 - i];
            ranks[1].place_spans = counts[(i + size) % 4];
            for (uint32_t from = 0; from < 2; from++)
                contract_send(&ranks[from], 1 - from, sequence, contract_sizes[size], counts[i]);
            sequence++;
            CONTRACT_UNTIL(&contract, contract_arrived(&ranks[0], 1) == sequence &&
                                          contract_arrived(&ranks[1], 0) == sequence);
        }
    }
    CONTRACT_UNTIL(&contract, ranks[0].sends_under_way + ranks[1].sends_under_way == 0);
    contract_in_order(&ranks[0], 1, 0, sequence);
    contract_in_order(&ranks[1], 0, 0, sequence);
    contract_end(&contract);
}
END_TEST

START_TEST(no_payload_needs_no_spans)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_send(&contract.ranks[0], 1, 0, 0, 0);
    contract_send(&contract.ranks[0], 1, 1, 0, 0);
    CONTRACT_UNTIL(&contract, contract_arrived(&contract.ranks[1], 0) == 2);
    contract_in_order(&contract.ranks[1], 0, 0, 2);
    contract_end(&contract);
}
END_TEST

START_TEST(random_traffic_keeps_the_order_of_each_pair)
{
    enum { SIZE = 4, MESSAGES = 400 };
    uint64_t seed = (uint64_t)time(NULL), random = seed;
    printf("seed %lu\n", (unsigned long)seed);
    contract_t contract;
    contract_begin(&contract, SIZE);
    for (uint64_t n = 0; n < MESSAGES; n++) {
        for (uint32_t from = 0; from < SIZE; from++) {
            contract.ranks[from].place_spans = 1 + contract_random(&random) % TRANSPORT_SPANS_MAX;
            for (uint32_t to = 0; to < SIZE; to++) {
                size_t limit = contract_random(&random) % 16 == 0 ? 200000 : 6000;
                if (to != from)
                    contract_send(&contract.ranks[from], to, n, contract_random(&random) % limit,
                                  1 + contract_random(&random) % TRANSPORT_SPANS_MAX);
            }
        }
        if (contract_random(&random) % 8 == 0)
            contract_round(&contract);
    }
    for (uint32_t to = 0; to < SIZE; to++) {
        for (uint32_t from = 0; from < SIZE; from++) {
            if (to == from)
                continue;
            CONTRACT_UNTIL(&contract, contract_arrived(&contract.ranks[to], from) == MESSAGES);
            contract_in_order(&contract.ranks[to], from, 0, MESSAGES);
        }
    }
    for (uint32_t i = 0; i < SIZE; i++)
        CONTRACT_UNTIL(&contract, contract.ranks[i].sends_under_way == 0);
    contract_end(&contract);
}
END_TEST

START_TEST(many_messages_wait_for_who_does_not_look)
{
    enum { MESSAGES = 20000 };
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    for (uint64_t n = 0; n < MESSAGES; n++) {
        contract_send(&ranks[0], 1, n, n % 700, 2);
        if (n % 16 == 0)
            while (contract_poll(&ranks[0]) != NULL)
                ;
    }
    CONTRACT_UNTIL(&contract, contract_arrived(&ranks[1], 0) == MESSAGES);
    contract_in_order(&ranks[1], 0, 0, MESSAGES);
    CONTRACT_UNTIL(&contract, ranks[0].sends_under_way == 0);
    contract_end(&contract);
}
END_TEST

START_TEST(a_payload_that_nobody_wants_is_dropped)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    ranks[1].policy = CONTRACT_DROP;
    contract_send(&ranks[0], 1, 0, 100, 1);
    contract_send(&ranks[0], 1, 1, 5 << 20, 3);
    contract_send(&ranks[0], 1, 2, 5000, 1);
    contract_send(&ranks[0], 1, 3, 10, 1);
    CONTRACT_UNTIL(&contract, contract_arrived(&ranks[1], 0) == 2);
    ck_assert_uint_eq(contract_count(&ranks[1], TRANSPORT_HEADER, 0), 2);
    ck_assert_uint_eq(contract_count(&ranks[1], TRANSPORT_RECEIVED, 0), 0);
    ck_assert_uint_eq(ranks[1].events[0].sequence, 0);
    ck_assert_uint_eq(ranks[1].events[3].sequence, 3);
    ck_assert(ranks[1].events[3].good);
    CONTRACT_UNTIL(&contract, ranks[0].sends_under_way == 0);
    contract_end(&contract);
}
END_TEST

/* Who hears from another rank that a message has arrived need not wait for SENT to write. */
START_TEST(a_buffer_is_free_when_the_message_is_known_to_have_arrived)
{
    static const size_t lengths[] = {TRANSPORT_INLINE_MAX, TRANSPORT_INLINE_MAX + 1, 1 << 20,
                                     16 << 20};
    enum { ROUNDS = 20 };
    contract_t contract;
    contract_begin(&contract, 3);
    contract_rank_t *ranks = contract.ranks;
    for (uint64_t n = 0; n < (_i == 3 ? 2 : ROUNDS); n++) {
        contract_buffer_t *buffer = contract_send(&ranks[0], 1, n, lengths[_i], 1 + n % 7);
        size_t told = contract_count(&ranks[0], TRANSPORT_SENT, 1), passed = 0;
        int64_t limit = contract_deadline();
        while (contract_arrived(&ranks[0], 2) == n) {
            ck_assert(contract_deadline() - limit < INT64_C(60000000000));
            contract_poll(&ranks[0]);
            for (uint32_t i = 1; i < 3; i++) {
                if (contract_poll(&ranks[i]) == NULL)
                    ranks[i].transport->operations->wait(ranks[i].transport, 100000);
                if (passed == i - 1 && contract_arrived(&ranks[i], i - 1) == n + 1) {
                    contract_send(&ranks[i], (i + 1) % 3, n, 0, 0);
                    passed = i;
                }
            }
        }
        if (buffer != NULL && contract_count(&ranks[0], TRANSPORT_SENT, 1) == told)
            memset(buffer->bytes, 0x44, buffer->length);
        CONTRACT_UNTIL(&contract, ranks[0].sends_under_way == 0);
        /* And what was received is still what was sent. */
        for (size_t i = 0; i < ranks[1].count; i++) {
            const contract_event_t *event = &ranks[1].events[i];
            const contract_buffer_t *received = event->token;
            if (event->kind == TRANSPORT_RECEIVED && event->sequence == n)
                ck_assert(contract_is(n, received->bytes, received->length));
        }
    }
    contract_in_order(&ranks[1], 0, 0, _i == 3 ? 2 : ROUNDS);
    contract_end(&contract);
}
END_TEST

/* When the send is forgotten: before anything went, when its header is there, amid the payload. */
START_TEST(a_forgotten_send_arrives_all_the_same)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    if (_i != 3)
        contract_meet(&contract);
    size_t before = contract_arrived(&ranks[1], 0);
    contract_buffer_t *buffer = contract_send(&ranks[0], 1, 1, 16 << 20, 5);
    contract_send(&ranks[0], 1, 2, 30, 1);
    if (_i == 1 || _i == 2)
        CONTRACT_UNTIL(&contract, contract_count(&ranks[1], TRANSPORT_HEADER, 0) == 1);
    if (_i == 2)
        contract_poll(&ranks[0]);
    size_t told = ranks[0].count;
    /* Where all of it is through already, there is nothing to forget. */
    if (buffer != NULL && contract_count(&ranks[0], TRANSPORT_SENT, 1) == 0) {
        ranks[0].transport->operations->forget(ranks[0].transport, buffer);
        memset(buffer->bytes, 0x11, buffer->length);
        ranks[0].sends_under_way--;
    }
    CONTRACT_UNTIL(&contract, contract_arrived(&ranks[1], 0) == before + 2);
    contract_in_order(&ranks[1], 0, 1 - before, before + 2);
    for (size_t i = told; i < ranks[0].count; i++)
        ck_assert_ptr_ne(ranks[0].events[i].token, buffer);
    CONTRACT_UNTIL(&contract, ranks[0].transport->operations->flushed(ranks[0].transport));
    contract_end(&contract);
}
END_TEST

START_TEST(a_forgotten_receive_touches_nothing)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    contract_send(&ranks[0], 1, 0, 16 << 20, 1);
    contract_send(&ranks[0], 1, 1, 50, 1);
    CONTRACT_UNTIL(&contract, contract_count(&ranks[1], TRANSPORT_HEADER, 0) == 1);
    contract_buffer_t *buffer = ranks[1].buffers;
    ck_assert_uint_eq(buffer->length, 16 << 20);
    if (contract_count(&ranks[1], TRANSPORT_RECEIVED, 0) == 0) {
        ranks[1].transport->operations->forget(ranks[1].transport, buffer);
        memset(buffer->bytes, 0x22, buffer->length);
    }
    size_t told = ranks[1].count;
    CONTRACT_UNTIL(&contract, contract_count(&ranks[1], TRANSPORT_MESSAGE, 0) == 1);
    for (size_t i = told; i < ranks[1].count; i++)
        ck_assert_ptr_ne(ranks[1].events[i].token, buffer);
    if (contract_count(&ranks[1], TRANSPORT_RECEIVED, 0) == 0) {
        for (size_t i = 0; i < buffer->length; i++) {
            if (buffer->bytes[i] != 0x22)
                ck_abort_msg("byte %zu was written after the receive was forgotten", i);
        }
    }
    CONTRACT_UNTIL(&contract, ranks[0].sends_under_way == 0);
    contract_end(&contract);
}
END_TEST

START_TEST(a_receive_is_forgotten_as_soon_as_it_is_placed)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    ranks[1].policy = CONTRACT_LEAVE;
    uint8_t *bytes = calloc(1, 1 << 20);
    ck_assert_ptr_nonnull(bytes);
    contract_send(&ranks[0], 1, 0, 1 << 20, 1);
    contract_send(&ranks[0], 1, 1, 50, 1);
    int64_t limit = contract_deadline();
    while (contract_count(&ranks[1], TRANSPORT_HEADER, 0) == 0) {
        ck_assert(contract_deadline() - limit < INT64_C(60000000000));
        contract_poll(&ranks[0]);
        if (contract_poll(&ranks[1]) == NULL)
            ranks[1].transport->operations->wait(ranks[1].transport, 1000000);
    }
    transport_span_t span = {.bytes = bytes, .length = 1 << 20};
    ranks[1].transport->operations->place(ranks[1].transport, 0, &span, 1, bytes);
    ranks[1].transport->operations->forget(ranks[1].transport, bytes);
    free(bytes); /* a sanitizer sees a later use */
    CONTRACT_UNTIL(&contract, contract_count(&ranks[1], TRANSPORT_MESSAGE, 0) == 1);
    ck_assert_uint_eq(contract_count(&ranks[1], TRANSPORT_RECEIVED, 0), 0);
    contract_end(&contract);
}
END_TEST

START_TEST(first_messages_in_both_directions_at_once)
{
    contract_t contract;
    for (int round = 0; round < 100; round++) {
        uint32_t size = round % 10 == 0 ? 4 : 2;
        contract_begin(&contract, size);
        /* In all orders, and sometimes with a round in between. */
        for (uint32_t n = 0; n < size; n++) {
            uint32_t from = round % 2 == 0 ? n : size - 1 - n;
            for (uint32_t to = 0; to < size; to++) {
                for (uint64_t k = 0; k < 3 && to != from; k++)
                    contract_send(&contract.ranks[from], to, k, k == 1 ? 30000 : 10, 1);
            }
            for (int polls = 0; polls < round / 4 % 8; polls++) {
                contract_poll(&contract.ranks[from]);
                contract_poll(&contract.ranks[(from + 1) % size]);
            }
        }
        for (uint32_t to = 0; to < size; to++) {
            for (uint32_t from = 0; from < size; from++) {
                if (to == from)
                    continue;
                CONTRACT_UNTIL(&contract, contract_arrived(&contract.ranks[to], from) == 3);
                contract_in_order(&contract.ranks[to], from, 0, 3);
            }
            ck_assert_uint_eq(contract_count(&contract.ranks[to], TRANSPORT_LOST, 0), 0);
        }
        contract_end(&contract);
    }
}
END_TEST

START_TEST(flushed_says_whether_anything_waits)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    transport_t *transport = ranks[0].transport;
    ck_assert(transport->operations->flushed(transport));
    if (contract_send(&ranks[0], 1, 0, 64 << 20, 1) != NULL)
        ck_assert(!transport->operations->flushed(transport));
    CONTRACT_UNTIL(&contract, transport->operations->flushed(transport));
    CONTRACT_UNTIL(&contract, ranks[0].sends_under_way == 0);
    CONTRACT_UNTIL(&contract, contract_arrived(&ranks[1], 0) == 1);
    contract_in_order(&ranks[1], 0, 0, 1);
    contract_end(&contract);
}
END_TEST

START_TEST(a_wake_ends_the_wait_that_begins_after_it)
{
    contract_t contract;
    contract_begin(&contract, 2);
    transport_t *transport = contract.ranks[0].transport;
    ck_assert_ptr_null(contract_poll(&contract.ranks[0]));
    for (int i = 0; i < 10; i++) {
        int64_t begin = contract_deadline();
        transport->operations->wake(transport);
        transport->operations->wait(transport, -1);
        ck_assert(contract_deadline() - begin < INT64_C(10000000000));
    }
    contract_end(&contract);
}
END_TEST

START_TEST(what_is_known_of_the_ranks)
{
    contract_t contract;
    contract_begin(&contract, 3);
    for (uint32_t i = 0; i < 3; i++) {
        transport_t *transport = contract.ranks[i].transport;
        ck_assert_uint_eq(transport->rank, i);
        ck_assert_uint_eq(transport->size, 3);
        ck_assert_uint_ge(transport->cores, 1);
        ck_assert_uint_ge(transport->local_ranks, 1);
        ck_assert_uint_le(transport->local_ranks, 3);
        ck_assert_ptr_nonnull(transport->operations->name);
        for (uint32_t peer = 0; peer < 3; peer++)
            ck_assert_ptr_nonnull(transport->operations->peer(transport, peer));
        int64_t before = transport->operations->now(transport);
        ck_assert_int_le(before, transport->operations->now(transport));
    }
    contract_end(&contract);
}
END_TEST

void contract_add_carrying(TCase *tcase)
{
    tcase_add_test(tcase, every_size_in_every_number_of_spans);
    tcase_add_test(tcase, no_payload_needs_no_spans);
    tcase_add_test(tcase, random_traffic_keeps_the_order_of_each_pair);
    tcase_add_test(tcase, many_messages_wait_for_who_does_not_look);
    tcase_add_test(tcase, a_payload_that_nobody_wants_is_dropped);
    tcase_add_loop_test(tcase, a_buffer_is_free_when_the_message_is_known_to_have_arrived, 0, 4);
    tcase_add_loop_test(tcase, a_forgotten_send_arrives_all_the_same, 0, 4);
    tcase_add_test(tcase, a_forgotten_receive_touches_nothing);
    tcase_add_test(tcase, a_receive_is_forgotten_as_soon_as_it_is_placed);
    tcase_add_test(tcase, first_messages_in_both_directions_at_once);
    tcase_add_test(tcase, flushed_says_whether_anything_waits);
    tcase_add_test(tcase, a_wake_ends_the_wait_that_begins_after_it);
    tcase_add_test(tcase, what_is_known_of_the_ranks);
}
