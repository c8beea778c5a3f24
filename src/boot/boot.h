/*
 * Who am I, and who are the others. A boot is this process's place in its job: it finds the job,
 * hands every rank's address to every rank, and hears who was lost and who has left.
 *
 * Three kinds, looked for in this order:
 *
 *   launcher      MUSTER_CONTROL_FD names a descriptor on which `muster run` takes connections.
 *   environment   RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them. Rank 0
 *                 listens there and is the hub; the others keep a connection to it. MUSTER_SECRET
 *                 (64 hexadecimal digits) or MUSTER_SECRET_FILE (a file that holds them) is the
 *                 job's secret. On a loopback address it may be left out: then it is made from
 *                 what the ranks know of their job (MASTER_PORT; MUSTER_JOB or
 *                 TORCHELASTIC_RUN_ID), which guards against accidents, not against other users
 *                 of the host. Rank 0 listens at what MASTER_ADDR means on its host; where that
 *                 is a name that means loopback there, as many an /etc/hosts has it, and there is
 *                 a secret, also at MUSTER_BIND_ADDRESS, or else at all addresses. MUSTER_PORT,
 *                 the same on every rank, replaces MASTER_PORT where the launcher listens there
 *                 itself.
 *   none of them  a job of one.
 *
 * One thread at a time. Nothing here is inherited by fork: a child has none of the descriptors
 * (boot_fork.h), and boot_close in the child frees what the child has and says nothing to anybody.
 */
#ifndef MUSTER_BOOT_BOOT_H
#define MUSTER_BOOT_BOOT_H

#include "core/control.h"

/* Bytes of a rank's address, at most. */
#define BOOT_ADDRESS_MAX CONTROL_BLOB_MAX

typedef struct boot boot_t;

/*
 * Finds the job and joins it. Blocks until the hub has answered or deadline_ns, on CLOCK_MONOTONIC,
 * has passed; does not wait for the other ranks. *boot is the caller's, to be given to boot_close;
 * failure may be NULL. INVALID_ARGUMENT: a variable is wrong or missing, the message names it.
 * ENVIRONMENT, ADDRESS_IN_USE, ADDRESS_NOT_AVAILABLE: this host does not allow it. TIMED_OUT,
 * UNREACHABLE: rank 0 did not come, or there is no way to it. DUPLICATE_RANK, VERSION_MISMATCH,
 * NOT_AUTHENTICATED: refused by the hub.
 */
muster_status_t boot_open(int64_t deadline_ns, boot_t **boot, muster_failure_t *failure);

uint32_t boot_rank(const boot_t *boot);
uint32_t boot_size(const boot_t *boot);
const uint8_t *boot_secret(const boot_t *boot); /* CONTROL_SECRET_SIZE bytes, borrowed */
const uint8_t *boot_job(const boot_t *boot);    /* CONTROL_JOB_SIZE bytes, borrowed, one a job */

/* Whether all ranks are known to be on this host. */
bool boot_is_one_host(const boot_t *boot);

/*
 * Gives this rank's address, length bytes (1 to BOOT_ADDRESS_MAX, the same on every rank), and gets
 * those of all: all has room for size * length. Blocks. May be called again. PEER_LOST: a rank has
 * ended or left, the failure names it. TIMED_OUT: the failure lists who is missing. Both come to
 * every rank.
 */
muster_status_t boot_exchange(boot_t *boot, const uint8_t *mine, size_t length, uint8_t *all,
                              int64_t deadline_ns, muster_failure_t *failure);

/*
 * Readable when boot_poll may have something; borrowed; -1: a job of one, there is never anything.
 */
int boot_fd(const boot_t *boot);

typedef struct boot_event {
    enum {
        BOOT_LOST, /* the rank's process has ended without leaving */
        BOOT_LEFT  /* the rank has left properly */
    } kind;
    uint32_t rank;
    uint32_t pid;               /* LOST: 0 where not known */
    char host[MUSTER_HOST_MAX]; /* LOST: "" where not known */
    char how[CONTROL_HOW_MAX];  /* LOST: "killed by signal 9", "exited with 3" */
} boot_event_t;

/*
 * The next event, said once a rank. Never blocks. On rank 0 of the environment it does the hub's
 * work, too.
 */
bool boot_poll(boot_t *boot, boot_event_t *event);

/*
 * Says that this rank leaves properly: its end is no loss to the others. It hears no more of them.
 * Does not block.
 */
void boot_leave(boot_t *boot);

/* Ends it; NULL is fine. Waits up to a second for what was said to be sent. */
void boot_close(boot_t *boot);

#endif
