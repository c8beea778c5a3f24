/*
 * What the files of the transport `mem` share:
 *
 *   mem.c        the operations: sending, receiving, losing
 *   mem_loan.c   payloads that are lent, not copied
 *   mem_wait.c   waiting and waking
 *   mem_hub.c    what the ranks have in common
 */
#ifndef MUSTER_TRANSPORT_MEM_PRIVATE_H
#define MUSTER_TRANSPORT_MEM_PRIVATE_H

#include "transport/mem.h"
#include "transport/pace.h"

#include <pthread.h>
#include <stdatomic.h>

/* The bits of mem_endpoint_t::ready. */
#define MEM_ITEMS 1u    /* the inbox may hold something */
#define MEM_WAKE 2u     /* somebody called wake */
#define MEM_SLEEPING 4u /* the waiter is, or soon will be, in the kernel */

typedef struct mem_loan mem_loan_t;

/* A message in an inbox; its payload follows it, or is lent. */
typedef struct mem_item {
    struct mem_item *next;
    mem_loan_t *loan; /* NULL: copied */
    size_t length;    /* of the payload */
    uint32_t from;
    uint8_t header[WIRE_HEADER_SIZE];
} mem_item_t;

typedef enum mem_loan_state {
    MEM_LENT,   /* the spans are the sender's buffers */
    MEM_OWNED,  /* the sender has forgotten it: the spans are a copy, freed with the loan */
    MEM_TAKEN,  /* the receiver has what it wanted */
    MEM_REVOKED /* the buffers are the sender's again: the receiver gets nothing, but LOST */
} mem_loan_state_t;

/*
 * Two hold it: the sender's list, and the inbox where it lies and later the list of returned ones.
 */
struct mem_loan {
    mem_item_t item;
    atomic_uint holders;
    pthread_mutex_t lock; /* state and spans; held while the receiver copies */
    mem_loan_state_t state;
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    size_t span_count;
    uint8_t *copy;
    mem_loan_t *next_returned; /* under the sender's inbox lock */
    /* The sender's alone: */
    mem_loan_t *previous;
    mem_loan_t *next;
    void *token;
    uint32_t to;
    bool listed; /* in the sender's list; otherwise no event follows */
};

typedef struct mem_closed {
    uint32_t peer;
    muster_status_t why;
} mem_closed_t;

/* What the others see of a rank. It is there before its transport and after it. */
typedef struct mem_endpoint {
    atomic_uint ready;
    pthread_mutex_t lock; /* everything below */
    bool taken;
    bool left;
    mem_item_t *first;
    mem_item_t **last;
    size_t items; /* that were copied and not yet consumed, and their payloads' bytes */
    size_t bytes;
    mem_loan_t *returned;
    mem_loan_t **returned_last;
    mem_item_t *spare;
    size_t spares;
    mem_closed_t *closed; /* size entries, in the order of closing; each peer at most once */
    uint8_t *is_closed;   /* by peer */
    uint32_t closed_count;
} mem_endpoint_t;

struct mem_hub {
    atomic_uint references;
    uint32_t size;
    mem_closed_t *closed;
    uint8_t *is_closed;
    transport_peer_t about;
    mem_endpoint_t endpoints[];
};

typedef struct mem_transport {
    transport_t base;
    mem_hub_t *hub;
    mem_endpoint_t *own;
    pace_t pace;
    mem_item_t *batch;    /* taken from the inbox, not yet told */
    mem_item_t *current;  /* told and borrowed by the caller until the next poll */
    mem_loan_t *unplaced; /* told as HEADER, not yet answered */
    mem_loan_t *returned; /* taken, SENT not yet told */
    bool received;        /* RECEIVED has to be told */
    void *received_token;
    uint32_t received_peer;
    uint32_t closed_told;
    uint32_t closed_due; /* what came before these has been taken */
    mem_loan_t *loans;
    mem_item_t *used; /* small items to give back to the spares */
    size_t used_items;
    size_t used_bytes;
    uint8_t *is_lost;                      /* by peer: sends fail */
    uint8_t *is_told;                      /* by peer: LOST was told */
    uint8_t payload[TRANSPORT_INLINE_MAX]; /* of a lent message that is told whole */
} mem_transport_t;

/* mem_wait.c */
/* The endpoint's owner has something to look at, for a reason that is a bit of `ready`. */
void mem_ring(mem_endpoint_t *endpoint, unsigned reason);
/* As in transport.h. */
void mem_wait(transport_t *transport, int64_t timeout_ns);
void mem_wake(transport_t *transport);
int64_t mem_now(transport_t *transport);

/* mem_loan.c */
/* One of its two holders lets go. */
void mem_loan_release(mem_loan_t *loan);
/* The sender has no further interest in it: no event follows. */
void mem_loan_unlist(mem_transport_t *mem, mem_loan_t *loan);
/* The sender wants its buffers back: a copy takes their place. False where there is no memory. */
bool mem_loan_own(mem_loan_t *loan);
/* Copies a loan to spans and gives it back. False where it was revoked; it is let go either way. */
bool mem_loan_take(mem_transport_t *mem, mem_loan_t *loan, const transport_span_t *spans,
                   size_t span_count);
/* From spans to spans, as much as the shorter side holds. */
void mem_copy(const transport_span_t *from, size_t from_count, const transport_span_t *to,
              size_t to_count);

#endif
