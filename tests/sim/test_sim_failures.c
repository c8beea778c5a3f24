/*
 * What goes wrong on simulated clusters, and that everybody hears the same: late ranks, stopped
 * ranks, different calls, reductions that fail, cancellation, deaths, broken connections, no
 * memory, and all of them at once. A loop test's number is its seed.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim_engine.h"

#define TIMEOUT (10 * SIM_SECOND)

static const muster_comm_options_t forms[] = {
    {.shape = MUSTER_SHAPE_AUTO},
    {.shape = MUSTER_SHAPE_FLAT},
    {.shape = MUSTER_SHAPE_TREE,
     .arity = {2, true},
     .flat_threshold = {0, true},
     .generations = MUSTER_GENERATION_COUNTED,
     .roots = MUSTER_ROOT_ANY},
    {.shape = MUSTER_SHAPE_TREE,
     .arity = {3, true},
     .flat_threshold = {0, true},
     .generations = MUSTER_GENERATION_COUNTED,
     .roots = MUSTER_ROOT_ANY},
};
#define FORMS (sizeof forms / sizeof forms[0])

/* ---- Helpers --------------------------------------------------------------------------------- */

/* A world with one communicator of all ranks, and count jobs on it for every rank. */
static sim_world_t *world_of(uint32_t size, uint64_t seed, const muster_comm_options_t *form,
                             size_t count, size_t ahead)
{
    sim_options_t options = sim_rough(size, seed);
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[SIM_CALL_RANKS_MAX];
    for (uint32_t rank = 0; rank < size; rank++) {
        ranks[rank] = rank;
    }
    sim_world_comm(world, 1, ranks, size, form);
    for (uint32_t rank = 0; rank < size; rank++) {
        sim_random_t random = {seed};
        sim_job_t *jobs = sim_world_jobs(world, rank, count, ahead);
        for (size_t i = 0; i < count; i++) {
            jobs[i].comm = 1;
            jobs[i].call = sim_call_draw(sim_draw, &random, size, true);
        }
    }
    return world;
}

static sim_job_t *job_of(sim_world_t *world, uint32_t rank, size_t index)
{
    return &world->members[rank].jobs[index];
}

static void run_to_the_end(sim_world_t *world)
{
    ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
    ck_assert(sim_world_is_sound(world));
}

static void expect_status(sim_world_t *world, size_t index, muster_status_t status)
{
    for (uint32_t rank = 0; rank < world->size; rank++) {
        const sim_job_t *job = job_of(world, rank, index);
        ck_assert_msg(job->refused == MUSTER_OK && job->status == status,
                      "%s, job %zu on rank %u of %u: refused %s, status %s, not %s: %s",
                      operation_name((uint8_t)job->call.operation), index, rank, world->size,
                      muster_status_name(job->refused), muster_status_name(job->status),
                      muster_status_name(status), job->failure.message);
    }
}

/* ---- Late ranks (C802) ----------------------------------------------------------------------- */

/* The late rank gets the old verdict at once; the next generation works. */
static void run_late(uint64_t seed, operation_t operation, const muster_comm_options_t *form,
                     uint32_t size, uint32_t late, uint32_t other)
{
    sim_world_t *world = world_of(size, seed, form, 2, 1);
    for (uint32_t rank = 0; rank < size; rank++) {
        job_of(world, rank, 0)->call.operation = operation;
        job_of(world, rank, 0)->options.timeout = MUSTER_MILLISECONDS(500);
        if (rank == late || rank == other) {
            job_of(world, rank, 0)->not_before = 5 * SIM_SECOND;
        }
    }
    run_to_the_end(world);
    expect_status(world, 0, MUSTER_TIMED_OUT);
    expect_status(world, 1, MUSTER_OK);
    uint32_t first = late < other ? late : other;
    uint32_t last = late < other ? other : late;
    for (uint32_t rank = 0; rank < size; rank++) {
        const sim_job_t *job = job_of(world, rank, 0);
        ck_assert_uint_eq(job->failure.rank, first);
        ck_assert_uint_eq(job->failure.missing[0].first, first);
        ck_assert_uint_eq(job->failure.missing[job->failure.range_count - 1].last, last);
        ck_assert_uint_eq(job->failure.range_count, last - first > 1 ? 2 : 1);
        unsigned rows = job->buffers->arguments.rows ? OPERATION_ROWS : 0;
        ck_assert_str_eq(job->failure.operation, operation_name((uint8_t)(operation | rows)));
        bool was_late = rank == late || rank == other;
        ck_assert_int_lt(job->ended, (was_late ? 5 * SIM_SECOND : 0) + 600 * SIM_MILLISECOND);
    }
    sim_world_destroy(world);
}

