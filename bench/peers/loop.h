/*
 * The loop that every system under comparison runs, so that a row means the same for all of them:
 * a barrier, then iterations calls back to back, timed as one batch; several batches.
 *
 * Each rank connects to the driver (bench/compare) through the Unix socket that the environment
 * variable MUSTER_BENCH_CONTROL names, says "rank R of N", and then blocks in read, using no
 * processor, until the driver sends a line:
 *
 *     run OPERATION COUNT WARMUP ITERATIONS BATCHES
 *
 * It answers "times T1 ... TB" (microseconds a call, batch by batch), "unsupported" or "failed".
 * The driver takes the maximum over ranks and the median over batches. End of file: leave.
 *
 * A program supplies the three functions below and calls loop_run. COUNT is in elements of f32: of
 * the block a rank gives or gets; alltoall: per peer; the root is rank 0. C and C++.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum loop_operation {
    LOOP_BARRIER,
    LOOP_BROADCAST,
    LOOP_REDUCE,
    LOOP_ALLREDUCE,
    LOOP_GATHER,
    LOOP_SCATTER,
    LOOP_ALLGATHER,
    LOOP_ALLTOALL,
    LOOP_REDUCE_SCATTER,
    LOOP_SCAN,
    LOOP_OPERATION_COUNT
};

enum loop_answer { LOOP_DONE, LOOP_UNSUPPORTED, LOOP_FAILED };

/* Joins the job; 0 where that worked. setting: the program's argument, or "". */
static int peer_start(const char *setting, int *rank, int *size);

/* One operation. send and receive have room for size * count elements each. */
static enum loop_answer peer_call(enum loop_operation operation, float *send, float *receive,
                                  size_t count);

static void peer_stop(void);

static enum loop_operation loop_operation_parse(const char *name)
{
    static const char *const names[LOOP_OPERATION_COUNT] = {
        "barrier", "broadcast", "reduce",   "allreduce",      "gather",
        "scatter", "allgather", "alltoall", "reduce_scatter", "scan"};
    int index = 0;
    while (index < LOOP_OPERATION_COUNT && strcmp(name, names[index]) != 0)
        index++;
    return (enum loop_operation)index;
}

static double loop_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static enum loop_answer loop_batch(enum loop_operation operation, float *send, float *receive,
                                   size_t count, int iterations, double *time)
{
    enum loop_answer answer = peer_call(LOOP_BARRIER, send, receive, 0);
    double start = loop_now();
    for (int i = 0; i < iterations && answer == LOOP_DONE; i++)
        answer = peer_call(operation, send, receive, count);
    *time = (loop_now() - start) / iterations;
    return answer;
}

/* Runs one command line and writes the answer to output; 0 unless the memory does not suffice. */
static int loop_command(const char *line, int size, FILE *output)
{
    char name[32];
    size_t count = 0;
    int warmup = 0, iterations = 0, batches = 0;
    if (sscanf(line, "run %31s %zu %d %d %d", name, &count, &warmup, &iterations, &batches) != 5)
        return -1;
    enum loop_operation operation = loop_operation_parse(name);
    size_t elements = count * (size_t)size + 1;
    float *send = (float *)calloc(elements, sizeof(float));
    float *receive = (float *)calloc(elements, sizeof(float));
    if (operation == LOOP_OPERATION_COUNT || !send || !receive || iterations < 1) {
        free(send);
        free(receive);
        return -1;
    }
    enum loop_answer answer = LOOP_DONE;
    for (int i = 0; i < warmup && answer == LOOP_DONE; i++)
        answer = peer_call(operation, send, receive, count);
    for (int batch = 0; batch < batches && answer == LOOP_DONE; batch++) {
        double time = 0;
        answer = loop_batch(operation, send, receive, count, iterations, &time);
        if (answer == LOOP_DONE)
            fprintf(output, "%s%.3f", batch == 0 ? "times " : " ", time);
    }
    /* Nobody goes to sleep in read while others still need its progress. */
    if (answer == LOOP_DONE)
        answer = peer_call(LOOP_BARRIER, send, receive, 0);
    fputs(answer == LOOP_DONE          ? "\n"
          : answer == LOOP_UNSUPPORTED ? "unsupported\n"
                                       : "failed\n",
          output);
    free(send);
    free(receive);
    return fflush(output);
}

/* The descriptor of the connection to the driver, or -1. */
static int loop_connect(void)
{
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    const char *path = getenv("MUSTER_BENCH_CONTROL");
    if (!path || strlen(path) >= sizeof address.sun_path) {
        fputs("this program is started by bench/compare\n", stderr);
        return -1;
    }
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        perror(path);
        return -1;
    }
    return descriptor;
}

static int loop_run(int argc, char **argv)
{
    int rank = 0, size = 0;
    if (peer_start(argc > 1 ? argv[1] : "", &rank, &size) != 0)
        return 1;
    int descriptor = loop_connect();
    if (descriptor < 0)
        return 1;
    FILE *input = fdopen(descriptor, "r");
    FILE *output = fdopen(dup(descriptor), "w");
    if (!input || !output)
        return 1;
    fprintf(output, "rank %d of %d\n", rank, size);
    fflush(output);
    char line[128];
    int status = 0;
    while (status == 0 && fgets(line, sizeof line, input))
        status = loop_command(line, size, output);
    fclose(input);
    fclose(output);
    peer_stop();
    return status == 0 ? 0 : 1;
}

#endif
