/*
 * Uneven division, groups and leaders; a rank's path through a tree of groups.
 *
 * n ranks are divided into count = min(n, arity) parts; with q = n / count and r = n mod count,
 * part g has size q + (g < r) and begins at g*q + min(g, r) (seed: "One collective call used two
 * generations", the topology section). The leaders (leftmost ranks) of the parts meet in the group
 * that carries the bounds of the whole range; each part wider than one rank is divided again,
 * unless it is no wider than the arity: then it is a leaf, in which every rank is a part of its
 * own.
 */
#ifndef MUSTER_CORE_SPLIT_H
#define MUSTER_CORE_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#define SPLIT_NONE UINT32_MAX
#define SPLIT_PATH_MAX 32 /* ranges at least halve: 2^32 ranks take no more */

typedef struct split_part {
    uint32_t left;
    uint32_t size;
} split_part_t;

/* How many parts; arity >= 2 and n >= 1, asserted here and below. */
uint32_t split_count(uint32_t n, uint32_t arity);
split_part_t split_part(uint32_t n, uint32_t arity, uint32_t part);
/* The part that holds rank; SPLIT_NONE for rank >= n. */
uint32_t split_classify(uint32_t n, uint32_t arity, uint32_t rank);

/* A meeting of the leaders of the parts of [left, right). */
typedef struct split_group {
    uint32_t left;
    uint32_t right;
    uint32_t members; /* leaders that meet, >= 2 */
    uint32_t index;   /* the caller's place among them */
} split_group_t;

/* The rank of member index in the group, and the part [left, left + size) that it stands for. */
split_part_t split_member(const split_group_t *group, uint32_t arity, uint32_t index);

/*
 * The groups in which rank meets others, from the top down, without groups of one; at most
 * SPLIT_PATH_MAX. A rank climbs only as a leader: in all groups but the first it has index 0.
 * Returns how many.
 */
uint32_t split_path(uint32_t n, uint32_t arity, uint32_t rank, split_group_t *groups);

/* Where block k of total elements over parts begins (C604): k*floor(T/P) + min(k, T mod P). */
uint64_t split_block(uint64_t total, uint64_t parts, uint64_t k);

#endif
