/* Where ranks are, from text. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/hosts.h"
#include "unit/require.h"

START_TEST(texts_are_taken_and_printed)
{
    static const struct {
        const char *text, *printed;
        uint32_t ranks, count, last; /* hosts; first rank of the last one */
    } rows[] = {
        {"12", "12", 96, 12, 88},
        {"12", "12", 100, 12, 92},
        {"7,8,7", "7,8,7", 22, 3, 15},
        {"8*12", "8*12", 96, 12, 88},
        {"8*1", "8*1", 8, 1, 0},
        {"1", "1", 5, 1, 0},
        {"7*2,8*10", "7*2,8*10", 94, 12, 86},
        {"3,3*1", "3,3", 6, 2, 3},
        {"5", "5", 4, 0, 0},
        {"7,8", "7,8", 16, 0, 0},
        {"2147483647*1", "2147483647*1", 3, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hosts_t hosts;
        char bytes[64];
        text_t text = text_over(bytes, sizeof bytes);
        REQUIRE(hosts_parse(rows[i].text, strlen(rows[i].text), &hosts, NULL, NULL) == MUSTER_OK,
                "%s", rows[i].text);
        hosts_print(&hosts, &text);
        ck_assert_str_eq(bytes, rows[i].printed);
        ck_assert_uint_eq(hosts_count(&hosts, rows[i].ranks), rows[i].count);
        if (rows[i].count == 0)
            continue;
        uint32_t first[128];
        hosts_fill(&hosts, rows[i].ranks, first);
        ck_assert_uint_eq(first[rows[i].count - 1], rows[i].last);
        ck_assert_uint_eq(first[rows[i].count], rows[i].ranks);
        for (uint32_t rank = 0; rank < rows[i].ranks; rank++) {
            uint32_t host = hosts_of(&hosts, rows[i].ranks, rank);
            REQUIRE(first[host] <= rank && rank < first[host + 1], "%s, rank %u: host %u",
                    rows[i].text, rank, host);
        }
    }
}
END_TEST

START_TEST(wrong_texts_are_refused)
{
    static const struct {
        const char *text;
        size_t position;
    } rows[] = {{"", 0},
                {"0", 0},
                {"x", 0},
                {"7,", 2},
                {"7,,8", 2},
                {"8*", 2},
                {"8*0", 2},
                {"*8", 0},
                {"7 ,8", 1},
                {"-1", 0},
                {"4294967296", 9},
                {"8*12*2", 4},
                {"2147483647,1", 12},
                {"65536*65536", 11}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hosts_t hosts = {.even = 77};
        size_t position = 99;
        const char *reason = NULL;
        REQUIRE(hosts_parse(rows[i].text, strlen(rows[i].text), &hosts, &position, &reason) ==
                        MUSTER_INVALID_ARGUMENT &&
                    position == rows[i].position && reason != NULL && hosts.even == 77,
                "%s: %zu", rows[i].text, position);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hosts");
    TCase *tests = tcase_create("hosts");
    tcase_add_test(tests, texts_are_taken_and_printed);
    tcase_add_test(tests, wrong_texts_are_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
