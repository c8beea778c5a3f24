/* Reductions: every pair of datatype and operation against a slow reference; what is refused. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reduce/half.h"
#include "reduce/reduce.h"
#include "unit/require.h"

#define COUNT_MAX 400 /* elements: several blocks of the loops and a rest */
#define ELEMENT_MAX 16
#define GUARD 64

static uint64_t random_state;

static void random_begin(void)
{
    random_state = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random_state);
}

static uint64_t random_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t mixed = random_state ^ random_state >> 29;
    return mixed * UINT64_C(0x9e3779b97f4a7c15) ^ mixed >> 32;
}

/* ---- Which goes with which ------------------------------------------------------------------- */

static const struct {
    muster_datatype_t datatype;
    const char *name;
    size_t size;
} datatypes[] = {
#define X(name, size, text) {MUSTER_##name, text, size},
    MUSTER_DATATYPE_LIST(X)
#undef X
};
#define DATATYPES (sizeof datatypes / sizeof *datatypes)

static const struct {
    muster_op_t op;
    const char *name;
} ops[] = {
#define X(name, text) {MUSTER_##name, text},
    MUSTER_OP_LIST(X)
#undef X
};
#define OPS (sizeof ops / sizeof *ops)

/* The table of reduce.h, written out: the operations of each class of datatypes. */
static const char *ops_of(const char *datatype)
{
    if (strstr("i8 i16 i32 i64 u8 u16 u32 u64", datatype) != NULL)
        return "sum prod min max band bor bxor land lor lxor";
    if (strstr("f32 f64 f16 bf16", datatype) != NULL)
        return "sum prod min max";
    if (strcmp(datatype, "bool") == 0)
        return "land lor lxor";
    if (strcmp(datatype, "byte") == 0)
        return "band bor bxor";
    if (strcmp(datatype, "c32") == 0 || strcmp(datatype, "c64") == 0)
        return "sum prod";
    return "minloc maxloc";
}

static bool is_word_of(const char *word, const char *words)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

START_TEST(pairs_that_make_no_sense_are_rejected) /* C417 */
{
    unsigned accepted = 0;
    for (size_t d = 0; d < DATATYPES; d++) {
        for (size_t o = 0; o < OPS; o++) {
            bool good = is_word_of(ops[o].name, ops_of(datatypes[d].name));
            accepted += good;
            ck_assert_msg(reduce_check(datatypes[d].datatype, &ops[o].op) ==
                              (good ? MUSTER_OK : MUSTER_INVALID_OPERATION),
                          "%s of %s", ops[o].name, datatypes[d].name);
        }
    }
    ck_assert_uint_eq(accepted, 8 * 10 + 4 * 4 + 3 + 3 + 2 * 2 + 4 * 2);
}
END_TEST

START_TEST(datatypes_have_sizes_and_names)
{
    for (size_t d = 0; d < DATATYPES; d++) {
        ck_assert_uint_eq(muster_datatype_size(datatypes[d].datatype), datatypes[d].size);
        ck_assert_str_eq(muster_datatype_name(datatypes[d].datatype), datatypes[d].name);
        /* Another size than its own. */
        ck_assert_uint_eq(muster_datatype_size(datatypes[d].datatype + 256), 0);
        ck_assert_uint_eq(muster_datatype_size(datatypes[d].datatype & 0xff), 0);
    }
    ck_assert_uint_eq(muster_datatype_size(MUSTER_USER_DATATYPE(24)), 24);
    ck_assert_str_eq(muster_datatype_name(MUSTER_USER_DATATYPE(24)), "user");
    ck_assert_uint_eq(muster_datatype_size(MUSTER_USER_DATATYPE(UINT64_C(1) << 40)),
                      (size_t)1 << 40);
    static const muster_datatype_t none[] = {0,
                                             255,
                                             UINT64_MAX,
                                             MUSTER_USER_DATATYPE(0),
                                             MUSTER_USER_DATATYPE((UINT64_C(1) << 40) + 1),
                                             MUSTER_DATATYPE_KIND_COUNT | 1u << 8,
                                             1u << 8};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_uint_eq(muster_datatype_size(none[i]), 0);
        ck_assert_str_eq(muster_datatype_name(none[i]), "?");
        ck_assert_int_eq(reduce_check(none[i], &ops[0].op), MUSTER_INVALID_DATATYPE);
        ck_assert_int_eq(reduce_check(none[i], NULL), MUSTER_INVALID_DATATYPE);
    }
    for (size_t o = 0; o < OPS; o++)
        ck_assert_str_eq(reduce_op_name((uint8_t)ops[o].op.kind), ops[o].name);
    ck_assert_str_eq(reduce_op_name(MUSTER_OP_USER), "user");
    ck_assert_str_eq(reduce_op_name(MUSTER_OP_NONE), "?");
    ck_assert_str_eq(reduce_op_name(255), "?");
}
END_TEST

