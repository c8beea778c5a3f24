/*
 * Every operation on simulated clusters: sizes, shapes, outcomes, in place, roots, counts, seeds;
 * several communicators; many requests at a time; generations in any order. A loop test's number is
 * its seed.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/creation.h"
#include "sim_engine.h"

#define TIMEOUT (100 * SIM_SECOND)

typedef struct form {
    const char *name;
    muster_comm_options_t options;
} form_t;

static const form_t forms[] = {
    {"automatic", {.shape = MUSTER_SHAPE_AUTO}},
    {"flat", {.shape = MUSTER_SHAPE_FLAT}},
    {"tree of 2",
     {.shape = MUSTER_SHAPE_TREE,
      .arity = {2, true},
      .flat_threshold = {0, true},
      .generations = MUSTER_GENERATION_COUNTED,
      .roots = MUSTER_ROOT_ANY}},
    {"tree of 3",
     {.shape = MUSTER_SHAPE_TREE,
      .arity = {3, true},
      .flat_threshold = {0, true},
      .generations = MUSTER_GENERATION_COUNTED,
      .roots = MUSTER_ROOT_ANY}},
};
#define FORMS (sizeof forms / sizeof forms[0])

static const uint32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void everybody(uint32_t *ranks, uint32_t size)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        ranks[rank] = rank;
    }
}

/* Every rank makes the same calls: jobs of rank 0 are copied to all. */
static void share_jobs(sim_world_t *world, const sim_job_t *jobs, size_t count, size_t ahead)
{
    for (uint32_t rank = 0; rank < world->size; rank++) {
        memcpy(sim_world_jobs(world, rank, count, ahead), jobs, count * sizeof *jobs);
    }
}

/*
 * ---- Every operation (C401 to C421, C210) ------------------------------------------------------
 */

/* Each operation in each of its forms once, in an order of chance. */
static size_t draw_all(sim_random_t *random, uint32_t size, sim_job_t *jobs)
{
    size_t count = 0;
    for (unsigned form = 0; form < 4; form++) {
        for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
            sim_call_t call = sim_call_draw(sim_draw, random, size, true);
            call.operation = (operation_t)operation;
            call.in_place = (form & 1) != 0;
            call.user = (form & 2) != 0;
            call.gaps = call.user;
            call.initial = call.in_place != call.user;
            call.rows = form == 2;
            jobs[count++].call = call;
        }
    }
    for (size_t left = count; left > 1; left--) {
        size_t chosen = (size_t)sim_random_below(random, left);
        sim_job_t kept = jobs[left - 1];
        jobs[left - 1] = jobs[chosen];
        jobs[chosen] = kept;
    }
    return count;
}

static void run_all(uint32_t size, const form_t *form, muster_outcome_t outcome, uint64_t seed)
{
    sim_random_t random = {seed * 1000003 + size};
    sim_options_t options = sim_rough(size, sim_random_next(&random));
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[SIM_CALL_RANKS_MAX];
    everybody(ranks, size);
    muster_comm_options_t comm = form->options;
    comm.outcome = outcome;
    sim_world_comm(world, 1, ranks, size, &comm);
    sim_job_t jobs[4 * OPERATION_COUNT];
    memset(jobs, 0, sizeof jobs);
    size_t count = draw_all(&random, size, jobs);
    for (size_t i = 0; i < count; i++) {
        jobs[i].comm = 1;
    }
    share_jobs(world, jobs, count, 1 + (size_t)sim_random_below(&random, 8));
    for (uint32_t rank = 0; rank < size; rank++) {
        world->members[rank].reverse = seed % 2 == 0;
    }
    sim_report_t report = sim_world_run(world);
    ck_assert_msg(report.result == SIM_ENDED, "%u ranks, %s, seed %" PRIu64, size, form->name,
                  seed);
    ck_assert_msg(sim_world_is_right(world), "%u ranks, %s, seed %" PRIu64, size, form->name, seed);
    sim_world_destroy(world);
}

