#include "server/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "server/launcher_environment.h"
#include "server/launcher_state.h"

/*
 * How long the output of a rank that has ended is waited for, where something else holds its pipe.
 */
#define DRAIN_MS 500
#define SWEEP_MS 20

/*
 * ---- Ending -----------------------------------------------------------------------------------
 */

static void signal_all(launcher_t *launcher, int signal)
{
    for (uint32_t i = 0; i < launcher->started; i++)
        launcher_child_signal(&launcher->ranks[i], signal);
}

static void on_kill_timer(uv_timer_t *timer)
{
    signal_all(timer->data, SIGKILL);
}

/* From now on the job has kill_grace_ms to end by itself. */
static void begin_ending(launcher_t *launcher)
{
    if (launcher->ending)
        return;
    launcher->ending = true;
    uv_timer_stop(&launcher->timeout_timer);
    uv_timer_stop(&launcher->grace_timer);
    uv_timer_start(&launcher->kill_timer, on_kill_timer, launcher->options->kill_grace_ms, 0);
}

static void terminate_all(launcher_t *launcher)
{
    signal_all(launcher, SIGTERM);
    signal_all(launcher, SIGCONT);
    begin_ending(launcher);
}

static void decide_code(launcher_t *launcher, int code)
{
    if (launcher->code_decided)
        return;
    launcher->code_decided = true;
    launcher->exit_code = code;
}

/* "ranks 0, 2-5": who is running. */
static void list_running(const launcher_t *launcher, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, launcher->running == 1 ? "rank" : "ranks");
    const char *separator = " ";
    for (uint32_t first = 0; first < launcher->started && length < size; first++) {
        uint32_t last = first;
        if (launcher->ranks[first].ended)
            continue;
        while (last + 1 < launcher->started && !launcher->ranks[last + 1].ended)
            last++;
        int added = last > first
                        ? snprintf(text + length, size - length, "%s%u-%u", separator, first, last)
                        : snprintf(text + length, size - length, "%s%u", separator, first);
        length += (size_t)added;
        separator = ", ";
        first = last;
    }
    if (length >= size)
        memcpy(text + size - 4, "...", 4);
}

static void on_timeout(uv_timer_t *timer)
{
    launcher_t *launcher = timer->data;
    char running[400];
    list_running(launcher, running, sizeof running);
    launcher_say(launcher, "timed out after %g s; still running: %s",
                 (double)launcher->options->timeout_ms / 1000, running);
    /* What a rank made of it before does not count: the job has not ended by itself. */
    launcher->code_decided = true;
    launcher->exit_code = LAUNCHER_EXIT_TIMEOUT;
    terminate_all(launcher);
}

static void on_grace(uv_timer_t *timer)
{
    launcher_t *launcher = timer->data;
    char running[400];
    list_running(launcher, running, sizeof running);
    launcher_say(launcher, "ending %s, still running %g s after the failure", running,
                 (double)launcher->options->grace_ms / 1000);
    terminate_all(launcher);
}

static bool streams_open(const launcher_t *launcher)
{
    for (uint32_t i = 0; i < launcher->started; i++) {
        if (launcher->ranks[i].streams[0].fd >= 0 || launcher->ranks[i].streams[1].fd >= 0)
            return true;
    }
    return false;
}

static void close_streams(launcher_t *launcher)
{
    for (uint32_t i = 0; i < launcher->started; i++) {
        launcher_stream_close(&launcher->ranks[i].streams[0]);
        launcher_stream_close(&launcher->ranks[i].streams[1]);
    }
}

static void on_finish_timer(uv_timer_t *timer)
{
    launcher_check_finished(timer->data);
}

static void on_drained(uv_timer_t *timer)
{
    launcher_t *launcher = timer->data;
    close_streams(launcher);
    launcher_check_finished(launcher);
}

void launcher_check_finished(launcher_t *launcher)
{
    if (launcher->running > 0)
        return;
    if (!launcher->over) {
        launcher->over = true;
        uv_timer_stop(&launcher->timeout_timer);
        uv_timer_stop(&launcher->grace_timer);
        uv_timer_start(&launcher->kill_timer, on_drained, DRAIN_MS, 0);
        if (launcher->failed > 1 && !launcher->ending) {
            launcher_say(launcher, "%u ranks failed", launcher->failed);
        }
    }
    if (!launcher_sweep(launcher)) {
        uv_timer_start(&launcher->finish_timer, on_finish_timer, SWEEP_MS, 0);
        return;
    }
    if (streams_open(launcher))
        return;
    bool written = launcher_output_flush(&launcher->outputs[0]);
    if (launcher_output_flush(&launcher->outputs[1]) && written)
        uv_stop(&launcher->loop);
}

