/*
 * The simulated transport itself: what only it does, and that a seed decides everything. That it
 * keeps transport.h is shown by tests/contract.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "transport/sim.h"

#define SIZE_LARGE ((size_t)1 << 20)
#define SEEDS 20

/* ---- Helpers --------------------------------------------------------------------------------- */

static sim_cluster_t *make(sim_options_t options)
{
    sim_cluster_t *cluster = NULL;
    ck_assert_int_eq(sim_cluster_create(&options, &cluster), MUSTER_OK);
    return cluster;
}

static sim_options_t rough(uint32_t size, uint64_t seed)
{
    return (sim_options_t){.size = size,
                           .seed = seed,
                           .delay_minimum = 1000,
                           .delay_maximum = 100000,
                           .byte_time = 1,
                           .late_chance = 500,
                           .clock_spread = 1000000,
                           .trace_limit = 1 << 20};
}

static const transport_operations_t *operations(const transport_t *transport)
{
    return transport->operations;
}

static bool poll(sim_cluster_t *cluster, uint32_t rank, transport_event_t *event)
{
    transport_t *transport = sim_transport(cluster, rank);
    return operations(transport)->poll(transport, event);
}

/* The same where the sender has to poll, too, so that what has not left leaves; counts its SENT. */
static bool next_event_pushed(sim_cluster_t *cluster, uint32_t rank, uint32_t sender,
                              unsigned *sent, transport_event_t *event)
{
    do {
        while (poll(cluster, sender, event)) {
            ck_assert_int_eq(event->kind, TRANSPORT_SENT);
            ++*sent;
        }
        if (poll(cluster, rank, event)) {
            return true;
        }
    } while (sim_advance(cluster));
    return false;
}

/* The next event of a rank, letting time pass; the other ranks do nothing. */
static bool next_event(sim_cluster_t *cluster, uint32_t rank, transport_event_t *event)
{
    do {
        if (poll(cluster, rank, event)) {
            return true;
        }
    } while (sim_advance(cluster));
    return poll(cluster, rank, event);
}

/* Passes time until nothing is left; SENT events of the rank are counted and must bring token. */
static unsigned drain_sent(sim_cluster_t *cluster, uint32_t rank, void *token)
{
    unsigned sent = 0;
    transport_event_t event;
    while (next_event(cluster, rank, &event)) {
        ck_assert_int_eq(event.kind, TRANSPORT_SENT);
        ck_assert_ptr_eq(event.token, token);
        sent++;
    }
    return sent;
}

static void header_fill(uint8_t *header, uint64_t number, uint64_t length)
{
    memset(header, 0, WIRE_HEADER_SIZE);
    header[0] = WIRE_DATA;
    wire_put_u64(header + 8, length);
    wire_put_u64(header + 24, number);
}

static muster_status_t send_bytes(sim_cluster_t *cluster, uint32_t from, uint32_t to,
                                  uint64_t number, void *bytes, size_t length, void *token,
                                  bool *done)
{
    transport_t *transport = sim_transport(cluster, from);
    uint8_t header[WIRE_HEADER_SIZE];
    header_fill(header, number, length);
    transport_span_t span = {.bytes = bytes, .length = length};
    *done = false;
    return operations(transport)->send(transport, to, header, &span, length == 0 ? 0 : 1, token,
                                       done);
}

static uint8_t pattern(size_t at, uint64_t number)
{
    return (uint8_t)(at * 31 + number * 17 + (at >> 8));
}

static uint8_t *patterned(size_t length, uint64_t number)
{
    uint8_t *bytes = malloc(length + 1);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = pattern(i, number);
    }
    return bytes;
}

static void check_pattern(const uint8_t *bytes, size_t length, uint64_t number)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != pattern(i, number)) {
            ck_abort_msg("byte %zu of message %llu", i, (unsigned long long)number);
        }
    }
}

/* ---- Carrying -------------------------------------------------------------------------------- */

static const size_t lengths[] = {0, 1, 7, 4095, 4096, 4097, 65536, 1 << 20};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

