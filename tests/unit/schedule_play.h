/*
 * Plays the schedules of a team with numbers, rank by rank in a drawn order, and keeps every
 * message. The reduction is the caller's, so that order can be seen.
 */
#ifndef MUSTER_TESTS_SCHEDULE_PLAY_H
#define MUSTER_TESTS_SCHEDULE_PLAY_H

#include "unit/schedule_team.h"

#define PLAY_UNTOUCHED INT64_MIN

typedef struct play_message {
    uint32_t source, destination;
    uint32_t group_left, group_right;
    uint8_t slot, label;
    int64_t *values;
    uint64_t count;
} play_message_t;

typedef struct schedule_play {
    const schedule_team_t *team;
    int64_t (*reduce)(int64_t left, int64_t right);
    int64_t *send[64], *receive[64], *scratch[64], *initial[64];
    int64_t *owned[64]; /* what to free */
    uint32_t begun[64], completed[64];
    play_message_t *messages; /* in the order in which they were sent */
    size_t message_count, message_room;
    uint64_t copied; /* blocks, by steps */
} schedule_play_t;

int64_t play_sum(int64_t left, int64_t right);
/* Decimal digits one after the other: of 1, 2 and 3 in rank order, 123. */
int64_t play_join(int64_t left, int64_t right);

/* Sets up memory for at most 64 ranks: everything is PLAY_UNTOUCHED. */
void schedule_play_begin(schedule_play_t *play, const schedule_team_t *team,
                         int64_t (*reduce)(int64_t, int64_t));
/* Blocks of each buffer by rank come from value(rank, block), where it is not NULL. */
void schedule_play_fill(schedule_play_t *play, int64_t (*value)(uint32_t rank, uint32_t block));
/* Runs to the end; false where the ranks get stuck. order: a seed. */
bool schedule_play_run(schedule_play_t *play, uint32_t order);
void schedule_play_end(schedule_play_t *play);

/* The first message from source to destination with that label; NULL: none. */
const play_message_t *schedule_play_find(const schedule_play_t *play, uint32_t source,
                                         uint32_t destination, schedule_label_t label);

#endif
