/*
 * The pairwise and Bruck families: every schedule of the small teams by the symbolic validator, and
 * figures against enumeration. The first argument is the largest team (40; a long run takes 130).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static schedule_team_t team;
static const struct {
    operation_t operation;
    schedule_family_t family;
} ways[] = {{OPERATION_ALLTOALL, SCHEDULE_FAMILY_PAIRWISE},
            {OPERATION_ALLTOALLV, SCHEDULE_FAMILY_PAIRWISE},
            {OPERATION_ALLTOALL, SCHEDULE_FAMILY_BRUCK}};
#define WAYS ((int)(sizeof ways / sizeof *ways))

static const radix_sequence_t sequences[] = {
    {.count = 0},
    {.factors = {3}, .count = 1},
    {.factors = {7}, .count = 1},
    {.factors = {65535}, .count = 1},
    {.factors = {4, 2, 3}, .count = 3},
};
#define SEQUENCES (sizeof sequences / sizeof *sequences)

/* C411, C421, by symbols */
START_TEST(every_schedule_is_right)
{
    uint64_t checked = 0;
    for (uint32_t size = 1; size <= largest; size++) {
        for (unsigned variant = 0; variant < 4 * SEQUENCES; variant++) {
            schedule_request_t request = {.operation = ways[_i].operation,
                                          .size = size,
                                          .arity = 2,
                                          .radix = sequences[variant / 4],
                                          .in_place = variant % 2,
                                          .uniform = variant / 2 % 2};
            if (ways[_i].family == SCHEDULE_FAMILY_PAIRWISE && request.radix.count > 0)
                continue; /* it has no radix */
            schedule_team_build(&team, schedule_family_builder(ways[_i].family), request);
            REQUIRE(schedule_team_check(&team) == MUSTER_OK,
                    "%" PRIu32 " ranks, sequence %u, in place %d, uniform %d: %s", size,
                    variant / 4, request.in_place, request.uniform, team.why);
            checked++;
        }
    }
    printf("%s, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           schedule_family_name(ways[_i].family), operation_name((uint8_t)ways[_i].operation),
           checked, largest);
    schedule_team_free(&team);
}
END_TEST

START_TEST(figures_are_what_is_counted)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 17, 30, 31, 96, 127, 256, 1000, 1024};
    static uint32_t first[1025];
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned variant = 0; variant < 2 * SEQUENCES * SCHEDULE_LAYOUTS; variant++) {
            schedule_hosts_t hosts;
            schedule_request_t request = {.operation = ways[_i].operation,
                                          .size = sizes[i],
                                          .arity = 2,
                                          .radix = sequences[variant / 2 % SEQUENCES],
                                          .uniform = variant % 2};
            request.hosts =
                schedule_reference_hosts(variant / 2 / SEQUENCES, sizes[i], &hosts, first);
            bool everybody = ways[_i].family == SCHEDULE_FAMILY_PAIRWISE;
            if (everybody && request.radix.count > 0)
                continue; /* it has no radix */
            if (sizes[i] >= 1000 && (everybody || request.radix.factors[0] > 1000))
                continue; /* everybody to everybody: a million messages, the same as at 256 */
            ck_assert(schedule_reference_compare(&team, ways[_i].family, request));
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* C615: what Bruck is for: a logarithm of messages, where pairwise sends the least bytes. */
START_TEST(few_messages_or_few_bytes)
{
    static schedule_figures_t figures;
    for (uint32_t size = 2; size <= 1024; size++) {
        schedule_request_t request = {.operation = OPERATION_ALLTOALL, .size = size, .arity = 2};
        uint64_t rounds = 0;
        for (uint64_t power = 1; power < size; power *= 2)
            rounds++;
        REQUIRE(schedule_bruck_figures(&request, &figures) == MUSTER_OK);
        REQUIRE(figures.phases == rounds && figures.rank_messages == rounds, "%" PRIu32, size);
        REQUIRE(figures.rank_blocks <= rounds * ((size + 1) / 2), "%" PRIu32, size);
        REQUIRE(schedule_pairwise_figures(&request, &figures) == MUSTER_OK);
        REQUIRE(figures.phases == size - 1 && figures.rank_messages == size - 1 &&
                    figures.rank_blocks == size - 1,
                "%" PRIu32, size);
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1)
        largest = (uint32_t)strtoul(argv[1], NULL, 10);
    Suite *suite = suite_create("alltoall schedules");
    TCase *tests = tcase_create("alltoall");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, every_schedule_is_right, 0, WAYS);
    tcase_add_loop_test(tests, figures_are_what_is_counted, 0, WAYS);
    tcase_add_test(tests, few_messages_or_few_bytes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
