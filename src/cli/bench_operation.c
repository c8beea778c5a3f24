#include "cli/bench_operation.h"

#include <stdlib.h>
#include <string.h>

#define UNTOUCHED (-1.0f)

typedef struct operation_traits {
    const char *name;
    bool reduces;
    bool sends_all;    /* the send buffer has a block for each rank */
    bool receives_all; /* the receive buffer has one */
} operation_traits_t;

static const operation_traits_t traits[BENCH_OPERATION_COUNT] = {
    [BENCH_BARRIER] = {"barrier", false, false, false},
    [BENCH_BROADCAST] = {"broadcast", false, false, false},
    [BENCH_REDUCE] = {"reduce", true, false, false},
    [BENCH_ALLREDUCE] = {"allreduce", true, false, false},
    [BENCH_GATHER] = {"gather", false, false, true},
    [BENCH_SCATTER] = {"scatter", false, true, false},
    [BENCH_ALLGATHER] = {"allgather", false, false, true},
    [BENCH_ALLTOALL] = {"alltoall", false, true, true},
    [BENCH_REDUCE_SCATTER] = {"reduce_scatter", true, true, false},
    [BENCH_SCAN] = {"scan", true, false, false},
    [BENCH_EXSCAN] = {"exscan", true, false, false},
};

const char *bench_operation_name(bench_operation_t operation)
{
    return traits[operation].name;
}

bench_operation_t bench_operation_parse(const char *name)
{
    int operation = 0;
    while (operation < BENCH_OPERATION_COUNT && strcmp(traits[operation].name, name) != 0)
        operation++;
    return (bench_operation_t)operation;
}

bool bench_operation_reduces(bench_operation_t operation)
{
    return traits[operation].reduces;
}

static size_t elements_of(bool all, const bench_buffers_t *buffers)
{
    return all ? buffers->count * buffers->size : buffers->count;
}

bool bench_buffers_allocate(bench_operation_t operation, size_t count, uint32_t rank, uint32_t size,
                            bench_buffers_t *buffers)
{
    *buffers = (bench_buffers_t){.count = count, .rank = rank, .size = size};
    if (count > SIZE_MAX / sizeof(float) / size - 1)
        return false;
    /* One element more than is needed, so that nothing is never NULL. */
    buffers->send = calloc(elements_of(traits[operation].sends_all, buffers) + 1, sizeof(float));
    buffers->receive =
        calloc(elements_of(traits[operation].receives_all, buffers) + 1, sizeof(float));
    return buffers->send && buffers->receive;
}

void bench_buffers_free(bench_buffers_t *buffers)
{
    free(buffers->send);
    free(buffers->receive);
    buffers->send = buffers->receive = NULL;
}

/* Small whole numbers: sums of them are exact in f32 up to a million ranks. */
static float value_of(uint32_t rank, size_t element)
{
    return (float)((rank * 7 + element) % 13);
}

static float sum_of(uint32_t ranks, size_t element)
{
    float sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        sum += value_of(rank, element);
    return sum;
}

void bench_buffers_fill(bench_operation_t operation, bench_buffers_t *buffers)
{
    size_t sends = elements_of(traits[operation].sends_all, buffers);
    size_t receives = elements_of(traits[operation].receives_all, buffers);
    for (size_t i = 0; i < sends; i++)
        buffers->send[i] = value_of(buffers->rank, i);
    for (size_t i = 0; i < receives; i++)
        buffers->receive[i] = UNTOUCHED;
    if (operation == BENCH_BROADCAST && buffers->rank == 0)
        memcpy(buffers->receive, buffers->send, buffers->count * sizeof(float));
}

