/*
 * What `muster bench` can measure: each operation as a call on buffers of f32, with contents whose
 * result is known, so that it can be checked.
 *
 * A count is in elements of the block that a rank gives or gets; for alltoall and reduce_scatter:
 * of the block for each peer. The root is rank 0.
 */
#ifndef MUSTER_CLI_BENCH_OPERATION_H
#define MUSTER_CLI_BENCH_OPERATION_H

#include "muster.h"

typedef enum bench_operation {
    BENCH_BARRIER,
    BENCH_BROADCAST,
    BENCH_REDUCE,
    BENCH_ALLREDUCE,
    BENCH_GATHER,
    BENCH_SCATTER,
    BENCH_ALLGATHER,
    BENCH_ALLTOALL,
    BENCH_REDUCE_SCATTER,
    BENCH_SCAN,
    BENCH_EXSCAN,
    BENCH_OPERATION_COUNT
} bench_operation_t;

/* The buffers of one rank; those that an operation does not use hold one block all the same. */
typedef struct bench_buffers {
    float *send;
    float *receive;
    size_t count;
    uint32_t rank;
    uint32_t size;
} bench_buffers_t;

const char *bench_operation_name(bench_operation_t operation);
/* BENCH_OPERATION_COUNT where there is none of that name. */
bench_operation_t bench_operation_parse(const char *name);
bool bench_operation_reduces(bench_operation_t operation);

/* Allocates both; false where the memory does not suffice. Free them in either case. */
bool bench_buffers_allocate(bench_operation_t operation, size_t count, uint32_t rank, uint32_t size,
                            bench_buffers_t *buffers);
void bench_buffers_free(bench_buffers_t *buffers);

/* Puts in the contents that bench_buffers_wrong expects to have been there before one call. */
void bench_buffers_fill(bench_operation_t operation, bench_buffers_t *buffers);
/* How many elements of this rank's result are not what they must be. */
uint64_t bench_buffers_wrong(bench_operation_t operation, const bench_buffers_t *buffers);

/* One blocking call; its status. */
muster_status_t bench_operation_call(bench_operation_t operation, muster_comm_t *comm,
                                     bench_buffers_t *buffers, const muster_call_t *call);

/*
 * The bytes that the bandwidths are reckoned from, as nccl-tests does (doc/PERFORMANCE.md there):
 * algorithm: of the whole buffer, n blocks where ranks hold n of them; bus: what has to go through
 * the link of the busiest rank, whatever the algorithm.
 */
double bench_algorithm_bytes(bench_operation_t operation, size_t block_bytes, uint32_t size);
double bench_bus_bytes(bench_operation_t operation, size_t block_bytes, uint32_t size);

#endif
