/* Radix sequences: what is sound, products, printing, and who meets whom in each phase. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/radix.h"
#include "unit/require.h"

/* An array and its count. */
#define FACTORS(...)                                                                               \
    (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static radix_sequence_t sequence_of(const uint32_t *factors, size_t count, bool far)
{
    radix_sequence_t sequence;
    ck_assert_int_eq(radix_sequence_check(factors, count, far, &sequence, NULL), MUSTER_OK);
    return sequence;
}

static void refused(const uint32_t *factors, size_t count, size_t position, radix_fault_t fault)
{
    static const radix_sequence_t untouched = {.factors = {7, 7}, .count = 2, .far = true};
    radix_sequence_t sequence = untouched;
    radix_error_t error = {.position = SIZE_MAX, .fault = RADIX_FAULT_NONE};
    ck_assert_int_eq(radix_sequence_check(factors, count, false, &sequence, &error),
                     MUSTER_INVALID_ARGUMENT);
    ck_assert_uint_eq(error.position, position);
    ck_assert_str_eq(radix_fault_text(error.fault), radix_fault_text(fault));
    ck_assert(radix_sequence_equal(&sequence, &untouched));
    ck_assert_int_eq(radix_sequence_check(factors, count, true, NULL, NULL),
                     MUSTER_INVALID_ARGUMENT);
}

START_TEST(sequences_of_a_program_are_checked) /* C616 */
{
    refused(NULL, 0, 0, RADIX_FAULT_NO_FACTORS);
    refused(&(const uint32_t){8}, 0, 0, RADIX_FAULT_NO_FACTORS);
    refused(NULL, 1, 0, RADIX_FAULT_STORAGE);
    refused(NULL, 3, 0, RADIX_FAULT_STORAGE);
    refused(NULL, SIZE_MAX, 0, RADIX_FAULT_STORAGE);
    refused(FACTORS(0), 0, RADIX_FAULT_OUT_OF_RANGE);
    refused(FACTORS(1), 0, RADIX_FAULT_OUT_OF_RANGE);
    refused(FACTORS(8, 0, 6), 1, RADIX_FAULT_OUT_OF_RANGE);
    refused(FACTORS(8, 6, 1), 2, RADIX_FAULT_OUT_OF_RANGE);
    refused(FACTORS(65536), 0, RADIX_FAULT_OUT_OF_RANGE);
    refused(FACTORS(8, 65538), 1, RADIX_FAULT_OUT_OF_RANGE); /* 2 where 16 bits wrap */
    refused(FACTORS(UINT32_MAX), 0, RADIX_FAULT_OUT_OF_RANGE);
    refused(FACTORS(65535, 65535, 2), 2, RADIX_FAULT_PRODUCT);
    refused(FACTORS(65535, 65535, 65535, 65535, 65535), 2, RADIX_FAULT_PRODUCT);
    refused(FACTORS(32768, 32768, 4), 2, RADIX_FAULT_PRODUCT); /* 0 where 32 bits wrap */
    uint32_t twos[RADIX_FACTORS_MAX + 1];
    for (size_t i = 0; i < RADIX_FACTORS_MAX + 1; i++)
        twos[i] = 2;
    refused(twos, RADIX_FACTORS_MAX + 1, RADIX_FACTORS_MAX, RADIX_FAULT_TOO_MANY_FACTORS);
    refused(twos, SIZE_MAX, RADIX_FACTORS_MAX, RADIX_FAULT_TOO_MANY_FACTORS);
    twos[30] = 4;
    refused(twos, RADIX_FACTORS_MAX, 30, RADIX_FAULT_PRODUCT);
    twos[30] = 3; /* 2^30 * 3 < 2^32 */
    radix_sequence_t sequence = sequence_of(twos, RADIX_FACTORS_MAX, true);
    ck_assert_uint_eq(radix_sequence_product(&sequence), UINT32_C(3) << 30);
    ck_assert(sequence.count == RADIX_FACTORS_MAX && sequence.far);
}
END_TEST

START_TEST(structures_of_a_program_are_checked) /* C616 */
{
    radix_error_t error;
    radix_sequence_t sequence = {.factors = {8, 6}, .count = 2};
    ck_assert_int_eq(radix_sequence_sound(&sequence, &error), MUSTER_OK);
    ck_assert_int_eq(radix_sequence_sound(NULL, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_STORAGE);
    ck_assert_uint_eq(radix_sequence_product(NULL), 0);
    sequence.count = 3; /* the third is 0 */
    ck_assert_int_eq(radix_sequence_sound(&sequence, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert(error.fault == RADIX_FAULT_OUT_OF_RANGE && error.position == 2);
    ck_assert_uint_eq(radix_sequence_product(&sequence), 0);
    sequence.count = 0;
    ck_assert_int_eq(radix_sequence_sound(&sequence, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_NO_FACTORS);
    memset(sequence.factors, 1, sizeof sequence.factors); /* 257 each */
    sequence.count = 255;
    ck_assert_int_eq(radix_sequence_sound(&sequence, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_TOO_MANY_FACTORS);
    /* Whatever it is, it prints and compares within its bounds. */
    char bytes[RADIX_FACTORS_MAX * 4];
    text_t text = text_over(bytes, sizeof bytes);
    radix_sequence_print(&sequence, &text);
    ck_assert_uint_eq(text.length, RADIX_FACTORS_MAX * 4 - 1);
    ck_assert(radix_sequence_equal(&sequence, &sequence));
}
END_TEST

static void prints(const radix_sequence_t *sequence, const char *expected)
{
    char bytes[64];
    size_t length = strlen(expected);
    for (size_t size = 0; size <= length + 1; size++) {
        memset(bytes, '#', sizeof bytes);
        text_t text = text_over(size == 0 ? NULL : bytes, size);
        radix_sequence_print(sequence, &text);
        ck_assert_uint_eq(text.length, length);
        ck_assert(size == 0 || strlen(bytes) == size - 1);
        ck_assert(size == 0 || memcmp(bytes, expected, size - 1) == 0);
        ck_assert_int_eq(bytes[size], '#');
    }
}

START_TEST(order_is_the_callers) /* C601, C607 */
{
    radix_sequence_t one = sequence_of(FACTORS(8, 6), false);
    radix_sequence_t other = sequence_of(FACTORS(6, 8), false);
    radix_sequence_t far = sequence_of(FACTORS(8, 6), true);
    radix_sequence_t longer = sequence_of(FACTORS(8, 6, 2), false);
    ck_assert(radix_sequence_equal(&one, &one));
    ck_assert(!radix_sequence_equal(&one, &other));
    ck_assert(!radix_sequence_equal(&one, &far));
    ck_assert(!radix_sequence_equal(&one, &longer));
    ck_assert_uint_eq(radix_sequence_product(&one), 48);
    ck_assert_uint_eq(radix_sequence_product(&other), 48);
    ck_assert_uint_eq(radix_sequence_product(&longer), 96);
    prints(&one, "8x6");
    prints(&other, "6x8");
    prints(&far, "8x6@far");
    prints(&longer, "8x6x2");
    radix_sequence_t fixed = sequence_of(FACTORS(65535), false);
    prints(&fixed, "65535");
    prints(&(radix_sequence_t){.count = 0}, "none");
    prints(&(radix_sequence_t){.count = 0, .far = true}, "none");
}
END_TEST

START_TEST(strides_near_and_far) /* C602, C613 */
{
    radix_sequence_t near = sequence_of(FACTORS(8, 3, 4), false);
    static const uint32_t near_strides[] = {1, 8, 24}, far_strides[] = {12, 4, 1};
    radix_sequence_t far = sequence_of(FACTORS(8, 3, 4), true);
    for (uint32_t phase = 0; phase < 3; phase++) {
        ck_assert_uint_eq(radix_sequence_stride(&near, phase), near_strides[phase]);
        ck_assert_uint_eq(radix_sequence_stride(&far, phase), far_strides[phase]);
    }
    radix_sequence_t fixed = sequence_of(FACTORS(5), true);
    ck_assert_uint_eq(radix_sequence_stride(&fixed, 0), 1);
    uint32_t twos[RADIX_FACTORS_MAX];
    for (size_t i = 0; i < RADIX_FACTORS_MAX; i++)
        twos[i] = 2;
    radix_sequence_t longest = sequence_of(twos, RADIX_FACTORS_MAX, false);
    ck_assert_uint_eq(radix_sequence_stride(&longest, 30), UINT32_C(1) << 30);
}
END_TEST

/* ---- An allgather over a sequence, by the formula of C602 ------------------------------------ */

#define TEAM_MAX 128

typedef struct played {
    uint64_t between_hosts; /* blocks */
    uint32_t messages;      /* of one rank */
    uint32_t sent;          /* blocks, by one rank */
} played_t;

static bool held[TEAM_MAX][TEAM_MAX], before[TEAM_MAX][TEAM_MAX];

/* Who holds which block; fails where a rank is sent what it has, or lacks a block at the end. */
static played_t play(const radix_sequence_t *sequence, uint32_t per_host)
{
    uint32_t team = radix_sequence_product(sequence);
    played_t played = {0};
    ck_assert(team > 0 && team <= TEAM_MAX);
    memset(held, 0, sizeof held);
    for (uint32_t rank = 0; rank < team; rank++)
        held[rank][rank] = true;
    for (uint32_t phase = 0; phase < sequence->count; phase++) {
        uint32_t r = sequence->factors[phase], q = radix_sequence_stride(sequence, phase);
        memcpy(before, held, sizeof held);
        for (uint32_t k = 0; k < team; k++) {
            for (uint32_t s = 1; s < r; s++) {
                uint32_t peer = (k + s * q) % (q * r) + k / (q * r) * q * r;
                for (uint32_t block = 0; block < team; block++) {
                    if (!before[k][block])
                        continue;
                    REQUIRE(!held[peer][block]);
                    held[peer][block] = true;
                    played.between_hosts += k / per_host != peer / per_host;
                    played.sent += k == 0;
                }
                played.messages += k == 0;
            }
        }
    }
    for (uint32_t rank = 0; rank < team; rank++)
        for (uint32_t block = 0; block < team; block++)
            REQUIRE(held[rank][block]);
    return played;
}

START_TEST(every_rank_gets_every_block_once) /* C601, C602, C603 */
{
    static const struct {
        uint32_t factors[6];
        size_t count;
        uint32_t messages;
    } cases[] = {
        {{8, 6}, 2, 12},
        {{6, 8}, 2, 12},
        {{4, 4, 6}, 3, 11}, /* of 96 ranks: 95m and 11 messages */
        {{2, 2, 2, 2, 2, 3}, 6, 7},
        {{8, 3, 4}, 3, 12},
        {{12, 8}, 2, 18},
        {{4, 5, 3}, 3, 9},
        {{7}, 1, 6},
        {{8, 2}, 2, 8},
        {{2, 8}, 2, 8},
        {{4, 4}, 2, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int far = 0; far < 2; far++) {
            radix_sequence_t sequence = sequence_of(cases[i].factors, cases[i].count, far != 0);
            played_t played = play(&sequence, 1);
            ck_assert_uint_eq(played.messages, cases[i].messages);
            ck_assert_uint_eq(played.sent, radix_sequence_product(&sequence) - 1);
        }
    }
}
END_TEST

START_TEST(twelve_hosts_of_eight) /* C613 */
{
    radix_sequence_t near = sequence_of(FACTORS(8, 12), false);
    radix_sequence_t far = sequence_of(FACTORS(12, 8), true);
    ck_assert_uint_eq(play(&near, 8).between_hosts, 8448);
    ck_assert_uint_eq(play(&far, 8).between_hosts, 1056);
}
END_TEST

START_TEST(values_print_and_compare)
{
    static const radix_value_t automatic = {.kind = RADIX_KIND_AUTO, .node = RADIX_NO_NODE};
    radix_value_t value = {.kind = RADIX_KIND_STRICT, .node = 1};
    value.sequence = (radix_sequence_t){.factors = {8, 0, 3}, .count = 3, .far = true};
    static const char *const expected[] = {"auto", "8xnodex3@far", "=8xnodex3@far",
                                           "~8xnodex3@far"};
    for (uint8_t kind = 0; kind < 4; kind++) {
        char bytes[32];
        text_t text = text_over(bytes, sizeof bytes);
        value.kind = kind;
        radix_value_print(&value, &text);
        ck_assert_str_eq(bytes, expected[kind]);
        ck_assert(radix_value_equal(&value, &value));
        ck_assert(!radix_value_equal(&value, &automatic));
    }
    radix_value_t other = value;
    other.node = 0;
    ck_assert(!radix_value_equal(&value, &other));
    other = value;
    other.kind = RADIX_KIND_PLAIN;
    ck_assert(!radix_value_equal(&value, &other));
    other = value;
    other.sequence.far = false;
    ck_assert(!radix_value_equal(&value, &other));
}
END_TEST

START_TEST(a_phase_beyond_the_sequence_is_a_fault)
{
    radix_sequence_t sequence = sequence_of(FACTORS(8, 6), false);
    radix_sequence_stride(&sequence, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("radix");
    TCase *tests = tcase_create("radix");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, sequences_of_a_program_are_checked);
    tcase_add_test(tests, structures_of_a_program_are_checked);
    tcase_add_test(tests, order_is_the_callers);
    tcase_add_test(tests, strides_near_and_far);
    tcase_add_test(tests, every_rank_gets_every_block_once);
    tcase_add_test(tests, twelve_hosts_of_eight);
    tcase_add_test(tests, values_print_and_compare);
    tcase_add_test_raise_signal(tests, a_phase_beyond_the_sequence_is_a_fault, SIGABRT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