/* ---- Integers, bool, byte -------------------------------------------------------------------- */

typedef struct buffers {
    _Alignas(16) uint8_t left[GUARD + COUNT_MAX * ELEMENT_MAX + GUARD];
    _Alignas(16) uint8_t right[GUARD + COUNT_MAX * ELEMENT_MAX + GUARD];
    _Alignas(16) uint8_t result[GUARD + COUNT_MAX * ELEMENT_MAX + GUARD];
} buffers_t;

static uint64_t element_get(const uint8_t *array, size_t index, size_t size, bool is_signed)
{
    uint64_t number = 0;
    memcpy(&number, array + index * size, size);
    uint64_t sign = UINT64_C(1) << (size * 8 - 1);
    return is_signed ? (number ^ sign) - sign : number;
}

/* In 64 bits, of which the lower ones are compared; a and b extended as their type says. */
static uint64_t integer_reference(muster_op_kind_t kind, uint64_t a, uint64_t b, bool is_signed)
{
    bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    switch (kind) {
    case MUSTER_OP_SUM:
        return a + b;
    case MUSTER_OP_PROD:
        return a * b;
    case MUSTER_OP_MIN:
        return less ? a : b;
    case MUSTER_OP_MAX:
        return less ? b : a;
    case MUSTER_OP_BAND:
        return a & b;
    case MUSTER_OP_BOR:
        return a | b;
    case MUSTER_OP_BXOR:
        return a ^ b;
    case MUSTER_OP_LAND:
        return a && b;
    case MUSTER_OP_LOR:
        return a || b;
    case MUSTER_OP_LXOR:
        return !a != !b;
    default:
        ck_abort();
    }
}

/* Small numbers, the ends of the range, and any. */
static void fill_integers(uint8_t *array, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t chance = random_number();
        array[i] = (uint8_t)(chance % 4 == 0   ? 0
                             : chance % 4 == 1 ? 0xff
                             : chance % 4 == 2 ? (chance >> 8 & 1) << 7
                                               : chance >> 16);
    }
}

/* result: another buffer, left, right. */
static uint8_t *place_result(buffers_t *buffers, int where)
{
    return GUARD + (where == 0 ? buffers->result : where == 1 ? buffers->left : buffers->right);
}

static void integers_once(size_t d, size_t o, size_t count, int where)
{
    static buffers_t buffers, before;
    size_t size = datatypes[d].size;
    bool is_signed = datatypes[d].name[0] == 'i';
    fill_integers((uint8_t *)&buffers, sizeof buffers);
    before = buffers;
    uint8_t *result = place_result(&buffers, where);
    ck_assert_int_eq(reduce_apply(&ops[o].op, datatypes[d].datatype, buffers.left + GUARD,
                                  buffers.right + GUARD, result, count),
                     MUSTER_OK);
    for (size_t i = 0; i < count; i++) {
        uint64_t a = element_get(before.left + GUARD, i, size, is_signed);
        uint64_t b = element_get(before.right + GUARD, i, size, is_signed);
        uint64_t wanted = integer_reference(ops[o].op.kind, a, b, is_signed);
        uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
        REQUIRE(element_get(result, i, size, false) == (wanted & mask),
                "%s of %s, element %zu of %zu, result %d", ops[o].name, datatypes[d].name, i, count,
                where);
    }
    /* Nothing else has changed, before, behind or in the operands. */
    memcpy(result, place_result(&before, where), count * size);
    REQUIRE(memcmp(&buffers, &before, sizeof buffers) == 0, "%s of %s, %zu elements", ops[o].name,
            datatypes[d].name, count);
}

START_TEST(integers_follow_the_reference) /* C417, C420, C421, case 26 */
{
    static const size_t counts[] = {0,   1,   2,   3,   7,   8,   15,  16,  17,  31,  33,
                                    100, 127, 128, 129, 255, 256, 257, 300, 384, 399, 400};
    random_begin();
    for (size_t d = 0; d < DATATYPES; d++)
        for (size_t o = 0; o < OPS; o++)
            if (strstr("i8 i16 i32 i64 u8 u16 u32 u64 bool byte", datatypes[d].name) != NULL &&
                reduce_check(datatypes[d].datatype, &ops[o].op) == MUSTER_OK)
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                    for (int where = 0; where < 3; where++)
                        integers_once(d, o, counts[c], where);
}
END_TEST

