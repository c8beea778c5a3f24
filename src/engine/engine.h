/*
 * The engine: runs schedules over a transport. It owns the lock, the progress loop and the table of
 * communicators of one context. It reads time and chance from its transport only, so that it runs
 * unchanged in the simulator.
 *
 * All functions of src/engine are called with engine_lock held, unless stated otherwise. None
 * blocks but engine_wait.
 */
#ifndef MUSTER_ENGINE_ENGINE_H
#define MUSTER_ENGINE_ENGINE_H

#include <pthread.h>

#include "core/settings.h"
#include "transport/transport.h"

#define ENGINE_DEFAULT_TIMEOUT INT64_C(60000000000) /* ns */
#define ENGINE_GRACE INT64_C(2000000000)            /* after a deadline, for the decider's answer */
#define ENGINE_INQUIRY INT64_C(1000000000)          /* the decider waits so long for answers */
/* a decider that waits looks around; then after twice the time */
#define ENGINE_LOOK INT64_C(100000000)
#define ENGINE_RETRY INT64_C(5000000)      /* between attempts to send without memory */
#define ENGINE_EARLY_MAX ((size_t)1 << 30) /* bytes of early messages that are kept */
#define ENGINE_HOW_MAX 256                 /* bytes that say how a rank ended */
/* destroyed communicators whose handles are known */
#define ENGINE_GRAVES 64

struct creation;
typedef struct farewell farewell_t;
struct control;
struct early;
struct muster_request;

typedef struct engine {
    transport_t *transport;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a waiter may have something to see; CLOCK_MONOTONIC */
    bool polling;           /* a thread is inside transport wait, without the lock */
    /* what it waits for; NULL: it is awake, or has been woken */
    bool (*polled)(void *argument);
    void *polled_for;
    unsigned waiters;    /* threads that wait on changed */
    uint64_t progressed; /* counts progress calls; the keeper looks whether it moved */
    uint32_t rank;       /* world */
    uint32_t size;
    settings_t *settings; /* owned; the same on every rank */
    /* takes what log_choice asks for; NULL: nobody */
    void (*log)(const char *line, void *argument);
    void *log_argument;
    int64_t timeout;      /* default, ns; INT64_MAX: none */
    int64_t polled_until; /* when the polling thread's wait ends at the latest */
    bool shutting_down;

    muster_comm_t *comms; /* linked by next */
    muster_comm_t *last;  /* found last */
    muster_comm_t *world;
    struct farewell *farewell;            /* where all ranks meet before they leave */
    muster_comm_t *retired, *retired_end; /* nobody holds them, linked by next_retired, in order */
    unsigned retired_count;
    muster_comm_t *graves; /* destroyed lately: their handles are still told from good ones */
    unsigned grave_count;
    const volatile uint8_t *alive;   /* 0 in a forked child; the caller's */
    struct muster_request *active;   /* started and not finished, linked */
    struct muster_request *finished; /* finished, a handle points to them, linked */
    struct muster_request *callbacks, *callbacks_end; /* finished, their callback has to be run */
    struct calling *calling; /* callbacks that run, each on its thread's stack, linked */

    struct creation *creations; /* pending, as creator or member */
    struct early *claims;       /* CLAIM messages whose creation has not been called here */
    struct early *orphans;      /* messages of communicators that are being created here */
    /* long messages that are being received without a place of their own */
    struct early *filling;
    struct control *controls;            /* control messages on their way */
    struct control *spare;               /* for one that finds no memory; NULL: under way */
    struct control *unsent, *unsent_end; /* for which the transport had no memory, in order */
    int64_t retry;                       /* when they are sent again */
    uint32_t creation_count;             /* made by this rank as creator */
    uint64_t claim_count;                /* claims sent; each has a number */
    size_t early_bytes;

    uint8_t *gone;               /* by world rank: engine_gone_t */
    char (*how)[ENGINE_HOW_MAX]; /* by world rank: how it ended, as far as known */
    uint64_t late_messages;      /* of communicators that are gone */
    uint64_t bad_messages;       /* that no Muster sends */
} engine_t;

typedef enum engine_gone { ENGINE_HERE = 0, ENGINE_LEFT, ENGINE_LOST } engine_gone_t;

/*
 * Takes the transport over: engine_destroy destroys it. timeout in ns, INT64_MAX: none. settings
 * are copied; NULL: the built-in ones.
 */
muster_status_t engine_create(transport_t *transport, int64_t timeout, muster_outcome_t outcome,
                              const settings_t *settings, engine_t **engine);
/* Cancels and frees everything, communicators and requests too. Without the lock. */
void engine_destroy(engine_t *engine);

void engine_lock(engine_t *engine);
/*
 * Frees communicators of which nothing is needed any more, too: no pointer to one that is not held
 * is good afterwards. Wakes the thread that sleeps in the transport where what it waits for holds.
 */
void engine_unlock(engine_t *engine);
int64_t engine_now(engine_t *engine);

_Static_assert(ENGINE_INQUIRY < ENGINE_GRACE, "who asks hears of an inquiry before it gives up");

/*
 * One round: everything that has arrived, and every deadline that has passed. Never blocks. Gives
 * the lock up around completion callbacks, which may start operations and destroy requests and
 * communicators: what is looked at afterwards has to be held.
 */
void engine_progress(engine_t *engine);

/*
 * Makes progress until done(argument) holds or the deadline (ns, INT64_MAX: none) has passed; true
 * where it holds. Gives the lock up while it sleeps, and around callbacks as engine_progress does.
 * The deadline is tested after progress. done is called with the lock, from any thread.
 */
bool engine_wait(engine_t *engine, bool (*done)(void *argument), void *argument, int64_t deadline);

/* Sleeps, the lock given up, until another thread may have changed something, or for no reason. */
void engine_await(engine_t *engine);

/* The earliest time at which engine_progress has something to do by itself; INT64_MAX: none. */
int64_t engine_next_deadline(const engine_t *engine);

/*
 * Somebody who knows says that the rank's process has ended (lost) or has left properly, and how.
 * What has arrived from it counts: the loss is acted on when the transport has delivered that.
 */
void engine_hear_gone(engine_t *engine, uint32_t world_rank, engine_gone_t gone, const char *how);

/* A LEAVE message has come: the peer leaves properly, nothing follows from it. */
void engine_peer_leaves(engine_t *engine, uint32_t peer);

/*
 * Sends a control message (its payload is copied). Nothing happens where the peer is gone. Without
 * memory it is sent later; the peer is lost where even that cannot be remembered, or lasts.
 */
void engine_send(engine_t *engine, uint32_t peer, const wire_message_t *message,
                 const uint8_t *payload);
/* Nothing that was sent is still in this process. */
bool engine_is_flushed(const engine_t *engine);

/* Absolute deadline of a timeout; fallback where it is not given. */
int64_t engine_deadline(engine_t *engine, muster_timeout_t timeout, int64_t fallback);

/* What a token of the transport names: the first member of every structure that is used as one. */
typedef enum transfer_kind {
    TRANSFER_SEND,    /* a request's send */
    TRANSFER_RECEIVE, /* a request's receive, straight into its place */
    TRANSFER_EARLY,   /* an early_t is being filled */
    TRANSFER_CONTROL  /* a control_t is being sent */
} transfer_kind_t;
typedef struct transfer {
    uint8_t kind;
    uint32_t index;
    struct muster_request *request;
    void *packed; /* owned: a packed copy of what is sent or received; NULL */
} transfer_t;

#endif
