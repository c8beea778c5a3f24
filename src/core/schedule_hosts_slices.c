/*
 * The hosts family: allreduce by slices. In each host as many ranks as the smallest host has carry
 * a slice of the vector, which is as many pieces as there are hosts; H hosts, slice i is the pieces
 * [i*H, (i+1)*H).
 *
 *     inside    all send each slice to the local rank that carries it, which combines
 *     between   the carriers of a slice send each other the pieces, piece h to host h, which
 *               combines; then each sends all others what has become of its piece
 *     inside    the carriers send all the slices
 *
 * All is combined in rank order. A host sends 2 * (H - 1) / H of a vector to others: the least
 * there is, whatever the number of its ranks (Rabenseifner, "Optimization of collective reduction
 * operations", 2004, has the two halves for ranks).
 */
#include "core/assertion.h"
#include "core/schedule_hosts_parts.h"

typedef struct schedule_slices {
    schedule_hosts_build_t *build;
    uint32_t hosts, carriers;
    uint32_t local; /* the rank's place in its host, and its slice where it carries one */
    uint64_t row;   /* pieces of a vector */
    bool carries;
    schedule_buffer_t partial; /* the host's values of the slice, combined: RECEIVE or SEND */
} schedule_slices_t;

static schedule_region_t schedule_slice(const schedule_slices_t *slices, schedule_buffer_t buffer,
                                        uint64_t first, uint32_t carrier)
{
    return schedule_run(buffer, first + (uint64_t)carrier * slices->hosts, slices->hosts);
}

/* Whole rows of scratch, so that pieces keep their lengths. */
static uint64_t schedule_slices_rows(schedule_slices_t *slices, uint64_t rows)
{
    return schedule_emit_scratch(&slices->build->emit, rows * slices->row);
}

/* ---- Inside ---------------------------------------------------------------------------------- */

static void schedule_slices_send_inside(const schedule_slices_t *slices)
{
    const schedule_hosts_build_t *build = slices->build;
    for (uint32_t step = 1; step < build->ranks; ++step) {
        uint32_t local = (slices->local + step) % build->ranks;
        if (local < slices->carriers)
            schedule_emit_send(&slices->build->emit, build->first + local,
                               schedule_slice(slices, SCHEDULE_SEND, 0, local));
    }
}

static void schedule_slices_combine_inside(schedule_slices_t *slices)
{
    schedule_hosts_build_t *build = slices->build;
    if (build->ranks == 1)
        return;
    schedule_fold_t fold = {
        .size = build->ranks,
        .rank = slices->local,
        .width = slices->hosts,
        .own = schedule_slice(slices, SCHEDULE_SEND, 0, slices->local),
        .first = schedule_slice(slices, SCHEDULE_RECEIVE, 0, slices->local),
        .stride = slices->row,
        .into = schedule_slice(slices, SCHEDULE_RECEIVE, 0, slices->local),
    };
    if (slices->carries && build->in_place) {
        fold.first = schedule_slice(slices, SCHEDULE_SCRATCH, schedule_slices_rows(slices, 1),
                                    slices->local);
        fold.from_rank = slices->local;
    }
    if (slices->carries)
        fold.stage = schedule_slices_rows(slices, build->ranks - 2) +
                     (uint64_t)slices->local * slices->hosts;
    schedule_hosts_meet(build, false, 0);
    schedule_slices_send_inside(slices);
    if (!slices->carries)
        return;
    for (uint32_t local = 0; local < build->ranks; ++local)
        if (local != slices->local)
            schedule_emit_place(&build->emit, build->first + local,
                                schedule_fold_place(&fold, local), true);
    schedule_fold_emit(&fold, &build->emit);
    slices->partial = SCHEDULE_RECEIVE;
}

