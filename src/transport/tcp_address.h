/*
 * Where a rank of the transport `tcp` can be reached, and the blob that tells the others:
 *
 *      0  "MTCP"   4  form (1) = 1   count (1)   zero (2)   8  pid (4)   zero (4)
 *     16  host id (16)
 *     32  host name (64), zero-padded and closed
 *     96  20 endpoints of 20 bytes: reach (1)   family (1): 4, 6   port (2)   address (16)
 *    496  zero (16)
 *    512
 *
 * Numbers are little-endian; addresses are in network order, IPv4 ones zero-padded.
 */
#ifndef MUSTER_TRANSPORT_TCP_ADDRESS_H
#define MUSTER_TRANSPORT_TCP_ADDRESS_H

#include "core/status.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define TCP_ENDPOINTS_MAX 20
#define TCP_HOST_ID_SIZE 16

typedef enum tcp_reach {
    TCP_REACH_HOST = 1, /* of loopback: for peers on the same host only */
    TCP_REACH_ALL = 2
} tcp_reach_t;

typedef struct tcp_endpoint {
    uint8_t reach;
    uint8_t family; /* 4, 6 */
    uint16_t port;
    uint8_t address[16];
} tcp_endpoint_t;

typedef struct tcp_location {
    uint8_t host_id[TCP_HOST_ID_SIZE]; /* the same where loopback is the same */
    uint32_t pid;
    char host[MUSTER_HOST_MAX];
    uint32_t count;
    tcp_endpoint_t endpoints[TCP_ENDPOINTS_MAX];
} tcp_location_t;

/* bytes: TCP_ADDRESS_SIZE of them. Decoding is false for bytes that no Muster writes. Pure. */
void tcp_location_encode(const tcp_location_t *location, uint8_t *bytes);
bool tcp_location_decode(const uint8_t *bytes, tcp_location_t *location);

/* Fills in this process's host id, pid and host name. Does not block. */
void tcp_location_describe(tcp_location_t *location);

/*
 * Fills in the endpoints of a socket that is bound to `bound`: its address, or, where that is the
 * one that means all, those of the interfaces that are up, the default route's first, at most
 * TCP_ENDPOINTS_MAX. ENVIRONMENT: interfaces cannot be listed.
 */
muster_status_t tcp_location_advertise(tcp_location_t *location,
                                       const struct sockaddr_storage *bound);

/*
 * The endpoints at which one who stands at `own` tries to reach `peer`, in order: those of
 * loopback on the same host, never from another. endpoints: TCP_ENDPOINTS_MAX of them. Returns how
 * many. Pure.
 */
uint32_t tcp_location_choose(const tcp_location_t *own, const tcp_location_t *peer,
                             tcp_endpoint_t *endpoints);

/* As a socket address; returns its length. */
socklen_t tcp_endpoint_socket(const tcp_endpoint_t *endpoint, struct sockaddr_storage *address);
/* "127.0.0.1:80", "[::1]:80" */
void tcp_endpoint_print(const tcp_endpoint_t *endpoint, text_t *text);

#endif
