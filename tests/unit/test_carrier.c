/* Payload shapes: uniform and ragged rows, checked arithmetic, the carrier on the wire. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/carrier.h"
#include "core/wire.h"

START_TEST(arithmetic_is_checked) /* C504 */
{
    size_t result = 5;
    ck_assert(carrier_add(SIZE_MAX - 1, 1, &result) && result == SIZE_MAX);
    ck_assert(carrier_multiply(SIZE_MAX, 1, &result) && result == SIZE_MAX);
    ck_assert(carrier_multiply(0, SIZE_MAX, &result) && result == 0);
    ck_assert(carrier_multiply(SIZE_MAX, 0, &result) && result == 0);
    ck_assert(carrier_multiply((size_t)1 << 31, 4, &result) && result == (size_t)1 << 33);
    result = 5;
    ck_assert(!carrier_add(SIZE_MAX, 1, &result));
    ck_assert(!carrier_add(1, SIZE_MAX, &result));
    ck_assert(!carrier_multiply((size_t)1 << 32, (size_t)1 << 32, &result));
    ck_assert(!carrier_multiply(SIZE_MAX / 2 + 1, 2, &result));
    ck_assert_uint_eq(result, 5); /* untouched */
}
END_TEST

START_TEST(uniform_rows) /* C501, C503 */
{
    int data[9];
    for (int i = 0; i < 9; i++)
        data[i] = 10 + i;
    carrier_uniform_t shape = {.rows = 3, .width = 3};
    ck_assert_int_eq(carrier_uniform_check(&shape, 9), MUSTER_OK);
    for (size_t row = 0; row < shape.rows; row++)
        ck_assert_int_eq(data[row * shape.width], 10 + 3 * (int)row);
    /* A length that the width does not divide; a length that is not the product. */
    ck_assert_int_eq(carrier_uniform_check(&shape, 10), MUSTER_INVALID_COUNT);
    ck_assert_int_eq(carrier_uniform_check(&shape, 8), MUSTER_INVALID_COUNT);
    ck_assert_int_eq(carrier_uniform_check(&shape, 12), MUSTER_INVALID_COUNT);
    /* Zero width is explicit: rows without anything in them. */
    shape = (carrier_uniform_t){.rows = 4, .width = 0};
    ck_assert_int_eq(carrier_uniform_check(&shape, 0), MUSTER_OK);
    ck_assert_int_eq(carrier_uniform_check(&shape, 4), MUSTER_INVALID_COUNT);
    /* C504: overflow; a product that wraps to the length is no match. */
    shape = (carrier_uniform_t){.rows = (size_t)1 << 32, .width = (size_t)1 << 32};
    ck_assert_int_eq(carrier_uniform_check(&shape, 0), MUSTER_INVALID_COUNT);
}
END_TEST

START_TEST(ragged_rows) /* C502, C505 */
{
    static const int data[] = {10, 11, 12, 20, 30, 31};
    static const size_t offsets[] = {0, 3, 4, 6};
    carrier_ragged_t shape = {.offsets = offsets, .rows = 3};
    ck_assert_int_eq(carrier_ragged_check(&shape, 6), MUSTER_OK);
    ck_assert_int_eq(data[offsets[1]], 20);
    ck_assert_int_eq(data[offsets[2]], 30);
    ck_assert_ptr_eq(shape.offsets, offsets); /* borrowed: the caller's own array */
    /* An empty row is two equal neighbours. */
    static const size_t five[] = {0, 0, 2, 2, 3, 3};
    shape = (carrier_ragged_t){.offsets = five, .rows = 5};
    ck_assert_int_eq(carrier_ragged_check(&shape, 3), MUSTER_OK);
    /* No rows at all: one offset, 0. */
    static const size_t zero[] = {0};
    shape = (carrier_ragged_t){.offsets = zero, .rows = 0};
    ck_assert_int_eq(carrier_ragged_check(&shape, 0), MUSTER_OK);
    ck_assert_int_eq(carrier_ragged_check(&shape, 1), MUSTER_INVALID_COUNT);
    /* C419: the sum passes 2^32. */
    static const size_t large[] = {0, (size_t)3 << 31, (size_t)3 << 32};
    shape = (carrier_ragged_t){.offsets = large, .rows = 2};
    ck_assert_int_eq(carrier_ragged_check(&shape, (size_t)12884901888), MUSTER_OK);
    ck_assert_int_eq(carrier_ragged_check(&shape, 0), MUSTER_INVALID_COUNT);
}
END_TEST

