#include "core/settings.h"

#include <string.h>

#include "core/assertion.h"

/* ---- Names ---- */

typedef struct settings_entry {
    const char *name;
    const char *about;
} settings_entry_t;

static const settings_entry_t settings_times[] = {
#define X(name, text, what) {text, what},
    SETTINGS_NUMBER_LIST(X)
#undef X
};

static const char *const settings_families[] = {
#define X(name, text, builder, figures) text,
    SCHEDULE_FAMILY_LIST(X)
#undef X
};

static const char *settings_suffix(uint32_t number)
{
    return number < SETTINGS_FIRST_RADIX ? "_algorithm" : "_radix";
}

static const char *settings_plain(uint32_t number)
{
    if (number < SETTINGS_FIRST_TIME)
        return operation_name((uint8_t)(number % OPERATION_COUNT));
    if (number < SETTINGS_CORES)
        return settings_times[number - SETTINGS_FIRST_TIME].name;
    static const char *const rest[] = {"cores", "reproducible", "log_choice", "hosts"};
    return rest[number - SETTINGS_CORES];
}

const char *settings_name(uint32_t number, char *name, size_t size)
{
    MUSTER_ASSERT(number < SETTINGS_ALL);
    text_t text = text_over(name, size);
    text_string(&text, settings_plain(number));
    if (number < SETTINGS_FIRST_TIME)
        text_string(&text, settings_suffix(number));
    return name;
}

uint32_t settings_find(const char *name, size_t length)
{
    char own[64];
    for (uint32_t number = 0; number < SETTINGS_ALL; number++) {
        settings_name(number, own, sizeof own);
        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return number;
    }
    return SETTINGS_ALL;
}

settings_kind_t settings_kind(uint32_t number)
{
    MUSTER_ASSERT(number < SETTINGS_ALL);
    if (number < SETTINGS_FIRST_RADIX)
        return SETTINGS_ALGORITHM;
    if (number < SETTINGS_FIRST_TIME)
        return SETTINGS_RADIX;
    if (number < SETTINGS_CORES)
        return SETTINGS_TIME;
    return number == SETTINGS_CORES    ? SETTINGS_COUNT
           : number == SETTINGS_PLACES ? SETTINGS_HOSTS
                                       : SETTINGS_SWITCH;
}

const char *settings_about(uint32_t number)
{
    MUSTER_ASSERT(number < SETTINGS_ALL);
    if (number < SETTINGS_FIRST_RADIX)
        return "families of schedules that come into question, by size";
    if (number < SETTINGS_FIRST_TIME)
        return "radix sequences for families that follow one, by size";
    if (number < SETTINGS_CORES)
        return settings_times[number - SETTINGS_FIRST_TIME].about;
    static const char *const rest[] = {
        "that the ranks of a host share; 0: one for each rank",
        "1: reductions give the same bits on every path",
        "1: each choice of a schedule is told once",
        "where the job's ranks are to be taken to be: 12, 7,8,7 or 8*12",
    };
    return rest[number - SETTINGS_CORES];
}

const char *settings_origin_text(uint8_t origin)
{
    static const char *const texts[] = {"built in", "tuned.conf", "file",  "environment",
                                        "program",  "host",       "rank 0"};
    return origin <= SETTINGS_FROM_RANK_0 ? texts[origin] : "?";
}

/* ---- Values ---- */

void settings_begin(settings_t *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->parameters = select_builtin();
}

static uint64_t *settings_time(settings_t *settings, uint32_t number)
{
    select_parameters_t *parameters = &settings->parameters;
    uint64_t *const places[] = {
        &parameters->inside.latency,  &parameters->inside.message,
        &parameters->inside.byte,     &parameters->between.latency,
        &parameters->between.message, &parameters->between.byte,
        &parameters->reduce,          &parameters->copy,
    };
    return places[number - SETTINGS_FIRST_TIME];
}

static muster_status_t settings_refuse(settings_error_t *error, size_t position, const char *reason)
{
    if (error != NULL)
        *error = (settings_error_t){.column = (uint32_t)position + 1, .reason = reason};
    return MUSTER_INVALID_ARGUMENT;
}

/* Digits from the front; returns how many. Stops before the number passes 10^17. */
static size_t settings_digits(const char *text, size_t length, uint64_t *number)
{
    size_t count = 0;
    *number = 0;
    while (count < length && text[count] >= '0' && text[count] <= '9' && count < 17)
        *number = *number * 10 + (uint64_t)(text[count++] - '0');
    return count;
}

