/* muster plan: which schedules come into question for an operation, and what they would cost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "boot/boot_settings.h"
#include "cli/command.h"
#include "cli/plan.h"
#include "core/radix_choice.h"
#include "core/radix_text.h"

#define PLAN_RANKS_MAX (1U << 20)
#define PLAN_BYTES_MAX (UINT64_C(1) << 40)
#define PLAN_ROWS 6 /* that are shown without --all */
#define PLAN_FILE_MAX (1 << 20)
#define PS_A_US 1e6

enum {
    KEY_JSON = 0x200,
    KEY_HOSTS,
    KEY_HOSTS_FILE,
    KEY_RADIX,
    KEY_ALL,
    KEY_DOT,
    KEY_SVG,
    KEY_CORES,
    KEY_ROOT,
    KEY_OUTCOME
};

typedef struct plan_options {
    const char *operation, *hosts, *hosts_file, *radix, *svg;
    plan_question_t question;
    uint32_t host_count;
    uint32_t *host_first; /* owned */
    schedule_hosts_t placed;
    bool all, json, dot;
    bool sized;
} plan_options_t;

static const struct argp_option option_list[] = {
    {"ranks", 'n', "P", 0, "Ranks of the team, up to 1048576", 0},
    {"size", 's', "SIZE", 0, "Bytes a rank; alltoall, reduce_scatter: for each peer", 0},
    {"hosts", KEY_HOSTS, "H", 0, "Hosts: 12 (evenly), 7,8,7 (ranks on each), 8*12", 0},
    {"hosts-file", KEY_HOSTS_FILE, "FILE", 0, "The same from a file, a host a line: NAME RANKS", 0},
    {"cores", KEY_CORES, "N", 0, "Cores of a host that its ranks share", 0},
    {"root", KEY_ROOT, "RANK", 0, "Root of a rooted operation (default 0)", 0},
    {"outcome", KEY_OUTCOME, "KIND", 0, "uniform (default) or local", 0},
    {"radix", KEY_RADIX, "SEQ", 0, "Only this sequence, like 8x6 or 12x8@far", 0},
    {"all", KEY_ALL, 0, 0, "All schedules, not the cheapest only", 0},
    {"json", KEY_JSON, 0, 0, "Print JSON", 0},
    {"dot", KEY_DOT, 0, 0, "Print the chosen one as a graph for Graphviz, up to 64 ranks", 0},
    {"svg", KEY_SVG, "FILE", 0, "Draw the chosen one, by Graphviz's dot", 0},
    {0},
};

static const char documentation[] =
    "Says which schedule an operation would run, and the others by their cost.\v"
    "Figures are of the rank that sends most, and of all bytes between hosts. The time is the "
    "cost\n"
    "model's, whose parameters are settings (muster info --config); --all shows what it chose "
    "from.";

/* ---- Options --------------------------------------------------------------------------------- */

static uint64_t parse_bytes(struct argp_state *state, const char *text)
{
    static const char letters[] = "KMGT";
    char *end = NULL;
    errno = 0;
    uint64_t size = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    bool good = end != NULL && errno == 0 && size <= PLAN_BYTES_MAX;
    const char *letter = good && *end != 0 ? strchr(letters, *end) : NULL;
    if (letter != NULL) {
        unsigned shift = 10 * (unsigned)(letter - letters + 1);
        good = size <= PLAN_BYTES_MAX >> shift;
        size <<= shift;
        end++;
    }
    if (!good || *end != 0 || size > PLAN_BYTES_MAX)
        argp_error(state, "-s takes a size up to 1T, like 8, 64K or 1M, not \"%s\"", text);
    return size;
}

static bool parse_operation(const char *name, operation_t *operation)
{
    for (unsigned i = 0; i < OPERATION_COUNT; i++) {
        if (strcmp(name, operation_name((uint8_t)i)) == 0) {
            *operation = (operation_t)i;
            return true;
        }
    }
    return false;
}

