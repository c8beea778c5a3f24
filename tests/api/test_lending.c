/*
 * Large payloads are lent (C507): the library does not copy them, and does not touch them once the
 * operation has completed or been given up.
 */
#include "ranks.h"

#include <string.h>
#include <sys/mman.h>

#define LARGE ((size_t)4 << 20)

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
static const muster_comm_options_t tree = {.shape = MUSTER_SHAPE_TREE,
                                           .arity = {2, true},
                                           .flat_threshold = {0, true},
                                           .generations = MUSTER_GENERATION_COUNTED};

static uint8_t *pages(uint8_t fill)
{
    void *memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED);
    memset(memory, fill, LARGE);
    return memory;
}

static bool all_are(const uint8_t *bytes, size_t length, uint8_t value)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* What the library copied, but for what came before its turn. */
static uint64_t copied(const muster_comm_t *comm)
{
    muster_traffic_t traffic;
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &traffic));
    return traffic.bytes_copied - traffic.bytes_copied_early;
}

/* The root may overwrite its buffer, and unmap it, as soon as its call has returned. */
static void lent_by_the_root(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "lent by the root", *options);
    bool root = ranks_rank() == 0;
    for (int outcome = MUSTER_OUTCOME_UNIFORM; outcome <= MUSTER_OUTCOME_LOCAL; outcome++) {
        muster_call_t call = {.outcome = (muster_outcome_t)outcome, .failure = ranks_failure()};
        uint8_t *buffer = pages(root ? 7 : 0);
        EXPECT_STATUS(MUSTER_OK, muster_broadcast(comm, buffer, LARGE, MUSTER_BYTE, 0, &call));
        EXPECT(all_are(buffer, LARGE, 7));
        memset(buffer, 9, LARGE); /* C507: nobody reads it any more */
        munmap(buffer, LARGE);
    }
    EXPECT_NUMBER(0, copied(comm)); /* C507, C506: not one byte of it */
    muster_comm_destroy(comm);
}

/* Given up before it is complete: the buffers may go at once, though sends were under way. */
static void given_up(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "given up", *options);
    bool last = ranks_rank() == ranks_size() - 1;
    muster_request_t *request = NULL;
    uint8_t *send = pages(1), *receive = pages(0);
    if (!last) {
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, send, receive, LARGE, MUSTER_U8,
                                                   MUSTER_SUM, NULL, &request));
        EXPECT(muster_test(request) != MUSTER_OK); /* another may have given up before */
        muster_request_destroy(request);
        munmap(send, LARGE); /* C507: a touch from here on would end the process */
        munmap(receive, LARGE);
    }
    ranks_meet(context);
    muster_call_t call = {.failure = ranks_failure()};
    if (last) {
        EXPECT_STATUS(MUSTER_CANCELLED,
                      muster_allreduce(comm, send, receive, LARGE, MUSTER_U8, MUSTER_SUM, &call));
        munmap(send, LARGE);
        munmap(receive, LARGE);
    }
    EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, &call)); /* the next generation works */
    muster_comm_destroy(comm);
}

#define FEW (RANKS_SIZE(2) | RANKS_SIZE(3))

static const ranks_case_t cases[] = {
    {"lent by the root, flat", lent_by_the_root, &flat, FEW | RANKS_SIZE(5), FEW},
    {"lent by the root, tree", lent_by_the_root, &tree, RANKS_SIZE(5), RANKS_SIZE(5)},
    {"given up, flat", given_up, &flat, FEW | RANKS_SIZE(5), FEW},
    {"given up, tree", given_up, &tree, RANKS_SIZE(5), RANKS_SIZE(5)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
