/* Bytes and messages: layout, round trips, and what is rejected. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/wire.h"
#include "unit/require.h"

static uint64_t random_state;

static void random_begin(void)
{
    random_state = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random_state);
}

/* A 64-bit congruential generator, upper bits mixed into the lower ones. */
static uint64_t random_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t mixed = random_state ^ random_state >> 29;
    return mixed * UINT64_C(0x9e3779b97f4a7c15) ^ mixed >> 32;
}

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)(random_number() >> 20) % bound;
}

static void random_bytes(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(random_number() >> 24);
}

static const uint64_t datatypes[] = {0,
                                     MUSTER_I8,
                                     MUSTER_U64,
                                     MUSTER_C64,
                                     MUSTER_F64_I32,
                                     MUSTER_USER_DATATYPE(1),
                                     MUSTER_BF16,
                                     MUSTER_USER_DATATYPE(UINT64_C(1) << 40)};

static bool has_rows(unsigned operation)
{
    return operation == OPERATION_GATHERV || operation == OPERATION_SCATTERV ||
           operation == OPERATION_ALLGATHERV || operation == OPERATION_ALLTOALLV;
}

static wire_message_t random_message(void)
{
    uint8_t operation = (uint8_t)random_below(OPERATION_COUNT);
    uint8_t kind = (uint8_t)(1 + random_below(WIRE_KIND_COUNT - 1));
    return (wire_message_t){
        .kind = kind,
        .label = (uint8_t)random_below(256),
        .round = kind == WIRE_DATA ? (uint32_t)random_below(1U << 24) : 0,
        .payload_length = random_number() % (WIRE_PAYLOAD_MAX + 1),
        .creator = (uint32_t)random_number(),
        .creation = (uint32_t)random_number(),
        .generation = random_number() >> random_below(64),
        .group_left = (uint32_t)random_number(),
        .group_right = (uint32_t)random_number(),
        .source = (uint32_t)random_number(),
        .call = {.operation = operation,
                 .mode = (uint8_t)random_below(2),
                 .outcome = (uint8_t)(MUSTER_OUTCOME_UNIFORM + random_below(2)),
                 .op_kind = (uint8_t)random_below(MUSTER_OP_KIND_COUNT),
                 .commutative = random_below(2) == 1,
                 .initial = random_below(2) == 1,
                 .rows = has_rows(operation) && random_below(2) == 1,
                 .root = (uint32_t)random_number(),
                 .datatype = datatypes[random_below(sizeof datatypes / sizeof *datatypes)],
                 .count = random_number(),
                 .op_identity = random_number()},
    };
}

static bool same_message(const wire_message_t *one, const wire_message_t *other)
{
    return one->kind == other->kind && one->label == other->label && one->round == other->round &&
           one->payload_length == other->payload_length && one->creator == other->creator &&
           one->creation == other->creation && one->generation == other->generation &&
           one->group_left == other->group_left && one->group_right == other->group_right &&
           one->source == other->source && one->call.root == other->call.root &&
           call_compare(&one->call, &other->call) == CALL_FIELD_NONE;
}

START_TEST(numbers_are_little_endian)
{
    uint8_t bytes[8];
    wire_put_u64(bytes, UINT64_C(0x0102030405060708));
    static const uint8_t expected[] = {8, 7, 6, 5, 4, 3, 2, 1};
    ck_assert_int_eq(memcmp(bytes, expected, 8), 0);
    ck_assert_uint_eq(wire_get_u16(bytes), 0x0708);
    ck_assert_uint_eq(wire_get_u32(bytes), 0x05060708);
    ck_assert_uint_eq(wire_get_u64(bytes), UINT64_C(0x0102030405060708));
    wire_put_u16(bytes, 0xfffe);
    wire_put_u32(bytes + 2, 0xfffefdfc);
    ck_assert_uint_eq(wire_get_u16(bytes), 0xfffe);
    ck_assert_uint_eq(wire_get_u32(bytes + 2), 0xfffefdfc);
    wire_put_u64(bytes, UINT64_MAX);
    ck_assert_uint_eq(wire_get_u64(bytes), UINT64_MAX);
}
END_TEST

