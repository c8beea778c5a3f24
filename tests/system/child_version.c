/*
 * One rank of a job, rank 1 of which speaks another version of the protocol between ranks than all
 * others: each finds that out with its first message to or from it.
 *
 * Prints "call STATUS: MESSAGE" of a barrier and of the one after it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "boot/boot.h"
#include "engine/farewell.h"
#include "engine/request.h"
#include "transport/tcp.h"

#define OTHER_VERSION 4711
#define DEADLINE INT64_C(30000000000)
#define TICK INT64_C(10000000)

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static _Noreturn void fail(const char *what, muster_status_t status,
                           const muster_failure_t *failure)
{
    printf("wrong %s: %s %s\n", what, muster_status_name(status), failure->message);
    exit(1);
}

/* As the library does it, but for the version. */
static transport_t *connect_all(boot_t *boot, int64_t deadline)
{
    transport_t *transport;
    muster_failure_t failure = {0};
    uint8_t mine[TCP_ADDRESS_SIZE];
    tcp_options_t options = {.rank = boot_rank(boot),
                             .size = boot_size(boot),
                             .bind_address = "127.0.0.1",
                             .version = boot_rank(boot) == 1 ? OTHER_VERSION : 0};
    memcpy(options.job, boot_job(boot), sizeof options.job);
    memcpy(options.secret, boot_secret(boot), sizeof options.secret);
    muster_status_t status = tcp_create(&options, &transport, &failure);
    if (status != MUSTER_OK)
        fail("transport", status, &failure);
    uint8_t *all = malloc((size_t)options.size * TCP_ADDRESS_SIZE);
    if (!all)
        exit(1);
    tcp_address(transport, mine);
    status = boot_exchange(boot, mine, sizeof mine, all, deadline, &failure);
    if (status == MUSTER_OK)
        status = tcp_connect_table(transport, all, &failure);
    if (status != MUSTER_OK)
        fail("exchange", status, &failure);
    free(all);
    return transport;
}

static bool has_finished(void *argument)
{
    return ((const muster_request_t *)argument)->state == REQUEST_FINISHED;
}

static void call(engine_t *engine)
{
    muster_request_t *request;
    request_arguments_t barrier = {.operation = OPERATION_BARRIER};
    engine_lock(engine);
    muster_status_t status = request_start(engine->world, &barrier, NULL, true, &request);
    if (status != MUSTER_OK)
        exit(1);
    engine_wait(engine, has_finished, request, INT64_MAX);
    printf("call %s: %s\n", muster_status_name(request->status), request->failure.message);
    fflush(stdout);
    request_release(request);
    engine_unlock(engine);
}

static bool is_flushed(void *argument)
{
    return engine_is_flushed(argument);
}

static bool has_met(void *argument)
{
    return farewell_is_over(argument);
}

/* Nobody goes while another may still have to ask. */
static void leave(engine_t *engine, boot_t *boot)
{
    boot_event_t event;
    engine_lock(engine);
    farewell_ready(engine);
    while (!engine_wait(engine, has_met, engine, engine_now(engine) + TICK))
        while (boot_poll(boot, &event))
            engine_hear_gone(engine, event.rank,
                             event.kind == BOOT_LEFT ? ENGINE_LEFT : ENGINE_LOST, "");
    engine_wait(engine, is_flushed, engine, engine_now(engine) + DEADLINE);
    engine_unlock(engine);
}

int main(void)
{
    boot_t *boot;
    engine_t *engine;
    uint8_t alive = 1;
    muster_failure_t failure = {0};
    int64_t deadline = now() + DEADLINE;
    muster_status_t status = boot_open(deadline, &boot, &failure);
    if (status != MUSTER_OK)
        fail("boot", status, &failure);
    transport_t *transport = connect_all(boot, deadline);
    status = engine_create(transport, DEADLINE, MUSTER_OUTCOME_DEFAULT, NULL, &engine);
    if (status != MUSTER_OK)
        exit(1);
    engine->alive = &alive;
    call(engine);
    call(engine);
    leave(engine, boot);
    boot_leave(boot);
    engine_destroy(engine);
    boot_close(boot);
    printf("end\n");
    return 0;
}
