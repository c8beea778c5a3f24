/*
 * The chain family's pipelines: every schedule of the small teams by the symbolic validator, and
 * the family's figures against enumeration. The first argument is the largest team (40; a long run
 * takes 130). Scans are in test_schedule_all.c.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static uint64_t checked;
static schedule_team_t team;
static const operation_t operations[] = {OPERATION_BROADCAST, OPERATION_REDUCE};

static void check_one(schedule_request_t request)
{
    static schedule_figures_t figures;
    schedule_team_build(&team, schedule_chain, request);
    REQUIRE(schedule_team_check(&team) == MUSTER_OK,
            "%" PRIu32 " ranks, root %" PRIu32 ", %" PRIu32
            " segments, in place %d, uniform %d, commutative %d: %s",
            request.size, request.root, request.segments, request.in_place, request.uniform,
            request.commutative, team.why);
    REQUIRE(schedule_chain_figures(&request, &figures) == MUSTER_OK);
    REQUIRE(figures.phases == schedule_reference_path(&team),
            "%" PRIu32 " ranks, root %" PRIu32 ", %" PRIu32 " segments: %u rounds, not %u",
            request.size, request.root, request.segments, (unsigned)schedule_reference_path(&team),
            (unsigned)figures.phases);
    checked++;
}

/* C313, C401, C402, C406, C421, by symbols; and rounds are the critical path */
START_TEST(every_pipeline_is_right)
{
    static const uint32_t segments[] = {0, 2, 5};
    schedule_request_t request = {.operation = operations[_i], .arity = 2};
    for (request.size = 1; request.size <= largest; request.size++) {
        for (request.root = 0; request.root < request.size; request.root++) {
            for (unsigned variant = 0; variant < 24; variant++) {
                request.segments = segments[variant % 3];
                request.uniform = variant / 3 % 2;
                request.commutative = variant / 6 % 2;
                request.in_place = variant / 12;
                if (_i == 0 && variant >= 6)
                    break;
                if (request.size > 17 && request.root % 5 != 0 && request.root != request.size - 1)
                    continue;
                check_one(request);
            }
        }
    }
    printf("chain, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)request.operation), checked, largest);
    schedule_team_free(&team);
}
END_TEST

static void compare_figures(schedule_request_t request)
{
    static uint32_t first[1025];
    const uint32_t roots[] = {0, request.size - 1, request.size / 3, 1};
    for (unsigned variant = 0; variant < 8 * SCHEDULE_LAYOUTS; variant++) {
        schedule_hosts_t hosts;
        request.hosts = schedule_reference_hosts(variant / 8, request.size, &hosts, first);
        request.uniform = variant % 2;
        request.commutative = variant / 2 % 2;
        request.segments = variant / 4 % 2 * 7;
        for (unsigned i = 0; i < 4; i++) {
            request.root = roots[i] < request.size ? roots[i] : 0;
            REQUIRE(schedule_reference_compare(&team, SCHEDULE_FAMILY_CHAIN, request));
        }
    }
}

START_TEST(figures_are_what_is_counted)
{
    static const uint32_t sizes[] = {243, 512, 1000, 1024};
    schedule_request_t request = {.operation = operations[_i], .arity = 2};
    for (request.size = 1; request.size <= largest; request.size++)
        compare_figures(request);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        request.size = sizes[i];
        compare_figures(request);
    }
    schedule_team_free(&team);
}
END_TEST

/* A long vector takes its own time and the way of its first piece, not their product. */
START_TEST(pieces_follow_each_other)
{
    static schedule_figures_t figures;
    schedule_request_t request = {
        .operation = OPERATION_BROADCAST, .size = 96, .arity = 2, .segments = 1000};
    ck_assert_int_eq(schedule_chain_figures(&request, &figures), MUSTER_OK);
    ck_assert_uint_eq(figures.pieces, 1000);
    ck_assert_uint_eq(figures.phases, 95 + 999);
    ck_assert_uint_eq(figures.rank_blocks, 1000); /* the vector once */
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        largest = (uint32_t)atoi(argv[1]);
    Suite *suite = suite_create("schedule_chain");
    TCase *tests = tcase_create("schedule_chain");
    tcase_set_timeout(tests, largest > 40 ? 7200 : 100);
    tcase_add_loop_test(tests, every_pipeline_is_right, 0, 2);
    tcase_add_loop_test(tests, figures_are_what_is_counted, 0, 2);
    tcase_add_test(tests, pieces_follow_each_other);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
