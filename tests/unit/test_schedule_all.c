/*
 * Every schedule of the small teams, by the symbolic validator: both families, all operations, all
 * arities, roots, in place and not, both outcomes. Also the totals in closed form, up to 1,024
 * ranks.
 *
 * MUSTER_SCHEDULE_SIZE, or the first argument, is the largest team (24; a long run takes 64).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/require.h"
#include "unit/schedule_team.h"

static uint32_t largest = 24;
static uint64_t checked;
static schedule_team_t team;

static void check_one(schedule_builder_t builder, const char *family, schedule_request_t request)
{
    schedule_team_build(&team, builder, request);
    muster_status_t status = schedule_team_check(&team);
    REQUIRE(status == MUSTER_OK,
            "%s, %" PRIu32 " ranks, arity %" PRIu32 ", root %" PRIu32
            ", in place %d, initial %d, uniform %d, small %d: %s",
            family, request.size, request.arity, request.root, request.in_place, request.initial,
            request.uniform, request.small, team.why);
    schedule_totals_t counted = schedule_team_count(&team);
    schedule_totals_t totals = builder == schedule_tree    ? schedule_tree_totals(&request)
                               : builder == schedule_chain ? schedule_chain_totals(&request)
                                                           : schedule_direct_totals(&request);
    REQUIRE(counted.messages == totals.messages && counted.blocks == totals.blocks,
            "%s of %s, %" PRIu32 " ranks, arity %" PRIu32 ", root %" PRIu32 ": %" PRIu64
            " messages and %" PRIu64 " blocks, in closed form %" PRIu64 " and %" PRIu64,
            family, operation_name((uint8_t)request.operation), request.size, request.arity,
            request.root, counted.messages, counted.blocks, totals.messages, totals.blocks);
    checked++;
}

/* One operation, size, arity and root: outcomes, in place and not, with an initial value or not. */
static void check_variants(schedule_builder_t builder, const char *family,
                           schedule_request_t request)
{
    for (unsigned outcome = 0; outcome < 3; outcome++) {
        request.uniform = outcome > 0;
        request.small = outcome > 1;
        for (unsigned in_place = 0; in_place < 2; in_place++) {
            request.in_place = in_place;
            if (in_place &&
                !schedule_may_be_in_place(request.operation, request.root, request.root))
                continue;
            for (unsigned initial = 0; initial <= (request.operation == OPERATION_EXSCAN);
                 initial++) {
                request.initial = initial;
                check_one(builder, family, request);
            }
        }
    }
}

/* Every root of small teams; of large ones the ends, the middle and their neighbours. */
static bool takes_root(uint32_t size, uint32_t root)
{
    return size <= 24 || root < 3 || root + 3 >= size || (root >= size / 2 && root < size / 2 + 3);
}

static void check_operation(operation_t operation)
{
    for (uint32_t size = 1; size <= largest; size++) {
        for (uint32_t arity = 2; arity <= 9; arity++) {
            if (arity > 2 && arity > size)
                break; /* the same star as before */
            for (uint32_t root = 0; root < (operation_is_rooted(operation) ? size : 1); root++)
                if (takes_root(size, root))
                    check_variants(
                        schedule_tree, "tree",
                        (schedule_request_t){
                            .operation = operation, .size = size, .arity = arity, .root = root});
        }
        if (size > 9) /* and as a star */
            for (uint32_t root = 0; root < (operation_is_rooted(operation) ? size : 1); root++)
                if (takes_root(size, root))
                    check_variants(
                        schedule_tree, "tree",
                        (schedule_request_t){
                            .operation = operation, .size = size, .arity = size, .root = root});
    }
}

/* C313, C401, C402, C403, C404, C405, C407, C408, C411, C415, C416, C421, by symbols */
START_TEST(every_tree_is_right)
{
    check_operation((operation_t)_i);
    printf("tree, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)_i), checked, largest);
    schedule_team_free(&team);
}
END_TEST

static void check_family(schedule_builder_t builder, const char *family)
{
    for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
        for (uint32_t size = 1; size <= largest; size++) {
            schedule_request_t request = {
                .operation = (operation_t)operation, .size = size, .arity = 2};
            schedule_t schedule = {0};
            if (builder(&request, &schedule) == MUSTER_NOT_SUPPORTED)
                continue;
            check_variants(builder, family, request);
        }
    }
    printf("%s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n", family, checked,
           largest);
    schedule_team_free(&team);
}

