#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "system/program.h"

#define READ_SIZE 65536

int64_t program_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

const char *program_path(const char *name)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    const char *command = getenv("MUSTER_COMMAND");
    const char *root = getenv("MUSTER_BUILD_ROOT");
    ck_assert_msg(command != NULL && root != NULL, "MUSTER_COMMAND and MUSTER_BUILD_ROOT not set");
    if (strcmp(name, "muster") == 0)
        snprintf(path, sizeof paths[0], "%s", command);
    else
        snprintf(path, sizeof paths[0], "%s/tests/%s", root, name);
    return path;
}

static void set_variables(const char *const *variables)
{
    static const char *const job[] = {"MUSTER_CONTROL_FD", "RANK",        "WORLD_SIZE",
                                      "MASTER_ADDR",       "MASTER_PORT", "LOCAL_WORLD_SIZE",
                                      "MUSTER_SECRET",     "MUSTER_JOB",  "MUSTER_JOBS"};
    for (size_t i = 0; i < sizeof job / sizeof job[0]; i++)
        unsetenv(job[i]);
    for (; variables != NULL && *variables != NULL; variables++) {
        char *copy = strdup(*variables);
        if (copy != NULL && strchr(copy, '=') != NULL)
            putenv(copy);
        else
            unsetenv(*variables);
    }
}

static _Noreturn void be_program(const char *const *arguments, const char *const *variables,
                                 int input, int output, int error)
{
    setpgid(0, 0);
    if (input < 0)
        input = open("/dev/null", O_RDONLY);
    dup2(input, 0);
    dup2(output, 1);
    dup2(error, 2);
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    set_variables(variables);
    execvp(arguments[0], (char *const *)arguments);
    _exit(127);
}

void program_start(program_t *program, const char *const *arguments, const char *const *variables,
                   int input)
{
    int out[2], error[2];
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(error, O_CLOEXEC), 0);
    memset(program, 0, sizeof *program);
    program->started = program_now();
    program->pid = fork();
    ck_assert_int_ge(program->pid, 0);
    if (program->pid == 0)
        be_program(arguments, variables, input, out[1], error[1]);
    close(out[1]);
    close(error[1]);
    program->pipes[0] = out[0];
    program->pipes[1] = error[0];
    for (int i = 0; i < 2; i++)
        program->texts[i] = calloc(1, 1);
}

static void hear(program_t *program, int which)
{
    char *grown = realloc(program->texts[which], program->lengths[which] + READ_SIZE + 1);
    ck_assert_ptr_nonnull(grown);
    program->texts[which] = grown;
    ssize_t got = read(program->pipes[which], grown + program->lengths[which], READ_SIZE);
    if (got <= 0) {
        close(program->pipes[which]);
        program->pipes[which] = -1;
        return;
    }
    program->lengths[which] += (size_t)got;
    grown[program->lengths[which]] = 0;
}

/* Hears what there is, waiting for it; false: there is nothing to be heard any more. */
static bool hear_some(program_t *program, int64_t until)
{
    struct pollfd ready[2] = {{.fd = program->pipes[0], .events = POLLIN},
                              {.fd = program->pipes[1], .events = POLLIN}};
    int64_t left = until - program_now();
    if (program->pipes[0] < 0 && program->pipes[1] < 0)
        return false;
    if (left <= 0) {
        kill(-program->pid, SIGKILL);
        ck_abort_msg("still running after its time; it said:\n%s%s", program->texts[0],
                     program->texts[1]);
    }
    if (poll(ready, 2, (int)left) < 0)
        ck_assert_int_eq(errno, EINTR);
    for (int i = 0; i < 2; i++) {
        if (ready[i].revents != 0 && program->pipes[i] >= 0)
            hear(program, i);
    }
    return true;
}

void program_finish(program_t *program)
{
    int status = 0;
    while (hear_some(program, program->started + PROGRAM_LIMIT_MS))
        continue;
    ck_assert_msg(program_await_end(program->pid, PROGRAM_LIMIT_MS), "closed its output and runs");
    ck_assert_int_eq(waitpid(program->pid, &status, 0), program->pid);
    program->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    program->took_ms = program_now() - program->started;
}

void program_await(program_t *program, const char *text, size_t times)
{
    while (program_count(program->texts[0], text) < times) {
        if (!hear_some(program, program->started + PROGRAM_LIMIT_MS)) {
            ck_abort_msg("ended before it said \"%s\"; it said:\n%s%s", text, program->texts[0],
                         program->texts[1]);
        }
    }
}

void program_free(program_t *program)
{
    for (int i = 0; i < 2; i++) {
        if (program->pipes[i] >= 0)
            close(program->pipes[i]);
        free(program->texts[i]);
    }
}

void program_run(program_t *program, const char *const *arguments, const char *const *variables)
{
    program_start(program, arguments, variables, -1);
    program_finish(program);
}

size_t program_count(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *next = strstr(text, part); next != NULL; next = strstr(next + 1, part))
        count++;
    return count;
}

char *program_line(const char *text, const char *start)
{
    for (const char *line = text; *line != 0;) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, start, strlen(start)) == 0)
            return strndup(line, length);
        line += length + (line[length] == '\n');
    }
    return NULL;
}

bool program_await_end(pid_t pid, int64_t limit_ms)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int count = poll(&ready, 1, (int)limit_ms);
    close(fd);
    return count == 1;
}
