/*
 * One rank of a job that makes one call of an operation, checks its result, and tells what it sent:
 *
 *     child_schedule OPERATION BYTES
 *
 * Blocks and vectors are of BYTES bytes; reductions are sums of bytes that wrap. Rank 0 prints
 * "MESSAGES BYTES BETWEEN TOTAL": the most messages and payload bytes that a rank has sent, the
 * bytes between hosts of all ranks, and their messages. Outcome local: data only.
 *
 *     child_schedule fold BYTES
 *
 * checks that reductions of floats have the very bits of a left fold in rank order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "muster.h"

static muster_context_t *context;
static muster_comm_t *world;
static uint32_t rank, size;
static size_t bytes;
static unsigned char *sent, *received;

static _Noreturn void fail(const char *what, const muster_failure_t *failure)
{
    printf("wrong: %s %s\n", what, failure ? failure->message : "");
    exit(1);
}

/* Byte i that source has for target. */
static unsigned char value(uint32_t source, uint32_t target, size_t i)
{
    return (unsigned char)(source * 31 + target * 17 + i * 7 + 1);
}

static unsigned char sum(uint32_t target, size_t i)
{
    unsigned char whole = 0;
    for (uint32_t source = 0; source < size; source++)
        whole = (unsigned char)(whole + value(source, target, i));
    return whole;
}

static void fill(uint32_t blocks)
{
    for (uint32_t block = 0; block < blocks; block++)
        for (size_t i = 0; i < bytes; i++)
            sent[block * bytes + i] = value(rank, block, i);
}

static void expect(uint32_t block, unsigned char (*expected)(uint32_t block, size_t i))
{
    for (size_t i = 0; i < bytes; i++)
        if (received[block * bytes + i] != expected(block, i))
            fail("result", NULL);
}

static unsigned char gathered(uint32_t block, size_t i)
{
    return value(block, 0, i);
}

static unsigned char exchanged(uint32_t block, size_t i)
{
    return value(block, rank, i);
}

static unsigned char reduced(uint32_t block, size_t i)
{
    (void)block;
    return sum(0, i);
}

static unsigned char scattered(uint32_t block, size_t i)
{
    (void)block;
    return sum(rank, i);
}

static unsigned char broadcast(uint32_t block, size_t i)
{
    (void)block;
    return value(0, 0, i);
}

/* Numbers whose sum depends on the order. */
static float number(uint32_t source, size_t i)
{
    float mixed = (float)((source * 7919 + i * 104729) % 1000003);
    return (i + source) % 2 == 0 ? mixed / 7.0f : mixed / 70000.0f;
}

static void expect_fold(const float *result, size_t first, size_t count, uint32_t last)
{
    for (size_t i = 0; i < count; i++) {
        float folded = number(0, first + i);
        for (uint32_t source = 1; source <= last; source++)
            folded += number(source, first + i);
        if (memcmp(&folded, &result[i], sizeof folded) != 0)
            fail("fold", NULL);
    }
}

static void fold(void)
{
    size_t count = bytes / sizeof(float) / size; /* of a block */
    float *own = malloc((count * size + 1) * sizeof *own);
    float *result = malloc((count * size + 1) * sizeof *result);
    muster_failure_t failure = {0};
    muster_call_t how = {.outcome = MUSTER_OUTCOME_LOCAL, .failure = &failure};
    if (!own || !result)
        fail("memory", NULL);
    for (size_t i = 0; i < count * size; i++)
        own[i] = number(rank, i);
    if (muster_allreduce(world, own, result, count * size, MUSTER_F32, MUSTER_SUM, &how))
        fail("allreduce", &failure);
    expect_fold(result, 0, count * size, size - 1);
    for (uint32_t root = 0; root<size; root += size> 1 ? size - 1 : 1) {
        if (muster_reduce(world, own, result, count * size, MUSTER_F32, MUSTER_SUM, root, &how))
            fail("reduce", &failure);
        if (rank == root)
            expect_fold(result, 0, count * size, size - 1);
    }
    if (muster_reduce_scatter_block(world, own, result, count, MUSTER_F32, MUSTER_SUM, &how))
        fail("reduce_scatter", &failure);
    expect_fold(result, rank * count, count, size - 1);
    if (muster_scan(world, own, result, count * size, MUSTER_F32, MUSTER_SUM, &how))
        fail("scan", &failure);
    expect_fold(result, 0, count * size, rank);
    free(own);
    free(result);
}

