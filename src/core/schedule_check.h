/*
 * The symbolic validator: runs the schedules of all ranks against each other on symbols instead of
 * data. Shows that every send has its receive with as many blocks, that nobody waits in a circle,
 * that every region lies within its buffer, that no phase reads what was never written or has been
 * overwritten (also in place), that no send's source is overwritten before the message may be known
 * to have arrived, that rank 0 has heard from everybody when it decides and nobody ends before that
 * (uniform), and that the result is right: for reductions every rank's value exactly once, in
 * rank order.
 *
 * Pure. Memory is the caller's: schedule_check_memory bytes.
 */
#ifndef MUSTER_CORE_SCHEDULE_CHECK_H
#define MUSTER_CORE_SCHEDULE_CHECK_H

#include "core/schedule.h"

/*
 * schedules: size of them, by rank; request: with rank ignored, in_place taken for every rank that
 * may.
 */
size_t schedule_check_memory(const schedule_request_t *request, const schedule_t *schedules);
/* OK, or INTERNAL with a line in why that names rank, phase and block. */
muster_status_t schedule_check(const schedule_request_t *request, const schedule_t *schedules,
                               void *memory, text_t *why);

#endif
