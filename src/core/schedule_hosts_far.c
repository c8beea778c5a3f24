#include "core/schedule_hosts_far.h"

#include "core/schedule_hosts.h"

typedef struct schedule_hosts_sizes {
    uint64_t ranks, hosts;
    uint64_t smallest, largest; /* ranks of a host */
} schedule_hosts_sizes_t;

static uint64_t schedule_hosts_on(const schedule_request_t *request, uint32_t host)
{
    return request->hosts->first[host + 1] - request->hosts->first[host];
}

static schedule_hosts_sizes_t schedule_hosts_sizes(const schedule_request_t *request)
{
    schedule_hosts_sizes_t sizes = {.ranks = request->size,
                                    .hosts = request->hosts->count,
                                    .smallest = schedule_hosts_smallest(request->hosts)};
    for (uint32_t host = 0; host < request->hosts->count; ++host)
        if (schedule_hosts_on(request, host) > sizes.largest)
            sizes.largest = schedule_hosts_on(request, host);
    return sizes;
}

static uint64_t schedule_ceiling(uint64_t dividend, uint64_t divisor)
{
    return (dividend + divisor - 1) / divisor;
}

/* ---- Allgather ------------------------------------------------------------------------------- */

/* Blocks that a rank sends to each other of its host: of the widest class. */
static uint64_t schedule_allgather_widest(const schedule_request_t *request, uint64_t on_host)
{
    return schedule_ceiling(request->size, on_host);
}

static void schedule_allgather_far_rounds(const schedule_request_t *request,
                                          schedule_figures_t *figures)
{
    schedule_hosts_sizes_t sizes = schedule_hosts_sizes(request);
    uint64_t others = sizes.hosts - 1;
    schedule_round_t inside = {
        .times = sizes.largest > 1, .messages = sizes.largest - 1, .received = sizes.largest - 1};
    figures->pieces = 1;
    figures->messages_between = sizes.ranks * others;
    figures->blocks_between = sizes.ranks * others;
    figures->messages = sizes.ranks * others;
    figures->blocks = sizes.ranks * others;
    for (uint32_t host = 0; host < sizes.hosts; ++host) {
        uint64_t ranks = schedule_hosts_on(request, host);
        uint64_t blocks = (ranks - 1) * schedule_allgather_widest(request, ranks);
        figures->messages += ranks * (ranks - 1);
        figures->blocks += sizes.ranks * (ranks - 1);
        if (blocks > inside.blocks)
            inside.blocks = blocks;
    }
    schedule_figures_add(
        figures,
        (schedule_round_t){
            .times = 1,
            .messages = others,
            .received = schedule_allgather_widest(request, sizes.smallest) - 1, /* less its own */
            .blocks = others,
            .messages_between = others,
            .blocks_between = others,
            .host_blocks_between = sizes.largest * others,
            .copied = request->in_place ? 0 : 1,
        });
    inside.copied = inside.blocks / (sizes.largest > 1 ? sizes.largest - 1 : 1); /* packed once */
    schedule_figures_add(figures, inside);
}

/* ---- Allreduce by slices --------------------------------------------------------------------- */

static void schedule_slices_far_rounds(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    schedule_hosts_sizes_t sizes = schedule_hosts_sizes(request);
    uint64_t carriers = sizes.smallest;
    uint64_t others = sizes.hosts - 1;
    /* A rank that carries no slice sends all of them, another one all but its own. */
    uint64_t away = sizes.largest > carriers ? carriers : carriers - 1;
    schedule_round_t between = {
        .times = 1,
        .messages = others,
        .received = others,
        .blocks = others,
        .messages_between = others,
        .blocks_between = others,
        .host_blocks_between = carriers * others,
    };
    figures->pieces = (uint32_t)(carriers * sizes.hosts);
    schedule_figures_add(figures, (schedule_round_t){.times = sizes.largest > 1,
                                                     .messages = away,
                                                     .received = sizes.largest - 1,
                                                     .blocks = away * sizes.hosts,
                                                     .reduced = (sizes.largest - 1) * sizes.hosts});
    between.reduced = others;
    schedule_figures_add(figures, between);
    between.reduced = 0;
    schedule_figures_add(figures, between);
    schedule_figures_add(figures, (schedule_round_t){.times = sizes.largest > 1,
                                                     .messages = sizes.largest - 1,
                                                     .received = away,
                                                     .blocks = (sizes.largest - 1) * sizes.hosts});
    figures->messages_between = 2 * carriers * sizes.hosts * others;
    figures->blocks_between = figures->messages_between;
    uint64_t inside = 2 * carriers * (sizes.ranks - sizes.hosts);
    figures->messages = figures->messages_between + inside;
    figures->blocks = figures->blocks_between + inside * sizes.hosts;
}

/* ---- Both ------------------------------------------------------------------------------------ */

void schedule_hosts_far_rounds(const schedule_request_t *request, schedule_figures_t *figures)
{
    if (request->operation == OPERATION_ALLREDUCE)
        schedule_slices_far_rounds(request, figures);
    else
        schedule_allgather_far_rounds(request, figures);
}

schedule_totals_t schedule_hosts_far_rank(const schedule_request_t *request, uint32_t host,
                                          uint32_t carriers)
{
    uint64_t ranks = schedule_hosts_on(request, host);
    uint64_t hosts = request->hosts->count;
    uint64_t others = hosts - 1;
    if (request->operation != OPERATION_ALLREDUCE)
        return (schedule_totals_t){
            .messages = others + ranks - 1,
            .blocks = others + (ranks - 1) * schedule_allgather_widest(request, ranks)};
    uint64_t inside = carriers - 1 + ranks - 1;
    return (schedule_totals_t){.messages = inside + 2 * others,
                               .blocks = inside * hosts + 2 * others};
}
