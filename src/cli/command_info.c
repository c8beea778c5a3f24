/* muster info: what this build and this host offer. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>
#include <uv.h>

#include "cli/command.h"
#include "cli/info_config.h"
#include "core/control.h"
#include "core/wire.h"
#include "muster.h"

#define CPUS_MAX 8192

typedef struct info_options {
    bool json, config;
} info_options_t;

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "As one JSON object", 0},
    {"config", 'c', NULL, 0, "All settings, where each comes from, and the grammar", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    info_options_t *wanted = state->input;
    (void)text;
    switch (key) {
    case 'j':
        wanted->json = true;
        return 0;
    case 'c':
        wanted->config = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "takes no arguments");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Says what this build of Muster is made of and what this host offers it.",
};

static void add_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, json_string(text));
}

static json_t *describe_build(void)
{
    json_t *build = json_object();
    char text[64];
    add_text(build, "compiler", __VERSION__);
#ifdef __OPTIMIZE__
    json_object_set_new(build, "optimized", json_true());
#else
    json_object_set_new(build, "optimized", json_false());
#endif
    snprintf(text, sizeof text, "%d", WIRE_VERSION);
    json_object_set_new(build, "wire version", json_integer(WIRE_VERSION));
    json_object_set_new(build, "control version", json_integer(CONTROL_VERSION));
    add_text(build, "libuv", uv_version_string());
    add_text(build, "libsodium", sodium_version_string());
    add_text(build, "jansson", jansson_version_str());
    return build;
}

static json_t *describe_transports(void)
{
    static const char *const names[] = {"mem", "tcp", "sim"};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_array_append_new(list, json_string(names[i]));
    }
    return list;
}

/* "0-3,8": the cores that this process may use; returns how many. */
static int describe_affinity(char *text, size_t size)
{
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t set_size = CPU_ALLOC_SIZE(CPUS_MAX);
    int count = 0;
    size_t length = 0;
    text[0] = 0;
    if (set == NULL)
        return 0;
    if (sched_getaffinity(0, set_size, set) == 0) {
        count = CPU_COUNT_S(set_size, set);
        for (int first = 0; first < CPUS_MAX && length < size; first++) {
            int last = first;
            if (!CPU_ISSET_S((size_t)first, set_size, set))
                continue;
            while (last + 1 < CPUS_MAX && CPU_ISSET_S((size_t)last + 1, set_size, set))
                last++;
            const char *separator = length > 0 ? "," : "";
            int added =
                last > first
                    ? snprintf(text + length, size - length, "%s%d-%d", separator, first, last)
                    : snprintf(text + length, size - length, "%s%d", separator, first);
            length += (size_t)added;
            first = last;
        }
    }
    CPU_FREE(set);
    return count;
}

static void add_limit(json_t *object, const char *name, __rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        add_text(object, name, "unlimited");
    else
        json_object_set_new(object, name, json_integer((json_int_t)limit.rlim_cur));
}

static json_t *describe_limits(void)
{
    json_t *limits = json_object();
    add_limit(limits, "descriptors", RLIMIT_NOFILE);
    add_limit(limits, "processes", RLIMIT_NPROC);
    add_limit(limits, "locked memory", RLIMIT_MEMLOCK);
    add_limit(limits, "address space", RLIMIT_AS);
    json_object_set_new(limits, "ranks", json_integer(INT32_MAX));
    json_object_set_new(limits, "address bytes", json_integer(CONTROL_BLOB_MAX));
    return limits;
}

static json_t *describe_host(void)
{
    json_t *host = json_object();
    struct utsname system;
    char cores[256];
    if (uname(&system) == 0) {
        add_text(host, "name", system.nodename);
        add_text(host, "system", system.sysname);
        add_text(host, "release", system.release);
        add_text(host, "machine", system.machine);
    }
    json_object_set_new(host, "cores online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(host, "cores usable", json_integer(describe_affinity(cores, sizeof cores)));
    add_text(host, "affinity", cores);
    json_object_set_new(host, "page bytes", json_integer(sysconf(_SC_PAGESIZE)));
    return host;
}

static json_t *describe(void)
{
    json_t *all = json_object();
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", MUSTER_VERSION_MAJOR, MUSTER_VERSION_MINOR,
             MUSTER_VERSION_PATCH);
    add_text(all, "version", version);
    json_object_set_new(all, "build", describe_build());
    json_object_set_new(all, "transports", describe_transports());
    json_object_set_new(all, "host", describe_host());
    json_object_set_new(all, "limits", describe_limits());
    return all;
}

/* ---- As text --------------------------------------------------------------------------------- */

static void print_value(const json_t *value)
{
    size_t index;
    json_t *element;
    if (json_is_string(value))
        printf("%s", json_string_value(value));
    else if (json_is_integer(value))
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        printf("%s", json_is_true(value) ? "yes" : "no");
    json_array_foreach((json_t *)value, index, element)
    {
        printf("%s%s", index > 0 ? ", " : "", json_string_value(element));
    }
    putchar('\n');
}

static void print_text(json_t *all)
{
    const char *name, *inner_name;
    json_t *value, *inner;
    json_object_foreach(all, name, value)
    {
        if (!json_is_object(value)) {
            printf("%-18s ", name);
            print_value(value);
            continue;
        }
        printf("%s\n", name);
        json_object_foreach(value, inner_name, inner)
        {
            printf("  %-16s ", inner_name);
            print_value(inner);
        }
    }
}

int command_info(int count, char **arguments)
{
    info_options_t wanted = {false, false};
    argp_parse(&argp, count, arguments, 0, NULL, &wanted);
    if (wanted.config)
        return info_config(wanted.json);
    json_t *all = describe();
    if (wanted.json) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_text(all);
    }
    json_decref(all);
    return EXIT_SUCCESS;
}
