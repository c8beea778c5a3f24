/* The harness, on toy protocols: what ends, hangs, or is unsafe, and that a seed replays it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sim_cluster.h"

#define SEEDS 20
#define RANKS_MAX 17

static sim_cluster_t *make(uint32_t size, uint64_t seed)
{
    sim_options_t options = {.size = size,
                             .seed = seed,
                             .delay_minimum = 1000,
                             .delay_maximum = 50000,
                             .late_chance = 300,
                             .clock_spread = 1000000,
                             .trace_limit = 1 << 16};
    sim_cluster_t *cluster = NULL;
    ck_assert_int_eq(sim_cluster_create(&options, &cluster), MUSTER_OK);
    return cluster;
}

typedef struct toy {
    transport_t *transport;
    uint32_t rounds; /* to go through */
    uint32_t passed; /* ring: tokens seen; exchange: rounds done */
    uint32_t lost;
    bool started;
    uint32_t counts[64]; /* exchange: messages of each round */
    uint32_t *holders;   /* ring: how many hold the token, shared */
} toy_t;

static void toy_send(toy_t *toy, uint32_t to, uint32_t round)
{
    uint8_t header[WIRE_HEADER_SIZE] = {WIRE_DATA};
    wire_put_u64(header + 24, round);
    bool done = false;
    toy->transport->operations->send(toy->transport, to, header, NULL, 0, NULL, &done);
}

static void toy_describe(void *actor, char *text, size_t size)
{
    const toy_t *toy = actor;
    snprintf(text, size, "%u of %u rounds", toy->passed, toy->rounds);
}

/* ---- A token in a ring ----------------------------------------------------------------------- */

static sim_step_t ring_step(void *actor)
{
    toy_t *toy = actor;
    transport_t *transport = toy->transport;
    transport_event_t event;
    if (!toy->started && transport->rank == 0) {
        toy_send(toy, 1 % transport->size, 0);
    }
    toy->started = true;
    while (transport->operations->poll(transport, &event)) {
        if (event.kind != TRANSPORT_MESSAGE) {
            continue;
        }
        toy->passed++;
        if (transport->rank != 0 || toy->passed < toy->rounds) {
            toy_send(toy, (transport->rank + 1) % transport->size, 0);
        }
    }
    transport->operations->wait(transport, -1);
    return toy->passed == toy->rounds ? SIM_FINISHED : SIM_WORKING;
}

static const sim_script_t ring_script = {.step = ring_step, .describe = toy_describe};

/* ---- All to all, round after round ----------------------------------------------------------- */

static void exchange_begin(toy_t *toy)
{
    for (uint32_t peer = 0; peer < toy->transport->size; peer++) {
        if (peer != toy->transport->rank) {
            toy_send(toy, peer, toy->passed);
        }
    }
}

static sim_step_t exchange_step(void *actor)
{
    toy_t *toy = actor;
    transport_t *transport = toy->transport;
    transport_event_t event;
    if (!toy->started) {
        toy->started = true;
        exchange_begin(toy);
    }
    while (transport->operations->poll(transport, &event)) {
        if (event.kind == TRANSPORT_MESSAGE) {
            toy->counts[wire_get_u64(event.header + 24)]++;
        }
        toy->lost += event.kind == TRANSPORT_LOST;
    }
    while (toy->passed < toy->rounds && toy->counts[toy->passed] == transport->size - 1) {
        toy->passed++;
        if (toy->passed < toy->rounds) {
            exchange_begin(toy);
        }
    }
    transport->operations->wait(transport, -1);
    return toy->passed == toy->rounds || toy->lost != 0 ? SIM_FINISHED : SIM_WORKING;
}

static const sim_script_t exchange_script = {.step = exchange_step, .describe = toy_describe};

/* ---- Runs ------------------------------------------------------------------------------------ */

typedef struct crowd {
    sim_cluster_t *cluster;
    toy_t toys[RANKS_MAX];
    void *actors[RANKS_MAX];
    sim_plan_t plan;
} crowd_t;

static crowd_t *gather(uint32_t size, uint64_t seed, uint32_t rounds, const sim_script_t *script)
{
    crowd_t *crowd = calloc(1, sizeof *crowd);
    ck_assert_ptr_nonnull(crowd);
    crowd->cluster = make(size, seed);
    for (uint32_t rank = 0; rank < size; rank++) {
        crowd->toys[rank] =
            (toy_t){.transport = sim_transport(crowd->cluster, rank), .rounds = rounds};
        crowd->actors[rank] = &crowd->toys[rank];
    }
    crowd->plan = (sim_plan_t){.cluster = crowd->cluster,
                               .script = script,
                               .actors = crowd->actors,
                               .start_spread = 100000,
                               .nap_chance = 100,
                               .nap_maximum = 200000};
    return crowd;
}

static void disperse(crowd_t *crowd)
{
    sim_cluster_destroy(crowd->cluster);
    free(crowd);
}

