/* Uneven division, groups and leaders, paths, blocks. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/split.h"
#include "unit/require.h"

START_TEST(parts_follow_the_formula) /* C301, C304 */
{
    for (uint32_t n = 1; n <= 256; n++) {
        for (uint32_t arity = 2; arity <= 16; arity++) {
            uint32_t count = n < arity ? n : arity, q = n / count, r = n % count;
            uint32_t next = 0;
            REQUIRE(split_count(n, arity) == count);
            for (uint32_t g = 0; g < count; g++) {
                split_part_t part = split_part(n, arity, g);
                REQUIRE(part.size == q + (g < r));
                REQUIRE(part.left == g * q + (g < r ? g : r));
                REQUIRE(part.left == next); /* covered once, in order */
                next += part.size;
                for (uint32_t rank = part.left; rank < next; rank++)
                    REQUIRE(split_classify(n, arity, rank) == g);
                if (n > 1)
                    REQUIRE(part.size < n); /* every descent shrinks */
            }
            REQUIRE(next == n);
            REQUIRE(split_classify(n, arity, n) == SPLIT_NONE);
            REQUIRE(split_classify(n, arity, UINT32_MAX) == SPLIT_NONE);
        }
    }
}
END_TEST

START_TEST(ten_ranks_by_three) /* C302 */
{
    static const split_part_t parts[] = {{0, 4}, {4, 3}, {7, 3}};
    for (uint32_t g = 0; g < 3; g++) {
        split_part_t part = split_part(10, 3, g);
        ck_assert_uint_eq(part.left, parts[g].left);
        ck_assert_uint_eq(part.size, parts[g].size);
    }
    split_group_t groups[SPLIT_PATH_MAX];
    /* {0..3} is wider than the arity and splits again: {0,1},{2},{3}. */
    ck_assert_uint_eq(split_path(10, 3, 0, groups), 3);
    ck_assert(groups[0].left == 0 && groups[0].right == 10 && groups[0].members == 3);
    ck_assert(groups[1].left == 0 && groups[1].right == 4 && groups[1].members == 3);
    ck_assert(groups[2].left == 0 && groups[2].right == 2 && groups[2].members == 2);
    split_part_t part = split_member(&groups[1], 3, 2);
    ck_assert(part.left == 3 && part.size == 1);
    ck_assert_uint_eq(split_path(10, 3, 1, groups), 1);
    ck_assert(groups[0].left == 0 && groups[0].right == 2 && groups[0].index == 1);
    ck_assert_uint_eq(split_path(10, 3, 2, groups), 1);
    ck_assert(groups[0].left == 0 && groups[0].right == 4 && groups[0].index == 1);
    /* One as wide as the arity is a leaf. */
    ck_assert_uint_eq(split_path(10, 3, 4, groups), 2);
    ck_assert(groups[0].right == 10 && groups[0].index == 1);
    ck_assert(groups[1].left == 4 && groups[1].right == 7 && groups[1].members == 3);
    ck_assert_uint_eq(split_path(10, 3, 9, groups), 1);
    ck_assert(groups[0].left == 7 && groups[0].right == 10 && groups[0].index == 2);
    /* A group of one is nobody's meeting. */
    ck_assert_uint_eq(split_path(1, 3, 0, groups), 0);
}
END_TEST

START_TEST(eight_ranks_by_two) /* C303 */
{
    static const struct {
        uint32_t left, right, leaders[2];
    } meetings[] = {{0, 8, {0, 4}}, {0, 4, {0, 2}}, {4, 8, {4, 6}}, {0, 2, {0, 1}},
                    {2, 4, {2, 3}}, {4, 6, {4, 5}}, {6, 8, {6, 7}}};
    uint32_t seats = 0;
    for (size_t i = 0; i < sizeof meetings / sizeof *meetings; i++) {
        for (uint32_t index = 0; index < 2; index++) {
            split_group_t groups[SPLIT_PATH_MAX];
            uint32_t length = split_path(8, 2, meetings[i].leaders[index], groups);
            for (uint32_t g = 0; g < length; g++)
                if (groups[g].left == meetings[i].left && groups[g].right == meetings[i].right) {
                    ck_assert_uint_eq(groups[g].members, 2);
                    ck_assert_uint_eq(groups[g].index, index);
                    seats++;
                }
        }
    }
    ck_assert_uint_eq(seats, 14);
    uint32_t all = 0;
    for (uint32_t rank = 0; rank < 8; rank++) {
        split_group_t groups[SPLIT_PATH_MAX];
        all += split_path(8, 2, rank, groups);
    }
    ck_assert_uint_eq(all, 14); /* and there are no other meetings */
}
END_TEST

