#include "core/radix_choice.h"

#include "core/assertion.h"

const char *radix_reason_text(radix_reason_t reason)
{
    static const char *const texts[] = {
#define X(name, text) [RADIX_REASON_##name] = text,
        RADIX_REASON_LIST(X)
#undef X
    };
    return (size_t)reason < RADIX_REASON_COUNT ? texts[reason] : "a reason that is not known";
}

/* ---- Factoring ------------------------------------------------------------------------------- */

/* 2*3*5*7*11*13*17*19*23 fits 32 bits, one prime more does not. */
#define PRIMES_MAX 9
/* No number below 2^32 has more divisors (3,491,888,400 has so many). */
#define DIVISORS_MAX 1920

/*
 * The divisors of a number, in an order in which each stands behind its own divisors: place
 * e1*stride1 + e2*stride2 + ... is p1^e1 * p2^e2 * ...
 */
typedef struct lattice {
    uint32_t primes[PRIMES_MAX];
    uint32_t exponents[PRIMES_MAX];
    uint32_t strides[PRIMES_MAX];
    uint32_t count; /* of primes */
    uint32_t size;  /* number of divisors */
} lattice_t;

/* false: number has a prime factor above limit, which is at most 65535. */
static bool lattice_of(uint32_t number, uint32_t limit, lattice_t *lattice)
{
    *lattice = (lattice_t){.size = 1};
    for (uint32_t prime = 2; prime <= limit && number > 1; prime++) {
        if (prime * prime > number)
            prime = number; /* what is left is a prime */
        if (prime > limit)
            return false;
        if (number % prime != 0)
            continue;
        uint32_t exponent = 0;
        for (; number % prime == 0; number /= prime)
            exponent++;
        MUSTER_ASSERT(lattice->count < PRIMES_MAX);
        lattice->primes[lattice->count] = prime;
        lattice->exponents[lattice->count] = exponent;
        lattice->strides[lattice->count++] = lattice->size;
        lattice->size *= exponent + 1;
    }
    MUSTER_ASSERT(lattice->size <= DIVISORS_MAX);
    return number == 1;
}

static uint32_t lattice_divisor(const lattice_t *lattice, uint32_t place)
{
    uint32_t divisor = 1;
    for (uint32_t i = 0; i < lattice->count; i++) {
        uint32_t exponent = place / lattice->strides[i] % (lattice->exponents[i] + 1);
        for (; exponent > 0; exponent--)
            divisor *= lattice->primes[i];
    }
    return divisor;
}

static uint32_t lattice_place(const lattice_t *lattice, uint32_t divisor)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < lattice->count; i++)
        for (; divisor % lattice->primes[i] == 0; divisor /= lattice->primes[i])
            place += lattice->strides[i];
    return place;
}

/* Phases above, sum of (r-1) below: fewer phases first, then the smaller sum (at most 2^21). */
#define COST_PHASE (UINT32_C(1) << 24)
#define COST_NONE UINT32_MAX

static uint32_t cost_of(uint32_t factor)
{
    return COST_PHASE + factor - 1;
}

/* The first of the factors that a cheapest decomposition of the divisor has; count: none. */
static size_t cheapest_factor(const lattice_t *lattice, const uint32_t *costs, uint32_t divisor,
                              const uint16_t *allowed, size_t count, uint32_t *cost)
{
    size_t best = count;
    *cost = COST_NONE;
    for (size_t i = 0; i < count; i++) {
        if (allowed[i] < RADIX_MIN || divisor % allowed[i] != 0)
            continue;
        uint32_t rest = costs[lattice_place(lattice, divisor / allowed[i])];
        if (rest != COST_NONE && rest + cost_of(allowed[i]) < *cost) {
            *cost = rest + cost_of(allowed[i]);
            best = i;
        }
    }
    return best;
}

