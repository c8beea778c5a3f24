/*
 * The split family by the symbolic validator: exact sequences and fixed radices, near and far
 * first, every root of small teams, in place and not, both outcomes, commutative and not; and its
 * figures.
 *
 * MUSTER_SCHEDULE_SIZE, or the first argument, is the largest team (40; a long run takes 130).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/radix_choice.h"
#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static uint64_t checked;
static schedule_team_t team;

static const operation_t supported[] = {OPERATION_BROADCAST, OPERATION_REDUCE, OPERATION_ALLREDUCE};
#define SUPPORTED (sizeof supported / sizeof *supported)

static const char *sequence_text(const radix_sequence_t *sequence)
{
    static char line[256];
    text_t text = text_over(line, sizeof line);
    radix_sequence_print(sequence, &text);
    return line;
}

static void check_one(schedule_request_t request)
{
    schedule_team_build(&team, schedule_split, request);
    muster_status_t status = schedule_team_check(&team);
    REQUIRE(status == MUSTER_OK,
            "%" PRIu32 " ranks, root %" PRIu32 ", radix %s, in place %d, uniform %d, "
            "commutative %d: %s",
            request.size, request.root, sequence_text(&request.radix), request.in_place,
            request.uniform, request.commutative, team.why);
    checked++;
}

static void check_variants(schedule_request_t request)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        request.in_place = variant % 2 > 0;
        request.uniform = variant / 2 % 2 > 0;
        request.commutative = variant / 4 > 0;
        if (request.operation == OPERATION_BROADCAST && (request.in_place || request.commutative))
            continue;
        schedule_t schedule = {0};
        bool one_phase = request.radix.count == 1 && request.size < 2u * request.radix.factors[0];
        bool ordered = request.commutative || request.operation == OPERATION_BROADCAST ||
                       !request.radix.far || one_phase;
        muster_status_t status = schedule_split(&request, &schedule);
        REQUIRE(status == MUSTER_OK || (status == MUSTER_NOT_SUPPORTED && !ordered));
        if (status == MUSTER_OK)
            check_one(request);
    }
}

/* Every root of small teams; of larger ones the ends, some in the middle, and extras. */
static void check_roots(schedule_request_t request)
{
    uint32_t roots = operation_is_rooted(request.operation) ? request.size : 1;
    for (request.root = 0; request.root < roots; request.root++)
        if (roots <= 13 || request.root < 4 || request.root + 2 >= roots ||
            request.root / 2 == roots / 4)
            check_variants(request);
}

/* Every way to write rest as a product, behind the factors that the request has. */
static void check_exact(schedule_request_t request, uint32_t rest)
{
    if (rest == 1) {
        for (unsigned far = 0; far < 2; far++) {
            request.radix.far = far;
            check_roots(request);
        }
        return;
    }
    for (uint32_t factor = 2; factor <= rest; factor++) {
        if (rest % factor != 0)
            continue;
        schedule_request_t longer = request;
        longer.radix.factors[longer.radix.count++] = (uint16_t)factor;
        check_exact(longer, rest / factor);
    }
}

/* C402, C405, C406, C420, C421, by symbols */
START_TEST(every_sequence_is_right)
{
    for (uint32_t size = 1; size <= largest; size++) {
        schedule_request_t request = {.operation = supported[_i], .size = size};
        for (uint32_t radix = 2; radix <= 9 && (radix == 2 || radix <= size); radix++) {
            for (unsigned far = 0; far < 2; far++) {
                request.radix =
                    (radix_sequence_t){.factors = {(uint16_t)radix}, .count = 1, .far = far > 0};
                check_roots(request);
            }
        }
        request.radix = (radix_sequence_t){.count = 0};
        if (size > 1)
            check_exact(request, size);
    }
    printf("split, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)supported[_i]), checked, largest);
    schedule_team_free(&team);
}
END_TEST

/* C601, C608: a product that is not the size is nothing for the team. */
START_TEST(other_products_are_refused)
{
    schedule_t schedule = {0};
    for (unsigned i = 0; i < SUPPORTED; i++) {
        schedule_request_t request = {
            .operation = supported[i], .size = 48, .radix = {.factors = {8, 7}, .count = 2}};
        ck_assert_int_eq(schedule_split(&request, &schedule), MUSTER_NOT_SUPPORTED);
        request.radix.factors[1] = 6;
        ck_assert_int_eq(schedule_split(&request, &schedule), MUSTER_OK);
        request.radix.count = 0;
        ck_assert_int_eq(schedule_split(&request, &schedule), MUSTER_NOT_SUPPORTED);
    }
}
END_TEST

/* A broadcast and an allreduce take little more than the vector twice, from every rank. */
START_TEST(nobody_sends_much_more_than_twice)
{
    static const radix_sequence_t sequences[] = {{.factors = {8, 12}, .count = 2},
                                                 {.factors = {4, 4, 6}, .count = 3, .far = true}};
    for (unsigned i = 0; i < 2 * SUPPORTED; i++) {
        schedule_request_t request = {.operation = supported[i / 2],
                                      .size = 96,
                                      .commutative = true,
                                      .radix = sequences[i % 2]};
        schedule_team_build(&team, schedule_split, request);
        uint64_t most = 0;
        for (uint32_t rank = 0; rank < request.size; rank++) {
            ck_assert_uint_eq(team.schedules[rank].pieces, 96);
            uint64_t blocks = schedule_count(&team.schedules[rank]).blocks;
            most = blocks > most ? blocks : most;
        }
        ck_assert_uint_le(most, 2 * 95);
    }
    schedule_team_free(&team);
}
END_TEST

/* ---- Figures --------------------------------------------------------------------------------- */

/* One or two of the layouts, others each time. */
static void compare_figures(schedule_request_t request)
{
    static uint32_t first[1025];
    static unsigned turn;
    for (unsigned i = 0; i < (request.size <= 40 ? 2 : 1); i++, turn++) {
        schedule_hosts_t hosts;
        request.hosts =
            schedule_reference_hosts(turn % SCHEDULE_LAYOUTS, request.size, &hosts, first);
        request.uniform = turn % 4 > 1;
        request.in_place = turn % 5 > 2;
        request.root = operation_is_rooted(request.operation) ? turn * turn % 7 % request.size : 0;
        (void)schedule_reference_compare(&team, SCHEDULE_FAMILY_SPLIT, request);
    }
}

static void compare_sequences(schedule_request_t request, const uint16_t *fixed, size_t count)
{
    static const uint16_t allowed[] = {7, 2, 3, 5, 4, 11, 13, 17, 19, 23, 29, 31};
    for (unsigned far = 0; far < 2; far++) {
        for (size_t i = 0; i < count; i++) {
            request.radix = (radix_sequence_t){.factors = {fixed[i]}, .count = 1, .far = far > 0};
            compare_figures(request);
        }
        request.radix = (radix_sequence_t){.count = 0};
        (void)radix_decompose(request.size, allowed, sizeof allowed / sizeof *allowed,
                              &request.radix);
        request.radix.far = far > 0;
        compare_figures(request);
    }
}

/* C615 */
START_TEST(figures_are_what_is_counted)
{
    static const uint32_t sizes[] = {255, 360, 511, 768, 1000, 1023, 1024};
    static const uint16_t fixed[] = {2, 3, 4, 5, 8, 12, 65535};
    schedule_request_t request = {.operation = supported[_i], .commutative = true};
    for (request.size = 1; request.size <= 130; request.size++)
        compare_sequences(request, fixed, sizeof fixed / sizeof *fixed);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        request.size = sizes[i];
        compare_sequences(request, fixed + i % 4, 3);
    }
    schedule_team_free(&team);
}
END_TEST