START_TEST(the_header_is_laid_out_as_drawn)
{
    wire_message_t message = {
        .kind = WIRE_DATA,
        .label = 0x0b,
        .round = 0x030201,
        .payload_length = 0x0c,
        .creator = 0x10,
        .creation = 0x14,
        .generation = 0x18,
        .group_left = 0x20,
        .group_right = 0x24,
        .source = 0x28,
        .call = {.operation = OPERATION_REDUCE,
                 .mode = GENERATION_EXPLICIT,
                 .outcome = MUSTER_OUTCOME_UNIFORM,
                 .op_kind = MUSTER_OP_USER,
                 .commutative = true,
                 .root = 0x2c,
                 .datatype = MUSTER_F64,
                 .count = UINT64_C(0x3800000000), /* case 27: more than 32 bits */
                 .op_identity = 0x40},
    };
    uint8_t bytes[WIRE_HEADER_SIZE];
    wire_encode(&message, bytes);
    static const uint8_t expected[WIRE_HEADER_SIZE] = {
        [0] = WIRE_DATA,
        [1] = OPERATION_REDUCE,
        [2] = 0x0b,
        [5] = 0x01,
        [6] = 0x02,
        [7] = 0x03,
        [3] = 1 | 4,
        [4] = MUSTER_OP_USER,
        [8] = 0x0c,
        [16] = 0x10,
        [20] = 0x14,
        [24] = 0x18,
        [32] = 0x20,
        [36] = 0x24,
        [40] = 0x28,
        [44] = 0x2c,
        [48] = MUSTER_DATATYPE_F64,
        [49] = 8,
        [60] = 0x38,
        [64] = 0x40,
    };
    for (size_t i = 0; i < WIRE_HEADER_SIZE; i++)
        ck_assert_msg(bytes[i] == expected[i], "byte %zu is %u", i, bytes[i]);
    ck_assert_uint_eq(wire_payload_length(expected), 0x0c);
    wire_message_t decoded;
    ck_assert(wire_decode(bytes, &decoded));
    ck_assert_uint_eq(decoded.call.count, UINT64_C(0x3800000000));
}
END_TEST

START_TEST(headers_come_back)
{
    random_begin();
    for (int round = 0; round < 100000; round++) {
        wire_message_t message = random_message(), decoded;
        if (message.generation == UINT64_MAX)
            continue;
        uint8_t bytes[WIRE_HEADER_SIZE];
        memset(bytes, 0xa5, sizeof bytes);
        wire_encode(&message, bytes);
        REQUIRE(wire_decode(bytes, &decoded), "round %d", round);
        REQUIRE(same_message(&message, &decoded), "round %d", round);
    }
}
END_TEST

/* Every value of each byte that is not free: accepted where it is one that Muster writes. */
START_TEST(corrupted_headers_are_rejected) /* C922 */
{
    random_begin();
    for (int round = 0; round < 100; round++) {
        wire_message_t message = random_message(), untouched = message, decoded = untouched;
        message.payload_length = 1;
        message.generation = 7;
        message.round = 0;
        bool data = message.kind == WIRE_DATA; /* others have no rounds */
        uint8_t bytes[WIRE_HEADER_SIZE];
        wire_encode(&message, bytes);
        for (unsigned value = 0; value < 256; value++) {
            const struct {
                size_t offset;
                bool good;
            } bounded[] = {{0, value > 0 && value < WIRE_KIND_COUNT},
                           {1, message.call.rows ? has_rows(value) : value < OPERATION_COUNT},
                           {3, value < 16 || (value < 32 && has_rows(message.call.operation))},
                           {4, value < MUSTER_OP_KIND_COUNT},
                           {5, value == 0 || data},
                           {6, value == 0 || data},
                           {7, value == 0 || data},
                           {15, value == 0}}; /* of the payload's length */
            for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++) {
                uint8_t kept = bytes[bounded[i].offset];
                bytes[bounded[i].offset] = (uint8_t)value;
                REQUIRE(wire_decode(bytes, &decoded) == bounded[i].good, "byte %zu is %u",
                        bounded[i].offset, value);
                if (!bounded[i].good)
                    REQUIRE(same_message(&decoded, &untouched));
                decoded = untouched;
                bytes[bounded[i].offset] = kept;
            }
        }
    }
}
END_TEST

