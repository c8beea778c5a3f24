#include "boot/boot_settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "boot/boot_state.h"
#include "core/assertion.h"
#include "core/wire.h"

#define PATH_MOST 4096
#define DIGEST_SIZE 16

/* ---- Files ----------------------------------------------------------------------------------- */

bool boot_settings_path(const char *file, char *path, size_t size)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = -1;
    if (base != NULL && base[0] == '/')
        length = snprintf(path, size, "%s/muster/%s", base, file);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, size, "%s/.config/muster/%s", home, file);
    return length > 0 && (size_t)length < size;
}

static muster_status_t fail_text(muster_failure_t *failure, const char *path,
                                 const settings_error_t *error)
{
    return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                     "%.200s, line %u, column %u: %s", path, error->line, error->column,
                     error->reason);
}

static muster_status_t read_file(settings_t *settings, const char *path, settings_origin_t origin,
                                 bool required, muster_failure_t *failure)
{
    FILE *file = fopen(path, "re");
    if (file == NULL && errno == ENOENT && !required)
        return MUSTER_OK;
    if (file == NULL)
        return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK, "cannot read %.200s: %s",
                         path, strerror(errno));
    char *text = malloc(SETTINGS_TEXT_MAX + 1);
    size_t length = text != NULL ? fread(text, 1, SETTINGS_TEXT_MAX + 1, file) : 0;
    bool broken = ferror(file) != 0;
    fclose(file);
    muster_status_t status;
    settings_error_t error;
    if (text == NULL)
        status = boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "no memory for the settings");
    else if (broken)
        status = boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK, "cannot read %.200s", path);
    else if ((status = settings_read(settings, text, length, origin, &error)) != MUSTER_OK)
        fail_text(failure, path, &error);
    free(text);
    return status;
}

static muster_status_t read_files(settings_t *settings, muster_failure_t *failure)
{
    static const struct {
        const char *name;
        settings_origin_t origin;
    } files[] = {{BOOT_SETTINGS_TUNED, SETTINGS_FROM_TUNED},
                 {BOOT_SETTINGS_FILE, SETTINGS_FROM_FILE}};
    char path[PATH_MOST];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!boot_settings_path(files[i].name, path, sizeof path))
            continue;
        muster_status_t status = read_file(settings, path, files[i].origin, false, failure);
        if (status != MUSTER_OK)
            return status;
    }
    const char *named = getenv("MUSTER_CONFIG");
    return named != NULL && named[0] != 0
               ? read_file(settings, named, SETTINGS_FROM_FILE, true, failure)
               : MUSTER_OK;
}

/* ---- Environment ----------------------------------------------------------------------------- */

static bool ends_with(const char *name, size_t length, const char *end)
{
    size_t own = strlen(end);
    return length > own && memcmp(name + length - own, end, own) == 0;
}

/* One NAME=VALUE without "MUSTER_". Other variables of Muster are passed over. */
static muster_status_t read_variable(settings_t *settings, const char *text,
                                     muster_failure_t *failure)
{
    char name[64];
    size_t length = strcspn(text, "=");
    if (length >= sizeof name || text[length] != '=')
        return MUSTER_OK;
    for (size_t i = 0; i < length; i++)
        name[i] = (char)tolower((unsigned char)text[i]);
    name[length] = 0;
    uint32_t number = settings_find(name, length);
    const char *value = text + length + 1;
    if (number == SETTINGS_ALL) {
        bool meant = ends_with(name, length, "_radix") || ends_with(name, length, "_algorithm");
        return meant ? boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                                 "MUSTER_%.*s: there is no setting of this name", (int)length, text)
                     : MUSTER_OK;
    }
    settings_error_t error;
    muster_status_t status =
        settings_set(settings, number, value, strlen(value), SETTINGS_FROM_ENVIRONMENT, &error);
    if (status != MUSTER_OK)
        boot_fail(failure, status, MUSTER_NO_RANK, "MUSTER_%.*s, column %u: %s", (int)length, text,
                  error.column, error.reason);
    return status;
}

muster_status_t boot_settings_read(settings_t *settings, muster_failure_t *failure)
{
    extern char **environ;
    settings_begin(settings);
    muster_status_t status = read_files(settings, failure);
    for (char **variable = environ; status == MUSTER_OK && *variable != NULL; variable++)
        if (strncmp(*variable, "MUSTER_", 7) == 0)
            status = read_variable(settings, *variable + 7, failure);
    return status;
}

/* ---- Agreement ------------------------------------------------------------------------------- */

static size_t write_text(const settings_t *settings, char *text)
{
    text_t over = text_over(text, SETTINGS_TEXT_MAX + 1);
    settings_write(settings, &over);
    MUSTER_ASSERT(over.length <= SETTINGS_TEXT_MAX);
    return over.length;
}

void boot_settings_mark(const settings_t *settings, uint8_t mark[BOOT_SETTINGS_MARK_SIZE])
{
    char text[SETTINGS_TEXT_MAX + 1];
    size_t length = write_text(settings, text);
    crypto_generichash(mark, DIGEST_SIZE, (const unsigned char *)text, length, NULL, 0);
    wire_put_u32(mark + DIGEST_SIZE, (uint32_t)length);
}

/* The part of rank 0's text that begins at `at`, to every rank. */
static muster_status_t pass_round(boot_t *boot, char *text, size_t at, uint8_t *all,
                                  int64_t deadline, muster_failure_t *failure)
{
    muster_status_t status =
        boot_exchange(boot, (const uint8_t *)text + at, BOOT_ADDRESS_MAX, all, deadline, failure);
    if (status == MUSTER_OK)
        memcpy(text + at, all, BOOT_ADDRESS_MAX);
    return status;
}

muster_status_t boot_settings_agree(boot_t *boot, settings_t *settings, const uint8_t *marks,
                                    size_t stride, int64_t deadline, muster_failure_t *failure)
{
    bool alike = true;
    for (uint32_t rank = 1; rank < boot_size(boot); rank++)
        alike = alike && memcmp(marks, marks + rank * stride, BOOT_SETTINGS_MARK_SIZE) == 0;
    if (alike)
        return MUSTER_OK;
    size_t length = wire_get_u32(marks + DIGEST_SIZE);
    if (length > SETTINGS_TEXT_MAX)
        return boot_fail(failure, MUSTER_PROTOCOL, 0, "rank 0's settings are too long");
    char *text = calloc(1, SETTINGS_TEXT_MAX + BOOT_ADDRESS_MAX + 1);
    uint8_t *all = malloc((size_t)boot_size(boot) * BOOT_ADDRESS_MAX);
    muster_status_t status = MUSTER_OK;
    if (text == NULL || all == NULL)
        status = boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "no memory for the settings");
    else if (boot_rank(boot) == 0)
        write_text(settings, text);
    for (size_t at = 0; status == MUSTER_OK && at < length; at += BOOT_ADDRESS_MAX)
        status = pass_round(boot, text, at, all, deadline, failure);
    if (status == MUSTER_OK && boot_rank(boot) != 0) {
        settings_t theirs;
        settings_begin(&theirs);
        settings_error_t error;
        status = settings_read(&theirs, text, length, SETTINGS_FROM_RANK_0, &error);
        if (status != MUSTER_OK)
            fail_text(failure, "rank 0's settings", &error);
        else
            *settings = theirs;
    }
    free(all);
    free(text);
    return status;
}
