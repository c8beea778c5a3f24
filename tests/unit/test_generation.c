/* The clock of a communicator: mapping, window, modes, and numbers near the limits. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/generation.h"
#include "unit/require.h"

static muster_status_t take(generation_clock_t *clock, uint64_t given, uint64_t *taken)
{
    generation_mode_t mode;
    muster_optional_t optional = given == 0 ? MUSTER_NOT_GIVEN : MUSTER_GIVEN(given);
    ck_assert_int_eq(generation_may_take(clock, optional),
                     generation_may_take(clock, optional)); /* asking changes nothing */
    muster_status_t expected = generation_may_take(clock, optional);
    muster_status_t status = generation_take(clock, optional, taken, &mode);
    ck_assert_int_eq(status, expected);
    if (status == MUSTER_OK)
        ck_assert_int_eq(mode, given == 0 ? GENERATION_AUTOMATIC : GENERATION_EXPLICIT);
    return status;
}

static muster_status_t take_given(generation_clock_t *clock, uint64_t given)
{
    uint64_t taken = 0;
    muster_status_t status = take(clock, given, &taken);
    ck_assert_uint_eq(taken, status == MUSTER_OK ? given : 0); /* untouched on failure */
    return status;
}

static uint64_t take_next(generation_clock_t *clock)
{
    uint64_t taken = 0;
    ck_assert_int_eq(take(clock, 0, &taken), MUSTER_OK);
    return taken;
}

START_TEST(public_owns_two_internal) /* C201 */
{
    static const uint64_t internal[][2] = {{1, 2}, {3, 4}, {5, 6}};
    for (uint64_t k = 1; k <= 3; k++)
        for (unsigned slot = 0; slot < 2; slot++)
            ck_assert_uint_eq(generation_internal(k, slot), internal[k - 1][slot]);
    static const uint64_t some[] = {
        1, 2, 3, 64, INT32_MAX, UINT32_MAX, UINT64_C(1) << 32, GENERATION_MAX - 1, GENERATION_MAX};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (unsigned slot = 0; slot < 2; slot++) {
            uint64_t number = generation_internal(some[i], slot);
            ck_assert_uint_eq(number, 2 * some[i] - 1 + slot);
            ck_assert_uint_eq(generation_public(number), some[i]);
            ck_assert_uint_eq(generation_slot(number), slot);
        }
    ck_assert_uint_eq(generation_public(0), 0);
}
END_TEST

START_TEST(numbers_outside_are_refused) /* C204 */
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    uint64_t taken = 77;
    generation_mode_t mode;
    /* A given zero is not "not given" (C106). */
    ck_assert_int_eq(generation_take(&clock, MUSTER_GIVEN(0), &taken, &mode),
                     MUSTER_INVALID_GENERATION);
    ck_assert_uint_eq(taken, 77);
    ck_assert_int_eq(take_given(&clock, GENERATION_MAX + 1), MUSTER_INVALID_GENERATION);
    ck_assert_int_eq(take_given(&clock, UINT64_MAX), MUSTER_INVALID_GENERATION);
    ck_assert_int_eq(take_given(&clock, 65), MUSTER_INVALID_GENERATION); /* beyond the window */
    /* C124: the right call works next; a repeat is refused, while running and later. */
    ck_assert_int_eq(take_given(&clock, 1), MUSTER_OK);
    ck_assert_int_eq(take_given(&clock, 1), MUSTER_STALE_GENERATION);
    generation_complete(&clock, 1);
    ck_assert_int_eq(take_given(&clock, 1), MUSTER_STALE_GENERATION);
    ck_assert_int_eq(take_given(&clock, 65), MUSTER_OK); /* the window has moved */
    ck_assert_int_eq(take_given(&clock, 66), MUSTER_INVALID_GENERATION);
}
END_TEST

START_TEST(any_order_within_the_window) /* C212 */
{
    unsigned seed = (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    bool started[1024] = {false}, completed[1024] = {false};
    uint64_t low = 1, highest = 0;
    for (unsigned step = 0; step < 20000 && low < 900; step++) {
        uint64_t generation = low + (uint64_t)rand() % 70;
        if (rand() % 2 == 0 || !started[generation] || completed[generation]) {
            muster_status_t expected = started[generation]      ? MUSTER_STALE_GENERATION
                                       : generation >= low + 64 ? MUSTER_INVALID_GENERATION
                                                                : MUSTER_OK;
            ck_assert_int_eq(take_given(&clock, generation), expected);
            started[generation] |= expected == MUSTER_OK;
            if (expected == MUSTER_OK && generation > highest)
                highest = generation;
        } else {
            generation_complete(&clock, generation);
            completed[generation] = true;
        }
        while (completed[low])
            low++;
        ck_assert_uint_eq(clock.low, low);
        ck_assert_uint_eq(clock.next, highest + 1);
    }
    ck_assert_uint_gt(low, 64);
}
END_TEST

START_TEST(automatic_counts) /* C204, C205 */
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    for (uint64_t k = 1; k <= 1000; k++) {
        ck_assert_uint_eq(take_next(&clock), k);
        generation_complete(&clock, k);
        ck_assert_uint_eq(clock.low, k + 1);
    }
}
END_TEST

