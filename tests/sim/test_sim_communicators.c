/*
 * The life of communicators on simulated clusters: what their destruction leaves behind for the
 * others, and when.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim_engine.h"

#define TIMEOUT (10 * SIM_SECOND)

/* ---- Helpers --------------------------------------------------------------------------------- */

static const uint32_t ranks_of_all[] = {0, 1, 2, 3, 4, 5, 6, 7};

/* A world with count communicators (1 to count) of all ranks, made in that order. */
static sim_world_t *world_of(uint32_t size, uint64_t seed, uint32_t count)
{
    static const muster_comm_options_t options;
    sim_options_t rough = sim_rough(size, seed);
    sim_world_t *world = sim_world_create(&rough, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    for (uint32_t index = 1; index <= count; index++) {
        sim_world_comm(world, index, ranks_of_all, size, &options);
    }
    return world;
}

typedef struct destruction {
    sim_world_t *world;
    uint32_t rank;
    const uint32_t *indexes; /* of the communicators, in this order, up to a 0 */
} destruction_t;

static void destroy_in_order(void *argument)
{
    const destruction_t *destruction = argument;
    sim_member_t *member = &destruction->world->members[destruction->rank];
    engine_lock(member->engine);
    for (const uint32_t *index = destruction->indexes; *index != 0; index++) {
        comm_destroy(member->comms[*index]);
    }
    engine_unlock(member->engine);
}

/* ---- Who is remembered ----------------------------------------------------------------------- */

/* The first one made is destroyed last: of nine it is the one that has to go on answering. */
START_TEST(the_latest_destroyed_go_on_answering)
{
    static const uint32_t order[] = {2, 3, 4, 5, 6, 7, 8, 9, 1, 0};
    sim_world_t *world = world_of(2, (uint64_t)_i, 9);
    destruction_t destruction = {world, 0, order};
    const sim_fault_t faults[] = {{.at = SIM_SECOND,
                                   .kind = SIM_FAULT_CALL,
                                   .call = destroy_in_order,
                                   .argument = &destruction}};
    world->plan.faults = faults;
    world->plan.fault_count = 1;
    sim_job_t *job = sim_world_jobs(world, 1, 1, 1);
    job->comm = 1;
    job->call = (sim_call_t){.operation = OPERATION_ALLREDUCE, .count = 1};
    job->not_before = 2 * SIM_SECOND;
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert_int_eq(job->status, MUSTER_PEER_LOST);
    ck_assert_uint_eq(job->failure.rank, 0);
    ck_assert_int_lt(job->ended, 2 * SIM_SECOND + 100 * SIM_MILLISECOND);
    sim_world_destroy(world);
}
END_TEST

/* One decider after the other is lost while more given-up operations wait than are remembered. */
START_TEST(many_end_with_their_decider)
{
    static const uint32_t order[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0};
    sim_world_t *world = world_of(3, (uint64_t)_i, 12);
    destruction_t destruction = {world, 2, order};
    const sim_fault_t faults[] = {
        {.at = 1, .kind = SIM_FAULT_PAUSE, .rank = 0},
        {.at = 1, .kind = SIM_FAULT_PAUSE, .rank = 1},
        {.at = 600 * SIM_MILLISECOND, .kind = SIM_FAULT_LOSE, .rank = 0},
        {.at = SIM_SECOND,
         .kind = SIM_FAULT_CALL,
         .call = destroy_in_order,
         .argument = &destruction},
        {.at = SIM_SECOND + 10 * SIM_MILLISECOND, .kind = SIM_FAULT_LOSE, .rank = 1}};
    world->plan.faults = faults;
    world->plan.fault_count = 5;
    sim_job_t *jobs = sim_world_jobs(world, 2, 13, 12);
    for (uint32_t i = 0; i < 13; i++) {
        jobs[i].comm = i < 12 ? i + 1 : 0;
        jobs[i].call = (sim_call_t){.operation = OPERATION_ALLREDUCE, .count = 1};
        jobs[i].abandon_after = i < 12 ? 500 * SIM_MILLISECOND : 0;
    }
    jobs[12].not_before = 2 * SIM_SECOND;
    world->plan.linger = true;
    world->plan.limit = 20 * SIM_SECOND;
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert_int_eq(jobs[12].status, MUSTER_PEER_LOST);
    engine_t *engine = world->members[2].engine;
    ck_assert_ptr_null(engine->active);
    size_t left = 0;
    for (const muster_comm_t *comm = engine->comms; comm != NULL; comm = comm->next) {
        left++;
    }
    ck_assert_uint_eq(left, 1 + COMM_RETIRED_MAX); /* the world, and those that answer */
    sim_world_destroy(world);
}
END_TEST

/* ---- Who still waits ------------------------------------------------------------------------- */

static const sim_call_t waits[] = {
    {.operation = OPERATION_BROADCAST, .count = 5000},
    {.operation = OPERATION_BROADCAST, .count = 1},
    {.operation = OPERATION_BROADCAST, .count = 5000, .root = 1},
    {.operation = OPERATION_SCATTER, .count = 700, .root = 2},
    {.operation = OPERATION_REDUCE, .count = 3, .root = 2},
    {.operation = OPERATION_ALLREDUCE, .count = 1},
    {.operation = OPERATION_SCAN, .count = 2},
    {.operation = OPERATION_BARRIER},
};
#define WAITS (sizeof waits / sizeof waits[0])

/*
 * One rank destroys its communicator after the first of some calls: the others hear at once of the
 * rest, under way or begun later, by name, though nobody sends that rank anything.
 */
static void run_quitter(uint64_t seed, const sim_call_t *call, uint32_t who, size_t ahead,
                        muster_outcome_t outcome)
{
    const uint32_t order[] = {1, 0};
    sim_world_t *world = world_of(3, seed, 1);
    destruction_t destruction = {world, who, order};
    const sim_fault_t faults[] = {{.at = SIM_SECOND,
                                   .kind = SIM_FAULT_CALL,
                                   .call = destroy_in_order,
                                   .argument = &destruction}};
    world->plan.faults = faults;
    world->plan.fault_count = 1;
    for (uint32_t rank = 0; rank < 3; rank++) {
        sim_job_t *jobs = sim_world_jobs(world, rank, rank == who ? 1 : 5, ahead);
        for (size_t i = 0; i < world->members[rank].job_count; i++) {
            jobs[i].comm = 1;
            jobs[i].call = *call;
            jobs[i].options.outcome = outcome;
        }
        if (rank != who) {
            jobs[4].not_before = 3 * SIM_SECOND;
        }
    }
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (size_t i = 0; i < world->members[rank].job_count; i++) {
            const sim_job_t *job = &world->members[rank].jobs[i];
            bool sends_only = outcome == MUSTER_OUTCOME_LOCAL && job->status == MUSTER_OK;
            muster_status_t status = i == 0 ? MUSTER_OK : MUSTER_PEER_LOST;
            ck_assert_msg(job->status == status || sends_only, "%s %zu on rank %u without %u: %s",
                          operation_name((uint8_t)call->operation), i, rank, who,
                          muster_status_name(job->status));
            if (job->status == MUSTER_OK) {
                continue;
            }
            ck_assert_uint_eq(job->failure.rank, who);
            ck_assert_str_eq(job->failure.operation, operation_name((uint8_t)call->operation));
            ck_assert_ptr_nonnull(strstr(job->failure.message, job->failure.operation));
            ck_assert_int_lt(job->ended, (i < 4 ? 1 : 3) * SIM_SECOND + 50 * SIM_MILLISECOND);
        }
    }
    sim_world_destroy(world);
}

START_TEST(who_waits_for_one_that_has_destroyed_it)
{
    for (size_t i = 0; i < WAITS; i++) {
        for (uint32_t who = 0; who < 3; who++) {
            run_quitter((uint64_t)_i, &waits[i], who, 1, MUSTER_OUTCOME_UNIFORM);
            run_quitter((uint64_t)_i, &waits[i], who, 4, MUSTER_OUTCOME_UNIFORM);
            run_quitter((uint64_t)_i, &waits[i], who, 4, MUSTER_OUTCOME_LOCAL);
        }
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
    Suite *suite = suite_create("sim_communicators");
    add(suite, "the_latest_destroyed_go_on_answering", the_latest_destroyed_go_on_answering,
        sim_seeds());
    add(suite, "many_end_with_their_decider", many_end_with_their_decider, sim_seeds());
    add(suite, "who_waits_for_one_that_has_destroyed_it", who_waits_for_one_that_has_destroyed_it,
        sim_seeds());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
