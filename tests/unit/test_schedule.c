/* Schedules by example: the tree of ten ranks at arity three, stars, slots, printing. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/generation.h"
#include "core/split.h"
#include "unit/require.h"
#include "unit/schedule_play.h"

static schedule_team_t team;
static schedule_play_t play;

static void build(schedule_request_t request)
{
    schedule_team_build(&team, schedule_tree, request);
    ck_assert_msg(schedule_team_check(&team) == MUSTER_OK, "%s", team.why);
}

static void free_all(void)
{
    schedule_play_end(&play);
    schedule_team_free(&team);
}

static int64_t rank_and_one(uint32_t rank, uint32_t block)
{
    (void)block;
    return (int64_t)rank + 1;
}

static int64_t route(uint32_t rank, uint32_t block)
{
    return 100 * (int64_t)rank + block;
}

/* Builds, fills with value and plays; ten ranks at arity three, unless the request has a size. */
static void run(schedule_request_t request, int64_t (*value)(uint32_t, uint32_t),
                int64_t (*reduce)(int64_t, int64_t))
{
    if (request.size == 0) {
        request.size = 10;
        request.arity = 3;
    }
    schedule_play_end(&play);
    build(request);
    schedule_play_begin(&play, &team, reduce);
    schedule_play_fill(&play, value);
    if (request.initial)
        for (uint32_t rank = 0; rank < request.size; rank++)
            *play.initial[rank] = 0;
    ck_assert(schedule_play_run(&play, request.size + request.arity));
}

/* Who sends to whom in a phase of that label, as bits [source][destination]. */
static bool sends(uint32_t source, uint32_t destination, schedule_label_t label)
{
    return schedule_play_find(&play, source, destination, label) != NULL;
}

START_TEST(ten_ranks_meet_in_groups_of_three) /* C302 */
{
    static const uint32_t leader[10] = {0, 0, 0, 0, 0, 4, 4, 0, 7, 7};
    run((schedule_request_t){.operation = OPERATION_BARRIER}, rank_and_one, NULL);
    for (uint32_t rank = 1; rank < 10; rank++) {
        ck_assert(sends(rank, leader[rank], SCHEDULE_UP));
        ck_assert(sends(leader[rank], rank, SCHEDULE_DOWN));
    }
    ck_assert_uint_eq(play.message_count, 18);
    /* {0..3} splits again: {0,1},{2},{3}; ranks 2 and 3 are groups of one and meet 0 at once. */
    ck_assert_ptr_nonnull(schedule_team_phase(&team, 1, 0, 2, 0, SCHEDULE_UP));
    ck_assert_ptr_nonnull(schedule_team_phase(&team, 2, 0, 4, 0, SCHEDULE_UP));
    ck_assert_ptr_nonnull(schedule_team_phase(&team, 4, 0, 10, 0, SCHEDULE_UP));
    ck_assert_uint_eq(team.schedules[0].phase_count, 6);
    ck_assert_uint_eq(team.schedules[2].phase_count, 2);
    /* One as wide as the arity is a leaf. */
    ck_assert_ptr_nonnull(schedule_team_phase(&team, 5, 4, 7, 0, SCHEDULE_UP));
    ck_assert_uint_eq(team.schedules[4].phase_count, 4);
    free_all();
}
END_TEST

START_TEST(eight_ranks_meet_in_pairs) /* C303 */
{
    static const uint32_t leader[8] = {0, 0, 0, 2, 0, 4, 4, 6};
    static const uint32_t left[8] = {0, 0, 0, 2, 0, 4, 4, 6};
    static const uint32_t right[8] = {0, 2, 4, 4, 8, 6, 8, 8};
    run((schedule_request_t){.operation = OPERATION_BARRIER, .size = 8, .arity = 2}, rank_and_one,
        NULL);
    ck_assert_uint_eq(play.message_count, 14);
    for (uint32_t rank = 1; rank < 8; rank++) {
        const play_message_t *up = schedule_play_find(&play, rank, leader[rank], SCHEDULE_UP);
        ck_assert_ptr_nonnull(up);
        ck_assert(up->group_left == left[rank] && up->group_right == right[rank]);
    }
    free_all();
}
END_TEST

