#include "core/schedule_shift.h"

#include "core/assertion.h"

uint32_t schedule_shift_up(uint32_t size, uint32_t rank, uint32_t distance)
{
    uint32_t behind = size - rank;
    return distance < behind ? rank + distance : distance - behind;
}

uint32_t schedule_shift_down(uint32_t size, uint32_t rank, uint32_t distance)
{
    return distance <= rank ? rank - distance : size - (distance - rank);
}

/* How many numbers two ranges share. */
static uint64_t schedule_shift_common(uint64_t left, uint64_t right, uint64_t other_left,
                                      uint64_t other_right)
{
    uint64_t from = left > other_left ? left : other_left;
    uint64_t to = right < other_right ? right : other_right;
    return to > from ? to - from : 0;
}

schedule_shift_t schedule_shift_between(const schedule_request_t *request, uint32_t distance)
{
    schedule_shift_t shift = {0, 0};
    const schedule_hosts_t *hosts = request->hosts;
    uint64_t size = request->size;
    if (hosts == NULL)
        return shift;
    for (uint32_t host = 0; host < hosts->count; host++) {
        /* Moved up by size, so that going down does not pass zero. */
        uint64_t left = hosts->first[host] + size, right = hosts->first[host + 1] + size;
        uint64_t to_left = left - distance, to_right = right - distance;
        uint64_t stays = schedule_shift_common(left, right, to_left, to_right) +
                         schedule_shift_common(left - size, right - size, to_left, to_right);
        uint64_t away = right - left - stays;
        shift.between += away;
        if (away > shift.busiest)
            shift.busiest = away;
    }
    return shift;
}

void schedule_shift_add(schedule_figures_t *figures, const schedule_request_t *request,
                        const schedule_shift_round_t *given)
{
    uint64_t size = request->size;
    schedule_round_t round = {.times = given->times,
                              .messages = given->count,
                              .received = given->count,
                              .reduced = given->reduced,
                              .copied = given->copied};
    if (given->times == 0 || given->count == 0)
        return;
    for (uint32_t i = 0; i < given->count; i++) {
        uint64_t blocks = i + 1 == given->count ? given->last_blocks : given->blocks;
        schedule_shift_t shift = schedule_shift_between(request, given->first + i * given->step);
        round.blocks += blocks;
        round.messages_between += shift.between > 0;
        round.blocks_between += shift.between > 0 ? blocks : 0;
        round.host_blocks_between += shift.busiest * blocks;
        figures->messages_between += given->times * shift.between;
        figures->blocks_between += given->times * shift.between * blocks;
    }
    figures->messages += given->times * given->count * size;
    figures->blocks += given->times * round.blocks * size;
    figures->rank_messages += given->times * given->count;
    figures->rank_blocks += given->times * round.blocks;
    schedule_figures_add(figures, round);
}