START_TEST(late_ranks_are_named)
{
    sim_random_t random = {(uint64_t)_i};
    for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
        for (size_t f = 0; f < FORMS; f++) {
            uint32_t size = 2 + (uint32_t)sim_random_below(&random, 8);
            uint32_t late = (uint32_t)sim_random_below(&random, size);
            uint32_t other = size > 3 ? (uint32_t)sim_random_below(&random, size) : late;
            run_late((uint64_t)_i, (operation_t)operation, &forms[f], size, late, other);
        }
    }
}
END_TEST

/* With no deadline a call waits for the last rank, however late. */
START_TEST(without_a_deadline_it_waits)
{
    sim_world_t *world = world_of(4, (uint64_t)_i, &forms[(size_t)_i % FORMS], 1, 1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        job_of(world, rank, 0)->options.timeout = MUSTER_NO_DEADLINE;
    }
    job_of(world, (uint32_t)_i % 4, 0)->not_before = 1000 * SIM_SECOND;
    run_to_the_end(world);
    expect_status(world, 0, MUSTER_OK);
    sim_world_destroy(world);
}
END_TEST

/* A stopped rank (C805): the others hear at their deadline; when it goes on it hears the same. */
START_TEST(stopped_ranks_are_missing)
{
    uint32_t size = 2 + (uint32_t)_i % 6;
    uint32_t stopped = (uint32_t)_i % size;
    sim_world_t *world = world_of(size, (uint64_t)_i, &forms[(size_t)_i % FORMS], 3, 1);
    for (uint32_t rank = 0; rank < size; rank++) {
        for (size_t i = 0; i < 3; i++) {
            job_of(world, rank, i)->options.timeout = MUSTER_MILLISECONDS(500);
        }
        job_of(world, rank, 1)->not_before = SIM_SECOND;
        job_of(world, rank, 2)->not_before = 15 * SIM_SECOND;
    }
    const sim_fault_t faults[] = {
        {.at = 900 * SIM_MILLISECOND, .kind = SIM_FAULT_PAUSE, .rank = stopped},
        {.at = 10 * SIM_SECOND, .kind = SIM_FAULT_RESUME, .rank = stopped}};
    world->plan.faults = faults;
    world->plan.fault_count = 2;
    world->allow_undecided = stopped == 0;
    run_to_the_end(world);
    expect_status(world, 0, MUSTER_OK);
    for (uint32_t rank = 0; rank < size; rank++) {
        const sim_job_t *job = job_of(world, rank, 1);
        if (stopped == 0) {
            /* Nobody can decide: everybody else is let go within the grace. */
            ck_assert(rank == 0 || job->status == MUSTER_UNDECIDED);
            ck_assert(rank == 0 || job->ended < 4 * SIM_SECOND);
            continue;
        }
        ck_assert_int_eq(job->status, MUSTER_TIMED_OUT);
        ck_assert_uint_eq(job->failure.rank, stopped);
        ck_assert_uint_eq(job->failure.range_count, 1);
        ck_assert(rank == stopped || job->ended < 3 * SIM_SECOND);
    }
    if (stopped != 0) {
        expect_status(world, 2, MUSTER_OK);
    }
    sim_world_destroy(world);
}
END_TEST

/* ---- Different calls (C821, C105) ------------------------------------------------------------ */

typedef struct difference {
    const char *field;
    operation_t operation;
    void (*change)(sim_job_t *job);
} difference_t;

static void change_operation(sim_job_t *job)
{
    job->call.operation = OPERATION_ALLGATHER;
}

static void change_to_barrier(sim_job_t *job)
{
    job->call.operation = OPERATION_BARRIER;
}

static void change_count(sim_job_t *job)
{
    job->call.count += 3;
}

static void change_count_down(sim_job_t *job)
{
    job->call.count -= 3;
}

static void change_root(sim_job_t *job)
{
    job->call.root = (job->call.root + 1) % job->call.size;
}

static void change_reduction(sim_job_t *job)
{
    job->call.user = !job->call.user;
}

static void change_initial(sim_job_t *job)
{
    job->call.initial = !job->call.initial;
}

static void change_outcome(sim_job_t *job)
{
    job->options.outcome = MUSTER_OUTCOME_LOCAL;
}

