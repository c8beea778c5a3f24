/*
 * The contract of src/transport/transport.h as tests that every transport passes. A transport gives
 * a `contract_factory`; everything else is here. Most tests drive all ranks in one thread, round by
 * round; those in contract_threads.c give each rank a thread.
 */
#ifndef MUSTER_TESTS_CONTRACT_H
#define MUSTER_TESTS_CONTRACT_H

#include <check.h>

#include "transport/transport.h"

#define CONTRACT_RANKS_MAX 8

typedef struct contract_group {
    uint32_t size;
    transport_t *transports[CONTRACT_RANKS_MAX]; /* NULL: destroyed by the test */
    void *context;
} contract_group_t;

typedef struct contract_factory {
    const char *name;
    bool threads; /* the ranks of a group may be driven by different threads, and wait blocks */
    void (*create)(uint32_t size, contract_group_t *group);
    /* After the transports that are left were destroyed. */
    void (*destroy)(contract_group_t *group);
} contract_factory_t;

/* Each program of the suite defines it. */
extern const contract_factory_t contract_factory;

/* ---- Messages of the tests ------------------------------------------------------------------- */

/* A message's payload follows from its sequence number. */
void contract_fill(uint64_t sequence, uint8_t *bytes, size_t length);
bool contract_is(uint64_t sequence, const uint8_t *bytes, size_t length);
void contract_header(uint64_t sequence, size_t length, uint8_t header[WIRE_HEADER_SIZE]);
uint64_t contract_sequence(const uint8_t *header);
/* Divides bytes into count spans, uneven ones, some of them empty. */
void contract_spans(uint8_t *bytes, size_t length, size_t count, transport_span_t *spans);

/* ---- A group under test ---------------------------------------------------------------------- */

/* What a rank was told. */
typedef struct contract_event {
    transport_event_kind_t kind; /* HEADER only where it was left to the test to place */
    uint32_t peer;
    muster_status_t status;
    uint64_t sequence; /* MESSAGE, HEADER, RECEIVED */
    size_t length;
    bool good; /* MESSAGE, RECEIVED: the payload is the right one */
    void *token;
} contract_event_t;

/* A payload in memory of its own; the token of its send or placement. */
typedef struct contract_buffer {
    struct contract_buffer *next;
    uint64_t sequence;
    size_t length;
    uint8_t bytes[];
} contract_buffer_t;

typedef enum contract_policy {
    CONTRACT_TAKE, /* HEADER is answered with buffers of the driver's */
    CONTRACT_DROP, /* with none */
    CONTRACT_LEAVE /* by the test, which sees HEADER in the events: only with contract_poll */
} contract_policy_t;

typedef struct contract_rank {
    transport_t *transport;
    contract_policy_t policy;
    size_t place_spans;
    contract_event_t *events;
    size_t count;
    size_t room;
    size_t sends_under_way;     /* of contract_send: SENT is awaited */
    contract_buffer_t *buffers; /* all of them, freed at the end */
} contract_rank_t;

typedef struct contract {
    contract_group_t group;
    contract_rank_t ranks[CONTRACT_RANKS_MAX];
    uint32_t turn;
} contract_t;

void contract_begin(contract_t *contract, uint32_t size);
void contract_end(contract_t *contract);
/* Destroys the transport of a rank. */
void contract_leave(contract_t *contract, uint32_t rank);

/* One poll; what it told is appended to the rank's events and returned, NULL for nothing. */
contract_event_t *contract_poll(contract_rank_t *rank);
/* Polls every rank until it has nothing; waits a moment where none had. */
void contract_round(contract_t *contract);
/* Rounds until the condition holds; fails after a minute. */
#define CONTRACT_UNTIL(contract, condition)                                                        \
    do {                                                                                           \
        int64_t contract_limit_ = contract_deadline();                                             \
        while (!(condition)) {                                                                     \
            ck_assert_msg(contract_deadline() - contract_limit_ < INT64_C(60000000000),            \
                          "does not come true: " #condition);                                      \
            contract_round(contract);                                                              \
        }                                                                                          \
    } while (0)
int64_t contract_deadline(void);

/*
 * Sends the message of a sequence number from a buffer of its own, in so many spans. When the
 * transport is done with the buffer, it is written over. Returns the token, or NULL when it was
 * done at once.
 */
void *contract_send(contract_rank_t *rank, uint32_t peer, uint64_t sequence, size_t length,
                    size_t span_count);
/* Likewise, where the peer may be gone. */
muster_status_t contract_try_send(contract_rank_t *rank, uint32_t peer, uint64_t sequence,
                                  size_t length, size_t span_count);

size_t contract_count(const contract_rank_t *rank, transport_event_kind_t kind, uint32_t peer);
/* MESSAGE and RECEIVED. */
size_t contract_arrived(const contract_rank_t *rank, uint32_t peer);
/* That what arrived from peer is good and numbered first, first + 1, ...; and how much it is. */
void contract_in_order(const contract_rank_t *rank, uint32_t peer, uint64_t first, size_t count);
const contract_event_t *contract_find(const contract_rank_t *rank, transport_event_kind_t kind,
                                      uint32_t peer);
/* Each of ranks 0 and 1 hears from the other, so that whatever connects them is there. */
void contract_meet(contract_t *contract);

/* Deterministic chance. */
uint64_t contract_random(uint64_t *state);

void contract_add_carrying(TCase *tcase);
void contract_add_losing(TCase *tcase);
void contract_add_threads(TCase *tcase);

#endif