#define WRAPS(type_t, datatype, op, a, b, wanted)                                                  \
    do {                                                                                           \
        type_t left[300], right[300], result[300];                                                 \
        for (int i = 0; i < 300; i++) {                                                            \
            left[i] = (a);                                                                         \
            right[i] = (b);                                                                        \
        }                                                                                          \
        ck_assert_int_eq(reduce_apply(&(op), (datatype), left, right, result, 300), MUSTER_OK);    \
        for (int i = 0; i < 300; i++)                                                              \
            ck_assert(result[i] == (wanted));                                                      \
    } while (0)

START_TEST(integers_wrap) /* case 26 */
{
    WRAPS(int8_t, MUSTER_I8, MUSTER_SUM, 127, 1, -128);
    WRAPS(int8_t, MUSTER_I8, MUSTER_SUM, -128, -1, 127);
    WRAPS(uint8_t, MUSTER_U8, MUSTER_SUM, 200, 100, 44);
    WRAPS(uint8_t, MUSTER_U8, MUSTER_PROD, 200, 200, 64);
    WRAPS(int16_t, MUSTER_I16, MUSTER_SUM, 32767, 2, -32767);
    WRAPS(int16_t, MUSTER_I16, MUSTER_PROD, -32768, -1, -32768);
    WRAPS(uint16_t, MUSTER_U16, MUSTER_SUM, 65535, 2, 1);
    WRAPS(uint16_t, MUSTER_U16, MUSTER_PROD, 65535, 65535, 1);
    WRAPS(int32_t, MUSTER_I32, MUSTER_SUM, INT32_MAX, 1, INT32_MIN);
    WRAPS(int64_t, MUSTER_I64, MUSTER_PROD, INT64_MIN, -1, INT64_MIN);
    WRAPS(uint64_t, MUSTER_U64, MUSTER_SUM, UINT64_MAX, 3, 2);
}
END_TEST

START_TEST(truth_is_any_other_value_than_zero)
{
    static const uint8_t left[] = {0, 0, 1, 2, 255}, right[] = {0, 7, 0, 4, 128};
    static const uint8_t wanted[3][5] = {{0, 0, 0, 1, 1}, {0, 1, 1, 1, 1}, {0, 1, 1, 0, 0}};
    static const muster_op_kind_t kinds[] = {MUSTER_OP_LAND, MUSTER_OP_LOR, MUSTER_OP_LXOR};
    for (size_t i = 0; i < 3; i++) {
        uint8_t result[5];
        muster_op_t op = MUSTER_OP_BUILTIN(kinds[i]);
        ck_assert_int_eq(reduce_apply(&op, MUSTER_BOOL, left, right, result, 5), MUSTER_OK);
        ck_assert_int_eq(memcmp(result, wanted[i], 5), 0);
        ck_assert_int_eq(reduce_apply(&op, MUSTER_U8, left, right, result, 5), MUSTER_OK);
        ck_assert_int_eq(memcmp(result, wanted[i], 5), 0);
    }
}
END_TEST

/* Combines elements first..last-1 in some order of pairs, lower ones on the left. */
static void fold(const muster_op_t *op, muster_datatype_t datatype, uint8_t (*values)[ELEMENT_MAX],
                 unsigned first, unsigned last, uint8_t *result)
{
    _Alignas(16) uint8_t left[ELEMENT_MAX], right[ELEMENT_MAX];
    if (last - first == 1) {
        memcpy(result, values[first], ELEMENT_MAX);
        return;
    }
    unsigned middle = first + 1 + (unsigned)(random_number() >> 8) % (last - first - 1);
    fold(op, datatype, values, first, middle, left);
    fold(op, datatype, values, middle, last, right);
    REQUIRE(reduce_apply(op, datatype, left, right, result, 1) == MUSTER_OK);
}

