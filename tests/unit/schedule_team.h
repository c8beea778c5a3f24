/* The schedules of all ranks of one call, for the tests; memory is kept from call to call. */
#ifndef MUSTER_TESTS_SCHEDULE_TEAM_H
#define MUSTER_TESTS_SCHEDULE_TEAM_H

#include "core/schedule_check.h"

typedef struct schedule_team {
    schedule_request_t request;
    schedule_t *schedules; /* by rank */
    uint32_t room;
    unsigned char *memory;
    size_t memory_size;
    void *check_memory;
    size_t check_size;
    char why[256];
} schedule_team_t;

/* Builds every rank's schedule; ends the test where that is not OK. Start with a zeroed team. */
void schedule_team_build(schedule_team_t *team, schedule_builder_t builder,
                         schedule_request_t request);
/* OK, or what the validator says, with team->why. */
muster_status_t schedule_team_check(schedule_team_t *team);
/* Over all ranks. */
schedule_totals_t schedule_team_count(const schedule_team_t *team);
/* The same, rank by rank: for teams too large to be kept. Leaves the team without schedules. */
schedule_totals_t schedule_team_enumerate(schedule_team_t *team, schedule_builder_t builder,
                                          schedule_request_t request);
void schedule_team_free(schedule_team_t *team);

/* The rank's phase of that group, slot and label; NULL where it has none. */
const schedule_phase_t *schedule_team_phase(const schedule_team_t *team, uint32_t rank,
                                            uint32_t left, uint32_t right, unsigned slot,
                                            schedule_label_t label);
/* The rank's send to peer within the phase; NULL where there is none. */
const schedule_send_t *schedule_team_send(const schedule_team_t *team, uint32_t rank,
                                          const schedule_phase_t *phase, uint32_t peer);

#endif