START_TEST(allreduce_of_ten) /* C408 */
{
    run((schedule_request_t){.operation = OPERATION_ALLREDUCE}, rank_and_one, play_sum);
    const play_message_t *four = schedule_play_find(&play, 4, 0, SCHEDULE_UP);
    const play_message_t *seven = schedule_play_find(&play, 7, 0, SCHEDULE_UP);
    ck_assert_int_eq(four->values[0], 18);
    ck_assert_int_eq(seven->values[0], 27);
    ck_assert_int_eq(55 - four->values[0] - seven->values[0], 10);
    for (size_t i = 0; i < play.message_count; i++) /* one value per level goes up, and down */
        ck_assert_uint_eq(play.messages[i].count, 1);
    ck_assert_uint_eq(play.message_count, 18);
    for (uint32_t rank = 0; rank < 10; rank++)
        ck_assert_int_eq(play.receive[rank][0], 55);
    free_all();
}
END_TEST

START_TEST(allgather_of_ten) /* C407 */
{
    run((schedule_request_t){.operation = OPERATION_ALLGATHER}, rank_and_one, NULL);
    ck_assert_uint_eq(schedule_play_find(&play, 4, 0, SCHEDULE_UP)->count, 3);
    ck_assert_uint_eq(schedule_play_find(&play, 7, 0, SCHEDULE_UP)->count, 3);
    for (uint32_t rank = 0; rank < 10; rank++)
        for (int64_t i = 0; i < 10; i++)
            ck_assert_int_eq(play.receive[rank][i], i + 1);
    for (size_t i = 0; i < play.message_count; i++) /* ten go down */
        ck_assert(play.messages[i].label == SCHEDULE_UP || play.messages[i].count == 10);
    /* A leader of four that is not the root carries four values up: 12 ranks at arity three. */
    run((schedule_request_t){.operation = OPERATION_ALLGATHER, .size = 12, .arity = 3},
        rank_and_one, NULL);
    const play_message_t *up = schedule_play_find(&play, 4, 0, SCHEDULE_UP);
    ck_assert_uint_eq(up->count, 4);
    for (int64_t i = 0; i < 4; i++)
        ck_assert_int_eq(up->values[i], i + 5);
    free_all();
}
END_TEST

START_TEST(alltoall_of_ten) /* C411 */
{
    run((schedule_request_t){.operation = OPERATION_ALLTOALL}, route, NULL);
    const play_message_t *row = schedule_play_find(&play, 3, 0, SCHEDULE_UP);
    ck_assert_uint_eq(row->count, 10);
    for (int64_t i = 0; i < 10; i++)
        ck_assert_int_eq(row->values[i], 300 + i);
    for (uint32_t rank = 0; rank < 10; rank++)
        for (int64_t i = 0; i < 10; i++)
            ck_assert_int_eq(play.receive[rank][i], 100 * i + rank);
    free_all();
}
END_TEST

START_TEST(six_messages_of_the_exchange) /* C412 */
{
    static const uint32_t pairs[6][2] = {{0, 4}, {0, 7}, {4, 0}, {4, 7}, {7, 0}, {7, 4}};
    static const uint32_t width[10] = {[0] = 4, [4] = 3, [7] = 3};
    run((schedule_request_t){.operation = OPERATION_ALLTOALL}, route, NULL);
    unsigned exchanged = 0;
    for (size_t i = 0; i < play.message_count; i++)
        exchanged += play.messages[i].label == SCHEDULE_EXCHANGE;
    ck_assert_uint_eq(exchanged, 6);
    for (unsigned i = 0; i < 6; i++) {
        const play_message_t *message =
            schedule_play_find(&play, pairs[i][0], pairs[i][1], SCHEDULE_EXCHANGE);
        ck_assert_ptr_nonnull(message);
        /* Exactly what goes from part to part: the diagonal stays with its leader. */
        ck_assert_uint_eq(message->count, width[pairs[i][0]] * width[pairs[i][1]]);
        for (uint64_t k = 0; k < message->count; k++) {
            ck_assert_int_ge(message->values[k] % 100, pairs[i][1]);
            ck_assert_int_lt(message->values[k] % 100, pairs[i][1] + width[pairs[i][1]]);
        }
    }
    free_all();
}
END_TEST