static const difference_t differences[] = {
    {"operation", OPERATION_BARRIER, change_operation},
    {"operation", OPERATION_BROADCAST, change_to_barrier},
    {"operation", OPERATION_ALLTOALL, change_operation},
    {"operation", OPERATION_SCAN, change_to_barrier},
    {"count", OPERATION_BROADCAST, change_count},
    {"count", OPERATION_BROADCAST, change_count_down},
    {"count", OPERATION_ALLREDUCE, change_count},
    {"count", OPERATION_ALLGATHER, change_count_down},
    {"count", OPERATION_ALLTOALL, change_count},
    {"count", OPERATION_GATHER, change_count},
    {"count", OPERATION_SCATTER, change_count_down},
    {"count", OPERATION_SCAN, change_count},
    {"root", OPERATION_BROADCAST, change_root},
    {"root", OPERATION_REDUCE, change_root},
    {"root", OPERATION_GATHERV, change_root},
    {"root", OPERATION_SCATTERV, change_root},
    {"datatype", OPERATION_ALLREDUCE, change_reduction},
    {"datatype", OPERATION_REDUCE_SCATTER, change_reduction},
    {"initial", OPERATION_EXSCAN, change_initial},
    {"outcome", OPERATION_ALLREDUCE, change_outcome},
};
#define DIFFERENCES (sizeof differences / sizeof differences[0])

static void run_difference(uint64_t seed, const difference_t *difference,
                           const muster_comm_options_t *form, uint32_t size, uint32_t odd)
{
    sim_world_t *world = world_of(size, seed, form, 2, 1);
    for (uint32_t rank = 0; rank < size; rank++) {
        sim_job_t *job = job_of(world, rank, 0);
        job->call.size = size;
        job->call.operation = difference->operation;
        job->call.count = 5;
        job->call.in_place = false;
        if (rank == odd) {
            difference->change(job);
        }
    }
    run_to_the_end(world);
    expect_status(world, 0, MUSTER_MISMATCH);
    for (uint32_t rank = 0; rank < size; rank++) {
        const muster_failure_t *failure = &job_of(world, rank, 0)->failure;
        ck_assert_str_eq(failure->field, difference->field);
        ck_assert_str_eq(failure->message, job_of(world, 0, 0)->failure.message);
        /* Well before the deadline where a message shows it; never after. */
        ck_assert_int_lt(job_of(world, rank, 0)->ended, TIMEOUT + 2 * SIM_SECOND);
    }
    expect_status(world, 1, MUSTER_OK);
    sim_world_destroy(world);
}

START_TEST(different_calls_are_told_to_all)
{
    sim_random_t random = {(uint64_t)_i};
    for (size_t d = 0; d < DIFFERENCES; d++) {
        for (size_t f = 0; f < FORMS; f++) {
            uint32_t size = 2 + (uint32_t)sim_random_below(&random, 9);
            uint32_t odd = (uint32_t)sim_random_below(&random, size);
            run_difference((uint64_t)_i, &differences[d], &forms[f], size, odd);
        }
    }
}
END_TEST

/* Some ranks count generations automatically and others give them: all get the error (C207). */
START_TEST(generation_modes_are_told_to_all)
{
    uint32_t size = 2 + (uint32_t)_i % 7;
    sim_world_t *world = world_of(size, (uint64_t)_i, &forms[(size_t)_i % FORMS], 1, 1);
    uint32_t odd = (uint32_t)_i % size;
    bool most_give = _i % 3 == 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        if ((rank == odd) != most_give) {
            job_of(world, rank, 0)->options.generation = MUSTER_GIVEN(1);
        }
    }
    run_to_the_end(world);
    expect_status(world, 0, MUSTER_MISMATCH);
    for (uint32_t rank = 0; rank < size; rank++) {
        ck_assert_str_eq(job_of(world, rank, 0)->failure.field, "mode");
    }
    sim_world_destroy(world);
}
END_TEST

/* One gives a later generation while the others count: their call and its fail (C207). */
START_TEST(generation_modes_of_different_generations)
{
    uint32_t size = 2 + (uint32_t)_i % 7;
    uint32_t odd = (uint32_t)_i % size;
    sim_world_t *world = world_of(size, (uint64_t)_i, &forms[(size_t)_i % FORMS], 1, 1);
    for (uint32_t rank = 0; rank < size; rank++) {
        job_of(world, rank, 0)->call.operation = OPERATION_ALLREDUCE;
    }
    job_of(world, odd, 0)->options.generation = MUSTER_GIVEN(2);
    run_to_the_end(world);
    expect_status(world, 0, MUSTER_MISMATCH);
    for (uint32_t rank = 0; rank < size; rank++) {
        ck_assert_str_eq(job_of(world, rank, 0)->failure.field, "mode");
    }
    sim_world_destroy(world);
}
END_TEST

