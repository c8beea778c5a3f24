/*
 * The transport `tcp`: one duplex connection a pair of ranks, made when the first message needs it.
 *
 * Start: each rank creates its transport, which listens from then on; the ranks' addresses, blobs
 * of TCP_ADDRESS_SIZE bytes, are exchanged by somebody else; then each rank is given the table of
 * all. A peer that is quicker may connect before the own table is there.
 *
 * Who connects shows the job's secret first (core/handshake.h), and so does who is connected to;
 * before that nothing is allocated for a peer. Where two ranks connect to each other at once, one
 * connection stays: the lower rank's, unless the higher one's is through before it.
 *
 * Wherever it ends, a connection's end is told as LOST once what had arrived is delivered:
 * PEER_LOST for a peer that is gone or refuses connections, UNREACHABLE, VERSION_MISMATCH,
 * NOT_AUTHENTICATED, PROTOCOL. The peer's `why` (transport_peer_t) says more.
 */
#ifndef MUSTER_TRANSPORT_TCP_H
#define MUSTER_TRANSPORT_TCP_H

#include "transport/transport.h"

#define TCP_ADDRESS_SIZE 512
#define TCP_JOB_SIZE 16
#define TCP_SECRET_SIZE 32

typedef struct tcp_options {
    uint32_t rank;
    uint32_t size;
    uint8_t job[TCP_JOB_SIZE];
    uint8_t secret[TCP_SECRET_SIZE];
    /*
     * The numeric address to listen on, and the only one that is advertised: one of loopback to
     * peers of this host only. NULL: all of this host's; those that are not of loopback are
     * advertised to all, loopback to peers of this host.
     */
    const char *bind_address;
    uint16_t bind_port;      /* 0: any */
    int64_t connect_timeout; /* ns, from the first message to a connection; 0: 30 s */
    /*
     * ns, until one of the peer's addresses takes a connection, whatever its process does with it:
     * a stopped process is no unreachable one. 0: connect_timeout.
     */
    int64_t reach_timeout;
    uint32_t version;        /* of the protocol after the handshake; 0: WIRE_VERSION */
} tcp_options_t;

/*
 * A transport that listens. options is not kept. On failure, failure (may be NULL) names the
 * endpoint. INVALID_ARGUMENT: rank not below size, or no numeric address. ADDRESS_IN_USE.
 * ADDRESS_NOT_AVAILABLE: not one of this host. ENVIRONMENT: no descriptor, no permission.
 * NO_MEMORY.
 */
muster_status_t tcp_create(const tcp_options_t *options, transport_t **transport,
                           muster_failure_t *failure);

/* Writes where the transport can be reached, for the others' tables. */
void tcp_address(transport_t *transport, uint8_t address[TCP_ADDRESS_SIZE]);

/*
 * Takes the addresses of all ranks, size blobs in the order of ranks, which are copied. Called
 * once, before the first send. PROTOCOL: a blob that no Muster wrote, with its rank in the failure
 * (may be NULL). NO_MEMORY.
 */
muster_status_t tcp_connect_table(transport_t *transport, const uint8_t *addresses,
                                  muster_failure_t *failure);

/* What happened at the listening socket, since creation. */
typedef struct tcp_counters {
    uint64_t accepted; /* connections that were taken from the listening socket */
    uint64_t proven;   /* peers that showed the secret */
    uint64_t garbage;  /* closed for bytes that no Muster says, strangers included */
    uint64_t unproven; /* closed for a wrong MAC */
    uint64_t versions; /* refused for their version */
    uint64_t silent;   /* closed by the handshake's deadline or by the peer itself */
    uint64_t evicted;  /* closed for a newer one, as the oldest */
    uint64_t delays;   /* how often accepting was put off: failures, want of descriptors */
} tcp_counters_t;
tcp_counters_t tcp_counters(transport_t *transport);

#endif
