/* The comparison's loop over Muster. Setting: "local" for MPI's outcome, else the uniform one. */
#include <muster.h>

#include "loop.h"

static muster_context_t *context;
static muster_comm_t *world;
static muster_call_t call;
static muster_failure_t failure;

static int report(muster_status_t status)
{
    char line[1024];
    failure.status = status;
    muster_failure_print(&failure, line, sizeof line);
    fprintf(stderr, "peer_muster: %s\n", line);
    return -1;
}

static int peer_start(const char *setting, int *rank, int *size)
{
    muster_context_options_t options = {.failure = &failure};
    muster_status_t status = muster_context_create(&options, &context);
    if (status != MUSTER_OK)
        return report(status);
    world = muster_context_world(context);
    call.failure = &failure;
    call.outcome = strcmp(setting, "local") == 0 ? MUSTER_OUTCOME_LOCAL : MUSTER_OUTCOME_UNIFORM;
    *rank = (int)muster_comm_rank(world);
    *size = (int)muster_comm_size(world);
    return 0;
}

static muster_status_t run(enum loop_operation operation, float *send, float *receive, size_t count)
{
    switch (operation) {
    case LOOP_BARRIER:
        return muster_barrier(world, &call);
    case LOOP_BROADCAST:
        return muster_broadcast(world, send, count, MUSTER_F32, 0, &call);
    case LOOP_REDUCE:
        return muster_reduce(world, send, receive, count, MUSTER_F32, MUSTER_SUM, 0, &call);
    case LOOP_ALLREDUCE:
        return muster_allreduce(world, send, receive, count, MUSTER_F32, MUSTER_SUM, &call);
    case LOOP_GATHER:
        return muster_gather(world, send, receive, count, MUSTER_F32, 0, &call);
    case LOOP_SCATTER:
        return muster_scatter(world, send, receive, count, MUSTER_F32, 0, &call);
    case LOOP_ALLGATHER:
        return muster_allgather(world, send, receive, count, MUSTER_F32, &call);
    case LOOP_ALLTOALL:
        return muster_alltoall(world, send, receive, count, MUSTER_F32, &call);
    case LOOP_REDUCE_SCATTER:
        return muster_reduce_scatter_block(world, send, receive, count, MUSTER_F32, MUSTER_SUM,
                                           &call);
    case LOOP_SCAN:
        return muster_scan(world, send, receive, count, MUSTER_F32, MUSTER_SUM, &call);
    case LOOP_OPERATION_COUNT:
        break;
    }
    return MUSTER_NOT_SUPPORTED;
}

static enum loop_answer peer_call(enum loop_operation operation, float *send, float *receive,
                                  size_t count)
{
    muster_status_t status = run(operation, send, receive, count);
    if (status == MUSTER_OK)
        return LOOP_DONE;
    if (status == MUSTER_NOT_SUPPORTED)
        return LOOP_UNSUPPORTED;
    report(status);
    return LOOP_FAILED;
}

static void peer_stop(void)
{
    muster_context_destroy(context);
}

int main(int argc, char **argv)
{
    return loop_run(argc, argv);
}