bool radix_decompose(uint32_t team, const uint16_t *allowed, size_t count,
                     radix_sequence_t *sequence)
{
    uint32_t limit = 0;
    for (size_t i = 0; i < count; i++)
        limit = allowed[i] > limit ? allowed[i] : limit;
    lattice_t lattice;
    if (team < RADIX_MIN || !lattice_of(team, limit, &lattice))
        return false;
    uint32_t costs[DIVISORS_MAX]; /* of the divisors, by their places */
    costs[0] = 0;
    for (uint32_t place = 1; place < lattice.size; place++)
        cheapest_factor(&lattice, costs, lattice_divisor(&lattice, place), allowed, count,
                        &costs[place]);
    if (costs[lattice.size - 1] == COST_NONE)
        return false;
    /*
     * Where the first factor that fits is taken each time, a later one never stands before it in
     * the list: it would have fitted before.
     */
    radix_sequence_t found = {.count = 0};
    for (uint32_t rest = team; rest > 1;) {
        uint32_t cost;
        size_t chosen = cheapest_factor(&lattice, costs, rest, allowed, count, &cost);
        MUSTER_ASSERT(chosen < count && found.count < RADIX_FACTORS_MAX);
        found.factors[found.count++] = allowed[chosen];
        rest /= allowed[chosen];
    }
    *sequence = found;
    return true;
}

bool radix_published(uint32_t team, uint64_t total_bytes, radix_sequence_t *sequence)
{
    static const uint16_t tried[] = {8, 4, 2, 9, 7, 6, 5, 3};
    static const uint16_t smallest[] = {2, 3, 5, 7};
    if (total_bytes < RADIX_PUBLISHED_LARGE)
        return radix_decompose(team, tried, sizeof tried / sizeof *tried, sequence);
    /* Of primes there is one decomposition only. */
    return radix_decompose(team, smallest, sizeof smallest / sizeof *smallest, sequence);
}

/* ---- One setting for one team ---------------------------------------------------------------- */

static radix_reason_t choose_allowed(const radix_value_t *value, uint32_t team, uint32_t per_host,
                                     radix_sequence_t *found)
{
    uint16_t allowed[RADIX_FACTORS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < value->sequence.count && i < RADIX_FACTORS_MAX; i++) {
        uint32_t factor = i == value->node ? per_host : value->sequence.factors[i];
        if (factor >= RADIX_MIN && factor <= RADIX_MAX)
            allowed[count++] = (uint16_t)factor;
    }
    if (!radix_decompose(team, allowed, count, found))
        return RADIX_REASON_NO_DECOMPOSITION;
    found->far = value->sequence.far;
    return RADIX_REASON_NONE;
}

/* The factors as they are for these hosts. */
static radix_reason_t choose_factors(const radix_value_t *value, uint32_t per_host,
                                     radix_sequence_t *found)
{
    uint32_t factors[RADIX_FACTORS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < value->sequence.count && i < RADIX_FACTORS_MAX; i++) {
        uint32_t factor = value->sequence.factors[i];
        if (i == value->node) {
            if (per_host == 0)
                return RADIX_REASON_NODE_UNKNOWN;
            if (per_host > RADIX_MAX || (per_host == 1 && value->sequence.count == 1))
                return RADIX_REASON_NODE_RANGE;
            if (per_host == 1)
                continue; /* nobody to meet in that phase */
            factor = per_host;
        }
        factors[count++] = factor;
    }
    muster_status_t status = radix_sequence_check(factors, count, value->sequence.far, found, NULL);
    return status == MUSTER_OK ? RADIX_REASON_NONE : RADIX_REASON_PRODUCT;
}

static radix_answer_t choose(const radix_value_t *value, uint32_t team, uint32_t per_host,
                             radix_sequence_t *found, radix_reason_t *reason)
{
    bool strict = value->kind == RADIX_KIND_STRICT;
    switch (value->kind) {
    case RADIX_KIND_ALLOWED:
        *reason = choose_allowed(value, team, per_host, found);
        break;
    case RADIX_KIND_PLAIN:
    case RADIX_KIND_STRICT:
        *reason = choose_factors(value, per_host, found);
        if (*reason == RADIX_REASON_NONE && !strict && value->sequence.count == 1)
            return RADIX_FIXED;
        if (*reason == RADIX_REASON_NONE && radix_sequence_product(found) != team)
            *reason = RADIX_REASON_PRODUCT;
        break;
    default:
        *reason = RADIX_REASON_ASKED;
    }
    if (*reason == RADIX_REASON_NONE)
        return RADIX_EXACT;
    return strict ? RADIX_REFUSED : RADIX_AUTO;
}

