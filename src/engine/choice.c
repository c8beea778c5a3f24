#include "engine/choice.h"

#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/text.h"
#include "engine/comm.h"

/*
 * Where nobody waits for an answer, calls back to back follow each other through the ranks, and the
 * work of the busiest one counts, not the way of one message (docs/DECISIONS.md). Up to so many
 * bytes a block that is the only cost; along a chain, which moves each vector the fewest times, of
 * longer ones too.
 */
#define CHOICE_PIPELINED 1024
#define CHOICE_PIPELINED_SCAN 65536
#define CHOICE_STAR_SIZE 16  /* a root that only receives takes so many messages well */
#define CHOICE_CHAIN_SIZE 16 /* so many ranks scan along a chain */
#define CHOICE_RAGGED 4096   /* bytes a block are reckoned with where ranks differ */

/* ---- hosts ---- */

/* Whether two neighbours are on different hosts: by the settings, or by what the peers say. */
static bool choice_is_apart(const muster_comm_t *comm, uint32_t rank, uint32_t before)
{
    const engine_t *engine = comm->engine;
    const hosts_t *hosts = &engine->settings->hosts;
    uint32_t one = comm->members[rank], other = comm->members[before];
    if (hosts_count(hosts, engine->size) > 0)
        return hosts_of(hosts, engine->size, one) != hosts_of(hosts, engine->size, other);
    transport_t *transport = engine->transport;
    if (!transport || transport->local_ranks == transport->size)
        return false;
    return strcmp(transport->operations->peer(transport, one)->host,
                  transport->operations->peer(transport, other)->host) != 0;
}

bool choice_prepare(choice_t *choice, uint32_t size)
{
    choice->host_first = malloc(((size_t)size + 1) * sizeof *choice->host_first);
    return choice->host_first != NULL;
}

void choice_find_hosts(muster_comm_t *comm)
{
    choice_t *choice = &comm->choice;
    uint32_t count = 1;
    choice->host_first[0] = 0;
    for (uint32_t rank = 1; rank < comm->size; rank++)
        if (choice_is_apart(comm, rank, rank - 1))
            choice->host_first[count++] = rank;
    choice->host_first[count] = comm->size;
    choice->hosts = (schedule_hosts_t){.count = count, .first = choice->host_first};
}

bool choice_is_between(const muster_comm_t *comm, uint32_t rank)
{
    const schedule_hosts_t *hosts = &comm->choice.hosts;
    if (hosts->count < 2)
        return false;
    schedule_request_t request = {.hosts = hosts, .size = comm->size};
    return schedule_host_of(&request, rank) != schedule_host_of(&request, comm->rank);
}

/* ---- plans ---- */

static const settings_t *choice_settings(const muster_comm_t *comm)
{
    return comm->settings ? comm->settings : comm->engine->settings;
}

static select_plan_t choice_tree(uint32_t arity)
{
    return (select_plan_t){.family = SCHEDULE_FAMILY_TREE, .arity = arity};
}

/* Small one-way operations with local outcome. False: the cost model is asked. */
static bool choice_pipelined(const muster_comm_t *comm, const choice_call_t *call,
                             select_plan_t *plan)
{
    operation_t operation = (operation_t)call->call->operation;
    bool scans = operation == OPERATION_SCAN || operation == OPERATION_EXSCAN;
    uint64_t most = scans ? CHOICE_PIPELINED_SCAN : CHOICE_PIPELINED;
    if (call->uniform || call->bytes > most || call->call->root != 0 ||
        settings_bind(choice_settings(comm), operation))
        return false;
    switch (operation) {
    case OPERATION_BROADCAST:
    case OPERATION_SCATTER:
        *plan = choice_tree(2);
        return true;
    case OPERATION_GATHER:
    case OPERATION_REDUCE:
        *plan = choice_tree(comm->size > CHOICE_STAR_SIZE ? 2 : comm->size);
        return true;
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        if (comm->size > CHOICE_CHAIN_SIZE)
            return false;
        *plan = (select_plan_t){.family = SCHEDULE_FAMILY_CHAIN, .arity = comm->size};
        return true;
    default:
        return false;
    }
}

static schedule_request_t choice_request(const muster_comm_t *comm, const choice_call_t *call)
{
    return (schedule_request_t){
        .operation = (operation_t)call->call->operation,
        .size = comm->size,
        .rank = comm->rank,
        .root = call->call->root,
        .arity = comm->arity,
        .hosts = comm->choice.hosts.count > 1 ? &comm->choice.hosts : NULL,
        .initial = call->call->initial,
        .commutative = call->call->commutative,
        .uniform = call->uniform,
        .small = call->small,
    };
}