/* A row of another length than its receiver expects fails the operation everywhere. */
START_TEST(rows_of_another_length)
{
    static const operation_t ragged[] = {OPERATION_GATHERV, OPERATION_SCATTERV, OPERATION_ALLTOALLV,
                                         OPERATION_ALLGATHERV};
    sim_random_t random = {(uint64_t)_i};
    for (size_t k = 0; k < 4; k++) {
        for (size_t f = 0; f < FORMS; f++) {
            uint32_t size = 2 + (uint32_t)sim_random_below(&random, 8);
            uint32_t odd = 1 + (uint32_t)sim_random_below(&random, size - 1);
            sim_world_t *world = world_of(size, (uint64_t)_i, &forms[f], 2, 1);
            for (uint32_t rank = 0; rank < size; rank++) {
                sim_job_t *job = job_of(world, rank, 0);
                job->call = (sim_call_t){.operation = ragged[k], .count = 5, .salt = 1};
                /* Other lengths than the rest of them agree on. */
                job->call.salt += rank == odd;
            }
            ck_assert_int_eq(sim_world_run(world).result, SIM_ENDED);
            muster_status_t status = job_of(world, 0, 0)->status;
            if (status != MUSTER_OK) { /* the rows may happen to be as long */
                expect_status(world, 0, MUSTER_TRUNCATED);
            }
            expect_status(world, 1, MUSTER_OK);
            sim_world_destroy(world);
        }
    }
}
END_TEST

/* A refused call poisons nobody, and the right one comes next (C124, C822, case 16). */
START_TEST(refused_calls_poison_nobody)
{
    sim_world_t *world = world_of(4, (uint64_t)_i, &forms[1], 4, 1);
    static const uint64_t given[] = {1, 1, GENERATION_WINDOW + 2, 2};
    static const muster_status_t refusals[] = {MUSTER_OK, MUSTER_STALE_GENERATION,
                                               MUSTER_INVALID_GENERATION, MUSTER_OK};
    for (uint32_t rank = 0; rank < 4; rank++) {
        for (size_t i = 0; i < 4; i++) {
            job_of(world, rank, i)->options.generation = MUSTER_GIVEN(given[i]);
        }
        if (rank != (uint32_t)_i % 4) {
            /* The others make the right calls only. */
            *job_of(world, rank, 1) = *job_of(world, rank, 3);
            world->members[rank].job_count = 2;
        }
    }
    run_to_the_end(world);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(job_of(world, (uint32_t)_i % 4, i)->refused, refusals[i]);
        ck_assert(refusals[i] != MUSTER_OK ||
                  job_of(world, (uint32_t)_i % 4, i)->status == MUSTER_OK);
    }
    sim_world_destroy(world);
}
END_TEST

/* ---- Reductions that fail (C806, C410) ------------------------------------------------------- */

START_TEST(failing_reductions_fail_everywhere)
{
    static const operation_t reducing[] = {
        OPERATION_REDUCE, OPERATION_ALLREDUCE,      OPERATION_SCAN,
        OPERATION_EXSCAN, OPERATION_REDUCE_SCATTER, OPERATION_REDUCE_SCATTER_BLOCK};
    sim_random_t random = {(uint64_t)_i};
    for (size_t k = 0; k < sizeof reducing / sizeof reducing[0]; k++) {
        for (size_t f = 0; f < FORMS; f++) {
            uint32_t size = 2 + (uint32_t)sim_random_below(&random, 9);
            uint32_t culprit = (uint32_t)sim_random_below(&random, size);
            sim_world_t *world = world_of(size, (uint64_t)_i, &forms[f], 2, 1);
            for (uint32_t rank = 0; rank < size; rank++) {
                sim_job_t *job = job_of(world, rank, 0);
                job->call.operation = reducing[k];
                job->call.user = true;
                job->call.count = 5;
                job->fail_at = rank == culprit ? 1 + sim_random_below(&random, 2) : 0;
            }
            run_to_the_end(world);
            const sim_reduction_t *reduction = &job_of(world, culprit, 0)->buffers->reduction;
            if (reduction->failed == 0) { /* this rank has less to combine */
                expect_status(world, 0, MUSTER_OK);
            } else {
                expect_status(world, 0, MUSTER_REDUCTION_FAILED);
                ck_assert_uint_eq(job_of(world, 0, 0)->failure.rank, culprit);
                ck_assert_uint_eq(reduction->calls, job_of(world, culprit, 0)->fail_at);
            }
            expect_status(world, 1, MUSTER_OK);
            sim_world_destroy(world);
        }
    }
}
END_TEST

/* ---- Giving up ------------------------------------------------------------------------------- */