/* C114, C304: who is on a path, and that one rank after the other the paths fill every meeting. */
START_TEST(paths_make_whole_meetings)
{
    for (uint32_t n = 1; n <= 256; n++) {
        for (uint32_t arity = 2; arity <= 16; arity++) {
            uint64_t seats = 0, not_leaders = 0;
            for (uint32_t rank = 0; rank < n; rank++) {
                split_group_t groups[SPLIT_PATH_MAX];
                uint32_t length = split_path(n, arity, rank, groups);
                for (uint32_t g = 0; g < length; g++) {
                    split_part_t own = split_member(&groups[g], arity, groups[g].index);
                    REQUIRE(own.left == rank);
                    REQUIRE(groups[g].members >= 2);
                    REQUIRE(groups[g].members ==
                            split_count(groups[g].right - groups[g].left, arity));
                    REQUIRE(g == 0 || groups[g].index == 0); /* climbs only as a leader */
                    REQUIRE(g == 0 || groups[g].right < groups[g - 1].right ||
                            groups[g].left > groups[g - 1].left);
                }
                seats += length;
                not_leaders += length > 0 && groups[0].index > 0;
            }
            /* Every rank but rank 0 is led in exactly one meeting: a tree. */
            REQUIRE(not_leaders == n - 1);
            /* A meeting of m has m - 1 led ranks and one leader. */
            uint64_t meetings = seats - not_leaders;
            REQUIRE(meetings <= n - 1);
            REQUIRE(n == 1 || meetings >= (n - 2) / (arity - 1) + 1);
        }
    }
}
END_TEST

START_TEST(the_widest_team_has_a_path)
{
    split_group_t groups[SPLIT_PATH_MAX];
    ck_assert_uint_eq(split_path(UINT32_MAX, 2, 0, groups), 32);
    ck_assert_uint_eq(split_path(UINT32_MAX, 2, UINT32_MAX - 1, groups), 1);
    split_part_t last = split_part(UINT32_MAX, 16, 15);
    ck_assert_uint_eq((uint64_t)last.left + last.size, UINT32_MAX);
    ck_assert_uint_eq(split_classify(UINT32_MAX, 16, last.left), 15);
    ck_assert_uint_eq(split_classify(UINT32_MAX, 16, last.left - 1), 14);
    ck_assert_uint_eq(split_classify(UINT32_MAX, UINT32_MAX, UINT32_MAX - 1), UINT32_MAX - 1);
}
END_TEST

START_TEST(blocks_divide_evenly) /* C604 */
{
    for (uint64_t total = 0; total <= 100; total++) {
        for (uint64_t parts = 1; parts <= 40; parts++) {
            REQUIRE(split_block(total, parts, 0) == 0);
            REQUIRE(split_block(total, parts, parts) == total);
            for (uint64_t k = 0; k < parts; k++) {
                uint64_t rest = total % parts;
                REQUIRE(split_block(total, parts, k) ==
                        k * (total / parts) + (k < rest ? k : rest));
                uint64_t length = split_block(total, parts, k + 1) - split_block(total, parts, k);
                REQUIRE(length == total / parts + (k < rest));
            }
        }
    }
    /* C419: beyond 2^32 elements. */
    REQUIRE(split_block(UINT64_MAX, 2, 1) == (uint64_t)INT64_MAX + 1);
    REQUIRE(split_block(UINT64_C(10000000007), 3, 2) == UINT64_C(6666666672));
}
END_TEST

START_TEST(an_arity_below_two_is_a_fault)
{
    split_count(5, 1);
}
END_TEST

START_TEST(a_part_beyond_the_count_is_a_fault)
{
    split_part(5, 3, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("split");
    TCase *tests = tcase_create("split");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, parts_follow_the_formula);
    tcase_add_test(tests, ten_ranks_by_three);
    tcase_add_test(tests, eight_ranks_by_two);
    tcase_add_test(tests, paths_make_whole_meetings);
    tcase_add_test(tests, the_widest_team_has_a_path);
    tcase_add_test(tests, blocks_divide_evenly);
    tcase_add_test_raise_signal(tests, an_arity_below_two_is_a_fault, SIGABRT);
    tcase_add_test_raise_signal(tests, a_part_beyond_the_count_is_a_fault, SIGABRT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
