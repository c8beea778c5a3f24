/* One rank's process: its environment, its descriptors, its place among the processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/launcher_state.h"

/* What a rank is given beyond the launcher's environment; the values differ by rank. */
enum { VARIABLE_CONTROL, VARIABLE_RANK, VARIABLE_LOCAL_RANK, VARIABLE_COUNT };

typedef struct child_ends {
    int input;
    int outputs[2];
    int door;
} child_ends_t;

/*
 * ---- In the child -----------------------------------------------------------------------------
 */

static _Noreturn void cannot_start(const launcher_rank_t *rank)
{
    launcher_start_failure_t failure = {.rank = rank->rank, .reason = errno};
    ssize_t written = write(rank->launcher->start_pipe[1], &failure, sizeof failure);
    (void)written;
    _exit(failure.reason == ENOENT ? LAUNCHER_EXIT_NOT_FOUND : LAUNCHER_EXIT_CANNOT_RUN);
}

/* Handlers of the launcher must not run here: its loop's descriptors are still shared. */
static void restore_signals(const launcher_t *launcher, const sigset_t *mask)
{
    for (int number = 1; number < NSIG; number++) {
        if (number == SIGKILL || number == SIGSTOP)
            continue;
        signal(number, sigismember(&launcher->signals_ignored, number) == 1 ? SIG_IGN : SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static _Noreturn void be_rank(const launcher_rank_t *rank, const child_ends_t *ends, pid_t parent,
                              char **environment, const sigset_t *mask)
{
    const launcher_t *launcher = rank->launcher;
    setpgid(0, 0);
    /* The kernel ends this process with its parent; and if that has ended already, so does this. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        cannot_start(rank);
    if (getppid() != parent)
        _exit(LAUNCHER_EXIT_CANNOT_RUN);
    restore_signals(launcher, mask);
    if (dup2(ends->input, 0) < 0 || dup2(ends->outputs[0], 1) < 0 ||
        dup2(ends->outputs[1], 2) < 0 || fcntl(ends->door, F_SETFD, 0) != 0 ||
        setrlimit(RLIMIT_NOFILE, &launcher->descriptors) != 0) {
        cannot_start(rank);
    }
    execvpe(launcher->options->arguments[0], launcher->options->arguments, environment);
    cannot_start(rank);
}

/*
 * ---- In the launcher --------------------------------------------------------------------------
 */

static void close_ends(const child_ends_t *ends)
{
    if (ends->input >= 0)
        close(ends->input);
    if (ends->outputs[0] >= 0)
        close(ends->outputs[0]);
    if (ends->outputs[1] >= 0)
        close(ends->outputs[1]);
    if (ends->door >= 0)
        close(ends->door);
}

/*
 * Both sides of everything a rank and the launcher have in common; the launcher's are put to use.
 */
static bool open_ends(launcher_rank_t *rank, child_ends_t *ends)
{
    launcher_t *launcher = rank->launcher;
    int pair[2];
    *ends = (child_ends_t){-1, {-1, -1}, -1};
    ends->input = launcher_input_open(launcher, rank->rank);
    if (ends->input < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        if (pipe2(pair, O_CLOEXEC) != 0)
            return false;
        ends->outputs[i] = pair[1];
        if (!launcher_stream_open(&rank->streams[i], rank, &launcher->outputs[i], pair[0]))
            return false;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    ends->door = pair[1];
    return launcher_door_open(rank, pair[0]);
}

bool launcher_child_start(launcher_rank_t *rank)
{
    launcher_t *launcher = rank->launcher;
    child_ends_t ends;
    char texts[VARIABLE_COUNT][40];
    pid_t parent = getpid();
    pid_t pid = -1;
    sigset_t all, mask;
    if (open_ends(rank, &ends)) {
        snprintf(texts[VARIABLE_CONTROL], sizeof texts[0], "MUSTER_CONTROL_FD=%d", ends.door);
        snprintf(texts[VARIABLE_RANK], sizeof texts[0], "RANK=%u", rank->rank);
        snprintf(texts[VARIABLE_LOCAL_RANK], sizeof texts[0], "LOCAL_RANK=%u", rank->rank);
        for (int i = 0; i < VARIABLE_COUNT; i++)
            launcher->environment[i] = texts[i];
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &mask);
        pid = fork();
        if (pid == 0)
            be_rank(rank, &ends, parent, launcher->environment, &mask);
        int reason = errno;
        sigprocmask(SIG_SETMASK, &mask, NULL);
        errno = reason;
    }
    int reason = errno;
    close_ends(&ends);
    errno = reason;
    if (pid < 0)
        return false;
    setpgid(pid, pid); /* here and there: whoever is first */
    rank->pid = pid;
    if (launcher->guard.groups != NULL)
        launcher->guard.groups[rank->rank] = pid;
    return true;
}

void launcher_child_signal(const launcher_rank_t *rank, int signal)
{
    /* Once it has been waited for, its number may be somebody else's. */
    if (rank->pid > 0 && !rank->ended)
        kill(-rank->pid, signal);
}