static void call(const char *operation)
{
    muster_failure_t failure = {0};
    muster_call_t how = {.outcome = MUSTER_OUTCOME_LOCAL, .failure = &failure};
    muster_status_t status = MUSTER_NOT_SUPPORTED;
    fill(size);
    if (strcmp(operation, "fold") == 0) {
        fold();
        status = MUSTER_OK;
    } else if (strcmp(operation, "barrier") == 0) {
        status = muster_barrier(world, &how);
    } else if (strcmp(operation, "broadcast") == 0) {
        memcpy(received, sent, bytes);
        status = muster_broadcast(world, received, bytes, MUSTER_U8, 0, &how);
        expect(0, broadcast);
    } else if (strcmp(operation, "reduce") == 0) {
        status = muster_reduce(world, sent, received, bytes, MUSTER_U8, MUSTER_SUM, 0, &how);
        if (rank == 0)
            expect(0, reduced);
    } else if (strcmp(operation, "allreduce") == 0) {
        status = muster_allreduce(world, sent, received, bytes, MUSTER_U8, MUSTER_SUM, &how);
        expect(0, reduced);
    } else if (strcmp(operation, "allgather") == 0) {
        status = muster_allgather(world, sent, received, bytes, MUSTER_U8, &how);
        for (uint32_t block = 0; block < size; block++)
            expect(block, gathered);
    } else if (strcmp(operation, "alltoall") == 0) {
        status = muster_alltoall(world, sent, received, bytes, MUSTER_U8, &how);
        for (uint32_t block = 0; block < size; block++)
            expect(block, exchanged);
    } else if (strcmp(operation, "reduce_scatter_block") == 0) {
        status =
            muster_reduce_scatter_block(world, sent, received, bytes, MUSTER_U8, MUSTER_SUM, &how);
        expect(0, scattered);
    }
    if (status != MUSTER_OK)
        fail(operation, &failure);
}

int main(int count, char **arguments)
{
    muster_failure_t failure = {0};
    if (count != 3)
        return 2;
    bytes = strtoul(arguments[2], NULL, 10);
    muster_context_options_t options = {.failure = &failure};
    if (muster_context_create(&options, &context) != MUSTER_OK)
        fail("context", &failure);
    world = muster_context_world(context);
    rank = muster_comm_rank(world);
    size = muster_comm_size(world);
    sent = malloc(size * bytes + 1);
    received = malloc(size * bytes + 1);
    if (!sent || !received)
        fail("memory", NULL);
    call(arguments[1]);
    muster_traffic_t traffic;
    muster_comm_traffic(world, &traffic);
    uint64_t most[2] = {traffic.messages_sent, traffic.bytes_sent};
    uint64_t all[2] = {traffic.bytes_between_hosts, traffic.messages_sent};
    if (muster_allreduce(world, MUSTER_IN_PLACE, most, 2, MUSTER_U64, MUSTER_MAX, NULL) !=
            MUSTER_OK ||
        muster_allreduce(world, MUSTER_IN_PLACE, all, 2, MUSTER_U64, MUSTER_SUM, NULL) != MUSTER_OK)
        fail("figures", NULL);
    if (rank == 0)
        printf("%llu %llu %llu %llu\n", (unsigned long long)most[0], (unsigned long long)most[1],
               (unsigned long long)all[0], (unsigned long long)all[1]);
    free(sent);
    free(received);
    muster_context_destroy(context);
    return 0;
}