/* The messages that carry the value, as "2>0 0>7 7>" pairs in order. */
static void follow(int64_t value, uint32_t (*hops)[2], unsigned *count)
{
    *count = 0;
    for (size_t i = 0; i < play.message_count; i++)
        for (uint64_t k = 0; k < play.messages[i].count; k++)
            if (play.messages[i].values[k] == value) {
                REQUIRE(*count < 8);
                hops[*count][0] = play.messages[i].source;
                hops[(*count)++][1] = play.messages[i].destination;
            }
}

START_TEST(the_route_of_a_value) /* C413 */
{
    uint32_t hops[8][2];
    unsigned count;
    run((schedule_request_t){.operation = OPERATION_ALLTOALL}, route, NULL);
    follow(207, hops, &count); /* rank 2, leader 0, leader 7, which is rank 7 */
    ck_assert_uint_eq(count, 2);
    ck_assert(hops[0][0] == 2 && hops[0][1] == 0 && hops[1][0] == 0 && hops[1][1] == 7);
    ck_assert_int_eq(play.receive[7][2], 207);
    follow(208, hops, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert(hops[2][0] == 7 && hops[2][1] == 8);
    follow(807, hops, &count); /* never crosses the exchange */
    ck_assert_uint_eq(count, 1);
    ck_assert(hops[0][0] == 8 && hops[0][1] == 7);
    ck_assert_int_eq(play.receive[7][8], 807);
    free_all();
}
END_TEST

START_TEST(nobody_holds_all_rows_in_a_tree) /* C413 */
{
    static const uint32_t shapes[][2] = {{10, 3}, {8, 2}, {17, 4}, {5, 4}, {24, 2}, {23, 7}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint32_t size = shapes[i][0];
        run((schedule_request_t){.operation = OPERATION_ALLTOALL,
                                 .size = size,
                                 .arity = shapes[i][1]},
            route, NULL);
        for (uint32_t rank = 0; rank < size; rank++) {
            uint64_t rows = 1; /* whole rows: its own, and those that came up */
            for (size_t k = 0; k < play.message_count; k++)
                if (play.messages[k].destination == rank && play.messages[k].label == SCHEDULE_UP)
                    rows += play.messages[k].count / size;
            ck_assert_uint_lt(rows, size);
        }
        for (size_t k = 0; k < play.message_count; k++) {
            const play_message_t *message = &play.messages[k];
            if (message->label != SCHEDULE_EXCHANGE)
                continue;
            uint32_t part = split_classify(size, shapes[i][1], message->destination);
            for (uint64_t b = 0; b < message->count; b++)
                ck_assert_uint_eq(
                    split_classify(size, shapes[i][1], (uint32_t)(message->values[b] % 100)), part);
        }
    }
    free_all();
}
END_TEST

START_TEST(scans_of_five_and_ten) /* C415 */
{
    static const int64_t sums[11] = {0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55};
    static const uint32_t shapes[][2] = {{5, 5}, {5, 2}, {10, 3}, {10, 10}, {10, 2}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        schedule_request_t request = {
            .operation = OPERATION_SCAN, .size = shapes[i][0], .arity = shapes[i][1]};
        run(request, rank_and_one, play_sum);
        for (uint32_t rank = 0; rank < request.size; rank++)
            ck_assert_int_eq(play.receive[rank][0], sums[rank + 1]);
        request.operation = OPERATION_EXSCAN;
        request.initial = true;
        run(request, rank_and_one, play_sum);
        for (uint32_t rank = 0; rank < request.size; rank++)
            ck_assert_int_eq(play.receive[rank][0], sums[rank]);
        request.initial = false;
        run(request, rank_and_one, play_sum);
        ck_assert_int_eq(play.receive[0][0], PLAY_UNTOUCHED); /* without: left untouched */
        for (uint32_t rank = 1; rank < request.size; rank++)
            ck_assert_int_eq(play.receive[rank][0], sums[rank]);
    }
    free_all();
}
END_TEST

START_TEST(reductions_keep_rank_order) /* C406 */
{
    int64_t joined[10] = {0};
    for (uint32_t i = 1; i < 10; i++)
        joined[i] = play_join(joined[i - 1], i);
    for (uint32_t size = 2; size <= 9; size++) {
        for (uint32_t arity = 2; arity <= size; arity++) {
            for (unsigned variant = 0; variant < 2 * size + 4; variant++) {
                schedule_request_t request = {
                    .size = size, .arity = arity, .in_place = variant % 2 > 0};
                request.operation = variant < 2   ? OPERATION_ALLREDUCE
                                    : variant < 4 ? OPERATION_SCAN
                                                  : OPERATION_REDUCE;
                request.root = variant < 4 ? 0 : (variant - 4) / 2;
                run(request, rank_and_one, play_join);
                for (uint32_t rank = 0; rank < size; rank++)
                    if (request.operation != OPERATION_REDUCE || rank == request.root)
                        REQUIRE(play.receive[rank][0] ==
                                joined[request.operation == OPERATION_SCAN ? rank + 1 : size]);
            }
        }
    }
    free_all();
}
END_TEST

START_TEST(direct_reductions_keep_rank_order) /* C406 */
{
    for (uint32_t size = 2; size <= 9; size++) {
        for (unsigned in_place = 0; in_place < 2; in_place++) {
            schedule_request_t request = {
                .operation = OPERATION_ALLREDUCE, .size = size, .arity = 2, .in_place = in_place};
            schedule_team_build(&team, schedule_direct, request);
            schedule_play_end(&play);
            schedule_play_begin(&play, &team, play_join);
            schedule_play_fill(&play, rank_and_one);
            ck_assert(schedule_play_run(&play, size));
            int64_t joined = 1;
            for (int64_t i = 2; i <= size; i++)
                joined = play_join(joined, i);
            for (uint32_t rank = 0; rank < size; rank++)
                ck_assert_int_eq(play.receive[rank][0], joined);
            if (size == 2) /* no copies, and nothing but the result's place */
                ck_assert_uint_eq(play.copied, 0);
            if (size == 2 && !in_place)
                ck_assert_uint_eq(team.schedules[0].scratch_blocks, 0);
        }
    }
    free_all();
}
END_TEST

START_TEST(slots_of_an_alltoall) /* C211 */
{
    run((schedule_request_t){.operation = OPERATION_ALLTOALL, .uniform = true}, route, NULL);
    for (size_t i = 0; i < play.message_count; i++) {
        const play_message_t *message = &play.messages[i];
        bool top = message->group_left == 0 && message->group_right == 10;
        switch (message->label) {
        case SCHEDULE_UP: /* subtree gather and leader exchange share 2k-1, in different groups */
            ck_assert(message->slot == 0 && !top);
            break;
        case SCHEDULE_EXCHANGE:
            ck_assert(message->slot == 0 && top);
            break;
        case SCHEDULE_DOWN: /* the leader group skips 2k */
            ck_assert(message->slot == 1 && !top);
            break;
        default: /* a decide phase is a further phase within 2k */
            ck_assert(message->label == SCHEDULE_DECIDE_UP ||
                      message->label == SCHEDULE_DECIDE_DOWN);
            ck_assert_uint_eq(message->slot, 1);
        }
    }
    ck_assert_uint_eq(generation_internal(3, 0), 5);
    ck_assert_uint_eq(generation_internal(3, 1), 6);
    free_all();
}
END_TEST

START_TEST(an_unused_slot_has_no_message) /* C202 */
{
    static const struct {
        operation_t operation;
        uint8_t slot;
    } one_way[] = {{OPERATION_BROADCAST, 1},
                   {OPERATION_SCATTER, 1},
                   {OPERATION_REDUCE, 0},
                   {OPERATION_GATHER, 0}};
    for (unsigned i = 0; i < 4; i++) {
        run((schedule_request_t){.operation = one_way[i].operation}, route, play_sum);
        ck_assert_uint_eq(play.message_count, 9);
        for (size_t k = 0; k < play.message_count; k++)
            ck_assert_uint_eq(play.messages[k].slot, one_way[i].slot);
    }
    free_all();
}
END_TEST

START_TEST(operations_share_the_two_slots) /* C210 */
{
    static const operation_t mixed[] = {OPERATION_ALLREDUCE, OPERATION_ALLTOALL,
                                        OPERATION_ALLGATHER, OPERATION_SCAN};
    uint64_t last[4] = {0}; /* of the groups [0,10), [0,4), [4,7), [7,10) */
    static const uint32_t left[4] = {0, 0, 4, 7};
    static const uint32_t right[4] = {10, 4, 7, 10};
    for (unsigned i = 0; i < 4; i++) {
        uint64_t generation = i + 1;
        run((schedule_request_t){.operation = mixed[i], .uniform = true}, route, play_sum);
        for (size_t k = 0; k < play.message_count; k++) {
            const play_message_t *message = &play.messages[k];
            uint64_t internal = generation_internal(generation, message->slot);
            for (unsigned g = 0; g < 4; g++)
                if (message->group_left == left[g] && message->group_right == right[g]) {
                    ck_assert_uint_ge(internal, 2 * generation - 1);
                    ck_assert_uint_le(internal, 2 * generation);
                    if (internal > last[g])
                        last[g] = internal;
                }
        }
    }
    for (unsigned g = 0; g < 4; g++) /* nothing has touched 9 and 10, of public 5 */
        ck_assert_uint_lt(last[g], generation_internal(5, 0));
    free_all();
}
END_TEST

START_TEST(messages_of_a_star) /* C313 */
{
    for (uint32_t size = 1; size <= 17; size++) {
        for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
            uint32_t last = operation_is_rooted((operation_t)operation) ? size - 1 : 0;
            for (uint32_t root = 0; root <= last; root += last > 0 ? last : 1) {
                run((schedule_request_t){.operation = (operation_t)operation,
                                         .size = size,
                                         .arity = size + 2,
                                         .root = root},
                    route, play_sum);
                uint32_t ways = operation_is_rooted((operation_t)operation) ? 1 : 2;
                ck_assert_uint_eq(play.message_count, ways * (size - 1));
                for (size_t k = 0; k < play.message_count; k++)
                    ck_assert(play.messages[k].source == root ||
                              play.messages[k].destination == root);
                if (ways == 2)
                    continue;
                run((schedule_request_t){.operation = (operation_t)operation,
                                         .size = size,
                                         .arity = size + 2,
                                         .uniform = true,
                                         .small = true},
                    route, play_sum); /* a small one-way operation becomes two-way, at rank 0 */
                if (operation != OPERATION_SCATTER && operation != OPERATION_SCATTERV)
                    ck_assert_uint_eq(play.message_count, 2 * (size - 1));
            }
        }
    }
    free_all();
}
END_TEST