static muster_status_t settings_set_time(uint64_t *place, const char *text, size_t length,
                                         settings_error_t *error)
{
    static const struct {
        char unit[3];
        uint64_t ps;
    } units[] = {{"ps", 1}, {"ns", 1000}, {"us", 1000000}};
    uint64_t number;
    size_t digits = settings_digits(text, length, &number);
    if (digits == 0)
        return settings_refuse(error, 0, "a time is a whole number with ps, ns or us behind it");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (length - digits != 2 || memcmp(text + digits, units[i].unit, 2) != 0)
            continue;
        if (number > UINT64_C(1000000000000000) / units[i].ps)
            return settings_refuse(error, 0, "a time is at most 1000 s");
        *place = number * units[i].ps;
        return MUSTER_OK;
    }
    return settings_refuse(error, digits, "ps, ns or us has to stand here");
}

static muster_status_t settings_set_number(uint64_t most, const char *text, size_t length,
                                           uint64_t *number, settings_error_t *error)
{
    size_t digits = settings_digits(text, length, number);
    if (digits == 0 || digits < length)
        return settings_refuse(error, digits, "a whole number has to stand here");
    if (*number > most)
        return settings_refuse(error, 0, most == 1 ? "is 0 or 1" : "is too large");
    return MUSTER_OK;
}

static muster_status_t settings_set_table(settings_t *settings, uint32_t number, const char *text,
                                          size_t length, settings_error_t *error)
{
    uint32_t operation = number % OPERATION_COUNT;
    radix_error_t wrong;
    muster_status_t status =
        settings_kind(number) == SETTINGS_RADIX
            ? radix_table_parse(text, length, &settings->radix[operation], &wrong)
            : radix_table_parse_names(text, length, settings_families, SCHEDULE_FAMILY_COUNT,
                                      &settings->algorithm[operation], &wrong);
    return status == MUSTER_OK
               ? status
               : settings_refuse(error, wrong.position, radix_fault_text(wrong.fault));
}

static muster_status_t settings_set_hosts(settings_t *settings, const char *text, size_t length,
                                          settings_error_t *error)
{
    size_t position;
    const char *reason;
    if (hosts_parse(text, length, &settings->hosts, &position, &reason) == MUSTER_OK)
        return MUSTER_OK;
    return settings_refuse(error, position, reason);
}

muster_status_t settings_set(settings_t *settings, uint32_t number, const char *text, size_t length,
                             settings_origin_t origin, settings_error_t *error)
{
    uint64_t value;
    muster_status_t status;
    switch (settings_kind(number)) {
    case SETTINGS_TIME:
        status = settings_set_time(settings_time(settings, number), text, length, error);
        if (status == MUSTER_OK)
            settings->parameters.measured = true;
        break;
    case SETTINGS_COUNT:
        status = settings_set_number(UINT32_MAX, text, length, &value, error);
        if (status == MUSTER_OK)
            settings->parameters.cores = (uint32_t)value;
        break;
    case SETTINGS_SWITCH:
        status = settings_set_number(1, text, length, &value, error);
        if (status == MUSTER_OK && number == SETTINGS_REPRODUCIBLE)
            settings->reproducible = value == 1;
        else if (status == MUSTER_OK)
            settings->log = value == 1;
        break;
    case SETTINGS_HOSTS:
        status = settings_set_hosts(settings, text, length, error);
        break;
    default:
        status = settings_set_table(settings, number, text, length, error);
        break;
    }
    if (status == MUSTER_OK)
        settings->origin[number] = (uint8_t)origin;
    return status;
}

void settings_print(const settings_t *settings, uint32_t number, text_t *text)
{
    settings_t *readable = (settings_t *)(uintptr_t)settings;
    switch (settings_kind(number)) {
    case SETTINGS_TIME:
        text_number(text, *settings_time(readable, number));
        text_string(text, "ps");
        break;
    case SETTINGS_COUNT:
        text_number(text, settings->parameters.cores);
        break;
    case SETTINGS_SWITCH:
        text_number(text, number == SETTINGS_REPRODUCIBLE ? settings->reproducible : settings->log);
        break;
    case SETTINGS_HOSTS:
        hosts_print(&settings->hosts, text);
        break;
    case SETTINGS_RADIX:
        if (settings->radix[number % OPERATION_COUNT].count == 0)
            text_string(text, "auto");
        radix_table_print(&settings->radix[number % OPERATION_COUNT], text);
        break;
    case SETTINGS_ALGORITHM:
        if (settings->algorithm[number % OPERATION_COUNT].count == 0)
            text_string(text, "auto");
        radix_table_print_names(&settings->algorithm[number % OPERATION_COUNT], settings_families,
                                text);
        break;
    }
}

/* ---- Whole texts ---- */

static bool settings_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Moves both ends over blanks. */
static void settings_trim(const char *text, size_t *begin, size_t *end)
{
    while (*begin < *end && settings_is_blank(text[*begin]))
        ++*begin;
    while (*begin < *end && settings_is_blank(text[*end - 1]))
        --*end;
}