START_TEST(automatic_waits_for_the_window) /* C212 */
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    for (uint64_t k = 1; k <= 64; k++)
        ck_assert_uint_eq(take_next(&clock), k);
    uint64_t taken = 0;
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_IN_PROGRESS);
    generation_complete(&clock, 2);
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_IN_PROGRESS); /* the lowest holds it */
    generation_complete(&clock, 1);
    ck_assert_uint_eq(take_next(&clock), 65);
    ck_assert_uint_eq(take_next(&clock), 66);
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_IN_PROGRESS);
    ck_assert_uint_eq(taken, 0);
}
END_TEST

START_TEST(explicit_to_automatic_only) /* C205 */
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    ck_assert_int_eq(take_given(&clock, 2), MUSTER_OK);
    ck_assert_int_eq(take_given(&clock, 5), MUSTER_OK);
    /* Above everything started; what was left out is given up and holds no window. */
    ck_assert_uint_eq(take_next(&clock), 6);
    ck_assert_uint_eq(clock.low, 2);
    ck_assert_int_eq(take_given(&clock, 7), MUSTER_GENERATION_MODE);
    ck_assert_int_eq(take_given(&clock, 3), MUSTER_GENERATION_MODE);
    generation_complete(&clock, 2);
    ck_assert_uint_eq(clock.low, 5);
    generation_complete(&clock, 5);
    generation_complete(&clock, 6);
    ck_assert_uint_eq(clock.low, 7);
    for (uint64_t k = 7; k < 300; k++) {
        ck_assert_uint_eq(take_next(&clock), k);
        generation_complete(&clock, k);
    }
}
END_TEST

START_TEST(gaps_given_up_free_the_window)
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    ck_assert_int_eq(take_given(&clock, 64), MUSTER_OK);
    ck_assert_uint_eq(take_next(&clock), 65); /* 1..63 can never be started now */
    ck_assert_uint_eq(clock.low, 64);
    generation_start_clock(&clock, 1, true);
    for (uint64_t k = 1; k <= 64; k++)
        ck_assert_int_eq(take_given(&clock, k), MUSTER_OK);
    uint64_t taken = 0;
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_IN_PROGRESS); /* no gaps: a full window */
    ck_assert(!clock.automatic_used);                              /* nothing was taken */
}
END_TEST

START_TEST(a_hierarchy_needs_explicit_numbers) /* C206 */
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, false);
    uint64_t taken = 0;
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_GENERATION_MODE);
    ck_assert_int_eq(take_given(&clock, 1), MUSTER_OK);
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_GENERATION_MODE);
    ck_assert_int_eq(take_given(&clock, 2), MUSTER_OK);
    /* Counted generations: the clock allows it. */
    generation_start_clock(&clock, 1, true);
    ck_assert_uint_eq(take_next(&clock), 1);
}
END_TEST

START_TEST(mixed_modes_meet_in_either_order) /* C207 */
{
    uint64_t conflict = 0;
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    ck_assert(generation_note(&clock, 1, GENERATION_EXPLICIT, &conflict));
    ck_assert(!generation_note(&clock, 1, GENERATION_AUTOMATIC, &conflict));
    ck_assert_uint_eq(conflict, 1);

    generation_start_clock(&clock, 1, true);
    ck_assert(generation_note(&clock, 1, GENERATION_AUTOMATIC, &conflict));
    ck_assert(!generation_note(&clock, 1, GENERATION_EXPLICIT, &conflict));
    ck_assert_uint_eq(conflict, 1);

    /* Numbers that do not meet: automatic took 1 where others took an explicit 9. */
    generation_start_clock(&clock, 1, true);
    ck_assert(generation_note(&clock, 1, GENERATION_AUTOMATIC, &conflict));
    ck_assert(!generation_note(&clock, 9, GENERATION_EXPLICIT, &conflict));
    ck_assert_uint_eq(conflict, 1);
    generation_start_clock(&clock, 1, true);
    ck_assert(generation_note(&clock, 9, GENERATION_EXPLICIT, &conflict));
    ck_assert(!generation_note(&clock, 1, GENERATION_AUTOMATIC, &conflict));
    ck_assert_uint_eq(conflict, 9);
    ck_assert(generation_note(&clock, 10, GENERATION_AUTOMATIC, &conflict)); /* the next works */
}
END_TEST

