/*
 * Programs under test: started with their own environment, heard to the end, never waited for
 * without a limit.
 */
#ifndef MUSTER_TESTS_SYSTEM_PROGRAM_H
#define MUSTER_TESTS_SYSTEM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A program may take so long at most; then the test fails. */
#define PROGRAM_LIMIT_MS 60000

typedef struct program {
    pid_t pid;
    int pipes[2];   /* its standard output and error, -1: closed */
    char *texts[2]; /* what came through them, closed by a zero */
    size_t lengths[2];
    int code;        /* exit code, 128 + signal */
    int64_t took_ms; /* from start to end */
    int64_t started;
} program_t;

int64_t program_now(void); /* milliseconds, monotonic */

/* "muster" of this build, or the child program of this name. Good for the next seven calls. */
const char *program_path(const char *name);

/*
 * Starts arguments (closed by NULL) with the test's environment, in which each of variables (closed
 * by NULL; may be NULL) "NAME=VALUE" is set or "NAME" removed. input: -1: /dev/null.
 */
void program_start(program_t *program, const char *const *arguments, const char *const *variables,
                   int input);
/* Hears it until it has ended and its output is closed. */
void program_finish(program_t *program);
/* Hears it until its standard output holds text so many times. */
void program_await(program_t *program, const char *text, size_t times);
void program_free(program_t *program);

/* Both together, for what needs nothing in between. */
void program_run(program_t *program, const char *const *arguments, const char *const *variables);

size_t program_count(const char *text, const char *part);
/* The line of text that begins with start, without its end, for the test's life; NULL: none. */
char *program_line(const char *text, const char *start);

/* Waits until the process has ended; false: it has not within limit_ms. */
bool program_await_end(pid_t pid, int64_t limit_ms);

#endif
