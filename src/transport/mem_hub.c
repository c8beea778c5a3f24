/* What the ranks of a hub have in common: each has a place, before and after its transport. */
#include "transport/mem_private.h"

#include <stdlib.h>
#include <unistd.h>

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
