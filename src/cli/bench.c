/* muster bench: times the operations among the ranks of a job, and checks their results. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench_measure.h"
#include "cli/command.h"
#include "server/launcher.h"

#define SIZE_LIMIT ((uint64_t)1 << 40)
#define RANKS_DEFAULT_MAX 8
#define RANK_VARIABLE "RANK"                 /* set by a launcher like torchrun */
#define CONTROL_VARIABLE "MUSTER_CONTROL_FD" /* set by muster run */

enum { KEY_JSON = 0x100, KEY_FLAT, KEY_ARITY, KEY_LOCAL, KEY_LAUNCHED, KEY_SPOIL };

typedef struct bench_options {
    const char *operation; /* a name, or "all" */
    uint32_t ranks;        /* 0: not given */
    uint64_t smallest, largest, factor;
    bench_plan_t plan;
    bool json;
    bool flat;
    uint32_t arity; /* 0: not given */
    bool launched;  /* by the command itself: -n has done its work */
    bool progress;  /* said by whoever launched this: the terminal sees no rows meanwhile */
} bench_options_t;

/* ---- Options --------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"ranks", 'n', "N", 0, "Number of ranks to start, outside of a job", 0},
    {"begin", 'b', "SIZE", 0, "Smallest size (default 8)", 0},
    {"end", 'e', "SIZE", 0, "Largest size (default 256K)", 0},
    {"factor", 'f', "N", 0, "Between one size and the next (default 8)", 0},
    {"warmup", 'w', "N", 0, "Calls before the clock starts (default 5)", 0},
    {"iterations", 'i', "N", 0, "Calls a row (default: about 0.2 s)", 0},
    {"check", 'c', 0, 0, "Check the results", 0},
    {"json", KEY_JSON, 0, 0, "Print JSON", 0},
    {"flat", KEY_FLAT, 0, 0, "One meeting at rank 0", 0},
    {"arity", KEY_ARITY, "N", 0, "A tree of this arity", 0},
    {"local", KEY_LOCAL, 0, 0, "A rank returns when its part is done, as in MPI", 0},
    {"launched", KEY_LAUNCHED, "PROGRESS", OPTION_HIDDEN, 0, 0},
    {"spoil", KEY_SPOIL, "RANK", OPTION_HIDDEN, 0, 0},
    {0},
};

#define BENCH_OPERATIONS                                                                           \
    "barrier, broadcast, reduce, allreduce, gather, scatter, allgather,\n"                         \
    "alltoall, reduce_scatter, scan, exscan, or all"

static const char documentation[] =
    "Times collective operations among the ranks of a job.\v"
    "OPERATION: " BENCH_OPERATIONS ".\n\n"
    "Sizes are bytes per rank, for alltoall and reduce_scatter per peer, and take\n"
    "the suffixes K, M and G. time is the median over batches of calls back to\n"
    "back, min and p99 are of single calls; all on the slowest rank. algbw is the\n"
    "size of the whole buffer by the time, busbw what the busiest rank's link has\n"
    "to carry by the time.";

/* A size in bytes, at least one element, with a suffix or without, or argp_error. */
static uint64_t parse_size(struct argp_state *state, const char *option, const char *text)
{
    static const char letters[] = "KMG";
    char *end = NULL;
    errno = 0;
    uint64_t size = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    bool good = end && errno == 0 && size <= SIZE_LIMIT;
    const char *letter = good && *end != '\0' ? strchr(letters, *end) : NULL;
    if (letter) {
        size <<= 10 * (letter - letters + 1);
        end++;
    }
    if (!good || *end != '\0' || size < sizeof(float) || size > SIZE_LIMIT)
        argp_error(state, "%s takes a size from 4 to 1024G, like 8, 64K or 1M, not \"%s\"", option,
                   text);
    return size;
}

