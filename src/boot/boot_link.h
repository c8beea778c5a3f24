/*
 * A connection that carries control messages: a nonblocking stream socket, what has come and is no
 * whole message yet, and what could not be sent yet. One thread at a time; nothing blocks.
 */
#ifndef MUSTER_BOOT_BOOT_LINK_H
#define MUSTER_BOOT_BOOT_LINK_H

#include "core/control.h"

/* More than this is not queued: the other side does not read, and the link is broken. */
#define BOOT_LINK_QUEUE_MAX ((size_t)256 << 20)

typedef struct boot_link {
    int fd; /* -1: not open */
    bool broken;
    uint8_t *in;
    size_t in_size;  /* room: the longest frame that may come */
    size_t in_start; /* what is before was used */
    size_t in_length;
    uint8_t *out;
    size_t out_size;
    size_t out_start;
    size_t out_length;
    int epoll; /* watched there with data; -1: not watched */
    uint64_t data;
    bool watching_out;
} boot_link_t;

typedef enum boot_link_result {
    BOOT_LINK_NOTHING,
    BOOT_LINK_MESSAGE,
    BOOT_LINK_BROKEN
} boot_link_result_t;

/* fd, of boot_fork.h's, becomes the link's, and nonblocking. false: no memory, fd is closed. */
bool boot_link_open(boot_link_t *link, int fd, size_t frame_max);
/*
 * A link that was never opened may be closed. The other side sees an end, also where a child holds
 * the descriptor: ends.
 */
void boot_link_close(boot_link_t *link, bool end);
/* Puts it on an epoll descriptor; the link keeps its interest right from then on. */
bool boot_link_watch(boot_link_t *link, int epoll, uint64_t data);
/* Queues and sends what goes. A broken link drops it. */
void boot_link_send(boot_link_t *link, const control_message_t *message);
void boot_link_flush(boot_link_t *link);
/* Reads what is there, once. */
void boot_link_read(boot_link_t *link);
/* The next message that has come whole; its blob is borrowed until the next call. */
boot_link_result_t boot_link_next(boot_link_t *link, control_message_t *message);

#endif
