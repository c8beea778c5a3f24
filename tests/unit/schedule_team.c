#include "unit/schedule_team.h"

#include <stdlib.h>
#include <string.h>

#include "unit/require.h"

static void *grown(void *memory, size_t *size, size_t needed)
{
    if (needed == 0)
        needed = 1;
    if (*size >= needed)
        return memory;
    free(memory);
    *size = needed + needed / 2;
    memory = malloc(*size);
    REQUIRE(memory != NULL);
    return memory;
}

void schedule_team_build(schedule_team_t *team, schedule_builder_t builder,
                         schedule_request_t request)
{
    team->request = request;
    size_t schedule_bytes = team->room * sizeof *team->schedules;
    team->schedules =
        grown(team->schedules, &schedule_bytes, request.size * sizeof *team->schedules);
    team->room = (uint32_t)(schedule_bytes / sizeof *team->schedules);
    size_t needed = 0;
    for (request.rank = 0; request.rank < request.size; request.rank++) {
        schedule_t *schedule = &team->schedules[request.rank];
        memset(schedule, 0, sizeof *schedule);
        muster_status_t status = builder(&request, schedule);
        REQUIRE(status == MUSTER_OK, "%s", muster_status_name(status));
        needed += schedule_memory(schedule);
    }
    team->memory = grown(team->memory, &team->memory_size, needed);
    size_t taken = 0;
    for (request.rank = 0; request.rank < request.size; request.rank++) {
        schedule_t *schedule = &team->schedules[request.rank];
        schedule_t counted = *schedule;
        schedule_place(schedule, team->memory + taken);
        taken += schedule_memory(schedule);
        REQUIRE(builder(&request, schedule) == MUSTER_OK);
        /* Filling comes out as counted. */
        REQUIRE(schedule->phase_count == counted.phase_count);
        REQUIRE(schedule->step_count == counted.step_count);
        REQUIRE(schedule->send_count == counted.send_count);
        REQUIRE(schedule->receive_count == counted.receive_count);
        REQUIRE(schedule->scratch_blocks == counted.scratch_blocks);
    }
}

muster_status_t schedule_team_check(schedule_team_t *team)
{
    team->check_memory = grown(team->check_memory, &team->check_size,
                               schedule_check_memory(&team->request, team->schedules));
    text_t why = text_over(team->why, sizeof team->why);
    return schedule_check(&team->request, team->schedules, team->check_memory, &why);
}

schedule_totals_t schedule_team_count(const schedule_team_t *team)
{
    schedule_totals_t totals = {0, 0};
    for (uint32_t rank = 0; rank < team->request.size; rank++) {
        schedule_totals_t own = schedule_count(&team->schedules[rank]);
        totals.messages += own.messages;
        totals.blocks += own.blocks;
    }
    return totals;
}

schedule_totals_t schedule_team_enumerate(schedule_team_t *team, schedule_builder_t builder,
                                          schedule_request_t request)
{
    schedule_totals_t totals = {0, 0};
    for (request.rank = 0; request.rank < request.size; request.rank++) {
        schedule_t schedule = {0};
        REQUIRE(builder(&request, &schedule) == MUSTER_OK);
        team->memory = grown(team->memory, &team->memory_size, schedule_memory(&schedule));
        schedule_place(&schedule, team->memory);
        REQUIRE(builder(&request, &schedule) == MUSTER_OK);
        schedule_totals_t own = schedule_count(&schedule);
        totals.messages += own.messages;
        totals.blocks += own.blocks;
    }
    return totals;
}

void schedule_team_free(schedule_team_t *team)
{
    free(team->schedules);
    free(team->memory);
    free(team->check_memory);
    *team = (schedule_team_t){0};
}

const schedule_phase_t *schedule_team_phase(const schedule_team_t *team, uint32_t rank,
                                            uint32_t left, uint32_t right, unsigned slot,
                                            schedule_label_t label)
{
    const schedule_t *schedule = &team->schedules[rank];
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        const schedule_phase_t *phase = &schedule->phases[i];
        if (phase->group_left == left && phase->group_right == right && phase->slot == slot &&
            phase->label == label)
            return phase;
    }
    return NULL;
}

const schedule_send_t *schedule_team_send(const schedule_team_t *team, uint32_t rank,
                                          const schedule_phase_t *phase, uint32_t peer)
{
    for (uint32_t i = 0; i < phase->send_count; i++) {
        const schedule_send_t *send = &team->schedules[rank].sends[phase->first_send + i];
        if (send->peer == peer)
            return send;
    }
    return NULL;
}