START_TEST(rounds_are_the_critical_path)
{
    static schedule_figures_t figures;
    for (uint32_t size = 1; size <= 40; size++) {
        for (unsigned variant = 0; variant < 16; variant++) {
            schedule_request_t request = {.operation = supported[_i],
                                          .size = size,
                                          .root = _i < 2 ? variant * 5 % size : 0,
                                          .commutative = true,
                                          .uniform = variant % 2 > 0,
                                          .radix = {.factors = {(uint16_t)(2 + variant / 4)},
                                                    .count = 1,
                                                    .far = variant / 2 % 2 > 0}};
            ck_assert_int_eq(schedule_split_figures(&request, &figures), MUSTER_OK);
            schedule_team_build(&team, schedule_split, request);
            uint64_t path = schedule_reference_path(&team);
            REQUIRE(path == figures.phases, "%u ranks, radix %u: %u, figures %u", size,
                    request.radix.factors[0], (unsigned)path, (unsigned)figures.phases);
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* A million ranks, or one less: without memory, and in time. */
START_TEST(figures_reach_a_million_ranks)
{
    static const radix_sequence_t sequences[] = {{.factors = {2}, .count = 1},
                                                 {.factors = {3}, .count = 1, .far = true},
                                                 {.factors = {1024, 1024}, .count = 2}};
    static schedule_figures_t figures;
    static uint32_t first[(1U << 17) + 1];
    for (unsigned i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        uint32_t size = (1U << 20) - (sequences[i].count == 1);
        for (uint32_t host = 0; host < 1U << 17; host++)
            first[host] = host * 8;
        first[1U << 17] = size;
        const schedule_hosts_t hosts = {.count = 1U << 17, .first = first};
        schedule_request_t request = {.operation = supported[_i],
                                      .size = size,
                                      .root = _i < 2 ? size / 3 : 0,
                                      .commutative = true,
                                      .uniform = true,
                                      .radix = sequences[i],
                                      .hosts = &hosts};
        ck_assert_int_eq(schedule_split_figures(&request, &figures), MUSTER_OK);
        ck_assert_uint_ge(figures.messages, size - 1);
    }
}
END_TEST

int main(int argc, char **argv)
{
    const char *given = argc > 1 ? argv[1] : getenv("MUSTER_SCHEDULE_SIZE");
    if (given != NULL && atoi(given) > 0)
        largest = (uint32_t)atoi(given);
    Suite *suite = suite_create("schedule_split");
    TCase *tests = tcase_create("schedule_split");
    TCase *figures = tcase_create("figures");
    tcase_set_timeout(tests, largest > 40 ? 7200 : 100);
    tcase_set_timeout(figures, 100);
    tcase_add_loop_test(tests, every_sequence_is_right, 0, SUPPORTED);
    tcase_add_test(tests, other_products_are_refused);
    tcase_add_test(tests, nobody_sends_much_more_than_twice);
    tcase_add_loop_test(figures, figures_are_what_is_counted, 0, SUPPORTED);
    tcase_add_loop_test(figures, rounds_are_the_critical_path, 0, SUPPORTED);
    tcase_add_loop_test(figures, figures_reach_a_million_ranks, 0, SUPPORTED);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, figures);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