/* The number of bits: sizes of one class have one plan. */
static uint8_t choice_class(uint64_t bytes)
{
    uint8_t class = 0;
    while (bytes > 0) {
        class ++;
        bytes >>= 1;
    }
    return class;
}

static choice_memo_t *choice_remember(choice_t *choice, const choice_memo_t *key)
{
    if (!choice->memos)
        choice->memos = calloc(CHOICE_PLANS, sizeof *choice->memos);
    if (!choice->memos)
        return NULL;
    unsigned place =
        (key->operation * 7U + key->class * 3U + key->uniform + key->root) % CHOICE_PLANS;
    return &choice->memos[place];
}

static bool choice_is_remembered(const choice_memo_t *memo, const choice_memo_t *key)
{
    return memo->used && memo->operation == key->operation && memo->uniform == key->uniform &&
           memo->small == key->small && memo->commutative == key->commutative &&
           memo->class == key->class && memo->root == key->root && memo->exact == key->exact;
}

/* ---- the log, on request: one rank says what all of them have chosen ---- */

#define CHOICE_LINE 512

/* "allreduce on "world", 96 ranks": what a line begins with. */
static bool choice_begin_line(const muster_comm_t *comm, uint8_t operation, text_t *line)
{
    if (!choice_settings(comm)->log || comm->rank != 0 || !comm->engine->log)
        return false;
    text_string(line, operation_name(operation));
    text_string(line, " on \"");
    text_string(line, comm->name);
    text_string(line, "\", ");
    text_number(line, comm->size);
    text_string(line, " ranks");
    return true;
}

static void choice_log(const muster_comm_t *comm, const choice_call_t *call,
                       const select_plan_t *plan)
{
    char bytes[CHOICE_LINE];
    text_t line = text_over(bytes, sizeof bytes);
    if (!choice_begin_line(comm, call->call->operation, &line))
        return;
    text_string(&line, ", ");
    text_number(&line, call->bytes);
    text_string(&line, call->uniform ? " bytes, uniform: " : " bytes, local: ");
    select_print(plan, &line);
    comm->engine->log(bytes, comm->engine->log_argument);
}

/* A radix that is set and is none for this team: said once for each operation (C608). */
static void choice_log_unbound(muster_comm_t *comm, operation_t operation, radix_reason_t reason)
{
    uint32_t bit = UINT32_C(1) << (unsigned)operation;
    char bytes[CHOICE_LINE];
    text_t line = text_over(bytes, sizeof bytes);
    if (reason == RADIX_REASON_NONE || reason == RADIX_REASON_ASKED || (comm->choice.told & bit) ||
        !choice_begin_line(comm, (uint8_t)operation, &line))
        return;
    comm->choice.told |= bit;
    text_string(&line, ": the radix that is set is not used: ");
    text_string(&line, radix_reason_text(reason));
    comm->engine->log(bytes, comm->engine->log_argument);
}

static muster_status_t choice_ask(muster_comm_t *comm, const choice_call_t *call, uint64_t bytes,
                                  uint64_t reckoned, select_plan_t *plan)
{
    schedule_request_t request = choice_request(comm, call);
    radix_reason_t reason = RADIX_REASON_NONE;
    muster_status_t status =
        settings_choose(choice_settings(comm), &request, bytes, reckoned, plan, &reason);
    if (status == MUSTER_OK)
        choice_log_unbound(comm, request.operation, reason);
    return status;
}

static muster_status_t choice_by_cost(muster_comm_t *comm, const choice_call_t *call,
                                      select_plan_t *plan)
{
    choice_t *choice = &comm->choice;
    uint64_t bytes = call->bytes;
    if (operation_is_ragged((operation_t)call->call->operation))
        bytes = CHOICE_RAGGED;
    choice_memo_t key = {.used = true,
                         .operation = call->call->operation,
                         .uniform = call->uniform,
                         .small = call->small,
                         .commutative = call->call->commutative,
                         .class = choice_class(bytes),
                         .root = call->call->root};
    uint64_t reckoned = key.class == 0 ? 0 : UINT64_C(1) << (key.class - 1);
    if (settings_bind(choice_settings(comm), (operation_t)call->call->operation))
        key.exact = bytes; /* settings' ranges end anywhere */
    choice_memo_t *memo = choice_remember(choice, &key);
    if (memo && choice_is_remembered(memo, &key)) {
        *plan = memo->plan;
        return MUSTER_OK;
    }
    muster_status_t status = choice_ask(comm, call, bytes, reckoned, plan);
    if (status == MUSTER_OK && memo) {
        *memo = key;
        memo->plan = *plan;
    }
    if (status == MUSTER_OK)
        choice_log(comm, call, plan);
    return status;
}

