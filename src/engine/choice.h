/*
 * Which schedule an operation of a communicator runs: the shape that was asked for, or the cheapest
 * by the cost model; and the schedules that have been built, kept for the next call.
 *
 * The choice looks at what all ranks agree on only: the call, the communicator, the job's settings.
 * Every rank computes the same.
 */
#ifndef MUSTER_ENGINE_CHOICE_H
#define MUSTER_ENGINE_CHOICE_H

#include "core/select.h"
#include "muster.h"

/* What the choice is asked about, of one call. */
typedef struct choice_call {
    const call_t *call;
    bool in_place; /* of this rank: no part of the choice */
    bool uniform;
    bool small;     /* the result is kept with its verdict */
    uint64_t bytes; /* of a vector or a block, as all ranks know it; 0 where it differs */
} choice_call_t;

/* A schedule that requests share. */
typedef struct cached_schedule {
    schedule_request_t key;
    schedule_family_t family;
    schedule_t schedule; /* its arrays lie behind this structure */
    unsigned users;
    bool cached; /* in the table: else freed with its last user */
    uint64_t used;
} cached_schedule_t;

#define CHOICE_SCHEDULES 8 /* kept */
#define CHOICE_PLANS 32    /* kept */

/* A choice that was made before. */
typedef struct choice_memo {
    bool used;
    uint8_t operation;
    bool uniform, small, commutative;
    uint8_t class; /* of the size */
    uint32_t root;
    uint64_t exact; /* bytes, where settings look at them; else 0 */
    select_plan_t plan;
} choice_memo_t;

/* Of one communicator. */
typedef struct choice {
    cached_schedule_t *schedules[CHOICE_SCHEDULES];
    uint64_t calls;       /* so far: the age of schedules */
    choice_memo_t *memos; /* owned, CHOICE_PLANS; made when first needed, NULL: no memory */
    schedule_hosts_t hosts;
    uint32_t *host_first; /* owned */
    /* bits by operation: what has been logged */
    uint32_t told;   /* a radix that does not bind */
    uint32_t logged; /* the choice for small one-way ones */
} choice_t;

/* The memory that a communicator of so many ranks needs for its choices; false: there is none. */
bool choice_prepare(choice_t *choice, uint32_t size);
/*
 * Finds the members' hosts, by the settings or by what the transport says of its peers. Neighbours
 * in rank order that are on one host are together; a host that comes again counts as another.
 */
void choice_find_hosts(muster_comm_t *comm);

/* Whether the rank is on another host than this one. */
bool choice_is_between(const muster_comm_t *comm, uint32_t rank);

/* What the choice is, without building it: for describe and the log. NOT_SUPPORTED: none. */
muster_status_t choice_plan(muster_comm_t *comm, const choice_call_t *call, select_plan_t *plan);

/* The schedule for a call, kept or built; held until choice_release. NO_MEMORY. NOT_SUPPORTED. */
muster_status_t choice_schedule(muster_comm_t *comm, const choice_call_t *call,
                                cached_schedule_t **schedule);
void choice_release(cached_schedule_t *schedule);

/* Frees everything; no schedule is held any more. */
void choice_free(choice_t *choice);

#endif
