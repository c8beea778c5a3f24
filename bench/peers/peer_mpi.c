/* The comparison's loop over MPI: built once with Open MPI's compiler and once with MPICH's. */
#include <mpi.h>

#include "loop.h"

static int peer_start(const char *setting, int *rank, int *size)
{
    (void)setting;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return -1;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return 0;
}

static enum loop_answer peer_call(enum loop_operation operation, float *send, float *receive,
                                  size_t count)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int n = (int)count;
    int status = MPI_ERR_OTHER;
    switch (operation) {
    case LOOP_BARRIER:
        status = MPI_Barrier(world);
        break;
    case LOOP_BROADCAST:
        status = MPI_Bcast(send, n, MPI_FLOAT, 0, world);
        break;
    case LOOP_REDUCE:
        status = MPI_Reduce(send, receive, n, MPI_FLOAT, MPI_SUM, 0, world);
        break;
    case LOOP_ALLREDUCE:
        status = MPI_Allreduce(send, receive, n, MPI_FLOAT, MPI_SUM, world);
        break;
    case LOOP_GATHER:
        status = MPI_Gather(send, n, MPI_FLOAT, receive, n, MPI_FLOAT, 0, world);
        break;
    case LOOP_SCATTER:
        status = MPI_Scatter(send, n, MPI_FLOAT, receive, n, MPI_FLOAT, 0, world);
        break;
    case LOOP_ALLGATHER:
        status = MPI_Allgather(send, n, MPI_FLOAT, receive, n, MPI_FLOAT, world);
        break;
    case LOOP_ALLTOALL:
        status = MPI_Alltoall(send, n, MPI_FLOAT, receive, n, MPI_FLOAT, world);
        break;
    case LOOP_REDUCE_SCATTER:
        status = MPI_Reduce_scatter_block(send, receive, n, MPI_FLOAT, MPI_SUM, world);
        break;
    case LOOP_SCAN:
        status = MPI_Scan(send, receive, n, MPI_FLOAT, MPI_SUM, world);
        break;
    case LOOP_OPERATION_COUNT:
        break;
    }
    return status == MPI_SUCCESS ? LOOP_DONE : LOOP_FAILED;
}

static void peer_stop(void)
{
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    return loop_run(argc, argv);
}
