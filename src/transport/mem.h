/*
 * The transport `mem`: logical ranks as threads of one process, over a hub that they share.
 *
 * Messages up to TRANSPORT_INLINE_MAX are copied into the receiver's inbox, as long as it holds
 * less than MEM_INBOX_BYTES_MAX bytes and MEM_INBOX_ITEMS_MAX messages; all others are lent: the
 * receiver copies straight from the sender's buffers, and then the sender gets SENT.
 *
 * A rank leaves when its transport is destroyed: the others get LOST with SHUT_DOWN after
 * everything that it sent.
 */
#ifndef MUSTER_TRANSPORT_MEM_H
#define MUSTER_TRANSPORT_MEM_H

#include "transport/transport.h"

#define MEM_INBOX_BYTES_MAX ((size_t)1 << 20)
#define MEM_INBOX_ITEMS_MAX 4096

typedef struct mem_hub mem_hub_t;

/* A hub of size ranks, with one reference, the caller's. INVALID_ARGUMENT: size 0. NO_MEMORY. */
muster_status_t mem_hub_create(uint32_t size, mem_hub_t **hub);

/*
 * Gives the caller's reference back; each transport holds one of its own. NULL is accepted. Any
 * thread.
 */
void mem_hub_destroy(mem_hub_t *hub);

/*
 * The transport of a rank. Ranks may come at any time: messages to a rank wait for it. Any thread.
 * INVALID_RANK: not below the hub's size. DUPLICATE_RANK: taken, also by one that has left.
 * NO_MEMORY.
 */
muster_status_t mem_create(mem_hub_t *hub, uint32_t rank, transport_t **transport);

/*
 * Ends a transport that has neither sent nor polled, as if the rank had not come: nobody is told,
 * what waits for it goes on waiting, and the rank can be taken again. Any thread.
 */
void mem_withdraw(transport_t *transport);

#endif