/* Receives one message of the given number whole, wherever it comes in. */
static void expect_message(sim_cluster_t *cluster, uint32_t rank, uint64_t number, size_t length,
                           unsigned *sent)
{
    transport_event_t event;
    transport_t *transport = sim_transport(cluster, rank);
    ck_assert(next_event_pushed(cluster, rank, 1 - rank, sent, &event));
    ck_assert_int_eq(event.kind,
                     length <= TRANSPORT_INLINE_MAX ? TRANSPORT_MESSAGE : TRANSPORT_HEADER);
    ck_assert_uint_eq(wire_get_u64(event.header + 24), number);
    ck_assert_uint_eq(event.payload_length, length);
    if (event.kind == TRANSPORT_MESSAGE) {
        check_pattern(event.payload, length, number);
        return;
    }
    uint8_t *bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    /* Three spans, one of them empty. */
    transport_span_t spans[] = {{bytes, 100}, {NULL, 0}, {bytes + 100, length - 100}};
    operations(transport)->place(transport, event.peer, spans, 3, bytes);
    ck_assert(next_event_pushed(cluster, rank, 1 - rank, sent, &event));
    ck_assert_int_eq(event.kind, TRANSPORT_RECEIVED);
    ck_assert_ptr_eq(event.token, bytes);
    check_pattern(bytes, length, number);
    free(bytes);
}

START_TEST(sizes_and_order)
{
    sim_options_t options = rough(2, (uint64_t)_i);
    options.window = _i % 2 == 0 ? 0 : 100000;
    sim_cluster_t *cluster = make(options);
    uint8_t *buffers[LENGTHS];
    unsigned lent = 0;
    for (size_t i = 0; i < LENGTHS; i++) {
        bool done;
        buffers[i] = patterned(lengths[i], i);
        ck_assert_int_eq(send_bytes(cluster, 0, 1, i, buffers[i], lengths[i], &options, &done),
                         MUSTER_OK);
        if (done) {
            memset(buffers[i], 0, lengths[i]); /* the caller's again */
        }
        lent += !done;
    }
    unsigned sent = 0;
    for (size_t i = 0; i < LENGTHS; i++) {
        expect_message(cluster, 1, i, lengths[i], &sent);
    }
    sent += drain_sent(cluster, 0, &options);
    ck_assert_uint_eq(sent, lent);
    ck_assert(operations(sim_transport(cluster, 0))->flushed(sim_transport(cluster, 0)));
    ck_assert_ptr_null(sim_violation(cluster));
    ck_assert_uint_eq(sim_traffic(cluster, 0, 1).messages, LENGTHS);
    ck_assert_uint_eq(sim_traffic_total(cluster).data_messages, LENGTHS);
    sim_cluster_destroy(cluster);
    for (size_t i = 0; i < LENGTHS; i++) {
        free(buffers[i]);
    }
}
END_TEST

/* Within a pair order is kept; between pairs it is not, for some seed. */
START_TEST(pairs_overtake_each_other)
{
    bool overtaken = false;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        sim_options_t options = rough(3, seed);
        options.late_chance = 0;
        sim_cluster_t *cluster = make(options);
        for (uint64_t i = 0; i < 10; i++) {
            bool done;
            for (uint32_t from = 0; from < 2; from++) {
                ck_assert_int_eq(send_bytes(cluster, from, 2, i, NULL, 0, NULL, &done), MUSTER_OK);
                ck_assert(done);
            }
        }
        uint64_t expected[2] = {0, 0};
        transport_event_t event;
        uint32_t first = 2;
        while (next_event(cluster, 2, &event)) {
            ck_assert_int_eq(event.kind, TRANSPORT_MESSAGE);
            ck_assert_uint_eq(wire_get_u64(event.header + 24), expected[event.peer]++);
            first = first == 2 ? event.peer : first;
        }
        ck_assert_uint_eq(expected[0], 10);
        ck_assert_uint_eq(expected[1], 10);
        overtaken = overtaken || first == 1;
        sim_cluster_destroy(cluster);
    }
    ck_assert(overtaken);
}
END_TEST

/* ---- Loans ----------------------------------------------------------------------------------- */

/* A cluster in which nothing is done at once, and a message of length bytes is lent. */
static sim_cluster_t *lend(uint64_t *seed, uint8_t *bytes, size_t length, void *token)
{
    for (;;) {
        sim_options_t options = rough(2, *seed);
        options.late_chance = 1000;
        sim_cluster_t *cluster = make(options);
        bool done;
        ck_assert_int_eq(send_bytes(cluster, 0, 1, 9, bytes, length, token, &done), MUSTER_OK);
        if (!done) {
            return cluster;
        }
        sim_cluster_destroy(cluster);
        ++*seed;
    }
}