static void schedule_slices_spread_inside(const schedule_slices_t *slices)
{
    schedule_hosts_build_t *build = slices->build;
    if (build->ranks == 1)
        return;
    schedule_hosts_meet(build, false, 1);
    for (uint32_t step = 1; slices->carries && step < build->ranks; ++step)
        schedule_emit_send(&build->emit, build->first + (slices->local + step) % build->ranks,
                           schedule_slice(slices, SCHEDULE_RECEIVE, 0, slices->local));
    for (uint32_t local = 0; local < slices->carriers; ++local)
        if (local != slices->local)
            schedule_emit_place(&build->emit, build->first + local,
                                schedule_slice(slices, SCHEDULE_RECEIVE, 0, local),
                                !build->in_place);
}

/* ---- Between --------------------------------------------------------------------------------- */

static schedule_region_t schedule_slices_piece(const schedule_slices_t *slices,
                                               schedule_buffer_t buffer, uint32_t host)
{
    return schedule_run(buffer, (uint64_t)slices->local * slices->hosts + host, 1);
}

/* The carrier of the same slice, so many hosts on. */
static uint32_t schedule_slices_peer(const schedule_slices_t *slices, uint32_t step, uint32_t *host)
{
    *host = (uint32_t)(((uint64_t)slices->build->host + step) % slices->hosts);
    return schedule_hosts_first(&slices->build->tree, *host) + slices->local;
}

/* The piece of this host; its values come in the order of hosts, which is that of ranks. */
static void schedule_slices_combine_between(schedule_slices_t *slices)
{
    schedule_hosts_build_t *build = slices->build;
    uint32_t own = build->host;
    uint64_t place = (uint64_t)slices->local * slices->hosts + own;
    schedule_fold_t fold = {
        .size = slices->hosts,
        .rank = own,
        .width = 1,
        .own = schedule_slices_piece(slices, slices->partial, own),
        .first = schedule_run(SCHEDULE_SCRATCH, schedule_slices_rows(slices, 1) + place, 1),
        .stride = slices->row,
        .into = schedule_slices_piece(slices, SCHEDULE_RECEIVE, own),
        .from_rank = own, /* which uses up what lies where the result goes */
    };
    fold.stage = schedule_slices_rows(slices, slices->hosts - 2) + place;
    schedule_hosts_meet(build, true, 0);
    for (uint32_t step = 1; step < slices->hosts; ++step) {
        uint32_t host;
        uint32_t peer = schedule_slices_peer(slices, step, &host);
        schedule_emit_send(&build->emit, peer,
                           schedule_slices_piece(slices, slices->partial, host));
        schedule_emit_place(&build->emit, peer, schedule_fold_place(&fold, host), true);
    }
    schedule_fold_emit(&fold, &build->emit);
}

static void schedule_slices_exchange_between(const schedule_slices_t *slices)
{
    schedule_hosts_build_t *build = slices->build;
    bool early = slices->partial != SCHEDULE_RECEIVE && !build->in_place;
    schedule_hosts_meet(build, true, 1);
    for (uint32_t step = 1; step < slices->hosts; ++step) {
        uint32_t host;
        uint32_t peer = schedule_slices_peer(slices, step, &host);
        schedule_emit_send(&build->emit, peer,
                           schedule_slices_piece(slices, SCHEDULE_RECEIVE, build->host));
        schedule_emit_place(&build->emit, peer,
                            schedule_slices_piece(slices, SCHEDULE_RECEIVE, host), early);
    }
}

void schedule_hosts_allreduce_slices(schedule_hosts_build_t *build)
{
    schedule_slices_t slices = {
        .build = build,
        .hosts = build->tree.hosts->count,
        .carriers = schedule_hosts_smallest(build->tree.hosts),
        .local = build->rank - build->first,
        .partial = SCHEDULE_SEND,
    };
    slices.row = (uint64_t)slices.hosts * slices.carriers;
    slices.carries = slices.local < slices.carriers;
    schedule_emit_pieces(&build->emit, (uint32_t)slices.row);
    schedule_slices_combine_inside(&slices);
    if (slices.carries) {
        schedule_slices_combine_between(&slices);
        schedule_slices_exchange_between(&slices);
    }
    schedule_slices_spread_inside(&slices);
}
