/*
 * Argument checks of the API's functions, before anything is done: a status that names the
 * argument, and a line about it in the caller's failure object. A refused call changes nothing for
 * anybody.
 */
#ifndef MUSTER_LIB_CHECK_H
#define MUSTER_LIB_CHECK_H

#include "engine/request.h"

/* Whether the handle can be used: not NULL, not destroyed, not inherited by fork. */
bool check_comm(const muster_comm_t *comm);
bool check_request(const muster_request_t *request);

/* A kind of timeout that there is. */
bool check_timeout(muster_timeout_t timeout);

/* Refuses: fills failure (may be NULL) and returns status. comm may be NULL. */
muster_status_t check_refuse(muster_failure_t *failure, const muster_comm_t *comm,
                             muster_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * The parts of a collective call on comm that every rank has: needs a usable handle, takes no lock.
 */
muster_status_t check_arguments(const muster_comm_t *comm, const request_arguments_t *arguments,
                                const muster_call_t *call);

/* "gatherv", "gather_rows", ... */
const char *check_name(const request_arguments_t *arguments);

#endif