radix_answer_t radix_resolve(const radix_value_t *value, uint32_t team, uint32_t per_host,
                             radix_sequence_t *sequence, radix_reason_t *reason)
{
    radix_sequence_t found = {.count = 0};
    radix_reason_t why;
    radix_answer_t answer = choose(value, team, per_host, &found, &why);
    if (answer == RADIX_EXACT || answer == RADIX_FIXED)
        *sequence = found;
    if (reason != NULL)
        *reason = why;
    return answer;
}

/* ---- A fixed radix --------------------------------------------------------------------------- */

bool radix_fixed(uint32_t team, uint32_t radix, radix_fixed_t *figures)
{
    if (team == 0 || radix < RADIX_MIN || radix > RADIX_MAX)
        return false;
    radix_fixed_t fixed = {.full = 1, .phases = 0, .last = 0, .truncated = false};
    for (; fixed.full <= team / radix; fixed.full *= radix)
        fixed.phases++;
    if (fixed.phases > 0)
        fixed.last = radix;
    uint32_t parts = team / fixed.full; /* below radix */
    fixed.core = parts * fixed.full;
    fixed.extras = team - fixed.core;
    if (parts >= 2) {
        fixed.phases++;
        fixed.last = parts;
        fixed.truncated = true;
    }
    *figures = fixed;
    return true;
}

bool radix_fixed_sequence(uint32_t team, uint32_t radix, bool far, radix_sequence_t *sequence)
{
    radix_fixed_t figures;
    if (!radix_fixed(team, radix, &figures) || figures.phases == 0)
        return false;
    MUSTER_ASSERT(figures.phases <= RADIX_FACTORS_MAX);
    radix_sequence_t phases = {.count = (uint8_t)figures.phases, .far = far};
    for (uint32_t i = 0; i + 1 < figures.phases; i++)
        phases.factors[i] = (uint16_t)radix;
    phases.factors[figures.phases - 1] = (uint16_t)figures.last;
    *sequence = phases;
    return true;
}

/* ---- Any team in whole phases ---------------------------------------------------------------- */

bool radix_cyclic(uint32_t team, uint32_t radix, radix_cyclic_t *figures)
{
    if (team < RADIX_MIN || radix < RADIX_MIN || radix > RADIX_MAX)
        return false;
    radix_cyclic_t cyclic = {.phases = 1, .stride = 1, .messages = 0};
    /* Another phase follows as long as the blocks held after this one are not all. */
    for (; (uint64_t)cyclic.stride * radix < team; cyclic.stride *= radix) {
        cyclic.phases++;
        cyclic.messages += radix - 1;
    }
    cyclic.last = (team - 1) / cyclic.stride + 1;
    cyclic.tail = team - (cyclic.last - 1) * cyclic.stride;
    cyclic.messages += cyclic.last - 1;
    cyclic.truncated = cyclic.last < radix || cyclic.tail < cyclic.stride;
    *figures = cyclic;
    return true;
}

bool radix_cyclic_sequence(uint32_t team, uint32_t radix, radix_sequence_t *sequence)
{
    radix_cyclic_t figures;
    if (!radix_cyclic(team, radix, &figures) || figures.phases > RADIX_FACTORS_MAX)
        return false;
    radix_sequence_t phases = {.count = (uint8_t)figures.phases};
    for (uint32_t i = 0; i + 1 < figures.phases; i++)
        phases.factors[i] = (uint16_t)radix;
    phases.factors[figures.phases - 1] = (uint16_t)figures.last;
    if (radix_sequence_sound(&phases, NULL) != MUSTER_OK)
        return false;
    *sequence = phases;
    return true;
}
