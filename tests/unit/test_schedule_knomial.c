/*
 * The k-nomial family: every schedule of the small teams by the symbolic validator, and its figures
 * against enumeration. The first argument is the largest team (40; a long run takes 130).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/schedule_knomial.h"
#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static uint64_t checked;
static schedule_team_t team;
static const operation_t operations[] = {OPERATION_BROADCAST, OPERATION_REDUCE,
                                         OPERATION_GATHER,    OPERATION_GATHERV,
                                         OPERATION_SCATTER,   OPERATION_SCATTERV};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))

static void set_radix(schedule_request_t *request, uint16_t radix)
{
    request->radix = (radix_sequence_t){.count = radix > 0};
    request->radix.factors[0] = radix;
}

static void check_one(schedule_request_t request)
{
    static schedule_figures_t figures;
    schedule_team_build(&team, schedule_knomial, request);
    REQUIRE(schedule_team_check(&team) == MUSTER_OK,
            "%" PRIu32 " ranks, radix %u, root %" PRIu32 ", in place %d, uniform %d, small %d"
            ", commutative %d: %s",
            request.size, request.radix.factors[0], request.root, request.in_place, request.uniform,
            request.small, request.commutative, team.why);
    REQUIRE(schedule_knomial_figures(&request, &figures) == MUSTER_OK);
    schedule_totals_t counted = schedule_team_count(&team);
    REQUIRE(counted.messages == figures.messages && counted.blocks == figures.blocks);
    checked++;
}

static void check_variants(schedule_request_t request)
{
    for (unsigned variant = 0; variant < 12; variant++) {
        request.uniform = variant % 3 > 0;
        request.small = variant % 3 > 1;
        request.in_place = variant / 3 % 2;
        request.commutative = variant / 6;
        if (request.commutative && request.operation != OPERATION_REDUCE)
            continue;
        if (request.in_place && request.operation == OPERATION_BROADCAST)
            continue;
        check_one(request);
    }
}

static bool takes_root(uint32_t size, uint32_t root)
{
    return size <= 17 || root < 2 || root + 2 >= size || root == size / 2 || root == size / 3;
}

/* C313, C401, C402, C406, C421, by symbols */
START_TEST(every_schedule_is_right)
{
    static const uint16_t radices[] = {0, 3, 4, 5, 8, 65535};
    for (uint32_t size = 1; size <= largest; size++) {
        for (unsigned i = 0; i < sizeof radices / sizeof *radices; i++) {
            schedule_request_t request = {.operation = operations[_i], .size = size, .arity = 2};
            set_radix(&request, radices[i]);
            for (request.root = 0; request.root < size; request.root++)
                if (takes_root(size, request.root))
                    check_variants(request);
        }
    }
    printf("knomial, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)operations[_i]), checked, largest);
    schedule_team_free(&team);
}
END_TEST

static void compare_figures(schedule_request_t request)
{
    static uint32_t first[1025];
    const uint32_t roots[] = {0, request.size / 3, request.size - 1};
    for (unsigned variant = 0; variant < 6 * SCHEDULE_LAYOUTS; variant++) {
        schedule_hosts_t hosts;
        request.hosts = schedule_reference_hosts(variant / 6, request.size, &hosts, first);
        request.uniform = variant % 3 > 0;
        request.small = variant % 3 > 1;
        request.commutative = variant / 3 % 2;
        for (unsigned i = 0; i < (request.size < 3 ? request.size : 3); i++) {
            request.root = roots[i];
            (void)schedule_reference_compare(&team, SCHEDULE_FAMILY_KNOMIAL, request);
        }
    }
}

START_TEST(figures_are_what_is_counted)
{
    static const uint32_t sizes[] = {200, 243, 512, 1000, 1024};
    for (uint32_t size = 1; size <= largest; size++) {
        schedule_request_t request = {.operation = operations[_i], .size = size, .arity = 2};
        set_radix(&request, (uint16_t)(2 + size % 7));
        compare_figures(request);
        set_radix(&request, (uint16_t)(size + size % 2));
        compare_figures(request);
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        schedule_request_t request = {.operation = operations[_i], .size = sizes[i], .arity = 2};
        set_radix(&request, (uint16_t)(2 + i));
        compare_figures(request);
    }
    schedule_team_free(&team);
}
END_TEST

/* Rounds are the critical path. */
START_TEST(rounds_are_the_critical_path)
{
    static schedule_figures_t figures;
    for (uint32_t size = 1; size <= 40; size++) {
        for (unsigned variant = 0; variant < 8; variant++) {
            schedule_request_t request = {.operation = operations[_i],
                                          .size = size,
                                          .arity = 2,
                                          .root = variant / 4 * (size / 2),
                                          .commutative = variant % 2};
            set_radix(&request, (uint16_t)(2 + variant));
            schedule_team_build(&team, schedule_knomial, request);
            REQUIRE(schedule_knomial_figures(&request, &figures) == MUSTER_OK);
            REQUIRE(schedule_reference_path(&team) == figures.phases, "%u of radix %u: %u, %u",
                    size, request.radix.factors[0], (unsigned)schedule_reference_path(&team),
                    (unsigned)figures.phases);
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* Its radix decides: two is binomial, the team's size a star. */
START_TEST(radix_is_the_requests)
{
    static schedule_figures_t figures;
    schedule_request_t request = {.operation = OPERATION_BROADCAST, .size = 96, .arity = 2};
    set_radix(&request, 0);
    ck_assert_uint_eq(schedule_knomial_radix(&request), 2);
    ck_assert_int_eq(schedule_knomial_figures(&request, &figures), MUSTER_OK);
    ck_assert_uint_eq(figures.phases, 7);
    ck_assert_uint_eq(figures.messages, 95);
    set_radix(&request, 96);
    ck_assert_int_eq(schedule_knomial_figures(&request, &figures), MUSTER_OK);
    ck_assert_uint_eq(figures.phases, 1);
    ck_assert_uint_eq(figures.rank_messages, 95);
    request.operation = OPERATION_ALLGATHER;
    ck_assert_int_eq(schedule_knomial_figures(&request, &figures), MUSTER_NOT_SUPPORTED);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        largest = (uint32_t)atoi(argv[1]);
    Suite *suite = suite_create("schedule_knomial");
    TCase *tests = tcase_create("schedule_knomial");
    tcase_set_timeout(tests, largest > 40 ? 7200 : 100);
    tcase_add_loop_test(tests, every_schedule_is_right, 0, OPERATIONS);
    tcase_add_loop_test(tests, figures_are_what_is_counted, 0, OPERATIONS);
    tcase_add_loop_test(tests, rounds_are_the_critical_path, 0, OPERATIONS);
    tcase_add_test(tests, radix_is_the_requests);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