/* Integers and pairs, NaNs among their values included. */
START_TEST(exact_types_are_the_same_by_every_path) /* C420 */
{
    random_begin();
    for (size_t d = 0; d < DATATYPES; d++) {
        const char *name = datatypes[d].name;
        bool pair = strchr(name, '_') != NULL;
        if (!pair && (name[0] == 'f' || name[0] == 'c' || strcmp(name, "bf16") == 0))
            continue;
        for (size_t o = 0; o < OPS; o++) {
            if (reduce_check(datatypes[d].datatype, &ops[o].op) != MUSTER_OK)
                continue;
            for (int round = 0; round < 200; round++) {
                _Alignas(16) uint8_t values[9][ELEMENT_MAX], one[ELEMENT_MAX], other[ELEMENT_MAX];
                memset(values, 0, sizeof values);
                for (int i = 0; i < 9; i++) {
                    size_t bytes = pair ? datatypes[d].size / 2 : datatypes[d].size;
                    fill_integers(values[i], bytes);
                    if (pair) { /* few values, so that there are ties; any index */
                        memset(values[i], (int)(random_number() >> 9 & 1) * 0xff, bytes);
                        int32_t index = (int32_t)(random_number() >> 40 & 0xffff);
                        memcpy(values[i] + bytes, &index, sizeof index);
                    }
                }
                memset(one, 0, sizeof one);
                memset(other, 0, sizeof other);
                fold(&ops[o].op, datatypes[d].datatype, values, 0, 9, one);
                for (int i = 8; i > 0; i--) { /* any order of the values too: they commute */
                    unsigned j = (unsigned)(random_number() >> 8) % (unsigned)(i + 1);
                    uint8_t kept[ELEMENT_MAX];
                    memcpy(kept, values[i], ELEMENT_MAX);
                    memcpy(values[i], values[j], ELEMENT_MAX);
                    memcpy(values[j], kept, ELEMENT_MAX);
                }
                fold(&ops[o].op, datatypes[d].datatype, values, 0, 9, other);
                REQUIRE(memcmp(one, other, ELEMENT_MAX) == 0, "%s of %s", ops[o].name, name);
            }
        }
    }
}
END_TEST

/* ---- Floating point -------------------------------------------------------------------------- */

static const double special[] = {0.0,  -0.0,  1.0,      -1.0,      1.5, 3.25,  -7.0,
                                 1e30, 1e-30, INFINITY, -INFINITY, NAN, 65504, 1e-7};
#define SPECIAL (sizeof special / sizeof *special)

static double float_reference(muster_op_kind_t kind, double a, double b)
{
    if (kind == MUSTER_OP_SUM)
        return a + b;
    if (kind == MUSTER_OP_PROD)
        return a * b;
    if (isnan(a) || isnan(b))
        return NAN;
    return kind == MUSTER_OP_MIN ? fmin(a, b) : fmax(a, b);
}

static bool same_number(double one, double other)
{
    return isnan(one) ? isnan(other) : one == other;
}

START_TEST(floats_follow_the_reference) /* C417 */
{
    static const muster_op_kind_t kinds[] = {MUSTER_OP_SUM, MUSTER_OP_PROD, MUSTER_OP_MIN,
                                             MUSTER_OP_MAX};
    float left[SPECIAL * SPECIAL], right[SPECIAL * SPECIAL], result[SPECIAL * SPECIAL];
    double wide_left[SPECIAL * SPECIAL], wide_right[SPECIAL * SPECIAL];
    size_t count = SPECIAL * SPECIAL;
    for (size_t k = 0; k < 4; k++) {
        for (size_t i = 0; i < count; i++) {
            wide_left[i] = special[i / SPECIAL];
            wide_right[i] = special[i % SPECIAL];
            left[i] = (float)wide_left[i];
            right[i] = (float)wide_right[i];
        }
        muster_op_t op = MUSTER_OP_BUILTIN(kinds[k]);
        ck_assert_int_eq(reduce_apply(&op, MUSTER_F32, left, right, result, count), MUSTER_OK);
        for (size_t i = 0; i < count; i++) /* one operation in double rounds to the same float */
            REQUIRE(same_number(result[i], (float)float_reference(kinds[k], left[i], right[i])),
                    "%g %g: %g", left[i], right[i], result[i]);
        /* In place, on the left. */
        ck_assert_int_eq(reduce_apply(&op, MUSTER_F64, wide_left, wide_right, wide_left, count),
                         MUSTER_OK);
        for (size_t i = 0; i < count; i++) {
            double a = special[i / SPECIAL], b = special[i % SPECIAL];
            REQUIRE(same_number(wide_left[i], float_reference(kinds[k], a, b)), "%g %g", a, b);
        }
    }
}
END_TEST

