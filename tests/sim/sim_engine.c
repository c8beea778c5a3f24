/* Scripts that run engines: start jobs, make progress, hold outcomes against each other. */
#include "sim_engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SIM_SEEDS 20

int sim_seeds(void)
{
    const char *given = getenv("MUSTER_SIM_SEEDS");
    int seeds = given == NULL ? 0 : atoi(given);
    return seeds > 0 ? seeds : SIM_SEEDS;
}

uint64_t sim_draw(void *random, uint64_t bound)
{
    return sim_random_below(random, bound);
}

/* ---- Safety ---------------------------------------------------------------------------------- */

/* The member's job of a generation, as far as it is known; hint: where it probably is. */
static const sim_job_t *member_job(const sim_member_t *member, uint32_t comm, uint64_t generation,
                                   size_t hint)
{
    for (size_t i = 0; i <= member->started; i++) {
        size_t index = i == 0 ? hint : i - 1;
        if (index < member->started && member->jobs[index].started &&
            member->jobs[index].comm == comm && member->jobs[index].generation == generation) {
            return &member->jobs[index];
        }
    }
    return NULL;
}

/* Same status, culprit, field, and missing ranks. */
static bool failures_agree(const sim_world_t *world, const muster_failure_t *one,
                           const muster_failure_t *other)
{
    if (world->allow_words) {
        return one->status == other->status && one->rank == other->rank;
    }
    return one->status == other->status && one->rank == other->rank &&
           strcmp(one->field, other->field) == 0 && strcmp(one->message, other->message) == 0 &&
           one->range_count == other->range_count &&
           memcmp(one->missing, other->missing, one->range_count * sizeof one->missing[0]) == 0;
}

static bool outcome_counts(const sim_world_t *world, const sim_job_t *job)
{
    return job->finished && !job->abandoned &&
           (job->status != MUSTER_UNDECIDED || !world->allow_undecided);
}

/* Against the outcome of another rank: dead ones may have heard what nobody else will. */
static void world_compare(sim_world_t *world, const sim_member_t *member, const sim_job_t *job,
                          const sim_member_t *peer, const sim_job_t *other)
{
    if (!outcome_counts(world, other) || !sim_is_alive(world->cluster, peer->rank)) {
        return;
    }
    if (other->status != job->status ||
        (job->status != MUSTER_OK && !failures_agree(world, &other->failure, &job->failure))) {
        snprintf(world->unsafe, sizeof world->unsafe,
                 "generation %" PRIu64 " of communicator %u: %s on rank %u (%.120s), and %s on "
                 "rank %u (%.120s)",
                 job->generation, job->comm, muster_status_name(job->status), member->rank,
                 job->failure.message, muster_status_name(other->status), peer->rank,
                 other->failure.message);
    }
}

/* A rank has learnt an outcome (C801, C401). */
static void world_judge(sim_world_t *world, const sim_member_t *member, const sim_job_t *job)
{
    const muster_comm_t *comm = member->comms[job->comm];
    muster_outcome_t kind =
        job->options.outcome == MUSTER_OUTCOME_DEFAULT ? comm->outcome : job->options.outcome;
    if (kind != MUSTER_OUTCOME_UNIFORM || world->allow_disagreement ||
        !outcome_counts(world, job)) {
        return;
    }
    for (uint32_t rank = 0; rank < world->size && world->unsafe[0] == '\0'; rank++) {
        const sim_member_t *peer = &world->members[rank];
        if (peer->comms[job->comm] == NULL) {
            continue;
        }
        const sim_job_t *other =
            member_job(peer, job->comm, job->generation, (size_t)(job - member->jobs));
        if (other != NULL) {
            world_compare(world, member, job, peer, other);
        } else if (job->status == MUSTER_OK) {
            snprintf(world->unsafe, sizeof world->unsafe,
                     "rank %u ended generation %" PRIu64 " of communicator %u before rank %u had "
                     "started",
                     member->rank, job->generation, job->comm, rank);
        }
    }
}