START_TEST(right_sequences_raise_no_alarm) /* C205, C821 */
{
    uint64_t conflict = 0;
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    for (uint64_t k = 1; k <= 100000; k++) {
        generation_mode_t mode = k <= 50000 ? GENERATION_EXPLICIT : GENERATION_AUTOMATIC;
        for (unsigned rank = 0; rank < 4; rank++)
            REQUIRE(generation_note(&clock, k, mode, &conflict));
    }
    /* A slow rank's explicit message comes after a fast one has turned to automatic. */
    REQUIRE(generation_note(&clock, 50000, GENERATION_EXPLICIT, &conflict));
    REQUIRE(!generation_note(&clock, 50001, GENERATION_EXPLICIT, &conflict));
    REQUIRE(conflict == 50001);
}
END_TEST

START_TEST(counters_pass_their_limits) /* C213, case 30 */
{
    static const uint64_t limits[] = {INT32_MAX, UINT32_MAX, INT64_MAX - 400};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        generation_clock_t clock;
        generation_start_clock(&clock, limits[i] - 100, true);
        ck_assert_int_eq(take_given(&clock, limits[i] - 101), MUSTER_STALE_GENERATION);
        for (uint64_t k = limits[i] - 100; k <= limits[i]; k++) {
            uint64_t conflict;
            ck_assert_int_eq(take_given(&clock, k), MUSTER_OK);
            ck_assert(generation_note(&clock, k, GENERATION_EXPLICIT, &conflict));
            generation_complete(&clock, k);
        }
        for (uint64_t k = limits[i] + 1; k < limits[i] + 100; k++) {
            uint64_t conflict;
            ck_assert_uint_eq(take_next(&clock), k);
            ck_assert(generation_note(&clock, k, GENERATION_AUTOMATIC, &conflict));
            ck_assert_uint_eq(generation_public(generation_internal(k, 1)), k);
            generation_complete(&clock, k);
        }
        ck_assert_uint_eq(clock.low, limits[i] + 100);
    }
}
END_TEST

START_TEST(the_last_number_is_the_last) /* C204 */
{
    generation_clock_t clock;
    generation_start_clock(&clock, GENERATION_MAX - 1, true);
    ck_assert_int_eq(take_given(&clock, GENERATION_MAX + 1), MUSTER_INVALID_GENERATION);
    ck_assert_uint_eq(take_next(&clock), GENERATION_MAX - 1);
    ck_assert_uint_eq(take_next(&clock), GENERATION_MAX);
    uint64_t taken = 0;
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_INVALID_GENERATION);
    generation_complete(&clock, GENERATION_MAX);
    generation_complete(&clock, GENERATION_MAX - 1);
    ck_assert_int_eq(take(&clock, 0, &taken), MUSTER_INVALID_GENERATION);
}
END_TEST

START_TEST(completing_twice_is_a_fault)
{
    generation_clock_t clock;
    generation_start_clock(&clock, 1, true);
    take_given(&clock, 1);
    take_given(&clock, 2);
    generation_complete(&clock, 2);
    generation_complete(&clock, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generation");
    TCase *tests = tcase_create("generation");
    tcase_add_test(tests, public_owns_two_internal);
    tcase_add_test(tests, numbers_outside_are_refused);
    tcase_add_test(tests, any_order_within_the_window);
    tcase_add_test(tests, automatic_counts);
    tcase_add_test(tests, automatic_waits_for_the_window);
    tcase_add_test(tests, explicit_to_automatic_only);
    tcase_add_test(tests, gaps_given_up_free_the_window);
    tcase_add_test(tests, a_hierarchy_needs_explicit_numbers);
    tcase_add_test(tests, mixed_modes_meet_in_either_order);
    tcase_add_test(tests, right_sequences_raise_no_alarm);
    tcase_add_test(tests, counters_pass_their_limits);
    tcase_add_test(tests, the_last_number_is_the_last);
    tcase_add_test_raise_signal(tests, completing_twice_is_a_fault, SIGABRT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
