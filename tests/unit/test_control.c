/* The control protocol: round trips, pieces, what is rejected; and the hub on top of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/control.h"
#include "core/hub.h"
#include "core/wire.h"
#include "unit/require.h"

#define SIZE_MAX_TESTED 5

/* C921: a rank whose messages are others than a job's is seen when it joins. */
_Static_assert(CONTROL_VERSION == WIRE_VERSION, "one version for all conversations");

static uint64_t random_state;

static void random_begin(void)
{
    random_state = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random_state);
}

/* A 64-bit congruential generator, upper bits only. */
static uint32_t random_number(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

static void random_text(char *text, size_t size)
{
    size_t length = random_number() % size;
    memset(text, 0, size);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(0x20 + random_number() % 0x5f);
}

static control_message_t random_message(control_kind_t kind)
{
    static uint8_t blobs[CONTROL_PAYLOAD_MAX];
    control_message_t message = {.kind = kind};
    for (size_t i = 0; i < sizeof blobs; i++)
        blobs[i] = (uint8_t)random_number();
    message.version = random_number();
    message.pid = random_number();
    message.size = 1 + random_number() % 100000;
    message.rank = random_number() % message.size;
    message.status = (muster_status_t)(1 + random_number() % (MUSTER_STATUS_COUNT - 1));
    random_text(message.host, sizeof message.host);
    random_text(message.text, kind == CONTROL_LOST ? CONTROL_HOW_MAX : CONTROL_TEXT_MAX);
    memcpy(message.job, blobs, sizeof message.job);
    memcpy(message.secret, blobs + 100, sizeof message.secret);
    message.blob = blobs;
    message.blob_length = 1 + random_number() % CONTROL_BLOB_MAX;
    message.count = 1 + random_number() % control_table_room(message.blob_length);
    if (kind == CONTROL_MISSING) {
        uint32_t next = random_number() % 10;
        message.count = random_number() % (CONTROL_RANGES_MAX + 1);
        for (uint32_t i = 0; i < message.count; i++) {
            message.ranges[i].first = next;
            message.ranges[i].last = next + random_number() % 5;
            next = message.ranges[i].last + 1 + random_number() % 5;
        }
    }
    return message;
}

/* Fields that the kind does not use are not looked at. */
static void assert_same_bytes(const control_message_t *one, const control_message_t *other)
{
    static uint8_t first[CONTROL_FRAME_MAX], second[CONTROL_FRAME_MAX];
    ck_assert_uint_eq(control_size(one), control_size(other));
    control_encode(one, first);
    control_encode(other, second);
    ck_assert_int_eq(memcmp(first, second, control_size(one)), 0);
}

START_TEST(test_round_trip)
{
    static uint8_t bytes[CONTROL_FRAME_MAX];
    random_begin();
    for (int round = 0; round < 300; round++) {
        for (int kind = 1; kind < CONTROL_KIND_COUNT; kind++) {
            control_message_t message = random_message((control_kind_t)kind), read;
            size_t size = control_size(&message), used = 0;
            ck_assert_uint_le(size, CONTROL_FRAME_MAX);
            control_encode(&message, bytes);
            ck_assert_int_eq(control_decode(bytes, size, &read, &used), CONTROL_READ_MESSAGE);
            ck_assert_uint_eq(used, size);
            ck_assert_int_eq(read.kind, kind);
            assert_same_bytes(&message, &read);
        }
    }
}
END_TEST

START_TEST(test_every_beginning_waits)
{
    static uint8_t bytes[CONTROL_FRAME_MAX];
    random_begin();
    for (int kind = 1; kind < CONTROL_KIND_COUNT; kind++) {
        control_message_t message = random_message((control_kind_t)kind), read;
        size_t size = control_size(&message), used = 4711;
        control_encode(&message, bytes);
        for (size_t length = 0; length < size; length++) {
            REQUIRE(control_decode(bytes, length, &read, &used) == CONTROL_READ_MORE);
            REQUIRE(used == 4711);
        }
    }
}
END_TEST

/* A frame of this kind and payload, as it is. */
static control_read_t decode_raw(uint8_t kind, const uint8_t *payload, uint32_t length)
{
    static uint8_t bytes[CONTROL_FRAME_MAX];
    control_message_t read;
    size_t used;
    memset(bytes, 0, CONTROL_HEADER_SIZE);
    bytes[0] = kind;
    wire_put_u32(bytes + 4, length);
    memcpy(bytes + CONTROL_HEADER_SIZE, payload, length);
    return control_decode(bytes, CONTROL_HEADER_SIZE + (size_t)length, &read, &used);
}

START_TEST(test_rejected)
{
    static uint8_t payload[CONTROL_PAYLOAD_MAX];
    static const uint8_t strange[] = {CONTROL_NONE, CONTROL_KIND_COUNT, 77, 255};
    control_message_t read;
    size_t used;
    for (size_t i = 0; i < sizeof strange; i++) /* C922: said after one byte */
        ck_assert_int_eq(control_decode(&strange[i], 1, &read, &used), CONTROL_READ_GARBAGE);
    uint8_t filler[CONTROL_HEADER_SIZE] = {CONTROL_LEAVE, 0, 1};
    ck_assert_int_eq(control_decode(filler, sizeof filler, &read, &used), CONTROL_READ_GARBAGE);
    uint8_t huge[CONTROL_HEADER_SIZE] = {CONTROL_ADDRESS};
    wire_put_u32(huge + 4, CONTROL_PAYLOAD_MAX + 1);
    ck_assert_int_eq(control_decode(huge, sizeof huge, &read, &used), CONTROL_READ_GARBAGE);
    /* Lengths that the kind does not have. */
    ck_assert_int_eq(decode_raw(CONTROL_ADDRESS, payload, 0), CONTROL_READ_GARBAGE);
    ck_assert_int_eq(decode_raw(CONTROL_ADDRESS, payload, CONTROL_BLOB_MAX + 1),
                     CONTROL_READ_GARBAGE);
    ck_assert_int_eq(decode_raw(CONTROL_LEAVE, payload, 1), CONTROL_READ_GARBAGE);
    ck_assert_int_eq(decode_raw(CONTROL_LEFT, payload, 3), CONTROL_READ_GARBAGE);
    ck_assert_int_eq(decode_raw(CONTROL_JOIN, payload, 75), CONTROL_READ_GARBAGE);
    ck_assert_int_eq(decode_raw(CONTROL_JOIN, payload, 76), CONTROL_READ_MESSAGE);
    /* A rank that is not below the size; texts without an end or with control characters. */
    ck_assert_int_eq(decode_raw(CONTROL_WELCOME, payload, 60), CONTROL_READ_GARBAGE);
    memset(payload + 12, 'x', MUSTER_HOST_MAX);
    ck_assert_int_eq(decode_raw(CONTROL_JOIN, payload, 76), CONTROL_READ_GARBAGE);
    memset(payload + 12, 0, MUSTER_HOST_MAX);
    payload[12] = '\n';
    ck_assert_int_eq(decode_raw(CONTROL_JOIN, payload, 76), CONTROL_READ_GARBAGE);
    payload[12] = 0;
    payload[14] = 'x';
    ck_assert_int_eq(decode_raw(CONTROL_JOIN, payload, 76), CONTROL_READ_GARBAGE);
}
END_TEST

START_TEST(test_rejected_tables)
{
    static uint8_t payload[CONTROL_PAYLOAD_MAX];
    wire_put_u32(payload, 0);
    wire_put_u32(payload + 4, 2);
    wire_put_u32(payload + 8, 10);
    ck_assert_int_eq(decode_raw(CONTROL_TABLE, payload, 32), CONTROL_READ_MESSAGE);
    ck_assert_int_eq(decode_raw(CONTROL_TABLE, payload, 31), CONTROL_READ_GARBAGE);
    ck_assert_int_eq(decode_raw(CONTROL_TABLE, payload, 11), CONTROL_READ_GARBAGE);
    wire_put_u32(payload, UINT32_MAX);
    ck_assert_int_eq(decode_raw(CONTROL_TABLE, payload, 32), CONTROL_READ_GARBAGE);
    wire_put_u32(payload, 0);
    /* A product that wraps to what is there. */
    wire_put_u32(payload + 4, 0x80000002u);
    wire_put_u32(payload + 8, 2);
    ck_assert_int_eq(decode_raw(CONTROL_TABLE, payload, 16), CONTROL_READ_GARBAGE);
    wire_put_u32(payload, 1);
    wire_put_u32(payload + 4, 5);
    wire_put_u32(payload + 8, 4);
    ck_assert_int_eq(decode_raw(CONTROL_MISSING, payload, 12), CONTROL_READ_GARBAGE);
    wire_put_u32(payload + 4, 4);
    ck_assert_int_eq(decode_raw(CONTROL_MISSING, payload, 12), CONTROL_READ_MESSAGE);
    wire_put_u32(payload, CONTROL_RANGES_MAX + 1);
    ck_assert_int_eq(decode_raw(CONTROL_MISSING, payload, 4 + 8 * (CONTROL_RANGES_MAX + 1)),
                     CONTROL_READ_GARBAGE);
}
END_TEST

START_TEST(test_long_texts_are_cut)
{
    uint8_t bytes[CONTROL_FRAME_MAX];
    control_message_t message = {.kind = CONTROL_LOST, .rank = 3}, read;
    size_t used;
    memset(message.host, 'h', sizeof message.host);
    memset(message.text, 't', sizeof message.text);
    control_encode(&message, bytes);
    ck_assert_int_eq(control_decode(bytes, control_size(&message), &read, &used),
                     CONTROL_READ_MESSAGE);
    ck_assert_uint_eq(strlen(read.host), MUSTER_HOST_MAX - 1);
    ck_assert_uint_eq(strlen(read.text), CONTROL_HOW_MAX - 1);
}
END_TEST

/* ---- The hub --------------------------------------------------------------------------------- */

/* What one rank has heard: one letter a message, with the rank or the number of blobs. */
typedef struct ear {
    char heard[SIZE_MAX_TESTED][256];
    uint8_t table[SIZE_MAX_TESTED][SIZE_MAX_TESTED];
} ear_t;

static void hear(void *owner, uint32_t rank, const control_message_t *message)
{
    ear_t *ear = owner;
    char *heard = ear->heard[rank];
    size_t length = strlen(heard), room = sizeof ear->heard[0] - length;
    switch (message->kind) {
    case CONTROL_TABLE:
        memcpy(ear->table[rank] + message->rank, message->blob, message->count);
        snprintf(heard + length, room, "T%u ", message->count);
        break;
    case CONTROL_MISSING:
        snprintf(heard + length, room, "M%u-%u ", message->ranges[0].first,
                 message->ranges[0].last);
        break;
    case CONTROL_LOST:
        snprintf(heard + length, room, "X%u(%s) ", message->rank, message->text);
        break;
    case CONTROL_LEFT:
        snprintf(heard + length, room, "L%u ", message->rank);
        break;
    default:
        ck_abort();
    }
}

static void begin(hub_t *hub, ear_t *ear, uint32_t size)
{
    memset(ear, 0, sizeof *ear);
    hub_begin(hub, size, malloc(hub_memory(size)), hear, ear);
}

static void give(hub_t *hub, uint32_t rank)
{
    uint8_t blob = (uint8_t)(100 + rank);
    ck_assert(hub_address(hub, rank, &blob, 1));
}

START_TEST(test_hub_exchanges)
{
    hub_t hub;
    ear_t ear;
    uint8_t blobs[2] = {1, 2};
    begin(&hub, &ear, 3);
    ck_assert(!hub_address(&hub, 1, blobs, 1)); /* has not joined */
    for (uint32_t rank = 0; rank < 3; rank++)
        ck_assert(hub_join(&hub, rank, 10 + rank, "host"));
    ck_assert(!hub_join(&hub, 1, 99, "other"));
    for (int exchange = 1; exchange <= 2; exchange++) {
        give(&hub, 2);
        ck_assert(!hub_address(&hub, 2, blobs, 1)); /* out of turn */
        ck_assert(!hub_address(&hub, 1, blobs, 2)); /* of another length */
        give(&hub, 0);
        ck_assert_uint_eq(hub.exchanges, (uint64_t)exchange - 1);
        give(&hub, 1);
        ck_assert_uint_eq(hub.exchanges, (uint64_t)exchange);
        for (uint32_t rank = 0; rank < 3; rank++)
            ck_assert_int_eq(memcmp(ear.table[rank], "\144\145\146", 3), 0);
    }
    for (uint32_t rank = 0; rank < 3; rank++)
        hub_leave(&hub, rank);
    ck_assert(hub_over(&hub));
    ck_assert_str_eq(ear.heard[0], "T3 T3 ");
    ck_assert_str_eq(ear.heard[1], "T3 T3 L0 ");
    ck_assert_str_eq(ear.heard[2], "T3 T3 L0 L1 ");
    free(hub.members);
}
END_TEST

START_TEST(test_hub_losses)
{
    hub_t hub;
    ear_t ear;
    begin(&hub, &ear, 5);
    hub_join(&hub, 4, 1, "host");
    hub_lose(&hub, 3, 33, "killed by signal 9");
    hub_join(&hub, 2, 2, "host");
    give(&hub, 2);
    hub_lose(&hub, 2, 0, "exited with 1");
    hub_lose(&hub, 2, 0, "again");
    hub_leave(&hub, 2);
    hub_join(&hub, 1, 3, "host");
    hub_lose(&hub, 1, 0, "ended");
    /* Who comes late hears it in the order in which it happened. */
    hub_join(&hub, 0, 4, "host");
    ck_assert_str_eq(ear.heard[4], "X3(killed by signal 9 before it joined) "
                                   "X2(exited with 1 before all addresses were there) "
                                   "X1(ended before it gave its address) ");
    ck_assert_str_eq(ear.heard[0], ear.heard[4]);
    give(&hub, 0);
    give(&hub, 4);
    ck_assert_uint_eq(hub.exchanges, 0); /* never without all */
    hub_leave(&hub, 0);
    ck_assert(!hub_over(&hub));
    hub_leave(&hub, 4);
    ck_assert(hub_over(&hub));
    free(hub.members);
}
END_TEST

START_TEST(test_hub_expiry)
{
    hub_t hub;
    ear_t ear;
    begin(&hub, &ear, 5);
    for (uint32_t rank = 0; rank < 3; rank++)
        hub_join(&hub, rank, 1, "host");
    give(&hub, 0);
    hub_expire(&hub, 1); /* has nothing under way */
    ck_assert_str_eq(ear.heard[0], "");
    give(&hub, 1);
    hub_expire(&hub, 0);
    hub_expire(&hub, 1);
    hub_lose(&hub, 0, 0, "ended");
    ck_assert_str_eq(ear.heard[1], "M2-4 X0(ended before all addresses were there) ");
    ck_assert_str_eq(ear.heard[2], ear.heard[1]);
    hub_join(&hub, 3, 1, "host");
    ck_assert_str_eq(ear.heard[3], ear.heard[1]); /* the same first cause */
    free(hub.members);
}
END_TEST

START_TEST(test_hub_takes)
{
    hub_t hub;
    ear_t ear;
    uint8_t blob[2] = {1, 2};
    begin(&hub, &ear, 2);
    for (uint32_t rank = 0; rank < 2; rank++)
        hub_join(&hub, rank, 1, "host");
    control_message_t message = {.kind = CONTROL_ADDRESS, .blob = blob, .blob_length = 2};
    ck_assert_ptr_null(hub_take(&hub, 0, &message));
    ck_assert_ptr_nonnull(strstr(hub_take(&hub, 0, &message), "gave an address out of turn"));
    message.kind = CONTROL_EXPIRED;
    ck_assert_ptr_null(hub_take(&hub, 0, &message));
    ck_assert_str_eq(ear.heard[1], "M1-1 ");
    message.kind = CONTROL_LEAVE;
    ck_assert_ptr_null(hub_take(&hub, 0, &message));
    ck_assert_int_eq(hub.members[0].state, HUB_LEFT);
    message.kind = CONTROL_TABLE;
    ck_assert_str_eq(hub_take(&hub, 1, &message), "sent a control message out of turn");
    free(hub.members);
}
END_TEST

/* C125, C921: who may not join is told why. */
START_TEST(test_hub_refuses)
{
    control_message_t refusal = {.kind = CONTROL_NONE};
    char expected[128];
    ck_assert(!hub_refuses_version("the hub", 3, CONTROL_VERSION, &refusal));
    ck_assert_int_eq(refusal.kind, CONTROL_NONE);
    ck_assert(hub_refuses_version("the hub", 3, CONTROL_VERSION + 1, &refusal));
    ck_assert_int_eq(refusal.kind, CONTROL_REFUSED);
    ck_assert_int_eq(refusal.status, MUSTER_VERSION_MISMATCH);
    snprintf(expected, sizeof expected,
             "the hub speaks version %d of the protocol, rank 3 version %d", CONTROL_VERSION,
             CONTROL_VERSION + 1);
    ck_assert_str_eq(refusal.text, expected);
    hub_refuse_duplicate(5, 42, "elsewhere", &refusal);
    ck_assert_int_eq(refusal.status, MUSTER_DUPLICATE_RANK);
    ck_assert_uint_eq(refusal.pid, 42);
    ck_assert_str_eq(refusal.host, "elsewhere");
    ck_assert_str_eq(refusal.text, "rank 5 is held by process 42 on elsewhere");
}
END_TEST

START_TEST(test_hub_missing_ranges)
{
    hub_t hub;
    ear_t ear;
    enum { SIZE = 200 };
    muster_rank_range_t ranges[CONTROL_RANGES_MAX];
    memset(&ear, 0, sizeof ear);
    hub_begin(&hub, SIZE, malloc(hub_memory(SIZE)), hear, &ear);
    ck_assert_uint_eq(hub_missing(&hub, ranges), 1);
    ck_assert_uint_eq(ranges[0].last, SIZE - 1);
    for (uint32_t rank = 0; rank < SIZE; rank += 2) {
        hub_join(&hub, rank, 1, "host");
        give(&hub, rank);
    }
    /* More than there is room for: the last one is widened. */
    ck_assert_uint_eq(hub_missing(&hub, ranges), CONTROL_RANGES_MAX);
    ck_assert_uint_eq(ranges[0].first, 1);
    ck_assert_uint_eq(ranges[0].last, 1);
    ck_assert_uint_eq(ranges[CONTROL_RANGES_MAX - 1].first, 2 * CONTROL_RANGES_MAX - 1);
    ck_assert_uint_eq(ranges[CONTROL_RANGES_MAX - 1].last, SIZE - 1);
    free(hub.members);
    ck_assert_uint_eq(hub_memory(0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("control");
    TCase *tcase = tcase_create("control");
    tcase_add_test(tcase, test_round_trip);
    tcase_add_test(tcase, test_every_beginning_waits);
    tcase_add_test(tcase, test_rejected);
    tcase_add_test(tcase, test_rejected_tables);
    tcase_add_test(tcase, test_long_texts_are_cut);
    tcase_add_test(tcase, test_hub_exchanges);
    tcase_add_test(tcase, test_hub_losses);
    tcase_add_test(tcase, test_hub_expiry);
    tcase_add_test(tcase, test_hub_takes);
    tcase_add_test(tcase, test_hub_refuses);
    tcase_add_test(tcase, test_hub_missing_ranges);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
