/* The environment that the launcher gives its ranks. */
#ifndef MUSTER_SERVER_LAUNCHER_ENVIRONMENT_H
#define MUSTER_SERVER_LAUNCHER_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first entries are the caller's to set, rank by rank: MUSTER_CONTROL_FD, RANK, LOCAL_RANK. */
#define LAUNCHER_ENVIRONMENT_OWN 3

/*
 * A copy of inherited with one entry a name (the first, as getenv finds it) and with the job's
 * variables in place of what they were; closed by NULL, to be freed below. job: the mark of the
 * job; outer_jobs: those of the jobs that this launcher is a part of, or "". NULL: no memory.
 */
char **launcher_environment_make(char *const *inherited, uint32_t size, const char *job,
                                 const char *outer_jobs);
void launcher_environment_free(char **environment);

#endif
