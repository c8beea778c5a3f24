#include "lib/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "boot/boot_settings.h"
#include "engine/farewell.h"
#include "engine/request.h"
#include "lib/check.h"
#include "lib/log.h"
#include "transport/cores.h"
#include "transport/tcp.h"

#define CONTEXT_FLUSH INT64_C(2000000000) /* ns to get out what was sent */

bool context_usable(const muster_context_t *context)
{
    return context && *context->alive;
}

static int64_t context_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t context_timeout(muster_timeout_t timeout)
{
    if (timeout.kind == 0)
        return ENGINE_DEFAULT_TIMEOUT;
    if (timeout.kind == 2 || timeout.milliseconds > INT64_MAX / 2000000)
        return INT64_MAX;
    return (int64_t)timeout.milliseconds * 1000000;
}

static muster_status_t context_tell(muster_failure_t *failure, muster_status_t status,
                                    const char *text)
{
    return check_refuse(failure, NULL, status, "%s", text);
}

/* ---- the transport ---- */

static muster_status_t context_local(const muster_context_options_t *options,
                                     transport_t **transport)
{
    muster_local_t *local = options->local;
    if (!options->rank.given)
        return context_tell(options->failure, MUSTER_INVALID_ARGUMENT,
                            "rank: not given, but local is");
    if (options->rank.value >= local->size)
        return check_refuse(options->failure, NULL, MUSTER_INVALID_RANK,
                            "rank: %llu is outside of 0..%u",
                            (unsigned long long)options->rank.value, local->size - 1);
    muster_status_t status = mem_create(local->hub, (uint32_t)options->rank.value, transport);
    if (status != MUSTER_OK)
        return check_refuse(options->failure, NULL, status, "rank %llu: %s",
                            (unsigned long long)options->rank.value, muster_status_text(status));
    return MUSTER_OK;
}

static muster_status_t context_alone(transport_t **transport)
{
    mem_hub_t *hub;
    muster_status_t status = mem_hub_create(1, &hub);
    if (status != MUSTER_OK)
        return status;
    status = mem_create(hub, 0, transport);
    mem_hub_destroy(hub);
    return status;
}

/* What a rank hands to all: where it can be reached, and the mark of its settings. */
#define CONTEXT_CARD_SIZE (TCP_ADDRESS_SIZE + BOOT_SETTINGS_MARK_SIZE)

/* Hands the cards round: all addresses come into the table, all settings are rank 0's. */
static muster_status_t context_introduce(boot_t *boot, transport_t *transport, settings_t *settings,
                                         int64_t deadline, muster_failure_t *failure)
{
    uint8_t mine[CONTEXT_CARD_SIZE];
    uint32_t size = boot_size(boot);
    uint8_t *all = malloc((size_t)size * CONTEXT_CARD_SIZE);
    if (!all)
        return context_tell(failure, MUSTER_NO_MEMORY, "no memory for the addresses of the job");
    tcp_address(transport, mine);
    boot_settings_mark(settings, mine + TCP_ADDRESS_SIZE);
    muster_status_t status = boot_exchange(boot, mine, sizeof mine, all, deadline, failure);
    if (status == MUSTER_OK)
        status = boot_settings_agree(boot, settings, all + TCP_ADDRESS_SIZE, CONTEXT_CARD_SIZE,
                                     deadline, failure);
    if (status == MUSTER_OK) {
        for (size_t rank = 1; rank < size; rank++)
            memmove(all + rank * TCP_ADDRESS_SIZE, all + rank * CONTEXT_CARD_SIZE,
                    TCP_ADDRESS_SIZE);
        status = tcp_connect_table(transport, all, failure);
    }
    free(all);
    return status;
}

static muster_status_t context_connect(boot_t *boot, settings_t *settings, int64_t timeout,
                                       int64_t deadline, transport_t **result,
                                       muster_failure_t *failure)
{
    tcp_options_t options = {.rank = boot_rank(boot), .size = boot_size(boot)};
    memcpy(options.job, boot_job(boot), sizeof options.job);
    memcpy(options.secret, boot_secret(boot), sizeof options.secret);
    options.bind_address = getenv("MUSTER_BIND_ADDRESS");
    options.connect_timeout = timeout == INT64_MAX ? 0 : timeout;
    options.reach_timeout = options.connect_timeout / 2; /* says why before the call's deadline */
    if (!options.bind_address && boot_is_one_host(boot))
        options.bind_address = "127.0.0.1"; /* nobody else has to reach it */
    transport_t *transport;
    muster_status_t status = tcp_create(&options, &transport, failure);
    if (status != MUSTER_OK)
        return status;
    status = context_introduce(boot, transport, settings, deadline, failure);
    if (status != MUSTER_OK)
        transport->operations->destroy(transport);
    else
        *result = transport;
    return status;
}

