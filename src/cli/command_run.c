/* muster run: starts a job on this host. */
#include <stdlib.h>

#include "cli/command.h"
#include "server/launcher.h"

enum { OPTION_NO_LABEL = 256, OPTION_TIMEOUT, OPTION_GRACE, OPTION_KILL_GRACE };

static const struct argp_option options[] = {
    {"ranks", 'n', "N", 0, "How many ranks to start (1 to 65536)", 0},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0, "End the job after so long, and exit with 124", 0},
    {"grace", OPTION_GRACE, "SECONDS", 0,
     "When a rank has failed, the others hear of it and have so long to end by themselves (10)", 0},
    {"kill-grace", OPTION_KILL_GRACE, "SECONDS", 0,
     "What has been asked to end and has not after so long is killed (2)", 0},
    {"no-label", OPTION_NO_LABEL, NULL, 0, "Do not put \"[rank] \" in front of each line of output",
     0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    launcher_options_t *launcher = state->input;
    switch (key) {
    case 'n':
        if (text[0] == 'p')
            argp_error(state, "-np: the number of ranks is -n NUMBER here");
        launcher->size = (uint32_t)command_number(state, "-n", text, 1, LAUNCHER_RANKS_MAX);
        return 0;
    case OPTION_TIMEOUT:
        launcher->timeout_ms = command_seconds(state, "--timeout", text);
        if (launcher->timeout_ms == 0)
            argp_error(state, "--timeout: a job has no time at all in \"%s\" seconds", text);
        return 0;
    case OPTION_GRACE:
        launcher->grace_ms = command_seconds(state, "--grace", text);
        return 0;
    case OPTION_KILL_GRACE:
        launcher->kill_grace_ms = command_seconds(state, "--kill-grace", text);
        return 0;
    case OPTION_NO_LABEL:
        launcher->label = false;
        return 0;
    case ARGP_KEY_ARG:
        /* The program, and everything behind it is its own. */
        launcher->arguments = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (launcher->arguments == NULL)
            argp_error(state, "which program shall be started?");
        if (launcher->size == 0)
            argp_error(state, "how many ranks shall be started? (-n N)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "PROGRAM [ARGUMENT...]",
    .doc =
        "Starts N processes of PROGRAM on this host as the ranks 0 to N - 1 of a job."
        "\v"
        "The exit code is that of the first rank that failed (128 + the signal's number where one "
        "killed it), 124 after the timeout, 127 where the program was not found, 126 where it "
        "could not be started.\n\n"
        "Rank 0 has the command's standard input. INT, TERM, HUP and QUIT are passed on to every "
        "rank's process group. No process of the job outlives the command.",
};

int command_run(int count, char **arguments)
{
    launcher_options_t launcher = {.grace_ms = 10000, .kill_grace_ms = 2000, .label = true};
    argp_parse(&argp, count, arguments, ARGP_IN_ORDER, NULL, &launcher);
    return launcher_run(&launcher);
}