/* One rank cancels in the midst of things, or destroys its handle: one outcome for all (C418). */
START_TEST(cancelled_everywhere_or_nowhere)
{
    sim_random_t random = {(uint64_t)_i};
    unsigned cancelled = 0;
    for (unsigned turn = 0; turn < 40; turn++) {
        uint32_t size = 2 + (uint32_t)sim_random_below(&random, 8);
        sim_world_t *world = world_of(size, sim_random_next(&random), &forms[turn % FORMS], 6, 6);
        sim_job_t *job = job_of(world, (uint32_t)sim_random_below(&random, size),
                                (size_t)sim_random_below(&random, 6));
        int64_t after = 1 + (int64_t)sim_random_below(&random, 200000);
        job->cancel_after = turn % 2 == 0 ? after : 0;
        job->abandon_after = turn % 2 == 0 ? 0 : after;
        sim_report_t report = sim_world_run(world);
        ck_assert_int_eq(report.result, SIM_ENDED);
        ck_assert(sim_world_is_sound(world));
        ck_assert_int_lt(report.time, SIM_SECOND); /* nobody waits for a deadline */
        for (uint32_t rank = 0; rank < size; rank++) {
            for (size_t i = 0; i < 6; i++) {
                const sim_job_t *other = job_of(world, rank, i);
                ck_assert(other->abandoned || other->status == MUSTER_OK ||
                          other->status == MUSTER_CANCELLED);
                cancelled += other->status == MUSTER_CANCELLED;
            }
        }
        sim_world_destroy(world);
    }
    ck_assert_uint_gt(cancelled, 0);
}
END_TEST

/* ---- Deaths (C804, cases 1, 2) --------------------------------------------------------------- */

/* Ranks die in the midst of things: the others end promptly and alike, what ended well is right. */
static void run_deaths(uint64_t seed, uint32_t size, uint32_t deaths, bool small)
{
    sim_random_t random = {~seed};
    sim_world_t *world = world_of(size, seed, &forms[seed % FORMS], 12, 1 + seed % 4);
    for (uint32_t rank = 0; small && rank < size; rank++) {
        for (size_t i = 0; i < 12; i++) {
            job_of(world, rank, i)->call.count = 2;
            job_of(world, rank, i)->call.operation =
                i % 2 == 0 ? OPERATION_ALLREDUCE : OPERATION_BROADCAST;
        }
    }
    sim_fault_t faults[4];
    memset(faults, 0, sizeof faults);
    for (uint32_t i = 0; i < deaths; i++) {
        faults[i].at = (i == 0 ? 0 : faults[i - 1].at) + (int64_t)sim_random_below(&random, 600000);
        faults[i].kind = SIM_FAULT_LOSE;
        faults[i].rank = (uint32_t)sim_random_below(&random, size);
    }
    world->plan.faults = faults;
    world->plan.fault_count = deaths;
    sim_report_t report = sim_world_run(world);
    ck_assert_msg(report.result == SIM_ENDED, "seed %" PRIu64 ", %u ranks, %u deaths", seed, size,
                  deaths);
    ck_assert(sim_world_is_sound(world));
    for (uint32_t rank = 0; rank < size; rank++) {
        for (size_t i = 0; sim_is_alive(world->cluster, rank) && i < 12; i++) {
            const sim_job_t *job = job_of(world, rank, i);
            ck_assert_msg(job->refused != MUSTER_OK || job->status == MUSTER_OK ||
                              job->status == MUSTER_PEER_LOST,
                          "seed %" PRIu64 ": %s %s", seed, muster_status_name(job->status),
                          job->failure.message);
        }
    }
    /* Not at the deadline: promptly (C804). */
    ck_assert_int_lt(report.time, SIM_SECOND);
    sim_world_destroy(world);
}

START_TEST(deaths_are_told_to_all)
{
    for (uint64_t turn = 0; turn < 20; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        run_deaths(seed, 2 + (uint32_t)(seed % 8), 1 + (uint32_t)(turn % 3), turn % 2 == 0);
    }
}
END_TEST

/* A world in which sends take their time, and a few small calls on a tree. */
static sim_world_t *slow_world(uint32_t size, uint64_t seed, const muster_comm_options_t *form)
{
    sim_options_t options = sim_rough(size, seed);
    options.late_chance = 700;
    options.delay_maximum = 100000;
    sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
    uint32_t ranks[16];
    for (uint32_t rank = 0; rank < size; rank++) {
        ranks[rank] = rank;
    }
    sim_world_comm(world, 1, ranks, size, form);
    for (uint32_t rank = 0; rank < size; rank++) {
        sim_job_t *jobs = sim_world_jobs(world, rank, 3, 1);
        for (size_t i = 0; i < 3; i++) {
            jobs[i].comm = 1;
            jobs[i].call = (sim_call_t){
                .operation = i == 1 ? OPERATION_BROADCAST : OPERATION_ALLREDUCE, .count = 1};
        }
    }
    return world;
}

