/*
 * What figures are held to: the schedules of all ranks, built and counted one by one.
 */
#ifndef MUSTER_TESTS_SCHEDULE_REFERENCE_H
#define MUSTER_TESTS_SCHEDULE_REFERENCE_H

#include "core/schedule_family.h"
#include "unit/schedule_team.h"

typedef struct schedule_reference {
    uint64_t messages, blocks; /* over all ranks */
    uint64_t messages_between, blocks_between;
    uint64_t rank_messages, rank_blocks; /* of the rank that sends most */
    uint64_t host_blocks_between;        /* of the host that sends most to others */
    uint32_t pieces;
} schedule_reference_t;

/* Rank by rank; the team lends its memory, and is left without schedules. */
schedule_reference_t schedule_reference_count(schedule_team_t *team, schedule_builder_t builder,
                                              schedule_request_t request);

/*
 * The critical path of the team as it was built, in rounds: the messages of a phase leave when it
 * begins, and arrive a round later; in one round a rank sends in one phase and receives in one.
 * Steps take no time.
 */
uint64_t schedule_reference_path(const schedule_team_t *team);

/*
 * Ends the test unless the family's figures are those counted, and their rounds agree with their
 * sums. Returns whether the family supports the request: builder and figures agree on that too.
 */
bool schedule_reference_compare(schedule_team_t *team, schedule_family_t family,
                                schedule_request_t request);

/*
 * Layouts of hosts: 0: none; 1: hosts of 8, the last one smaller; 2: uneven, sizes 7 and 8 in turn
 * (the last one cut); 3: every rank alone; 4: sizes 1, 2, 3 ... in turn up to 5; 5: all on one.
 * first has room for size + 1. Returns hosts, or NULL for layout 0.
 */
#define SCHEDULE_LAYOUTS 6
const schedule_hosts_t *schedule_reference_hosts(unsigned layout, uint32_t size,
                                                 schedule_hosts_t *hosts, uint32_t *first);

#endif