static void parse_outcome(struct argp_state *state, const char *text, schedule_request_t *request)
{
    if (strcmp(text, "uniform") != 0 && strcmp(text, "local") != 0)
        argp_error(state, "--outcome is uniform or local, not \"%s\"", text);
    request->uniform = strcmp(text, "uniform") == 0;
}

static void finish_radix(struct argp_state *state, plan_options_t *options)
{
    radix_table_t table;
    radix_error_t error;
    char why[512];
    text_t text = text_over(why, sizeof why);
    if (radix_table_parse(options->radix, strlen(options->radix), &table, &error) != MUSTER_OK) {
        radix_error_print(&error, &text);
        argp_error(state, "--radix: %s", why);
        return;
    }
    schedule_hosts_t hosts = {.count = options->host_count, .first = options->host_first};
    uint32_t size = options->question.request.size, each = schedule_hosts_each(&hosts);
    radix_reason_t reason;
    select_limits_t *limits = &options->question.limits;
    radix_answer_t answer =
        radix_resolve(&table.entries[0].value, size, each, &limits->radix, &reason);
    if (answer == RADIX_EXACT || answer == RADIX_FIXED)
        limits->has_radix = limits->only_radix = true;
    else
        argp_error(state, "--radix: %s", radix_reason_text(reason));
}

static char *read_hosts_file(struct argp_state *state, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        argp_error(state, "--hosts-file: %s: %s", path, strerror(errno));
    size_t length = 0, capacity = 64;
    char *list = calloc(1, capacity), line[512];
    unsigned number = 0;
    while (file != NULL && list != NULL && fgets(line, sizeof line, file) != NULL) {
        char name[256];
        unsigned ranks;
        number++;
        if (line[strspn(line, " \t\r\n")] == 0 || line[0] == '#')
            continue;
        if (sscanf(line, "%255s %u", name, &ranks) != 2 || ranks == 0)
            argp_error(state, "--hosts-file: %s, line %u: is no \"NAME RANKS\"", path, number);
        if (length + 16 > capacity) {
            char *larger = capacity < PLAN_FILE_MAX * 16 ? realloc(list, capacity *= 2) : NULL;
            if (larger == NULL)
                argp_failure(state, EXIT_FAILURE, 0, "--hosts-file: there is no memory");
            list = larger;
        }
        length += (size_t)snprintf(list + length, 16, "%s%u", length > 0 ? "," : "", ranks);
    }
    if (length == 0)
        argp_error(state, "--hosts-file: %s names no host", path);
    if (file != NULL)
        fclose(file);
    return list;
}

static void finish_hosts(struct argp_state *state, plan_options_t *options)
{
    const char *why = NULL;
    char *list = options->hosts_file != NULL ? read_hosts_file(state, options->hosts_file) : NULL;
    const char *text = list != NULL ? list : options->hosts;
    schedule_request_t *request = &options->question.request;
    if (text == NULL)
        return;
    if (list != NULL && strchr(list, ',') == NULL && strtoul(list, NULL, 10) != request->size)
        argp_error(state, "--hosts-file: its host has %s ranks, the team %u", list, request->size);
    else if (list != NULL && strchr(list, ',') == NULL)
        text = "1";
    options->host_first = plan_hosts(text, request->size, &options->host_count, &why);
    if (options->host_first == NULL)
        argp_error(state, "%s: %s", list != NULL ? "--hosts-file" : "--hosts", why);
    free(list);
    options->placed =
        (schedule_hosts_t){.count = options->host_count, .first = options->host_first};
    if (options->host_count > 1)
        request->hosts = &options->placed;
}