static float expected(bench_operation_t operation, const bench_buffers_t *buffers, size_t i)
{
    size_t count = buffers->count, own = buffers->rank * count;
    bool root = buffers->rank == 0;
    switch (operation) {
    case BENCH_BROADCAST:
        return value_of(0, i);
    case BENCH_REDUCE:
        return root ? sum_of(buffers->size, i) : UNTOUCHED;
    case BENCH_ALLREDUCE:
        return sum_of(buffers->size, i);
    case BENCH_GATHER:
        return root ? value_of((uint32_t)(i / count), i % count) : UNTOUCHED;
    case BENCH_SCATTER:
        return value_of(0, own + i);
    case BENCH_ALLGATHER:
        return value_of((uint32_t)(i / count), i % count);
    case BENCH_ALLTOALL:
        return value_of((uint32_t)(i / count), own + i % count);
    case BENCH_REDUCE_SCATTER:
        return sum_of(buffers->size, own + i);
    case BENCH_SCAN:
        return sum_of(buffers->rank + 1, i);
    case BENCH_EXSCAN:
        return root ? UNTOUCHED : sum_of(buffers->rank, i);
    case BENCH_BARRIER:
    case BENCH_OPERATION_COUNT:
        break;
    }
    return UNTOUCHED;
}

uint64_t bench_buffers_wrong(bench_operation_t operation, const bench_buffers_t *buffers)
{
    size_t elements = elements_of(traits[operation].receives_all, buffers);
    /* What is left untouched on ranks other than the root is not part of the result. */
    if (buffers->rank != 0 && (operation == BENCH_REDUCE || operation == BENCH_GATHER))
        elements = 0;
    uint64_t wrong = 0;
    for (size_t i = 0; i < elements; i++)
        wrong += buffers->receive[i] != expected(operation, buffers, i);
    return wrong;
}

muster_status_t bench_operation_call(bench_operation_t operation, muster_comm_t *comm,
                                     bench_buffers_t *buffers, const muster_call_t *call)
{
    float *send = buffers->send, *receive = buffers->receive;
    size_t count = buffers->count;
    const muster_datatype_t type = MUSTER_F32;
    switch (operation) {
    case BENCH_BARRIER:
        return muster_barrier(comm, call);
    case BENCH_BROADCAST:
        return muster_broadcast(comm, receive, count, type, 0, call);
    case BENCH_REDUCE:
        return muster_reduce(comm, send, receive, count, type, MUSTER_SUM, 0, call);
    case BENCH_ALLREDUCE:
        return muster_allreduce(comm, send, receive, count, type, MUSTER_SUM, call);
    case BENCH_GATHER:
        return muster_gather(comm, send, receive, count, type, 0, call);
    case BENCH_SCATTER:
        return muster_scatter(comm, send, receive, count, type, 0, call);
    case BENCH_ALLGATHER:
        return muster_allgather(comm, send, receive, count, type, call);
    case BENCH_ALLTOALL:
        return muster_alltoall(comm, send, receive, count, type, call);
    case BENCH_REDUCE_SCATTER:
        return muster_reduce_scatter_block(comm, send, receive, count, type, MUSTER_SUM, call);
    case BENCH_SCAN:
        return muster_scan(comm, send, receive, count, type, MUSTER_SUM, call);
    case BENCH_EXSCAN:
        return muster_exscan(comm, send, receive, NULL, count, type, MUSTER_SUM, call);
    case BENCH_OPERATION_COUNT:
        break;
    }
    return MUSTER_NOT_SUPPORTED;
}

double bench_algorithm_bytes(bench_operation_t operation, size_t block_bytes, uint32_t size)
{
    bool all = traits[operation].sends_all || traits[operation].receives_all;
    return (double)block_bytes * (all ? size : 1);
}

double bench_bus_bytes(bench_operation_t operation, size_t block_bytes, uint32_t size)
{
    double bytes = bench_algorithm_bytes(operation, block_bytes, size);
    double others = size > 1 ? (double)(size - 1) / size : 1;
    if (operation == BENCH_ALLREDUCE)
        return 2 * bytes * others;
    return traits[operation].sends_all || traits[operation].receives_all ? bytes * others : bytes;
}
