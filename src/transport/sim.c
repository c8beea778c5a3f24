/* The simulated cluster: virtual time, who is ready, the transport's operations, faults. */
#include "transport/sim.h"

#include "core/assertion.h"
#include "transport/sim_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest sleep, so that a rank that never sleeps long does not stop the time. */
#define SIM_SLEEP_MINIMUM 100

/* ---- Chance and time ------------------------------------------------------------------------- */

bool sim_chance(sim_cluster_t *cluster, uint64_t chance, uint64_t of)
{
    return chance != 0 && sim_random_below(&cluster->random, of) < chance;
}

int64_t sim_draw_delay(sim_cluster_t *cluster)
{
    int64_t minimum = cluster->options.delay_minimum;
    uint64_t width = (uint64_t)(cluster->options.delay_maximum - minimum);
    return minimum + (int64_t)sim_random_below(&cluster->random, width + 1);
}

static bool wakeup_before(const sim_wakeup_t *one, const sim_wakeup_t *other)
{
    if (one->time != other->time) {
        return one->time < other->time;
    }
    return one->tie != other->tie ? one->tie < other->tie : one->serial < other->serial;
}

static void heap_swap(sim_cluster_t *cluster, size_t one, size_t other)
{
    sim_wakeup_t kept = cluster->heap[one];
    cluster->heap[one] = cluster->heap[other];
    cluster->heap[other] = kept;
}

void sim_schedule(sim_cluster_t *cluster, int64_t time, sim_link_t *link, bool outward)
{
    if (cluster->heap_count == cluster->heap_size) {
        size_t size = cluster->heap_size == 0 ? 64 : 2 * cluster->heap_size;
        sim_wakeup_t *heap = realloc(cluster->heap, size * sizeof *heap);
        MUSTER_ASSERT(heap != NULL);
        cluster->heap = heap;
        cluster->heap_size = size;
    }
    size_t at = cluster->heap_count++;
    cluster->heap[at] = (sim_wakeup_t){.time = time < cluster->now ? cluster->now : time,
                                       .tie = sim_random_next(&cluster->random),
                                       .serial = cluster->serial++,
                                       .link = link,
                                       .outward = outward};
    while (at != 0 && wakeup_before(&cluster->heap[at], &cluster->heap[(at - 1) / 2])) {
        heap_swap(cluster, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static sim_wakeup_t heap_take(sim_cluster_t *cluster)
{
    sim_wakeup_t first = cluster->heap[0];
    cluster->heap[0] = cluster->heap[--cluster->heap_count];
    size_t at = 0;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < cluster->heap_count &&
                wakeup_before(&cluster->heap[child], &cluster->heap[least])) {
                least = child;
            }
        }
        if (least == at) {
            return first;
        }
        heap_swap(cluster, at, least);
        at = least;
    }
}

/* Puts the link where the rank concerned looks at its next poll. */
static void cluster_notice(sim_cluster_t *cluster, const sim_wakeup_t *wakeup)
{
    sim_link_t *link = wakeup->link;
    if (link == NULL) {
        return;
    }
    sim_rank_t *rank = &cluster->ranks[wakeup->outward ? link->from : link->to];
    bool *listed = wakeup->outward ? &link->in_outbox : &link->in_inbox;
    if (rank->gone || *listed) {
        return;
    }
    *listed = true;
    MUSTER_ASSERT(rank->box_count < 2 * (size_t)cluster->options.size);
    rank->box[rank->box_count++] = link;
}

bool sim_advance(sim_cluster_t *cluster)
{
    int64_t next = cluster->heap_count == 0 ? SIM_NEVER : cluster->heap[0].time;
    for (uint32_t i = 0; i < cluster->options.size; i++) {
        const sim_rank_t *rank = &cluster->ranks[i];
        /* A deadline that has passed has made its rank ready already. */
        if (!rank->gone && !rank->paused && rank->deadline < next &&
            rank->deadline > cluster->now) {
            next = rank->deadline;
        }
    }
    if (next == SIM_NEVER) {
        return false;
    }
    MUSTER_ASSERT(next >= cluster->now);
    cluster->now = next;
    while (cluster->heap_count != 0 && cluster->heap[0].time <= next) {
        sim_wakeup_t wakeup = heap_take(cluster);
        cluster_notice(cluster, &wakeup);
    }
    return true;
}

bool sim_ready(const sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    const sim_rank_t *self = &cluster->ranks[rank];
    return !self->gone && !self->paused &&
           (self->box_count != 0 || self->woken || self->deadline <= cluster->now);
}

void sim_alarm(sim_cluster_t *cluster, int64_t time)
{
    sim_schedule(cluster, time, NULL, false);
}