/* ---- create ---- */

static void context_free(muster_context_t *context)
{
    if (context->engine)
        engine_destroy(context->engine);
    boot_close(context->boot);
    if (context->alive)
        munmap(context->alive, (size_t)sysconf(_SC_PAGESIZE));
    free(context);
}

static bool context_guard(muster_context_t *context)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    context->alive = page;
    *context->alive = 1;
    madvise(page, size, MADV_WIPEONFORK);
    return true;
}

/* The settings that this rank finds; what nobody has set and the host tells is filled in. */
static muster_status_t context_settings(settings_t *settings,
                                        const muster_context_options_t *options)
{
    muster_status_t status = boot_settings_read(settings, options->failure);
    if (status == MUSTER_OK && settings->origin[SETTINGS_CORES] == SETTINGS_BUILTIN) {
        /* Logical ranks do not compare their settings: their threads may be bound differently. */
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        settings->parameters.cores = !options->local ? cores_usable()
                                     : online > 0    ? (uint32_t)online
                                                     : 1;
        settings->origin[SETTINGS_CORES] = SETTINGS_FROM_HOST;
    }
    return status;
}

/* The context fails. Nothing has been sent: a logical rank can still try again. */
static void context_withdraw(const muster_context_options_t *options, transport_t *transport)
{
    if (options->local)
        mem_withdraw(transport);
    else
        transport->operations->destroy(transport);
}

/* Hosts that are set have to be those of this job. */
static muster_status_t context_check_hosts(const settings_t *settings, transport_t *transport,
                                           muster_failure_t *failure)
{
    bool set = settings->origin[SETTINGS_PLACES] != SETTINGS_BUILTIN;
    if (!set || hosts_count(&settings->hosts, transport->size) > 0)
        return MUSTER_OK;
    char bytes[256];
    text_t text = text_over(bytes, sizeof bytes);
    hosts_print(&settings->hosts, &text);
    return check_refuse(failure, NULL, MUSTER_INVALID_ARGUMENT,
                        "the setting hosts is %s, which does not fit a job of %u ranks", bytes,
                        transport->size);
}

static muster_status_t context_join(muster_context_t *context, settings_t *settings,
                                    const muster_context_options_t *options)
{
    int64_t now = context_clock();
    int64_t deadline = context->timeout > INT64_MAX - now ? INT64_MAX : now + context->timeout;
    transport_t *transport = NULL;
    muster_status_t status;
    if (options->local) {
        status = context_local(options, &transport);
    } else {
        status = boot_open(deadline, &context->boot, options->failure);
        if (status == MUSTER_OK)
            status = boot_fd(context->boot) < 0
                         ? context_alone(&transport)
                         : context_connect(context->boot, settings, context->timeout, deadline,
                                           &transport, options->failure);
    }
    if (status == MUSTER_OK)
        status = context_check_hosts(settings, transport, options->failure);
    if (status != MUSTER_OK) {
        if (transport)
            transport->operations->destroy(transport);
        return status;
    }
    status =
        engine_create(transport, context->timeout, options->outcome, settings, &context->engine);
    if (status != MUSTER_OK) {
        context_withdraw(options, transport);
        return context_tell(options->failure, status, "no memory for the engine");
    }
    context->engine->alive = context->alive;
    context->engine->log = log_to_stderr;
    status = keeper_start(context->engine, context->boot, options->progress, &context->keeper);
    if (status != MUSTER_OK) {
        context->engine->transport = NULL;
        context_withdraw(options, transport);
        return context_tell(options->failure, status, "the keeper's thread could not be started");
    }
    return MUSTER_OK;
}

muster_status_t muster_context_set_log(muster_context_t *context, muster_log_t function,
                                       void *argument)
{
    if (!context_usable(context))
        return MUSTER_INVALID_HANDLE;
    engine_lock(context->engine);
    context->engine->log = function ? function : log_to_stderr;
    context->engine->log_argument = argument;
    engine_unlock(context->engine);
    return MUSTER_OK;
}

