/* Settings: names, values, texts, and what they bind. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "unit/require.h"

static settings_t settings, other;

static muster_status_t set(const char *name, const char *value, settings_error_t *error)
{
    uint32_t number = settings_find(name, strlen(name));
    ck_assert_uint_lt(number, SETTINGS_ALL);
    return settings_set(&settings, number, value, strlen(value), SETTINGS_FROM_PROGRAM, error);
}

static const char *printed(uint32_t number)
{
    static char bytes[4096];
    text_t text = text_over(bytes, sizeof bytes);
    bytes[0] = '\0';
    settings_print(&settings, number, &text);
    return bytes;
}

START_TEST(names_lead_back_to_their_settings)
{
    char name[64];
    for (uint32_t number = 0; number < SETTINGS_ALL; number++) {
        settings_name(number, name, sizeof name);
        ck_assert_uint_eq(settings_find(name, strlen(name)), number);
        ck_assert_uint_gt(strlen(settings_about(number)), 0);
    }
    ck_assert_uint_eq(settings_find("allgather_radix", 15),
                      SETTINGS_FIRST_RADIX + OPERATION_ALLGATHER);
    ck_assert_uint_eq(settings_find("allgather_radi", 14), SETTINGS_ALL);
    ck_assert_uint_eq(settings_find("", 0), SETTINGS_ALL);
}
END_TEST

/* C605, C607: one grammar; what is printed is taken again and is the same. */
START_TEST(values_are_printed_as_they_are_taken)
{
    static const char *const rows[][3] = {
        {"allgather_radix", "0-4K:host:8x6,4K-inf:cuda:4,auto", NULL},
        {"allreduce_algorithm", "0-4K:tree,4K-1M:host:direct,auto", NULL},
        {"latency_inside", "4us", "4000000ps"},
        {"byte_between", "125ps", NULL},
        {"cores", "96", NULL},
        {"reproducible", "1", NULL},
        {"hosts", "7,8*3", NULL},
    };
    settings_begin(&settings);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(set(rows[i][0], rows[i][1], NULL), MUSTER_OK);
        uint32_t number = settings_find(rows[i][0], strlen(rows[i][0]));
        ck_assert_str_eq(printed(number), rows[i][2] ? rows[i][2] : rows[i][1]);
        ck_assert_uint_eq(settings.origin[number], SETTINGS_FROM_PROGRAM);
    }
    char bytes[8192], again[8192];
    text_t text = text_over(bytes, sizeof bytes), copy = text_over(again, sizeof again);
    settings_write(&settings, &text);
    settings_begin(&other);
    ck_assert_int_eq(settings_read(&other, bytes, text.length, SETTINGS_FROM_RANK_0, NULL),
                     MUSTER_OK);
    settings_write(&other, &copy);
    ck_assert_str_eq(bytes, again);
    ck_assert(other.parameters.measured && other.reproducible);
    ck_assert_uint_eq(other.parameters.inside.latency, 4000000);
}
END_TEST

/* C606: what is wrong is told with its place, and nothing is changed. */
START_TEST(wrong_values_are_refused)
{
    static const struct {
        const char *name, *value;
        uint32_t column;
    } rows[] = {
        {"allgather_radix", "8xx6", 3},
        {"allgather_radix", "", 1},
        {"allgather_radix", "4,8x6", 3},
        {"allreduce_algorithm", "rings", 1},
        {"allreduce_algorithm", "8", 1},
        {"allreduce_algorithm", "tree,", 6},
        {"allreduce_algorithm", "tree:8", 6},
        {"latency_inside", "4", 2},
        {"latency_inside", "4 us", 2},
        {"latency_inside", "-4us", 1},
        {"latency_inside", "", 1},
        {"latency_inside", "99999999999999999us", 1},
        {"latency_inside", "4usx", 2},
        {"cores", "4294967296", 1},
        {"cores", "2x", 2},
        {"reproducible", "2", 1},
        {"reproducible", "yes", 1},
        {"hosts", "7,,8", 3},
    };
    settings_begin(&settings);
    settings_begin(&other);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        settings_error_t error = {0};
        REQUIRE(set(rows[i].name, rows[i].value, &error) == MUSTER_INVALID_ARGUMENT &&
                    error.column == rows[i].column && error.reason != NULL,
                "%s = %s: column %u", rows[i].name, rows[i].value, error.column);
        REQUIRE(memcmp(&settings, &other, sizeof settings) == 0, "%s = %s", rows[i].name,
                rows[i].value);
    }
}
END_TEST

