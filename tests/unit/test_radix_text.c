/* The text of a radix setting: what is taken and how it prints, what is refused, where and why. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/radix_text.h"
#include "unit/require.h"

static uint64_t random_state;

/* MUSTER_SEED repeats a run. */
static void random_begin(void)
{
    const char *given = getenv("MUSTER_SEED");
    random_state = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random_state);
}

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % bound;
}

/* Parses a copy of exactly the text's size, so that a sanitizer sees a read past its end. */
static muster_status_t parse(const char *bytes, size_t length, radix_table_t *table,
                             radix_error_t *error)
{
    char *exact = malloc(length == 0 ? 1 : length);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, length);
    muster_status_t status = radix_table_parse(exact, length, table, error);
    free(exact);
    return status;
}

static const char *printed(const radix_table_t *table)
{
    static char bytes[RADIX_TEXT_MAX + 1];
    text_t text = text_over(bytes, sizeof bytes);
    radix_table_print(table, &text);
    REQUIRE(text.length < sizeof bytes);
    return bytes;
}

/* Whatever the text is: a table that prints to itself, or a place and a reason and no change. */
static bool parses_or_tells(const char *bytes, size_t length)
{
    static const radix_table_t untouched = {.count = 7};
    radix_table_t table = untouched, again;
    radix_error_t error = {.position = SIZE_MAX, .fault = RADIX_FAULT_NONE};
    if (parse(bytes, length, &table, &error) != MUSTER_OK) {
        REQUIRE(error.fault > RADIX_FAULT_NONE && error.fault < RADIX_FAULT_COUNT);
        REQUIRE(error.position <= length);
        REQUIRE(memcmp(&table, &untouched, sizeof table) == 0);
        return false;
    }
    REQUIRE(table.count >= 1 && table.count <= RADIX_ENTRIES_MAX);
    const char *text = printed(&table);
    REQUIRE(strlen(text) <= length);
    REQUIRE(parse(text, strlen(text), &again, &error) == MUSTER_OK);
    REQUIRE(radix_table_equal(&table, &again));
    return true;
}

#define TWOS_10 "2x2x2x2x2x2x2x2x2x2"
#define TWOS_31 TWOS_10 "x" TWOS_10 "x" TWOS_10 "x2"
#define ODD_31                                                                                     \
    "2x3x4x5x6x7x8x9x10x11x12x13x14x15x16x17x18x19x20x21x22x23x24x25x26x27x28x29x30x31x32"

/* C605, C607: what is taken; printed is NULL where it is the text itself. */
static const struct {
    const char *text;
    const char *printed;
} good[] = {
    /* values */
    {"auto", NULL},
    {"8", NULL},
    {"2", NULL},
    {"65535", NULL},
    {"8x6", NULL},
    {"6x8", NULL},
    {"4x4x6", NULL},
    {"2x2x2x2x2x3", NULL},
    {"65535x65535", NULL},
    {TWOS_31, NULL},
    {"8x6@near", "8x6"},
    {"12x8@far", NULL},
    {"8x12@far", NULL},
    {"4@far", NULL},
    {"4@near", "4"},
    {"node", NULL},
    {"nodex12", NULL},
    {"node@far", NULL},
    {"12xnode@far", NULL},
    {"8xnodex2", NULL},
    {"12xnode@near", "12xnode"},
    {"=8x6", NULL},
    {"=8", NULL},
    {"=node", NULL},
    {"=8x6@near", "=8x6"},
    {"=nodex12@far", NULL},
    {"~2x3x5", NULL},
    {"~2", NULL},
    {"~3x2@far", NULL},
    {"~8x4x2x9x7x6x5x3", NULL},
    {"~nodex2x3", NULL},
    {"~" ODD_31, NULL},
    {"~65535x65534x65533", NULL},
    /* sizes */
    {"0-4K:8", NULL},
    {"0-4k:8", "0-4K:8"},
    {"1m-1g:8", "1M-1G:8"},
    {"1t-2T:8", "1T-2T:8"},
    {"4096-8192:8", "4K-8K:8"},
    {"1024K-1024M:8", "1M-1G:8"},
    {"1048576K-1048576M:8", "1G-1T:8"},
    {"1536-3072:8", "1536-3K:8"},
    {"1025-1025:8", NULL},
    {"0-0:8", NULL},
    {"0K-1:8", "0-1:8"},
    {"0-inf:8", "8"},
    {"1-inf:8", NULL},
    {"1G-inf:8", NULL},
    {"0T-inf:8", "8"},
    {"0-18446744073709551615:8", "8"},
    {"1-18446744073709551615:8", "1-inf:8"},
    {"0-18446744073709551614:8", NULL},
    {"16777215T-inf:8", NULL},
    {"0-18014398509481983K:8", NULL},
    {"2048T-2048T:8", NULL},
    /* memory types, and the order of an entry's parts */
    {"host:8", NULL},
    {"8:host", "host:8"},
    {"cuda:8", NULL},
    {"cuda-managed:8", NULL},
    {"rocm:8", NULL},
    {"rocm-managed:8", NULL},
    {"ze-host:8", NULL},
    {"ze-device:8", NULL},
    {"ze-managed:8", NULL},
    {"host^cuda:8", NULL},
    {"cuda^host:8", "host^cuda:8"},
    {"rocm-managed^cuda-managed^rocm:8", "cuda-managed^rocm^rocm-managed:8"},
    {"host^cuda^cuda-managed^rocm^rocm-managed^ze-host^ze-device^ze-managed:8", "8"},
    {"0-4K:host:8x6", NULL},
    {"0-4K:8x6:host", "0-4K:host:8x6"},
    {"host:0-4K:8x6", "0-4K:host:8x6"},
    {"host:8x6:0-4K", "0-4K:host:8x6"},
    {"8x6:0-4K:host", "0-4K:host:8x6"},
    {"8x6:host:0-4K", "0-4K:host:8x6"},
    {"auto:cuda:1K-inf", "1K-inf:cuda:auto"},
    {"node:host", "host:node"},
    {"=8x6@far:0-1:ze-host", "0-1:ze-host:=8x6@far"},
    /* several entries */
    {"0-4K:host:8x6,4K-inf:cuda:4,auto", NULL},
    {"0-4K:8,auto", NULL},
    {"0-4K:8,2K-8K:4", NULL},
    {"0-4K:8,4K-8K:4,auto", NULL},
    {"0-4K:8,6K-inf:4,auto", NULL},
    {"2K-4K:8,0-4K:4", NULL},
    {"host:8,cuda:4,auto", NULL},
    {"host:8,0-4K:4", NULL},
    {"host:8,host^cuda:4", NULL},
    {"0-9:host:8,10-inf:cuda:4,0-9:cuda:6,10-inf:host:9,rocm:2", NULL},
    {"~2x3@far:cuda,nodex2", "cuda:~2x3@far,nodex2"},
};