/*
 * ---- Ranks that end ---------------------------------------------------------------------------
 */

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void rank_failed(launcher_t *launcher, const launcher_rank_t *rank)
{
    launcher->failed++;
    decide_code(launcher, code_of(rank->status));
    if (launcher->ending || launcher->failed > 1)
        return;
    if (WIFSIGNALED(rank->status)) {
        launcher_say(launcher, "rank %u (pid %d) was killed by signal %d (%s)", rank->rank,
                     (int)rank->pid, WTERMSIG(rank->status), strsignal(WTERMSIG(rank->status)));
    } else {
        launcher_say(launcher, "rank %u (pid %d) exited with %d", rank->rank, (int)rank->pid,
                     WEXITSTATUS(rank->status));
    }
    uv_timer_start(&launcher->grace_timer, on_grace, launcher->options->grace_ms, 0);
}

static void rank_ended(launcher_rank_t *rank, int status)
{
    launcher_t *launcher = rank->launcher;
    rank->ended = true;
    rank->status = status;
    launcher->running--;
    if (launcher->guard.groups != NULL)
        launcher->guard.groups[rank->rank] = 0;
    if (WIFSIGNALED(status)) {
        snprintf(rank->how, sizeof rank->how, "killed by signal %d", WTERMSIG(status));
    } else {
        snprintf(rank->how, sizeof rank->how, "exited with %d", WEXITSTATUS(status));
    }
    launcher_control_ended(rank);
    if (status != 0)
        rank_failed(launcher, rank);
}

static launcher_rank_t *find_rank(launcher_t *launcher, pid_t pid)
{
    for (uint32_t i = 0; i < launcher->started; i++) {
        if (launcher->ranks[i].pid == pid && !launcher->ranks[i].ended)
            return &launcher->ranks[i];
    }
    return NULL;
}

/* false: nothing can come any more, all ranks have become the program or said why not. */
static bool take_start_failures(launcher_t *launcher)
{
    launcher_start_failure_t failure;
    ssize_t got;
    while ((got = read(launcher->start_pipe[0], &failure, sizeof failure)) ==
           (ssize_t)sizeof failure) {
        if (launcher->ending)
            continue;
        launcher_say(launcher, "cannot start rank %u: %s: %s", failure.rank,
                     launcher->options->arguments[0], strerror(failure.reason));
        decide_code(launcher,
                    failure.reason == ENOENT ? LAUNCHER_EXIT_NOT_FOUND : LAUNCHER_EXIT_CANNOT_RUN);
        terminate_all(launcher);
    }
    return got != 0;
}

static void reap(launcher_t *launcher)
{
    int status;
    pid_t pid;
    take_start_failures(launcher);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        launcher_rank_t *rank = find_rank(launcher, pid);
        if (rank != NULL)
            rank_ended(rank, status);
        else if (pid == launcher->guard.pid)
            launcher->guard.pid = 0;
    }
    launcher_check_finished(launcher);
}

/*
 * ---- Signals ----------------------------------------------------------------------------------
 */

static void on_signal(uv_signal_t *handle, int number)
{
    launcher_t *launcher = handle->data;
    switch (number) {
    case SIGCHLD:
        reap(launcher);
        break;
    case SIGTSTP:
        signal_all(launcher, SIGTSTP);
        raise(SIGSTOP);
        break;
    case SIGCONT:
        signal_all(launcher, SIGCONT);
        launcher_input_resume(launcher);
        break;
    default:
        signal_all(launcher, number);
        if (launcher->over)
            uv_stop(&launcher->loop); /* only a reader is waited for */
        begin_ending(launcher);
        break;
    }
}

static void remember_ignored(launcher_t *launcher)
{
    sigemptyset(&launcher->signals_ignored);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            sigaddset(&launcher->signals_ignored, number);
        }
    }
}

static bool watch_signals(launcher_t *launcher)
{
    static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        /* What was ignored when the launcher began (nohup, a job in the background) stays so. */
        if (numbers[i] != SIGCHLD && sigismember(&launcher->signals_ignored, numbers[i]) == 1)
            continue;
        uv_signal_t *handle = &launcher->signals[launcher->signal_count];
        if (uv_signal_init(&launcher->loop, handle) != 0)
            return false;
        launcher->signal_count++;
        handle->data = launcher;
        if (uv_signal_start(handle, on_signal, numbers[i]) != 0)
            return false;
    }
    return true;
}

/*
 * ---- Beginning --------------------------------------------------------------------------------
 */

/* Descriptors 0 to 2 exist from here on, so that none of the launcher's own takes their place. */
static bool open_standard(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= 2);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static void raise_descriptors(launcher_t *launcher)
{
    if (getrlimit(RLIMIT_NOFILE, &launcher->descriptors) != 0)
        return;
    struct rlimit raised = launcher->descriptors;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
}

/* A launcher may be a rank itself: its own door is none of its ranks' business. */
static void close_outer_door(void)
{
    const char *text = getenv("MUSTER_CONTROL_FD");
    long fd = text != NULL ? strtol(text, NULL, 10) : 0;
    if (fd > 2 && fd <= INT32_MAX)
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
}

