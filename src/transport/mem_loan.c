/* Payloads that are lent: the receiver copies them from the sender's buffers. */
#include "transport/mem_private.h"

#include <stdlib.h>
#include <string.h>

void mem_loan_release(mem_loan_t *loan)
{
    if (atomic_fetch_sub(&loan->holders, 1) != 1)
        return;
    pthread_mutex_destroy(&loan->lock);
    free(loan->copy);
    free(loan);
}

void mem_loan_unlist(mem_transport_t *mem, mem_loan_t *loan)
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

bool mem_loan_own(mem_loan_t *loan)
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

void mem_copy(const transport_span_t *from, size_t from_count, const transport_span_t *to,
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

bool mem_loan_take(mem_transport_t *mem, mem_loan_t *loan, const transport_span_t *spans,
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
