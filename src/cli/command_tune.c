/* muster tune: measures the cost model's parameters on this host, for all later jobs. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "boot/boot_settings.h"
#include "cli/command.h"
#include "muster.h"
#include "server/launcher.h"

#define RANK_VARIABLE "RANK"
#define CONTROL_VARIABLE "MUSTER_CONTROL_FD"
#define TUNE_MARK "# Written by muster tune"
#define TUNE_SMALL ((size_t)8)
#define TUNE_LARGE ((size_t)1 << 20) /* more than a core's own cache */
#define TUNE_BATCHES 9
#define TUNE_BATCH_NS INT64_C(100000000)
#define TUNE_BURSTS_MAX 5000

enum { KEY_JSON = 0x100, KEY_DRY_RUN, KEY_FORCE, KEY_LAUNCHED };

typedef struct tune_options {
    const char *output; /* NULL: where jobs look */
    bool json, dry_run, force;
    bool launched, progress;
    char path[4096];
} tune_options_t;

/* ---- Options --------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "Write there (default: tuned.conf, where jobs look)", 0},
    {"dry-run", KEY_DRY_RUN, 0, 0, "Measure and print, write nothing", 0},
    {"force", KEY_FORCE, 0, 0, "Replace a file that is not of muster tune", 0},
    {"json", KEY_JSON, 0, 0, "Print JSON", 0},
    {"launched", KEY_LAUNCHED, "PROGRESS", OPTION_HIDDEN, 0, 0},
    {0},
};

static const char documentation[] =
    "Measures what messages, bytes, reductions and copies cost on this host, in\n"
    "about ten seconds, and writes it as settings that jobs use from then on.\v"
    "What is between hosts is not measured on one host, and left as it is. Leave the\n"
    "host alone meanwhile; `muster info --config` shows what is used.";

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    tune_options_t *options = state->input;
    switch (key) {
    case 'o':
        if (argument[0] == '\0' || strlen(argument) >= sizeof options->path)
            argp_error(state, "--output: %s", argument[0] == '\0' ? "empty" : "too long");
        options->output = argument;
        return 0;
    case KEY_DRY_RUN:
        options->dry_run = true;
        return 0;
    case KEY_FORCE:
        options->force = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_LAUNCHED:
        options->launched = true;
        options->progress = strcmp(argument, "progress") == 0;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The file -------------------------------------------------------------------------------- */

static int complain(const char *path, const char *what)
{
    fprintf(stderr, "muster tune: %s: %s\n", path, what);
    return 1;
}

/* Fills in the path; 0 where a file can be written there, and none is lost. */
static int check_path(tune_options_t *options)
{
    char first[sizeof TUNE_MARK] = "";
    struct stat there;
    if (options->output)
        snprintf(options->path, sizeof options->path, "%s", options->output);
    else if (!boot_settings_path(BOOT_SETTINGS_TUNED, options->path, sizeof options->path))
        return complain("--output", "needed, since neither XDG_CONFIG_HOME nor HOME is a path");
    if (stat(options->path, &there) == 0 && !S_ISREG(there.st_mode))
        return complain(options->path, "is no file, and not replaced by one");
    FILE *file = fopen(options->path, "re");
    if (file == NULL)
        return errno == ENOENT ? 0 : complain(options->path, strerror(errno));
    size_t length = fread(first, 1, sizeof first - 1, file);
    fclose(file);
    first[length] = '\0';
    if (options->force || strcmp(first, TUNE_MARK) == 0)
        return 0;
    return complain(options->path, "is there and not of muster tune; --force replaces it");
}

