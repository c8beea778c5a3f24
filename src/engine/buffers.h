/*
 * A request's buffers: what the caller gave, scratch, and what carriers bring, as layouts; and the
 * way between them and messages.
 */
#ifndef MUSTER_ENGINE_BUFFERS_H
#define MUSTER_ENGINE_BUFFERS_H

#include "engine/request.h"
#include "reduce/reduce.h"

/* Layouts from the request's arguments; counts and displacements are read here. NO_MEMORY. */
muster_status_t buffers_prepare(muster_request_t *request);
/* Scratch for so many blocks, vectors cut into pieces; kept for the next use. NO_MEMORY. */
muster_status_t buffers_scratch(muster_request_t *request, uint64_t blocks, uint32_t pieces);
/* Frees what belongs to this use only. */
void buffers_reset(muster_request_t *request);

const layout_t *buffers_layout(const muster_request_t *request, uint8_t buffer);

/*
 * Bytes of a result that is the same on every rank; 0 where only the root has one; else SIZE_MAX.
 */
size_t buffers_result(const muster_request_t *request);

/* A COPY step. TRUNCATED where learnt lengths do not fit their place, or NO_MEMORY, with why. */
muster_status_t buffers_copy(muster_request_t *request, const schedule_region_t *from,
                             const schedule_region_t *into, size_t *copied, char *why,
                             size_t why_size);

/*
 * A message's payload as at most TRANSPORT_SPANS_MAX spans; *packed is owned by the caller, NULL
 * where nothing had to be packed. false: no memory.
 */
bool buffers_outgoing(muster_request_t *request, const schedule_region_t *region,
                      transport_span_t *spans, size_t *count, size_t *bytes, void **packed);

/* A payload to its place. TRUNCATED or NO_MEMORY with why. */
muster_status_t buffers_incoming(muster_request_t *request, const schedule_region_t *region,
                                 const uint8_t *payload, size_t length, char *why, size_t why_size);

#endif