START_TEST(every_operation)
{
    for (size_t s = 0; s < SIZES; s++) {
        for (size_t f = 0; f < FORMS; f++) {
            run_all(sizes[s], &forms[f], MUSTER_OUTCOME_UNIFORM, (uint64_t)_i);
            run_all(sizes[s], &forms[f], MUSTER_OUTCOME_LOCAL, (uint64_t)_i);
        }
    }
}
END_TEST

/*
 * ---- Communicators -----------------------------------------------------------------------------
 */

/* Five communicators, some overlapping, some without rank 0, used at once (C115, C209, case 11). */
START_TEST(several_communicators)
{
    static const uint32_t members[5][6] = {
        {2, 3}, {1, 2}, {0, 1, 2, 3, 4, 5}, {5, 3, 1}, {4, 2, 0, 1}};
    static const uint32_t counts[5] = {2, 2, 6, 3, 4};
    sim_options_t options = sim_rough(6, (uint64_t)_i);
    sim_random_t random = {(uint64_t)_i};
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    for (uint32_t c = 0; c < 5; c++) {
        sim_world_comm(world, c + 1, members[c], counts[c], &forms[c % FORMS].options);
    }
    enum { JOBS = 60 };
    sim_job_t jobs[JOBS];
    memset(jobs, 0, sizeof jobs);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].comm = (uint32_t)sim_random_below(&random, 6);
        uint32_t size = jobs[i].comm == 0 ? 6 : counts[jobs[i].comm - 1];
        jobs[i].call = sim_call_draw(sim_draw, &random, size, true);
    }
    for (uint32_t rank = 0; rank < 6; rank++) {
        sim_job_t *own = sim_world_jobs(world, rank, JOBS, 10);
        size_t count = 0;
        for (size_t i = 0; i < JOBS; i++) {
            if (world->members[rank].comms[jobs[i].comm] != NULL) {
                own[count++] = jobs[i];
            }
        }
        world->members[rank].job_count = count;
    }
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_right(world));
    sim_world_destroy(world);
}
END_TEST

/*
 * ---- Generations -------------------------------------------------------------------------------
 */

/* Explicit generations within the window, each rank in an order of its own (C212). */
START_TEST(generations_in_any_order)
{
    enum { RANKS = 5, JOBS = GENERATION_WINDOW };
    sim_options_t options = sim_rough(RANKS, (uint64_t)_i);
    sim_random_t random = {(uint64_t)_i};
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[RANKS];
    everybody(ranks, RANKS);
    sim_world_comm(world, 1, ranks, RANKS, &forms[(size_t)_i % FORMS].options);
    sim_job_t jobs[JOBS];
    memset(jobs, 0, sizeof jobs);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].comm = 1;
        jobs[i].call = sim_call_draw(sim_draw, &random, RANKS, true);
        jobs[i].options.generation = MUSTER_GIVEN(i + 1);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (size_t left = JOBS; left > 1; left--) {
            size_t chosen = (size_t)sim_random_below(&random, left);
            sim_job_t kept = jobs[left - 1];
            jobs[left - 1] = jobs[chosen];
            jobs[chosen] = kept;
        }
        memcpy(sim_world_jobs(world, rank, JOBS, JOBS), jobs, sizeof jobs);
    }
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_right(world));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const muster_comm_t *comm = world->members[rank].comms[1];
        ck_assert_uint_eq(comm->clock.low, JOBS + 1);
        for (size_t i = 0; i < COMM_RECORDS; i++)
            ck_assert_ptr_null(comm->records[i].early);
    }
    sim_world_destroy(world);
}
END_TEST