/* The directories above path, as far as they are missing. */
static bool make_directories(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

#define BESIDE_MAX 4112
static FILE *open_beside(const char *path, char beside[BESIDE_MAX])
{
    snprintf(beside, BESIDE_MAX, "%s.%ld", path, (long)getpid());
    return make_directories(path) ? fopen(beside, "we") : NULL;
}

/* Before time is spent on what could not be written then. */
static int try_to_write(const char *path)
{
    char beside[BESIDE_MAX];
    FILE *file = open_beside(path, beside);
    if (file == NULL)
        return complain(path, strerror(errno));
    fclose(file);
    unlink(beside);
    return 0;
}

/* All of it or nothing: a job that starts meanwhile reads the old file or the new one. */
static int write_file(const char *path, const char *text)
{
    char beside[BESIDE_MAX];
    FILE *file = open_beside(path, beside);
    if (file == NULL)
        return complain(path, strerror(errno));
    bool good = fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int error = errno;
    good = fclose(file) == 0 && good;
    if (good && rename(beside, path) == 0)
        return 0;
    error = good ? errno : error;
    unlink(beside);
    return complain(path, strerror(error));
}

/* ---- Measuring, on two ranks ----------------------------------------------------------------- */

typedef struct tune_team {
    muster_comm_t *both, *alone;
    uint8_t *send, *receive; /* 2 * TUNE_LARGE */
    muster_failure_t failure;
    bool progress;
    unsigned done;
} tune_team_t;

/* What time is taken of: calls of so many bytes, so many in a row. */
typedef struct tune_plan {
    const char *what;
    muster_status_t (*step)(tune_team_t *team, size_t bytes);
    size_t bytes;
    uint32_t burst;
} tune_plan_t;

/* There and back. */
static muster_status_t step_ping(tune_team_t *team, size_t bytes)
{
    muster_call_t call = {.failure = &team->failure};
    muster_status_t status = muster_broadcast(team->both, team->send, bytes, MUSTER_U8, 0, &call);
    if (status == MUSTER_OK)
        status = muster_broadcast(team->both, team->send, bytes, MUSTER_U8, 1, &call);
    return status;
}

static muster_status_t step_hand(tune_team_t *team, size_t bytes)
{
    muster_call_t call = {.failure = &team->failure};
    return muster_gather(team->both, team->send, team->receive, bytes / 4, MUSTER_F32, 1, &call);
}

static muster_status_t step_gather(tune_team_t *team, size_t bytes)
{
    muster_call_t call = {.failure = &team->failure};
    return muster_gather(team->both, team->send, team->receive, bytes / 4, MUSTER_F32, 0, &call);
}

static muster_status_t step_reduce(tune_team_t *team, size_t bytes)
{
    muster_call_t call = {.failure = &team->failure};
    return muster_reduce(team->both, team->send, team->receive, bytes / 4, MUSTER_F32, MUSTER_SUM,
                         0, &call);
}

static muster_status_t step_copy(tune_team_t *team, size_t bytes)
{
    muster_call_t call = {.failure = &team->failure};
    return muster_allgather(team->alone, team->send, team->receive, bytes, MUSTER_U8, &call);
}

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* ns a call, rank 0's clock: in bursts of so many, before each of which the ranks meet. */
static muster_status_t time_batch(tune_team_t *team, const tune_plan_t *plan, uint32_t bursts,
                                  double *ns)
{
    muster_status_t status = MUSTER_OK;
    int64_t spent = 0;
    for (uint32_t burst = 0; burst < bursts && status == MUSTER_OK; burst++) {
        status = muster_barrier(team->both, NULL);
        int64_t begin = now_ns();
        for (uint32_t i = 0; i < plan->burst && status == MUSTER_OK; i++)
            status = plan->step(team, plan->bytes);
        spent += now_ns() - begin;
    }
    *ns = (double)spent / ((double)bursts * plan->burst);
    return status;
}

/* The least of several batches: what disturbs only adds. How long one is, rank 0 finds. */
static muster_status_t take_time(tune_team_t *team, const tune_plan_t *plan, double *ns)
{
    uint32_t bursts = 1 + 20 / plan->burst;
    double first;
    muster_status_t status = time_batch(team, plan, bursts, &first);
    if (status == MUSTER_OK)
        status = time_batch(team, plan, bursts, &first);
    double fitting = (double)TUNE_BATCH_NS / ((first > 1 ? first : 1) * plan->burst);
    bursts = fitting > TUNE_BURSTS_MAX ? TUNE_BURSTS_MAX : fitting < 2 ? 2 : (uint32_t)fitting;
    if (status == MUSTER_OK)
        status = muster_broadcast(team->both, &bursts, 1, MUSTER_U32, 0, NULL);
    for (unsigned i = 0; i < TUNE_BATCHES && status == MUSTER_OK; i++) {
        double found;
        status = time_batch(team, plan, bursts, &found);
        *ns = i == 0 || found < *ns ? found : *ns;
    }
    return status;
}

static void show_progress(tune_team_t *team, const char *what)
{
    static const char full[] = "######";
    if (team->progress)
        fprintf(stderr, "muster tune: [%-6.*s] %s\n", (int)team->done, full, what);
    team->done++;
}

/* Whole ps, at least one: a difference that noise makes negative is a small number. */
static uint64_t whole_ps(double ps)
{
    return ps < 1 ? 1 : (uint64_t)(ps + 0.5);
}

/*
 * The parameters of select_cost, from times that hold them alone or in sums. A message keeps its
 * sender busy for as long as a gather to the other rank takes, where that is not waited for.
 */
static muster_status_t measure(tune_team_t *team, select_parameters_t *parameters)
{
    static const tune_plan_t steps[] = {
        {"latency", step_ping, TUNE_SMALL, 64},     {"messages", step_hand, TUNE_SMALL, 16},
        {"bytes", step_ping, TUNE_LARGE, 4},        {"copies", step_copy, TUNE_LARGE, 16},
        {"reductions", step_gather, TUNE_LARGE, 4}, {"reductions", step_reduce, TUNE_LARGE, 4}};
    double ns[sizeof steps / sizeof *steps];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        show_progress(team, steps[i].what);
        muster_status_t status = take_time(team, &steps[i], &ns[i]);
        if (status != MUSTER_OK)
            return status;
    }
    show_progress(team, "done");
    const double ps = 1000, large = (double)TUNE_LARGE;
    double copy = ns[3] * ps / large;
    parameters->inside.message = whole_ps(ns[1] * ps);
    parameters->inside.latency = whole_ps((ns[0] / 2 - ns[1]) * ps);
    parameters->inside.byte = whole_ps((ns[2] - ns[0]) / 2 * ps / large);
    parameters->copy = whole_ps(copy);
    /* A gather's root copies its own block, where a reduction combines it. */
    parameters->reduce = whole_ps((ns[5] - ns[4]) * ps / large + copy);
    return MUSTER_OK;
}

