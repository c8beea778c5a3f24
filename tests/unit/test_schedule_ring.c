/*
 * The ring family: every schedule of the small teams by the symbolic validator, and its figures
 * against enumeration. The first argument is the largest team (40; a long run takes 130).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static schedule_team_t team;
static const operation_t operations[] = {OPERATION_ALLGATHER, OPERATION_ALLGATHERV,
                                         OPERATION_ALLREDUCE, OPERATION_REDUCE_SCATTER,
                                         OPERATION_REDUCE_SCATTER_BLOCK};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))

/* C407, C408, C420, C421, by symbols */
START_TEST(every_schedule_is_right)
{
    uint64_t checked = 0;
    for (uint32_t size = 1; size <= largest; size++) {
        for (unsigned variant = 0; variant < 4; variant++) {
            schedule_request_t request = {.operation = operations[_i],
                                          .size = size,
                                          .arity = 2,
                                          .commutative = true,
                                          .in_place = variant % 2,
                                          .uniform = variant / 2 % 2};
            schedule_team_build(&team, schedule_ring, request);
            REQUIRE(schedule_team_check(&team) == MUSTER_OK,
                    "%" PRIu32 " ranks, in place %d, uniform %d: %s", size, request.in_place,
                    request.uniform, team.why);
            checked++;
        }
    }
    printf("ring, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)operations[_i]), checked, largest);
    schedule_team_free(&team);
}
END_TEST

START_TEST(figures_are_what_is_counted)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 17, 30, 31, 96, 127, 256};
    static uint32_t first[1025];
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned variant = 0; variant < 2 * SCHEDULE_LAYOUTS; variant++) {
            schedule_hosts_t hosts;
            schedule_request_t request = {.operation = operations[_i],
                                          .size = sizes[i],
                                          .arity = 2,
                                          .commutative = true,
                                          .uniform = variant % 2};
            request.hosts = schedule_reference_hosts(variant / 2, sizes[i], &hosts, first);
            ck_assert(schedule_reference_compare(&team, SCHEDULE_FAMILY_RING, request));
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* The order of a ring is not the ranks' order. */
START_TEST(only_commutative_reductions)
{
    static schedule_figures_t figures;
    for (int i = 2; i < OPERATIONS; i++) {
        schedule_request_t request = {.operation = operations[i], .size = 5, .arity = 2};
        schedule_t schedule = {0};
        ck_assert_int_eq(schedule_ring(&request, &schedule), MUSTER_NOT_SUPPORTED);
        ck_assert_int_eq(schedule_ring_figures(&request, &figures), MUSTER_NOT_SUPPORTED);
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1)
        largest = (uint32_t)strtoul(argv[1], NULL, 10);
    Suite *suite = suite_create("ring schedules");
    TCase *tests = tcase_create("ring");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, every_schedule_is_right, 0, OPERATIONS);
    tcase_add_loop_test(tests, figures_are_what_is_counted, 0, OPERATIONS);
    tcase_add_test(tests, only_commutative_reductions);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
