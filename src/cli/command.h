/* The commands of `muster`. One entry of the table in main.c each, one file each. */
#ifndef MUSTER_CLI_COMMAND_H
#define MUSTER_CLI_COMMAND_H

#include <argp.h>

/* What a wrong command line exits with. */
#define COMMAND_EXIT_USAGE 2

typedef struct command {
    const char *name;
    /* Parses its own arguments, arguments[0] being "muster NAME", and returns the exit code. */
    int (*run)(int count, char **arguments);
    const char *summary; /* one line */
} command_t;

int command_run(int count, char **arguments);
int command_bench(int count, char **arguments);
int command_info(int count, char **arguments);
int command_plan(int count, char **arguments);
int command_tune(int count, char **arguments);

/* A whole decimal number from least to most, or argp_error with the option's name. */
unsigned long command_number(struct argp_state *state, const char *option, const char *text,
                             unsigned long least, unsigned long most);
/* Seconds with a fraction ("2.5"), as milliseconds; up to a year, or argp_error. */
unsigned long command_seconds(struct argp_state *state, const char *option, const char *text);

#endif