START_TEST(numbers_beyond_their_limits_are_rejected) /* C922 */
{
    wire_message_t message = random_message(), decoded;
    message.payload_length = WIRE_PAYLOAD_MAX;
    uint8_t bytes[WIRE_HEADER_SIZE];
    wire_encode(&message, bytes);
    ck_assert(wire_decode(bytes, &decoded));
    wire_put_u64(bytes + 8, WIRE_PAYLOAD_MAX + 1);
    ck_assert(!wire_decode(bytes, &decoded));
    wire_put_u64(bytes + 8, 0);
    wire_put_u64(bytes + 24, UINT64_MAX - 1); /* slot 1 of the last public generation */
    ck_assert(wire_decode(bytes, &decoded));
    wire_put_u64(bytes + 24, UINT64_MAX);
    ck_assert(!wire_decode(bytes, &decoded));
    wire_put_u64(bytes + 24, 1);
    static const uint64_t wrong[] = {1,
                                     UINT64_C(1) << 8,
                                     MUSTER_I32 + (UINT64_C(1) << 8),
                                     MUSTER_I32 | UINT64_C(1) << 63,
                                     MUSTER_DATATYPE_KIND_COUNT | 1u << 8,
                                     255,
                                     MUSTER_DATATYPE_USER,
                                     MUSTER_USER_DATATYPE((UINT64_C(1) << 40) + 1)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wire_put_u64(bytes + 48, wrong[i]);
        ck_assert_msg(!wire_decode(bytes, &decoded), "datatype %zu", i);
    }
}
END_TEST

/* What is accepted is exactly what encoding writes, so it comes out as it came in. */
START_TEST(random_bytes_are_rejected_or_kept) /* C922, case 39 */
{
    random_begin();
    unsigned accepted = 0;
    for (int round = 0; round < 200000; round++) {
        uint8_t bytes[WIRE_HEADER_SIZE], again[WIRE_HEADER_SIZE];
        random_bytes(bytes, sizeof bytes);
        if (round % 2 == 0) { /* nearly a header: one byte of one is changed */
            wire_message_t message = random_message();
            message.generation >>= 1;
            wire_encode(&message, bytes);
            bytes[random_below(WIRE_HEADER_SIZE)] = (uint8_t)random_below(256);
        }
        wire_message_t decoded;
        if (!wire_decode(bytes, &decoded))
            continue;
        accepted++;
        wire_encode(&decoded, again);
        REQUIRE(memcmp(bytes, again, sizeof bytes) == 0, "round %d", round);
    }
    ck_assert_uint_gt(accepted, 0);
}
END_TEST

static void random_text(char *text, size_t size)
{
    size_t length = random_below((uint32_t)size);
    memset(text, 0, size);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(1 + random_below(255));
}

static muster_failure_t random_failure(void)
{
    muster_failure_t failure;
    memset(&failure, 0, sizeof failure);
    failure.status = (muster_status_t)random_below(MUSTER_STATUS_COUNT);
    failure.rank = (uint32_t)random_number();
    failure.pid = (uint32_t)random_number();
    failure.generation = random_number();
    random_text(failure.operation, sizeof failure.operation);
    random_text(failure.field, sizeof failure.field);
    random_text(failure.host, sizeof failure.host);
    random_text(failure.message, sizeof failure.message);
    failure.range_count = random_below(MUSTER_FAILURE_RANGES_MAX + 1);
    for (uint32_t i = 0; i < failure.range_count; i++) {
        uint32_t one = (uint32_t)random_number(), other = (uint32_t)random_number();
        failure.missing[i].first = one < other ? one : other;
        failure.missing[i].last = one < other ? other : one;
    }
    return failure;
}