static void on_start_pipe(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    if (!take_start_failures(poll->data))
        uv_poll_stop(poll);
}

static bool prepare(launcher_t *launcher)
{
    const char *outer = getenv("MUSTER_JOBS");
    uint8_t job[CONTROL_JOB_SIZE];
    if (!open_standard() || sodium_init() < 0)
        return false;
    close_outer_door();
    randombytes_buf(job, sizeof job);
    sodium_bin2hex(launcher->job_text, sizeof launcher->job_text, job, sizeof job);
    remember_ignored(launcher);
    raise_descriptors(launcher);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return false;
    launcher->ranks = calloc(launcher->size, sizeof *launcher->ranks);
    launcher->environment = launcher_environment_make(environ, launcher->size, launcher->job_text,
                                                      outer != NULL ? outer : "");
    if (launcher->ranks == NULL || launcher->environment == NULL)
        return false;
    for (uint32_t i = 0; i < launcher->size; i++) {
        launcher_rank_t *rank = &launcher->ranks[i];
        *rank = (launcher_rank_t){.launcher = launcher, .rank = i, .door = -1};
        rank->streams[0].fd = rank->streams[1].fd = -1;
    }
    return pipe2(launcher->start_pipe, O_CLOEXEC | O_NONBLOCK) == 0 &&
           launcher_guard_start(&launcher->guard, launcher->size, launcher->job_text);
}

static bool open_loop(launcher_t *launcher)
{
    uv_timer_t *timers[] = {&launcher->timeout_timer, &launcher->grace_timer, &launcher->kill_timer,
                            &launcher->finish_timer};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(&launcher->loop, timers[i]);
        timers[i]->data = launcher;
    }
    launcher->start_poll.data = launcher;
    return uv_poll_init(&launcher->loop, &launcher->start_poll, launcher->start_pipe[0]) == 0 &&
           uv_poll_start(&launcher->start_poll, UV_READABLE | UV_DISCONNECT, on_start_pipe) == 0 &&
           launcher_output_open(launcher, &launcher->outputs[0], STDOUT_FILENO) &&
           launcher_output_open(launcher, &launcher->outputs[1], STDERR_FILENO) &&
           watch_signals(launcher);
}

static void start_all(launcher_t *launcher)
{
    for (uint32_t i = 0; i < launcher->size; i++) {
        launcher->started = i + 1;
        if (!launcher_child_start(&launcher->ranks[i])) {
            launcher_say(launcher, "cannot start rank %u: %s", i, strerror(errno));
            launcher->ranks[i].ended = true;
            decide_code(launcher, LAUNCHER_EXIT_CANNOT_RUN);
            launcher_stream_close(&launcher->ranks[i].streams[0]);
            launcher_stream_close(&launcher->ranks[i].streams[1]);
            terminate_all(launcher);
            break;
        }
        launcher->running++;
    }
    close(launcher->start_pipe[1]);
    if (launcher->options->timeout_ms > 0 && !launcher->ending) {
        uv_timer_start(&launcher->timeout_timer, on_timeout, launcher->options->timeout_ms, 0);
    }
    if (launcher->running == 0)
        launcher_check_finished(launcher);
}

static void close_any(uv_handle_t *handle, void *argument)
{
    (void)argument;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(launcher_t *launcher)
{
    launcher_control_close(launcher);
    launcher_input_close(launcher);
    close_streams(launcher);
    launcher_output_close(&launcher->outputs[0]);
    launcher_output_close(&launcher->outputs[1]);
    uv_walk(&launcher->loop, close_any, NULL);
    uv_run(&launcher->loop, UV_RUN_DEFAULT);
    uv_loop_close(&launcher->loop);
    close(launcher->start_pipe[0]);
}

static void free_launcher(launcher_t *launcher)
{
    launcher_guard_stop(&launcher->guard);
    launcher_environment_free(launcher->environment);
    free(launcher->ranks);
    free(launcher);
}

int launcher_run(const launcher_options_t *options)
{
    launcher_t *launcher = calloc(1, sizeof *launcher);
    if (launcher == NULL)
        return LAUNCHER_EXIT_CANNOT_RUN;
    launcher->options = options;
    launcher->size = options->size;
    if (!prepare(launcher) || uv_loop_init(&launcher->loop) != 0) {
        fprintf(stderr, "muster run: cannot prepare the job: %s\n", strerror(errno));
        free_launcher(launcher);
        return LAUNCHER_EXIT_CANNOT_RUN;
    }
    if (open_loop(launcher)) {
        start_all(launcher);
        uv_run(&launcher->loop, UV_RUN_DEFAULT);
    } else {
        fprintf(stderr, "muster run: cannot prepare the job: %s\n", strerror(errno));
        decide_code(launcher, LAUNCHER_EXIT_CANNOT_RUN);
    }
    int code = launcher->exit_code;
    if (code == 0 && launcher->output_lost)
        code = EXIT_FAILURE;
    close_all(launcher);
    free_launcher(launcher);
    return code;
}