static void run_with(sim_world_t *world, const sim_fault_t *faults, size_t count)
{
    world->plan.faults = faults;
    world->plan.fault_count = count;
    run_to_the_end(world);
    sim_world_destroy(world);
}

/*
 * The decider dies when some have the value already, and with it one who was to pass it on, while
 * sends take their time: all the living get the value, or none (C804).
 */
START_TEST(values_outlive_their_decider)
{
    for (uint64_t turn = 0; turn < 100; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        sim_random_t random = {~seed};
        uint32_t size = 4 + (uint32_t)(seed % 5);
        int64_t at = 200000 + (int64_t)sim_random_below(&random, 1000000);
        sim_fault_t faults[3];
        memset(faults, 0, sizeof faults);
        for (size_t i = 0; i < 3; i++) {
            faults[i].at = at + (int64_t)i * (int64_t)sim_random_below(&random, 30000);
            faults[i].kind = SIM_FAULT_LOSE;
            faults[i].rank = i == 0 ? 0 : (uint32_t)sim_random_below(&random, size);
        }
        run_with(slow_world(size, seed, &forms[2 + seed % 2]), faults, 2 + seed % 2);
    }
}
END_TEST

static void leave_without_a_word(void *argument)
{
    transport_t *transport = argument;
    transport->operations->destroy(transport);
}

/*
 * Of eight ranks in twos, 4 passes on to 6 what it has from 0. Both are gone when it arrives: 6 may
 * have told the next decider meanwhile that it has nothing, and then must not take it (C803).
 */
START_TEST(values_that_come_too_late)
{
    for (uint64_t turn = 0; turn < 100; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        sim_random_t random = {~seed};
        sim_world_t *world = slow_world(8, seed, &forms[2]);
        int64_t at = 300000 + (int64_t)sim_random_below(&random, 600000);
        int64_t later = at + (int64_t)sim_random_below(&random, 200000);
        const sim_fault_t faults[] = {{.at = at, .kind = SIM_FAULT_LOSE, .rank = 0},
                                      {.at = at, .kind = SIM_FAULT_HOLD, .rank = 4, .other = 6},
                                      {.at = later,
                                       .kind = SIM_FAULT_CALL,
                                       .call = leave_without_a_word,
                                       .argument = sim_transport(world->cluster, 4)},
                                      {.at = later + (int64_t)sim_random_below(&random, 400000),
                                       .kind = SIM_FAULT_RELEASE,
                                       .rank = 4,
                                       .other = 6}};
        run_with(world, faults, 4);
    }
}
END_TEST

/* ---- Broken connections (C803) --------------------------------------------------------------- */

/*
 * Two living ranks lose each other: nobody hangs, and no two learn different outcomes. That takes a
 * third: of two ranks alone, each has to take the other for dead.
 */
START_TEST(broken_connections)
{
    for (uint64_t turn = 0; turn < 20; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        sim_random_t random = {~seed};
        uint32_t size = 3 + (uint32_t)(seed % 7);
        sim_world_t *world = world_of(size, seed, &forms[seed % FORMS], 6, 1 + seed % 3);
        uint32_t one = (uint32_t)sim_random_below(&random, size);
        const sim_fault_t fault = {
            .at = (int64_t)sim_random_below(&random, 600000),
            .kind = SIM_FAULT_CUT,
            .rank = one,
            .other = (one + 1 + (uint32_t)sim_random_below(&random, size - 1)) % size};
        world->plan.faults = &fault;
        world->plan.fault_count = 1;
        world->allow_undecided = true;
        sim_report_t report = sim_world_run(world);
        ck_assert_msg(report.result == SIM_ENDED, "seed %" PRIu64 ", %u ranks", seed, size);
        ck_assert(sim_world_is_sound(world));
        ck_assert_int_lt(report.time, 7 * (TIMEOUT + 4 * SIM_SECOND));
        sim_world_destroy(world);
    }
}
END_TEST