static muster_status_t settings_read_line(settings_t *settings, const char *line, size_t length,
                                          settings_origin_t origin, settings_error_t *error)
{
    size_t begin = 0, end = length, equals = 0;
    settings_trim(line, &begin, &end);
    if (begin == end || line[begin] == '#')
        return MUSTER_OK;
    while (equals < end && line[equals] != '=')
        equals++;
    if (equals == end)
        return settings_refuse(error, begin, "a line is `name = value`");
    size_t name_end = equals, value = equals + 1;
    settings_trim(line, &begin, &name_end);
    settings_trim(line, &value, &end);
    uint32_t number = settings_find(line + begin, name_end - begin);
    if (number == SETTINGS_ALL)
        return settings_refuse(error, begin, "there is no setting of this name");
    muster_status_t status =
        settings_set(settings, number, line + value, end - value, origin, error);
    if (status != MUSTER_OK && error != NULL)
        error->column += (uint32_t)value;
    return status;
}

muster_status_t settings_read(settings_t *settings, const char *text, size_t length,
                              settings_origin_t origin, settings_error_t *error)
{
    settings_t read = *settings;
    uint32_t line = 1;
    if (length > SETTINGS_TEXT_MAX)
        return settings_refuse(error, 0, "settings are at most 64 KiB");
    for (size_t at = 0; at < length; line++) {
        size_t end = at;
        while (end < length && text[end] != '\n')
            end++;
        muster_status_t status = settings_read_line(&read, text + at, end - at, origin, error);
        if (status != MUSTER_OK) {
            if (error != NULL)
                error->line = line;
            return status;
        }
        at = end + 1;
    }
    *settings = read;
    return MUSTER_OK;
}

void settings_write(const settings_t *settings, text_t *text)
{
    char name[64];
    for (uint32_t number = 0; number < SETTINGS_ALL; number++) {
        if (settings->origin[number] == SETTINGS_BUILTIN)
            continue;
        text_string(text, settings_name(number, name, sizeof name));
        text_string(text, " = ");
        settings_print(settings, number, text);
        text_character(text, '\n');
    }
}

uint64_t settings_digest(const settings_t *settings, char *text)
{
    text_t over = text_over(text, SETTINGS_TEXT_MAX + 1);
    settings_write(settings, &over);
    MUSTER_ASSERT(over.length <= SETTINGS_TEXT_MAX);
    uint64_t digest = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < over.length; i++)
        digest = (digest ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return digest ? digest : 1;
}

/* ---- Use ---- */

muster_status_t settings_limits(const settings_t *settings, operation_t operation, uint64_t bytes,
                                radix_memory_t memory, uint32_t team, uint32_t per_host,
                                select_limits_t *limits, radix_reason_t *reason)
{
    select_limits_t found = {.reproducible = settings->reproducible};
    radix_reason_t why = RADIX_REASON_NONE;
    const radix_entry_t *algorithm =
        radix_table_find(&settings->algorithm[operation], bytes, memory);
    const radix_entry_t *radix = radix_table_find(&settings->radix[operation], bytes, memory);
    if (algorithm != NULL && algorithm->value.kind == RADIX_KIND_NAME) {
        found.has_family = true;
        found.family = (schedule_family_t)algorithm->value.node;
    }
    if (radix != NULL) {
        radix_answer_t answer = radix_resolve(&radix->value, team, per_host, &found.radix, &why);
        if (answer == RADIX_REFUSED) {
            if (reason != NULL)
                *reason = why;
            return MUSTER_NOT_SUPPORTED;
        }
        found.has_radix = answer != RADIX_AUTO;
    }
    if (reason != NULL)
        *reason = why;
    *limits = found;
    return MUSTER_OK;
}

bool settings_bind(const settings_t *settings, operation_t operation)
{
    return settings->algorithm[operation].count > 0 || settings->radix[operation].count > 0 ||
           settings->reproducible;
}

/* Bytes of the whole message: what ranges speak of. */
static uint64_t settings_total(const schedule_request_t *request, uint64_t bytes)
{
    switch (request->operation) {
    case OPERATION_BARRIER:
    case OPERATION_BROADCAST:
    case OPERATION_REDUCE:
    case OPERATION_ALLREDUCE:
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        return bytes;
    default:
        return bytes > UINT64_MAX / request->size ? UINT64_MAX : bytes * request->size;
    }
}

muster_status_t settings_choose(const settings_t *settings, const schedule_request_t *request,
                                uint64_t bytes, uint64_t reckoned, select_plan_t *plan,
                                radix_reason_t *reason)
{
    select_limits_t limits;
    muster_status_t status = settings_limits(
        settings, request->operation, settings_total(request, bytes), RADIX_MEMORY_HOST,
        request->size, schedule_hosts_each(request->hosts), &limits, reason);
    if (status != MUSTER_OK)
        return status;
    status = select_choose(request, &settings->parameters, &limits, reckoned, plan);
    if (status != MUSTER_NOT_SUPPORTED || !limits.has_family)
        return status;
    limits.has_family = false;
    return select_choose(request, &settings->parameters, &limits, reckoned, plan);
}
