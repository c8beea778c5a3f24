#include "unit/schedule_reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/require.h"

/* ---- Counting -------------------------------------------------------------------------------- */

static uint32_t host_of(const schedule_request_t *request, uint32_t rank)
{
    uint32_t host = 0;
    if (request->hosts != NULL)
        while (request->hosts->first[host + 1] <= rank)
            host++;
    return host;
}

static void count_rank(const schedule_request_t *request, const schedule_t *schedule,
                       schedule_reference_t *counted, uint64_t *host_blocks)
{
    uint32_t host = host_of(request, request->rank);
    uint32_t left = request->hosts == NULL ? 0 : request->hosts->first[host];
    uint32_t right = request->hosts == NULL ? request->size : request->hosts->first[host + 1];
    uint64_t sent = 0;
    for (uint32_t i = 0; i < schedule->send_count; i++) {
        const schedule_send_t *send = &schedule->sends[i];
        uint64_t blocks = schedule_region_blocks(&send->region);
        sent += blocks;
        if (send->peer >= left && send->peer < right)
            continue;
        counted->messages_between++;
        counted->blocks_between += blocks;
        *host_blocks += blocks;
    }
    counted->messages += schedule->send_count;
    counted->blocks += sent;
    if (schedule->send_count > counted->rank_messages)
        counted->rank_messages = schedule->send_count;
    if (sent > counted->rank_blocks)
        counted->rank_blocks = sent;
    if (*host_blocks > counted->host_blocks_between)
        counted->host_blocks_between = *host_blocks;
    if (right == request->rank + 1)
        *host_blocks = 0; /* the next rank is on the next host */
    counted->pieces = schedule->pieces;
}

schedule_reference_t schedule_reference_count(schedule_team_t *team, schedule_builder_t builder,
                                              schedule_request_t request)
{
    schedule_reference_t counted = {0};
    uint64_t host_blocks = 0;
    for (request.rank = 0; request.rank < request.size; request.rank++) {
        schedule_t schedule = {0};
        REQUIRE(builder(&request, &schedule) == MUSTER_OK);
        if (team->memory == NULL || team->memory_size < schedule_memory(&schedule)) {
            free(team->memory);
            team->memory_size = 2 * schedule_memory(&schedule) + 1;
            team->memory = malloc(team->memory_size);
            REQUIRE(team->memory != NULL);
        }
        schedule_place(&schedule, team->memory);
        REQUIRE(builder(&request, &schedule) == MUSTER_OK);
        count_rank(&request, &schedule, &counted, &host_blocks);
    }
    return counted;
}

/* ---- The critical path ----------------------------------------------------------------------- */

/* The phase of peer in which it sends the rank the message that is awaited. */
static uint32_t sending_phase(const schedule_team_t *team, uint32_t peer, uint32_t rank,
                              const schedule_phase_t *place)
{
    const schedule_t *schedule = &team->schedules[peer];
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        const schedule_phase_t *phase = &schedule->phases[i];
        if (phase->group_left == place->group_left && phase->group_right == place->group_right &&
            phase->slot == place->slot && phase->label == place->label &&
            phase->round == place->round && schedule_team_send(team, peer, phase, rank) != NULL)
            return i;
    }
    REQUIRE(false, "a receive has no send");
    return 0;
}

typedef struct path_rank {
    uint64_t *sent; /* by phase, as far as it has come: when its messages leave */
    uint32_t done;  /* phases that are over */
    uint64_t time;  /* when the last one was */
    uint64_t leave; /* when messages can leave again */
    uint64_t come;  /* when the messages of a phase can have come at the earliest */
} path_rank_t;

static void path_begin(const schedule_t *schedule, path_rank_t *rank)
{
    if (rank->done == schedule->phase_count)
        return;
    uint64_t at = rank->time;
    if (schedule->phases[rank->done].send_count > 0) {
        at = at > rank->leave ? at : rank->leave;
        rank->leave = at + 1;
    }
    rank->sent[rank->done] = at;
}

/* Carries a rank on as far as it comes. */
static bool path_advance(const schedule_team_t *team, path_rank_t *ranks, uint32_t rank)
{
    const schedule_t *schedule = &team->schedules[rank];
    path_rank_t *own = &ranks[rank];
    bool moved = false;
    for (; own->done < schedule->phase_count; moved = true) {
        const schedule_phase_t *phase = &schedule->phases[own->done];
        uint64_t end = own->time;
        if (phase->receive_count > 0 && end < own->come)
            end = own->come;
        for (uint32_t i = 0; i < phase->receive_count; i++) {
            uint32_t peer = schedule->receives[phase->first_receive + i].peer;
            uint32_t at = sending_phase(team, peer, rank, phase);
            if (ranks[peer].done < at)
                return moved;
            if (ranks[peer].sent[at] + 1 > end)
                end = ranks[peer].sent[at] + 1;
        }
        own->time = end;
        if (phase->receive_count > 0)
            own->come = end + 1;
        own->done++;
        path_begin(schedule, own);
    }
    return moved;
}

