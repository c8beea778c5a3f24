/*
 * No process of a job outlives its launcher.
 *
 * Ranks are killed by the kernel when the launcher dies (PR_SET_PDEATHSIG). What they have started
 * is not: for these there is the guard, a process that sleeps until the launcher's end of a pipe
 * closes. If that happens without a word, it kills the ranks' process groups and every process
 * whose environment names the job in MUSTER_JOBS, also where it has become a daemon, until none is
 * left.
 *
 * In the ordinary case the launcher itself clears up: as a subreaper it becomes the parent of
 * whatever the ranks leave behind.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/launcher_state.h"

#define ENVIRONMENT_MAX ((size_t)1 << 20)
#define SWEEPS_MAX 150
#define SWEEP_PAUSE_NS 10000000L

static const char mark[] = "MUSTER_JOBS=";

/*
 * ---- Processes --------------------------------------------------------------------------------
 */

static ssize_t read_file(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd < 0)
        return -1;
    while (length < size) {
        ssize_t got = read(fd, bytes + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    close(fd);
    return (ssize_t)length;
}

typedef struct process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    char state;
} process_t;

/* "pid (name) state parent group ..."; the name may hold anything, so its last bracket counts. */
static bool read_process(pid_t pid, process_t *process)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    ssize_t length = read_file(path, text, sizeof text - 1);
    if (length <= 0)
        return false;
    text[length] = 0;
    const char *end = strrchr(text, ')');
    int parent, group;
    process->pid = pid;
    if (end == NULL || sscanf(end + 1, " %c %d %d", &process->state, &parent, &group) != 3)
        return false;
    process->parent = parent;
    process->group = group;
    return true;
}

static bool is_marked(pid_t pid, const char *job, char *room)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    ssize_t length = read_file(path, room, ENVIRONMENT_MAX - 1);
    if (length <= 0)
        return false;
    room[length] = 0;
    for (char *entry = room; entry < room + length; entry += strlen(entry) + 1) {
        if (strncmp(entry, mark, sizeof mark - 1) == 0)
            return strstr(entry, job) != NULL;
    }
    return false;
}

/* Calls kill_if for every process; returns how many it says it has killed. */
static uint32_t each_process(bool (*kill_if)(const process_t *, void *), void *argument)
{
    uint32_t killed = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        process_t process;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!read_process((pid_t)strtol(entry->d_name, NULL, 10), &process))
            continue;
        if (process.state == 'Z' || process.state == 'X')
            continue;
        if (kill_if(&process, argument))
            killed++;
    }
    closedir(directory);
    return killed;
}

/*
 * ---- The guard process ------------------------------------------------------------------------
 */

typedef struct prey {
    const launcher_guard_t *guard;
    const char *job;
    char *room;
    pid_t self;
} prey_t;

static bool kill_of_job(const process_t *process, void *argument)
{
    const prey_t *prey = argument;
    if (process->pid == prey->self || process->pid <= 1)
        return false;
    bool found = false;
    for (uint32_t i = 0; i < prey->guard->size && !found; i++) {
        found = prey->guard->groups[i] != 0 && prey->guard->groups[i] == process->group;
    }
    if (!found)
        found = is_marked(process->pid, prey->job, prey->room);
    return found && kill(process->pid, SIGKILL) == 0;
}

/* A process may start another while the list is read: so until twice nothing is found. */
static void kill_job(const launcher_guard_t *guard, const char *job)
{
    const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_NS};
    prey_t prey = {.guard = guard, .job = job, .room = malloc(ENVIRONMENT_MAX), .self = getpid()};
    int clean = 0;
    if (prey.room == NULL)
        return;
    for (int i = 0; i < SWEEPS_MAX && clean < 2; i++) {
        clean = each_process(kill_of_job, &prey) == 0 ? clean + 1 : 0;
        nanosleep(&pause, NULL);
    }
    free(prey.room);
}

static _Noreturn void be_guard(const launcher_guard_t *guard, int pipe, const char *job)
{
    char word;
    ssize_t got;
    /* Out of reach of what is sent to the launcher's group, terminal or name. */
    setsid();
    prctl(PR_SET_NAME, "job-guard");
    for (int number = 1; number < 32; number++)
        signal(number, SIG_IGN);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; nothing >= 0 && fd < 3; fd++)
        dup2(nothing, fd);
    dup2(pipe, 3);
    closefrom(4);
    do {
        got = read(3, &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        kill_job(guard, job);
    _exit(0);
}

bool launcher_guard_start(launcher_guard_t *guard, uint32_t size, const char *job)
{
    int ends[2];
    pid_t *groups = mmap(NULL, size * sizeof *groups, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (groups == MAP_FAILED)
        return false;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        munmap(groups, size * sizeof *groups);
        return false;
    }
    *guard = (launcher_guard_t){.pipe = ends[1], .groups = groups, .size = size};
    guard->pid = fork();
    if (guard->pid == 0)
        be_guard(guard, ends[0], job);
    close(ends[0]);
    if (guard->pid > 0)
        return true;
    int reason = errno;
    guard->pid = 0;
    close(ends[1]);
    munmap(groups, size * sizeof *groups);
    guard->groups = NULL;
    errno = reason;
    return false;
}

void launcher_guard_stop(launcher_guard_t *guard)
{
    if (guard->groups == NULL)
        return;
    ssize_t written;
    do {
        written = write(guard->pipe, "", 1);
    } while (written < 0 && errno == EINTR);
    close(guard->pipe);
    if (guard->pid > 0) {
        while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    munmap(guard->groups, guard->size * sizeof *guard->groups);
    guard->groups = NULL;
}

/*
 * ---- What the ranks have left behind ----------------------------------------------------------
 */

static bool kill_child(const process_t *process, void *argument)
{
    const launcher_t *launcher = argument;
    if (process->parent != getpid() || process->pid == launcher->guard.pid)
        return false;
    return kill(process->pid, SIGKILL) == 0;
}

/*
 * Children that have not ended are found in the list that the kernel keeps of them, where it does:
 * the search through all processes takes longer the busier the machine is.
 */
bool launcher_sweep(launcher_t *launcher)
{
    char text[4096];
    ssize_t length = read_file("/proc/thread-self/children", text, sizeof text - 1);
    if (length < 0)
        return each_process(kill_child, launcher) == 0;
    text[length] = 0;
    bool nothing = true;
    for (char *next = text; *next != 0;) {
        char *end;
        long pid = strtol(next, &end, 10);
        if (end == next)
            break;
        next = end;
        /* A number at the very end of a full page may be cut. */
        if (pid <= 1 || pid == launcher->guard.pid || (*end == 0 && length == sizeof text - 1))
            continue;
        nothing = false;
        kill((pid_t)pid, SIGKILL);
    }
    return nothing;
}