START_TEST(order_is_left_then_right) /* case 23 */
{
    /* The two groupings differ in the last digits: what is asked for is what is done. */
    double a = 1e16, b = 1.0, c = -1e16, left, right;
    muster_op_t sum = MUSTER_SUM;
    ck_assert_int_eq(reduce_apply(&sum, MUSTER_F64, &a, &b, &left, 1), MUSTER_OK);
    ck_assert_int_eq(reduce_apply(&sum, MUSTER_F64, &left, &c, &left, 1), MUSTER_OK);
    ck_assert(left == (a + b) + c);
    ck_assert_int_eq(reduce_apply(&sum, MUSTER_F64, &b, &c, &right, 1), MUSTER_OK);
    ck_assert_int_eq(reduce_apply(&sum, MUSTER_F64, &a, &right, &right, 1), MUSTER_OK);
    ck_assert(right == a + (b + c));
}
END_TEST

START_TEST(complex_numbers) /* C417 */
{
    float left[300][2], right[300][2], result[300][2];
    double wide_left[300][2], wide_right[300][2];
    for (int i = 0; i < 300; i++) {
        wide_left[i][0] = left[i][0] = (float)i;
        wide_left[i][1] = left[i][1] = 2;
        wide_right[i][0] = right[i][0] = 3;
        wide_right[i][1] = right[i][1] = (float)-i;
    }
    muster_op_t sum = MUSTER_SUM, prod = MUSTER_PROD;
    ck_assert_int_eq(reduce_apply(&sum, MUSTER_C32, left, right, result, 300), MUSTER_OK);
    for (int i = 0; i < 300; i++)
        REQUIRE(result[i][0] == (float)(i + 3) && result[i][1] == (float)(2 - i));
    ck_assert_int_eq(reduce_apply(&prod, MUSTER_C32, left, right, right, 300), MUSTER_OK);
    ck_assert_int_eq(reduce_apply(&prod, MUSTER_C64, wide_left, wide_right, wide_left, 300),
                     MUSTER_OK);
    for (int i = 0; i < 300; i++) { /* (i + 2j)(3 - ij) */
        REQUIRE(right[i][0] == (float)(3 * i + 2 * i) && right[i][1] == (float)(6 - i * i));
        REQUIRE(wide_left[i][0] == 3 * i + 2 * i && wide_left[i][1] == 6 - i * i);
    }
}
END_TEST

/* ---- Halves ---------------------------------------------------------------------------------- */