/* ---- What was found -------------------------------------------------------------------------- */

typedef struct tune_row {
    const char *name;
    uint64_t found, builtin; /* ps */
} tune_row_t;

#define TUNE_ROWS 5

static void fill_rows(const select_parameters_t *found, tune_row_t rows[TUNE_ROWS])
{
    select_parameters_t builtin = select_builtin();
    const tune_row_t all[TUNE_ROWS] = {
        {"latency_inside", found->inside.latency, builtin.inside.latency},
        {"message_inside", found->inside.message, builtin.inside.message},
        {"byte_inside", found->inside.byte, builtin.inside.byte},
        {"reduce_byte", found->reduce, builtin.reduce},
        {"copy_byte", found->copy, builtin.copy}};
    memcpy(rows, all, sizeof all);
}

static void compose(const tune_row_t rows[TUNE_ROWS], char *text, size_t size)
{
    char host[128] = "", day[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &parts))
        strftime(day, sizeof day, "%Y-%m-%d", &parts);
    int length = snprintf(text, size, "%s %s on %s, %s.\n", TUNE_MARK, muster_version(), host, day);
    for (unsigned i = 0; i < TUNE_ROWS; i++)
        length += snprintf(text + length, size - (size_t)length, "%s = %" PRIu64 "ps\n",
                           rows[i].name, rows[i].found);
}

