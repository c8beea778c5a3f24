/*
 * The list of families, and the figures of tree, direct and chain against the schedules of all
 * ranks: every team up to 40 ranks, or as many as the first argument says, and some up to 1,024.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static schedule_team_t team;

START_TEST(families_have_names_of_their_own)
{
    for (unsigned i = 0; i < SCHEDULE_FAMILY_COUNT; i++) {
        ck_assert_ptr_nonnull(schedule_family_builder((schedule_family_t)i));
        ck_assert_ptr_nonnull(schedule_family_figures((schedule_family_t)i));
        for (unsigned j = 0; j < i; j++)
            ck_assert_str_ne(schedule_family_name((schedule_family_t)i),
                             schedule_family_name((schedule_family_t)j));
    }
    ck_assert_str_eq(schedule_family_name(SCHEDULE_FAMILY_TREE), "tree");
    ck_assert(schedule_family_builder(SCHEDULE_FAMILY_CHAIN) == schedule_chain);
}
END_TEST

START_TEST(ranks_know_their_hosts)
{
    static const uint32_t first[] = {0, 1, 4, 5, 12};
    const schedule_hosts_t hosts = {.count = 4, .first = first};
    schedule_request_t request = {.size = 12};
    ck_assert_uint_eq(schedule_host_of(&request, 11), 0);
    ck_assert_uint_eq(schedule_pairs_between(&request), 0);
    request.hosts = &hosts;
    uint64_t pairs = 0;
    for (uint32_t rank = 0; rank < 12; rank++) {
        uint32_t host = schedule_host_of(&request, rank);
        ck_assert(first[host] <= rank && rank < first[host + 1]);
        for (uint32_t other = 0; other < 12; other++)
            pairs += schedule_host_of(&request, other) != host;
    }
    ck_assert_uint_eq(schedule_pairs_between(&request), pairs);
}
END_TEST

START_TEST(like_rounds_are_joined)
{
    static schedule_figures_t figures;
    schedule_figures_add(&figures, (schedule_round_t){.times = 0, .messages = 1});
    ck_assert_uint_eq(figures.round_count, 0);
    schedule_figures_add(&figures, (schedule_round_t){.times = 2, .messages = 1});
    schedule_figures_add(&figures, (schedule_round_t){.times = 3, .messages = 1});
    schedule_figures_add(&figures, (schedule_round_t){.times = 1, .messages = 2});
    ck_assert_uint_eq(figures.round_count, 2);
    ck_assert_uint_eq(figures.rounds[0].times, 5);
    ck_assert_uint_eq(figures.phases, 6);
}
END_TEST

/* ---- Figures against enumeration ------------------------------------------------------------- */

static void compare_layouts(schedule_family_t family, schedule_request_t request)
{
    static uint32_t first[1025];
    for (unsigned layout = 0; layout < SCHEDULE_LAYOUTS; layout++) {
        schedule_hosts_t hosts;
        request.hosts = schedule_reference_hosts(layout, request.size, &hosts, first);
        (void)schedule_reference_compare(&team, family, request);
    }
}

static void compare_outcomes(schedule_family_t family, schedule_request_t request)
{
    for (unsigned outcome = 0; outcome < 3; outcome++) {
        request.uniform = outcome > 0;
        request.small = outcome > 1;
        compare_layouts(family, request);
    }
}

static void compare_roots(schedule_family_t family, schedule_request_t request)
{
    request.root = 0;
    compare_outcomes(family, request);
    if (!operation_is_rooted(request.operation) || request.size == 1)
        return;
    request.root = request.size / 3;
    compare_outcomes(family, request);
    request.root = request.size - 1;
    compare_outcomes(family, request);
}

START_TEST(tree_figures_are_what_is_counted)
{
    for (uint32_t size = 1; size <= largest; size++) {
        static const uint32_t arities[] = {2, 3, 5, 8, 1024};
        for (unsigned i = 0; i < sizeof arities / sizeof *arities; i++)
            compare_roots(SCHEDULE_FAMILY_TREE, (schedule_request_t){.operation = (operation_t)_i,
                                                                     .size = size,
                                                                     .arity = arities[i]});
    }
    static const uint32_t sizes[] = {243, 510, 1000, 1024};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        compare_roots(SCHEDULE_FAMILY_TREE, (schedule_request_t){.operation = (operation_t)_i,
                                                                 .size = sizes[i],
                                                                 .arity = 2 + i * i * 3});
    schedule_team_free(&team);
}
END_TEST