START_TEST(every_direct_schedule_is_right)
{
    check_family(schedule_direct, "direct");
}
END_TEST

/* C407, C421, by symbols */
START_TEST(every_chain_is_right)
{
    check_family(schedule_chain, "chain");
}
END_TEST

/* Messages and blocks in closed form are those that are counted, up to 1,024 ranks. */
START_TEST(totals_are_what_is_counted)
{
    static const uint32_t sizes[] = {1,  2,  3,   5,   7,   10,  16,  17,  31,   48,
                                     64, 96, 100, 127, 243, 256, 511, 768, 1000, 1024};
    static const uint32_t arities[] = {2, 3, 4, 7, 8, 16, 32, 100, 1024};
    uint64_t compared = 0;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned j = 0; j < sizeof arities / sizeof *arities; j++) {
            for (unsigned variant = 0; variant < 6; variant++) {
                schedule_request_t request = {.operation = (operation_t)_i,
                                              .size = sizes[i],
                                              .arity = arities[j],
                                              .uniform = variant % 3 > 0,
                                              .small = variant % 3 > 1};
                if (variant >= 3 && operation_is_rooted(request.operation))
                    request.root = request.size / 3;
                schedule_totals_t counted = schedule_team_enumerate(&team, schedule_tree, request);
                schedule_totals_t totals = schedule_tree_totals(&request);
                REQUIRE(counted.messages == totals.messages && counted.blocks == totals.blocks,
                        "%s, %" PRIu32 " ranks, arity %" PRIu32 ": %" PRIu64
                        " messages and %" PRIu64 " blocks, in closed form %" PRIu64 " and %" PRIu64,
                        operation_name((uint8_t)_i), request.size, request.arity, counted.messages,
                        counted.blocks, totals.messages, totals.blocks);
                compared++;
            }
        }
    }
    printf("totals, %s: %" PRIu64 " compared\n", operation_name((uint8_t)_i), compared);
    schedule_team_free(&team);
}
END_TEST

static void compare_totals(schedule_builder_t builder,
                           schedule_totals_t (*closed)(const schedule_request_t *request))
{
    static const uint32_t sizes[] = {1, 2, 3, 8, 17, 96, 256, 1000, 1024};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
            for (unsigned uniform = 0; uniform < 2; uniform++) {
                schedule_request_t request = {.operation = (operation_t)operation,
                                              .size = sizes[i],
                                              .arity = 2,
                                              .uniform = uniform};
                schedule_t schedule = {0};
                if (builder(&request, &schedule) == MUSTER_NOT_SUPPORTED)
                    continue;
                schedule_totals_t counted = schedule_team_enumerate(&team, builder, request);
                schedule_totals_t totals = closed(&request);
                REQUIRE(counted.messages == totals.messages && counted.blocks == totals.blocks);
            }
        }
    }
    schedule_team_free(&team);
}

START_TEST(direct_totals_are_what_is_counted)
{
    compare_totals(schedule_direct, schedule_direct_totals);
}
END_TEST

START_TEST(chain_totals_are_what_is_counted)
{
    compare_totals(schedule_chain, schedule_chain_totals);
}
END_TEST

int main(int argc, char **argv)
{
    const char *given = argc > 1 ? argv[1] : getenv("MUSTER_SCHEDULE_SIZE");
    if (given != NULL && atoi(given) > 0)
        largest = (uint32_t)atoi(given);
    Suite *suite = suite_create("schedule_all");
    TCase *tests = tcase_create("schedule_all");
    tcase_set_timeout(tests, largest > 24 ? 7200 : 100);
    tcase_add_loop_test(tests, every_tree_is_right, 0, OPERATION_COUNT);
    tcase_add_test(tests, every_direct_schedule_is_right);
    tcase_add_test(tests, every_chain_is_right);
    tcase_add_loop_test(tests, totals_are_what_is_counted, 0, OPERATION_COUNT);
    tcase_add_test(tests, direct_totals_are_what_is_counted);
    tcase_add_test(tests, chain_totals_are_what_is_counted);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