START_TEST(what_is_taken) /* C605, C607 */
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *text = good[i].text;
        const char *expected = good[i].printed != NULL ? good[i].printed : text;
        radix_table_t table;
        radix_error_t error = {.position = 0, .fault = RADIX_FAULT_NONE};
        muster_status_t status = parse(text, strlen(text), &table, &error);
        REQUIRE(status == MUSTER_OK, "%s: column %zu: %s", text, error.position + 1,
                radix_fault_text(error.fault));
        REQUIRE(strcmp(printed(&table), expected) == 0, "%s: %s", text, printed(&table));
        REQUIRE(parses_or_tells(text, strlen(text)));
    }
}
END_TEST

#define BAD(text, column, fault)                                                                   \
    {                                                                                              \
        text, sizeof text - 1, column, RADIX_FAULT_##fault                                         \
    }

/* C606 and case 41: what is refused, the column that is told, and the reason. */
static const struct {
    const char *text;
    size_t length;
    size_t column;
    radix_fault_t fault;
} bad[] = {
    BAD("", 1, EMPTY),
    /* sequences */
    BAD("8xx6", 3, NO_RADIX),
    BAD("8x", 3, NO_RADIX),
    BAD("x8", 1, NO_RADIX),
    BAD("x", 1, NO_RADIX),
    BAD("1x8", 1, OUT_OF_RANGE),
    BAD("8x1", 3, OUT_OF_RANGE),
    BAD("8x0x6", 3, OUT_OF_RANGE),
    BAD("0", 1, OUT_OF_RANGE),
    BAD("1", 1, OUT_OF_RANGE),
    BAD("65536", 1, OUT_OF_RANGE),
    BAD("65537x2", 1, OUT_OF_RANGE),
    BAD("8x65536", 3, OUT_OF_RANGE),
    BAD("4294967298", 1, OUT_OF_RANGE), /* 2 where 32 bits wrap */
    BAD("65538", 1, OUT_OF_RANGE),      /* 2 where 16 bits wrap */
    BAD("18446744073709551615", 1, OUT_OF_RANGE),
    BAD("18446744073709551616", 1, DIGITS),
    BAD("18446744073709551618", 1, DIGITS), /* 2 where 64 bits wrap */
    BAD("8x99999999999999999999999", 3, DIGITS),
    BAD(TWOS_31 "x2", 63, TOO_MANY_FACTORS),
    BAD("~" ODD_31 "x33", 87, TOO_MANY_FACTORS),
    BAD("65535x65535x2", 13, PRODUCT),
    BAD("65535x65535x65535x65535", 13, PRODUCT),
    BAD(TWOS_10 "x" TWOS_10 "x" TWOS_10 "x4", 61, PRODUCT),
    BAD("nodex65535x65535x2", 18, PRODUCT),
    BAD("08", 1, LEADING_ZERO),
    BAD("00", 1, LEADING_ZERO),
    BAD("8x06", 3, LEADING_ZERO),
    BAD("+8", 1, SIGN),
    BAD("-8", 1, SIGN),
    BAD("8x+6", 3, SIGN),
    BAD("8x-6", 3, SIGN),
    BAD("=-8", 2, SIGN),
    BAD(" 8", 1, BLANK),
    BAD("8 ", 2, BLANK),
    BAD("8 x6", 2, BLANK),
    BAD("8x 6", 3, BLANK),
    BAD("\t8", 1, BLANK),
    BAD("8x6\n", 4, BLANK),
    BAD("8x6\r", 4, BLANK),
    BAD("auto ", 5, BLANK),
    BAD("8X6", 2, SUFFIX),
    BAD("8*6", 2, UNEXPECTED),
    BAD("8x6x", 5, NO_RADIX),
    BAD("8x6;4", 4, UNEXPECTED),
    BAD("8.5", 2, UNEXPECTED),
    BAD("8x6.", 4, UNEXPECTED),
    BAD("8x0x", 3, OUT_OF_RANGE),
    BAD("0x10", 1, OUT_OF_RANGE),
    BAD("8xauto", 3, NO_RADIX),
    BAD("8xhost", 3, NO_RADIX),
    BAD("8x6K", 4, UNEXPECTED),
    BAD("8x6-9", 4, UNEXPECTED),
    BAD("\xc3\x97"
        "8",
        1, UNEXPECTED), /* a byte that is no ASCII */
    BAD("8\xc3\x97"
        "6",
        2, UNEXPECTED),
    BAD("*", 1, UNEXPECTED),
    BAD("\0", 1, NUL),
    BAD("8\0", 2, NUL),
    BAD("8x\0"
        "6",
        3, NUL),
    BAD("8,\0", 3, NUL),
    BAD("0-\0"
        "4K:8",
        3, NUL),
    BAD("8@\0", 3, NUL),
    BAD("host^\0", 6, NUL),
    /* @ and node */
    BAD("8x6@", 5, NO_PLACE),
    BAD("8x6@fra", 5, NO_PLACE),
    BAD("8x6@Far", 5, NO_PLACE),
    BAD("8x6@:host", 5, NO_PLACE),
    BAD("8x6@ far", 5, BLANK),
    BAD("8x6@far@near", 8, PLACE_TWICE),
    BAD("8x6@near@", 9, PLACE_TWICE),
    BAD("8x6@@far", 5, NO_PLACE),
    BAD("8x6@farther", 8, UNEXPECTED),
    BAD("8x6@farx2", 8, UNEXPECTED),
    BAD("8x@far", 3, NO_RADIX),
    BAD("@far", 1, NO_RADIX),
    BAD("=@far", 2, NO_RADIX),
    BAD("nodexnode", 6, NODE_TWICE),
    BAD("nodex8xnode@far", 8, NODE_TWICE),
    BAD("~nodex2xnode", 9, NODE_TWICE),
    BAD("nodes", 1, WORD),
    BAD("node8", 1, WORD),
    BAD("Node", 1, WORD),
    BAD("nodex", 6, NO_RADIX),
    BAD("8xnodes", 7, UNEXPECTED),
    BAD("nodex8node", 7, UNEXPECTED),
    /* auto and prefixes */
    BAD("autox8", 5, AUTO_PLAIN),
    BAD("auto@far", 5, AUTO_PLAIN),
    BAD("=auto", 2, AUTO_PLAIN),
    BAD("~auto", 2, AUTO_PLAIN),
    BAD("AUTO", 1, WORD),
    BAD("automatic", 1, WORD),
    BAD("auto8", 1, WORD),
    BAD("=", 2, NO_RADIX),
    BAD("~", 2, NO_RADIX),
    BAD("==8", 2, NO_RADIX),
    BAD("=~8", 2, NO_RADIX),
    BAD("~=8", 2, NO_RADIX),
    BAD("8=6", 2, UNEXPECTED),
    BAD("~2x2", 4, ALLOWED_TWICE),
    BAD("~2x3x5x3", 8, ALLOWED_TWICE),
    BAD("~1x2", 2, OUT_OF_RANGE),
    /* size ranges */
    BAD("4K-0:8", 4, RANGE_SWAPPED),
    BAD("2-1:8", 3, RANGE_SWAPPED),
    BAD("1M-1K:host:8", 4, RANGE_SWAPPED),
    BAD("inf-4K:8", 1, RANGE_INFINITE),
    BAD("inf-inf:8", 1, RANGE_INFINITE),
    BAD("8:18446744073709551615-inf", 3, RANGE_INFINITE),
    BAD("0-:8", 3, NO_SIZE),
    BAD("0-", 3, NO_SIZE),
    BAD("0-x:8", 3, NO_SIZE),
    BAD("0-host:8", 3, NO_SIZE),
    BAD("0-K:8", 3, NO_SIZE),
    BAD("-4K:8", 1, SIGN),
    BAD("0--4K:8", 3, SIGN),
    BAD("0-+4K:8", 3, SIGN),
    BAD("0- 4K:8", 3, BLANK),
    BAD("0 -4K:8", 2, BLANK),
    BAD("4K:8", 3, RANGE_OPEN),
    BAD("4K", 3, RANGE_OPEN),
    BAD("inf:8", 4, RANGE_OPEN),
    BAD("inf", 4, RANGE_OPEN),
    BAD("0-4K-8K:8", 5, UNEXPECTED),
    BAD("0-4P:8", 4, SUFFIX),
    BAD("0-4KB:8", 5, SUFFIX),
    BAD("0-4KiB:8", 5, SUFFIX),
    BAD("0B-4K:8", 2, SUFFIX),
    BAD("0-4e3:8", 4, SUFFIX),
    BAD("0-00:8", 3, LEADING_ZERO),
    BAD("00-4K:8", 1, LEADING_ZERO),
    BAD("0-04K:8", 3, LEADING_ZERO),
    BAD("0-18446744073709551616:8", 3, DIGITS),
    BAD("0-18446744073709551615K:8", 3, DIGITS),
    BAD("0-18014398509481984K:8", 3, DIGITS),
    BAD("0-16777216T:8", 3, DIGITS),
    BAD("0-999999999999999999999999999:8", 3, DIGITS),
    BAD("0-infinity:8", 6, UNEXPECTED),
    BAD("0-INF:8", 3, NO_SIZE),
    BAD("0-inf4K:8", 6, UNEXPECTED),
    BAD("0-1.5K:8", 4, UNEXPECTED),
    /* memory types */
    BAD("hst:8", 1, WORD),
    BAD("HOST:8", 1, WORD),
    BAD("gpu:8", 1, WORD),
    BAD("cuda_managed:8", 1, WORD),
    BAD("host^:8", 6, NO_MEMORY),
    BAD("^host:8", 1, NO_MEMORY),
    BAD("host^^cuda:8", 6, NO_MEMORY),
    BAD("host^cuda^:8", 11, NO_MEMORY),
    BAD("host^8", 6, WORD),
    BAD("host^auto", 6, WORD),
    BAD("host^host:8", 6, MEMORY_TWICE),
    BAD("host^cuda^host:8", 11, MEMORY_TWICE),
    BAD("host+cuda:8", 5, UNEXPECTED),
    BAD("host cuda:8", 5, BLANK),
    /* entries */
    BAD("8:6", 3, TWO_VALUES),
    BAD("8x6:host:4", 10, TWO_VALUES),
    BAD("auto:auto", 6, TWO_VALUES),
    BAD("=8:~2", 4, TWO_VALUES),
    BAD("0-4K:0-8K:8", 6, TWO_RANGES),
    BAD("0-4K:8:1-2", 8, TWO_RANGES),
    BAD("host:cuda:8", 6, TWO_MEMORIES),
    BAD("host:8:host", 8, TWO_MEMORIES),
    BAD("host", 1, NO_VALUE),
    BAD("0-4K", 1, NO_VALUE),
    BAD("0-4K:host", 1, NO_VALUE),
    BAD("0-4K:8,host,auto", 8, NO_VALUE),
    BAD(",", 1, EMPTY_ENTRY),
    BAD(",8", 1, EMPTY_ENTRY),
    BAD("8,", 3, EMPTY_ENTRY),
    BAD("0-4K:8,,4", 8, EMPTY_ENTRY),
    BAD(":", 1, EMPTY_PART),
    BAD(":8", 1, EMPTY_PART),
    BAD("8:", 3, EMPTY_PART),
    BAD("0-4K::8", 6, EMPTY_PART),
    BAD("8:,4", 3, EMPTY_PART),
    BAD("0-4K:8, auto", 8, BLANK),
    /* what never matches */
    BAD("8,4", 3, NEVER_MATCHES),
    BAD("auto,0-4K:8", 6, NEVER_MATCHES),
    BAD("8,0-4K:host:4", 3, NEVER_MATCHES),
    BAD("0-4K:8,4K-inf:4,auto", 17, NEVER_MATCHES),
    BAD("0-4K:8,1K-2K:cuda:4", 8, NEVER_MATCHES),
    BAD("host^cuda:8,cuda:4", 13, NEVER_MATCHES),
    BAD("host:8,cuda:4,1K-2K:host^cuda:6", 15, NEVER_MATCHES),
    BAD("10-20:8,0-9:4,5-15:6", 15, NEVER_MATCHES),
    BAD("0-9:8,11-inf:4,auto,10-10:3", 21, NEVER_MATCHES),
};

