/*
 * The simulated cluster: many ranks in one thread, virtual time, and a seed that decides everything
 * that chance decides. The same seed and the same calls give the same events at the same times.
 *
 * Each rank has a transport (transport.h) of this cluster. Its `wait` does not block: it notes
 * until when the rank wants to sleep. Who drives the ranks calls sim_advance, which moves the time
 * to the next delivery or deadline, and then lets those run that sim_ready names.
 *
 * What is simulated, beyond carrying messages:
 * - a message of one pair never overtakes another of that pair, but those of other pairs do; poll
 *   tells the events of several peers in any order;
 * - a send that is not done at once leaves when its own rank polls later, as bytes do that wait for
 *   room in a socket; its SENT may come after the peer has answered;
 * - buffers on loan are watched: what the caller writes to the buffer of a send before SENT, unless
 *   the message has been received, or to a placed one before RECEIVED, is a violation, and placed
 *   buffers are overwritten meanwhile;
 * - clocks of different ranks begin at different times.
 *
 * One thread. Nothing blocks. Times are in ns of virtual time, from 0.
 */
#ifndef MUSTER_TRANSPORT_SIM_H
#define MUSTER_TRANSPORT_SIM_H

#include "transport/transport.h"

#define SIM_NEVER INT64_MAX
#define SIM_SIZE_MAX 4096

/* Zero: no delay, no limit, never. */
typedef struct sim_options {
    uint32_t size;
    uint64_t seed;
    int64_t delay_minimum; /* ns that a message is under way, drawn for each message and pair */
    int64_t delay_maximum;
    int64_t byte_time;         /* ns a byte of payload */
    uint32_t late_chance;      /* in 1,000 sends: not done at once */
    uint32_t no_memory_chance; /* in 1,000,000 sends: refused with NO_MEMORY */
    size_t window; /* bytes of a pair that may be under way or lie unread; at least a message */
    int64_t clock_spread; /* ns: each rank's clock begins between 0 and this */
    size_t trace_limit;   /* bytes of trace that are kept, the latest ones */
    bool advance_alone;   /* waits and vain polls advance the time: nobody else calls sim_advance */
} sim_options_t;

typedef struct sim_cluster sim_cluster_t;

/* INVALID_ARGUMENT: size 0 or above SIM_SIZE_MAX, senseless delays or chances; NO_MEMORY. */
muster_status_t sim_cluster_create(const sim_options_t *options, sim_cluster_t **cluster);
/* Transports end with it; after this no buffer is used. NULL is accepted. */
void sim_cluster_destroy(sim_cluster_t *cluster);

/*
 * The transport of a rank, the same at every call, owned by the cluster. Its destroy operation ends
 * the rank as an orderly exit does: what has left it is delivered, then the others get LOST.
 */
transport_t *sim_transport(sim_cluster_t *cluster, uint32_t rank);

uint32_t sim_size(const sim_cluster_t *cluster);
uint64_t sim_seed(const sim_cluster_t *cluster);
int64_t sim_now(const sim_cluster_t *cluster);

/* Moves the time to the next event, which may be now; false when nothing is left. */
bool sim_advance(sim_cluster_t *cluster);
/* Whether the rank would return from its wait: something to poll, woken, or its deadline. */
bool sim_ready(const sim_cluster_t *cluster, uint32_t rank);
/* Asks sim_advance to stop at a time though nothing may happen then. */
void sim_alarm(sim_cluster_t *cluster, int64_t time);

/*
 * The rank dies. What has left it and has arrived is delivered, of what is under way the seed
 * decides, in order, also in the middle of a message; then every other rank gets LOST with
 * PEER_LOST.
 */
void sim_lose(sim_cluster_t *cluster, uint32_t rank);
/* The connection of two living ranks breaks; each gets LOST of the other, likewise. */
void sim_cut(sim_cluster_t *cluster, uint32_t one, uint32_t other);
bool sim_is_alive(const sim_cluster_t *cluster, uint32_t rank);

/* A stopped rank is never ready; messages to it wait. */
void sim_pause(sim_cluster_t *cluster, uint32_t rank);
void sim_resume(sim_cluster_t *cluster, uint32_t rank);
bool sim_is_paused(const sim_cluster_t *cluster, uint32_t rank);

/* From hold to release nothing arrives at `to` from `from`, though nothing is lost: a partition. */
void sim_hold(sim_cluster_t *cluster, uint32_t from, uint32_t to);
void sim_release(sim_cluster_t *cluster, uint32_t from, uint32_t to);

/* Of a pair, since creation. A message counts when it has left its rank. */
typedef struct sim_traffic {
    uint64_t messages;
    uint64_t bytes;         /* payload */
    uint64_t data_messages; /* of these: with wire kind DATA */
    uint64_t data_bytes;
} sim_traffic_t;
sim_traffic_t sim_traffic(const sim_cluster_t *cluster, uint32_t from, uint32_t to);
sim_traffic_t sim_traffic_total(const sim_cluster_t *cluster);

/* The kept end of the trace: lines with the time in ns; "" without one. Borrowed. */
const char *sim_trace(const sim_cluster_t *cluster);
/* A line of the caller's own in the trace. */
void sim_note(sim_cluster_t *cluster, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A digest of every event so far, also without a trace. */
uint64_t sim_digest(const sim_cluster_t *cluster);
/* The first breach of transport.h by a caller, as a line; NULL where there is none. Borrowed. */
const char *sim_violation(const sim_cluster_t *cluster);

/* Chance: the generator of the simulator, for tests that need their own stream. */
typedef struct sim_random {
    uint64_t state;
} sim_random_t;
uint64_t sim_random_next(sim_random_t *random);
/* In [0, bound); 0 for bound 0. */
uint64_t sim_random_below(sim_random_t *random, uint64_t bound);

#endif
