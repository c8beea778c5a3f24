/*
 * Conversions of f16 (IEEE binary16: 1 sign, 5 exponent and 10 fraction bits) and bf16 (the upper
 * half of an f32) to and from f32. To f32 is exact; from f32 rounds to nearest, ties to even, and
 * a NaN stays one, quiet, with the upper bits of its payload. A program that flushes subnormal f32
 * to zero changes nothing here.
 *
 * Without branches, so that loops over them become vector code; and choosing is done by masks,
 * since a compiler that takes floating point for something that may trap puts a branch around it.
 */
#ifndef MUSTER_REDUCE_HALF_H
#define MUSTER_REDUCE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_from_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline uint32_t half_to_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* one where the mask's bits are set, other elsewhere. */
static inline uint32_t half_choose(uint32_t mask, uint32_t one, uint32_t other)
{
    return (one & mask) | (other & ~mask);
}

/* All bits where number is below bound; both are below 2^31. */
static inline uint32_t half_below(uint32_t number, uint32_t bound)
{
    return (uint32_t) - (int32_t)((int32_t)number < (int32_t)bound);
}

#define HALF_F16_INFINITY 0x7c00u
#define HALF_F32_INFINITY 0x7f800000u
#define HALF_EXPONENTS ((127u - 15u) << 23) /* between the two biases, in f32's place */
#define HALF_F16_SMALLEST 0x38800000u       /* 2^-14, the smallest normal f16, as f32 */
#define HALF_F16_TOO_LARGE 0x47800000u      /* 2^16 as f32 */
#define HALF_ONE_HALF 0x3f000000u           /* 0.5: its last place is 2^-24, as a subnormal f16's */

static inline float half_f16_to_f32(uint16_t half)
{
    uint32_t magnitude = half & 0x7fffu;
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t normal = (magnitude << 13) + HALF_EXPONENTS;
    uint32_t special = normal + HALF_EXPONENTS; /* exponent 31 becomes 255 */
    /* A subnormal is fraction * 2^-24: put the fraction under 2^-14's exponent, subtract 2^-14. */
    float scaled = half_from_bits(HALF_F16_SMALLEST | (magnitude & 0x3ffu) << 13);
    uint32_t subnormal = half_to_bits(scaled - half_from_bits(HALF_F16_SMALLEST));
    uint32_t bits = half_choose(half_below(magnitude, 0x400u), subnormal, normal);
    bits = half_choose(half_below(magnitude, HALF_F16_INFINITY), bits, special);
    return half_from_bits(sign | bits);
}

static inline uint16_t half_f32_to_f16(float number)
{
    uint32_t bits = half_to_bits(number);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t sign = bits >> 16 & 0x8000u;
    /* To nearest even by adding just under half a place, or half where the last kept bit is odd. */
    uint32_t odd = magnitude >> 13 & 1u;
    uint32_t normal = (magnitude - HALF_EXPONENTS + 0xfffu + odd) >> 13;
    /* The addition rounds at 2^-24; what is too large for it is not chosen. */
    uint32_t is_small = half_below(magnitude, HALF_F16_SMALLEST);
    uint32_t small = magnitude & is_small;
    uint32_t subnormal =
        half_to_bits(half_from_bits(small) + half_from_bits(HALF_ONE_HALF)) - HALF_ONE_HALF;
    uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    uint32_t half = half_choose(is_small, subnormal, normal);
    half = half_choose(half_below(magnitude, HALF_F16_TOO_LARGE), half, HALF_F16_INFINITY);
    half = half_choose(half_below(HALF_F32_INFINITY, magnitude), nan, half);
    return (uint16_t)(sign | half);
}

static inline float half_bf16_to_f32(uint16_t half)
{
    return half_from_bits((uint32_t)half << 16);
}

static inline uint16_t half_f32_to_bf16(float number)
{
    uint32_t bits = half_to_bits(number);
    uint32_t odd = bits >> 16 & 1u;
    uint32_t rounded = (bits + 0x7fffu + odd) >> 16;
    uint32_t nan = bits >> 16 | 0x40u;
    uint32_t is_nan = half_below(HALF_F32_INFINITY, bits & 0x7fffffffu);
    return (uint16_t)half_choose(is_nan, nan, rounded);
}

#endif
