/*
 * The comparison's loop over Gloo, TCP on the loopback interface. RANK and WORLD_SIZE say who the
 * process is, MUSTER_BENCH_STORE names a directory for its file store, which the driver removes.
 * Setting: the algorithm of allreduce, "ring" or "bcube".
 */
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <exception>
#include <memory>
#include <vector>

#include "loop.h"

namespace
{

std::shared_ptr<gloo::rendezvous::Context> context;
gloo::AllreduceOptions::Algorithm algorithm;

using Sum = void (*)(void *, const void *, const void *, size_t);
const Sum sum = &gloo::sum<float>;

enum loop_answer barrier()
{
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
    return LOOP_DONE;
}

enum loop_answer broadcast(float *buffer, size_t count)
{
    gloo::BroadcastOptions options(context);
    options.setRoot(0);
    options.setOutput(buffer, count);
    gloo::broadcast(options);
    return LOOP_DONE;
}

enum loop_answer reduce(float *send, float *receive, size_t count)
{
    gloo::ReduceOptions options(context);
    options.setRoot(0);
    options.setInput(send, count);
    options.setOutput(receive, count);
    options.setReduceFunction(sum);
    gloo::reduce(options);
    return LOOP_DONE;
}

enum loop_answer allreduce(float *send, float *receive, size_t count)
{
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(algorithm);
    options.setInput(send, count);
    options.setOutput(receive, count);
    options.setReduceFunction(sum);
    gloo::allreduce(options);
    return LOOP_DONE;
}

enum loop_answer gather(float *send, float *receive, size_t count)
{
    gloo::GatherOptions options(context);
    options.setRoot(0);
    options.setInput(send, count);
    if (context->rank == 0)
        options.setOutput(receive, count * context->size);
    gloo::gather(options);
    return LOOP_DONE;
}

enum loop_answer scatter(float *send, float *receive, size_t count)
{
    gloo::ScatterOptions options(context);
    options.setRoot(0);
    if (context->rank == 0) {
        std::vector<float *> blocks;
        for (int rank = 0; rank < context->size; rank++)
            blocks.push_back(send + count * rank);
        options.setInputs(blocks, count);
    }
    options.setOutput(receive, count);
    gloo::scatter(options);
    return LOOP_DONE;
}

enum loop_answer allgather(float *send, float *receive, size_t count)
{
    gloo::AllgatherOptions options(context);
    options.setInput(send, count);
    options.setOutput(receive, count * context->size);
    gloo::allgather(options);
    return LOOP_DONE;
}

enum loop_answer alltoall(float *send, float *receive, size_t count)
{
    gloo::AlltoallOptions options(context);
    options.setInput(send, count * context->size);
    options.setOutput(receive, count * context->size);
    gloo::alltoall(options);
    return LOOP_DONE;
}

enum loop_answer run(enum loop_operation operation, float *send, float *receive, size_t count)
{
    switch (operation) {
    case LOOP_BARRIER:
        return barrier();
    case LOOP_BROADCAST:
        return broadcast(send, count);
    case LOOP_REDUCE:
        return reduce(send, receive, count);
    case LOOP_ALLREDUCE:
        return allreduce(send, receive, count);
    case LOOP_GATHER:
        return gather(send, receive, count);
    case LOOP_SCATTER:
        return scatter(send, receive, count);
    case LOOP_ALLGATHER:
        return allgather(send, receive, count);
    case LOOP_ALLTOALL:
        return alltoall(send, receive, count);
    default:
        return LOOP_UNSUPPORTED; /* no scan, and no reduce_scatter beside the older interface */
    }
}

void start(const char *setting, int *rank, int *size)
{
    const char *store_path = getenv("MUSTER_BENCH_STORE");
    const char *rank_text = getenv("RANK");
    const char *size_text = getenv("WORLD_SIZE");
    if (!store_path || !rank_text || !size_text)
        throw std::runtime_error("this program is started by bench/compare");
    *rank = atoi(rank_text);
    *size = atoi(size_text);
    algorithm = strcmp(setting, "ring") == 0 ? gloo::AllreduceOptions::Algorithm::RING
                                             : gloo::AllreduceOptions::Algorithm::BCUBE;
    gloo::transport::tcp::attr attributes;
    attributes.iface = "lo";
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(store_path);
    context = std::make_shared<gloo::rendezvous::Context>(*rank, *size);
    context->connectFullMesh(store, device);
}

} // namespace

static int peer_start(const char *setting, int *rank, int *size)
{
    try {
        start(setting, rank, size);
        return 0;
    } catch (const std::exception &error) {
        fprintf(stderr, "peer_gloo: %s\n", error.what());
        return -1;
    }
}

static enum loop_answer peer_call(enum loop_operation operation, float *send, float *receive,
                                  size_t count)
{
    try {
        return run(operation, send, receive, count);
    } catch (const std::exception &error) {
        fprintf(stderr, "peer_gloo: %s\n", error.what());
        return LOOP_FAILED;
    }
}

static void peer_stop(void)
{
    context.reset();
}

int main(int argc, char **argv)
{
    return loop_run(argc, argv);
}