START_TEST(touching_a_lent_buffer_is_seen)
{
    uint64_t seed = (uint64_t)_i;
    uint8_t *bytes = patterned(5000, 9);
    sim_cluster_t *cluster = lend(&seed, bytes, 5000, bytes);
    ck_assert(!operations(sim_transport(cluster, 0))->flushed(sim_transport(cluster, 0)));
    bytes[4999] ^= 1;
    ck_assert_uint_eq(drain_sent(cluster, 0, bytes), 1);
    ck_assert_ptr_nonnull(sim_violation(cluster));
    sim_cluster_destroy(cluster);
    free(bytes);
}
END_TEST

START_TEST(forgotten_send_arrives_and_says_nothing)
{
    uint64_t seed = (uint64_t)_i;
    uint8_t *bytes = patterned(5000, 9);
    sim_cluster_t *cluster = lend(&seed, bytes, 5000, bytes);
    transport_t *transport = sim_transport(cluster, 0);
    transport->operations->forget(transport, bytes);
    memset(bytes, 0, 5000); /* the caller's again */
    ck_assert_uint_eq(drain_sent(cluster, 0, bytes), 0);
    unsigned sent = 0;
    expect_message(cluster, 1, 9, 5000, &sent);
    ck_assert_uint_eq(sent, 0);
    ck_assert_ptr_null(sim_violation(cluster));
    sim_cluster_destroy(cluster);
    free(bytes);
}
END_TEST

START_TEST(touching_a_placed_buffer_is_seen)
{
    sim_cluster_t *cluster = make((sim_options_t){.size = 2, .delay_maximum = 10, .byte_time = 1});
    transport_t *transport = sim_transport(cluster, 1);
    uint8_t *bytes = patterned(5000, 9);
    uint8_t *target = patterned(5000, 1);
    bool done;
    ck_assert_int_eq(send_bytes(cluster, 0, 1, 9, bytes, 5000, NULL, &done), MUSTER_OK);
    transport_event_t event;
    ck_assert(next_event(cluster, 1, &event));
    ck_assert_int_eq(event.kind, TRANSPORT_HEADER);
    transport_span_t span = {target, 5000};
    transport->operations->place(transport, 0, &span, 1, target);
    ck_assert(!poll(cluster, 1, &event)); /* 5000 bytes take 5000 ns */
    target[7] = (uint8_t)_i;
    ck_assert(next_event(cluster, 1, &event));
    ck_assert_int_eq(event.kind, TRANSPORT_RECEIVED);
    ck_assert_ptr_nonnull(sim_violation(cluster));
    sim_cluster_destroy(cluster);
    free(bytes);
    free(target);
}
END_TEST

/* ---- Loss ------------------------------------------------------------------------------------ */

/* Some of the messages in order, then LOST once, then nothing; what had arrived is among them. */
static void expect_some_then_lost(sim_cluster_t *cluster, uint32_t rank, uint32_t peer,
                                  uint64_t at_least, uint64_t at_most)
{
    transport_event_t event;
    uint64_t seen = 0;
    bool lost = false;
    while (next_event(cluster, rank, &event)) {
        ck_assert(!lost);
        ck_assert_uint_eq(event.peer, peer);
        if (event.kind == TRANSPORT_LOST) {
            ck_assert_int_eq(event.status, MUSTER_PEER_LOST);
            lost = true;
            continue;
        }
        ck_assert_int_eq(event.kind, TRANSPORT_MESSAGE);
        ck_assert_uint_eq(wire_get_u64(event.header + 24), seen++);
    }
    ck_assert(lost);
    ck_assert_uint_ge(seen, at_least);
    ck_assert_uint_le(seen, at_most);
    bool done;
    ck_assert_int_eq(send_bytes(cluster, rank, peer, 0, NULL, 0, NULL, &done), MUSTER_PEER_LOST);
}