/* ---- The transport's operations -------------------------------------------------------------- */

static sim_rank_t *rank_of(transport_t *transport)
{
    return (sim_rank_t *)(void *)transport;
}

static muster_status_t rank_send(transport_t *transport, uint32_t peer,
                                 const uint8_t header[WIRE_HEADER_SIZE],
                                 const transport_span_t *spans, size_t span_count, void *token,
                                 bool *done)
{
    sim_rank_t *self = rank_of(transport);
    MUSTER_ASSERT(!self->gone && peer < transport->size && peer != transport->rank);
    MUSTER_ASSERT(span_count <= TRANSPORT_SPANS_MAX);
    sim_link_t *link = sim_link(self->cluster, transport->rank, peer);
    if (link == NULL) {
        return MUSTER_NO_MEMORY;
    }
    return sim_link_send(self->cluster, link, header, spans, span_count, token, done);
}

static void rank_place(transport_t *transport, uint32_t peer, const transport_span_t *spans,
                       size_t span_count, void *token)
{
    sim_rank_t *self = rank_of(transport);
    MUSTER_ASSERT(span_count <= TRANSPORT_SPANS_MAX);
    if (self->unanswered == NULL || self->unanswered->from != peer) {
        sim_violate(self->cluster, transport->rank, peer, "place without a HEADER");
        return;
    }
    sim_link_place(self->cluster, self->unanswered, spans, span_count, token);
    self->unanswered = NULL;
}

static void rank_forget(transport_t *transport, void *token)
{
    sim_rank_t *self = rank_of(transport);
    sim_link_t **links = self->cluster->links;
    for (uint32_t peer = 0; peer < transport->size; peer++) {
        sim_link_t *out = links[(size_t)transport->rank * transport->size + peer];
        sim_link_t *in = links[(size_t)peer * transport->size + transport->rank];
        if (out != NULL) {
            sim_link_forget(self->cluster, out, true, token);
        }
        if (in != NULL) {
            sim_link_forget(self->cluster, in, false, token);
        }
    }
}

/* Takes one link, drawn; what it has to tell is told, and one without news leaves the box. */
static bool rank_look(sim_rank_t *self, transport_event_t *event)
{
    sim_cluster_t *cluster = self->cluster;
    size_t index = (size_t)sim_random_below(&cluster->random, self->box_count);
    sim_link_t *link = self->box[index];
    bool outward = link->from == self->base.rank;
    if (outward ? sim_link_poll_out(cluster, link, event)
                : sim_link_poll_in(cluster, link, event)) {
        return true;
    }
    *(outward ? &link->in_outbox : &link->in_inbox) = false;
    self->box[index] = self->box[--self->box_count];
    return false;
}

static bool rank_poll(transport_t *transport, transport_event_t *event)
{
    sim_rank_t *self = rank_of(transport);
    MUSTER_ASSERT(!self->gone);
    sim_message_destroy(self->current);
    self->current = NULL;
    if (self->unanswered != NULL) {
        sim_violate(self->cluster, transport->rank, self->unanswered->from,
                    "poll before HEADER was answered");
        sim_link_place(self->cluster, self->unanswered, NULL, 0, NULL);
        self->unanswered = NULL;
    }
    while (self->box_count != 0) {
        if (rank_look(self, event)) {
            return true;
        }
    }
    if (self->cluster->options.advance_alone) {
        sim_advance(self->cluster);
    }
    return false;
}

static void rank_wait(transport_t *transport, int64_t timeout_ns)
{
    sim_rank_t *self = rank_of(transport);
    sim_cluster_t *cluster = self->cluster;
    self->deadline = SIM_NEVER;
    if (self->woken || self->box_count != 0) {
        self->deadline = cluster->now;
    } else if (timeout_ns >= 0 && timeout_ns < SIM_NEVER - cluster->now) {
        self->deadline =
            cluster->now + (timeout_ns < SIM_SLEEP_MINIMUM ? SIM_SLEEP_MINIMUM : timeout_ns);
    }
    bool returns = self->woken || self->box_count != 0;
    self->woken = false;
    if (cluster->options.advance_alone && !returns) {
        sim_advance(cluster);
    }
}

static void rank_wake(transport_t *transport)
{
    rank_of(transport)->woken = true;
}

static int64_t rank_now(transport_t *transport)
{
    const sim_rank_t *self = rank_of(transport);
    return self->clock_start + self->cluster->now;
}