START_TEST(ragged_shapes_that_are_rejected) /* C503 */
{
    static const size_t first_not_zero[] = {1, 3, 4, 6};
    static const size_t decrease[] = {0, 4, 3, 6};
    static const size_t last_decrease[] = {0, 3, 7, 6};
    static const size_t good[] = {0, 3, 4, 6};
    carrier_ragged_t shape = {.offsets = NULL, .rows = 3};
    ck_assert_int_eq(carrier_ragged_check(&shape, 6), MUSTER_INVALID_ARGUMENT);
    shape.rows = 0;
    ck_assert_int_eq(carrier_ragged_check(&shape, 0), MUSTER_INVALID_ARGUMENT);
    shape = (carrier_ragged_t){.offsets = first_not_zero, .rows = 3};
    ck_assert_int_eq(carrier_ragged_check(&shape, 6), MUSTER_INVALID_ARGUMENT);
    shape.offsets = decrease;
    ck_assert_int_eq(carrier_ragged_check(&shape, 6), MUSTER_INVALID_ARGUMENT);
    shape.offsets = last_decrease;
    ck_assert_int_eq(carrier_ragged_check(&shape, 6), MUSTER_INVALID_ARGUMENT);
    shape.offsets = good;
    ck_assert_int_eq(carrier_ragged_check(&shape, 5), MUSTER_INVALID_COUNT);
    ck_assert_int_eq(carrier_ragged_check(&shape, 7), MUSTER_INVALID_COUNT);
}
END_TEST

START_TEST(a_carrier_on_the_wire) /* C508, C922 */
{
    size_t size = 0;
    ck_assert(carrier_wire_size(3, 6, &size) && size == 30);
    ck_assert(carrier_wire_size(0, 0, &size) && size == 0);
    ck_assert(!carrier_wire_size(SIZE_MAX / 8 + 1, 0, &size));
    ck_assert(!carrier_wire_size(1, SIZE_MAX - 7, &size));
    ck_assert_uint_eq(size, 0);

    uint8_t bytes[30] = {0};
    static const uint64_t lengths[] = {3, 1, 2};
    for (size_t row = 0; row < 3; row++)
        carrier_wire_put_length(bytes, row, lengths[row]);
    ck_assert_uint_eq(bytes[0], 3);
    ck_assert_uint_eq(bytes[16], 2);
    ck_assert_int_eq(carrier_wire_check(bytes, 30, 3), MUSTER_OK);
    for (size_t row = 0; row < 3; row++)
        ck_assert_uint_eq(carrier_wire_length(bytes, row), lengths[row]);
    /* Too short, too long, cut in the lengths, another number of rows. */
    for (size_t cut = 0; cut < 30; cut++) {
        uint8_t *exact = malloc(cut + 1); /* so that a read behind it is seen */
        memcpy(exact + 1, bytes, cut);
        ck_assert_int_eq(carrier_wire_check(exact + 1, cut, 3), MUSTER_PROTOCOL);
        free(exact);
    }
    ck_assert_int_eq(carrier_wire_check(bytes, 30, 2), MUSTER_PROTOCOL);
    ck_assert_int_eq(carrier_wire_check(bytes, 30, 4), MUSTER_PROTOCOL);
    ck_assert_int_eq(carrier_wire_check(bytes, 30, SIZE_MAX), MUSTER_PROTOCOL);
    ck_assert_int_eq(carrier_wire_check(bytes, 0, 0), MUSTER_OK);
    ck_assert_int_eq(carrier_wire_check(bytes, 1, 0), MUSTER_PROTOCOL);
    /* Lengths whose sum wraps around to the right one. */
    carrier_wire_put_length(bytes, 0, UINT64_MAX);
    carrier_wire_put_length(bytes, 1, 7);
    carrier_wire_put_length(bytes, 2, 0);
    ck_assert_int_eq(carrier_wire_check(bytes, 30, 3), MUSTER_PROTOCOL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("carrier");
    TCase *tests = tcase_create("carrier");
    tcase_add_test(tests, arithmetic_is_checked);
    tcase_add_test(tests, uniform_rows);
    tcase_add_test(tests, ragged_rows);
    tcase_add_test(tests, ragged_shapes_that_are_rejected);
    tcase_add_test(tests, a_carrier_on_the_wire);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
