/*
 * Bytes between a rank and its hub: the launcher, or rank 0 where the environment says who is who.
 * All numbers are little-endian. Every message is a frame:
 *
 *      0  kind (1)   zero (3)
 *      4  payload length (4), at most CONTROL_PAYLOAD_MAX
 *      8  payload
 *
 * From a rank to its hub:
 *
 *     JOIN      version (4)  pid (4)  size (4)  host (64)   the first message; size 0: not known
 *     ADDRESS   blob (1 to CONTROL_BLOB_MAX)                what TABLE shall say of this rank
 *     EXPIRED   nothing                                     its deadline is about to pass
 *     LEAVE     nothing                                     it leaves properly
 *
 * From the hub to a rank:
 *
 *     WELCOME   version (4)  rank (4)  size (4)  job (16)  secret (32)
 *     REFUSED   status (4)  pid (4)  host (64)  text (192)  nothing follows
 *     TABLE     first (4)  count (4)  blob length (4)       then count blobs, by rank from first on
 *     MISSING   count (4)  then count ranges (first (4) last (4)): the exchange is given up
 *     LOST      rank (4)  pid (4)  host (64)  how (96)      its process has ended without leaving
 *     LEFT      rank (4)                                    it has left properly
 *
 * Texts are padded with zeros and closed by one. Zero in pid: not known. The frame, the version in
 * JOIN and WELCOME, and REFUSED stay as they are in every version, so that two versions can tell
 * each other what they are.
 *
 * Pure; any thread.
 */
#ifndef MUSTER_CORE_CONTROL_H
#define MUSTER_CORE_CONTROL_H

#include "core/status.h"
#include "core/wire.h"

/*
 * One version for all conversations of a job: ranks that join each other understand each other's
 * messages, so whatever changes, here or there, raises WIRE_VERSION.
 */
#define CONTROL_VERSION WIRE_VERSION
#define CONTROL_HEADER_SIZE 8
#define CONTROL_PAYLOAD_MAX 65536
#define CONTROL_FRAME_MAX (CONTROL_HEADER_SIZE + CONTROL_PAYLOAD_MAX)
#define CONTROL_BLOB_MAX 2048
#define CONTROL_JOB_SIZE 16
#define CONTROL_SECRET_SIZE 32
#define CONTROL_HOW_MAX 96
#define CONTROL_TEXT_MAX 192
#define CONTROL_RANGES_MAX MUSTER_FAILURE_RANGES_MAX

/* X(NAME) */
#define CONTROL_KIND_LIST(X)                                                                       \
    X(JOIN)                                                                                        \
    X(ADDRESS)                                                                                     \
    X(EXPIRED)                                                                                     \
    X(LEAVE)                                                                                       \
    X(WELCOME)                                                                                     \
    X(REFUSED)                                                                                     \
    X(TABLE)                                                                                       \
    X(MISSING)                                                                                     \
    X(LOST)                                                                                        \
    X(LEFT)

typedef enum control_kind {
    CONTROL_NONE = 0,
#define X(name) CONTROL_##name,
    CONTROL_KIND_LIST(X)
#undef X
        CONTROL_KIND_COUNT
} control_kind_t;

/* One message; only the fields of its kind mean something. */
typedef struct control_message {
    control_kind_t kind;
    uint32_t version;              /* JOIN, WELCOME */
    uint32_t pid;                  /* JOIN, REFUSED, LOST */
    uint32_t rank;                 /* WELCOME, LOST, LEFT; TABLE: of the first blob */
    uint32_t size;                 /* WELCOME: ranks of the job, at least 1; JOIN: 0 not known */
    uint32_t count;                /* TABLE: blobs; MISSING: ranges */
    muster_status_t status;        /* REFUSED */
    uint8_t job[CONTROL_JOB_SIZE]; /* WELCOME */
    uint8_t secret[CONTROL_SECRET_SIZE]; /* WELCOME; zeros from a hub that does not hand it out */
    char host[MUSTER_HOST_MAX];          /* JOIN, REFUSED, LOST */
    char text[CONTROL_TEXT_MAX];         /* REFUSED; LOST: how, below CONTROL_HOW_MAX bytes */
    muster_rank_range_t ranges[CONTROL_RANGES_MAX]; /* MISSING: ascending, apart from each other */
    const uint8_t *blob;                            /* ADDRESS, TABLE: borrowed from the bytes */
    uint32_t blob_length;                           /* ADDRESS, TABLE: of one blob, in bytes */
} control_message_t;

/* How many blobs of this length (1 to CONTROL_BLOB_MAX) one TABLE carries. */
uint32_t control_table_room(uint32_t blob_length);

/* Bytes that the message takes as a frame. */
size_t control_size(const control_message_t *message);
/* Writes the frame: control_size bytes. Texts that are too long are cut. */
void control_encode(const control_message_t *message, uint8_t *bytes);

typedef enum control_read {
    CONTROL_READ_MORE,    /* no whole frame yet */
    CONTROL_READ_MESSAGE, /* *message is one, *used bytes were it; its blob lies in bytes */
    CONTROL_READ_GARBAGE  /* bytes that no Muster writes: close the connection */
} control_read_t;

/*
 * Reads the first frame of what has come so far. A frame never needs more than CONTROL_FRAME_MAX.
 */
control_read_t control_decode(const uint8_t *bytes, size_t length, control_message_t *message,
                              size_t *used);

#endif
