/*
 * A schedule: what one rank does in one collective, as flat data, phase after phase.
 *
 * It can be printed, validated against all other ranks' schedules, costed, simulated, executed and
 * repeated. It speaks in *blocks*: the unit in which the operation moves data. A block is a piece
 * of the vector in broadcast, reduce, allreduce and the scans: the whole, or one of as many pieces
 * as the builder says, which differ by one element at most (C604); one rank's contribution
 * elsewhere, and nothing in barrier. What a block is in bytes (equal, displaced, learnt on arrival)
 * is the executor's matter, so one schedule serves every count, datatype and buffer, and a
 * v-operation runs the same schedule as its uniform sibling.
 *
 * Buffers and their blocks, for size n and the caller's rank r:
 *
 *     operation             SEND          RECEIVE                SCRATCH
 *     barrier               -             -                      -
 *     broadcast             p, at root    p, elsewhere           rows of p pieces
 *     reduce, allreduce     p             p (reduce: at root)    rows of p pieces
 *     scan, exscan          1             1                      as it says (exscan: INITIAL 1)
 *     gather(v)             1             n at root              as it says
 *     scatter(v)            n at root     1                      as it says
 *     allgather(v)          1             n                      as it says
 *     alltoall(v)           n             n                      as it says
 *     reduce_scatter(_bl.)  n             1                      rows of n blocks: block i is as
 *                                                                long as block i mod n of SEND
 *
 * In alltoallv without carriers scratch is rows of n blocks likewise. With carriers a block of
 * scratch is as long as the message that brings it says, or the block that is copied to it, and it
 * is written once. SEND and INITIAL are never written: what is in place is written as RECEIVE, and
 * the block that a scatter leaves in place is not written at all.
 *
 * In place, SEND names the same memory as RECEIVE: block i of SEND is block i of RECEIVE, except
 * gather and allgather: block 0 of SEND is block r of RECEIVE; scatter (root): block 0 of RECEIVE
 * is block r of SEND; reduce_scatter: block 0 of RECEIVE begins where block 0 of SEND does.
 * Builders are told, and validators model it.
 */
#ifndef MUSTER_CORE_SCHEDULE_H
#define MUSTER_CORE_SCHEDULE_H

#include "core/call.h"
#include "core/radix.h"
#include "core/text.h"

typedef enum schedule_buffer {
    SCHEDULE_NOTHING = 0, /* an empty message or no data */
    SCHEDULE_SEND,
    SCHEDULE_RECEIVE,
    SCHEDULE_SCRATCH,
    SCHEDULE_INITIAL
} schedule_buffer_t;

/*
 * outer_count times inner_count runs of run blocks each; run (o, i) begins at block
 * offset + o*outer_stride + i*inner_stride. The order of a message's blocks is the order of the
 * runs, inner first. An empty region has buffer NOTHING and counts of 0.
 */
typedef struct schedule_region {
    uint8_t buffer; /* schedule_buffer_t */
    uint64_t offset;
    uint64_t run;
    uint64_t inner_count;
    uint64_t inner_stride;
    uint64_t outer_count;
    uint64_t outer_stride;
} schedule_region_t;

uint64_t schedule_region_blocks(const schedule_region_t *region);
/* A contiguous region of count blocks; count 0 gives an empty one. */
schedule_region_t schedule_run(schedule_buffer_t buffer, uint64_t offset, uint64_t count);
/* count runs, stride apart; runs that touch are joined to one. */
schedule_region_t schedule_rows(schedule_buffer_t buffer, uint64_t offset, uint64_t run,
                                uint64_t count, uint64_t stride);
/* The first block of run index (0 <= index < inner_count*outer_count). */
uint64_t schedule_region_start(const schedule_region_t *region, uint64_t index);
/* Whether the rank has an in-place form of the operation; a request's in_place is ignored else. */
bool schedule_may_be_in_place(operation_t operation, uint32_t rank, uint32_t root);

typedef struct schedule_send {
    uint32_t peer;
    schedule_region_t region;
} schedule_send_t;

typedef enum schedule_action {
    /* the message's blocks go to region */
    SCHEDULE_PLACE = 0,
    /* they go to region (staging), then into = into op region; combining happens in the order of
       the phase's receives, whatever the order of arrival */
    SCHEDULE_COMBINE
} schedule_action_t;

typedef struct schedule_receive {
    uint32_t peer;
    uint8_t action;
    bool early; /* region is free from the start of the operation: may be placed at once */
    schedule_region_t region;
    schedule_region_t into; /* COMBINE only; contiguous, as region then is */
} schedule_receive_t;

/*
 * Local work, before the phase's messages, in order. Regions of one step have equally many blocks.
 */
typedef enum schedule_work { SCHEDULE_COPY = 0, SCHEDULE_REDUCE } schedule_work_t;
typedef struct schedule_step {
    uint8_t work;
    schedule_region_t from; /* COPY: source; REDUCE: right operand */
    schedule_region_t left; /* REDUCE: left operand, contiguous */
    schedule_region_t into; /* COPY: destination; REDUCE: left op from, may be one of them */
} schedule_step_t;

/* Labels tell the phases of one group and slot apart, the same on every rank. */
typedef enum schedule_label {
    SCHEDULE_UP = 0,    /* members to leader */
    SCHEDULE_EXCHANGE,  /* all to all of a group */
    SCHEDULE_DOWN,      /* leader to members */
    SCHEDULE_RELAY,     /* between rank 0 and another root */
    SCHEDULE_DECIDE_UP, /* the appended decide phase */
    SCHEDULE_DECIDE_DOWN,
    SCHEDULE_ROUND, /* rounds that have a number */
    SCHEDULE_LABELS
} schedule_label_t;

