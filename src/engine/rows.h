/*
 * The forms of operations with rows, whose lengths a receiver learns with the data: its RECEIVE
 * buffer is a LEARNT layout, and what has come is put together once, before the value is decided
 * and before the caller's carrier is touched.
 */
#ifndef MUSTER_ENGINE_ROWS_H
#define MUSTER_ENGINE_ROWS_H

#include "engine/request.h"

/* The rows that the caller receives: n, 1, or 0 where it receives none. */
size_t rows_expected(const request_arguments_t *arguments, const muster_comm_t *comm);

/* Layouts of SEND and RECEIVE. memory: 2n numbers that live as long as the request runs. */
void rows_prepare(muster_request_t *request, size_t *memory);

/*
 * Copies the rows to a carrier of the request's own, where there are any and it has not been done.
 * NO_MEMORY, or TRUNCATED for a row that is no whole number of elements, with why.
 */
muster_status_t rows_collect(muster_request_t *request, char *why, size_t why_size);

/*
 * The request ends with status: hands the collected carrier to the caller where that is OK and he
 * still waits for it, else frees it. Returns the status to end with: UNDECIDED where the others
 * have succeeded and nothing has come here.
 */
muster_status_t rows_finish(muster_request_t *request, muster_status_t status);

#endif
