/* What the parts of the symbolic validator share. */
#ifndef MUSTER_CORE_SCHEDULE_CHECK_STATE_H
#define MUSTER_CORE_SCHEDULE_CHECK_STATE_H

#include "core/schedule_check.h"

#define CHECK_NONE UINT32_MAX

/*
 * A symbol: what the ranks of an interval contributed to a block, combined in rank order. Position
 * 0 is the initial value, position r + 1 is rank r. An empty interval is nothing. Where the
 * reduction is commutative, ranks that are no interval may have been combined: begin is SCATTERED
 * then, and `ranks` alone says whose values they are. `form` tells orders and brackets apart: two
 * values of one form have been computed alike.
 */
#define CHECK_SCATTERED UINT32_MAX
typedef struct check_value {
    uint32_t begin;
    uint32_t end; /* of an interval; SCATTERED: 0 */
    uint32_t block;
    uint64_t ranks; /* sum of a number for each that is in it */
    uint64_t form;
} check_value_t;

/* The symbol of positions [begin, end) of a block, uncombined: one position, or an expectation. */
check_value_t check_symbol(uint32_t begin, uint32_t end, uint32_t block);

/* A block of memory. Phases are counted from 1 here, so that 0 is never. */
typedef struct check_cell {
    check_value_t value;
    uint32_t sent;     /* the last phase that sent it */
    uint32_t placed;   /* the last phase in which a message came here */
    uint32_t combined; /* the last phase in which one was combined into it */
    uint32_t copied;   /* the last copy, by number, that reads it */
    bool touched;      /* read or written by anything so far */
    bool written;
} check_cell_t;

typedef struct check_rank {
    uint32_t first_cell[5]; /* by schedule_buffer_t; in place, SEND has cells of its own or none */
    uint64_t blocks[5];
    uint32_t first_phase; /* in numberings over all ranks */
    uint32_t first_send;
    uint32_t first_receive;
    uint32_t begun;     /* phases */
    uint32_t completed; /* phases */
    uint32_t drained;   /* sends of so many phases have left */
    bool in_place;
} check_rank_t;

typedef struct check_message {
    uint32_t source;
    uint32_t source_phase;
    uint32_t receive; /* number over all ranks */
    uint32_t receive_phase;
    uint64_t first_value;
} check_message_t;

typedef struct schedule_checker {
    const schedule_request_t *request;
    const schedule_t *schedules;
    text_t *why;
    uint32_t size;
    bool failed;
    check_rank_t *ranks;
    check_cell_t *cells;
    check_message_t *messages;   /* by send */
    uint32_t *message_of;        /* by receive: its send, or NONE */
    check_value_t *values;       /* of messages */
    uint32_t *known;             /* [rank][other]: phases that the other is known to have begun */
    uint32_t *known_at;          /* [phase over all ranks][other]: what was known when it began */
    check_value_t everybody;     /* all ranks' contributions */
    const uint32_t *told;        /* what the message being placed brings; NULL in steps */
    uint32_t *known_at_decision; /* [other] */
    uint32_t decision;           /* the phase of rank 0 that decides, or NONE */
} schedule_checker_t;

/* Says what is wrong, once; phase NONE and buffer NOTHING are left out. Returns false. */
bool check_fault(schedule_checker_t *checker, uint32_t rank, uint32_t phase, const char *what,
                 schedule_buffer_t buffer, uint64_t block);

/* More scratch than any algorithm needs is a fault. */
uint64_t check_scratch_most(const schedule_request_t *request, const schedule_t *schedule);
/* Blocks of a rank's buffer, by the operation. */
uint64_t check_buffer_blocks(const schedule_request_t *request, const schedule_t *schedule,
                             uint32_t rank, schedule_buffer_t buffer);
/* Whether the region lies within its buffer; blocks is how many it has. */
bool check_region_fits(const schedule_request_t *request, const schedule_t *schedule, uint32_t rank,
                       const schedule_region_t *region, uint64_t *blocks);

/* Form: everything that can be said of the schedules without running them; matches messages. */
bool check_form(schedule_checker_t *checker);
bool check_match(schedule_checker_t *checker);

/* Memory: reading and writing blocks of symbols. */
void check_fill_memory(schedule_checker_t *checker);
uint64_t check_block_at(const schedule_region_t *region, uint64_t position);
uint32_t check_cell_of(const schedule_checker_t *checker, uint32_t rank, schedule_buffer_t buffer,
                       uint64_t block);
bool check_read(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                schedule_buffer_t buffer, uint64_t block, check_value_t *value);
bool check_write(schedule_checker_t *checker, uint32_t rank, uint32_t phase,
                 schedule_buffer_t buffer, uint64_t block, check_value_t value);
bool check_touched(const schedule_checker_t *checker, uint32_t rank, schedule_buffer_t buffer,
                   uint64_t block);
/* into = left op right: adjacent intervals of the same block. */
bool check_combine(schedule_checker_t *checker, uint32_t rank, uint32_t phase, check_value_t left,
                   check_value_t right, check_value_t *into);

/* Runs all schedules to their ends; then looks at the results, and at who knew what when. */
bool check_run(schedule_checker_t *checker);
bool check_results(schedule_checker_t *checker);
bool check_outcome(schedule_checker_t *checker);

#endif