START_TEST(death_keeps_what_has_arrived)
{
    sim_options_t options = rough(3, (uint64_t)_i);
    options.late_chance = 0;
    sim_cluster_t *cluster = make(options);
    bool done;
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(send_bytes(cluster, 0, 1, i, NULL, 0, NULL, &done), MUSTER_OK);
    }
    while (sim_advance(cluster)) {
    }
    for (uint64_t i = 4; i < 12; i++) {
        ck_assert_int_eq(send_bytes(cluster, 0, 1, i, NULL, 0, NULL, &done), MUSTER_OK);
    }
    sim_lose(cluster, 0);
    ck_assert(!sim_is_alive(cluster, 0));
    ck_assert(!sim_ready(cluster, 0));
    expect_some_then_lost(cluster, 1, 0, 4, 12);
    expect_some_then_lost(cluster, 2, 0, 0, 0);
    sim_cluster_destroy(cluster);
}
END_TEST

START_TEST(orderly_exit_loses_nothing)
{
    sim_options_t options = rough(2, (uint64_t)_i);
    options.late_chance = 0;
    sim_cluster_t *cluster = make(options);
    bool done;
    for (uint64_t i = 0; i < 12; i++) {
        ck_assert_int_eq(send_bytes(cluster, 0, 1, i, NULL, 0, NULL, &done), MUSTER_OK);
    }
    if (_i % 2 == 0) {
        sim_hold(cluster, 0, 1);
    }
    operations(sim_transport(cluster, 0))->destroy(sim_transport(cluster, 0));
    while (sim_advance(cluster)) {
    }
    sim_release(cluster, 0, 1);
    expect_some_then_lost(cluster, 1, 0, 12, 12);
    sim_cluster_destroy(cluster);
}
END_TEST

START_TEST(lose_tells_why_once)
{
    sim_cluster_t *cluster = make(rough(2, (uint64_t)_i));
    transport_t *transport = sim_transport(cluster, 1);
    if (_i % 2 == 0) {
        sim_lose(cluster, 0);
    }
    transport->operations->lose(transport, 0, MUSTER_UNREACHABLE);
    transport->operations->lose(transport, 0, MUSTER_UNREACHABLE);
    transport_event_t event;
    ck_assert(next_event(cluster, 1, &event));
    ck_assert_int_eq(event.kind, TRANSPORT_LOST);
    ck_assert_int_eq(event.status, MUSTER_UNREACHABLE);
    transport->operations->lose(transport, 0, MUSTER_UNREACHABLE);
    ck_assert(!next_event(cluster, 1, &event));
    if (_i % 2 != 0) {
        /* The other end of the connection lives and hears of it. */
        ck_assert(next_event(cluster, 0, &event));
        ck_assert_int_eq(event.kind, TRANSPORT_LOST);
    }
    sim_cluster_destroy(cluster);
}
END_TEST

/* A lent buffer is the caller's from LOST on, and no SENT comes after it. */
START_TEST(loss_ends_loans)
{
    uint64_t seed = (uint64_t)_i;
    uint8_t *bytes = patterned(100000, 9);
    sim_cluster_t *cluster = lend(&seed, bytes, 100000, bytes);
    sim_lose(cluster, 1);
    transport_event_t event;
    bool lost = false;
    while (next_event(cluster, 0, &event)) {
        ck_assert(!lost);
        lost = event.kind == TRANSPORT_LOST;
    }
    ck_assert(lost);
    free(bytes);
    ck_assert(operations(sim_transport(cluster, 0))->flushed(sim_transport(cluster, 0)));
    ck_assert_ptr_null(sim_violation(cluster));
    sim_cluster_destroy(cluster);
}
END_TEST

/* A sender that dies within a long message: perhaps its header, RECEIVED only if it is whole. */
START_TEST(death_within_a_message)
{
    unsigned headers = 0, received = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        sim_options_t options = rough(2, seed);
        options.late_chance = 0;
        sim_cluster_t *cluster = make(options);
        transport_t *transport = sim_transport(cluster, 1);
        uint8_t *bytes = patterned(50000, 9);
        uint8_t *target = malloc(50000);
        ck_assert_ptr_nonnull(target);
        bool done;
        ck_assert_int_eq(send_bytes(cluster, 0, 1, 9, bytes, 50000, NULL, &done), MUSTER_OK);
        sim_lose(cluster, 0);
        transport_event_t event = {.kind = TRANSPORT_MESSAGE};
        transport_span_t span = {target, 50000};
        while (next_event(cluster, 1, &event)) {
            if (event.kind == TRANSPORT_HEADER) {
                headers++;
                transport->operations->place(transport, 0, &span, 1, target);
            } else if (event.kind == TRANSPORT_RECEIVED) {
                received++;
                check_pattern(target, 50000, 9);
            }
        }
        ck_assert_int_eq(event.kind, TRANSPORT_LOST);
        sim_cluster_destroy(cluster);
        free(bytes);
        free(target);
    }
    ck_assert_uint_gt(received, 0);
    ck_assert_uint_gt(headers, received);
    ck_assert_uint_lt(headers, 60);
}
END_TEST