#define SCHEDULE_ROUNDS_MAX ((uint32_t)1 << 24)

/*
 * One gate: steps, then sends and receives together. The phase is over when every receive has been
 * placed or combined; one without receives is over at once. Sends may still be under way then; a
 * later phase never writes what an earlier one sends unless it has heard, through others, that it
 * has arrived, or `drain` is set: then all earlier sends have left before the phase begins. A phase
 * without messages has the group [rank, rank + 1), in which nobody else meets.
 */
typedef struct schedule_phase {
    uint32_t group_left; /* bounds name the group */
    uint32_t group_right;
    uint8_t slot; /* 0: internal generation 2k-1, 1: 2k */
    uint8_t label;
    uint32_t round; /* below ROUNDS_MAX; 0 but with label ROUND */
    bool decides;   /* at rank 0, with uniform outcome: when it is over, the value is decided */
    bool drain;
    uint32_t first_step, step_count;
    uint32_t first_send, send_count;
    uint32_t first_receive, receive_count;
} schedule_phase_t;

typedef struct schedule {
    schedule_phase_t *phases;
    schedule_step_t *steps;
    schedule_send_t *sends;
    schedule_receive_t *receives;
    uint32_t phase_count, step_count, send_count, receive_count;
    uint64_t scratch_blocks;
    uint32_t pieces;    /* of a vector; 1: blocks of vector operations are whole vectors */
    bool carrier;       /* messages bring their blocks' lengths (ragged operations in a tree) */
    bool self_deciding; /* uniform: no decide phase was appended, a phase of rank 0 decides */
} schedule_t;

/* Where ranks are: host h has ranks [first[h], first[h + 1]), at least one. Borrowed. */
typedef struct schedule_hosts {
    uint32_t count;
    const uint32_t *first; /* count + 1 */
} schedule_hosts_t;

/* What a builder is asked for. */
typedef struct schedule_request {
    operation_t operation;
    uint32_t size;
    uint32_t rank;
    uint32_t root;                 /* rooted operations; 0 elsewhere */
    uint32_t arity;                /* trees; >= size: flat */
    radix_sequence_t radix;        /* families that follow one */
    uint32_t segments;             /* that a long vector is sent in, one behind the other; 0: 1 */
    const schedule_hosts_t *hosts; /* NULL: all ranks are on one host */
    bool in_place;                 /* of this rank */
    bool initial;                  /* exscan */
    bool commutative;
    bool uniform; /* outcome */
    bool small;   /* the result is small and kept with its verdict: rank 0 may decide on the way */
} schedule_request_t;

typedef muster_status_t (*schedule_builder_t)(const schedule_request_t *request,
                                              schedule_t *schedule);

/*
 * Builders. Called twice: with schedule->phases NULL it counts (phase_count ... scratch_blocks are
 * set, nothing is stored); with arrays of those sizes it fills them. Pure, no allocation.
 * NOT_SUPPORTED where the family has no algorithm for the operation.
 *
 * tree: hierarchical with arity (seed 000); flat, a star, where arity >= size: at the root of a
 * rooted operation, else at rank 0. A tree's rooted operation with another root relays through
 * rank 0.
 * direct: every pair exchanges; barrier, allgather(v), alltoall(v), allreduce and
 * reduce_scatter(_block).
 * chain: each rank hears from the one before it and tells the one after it; scan, exscan, and in
 * so many pieces as there are segments broadcast and reduce.
 * knomial: a k-nomial tree around the root, of radix factors[0]; all rooted operations.
 * hosts: two levels, inside hosts and between them, where there are several; barrier, broadcast,
 * reduce, allreduce and allgather(v). One rank leads each host, in trees of radix factors[0]
 * between hosts and factors[1] inside; with radix.far all ranks of a host share what goes between,
 * in allreduce and allgather(v).
 * radix: the request's radix, an exact sequence or a fixed one; barrier, allgather(v),
 * reduce_scatter(_block) and allreduce of whole vectors. Far first, reductions have to be
 * commutative.
 * split: the same radix, on vectors in pieces: broadcast, reduce and allreduce.
 * pairwise: alltoall(v), with one peer after the other. bruck: alltoall, the request's radix for
 * the digits of distances.
 */
muster_status_t schedule_tree(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_direct(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_chain(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_knomial(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_hosts(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_radix(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_ring(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_cyclic(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_pairwise(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_bruck(const schedule_request_t *request, schedule_t *schedule);
muster_status_t schedule_split(const schedule_request_t *request, schedule_t *schedule);

/* Whether they ask for the same schedule; hosts are not looked at. */
bool schedule_request_is_same(const schedule_request_t *one, const schedule_request_t *other);

/* Bytes that a schedule's arrays take, each aligned to 16, and laying them over memory. */
size_t schedule_memory(const schedule_t *counted);
void schedule_place(schedule_t *counted, void *memory);

/* Messages and blocks that the rank sends, enumerated and in the builders' closed forms. */
typedef struct schedule_totals {
    uint64_t messages;
    uint64_t blocks;
} schedule_totals_t;
schedule_totals_t schedule_count(const schedule_t *schedule);
/* Over all ranks, without building anything. */
schedule_totals_t schedule_tree_totals(const schedule_request_t *request);
schedule_totals_t schedule_direct_totals(const schedule_request_t *request);
schedule_totals_t schedule_chain_totals(const schedule_request_t *request);

/* "up"; "round" for all rounds. */
const char *schedule_label_name(uint8_t label);
/*
 * One line a phase, for people: "phase 0 up [4,8) slot 1: copy 1 | recv 5 6 7", "phase 1 up [0,8)
 * slot 1: send 0: 4 blocks". Slots count from 1 here.
 */
void schedule_print(const schedule_t *schedule, text_t *text);

#endif
