/*
 * The smallest job: every rank gives its rank plus one, and everybody gets the sum.
 *
 *     muster run -n 4 hello
 */
#include <inttypes.h>
#include <stdio.h>

#include <muster.h>

int main(void)
{
    muster_context_t *context;
    muster_failure_t failure;
    muster_context_options_t options = {.failure = &failure};
    muster_status_t status = muster_context_create(&options, &context);
    if (status != MUSTER_OK) {
        fprintf(stderr, "hello: %s: %s\n", muster_status_name(status), failure.message);
        return 1;
    }
    muster_comm_t *world = muster_context_world(context);
    uint32_t rank = muster_comm_rank(world), size = muster_comm_size(world);

    uint64_t mine = rank + 1, sum = 0, expected = (uint64_t)size * (size + 1) / 2;
    muster_call_t call = {.failure = &failure};
    status = muster_allreduce(world, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call);
    if (status != MUSTER_OK) {
        char line[1024];
        muster_failure_print(&failure, line, sizeof line);
        fprintf(stderr, "hello: %s\n", line);
    } else {
        printf("rank %" PRIu32 " of %" PRIu32 ": sum %" PRIu64 " expected %" PRIu64 " %s\n", rank,
               size, sum, expected, sum == expected ? "PASS" : "FAIL");
    }
    muster_context_destroy(context);
    return status == MUSTER_OK && sum == expected ? 0 : 1;
}
