#include "core/schedule_family.h"

#include "core/assertion.h"

const char *schedule_family_name(schedule_family_t family)
{
    static const char *const names[] = {
#define X(name, text, builder, figures) text,
        SCHEDULE_FAMILY_LIST(X)
#undef X
    };
    MUSTER_ASSERT((unsigned)family < SCHEDULE_FAMILY_COUNT);
    return names[family];
}

schedule_builder_t schedule_family_builder(schedule_family_t family)
{
    static const schedule_builder_t builders[] = {
#define X(name, text, builder, figures) builder,
        SCHEDULE_FAMILY_LIST(X)
#undef X
    };
    MUSTER_ASSERT((unsigned)family < SCHEDULE_FAMILY_COUNT);
    return builders[family];
}

schedule_figures_of_t schedule_family_figures(schedule_family_t family)
{
    static const schedule_figures_of_t all_figures[] = {
#define X(name, text, builder, figures) figures,
        SCHEDULE_FAMILY_LIST(X)
#undef X
    };
    MUSTER_ASSERT((unsigned)family < SCHEDULE_FAMILY_COUNT);
    return all_figures[family];
}

/* ---- For those who write figures ------------------------------------------------------------- */

uint32_t schedule_host_of(const schedule_request_t *request, uint32_t rank)
{
    const schedule_hosts_t *hosts = request->hosts;
    if (hosts == NULL)
        return 0;
    MUSTER_ASSERT(hosts->count >= 1 && rank < hosts->first[hosts->count]);
    uint32_t low = 0; /* the rank's host lies in [low, high) */
    uint32_t high = hosts->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (hosts->first[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t schedule_hosts_each(const schedule_hosts_t *hosts)
{
    if (hosts == NULL || hosts->count < 2)
        return 0;
    uint32_t each = hosts->first[1] - hosts->first[0];
    for (uint32_t host = 1; host < hosts->count; host++)
        if (hosts->first[host + 1] - hosts->first[host] != each)
            return 0;
    return each;
}

uint64_t schedule_pairs_between(const schedule_request_t *request)
{
    uint64_t size = request->size;
    uint64_t pairs = 0;
    if (request->hosts == NULL)
        return 0;
    for (uint32_t host = 0; host < request->hosts->count; ++host) {
        uint64_t ranks = request->hosts->first[host + 1] - request->hosts->first[host];
        pairs += ranks * (size - ranks);
    }
    return pairs;
}

static bool schedule_round_is_like(const schedule_round_t *one, const schedule_round_t *other)
{
    return one->messages == other->messages && one->received == other->received &&
           one->blocks == other->blocks && one->messages_between == other->messages_between &&
           one->blocks_between == other->blocks_between &&
           one->host_blocks_between == other->host_blocks_between &&
           one->reduced == other->reduced && one->copied == other->copied;
}

void schedule_figures_add(schedule_figures_t *figures, schedule_round_t round)
{
    if (round.times == 0)
        return;
    figures->phases += round.times;
    if (figures->round_count > 0) {
        schedule_round_t *last = &figures->rounds[figures->round_count - 1];
        if (schedule_round_is_like(last, &round)) {
            last->times += round.times;
            return;
        }
    }
    MUSTER_ASSERT(figures->round_count < SCHEDULE_FIGURES_ROUNDS);
    figures->rounds[figures->round_count++] = round;
}

void schedule_figures_decide(schedule_figures_t *figures, const schedule_request_t *request)
{
    uint64_t others = request->size - 1;
    if (!request->uniform || others == 0)
        return;
    uint64_t away = request->hosts == NULL ? 0 : request->size - request->hosts->first[1];
    schedule_figures_add(
        figures, (schedule_round_t){
                     .times = 1, .messages = 1, .received = others, .messages_between = away > 0});
    schedule_figures_add(
        figures, (schedule_round_t){
                     .times = 1, .messages = others, .received = 1, .messages_between = away});
    figures->messages += 2 * others;
    figures->messages_between += 2 * away;
    figures->rank_messages += others;
}