muster_status_t muster_context_create(const muster_context_options_t *options,
                                      muster_context_t **result)
{
    static const muster_context_options_t defaults;
    if (!options)
        options = &defaults;
    if (!result)
        return context_tell(options->failure, MUSTER_INVALID_ARGUMENT, "context: null");
    if (options->progress > MUSTER_PROGRESS_THREAD || options->outcome > MUSTER_OUTCOME_LOCAL)
        return context_tell(options->failure, MUSTER_INVALID_ARGUMENT,
                            "options: progress or outcome is unknown");
    if (!check_timeout(options->timeout))
        return check_refuse(options->failure, NULL, MUSTER_INVALID_ARGUMENT,
                            "timeout: kind %u is unknown", options->timeout.kind);
    muster_context_t *context = calloc(1, sizeof *context);
    if (!context || !context_guard(context)) {
        free(context);
        return context_tell(options->failure, MUSTER_NO_MEMORY, "no memory for a context");
    }
    context->timeout = context_timeout(options->timeout);
    settings_t *settings = malloc(sizeof *settings);
    muster_status_t status =
        settings ? context_settings(settings, options)
                 : context_tell(options->failure, MUSTER_NO_MEMORY, "no memory for the settings");
    if (status == MUSTER_OK)
        status = context_join(context, settings, options);
    free(settings);
    if (status != MUSTER_OK) {
        context_free(context);
        return status;
    }
    *result = context;
    return MUSTER_OK;
}

/* ---- destroy ---- */

static bool context_met(void *argument)
{
    return farewell_is_over(argument);
}

/* The last meeting, so that nobody leaves while another still has to ask. */
static void context_meet(engine_t *engine, int64_t until)
{
    farewell_ready(engine);
    if (!engine_wait(engine, context_met, engine, until))
        farewell_leave_alone(engine);
}

static bool context_flushed(void *argument)
{
    return engine_is_flushed(argument);
}

void muster_context_destroy(muster_context_t *context)
{
    if (!context_usable(context))
        return;
    engine_t *engine = context->engine;
    engine_lock(engine);
    request_cancel_all(engine);
    comm_quit_all(engine); /* nobody waits for this rank until the deadline */
    /* Of the timeout, some is kept for what has to be flushed. */
    int64_t kept = context->timeout / 4 < CONTEXT_FLUSH ? context->timeout / 4 : CONTEXT_FLUSH;
    int64_t end = engine_deadline(engine, (muster_timeout_t){0}, context->timeout);
    context_meet(engine, end == INT64_MAX ? end : end - kept);
    engine_wait(engine, context_flushed, engine, engine_now(engine) + kept);
    engine_unlock(engine);
    keeper_stop(context->keeper);
    if (context->boot)
        boot_leave(context->boot);
    context_free(context);
}

/* ---- about ---- */

uint32_t muster_context_rank(const muster_context_t *context)
{
    return context_usable(context) ? context->engine->rank : MUSTER_NO_RANK;
}

uint32_t muster_context_size(const muster_context_t *context)
{
    return context_usable(context) ? context->engine->size : 0;
}

muster_comm_t *muster_context_world(muster_context_t *context)
{
    return context_usable(context) ? context->engine->world : NULL;
}

muster_status_t muster_progress(muster_context_t *context)
{
    if (!context_usable(context))
        return MUSTER_INVALID_HANDLE;
    engine_lock(context->engine);
    engine_progress(context->engine);
    engine_unlock(context->engine);
    return MUSTER_OK;
}

muster_status_t muster_local_create(uint32_t size, muster_local_t **result)
{
    if (!result || size == 0)
        return MUSTER_INVALID_ARGUMENT;
    muster_local_t *local = calloc(1, sizeof *local);
    if (!local)
        return MUSTER_NO_MEMORY;
    local->size = size;
    muster_status_t status = mem_hub_create(size, &local->hub);
    if (status != MUSTER_OK) {
        free(local);
        return status;
    }
    *result = local;
    return MUSTER_OK;
}

void muster_local_destroy(muster_local_t *local)
{
    if (!local)
        return;
    mem_hub_destroy(local->hub);
    free(local);
}

const char *muster_version(void)
{
#define CONTEXT_TEXT(number) CONTEXT_QUOTE(number)
#define CONTEXT_QUOTE(number) #number
    return CONTEXT_TEXT(MUSTER_VERSION_MAJOR) "." CONTEXT_TEXT(
        MUSTER_VERSION_MINOR) "." CONTEXT_TEXT(MUSTER_VERSION_PATCH);
}