uint64_t schedule_reference_path(const schedule_team_t *team)
{
    uint32_t size = team->request.size;
    path_rank_t *ranks = calloc(size, sizeof *ranks);
    REQUIRE(ranks != NULL);
    for (uint32_t rank = 0; rank < size; rank++) {
        ranks[rank].sent = calloc(team->schedules[rank].phase_count + 1U, sizeof(uint64_t));
        REQUIRE(ranks[rank].sent != NULL);
        path_begin(&team->schedules[rank], &ranks[rank]);
    }
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t rank = 0; rank < size; rank++)
            moved = path_advance(team, ranks, rank) || moved;
    }
    uint64_t longest = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        REQUIRE(ranks[rank].done == team->schedules[rank].phase_count, "a circle of ranks");
        if (ranks[rank].time > longest)
            longest = ranks[rank].time;
        free(ranks[rank].sent);
    }
    free(ranks);
    return longest;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static void compare_rounds(const schedule_figures_t *figures, const char *what)
{
    uint64_t phases = 0, messages = 0, blocks = 0;
    for (uint32_t i = 0; i < figures->round_count; i++) {
        const schedule_round_t *round = &figures->rounds[i];
        REQUIRE(round->times > 0, "%s", what);
        REQUIRE(round->messages_between <= round->messages, "%s", what);
        REQUIRE(round->blocks_between <= round->blocks, "%s", what);
        REQUIRE(round->host_blocks_between >= round->blocks_between, "%s", what);
        phases += round->times;
        messages += round->times * round->messages;
        blocks += round->times * round->blocks;
    }
    REQUIRE(phases == figures->phases, "%s", what);
    /* The busiest rank of all rounds sends no more than the busiest of each. */
    REQUIRE(messages >= figures->rank_messages, "%s: rounds %" PRIu64 " messages, a rank %" PRIu64,
            what, messages, figures->rank_messages);
    REQUIRE(blocks >= figures->rank_blocks, "%s: rounds %" PRIu64 " blocks, a rank %" PRIu64, what,
            blocks, figures->rank_blocks);
}

bool schedule_reference_compare(schedule_team_t *team, schedule_family_t family,
                                schedule_request_t request)
{
    static schedule_figures_t figures;
    char what[200];
    snprintf(what, sizeof what,
             "%s of %s, %" PRIu32 " ranks, %" PRIu32 " hosts, arity %" PRIu32 ", root %" PRIu32
             ", %" PRIu32 " segments, in place %d, uniform %d, small %d, commutative %d",
             schedule_family_name(family), operation_name((uint8_t)request.operation), request.size,
             request.hosts == NULL ? 0 : request.hosts->count, request.arity, request.root,
             request.segments, request.in_place, request.uniform, request.small,
             request.commutative);
    schedule_builder_t builder = schedule_family_builder(family);
    schedule_t schedule = {0};
    muster_status_t status = builder(&request, &schedule);
    REQUIRE(schedule_family_figures(family)(&request, &figures) == status, "%s", what);
    if (status != MUSTER_OK) {
        REQUIRE(status == MUSTER_NOT_SUPPORTED, "%s", what);
        return false;
    }
    schedule_reference_t counted = schedule_reference_count(team, builder, request);
#define SAME(field)                                                                                \
    REQUIRE(counted.field == figures.field, "%s: counted %" PRIu64 ", figures %" PRIu64, what,     \
            (uint64_t)counted.field, (uint64_t)figures.field)
    SAME(messages);
    SAME(blocks);
    SAME(messages_between);
    SAME(blocks_between);
    SAME(rank_messages);
    SAME(rank_blocks);
    SAME(pieces);
#undef SAME
    compare_rounds(&figures, what);
    uint64_t host_blocks = 0;
    for (uint32_t i = 0; i < figures.round_count; i++)
        host_blocks += figures.rounds[i].times * figures.rounds[i].host_blocks_between;
    REQUIRE(host_blocks >= counted.host_blocks_between,
            "%s: rounds %" PRIu64 " blocks of a host, counted %" PRIu64, what, host_blocks,
            counted.host_blocks_between);
    return true;
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

const schedule_hosts_t *schedule_reference_hosts(unsigned layout, uint32_t size,
                                                 schedule_hosts_t *hosts, uint32_t *first)
{
    REQUIRE(layout < SCHEDULE_LAYOUTS);
    if (layout == 0)
        return NULL;
    uint32_t count = 0;
    uint32_t left = 0;
    while (left < size) {
        const uint32_t widths[SCHEDULE_LAYOUTS] = {0, 8, 7 + count % 2, 1, 1 + count % 5, size};
        first[count++] = left;
        left += widths[layout];
    }
    first[count] = size;
    *hosts = (schedule_hosts_t){.count = count, .first = first};
    return hosts;
}