/* More at a time than the window holds: the rest is queued, and starting never waits (C126). */
START_TEST(more_than_the_window)
{
    enum { RANKS = 4, JOBS = 300 };
    sim_options_t options = sim_rough(RANKS, (uint64_t)_i);
    options.trace_limit = 0;
    sim_random_t random = {(uint64_t)_i};
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[RANKS];
    everybody(ranks, RANKS);
    muster_comm_options_t comm = forms[(size_t)_i % FORMS].options;
    comm.outcome = _i % 2 == 0 ? MUSTER_OUTCOME_UNIFORM : MUSTER_OUTCOME_LOCAL;
    sim_world_comm(world, 1, ranks, RANKS, &comm);
    sim_job_t *jobs = calloc(JOBS, sizeof *jobs);
    ck_assert_ptr_nonnull(jobs);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].comm = 1;
        jobs[i].call = sim_call_draw(sim_draw, &random, RANKS, true);
    }
    share_jobs(world, jobs, JOBS, JOBS);
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_right(world));
    free(jobs);
    sim_world_destroy(world);
}
END_TEST

/* A thousand calls of chance keep step on a hierarchy (C210), also near 2^31 and 2^32 (C213). */
START_TEST(a_thousand_calls_keep_step)
{
    enum { RANKS = 10, JOBS = 1000 };
    static const uint64_t beginnings[] = {1, (UINT64_C(1) << 31) - 500, (UINT64_C(1) << 32) - 500,
                                          (UINT64_C(1) << 30) - 500};
    sim_options_t options = sim_rough(RANKS, (uint64_t)_i);
    options.trace_limit = 0;
    sim_random_t random = {(uint64_t)_i};
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[RANKS];
    everybody(ranks, RANKS);
    muster_comm_options_t comm = forms[3].options;
    sim_world_comm(world, 1, ranks, RANKS, &comm);
    sim_job_t *jobs = calloc(JOBS, sizeof *jobs);
    ck_assert_ptr_nonnull(jobs);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].comm = 1;
        jobs[i].call = sim_call_draw(sim_draw, &random, RANKS, true);
        jobs[i].options.generation = MUSTER_GIVEN(beginnings[_i % 4] + i);
    }
    share_jobs(world, jobs, JOBS, 1 + (size_t)sim_random_below(&random, 20));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        generation_start_clock(&world->members[rank].comms[1]->clock, beginnings[_i % 4], false);
    }
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_right(world));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        ck_assert_uint_eq(world->members[rank].comms[1]->clock.low, beginnings[_i % 4] + JOBS);
    }
    free(jobs);
    sim_world_destroy(world);
}
END_TEST

/*
 * ---- Figures -----------------------------------------------------------------------------------
 */

/* One call alone: data messages and payload of every rank are the schedule's own figures (C615). */
static sim_traffic_t count_one(uint32_t size, const muster_comm_options_t *form, sim_call_t call,
                               uint64_t seed)
{
    sim_options_t options = sim_rough(size, seed);
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[SIM_CALL_RANKS_MAX];
    everybody(ranks, size);
    sim_world_comm(world, 1, ranks, size, form);
    sim_job_t job = {.comm = 1, .call = call};
    job.call.size = size;
    share_jobs(world, &job, 1, 1);
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_right(world));
    sim_traffic_t total = sim_traffic_total(world->cluster);
    ck_assert_uint_eq(total.messages, total.data_messages); /* no control in a healthy call */
    for (uint32_t rank = 0; rank < size; rank++) {
        const muster_traffic_t *traffic = &world->members[rank].comms[1]->traffic;
        uint64_t messages = 0, bytes = 0;
        for (uint32_t peer = 0; peer < size; peer++) {
            sim_traffic_t pair = sim_traffic(world->cluster, rank, peer);
            messages += pair.data_messages;
            bytes += pair.data_bytes;
        }
        ck_assert_uint_eq(traffic->messages_sent, messages);
        ck_assert_uint_eq(traffic->bytes_sent, bytes);
        ck_assert_uint_eq(traffic->control_messages, 0);
    }
    sim_world_destroy(world);
    return total;
}

/*
 * Flat: 2(n-1) messages for a two-way operation, n-1 for a one-way one with local outcome (C313).
 */
