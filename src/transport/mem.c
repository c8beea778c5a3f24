#include "transport/mem.h"

#include "core/assertion.h"
#include "transport/cores.h"
#include "transport/mem_private.h"

#include <stdlib.h>
#include <string.h>

#define MEM_SMALL_PAYLOAD 256 /* items with room for this much are kept and used again */
#define MEM_SPARE_MAX 64      /* so many of them */
#define MEM_TAKES_MAX 2       /* a poll looks into its inbox so often */

static mem_transport_t *mem_of(transport_t *transport)
{
    return (mem_transport_t *)transport;
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

/* ---- Creation -------------------------------------------------------------------------------- */

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

void mem_withdraw(transport_t *transport)
{
    mem_transport_t *mem = mem_of(transport);
    pthread_mutex_lock(&mem->own->lock);
    mem->own->taken = false;
    pthread_mutex_unlock(&mem->own->lock);
    mem_hub_destroy(mem->hub);
    free(mem->is_lost);
    free(mem->is_told);
    free(mem);
}