START_TEST(failures_come_back)
{
    random_begin();
    for (int round = 0; round < 5000; round++) {
        muster_failure_t failure = random_failure(), decoded;
        uint8_t bytes[WIRE_FAILURE_SIZE];
        memset(bytes, 0xa5, sizeof bytes);
        memset(&decoded, 0x5a, sizeof decoded);
        wire_encode_failure(&failure, bytes);
        REQUIRE(wire_decode_failure(bytes, sizeof bytes, &decoded), "round %d", round);
        REQUIRE(failure.status == decoded.status && failure.rank == decoded.rank);
        REQUIRE(failure.pid == decoded.pid && failure.generation == decoded.generation);
        REQUIRE(memcmp(failure.operation, decoded.operation, sizeof failure.operation) == 0);
        REQUIRE(memcmp(failure.field, decoded.field, sizeof failure.field) == 0);
        REQUIRE(memcmp(failure.host, decoded.host, sizeof failure.host) == 0);
        REQUIRE(memcmp(failure.message, decoded.message, sizeof failure.message) == 0);
        REQUIRE(failure.range_count == decoded.range_count);
        REQUIRE(memcmp(failure.missing, decoded.missing, sizeof failure.missing) == 0);
    }
}
END_TEST

START_TEST(a_text_that_is_not_closed_is_cut)
{
    muster_failure_t failure, decoded;
    memset(&failure, 0, sizeof failure);
    memset(failure.host, 'h', sizeof failure.host);
    memset(failure.message, 'm', sizeof failure.message);
    uint8_t bytes[WIRE_FAILURE_SIZE];
    wire_encode_failure(&failure, bytes);
    ck_assert(wire_decode_failure(bytes, sizeof bytes, &decoded));
    ck_assert_uint_eq(strlen(decoded.host), sizeof decoded.host - 1);
    ck_assert_uint_eq(strlen(decoded.message), sizeof decoded.message - 1);
}
END_TEST

START_TEST(corrupted_failures_are_rejected) /* C922 */
{
    muster_failure_t failure, decoded;
    memset(&failure, 0, sizeof failure);
    failure.status = MUSTER_TIMED_OUT;
    strcpy(failure.operation, "reduce_scatter_block");
    strcpy(failure.host, "host");
    failure.range_count = 2;
    failure.missing[0] = (muster_rank_range_t){3, 5};
    failure.missing[1] = (muster_rank_range_t){7, 7};
    uint8_t good[WIRE_FAILURE_SIZE], bytes[WIRE_FAILURE_SIZE];
    wire_encode_failure(&failure, good);
    const struct {
        size_t offset;
        uint8_t value;
    } corruptions[] = {
        {0, MUSTER_STATUS_COUNT},             /* no status */
        {3, 1},                               /* nor this */
        {12, 33},                             /* more ranges than there are */
        {24 + 23, 'x'},                       /* behind the operation's end */
        {48 + 15, 'x'},                       /* the field: behind its end */
        {64 + 5, 'x'},                        /* the host: behind its end */
        {64 + 63, 'x'},                       /* the host: last byte */
        {128 + 511, 'x'},                     /* the message: last byte */
        {WIRE_FAILURE_SIZE - 256 + 4, 2},     /* a range whose ends are swapped */
        {WIRE_FAILURE_SIZE - 256 + 2 * 8, 1}, /* a range that is not counted */
        {WIRE_FAILURE_SIZE - 1, 1},           /* the last of them */
    };
    memset(&decoded, 0x77, sizeof decoded);
    for (size_t i = 0; i < sizeof corruptions / sizeof *corruptions; i++) {
        memcpy(bytes, good, sizeof bytes);
        bytes[corruptions[i].offset] = corruptions[i].value;
        ck_assert_msg(!wire_decode_failure(bytes, sizeof bytes, &decoded), "corruption %zu", i);
    }
    /* A text that fills its field up to the last byte. */
    memcpy(bytes, good, sizeof bytes);
    memset(bytes + 24, 'x', 24);
    ck_assert(!wire_decode_failure(bytes, sizeof bytes, &decoded));
    ck_assert(!wire_decode_failure(good, sizeof good - 1, &decoded));
    ck_assert(!wire_decode_failure(good, 0, &decoded));
    ck_assert_uint_eq(decoded.rank, 0x77777777u); /* untouched */
    ck_assert(wire_decode_failure(good, sizeof good, &decoded));
}
END_TEST