static bool world_is_safe(void *argument, char *why, size_t size)
{
    const sim_world_t *world = argument;
    snprintf(why, size, "%s", world->unsafe);
    return world->unsafe[0] == '\0';
}

/* ---- A step ---------------------------------------------------------------------------------- */

static void job_start(sim_member_t *member, sim_job_t *job)
{
    muster_comm_t *comm = member->comms[job->comm];
    sim_cluster_t *cluster = member->world->cluster;
    job->call.size = comm->size;
    job->buffers = sim_buffers_create(&job->call, comm->rank);
    job->buffers->reduction.fail_at = job->fail_at;
    job->begun = sim_now(cluster);
    job->status = MUSTER_IN_PROGRESS;
    job->refused =
        request_start(comm, &job->buffers->arguments, &job->options, true, &job->request);
    sim_note(cluster, "rank %u starts %s of comm %u: %s", member->rank,
             operation_name((uint8_t)job->call.operation), job->comm,
             muster_status_name(job->refused));
    if (job->refused != MUSTER_OK) {
        job->finished = true;
        return;
    }
    member->under_way++;
}

/* The generation is known once it leaves the queue. */
static void job_observe(sim_member_t *member, sim_job_t *job)
{
    if (job->request == NULL || job->finished) {
        return;
    }
    if (job->request->state != REQUEST_QUEUED && !job->started) {
        job->started = true;
        job->generation = job->request->generation;
    }
    if (job->request->state != REQUEST_FINISHED) {
        return;
    }
    job->finished = true;
    job->ended = sim_now(member->world->cluster);
    job->status = job->request->status;
    if (job->status != MUSTER_OK) {
        job->failure = job->request->failure;
    }
    member->under_way--;
    sim_note(member->world->cluster, "rank %u ends generation %" PRIu64 " of comm %u: %s %.120s",
             member->rank, job->generation, job->comm, muster_status_name(job->status),
             job->failure.message);
    if (job->started) {
        world_judge(member->world, member, job);
    }
    if (!member->reverse) {
        request_release(job->request);
        job->request = NULL;
    }
}

static void job_interfere(sim_member_t *member, sim_job_t *job)
{
    int64_t age = sim_now(member->world->cluster) - job->begun;
    if (job->request == NULL || job->finished) {
        return;
    }
    if (job->cancel_after != 0 && age >= job->cancel_after) {
        job->cancel_after = 0;
        request_cancel(job->request);
    }
    if (job->abandon_after != 0 && age >= job->abandon_after) {
        request_release(job->request);
        job->request = NULL;
        sim_buffers_abandon(job->buffers);
        job->abandoned = true;
        job->finished = true;
        member->under_way--;
    }
}

static void member_observe(sim_member_t *member)
{
    for (size_t i = 0; i < member->started; i++) {
        job_interfere(member, &member->jobs[i]);
        job_observe(member, &member->jobs[i]);
    }
}

/* Starts what may be started; true when something was. */
static bool member_start(sim_member_t *member)
{
    if (member->started == member->job_count || member->under_way >= member->ahead ||
        member->jobs[member->started].not_before > sim_now(member->world->cluster)) {
        return false;
    }
    job_start(member, &member->jobs[member->started++]);
    return true;
}

