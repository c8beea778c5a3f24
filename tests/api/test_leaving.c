/*
 * A rank that destroys its context while others go on: they hear of it at once, with its rank, and
 * what it took part in before is whole.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "muster.h"

#define RANKS_MAX 5
#define MINUTES MUSTER_MILLISECONDS(600000) /* no deadline ends anything here */

typedef struct job {
    muster_local_t *local;
    muster_comm_options_t options;
    uint32_t size, leaver;
    atomic_uint failed;
} job_t;

typedef struct member {
    job_t *job;
    uint32_t rank;
    pthread_t thread;
} member_t;

static void check(const member_t *member, bool holds, const char *what, const char *more)
{
    if (holds)
        return;
    atomic_fetch_add(&member->job->failed, 1);
    printf("%u ranks, shape %d, outcome %d, rank %u leaves: rank %u: %s: %s\n", member->job->size,
           (int)member->job->options.shape, (int)member->job->options.outcome, member->job->leaver,
           member->rank, what, more);
}

/* C803: everybody the same, and nobody at a deadline. */
static void stay(const member_t *member, muster_comm_t *comm)
{
    for (int i = 0; i < 3; i++) {
        muster_failure_t failure = {.status = MUSTER_OK};
        muster_call_t call = {.failure = &failure};
        uint32_t mine = 1, sum = 0;
        muster_status_t status =
            muster_allreduce(comm, &mine, &sum, 1, MUSTER_U32, MUSTER_SUM, &call);
        check(member, status == MUSTER_PEER_LOST, muster_status_text(status), failure.message);
        check(member, failure.rank == member->job->leaver, "another culprit", failure.message);
    }
}

static void *run(void *argument)
{
    const member_t *member = argument;
    job_t *job = member->job;
    muster_context_options_t options = {
        .local = job->local, .rank = MUSTER_GIVEN(member->rank), .timeout = MINUTES};
    muster_context_t *context = NULL;
    muster_comm_t *comm = NULL;
    uint32_t mine = member->rank, sum = 0;
    muster_status_t status = muster_context_create(&options, &context);
    if (status == MUSTER_OK)
        status = muster_comm_create(context, "left", NULL, 0, &job->options, &comm);
    if (status == MUSTER_OK)
        status = muster_allreduce(comm, &mine, &sum, 1, MUSTER_U32, MUSTER_SUM, NULL);
    check(member, status == MUSTER_OK && sum == job->size * (job->size - 1) / 2,
          "before anybody leaves", muster_status_text(status));
    if (status == MUSTER_OK && member->rank != job->leaver)
        stay(member, comm);
    muster_context_destroy(context);
    return NULL;
}

static unsigned play(job_t *job)
{
    member_t members[RANKS_MAX];
    if (muster_local_create(job->size, &job->local) != MUSTER_OK)
        return 1;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        members[rank] = (member_t){.job = job, .rank = rank};
        if (pthread_create(&members[rank].thread, NULL, run, &members[rank]) != 0)
            abort();
    }
    for (uint32_t rank = 0; rank < job->size; rank++)
        pthread_join(members[rank].thread, NULL);
    muster_local_destroy(job->local);
    return atomic_load(&job->failed);
}

int main(void)
{
    static const uint32_t sizes[] = {2, 3, 5};
    unsigned failed = 0, played = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint32_t variant = 0; variant < 3 * sizes[i]; variant++) {
            job_t job = {.size = sizes[i], .leaver = variant / 3};
            job.options.timeout = MINUTES;
            job.options.outcome = variant % 3 == 1 ? MUSTER_OUTCOME_LOCAL : MUSTER_OUTCOME_UNIFORM;
            if (variant % 3 == 2) {
                job.options.shape = MUSTER_SHAPE_TREE;
                job.options.flat_threshold = MUSTER_GIVEN(0);
                job.options.generations = MUSTER_GENERATION_COUNTED;
            }
            failed += play(&job);
            played++;
        }
    }
    printf("%u jobs, %u failures\n", played, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
