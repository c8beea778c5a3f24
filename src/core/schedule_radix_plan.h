/*
 * What the families that follow a radix sequence share: which ranks go through its phases, who
 * meets whom in them, and which blocks are handed over.
 *
 * The ranks that go through the phases, the core, have places 0, 1, ... in the order of their
 * ranks. An exact sequence has all ranks in the core. A fixed radix leaves E extras (C603): ranks
 * below 2E pair up, the even one speaks for both. In the phase with stride q and radix r the r
 * places meet that are alike but for the digit of weight q: base + s*q, 0 <= s < r.
 *
 * What a place has to do with in a phase is a part of the blocks, cut in one of two ways:
 *
 *     by segments   the blocks of the places of one segment of q, which are contiguous: both of a
 *                   pair's blocks are its proxy's (so near first allgathers, C602)
 *     by residues   the blocks that are alike modulo q*r: place p holds p and, where that is a
 *                   rank, p + core. With extras that is not where the blocks come from or belong,
 *                   so that a round before or after the phases moves them.
 */
#ifndef MUSTER_CORE_SCHEDULE_RADIX_PLAN_H
#define MUSTER_CORE_SCHEDULE_RADIX_PLAN_H

#include "core/schedule_emit.h"

#define SCHEDULE_NO_RANK UINT32_MAX

typedef struct schedule_radix_plan {
    uint32_t size;
    uint32_t core;    /* ranks that go through the phases: the product of the radices */
    uint32_t extras;  /* size - core */
    uint32_t swapped; /* of this pair, counted from 0, the odd rank is the proxy; or NO_RANK */
    uint32_t phases;
    uint32_t radices[RADIX_FACTORS_MAX]; /* in the order in which the phases run */
    uint32_t strides[RADIX_FACTORS_MAX];
    bool far;
} schedule_radix_plan_t;

/*
 * For a team of size >= 2: of two radices or more the product has to be the size, one radix is a
 * fixed one. NOT_SUPPORTED otherwise. keeper: a rank that is to be in the core, be it even or odd;
 * or NO_RANK.
 */
muster_status_t schedule_radix_plan(schedule_radix_plan_t *plan, const radix_sequence_t *radix,
                                    uint32_t size, uint32_t keeper);

/* The rank at a place of the core, and the place of a rank: for an extra, that of its proxy. */
uint32_t schedule_radix_rank(const schedule_radix_plan_t *plan, uint32_t place);
uint32_t schedule_radix_place(const schedule_radix_plan_t *plan, uint32_t rank);
/* The extra of a place, the other of a pair; NO_RANK where there is none. */
uint32_t schedule_radix_extra(const schedule_radix_plan_t *plan, uint32_t place);
bool schedule_radix_is_extra(const schedule_radix_plan_t *plan, uint32_t rank);

/* A place's meeting in a phase. */
typedef struct schedule_radix_meeting {
    uint32_t base;   /* place of the first member */
    uint32_t stride; /* from member to member */
    uint32_t radix;  /* members */
    uint32_t own;    /* the place's number among them */
} schedule_radix_meeting_t;
schedule_radix_meeting_t schedule_radix_meet(const schedule_radix_plan_t *plan, uint32_t phase,
                                             uint32_t place);
uint32_t schedule_radix_member(const schedule_radix_meeting_t *meeting, uint32_t number);
/* Opens the round in which the meeting is held; its members' ranks bound the group. */
void schedule_radix_open(const schedule_radix_plan_t *plan, schedule_emitter_t *emit,
                         const schedule_radix_meeting_t *meeting, uint32_t round);
/* The meeting's number of the step-th member behind the own one: C602's (k + s*q) mod (q*r). */
uint32_t schedule_radix_behind(const schedule_radix_meeting_t *meeting, uint32_t step);

/* Blocks first, first + stride, ... */
typedef struct schedule_radix_part {
    uint64_t first;
    uint64_t count;
    uint64_t stride;
} schedule_radix_part_t;
/* A place's part in a phase, of as many blocks as there are ranks. */
schedule_radix_part_t schedule_radix_part(const schedule_radix_plan_t *plan, bool residues,
                                          uint32_t phase, uint32_t place);
/* The parts of all members of its meeting together. */
schedule_radix_part_t schedule_radix_whole(const schedule_radix_plan_t *plan, bool residues,
                                           uint32_t phase, uint32_t place);
/* What is a place's own before the first phase of a gathering, or after the last of a scattering */
schedule_radix_part_t schedule_radix_held(const schedule_radix_plan_t *plan, bool residues,
                                          uint32_t place);
/* The rank that holds a block then. */
uint32_t schedule_radix_holder(const schedule_radix_plan_t *plan, bool residues, uint64_t block);
bool schedule_radix_contains(const schedule_radix_part_t *part, uint64_t block);

/*
 * Where blocks are kept: block b is block offset + (b - origin) / step of the buffer. A buffer that
 * has all blocks has origin 0 and step 1; a part that is kept by itself has its first and stride.
 */
typedef struct schedule_radix_store {
    schedule_buffer_t buffer;
    uint64_t offset;
    uint64_t origin;
    uint64_t step;
} schedule_radix_store_t;
schedule_region_t schedule_radix_region(const schedule_radix_store_t *store,
                                        const schedule_radix_part_t *part);

/*
 * Folding a part, in the order of the members, of which one is the rank itself: the others' values
 * were received into scratch, message after message. width 0: each holds the part alone, else it is
 * a row of width blocks.
 */
typedef struct schedule_radix_fold {
    uint32_t members;
    uint32_t own;
    uint64_t width;
    uint64_t stage; /* first block */
    schedule_radix_part_t part;
    schedule_radix_store_t mine;   /* the rank's own operand */
    schedule_radix_store_t result; /* of member `from` and those after it; before that, scratch */
    uint32_t from;                 /* members: all is scratch */
} schedule_radix_fold_t;
/* Takes the scratch for the messages. */
void schedule_radix_stage(schedule_radix_fold_t *fold, schedule_emitter_t *emit);
/* Where a member's message goes; number is not the own one. */
schedule_radix_store_t schedule_radix_staged(const schedule_radix_fold_t *fold, uint32_t number);
/* Returns where the result is. */
schedule_radix_store_t schedule_radix_reduce(const schedule_radix_fold_t *fold,
                                             schedule_emitter_t *emit);

#endif
