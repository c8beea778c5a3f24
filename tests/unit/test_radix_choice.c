/* What teams make of a radix setting: the published rule, factoring, fixed and cyclic radices. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/radix_choice.h"
#include "core/radix_text.h"
#include "unit/require.h"

#define GIB RADIX_PUBLISHED_LARGE

static const char *text_of(const radix_sequence_t *sequence)
{
    static char bytes[256];
    text_t text = text_over(bytes, sizeof bytes);
    radix_sequence_print(sequence, &text);
    return bytes;
}

static const char *published(uint32_t team, uint64_t total_bytes)
{
    radix_sequence_t sequence;
    return radix_published(team, total_bytes, &sequence) ? text_of(&sequence) : "none";
}

START_TEST(the_published_rule) /* C611 */
{
    ck_assert_str_eq(published(48, 0), "8x6");
    ck_assert_str_eq(published(60, 0), "4x5x3");
    ck_assert_str_eq(published(72, 0), "8x9");
    ck_assert_str_eq(published(96, 0), "4x4x6");
    ck_assert_str_eq(published(128, 0), "8x4x4");
    ck_assert_str_eq(published(35, 0), "7x5");
    ck_assert_str_eq(published(11, 0), "none");
    ck_assert_str_eq(published(96, GIB - 1), "4x4x6");
    ck_assert_str_eq(published(96, GIB), "2x2x2x2x2x3");
    ck_assert_str_eq(published(96, UINT64_MAX), "2x2x2x2x2x3");
    ck_assert_str_eq(published(60, GIB), "2x2x3x5");
    ck_assert_str_eq(published(49, GIB), "7x7");
    ck_assert_str_eq(published(11, GIB), "none");
    ck_assert_str_eq(published(22, GIB), "none");
    /* The ends. */
    ck_assert_str_eq(published(0, 0), "none");
    ck_assert_str_eq(published(1, 0), "none");
    ck_assert_str_eq(published(1, GIB), "none");
    ck_assert_str_eq(published(2, 0), "2");
    ck_assert_str_eq(published(9, 0), "9");
    ck_assert_str_eq(published(9, GIB), "3x3");
    ck_assert_str_eq(published(UINT32_C(1) << 31, 0), "8x8x8x8x8x8x8x8x8x4x4");
    ck_assert_str_eq(published(UINT32_MAX, 0), "none");
    ck_assert_str_eq(published(UINT32_C(3486784401), 0), "9x9x9x9x9x9x9x9x9x9");
    ck_assert_str_eq(published(UINT32_C(4294967291), 0), "none"); /* a prime */
    radix_sequence_t longest;
    ck_assert(radix_published(UINT32_C(1) << 31, GIB, &longest) && longest.count == 31);
}
END_TEST

/* ---- By trying every sequence ---------------------------------------------------------------- */

typedef struct tried {
    uint16_t allowed[RADIX_FACTORS_MAX];
    size_t count;
    radix_sequence_t now, best; /* best.count 0: none so far */
    uint32_t best_sum;
} tried_t;

static uint32_t sum_of(const radix_sequence_t *sequence)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < sequence->count; i++)
        sum += sequence->factors[i] - 1u;
    return sum;
}

/* Never back in the order; the first of equals stays. */
static void try_all(tried_t *tried, uint32_t rest, size_t from)
{
    if (rest == 1) {
        uint32_t sum = sum_of(&tried->now);
        if (tried->now.count > 0 &&
            (tried->best.count == 0 || tried->now.count < tried->best.count ||
             (tried->now.count == tried->best.count && sum < tried->best_sum))) {
            tried->best = tried->now;
            tried->best_sum = sum;
        }
        return;
    }
    for (size_t i = from; i < tried->count; i++) {
        if (rest % tried->allowed[i] != 0)
            continue;
        tried->now.factors[tried->now.count++] = tried->allowed[i];
        try_all(tried, rest / tried->allowed[i], i);
        tried->now.factors[--tried->now.count] = 0;
    }
}