/* A partition that heals: one outcome, or UNDECIDED for who was cut off. */
START_TEST(partitions_heal)
{
    uint32_t size = 3 + (uint32_t)_i % 5;
    uint32_t alone = (uint32_t)_i % size;
    sim_world_t *world = world_of(size, (uint64_t)_i, &forms[(size_t)_i % FORMS], 4, 2);
    sim_fault_t faults[4 * SIM_CALL_RANKS_MAX];
    memset(faults, 0, sizeof faults);
    size_t count = 0;
    for (unsigned heals = 0; heals < 2; heals++) {
        for (uint32_t rank = 0; rank < size; rank++) {
            for (unsigned way = 0; way < 2 && rank != alone; way++) {
                faults[count++] = (sim_fault_t){.at = heals ? 60 * SIM_SECOND : 150000,
                                                .kind = heals ? SIM_FAULT_RELEASE : SIM_FAULT_HOLD,
                                                .rank = way ? rank : alone,
                                                .other = way ? alone : rank};
            }
        }
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        job_of(world, rank, 3)->not_before = 90 * SIM_SECOND;
    }
    world->plan.faults = faults;
    world->plan.fault_count = count;
    world->allow_undecided = true;
    run_to_the_end(world);
    if (alone != 0) {
        expect_status(world, 3, MUSTER_OK);
    }
    sim_world_destroy(world);
}
END_TEST

/* ---- No memory (C823) ------------------------------------------------------------------------ */

/* A send is refused now and then: NO_MEMORY everywhere, and the next generation works. */
START_TEST(sends_without_memory)
{
    unsigned failed = 0, succeeded = 0;
    for (uint64_t turn = 0; turn < 10; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        uint32_t size = 2 + (uint32_t)(seed % 7);
        sim_options_t options = sim_rough(size, seed);
        options.no_memory_chance = 10000;
        sim_world_t *world = sim_world_create(&options, TIMEOUT, MUSTER_OUTCOME_DEFAULT);
        sim_random_t random = {seed};
        sim_job_t jobs[12];
        memset(jobs, 0, sizeof jobs);
        for (size_t i = 0; i < 12; i++) {
            jobs[i].call = sim_call_draw(sim_draw, &random, size, true);
        }
        for (uint32_t rank = 0; rank < size; rank++) {
            memcpy(sim_world_jobs(world, rank, 12, 1 + seed % 3), jobs, sizeof jobs);
        }
        run_to_the_end(world);
        for (uint32_t rank = 0; rank < size; rank++) {
            for (size_t i = 0; i < 12; i++) {
                muster_status_t status = job_of(world, rank, i)->status;
                ck_assert(status == MUSTER_OK || status == MUSTER_NO_MEMORY);
                failed += status == MUSTER_NO_MEMORY;
                succeeded += status == MUSTER_OK;
            }
        }
        sim_world_destroy(world);
    }
    ck_assert_uint_gt(succeeded, 0);
    ck_assert_uint_gt(failed, 0);
}
END_TEST

/* ---- Everything at once (C841) --------------------------------------------------------------- */

/* A broken connection comes alone: beside others it can leave a rank that nobody vouches for. */
static size_t draw_faults(sim_random_t *random, uint32_t size, sim_fault_t *faults, size_t count)
{
    static const sim_fault_kind_t kinds[] = {SIM_FAULT_LOSE, SIM_FAULT_PAUSE, SIM_FAULT_HOLD};
    bool cut = size > 2 && sim_random_below(random, 4) == 0;
    int64_t at = 0;
    count = cut ? 1 : count;
    for (size_t i = 0; i < count; i++) {
        at += (int64_t)sim_random_below(random, 400000);
        faults[i].at = at;
        faults[i].rank = (uint32_t)sim_random_below(random, size);
        faults[i].other =
            (faults[i].rank + 1 + (uint32_t)sim_random_below(random, size - 1)) % size;
        faults[i].kind = cut ? SIM_FAULT_CUT : kinds[sim_random_below(random, 3)];
    }
    /* What was stopped or held goes on after a while. */
    size_t total = count;
    for (size_t i = 0; i < count; i++) {
        if (faults[i].kind == SIM_FAULT_PAUSE || faults[i].kind == SIM_FAULT_HOLD) {
            faults[total] = faults[i];
            faults[total].at = (int64_t)(20 + total) * SIM_SECOND;
            faults[total++].kind =
                faults[i].kind == SIM_FAULT_PAUSE ? SIM_FAULT_RESUME : SIM_FAULT_RELEASE;
        }
    }
    return total;
}

