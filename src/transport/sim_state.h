/* The insides of the simulated cluster, shared by sim.c, sim_link.c and sim_trace.c only. */
#ifndef MUSTER_TRANSPORT_SIM_STATE_H
#define MUSTER_TRANSPORT_SIM_STATE_H

#include "transport/sim.h"

/* A caller's buffers while the transport has them; digest: of what they held when lent. */
typedef struct sim_loan {
    transport_span_t spans[TRANSPORT_SPANS_MAX];
    size_t count;
    uint64_t digest;
    void *token;
    bool active;
} sim_loan_t;

struct sim_receipt;

typedef struct sim_message {
    struct sim_message *next;
    struct sim_receipt *receipt; /* of the loan that it was, until SENT; NULL */
    uint8_t header[WIRE_HEADER_SIZE];
    uint8_t *payload; /* length bytes; not filled while lent is active */
    size_t length;
    sim_loan_t lent;
    sim_loan_t placed;
    int64_t leaves;  /* not before this */
    int64_t arrives; /* an inline message whole, of a longer one the header; SIM_NEVER while held */
    int64_t ends;
    bool told;     /* the receiver knows the header */
    bool answered; /* and has said where the payload goes */
    bool cut;      /* the connection broke within it: the payload never comes */
} sim_message_t;

/* A SENT that is still to be told. */
typedef struct sim_receipt {
    struct sim_receipt *next;
    sim_message_t *message; /* NULL once it has been received: then the buffer may be written */
    sim_loan_t lent;
    int64_t time;
} sim_receipt_t;

/* One direction of a pair. */
typedef struct sim_link {
    uint32_t from;
    uint32_t to;
    sim_message_t *queued, **queued_end; /* have not left */
    sim_message_t *flying, **flying_end; /* have left and are not consumed */
    sim_receipt_t *receipts, **receipts_end;
    int64_t delay; /* usual for the pair */
    int64_t quiet; /* when all that has left has arrived */
    size_t unread; /* bytes that have left and are not consumed */
    bool held;
    bool closed;     /* nothing leaves any more */
    int64_t lost_at; /* when `to` learns that `from` is lost */
    bool lost_told;
    muster_status_t why;
    bool in_inbox;  /* of `to` */
    bool in_outbox; /* of `from` */
    sim_traffic_t traffic;
} sim_link_t;

typedef struct sim_rank {
    transport_t base; /* first: a transport_t * is a sim_rank_t * */
    sim_cluster_t *cluster;
    transport_peer_t description;
    sim_link_t **box; /* links at which something may have happened, in or out; 2*size at most */
    size_t box_count;
    sim_message_t *current; /* lent to the caller until the next poll */
    sim_link_t *unanswered; /* HEADER was told and `place` is due */
    int64_t deadline;       /* SIM_NEVER: none */
    int64_t clock_start;
    bool woken;
    bool paused;
    bool gone;
} sim_rank_t;

typedef struct sim_wakeup {
    int64_t time;
    uint64_t tie; /* drawn, so that what happens at one time has no habitual order */
    uint64_t serial;
    sim_link_t *link; /* NULL: an alarm */
    bool outward;     /* concerns the sender */
} sim_wakeup_t;

#define SIM_VIOLATION_MAX 256

struct sim_cluster {
    sim_options_t options;
    sim_random_t random;
    int64_t now;
    sim_rank_t *ranks;
    sim_link_t **links; /* from*size + to; NULL until used */
    sim_wakeup_t *heap;
    size_t heap_count, heap_size;
    uint64_t serial;
    uint64_t digest;
    char *trace;
    size_t trace_length;
    char violation[SIM_VIOLATION_MAX];
};

/* sim_trace.c */
void sim_record(sim_cluster_t *cluster, const char *what, uint32_t rank, uint32_t peer,
                const uint8_t *header, uint64_t length);
void sim_violate(sim_cluster_t *cluster, uint32_t rank, uint32_t peer, const char *what);
uint64_t sim_mix(uint64_t digest, uint64_t number);

/* sim.c */
void sim_schedule(sim_cluster_t *cluster, int64_t time, sim_link_t *link, bool outward);
bool sim_chance(sim_cluster_t *cluster, uint64_t chance, uint64_t of);
int64_t sim_draw_delay(sim_cluster_t *cluster);

/* sim_link.c; links never move. NULL: no memory. */
sim_link_t *sim_link(sim_cluster_t *cluster, uint32_t from, uint32_t to);
void sim_link_destroy(sim_link_t *link);
muster_status_t sim_link_send(sim_cluster_t *cluster, sim_link_t *link, const uint8_t *header,
                              const transport_span_t *spans, size_t span_count, void *token,
                              bool *done);
void sim_link_place(sim_cluster_t *cluster, sim_link_t *link, const transport_span_t *spans,
                    size_t span_count, void *token);
void sim_link_forget(sim_cluster_t *cluster, sim_link_t *link, bool outward, void *token);
/* What the receiver or the sender would be told now. */
bool sim_link_poll_in(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event);
bool sim_link_poll_out(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event);
void sim_link_release(sim_cluster_t *cluster, sim_link_t *link);
void sim_link_hold(sim_cluster_t *cluster, sim_link_t *link);

typedef enum sim_fate { SIM_KEEP_ALL, SIM_KEEP_SOME, SIM_KEEP_ARRIVED } sim_fate_t;
/* Nothing more leaves; `to` learns that `from` is lost once what the fate leaves has come. */
void sim_link_close(sim_cluster_t *cluster, sim_link_t *link, sim_fate_t fate, muster_status_t why);
void sim_message_destroy(sim_message_t *message);

#endif