START_TEST(the_published_rule_by_trying) /* C611, C612: how many sizes have none */
{
    static const uint16_t order[] = {8, 4, 2, 9, 7, 6, 5, 3};
    uint32_t without = 0;
    for (uint32_t team = 2; team <= 4096; team++) {
        tried_t tried = {.count = 8};
        memcpy(tried.allowed, order, sizeof order);
        try_all(&tried, team, 0);
        radix_sequence_t sequence = {.count = 0}, large = {.count = 0};
        bool exists = radix_published(team, 0, &sequence);
        REQUIRE(exists == (tried.best.count > 0));
        REQUIRE(sequence.count == tried.best.count); /* phases */
        REQUIRE(sum_of(&sequence) == tried.best_sum);
        REQUIRE(radix_sequence_equal(&sequence, &tried.best)); /* and the order */
        REQUIRE(!exists || radix_sequence_product(&sequence) == team);
        REQUIRE(radix_published(team, GIB, &large) == exists);
        REQUIRE(!exists || radix_sequence_product(&large) == team);
        for (size_t i = 0; i < large.count; i++) { /* primes, ascending */
            uint16_t factor = large.factors[i];
            REQUIRE(factor == 2 || factor == 3 || factor == 5 || factor == 7);
            REQUIRE(i == 0 || large.factors[i - 1] <= factor);
        }
        without += team <= 1024 && !exists;
    }
    ck_assert_uint_eq(without, 881);
}
END_TEST

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

START_TEST(factoring_by_trying) /* C608 */
{
    random_begin();
    uint32_t exists = 0;
    for (int round = 0; round < 20000; round++) {
        tried_t tried = {.count = 1 + random_below(7)};
        uint32_t team = 1;
        for (size_t i = 0; i < tried.count; i++)
            tried.allowed[i] = (uint16_t)(2 + random_below(random_below(4) == 0 ? 200 : 12));
        for (uint32_t count = random_below(5); count > 0 && team < 100000; count--)
            team *= tried.allowed[random_below((uint32_t)tried.count)];
        if (random_below(2) == 0)
            team = 1 + random_below(5000);
        try_all(&tried, team, 0);
        radix_sequence_t sequence = {.count = 0};
        bool found = radix_decompose(team, tried.allowed, tried.count, &sequence);
        REQUIRE(found == (tried.best.count > 0), "team %u", team);
        REQUIRE(radix_sequence_equal(&sequence, &tried.best), "team %u", team);
        exists += found;
    }
    ck_assert_uint_gt(exists, 2000);
}
END_TEST

START_TEST(factoring_at_the_ends) /* C608 */
{
    radix_sequence_t sequence = {.factors = {7}, .count = 1};
    static const uint16_t odd[] = {0, 1, 3, 65535};
    ck_assert(!radix_decompose(0, odd, 4, &sequence));
    ck_assert(!radix_decompose(1, odd, 4, &sequence));
    ck_assert(!radix_decompose(2, odd, 4, &sequence));
    ck_assert(!radix_decompose(3, odd, 2, &sequence)); /* 0 and 1 are no factors */
    ck_assert(!radix_decompose(3, NULL, 0, &sequence));
    ck_assert(!radix_decompose(UINT32_MAX, odd, 4, &sequence)); /* 65537 divides it */
    ck_assert_str_eq(text_of(&sequence), "7");                  /* untouched */
    ck_assert(radix_decompose(UINT32_C(4294836225), odd, 4, &sequence));
    ck_assert_str_eq(text_of(&sequence), "65535x65535");
    /* The number with the most divisors, and a list that is as long as it can be. */
    tried_t tried = {.count = RADIX_FACTORS_MAX};
    for (uint16_t i = 0; i < RADIX_FACTORS_MAX; i++)
        tried.allowed[i] = (uint16_t)(i + 2);
    try_all(&tried, UINT32_C(3491888400), 0);
    ck_assert(radix_decompose(UINT32_C(3491888400), tried.allowed, tried.count, &sequence));
    ck_assert_uint_eq(radix_sequence_product(&sequence), UINT32_C(3491888400));
    ck_assert(radix_sequence_equal(&sequence, &tried.best));
}
END_TEST

/* ---- A setting for a team -------------------------------------------------------------------- */

