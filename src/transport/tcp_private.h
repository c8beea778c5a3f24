/*
 * What the files of the transport `tcp` share:
 *
 *   tcp.c          the operations, the order in which poll looks at things
 *   tcp_wait.c     waiting and waking
 *   tcp_peer.c     a peer's messages that wait to be sent, and its loss
 *   tcp_stream.c   a connection that is up: reading and writing
 *   tcp_listen.c   the listening socket and the handshakes of those who connect
 *   tcp_connect.c  making a connection: addresses, deadlines, the handshake
 *   tcp_address.c  addresses
 *
 * Everything is under the caller's lock, except the members of tcp_transport_t that are marked.
 */
#ifndef MUSTER_TRANSPORT_TCP_PRIVATE_H
#define MUSTER_TRANSPORT_TCP_PRIVATE_H

#include "core/handshake.h"
#include "transport/pace.h"
#include "transport/tcp.h"
#include "transport/tcp_address.h"

#include <stdatomic.h>
#include <sys/types.h>

#define TCP_BUFFER_SIZE ((size_t)64 << 10) /* of each connection, for reading */
#define TCP_COPIED_MAX ((size_t)256 << 10) /* of small messages that wait as copies, a peer */
#define TCP_SLOTS 64                       /* handshakes of those who connect */
#define TCP_TRIES 8                        /* addresses of a peer that are tried at once */
#define TCP_EVENTS 64                      /* that are fetched from the kernel at once */
#define TCP_DIRECT_MAX 3                   /* so many are read without asking which */
#define TCP_NEVER INT64_MAX
#define TCP_WHY_MAX 400

/* What a descriptor is, in the upper half of its event's data; the lower half says which. */
typedef enum tcp_tag {
    TCP_TAG_WAKE,
    TCP_TAG_LISTEN,
    TCP_TAG_SLOT,  /* index */
    TCP_TAG_TRY,   /* peer * TCP_TRIES + index */
    TCP_TAG_STREAM /* peer */
} tcp_tag_t;

/* A message, or what is left of one, that waits to be written. */
typedef struct tcp_send {
    struct tcp_send *next;
    void *token;
    bool borrowed; /* the spans are the caller's, SENT follows; otherwise they are in `copy` */
    uint32_t peer;
    size_t header_left;
    size_t payload_left;
    size_t span; /* the first that is not wholly written, and how far it is */
    size_t span_offset;
    size_t span_count;
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    uint8_t header[WIRE_HEADER_SIZE];
    uint8_t copy[];
} tcp_send_t;

/* A connection that is up. */
typedef struct tcp_stream {
    int descriptor;
    uint32_t peer;
    uint32_t index;      /* in streams */
    bool waits_for_room; /* registered for writing */
    bool unplaced;       /* HEADER was told, place has not answered */
    bool receiving;      /* a payload of `left` more bytes goes to spans, or nowhere */
    bool dropping;
    bool doomed; /* ends once what has arrived is read; in the list of doomed ones */
    bool ended;  /* nothing more can be read; status and why are set */
    muster_status_t status;
    char why[TCP_WHY_MAX];
    struct tcp_stream *next_doomed;
    void *token;
    size_t left;
    size_t span;
    size_t span_offset;
    size_t span_count;
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    size_t begin; /* of what is in the buffer and not yet told */
    size_t end;
    uint8_t buffer[TCP_BUFFER_SIZE];
} tcp_stream_t;

/* An address that is being tried. */
typedef struct tcp_try {
    int descriptor; /* -1: free */
    bool connected;
    int64_t begin;
    handshake_t handshake;
} tcp_try_t;

/*
 * A connection that is being made. Rounds over all addresses follow each other until the deadline.
 */
