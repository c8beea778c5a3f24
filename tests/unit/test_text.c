/* Bounded text: never past the end, always closed, and the whole length known. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

START_TEST(what_fits_is_there)
{
    char bytes[32];
    text_t text = text_over(bytes, sizeof bytes);
    ck_assert_str_eq(bytes, "");
    text_string(&text, "rank ");
    text_number(&text, 0);
    text_character(&text, ' ');
    text_number(&text, UINT64_MAX);
    ck_assert_str_eq(bytes, "rank 0 18446744073709551615");
    ck_assert_uint_eq(text.length, strlen(bytes));
}
END_TEST

/* Every size from 0 to beyond the whole: the longest prefix, a zero, and nothing behind it. */
START_TEST(a_cut_is_bounded_and_seen)
{
    static const char whole[] = "12 of 345";
    for (size_t size = 0; size <= sizeof whole + 2; size++) {
        char bytes[sizeof whole + 4];
        memset(bytes, '#', sizeof bytes);
        text_t text = text_over(size == 0 ? NULL : bytes, size);
        text_number(&text, 12);
        text_string(&text, " of");
        text_character(&text, ' ');
        text_number(&text, 345);
        ck_assert_uint_eq(text.length, sizeof whole - 1);
        size_t kept = size == 0 ? 0 : size - 1 < sizeof whole - 1 ? size - 1 : sizeof whole - 1;
        ck_assert_int_eq(memcmp(bytes, whole, kept), 0);
        if (size > 0)
            ck_assert_int_eq(bytes[kept], '\0');
        for (size_t i = size == 0 ? 0 : kept + 1; i < sizeof bytes; i++)
            ck_assert_int_eq(bytes[i], '#');
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("text");
    tcase_add_test(tests, what_fits_is_there);
    tcase_add_test(tests, a_cut_is_bounded_and_seen);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
