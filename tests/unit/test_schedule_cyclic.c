/*
 * The cyclic family: every schedule of the small teams by the symbolic validator, and its figures
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
static const operation_t operations[] = {OPERATION_BARRIER, OPERATION_ALLGATHER};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))

static const radix_sequence_t sequences[] = {
    {.count = 0},
    {.factors = {3}, .count = 1},
    {.factors = {7}, .count = 1},
    {.factors = {65535}, .count = 1},
    {.factors = {4, 2, 3}, .count = 3},
};
#define SEQUENCES (sizeof sequences / sizeof *sequences)

/* C402, C407, C421, by symbols */
START_TEST(every_schedule_is_right)
{
    uint64_t checked = 0;
    for (uint32_t size = 1; size <= largest; size++) {
        for (unsigned variant = 0; variant < 4 * SEQUENCES; variant++) {
            schedule_request_t request = {.operation = operations[_i],
                                          .size = size,
                                          .arity = 2,
                                          .radix = sequences[variant / 4],
                                          .in_place = variant % 2,
                                          .uniform = variant / 2 % 2};
            schedule_team_build(&team, schedule_cyclic, request);
            REQUIRE(schedule_team_check(&team) == MUSTER_OK,
                    "%" PRIu32 " ranks, sequence %u, in place %d, uniform %d: %s", size,
                    variant / 4, request.in_place, request.uniform, team.why);
            checked++;
        }
    }
    printf("cyclic, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)operations[_i]), checked, largest);
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
            schedule_request_t request = {.operation = operations[_i],
                                          .size = sizes[i],
                                          .arity = 2,
                                          .radix = sequences[variant / 2 % SEQUENCES],
                                          .uniform = variant % 2};
            request.hosts =
                schedule_reference_hosts(variant / 2 / SEQUENCES, sizes[i], &hosts, first);
            if (sizes[i] >= 1000 && request.radix.factors[0] > 1000)
                continue; /* everybody to everybody: a million messages, the same as at 256 */
            ck_assert(schedule_reference_compare(&team, SCHEDULE_FAMILY_CYCLIC, request));
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* C612: every team, ceil(log) rounds, (P-1) blocks from each rank, no extras. */
START_TEST(every_size_takes_a_logarithm)
{
    static schedule_figures_t figures;
    for (uint32_t size = 2; size <= 1024; size++) {
        for (uint16_t radix = 2; radix <= 9; radix++) {
            schedule_request_t request = {
                .operation = OPERATION_ALLGATHER, .size = size, .arity = 2};
            request.radix = (radix_sequence_t){.factors = {radix}, .count = 1};
            uint64_t rounds = 0;
            for (uint64_t power = 1; power < size; power *= radix)
                rounds++;
            REQUIRE(schedule_cyclic_figures(&request, &figures) == MUSTER_OK);
            REQUIRE(figures.phases == rounds && figures.rank_blocks == size - 1 &&
                        figures.blocks == (uint64_t)size * (size - 1),
                    "%" PRIu32 " ranks, radix %u: %" PRIu64 " rounds, %" PRIu64 " blocks", size,
                    radix, figures.phases, figures.rank_blocks);
        }
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1)
        largest = (uint32_t)strtoul(argv[1], NULL, 10);
    Suite *suite = suite_create("cyclic schedules");
    TCase *tests = tcase_create("cyclic");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, every_schedule_is_right, 0, OPERATIONS);
    tcase_add_loop_test(tests, figures_are_what_is_counted, 0, OPERATIONS);
    tcase_add_test(tests, every_size_takes_a_logarithm);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