static void compare_family(schedule_family_t family)
{
    for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
        schedule_request_t request = {.operation = (operation_t)operation, .arity = 2};
        for (request.size = 1; request.size <= largest; request.size++)
            compare_outcomes(family, request);
        request.size = 300;
        compare_outcomes(family, request);
    }
    schedule_team_free(&team);
}

START_TEST(direct_figures_are_what_is_counted)
{
    compare_family(SCHEDULE_FAMILY_DIRECT);
}
END_TEST

START_TEST(chain_figures_are_what_is_counted)
{
    compare_family(SCHEDULE_FAMILY_CHAIN);
}
END_TEST

/* Rounds are the critical path; a relayed broadcast may leave its longest branch out. */
START_TEST(rounds_are_the_critical_path)
{
    static schedule_figures_t figures;
    for (unsigned family = 0; family <= SCHEDULE_FAMILY_CHAIN; family++) {
        for (uint32_t size = 1; size <= 33; size++) {
            for (unsigned variant = 0; variant < 6; variant++) {
                schedule_request_t request = {.operation = (operation_t)_i,
                                              .size = size,
                                              .arity = 2 + variant % 3,
                                              .root = 0,
                                              .uniform = variant / 3};
                if (schedule_family_figures((schedule_family_t)family)(&request, &figures))
                    continue;
                schedule_team_build(&team, schedule_family_builder((schedule_family_t)family),
                                    request);
                uint64_t path = schedule_reference_path(&team);
                REQUIRE(path == figures.phases, "%s of %s, %u ranks, arity %u: %u, figures %u",
                        schedule_family_name((schedule_family_t)family),
                        operation_name((uint8_t)_i), size, request.arity, (unsigned)path,
                        (unsigned)figures.phases);
            }
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* A million ranks: without memory, and in time. */
START_TEST(figures_reach_a_million_ranks)
{
    static schedule_figures_t figures;
    static uint32_t first[(1U << 17) + 1];
    for (uint32_t host = 0; host <= 1U << 17; host++)
        first[host] = host * 8;
    const schedule_hosts_t hosts = {.count = 1U << 17, .first = first};
    for (unsigned i = 0; i < 2 * SCHEDULE_FAMILY_COUNT; i++) {
        schedule_family_t family = (schedule_family_t)(i / 2);
        schedule_request_t request = {.operation = (operation_t)_i,
                                      .size = 1U << 20,
                                      .arity = 2,
                                      .commutative = true,
                                      .uniform = true,
                                      .radix = {.far = i % 2},
                                      .hosts = &hosts};
        muster_status_t status = schedule_family_figures(family)(&request, &figures);
        ck_assert(status == MUSTER_OK || status == MUSTER_NOT_SUPPORTED);
        if (status == MUSTER_OK)
            ck_assert_uint_ge(figures.messages, request.size - 1);
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        largest = (uint32_t)atoi(argv[1]);
    Suite *suite = suite_create("schedule_family");
    TCase *tests = tcase_create("schedule_family");
    tcase_set_timeout(tests, largest > 40 ? 7200 : 100);
    tcase_add_test(tests, families_have_names_of_their_own);
    tcase_add_test(tests, ranks_know_their_hosts);
    tcase_add_test(tests, like_rounds_are_joined);
    tcase_add_loop_test(tests, tree_figures_are_what_is_counted, 0, OPERATION_COUNT);
    tcase_add_test(tests, direct_figures_are_what_is_counted);
    tcase_add_test(tests, chain_figures_are_what_is_counted);
    tcase_add_loop_test(tests, rounds_are_the_critical_path, 0, OPERATION_COUNT);
    tcase_add_loop_test(tests, figures_reach_a_million_ranks, 0, OPERATION_COUNT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
