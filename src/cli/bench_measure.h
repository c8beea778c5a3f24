/*
 * One row of `muster bench`: an operation at one size, measured by all ranks of a communicator.
 */
#ifndef MUSTER_CLI_BENCH_MEASURE_H
#define MUSTER_CLI_BENCH_MEASURE_H

#include "cli/bench_operation.h"

#define BENCH_ITERATIONS_MAX 1000000

typedef struct bench_plan {
    uint32_t warmup;
    uint32_t iterations; /* 0: as many as take about a fifth of a second */
    bool check;
    uint32_t spoiled; /* a rank whose result is made wrong before the check, to see it found */
    muster_outcome_t outcome;
} bench_plan_t;

/* Times in microseconds, on the slowest rank. */
typedef struct bench_row {
    bench_operation_t operation;
    size_t count;
    double time_us; /* median over batches of calls back to back: a batch's time by its calls */
    double min_us;  /* of single calls: the fastest, */
    double p99_us;  /* and the one that 99 % are no slower than */
    uint64_t wrong; /* elements, all ranks together; 0 where nothing was checked */
} bench_row_t;

/*
 * Measures, blocking; every rank of comm makes the same call. The row is complete on every rank.
 * NO_MEMORY: the buffers do not fit, on this rank; else what an operation returned, with failure
 * filled.
 */
muster_status_t bench_measure(muster_comm_t *comm, const bench_plan_t *plan,
                              bench_operation_t operation, size_t count, bench_row_t *row,
                              muster_failure_t *failure);

#endif
