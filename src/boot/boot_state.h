/* What the files of boot share. */
#ifndef MUSTER_BOOT_BOOT_STATE_H
#define MUSTER_BOOT_BOOT_STATE_H

#include <sys/types.h>

#include "boot/boot.h"
#include "boot/boot_link.h"

typedef struct boot_hub boot_hub_t;

/* What this rank has been told of another. */
typedef struct boot_member {
    enum { BOOT_MEMBER_PRESENT = 0, BOOT_MEMBER_LOST, BOOT_MEMBER_LEFT } state;
    uint32_t pid;
    char host[MUSTER_HOST_MAX];
    char how[CONTROL_HOW_MAX];
} boot_member_t;

/* An exchange under way, and what ended it. */
typedef struct boot_exchange_state {
    enum {
        BOOT_EXCHANGE_NONE = 0, /* none is under way */
        BOOT_EXCHANGE_OPEN,
        BOOT_EXCHANGE_DONE,
        BOOT_EXCHANGE_LOST,    /* rank was lost or has left */
        BOOT_EXCHANGE_MISSING, /* given up, given_up says why */
    } state;
    uint8_t *all;
    uint32_t length;
    uint32_t received; /* blobs, in rank order */
    uint32_t rank;
} boot_exchange_state_t;

struct boot {
    uint32_t rank;
    uint32_t size;
    uint8_t secret[CONTROL_SECRET_SIZE];
    uint8_t job[CONTROL_JOB_SIZE];
    uint8_t hub_key[CONTROL_SECRET_SIZE]; /* environment: for handshakes with the hub */
    uint8_t hub_name[CONTROL_JOB_SIZE];   /* environment: which job the hub's is */
    bool launched;                        /* the hub is the launcher */
    pid_t pid;                            /* of the process that opened it */
    int epoll;                            /* -1: a job of one */
    boot_link_t link;                     /* to the hub; not open on rank 0 of the environment */
    boot_hub_t *hub;                      /* rank 0 of the environment */
    bool welcomed;
    bool left;
    boot_member_t *members; /* size of them */
    uint32_t *events;       /* ranks with an event to tell: each at most once, so size of them */
    uint32_t event_count;
    uint32_t event_next;
    boot_exchange_state_t exchange;
    control_message_t given_up; /* kind MISSING: there are no more exchanges, this is why */
    uint32_t given_up_after;    /* so many events */
    control_message_t refusal;  /* kind REFUSED: the hub has refused this rank */
};

int64_t boot_now(void); /* CLOCK_MONOTONIC in ns */
/* Milliseconds for poll until time, rounded up, at most one hour. */
int boot_milliseconds_until(int64_t time);

/* Fills failure (may be NULL) and returns status. rank may be MUSTER_NO_RANK. */
muster_status_t boot_fail(muster_failure_t *failure, muster_status_t status, uint32_t rank,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A boot without a connection; NULL: no memory. */
boot_t *boot_new(void);
/* Room for what is known of size members; false: no memory. */
bool boot_set_size(boot_t *boot, uint32_t rank, uint32_t size);
/* Makes the epoll descriptor and puts the link to the hub on it. */
bool boot_watch(boot_t *boot);
/*
 * Joins over the link, which stands: sends JOIN and blocks for WELCOME or REFUSED. hub: who
 * answers, for messages ("the launcher").
 */
muster_status_t boot_join(boot_t *boot, const char *hub, int64_t deadline_ns,
                          muster_failure_t *failure);
/* One message from the hub; false: it does not follow the protocol. */
bool boot_receive(boot_t *boot, const control_message_t *message);
/* A rank is known to be lost; nothing where it has left or is known to be lost already. */
void boot_mark_lost(boot_t *boot, uint32_t rank, uint32_t pid, const char *host, const char *how);

muster_status_t boot_open_launcher(boot_t *boot, const char *descriptor, int64_t deadline_ns,
                                   muster_failure_t *failure);
/* MUSTER_OK with size 1 and no connection where the environment says nothing: a job of one. */
muster_status_t boot_open_environment(boot_t *boot, int64_t deadline_ns, muster_failure_t *failure);

/* Rank 0 of the environment: what it does for all, waiting at most so long for something to do. */
void boot_hub_pump(boot_t *boot, int timeout_ms);
/* What the other ranks say by a message, rank 0 says by a call. */
void boot_hub_address(boot_t *boot, const uint8_t *blob, uint32_t length);
void boot_hub_expire(boot_t *boot);
void boot_hub_leave(boot_t *boot);
/* Blocks until every rank has joined, and so been told who was lost, or the deadline has passed. */
void boot_hub_tell_all(boot_t *boot, int64_t deadline_ns);
/* In a forked child, which has none of them: before boot_hub_close. */
void boot_hub_forget_descriptors(boot_t *boot);
/* flush: waits up to until for what was said to be sent. */
void boot_hub_close(boot_t *boot, bool flush, int64_t until);

#endif
