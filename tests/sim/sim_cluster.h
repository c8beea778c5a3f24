/*
 * Runs scripts on a simulated cluster (transport/sim.h): each rank is an actor whose step function
 * is called whenever its rank has something to do, until all have finished. One thread, one seed:
 * what failed once fails again.
 *
 * A step makes what nonblocking calls it can make, tells its transport how long it wants to sleep
 * (`wait`), and returns. It is called first once at the start, then when the rank is ready.
 */
#ifndef MUSTER_TESTS_SIM_CLUSTER_H
#define MUSTER_TESTS_SIM_CLUSTER_H

#include <stdio.h>

#include "transport/sim.h"

typedef enum sim_step { SIM_WORKING = 0, SIM_FINISHED } sim_step_t;

typedef struct sim_script {
    /* Also called after it has returned FINISHED: an idle rank still answers its peers. */
    sim_step_t (*step)(void *actor);
    /* What the actor is doing, as one line for a report; may be NULL. */
    void (*describe)(void *actor, char *text, size_t size);
} sim_script_t;

typedef enum sim_fault_kind {
    SIM_FAULT_LOSE,   /* rank dies */
    SIM_FAULT_CUT,    /* the connection between rank and other breaks */
    SIM_FAULT_PAUSE,  /* rank is stopped */
    SIM_FAULT_RESUME, /* and goes on */
    SIM_FAULT_HOLD,   /* nothing arrives at other from rank */
    SIM_FAULT_RELEASE,
    SIM_FAULT_CALL /* call(argument) */
} sim_fault_kind_t;

typedef struct sim_fault {
    int64_t at; /* ns; in ascending order */
    sim_fault_kind_t kind;
    uint32_t rank;
    uint32_t other;
    void (*call)(void *argument);
    void *argument;
} sim_fault_t;

typedef struct sim_plan {
    sim_cluster_t *cluster;
    const sim_script_t *script;
    void *const *actors; /* by rank */
    const sim_fault_t *faults;
    size_t fault_count;
    int64_t limit;           /* ns of virtual time; 0: one hour */
    uint64_t step_limit;     /* 0: 10 million */
    int64_t start_spread;    /* ns: each rank's first step comes between 0 and this */
    uint32_t nap_chance;     /* in 1,000 steps: the rank first sleeps for up to nap_maximum */
    int64_t nap_maximum;     /* ns */
    bool idle_when_finished; /* a finished rank makes no more steps */
    bool linger;             /* goes on until nothing is left to happen, at most to the limit */
    /* After each step: false, and a line in why, when something is wrong. May be NULL. */
    bool (*is_safe)(void *argument, char *why, size_t size);
    void *argument;
} sim_plan_t;

typedef enum sim_result {
    SIM_ENDED,    /* every living rank has finished */
    SIM_HUNG,     /* nothing can happen any more, and somebody has not finished */
    SIM_OVERTIME, /* the limit of time or steps has passed */
    SIM_UNSAFE    /* is_safe said no, or a rank broke the contract of transport.h */
} sim_result_t;

#define SIM_WHY_MAX 512

typedef struct sim_report {
    sim_result_t result;
    uint64_t steps;
    int64_t time;          /* ns, at the end */
    char why[SIM_WHY_MAX]; /* "" where it ended */
} sim_report_t;

sim_report_t sim_run(const sim_plan_t *plan);

/* What went wrong, the seed, each rank's line, the end of the trace. */
void sim_print(FILE *stream, const sim_plan_t *plan, const sim_report_t *report);

/* Runs, prints where it did not end, and returns whether it did. */
bool sim_run_ends(const sim_plan_t *plan);

#endif