static void finish_options(struct argp_state *state, plan_options_t *options)
{
    schedule_request_t *request = &options->question.request;
    if (options->operation == NULL)
        argp_error(state, "OPERATION is missing");
    else if (!parse_operation(options->operation, &request->operation))
        argp_error(state, "there is no operation \"%s\"", options->operation);
    if (request->size == 0)
        argp_error(state, "-n is missing");
    if (!options->sized && request->operation != OPERATION_BARRIER)
        argp_error(state, "-s is missing");
    if (request->root >= request->size)
        argp_error(state, "--root: the team has %u ranks", request->size);
    if (options->hosts != NULL && options->hosts_file != NULL)
        argp_error(state, "--hosts and --hosts-file do not go together");
    if ((options->dot || options->svg != NULL) && request->size > PLAN_DRAWN_MAX)
        argp_error(state, "a drawing has at most %d ranks", PLAN_DRAWN_MAX);
    request->arity = request->size;
    finish_hosts(state, options);
    if (options->radix != NULL)
        finish_radix(state, options);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    plan_options_t *options = state->input;
    schedule_request_t *request = &options->question.request;
    switch (key) {
    case 'n':
        request->size = (uint32_t)command_number(state, "-n", argument, 1, PLAN_RANKS_MAX);
        return 0;
    case 's':
        options->question.bytes = parse_bytes(state, argument);
        options->sized = true;
        return 0;
    case KEY_HOSTS:
        options->hosts = argument;
        return 0;
    case KEY_HOSTS_FILE:
        options->hosts_file = argument;
        return 0;
    case KEY_CORES:
        options->question.parameters.cores =
            (uint32_t)command_number(state, "--cores", argument, 1, PLAN_RANKS_MAX);
        return 0;
    case KEY_ROOT:
        request->root = (uint32_t)command_number(state, "--root", argument, 0, PLAN_RANKS_MAX);
        return 0;
    case KEY_OUTCOME:
        parse_outcome(state, argument, request);
        return 0;
    case KEY_RADIX:
        options->radix = argument;
        return 0;
    case KEY_ALL:
        options->all = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_DOT:
        options->dot = true;
        return 0;
    case KEY_SVG:
        options->svg = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (options->operation != NULL)
            argp_error(state, "takes one operation, not \"%s\" as well", argument);
        options->operation = argument;
        return 0;
    case ARGP_KEY_END:
        finish_options(state, options);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_list,
    .parser = parse_option,
    .args_doc = "OPERATION",
    .doc = documentation,
};

/* ---- Figures --------------------------------------------------------------------------------- */

static bool figures_of(const plan_question_t *question, const select_plan_t *plan,
                       schedule_figures_t *figures)
{
    schedule_request_t request = question->request;
    select_apply(plan, &request);
    return schedule_family_figures(plan->family)(&request, figures) == MUSTER_OK;
}

static uint64_t bytes_of(const plan_question_t *question, const schedule_figures_t *figures,
                         uint64_t blocks)
{
    uint64_t pieces = figures->pieces > 1 ? figures->pieces : 1;
    return blocks / pieces * question->bytes + blocks % pieces * question->bytes / pieces;
}

/* ---- As text --------------------------------------------------------------------------------- */

static void print_head(const plan_question_t *question)
{
    const schedule_request_t *request = &question->request;
    printf("%s of %" PRIu64 " bytes%s, %" PRIu32 " ranks",
           operation_name((uint8_t)request->operation), question->bytes,
           operation_is_rooted(request->operation) ? "" : " a rank", request->size);
    if (request->hosts != NULL)
        printf(" on %" PRIu32 " hosts", request->hosts->count);
    printf("; %s outcome; %s parameters\n\n", request->uniform ? "uniform" : "local",
           question->parameters.measured ? "measured" : "built-in");
    printf("  %-32s %8s %10s %14s %18s %14s\n", "schedule", "phases", "messages", "bytes",
           "bytes between", "predicted");
    printf("  %-32s %8s %10s %14s %18s %14s\n", "", "", "a rank", "a rank", "hosts", "us");
}

static void print_rows(const plan_options_t *options, const select_candidate_t *candidates,
                       uint32_t count)
{
    const plan_question_t *question = &options->question;
    print_head(question);
    for (uint32_t i = 0; i < count && (options->all || i < PLAN_ROWS); i++) {
        schedule_figures_t figures;
        char name[256];
        text_t text = text_over(name, sizeof name);
        if (!figures_of(question, &candidates[i].plan, &figures))
            continue;
        select_print(&candidates[i].plan, &text);
        printf("%s %-32s %8" PRIu64 " %10" PRIu64 " %14" PRIu64 " %18" PRIu64 " %14.2f\n",
               i == 0 ? "*" : " ", name, figures.phases, figures.rank_messages,
               bytes_of(question, &figures, figures.rank_blocks),
               bytes_of(question, &figures, figures.blocks_between),
               (double)candidates[i].cost / PS_A_US);
    }
    if (!options->all && count > PLAN_ROWS)
        printf("\n  * is what runs; %" PRIu32 " more with --all\n", count - PLAN_ROWS);
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static json_t *row_json(const plan_question_t *question, const select_candidate_t *candidate)
{
    schedule_figures_t figures;
    char name[256], radix[256];
    text_t text = text_over(name, sizeof name), sequence = text_over(radix, sizeof radix);
    if (!figures_of(question, &candidate->plan, &figures))
        return json_null();
    select_print(&candidate->plan, &text);
    radix_sequence_t factors = candidate->plan.radix;
    factors.far = false;
    if (factors.count > 0)
        radix_sequence_print(&factors, &sequence);
    json_t *row = json_object();
    json_object_set_new(row, "name", json_string(name));
    json_object_set_new(row, "family", json_string(schedule_family_name(candidate->plan.family)));
    json_object_set_new(row, "radix", factors.count > 0 ? json_string(radix) : json_null());
    json_object_set_new(row, "order",
                        factors.count > 0 ? json_string(candidate->plan.radix.far ? "far" : "near")
                                          : json_null());
    json_object_set_new(row, "phases", json_integer((json_int_t)figures.phases));
    json_object_set_new(row, "messages_per_rank", json_integer((json_int_t)figures.rank_messages));
    json_object_set_new(
        row, "bytes_per_rank",
        json_integer((json_int_t)bytes_of(question, &figures, figures.rank_blocks)));
    json_object_set_new(
        row, "bytes_between_hosts",
        json_integer((json_int_t)bytes_of(question, &figures, figures.blocks_between)));
    json_object_set_new(row, "messages_total", json_integer((json_int_t)figures.messages));
    json_object_set_new(row, "bytes_total",
                        json_integer((json_int_t)bytes_of(question, &figures, figures.blocks)));
    json_object_set_new(row, "predicted_us", json_real((double)candidate->cost / PS_A_US));
    return row;
}

static void print_json(const plan_options_t *options, const select_candidate_t *candidates,
                       uint32_t count)
{
    const plan_question_t *question = &options->question;
    json_t *all = json_object(), *rows = json_array();
    json_object_set_new(all, "operation",
                        json_string(operation_name((uint8_t)question->request.operation)));
    json_object_set_new(all, "ranks", json_integer(question->request.size));
    json_object_set_new(all, "size", json_integer((json_int_t)question->bytes));
    json_object_set_new(all, "hosts",
                        json_integer(options->host_count > 0 ? options->host_count : 1));
    json_object_set_new(all, "measured", json_boolean(question->parameters.measured));
    for (uint32_t i = 0; i < count && (options->all || i < PLAN_ROWS); i++)
        json_array_append_new(rows, row_json(question, &candidates[i]));
    json_object_set_new(all, "schedules", rows);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* ---- As a drawing ---------------------------------------------------------------------------- */

/* dot reads the graph from a pipe. */
static int start_dot(const char *path, pid_t *child, FILE **graph)
{
    extern char **environ;
    char *arguments[] = {"dot", "-Tsvg", "-o", (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    int error = posix_spawnp(child, "dot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    *graph = error == 0 ? fdopen(ends[1], "w") : NULL;
    if (*graph == NULL)
        close(ends[1]);
    return error;
}

static int draw_svg(const plan_options_t *options, const select_plan_t *plan)
{
    FILE *graph = NULL;
    pid_t child;
    int status = -1;
    signal(SIGPIPE, SIG_IGN); /* dot may end early, and says why itself */
    int error = start_dot(options->svg, &child, &graph);
    if (error != 0) {
        fprintf(stderr, "muster plan: Graphviz's dot cannot be run: %s; --dot prints the graph\n",
                strerror(error));
        return EXIT_FAILURE;
    }
    bool drawn = graph != NULL && plan_draw(graph, &options->question, plan);
    if (graph != NULL)
        fclose(graph);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (drawn && status == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "muster plan: %s could not be drawn\n", options->svg);
    return EXIT_FAILURE;
}

/*
 * All that come into question, what runs first: as the options dictate, or else the settings, as in
 * a job.
 */
static uint32_t find_candidates(const plan_question_t *question, const settings_t *settings,
                                select_candidate_t *candidates)
{
    uint32_t count = select_candidates(&question->request, &question->parameters, &question->limits,
                                       question->bytes, candidates);
    select_plan_t plan;
    radix_reason_t reason;
    if (question->limits.has_radix || count == 0 ||
        !settings_bind(settings, question->request.operation))
        return count;
    muster_status_t status = settings_choose(settings, &question->request, question->bytes,
                                             question->bytes, &plan, &reason);
    if (status != MUSTER_OK) {
        fprintf(stderr, "muster plan: the radix that is set: %s\n", radix_reason_text(reason));
        return 0;
    }
    if (select_to_front(candidates, count, &plan))
        return count;
    schedule_request_t request = question->request;
    schedule_figures_t figures;
    uint32_t hosts = request.hosts ? request.hosts->count : 1;
    select_apply(&plan, &request);
    if (schedule_family_figures(plan.family)(&request, &figures) != MUSTER_OK)
        return count;
    count -= count == SELECT_PLANS_MAX;
    memmove(candidates + 1, candidates, count * sizeof *candidates);
    candidates[0] = (select_candidate_t){
        plan, select_cost(&figures, &question->parameters, request.size, hosts, question->bytes)};
    return count + 1;
}

int command_plan(int count, char **arguments)
{
    plan_options_t options = {.question = {.request = {.uniform = true, .commutative = true}}};
    muster_failure_t failure;
    settings_t *settings = malloc(sizeof *settings);
    if (settings == NULL || boot_settings_read(settings, &failure) != MUSTER_OK) {
        fprintf(stderr, "muster plan: %s\n", settings != NULL ? failure.message : "no memory");
        free(settings);
        return EXIT_FAILURE;
    }
    options.question.parameters = settings->parameters;
    argp_parse(&argp, count, arguments, 0, NULL, &options);
    static select_candidate_t candidates[SELECT_PLANS_MAX];
    settings->parameters = options.question.parameters; /* --cores */
    uint32_t found = find_candidates(&options.question, settings, candidates);
    int code = EXIT_SUCCESS;
    if (found == 0) {
        fprintf(stderr, "muster plan: no schedule does that with these options\n");
        code = EXIT_FAILURE;
    } else if (options.svg != NULL) {
        code = draw_svg(&options, &candidates[0].plan);
    } else if (options.dot) {
        if (!plan_draw(stdout, &options.question, &candidates[0].plan))
            code = EXIT_FAILURE;
    } else if (options.json) {
        print_json(&options, candidates, found);
    } else {
        print_rows(&options, candidates, found);
    }
    free(options.host_first);
    free(settings);
    return code;
}