typedef struct tcp_attempt {
    struct tcp_attempt *previous;
    struct tcp_attempt *next;
    uint32_t peer;
    bool resting; /* between two rounds: nothing is open */
    bool reached; /* one of the addresses has taken a connection */
    int64_t reach_deadline;
    int64_t deadline;
    int64_t due;   /* when the next address or round is due */
    int64_t pause; /* before the next round */
    uint32_t count;
    uint32_t next_endpoint;
    tcp_endpoint_t endpoints[TCP_ENDPOINTS_MAX];
    tcp_try_t tries[TCP_TRIES];
    /* How many of the round's addresses ended how. */
    uint32_t refused;
    uint32_t absent; /* no way there from here */
    uint32_t unreachable;
    uint32_t unproven;
    uint32_t again;
    int last_error;
    uint32_t other_version;         /* of who showed the secret, where versions differ */
    muster_status_t proven_refusal; /* OK: none */
} tcp_attempt_t;

typedef enum tcp_state { TCP_IDLE, TCP_CONNECTING, TCP_UP, TCP_LOST } tcp_state_t;

typedef struct tcp_peer {
    transport_peer_t about;
    tcp_state_t state;
    bool closed; /* sends fail: lost, or soon will be */
    muster_status_t status;
    tcp_stream_t *stream;
    tcp_attempt_t *attempt;
    tcp_send_t *first;
    tcp_send_t **last;
    size_t copied; /* bytes in copies that wait */
    char *why;     /* owned */
    struct tcp_peer *next_lost;
} tcp_peer_t;

typedef struct tcp_slot {
    int descriptor; /* -1: free */
    int64_t begin;
    handshake_t handshake;
} tcp_slot_t;

typedef struct tcp_transport {
    transport_t base;
    handshake_identity_t identity;
    uint8_t secret[TCP_SECRET_SIZE];
    int64_t connect_timeout;
    int64_t reach_timeout;
    tcp_location_t own;
    bool has_table;
    uint8_t *table; /* size blobs */
    tcp_peer_t *peers;

    int listener;
    bool listening; /* registered; otherwise put off until resume */
    int64_t resume;
    int64_t failures_since;
    uint32_t failures;
    uint32_t slots_used;
    tcp_slot_t slots[TCP_SLOTS];
    tcp_counters_t counters;

    tcp_attempt_t *attempts;
    tcp_stream_t **streams; /* stream_count, room for size */
    uint32_t stream_count;
    uint32_t rooms_awaited; /* streams that wait for room */
    tcp_stream_t *doomed;
    tcp_stream_t *unplaced;

    size_t queued; /* messages that wait to be written */
    tcp_send_t *sent;
    tcp_send_t **sent_last;
    tcp_peer_t *lost;
    tcp_peer_t **lost_last;

    /* Where poll is. */
    tcp_stream_t *current;
    uint64_t ready[TCP_EVENTS];
    uint32_t ready_events[TCP_EVENTS];
    uint32_t ready_next;
    uint32_t ready_count;
    uint32_t rotor;
    uint32_t polls; /* since the kernel was asked */

    /* Also used by wait and wake, without the lock. */
    int epoll;
    int wake;
    atomic_bool pending;   /* poll may have something that no descriptor shows */
    atomic_bool attention; /* something other than a stream's arrival was seen */
    atomic_bool woken;
    atomic_bool blocking; /* a wait is, or soon will be, in the kernel */
    pace_t pace;
    _Atomic int64_t timer; /* when poll has something to do by the clock */
} tcp_transport_t;

/* tcp_wait.c */
int64_t tcp_clock(void);
/* Poll has something at that time at the latest; a waiter learns it. */
void tcp_timer(tcp_transport_t *tcp, int64_t time);
/* Poll has something now. */
void tcp_alert(tcp_transport_t *tcp);
/* As in transport.h. */
void tcp_wait(transport_t *transport, int64_t timeout_ns);
void tcp_wake(transport_t *transport);
int64_t tcp_now(transport_t *transport);

/* tcp.c */
bool tcp_watch(tcp_transport_t *tcp, int operation, int descriptor, uint32_t events, tcp_tag_t tag,
               uint32_t which);
void tcp_nonce(uint8_t nonce[HANDSHAKE_NONCE_SIZE]);
/* No delay of small messages; probes of an idle connection, so that the end of a host is seen. */
void tcp_socket_options(int descriptor);