static error_t finish_options(struct argp_state *state, const bench_options_t *options)
{
    if (!options->operation)
        argp_error(state, "OPERATION is missing");
    if (options->smallest > options->largest)
        argp_error(state, "-b: %" PRIu64 " is above -e, %" PRIu64, options->smallest,
                   options->largest);
    if (options->flat && options->arity > 0)
        argp_error(state, "--flat and --arity do not go together");
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    bench_options_t *options = state->input;
    switch (key) {
    case 'n':
        options->ranks = (uint32_t)command_number(state, "-n", argument, 1, LAUNCHER_RANKS_MAX);
        return 0;
    case 'b':
        options->smallest = parse_size(state, "-b", argument);
        return 0;
    case 'e':
        options->largest = parse_size(state, "-e", argument);
        return 0;
    case 'f':
        options->factor = command_number(state, "-f", argument, 2, SIZE_LIMIT);
        return 0;
    case 'w':
        options->plan.warmup =
            (uint32_t)command_number(state, "-w", argument, 0, BENCH_ITERATIONS_MAX);
        return 0;
    case 'i':
        options->plan.iterations =
            (uint32_t)command_number(state, "-i", argument, 1, BENCH_ITERATIONS_MAX);
        return 0;
    case 'c':
        options->plan.check = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_FLAT:
        options->flat = true;
        return 0;
    case KEY_ARITY:
        options->arity = (uint32_t)command_number(state, "--arity", argument, 2, INT32_MAX);
        return 0;
    case KEY_LOCAL:
        options->plan.outcome = MUSTER_OUTCOME_LOCAL;
        return 0;
    case KEY_LAUNCHED:
        options->launched = true;
        options->progress = strcmp(argument, "progress") == 0;
        return 0;
    case KEY_SPOIL:
        options->plan.spoiled = (uint32_t)command_number(state, "--spoil", argument, 0, INT32_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (options->operation)
            argp_error(state, "\"%s\" is one argument too many", argument);
        if (strcmp(argument, "all") != 0 &&
            bench_operation_parse(argument) == BENCH_OPERATION_COUNT)
            argp_error(state, "OPERATION: there is no \"%s\"; there are " BENCH_OPERATIONS,
                       argument);
        options->operation = argument;
        return 0;
    case ARGP_KEY_END:
        return finish_options(state, options);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- A job of one's own ---------------------------------------------------------------------- */

static bool inside_job(void)
{
    return getenv(CONTROL_VARIABLE) || getenv(RANK_VARIABLE);
}

static uint32_t default_ranks(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 2                   ? 2
           : processors > RANKS_DEFAULT_MAX ? RANKS_DEFAULT_MAX
                                            : (uint32_t)processors;
}

/* Runs this command as the ranks of a job on this host. */
static int launch(const bench_options_t *options, int count, char **arguments)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char **command = calloc((size_t)count + 5, sizeof *command);
    if (length < 0 || !command) {
        fprintf(stderr, "muster bench: cannot start the ranks: %s\n", strerror(errno));
        free(command);
        return 1;
    }
    program[length] = '\0';
    bool rows_seen = isatty(STDOUT_FILENO) && !options->json;
    bool progress = isatty(STDERR_FILENO) && !rows_seen;
    int used = 0;
    command[used++] = program;
    command[used++] = "bench";
    command[used++] = progress ? "--launched=progress" : "--launched=quiet";
    for (int i = 1; i < count; i++)
        command[used++] = arguments[i];
    launcher_options_t launcher = {
        .size = options->ranks ? options->ranks : default_ranks(),
        .grace_ms = 5000,
        .kill_grace_ms = 1000,
        .arguments = command,
    };
    int code = launcher_run(&launcher);
    free(command);
    return code;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static const char *outcome_of(const bench_options_t *options)
{
    return options->plan.outcome == MUSTER_OUTCOME_LOCAL ? "local" : "uniform";
}

/* "auto", "flat", "tree of arity 3". */
static void describe_path(muster_comm_t *comm, char *text, size_t size)
{
    muster_comm_description_t description;
    snprintf(text, size, "auto");
    if (muster_comm_describe(comm, &description) != MUSTER_OK)
        return;
    if (description.shape == MUSTER_SHAPE_FLAT)
        snprintf(text, size, "flat");
    else if (description.shape == MUSTER_SHAPE_TREE)
        snprintf(text, size, "tree of arity %" PRIu32, description.arity);
}

static void print_heading(const bench_options_t *options, muster_comm_t *comm)
{
    char path[64];
    describe_path(comm, path, sizeof path);
    printf("# %" PRIu32 " ranks, outcome %s, path %s", muster_comm_size(comm), outcome_of(options),
           path);
    printf("\n# size: bytes per rank (alltoall, reduce_scatter: per peer); root 0; slowest rank\n");
}

static void print_titles(bench_operation_t operation)
{
    printf("#\n# %s\n", bench_operation_name(operation));
    printf("# %10s %11s %5s %5s %10s %10s %10s %8s %8s %7s\n", "size", "count", "type", "redop",
           "time", "min", "p99", "algbw", "busbw", "#wrong");
    printf("# %10s %11s %5s %5s %10s %10s %10s %8s %8s\n", "(B)", "(elements)", "", "", "(us)",
           "(us)", "(us)", "(GB/s)", "(GB/s)");
}

/* Bytes a microsecond are 10^6 bytes a second; bandwidths are in 10^9. */
static double bandwidth(double bytes, double time_us)
{
    return time_us > 0 ? bytes / time_us * 1e-3 : 0;
}

static const char *reduction_of(bench_operation_t operation)
{
    return bench_operation_reduces(operation) ? "sum" : "none";
}

static void print_row(const bench_options_t *options, const bench_row_t *row, uint32_t size)
{
    size_t bytes = row->count * sizeof(float);
    char wrong[24] = "-";
    if (options->plan.check)
        snprintf(wrong, sizeof wrong, "%" PRIu64, row->wrong);
    printf("  %10zu %11zu %5s %5s %10.2f %10.2f %10.2f %8.3f %8.3f %7s\n", bytes, row->count, "f32",
           reduction_of(row->operation), row->time_us, row->min_us, row->p99_us,
           bandwidth(bench_algorithm_bytes(row->operation, bytes, size), row->time_us),
           bandwidth(bench_bus_bytes(row->operation, bytes, size), row->time_us), wrong);
    fflush(stdout);
}

static double rounded(double number)
{
    return (double)(int64_t)(number * 1e4 + 0.5) * 1e-4;
}

static bool add_json(json_t *rows, const bench_options_t *options, const bench_row_t *row,
                     uint32_t size)
{
    size_t bytes = row->count * sizeof(float);
    json_t *wrong = options->plan.check ? json_integer((json_int_t)row->wrong) : json_null();
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:s, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "operation",
        bench_operation_name(row->operation), "size", (json_int_t)bytes, "count",
        (json_int_t)row->count, "type", "f32", "redop", reduction_of(row->operation), "ranks",
        (json_int_t)size, "time_us", rounded(row->time_us), "min_us", rounded(row->min_us),
        "p99_us", rounded(row->p99_us), "algbw_gbps",
        rounded(bandwidth(bench_algorithm_bytes(row->operation, bytes, size), row->time_us)),
        "busbw_gbps",
        rounded(bandwidth(bench_bus_bytes(row->operation, bytes, size), row->time_us)), "wrong",
        wrong);
    return object && json_array_append_new(rows, object) == 0;
}

/* Prints {"rows": [...], ...}; false where that did not work. */
static bool print_json(const bench_options_t *options, muster_comm_t *comm, json_t *rows)
{
    char path[64];
    describe_path(comm, path, sizeof path);
    json_t *document = json_pack("{s:O, s:s, s:s, s:s}", "rows", rows, "outcome",
                                 outcome_of(options), "path", path, "version", muster_version());
    bool good =
        document && json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0;
    printf("\n");
    json_decref(document);
    return good && fflush(stdout) == 0;
}

/* ---- Inside the job -------------------------------------------------------------------------- */

static muster_status_t make_comm(const bench_options_t *options, muster_context_t *context,
                                 muster_comm_t **comm, muster_failure_t *failure)
{
    muster_comm_options_t comm_options = {.generations = MUSTER_GENERATION_COUNTED,
                                          .outcome = options->plan.outcome,
                                          .failure = failure};
    if (options->flat)
        comm_options.shape = MUSTER_SHAPE_FLAT;
    if (options->arity > 0) {
        comm_options.shape = MUSTER_SHAPE_TREE;
        comm_options.arity = MUSTER_GIVEN(options->arity);
        comm_options.flat_threshold = MUSTER_GIVEN(0);
    }
    return muster_comm_create(context, "bench", NULL, 0, &comm_options, comm);
}

/* The size after size, 0 where it is the last. */
static uint64_t next_size(const bench_options_t *options, uint64_t size)
{
    return size <= options->largest / options->factor ? size * options->factor : 0;
}

/* All sizes of one operation; adds to *wrong. */
static muster_status_t measure_operation(const bench_options_t *options, muster_comm_t *comm,
                                         bench_operation_t operation, json_t *rows, uint64_t *wrong,
                                         muster_failure_t *failure)
{
    bool speaks = muster_comm_rank(comm) == 0;
    muster_status_t status = MUSTER_OK;
    uint64_t size = operation == BENCH_BARRIER ? 0 : options->smallest;
    if (speaks && !options->json)
        print_titles(operation);
    do {
        if (speaks && options->progress)
            fprintf(stderr, "muster bench: %s, %" PRIu64 " bytes\n",
                    bench_operation_name(operation), size);
        bench_row_t row;
        status =
            bench_measure(comm, &options->plan, operation, size / sizeof(float), &row, failure);
        if (status != MUSTER_OK)
            return status;
        *wrong += row.wrong;
        if (speaks && !options->json)
            print_row(options, &row, muster_comm_size(comm));
        if (speaks && options->json && !add_json(rows, options, &row, muster_comm_size(comm)))
            return MUSTER_NO_MEMORY;
        size = size > 0 ? next_size(options, size) : 0;
    } while (size > 0);
    return status;
}

static muster_status_t measure_all(const bench_options_t *options, muster_context_t *context,
                                   uint64_t *wrong, muster_failure_t *failure)
{
    muster_comm_t *comm = NULL;
    muster_status_t status = make_comm(options, context, &comm, failure);
    json_t *rows = json_array();
    if (status == MUSTER_OK && muster_comm_rank(comm) == 0 && !options->json)
        print_heading(options, comm);
    for (int i = 0; i < BENCH_OPERATION_COUNT && status == MUSTER_OK; i++) {
        bench_operation_t operation = (bench_operation_t)i;
        if (strcmp(options->operation, "all") == 0 ||
            bench_operation_parse(options->operation) == operation)
            status = measure_operation(options, comm, operation, rows, wrong, failure);
    }
    if (status == MUSTER_OK && options->json && muster_comm_rank(comm) == 0 &&
        !print_json(options, comm, rows))
        status = MUSTER_NO_MEMORY;
    json_decref(rows);
    muster_comm_destroy(comm);
    return status;
}

static int report(muster_status_t status, muster_failure_t *failure)
{
    char line[1024];
    if (failure->status == MUSTER_OK)
        snprintf(line, sizeof line, "%s", muster_status_text(status));
    else
        muster_failure_print(failure, line, sizeof line);
    fprintf(stderr, "muster bench: %s\n", line);
    return 1;
}

static int take_part(const bench_options_t *options)
{
    muster_failure_t failure = {.status = MUSTER_OK};
    muster_context_options_t context_options = {.failure = &failure};
    muster_context_t *context;
    muster_status_t status = muster_context_create(&context_options, &context);
    if (status != MUSTER_OK)
        return report(status, &failure);
    uint64_t wrong = 0;
    uint32_t rank = muster_context_rank(context);
    status = measure_all(options, context, &wrong, &failure);
    int code = status == MUSTER_OK ? 0 : report(status, &failure);
    muster_context_destroy(context);
    if (code == 0 && wrong > 0 && rank == 0)
        fprintf(stderr, "muster bench: %" PRIu64 " elements are wrong\n", wrong);
    return code != 0 || wrong > 0 ? 1 : 0;
}

int command_bench(int count, char **arguments)
{
    static const struct argp parser = {.options = option_list,
                                       .parser = parse_option,
                                       .args_doc = "OPERATION",
                                       .doc = documentation};
    bench_options_t options = {.smallest = 8, .largest = 256 << 10, .factor = 8};
    options.plan.warmup = 5;
    options.plan.spoiled = MUSTER_NO_RANK;
    options.plan.outcome = MUSTER_OUTCOME_UNIFORM;
    argp_parse(&parser, count, arguments, 0, NULL, &options);
    if (options.launched || (inside_job() && options.ranks == 0))
        return take_part(&options);
    if (inside_job()) {
        fprintf(stderr, "muster bench: -n: this is a rank of a job already\n");
        return COMMAND_EXIT_USAGE;
    }
    return launch(&options, count, arguments);
}
