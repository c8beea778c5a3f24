/*
 * Radix sequences: how many ranks meet in each phase of an exact schedule, and the text that says
 * so.
 *
 * A sequence r1 x r2 x ... x rn is exact for a team of that product. Near first (the default):
 * q(1) = 1, q(i+1) = q(i)*r(i). Far first: q(i) = P/(r(1)*...*r(i)). A sequence lists its phases in
 * the order they run.
 */
#ifndef MUSTER_CORE_RADIX_H
#define MUSTER_CORE_RADIX_H

#include "core/text.h"
#include "muster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RADIX_FACTORS_MAX 31
#define RADIX_MIN 2
#define RADIX_MAX 65535

typedef struct radix_sequence {
    uint16_t factors[RADIX_FACTORS_MAX]; /* in the order the phases run */
    uint8_t count;                       /* 0: no sequence; 1: a fixed radix (C609) */
    bool far;
} radix_sequence_t;

#endif