static radix_value_t value_of(const char *text)
{
    radix_table_t table;
    radix_error_t error = {0};
    REQUIRE(radix_table_parse(text, strlen(text), &table, &error) == MUSTER_OK, "%s", text);
    return table.entries[0].value;
}

static const struct {
    const char *value;
    uint32_t team;
    uint32_t per_host;
    radix_answer_t answer;
    radix_reason_t reason;
    const char *sequence;
} cases[] = {
    {"auto", 48, 8, RADIX_AUTO, RADIX_REASON_ASKED, NULL},
    /* C609: one factor is a fixed radix; sequences of the same team */
    {"2", 16, 0, RADIX_FIXED, RADIX_REASON_NONE, "2"},
    {"4", 16, 0, RADIX_FIXED, RADIX_REASON_NONE, "4"},
    {"8", 16, 0, RADIX_FIXED, RADIX_REASON_NONE, "8"},
    {"8x2", 16, 0, RADIX_EXACT, RADIX_REASON_NONE, "8x2"},
    {"2x8", 16, 0, RADIX_EXACT, RADIX_REASON_NONE, "2x8"},
    {"4x4", 16, 0, RADIX_EXACT, RADIX_REASON_NONE, "4x4"},
    {"16", 16, 0, RADIX_FIXED, RADIX_REASON_NONE, "16"},
    {"8", 1, 0, RADIX_FIXED, RADIX_REASON_NONE, "8"},
    {"8@far", 48, 0, RADIX_FIXED, RADIX_REASON_NONE, "8@far"},
    /* C601, C608: exact, or auto */
    {"8x6", 48, 0, RADIX_EXACT, RADIX_REASON_NONE, "8x6"},
    {"6x8@far", 48, 0, RADIX_EXACT, RADIX_REASON_NONE, "6x8@far"},
    {"8x6", 47, 0, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"8x6", 96, 0, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"8x6", 1, 0, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"8x6", 0, 0, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    /* C608: exact or nothing */
    {"=8x6", 48, 0, RADIX_EXACT, RADIX_REASON_NONE, "8x6"},
    {"=8x6", 96, 0, RADIX_REFUSED, RADIX_REASON_PRODUCT, NULL},
    {"=8", 8, 0, RADIX_EXACT, RADIX_REASON_NONE, "8"},
    {"=8", 64, 0, RADIX_REFUSED, RADIX_REASON_PRODUCT, NULL},
    /* C608: allowed factors */
    {"~2x3x5", 60, 0, RADIX_EXACT, RADIX_REASON_NONE, "2x2x3x5"},
    {"~5x3x2", 60, 0, RADIX_EXACT, RADIX_REASON_NONE, "5x3x2x2"},
    {"~2x3x5", 7, 0, RADIX_AUTO, RADIX_REASON_NO_DECOMPOSITION, NULL},
    {"~2x3x5", 1, 0, RADIX_AUTO, RADIX_REASON_NO_DECOMPOSITION, NULL},
    {"~2x3x4x6", 24, 0, RADIX_EXACT, RADIX_REASON_NONE, "4x6"},
    {"~6x4x3x2", 36, 0, RADIX_EXACT, RADIX_REASON_NONE, "6x6"},
    {"~2x6x3x4", 12, 0, RADIX_EXACT, RADIX_REASON_NONE, "3x4"}, /* sum 5, 2x6 has 6 */
    {"~2x3@far", 12, 0, RADIX_EXACT, RADIX_REASON_NONE, "2x2x3@far"},
    {"~8", 8, 0, RADIX_EXACT, RADIX_REASON_NONE, "8"},
    /* C613: the ranks per host */
    {"nodex12", 96, 8, RADIX_EXACT, RADIX_REASON_NONE, "8x12"},
    {"12xnode@far", 96, 8, RADIX_EXACT, RADIX_REASON_NONE, "12x8@far"},
    {"nodex12", 96, 0, RADIX_AUTO, RADIX_REASON_NODE_UNKNOWN, NULL},
    {"=nodex12", 96, 0, RADIX_REFUSED, RADIX_REASON_NODE_UNKNOWN, NULL},
    {"nodex12", 96, 7, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"nodex12", 8, 8, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"nodex12", 12, 1, RADIX_EXACT, RADIX_REASON_NONE, "12"},
    {"nodex12", 13, 1, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"2xnodex6", 12, 1, RADIX_EXACT, RADIX_REASON_NONE, "2x6"},
    {"node", 96, 8, RADIX_FIXED, RADIX_REASON_NONE, "8"},
    {"node", 96, 1, RADIX_AUTO, RADIX_REASON_NODE_RANGE, NULL},
    {"node", 96, 0, RADIX_AUTO, RADIX_REASON_NODE_UNKNOWN, NULL},
    {"nodex2", 200000, 100000, RADIX_AUTO, RADIX_REASON_NODE_RANGE, NULL},
    {"=node", 8, 8, RADIX_EXACT, RADIX_REASON_NONE, "8"},
    {"=node", 96, 8, RADIX_REFUSED, RADIX_REASON_PRODUCT, NULL},
    {"65535xnode", 96, 65535, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"65535x65535xnode", 0, 65535, RADIX_AUTO, RADIX_REASON_PRODUCT, NULL},
    {"=65535x2xnode", 0, 32768, RADIX_REFUSED, RADIX_REASON_PRODUCT, NULL},
    {"~nodex2x3", 96, 8, RADIX_EXACT, RADIX_REASON_NONE, "8x2x2x3"},
    {"~2x3xnode", 96, 8, RADIX_EXACT, RADIX_REASON_NONE, "2x2x3x8"},
    {"~nodex2x3", 96, 0, RADIX_EXACT, RADIX_REASON_NONE, "2x2x2x2x2x3"},
    {"~node", 96, 0, RADIX_AUTO, RADIX_REASON_NO_DECOMPOSITION, NULL},
    {"~nodex2", 64, 2, RADIX_EXACT, RADIX_REASON_NONE, "2x2x2x2x2x2"},
};

START_TEST(a_setting_for_a_team) /* C601, C608, C609, C613 */
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const radix_sequence_t untouched = {.factors = {77}, .count = 1, .far = true};
        radix_value_t value = value_of(cases[i].value);
        radix_sequence_t sequence = untouched;
        radix_reason_t reason;
        radix_answer_t answer =
            radix_resolve(&value, cases[i].team, cases[i].per_host, &sequence, &reason);
        REQUIRE(answer == cases[i].answer, "%s of %u", cases[i].value, cases[i].team);
        REQUIRE(reason == cases[i].reason, "%s of %u: %s", cases[i].value, cases[i].team,
                radix_reason_text(reason));
        const char *expected = cases[i].sequence != NULL ? cases[i].sequence : "77@far";
        REQUIRE(strcmp(text_of(&sequence), expected) == 0, "%s of %u: %s", cases[i].value,
                cases[i].team, text_of(&sequence));
        REQUIRE(radix_resolve(&value, cases[i].team, cases[i].per_host, &sequence, NULL) == answer);
    }
}
END_TEST

