/* The environment's job: what its variables say, and how rank 0 and the others find each other. */
#ifndef MUSTER_BOOT_BOOT_NETWORK_H
#define MUSTER_BOOT_BOOT_NETWORK_H

#include <netdb.h>

#include "boot/boot_state.h"
#include "core/handshake.h"

/*
 * Whom a rank speaks to is the hub, not rank 0: so another process that takes itself for rank 0
 * can ask, too.
 */
#define BOOT_HUB_NUMBER (UINT32_MAX - 1)
/* The longest frame that a rank sends. */
#define BOOT_RANK_FRAME_MAX (CONTROL_HEADER_SIZE + CONTROL_BLOB_MAX)
#define BOOT_ENDPOINT_MAX 128
/* A host from which nothing has come for so long, asked or not, is gone. */
#define BOOT_SILENCE_MS 20000

/* Where rank 0 listens. */
typedef struct boot_place {
    const char *address;    /* MASTER_ADDR, borrowed from the environment */
    const char *port;       /* MASTER_PORT, likewise */
    struct addrinfo *found; /* what the address means, in the order to be tried */
    /*
     * It is a name that means loopback on this host, as many a /etc/hosts has it, and perhaps not
     * on the others: rank 0 has to listen at the addresses that they know, too.
     */
    bool everywhere;
} boot_place_t;

#define BOOT_LISTENERS_MAX 8
typedef struct boot_listeners {
    int fds[BOOT_LISTENERS_MAX];
    unsigned count;
} boot_listeners_t;

/*
 * Listens at the place: at each address that it means here; everywhere: at MUSTER_BIND_ADDRESS
 * besides, or, where that is not set, at all addresses of this host. On failure nothing is open.
 */
muster_status_t boot_listen(const boot_place_t *place, boot_listeners_t *listeners,
                            muster_failure_t *failure);
void boot_stop_listening(boot_listeners_t *listeners);

/* "10.0.0.1:29500", "[::1]:29500" */
void boot_format_endpoint(const struct addrinfo *address, char text[BOOT_ENDPOINT_MAX]);

/*
 * For a connection between a rank and its hub, on both sides: nothing small is held back, and a
 * host that goes without a word is noticed within BOOT_SILENCE_MS, be the connection idle or not.
 * The host answers, not the process: who is stopped is not gone.
 */
void boot_prepare_socket(int fd);

/* This rank's identity for one handshake with the hub; key: boot->hub_key. */
void boot_identify(boot_t *boot, uint32_t number, handshake_identity_t *identity);

typedef enum boot_move { BOOT_MOVE_WAITS, BOOT_MOVE_MADE, BOOT_MOVE_BROKEN } boot_move_t;
/*
 * Reads and writes what goes without waiting. MADE: the handshake's state is not OPEN any more, and
 * what it had to say is sent.
 */
boot_move_t boot_move_handshake(int fd, handshake_t *handshake);

/* Rank 0: listens. */
muster_status_t boot_hub_open(boot_t *boot, const boot_place_t *place, muster_failure_t *failure);

/*
 * The others: connect, again and again until the deadline, and join. All of the place's addresses
 * are tried, however many: the next one after 250 ms while the ones before go on, eight at once.
 */
muster_status_t boot_connect(boot_t *boot, const boot_place_t *place, int64_t deadline_ns,
                             muster_failure_t *failure);

#endif
