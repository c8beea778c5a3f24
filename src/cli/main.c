/* muster: the command. Finds the command in the table and leaves the rest to it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "muster.h"

#define YEAR_SECONDS (365.0 * 24 * 3600)
#define DISTANCE_MAX 2
#define NAME_MAX_LENGTH 32

static const command_t commands[] = {
    {"run", command_run, "start a program as the ranks of a job on this host"},
    {"bench", command_bench, "time the operations among ranks, and check their results"},
    {"plan", command_plan, "which schedules an operation may run, and what they would cost"},
    {"tune", command_tune, "measure what messages and bytes cost on this host"},
    {"info", command_info, "what this build and this host offer"},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

/* ---- For all commands ------------------------------------------------------------------------ */

unsigned long command_number(struct argp_state *state, const char *option, const char *text,
                             unsigned long least, unsigned long most)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || text[0] < '0' || text[0] > '9' ||
        number < least || number > most) {
        argp_error(state, "%s takes a number from %lu to %lu, not \"%s\"", option, least, most,
                   text);
    }
    return number;
}

unsigned long command_seconds(struct argp_state *state, const char *option, const char *text)
{
    char *end;
    errno = 0;
    double seconds = strtod(text, &end);
    if (errno != 0 || end == text || *end != 0 || !(seconds >= 0 && seconds <= YEAR_SECONDS)) {
        argp_error(state, "%s takes a number of seconds, not \"%s\"", option, text);
    }
    return (unsigned long)(seconds * 1000 + 0.5);
}

/* ---- This one -------------------------------------------------------------------------------- */

static void print_help(FILE *out)
{
    fprintf(out, "Usage: muster COMMAND [OPTION...]\n"
                 "Collective operations among processes: all together, or all told why.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  muster %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "\n  muster COMMAND --help    says more about a command\n"
                 "  muster --version         the version\n");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters have to be changed, added or left out (Levenshtein's distance). */
static size_t distance(const char *one, const char *other)
{
    size_t row[NAME_MAX_LENGTH + 1];
    size_t length = strlen(other);
    if (length > NAME_MAX_LENGTH || strlen(one) > NAME_MAX_LENGTH)
        return NAME_MAX_LENGTH;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; one[i] != 0; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t changed = diagonal + (one[i] != other[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(changed, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[length];
}

static int unknown(const char *name)
{
    const char *nearest = NULL;
    size_t smallest = DISTANCE_MAX + 1;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t far = distance(name, commands[i].name);
        if (far < smallest) {
            smallest = far;
            nearest = commands[i].name;
        }
    }
    fprintf(stderr, "muster: there is no command \"%s\"", name);
    if (nearest != NULL)
        fprintf(stderr, "; did you mean \"%s\"?\n", nearest);
    else
        fprintf(stderr, "; see muster --help\n");
    return COMMAND_EXIT_USAGE;
}

/* Says it, and fails where it could not be said (a full disk, for one). */
static int said(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_SUCCESS;
    fprintf(stderr, "muster: cannot write: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        print_help(stderr);
        return COMMAND_EXIT_USAGE;
    }
    const char *name = arguments[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-?") == 0 ||
        strcmp(name, "help") == 0) {
        print_help(stdout);
        return said();
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("muster %d.%d.%d\n", MUSTER_VERSION_MAJOR, MUSTER_VERSION_MINOR,
               MUSTER_VERSION_PATCH);
        return said();
    }
    argp_err_exit_status = COMMAND_EXIT_USAGE;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        static char help[] = "--help";
        static char whole_name[sizeof "muster " + NAME_MAX_LENGTH];
        snprintf(whole_name, sizeof whole_name, "muster %s", commands[i].name);
        arguments[1] = whole_name;
        if (count > 2 && strcmp(arguments[2], "-h") == 0)
            arguments[2] = help;
        int code = commands[i].run(count - 1, arguments + 1);
        return code == EXIT_SUCCESS ? said() : code;
    }
    return unknown(name);
}
