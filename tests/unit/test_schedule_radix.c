/*
 * The radix family by the symbolic validator: every exact sequence of small teams and fixed
 * radices, near and far first, in place and not, both outcomes, commutative and not; and the peers,
 * segments and figures that the contract names.
 *
 * MUSTER_SCHEDULE_SIZE, or the first argument, is the largest team (40; a long run takes 130).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/radix_choice.h"
#include "unit/require.h"
#include "unit/schedule_reference.h"

static uint32_t largest = 40;
static uint64_t checked;
static schedule_team_t team;

static const char *sequence_text(const radix_sequence_t *sequence)
{
    static char line[256];
    text_t text = text_over(line, sizeof line);
    radix_sequence_print(sequence, &text);
    return line;
}

static radix_sequence_t sequence_of(const char *text)
{
    radix_sequence_t sequence = {.count = 0};
    for (const char *at = text; *at != '\0' && *at != '@';) {
        char *end;
        sequence.factors[sequence.count++] = (uint16_t)strtoul(at, &end, 10);
        at = *end == 'x' ? end + 1 : end;
    }
    sequence.far = strstr(text, "@far") != NULL;
    return sequence;
}

static void check_one(schedule_request_t request)
{
    schedule_team_build(&team, schedule_radix, request);
    muster_status_t status = schedule_team_check(&team);
    REQUIRE(status == MUSTER_OK,
            "%" PRIu32 " ranks, radix %s, in place %d, uniform %d, commutative %d: %s",
            request.size, sequence_text(&request.radix), request.in_place, request.uniform,
            request.commutative, team.why);
    checked++;
}

static void check_variants(schedule_request_t request)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        request.in_place = variant % 2 > 0;
        request.uniform = variant / 2 % 2 > 0;
        request.commutative = variant / 4 > 0;
        if (request.in_place && !schedule_may_be_in_place(request.operation, 0, 0))
            continue;
        if (request.commutative && !operation_is_reducing(request.operation))
            continue;
        schedule_t schedule = {0};
        bool one_phase = request.radix.count == 1 && request.size < 2u * request.radix.factors[0];
        bool ordered = request.commutative || !operation_is_reducing(request.operation) ||
                       !request.radix.far || one_phase;
        muster_status_t status = schedule_radix(&request, &schedule);
        REQUIRE(status == MUSTER_OK || (status == MUSTER_NOT_SUPPORTED && !ordered));
        if (status == MUSTER_OK)
            check_one(request);
    }
}

/* Every way to write rest as a product, behind the factors that the request has. */
static void check_exact(schedule_request_t request, uint32_t rest)
{
    if (rest == 1) {
        for (unsigned far = 0; far < 2; far++) {
            request.radix.far = far;
            check_variants(request);
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

static const operation_t supported[] = {
    OPERATION_BARRIER,
    OPERATION_ALLGATHER,
    OPERATION_ALLGATHERV,
    OPERATION_REDUCE_SCATTER,
    OPERATION_REDUCE_SCATTER_BLOCK,
    OPERATION_ALLREDUCE,
};
#define SUPPORTED (sizeof supported / sizeof *supported)

static void check_fixed(schedule_request_t request)
{
    for (uint32_t radix = 2; radix <= 17 && (radix == 2 || radix <= request.size); radix++) {
        for (unsigned far = 0; far < 2; far++) {
            request.radix =
                (radix_sequence_t){.factors = {(uint16_t)radix}, .count = 1, .far = far > 0};
            check_variants(request);
        }
    }
}

/* C601, C603, C613, C421, by symbols */
START_TEST(every_sequence_is_right)
{
    for (uint32_t size = 1; size <= largest; size++) {
        schedule_request_t request = {.operation = supported[_i], .size = size};
        check_fixed(request);
        if (size > 1)
            check_exact(request, size);
    }
    printf("radix, %s: %" PRIu64 " schedules of up to %" PRIu32 " ranks checked\n",
           operation_name((uint8_t)supported[_i]), checked, largest);
    schedule_team_free(&team);
}
END_TEST

/* C601, C608: a product that is not the size is nothing for the team. */
START_TEST(other_products_are_refused)
{
    static const char *const wrong[] = {"2x2", "8x6x2", "3x3x3x3", "65535x65535"};
    schedule_t schedule = {0};
    for (unsigned i = 0; i < SUPPORTED; i++) {
        schedule_request_t request = {.operation = supported[i], .size = 48};
        ck_assert_int_eq(schedule_radix(&request, &schedule), MUSTER_NOT_SUPPORTED);
        for (unsigned j = 0; j < sizeof wrong / sizeof *wrong; j++) {
            request.radix = sequence_of(wrong[j]);
            ck_assert_int_eq(schedule_radix(&request, &schedule), MUSTER_NOT_SUPPORTED);
        }
        request.radix = sequence_of("8x6");
        ck_assert_int_eq(schedule_radix(&request, &schedule), MUSTER_OK);
    }
}
END_TEST

static bool same_region(const schedule_region_t *one, const schedule_region_t *other)
{
    return one->buffer == other->buffer && one->offset == other->offset && one->run == other->run &&
           one->inner_count == other->inner_count && one->inner_stride == other->inner_stride &&
           one->outer_count == other->outer_count && one->outer_stride == other->outer_stride;
}

/* C602: near first, whom a rank meets, what it sends and where it lies. */
static void check_published(const schedule_t *schedule, const schedule_request_t *request)
{
    uint64_t k = request->rank;
    uint64_t q = 1;
    uint64_t blocks = 0;
    ck_assert_uint_eq(schedule->phase_count, request->radix.count);
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        const schedule_phase_t *phase = &schedule->phases[i];
        uint64_t r = request->radix.factors[i];
        ck_assert_uint_eq(phase->send_count, r - 1);
        ck_assert_uint_eq(phase->receive_count, r - 1);
        for (uint64_t s = 1; s < r; s++) {
            const schedule_send_t *send = &schedule->sends[phase->first_send + s - 1];
            const schedule_receive_t *receive = &schedule->receives[phase->first_receive + s - 1];
            uint64_t peer = (k + s * q) % (q * r) + k / (q * r) * q * r;
            schedule_region_t own = schedule_run(SCHEDULE_RECEIVE, k / q * q, q);
            schedule_region_t other = schedule_run(SCHEDULE_RECEIVE, peer / q * q, q);
            REQUIRE(send->peer == peer && receive->peer == peer);
            REQUIRE(same_region(&send->region, &own));
            REQUIRE(same_region(&receive->region, &other));
            blocks += q;
        }
        q *= r;
    }
    ck_assert_uint_eq(blocks, request->size - 1);
    ck_assert_uint_eq(schedule_count(schedule).blocks, request->size - 1);
}

/* C613: far first the same meetings at q(i) = P/(r(1)*...*r(i)), and blocks are strided. */
static void check_far(const schedule_t *schedule, const schedule_request_t *request)
{
    uint64_t k = request->rank;
    uint64_t q = request->size;
    uint64_t held = 1;
    ck_assert_uint_eq(schedule->phase_count, request->radix.count);
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        const schedule_phase_t *phase = &schedule->phases[i];
        uint64_t r = request->radix.factors[i];
        q /= r;
        ck_assert_uint_eq(phase->send_count, r - 1);
        for (uint64_t s = 1; s < r; s++) {
            const schedule_send_t *send = &schedule->sends[phase->first_send + s - 1];
            uint64_t peer = (k + s * q) % (q * r) + k / (q * r) * q * r;
            REQUIRE(send->peer == peer);
            REQUIRE(schedule_region_blocks(&send->region) == held);
            for (uint64_t j = 0; j < held; j++) {
                uint64_t expected = k % (q * r) + j * q * r;
                REQUIRE(schedule_region_start(&send->region, j) == expected);
            }
        }
        held *= r;
    }
    ck_assert_uint_eq(held, request->size);
    ck_assert_uint_eq(schedule_count(schedule).blocks, request->size - 1);
}

START_TEST(peers_segments_and_offsets_are_the_published_ones)
{
    static const char *const sequences[] = {"8x6",     "6x8",   "4x4x6", "2x2x2x2x2x3", "8x3x4",
                                            "8x12",    "12x8",  "5x3x7", "2x2x2",       "17x2",
                                            "31x3x11", "2x512", "512x2", "9x9x9",       "3x5"};
    for (unsigned i = 0; i < 2 * sizeof sequences / sizeof *sequences; i++) {
        radix_sequence_t sequence = sequence_of(sequences[i / 2]);
        sequence.far = i % 2 > 0;
        schedule_request_t request = {.operation = OPERATION_ALLGATHER,
                                      .size = radix_sequence_product(&sequence),
                                      .in_place = true,
                                      .radix = sequence};
        schedule_team_build(&team, schedule_radix, request);
        for (request.rank = 0; request.rank < request.size; request.rank++) {
            if (sequence.far)
                check_far(&team.schedules[request.rank], &request);
            else
                check_published(&team.schedules[request.rank], &request);
        }
    }
    schedule_team_free(&team);
}
END_TEST

/* ---- 96 ranks -------------------------------------------------------------------------------- */

typedef struct busiest {
    uint64_t blocks;
    uint64_t messages;
    uint32_t extras; /* ranks that send one block and get all */
} busiest_t;

static busiest_t busiest_of(const char *text)
{
    busiest_t busiest = {0};
    schedule_team_build(&team, schedule_radix,
                        (schedule_request_t){.operation = OPERATION_ALLGATHERV,
                                             .size = 96,
                                             .radix = sequence_of(text)});
    for (uint32_t rank = 0; rank < 96; rank++) {
        const schedule_t *schedule = &team.schedules[rank];
        schedule_totals_t sent = schedule_count(schedule);
        if (sent.blocks > busiest.blocks)
            busiest.blocks = sent.blocks;
        if (sent.messages > busiest.messages)
            busiest.messages = sent.messages;
        bool extra = schedule->receive_count == 1 &&
                     schedule_region_blocks(&schedule->receives[0].region) == 96;
        busiest.extras += extra;
        /* The proxy is the even rank of the pair, the extra the odd one. */
        if (extra)
            ck_assert(rank % 2 == 1 && sent.messages == 1 && sent.blocks == 1 &&
                      schedule->sends[0].peer == rank - 1);
    }
    return busiest;
}

/* C603, C609 */
START_TEST(figures_of_96_ranks_are_the_published_ones)
{
    static const struct {
        const char *radix;
        uint64_t blocks;
        uint64_t messages; /* 0: not said */
        uint32_t extras;
    } cases[] = {
        {"2", 222, 0, 32},    {"4", 222, 0, 32},    {"8", 222, 0, 32},
        {"3", 232, 0, 15},    {"12", 95, 18, 0},    {"12x8", 95, 18, 0},
        {"4x4x6", 95, 11, 0}, {"8x3x4", 95, 12, 0}, {"2x2x2x2x2x3", 95, 7, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        busiest_t busiest = busiest_of(cases[i].radix);
        ck_assert_uint_eq(busiest.blocks, cases[i].blocks);
        ck_assert_uint_eq(busiest.extras, cases[i].extras);
        if (cases[i].messages > 0)
            ck_assert_uint_eq(busiest.messages, cases[i].messages);
    }
    schedule_team_free(&team);
}
END_TEST

static uint64_t blocks_between(const char *text, uint32_t per_host)
{
    uint64_t blocks = 0;
    radix_sequence_t sequence = sequence_of(text);
    uint32_t size = radix_sequence_product(&sequence);
    schedule_team_build(
        &team, schedule_radix,
        (schedule_request_t){.operation = OPERATION_ALLGATHER, .size = size, .radix = sequence});
    for (uint32_t rank = 0; rank < size; rank++)
        for (uint32_t i = 0; i < team.schedules[rank].send_count; i++) {
            const schedule_send_t *send = &team.schedules[rank].sends[i];
            if (send->peer / per_host != rank / per_host)
                blocks += schedule_region_blocks(&send->region);
        }
    return blocks;
}

/* C613: 12 hosts of 8 */
START_TEST(far_first_carries_less_between_hosts)
{
    ck_assert_uint_eq(blocks_between("8x12", 8), 8448);
    ck_assert_uint_eq(blocks_between("12x8@far", 8), 1056);
    schedule_team_free(&team);
}
END_TEST

/* C610: asked for again, a schedule has the same peers, segments and offsets. */
START_TEST(a_schedule_is_the_same_again)
{
    static const char *const sequences[] = {"8x6", "8x6@far", "4", "4@far", "7"};
    for (unsigned i = 0; i < SUPPORTED * (sizeof sequences / sizeof *sequences); i++) {
        schedule_request_t request = {.operation = supported[i % SUPPORTED],
                                      .size = 48,
                                      .commutative = true,
                                      .radix = sequence_of(sequences[i / SUPPORTED])};
        schedule_team_t again = {0};
        schedule_team_build(&team, schedule_radix, request);
        schedule_team_build(&again, schedule_radix, request);
        for (uint32_t rank = 0; rank < request.size; rank++) {
            const schedule_t *one = &team.schedules[rank];
            const schedule_t *other = &again.schedules[rank];
            REQUIRE(schedule_memory(one) == schedule_memory(other));
            for (uint32_t j = 0; j < one->send_count; j++)
                REQUIRE(one->sends[j].peer == other->sends[j].peer &&
                        same_region(&one->sends[j].region, &other->sends[j].region));
            for (uint32_t j = 0; j < one->receive_count; j++)
                REQUIRE(one->receives[j].peer == other->receives[j].peer &&
                        same_region(&one->receives[j].region, &other->receives[j].region));
        }
        schedule_team_free(&again);
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
        (void)schedule_reference_compare(&team, SCHEDULE_FAMILY_RADIX, request);
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

/* C613 (uneven hosts), C615 */
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
                                          .commutative = true,
                                          .uniform = variant % 2 > 0,
                                          .radix = {.factors = {(uint16_t)(2 + variant / 4)},
                                                    .count = 1,
                                                    .far = variant / 2 % 2 > 0}};
            ck_assert_int_eq(schedule_radix_figures(&request, &figures), MUSTER_OK);
            schedule_team_build(&team, schedule_radix, request);
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
    static const char *const texts[] = {"2",    "2@far",    "3",         "3@far",
                                        "1000", "1000@far", "1024x1024", "8x8x8x8x8x32@far"};
    static schedule_figures_t figures;
    static uint32_t first[(1U << 17) + 1];
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        radix_sequence_t radix = sequence_of(texts[i]);
        uint32_t size = (1U << 20) - (radix.count == 1);
        for (uint32_t host = 0; host < 1U << 17; host++)
            first[host] = host * 8;
        first[1U << 17] = size;
        const schedule_hosts_t hosts = {.count = 1U << 17, .first = first};
        schedule_request_t request = {.operation = supported[_i],
                                      .size = size,
                                      .commutative = true,
                                      .uniform = true,
                                      .radix = radix,
                                      .hosts = &hosts};
        ck_assert_int_eq(schedule_radix_figures(&request, &figures), MUSTER_OK);
        ck_assert_uint_ge(figures.messages, size - 1);
    }
}
END_TEST

int main(int argc, char **argv)
{
    const char *given = argc > 1 ? argv[1] : getenv("MUSTER_SCHEDULE_SIZE");
    if (given != NULL && atoi(given) > 0)
        largest = (uint32_t)atoi(given);
    Suite *suite = suite_create("schedule_radix");
    TCase *tests = tcase_create("schedule_radix");
    tcase_set_timeout(tests, largest > 40 ? 7200 : 100);
    tcase_add_loop_test(tests, every_sequence_is_right, 0, SUPPORTED);
    tcase_add_test(tests, other_products_are_refused);
    tcase_add_test(tests, peers_segments_and_offsets_are_the_published_ones);
    tcase_add_test(tests, figures_of_96_ranks_are_the_published_ones);
    tcase_add_test(tests, far_first_carries_less_between_hosts);
    tcase_add_test(tests, a_schedule_is_the_same_again);
    TCase *figures = tcase_create("figures");
    tcase_set_timeout(figures, 100);
    suite_add_tcase(suite, figures);
    tcase_add_loop_test(figures, figures_are_what_is_counted, 0, SUPPORTED);
    tcase_add_loop_test(figures, rounds_are_the_critical_path, 0, SUPPORTED);
    TCase *large = tcase_create("large");
    tcase_set_timeout(large, 100);
    suite_add_tcase(suite, large);
    tcase_add_loop_test(large, figures_reach_a_million_ranks, 0, SUPPORTED);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
