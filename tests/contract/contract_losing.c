/* The end of a peer: what had arrived is delivered, LOST is told once, buffers come back. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

/* A send that must fail. */
static void contract_refused(contract_rank_t *rank, uint32_t peer)
{
    uint8_t header[WIRE_HEADER_SIZE];
    uint8_t byte = 0;
    transport_span_t span = {.bytes = &byte, .length = 1};
    bool done = false;
    contract_header(99, 1, header);
    ck_assert_int_eq(
        rank->transport->operations->send(rank->transport, peer, header, &span, 1, &byte, &done),
        MUSTER_PEER_LOST);
}

/* LOST was told once, as the last thing of that peer. */
static void contract_lost_once(contract_t *contract, uint32_t rank_number, uint32_t peer)
{
    contract_rank_t *rank = &contract->ranks[rank_number];
    for (int i = 0; i < 20; i++) {
        contract_poll(rank);
        rank->transport->operations->wait(rank->transport, 100000);
    }
    ck_assert_uint_eq(contract_count(rank, TRANSPORT_LOST, peer), 1);
    size_t last = 0;
    for (size_t i = 0; i < rank->count; i++) {
        if (rank->events[i].peer == peer)
            last = i;
    }
    ck_assert_int_eq(rank->events[last].kind, TRANSPORT_LOST);
    contract_refused(rank, peer);
}

START_TEST(who_leaves_is_lost_after_what_it_sent)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    contract_meet(&contract);
    for (uint64_t n = 1; n <= 100; n++)
        contract_send(&ranks[1], 0, n, 1000, 2);
    transport_t *leaving = ranks[1].transport;
    int64_t limit = contract_deadline();
    while (!leaving->operations->flushed(leaving)) {
        ck_assert(contract_deadline() - limit < INT64_C(60000000000));
        contract_poll(&ranks[1]);
    }
    contract_leave(&contract, 1);
    CONTRACT_UNTIL(&contract, contract_find(&ranks[0], TRANSPORT_LOST, 1) != NULL);
    contract_in_order(&ranks[0], 1, 0, 101);
    muster_status_t status = contract_find(&ranks[0], TRANSPORT_LOST, 1)->status;
    ck_assert(status == MUSTER_SHUT_DOWN || status == MUSTER_PEER_LOST); /* case 4 */
    contract_lost_once(&contract, 0, 1);
    contract_end(&contract);
}
END_TEST

START_TEST(a_large_payload_is_flushed_before_who_sent_it_leaves)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    contract_send(&ranks[1], 0, 0, 8 << 20, 3);
    contract_send(&ranks[1], 0, 1, 10, 1);
    CONTRACT_UNTIL(&contract, ranks[1].transport->operations->flushed(ranks[1].transport));
    contract_leave(&contract, 1);
    CONTRACT_UNTIL(&contract, contract_find(&ranks[0], TRANSPORT_LOST, 1) != NULL);
    contract_in_order(&ranks[0], 1, 0, 2);
    contract_end(&contract);
}
END_TEST

START_TEST(a_loss_with_sends_under_way_gives_the_buffers_back)
{
    contract_t contract;
    contract_begin(&contract, 3);
    contract_rank_t *ranks = contract.ranks;
    contract_meet(&contract);
    for (uint64_t n = 1; n <= 4; n++)
        contract_send(&ranks[0], 1, n, 16 << 20, 2);
    contract_poll(&ranks[0]);
    contract_leave(&contract, 1);
    CONTRACT_UNTIL(&contract, contract_find(&ranks[0], TRANSPORT_LOST, 1) != NULL);
    for (contract_buffer_t *buffer = ranks[0].buffers; buffer != NULL; buffer = buffer->next)
        memset(buffer->bytes, 0x33, buffer->length);
    contract_lost_once(&contract, 0, 1);
    ck_assert(ranks[0].transport->operations->flushed(ranks[0].transport));
    /* The others are not harmed. */
    contract_send(&ranks[0], 2, 0, 100000, 1);
    contract_send(&ranks[2], 0, 0, 100000, 1);
    CONTRACT_UNTIL(&contract,
                   contract_arrived(&ranks[0], 2) == 1 && contract_arrived(&ranks[2], 0) == 1);
    contract_end(&contract);
}
END_TEST

START_TEST(a_loss_amid_a_payload)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    contract_meet(&contract);
    contract_send(&ranks[1], 0, 1, 10, 1);
    contract_send(&ranks[1], 0, 2, 16 << 20, 1);
    CONTRACT_UNTIL(&contract, contract_arrived(&ranks[0], 1) >= 2);
    contract_leave(&contract, 1);
    CONTRACT_UNTIL(&contract, contract_find(&ranks[0], TRANSPORT_LOST, 1) != NULL);
    /* Whole or not at all. */
    contract_in_order(&ranks[0], 1, 0, contract_arrived(&ranks[0], 1));
    contract_lost_once(&contract, 0, 1);
    contract_end(&contract);
}
END_TEST

