/* The loop that drives scripts on a simulated cluster. */
#include "sim_cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SIM_HOUR INT64_C(3600000000000)
/* Rounds at one instant, after which ranks spin rather than work. */
#define SIM_ROUNDS_MAX 100000

typedef struct sim_driver {
    const sim_plan_t *plan;
    sim_report_t *report;
    sim_random_t random;
    uint32_t size;
    size_t faults_done;
    int64_t *asleep_until; /* by rank */
    bool *started;
    bool *finished;
    uint32_t *order; /* of a round */
} sim_driver_t;

static void driver_end(sim_driver_t *driver, sim_result_t result, const char *why)
{
    driver->report->result = result;
    snprintf(driver->report->why, sizeof driver->report->why, "%s", why);
}

static void driver_apply(sim_driver_t *driver, const sim_fault_t *fault)
{
    sim_cluster_t *cluster = driver->plan->cluster;
    switch (fault->kind) {
    case SIM_FAULT_LOSE:
        sim_lose(cluster, fault->rank);
        break;
    case SIM_FAULT_CUT:
        if (sim_is_alive(cluster, fault->rank) && sim_is_alive(cluster, fault->other)) {
            sim_cut(cluster, fault->rank, fault->other);
        }
        break;
    case SIM_FAULT_PAUSE:
        sim_pause(cluster, fault->rank);
        break;
    case SIM_FAULT_RESUME:
        sim_resume(cluster, fault->rank);
        break;
    case SIM_FAULT_HOLD:
        sim_hold(cluster, fault->rank, fault->other);
        break;
    case SIM_FAULT_RELEASE:
        sim_release(cluster, fault->rank, fault->other);
        break;
    case SIM_FAULT_CALL:
        fault->call(fault->argument);
        break;
    }
}

static void driver_apply_due(sim_driver_t *driver)
{
    const sim_plan_t *plan = driver->plan;
    while (driver->faults_done < plan->fault_count &&
           plan->faults[driver->faults_done].at <= sim_now(plan->cluster)) {
        driver_apply(driver, &plan->faults[driver->faults_done++]);
    }
}

static bool driver_all_finished(const sim_driver_t *driver)
{
    for (uint32_t rank = 0; rank < driver->size; rank++) {
        if (!driver->finished[rank] && sim_is_alive(driver->plan->cluster, rank)) {
            return false;
        }
    }
    return true;
}

static bool driver_may_step(const sim_driver_t *driver, uint32_t rank)
{
    const sim_plan_t *plan = driver->plan;
    if (!sim_is_alive(plan->cluster, rank) || sim_is_paused(plan->cluster, rank) ||
        driver->asleep_until[rank] > sim_now(plan->cluster) ||
        (plan->idle_when_finished && driver->finished[rank])) {
        return false;
    }
    return !driver->started[rank] || sim_ready(plan->cluster, rank);
}

/* A rank that is ready sleeps on, as one whose core is taken. */
static bool driver_naps(sim_driver_t *driver, uint32_t rank)
{
    const sim_plan_t *plan = driver->plan;
    if (sim_random_below(&driver->random, 1000) >= plan->nap_chance || plan->nap_maximum <= 0) {
        return false;
    }
    driver->asleep_until[rank] =
        sim_now(plan->cluster) + 1 +
        (int64_t)sim_random_below(&driver->random, (uint64_t)plan->nap_maximum);
    sim_alarm(plan->cluster, driver->asleep_until[rank]);
    return true;
}

static bool driver_step(sim_driver_t *driver, uint32_t rank)
{
    const sim_plan_t *plan = driver->plan;
    driver->started[rank] = true;
    if (plan->script->step(plan->actors[rank]) == SIM_FINISHED) {
        driver->finished[rank] = true;
    }
    driver->report->steps++;
    const char *violation = sim_violation(plan->cluster);
    char why[SIM_WHY_MAX] = "";
    if (violation != NULL) {
        driver_end(driver, SIM_UNSAFE, violation);
    } else if (plan->is_safe != NULL && !plan->is_safe(plan->argument, why, sizeof why)) {
        driver_end(driver, SIM_UNSAFE, why);
    } else {
        return true;
    }
    return false;
}

/* Every rank that may makes one step, in an order of chance. */
static bool driver_round(sim_driver_t *driver, uint32_t *stepped)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < driver->size; rank++) {
        if (driver_may_step(driver, rank)) {
            driver->order[count++] = rank;
        }
    }
    for (uint32_t left = count; left > 1; left--) {
        uint32_t chosen = (uint32_t)sim_random_below(&driver->random, left);
        uint32_t kept = driver->order[left - 1];
        driver->order[left - 1] = driver->order[chosen];
        driver->order[chosen] = kept;
    }
    *stepped = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = driver->order[i];
        if (driver_may_step(driver, rank) && !driver_naps(driver, rank) &&
            !driver_step(driver, rank)) {
            return false;
        }
    }
    return true;
}