/* The value by its definition: sign, exponent and fraction put together with ldexp. */
static double half_value(uint16_t half, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits;
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = half >> fraction_bits & ((1 << exponent_bits) - 1);
    int fraction = half & ((1 << fraction_bits) - 1);
    double magnitude;
    if (exponent == (1 << exponent_bits) - 1)
        magnitude = fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        magnitude = ldexp(fraction, 1 - bias - fraction_bits);
    else
        magnitude = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* Nearest half, ties to even, found by bisection among the magnitudes in ascending order. */
static uint16_t half_nearest(double number, int exponent_bits)
{
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    double magnitude = fabs(number);
    uint16_t low = 0, infinity = (uint16_t)(((1 << exponent_bits) - 1) << (15 - exponent_bits));
    uint16_t high = infinity;
    if (isinf(magnitude))
        return sign | infinity;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (half_value(middle, exponent_bits) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = half_value(low, exponent_bits);
    /* Infinity stands where the next number would. */
    double above = high == infinity ? 2 * half_value((uint16_t)(infinity - 1), exponent_bits) -
                                          half_value((uint16_t)(infinity - 2), exponent_bits)
                                    : half_value(high, exponent_bits);
    double to_low = magnitude - below, to_high = above - magnitude;
    if (to_low == to_high)
        return sign | (low % 2 == 0 ? low : high);
    return sign | (to_low < to_high ? low : high);
}

static bool half_is_nan(uint16_t half, int exponent_bits)
{
    return isnan(half_value(half, exponent_bits));
}

START_TEST(every_half_is_exact_in_f32) /* C417 */
{
    for (uint32_t half = 0; half <= 0xffff; half++) {
        float f16 = half_f16_to_f32((uint16_t)half), bf16 = half_bf16_to_f32((uint16_t)half);
        REQUIRE(same_number(f16, half_value((uint16_t)half, 5)), "f16 %x", half);
        REQUIRE(same_number(bf16, half_value((uint16_t)half, 8)), "bf16 %x", half);
        REQUIRE(signbit(f16) == signbit(bf16) && !signbit(f16) == !(half & 0x8000));
        /* And back, bit for bit; a NaN becomes a quiet one. */
        uint32_t quiet_f16 = half_is_nan((uint16_t)half, 5) ? half | 0x200 : half;
        uint32_t quiet_bf16 = half_is_nan((uint16_t)half, 8) ? half | 0x40 : half;
        REQUIRE(half_f32_to_f16(f16) == quiet_f16, "f16 %x", half);
        REQUIRE(half_f32_to_bf16(bf16) == quiet_bf16, "bf16 %x", half);
    }
}
END_TEST

static void rounding_once(float number)
{
    if (isnan(number))
        return;
    REQUIRE(half_f32_to_f16(number) == half_nearest(number, 5), "%a: %x", number,
            half_f32_to_f16(number));
    REQUIRE(half_f32_to_bf16(number) == half_nearest(number, 8), "%a: %x", number,
            half_f32_to_bf16(number));
}

START_TEST(rounding_is_to_nearest_even) /* C417 */
{
    random_begin();
    /* Around every half: itself, the middle to the next, and the floats beside that. */
    for (uint32_t half = 0; half < 0x7c00; half++) {
        for (int bits = 5; bits <= 8; bits += 3) {
            double one = half_value((uint16_t)half, bits);
            double next = half_value((uint16_t)(half + 1), bits);
            float middle = (float)((one + (isinf(next) ? 65536.0 : next)) / 2);
            rounding_once((float)one);
            rounding_once(middle);
            rounding_once(nextafterf(middle, INFINITY));
            rounding_once(-nextafterf(middle, 0));
        }
    }
    for (int i = 0; i < 300000; i++)
        rounding_once(half_from_bits((uint32_t)(random_number() >> 16)));
    static const float some[] = {65504,     65519.996f, 65520,    65536,    1e38f,
                                 FLT_MAX,   INFINITY,   0x1p-24f, 0x1p-25f, 0x1.000002p-25f,
                                 0x1p-149f, 0x1p-126f,  0};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        rounding_once(some[i]);
        rounding_once(-some[i]);
    }
}
END_TEST

static void halves_once(const muster_op_t *op, muster_datatype_t datatype, int exponent_bits)
{
    uint16_t left[COUNT_MAX], right[COUNT_MAX], result[COUNT_MAX];
    for (int i = 0; i < COUNT_MAX; i++) {
        left[i] = (uint16_t)(random_number() >> 16);
        right[i] = (uint16_t)(random_number() >> 16);
        if (i % 3 == 0) /* of like size, so that sums are not one of the operands */
            right[i] = left[i] ^ (uint16_t)(right[i] & 0x83ff);
    }
    REQUIRE(reduce_apply(op, datatype, left, right, result, COUNT_MAX) == MUSTER_OK);
    for (int i = 0; i < COUNT_MAX; i++) {
        double a = half_value(left[i], exponent_bits), b = half_value(right[i], exponent_bits);
        double exact = float_reference(op->kind, a, b);
        if (isnan(exact)) {
            REQUIRE(half_is_nan(result[i], exponent_bits));
            continue;
        }
        /* Sums and products of two halves are exact in double, or far beyond a half's range. */
        if (exponent_bits == 8 && (fabs(exact) < 0x1p-120 || fabs(exact) > 0x1p126))
            continue; /* where f32 rounds or overflows first */
        double got = half_value(result[i], exponent_bits);
        REQUIRE(got == half_value(half_nearest(exact, exponent_bits), exponent_bits),
                "%s of %a and %a: %a", reduce_op_name((uint8_t)op->kind), a, b, got);
    }
}

START_TEST(halves_follow_the_reference) /* C417 */
{
    static const muster_op_kind_t kinds[] = {MUSTER_OP_SUM, MUSTER_OP_PROD, MUSTER_OP_MIN,
                                             MUSTER_OP_MAX};
    random_begin();
    for (int round = 0; round < 100; round++)
        for (size_t k = 0; k < 4; k++) {
            muster_op_t op = MUSTER_OP_BUILTIN(kinds[k]);
            halves_once(&op, MUSTER_F16, 5);
            halves_once(&op, MUSTER_BF16, 8);
        }
}
END_TEST

/* ---- Pairs ----------------------------------------------------------------------------------- */

typedef struct pair {
    double value;
    int32_t index;
} pair_t;

static pair_t pair_combine(muster_op_t op, pair_t left, pair_t right)
{
    pair_t result;
    ck_assert_int_eq(reduce_apply(&op, MUSTER_F64_I32, &left, &right, &result, 1), MUSTER_OK);
    return result;
}

START_TEST(of_equal_values_the_lower_index) /* C417 */
{
    static const struct {
        int32_t value, index;
    } left[] = {{3, 0}, {3, 0}, {3, 0}, {3, 9}, {INT32_MIN, 5}},
      right[] = {{4, 1}, {2, 1}, {3, 1}, {3, 1}, {INT32_MAX, 4}};
    struct {
        int32_t value, index;
    } least[5], greatest[5];
    muster_op_t minloc = MUSTER_MINLOC, maxloc = MUSTER_MAXLOC;
    ck_assert_int_eq(reduce_apply(&minloc, MUSTER_I32_I32, left, right, least, 5), MUSTER_OK);
    ck_assert_int_eq(reduce_apply(&maxloc, MUSTER_I32_I32, left, right, greatest, 5), MUSTER_OK);
    static const int32_t least_index[] = {0, 1, 0, 1, 5}, greatest_index[] = {1, 0, 0, 1, 4};
    static const int32_t least_value[] = {3, 2, 3, 3, INT32_MIN};
    static const int32_t greatest_value[] = {4, 3, 3, 3, INT32_MAX};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(least[i].index, least_index[i]);
        ck_assert_int_eq(least[i].value, least_value[i]);
        ck_assert_int_eq(greatest[i].index, greatest_index[i]);
        ck_assert_int_eq(greatest[i].value, greatest_value[i]);
    }
}
END_TEST