START_TEST(flat_messages_are_counted)
{
    muster_comm_options_t flat = forms[1].options;
    for (uint32_t size = 2; size <= 9; size++) {
        sim_call_t call = {.count = 3, .salt = size};
        static const operation_t two_way[] = {OPERATION_BARRIER, OPERATION_ALLREDUCE,
                                              OPERATION_ALLGATHER};
        static const operation_t one_way[] = {OPERATION_BROADCAST, OPERATION_REDUCE,
                                              OPERATION_GATHER, OPERATION_SCATTER};
        flat.outcome = MUSTER_OUTCOME_DEFAULT;
        for (size_t i = 0; i < sizeof two_way / sizeof two_way[0]; i++) {
            call.operation = two_way[i];
            ck_assert_uint_eq(count_one(size, &flat, call, (uint64_t)_i).data_messages,
                              2 * (size - 1));
        }
        flat.outcome = MUSTER_OUTCOME_LOCAL;
        for (size_t i = 0; i < sizeof one_way / sizeof one_way[0]; i++) {
            call.operation = one_way[i];
            ck_assert_uint_eq(count_one(size, &flat, call, (uint64_t)_i).data_messages, size - 1);
        }
    }
}
END_TEST

/* The leader exchange of ten ranks in threes: six messages among 0, 4 and 7 (C412). */
START_TEST(leaders_exchange_six_messages)
{
    sim_options_t options = sim_rough(10, (uint64_t)_i);
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[10];
    everybody(ranks, 10);
    muster_comm_options_t comm = forms[3].options;
    comm.outcome = MUSTER_OUTCOME_LOCAL;
    sim_world_comm(world, 1, ranks, 10, &comm);
    sim_job_t job = {.comm = 1, .call = {.operation = OPERATION_ALLTOALL, .size = 10, .count = 1}};
    share_jobs(world, &job, 1, 1);
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_right(world));
    static const uint32_t leaders[] = {0, 4, 7};
    for (size_t from = 0; from < 3; from++) {
        for (size_t to = 0; to < 3; to++) {
            ck_assert_uint_eq(sim_traffic(world->cluster, leaders[from], leaders[to]).data_messages,
                              from != to);
        }
    }
    sim_world_destroy(world);
}
END_TEST

/*
 * ---- Creation ----------------------------------------------------------------------------------
 */

typedef struct maker {
    engine_t *engine;
    transport_t *transport;
    const char *name;
    const uint32_t *ranks;
    uint32_t size;
    muster_comm_options_t options;
    creation_t *creation;
    muster_comm_t *comm;
    muster_status_t status;
    muster_failure_t failure;
} maker_t;

static sim_step_t maker_step(void *actor)
{
    maker_t *maker = actor;
    engine_lock(maker->engine);
    if (maker->creation == NULL && maker->status == MUSTER_IN_PROGRESS) {
        maker->status = creation_start(maker->engine, maker->name, maker->ranks, maker->size,
                                       &maker->options, &maker->creation);
        ck_assert_int_eq(maker->status, MUSTER_OK);
        maker->status = MUSTER_IN_PROGRESS;
    }
    engine_progress(maker->engine);
    if (maker->status == MUSTER_IN_PROGRESS) {
        maker->status = creation_status(maker->creation, &maker->comm, &maker->failure);
        if (maker->status != MUSTER_IN_PROGRESS) {
            creation_free(maker->creation);
        }
    }
    int64_t deadline = engine_next_deadline(maker->engine);
    int64_t now = engine_now(maker->engine);
    engine_unlock(maker->engine);
    maker->transport->operations->wait(maker->transport, deadline == INT64_MAX ? -1
                                                         : deadline < now      ? 0
                                                                               : deadline - now);
    return maker->status == MUSTER_IN_PROGRESS ? SIM_WORKING : SIM_FINISHED;
}

static const sim_script_t maker_script = {.step = maker_step};

