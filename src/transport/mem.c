#include "transport/mem.h"

#include "core/assertion.h"
#include "transport/cores.h"
#include "transport/pace.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MEM_SMALL_PAYLOAD 256 /* items with room for this much are kept and used again */
#define MEM_SPARE_MAX 64      /* so many of them */
#define MEM_TAKES_MAX 2       /* a poll looks into its inbox so often */
#define MEM_SPIN_NS 50000     /* a wait spins so long, where every rank has a processor */
#define MEM_YIELDS 8          /* and yields so often, where not */

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

static mem_transport_t *mem_of(transport_t *transport)
{
    return (mem_transport_t *)transport;
}

/* ---- Waking ---------------------------------------------------------------------------------- */

static void mem_ring(mem_endpoint_t *endpoint, unsigned reason)
{
    unsigned before = atomic_fetch_or(&endpoint->ready, reason);
    if (before & MEM_SLEEPING) {
        atomic_fetch_and(&endpoint->ready, ~MEM_SLEEPING);
        syscall(SYS_futex, &endpoint->ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static int64_t mem_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* True when a wait has a reason to return; takes the wake along. */
static bool mem_is_ready(mem_endpoint_t *own)
{
    if (!(atomic_load_explicit(&own->ready, memory_order_acquire) & (MEM_ITEMS | MEM_WAKE)))
        return false;
    atomic_fetch_and(&own->ready, ~MEM_WAKE);
    return true;
}

/*
 * Waits without the kernel's help as long as that is sensible; true when there is a reason to
 * return.
 */
static bool mem_spin(mem_transport_t *mem, int64_t begin, int64_t timeout_ns)
{
    if (mem->base.local_ranks > mem->base.cores) {
        for (int i = 0; i < MEM_YIELDS && timeout_ns != 0; i++) {
            sched_yield();
            if (mem_is_ready(mem->own))
                return true;
        }
        return false;
    }
    int64_t budget = timeout_ns >= 0 && timeout_ns < MEM_SPIN_NS ? timeout_ns : MEM_SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            cores_pause();
            if (mem_is_ready(mem->own))
                return true;
        }
    } while (mem_clock() - begin < budget);
    return false;
}

/* Sleeps until there is a reason to return, or the time has passed: then false. */
static bool mem_sleep(mem_endpoint_t *own, int64_t begin, int64_t timeout_ns)
{
    for (;;) {
        int64_t left = timeout_ns < 0 ? 0 : timeout_ns - (mem_clock() - begin);
        if (timeout_ns >= 0 && left <= 0)
            return false;
        unsigned before = atomic_fetch_or(&own->ready, MEM_SLEEPING);
        if (!(before & (MEM_ITEMS | MEM_WAKE))) {
            struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
            syscall(SYS_futex, &own->ready, FUTEX_WAIT_PRIVATE, before | MEM_SLEEPING,
                    timeout_ns < 0 ? NULL : &time, NULL, 0);
        }
        atomic_fetch_and(&own->ready, ~MEM_SLEEPING);
        if (mem_is_ready(own))
            return true;
    }
}

static void mem_wait(transport_t *transport, int64_t timeout_ns)
{
    mem_transport_t *mem = mem_of(transport);
    if (mem_is_ready(mem->own))
        return;
    int64_t begin = mem_clock();
    bool eager = pace_is_eager(&mem->pace);
    if ((eager && mem_spin(mem, begin, timeout_ns)) || mem_sleep(mem->own, begin, timeout_ns))
        pace_learn(&mem->pace, eager, mem_clock() - begin);
}

static void mem_wake(transport_t *transport)
{
    mem_ring(mem_of(transport)->own, MEM_WAKE);
}

static int64_t mem_now(transport_t *transport)
{
    (void)transport;
    return mem_clock();
}

/* ---- Loans ----------------------------------------------------------------------------------- */

static void mem_loan_release(mem_loan_t *loan)
{
    if (atomic_fetch_sub(&loan->holders, 1) != 1)
        return;
    pthread_mutex_destroy(&loan->lock);
    free(loan->copy);
    free(loan);
}

/* The sender has no further interest in it: no event follows. */
static void mem_loan_unlist(mem_transport_t *mem, mem_loan_t *loan)
{
    if (loan->previous != NULL)
        loan->previous->next = loan->next;
    else
        mem->loans = loan->next;
    if (loan->next != NULL)
        loan->next->previous = loan->previous;
    loan->listed = false;
    mem_loan_release(loan);
}

/* The sender wants its buffers back: a copy takes their place. False where there is no memory. */
static bool mem_loan_own(mem_loan_t *loan)
{
    bool done = true;
    pthread_mutex_lock(&loan->lock);
    if (loan->state == MEM_LENT) {
        loan->copy = malloc(loan->item.length > 0 ? loan->item.length : 1);
        if (loan->copy == NULL) {
            loan->state = MEM_REVOKED;
            done = false;
        } else {
            size_t length = 0;
            for (size_t i = 0; i < loan->span_count; i++) {
                if (loan->spans[i].length > 0)
                    memcpy(loan->copy + length, loan->spans[i].bytes, loan->spans[i].length);
                length += loan->spans[i].length;
            }
            loan->spans[0] = (transport_span_t){.bytes = loan->copy, .length = length};
            loan->span_count = 1;
            loan->state = MEM_OWNED;
        }
    }
    pthread_mutex_unlock(&loan->lock);
    return done;
}

/* From spans to spans, as much as the shorter side holds. */
static void mem_copy(const transport_span_t *from, size_t from_count, const transport_span_t *to,
                     size_t to_count)
{
    size_t i = 0, j = 0, from_offset = 0, to_offset = 0;
    while (i < from_count && j < to_count) {
        size_t from_left = from[i].length - from_offset;
        size_t to_left = to[j].length - to_offset;
        size_t length = from_left < to_left ? from_left : to_left;
        if (length > 0)
            memcpy((uint8_t *)to[j].bytes + to_offset, (uint8_t *)from[i].bytes + from_offset,
                   length);
        from_offset += length;
        to_offset += length;
        if (from_offset == from[i].length) {
            i++;
            from_offset = 0;
        }
        if (to_offset == to[j].length) {
            j++;
            to_offset = 0;
        }
    }
}

/* Copies a loan to spans and gives it back. False where it was revoked; it is let go either way. */
static bool mem_loan_take(mem_transport_t *mem, mem_loan_t *loan, const transport_span_t *spans,
                          size_t span_count)
{
    pthread_mutex_lock(&loan->lock);
    mem_loan_state_t state = loan->state;
    if (state == MEM_LENT || state == MEM_OWNED) {
        mem_copy(loan->spans, loan->span_count, spans, span_count);
        loan->state = MEM_TAKEN;
    }
    pthread_mutex_unlock(&loan->lock);
    bool returned = false;
    mem_endpoint_t *sender = &mem->hub->endpoints[loan->item.from];
    if (state == MEM_LENT) {
        pthread_mutex_lock(&sender->lock);
        if (!sender->left) {
            loan->next_returned = NULL;
            *sender->returned_last = loan;
            sender->returned_last = &loan->next_returned;
            returned = true;
        }
        pthread_mutex_unlock(&sender->lock);
    }
    if (returned)
        mem_ring(sender, MEM_ITEMS);
    else
        mem_loan_release(loan);
    return state != MEM_REVOKED;
}

/* ---- Sending --------------------------------------------------------------------------------- */

static void mem_push(mem_endpoint_t *endpoint, mem_item_t *item)
{
    item->next = NULL;
    *endpoint->last = item;
    endpoint->last = &item->next;
}

/* An item with room for length bytes, from the spares where one fits; the lock is held. */
static mem_item_t *mem_item_new(mem_endpoint_t *endpoint, size_t length)
{
    if (length <= MEM_SMALL_PAYLOAD) {
        mem_item_t *item = endpoint->spare;
        if (item != NULL) {
            endpoint->spare = item->next;
            endpoint->spares--;
            return item;
        }
        length = MEM_SMALL_PAYLOAD;
    }
    return malloc(sizeof(mem_item_t) + length);
}

/* OK, or PEER_LOST, NO_MEMORY, or IN_PROGRESS where the inbox has no room: then it must be lent. */
static muster_status_t mem_send_copy(mem_transport_t *mem, mem_endpoint_t *target,
                                     const uint8_t *header, const transport_span_t *spans,
                                     size_t span_count, size_t length)
{
    muster_status_t status = MUSTER_OK;
    pthread_mutex_lock(&target->lock);
    if (target->left) {
        status = MUSTER_PEER_LOST;
    } else if (target->items >= MEM_INBOX_ITEMS_MAX ||
               target->bytes + length > MEM_INBOX_BYTES_MAX) {
        status = MUSTER_IN_PROGRESS;
    } else {
        mem_item_t *item = mem_item_new(target, length);
        if (item == NULL) {
            status = MUSTER_NO_MEMORY;
        } else {
            item->loan = NULL;
            item->length = length;
            item->from = mem->base.rank;
            memcpy(item->header, header, WIRE_HEADER_SIZE);
            transport_span_t room = {.bytes = item + 1, .length = length};
            mem_copy(spans, span_count, &room, 1);
            target->items++;
            target->bytes += length;
            mem_push(target, item);
        }
    }
    pthread_mutex_unlock(&target->lock);
    if (status == MUSTER_OK)
        mem_ring(target, MEM_ITEMS);
    return status;
}

static muster_status_t mem_send_loan(mem_transport_t *mem, uint32_t peer, const uint8_t *header,
                                     const transport_span_t *spans, size_t span_count,
                                     size_t length, void *token)
{
    mem_endpoint_t *target = &mem->hub->endpoints[peer];
    mem_loan_t *loan = calloc(1, sizeof *loan);
    if (loan == NULL)
        return MUSTER_NO_MEMORY;
    if (pthread_mutex_init(&loan->lock, NULL) != 0) {
        free(loan);
        return MUSTER_NO_MEMORY;
    }
    loan->item = (mem_item_t){.loan = loan, .length = length, .from = mem->base.rank};
    memcpy(loan->item.header, header, WIRE_HEADER_SIZE);
    atomic_init(&loan->holders, 2);
    loan->state = MEM_LENT;
    if (span_count > 0)
        memcpy(loan->spans, spans, span_count * sizeof *spans);
    loan->span_count = span_count;
    loan->token = token;
    loan->to = peer;
    loan->listed = true;
    loan->next = mem->loans;
    if (loan->next != NULL)
        loan->next->previous = loan;
    mem->loans = loan;
    pthread_mutex_lock(&target->lock);
    bool left = target->left;
    if (!left)
        mem_push(target, &loan->item);
    pthread_mutex_unlock(&target->lock);
    if (left) {
        mem_loan_unlist(mem, loan);
        mem_loan_release(loan);
        return MUSTER_PEER_LOST;
    }
    mem_ring(target, MEM_ITEMS);
    return MUSTER_OK;
}

static muster_status_t mem_send(transport_t *transport, uint32_t peer,
                                const uint8_t header[WIRE_HEADER_SIZE],
                                const transport_span_t *spans, size_t span_count, void *token,
                                bool *done)
{
    mem_transport_t *mem = mem_of(transport);
    MUSTER_ASSERT(peer < transport->size && peer != transport->rank);
    MUSTER_ASSERT(span_count <= TRANSPORT_SPANS_MAX);
    size_t length = 0;
    for (size_t i = 0; i < span_count; i++)
        length += spans[i].length;
    MUSTER_ASSERT(length == wire_payload_length(header));
    *done = false;
    if (mem->is_lost[peer])
        return MUSTER_PEER_LOST;
    if (length <= TRANSPORT_INLINE_MAX) {
        muster_status_t status =
            mem_send_copy(mem, &mem->hub->endpoints[peer], header, spans, span_count, length);
        if (status != MUSTER_IN_PROGRESS) {
            *done = status == MUSTER_OK;
            return status;
        }
    }
    return mem_send_loan(mem, peer, header, spans, span_count, length, token);
}

/* ---- Losing ---------------------------------------------------------------------------------- */

/* Tells an endpoint that it will hear no more from a peer; the first reason stays. */
static void mem_close(mem_endpoint_t *endpoint, uint32_t peer, muster_status_t why)
{
    pthread_mutex_lock(&endpoint->lock);
    bool news = !endpoint->left && !endpoint->is_closed[peer];
    if (news) {
        endpoint->is_closed[peer] = 1;
        endpoint->closed[endpoint->closed_count++] = (mem_closed_t){.peer = peer, .why = why};
    }
    pthread_mutex_unlock(&endpoint->lock);
    if (news)
        mem_ring(endpoint, MEM_ITEMS);
}

static void mem_lose(transport_t *transport, uint32_t peer, muster_status_t why)
{
    mem_transport_t *mem = mem_of(transport);
    MUSTER_ASSERT(peer < transport->size && peer != transport->rank);
    if (mem->is_lost[peer])
        return;
    mem->is_lost[peer] = 1;
    mem_close(mem->own, peer, why);
    mem_close(&mem->hub->endpoints[peer], transport->rank, MUSTER_PEER_LOST);
}

static void mem_forget(transport_t *transport, void *token)
{
    mem_transport_t *mem = mem_of(transport);
    if (mem->received && mem->received_token == token)
        mem->received = false;
    for (mem_loan_t *loan = mem->loans, *next; loan != NULL; loan = next) {
        next = loan->next;
        if (loan->token != token)
            continue;
        if (!mem_loan_own(loan))
            mem_lose(transport, loan->to, MUSTER_PEER_LOST);
        mem_loan_unlist(mem, loan);
    }
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/* Lets a copied item go; the memory of small ones goes back to the spares with the next take. */
static void mem_item_release(mem_transport_t *mem, mem_item_t *item)
{
    mem->used_items++;
    mem->used_bytes += item->length;
    if (item->length <= MEM_SMALL_PAYLOAD) {
        item->next = mem->used;
        mem->used = item;
    } else {
        free(item);
    }
}

/* Takes what has come. False when there was nothing. */
static bool mem_take(mem_transport_t *mem)
{
    mem_endpoint_t *own = mem->own;
    if (!(atomic_load_explicit(&own->ready, memory_order_acquire) & MEM_ITEMS))
        return false;
    pthread_mutex_lock(&own->lock);
    own->items -= mem->used_items;
    own->bytes -= mem->used_bytes;
    mem->used_items = 0;
    mem->used_bytes = 0;
    while (mem->used != NULL && own->spares < MEM_SPARE_MAX) {
        mem_item_t *item = mem->used;
        mem->used = item->next;
        item->next = own->spare;
        own->spare = item;
        own->spares++;
    }
    mem->batch = own->first;
    own->first = NULL;
    own->last = &own->first;
    mem->returned = own->returned;
    own->returned = NULL;
    own->returned_last = &own->returned;
    mem->closed_due = own->closed_count;
    bool some = mem->batch != NULL || mem->returned != NULL || mem->closed_told < mem->closed_due;
    if (!some)
        atomic_fetch_and(&own->ready, ~MEM_ITEMS);
    pthread_mutex_unlock(&own->lock);
    while (mem->used != NULL) {
        mem_item_t *item = mem->used;
        mem->used = item->next;
        free(item);
    }
    return some;
}

static bool mem_next_sent(mem_transport_t *mem, transport_event_t *event)
{
    while (mem->returned != NULL) {
        mem_loan_t *loan = mem->returned;
        mem->returned = loan->next_returned;
        bool tell = loan->listed;
        if (tell) {
            *event =
                (transport_event_t){.kind = TRANSPORT_SENT, .peer = loan->to, .token = loan->token};
            mem_loan_unlist(mem, loan);
        }
        mem_loan_release(loan);
        if (tell)
            return true;
    }
    return false;
}

/* Tells a lent message. False: it was revoked. */
static bool mem_tell_loan(mem_transport_t *mem, mem_loan_t *loan, transport_event_t *event)
{
    event->header = loan->item.header;
    event->payload_length = loan->item.length;
    if (loan->item.length > TRANSPORT_INLINE_MAX) {
        pthread_mutex_lock(&loan->lock);
        bool revoked = loan->state == MEM_REVOKED;
        pthread_mutex_unlock(&loan->lock);
        if (revoked) {
            mem_loan_release(loan);
            return false;
        }
        event->kind = TRANSPORT_HEADER;
        mem->unplaced = loan;
        return true;
    }
    /* The header must outlive the loan until the next poll. */
    atomic_fetch_add(&loan->holders, 1);
    transport_span_t room = {.bytes = mem->payload, .length = loan->item.length};
    if (!mem_loan_take(mem, loan, &room, 1)) {
        mem_loan_release(loan);
        return false;
    }
    event->kind = TRANSPORT_MESSAGE;
    event->payload = mem->payload;
    mem->current = &loan->item;
    return true;
}

static bool mem_next_item(mem_transport_t *mem, transport_event_t *event)
{
    while (mem->batch != NULL) {
        mem_item_t *item = mem->batch;
        mem->batch = item->next;
        if (mem->is_told[item->from]) {
            if (item->loan != NULL)
                mem_loan_release(item->loan);
            else
                mem_item_release(mem, item);
            continue;
        }
        *event = (transport_event_t){.peer = item->from};
        if (item->loan != NULL) {
            if (!mem_tell_loan(mem, item->loan, event))
                continue;
            return true;
        }
        event->kind = TRANSPORT_MESSAGE;
        event->header = item->header;
        event->payload = (const uint8_t *)(item + 1);
        event->payload_length = item->length;
        mem->current = item;
        return true;
    }
    return false;
}

static bool mem_next_lost(mem_transport_t *mem, transport_event_t *event)
{
    if (mem->closed_told == mem->closed_due)
        return false;
    /* Entries below closed_due are never written again. */
    mem_closed_t closed = mem->own->closed[mem->closed_told++];
    mem->is_lost[closed.peer] = 1;
    mem->is_told[closed.peer] = 1;
    for (mem_loan_t *loan = mem->loans, *next; loan != NULL; loan = next) {
        next = loan->next;
        if (loan->to != closed.peer)
            continue;
        pthread_mutex_lock(&loan->lock);
        if (loan->state == MEM_LENT)
            loan->state = MEM_REVOKED;
        pthread_mutex_unlock(&loan->lock);
        mem_loan_unlist(mem, loan);
    }
    *event = (transport_event_t){.kind = TRANSPORT_LOST, .peer = closed.peer, .status = closed.why};
    return true;
}

/* Ends the caller's loan of what the last poll told. */
static void mem_end_borrowing(mem_transport_t *mem)
{
    MUSTER_ASSERT(mem->unplaced == NULL);
    if (mem->current == NULL)
        return;
    if (mem->current->loan != NULL)
        mem_loan_release(mem->current->loan);
    else
        mem_item_release(mem, mem->current);
    mem->current = NULL;
}

static bool mem_poll(transport_t *transport, transport_event_t *event)
{
    mem_transport_t *mem = mem_of(transport);
    mem_end_borrowing(mem);
    if (mem->received) {
        mem->received = false;
        *event = (transport_event_t){
            .kind = TRANSPORT_RECEIVED, .peer = mem->received_peer, .token = mem->received_token};
        return true;
    }
    for (int takes = 0;; takes++) {
        if (mem_next_sent(mem, event) || mem_next_item(mem, event) || mem_next_lost(mem, event))
            return true;
        if (takes == MEM_TAKES_MAX || !mem_take(mem))
            return false;
    }
}

static void mem_place(transport_t *transport, uint32_t peer, const transport_span_t *spans,
                      size_t span_count, void *token)
{
    mem_transport_t *mem = mem_of(transport);
    mem_loan_t *loan = mem->unplaced;
    MUSTER_ASSERT(loan != NULL && loan->item.from == peer);
    MUSTER_ASSERT(span_count <= TRANSPORT_SPANS_MAX);
    size_t length = 0;
    for (size_t i = 0; i < span_count; i++)
        length += spans[i].length;
    MUSTER_ASSERT(span_count == 0 || length == loan->item.length);
    mem->unplaced = NULL;
    /* The header is borrowed until the next poll. */
    atomic_fetch_add(&loan->holders, 1);
    mem->current = &loan->item;
    if (mem_loan_take(mem, loan, spans, span_count) && span_count > 0) {
        mem->received = true;
        mem->received_token = token;
        mem->received_peer = peer;
    }
}

/* ---- The rest -------------------------------------------------------------------------------- */

static const transport_peer_t *mem_peer(transport_t *transport, uint32_t peer)
{
    (void)peer;
    return &mem_of(transport)->hub->about;
}

static bool mem_flushed(transport_t *transport)
{
    return mem_of(transport)->loans == NULL;
}

/* Closes the inbox, and lets everything in it go. */
static void mem_leave_inbox(mem_transport_t *mem)
{
    mem_endpoint_t *own = mem->own;
    pthread_mutex_lock(&own->lock);
    own->left = true;
    mem_item_t *lists[] = {mem->batch, own->first, own->spare, mem->used};
    mem_loan_t *returned[] = {mem->returned, own->returned};
    own->first = NULL;
    own->last = &own->first;
    own->spare = NULL;
    own->returned = NULL;
    own->returned_last = &own->returned;
    pthread_mutex_unlock(&own->lock);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (mem_item_t *item = lists[i], *next; item != NULL; item = next) {
            next = item->next;
            /* Spares were copied ones, so this is right for them, too. */
            if (item->loan != NULL)
                mem_loan_release(item->loan);
            else
                free(item);
        }
    }
    for (size_t i = 0; i < sizeof returned / sizeof returned[0]; i++) {
        for (mem_loan_t *loan = returned[i], *next; loan != NULL; loan = next) {
            next = loan->next_returned;
            mem_loan_release(loan);
        }
    }
}

static void mem_destroy(transport_t *transport)
{
    mem_transport_t *mem = mem_of(transport);
    if (mem->unplaced != NULL) {
        mem_loan_release(mem->unplaced);
        mem->unplaced = NULL;
    }
    mem_end_borrowing(mem);
    /* What was sent and not yet taken goes on from copies. */
    while (mem->loans != NULL) {
        mem_loan_own(mem->loans);
        mem_loan_unlist(mem, mem->loans);
    }
    mem_leave_inbox(mem);
    for (uint32_t peer = 0; peer < transport->size; peer++) {
        if (peer != transport->rank)
            mem_close(&mem->hub->endpoints[peer], transport->rank, MUSTER_SHUT_DOWN);
    }
    mem_hub_destroy(mem->hub);
    free(mem->is_lost);
    free(mem->is_told);
    free(mem);
}

static const transport_operations_t mem_operations = {
    .name = "mem",
    .send = mem_send,
    .place = mem_place,
    .forget = mem_forget,
    .poll = mem_poll,
    .wait = mem_wait,
    .wake = mem_wake,
    .now = mem_now,
    .lose = mem_lose,
    .peer = mem_peer,
    .flushed = mem_flushed,
    .destroy = mem_destroy,
};

/* ---- Hub ------------------------------------------------------------------------------------- */

static void mem_hub_free(mem_hub_t *hub, uint32_t endpoints)
{
    for (uint32_t i = 0; i < endpoints; i++)
        pthread_mutex_destroy(&hub->endpoints[i].lock);
    free(hub->closed);
    free(hub->is_closed);
    free(hub);
}

muster_status_t mem_hub_create(uint32_t size, mem_hub_t **hub)
{
    if (size == 0)
        return MUSTER_INVALID_ARGUMENT;
    mem_hub_t *new = calloc(1, sizeof *new + size * sizeof new->endpoints[0]);
    if (new == NULL)
        return MUSTER_NO_MEMORY;
    /* By pairs; what is never written costs address space only. */
    new->closed = calloc((size_t)size * size, sizeof *new->closed);
    new->is_closed = calloc((size_t)size * size, 1);
    uint32_t made = 0;
    if (new->closed != NULL &&new->is_closed != NULL) {
        for (; made < size; made++) {
            mem_endpoint_t *endpoint = &new->endpoints[made];
            if (pthread_mutex_init(&endpoint->lock, NULL) != 0)
                break;
            atomic_init(&endpoint->ready, 0);
            endpoint->last = &endpoint->first;
            endpoint->returned_last = &endpoint->returned;
            endpoint->closed = new->closed + (size_t)made *size;
            endpoint->is_closed = new->is_closed + (size_t)made *size;
        }
    }
    if (made < size) {
        mem_hub_free(new, made);
        return MUSTER_NO_MEMORY;
    }
    atomic_init(&new->references, 1);
    new->size = size;
    new->about.pid = (uint32_t)getpid();
    if (gethostname(new->about.host, sizeof new->about.host) != 0)
        new->about.host[0] = '\0';
    new->about.host[sizeof new->about.host - 1] = '\0';
    *hub = new;
    return MUSTER_OK;
}

void mem_hub_destroy(mem_hub_t *hub)
{
    if (hub == NULL || atomic_fetch_sub(&hub->references, 1) != 1)
        return;
    for (uint32_t i = 0; i < hub->size; i++) {
        mem_endpoint_t *endpoint = &hub->endpoints[i];
        /* Messages to ranks that never came. */
        for (mem_item_t *item = endpoint->first, *next; item != NULL; item = next) {
            next = item->next;
            if (item->loan != NULL)
                mem_loan_release(item->loan);
            else
                free(item);
        }
    }
    mem_hub_free(hub, hub->size);
}

muster_status_t mem_create(mem_hub_t *hub, uint32_t rank, transport_t **transport)
{
    if (rank >= hub->size)
        return MUSTER_INVALID_RANK;
    mem_transport_t *mem = calloc(1, sizeof *mem);
    if (mem == NULL)
        return MUSTER_NO_MEMORY;
    mem->is_lost = calloc(hub->size, 1);
    mem->is_told = calloc(hub->size, 1);
    muster_status_t status =
        mem->is_lost == NULL || mem->is_told == NULL ? MUSTER_NO_MEMORY : MUSTER_OK;
    mem_endpoint_t *own = &hub->endpoints[rank];
    if (status == MUSTER_OK) {
        pthread_mutex_lock(&own->lock);
        if (own->taken)
            status = MUSTER_DUPLICATE_RANK;
        own->taken = true;
        pthread_mutex_unlock(&own->lock);
    }
    if (status != MUSTER_OK) {
        free(mem->is_lost);
        free(mem->is_told);
        free(mem);
        return status;
    }
    atomic_fetch_add(&hub->references, 1);
    mem->base = (transport_t){.operations = &mem_operations,
                              .rank = rank,
                              .size = hub->size,
                              .cores = cores_usable(),
                              .local_ranks = hub->size};
    mem->hub = hub;
    mem->own = own;
    *transport = &mem->base;
    return MUSTER_OK;
}