/* Both directions of a pair end, and each end is told unless it is gone itself. */
static void pair_close(sim_cluster_t *cluster, uint32_t rank, uint32_t peer, sim_fate_t fate,
                       muster_status_t why)
{
    sim_link_t *in = sim_link(cluster, peer, rank);
    sim_link_t *out = sim_link(cluster, rank, peer);
    MUSTER_ASSERT(in != NULL && out != NULL);
    sim_link_close(cluster, in, fate, why);
    sim_link_close(cluster, out, SIM_KEEP_SOME, MUSTER_PEER_LOST);
}

static void rank_lose(transport_t *transport, uint32_t peer, muster_status_t why)
{
    sim_rank_t *self = rank_of(transport);
    MUSTER_ASSERT(peer < transport->size && peer != transport->rank);
    sim_record(self->cluster, "loses", transport->rank, peer, NULL, (uint64_t)why);
    sim_link_t *in = sim_link(self->cluster, peer, transport->rank);
    MUSTER_ASSERT(in != NULL);
    if (in->closed && !in->lost_told) {
        in->closed = false; /* was to be told later, perhaps: now somebody knows, and knows why */
    }
    pair_close(self->cluster, transport->rank, peer,
               sim_chance(self->cluster, 1, 2) ? SIM_KEEP_SOME : SIM_KEEP_ARRIVED, why);
}

static const transport_peer_t *rank_peer(transport_t *transport, uint32_t peer)
{
    MUSTER_ASSERT(peer < transport->size);
    return &rank_of(transport)->cluster->ranks[peer].description;
}

static bool rank_flushed(transport_t *transport)
{
    sim_cluster_t *cluster = rank_of(transport)->cluster;
    for (uint32_t peer = 0; peer < transport->size; peer++) {
        const sim_link_t *link = cluster->links[(size_t)transport->rank * transport->size + peer];
        if (link != NULL && link->queued != NULL) {
            return false;
        }
    }
    return true;
}

/* The rank is no more; fate: of what has left it. */
static void rank_end(sim_rank_t *self, sim_fate_t fate)
{
    sim_cluster_t *cluster = self->cluster;
    if (self->gone) {
        return;
    }
    self->gone = true;
    self->box_count = 0;
    sim_message_destroy(self->current);
    self->current = NULL;
    self->unanswered = NULL;
    for (uint32_t peer = 0; peer < cluster->options.size; peer++) {
        if (peer == self->base.rank || cluster->ranks[peer].gone) {
            continue;
        }
        sim_link_t *out = sim_link(cluster, self->base.rank, peer);
        sim_link_t *in = sim_link(cluster, peer, self->base.rank);
        MUSTER_ASSERT(out != NULL && in != NULL);
        sim_link_close(cluster, out, fate, MUSTER_PEER_LOST);
        sim_link_close(cluster, in, SIM_KEEP_ARRIVED, MUSTER_PEER_LOST);
    }
}

static void rank_destroy(transport_t *transport)
{
    sim_rank_t *self = rank_of(transport);
    sim_record(self->cluster, "exits", transport->rank, transport->rank, NULL, 0);
    rank_end(self, SIM_KEEP_ALL);
}

static const transport_operations_t rank_operations = {
    .name = "sim",
    .send = rank_send,
    .place = rank_place,
    .forget = rank_forget,
    .poll = rank_poll,
    .wait = rank_wait,
    .wake = rank_wake,
    .now = rank_now,
    .lose = rank_lose,
    .peer = rank_peer,
    .flushed = rank_flushed,
    .destroy = rank_destroy,
};

/* ---- The cluster ----------------------------------------------------------------------------- */

static bool options_make_sense(const sim_options_t *options)
{
    return options->size >= 1 && options->size <= SIM_SIZE_MAX && options->delay_minimum >= 0 &&
           options->delay_maximum >= options->delay_minimum && options->byte_time >= 0 &&
           options->late_chance <= 1000 && options->no_memory_chance <= 1000000 &&
           options->clock_spread >= 0;
}

static bool cluster_fill(sim_cluster_t *cluster)
{
    uint32_t size = cluster->options.size;
    cluster->ranks = calloc(size, sizeof *cluster->ranks);
    cluster->links = calloc((size_t)size * size, sizeof(sim_link_t *));
    if (cluster->options.trace_limit != 0) {
        cluster->trace = calloc(1, cluster->options.trace_limit);
        if (cluster->trace == NULL) {
            return false;
        }
    }
    if (cluster->ranks == NULL || cluster->links == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < size; i++) {
        sim_rank_t *rank = &cluster->ranks[i];
        rank->base = (transport_t){.operations = &rank_operations,
                                   .rank = i,
                                   .size = size,
                                   .cores = 1,
                                   .local_ranks = size};
        rank->cluster = cluster;
        snprintf(rank->description.host, sizeof rank->description.host, "sim%u", i);
        rank->description.pid = 1000 + i;
        rank->deadline = SIM_NEVER;
        rank->clock_start = (int64_t)sim_random_below(&cluster->random,
                                                      (uint64_t)cluster->options.clock_spread + 1);
        rank->box = calloc(2 * (size_t)size, sizeof(sim_link_t *));
        if (rank->box == NULL) {
            return false;
        }
    }
    return true;
}