START_TEST(a_nan_goes_before_all) /* C417 */
{
    static const pair_t number = {1.0, 0}, nan_late = {NAN, 7}, nan_early = {NAN, 2};
    static const muster_op_kind_t kinds[] = {MUSTER_OP_MINLOC, MUSTER_OP_MAXLOC};
    for (int k = 0; k < 2; k++) {
        muster_op_t op = MUSTER_OP_BUILTIN(kinds[k]);
        ck_assert_int_eq(pair_combine(op, number, nan_late).index, 7);
        ck_assert_int_eq(pair_combine(op, nan_late, number).index, 7);
        ck_assert_int_eq(pair_combine(op, nan_late, nan_early).index, 2);
        ck_assert_int_eq(pair_combine(op, nan_early, nan_late).index, 2);
        ck_assert(isnan(pair_combine(op, number, nan_late).value));
        ck_assert_int_eq(pair_combine(op, (pair_t){0.0, 4}, (pair_t){-0.0, 3}).index, 3);
    }
}
END_TEST

START_TEST(all_pair_datatypes) /* C417 */
{
    muster_op_t minloc = MUSTER_MINLOC, maxloc = MUSTER_MAXLOC;
    struct {
        int64_t value;
        int32_t index;
    } a = {INT64_C(1) << 40, 1}, b = {(INT64_C(1) << 40) + 1, 0}, c;
    ck_assert_int_eq(reduce_apply(&minloc, MUSTER_I64_I32, &a, &b, &c, 1), MUSTER_OK);
    ck_assert(c.value == a.value && c.index == 1);
    ck_assert_int_eq(reduce_apply(&maxloc, MUSTER_I64_I32, &a, &b, &a, 1), MUSTER_OK);
    ck_assert(a.value == b.value && a.index == 0);
    struct {
        float value;
        int32_t index;
    } d = {-1.5f, 1}, e = {2.5f, 0};
    ck_assert_int_eq(reduce_apply(&minloc, MUSTER_F32_I32, &d, &e, &e, 1), MUSTER_OK);
    ck_assert(e.value == -1.5f && e.index == 1);
    ck_assert_uint_eq(sizeof a, muster_datatype_size(MUSTER_I64_I32));
    ck_assert_uint_eq(sizeof d, muster_datatype_size(MUSTER_F32_I32));
    ck_assert_uint_eq(sizeof(pair_t), muster_datatype_size(MUSTER_F64_I32));
}
END_TEST

/* ---- User-defined ---------------------------------------------------------------------------- */

typedef struct matrix {
    int32_t at[2][2];
} matrix_t;

typedef struct user_calls {
    unsigned calls;
    size_t count;
    muster_datatype_t datatype;
    muster_status_t answer;
} user_calls_t;

static muster_status_t multiply(void *context, const void *left, const void *right, void *result,
                                size_t count, muster_datatype_t datatype)
{
    user_calls_t *calls = context;
    calls->calls++;
    calls->count = count;
    calls->datatype = datatype;
    if (calls->answer != MUSTER_OK)
        return calls->answer;
    const matrix_t *as = left, *bs = right;
    matrix_t *into = result;
    for (size_t i = 0; i < count; i++) {
        matrix_t product;
        for (int row = 0; row < 2; row++)
            for (int column = 0; column < 2; column++)
                product.at[row][column] =
                    as[i].at[row][0] * bs[i].at[0][column] + as[i].at[row][1] * bs[i].at[1][column];
        into[i] = product;
    }
    return MUSTER_OK;
}