typedef enum tcp_progress {
    TCP_WAITS, /* for the peer */
    TCP_MOVED, /* the handshake's state tells: ASKS, DONE or FAILED */
    TCP_CLOSED /* the connection ended */
} tcp_progress_t;
/* Sends and reads what a handshake wants, without blocking. */
tcp_progress_t tcp_handshake_move(int descriptor, handshake_t *handshake);

/* tcp_peer.c */
/*
 * length bytes of payload, of which skip bytes of header and payload are written; copied: not
 * borrowed.
 */
tcp_send_t *tcp_send_create(const uint8_t *header, const transport_span_t *spans, size_t span_count,
                            size_t length, size_t skip, bool copied);
void tcp_send_advance(tcp_send_t *send, size_t written);
void tcp_peer_queue(tcp_transport_t *tcp, tcp_peer_t *peer, tcp_send_t *send);
/* Takes the first, which is written. */
void tcp_peer_sent(tcp_transport_t *tcp, tcp_peer_t *peer);
void tcp_peer_drop(tcp_transport_t *tcp, tcp_peer_t *peer);
/* False where a copy had no memory: nothing was done to that message. */
bool tcp_peer_forget(tcp_transport_t *tcp, tcp_peer_t *peer, void *token);
/* Closes what there is to the peer; LOST follows. why: one line. */
void tcp_peer_lose(tcp_transport_t *tcp, tcp_peer_t *peer, muster_status_t status, const char *why);

/* tcp_stream.c */
/* Takes the descriptor over and begins to write what waits; false for want of memory. */
bool tcp_stream_begin(tcp_transport_t *tcp, uint32_t peer, int descriptor);
void tcp_stream_close(tcp_transport_t *tcp, tcp_stream_t *stream);
/* Reads once; true when something was read or the end was seen. */
bool tcp_stream_read(tcp_transport_t *tcp, tcp_stream_t *stream);
/* The next event out of what was read. */
bool tcp_stream_next(tcp_transport_t *tcp, tcp_stream_t *stream, transport_event_t *event);
/* Writes what waits, as much as goes. */
void tcp_stream_flush(tcp_transport_t *tcp, tcp_stream_t *stream);
/*
 * length: of all spans. Bytes that were written at once, 0 to all of them; -1: the connection is
 * broken, and doomed.
 */
ssize_t tcp_stream_write(tcp_transport_t *tcp, tcp_stream_t *stream, const uint8_t *header,
                         const transport_span_t *spans, size_t span_count, size_t length);
void tcp_stream_await_room(tcp_transport_t *tcp, tcp_stream_t *stream, bool wanted);
void tcp_stream_place(tcp_stream_t *stream, const transport_span_t *spans, size_t span_count,
                      void *token);
/* It ends once what has arrived is read. */
void tcp_stream_doom(tcp_transport_t *tcp, tcp_stream_t *stream, muster_status_t status,
                     const char *why);

/* tcp_listen.c */
muster_status_t tcp_listen_open(tcp_transport_t *tcp, const tcp_options_t *options,
                                muster_failure_t *failure);
void tcp_listen_accept(tcp_transport_t *tcp);
void tcp_listen_slot(tcp_transport_t *tcp, uint32_t index);
/* Does what is due; returns when it wants to be called next. */
int64_t tcp_listen_tick(tcp_transport_t *tcp, int64_t now);
void tcp_listen_close(tcp_transport_t *tcp);

/* tcp_connect.c */
bool tcp_connect_begin(tcp_transport_t *tcp, uint32_t peer);
/* Whether the peer may accept one of the attempt's connections: its proof is under way. */
bool tcp_connect_is_shown(const tcp_attempt_t *attempt);
void tcp_connect_try(tcp_transport_t *tcp, uint32_t peer, uint32_t index);
int64_t tcp_connect_tick(tcp_transport_t *tcp, int64_t now);
/* Gives up quietly: another connection to the peer is up, or it is lost. */
void tcp_connect_end(tcp_transport_t *tcp, tcp_peer_t *peer);

#endif
