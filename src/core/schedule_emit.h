/*
 * What builders write with. An emitter appends to a schedule, or only counts where the schedule has
 * no arrays yet, so that a builder is one piece of code for both. Steps belong to the phase that is
 * opened after them; those left over at the end get a phase of their own, in the group of the rank
 * alone, which nobody else meets.
 */
#ifndef MUSTER_CORE_SCHEDULE_EMIT_H
#define MUSTER_CORE_SCHEDULE_EMIT_H

#include "core/schedule.h"

typedef struct schedule_emitter {
    schedule_t *schedule; /* its counts are how far the emitter has come */
    schedule_t room;      /* the counts that the arrays were made for */
    uint32_t rank;
    uint32_t taken_steps; /* steps that belong to phases already open */
    bool storing;
    bool drain; /* the phase to come drains */
} schedule_emitter_t;

/* Empties the schedule; its arrays stay, and are filled where there are any. */
void schedule_emit_begin(schedule_emitter_t *emitter, schedule_t *schedule, uint32_t rank);
/* Gives left-over steps their phase. Asserts that filling came out as counted. */
void schedule_emit_end(schedule_emitter_t *emitter);

/* Cuts vectors into so many pieces; before anything else. */
void schedule_emit_pieces(schedule_emitter_t *emitter, uint32_t pieces);

/* Adds so many blocks of scratch and returns the first. */
uint64_t schedule_emit_scratch(schedule_emitter_t *emitter, uint64_t blocks);

void schedule_emit_copy(schedule_emitter_t *emitter, schedule_region_t from,
                        schedule_region_t into);
/* into = left op from */
void schedule_emit_reduce(schedule_emitter_t *emitter, schedule_region_t left,
                          schedule_region_t from, schedule_region_t into);
/* The phase to come begins only when all earlier sends have left. */
void schedule_emit_drain(schedule_emitter_t *emitter);

/* Opens a phase, to which the sends and receives that follow belong. */
void schedule_emit_phase(schedule_emitter_t *emitter, uint32_t group_left, uint32_t group_right,
                         unsigned slot, schedule_label_t label);
/* One with a number, of label ROUND. */
void schedule_emit_round(schedule_emitter_t *emitter, uint32_t group_left, uint32_t group_right,
                         unsigned slot, uint32_t round);
void schedule_emit_send(schedule_emitter_t *emitter, uint32_t peer, schedule_region_t region);
void schedule_emit_place(schedule_emitter_t *emitter, uint32_t peer, schedule_region_t region,
                         bool early);
/* into = into op staging; the staging region is never used for anything else. */
void schedule_emit_combine(schedule_emitter_t *emitter, uint32_t peer, schedule_region_t staging,
                           schedule_region_t into);

/*
 * At rank 0: the value is decided when everything so far is done: at the end of the last phase or,
 * where steps follow it, of a phase for them.
 */
void schedule_emit_decision(schedule_emitter_t *emitter);

/* The whole schedule of one rank alone, of any family: copies from its own buffers. */
void schedule_emit_alone(const schedule_request_t *request, schedule_t *schedule);

#endif
