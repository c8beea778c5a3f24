/*
 * Ranks that are far apart on simulated clusters: one makes thousands of calls that fail while
 * another makes none. Who comes late hears at once what has become of each, and then all goes well.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim_engine.h"

#define CALLS 2000
#define LATE (4000 * SIM_SECOND)
#define AT_ONCE (10 * SIM_MILLISECOND)

typedef struct variant {
    sim_call_t call;
    muster_outcome_t outcome;
} variant_t;

static const variant_t variants[] = {
    {{.operation = OPERATION_ALLREDUCE, .count = 3}, MUSTER_OUTCOME_UNIFORM},
    {{.operation = OPERATION_BARRIER}, MUSTER_OUTCOME_UNIFORM},
    {{.operation = OPERATION_BROADCAST, .count = 2}, MUSTER_OUTCOME_UNIFORM},
    {{.operation = OPERATION_BROADCAST, .count = 1000, .root = 1}, MUSTER_OUTCOME_UNIFORM},
    {{.operation = OPERATION_REDUCE, .count = 1}, MUSTER_OUTCOME_UNIFORM},
    {{.operation = OPERATION_ALLTOALL, .count = 1}, MUSTER_OUTCOME_UNIFORM},
    {{.operation = OPERATION_ALLTOALL, .count = 1}, MUSTER_OUTCOME_LOCAL},
    {{.operation = OPERATION_BROADCAST, .count = 1}, MUSTER_OUTCOME_LOCAL},
    {{.operation = OPERATION_BROADCAST, .count = 1, .root = 1}, MUSTER_OUTCOME_LOCAL},
    {{.operation = OPERATION_SCAN, .count = 1}, MUSTER_OUTCOME_LOCAL},
};
#define VARIANTS (sizeof variants / sizeof variants[0])

/*
 * All but one rank make CALLS calls that time out; they then make one that waits for ever, or, when
 * right_later, make it after the late one has come.
 */
static sim_world_t *world_of(uint64_t seed, const variant_t *variant, uint32_t size, uint32_t late,
                             bool right_later)
{
    sim_options_t options = sim_rough(size, seed);
    sim_world_t *world = sim_world_create(&options, 10 * SIM_SECOND, variant->outcome);
    world->plan.limit = 3 * LATE;
    world->allow_words = true; /* the details of what is long past are not kept */
    for (uint32_t rank = 0; rank < size; rank++) {
        sim_job_t *jobs = sim_world_jobs(world, rank, CALLS + 1, 1);
        for (size_t i = 0; i <= CALLS; i++) {
            jobs[i].call = variant->call;
            jobs[i].call.root %= size;
            jobs[i].options.timeout =
                rank == late || i == CALLS ? MUSTER_NO_DEADLINE : MUSTER_MILLISECONDS(1);
        }
        jobs[0].not_before = rank == late ? LATE : 0;
        jobs[CALLS].not_before = right_later ? LATE + SIM_SECOND : 0;
    }
    return world;
}

static void expect_all_at_once(sim_world_t *world, uint32_t late, muster_outcome_t outcome,
                               muster_status_t status)
{
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_sound(world));
    for (uint32_t rank = 0; rank < world->size; rank++) {
        for (size_t i = 0; i <= CALLS; i++) {
            const sim_job_t *job = &world->members[rank].jobs[i];
            muster_status_t right = i == CALLS ? MUSTER_OK : status;
            bool either = outcome == MUSTER_OUTCOME_LOCAL; /* who only sends may do well */
            ck_assert_msg(job->status == right || (either && job->status == MUSTER_OK),
                          "job %zu of rank %u: %s %s", i, rank, muster_status_name(job->status),
                          job->failure.message);
            ck_assert_msg(rank != late || job->ended - job->begun < AT_ONCE || i == CALLS,
                          "job %zu of rank %u took %" PRId64 " ns: %s", i, rank,
                          job->ended - job->begun, job->failure.message);
        }
        ck_assert_uint_eq(world->members[rank].engine->bad_messages, 0);
    }
    ck_assert_int_lt(world->members[late].jobs[CALLS - 1].ended, LATE + SIM_SECOND);
    sim_world_destroy(world);
}

/* The late rank answers, but makes no call (C802). */
START_TEST(an_idle_rank_comes_late)
{
    const variant_t *variant = &variants[(size_t)_i % VARIANTS];
    uint32_t late = (uint32_t)((size_t)_i / VARIANTS % 2);
    sim_world_t *world = world_of((uint64_t)_i, variant, 2 + (uint32_t)_i % 3, late, _i % 2 == 0);
    expect_all_at_once(world, late, variant->outcome, MUSTER_TIMED_OUT);
}
END_TEST

/* The late rank is stopped (C805), or nothing reaches it for a long time. */
START_TEST(a_stopped_rank_comes_late)
{
    const variant_t *variant = &variants[(size_t)_i % VARIANTS];
    sim_world_t *world = world_of((uint64_t)_i, variant, 2, 1, _i % 2 == 0);
    const sim_fault_t stop[] = {{.at = SIM_MILLISECOND, .kind = SIM_FAULT_PAUSE, .rank = 1},
                                {.at = LATE - SIM_SECOND, .kind = SIM_FAULT_RESUME, .rank = 1}};
    const sim_fault_t hold[] = {
        {.at = SIM_MILLISECOND, .kind = SIM_FAULT_HOLD, .rank = 0, .other = 1},
        {.at = LATE - SIM_SECOND, .kind = SIM_FAULT_RELEASE, .rank = 0, .other = 1}};
    world->plan.faults = _i % 3 == 0 ? hold : stop;
    world->plan.fault_count = 2;
    expect_all_at_once(world, 1, variant->outcome, MUSTER_TIMED_OUT);
}
END_TEST

/* Calls that are given up at once: as many as anybody likes. */
START_TEST(cancelled_far_ahead)
{
    const variant_t *variant = &variants[(size_t)_i % 6];
    sim_world_t *world = world_of((uint64_t)_i, variant, 3, 1 + (uint32_t)_i % 2, false);
    for (size_t i = 0; i < CALLS; i++) {
        world->members[0].jobs[i].cancel_after = 1000;
    }
    for (uint32_t rank = 1; rank < 3; rank++) {
        world->members[rank].jobs[0].not_before = LATE;
    }
    expect_all_at_once(world, 1 + (uint32_t)_i % 2, variant->outcome, MUSTER_CANCELLED);
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
    Suite *suite = suite_create("sim_ahead");
    add(suite, "an_idle_rank_comes_late", an_idle_rank_comes_late, sim_seeds());
    add(suite, "a_stopped_rank_comes_late", a_stopped_rank_comes_late, sim_seeds());
    add(suite, "cancelled_far_ahead", cancelled_far_ahead, sim_seeds());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