static bool driver_within_limits(sim_driver_t *driver, uint64_t rounds_here)
{
    const sim_plan_t *plan = driver->plan;
    if (sim_now(plan->cluster) > (plan->limit == 0 ? SIM_HOUR : plan->limit)) {
        driver_end(driver, SIM_OVERTIME, "virtual time is up");
    } else if (driver->report->steps > (plan->step_limit == 0 ? 10000000 : plan->step_limit)) {
        driver_end(driver, SIM_OVERTIME, "too many steps");
    } else if (rounds_here > SIM_ROUNDS_MAX) {
        driver_end(driver, SIM_OVERTIME, "ranks spin without time passing");
    } else {
        return true;
    }
    return false;
}

static void driver_loop(sim_driver_t *driver)
{
    const sim_plan_t *plan = driver->plan;
    uint64_t rounds_here = 0;
    for (;;) {
        uint32_t stepped;
        driver_apply_due(driver);
        if (!driver_round(driver, &stepped) || !driver_within_limits(driver, rounds_here)) {
            return;
        }
        bool over = driver_all_finished(driver);
        if (over && !plan->linger) {
            return;
        }
        int64_t before = sim_now(plan->cluster);
        if (!sim_advance(plan->cluster) && stepped == 0) {
            if (!over) {
                driver_end(driver, SIM_HUNG, "nothing can happen any more");
            }
            return;
        }
        rounds_here = sim_now(plan->cluster) == before ? rounds_here + 1 : 0;
    }
}

static void driver_prepare(sim_driver_t *driver)
{
    const sim_plan_t *plan = driver->plan;
    for (size_t i = 0; i < plan->fault_count; i++) {
        sim_alarm(plan->cluster, plan->faults[i].at);
    }
    for (uint32_t rank = 0; plan->start_spread > 0 && rank < driver->size; rank++) {
        driver->asleep_until[rank] =
            (int64_t)sim_random_below(&driver->random, (uint64_t)plan->start_spread + 1);
        sim_alarm(plan->cluster, driver->asleep_until[rank]);
    }
}

sim_report_t sim_run(const sim_plan_t *plan)
{
    sim_report_t report = {.result = SIM_ENDED};
    sim_driver_t driver = {.plan = plan, .report = &report, .size = sim_size(plan->cluster)};
    driver.random.state = ~sim_seed(plan->cluster);
    driver.asleep_until = calloc(driver.size, sizeof *driver.asleep_until);
    driver.started = calloc(driver.size, sizeof *driver.started);
    driver.finished = calloc(driver.size, sizeof *driver.finished);
    driver.order = calloc(driver.size, sizeof *driver.order);
    if (driver.asleep_until == NULL || driver.started == NULL || driver.finished == NULL ||
        driver.order == NULL) {
        abort();
    }
    driver_prepare(&driver);
    driver_loop(&driver);
    report.time = sim_now(plan->cluster);
    free(driver.asleep_until);
    free(driver.started);
    free(driver.finished);
    free(driver.order);
    return report;
}

void sim_print(FILE *stream, const sim_plan_t *plan, const sim_report_t *report)
{
    static const char *const names[] = {"ended", "hung", "overtime", "unsafe"};
    fprintf(stream,
            "%s---- simulation %s: %s\n     seed %" PRIu64 ", %u ranks, %" PRId64 " ns, %" PRIu64
            " steps\n",
            sim_trace(plan->cluster), names[report->result], report->why, sim_seed(plan->cluster),
            sim_size(plan->cluster), report->time, report->steps);
    for (uint32_t rank = 0; rank < sim_size(plan->cluster); rank++) {
        char line[SIM_WHY_MAX] = "";
        if (plan->script->describe != NULL) {
            plan->script->describe(plan->actors[rank], line, sizeof line);
        }
        fprintf(stream, "     rank %u%s%s: %s\n", rank,
                sim_is_alive(plan->cluster, rank) ? "" : ", dead",
                sim_is_paused(plan->cluster, rank) ? ", stopped" : "", line);
    }
}

bool sim_run_ends(const sim_plan_t *plan)
{
    sim_report_t report = sim_run(plan);
    if (report.result != SIM_ENDED) {
        sim_print(stderr, plan, &report);
    }
    return report.result == SIM_ENDED;
}
