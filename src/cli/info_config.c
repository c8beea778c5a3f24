#include "cli/info_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "boot/boot_settings.h"

#define VALUE_MAX 8192

static const char grammar[] =
    "A setting is `name = value` in a file, or MUSTER_NAME=value in the environment, with the name "
    "in\n"
    "capital letters. Rank 0's settings are everybody's. Times are whole numbers with ps, ns or "
    "us.\n"
    "\n"
    "Tables, of algorithms and of radices, are entries with commas between them; the first that "
    "fits\n"
    "the size and the memory of a message counts:\n"
    "\n"
    "    entry   = part *(\":\" part)         one value; a range and a memory list if wanted\n"
    "    value   = auto, or an algorithm; or a radix, or a sequence\n"
    "    sequence = [= | ~] factor *(\"x\" factor) [@near | @far]\n"
    "    factor  = 2 to 65535, or node: the ranks of a host\n"
    "    range   = size-size                bytes in all, both ends included; K M G T; inf\n"
    "    memory  = host, cuda, ... joined by ^\n"
    "\n"
    "One factor is a fixed radix; two or more are exact for the team of their product, and others "
    "go\n"
    "by auto; with = they get an error instead; ~ names the factors a team may be divided by.\n"
    "\n"
    "    MUSTER_ALLGATHER_RADIX=0-4K:8x6,4K-inf:4,auto     MUSTER_ALLGATHER_ALGORITHM=radix\n";

static void print_algorithms(void)
{
    printf("\nAlgorithms:");
    for (unsigned family = 0; family < SCHEDULE_FAMILY_COUNT; family++)
        printf(" %s", schedule_family_name((schedule_family_t)family));
    printf("\n");
}

static const char *value_of(const settings_t *settings, uint32_t number, char *bytes)
{
    text_t text = text_over(bytes, VALUE_MAX);
    bytes[0] = 0;
    settings_print(settings, number, &text);
    return bytes;
}

static void print_text(const settings_t *settings)
{
    char name[64], value[VALUE_MAX], path[4096];
    printf("%s", grammar);
    print_algorithms();
    for (int file = 0; file < 2; file++)
        if (boot_settings_path(file == 0 ? BOOT_SETTINGS_TUNED : BOOT_SETTINGS_FILE, path,
                               sizeof path))
            printf("%s %s\n", file == 0 ? "Files:     " : "           ", path);
    printf("\n%-32s %-12s %-24s %s\n", "setting", "from", "value", "what it is");
    for (uint32_t number = 0; number < SETTINGS_ALL; number++)
        printf("%-32s %-12s %-24s %s\n", settings_name(number, name, sizeof name),
               settings_origin_text(settings->origin[number]), value_of(settings, number, value),
               settings_about(number));
}

static void print_json(const settings_t *settings)
{
    char name[64], value[VALUE_MAX];
    json_t *all = json_object();
    for (uint32_t number = 0; number < SETTINGS_ALL; number++)
        json_object_set_new(all, settings_name(number, name, sizeof name),
                            json_pack("{s:s, s:s, s:s}", "value", value_of(settings, number, value),
                                      "from", settings_origin_text(settings->origin[number]),
                                      "about", settings_about(number)));
    json_t *algorithms = json_array();
    for (unsigned family = 0; family < SCHEDULE_FAMILY_COUNT; family++)
        json_array_append_new(algorithms,
                              json_string(schedule_family_name((schedule_family_t)family)));
    json_t *whole =
        json_pack("{s:o, s:o, s:s}", "settings", all, "algorithms", algorithms, "grammar", grammar);
    json_dumpf(whole, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(whole);
}

int info_config(bool json)
{
    muster_failure_t failure;
    settings_t *settings = malloc(sizeof *settings);
    muster_status_t status =
        settings != NULL ? boot_settings_read(settings, &failure) : MUSTER_NO_MEMORY;
    if (settings == NULL)
        fprintf(stderr, "muster info: there is no memory\n");
    else if (status != MUSTER_OK)
        fprintf(stderr, "muster info: %s\n", failure.message);
    else if (json)
        print_json(settings);
    else
        print_text(settings);
    free(settings);
    return status == MUSTER_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
