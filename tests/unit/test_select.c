/* The cost model and the choice: published picks, the order that networks show, every team size. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/radix_text.h"
#include "core/select.h"
#include "unit/require.h"

static select_candidate_t candidates[SELECT_PLANS_MAX];

static schedule_request_t gather_request(uint32_t size)
{
    return (schedule_request_t){
        .operation = OPERATION_ALLGATHER, .size = size, .arity = size, .commutative = true};
}

static radix_sequence_t sequence_of(const char *text)
{
    radix_table_t table;
    ck_assert_int_eq(radix_table_parse(text, strlen(text), &table, NULL), MUSTER_OK);
    return table.entries[0].value.sequence;
}

/* ps of an allgather along a sequence. */
static uint64_t cost_of(const char *text, uint32_t size, uint64_t bytes,
                        const select_parameters_t *parameters)
{
    static schedule_figures_t figures;
    schedule_request_t request = gather_request(size);
    request.radix = sequence_of(text);
    ck_assert_int_eq(schedule_radix_figures(&request, &figures), MUSTER_OK);
    return select_cost(&figures, parameters, size, 1, bytes);
}

/* C611: without measured parameters, one host, the published sequences. */
START_TEST(published_picks)
{
    static const struct {
        uint32_t size;
        uint64_t bytes; /* a rank */
        const char *picked;
    } rows[] = {{48, 64, "8x6"},      {60, 4096, "4x5x3"},          {72, 65536, "8x9"},
                {96, 64, "4x4x6"},    {96, 65536, "4x4x6"},         {128, 1024, "8x4x4"},
                {35, 1 << 20, "7x5"}, {96, 12 << 20, "2x2x2x2x2x3"}};
    select_parameters_t parameters = select_builtin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        schedule_request_t request = gather_request(rows[i].size);
        select_plan_t plan;
        char bytes[128];
        text_t text = text_over(bytes, sizeof bytes);
        ck_assert_int_eq(select_choose(&request, &parameters, NULL, rows[i].bytes, &plan),
                         MUSTER_OK);
        radix_sequence_print(&plan.radix, &text);
        ck_assert_str_eq(bytes, rows[i].picked);
    }
    schedule_request_t request = gather_request(11);
    select_plan_t plan;
    ck_assert_int_eq(select_choose(&request, &parameters, NULL, 65536, &plan), MUSTER_OK);
    ck_assert(plan.family != SCHEDULE_FAMILY_RADIX || plan.radix.count < 2);
}
END_TEST

/* Exact sequences against fixed radices, 96 ranks on a flat network. */
START_TEST(exact_sequences_are_ahead)
{
    static const char *const exact[] = {"4x4x6", "2x2x2x2x2x3", "8x3x4", "8x12"};
    static const char *const fixed[] = {"2", "4", "8", "3"};
    select_parameters_t parameters = select_builtin();
    for (uint64_t bytes = 65536; bytes <= 1 << 24; bytes *= 4) {
        uint64_t best = UINT64_MAX, best_fixed = UINT64_MAX, costs[4];
        for (size_t i = 0; i < 4; i++) {
            uint64_t cost = cost_of(exact[i], 96, bytes, &parameters);
            best = cost < best ? cost : best;
            costs[i] = cost_of(fixed[i], 96, bytes, &parameters);
            best_fixed = costs[i] < best_fixed ? costs[i] : best_fixed;
        }
        REQUIRE(best_fixed * 10 >= best * 18, "%" PRIu64 " bytes: %" PRIu64 " and %" PRIu64, bytes,
                best, best_fixed);
        for (size_t i = 0; i < 3; i++)
            REQUIRE(costs[i] * 100 <= best_fixed * 101 && costs[3] > costs[i],
                    "%" PRIu64 " bytes, radix %s", bytes, fixed[i]);
    }
    /* A network whose messages cost little to send beside their way. */
    parameters.inside = (select_link_t){.latency = 1280000, .message = 187000, .byte = 0};
    uint64_t few = cost_of("4x4x6", 96, 64, &parameters);
    uint64_t many = cost_of("2x2x2x2x2x3", 96, 64, &parameters);
    ck_assert_uint_gt(many * 10, few * 14);
    ck_assert_uint_ge(cost_of("8x12", 96, 64, &parameters), few);
    parameters.inside.message = 0;
    ck_assert_uint_lt(cost_of("8x12", 96, 64, &parameters), cost_of("4x4x6", 96, 64, &parameters));
}
END_TEST

