/*
 * The hosts family: every schedule of the small teams, on hosts of many mixes of sizes, by the
 * symbolic validator, and its figures against enumeration. The first argument is the largest team
 * (40; a long run takes 130).
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
static schedule_figures_t figures;
static const operation_t operations[] = {OPERATION_BARRIER,   OPERATION_BROADCAST,
                                         OPERATION_REDUCE,    OPERATION_ALLREDUCE,
                                         OPERATION_ALLGATHER, OPERATION_ALLGATHERV};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))

/* ---- Layouts --------------------------------------------------------------------------------- */

static uint32_t first[1200];
static schedule_hosts_t hosts;

/* Hosts of these sizes in turn, which end with 0; the last one is cut. */
static void lay_out(uint32_t size, const uint32_t *sizes)
{
    uint32_t count = 0, next = 0;
    for (uint32_t left = 0; left < size; left += sizes[next++]) {
        if (sizes[next] == 0)
            next = 0;
        first[count++] = left;
    }
    first[count] = size;
    hosts = (schedule_hosts_t){.count = count, .first = first};
}

static const uint32_t mixes[][6] = {
    {7, 8}, {8}, {1}, {2}, {3}, {1, 2, 3, 4, 5}, {4, 1}, {1, 4}, {5, 2, 1}, {1, 9}, {13, 3, 1, 1}};
#define MIXES (sizeof mixes / sizeof *mixes)

static const radix_sequence_t radices[] = {{.count = 0},
                                           {.count = 0, .far = true},
                                           {.count = 1, .factors = {3}},
                                           {.count = 2, .factors = {4, 3}},
                                           {.count = 2, .factors = {2, 65535}},
                                           {.count = 1, .factors = {65535}, .far = true}};
#define RADICES (sizeof radices / sizeof *radices)

/* ---- Validation ------------------------------------------------------------------------------ */

static void check_one(schedule_request_t request)
{
    schedule_team_build(&team, schedule_hosts, request);
    REQUIRE(schedule_team_check(&team) == MUSTER_OK,
            "%" PRIu32 " ranks, hosts of %" PRIu32 ", %" PRIu32
            " ..., radix %u far %d, root %" PRIu32
            ", in place %d, uniform %d, small %d, commutative %d: %s",
            request.size, first[1], first[2] - first[1], request.radix.factors[0],
            request.radix.far, request.root, request.in_place, request.uniform, request.small,
            request.commutative, team.why);
    REQUIRE(schedule_hosts_figures(&request, &figures) == MUSTER_OK);
    schedule_totals_t counted = schedule_team_count(&team);
    REQUIRE(counted.messages == figures.messages && counted.blocks == figures.blocks);
    REQUIRE(schedule_reference_path(&team) <= figures.phases);
    checked++;
}

static void check_variants(schedule_request_t request)
{
    for (unsigned variant = 0; variant < 12; variant++) {
        request.uniform = variant % 3 > 0;
        request.small = variant % 3 > 1;
        request.in_place = variant / 3 % 2;
        request.commutative = variant / 6;
        if (request.commutative && !operation_is_reducing(request.operation))
            continue;
        if (request.in_place &&
            !schedule_may_be_in_place(request.operation, request.root, request.root))
            continue;
        check_one(request);
    }
}

static void check_roots(schedule_request_t request)
{
    uint32_t roots = operation_is_rooted(request.operation) ? request.size : 1;
    for (request.root = 0; request.root < roots; request.root++)
        if (request.size <= 8 || request.root % 7 == 0 || request.root + 1 == request.size)
            check_variants(request);
}

/* C313, C401, C402, C403, C406, C420, C421, by symbols; hosts of 7 and 8 ranks, and of any mix */
START_TEST(every_schedule_is_right)
{
    schedule_request_t request = {.operation = operations[_i], .arity = 2, .hosts = &hosts};
    for (request.size = 2; request.size <= largest; request.size++) {
        for (unsigned mix = 0; mix < MIXES; mix++) {
            lay_out(request.size, mixes[mix]);
            for (unsigned i = 0; hosts.count > 1 && i < RADICES; i++) {
                request.radix = radices[i];
                if (request.size < 13 || (request.size + mix + i) % 5 == 0)
                    check_roots(request);
            }
        }
    }
    printf("hosts, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)request.operation), checked, largest);
    schedule_team_free(&team);
}
END_TEST

START_TEST(one_host_is_not_supported)
{
    schedule_request_t request = {.operation = OPERATION_BARRIER, .size = 8, .arity = 2};
    schedule_t schedule = {0};
    ck_assert_int_eq(schedule_hosts(&request, &schedule), MUSTER_NOT_SUPPORTED);
    ck_assert_int_eq(schedule_hosts_figures(&request, &figures), MUSTER_NOT_SUPPORTED);
    lay_out(8, mixes[1]);
    request.hosts = &hosts;
    ck_assert_int_eq(schedule_hosts(&request, &schedule), MUSTER_NOT_SUPPORTED);
    ck_assert_int_eq(schedule_hosts_figures(&request, &figures), MUSTER_NOT_SUPPORTED);
}
END_TEST

/* ---- Figures --------------------------------------------------------------------------------- */

static void compare_variants(schedule_request_t request)
{
    const uint32_t roots[] = {0, request.size / 3, request.size - 1};
    for (unsigned variant = 0; variant < 6; variant++) {
        request.uniform = variant % 3 > 0;
        request.small = variant % 3 > 1;
        request.commutative = variant / 3;
        for (unsigned i = 0; i < (operation_is_rooted(request.operation) ? 3 : 1); i++) {
            request.root = roots[i];
            REQUIRE(schedule_reference_compare(&team, SCHEDULE_FAMILY_HOSTS, request) ==
                    (hosts.count > 1));
        }
    }
}

START_TEST(figures_are_what_is_counted)
{
    static const uint32_t sizes[] = {96, 180, 500, 1000, 1024};
    schedule_request_t request = {.operation = operations[_i], .arity = 2, .hosts = &hosts};
    for (request.size = 2; request.size <= largest; request.size++)
        for (unsigned mix = 0; mix < MIXES; mix++)
            for (unsigned i = (request.size + mix) % 2; i < RADICES; i += 2) {
                lay_out(request.size, mixes[mix]);
                request.radix = radices[i];
                compare_variants(request);
            }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes * MIXES; i++) {
        request.size = sizes[i / MIXES];
        request.radix = radices[i % RADICES];
        lay_out(request.size, mixes[i % MIXES]);
        compare_variants(request);
    }
    schedule_team_free(&team);
}
END_TEST