START_TEST(somebody_who_knows_says_that_a_peer_has_ended)
{
    contract_t contract;
    contract_begin(&contract, 3);
    contract_rank_t *ranks = contract.ranks;
    contract_meet(&contract);
    for (uint64_t n = 1; n <= 10; n++)
        contract_send(&ranks[1], 0, n, 100, 1);
    CONTRACT_UNTIL(&contract, contract_arrived(&ranks[0], 1) == 11);
    ranks[0].transport->operations->lose(ranks[0].transport, 1, MUSTER_PEER_LOST);
    ranks[0].transport->operations->lose(ranks[0].transport, 1, MUSTER_PEER_LOST);
    CONTRACT_UNTIL(&contract, contract_find(&ranks[0], TRANSPORT_LOST, 1) != NULL);
    ck_assert_int_eq(contract_find(&ranks[0], TRANSPORT_LOST, 1)->status, MUSTER_PEER_LOST);
    contract_in_order(&ranks[0], 1, 0, 11);
    contract_lost_once(&contract, 0, 1);
    /* The other side's connection ends as well. */
    CONTRACT_UNTIL(&contract, contract_find(&ranks[1], TRANSPORT_LOST, 0) != NULL);
    contract_lost_once(&contract, 1, 0);
    ck_assert_ptr_null(contract_find(&ranks[2], TRANSPORT_LOST, 0));
    contract_end(&contract);
}
END_TEST

START_TEST(a_peer_that_was_never_spoken_to_can_be_lost)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *rank = &contract.ranks[0];
    if (_i == 1)
        contract_send(rank, 1, 0, 1 << 20, 1);
    rank->transport->operations->lose(rank->transport, 1, MUSTER_PEER_LOST);
    CONTRACT_UNTIL(&contract, contract_find(rank, TRANSPORT_LOST, 1) != NULL);
    contract_lost_once(&contract, 0, 1);
    contract_end(&contract);
}
END_TEST

START_TEST(a_peer_that_left_before_the_first_message)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *rank = &contract.ranks[0];
    contract_leave(&contract, 1);
    /* It may be known already, or be found out. */
    uint8_t header[WIRE_HEADER_SIZE];
    uint8_t *bytes = calloc(1, 10000);
    ck_assert_ptr_nonnull(bytes);
    transport_span_t span = {.bytes = bytes, .length = 10000};
    bool done = false;
    contract_header(1, 10000, header);
    muster_status_t status =
        rank->transport->operations->send(rank->transport, 1, header, &span, 1, bytes, &done);
    ck_assert(status == MUSTER_OK || status == MUSTER_PEER_LOST);
    int64_t begin = contract_deadline();
    CONTRACT_UNTIL(&contract, contract_find(rank, TRANSPORT_LOST, 1) != NULL);
    ck_assert(contract_deadline() - begin < INT64_C(10000000000)); /* at once, no timeout */
    free(bytes);
    contract_lost_once(&contract, 0, 1);
    contract_end(&contract);
}
END_TEST

START_TEST(everybody_leaves_with_messages_under_way)
{
    contract_t contract;
    contract_begin(&contract, 3);
    for (uint32_t from = 0; from < 3; from++) {
        for (uint32_t to = 0; to < 3; to++) {
            for (uint64_t n = 0; n < 20 && to != from; n++)
                contract_send(&contract.ranks[from], to, n, n * 3000, 2);
        }
        for (int i = 0; i < _i; i++)
            contract_round(&contract);
    }
    contract_end(&contract);
}
END_TEST

START_TEST(a_forgotten_send_survives_who_sent_it)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_rank_t *ranks = contract.ranks;
    contract_meet(&contract);
    contract_buffer_t *buffer = contract_send(&ranks[0], 1, 1, 100000, 4);
    if (buffer != NULL) {
        ranks[0].transport->operations->forget(ranks[0].transport, buffer);
        memset(buffer->bytes, 0x44, buffer->length);
        ranks[0].sends_under_way--;
    }
    CONTRACT_UNTIL(&contract, ranks[0].transport->operations->flushed(ranks[0].transport));
    contract_leave(&contract, 0);
    CONTRACT_UNTIL(&contract, contract_find(&ranks[1], TRANSPORT_LOST, 0) != NULL);
    contract_in_order(&ranks[1], 0, 0, 2);
    contract_end(&contract);
}
END_TEST

void contract_add_losing(TCase *tcase)
{
    tcase_add_test(tcase, who_leaves_is_lost_after_what_it_sent);
    tcase_add_test(tcase, a_large_payload_is_flushed_before_who_sent_it_leaves);
    tcase_add_test(tcase, a_loss_with_sends_under_way_gives_the_buffers_back);
    tcase_add_test(tcase, a_loss_amid_a_payload);
    tcase_add_test(tcase, somebody_who_knows_says_that_a_peer_has_ended);
    tcase_add_loop_test(tcase, a_peer_that_was_never_spoken_to_can_be_lost, 0, 2);
    tcase_add_test(tcase, a_peer_that_left_before_the_first_message);
    tcase_add_loop_test(tcase, everybody_leaves_with_messages_under_way, 0, 4);
    tcase_add_test(tcase, a_forgotten_send_survives_who_sent_it);
}
