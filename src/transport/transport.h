/*
 * The transport: carries messages (a header of WIRE_HEADER_SIZE bytes and a payload) between world
 * ranks, reliably and in order for each pair. One contract suite runs over every transport.
 *
 * Calls are serialized by the caller (the engine's lock), except `wait` and `wake`, which any
 * thread may make at any time. Only `wait` blocks. Nothing calls back: what has happened is told by
 * poll, one event at a time, and the caller acts on it between two polls.
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_H
#define MUSTER_TRANSPORT_TRANSPORT_H

#include "core/status.h"
#include "core/wire.h"

#define TRANSPORT_SPANS_MAX 16
/* A payload up to this length is delivered whole, as MESSAGE. */
#define TRANSPORT_INLINE_MAX 4096

typedef struct transport transport_t;

typedef struct transport_span {
    void *bytes;
    size_t length;
} transport_span_t;

typedef enum transport_event_kind {
    /* header and whole payload (payload_length <= INLINE_MAX), borrowed until the next poll */
    TRANSPORT_MESSAGE,
    /* a longer message begins: the caller answers with `place` before the next poll */
    TRANSPORT_HEADER,
    /* the payload lies where `place` said; token: place's */
    TRANSPORT_RECEIVED,
    /* a send that was not done at once is done, its buffers are the caller's; token: send's */
    TRANSPORT_SENT,
    /* the peer is gone; status: why. Said once a peer; later sends to it fail */
    TRANSPORT_LOST
} transport_event_kind_t;

typedef struct transport_event {
    transport_event_kind_t kind;
    uint32_t peer;          /* world rank */
    muster_status_t status; /* LOST */
    const uint8_t *header;  /* MESSAGE, HEADER: WIRE_HEADER_SIZE bytes, until the next poll */
    const uint8_t *payload; /* MESSAGE, until the next poll */
    size_t payload_length;  /* MESSAGE, HEADER */
    void *token;
} transport_event_t;

/* What is known of a peer, for diagnostics. */
typedef struct transport_peer {
    char host[MUSTER_HOST_MAX]; /* "" not known */
    uint32_t pid;               /* 0 not known */
    /* how it was lost, one line, from LOST on; NULL: no more than the status */
    const char *why;
} transport_peer_t;

typedef struct transport_operations {
    const char *name; /* "tcp" */

    /*
     * Queues one message to peer (not the own rank). The header is copied. The payload's spans (at
     * most TRANSPORT_SPANS_MAX) stay borrowed until SENT with token, unless *done is set true: then
     * they are the caller's again already, and no event follows. Never blocks. A connection is made
     * when the first message needs it.
     * The buffers may be written before SENT by a caller that has heard, through whomever, that the
     * peer has been given the whole message (MESSAGE, or RECEIVED at its place): no transport reads
     * them once that has been told. The memory stays until SENT, and token stays in use.
     * PEER_LOST: the peer is known to be lost, nothing is borrowed. NO_MEMORY: likewise.
     * When a peer is lost with sends under way, LOST comes, and no SENT for them afterwards:
     * their buffers are the caller's from the LOST event on.
     */
    muster_status_t (*send)(transport_t *transport, uint32_t peer,
                            const uint8_t header[WIRE_HEADER_SIZE], const transport_span_t *spans,
                            size_t span_count, void *token, bool *done);

    /*
     * Answers HEADER: the payload goes to spans (their lengths add up to payload_length), or is
     * read and dropped where span_count is 0. Borrowed until RECEIVED with token or the peer's
     * LOST.
     */
    void (*place)(transport_t *transport, uint32_t peer, const transport_span_t *spans,
                  size_t span_count, void *token);

    /*
     * From now on neither token nor the buffers that go with it are used: no event brings it. A
     * send under way is finished from a copy of what is left, or, where there is no memory, by
     * breaking the connection; a receive under way is read on and dropped.
     */
    void (*forget)(transport_t *transport, void *token);

    /* The next event, if any. Does the reading and writing that can be done now. Never blocks. */
    bool (*poll)(transport_t *transport, transport_event_t *event);

    /*
     * Blocks until poll may have something, wake is called, or timeout_ns has passed (negative: no
     * timeout). May return early. Any thread, without the lock; one thread at a time.
     */
    void (*wait)(transport_t *transport, int64_t timeout_ns);
    /* Any thread; also a wait that begins later returns at once. */
    void (*wake)(transport_t *transport);

    /* Monotonic time in ns: the only clock the engine reads. */
    int64_t (*now)(transport_t *transport);

    /* Somebody who knows says that peer has ended: its connection is closed once what had arrived
     * from it is delivered, then LOST follows. */
    void (*lose)(transport_t *transport, uint32_t peer, muster_status_t why);

    /* Host and process of a peer, as far as known; borrowed, never NULL. */
    const transport_peer_t *(*peer)(transport_t *transport, uint32_t peer);

    /* True when nothing that was sent is still queued in this process. */
    bool (*flushed)(transport_t *transport);

    /* Closes everything. Buffers are the caller's afterwards. */
    void (*destroy)(transport_t *transport);
} transport_operations_t;

/* A transport begins with this. */
struct transport {
    const transport_operations_t *operations;
    uint32_t rank; /* world */
    uint32_t size;
    uint32_t cores; /* that the ranks of this host may use together, and how many ranks those are */
    uint32_t local_ranks;
};

#endif