START_TEST(ring_ends)
{
    for (uint32_t size = 2; size <= RANKS_MAX; size++) {
        crowd_t *crowd = gather(size, (uint64_t)_i, 5, &ring_script);
        ck_assert(sim_run_ends(&crowd->plan));
        ck_assert_uint_eq(sim_traffic_total(crowd->cluster).messages, 5 * size);
        ck_assert_uint_eq(sim_traffic(crowd->cluster, 0, 1).messages, size == 1 ? 0 : 5);
        disperse(crowd);
    }
}
END_TEST

START_TEST(exchange_ends_and_replays)
{
    uint64_t digests[2];
    for (int again = 0; again < 2; again++) {
        crowd_t *crowd = gather(9, (uint64_t)_i, 20, &exchange_script);
        ck_assert(sim_run_ends(&crowd->plan));
        ck_assert_uint_eq(sim_traffic_total(crowd->cluster).data_messages, 9 * 8 * 20);
        digests[again] = sim_digest(crowd->cluster);
        disperse(crowd);
    }
    ck_assert_uint_eq(digests[0], digests[1]);
}
END_TEST

START_TEST(a_hang_is_reported)
{
    crowd_t *crowd = gather(5, 3, 2, &ring_script);
    crowd->toys[2].rounds = 3; /* waits for a token too many */
    sim_report_t report = sim_run(&crowd->plan);
    ck_assert_int_eq(report.result, SIM_HUNG);
    FILE *stream = tmpfile();
    ck_assert_ptr_nonnull(stream);
    sim_print(stream, &crowd->plan, &report);
    rewind(stream);
    char text[8192] = "";
    size_t length = fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    ck_assert_uint_gt(length, 0);
    ck_assert_ptr_nonnull(strstr(text, "seed 3"));
    ck_assert_ptr_nonnull(strstr(text, "rank 2: 2 of 3 rounds"));
    ck_assert_ptr_nonnull(strstr(text, "MESSAGE"));
    disperse(crowd);
}
END_TEST

START_TEST(a_stopped_rank_holds_all_until_it_goes_on)
{
    crowd_t *crowd = gather(4, (uint64_t)_i, 10, &exchange_script);
    const sim_fault_t faults[] = {{.at = 150000, .kind = SIM_FAULT_PAUSE, .rank = 2},
                                  {.at = 900000000, .kind = SIM_FAULT_RESUME, .rank = 2}};
    crowd->plan.faults = faults;
    crowd->plan.fault_count = 2;
    sim_report_t report = sim_run(&crowd->plan);
    ck_assert_int_eq(report.result, SIM_ENDED);
    ck_assert_int_ge(report.time, 900000000);
    disperse(crowd);
}
END_TEST

START_TEST(a_death_reaches_everybody)
{
    crowd_t *crowd = gather(6, (uint64_t)_i, 60, &exchange_script);
    const sim_fault_t faults[] = {{.at = 400000, .kind = SIM_FAULT_LOSE, .rank = 5}};
    crowd->plan.faults = faults;
    crowd->plan.fault_count = 1;
    ck_assert(sim_run_ends(&crowd->plan));
    for (uint32_t rank = 0; rank < 5; rank++) {
        ck_assert_uint_eq(crowd->toys[rank].lost, 1);
    }
    disperse(crowd);
}
END_TEST

static bool never_three(void *argument, char *why, size_t size)
{
    const crowd_t *crowd = argument;
    snprintf(why, size, "rank 0 has done three rounds");
    return crowd->toys[0].passed < 3;
}

START_TEST(an_unsafe_step_stops_the_run)
{
    crowd_t *crowd = gather(3, (uint64_t)_i, 8, &exchange_script);
    crowd->plan.is_safe = never_three;
    crowd->plan.argument = crowd;
    sim_report_t report = sim_run(&crowd->plan);
    ck_assert_int_eq(report.result, SIM_UNSAFE);
    ck_assert_str_eq(report.why, "rank 0 has done three rounds");
    ck_assert_uint_ge(crowd->toys[0].passed, 3);
    disperse(crowd);
}
END_TEST

START_TEST(time_is_limited)
{
    crowd_t *crowd = gather(3, 1, 60, &exchange_script);
    crowd->plan.limit = 300000;
    ck_assert_int_eq(sim_run(&crowd->plan).result, SIM_OVERTIME);
    disperse(crowd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_cluster");
    TCase *cases = tcase_create("sim_cluster");
    suite_add_tcase(suite, cases);
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, ring_ends, 0, SEEDS);
    tcase_add_loop_test(cases, exchange_ends_and_replays, 0, SEEDS);
    tcase_add_test(cases, a_hang_is_reported);
    tcase_add_loop_test(cases, a_stopped_rank_holds_all_until_it_goes_on, 0, SEEDS);
    tcase_add_loop_test(cases, a_death_reaches_everybody, 0, SEEDS);
    tcase_add_loop_test(cases, an_unsafe_step_stops_the_run, 0, SEEDS);
    tcase_add_test(cases, time_is_limited);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