START_TEST(another_root_is_relayed_in_a_tree)
{
    run((schedule_request_t){.operation = OPERATION_BROADCAST, .root = 5}, route, NULL);
    ck_assert_uint_eq(play.message_count, 9); /* one more to rank 0, one less to the root */
    ck_assert(sends(5, 0, SCHEDULE_RELAY) && !sends(4, 5, SCHEDULE_DOWN));
    ck_assert_uint_eq(schedule_play_find(&play, 5, 0, SCHEDULE_RELAY)->slot, 0);
    run((schedule_request_t){.operation = OPERATION_REDUCE, .root = 5}, rank_and_one, play_sum);
    ck_assert_uint_eq(schedule_play_find(&play, 0, 5, SCHEDULE_RELAY)->slot, 1);
    ck_assert_int_eq(play.receive[5][0], 55);
    run((schedule_request_t){.operation = OPERATION_SCATTER, .root = 9}, route, NULL);
    ck_assert_uint_eq(schedule_play_find(&play, 9, 0, SCHEDULE_RELAY)->count, 10);
    ck_assert_int_eq(play.receive[3][0], 903);
    free_all();
}
END_TEST

START_TEST(who_decides)
{
    static const struct {
        operation_t operation;
        bool small;
        bool on_the_way;
    } cases[] = {{OPERATION_BARRIER, false, true},    {OPERATION_ALLREDUCE, true, true},
                 {OPERATION_ALLREDUCE, false, false}, {OPERATION_ALLGATHERV, true, true},
                 {OPERATION_BROADCAST, true, true},   {OPERATION_REDUCE, true, true},
                 {OPERATION_GATHERV, true, true},     {OPERATION_GATHER, false, false},
                 {OPERATION_SCATTER, true, false},    {OPERATION_ALLTOALL, true, false},
                 {OPERATION_SCAN, true, false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        build((schedule_request_t){.operation = cases[i].operation,
                                   .size = 10,
                                   .arity = 3,
                                   .uniform = true,
                                   .small = cases[i].small});
        ck_assert(team.schedules[0].self_deciding == cases[i].on_the_way);
        const schedule_phase_t *up =
            schedule_team_phase(&team, 0, 0, 10, cases[i].on_the_way ? 0 : 1,
                                cases[i].on_the_way ? SCHEDULE_UP : SCHEDULE_DECIDE_UP);
        ck_assert(up != NULL && up->decides);
    }
    free_all();
}
END_TEST

START_TEST(copies_are_few)
{
    static const struct {
        operation_t operation;
        uint32_t size, arity;
        bool in_place;
        uint64_t copied; /* blocks, over all ranks */
    } cases[] = {
        {OPERATION_BROADCAST, 10, 3, false, 0}, {OPERATION_ALLREDUCE, 2, 2, false, 0},
        {OPERATION_ALLREDUCE, 10, 3, true, 0},  {OPERATION_ALLREDUCE, 8, 2, false, 0},
        {OPERATION_ALLREDUCE, 10, 3, false, 2}, /* 4 and 7; 0 begins with 1 alone */
        {OPERATION_ALLGATHER, 10, 3, false, 3}, {OPERATION_ALLGATHER, 10, 3, true, 0},
        {OPERATION_GATHER, 10, 10, false, 1},   {OPERATION_GATHER, 10, 10, true, 0},
        {OPERATION_SCATTER, 10, 10, false, 1},  {OPERATION_SCATTER, 10, 10, true, 0},
        {OPERATION_SCAN, 10, 3, false, 1},      {OPERATION_SCAN, 10, 3, true, 0},
        {OPERATION_EXSCAN, 10, 3, false, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        run((schedule_request_t){.operation = cases[i].operation,
                                 .size = cases[i].size,
                                 .arity = cases[i].arity,
                                 .in_place = cases[i].in_place},
            rank_and_one, play_sum);
        ck_assert_msg(play.copied == cases[i].copied, "%s (case %u) copies %d blocks",
                      operation_name((uint8_t)cases[i].operation), i, (int)play.copied);
    }
    free_all();
}
END_TEST

START_TEST(one_rank_alone)
{
    for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
        for (unsigned uniform = 0; uniform < 2; uniform++) {
            run(
                (schedule_request_t){
                    .operation = (operation_t)operation, .size = 1, .arity = 2, .uniform = uniform},
                rank_and_one, play_sum);
            ck_assert_uint_eq(play.message_count, 0);
            ck_assert_uint_eq(team.schedules[0].scratch_blocks, 0);
            if (uniform) {
                ck_assert_uint_eq(team.schedules[0].phase_count, 1);
                ck_assert(team.schedules[0].phases[0].decides);
            }
        }
    }
    free_all();
}
END_TEST

START_TEST(carriers_go_with_ragged_trees)
{
    for (unsigned operation = 0; operation < OPERATION_COUNT; operation++) {
        build((schedule_request_t){.operation = (operation_t)operation, .size = 10, .arity = 3});
        bool carries = operation == OPERATION_GATHERV || operation == OPERATION_SCATTERV ||
                       operation == OPERATION_ALLTOALLV;
        ck_assert(team.schedules[7].carrier == carries);
    }
    free_all();
}
END_TEST

START_TEST(what_direct_does_not_do)
{
    static const operation_t none[] = {OPERATION_BROADCAST, OPERATION_REDUCE, OPERATION_GATHER,
                                       OPERATION_SCATTER,   OPERATION_SCAN,   OPERATION_EXSCAN};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        schedule_t schedule = {0};
        schedule_request_t request = {.operation = none[i], .size = 4, .arity = 2};
        ck_assert_int_eq(schedule_direct(&request, &schedule), MUSTER_NOT_SUPPORTED);
    }
}
END_TEST