START_TEST(states_name_forms_with_rows)
{
    for (unsigned value = 0; value < 256; value++) {
        uint8_t bytes[WIRE_STATE_SIZE] = {[1] = (uint8_t)value};
        bool good = value <= OPERATION_COUNT ||
                    (value >= OPERATION_ROWS && has_rows(value - OPERATION_ROWS));
        wire_state_t decoded;
        ck_assert(wire_decode_state(bytes, sizeof bytes, &decoded) == good);
        if (!good)
            continue;
        uint8_t again[WIRE_STATE_SIZE];
        wire_encode_state(&decoded, again);
        ck_assert_int_eq(memcmp(bytes, again, sizeof bytes), 0);
    }
}
END_TEST

START_TEST(states_come_back_and_corrupted_ones_do_not)
{
    random_begin();
    for (unsigned operation = 0; operation <= OPERATION_COUNT; operation++) {
        wire_state_t state = {.started = random_below(2) == 1,
                              .has_value = random_below(2) == 1,
                              .last_operation = (uint8_t)operation,
                              .last_generation = random_number()};
        uint8_t bytes[WIRE_STATE_SIZE];
        wire_state_t decoded;
        wire_encode_state(&state, bytes);
        ck_assert(wire_decode_state(bytes, sizeof bytes, &decoded));
        ck_assert(decoded.started == state.started && decoded.has_value == state.has_value);
        ck_assert_uint_eq(decoded.last_operation, operation);
        ck_assert_uint_eq(decoded.last_generation, state.last_generation);
        ck_assert(!wire_decode_state(bytes, WIRE_STATE_SIZE - 1, &decoded));
        for (size_t offset = 0; offset < 8; offset++) {
            uint8_t kept = bytes[offset];
            bytes[offset] = offset == 1 ? OPERATION_COUNT + 1 : 4;
            ck_assert_msg(!wire_decode_state(bytes, sizeof bytes, &decoded), "byte %zu", offset);
            bytes[offset] = kept;
        }
    }
}
END_TEST

#define CLAIM_RANKS_MAX 40

static wire_claim_t random_claim(char name[MUSTER_NAME_MAX], uint32_t *ranks)
{
    wire_claim_t claim = {.size = 1 + random_below(CLAIM_RANKS_MAX),
                          .shape = (uint8_t)random_below(3),
                          .generations = (uint8_t)random_below(2),
                          .roots = (uint8_t)random_below(2),
                          .outcome = (uint8_t)random_below(3),
                          .arity_given = random_below(2) == 1,
                          .threshold_given = random_below(2) == 1,
                          .name_length = random_below(MUSTER_NAME_MAX + 1),
                          .name = name};
    claim.rank = random_below(claim.size);
    claim.arity = claim.arity_given ? random_number() : 0;
    claim.threshold = claim.threshold_given ? random_number() : 0;
    random_bytes((uint8_t *)name, claim.name_length);
    for (uint32_t i = 0; i < claim.size; i++)
        ranks[i] = (uint32_t)random_number();
    return claim;
}

static void require_same_claim(const wire_claim_t *claim, const uint32_t *ranks,
                               const wire_claim_t *decoded)
{
    REQUIRE(claim->size == decoded->size && claim->rank == decoded->rank);
    REQUIRE(claim->shape == decoded->shape && claim->generations == decoded->generations);
    REQUIRE(claim->roots == decoded->roots && claim->outcome == decoded->outcome);
    REQUIRE(claim->arity_given == decoded->arity_given && claim->arity == decoded->arity);
    REQUIRE(claim->threshold_given == decoded->threshold_given);
    REQUIRE(claim->threshold == decoded->threshold);
    REQUIRE(claim->settings == decoded->settings);
    REQUIRE(claim->name_length == decoded->name_length);
    REQUIRE(memcmp(claim->name, decoded->name, claim->name_length) == 0);
    for (uint32_t i = 0; i < claim->size; i++)
        REQUIRE(wire_claim_rank(decoded, i) == ranks[i]);
}