/* ---- Time ------------------------------------------------------------------------------------ */

START_TEST(waits_move_virtual_time)
{
    sim_cluster_t *cluster = make((sim_options_t){.size = 2, .clock_spread = 1000});
    transport_t *zero = sim_transport(cluster, 0);
    transport_t *one = sim_transport(cluster, 1);
    int64_t before = operations(zero)->now(zero);
    operations(zero)->wait(zero, 5000);
    operations(one)->wait(one, 3000);
    ck_assert(!sim_ready(cluster, 0));
    ck_assert(sim_advance(cluster));
    ck_assert_int_eq(sim_now(cluster), 3000);
    ck_assert(sim_ready(cluster, 1) && !sim_ready(cluster, 0));
    operations(one)->wait(one, -1);
    ck_assert(!sim_ready(cluster, 1));
    ck_assert(sim_advance(cluster));
    ck_assert_int_eq(operations(zero)->now(zero) - before, 5000);
    operations(zero)->wait(zero, -1);
    ck_assert(!sim_advance(cluster));
    /* wake is for the next wait, too */
    operations(zero)->wake(zero);
    ck_assert(sim_ready(cluster, 0));
    operations(zero)->wait(zero, -1);
    ck_assert(sim_ready(cluster, 0));
    operations(zero)->wait(zero, -1);
    ck_assert(!sim_ready(cluster, 0));
    sim_cluster_destroy(cluster);
}
END_TEST

START_TEST(pause_and_hold)
{
    sim_cluster_t *cluster =
        make((sim_options_t){.size = 2, .delay_minimum = 5, .delay_maximum = 5});
    bool done;
    transport_event_t event;
    ck_assert_int_eq(send_bytes(cluster, 0, 1, 0, NULL, 0, NULL, &done), MUSTER_OK);
    sim_pause(cluster, 1);
    while (sim_advance(cluster)) {
    }
    ck_assert(!sim_ready(cluster, 1));
    sim_resume(cluster, 1);
    ck_assert(sim_ready(cluster, 1));
    unsigned sent = 0;
    expect_message(cluster, 1, 0, 0, &sent);
    sim_hold(cluster, 0, 1);
    ck_assert_int_eq(send_bytes(cluster, 0, 1, 1, NULL, 0, NULL, &done), MUSTER_OK);
    ck_assert(!next_event(cluster, 1, &event));
    sim_release(cluster, 0, 1);
    expect_message(cluster, 1, 1, 0, &sent);
    sim_cut(cluster, 0, 1);
    expect_some_then_lost(cluster, 1, 0, 0, 0);
    expect_some_then_lost(cluster, 0, 1, 0, 0);
    sim_cluster_destroy(cluster);
}
END_TEST

START_TEST(window_holds_the_sender_back)
{
    sim_cluster_t *cluster = make((sim_options_t){.size = 2, .delay_maximum = 5, .window = 6000});
    transport_t *sender = sim_transport(cluster, 0);
    uint8_t *bytes = patterned(4000, 0);
    bool done;
    transport_event_t event;
    ck_assert_int_eq(send_bytes(cluster, 0, 1, 0, bytes, 4000, NULL, &done), MUSTER_OK);
    ck_assert(done);
    ck_assert_int_eq(send_bytes(cluster, 0, 1, 0, bytes, 4000, bytes, &done), MUSTER_OK);
    while (sim_advance(cluster)) {
        ck_assert(!poll(cluster, 0, &event));
    }
    ck_assert(!operations(sender)->flushed(sender));
    unsigned sent = 0;
    expect_message(cluster, 1, 0, 4000, &sent); /* makes room */
    expect_message(cluster, 1, 0, 4000, &sent);
    ck_assert_uint_eq(sent + drain_sent(cluster, 0, bytes), done ? 0 : 1);
    ck_assert(operations(sender)->flushed(sender));
    sim_cluster_destroy(cluster);
    free(bytes);
}
END_TEST

/* ---- Determinism ----------------------------------------------------------------------------- */