static uint32_t logarithm(uint32_t size)
{
    uint32_t rounds = 0;
    for (uint64_t power = 1; power < size; power *= 2)
        rounds++;
    return rounds;
}

/* C612: every team has a schedule without extras; never more rounds than log2 where those count. */
START_TEST(every_team_has_a_schedule)
{
    static schedule_figures_t figures;
    select_parameters_t parameters = select_builtin();
    parameters.measured = true;
    for (uint32_t size = 2; size <= 1024; size++) {
        schedule_request_t request = gather_request(size);
        select_plan_t plan;
        for (uint64_t bytes = 8; bytes <= 1 << 20; bytes <<= 17) {
            ck_assert_int_eq(select_choose(&request, &parameters, NULL, bytes, &plan), MUSTER_OK);
            schedule_request_t chosen = request;
            select_apply(&plan, &chosen);
            REQUIRE(schedule_family_figures(plan.family)(&chosen, &figures) == MUSTER_OK);
            REQUIRE(bytes == 8 || figures.rank_blocks == size - 1, "%" PRIu32 " ranks: %" PRIu64,
                    size, figures.rank_blocks);
            REQUIRE(bytes > 8 || figures.phases <= logarithm(size), "%" PRIu32 " ranks: %" PRIu64,
                    size, figures.phases);
        }
    }
}
END_TEST

/* Primes are no worse than their neighbours, by more than 15 % in bytes or time. */
START_TEST(primes_do_not_pay)
{
    static schedule_figures_t prime, neighbour;
    static const uint32_t pairs[][2] = {{97, 96}, {101, 100}, {127, 128}};
    select_parameters_t parameters = select_builtin();
    parameters.measured = true;
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t bytes = 8; bytes <= 1 << 20; bytes <<= 17) {
            schedule_figures_t *of[2] = {&prime, &neighbour};
            uint64_t cost[2];
            for (int which = 0; which < 2; which++) {
                schedule_request_t request = gather_request(pairs[i][which]);
                select_plan_t plan;
                ck_assert_int_eq(select_choose(&request, &parameters, NULL, bytes, &plan),
                                 MUSTER_OK);
                select_apply(&plan, &request);
                schedule_family_figures(plan.family)(&request, of[which]);
                cost[which] = select_cost(of[which], &parameters, request.size, 1, bytes);
            }
            REQUIRE(prime.rank_blocks * 100 <= neighbour.rank_blocks * 115 &&
                        cost[0] * 100 <= cost[1] * 115,
                    "%" PRIu32 " ranks, %" PRIu64 " bytes: %" PRIu64 " ps, %" PRIu64 " blocks",
                    pairs[i][0], bytes, cost[0], prime.rank_blocks);
        }
    }
}
END_TEST

/* What settings bind, and a list that is sorted. */
START_TEST(limits_bind)
{
    select_parameters_t parameters = select_builtin();
    schedule_request_t request = gather_request(48);
    select_limits_t limits = {.has_radix = true, .radix = sequence_of("6x8")};
    uint32_t count = select_candidates(&request, &parameters, &limits, 4096, candidates);
    bool others = false;
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(i == 0 || candidates[i - 1].cost <= candidates[i].cost);
        others = others || candidates[i].plan.family == SCHEDULE_FAMILY_DIRECT;
        if (candidates[i].plan.family == SCHEDULE_FAMILY_RADIX)
            ck_assert(radix_sequence_equal(&candidates[i].plan.radix, &limits.radix));
    }
    ck_assert(others); /* C616: a radix does not force an algorithm */
    limits.has_family = true;
    limits.family = SCHEDULE_FAMILY_RADIX;
    ck_assert_uint_eq(select_candidates(&request, &parameters, &limits, 4096, candidates), 1);
    request.operation = OPERATION_ALLTOALL;
    select_plan_t plan;
    ck_assert_int_eq(select_choose(&request, &parameters, &limits, 4096, &plan),
                     MUSTER_NOT_SUPPORTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("select");
    TCase *tests = tcase_create("select");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, published_picks);
    tcase_add_test(tests, exact_sequences_are_ahead);
    tcase_add_test(tests, every_team_has_a_schedule);
    tcase_add_test(tests, primes_do_not_pay);
    tcase_add_test(tests, limits_bind);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
