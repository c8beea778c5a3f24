/*
 * `muster bench`: times the operations among the ranks of a job, and checks their results.
 */
#ifndef MUSTER_CLI_BENCH_H
#define MUSTER_CLI_BENCH_H

/* The command, arguments[0] is its name; the exit code: 0, 1 (failed, wrong results), 2 (usage). */
int bench_command(int argument_count, char **arguments);

#endif