START_TEST(values_that_no_text_gives) /* C616 */
{
    radix_sequence_t sequence = {.factors = {7}, .count = 1};
    radix_reason_t reason;
    for (int kind = 0; kind < 256; kind++) {
        for (int count = 0; count < 256; count++) {
            radix_value_t value = {.kind = (uint8_t)kind, .node = (uint8_t)(count / 2)};
            value.sequence.count = (uint8_t)count; /* of zeros */
            radix_answer_t answer = radix_resolve(&value, 16, 0, &sequence, &reason);
            REQUIRE(answer == (kind == RADIX_KIND_STRICT ? RADIX_REFUSED : RADIX_AUTO));
            REQUIRE(reason != RADIX_REASON_NONE && reason < RADIX_REASON_COUNT);
        }
    }
    ck_assert_str_eq(text_of(&sequence), "7");
    for (int why = 0; why <= RADIX_REASON_COUNT; why++)
        ck_assert_uint_gt(strlen(radix_reason_text((radix_reason_t)why)), 5);
}
END_TEST

/* ---- Fixed radices --------------------------------------------------------------------------- */

typedef struct traffic {
    uint64_t bytes;    /* in m, that the busiest rank sends */
    uint32_t messages; /* of the same */
} traffic_t;

/* C603 by the formulas: core rank c stands for two blocks where it is a proxy (c < E). */
static traffic_t fixed_traffic(uint32_t team, uint32_t radix)
{
    radix_fixed_t figures;
    radix_sequence_t phases;
    ck_assert(radix_fixed(team, radix, &figures));
    ck_assert(radix_fixed_sequence(team, radix, false, &phases));
    traffic_t most = {0};
    for (uint32_t c = 0; c < figures.core; c++) {
        traffic_t one = {0};
        for (uint32_t phase = 0; phase < phases.count; phase++) {
            uint32_t q = radix_sequence_stride(&phases, phase), first = c / q * q, blocks = 0;
            for (uint32_t other = first; other < first + q; other++)
                blocks += other < figures.extras ? 2 : 1;
            one.bytes += (uint64_t)blocks * (phases.factors[phase] - 1u);
            one.messages += phases.factors[phase] - 1u;
        }
        if (c < figures.extras) { /* its extra gets everything */
            one.bytes += team;
            one.messages++;
        }
        if (one.bytes > most.bytes)
            most = one;
    }
    return most;
}