static void make_together(uint64_t seed, maker_t *makers, uint32_t size, int64_t spread,
                          sim_result_t result)
{
    sim_options_t options = sim_rough(size, seed);
    sim_cluster_t *cluster = NULL;
    void *actors[SIM_CALL_RANKS_MAX];
    ck_assert_int_eq(sim_cluster_create(&options, &cluster), MUSTER_OK);
    for (uint32_t rank = 0; rank < size; rank++) {
        makers[rank].transport = sim_transport(cluster, rank);
        makers[rank].status = MUSTER_IN_PROGRESS;
        actors[rank] = &makers[rank];
        ck_assert_int_eq(engine_create(makers[rank].transport, TIMEOUT, MUSTER_OUTCOME_DEFAULT,
                                       NULL, &makers[rank].engine),
                         MUSTER_OK);
    }
    sim_plan_t plan = {.cluster = cluster,
                       .script = &maker_script,
                       .actors = actors,
                       .start_spread = spread,
                       .linger = true,
                       .limit = 1000 * SIM_SECOND};
    sim_report_t report = sim_run(&plan);
    if (report.result != result) {
        sim_print(stderr, &plan, &report);
    }
    ck_assert_int_eq(report.result, result);
    for (uint32_t rank = 0; rank < size; rank++) {
        engine_destroy(makers[rank].engine);
    }
    sim_cluster_destroy(cluster);
}

/* Ranks that arrive seconds apart make one communicator (C111, C116). */
START_TEST(creation_meets_by_name)
{
    maker_t makers[5];
    static const uint32_t ranks[] = {3, 0, 4, 1, 2};
    memset(makers, 0, sizeof makers);
    for (uint32_t rank = 0; rank < 5; rank++) {
        makers[rank].name = "circle";
        makers[rank].ranks = ranks;
        makers[rank].size = 5;
        makers[rank].options = forms[2].options;
    }
    make_together((uint64_t)_i, makers, 5, 5 * SIM_SECOND, SIM_ENDED);
    for (uint32_t rank = 0; rank < 5; rank++) {
        ck_assert_int_eq(makers[rank].status, MUSTER_OK);
    }
}
END_TEST

/* One asks for something else: everybody gets MISMATCH with the field (C117). */
START_TEST(creation_compares_what_is_asked)
{
    maker_t makers[4];
    static const uint32_t ranks[] = {0, 1, 2, 3};
    memset(makers, 0, sizeof makers);
    for (uint32_t rank = 0; rank < 4; rank++) {
        makers[rank].name = "circle";
        makers[rank].ranks = ranks;
        makers[rank].size = 4;
        makers[rank].options = forms[2].options;
    }
    uint32_t odd = (uint32_t)_i % 4;
    makers[odd].options.arity = MUSTER_GIVEN(5);
    make_together((uint64_t)_i, makers, 4, SIM_SECOND, SIM_ENDED);
    for (uint32_t rank = 0; rank < 4; rank++) {
        ck_assert_int_eq(makers[rank].status, MUSTER_MISMATCH);
        ck_assert_str_eq(makers[rank].failure.field, "arity");
        ck_assert_str_eq(makers[rank].failure.message, makers[0].failure.message);
    }
}
END_TEST

/* Each test is a case of its own name, so that CK_RUN_CASE picks one. */
static void add(Suite *suite, const char *name, const TTest *test, int seeds)
{
    TCase *cases = tcase_create(name);
    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, test, 0, seeds);
    suite_add_tcase(suite, cases);
}

int main(void)
{
    Suite *suite = suite_create("sim_operations");
    add(suite, "every_operation", every_operation, sim_seeds());
    add(suite, "several_communicators", several_communicators, sim_seeds());
    add(suite, "generations_in_any_order", generations_in_any_order, sim_seeds());
    add(suite, "more_than_the_window", more_than_the_window, sim_seeds());
    add(suite, "a_thousand_calls_keep_step", a_thousand_calls_keep_step, 4);
    add(suite, "flat_messages_are_counted", flat_messages_are_counted, 3);
    add(suite, "leaders_exchange_six_messages", leaders_exchange_six_messages, sim_seeds());
    add(suite, "creation_meets_by_name", creation_meets_by_name, sim_seeds());
    add(suite, "creation_compares_what_is_asked", creation_compares_what_is_asked, sim_seeds());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