/* Many messages among four ranks, each polling after every event; the trace is the caller's. */
static char *run_traffic(uint64_t seed, uint64_t *digest)
{
    sim_options_t options = rough(4, seed);
    options.window = 20000;
    sim_cluster_t *cluster = make(options);
    uint8_t *bytes = patterned(10000, 0);
    bool done;
    transport_event_t event;
    for (uint64_t i = 0; i < 40; i++) {
        uint32_t from = (uint32_t)(i % 4);
        uint32_t to = (uint32_t)((from + 1 + i / 4 % 3) % 4);
        ck_assert_int_eq(send_bytes(cluster, from, to, i, bytes, 250 * i, NULL, &done), MUSTER_OK);
    }
    do {
        for (uint32_t rank = 0; rank < 4; rank++) {
            transport_t *transport = sim_transport(cluster, rank);
            while (poll(cluster, rank, &event)) {
                if (event.kind == TRANSPORT_HEADER) {
                    transport->operations->place(transport, event.peer, NULL, 0, NULL);
                }
            }
        }
    } while (sim_advance(cluster));
    char *trace = strdup(sim_trace(cluster));
    *digest = sim_digest(cluster);
    ck_assert_ptr_nonnull(trace);
    ck_assert_uint_eq(sim_traffic_total(cluster).messages, 40);
    sim_cluster_destroy(cluster);
    free(bytes);
    return trace;
}

START_TEST(a_seed_decides_everything) /* C841 */
{
    uint64_t digests[SEEDS];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t again;
        char *one = run_traffic(seed, &digests[seed]);
        char *other = run_traffic(seed, &again);
        ck_assert_str_eq(one, other);
        ck_assert_uint_eq(digests[seed], again);
        for (uint64_t before = 0; before < seed; before++) {
            ck_assert_uint_ne(digests[before], digests[seed]);
        }
        free(one);
        free(other);
    }
}
END_TEST

START_TEST(a_trace_keeps_its_end)
{
    sim_cluster_t *cluster = make((sim_options_t){.size = 1, .trace_limit = 300});
    for (int i = 0; i < 1000; i++) {
        sim_note(cluster, "line %d", i);
    }
    const char *trace = sim_trace(cluster);
    ck_assert_uint_lt(strlen(trace), 300);
    ck_assert_ptr_nonnull(strstr(trace, "line 999\n"));
    ck_assert_ptr_nonnull(strstr(trace, "line 998\n"));
    sim_cluster_destroy(cluster);
}
END_TEST

START_TEST(options_are_checked)
{
    sim_cluster_t *cluster = NULL;
    const sim_options_t wrong[] = {
        {.size = 0},
        {.size = SIM_SIZE_MAX + 1},
        {.size = 2, .delay_minimum = 2, .delay_maximum = 1},
        {.size = 2, .delay_minimum = -1, .delay_maximum = 1},
        {.size = 2, .late_chance = 1001},
        {.size = 2, .clock_spread = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_int_eq(sim_cluster_create(&wrong[i], &cluster), MUSTER_INVALID_ARGUMENT);
        ck_assert_ptr_null(cluster);
    }
    sim_cluster_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_transport");
    TCase *cases = tcase_create("sim_transport");
    suite_add_tcase(suite, cases);
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, sizes_and_order, 0, SEEDS);
    tcase_add_test(cases, pairs_overtake_each_other);
    tcase_add_loop_test(cases, touching_a_lent_buffer_is_seen, 0, SEEDS);
    tcase_add_loop_test(cases, forgotten_send_arrives_and_says_nothing, 0, SEEDS);
    tcase_add_test(cases, touching_a_placed_buffer_is_seen);
    tcase_add_loop_test(cases, death_keeps_what_has_arrived, 0, SEEDS);
    tcase_add_loop_test(cases, orderly_exit_loses_nothing, 0, SEEDS);
    tcase_add_loop_test(cases, lose_tells_why_once, 0, SEEDS);
    tcase_add_loop_test(cases, loss_ends_loans, 0, SEEDS);
    tcase_add_test(cases, death_within_a_message);
    tcase_add_test(cases, waits_move_virtual_time);
    tcase_add_test(cases, pause_and_hold);
    tcase_add_test(cases, window_holds_the_sender_back);
    tcase_add_test(cases, a_seed_decides_everything);
    tcase_add_test(cases, a_trace_keeps_its_end);
    tcase_add_test(cases, options_are_checked);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
