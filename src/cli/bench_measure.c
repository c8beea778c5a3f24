#include "cli/bench_measure.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 10
#define TRIAL_CALLS 3
#define TARGET_US 200000.0
#define ITERATIONS_FITTED_MIN 20
#define ITERATIONS_FITTED_MAX 20000

typedef struct measurement {
    muster_comm_t *comm;
    bench_operation_t operation;
    bench_buffers_t buffers;
    muster_call_t call;
} measurement_t;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* iterations calls back to back; each one's time is stored where calls is given. */
static muster_status_t run_batch(measurement_t *m, uint32_t iterations, double *calls, double *time)
{
    muster_status_t status = muster_barrier(m->comm, &m->call);
    double start = now_us(), before = start;
    for (uint32_t i = 0; i < iterations && status == MUSTER_OK; i++) {
        status = bench_operation_call(m->operation, m->comm, &m->buffers, &m->call);
        double after = now_us();
        if (calls)
            calls[i] = after - before;
        before = after;
    }
    *time = iterations > 0 ? (before - start) / iterations : 0;
    return status;
}

/* Replaces each of the numbers by the largest that a rank has in its place. */
static muster_status_t slowest(measurement_t *m, double *numbers, size_t count)
{
    return muster_allreduce(m->comm, MUSTER_IN_PLACE, numbers, count, MUSTER_F64, MUSTER_MAX,
                            &m->call);
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

static muster_status_t check(measurement_t *m, uint32_t spoiled, bench_row_t *row)
{
    bench_buffers_fill(m->operation, &m->buffers);
    muster_status_t status = bench_operation_call(m->operation, m->comm, &m->buffers, &m->call);
    uint64_t wrong = 0;
    if (m->buffers.rank == spoiled)
        m->buffers.receive[0] += 0.5f;
    if (status == MUSTER_OK)
        wrong = bench_buffers_wrong(m->operation, &m->buffers);
    if (status == MUSTER_OK)
        status =
            muster_allreduce(m->comm, &wrong, &row->wrong, 1, MUSTER_U64, MUSTER_SUM, &m->call);
    return status;
}

/* How many calls fit into the time of a row, the same on every rank. */
static muster_status_t fit_iterations(measurement_t *m, uint32_t *iterations)
{
    double time = 0;
    muster_status_t status = run_batch(m, TRIAL_CALLS, NULL, &time);
    if (status == MUSTER_OK)
        status = slowest(m, &time, 1);
    double fitting = time > 0 ? TARGET_US / time : ITERATIONS_FITTED_MAX;
    *iterations = fitting < ITERATIONS_FITTED_MIN   ? ITERATIONS_FITTED_MIN
                  : fitting > ITERATIONS_FITTED_MAX ? ITERATIONS_FITTED_MAX
                                                    : (uint32_t)fitting;
    return status;
}

static muster_status_t time_calls(measurement_t *m, uint32_t iterations, bench_row_t *row)
{
    double *calls = malloc(iterations * sizeof *calls);
    if (!calls)
        return MUSTER_NO_MEMORY;
    double batches[BATCHES];
    uint32_t batch_count = iterations < BATCHES ? iterations : BATCHES;
    muster_status_t status = MUSTER_OK;
    for (uint32_t batch = 0; batch < batch_count && status == MUSTER_OK; batch++) {
        uint32_t first = (uint32_t)((uint64_t)iterations * batch / batch_count);
        uint32_t last = (uint32_t)((uint64_t)iterations * (batch + 1) / batch_count);
        status = run_batch(m, last - first, calls + first, &batches[batch]);
    }
    if (status == MUSTER_OK)
        status = slowest(m, batches, batch_count);
    if (status == MUSTER_OK)
        status = slowest(m, calls, iterations);
    if (status == MUSTER_OK) {
        row->time_us = median(batches, batch_count);
        qsort(calls, iterations, sizeof *calls, compare_numbers);
        row->min_us = calls[0];
        row->p99_us = calls[((uint64_t)iterations * 99 + 99) / 100 - 1];
    }
    free(calls);
    return status;
}

muster_status_t bench_measure(muster_comm_t *comm, const bench_plan_t *plan,
                              bench_operation_t operation, size_t count, bench_row_t *row,
                              muster_failure_t *failure)
{
    measurement_t m = {.comm = comm,
                       .operation = operation,
                       .call = {.outcome = plan->outcome, .failure = failure}};
    *row = (bench_row_t){.operation = operation, .count = count};
    muster_status_t status = MUSTER_OK;
    if (!bench_buffers_allocate(operation, count, muster_comm_rank(comm), muster_comm_size(comm),
                                &m.buffers))
        status = MUSTER_NO_MEMORY;
    if (status == MUSTER_OK && plan->check)
        status = check(&m, plan->spoiled, row);
    double ignored;
    if (status == MUSTER_OK)
        status = run_batch(&m, plan->warmup, NULL, &ignored);
    uint32_t iterations = plan->iterations;
    if (status == MUSTER_OK && iterations == 0)
        status = fit_iterations(&m, &iterations);
    if (status == MUSTER_OK)
        status = time_calls(&m, iterations, row);
    bench_buffers_free(&m.buffers);
    return status;
}