static int print_found(const tune_options_t *options, const tune_row_t rows[TUNE_ROWS])
{
    if (!options->json) {
        printf("%-16s %14s %14s\n", "", "measured (ps)", "built-in (ps)");
        for (unsigned i = 0; i < TUNE_ROWS; i++)
            printf("%-16s %14" PRIu64 " %14" PRIu64 "\n", rows[i].name, rows[i].found,
                   rows[i].builtin);
        printf("%s %s\n", options->dry_run ? "would be written to" : "written to", options->path);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    json_t *document = json_pack("{s:s, s:b}", "file", options->path, "written", !options->dry_run);
    for (unsigned i = 0; i < TUNE_ROWS; i++)
        json_object_set_new(document, rows[i].name,
                            json_pack("{s:I, s:I}", "measured_ps", (json_int_t)rows[i].found,
                                      "builtin_ps", (json_int_t)rows[i].builtin));
    int code = document && json_dumpf(document, stdout, JSON_INDENT(2)) == 0 ? 0 : 1;
    printf("\n");
    json_decref(document);
    return code;
}

static int finish(const tune_options_t *options, const select_parameters_t *parameters)
{
    tune_row_t rows[TUNE_ROWS];
    char text[1024];
    fill_rows(parameters, rows);
    compose(rows, text, sizeof text);
    int code = options->dry_run ? 0 : write_file(options->path, text);
    return code == 0 ? print_found(options, rows) : code;
}

/* ---- Inside the job -------------------------------------------------------------------------- */

static int report(muster_status_t status, const muster_failure_t *failure)
{
    char line[1024];
    if (failure->status == MUSTER_OK)
        snprintf(line, sizeof line, "%s", muster_status_text(status));
    else
        muster_failure_print(failure, line, sizeof line);
    fprintf(stderr, "muster tune: %s\n", line);
    return 1;
}

/* What is dictated: a message from one to the other, whatever an older file says. */
static muster_status_t make_team(tune_team_t *team, muster_context_t *context)
{
    muster_comm_options_t options = {
        .shape = MUSTER_SHAPE_FLAT, .outcome = MUSTER_OUTCOME_LOCAL, .failure = &team->failure};
    uint32_t rank = muster_context_rank(context);
    team->send = calloc(2, TUNE_LARGE);
    team->receive = calloc(2, TUNE_LARGE);
    if (!team->send || !team->receive)
        return MUSTER_NO_MEMORY;
    muster_status_t status = muster_comm_create(context, "tune", NULL, 0, &options, &team->both);
    if (status == MUSTER_OK)
        status = muster_comm_create(context, "tune alone", &rank, 1, &options, &team->alone);
    return status;
}

static int take_part(tune_options_t *options)
{
    tune_team_t team = {.failure = {.status = MUSTER_OK}};
    muster_context_options_t context_options = {.failure = &team.failure};
    muster_context_t *context;
    muster_status_t status = muster_context_create(&context_options, &context);
    if (status != MUSTER_OK)
        return report(status, &team.failure);
    bool first = muster_context_rank(context) == 0;
    select_parameters_t parameters = select_builtin();
    team.progress = options->progress && first;
    status = make_team(&team, context);
    if (status == MUSTER_OK)
        status = measure(&team, &parameters);
    int code = status == MUSTER_OK ? 0 : report(status, &team.failure);
    if (code == 0 && first)
        code = check_path(options) == 0 ? finish(options, &parameters) : 1;
    muster_context_destroy(context);
    free(team.send);
    free(team.receive);
    return code;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Runs this command as two ranks of a job on this host. */
static int launch(int count, char **arguments)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char **command = calloc((size_t)count + 4, sizeof *command);
    if (length < 0 || !command) {
        free(command);
        return complain("the ranks cannot be started", strerror(errno));
    }
    program[length] = '\0';
    int used = 0;
    command[used++] = program;
    command[used++] = "tune";
    command[used++] = isatty(STDERR_FILENO) ? "--launched=progress" : "--launched=quiet";
    for (int i = 1; i < count; i++)
        command[used++] = arguments[i];
    launcher_options_t launcher = {
        .size = 2, .grace_ms = 5000, .kill_grace_ms = 1000, .arguments = command};
    int code = launcher_run(&launcher);
    free(command);
    return code;
}

int command_tune(int count, char **arguments)
{
    static const struct argp parser = {
        .options = option_list, .parser = parse_option, .doc = documentation};
    tune_options_t options = {0};
    argp_parse(&parser, count, arguments, 0, NULL, &options);
    if (options.launched)
        return take_part(&options);
    if (getenv(CONTROL_VARIABLE) || getenv(RANK_VARIABLE)) {
        fprintf(stderr, "muster tune: this is a rank of a job: it starts its own\n");
        return COMMAND_EXIT_USAGE;
    }
    if (check_path(&options) != 0 || (!options.dry_run && try_to_write(options.path) != 0))
        return 1;
    return launch(count, arguments);
}