muster_status_t choice_plan(muster_comm_t *comm, const choice_call_t *call, select_plan_t *plan)
{
    /* Rows are told in carriers, which only trees and stars send. */
    if (comm->shape != MUSTER_SHAPE_AUTO || comm->size < 2 || call->call->rows) {
        *plan = choice_tree(comm->arity);
        return MUSTER_OK;
    }
    if (choice_pipelined(comm, call, plan)) {
        uint32_t bit = UINT32_C(1) << call->call->operation;
        if (!(comm->choice.logged & bit))
            choice_log(comm, call, plan);
        comm->choice.logged |= bit;
        return MUSTER_OK;
    }
    return choice_by_cost(comm, call, plan);
}

/* ---- schedules ---- */

static muster_status_t choice_build(const schedule_request_t *key, schedule_family_t family,
                                    cached_schedule_t **result)
{
    schedule_builder_t builder = schedule_family_builder(family);
    schedule_t counted = {0};
    muster_status_t status = builder(key, &counted);
    if (status != MUSTER_OK)
        return status;
    size_t head = (sizeof(cached_schedule_t) + 15) / 16 * 16;
    cached_schedule_t *cached = calloc(1, head + schedule_memory(&counted));
    if (!cached)
        return MUSTER_NO_MEMORY;
    cached->key = *key;
    cached->family = family;
    cached->schedule = counted;
    schedule_place(&cached->schedule, (uint8_t *)cached + head);
    status = builder(key, &cached->schedule);
    MUSTER_ASSERT(status == MUSTER_OK);
    *result = cached;
    return MUSTER_OK;
}

/* The place of one that is not held and was used longest ago; CHOICE_SCHEDULES: all are held. */
static unsigned choice_victim(const choice_t *choice)
{
    unsigned victim = CHOICE_SCHEDULES;
    for (unsigned i = 0; i < CHOICE_SCHEDULES; i++) {
        const cached_schedule_t *cached = choice->schedules[i];
        if (!cached)
            return i;
        if (cached->users == 0 &&
            (victim == CHOICE_SCHEDULES || cached->used < choice->schedules[victim]->used))
            victim = i;
    }
    return victim;
}

muster_status_t choice_schedule(muster_comm_t *comm, const choice_call_t *call,
                                cached_schedule_t **schedule)
{
    choice_t *choice = &comm->choice;
    select_plan_t plan;
    muster_status_t status = choice_plan(comm, call, &plan);
    if (status != MUSTER_OK)
        return status;
    schedule_request_t key = choice_request(comm, call);
    key.in_place = call->in_place;
    select_apply(&plan, &key);
    choice->calls++;
    for (unsigned i = 0; i < CHOICE_SCHEDULES; i++) {
        cached_schedule_t *cached = choice->schedules[i];
        if (cached && cached->family == plan.family &&
            schedule_request_is_same(&cached->key, &key)) {
            cached->users++;
            cached->used = choice->calls;
            *schedule = cached;
            return MUSTER_OK;
        }
    }
    status = choice_build(&key, plan.family, schedule);
    if (status != MUSTER_OK)
        return status;
    (*schedule)->users = 1;
    (*schedule)->used = choice->calls;
    unsigned victim = choice_victim(choice);
    if (victim < CHOICE_SCHEDULES) {
        free(choice->schedules[victim]);
        choice->schedules[victim] = *schedule;
        (*schedule)->cached = true;
    }
    return MUSTER_OK;
}

void choice_release(cached_schedule_t *schedule)
{
    if (!schedule)
        return;
    MUSTER_ASSERT(schedule->users > 0);
    if (--schedule->users == 0 && !schedule->cached)
        free(schedule);
}

void choice_free(choice_t *choice)
{
    for (unsigned i = 0; i < CHOICE_SCHEDULES; i++)
        free(choice->schedules[i]);
    free(choice->memos);
    free(choice->host_first);
    *choice = (choice_t){0};
}