START_TEST(everything_at_once)
{
    for (uint64_t turn = 0; turn < 20; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        sim_random_t random = {~seed};
        uint32_t size = 2 + (uint32_t)(seed % 8);
        sim_world_t *world = world_of(size, seed, &forms[seed % FORMS], 10, 1 + seed % 5);
        sim_fault_t faults[16];
        memset(faults, 0, sizeof faults);
        world->plan.fault_count =
            draw_faults(&random, size, faults, 1 + (size_t)sim_random_below(&random, 5));
        world->plan.faults = faults;
        world->allow_undecided = true;
        for (unsigned i = 0; i < 3; i++) {
            sim_job_t *job = job_of(world, (uint32_t)sim_random_below(&random, size),
                                    (size_t)sim_random_below(&random, 10));
            job->cancel_after = i == 0 ? 1 + (int64_t)sim_random_below(&random, 300000) : 0;
            job->abandon_after = i == 1 ? 1 + (int64_t)sim_random_below(&random, 300000) : 0;
            job->not_before = i == 2 ? 15 * SIM_SECOND : 0;
        }
        sim_report_t report = sim_world_run(world);
        ck_assert_msg(report.result == SIM_ENDED, "seed %" PRIu64 ", %u ranks", seed, size);
        ck_assert(sim_world_is_sound(world));
        sim_world_destroy(world);
    }
}
END_TEST

/*
 * Several broken connections among two or more ranks, deaths and the rest: who takes whom for dead
 * is then a matter of view, and outcomes may differ. But nobody hangs, and every value is right.
 */
START_TEST(whatever_happens_it_ends)
{
    for (uint64_t turn = 0; turn < 20; turn++) {
        uint64_t seed = (uint64_t)_i * 1000 + turn;
        sim_random_t random = {~seed};
        uint32_t size = 2 + (uint32_t)(seed % 8);
        sim_world_t *world = world_of(size, seed, &forms[seed % FORMS], 10, 1 + seed % 5);
        sim_fault_t faults[8];
        memset(faults, 0, sizeof faults);
        for (size_t i = 0; i < 8; i++) {
            bool heals = i >= 5;
            faults[i].at = heals ? (int64_t)(20 + i) * SIM_SECOND
                                 : (int64_t)sim_random_below(&random, 300000) + (int64_t)i * 300000;
            faults[i].rank = (uint32_t)sim_random_below(&random, size);
            faults[i].other =
                (faults[i].rank + 1 + (uint32_t)sim_random_below(&random, size - 1)) % size;
            faults[i].kind = heals                               ? SIM_FAULT_RESUME
                             : sim_random_below(&random, 2) == 0 ? SIM_FAULT_CUT
                             : i > 1 && i < 4                    ? SIM_FAULT_PAUSE
                                                                 : SIM_FAULT_LOSE;
            if (heals) {
                faults[i].rank = faults[i - 3].rank;
            }
        }
        for (uint32_t rank = 0; rank < size; rank++) {
            for (size_t i = 0; seed % 3 == 0 && i < 10; i++) {
                job_of(world, rank, i)->options.outcome = MUSTER_OUTCOME_LOCAL;
            }
        }
        world->plan.faults = faults;
        world->plan.fault_count = 8;
        world->allow_disagreement = true;
        sim_report_t report = sim_world_run(world);
        ck_assert_msg(report.result == SIM_ENDED, "seed %" PRIu64 ", %u ranks", seed, size);
        ck_assert(sim_world_is_sound(world));
        sim_world_destroy(world);
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
    Suite *suite = suite_create("sim_failures");
    add(suite, "late_ranks_are_named", late_ranks_are_named, sim_seeds());
    add(suite, "without_a_deadline_it_waits", without_a_deadline_it_waits, sim_seeds());
    add(suite, "stopped_ranks_are_missing", stopped_ranks_are_missing, sim_seeds());
    add(suite, "different_calls_are_told_to_all", different_calls_are_told_to_all, sim_seeds());
    add(suite, "generation_modes_are_told_to_all", generation_modes_are_told_to_all, sim_seeds());
    add(suite, "generation_modes_of_different_generations",
        generation_modes_of_different_generations, sim_seeds());
    add(suite, "rows_of_another_length", rows_of_another_length, sim_seeds());
    add(suite, "refused_calls_poison_nobody", refused_calls_poison_nobody, sim_seeds());
    add(suite, "failing_reductions_fail_everywhere", failing_reductions_fail_everywhere,
        sim_seeds());
    add(suite, "cancelled_everywhere_or_nowhere", cancelled_everywhere_or_nowhere, sim_seeds());
    add(suite, "deaths_are_told_to_all", deaths_are_told_to_all, sim_seeds());
    add(suite, "values_outlive_their_decider", values_outlive_their_decider, sim_seeds());
    add(suite, "values_that_come_too_late", values_that_come_too_late, sim_seeds());
    add(suite, "broken_connections", broken_connections, sim_seeds());
    add(suite, "partitions_heal", partitions_heal, sim_seeds());
    add(suite, "sends_without_memory", sends_without_memory, sim_seeds());
    add(suite, "everything_at_once", everything_at_once, sim_seeds());
    add(suite, "whatever_happens_it_ends", whatever_happens_it_ends, sim_seeds());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