START_TEST(a_user_defined_reduction) /* C406, C410, C417 */
{
    user_calls_t calls = {0};
    muster_op_t op = MUSTER_USER_OP(multiply, &calls, false, 1);
    muster_datatype_t datatype = MUSTER_USER_DATATYPE(sizeof(matrix_t));
    matrix_t left[2] = {{{{1, 2}, {3, 4}}}, {{{0, 1}, {1, 0}}}};
    matrix_t right[2] = {{{{0, 1}, {1, 0}}}, {{{1, 2}, {3, 4}}}};
    ck_assert_int_eq(reduce_check(datatype, &op), MUSTER_OK);
    ck_assert_int_eq(reduce_apply(&op, datatype, left, right, left, 2), MUSTER_OK);
    static const matrix_t wanted[2] = {{{{2, 1}, {4, 3}}}, {{{3, 4}, {1, 2}}}};
    ck_assert_int_eq(memcmp(left, wanted, sizeof wanted), 0); /* left times right, not reversed */
    ck_assert(calls.calls == 1 && calls.count == 2 && calls.datatype == datatype);
    /* Nothing to combine: nobody is called. */
    ck_assert_int_eq(reduce_apply(&op, datatype, NULL, NULL, NULL, 0), MUSTER_OK);
    ck_assert_uint_eq(calls.calls, 1);
    /* Any failure is one of the reduction; it is called once and not again. */
    static const muster_status_t answers[] = {MUSTER_REDUCTION_FAILED, MUSTER_INTERNAL,
                                              MUSTER_IN_PROGRESS, (muster_status_t)-3};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        calls = (user_calls_t){.answer = answers[i]};
        ck_assert_int_eq(reduce_apply(&op, datatype, left, right, left, 2),
                         MUSTER_REDUCTION_FAILED);
        ck_assert_uint_eq(calls.calls, 1);
    }
}
END_TEST

START_TEST(user_defined_ones_are_checked) /* C121, C417 */
{
    user_calls_t calls = {0};
    muster_op_t good = MUSTER_USER_OP(multiply, &calls, true, 1);
    for (size_t d = 0; d < DATATYPES; d++)
        ck_assert_int_eq(reduce_check(datatypes[d].datatype, &good), MUSTER_OK);
    muster_op_t without = MUSTER_USER_OP(NULL, NULL, true, 1);
    ck_assert_int_eq(reduce_check(MUSTER_I32, &without), MUSTER_INVALID_OPERATION);
    for (size_t o = 0; o < OPS; o++)
        ck_assert_int_eq(reduce_check(MUSTER_USER_DATATYPE(4), &ops[o].op),
                         MUSTER_INVALID_OPERATION);
    static const int kinds[] = {MUSTER_OP_NONE, MUSTER_OP_KIND_COUNT, -1, 1000};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        muster_op_t op = MUSTER_OP_BUILTIN((muster_op_kind_t)kinds[i]);
        ck_assert_int_eq(reduce_check(MUSTER_I32, &op), MUSTER_INVALID_OPERATION);
    }
    ck_assert_int_eq(reduce_check(MUSTER_I32, NULL), MUSTER_INVALID_OPERATION);
}
END_TEST

START_TEST(applying_what_was_not_checked_is_a_fault)
{
    float number = 1;
    muster_op_t op = MUSTER_BAND;
    (void)reduce_apply(&op, MUSTER_F32, &number, &number, &number, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tests = tcase_create("reduce");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, pairs_that_make_no_sense_are_rejected);
    tcase_add_test(tests, datatypes_have_sizes_and_names);
    tcase_add_test(tests, integers_follow_the_reference);
    tcase_add_test(tests, integers_wrap);
    tcase_add_test(tests, truth_is_any_other_value_than_zero);
    tcase_add_test(tests, exact_types_are_the_same_by_every_path);
    tcase_add_test(tests, floats_follow_the_reference);
    tcase_add_test(tests, order_is_left_then_right);
    tcase_add_test(tests, complex_numbers);
    tcase_add_test(tests, every_half_is_exact_in_f32);
    tcase_add_test(tests, rounding_is_to_nearest_even);
    tcase_add_test(tests, halves_follow_the_reference);
    tcase_add_test(tests, of_equal_values_the_lower_index);
    tcase_add_test(tests, a_nan_goes_before_all);
    tcase_add_test(tests, all_pair_datatypes);
    tcase_add_test(tests, a_user_defined_reduction);
    tcase_add_test(tests, user_defined_ones_are_checked);
    tcase_add_test_raise_signal(tests, applying_what_was_not_checked_is_a_fault, SIGABRT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