START_TEST(a_fixed_radix_of_96) /* C603 */
{
    static const struct {
        uint32_t radix, full, extras, phases, last, bytes;
        const char *sequence;
    } figures[] = {
        {2, 64, 32, 6, 2, 222, "2x2x2x2x2x2"}, {4, 64, 32, 3, 4, 222, "4x4x4"},
        {8, 64, 32, 2, 8, 222, "8x8"},         {3, 81, 15, 4, 3, 232, "3x3x3x3"},
        {12, 12, 0, 2, 8, 95, "12x8"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        radix_fixed_t fixed;
        radix_sequence_t sequence;
        ck_assert(radix_fixed(96, figures[i].radix, &fixed));
        ck_assert_uint_eq(fixed.full, figures[i].full);
        ck_assert_uint_eq(fixed.extras, figures[i].extras);
        ck_assert_uint_eq(fixed.core, 96 - figures[i].extras);
        ck_assert_uint_eq(fixed.phases, figures[i].phases);
        ck_assert_uint_eq(fixed.last, figures[i].last);
        ck_assert_int_eq(fixed.truncated, figures[i].last < figures[i].radix);
        ck_assert(radix_fixed_sequence(96, figures[i].radix, false, &sequence));
        ck_assert_str_eq(text_of(&sequence), figures[i].sequence);
        ck_assert_uint_eq(fixed_traffic(96, figures[i].radix).bytes, figures[i].bytes);
    }
    ck_assert_uint_eq(fixed_traffic(96, 12).messages, 18);
}
END_TEST

START_TEST(a_fixed_radix_of_any_team) /* C603, C609 */
{
    for (uint32_t team = 1; team <= 2048; team++) {
        for (uint32_t radix = 2; radix <= 40; radix++) {
            radix_fixed_t fixed;
            REQUIRE(radix_fixed(team, radix, &fixed));
            uint32_t power = 1, exponent = 0;
            for (; power * radix <= team; power *= radix)
                exponent++;
            uint32_t parts = team / power;
            REQUIRE(fixed.full == power && fixed.extras == team - parts * power);
            REQUIRE(fixed.core + fixed.extras == team && 2 * fixed.extras <= team);
            REQUIRE(fixed.phases == exponent + (parts > 1));
            REQUIRE(fixed.truncated == (parts > 1));
            REQUIRE(fixed.last == (parts > 1 ? parts : exponent > 0 ? radix : 0));
            radix_sequence_t sequence;
            REQUIRE(radix_fixed_sequence(team, radix, true, &sequence) == (team > 1));
            REQUIRE(team == 1 || (radix_sequence_product(&sequence) == fixed.core &&
                                  sequence.count == fixed.phases && sequence.far));
        }
    }
    radix_fixed_t fixed = {.full = 7}, widest;
    ck_assert(!radix_fixed(0, 2, &fixed) && !radix_fixed(5, 0, &fixed));
    ck_assert(!radix_fixed(5, 1, &fixed) && !radix_fixed(5, 65536, &fixed)); /* case 41 */
    ck_assert_uint_eq(fixed.full, 7);
    ck_assert(radix_fixed(UINT32_MAX, 2, &widest));
    ck_assert(widest.full == UINT32_C(1) << 31 && widest.phases == 31 && !widest.truncated);
    ck_assert(radix_fixed(UINT32_MAX, 65535, &widest));
    ck_assert(widest.full == UINT32_C(4294836225) && widest.phases == 2);
    radix_sequence_t sequence;
    ck_assert(radix_fixed_sequence(UINT32_MAX, 2, false, &sequence) && sequence.count == 31);
    ck_assert(!radix_fixed_sequence(5, 1, false, &sequence));
}
END_TEST

START_TEST(a_cyclic_radix_of_any_team) /* C612 */
{
    for (uint32_t team = 2; team <= 1024; team++) {
        for (uint32_t radix = 2; radix <= 40; radix++) {
            radix_cyclic_t cyclic;
            radix_sequence_t sequence;
            REQUIRE(radix_cyclic(team, radix, &cyclic));
            uint32_t logarithm = 0;
            for (uint64_t power = 1; power < team; power *= radix)
                logarithm++;
            REQUIRE(cyclic.phases == logarithm); /* rounded up */
            REQUIRE(radix_cyclic_sequence(team, radix, &sequence));
            REQUIRE(sequence.count == cyclic.phases);
            /* Blocks held grow by what each phase brings; in the last one a part is left out. */
            uint32_t blocks = 1, sent = 0, messages = 0;
            for (uint32_t phase = 0; phase < sequence.count; phase++) {
                uint32_t stride = blocks;
                for (uint32_t s = 1; s < sequence.factors[phase]; s++, messages++) {
                    uint32_t length = stride < team - blocks ? stride : team - blocks;
                    REQUIRE(length > 0);
                    blocks += length;
                    sent += length;
                    REQUIRE(phase + 1 < sequence.count || s + 1 < sequence.factors[phase] ||
                            length == cyclic.tail);
                }
                REQUIRE(phase + 1 < sequence.count || stride == cyclic.stride);
            }
            REQUIRE(blocks == team && sent == team - 1);
            REQUIRE(messages == cyclic.messages);
            REQUIRE(cyclic.last <= radix && cyclic.last == sequence.factors[sequence.count - 1]);
            uint64_t power = 1;
            for (uint32_t phase = 0; phase < cyclic.phases; phase++)
                power *= radix;
            REQUIRE(cyclic.truncated == (power != team));
        }
    }
    radix_cyclic_t cyclic = {.phases = 7};
    radix_sequence_t sequence;
    ck_assert(!radix_cyclic(0, 2, &cyclic) && !radix_cyclic(1, 2, &cyclic));
    ck_assert(!radix_cyclic(5, 0, &cyclic) && !radix_cyclic(5, 1, &cyclic));
    ck_assert(!radix_cyclic(5, 65536, &cyclic));
    ck_assert_uint_eq(cyclic.phases, 7);
    ck_assert(radix_cyclic(UINT32_MAX, 2, &cyclic) && cyclic.phases == 32);
    ck_assert(!radix_cyclic_sequence(UINT32_MAX, 2, &sequence));
    ck_assert(!radix_cyclic_sequence(UINT32_MAX, 3, &sequence));
    for (uint32_t radix = 2; radix <= RADIX_MAX; radix++)
        REQUIRE(radix_cyclic_sequence(UINT32_C(1) << 31, radix, &sequence));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("radix_choice");
    TCase *tests = tcase_create("radix_choice");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_published_rule);
    tcase_add_test(tests, the_published_rule_by_trying);
    tcase_add_test(tests, factoring_by_trying);
    tcase_add_test(tests, factoring_at_the_ends);
    tcase_add_test(tests, a_setting_for_a_team);
    tcase_add_test(tests, values_that_no_text_gives);
    tcase_add_test(tests, a_fixed_radix_of_96);
    tcase_add_test(tests, a_fixed_radix_of_any_team);
    tcase_add_test(tests, a_cyclic_radix_of_any_team);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
