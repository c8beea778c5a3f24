/*
 * What a team makes of a radix setting: exact sequences, fixed radices, the published rule, and
 * factoring. Team sizes are any number, 0 and 1 too: they have no phases.
 */
#ifndef MUSTER_CORE_RADIX_CHOICE_H
#define MUSTER_CORE_RADIX_CHOICE_H

#include "core/radix.h"

/* ---- One setting for one team ---------------------------------------------------------------- */

typedef enum radix_answer {
    RADIX_EXACT,  /* sequence's product is the team */
    RADIX_FIXED,  /* sequence holds one radix: radix_fixed says how it runs */
    RADIX_AUTO,   /* the caller chooses; reason says why */
    RADIX_REFUSED /* exact or nothing, and it is not exact: an error; reason says why */
} radix_answer_t;

/* X(NAME, "text"): why it is AUTO or REFUSED. */
#define RADIX_REASON_LIST(X)                                                                       \
    X(NONE, "as it is set")                                                                        \
    X(ASKED, "auto is what is set")                                                                \
    X(PRODUCT, "the product of the sequence is not the team's size")                               \
    X(NODE_UNKNOWN, "the ranks per host are not known, or not the same on every host")             \
    X(NODE_RANGE, "the ranks per host are no radix (2 to 65535)")                                  \
    X(NO_DECOMPOSITION, "the team's size is no product of the allowed factors")

typedef enum radix_reason {
#define X(name, text) RADIX_REASON_##name,
    RADIX_REASON_LIST(X)
#undef X
        RADIX_REASON_COUNT
} radix_reason_t;

/* In English; never NULL, also for numbers that are no reason. */
const char *radix_reason_text(radix_reason_t reason);

/*
 * For a team of so many ranks on hosts with per_host ranks each (0: not known, or uneven).
 * sequence is filled for EXACT and FIXED and untouched otherwise; reason may be NULL.
 *
 * One factor is a fixed radix (C609), two or more are exact or, where the product is not the team,
 * AUTO (C608). `=` is EXACT or REFUSED, with one factor too. `~` is the decomposition with the
 * fewest phases, then the least sum of (r-1), its factors in the order in which they are allowed,
 * or AUTO. `node` is per_host: where that is 1 it is a phase without a peer and falls away; in `~`
 * it is left out of the allowed factors where it is not known or no radix. A value that no text
 * can give is AUTO, or REFUSED with `=`, as one whose product is no team's size.
 */
radix_answer_t radix_resolve(const radix_value_t *value, uint32_t team, uint32_t per_host,
                             radix_sequence_t *sequence, radix_reason_t *reason);

/* ---- The published rule ---------------------------------------------------------------------- */

#define RADIX_PUBLISHED_LARGE (UINT64_C(1) << 30) /* total bytes */

/*
 * The exact sequence of radices up to 9 that the automatic choice of UCC's k-nomial allgather takes
 * (C611; seed: "TL/UCP: select exact allgather radix schedules"). Fewest phases, then least sum of
 * (r-1), factors tried in the order 8,4,2,9,7,6,5,3 and never back in it; from 1 GiB total:
 * smallest factors, ascending. Near first. false, and sequence untouched, where there is none.
 */
bool radix_published(uint32_t team, uint64_t total_bytes, radix_sequence_t *sequence);

/*
 * The decomposition of a team with the allowed factors (1 to 31, each >= 2 or passed over): fewest
 * phases, then least sum of (r-1), then the one that comes first in the order of the factors, which
 * is also the order of the phases. false, and sequence untouched, where there is none. Takes time
 * in proportion to the team's divisors (1,920 at most) times the factors.
 */
bool radix_decompose(uint32_t team, const uint16_t *allowed, size_t count,
                     radix_sequence_t *sequence);

/* ---- A fixed radix --------------------------------------------------------------------------- */

/*
 * How radix r runs on P ranks (C603). F is the largest power of r up to P, and floor(P/F) times F
 * ranks go through the phases: log(F) of radix r and, where floor(P/F) >= 2, a last one that is
 * truncated to that radix. The E that are left are extras: ranks below 2E pair up, the even one is
 * the odd one's proxy.
 */
typedef struct radix_fixed {
    uint32_t full;   /* F */
    uint32_t extras; /* E = P - floor(P/F)*F */
    uint32_t core;   /* P - E: ranks that go through the phases */
    uint32_t phases; /* among those; the extras' two messages are not counted */
    uint32_t last;   /* radix of the last phase; 0 without phases */
    bool truncated;  /* last < r */
} radix_fixed_t;

/* false, and figures untouched: no ranks at all, or a radix outside 2..65535. */
bool radix_fixed(uint32_t team, uint32_t radix, radix_fixed_t *figures);

/*
 * The phases of a fixed radix as a sequence, exact for figures->core ranks: r x r x ... x last.
 * false, and sequence untouched, where radix_fixed is false or there are no phases (a team of 1).
 */
bool radix_fixed_sequence(uint32_t team, uint32_t radix, bool far, radix_sequence_t *sequence);

/* ---- Any team in whole phases ---------------------------------------------------------------- */

/*
 * A cyclic (Bruck-style) schedule of radix r on P ranks (C612): ceil(log(P)) phases without extras.
 * In the phase with stride q = 1, r, r^2 ... a rank that holds q blocks gets q more from each of
 * r-1 peers, at distances q, 2q, ...; in the last one only what is missing, from last-1 peers, of
 * whom the farthest gives tail blocks. So every rank sends P-1 blocks.
 */
typedef struct radix_cyclic {
    uint32_t phases;   /* of radix r, but for the last */
    uint32_t stride;   /* q of the last phase */
    uint32_t last;     /* radix of the last phase: ceil(P/stride), at most r */
    uint32_t tail;     /* blocks of the last phase's last message, 1..stride */
    uint64_t messages; /* that a rank sends */
    bool truncated;    /* the last phase has fewer peers, or less from the last of them */
} radix_cyclic_t;

/* false, and figures untouched: a team below 2, or a radix outside 2..65535. */
bool radix_cyclic(uint32_t team, uint32_t radix, radix_cyclic_t *figures);

/*
 * Its phases as a sequence, r x r x ... x last: the product is at least the team. false, and
 * sequence untouched, where radix_cyclic is false or no sequence is so long (teams above 2^31).
 */
bool radix_cyclic_sequence(uint32_t team, uint32_t radix, radix_sequence_t *sequence);

#endif