START_TEST(sends_begin_with_the_next_rank)
{
    schedule_team_build(
        &team, schedule_direct,
        (schedule_request_t){.operation = OPERATION_ALLGATHER, .size = 7, .arity = 2});
    for (uint32_t rank = 0; rank < 7; rank++)
        for (uint32_t i = 0; i < 6; i++)
            ck_assert_uint_eq(team.schedules[rank].sends[i].peer, (rank + 1 + i) % 7);
    free_all();
}
END_TEST

START_TEST(schedules_are_printed)
{
    char bytes[1024];
    text_t text = text_over(bytes, sizeof bytes);
    build((schedule_request_t){
        .operation = OPERATION_ALLGATHER, .size = 10, .arity = 3, .uniform = true, .small = true});
    schedule_print(&team.schedules[4], &text);
    ck_assert_str_eq(bytes, "phase 0 up [4,7) slot 1: copy 1 | recv 5 6\n"
                            "phase 1 up [0,10) slot 1: send 0: 3 blocks\n"
                            "phase 2 down [0,10) slot 2: recv 0\n"
                            "phase 3 down [4,7) slot 2: send 5: 10 blocks, 6: 10 blocks\n");
    text = text_over(bytes, sizeof bytes);
    schedule_print(&team.schedules[0], &text);
    ck_assert_ptr_nonnull(strstr(bytes, "phase 2 up [0,10) slot 1: recv 4 7 | decides\n"));
    text = text_over(bytes, 20); /* cut, and closed */
    schedule_print(&team.schedules[4], &text);
    ck_assert_str_eq(bytes, "phase 0 up [4,7) sl");
    text = text_over(bytes, sizeof bytes);
    schedule_team_build(
        &team, schedule_direct,
        (schedule_request_t){
            .operation = OPERATION_ALLREDUCE, .size = 2, .arity = 2, .in_place = true});
    schedule_print(&team.schedules[1], &text);
    ck_assert_str_eq(bytes, "phase 0 exchange [0,2) slot 1: recv 0 | send 0: 1 block\n"
                            "phase 1 down [1,2) slot 2: drain | reduce 1\n");
    free_all();
}
END_TEST

