/*
 * The launcher: starts the ranks of a job on this host, tells each who it is, carries their output,
 * passes signals on, and sees to it that no process of the job outlives it.
 *
 *  - Every rank is the leader of a process group of its own. So a signal at the terminal reaches
 *    the launcher alone, which passes it on to each group once; Ctrl-C is seen once by every
 *    process of a rank.
 *  - Standard input goes to rank 0 as it is; a terminal is read by the launcher and relayed,
 *    since a process outside of the terminal's group may not read it. The others have /dev/null.
 *  - Standard output and error come through the launcher, whole lines at a time, each with
 *    "[rank] " in front. A line above 1 MiB is broken.
 *  - A rank that ends without leaving is told to the others at once, by its control connection.
 *  - When the launcher ends, in whatever way, everything it has started is killed: ranks by the
 *    kernel as its children, what they have started by a guard process that waits for the
 *    launcher's end.
 */
#ifndef MUSTER_SERVER_LAUNCHER_H
#define MUSTER_SERVER_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

#define LAUNCHER_RANKS_MAX 65536
#define LAUNCHER_EXIT_TIMEOUT 124
#define LAUNCHER_EXIT_CANNOT_RUN 126
#define LAUNCHER_EXIT_NOT_FOUND 127

typedef struct launcher_options {
    uint32_t size;          /* ranks, 1 to LAUNCHER_RANKS_MAX */
    uint64_t timeout_ms;    /* for the whole run; 0: none */
    uint64_t grace_ms;      /* how long ranks go on after one has failed */
    uint64_t kill_grace_ms; /* between the request to end and SIGKILL */
    bool label;             /* "[rank] " in front of each line */
    char *const *arguments; /* the program and its arguments, closed by NULL; borrowed */
} launcher_options_t;

/*
 * Runs a job and returns when it is over: with 0, the exit code of the first rank that failed (128
 * + signal where one killed it), or one of LAUNCHER_EXIT_*. Blocks; for a process that does nothing
 * else: it takes over signals, all children and the standard descriptors. Says what went wrong on
 * standard error.
 */
int launcher_run(const launcher_options_t *options);

#endif
