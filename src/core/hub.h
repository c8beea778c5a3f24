/*
 * The hub of a job: knows who has joined, collects every rank's address, hands out the table of all
 * of them, and tells everybody who was lost and who has left. The launcher runs one, and so does
 * rank 0 where the environment says who is who.
 *
 * A member is AWAITED, then JOINED, then LEFT or LOST; a member that is awaited can be lost, too.
 * An exchange is over for everybody when each member has given its address: never when one is lost
 * or has left, so all ranks end it the same way. There may be several exchanges, one after the
 * other.
 *
 * Pure: what is to be sent goes to the function given at the beginning, which must not call back.
 * One thread at a time.
 */
#ifndef MUSTER_CORE_HUB_H
#define MUSTER_CORE_HUB_H

#include "core/control.h"

typedef enum hub_state { HUB_AWAITED = 0, HUB_JOINED, HUB_LEFT, HUB_LOST } hub_state_t;

typedef struct hub_member {
    hub_state_t state;
    bool addressed; /* in the exchange under way */
    uint32_t pid;   /* 0: not known */
    char host[MUSTER_HOST_MAX];
    char how[CONTROL_HOW_MAX]; /* LOST */
} hub_member_t;

/* Sends message to a rank that has joined; the message is borrowed until it returns. */
typedef void (*hub_send_t)(void *owner, uint32_t rank, const control_message_t *message);

typedef struct hub {
    uint32_t size;
    uint32_t blob_length; /* of the exchange under way, 0: nobody has given an address yet */
    uint64_t exchanges;   /* that are over */
    bool expired;         /* an exchange was given up: there are no more */
    hub_send_t send;
    void *owner;
    uint32_t gone_count;
    uint32_t gone_before_expiry;
    hub_member_t *members; /* size of them */
    uint32_t *gone;        /* who was lost or has left, in the order in which it happened */
    uint8_t *blobs;        /* size * CONTROL_BLOB_MAX; packed by blob_length */
} hub_t;

/* Bytes that hub_begin takes, or 0 where size (at least 1) is too large for the machine. */
size_t hub_memory(uint32_t size);
/*
 * memory: hub_memory bytes, aligned as malloc does, the caller's to free when hub is not used any
 * more.
 */
void hub_begin(hub_t *hub, uint32_t size, void *memory, hub_send_t send, void *owner);

/*
 * An awaited rank joins; it is told what it has missed, in the order in which it happened, so that
 * everybody sees the same first cause. The caller has sent
 * WELCOME. false, and nothing is done: it is not awaited.
 */
bool hub_join(hub_t *hub, uint32_t rank, uint32_t pid, const char *host);
/* false, and nothing is done: out of turn, or of another length than the others' addresses. */
bool hub_address(hub_t *hub, uint32_t rank, const uint8_t *blob, uint32_t length);
/*
 * The rank's deadline is about to pass: the exchange is given up, everybody hears who is missing.
 */
void hub_expire(hub_t *hub, uint32_t rank);
/* A joined rank leaves properly; otherwise nothing is done. */
void hub_leave(hub_t *hub, uint32_t rank);
/*
 * The rank's process has ended: nothing is done where it has left or is lost already. how: "killed
 * by signal 9"; the step of start-up is added to it. pid: where the rank has not said it, or 0.
 */
void hub_lose(hub_t *hub, uint32_t rank, uint32_t pid, const char *how);
/*
 * A message of a rank that has joined: one of the three above. NULL: it was taken. Otherwise what
 * the rank did wrong, for hub_lose.
 */
const char *hub_take(hub_t *hub, uint32_t rank, const control_message_t *message);

/*
 * What is said to who does not join, besides pid and host of the hub, which the caller fills in.
 * hub: who that is ("rank 0"). False, and nothing is done: its version is the hub's.
 */
bool hub_refuses_version(const char *hub, uint32_t rank, uint32_t version,
                         control_message_t *refusal);
/* Of another process, which holds the rank. */
void hub_refuse_duplicate(uint32_t rank, uint32_t pid, const char *host,
                          control_message_t *refusal);

/* Nobody is awaited or joined any more. */
bool hub_over(const hub_t *hub);
/*
 * The ranks that have not given their address, as at most CONTROL_RANGES_MAX ranges; returns how
 * many.
 */
uint32_t hub_missing(const hub_t *hub, muster_rank_range_t *ranges);

#endif
