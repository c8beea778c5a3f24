/*
 * The ranks' environment: the launcher's, with exactly one entry a name, and what says who is who.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/launcher_environment.h"

static const char *const replaced[] = {
    "MUSTER_CONTROL_FD", "RANK",       "LOCAL_RANK",  "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",  "MUSTER_JOB", "MUSTER_JOBS",
};

static size_t name_length(const char *entry)
{
    const char *end = strchr(entry, '=');
    return end != NULL ? (size_t)(end - entry) : strlen(entry);
}

static bool same_name(const char *one, const char *other)
{
    size_t length = name_length(one);
    return length == name_length(other) && memcmp(one, other, length) == 0;
}

static bool is_replaced(const char *entry)
{
    for (size_t i = 0; i < sizeof replaced / sizeof replaced[0]; i++) {
        if (same_name(entry, replaced[i]))
            return true;
    }
    return false;
}

typedef struct entry {
    const char *text;
    size_t place;
} entry_t;

/* By name; of one name in the order in which they stand. */
static int compare(const void *one, const void *other)
{
    const entry_t *a = one, *b = other;
    size_t a_length = name_length(a->text), b_length = name_length(b->text);
    int order = memcmp(a->text, b->text, a_length < b_length ? a_length : b_length);
    if (order != 0)
        return order;
    if (a_length != b_length)
        return a_length < b_length ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int compare_place(const void *one, const void *other)
{
    const entry_t *a = one, *b = other;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Keeps the first entry of each name, which is the one that getenv finds, in the order they had. */
static size_t keep_unique(entry_t *entries, size_t count)
{
    size_t kept = 0;
    qsort(entries, count, sizeof *entries, compare);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && same_name(entries[i].text, entries[i - 1].text))
            continue;
        if (is_replaced(entries[i].text))
            continue;
        entries[kept++] = entries[i];
    }
    qsort(entries, kept, sizeof *entries, compare_place);
    return kept;
}

static char *copy(const char *text)
{
    return strdup(text);
}

static char *format_number(const char *name, uint32_t number)
{
    char text[48];
    snprintf(text, sizeof text, "%s=%u", name, number);
    return copy(text);
}

static char *format_text(const char *name, const char *first, const char *second)
{
    size_t size = strlen(name) + strlen(first) + strlen(second) + 3;
    char *text = malloc(size);
    const char *between = first[0] != 0 && second[0] != 0 ? "," : "";
    if (text != NULL)
        snprintf(text, size, "%s=%s%s%s", name, first, between, second);
    return text;
}

char **launcher_environment_make(char *const *inherited, uint32_t size, const char *job,
                                 const char *outer_jobs)
{
    size_t count = 0;
    while (inherited[count] != NULL)
        count++;
    entry_t *entries = malloc((count + 1) * sizeof *entries);
    char **environment = calloc(LAUNCHER_ENVIRONMENT_OWN + count + 5, sizeof *environment);
    if (entries == NULL || environment == NULL) {
        free(entries);
        free(environment);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        entries[i] = (entry_t){inherited[i], i};
    size_t kept = keep_unique(entries, count);
    char **next = environment + LAUNCHER_ENVIRONMENT_OWN;
    *next++ = format_number("WORLD_SIZE", size);
    *next++ = format_number("LOCAL_WORLD_SIZE", size);
    *next++ = format_text("MUSTER_JOB", job, "");
    *next++ = format_text("MUSTER_JOBS", outer_jobs, job);
    for (size_t i = 0; i < kept; i++)
        *next++ = copy(entries[i].text);
    free(entries);
    for (char **entry = environment + LAUNCHER_ENVIRONMENT_OWN; entry < next; entry++) {
        if (*entry != NULL)
            continue;
        for (char **other = environment + LAUNCHER_ENVIRONMENT_OWN; other < next; other++)
            free(*other);
        free(environment);
        return NULL;
    }
    return environment;
}

void launcher_environment_free(char **environment)
{
    if (environment == NULL)
        return;
    for (char **entry = environment + LAUNCHER_ENVIRONMENT_OWN; *entry != NULL; entry++)
        free(*entry);
    free(environment);
}