START_TEST(claims_come_back_whole_only) /* C117, C922 */
{
    random_begin();
    for (int round = 0; round < 2000; round++) {
        char name[MUSTER_NAME_MAX];
        uint32_t ranks[CLAIM_RANKS_MAX];
        wire_claim_t claim = random_claim(name, ranks), decoded;
        size_t size = wire_claim_size(&claim);
        REQUIRE(size == 44 + claim.name_length + 4 * (size_t)claim.size);
        uint8_t *bytes = malloc(size + 1);
        wire_encode_claim(&claim, ranks, bytes);
        REQUIRE(wire_decode_claim(bytes, size, &decoded), "round %d", round);
        require_same_claim(&claim, ranks, &decoded);
        bytes[size] = 0;
        REQUIRE(!wire_decode_claim(bytes, size + 1, &decoded));
        size_t cut = random_below((uint32_t)size);
        uint8_t *exact = malloc(cut + 1);
        memcpy(exact + 1, bytes, cut);
        REQUIRE(!wire_decode_claim(exact + 1, cut, &decoded));
        free(exact);
        free(bytes);
    }
}
END_TEST

START_TEST(corrupted_claims_are_rejected) /* C922 */
{
    static const uint32_t ranks[] = {0, 1, 2};
    wire_claim_t claim = {.size = 3, .rank = 1, .name_length = 4, .name = "name"}, decoded;
    uint8_t bytes[44 + 4 + 12];
    ck_assert_uint_eq(wire_claim_size(&claim), sizeof bytes);
    wire_encode_claim(&claim, ranks, bytes);
    const struct {
        size_t offset;
        uint8_t value;
    } corruptions[] = {{0, 2},  {0, 4},  {3, 0x80}, {4, 3},  {7, 0xff}, {8, 3},  {9, 2},
                       {10, 2}, {11, 3}, {12, 2},   {13, 2}, {14, 1},   {15, 1}, {16, 1},
                       {24, 1}, {32, 3}, {32, 5},   {33, 1}, {35, 0xff}};
    for (size_t i = 0; i < sizeof corruptions / sizeof *corruptions; i++) {
        uint8_t kept = bytes[corruptions[i].offset];
        bytes[corruptions[i].offset] = corruptions[i].value;
        ck_assert_msg(!wire_decode_claim(bytes, sizeof bytes, &decoded), "corruption %zu", i);
        bytes[corruptions[i].offset] = kept;
    }
    ck_assert(wire_decode_claim(bytes, sizeof bytes, &decoded));
}
END_TEST

/* Of any length, in memory that ends with them: nothing is read behind them. */
START_TEST(random_payloads_never_crash) /* C922, case 39 */
{
    random_begin();
    for (int round = 0; round < 20000; round++) {
        size_t size = round % 3 == 0   ? WIRE_STATE_SIZE
                      : round % 3 == 1 ? WIRE_FAILURE_SIZE
                                       : random_below(200);
        uint8_t *bytes = malloc(size + 1) /* never an empty allocation */;
        random_bytes(bytes + 1, size);
        if (size > 36 && random_below(2) == 0) { /* a claim with plausible lengths */
            memset(bytes + 1, 0, 36);
            wire_put_u32(bytes + 1, random_below(8));
            wire_put_u32(bytes + 1 + 32, random_below(300));
        }
        wire_claim_t claim;
        wire_state_t state;
        muster_failure_t failure;
        if (wire_decode_claim(bytes + 1, size, &claim))
            REQUIRE(wire_claim_rank(&claim, claim.size - 1) == wire_get_u32(bytes + 1 + size - 4));
        (void)wire_decode_state(bytes + 1, size, &state);
        (void)wire_decode_failure(bytes + 1, size, &failure);
        free(bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire");
    TCase *tests = tcase_create("wire");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, numbers_are_little_endian);
    tcase_add_test(tests, the_header_is_laid_out_as_drawn);
    tcase_add_test(tests, headers_come_back);
    tcase_add_test(tests, corrupted_headers_are_rejected);
    tcase_add_test(tests, numbers_beyond_their_limits_are_rejected);
    tcase_add_test(tests, random_bytes_are_rejected_or_kept);
    tcase_add_test(tests, failures_come_back);
    tcase_add_test(tests, a_text_that_is_not_closed_is_cut);
    tcase_add_test(tests, corrupted_failures_are_rejected);
    tcase_add_test(tests, states_name_forms_with_rows);
    tcase_add_test(tests, states_come_back_and_corrupted_ones_do_not);
    tcase_add_test(tests, claims_come_back_whole_only);
    tcase_add_test(tests, corrupted_claims_are_rejected);
    tcase_add_test(tests, random_payloads_never_crash);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