/* On even hosts, rounds are the critical path. */
START_TEST(rounds_are_the_critical_path)
{
    schedule_request_t request = {.operation = operations[_i], .arity = 2, .hosts = &hosts};
    static const uint32_t sizes[][2] = {{2, 1}, {6, 3}, {8, 4}, {24, 8}, {35, 7}, {48, 8}, {96, 8}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes * RADICES; i++) {
        const uint32_t each[] = {sizes[i / RADICES][1], 0};
        request.size = sizes[i / RADICES][0];
        lay_out(request.size, each);
        request.radix = radices[i % RADICES];
        request.uniform = i % 2;
        schedule_team_build(&team, schedule_hosts, request);
        REQUIRE(schedule_hosts_figures(&request, &figures) == MUSTER_OK);
        REQUIRE(schedule_reference_path(&team) == figures.phases, "%u ranks, radix %u: %u, %u",
                request.size, request.radix.factors[0], (unsigned)schedule_reference_path(&team),
                (unsigned)figures.phases);
    }
    schedule_team_free(&team);
}
END_TEST

/* C613: 12 hosts of 8, far first, carry 1,056m between them, as 12x8@far does; so do leaders */
START_TEST(blocks_enter_each_host_once)
{
    schedule_request_t request = {
        .operation = OPERATION_ALLGATHER, .size = 96, .arity = 2, .hosts = &hosts};
    lay_out(96, mixes[1]);
    ck_assert_uint_eq(hosts.count, 12);
    for (unsigned far = 0; far < 2; far++) {
        request.radix.far = far;
        schedule_reference_t counted = schedule_reference_count(&team, schedule_hosts, request);
        ck_assert_uint_eq(counted.blocks_between, 1056);
        ck_assert_uint_eq(counted.messages_between, far ? 96 * 11 : 12 * 11);
        ck_assert_int_eq(schedule_hosts_figures(&request, &figures), MUSTER_OK);
        ck_assert_uint_eq(figures.blocks_between, 1056);
    }
    ck_assert_uint_eq(figures.phases, 2);
    ck_assert_uint_eq(figures.rank_messages, 18); /* 11 + 7, as 12x8 has */
    ck_assert_uint_eq(figures.rank_blocks, 95);
    /* Uneven hosts: 7 and 8 ranks in turn. */
    request.size = 90;
    lay_out(90, mixes[0]);
    ck_assert_uint_eq(hosts.count, 12);
    for (unsigned far = 0; far < 2; far++) {
        request.radix.far = far;
        schedule_reference_t counted = schedule_reference_count(&team, schedule_hosts, request);
        ck_assert_uint_eq(counted.blocks_between, 11 * 90);
    }
    schedule_team_free(&team);
}
END_TEST

/* A host sends no more of a vector than it must: 2 * (H - 1) / H of it. */
START_TEST(slices_carry_a_vector_once_each_way)
{
    schedule_request_t request = {.operation = OPERATION_ALLREDUCE,
                                  .size = 90,
                                  .arity = 2,
                                  .radix = {.far = true},
                                  .hosts = &hosts};
    lay_out(90, mixes[0]);
    schedule_reference_t counted = schedule_reference_count(&team, schedule_hosts, request);
    ck_assert_uint_eq(counted.pieces, 7 * 12);
    ck_assert_uint_eq(counted.host_blocks_between, 2 * 7 * 11);
    ck_assert_uint_eq(counted.blocks_between, 2 * 7 * 11 * 12);
    schedule_team_free(&team);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        largest = (uint32_t)atoi(argv[1]);
    Suite *suite = suite_create("schedule_hosts");
    TCase *tests = tcase_create("schedule_hosts");
    tcase_set_timeout(tests, largest > 40 ? 7200 : 100);
    tcase_add_loop_test(tests, every_schedule_is_right, 0, OPERATIONS);
    tcase_add_test(tests, one_host_is_not_supported);
    tcase_add_loop_test(tests, figures_are_what_is_counted, 0, OPERATIONS);
    tcase_add_loop_test(tests, rounds_are_the_critical_path, 0, OPERATIONS);
    tcase_add_test(tests, blocks_enter_each_host_once);
    tcase_add_test(tests, slices_carry_a_vector_once_each_way);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