muster_status_t sim_cluster_create(const sim_options_t *options, sim_cluster_t **cluster)
{
    if (!options_make_sense(options)) {
        return MUSTER_INVALID_ARGUMENT;
    }
    sim_cluster_t *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return MUSTER_NO_MEMORY;
    }
    created->options = *options;
    created->random.state = options->seed;
    if (!cluster_fill(created)) {
        sim_cluster_destroy(created);
        return MUSTER_NO_MEMORY;
    }
    *cluster = created;
    return MUSTER_OK;
}

void sim_cluster_destroy(sim_cluster_t *cluster)
{
    if (cluster == NULL) {
        return;
    }
    size_t size = cluster->options.size;
    for (size_t i = 0; cluster->links != NULL && i < size * size; i++) {
        sim_link_destroy(cluster->links[i]);
    }
    for (size_t i = 0; cluster->ranks != NULL && i < size; i++) {
        sim_message_destroy(cluster->ranks[i].current);
        free(cluster->ranks[i].box);
    }
    free(cluster->ranks);
    free(cluster->links);
    free(cluster->heap);
    free(cluster->trace);
    free(cluster);
}

transport_t *sim_transport(sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    return &cluster->ranks[rank].base;
}

uint32_t sim_size(const sim_cluster_t *cluster)
{
    return cluster->options.size;
}

uint64_t sim_seed(const sim_cluster_t *cluster)
{
    return cluster->options.seed;
}

int64_t sim_now(const sim_cluster_t *cluster)
{
    return cluster->now;
}

/* ---- Faults and figures ---------------------------------------------------------------------- */

void sim_lose(sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    sim_record(cluster, "dies", rank, rank, NULL, 0);
    rank_end(&cluster->ranks[rank], SIM_KEEP_SOME);
}

void sim_cut(sim_cluster_t *cluster, uint32_t one, uint32_t other)
{
    MUSTER_ASSERT(sim_is_alive(cluster, one) && sim_is_alive(cluster, other));
    sim_record(cluster, "cut", one, other, NULL, 0);
    pair_close(cluster, one, other, SIM_KEEP_SOME, MUSTER_PEER_LOST);
}

bool sim_is_alive(const sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    return !cluster->ranks[rank].gone;
}

void sim_pause(sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    sim_record(cluster, "stops", rank, rank, NULL, 0);
    cluster->ranks[rank].paused = true;
}

void sim_resume(sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    sim_record(cluster, "goes on", rank, rank, NULL, 0);
    cluster->ranks[rank].paused = false;
    cluster->ranks[rank].woken = true;
}

bool sim_is_paused(const sim_cluster_t *cluster, uint32_t rank)
{
    MUSTER_ASSERT(rank < cluster->options.size);
    return cluster->ranks[rank].paused;
}

void sim_hold(sim_cluster_t *cluster, uint32_t from, uint32_t to)
{
    sim_link_t *link = sim_link(cluster, from, to);
    MUSTER_ASSERT(link != NULL);
    sim_record(cluster, "held to", from, to, NULL, 0);
    sim_link_hold(cluster, link);
}

void sim_release(sim_cluster_t *cluster, uint32_t from, uint32_t to)
{
    sim_link_t *link = sim_link(cluster, from, to);
    MUSTER_ASSERT(link != NULL);
    sim_record(cluster, "freed to", from, to, NULL, 0);
    if (link->held) {
        sim_link_release(cluster, link);
    }
}

sim_traffic_t sim_traffic(const sim_cluster_t *cluster, uint32_t from, uint32_t to)
{
    MUSTER_ASSERT(from < cluster->options.size && to < cluster->options.size);
    const sim_link_t *link = cluster->links[(size_t)from * cluster->options.size + to];
    return link == NULL ? (sim_traffic_t){0} : link->traffic;
}

sim_traffic_t sim_traffic_total(const sim_cluster_t *cluster)
{
    sim_traffic_t total = {0};
    size_t size = cluster->options.size;
    for (size_t i = 0; i < size * size; i++) {
        if (cluster->links[i] != NULL) {
            total.messages += cluster->links[i]->traffic.messages;
            total.bytes += cluster->links[i]->traffic.bytes;
            total.data_messages += cluster->links[i]->traffic.data_messages;
            total.data_bytes += cluster->links[i]->traffic.data_bytes;
        }
    }
    return total;
}
