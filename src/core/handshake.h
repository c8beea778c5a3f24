/*
 * The handshake of two ranks' connection: bytes in, bytes out, and a decision. The one that
 * connects speaks first; each shows that it knows the job's secret, by a keyed digest (MAC) over
 * everything both have said. All numbers are little-endian. Until the decision nothing about the
 * peer is kept but this structure. These layouts are those of every version, so that two versions
 * can tell each other apart; `version` is that of what follows the handshake.
 *
 *   HELLO      0  "MUSTERhi"     8  version (4)   12  from (4)   16  to (4)   20  job (16)
 *             36  nonce (32)    68
 *   CHALLENGE  0  "MUSTERch"     8  version (4)   12  answer (4) 16  nonce (32)   48  MAC 'a' (32)
 *             80
 *   PROOF      0  MAC 'c' (32)  32
 *   ANSWER     0  "MUSTERan"     8  version (4)   12  answer (4) 16  MAC 'r' (32)   48
 *
 * CHALLENGE carries answer 0, or a refusal (handshake_answer_t) with zeros after it: nothing in it
 * is proven. The MACs are over: letter (1) answer (4; 0 in CHALLENGE and PROOF) version of the
 * connector (4) version of the acceptor (4) from (4) to (4) job (16) nonce of the connector (32)
 * nonce of the acceptor (32).
 *
 * Pure; not thread-safe; a handshake is a value and holds no memory.
 */
#ifndef MUSTER_CORE_HANDSHAKE_H
#define MUSTER_CORE_HANDSHAKE_H

#include "core/status.h"

#define HANDSHAKE_JOB_SIZE 16
#define HANDSHAKE_NONCE_SIZE 32
#define HANDSHAKE_MAC_SIZE 32
#define HANDSHAKE_MESSAGE_MAX 80
#define HANDSHAKE_SIGNED_SIZE 101 /* what a MAC is over */

/* X(NAME, status of who is refused): what an acceptor answers. */
#define HANDSHAKE_ANSWER_LIST(X)                                                                   \
    X(ACCEPT, MUSTER_OK)                                                                           \
    X(RETRY, MUSTER_IN_PROGRESS)        /* try again: I am connecting to you myself */             \
    X(DUPLICATE, MUSTER_DUPLICATE_RANK) /* we are connected already */                             \
    X(VERSION, MUSTER_VERSION_MISMATCH)                                                            \
    X(STRANGER, MUSTER_NOT_AUTHENTICATED) /* another job, or ranks that cannot be */               \
    X(LOST, MUSTER_PEER_LOST)             /* you are counted as lost */

typedef enum handshake_answer {
#define X(name, status) HANDSHAKE_##name,
    HANDSHAKE_ANSWER_LIST(X)
#undef X
        HANDSHAKE_ANSWER_COUNT
} handshake_answer_t;

/* The MAC of length bytes under the job's secret. */
typedef void (*handshake_mac_t)(void *context, const uint8_t *bytes, size_t length,
                                uint8_t mac[HANDSHAKE_MAC_SIZE]);

typedef enum handshake_state {
    HANDSHAKE_OPEN,  /* feed it what handshake_wants says, send what handshake_output has */
    HANDSHAKE_ASKS,  /* acceptor: `from` has shown the secret and awaits handshake_answer */
    HANDSHAKE_DONE,  /* up, once the output has been sent */
    HANDSHAKE_FAILED /* `status` says why; the output, if any, is still to be sent; then close */
} handshake_state_t;

typedef struct handshake {
    handshake_state_t state;
    muster_status_t status;    /* FAILED */
    handshake_answer_t answer; /* given or, by a connector, received */
    bool authentic;        /* the peer has shown the secret: status and peer_version are proven */
    bool accepts;          /* role */
    uint8_t step;          /* messages that were read whole */
    uint32_t version;      /* own */
    uint32_t peer_version; /* from the peer's first message on */
    uint32_t from;         /* acceptor: valid from ASKS on; before that, what the peer says */
    uint32_t to;
    uint32_t size; /* of the job */
    uint8_t job[HANDSHAKE_JOB_SIZE];
    uint8_t own_nonce[HANDSHAKE_NONCE_SIZE];
    uint8_t peer_nonce[HANDSHAKE_NONCE_SIZE];
    handshake_mac_t mac;
    void *mac_context;
    uint8_t input[HANDSHAKE_MESSAGE_MAX];
    size_t input_length;
    uint8_t output[HANDSHAKE_MESSAGE_MAX];
    size_t output_length;
    size_t output_sent;
} handshake_t;

/* Who we are, for both roles. nonce: fresh random bytes, for one handshake. */
typedef struct handshake_identity {
    uint32_t version;
    uint32_t rank;
    uint32_t size;
    uint8_t job[HANDSHAKE_JOB_SIZE];
    handshake_mac_t mac;
    void *mac_context; /* borrowed as long as the handshake lasts */
} handshake_identity_t;

/* Begins as the one that connects to rank `to`; output is there at once. */
void handshake_connect(handshake_t *handshake, const handshake_identity_t *identity, uint32_t to,
                       const uint8_t nonce[HANDSHAKE_NONCE_SIZE]);
/* Begins as the one that was connected to. */
void handshake_accept(handshake_t *handshake, const handshake_identity_t *identity,
                      const uint8_t nonce[HANDSHAKE_NONCE_SIZE]);

/* How many bytes it takes next, at most: never more than belong to the handshake. 0: none now. */
size_t handshake_wants(const handshake_t *handshake);
/* Feeds length bytes, 1 to handshake_wants, and returns the new state. */
handshake_state_t handshake_input(handshake_t *handshake, const uint8_t *bytes, size_t length);

/* The bytes to send, borrowed until the next call; returns how many. */
size_t handshake_output(const handshake_t *handshake, const uint8_t **bytes);
void handshake_sent(handshake_t *handshake, size_t length);

/* Acceptor in ASKS: DONE after ACCEPT, otherwise FAILED with the answer's status. */
void handshake_answer(handshake_t *handshake, handshake_answer_t answer);

/* The status of who is refused with an answer; PROTOCOL for numbers that are none. */
muster_status_t handshake_answer_status(uint32_t answer);

#endif