static int64_t earlier(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* How long the rank may sleep; negative: until something comes. */
static int64_t member_patience(const sim_member_t *member)
{
    const sim_cluster_t *cluster = member->world->cluster;
    int64_t patience = INT64_MAX;
    int64_t deadline = engine_next_deadline(member->engine);
    if (deadline != INT64_MAX) {
        patience = deadline - engine_now(member->engine);
    }
    if (member->started < member->job_count && member->under_way < member->ahead) {
        patience = earlier(patience, member->jobs[member->started].not_before - sim_now(cluster));
    }
    for (size_t i = 0; i < member->started; i++) {
        const sim_job_t *job = &member->jobs[i];
        int64_t age = sim_now(cluster) - job->begun;
        if (!job->finished && job->cancel_after != 0) {
            patience = earlier(patience, job->cancel_after - age);
        }
        if (!job->finished && job->abandon_after != 0) {
            patience = earlier(patience, job->abandon_after - age);
        }
    }
    return patience == INT64_MAX ? -1 : patience < 0 ? 0 : patience;
}

static sim_step_t member_step(void *actor)
{
    sim_member_t *member = actor;
    transport_t *transport = sim_transport(member->world->cluster, member->rank);
    engine_lock(member->engine);
    do {
        engine_progress(member->engine);
        member_observe(member);
    } while (member_start(member));
    member_observe(member);
    int64_t patience = member_patience(member);
    engine_unlock(member->engine);
    transport->operations->wait(transport, patience);
    return member->started == member->job_count && member->under_way == 0 ? SIM_FINISHED
                                                                          : SIM_WORKING;
}

static void member_describe(void *actor, char *text, size_t size)
{
    const sim_member_t *member = actor;
    int length = snprintf(text, size, "%zu of %zu jobs started, %zu under way", member->started,
                          member->job_count, member->under_way);
    for (size_t i = 0; i < member->started && (size_t)length < size; i++) {
        const sim_job_t *job = &member->jobs[i];
        if (!job->finished) {
            length += snprintf(text + length, size - (size_t)length,
                               "; %s generation %" PRIu64 " of %u: state %d phase %u",
                               operation_name((uint8_t)job->call.operation), job->generation,
                               job->comm, (int)job->request->state, job->request->phase);
        }
    }
}

static const sim_script_t member_script = {.step = member_step, .describe = member_describe};

/* ---- The world ------------------------------------------------------------------------------- */

sim_options_t sim_rough(uint32_t size, uint64_t seed)
{
    sim_options_t options = {.size = size,
                             .seed = seed,
                             .delay_minimum = 1000,
                             .delay_maximum = 50000,
                             .byte_time = seed % 3 == 0 ? 10 : 0,
                             .late_chance = seed % 4 == 0 ? 0 : 300,
                             .window = seed % 5 == 0 ? 8192 : 0,
                             .clock_spread = SIM_SECOND,
                             .trace_limit = SIM_TRACE_LIMIT};
    return options;
}

sim_world_t *sim_world_create(const sim_options_t *options, int64_t timeout,
                              muster_outcome_t outcome)
{
    sim_world_t *world = calloc(1, sizeof *world);
    if (world == NULL || sim_cluster_create(options, &world->cluster) != MUSTER_OK) {
        abort();
    }
    world->size = options->size;
    world->print = true;
    world->members = calloc(options->size, sizeof *world->members);
    world->actors = calloc(options->size, sizeof *world->actors);
    if (world->members == NULL || world->actors == NULL) {
        abort();
    }
    for (uint32_t rank = 0; rank < options->size; rank++) {
        sim_member_t *member = &world->members[rank];
        member->world = world;
        member->rank = rank;
        if (engine_create(sim_transport(world->cluster, rank), timeout, outcome, NULL,
                          &member->engine) != MUSTER_OK) {
            abort();
        }
        member->comms[0] = member->engine->world;
        world->actors[rank] = member;
    }
    world->plan = (sim_plan_t){.cluster = world->cluster,
                               .script = &member_script,
                               .actors = world->actors,
                               .start_spread = 100000,
                               .nap_chance = 50,
                               .nap_maximum = 100000,
                               .is_safe = world_is_safe,
                               .argument = world};
    return world;
}

void sim_world_destroy(sim_world_t *world)
{
    if (world == NULL) {
        return;
    }
    for (uint32_t rank = 0; rank < world->size; rank++) {
        sim_member_t *member = &world->members[rank];
        engine_lock(member->engine);
        for (size_t i = member->job_count; i > 0; i--) {
            sim_job_t *job = &member->jobs[i - 1];
            /* The engine frees those of a dead rank, which can give nothing up any more. */
            if (job->request != NULL && sim_is_alive(world->cluster, rank)) {
                request_release(job->request);
            }
        }
        engine_unlock(member->engine);
        engine_destroy(member->engine);
        for (size_t i = 0; i < member->job_count; i++) {
            sim_buffers_destroy(member->jobs[i].buffers);
        }
        free(member->jobs);
    }
    sim_cluster_destroy(world->cluster);
    free(world->members);
    free(world->actors);
    free(world);
}

void sim_world_comm(sim_world_t *world, uint32_t index, const uint32_t *ranks, uint32_t size,
                    const muster_comm_options_t *options)
{
    for (uint32_t i = 0; i < size; i++) {
        sim_member_t *member = &world->members[ranks[i]];
        engine_lock(member->engine);
        if (comm_create(member->engine, "made", 4, ranks, size, i, options, ranks[0], index,
                        &member->comms[index]) != MUSTER_OK) {
            abort();
        }
        engine_unlock(member->engine);
    }
}

sim_job_t *sim_world_jobs(sim_world_t *world, uint32_t rank, size_t count, size_t ahead)
{
    sim_member_t *member = &world->members[rank];
    member->jobs = calloc(count + 1, sizeof *member->jobs);
    if (member->jobs == NULL) {
        abort();
    }
    member->job_count = count;
    member->ahead = ahead == 0 ? 1 : ahead;
    return member->jobs;
}

sim_report_t sim_world_run(sim_world_t *world)
{
    sim_report_t report = sim_run(&world->plan);
    if (report.result != SIM_ENDED && world->print) {
        sim_print(stderr, &world->plan, &report);
    }
    return report;
}

bool sim_world_is_right(const sim_world_t *world)
{
    for (uint32_t rank = 0; rank < world->size; rank++) {
        const sim_member_t *member = &world->members[rank];
        for (size_t i = 0; i < member->job_count; i++) {
            const sim_job_t *job = &member->jobs[i];
            char why[SIM_WHY_MAX] = "";
            if (!job->finished || job->refused != MUSTER_OK || job->status != MUSTER_OK) {
                snprintf(why, sizeof why, "job %zu of rank %u: %s, refused %s: %.300s", i, rank,
                         muster_status_name(job->status), muster_status_name(job->refused),
                         job->failure.message);
            }
            if (why[0] != '\0' || !sim_buffers_are_right(job->buffers, true, why, sizeof why)) {
                fprintf(stderr, "seed %" PRIu64 ": %s\n", sim_seed(world->cluster), why);
                return false;
            }
        }
    }
    return true;
}

static bool job_is_sound(const sim_job_t *job, char *why, size_t size)
{
    if (!job->finished) {
        snprintf(why, size, "has not finished");
        return false;
    }
    if (job->abandoned) {
        snprintf(why, size, "its buffers were touched after it had been given up");
        return sim_buffers_are_untouched(job->buffers);
    }
    return sim_buffers_are_right(job->buffers,
                                 job->refused == MUSTER_OK && job->status == MUSTER_OK, why, size);
}

bool sim_world_is_sound(const sim_world_t *world)
{
    for (uint32_t rank = 0; rank < world->size; rank++) {
        const sim_member_t *member = &world->members[rank];
        for (size_t i = 0; i < member->job_count; i++) {
            char why[SIM_WHY_MAX] = "";
            if (sim_is_alive(world->cluster, rank) &&
                !job_is_sound(&member->jobs[i], why, sizeof why)) {
                fprintf(stderr, "seed %" PRIu64 ": job %zu of rank %u: %s\n",
                        sim_seed(world->cluster), i, rank, why);
                return false;
            }
        }
    }
    return true;
}