START_TEST(regions_count_their_runs)
{
    schedule_region_t region = {.buffer = SCHEDULE_SEND,
                                .offset = 3,
                                .run = 2,
                                .inner_count = 3,
                                .inner_stride = 10,
                                .outer_count = 2,
                                .outer_stride = 100};
    ck_assert_uint_eq(schedule_region_blocks(&region), 12);
    ck_assert_uint_eq(schedule_region_start(&region, 2), 23);
    ck_assert_uint_eq(schedule_region_start(&region, 4), 113);
    region = schedule_rows(SCHEDULE_SEND, 5, 4, 3, 4); /* runs that touch are one */
    ck_assert(region.run == 12 && region.inner_count == 1);
    region = schedule_run(SCHEDULE_SEND, 5, 0);
    ck_assert_uint_eq(schedule_region_blocks(&region), 0);
    ck_assert_uint_eq(region.buffer, SCHEDULE_NOTHING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tests = tcase_create("schedule");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, ten_ranks_meet_in_groups_of_three);
    tcase_add_test(tests, eight_ranks_meet_in_pairs);
    tcase_add_test(tests, allreduce_of_ten);
    tcase_add_test(tests, allgather_of_ten);
    tcase_add_test(tests, alltoall_of_ten);
    tcase_add_test(tests, six_messages_of_the_exchange);
    tcase_add_test(tests, the_route_of_a_value);
    tcase_add_test(tests, nobody_holds_all_rows_in_a_tree);
    tcase_add_test(tests, scans_of_five_and_ten);
    tcase_add_test(tests, reductions_keep_rank_order);
    tcase_add_test(tests, direct_reductions_keep_rank_order);
    tcase_add_test(tests, slots_of_an_alltoall);
    tcase_add_test(tests, an_unused_slot_has_no_message);
    tcase_add_test(tests, operations_share_the_two_slots);
    tcase_add_test(tests, messages_of_a_star);
    tcase_add_test(tests, another_root_is_relayed_in_a_tree);
    tcase_add_test(tests, who_decides);
    tcase_add_test(tests, copies_are_few);
    tcase_add_test(tests, one_rank_alone);
    tcase_add_test(tests, carriers_go_with_ragged_trees);
    tcase_add_test(tests, what_direct_does_not_do);
    tcase_add_test(tests, sends_begin_with_the_next_rank);
    tcase_add_test(tests, schedules_are_printed);
    tcase_add_test(tests, regions_count_their_runs);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