START_TEST(what_is_refused) /* C606, case 41 */
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        radix_table_t table;
        radix_error_t error;
        REQUIRE(parse(bad[i].text, bad[i].length, &table, &error) == MUSTER_INVALID_ARGUMENT,
                "%s is taken", bad[i].text);
        REQUIRE(error.position + 1 == bad[i].column && error.fault == bad[i].fault,
                "%s: column %zu: %s", bad[i].text, error.position + 1,
                radix_fault_text(error.fault));
        REQUIRE(!parses_or_tells(bad[i].text, bad[i].length));
        REQUIRE(radix_table_parse(bad[i].text, bad[i].length, &table, NULL) ==
                MUSTER_INVALID_ARGUMENT);
    }
}
END_TEST

/* C605: the same grammar with names for values. */
START_TEST(names_are_values)
{
    static const char *const names[] = {"tree", "ring", "tree_2"};
    static const struct {
        const char *text, *printed; /* NULL: refused */
        size_t column;
        radix_fault_t fault;
    } rows[] = {
        {"ring", "ring", 0, RADIX_FAULT_NONE},
        {"auto", "auto", 0, RADIX_FAULT_NONE},
        {"0-4K:tree_2,host^cuda:ring,4097-inf:tree", "0-4K:tree_2,host^cuda:ring,4097-inf:tree", 0,
         RADIX_FAULT_NONE},
        {"rings", NULL, 1, RADIX_FAULT_NO_NAME},
        {"rin", NULL, 1, RADIX_FAULT_NO_NAME},
        {"8x6", NULL, 1, RADIX_FAULT_NO_NAME},
        {"=ring", NULL, 1, RADIX_FAULT_NO_NAME},
        {"0-4K:tree,ring:9", NULL, 16, RADIX_FAULT_TWO_VALUES},
        {"tree:ring", NULL, 6, RADIX_FAULT_TWO_VALUES},
        {"tree,ring", NULL, 6, RADIX_FAULT_NEVER_MATCHES},
        {"ring@far", NULL, 5, RADIX_FAULT_UNEXPECTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        radix_table_t table;
        radix_error_t error;
        char bytes[128];
        text_t text = text_over(bytes, sizeof bytes);
        muster_status_t status =
            radix_table_parse_names(rows[i].text, strlen(rows[i].text), names, 3, &table, &error);
        REQUIRE((status == MUSTER_OK) == (rows[i].printed != NULL), "%s", rows[i].text);
        if (status != MUSTER_OK) {
            REQUIRE(error.position + 1 == rows[i].column && error.fault == rows[i].fault,
                    "%s: column %zu: %s", rows[i].text, error.position + 1,
                    radix_fault_text(error.fault));
            continue;
        }
        radix_table_print_names(&table, names, &text);
        ck_assert_str_eq(bytes, rows[i].printed);
    }
}
END_TEST

START_TEST(every_reason_has_a_text)
{
    bool shown[RADIX_FAULT_COUNT] = {false};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        shown[bad[i].fault] = true;
    /* These are shown by tests of their own. */
    shown[RADIX_FAULT_NONE] = shown[RADIX_FAULT_STORAGE] = shown[RADIX_FAULT_NO_FACTORS] = true;
    shown[RADIX_FAULT_TOO_LONG] = shown[RADIX_FAULT_TOO_MANY_ENTRIES] = true;
    shown[RADIX_FAULT_NO_NAME] = true;
    for (int fault = 0; fault < RADIX_FAULT_COUNT; fault++) {
        REQUIRE(shown[fault], "no text shows reason %d", fault);
        REQUIRE(strlen(radix_fault_text((radix_fault_t)fault)) > 10);
        for (int other = 0; other < fault; other++)
            REQUIRE(strcmp(radix_fault_text((radix_fault_t)fault),
                           radix_fault_text((radix_fault_t)other)) != 0);
    }
    ck_assert_ptr_nonnull(radix_fault_text(RADIX_FAULT_COUNT));
    ck_assert_ptr_nonnull(radix_fault_text((radix_fault_t)1000));
    char bytes[200];
    text_t text = text_over(bytes, sizeof bytes);
    radix_error_print(&(radix_error_t){.position = 2, .fault = RADIX_FAULT_NO_RADIX}, &text);
    ck_assert_str_eq(bytes, "column 3: a radix is missing here");
    text = text_over(bytes, sizeof bytes);
    radix_error_print(&(radix_error_t){.position = 0, .fault = RADIX_FAULT_WORD}, &text);
    ck_assert_str_eq(bytes, "column 1: neither auto, node nor a known memory type: host cuda "
                            "cuda-managed rocm rocm-managed ze-host ze-device ze-managed");
}
END_TEST

START_TEST(bounds_of_the_whole_text)
{
    static char bytes[RADIX_TEXT_MAX + 2];
    radix_table_t table;
    radix_error_t error;
    ck_assert_int_eq(radix_table_parse(NULL, 0, &table, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_EMPTY);
    ck_assert_int_eq(radix_table_parse(NULL, 3, &table, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_STORAGE);
    /* As many entries as there can be, then one more. */
    size_t length = 0;
    for (unsigned i = 0; i < RADIX_ENTRIES_MAX; i++)
        length += (size_t)snprintf(bytes + length, sizeof bytes - length, "%s%u-%u:~" ODD_31 "@far",
                                   i > 0 ? "," : "", 2 * i, 2 * i);
    ck_assert_uint_lt(length, RADIX_TEXT_MAX);
    ck_assert(parses_or_tells(bytes, length));
    memcpy(bytes + length, ",auto", 5);
    ck_assert_int_eq(parse(bytes, length + 5, &table, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_TOO_MANY_ENTRIES);
    ck_assert_uint_eq(error.position, length + 1);
    memset(bytes, '9', sizeof bytes);
    ck_assert_int_eq(parse(bytes, RADIX_TEXT_MAX, &table, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_DIGITS);
    ck_assert_uint_eq(error.position, 0);
    ck_assert_int_eq(parse(bytes, RADIX_TEXT_MAX + 1, &table, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_TOO_LONG);
    ck_assert_uint_eq(error.position, RADIX_TEXT_MAX);
    ck_assert_int_eq(radix_table_parse("8", SIZE_MAX, &table, &error), MUSTER_INVALID_ARGUMENT);
    ck_assert_int_eq(error.fault, RADIX_FAULT_TOO_LONG);
}
END_TEST

static const char *found(const radix_table_t *table, uint64_t bytes, radix_memory_t memory)
{
    static char value[256];
    const radix_entry_t *entry = radix_table_find(table, bytes, memory);
    text_t text = text_over(value, sizeof value);
    if (entry == NULL)
        return "nothing";
    radix_value_print(&entry->value, &text);
    return value;
}

START_TEST(the_first_entry_that_fits) /* C605, C607 */
{
    static const char text[] = "0-4K:host:8x6,4K-inf:cuda:4,auto";
    radix_table_t table;
    ck_assert_int_eq(parse(text, sizeof text - 1, &table, NULL), MUSTER_OK);
    ck_assert_uint_eq(table.count, 3);
    ck_assert_str_eq(found(&table, 0, RADIX_MEMORY_HOST), "8x6");
    ck_assert_str_eq(found(&table, 4096, RADIX_MEMORY_HOST), "8x6"); /* both ends included */
    ck_assert_str_eq(found(&table, 4097, RADIX_MEMORY_HOST), "auto");
    ck_assert_str_eq(found(&table, 4095, RADIX_MEMORY_CUDA), "auto");
    ck_assert_str_eq(found(&table, 4096, RADIX_MEMORY_CUDA), "4");
    ck_assert_str_eq(found(&table, UINT64_MAX, RADIX_MEMORY_CUDA), "4");
    ck_assert_str_eq(found(&table, 0, RADIX_MEMORY_ROCM), "auto");
    ck_assert_str_eq(found(&table, 0, RADIX_MEMORY_COUNT), "nothing");
    ck_assert_str_eq(found(&table, 0, (radix_memory_t)1000), "nothing");

    static const char overlaps[] = "1K-2K:8,0-4K:4,3K-5K:cuda^rocm:2";
    ck_assert_int_eq(parse(overlaps, sizeof overlaps - 1, &table, NULL), MUSTER_OK);
    ck_assert_str_eq(found(&table, 1023, RADIX_MEMORY_CUDA), "4");
    ck_assert_str_eq(found(&table, 1024, RADIX_MEMORY_CUDA), "8"); /* first match wins */
    ck_assert_str_eq(found(&table, 2048, RADIX_MEMORY_CUDA), "8");
    ck_assert_str_eq(found(&table, 2049, RADIX_MEMORY_CUDA), "4");
    ck_assert_str_eq(found(&table, 4096, RADIX_MEMORY_CUDA), "4");
    ck_assert_str_eq(found(&table, 4097, RADIX_MEMORY_ROCM), "2");
    ck_assert_str_eq(found(&table, 4097, RADIX_MEMORY_HOST), "nothing");
    ck_assert_str_eq(found(&table, 5121, RADIX_MEMORY_CUDA), "nothing");
}
END_TEST

START_TEST(cloned_and_released) /* C607 */
{
    static const char text[] = "0-4K:host:8x6@far,~2x3";
    radix_table_t table, clone;
    ck_assert_int_eq(parse(text, sizeof text - 1, &table, NULL), MUSTER_OK);
    radix_table_clone(&table, &clone);
    ck_assert(radix_table_equal(&table, &clone));
    clone.entries[0].value.sequence.factors[0] = 9; /* the clone's own */
    ck_assert(!radix_table_equal(&table, &clone));
    ck_assert_str_eq(found(&table, 1, RADIX_MEMORY_HOST), "8x6@far");
    radix_table_release(&table);
    ck_assert_uint_eq(table.count, 0);
    ck_assert_str_eq(found(&table, 1, RADIX_MEMORY_HOST), "nothing");
    ck_assert_str_eq(printed(&table), "");
    ck_assert_str_eq(found(&clone, 1, RADIX_MEMORY_HOST), "9x6@far");
    radix_table_release(&clone);
    ck_assert(radix_table_equal(&table, &clone));
    radix_table_release(&clone); /* again, and nothing */
    radix_table_release(NULL);
}
END_TEST

START_TEST(tables_that_differ_are_not_equal)
{
    static const char *const texts[] = {
        "8",           "auto",  "9",     "8@far",      "=8",      "host:8",       "cuda:8",
        "0-1:8",       "1-2:8", "0-2:8", "0-1:8,auto", "0-1:8,4", "0-1:8,host:4", "0-1:8,cuda:4",
        "0-1:8,3-4:4",
    };
    size_t count = sizeof texts / sizeof *texts;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            radix_table_t one, other;
            REQUIRE(parse(texts[i], strlen(texts[i]), &one, NULL) == MUSTER_OK);
            REQUIRE(parse(texts[j], strlen(texts[j]), &other, NULL) == MUSTER_OK);
            REQUIRE(radix_table_equal(&one, &other) == (i == j), "%s, %s", texts[i], texts[j]);
        }
}
END_TEST

START_TEST(printing_is_bounded) /* C607 */
{
    static const char text[] = "0-4K:host^cuda:=8xnode@far,1K-8K:host:auto,~2x3x5";
    radix_table_t table;
    ck_assert_int_eq(parse(text, sizeof text - 1, &table, NULL), MUSTER_OK);
    for (size_t size = 0; size <= sizeof text + 2; size++) {
        char bytes[sizeof text + 4];
        memset(bytes, '#', sizeof bytes);
        text_t cut = text_over(size == 0 ? NULL : bytes, size);
        radix_table_print(&table, &cut);
        REQUIRE(cut.length == sizeof text - 1); /* of the whole */
        size_t kept = size == 0 ? 0 : size < sizeof text ? size - 1 : sizeof text - 1;
        REQUIRE(memcmp(bytes, text, kept) == 0);
        REQUIRE(size == 0 || bytes[kept] == '\0');
        for (size_t i = size == 0 ? 0 : kept + 1; i < sizeof bytes; i++)
            REQUIRE(bytes[i] == '#');
    }
}
END_TEST

START_TEST(memory_types_have_names)
{
    for (size_t i = 0; i < RADIX_MEMORY_COUNT; i++) {
        const char *name = radix_memory_name((radix_memory_t)i);
        ck_assert_uint_eq(radix_memory_named(name, strlen(name)), i);
        ck_assert_uint_eq(radix_memory_named(name, strlen(name) - 1), RADIX_MEMORY_COUNT);
    }
    ck_assert_str_eq(radix_memory_name(RADIX_MEMORY_COUNT), "?");
    ck_assert_uint_eq(radix_memory_named(NULL, 0), RADIX_MEMORY_COUNT);
}
END_TEST

/* Beginnings, single changes and single losses of all the texts above. */
START_TEST(texts_that_are_nearly_right)
{
    static const char changes[] = "\0 ,:x^@=~-+019aKknif\x80";
    for (size_t i = 0; i < sizeof good / sizeof *good + sizeof bad / sizeof *bad; i++) {
        bool is_good = i < sizeof good / sizeof *good;
        size_t other = i - sizeof good / sizeof *good;
        const char *text = is_good ? good[i].text : bad[other].text;
        size_t length = is_good ? strlen(text) : bad[other].length;
        char bytes[256];
        REQUIRE(length < sizeof bytes);
        for (size_t place = 0; place < length; place++) {
            parses_or_tells(text, place);
            memcpy(bytes, text, place);
            memcpy(bytes + place, text + place + 1, length - place - 1);
            parses_or_tells(bytes, length - 1);
            memcpy(bytes, text, length);
            for (size_t c = 0; c < sizeof changes - 1; c++) {
                bytes[place] = changes[c];
                parses_or_tells(bytes, length);
            }
        }
    }
}
END_TEST

/* ---- Random tables: what they mean is known from how they were made -------------------------- */

#define ENDS 8 /* sizes 0..7, and inf */

typedef struct drawn {
    radix_table_t table;
    char text[RADIX_TEXT_MAX + 1];
    uint32_t dead; /* the first entry that never matches; count: none */
} drawn_t;

static void draw_value(radix_value_t *value)
{
    *value = (radix_value_t){.node = RADIX_NO_NODE, .kind = (uint8_t)random_below(4)};
    if (value->kind == RADIX_KIND_AUTO)
        return;
    uint32_t count = 1 + random_below(8);
    for (uint32_t i = 0; i < count; i++)
        value->sequence.factors[i] = (uint16_t)(2 + i + random_below(2) * 8); /* all different */
    if (random_below(3) == 0) {
        value->node = (uint8_t)random_below(count);
        value->sequence.factors[value->node] = 0;
    }
    value->sequence.count = (uint8_t)count;
    value->sequence.far = random_below(3) == 0;
}

static void draw_entry(radix_entry_t *entry)
{
    *entry = (radix_entry_t){.first = random_below(ENDS), .last = RADIX_INF};
    if (random_below(3) > 0)
        entry->last = entry->first + random_below((uint32_t)(ENDS - entry->first));
    if (random_below(4) == 0)
        entry->first = 0;
    entry->memories = random_below(3) == 0 ? RADIX_MEMORY_ALL : 1 + random_below(7);
    draw_value(&entry->value);
}

static void write_range(const radix_entry_t *entry, text_t *text)
{
    text_number(text, entry->first);
    text_character(text, '-');
    if (entry->last == RADIX_INF && random_below(2) == 0)
        text_string(text, "inf");
    else
        text_number(text, entry->last);
}

static void write_memories(uint32_t memories, text_t *text)
{
    uint32_t start = random_below(RADIX_MEMORY_COUNT);
    bool more = false;
    for (uint32_t i = 0; i < RADIX_MEMORY_COUNT; i++) {
        uint32_t memory = (start + i) % RADIX_MEMORY_COUNT;
        if (!(memories >> memory & 1))
            continue;
        if (more)
            text_character(text, '^');
        text_string(text, radix_memory_name((radix_memory_t)memory));
        more = true;
    }
}

/* The parts in any order, with or without what could be left out. */
static void write_entry(const radix_entry_t *entry, text_t *text)
{
    bool wanted[3] = {true, true, true};
    if (entry->first == 0 && entry->last == RADIX_INF)
        wanted[1] = random_below(2) == 0;
    if (entry->memories == RADIX_MEMORY_ALL)
        wanted[2] = random_below(2) == 0;
    uint32_t start = random_below(3), step = 1 + random_below(2);
    bool more = false;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t part = (start + i * step) % 3;
        if (!wanted[part])
            continue;
        if (more)
            text_character(text, ':');
        more = true;
        if (part == 0)
            radix_value_print(&entry->value, text);
        else if (part == 1)
            write_range(entry, text);
        else
            write_memories(entry->memories, text);
    }
}

/* By trying: the sizes above ENDS are all alike. */
static const radix_entry_t *try_find(const radix_table_t *table, uint64_t bytes, uint32_t memory)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->entries[i].first <= bytes && bytes <= table->entries[i].last &&
            (table->entries[i].memories & UINT32_C(1) << memory) != 0)
            return &table->entries[i];
    return NULL;
}

static bool try_reaches(const radix_table_t *table, const radix_entry_t *entry)
{
    for (uint64_t bytes = 0; bytes <= ENDS; bytes++)
        for (uint32_t memory = 0; memory < RADIX_MEMORY_COUNT; memory++)
            if (try_find(table, bytes, memory) == entry)
                return true;
    return false;
}

static void draw(drawn_t *drawn)
{
    text_t text = text_over(drawn->text, sizeof drawn->text);
    memset(&drawn->table, 0, sizeof drawn->table);
    drawn->table.count = 1 + random_below(6);
    for (uint32_t i = 0; i < drawn->table.count; i++) {
        draw_entry(&drawn->table.entries[i]);
        if (i > 0)
            text_character(&text, ',');
        write_entry(&drawn->table.entries[i], &text);
    }
    drawn->dead = 0;
    while (drawn->dead < drawn->table.count &&
           try_reaches(&drawn->table, &drawn->table.entries[drawn->dead]))
        drawn->dead++;
}

START_TEST(random_tables_mean_what_they_say) /* C605, C607, case 41 */
{
    random_begin();
    uint32_t taken = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        static drawn_t drawn;
        radix_table_t table;
        radix_error_t error;
        draw(&drawn);
        size_t length = strlen(drawn.text);
        muster_status_t status = parse(drawn.text, length, &table, &error);
        if (drawn.dead < drawn.table.count) {
            size_t column = 0;
            for (uint32_t commas = 0; commas < drawn.dead; column++)
                commas += drawn.text[column] == ',';
            REQUIRE(status == MUSTER_INVALID_ARGUMENT && error.fault == RADIX_FAULT_NEVER_MATCHES &&
                        error.position == column,
                    "%s", drawn.text);
            refused++;
            continue;
        }
        REQUIRE(status == MUSTER_OK, "%s: column %zu: %s", drawn.text, error.position + 1,
                radix_fault_text(error.fault));
        REQUIRE(radix_table_equal(&table, &drawn.table), "%s", drawn.text);
        REQUIRE(parses_or_tells(drawn.text, length));
        for (uint64_t bytes = 0; bytes <= ENDS; bytes++)
            for (uint32_t memory = 0; memory < RADIX_MEMORY_COUNT; memory++) {
                const radix_entry_t *expected = try_find(&drawn.table, bytes, memory);
                const radix_entry_t *entry =
                    radix_table_find(&table, bytes, (radix_memory_t)memory);
                REQUIRE(expected == NULL ? entry == NULL
                                         : entry != NULL && entry - table.entries ==
                                                                expected - drawn.table.entries,
                        "%s", drawn.text);
            }
        taken++;
    }
    printf("%u taken, %u refused\n", taken, refused);
    ck_assert_uint_gt(taken, 1000);
    ck_assert_uint_gt(refused, 1000);
}
END_TEST

START_TEST(random_characters) /* C606 */
{
    static const char *const pieces[] = {
        "8", "6", "x",    "@",     "far",  "near", "node", "auto", ",",  ":", "-",
        "^", "=", "~",    "0",     "4K",   "inf",  "host", "cuda", "1M", "2", "3",
        " ", "+", "\x01", "65536", "0-4K", ":",    ",",    "x",    "1",  "K"};
    random_begin();
    uint32_t taken = 0;
    for (int round = 0; round < 100000; round++) {
        char bytes[128] = "";
        size_t length = 0;
        for (uint32_t count = 1 + random_below(10); count > 0; count--) {
            const char *piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
            memcpy(bytes + length, piece, strlen(piece));
            length += strlen(piece);
        }
        if (random_below(8) == 0)
            bytes[random_below((uint32_t)length)] = (char)random_below(256);
        taken += parses_or_tells(bytes, length);
    }
    printf("%u taken\n", taken);
    ck_assert_uint_gt(taken, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("radix_text");
    TCase *tests = tcase_create("radix_text");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, what_is_taken);
    tcase_add_test(tests, what_is_refused);
    tcase_add_test(tests, names_are_values);
    tcase_add_test(tests, every_reason_has_a_text);
    tcase_add_test(tests, bounds_of_the_whole_text);
    tcase_add_test(tests, the_first_entry_that_fits);
    tcase_add_test(tests, cloned_and_released);
    tcase_add_test(tests, tables_that_differ_are_not_equal);
    tcase_add_test(tests, printing_is_bounded);
    tcase_add_test(tests, memory_types_have_names);
    tcase_add_test(tests, texts_that_are_nearly_right);
    tcase_add_test(tests, random_tables_mean_what_they_say);
    tcase_add_test(tests, random_characters);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
