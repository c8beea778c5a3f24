/*
 * Engines on a simulated cluster: each rank has an engine, communicators, and a list of jobs, the
 * collective calls that it makes in that order, some at a time. After every step the outcomes are
 * held against each other: a generation with uniform outcome ends the same everywhere, and with
 * success only when every member has started it.
 */
#ifndef MUSTER_TESTS_SIM_ENGINE_H
#define MUSTER_TESTS_SIM_ENGINE_H

#include "sim_calls.h"
#include "sim_cluster.h"

#define SIM_MILLISECOND INT64_C(1000000)
#define SIM_SECOND INT64_C(1000000000)
#define SIM_COMMS_MAX 16
#define SIM_TRACE_LIMIT ((size_t)1 << 16)

typedef struct sim_job {
    /* What is asked for. */
    uint32_t comm;   /* index; 0: the world */
    sim_call_t call; /* size and root are the communicator's */
    muster_call_t options;
    int64_t not_before;    /* ns of virtual time */
    int64_t cancel_after;  /* ns after its start; 0: never */
    int64_t abandon_after; /* ns after its start its handle is destroyed; 0: never */
    uint64_t fail_at;      /* the user-defined reduction's call that fails; 0: none */
    /* What has come of it. */
    sim_buffers_t *buffers;
    muster_request_t *request;
    uint64_t generation;
    bool started;
    bool finished; /* or abandoned, or refused */
    bool abandoned;
    muster_status_t refused; /* by the start; OK: it was started */
    muster_status_t status;
    muster_failure_t failure;
    int64_t begun, ended; /* ns of virtual time */
} sim_job_t;

typedef struct sim_world sim_world_t;

/* One rank. */
typedef struct sim_member {
    sim_world_t *world;
    uint32_t rank;
    engine_t *engine;
    muster_comm_t *comms[SIM_COMMS_MAX]; /* NULL where it is no member */
    sim_job_t *jobs;
    size_t job_count;
    size_t started; /* jobs before this one have been started */
    size_t ahead;   /* how many may be under way at a time */
    size_t under_way;
    bool reverse; /* finished requests are freed at the end, last one first */
} sim_member_t;

struct sim_world {
    sim_cluster_t *cluster;
    sim_plan_t plan; /* faults, limits: the test's to set before the run */
    uint32_t size;
    sim_member_t *members;
    void **actors;
    char unsafe[SIM_WHY_MAX];
    bool allow_undecided; /* UNDECIDED may stand beside another outcome */
    bool allow_disagreement;
    bool allow_words; /* failures of one generation may differ in all but status and culprit */
    bool print; /* a run that does not end is printed; set at creation */
};

/* Usual roughness: delays of 1 to 50 us, late sends, naps, skewed starts. */
sim_options_t sim_rough(uint32_t size, uint64_t seed);

/* Engines for all ranks, with world communicators. timeout in ns. Never NULL. */
sim_world_t *sim_world_create(const sim_options_t *options, int64_t timeout,
                              muster_outcome_t outcome);
void sim_world_destroy(sim_world_t *world);

/*
 * Makes communicator index (1 to SIM_COMMS_MAX - 1) of the given world ranks on all of them,
 * without a meeting.
 */
void sim_world_comm(sim_world_t *world, uint32_t index, const uint32_t *ranks, uint32_t size,
                    const muster_comm_options_t *options);

/* Gives a rank its jobs: count of them, zeroed, for the caller to fill; up to ahead at a time. */
sim_job_t *sim_world_jobs(sim_world_t *world, uint32_t rank, size_t count, size_t ahead);

/* Runs until every living rank has finished its jobs. */
sim_report_t sim_world_run(sim_world_t *world);

/* Every job ended well and with the right result, on every rank; prints what did not. */
bool sim_world_is_right(const sim_world_t *world);

/*
 * For runs with faults: every living rank has finished every job, values are right where a job
 * ended well, and nothing was written beyond bounds where it did not; prints what is not so.
 */
bool sim_world_is_sound(const sim_world_t *world);

/* How many seeds a test takes: MUSTER_SIM_SEEDS in the environment, else 20. */
int sim_seeds(void);

/* Draws from a generator: for sim_call_draw. */
uint64_t sim_draw(void *random, uint64_t bound);

#endif