START_TEST(texts_are_read_whole_or_not_at_all)
{
    static const char good[] =
        "# a remark\n\n  allgather_radix =  8x6 \r\ncores=4\nlatency_inside = 3ns";
    static const char wrong[] = "cores = 8\nallgather_radix = 8x\n";
    static const char unknown[] = "cores = 8\n\nallgater_radix = 8\n";
    settings_error_t error;
    settings_begin(&settings);
    ck_assert_int_eq(settings_read(&settings, good, sizeof good - 1, SETTINGS_FROM_FILE, &error),
                     MUSTER_OK);
    ck_assert_uint_eq(settings.parameters.cores, 4);
    ck_assert_uint_eq(settings.parameters.inside.latency, 3000);
    other = settings;
    ck_assert_int_eq(settings_read(&settings, wrong, sizeof wrong - 1, SETTINGS_FROM_FILE, &error),
                     MUSTER_INVALID_ARGUMENT);
    ck_assert_uint_eq(error.line, 2);
    ck_assert_uint_eq(error.column, 21);
    ck_assert_int_eq(
        settings_read(&settings, unknown, sizeof unknown - 1, SETTINGS_FROM_FILE, &error),
        MUSTER_INVALID_ARGUMENT);
    ck_assert_uint_eq(error.line, 3);
    ck_assert_int_eq(memcmp(&settings, &other, sizeof settings), 0);
}
END_TEST

/* C608, C616: what binds by size; a radix alone does not force an algorithm. */
START_TEST(limits_follow_the_size)
{
    select_limits_t limits;
    radix_reason_t reason;
    settings_begin(&settings);
    set("allgather_radix", "0-4K:8x6,4K-1M:=8x6,4", NULL);
    set("allgather_algorithm", "0-1K:direct,auto", NULL);
    ck_assert_int_eq(settings_limits(&settings, OPERATION_ALLGATHER, 512, RADIX_MEMORY_HOST, 48, 0,
                                     &limits, &reason),
                     MUSTER_OK);
    ck_assert(limits.has_radix && limits.radix.count == 2 && limits.has_family);
    ck_assert_int_eq(limits.family, SCHEDULE_FAMILY_DIRECT);
    ck_assert_int_eq(settings_limits(&settings, OPERATION_ALLGATHER, 2048, RADIX_MEMORY_HOST, 40, 0,
                                     &limits, &reason),
                     MUSTER_OK);
    ck_assert(!limits.has_radix && !limits.has_family);
    ck_assert_int_eq(reason, RADIX_REASON_PRODUCT);
    ck_assert_int_eq(settings_limits(&settings, OPERATION_ALLGATHER, 8192, RADIX_MEMORY_HOST, 40, 0,
                                     &limits, &reason),
                     MUSTER_NOT_SUPPORTED);
    ck_assert_int_eq(settings_limits(&settings, OPERATION_ALLGATHER, 2 << 20, RADIX_MEMORY_HOST, 40,
                                     0, &limits, &reason),
                     MUSTER_OK);
    ck_assert(limits.has_radix && limits.radix.count == 1 && limits.radix.factors[0] == 4);
    ck_assert_int_eq(settings_limits(&settings, OPERATION_BARRIER, 0, RADIX_MEMORY_HOST, 40, 0,
                                     &limits, &reason),
                     MUSTER_OK);
    ck_assert(!limits.has_radix && !limits.has_family);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tests = tcase_create("settings");
    tcase_add_test(tests, names_lead_back_to_their_settings);
    tcase_add_test(tests, values_are_printed_as_they_are_taken);
    tcase_add_test(tests, wrong_values_are_refused);
    tcase_add_test(tests, texts_are_read_whole_or_not_at_all);
    tcase_add_test(tests, limits_follow_the_size);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
