/*
 * The validator finds planted faults: each kind by name, with what it says of it; and of faults
 * drawn at random, none that it lets pass makes a wrong result.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/require.h"
#include "unit/schedule_play.h"

static schedule_team_t team;
static schedule_play_t play;

/* ---- Planting -------------------------------------------------------------------------------- */

static schedule_t *of(uint32_t rank)
{
    return &team.schedules[rank];
}

static schedule_phase_t *phase_of(uint32_t rank, uint32_t phase)
{
    ck_assert_uint_lt(phase, of(rank)->phase_count);
    return &of(rank)->phases[phase];
}

static schedule_send_t *send_of(uint32_t rank, uint32_t number)
{
    ck_assert_uint_lt(number, of(rank)->send_count);
    return &of(rank)->sends[number];
}

static schedule_receive_t *receive_of(uint32_t rank, uint32_t number)
{
    ck_assert_uint_lt(number, of(rank)->receive_count);
    return &of(rank)->receives[number];
}

static schedule_step_t *step_of(uint32_t rank, uint32_t number)
{
    ck_assert_uint_lt(number, of(rank)->step_count);
    return &of(rank)->steps[number];
}

static void drop_send(uint32_t rank, uint32_t number)
{
    schedule_t *schedule = of(rank);
    schedule_send_t *dropped = send_of(rank, number);
    schedule->send_count--;
    memmove(dropped, dropped + 1, (schedule->send_count - number) * sizeof *dropped);
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        schedule_phase_t *phase = &schedule->phases[i];
        if (phase->first_send > number)
            phase->first_send--;
        else if (phase->first_send + phase->send_count > number)
            phase->send_count--;
    }
}

static void drop_receive(uint32_t rank, uint32_t number)
{
    schedule_t *schedule = of(rank);
    schedule_receive_t *dropped = receive_of(rank, number);
    schedule->receive_count--;
    memmove(dropped, dropped + 1, (schedule->receive_count - number) * sizeof *dropped);
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        schedule_phase_t *phase = &schedule->phases[i];
        if (phase->first_receive > number)
            phase->first_receive--;
        else if (phase->first_receive + phase->receive_count > number)
            phase->receive_count--;
    }
}

static void drop_step(uint32_t rank, uint32_t number)
{
    schedule_t *schedule = of(rank);
    schedule_step_t *dropped = step_of(rank, number);
    schedule->step_count--;
    memmove(dropped, dropped + 1, (schedule->step_count - number) * sizeof *dropped);
    for (uint32_t i = 0; i < schedule->phase_count; i++) {
        schedule_phase_t *phase = &schedule->phases[i];
        if (phase->first_step > number)
            phase->first_step--;
        else if (phase->first_step + phase->step_count > number)
            phase->step_count--;
    }
}

/* Two neighbouring phases of a rank change places; their names and messages go with them. */
static void swap_phases(uint32_t rank, uint32_t phase)
{
    schedule_phase_t one = *phase_of(rank, phase);
    schedule_phase_t two = *phase_of(rank, phase + 1);
    schedule_send_t sends[8];
    schedule_receive_t receives[8];
    schedule_t *schedule = of(rank);
    ck_assert(one.send_count + two.send_count <= 8 && one.receive_count + two.receive_count <= 8);
    ck_assert(one.step_count + two.step_count == 0);
    memcpy(sends, schedule->sends + two.first_send, two.send_count * sizeof *sends);
    memcpy(sends + two.send_count, schedule->sends + one.first_send,
           one.send_count * sizeof *sends);
    memcpy(schedule->sends + one.first_send, sends,
           (one.send_count + two.send_count) * sizeof *sends);
    memcpy(receives, schedule->receives + two.first_receive, two.receive_count * sizeof *receives);
    memcpy(receives + two.receive_count, schedule->receives + one.first_receive,
           one.receive_count * sizeof *receives);
    memcpy(schedule->receives + one.first_receive, receives,
           (one.receive_count + two.receive_count) * sizeof *receives);
    two.first_send = one.first_send;
    two.first_receive = one.first_receive;
    one.first_send += two.send_count;
    one.first_receive += two.receive_count;
    *phase_of(rank, phase) = two;
    *phase_of(rank, phase + 1) = one;
}

/* Builds a right schedule; what follows plants the fault. */
static void plant_in(schedule_builder_t builder, schedule_request_t request)
{
    schedule_team_build(&team, builder, request);
    ck_assert_msg(schedule_team_check(&team) == MUSTER_OK, "%s", team.why);
}

static void plant_in_tree(operation_t operation)
{
    plant_in(schedule_tree, (schedule_request_t){.operation = operation, .size = 10, .arity = 3});
}

static void found(const char *why)
{
    ck_assert_int_eq(schedule_team_check(&team), MUSTER_INTERNAL);
    ck_assert_msg(strstr(team.why, why) != NULL, "says \"%s\", not \"%s\"", team.why, why);
    schedule_team_free(&team);
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static void a_send_is_missing(void)
{
    plant_in_tree(OPERATION_GATHER);
    drop_send(5, 0);
    found("rank 4 phase 0 (up [4,7)): a receive has no send");
}

static void a_receive_is_missing(void)
{
    plant_in_tree(OPERATION_BARRIER);
    drop_receive(4, 1);
    found("rank 6 phase 0 (up [4,7)): a send has no receive");
}

static void two_receives_change_places(void)
{
    plant_in_tree(OPERATION_GATHER);
    schedule_region_t region = receive_of(4, 0)->region;
    receive_of(4, 0)->region = receive_of(4, 1)->region;
    receive_of(4, 1)->region = region;
    found("rank 0: block 5 of receive is wrong in the end");
}

static void an_offset_is_shifted(void)
{
    plant_in_tree(OPERATION_SCATTER);
    send_of(4, 0)->region.offset--;
    found("rank 5: block 0 of receive is wrong in the end");
}

static void a_region_leaves_its_buffer(void)
{
    plant_in_tree(OPERATION_ALLGATHER);
    send_of(0, 0)->region.offset++;
    found("rank 0 phase 3 (down [0,10)): block 1 of receive is where a region leaves its buffer");
}

static void a_stride_is_wrong(void)
{
    plant_in_tree(OPERATION_ALLTOALL);
    for (uint32_t i = 0; i < of(4)->send_count; i++)
        if (send_of(4, i)->peer == 7)
            send_of(4, i)->region.inner_stride--;
    found("of receive is wrong in the end");
}

static void a_length_differs(void)
{
    plant_in_tree(OPERATION_ALLGATHER);
    send_of(4, 0)->region.run--;
    found("rank 4 phase 1 (up [0,10)): a send and its receive differ in blocks");
}

static void a_peer_is_another(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    send_of(5, 0)->peer = 6;
    found("rank 5 phase 0 (up [4,7)): a send has no receive");
}

static void a_peer_is_a_stranger(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    send_of(5, 0)->peer = 0;
    found("rank 5 phase 0 (up [4,7)): a peer is not of the group");
}

static void a_slot_differs(void)
{
    plant_in_tree(OPERATION_BARRIER);
    phase_of(9, 0)->slot = 1;
    found("rank 9 phase 0 (up [7,10)): a send has no receive");
}

static void a_message_is_sent_twice(void)
{
    plant_in_tree(OPERATION_BROADCAST);
    send_of(4, 1)->peer = 5;
    found("two messages have one name");
}

static void nobody_decides(void)
{
    plant_in(schedule_tree,
             (schedule_request_t){
                 .operation = OPERATION_ALLTOALL, .size = 10, .arity = 3, .uniform = true});
    for (uint32_t i = 0; i < of(0)->phase_count; i++)
        phase_of(0, i)->decides = false;
    found("nothing decides");
}

static void another_rank_decides(void)
{
    plant_in_tree(OPERATION_BARRIER);
    phase_of(4, 0)->decides = true;
    found("rank 4 phase 0 (up [4,7)): decides, and is not the one to");
}

static void the_decision_is_too_early(void)
{
    plant_in(schedule_tree,
             (schedule_request_t){
                 .operation = OPERATION_BARRIER, .size = 10, .arity = 3, .uniform = true});
    phase_of(0, 2)->decides = false;
    phase_of(0, 1)->decides = true;
    found("rank 4: has not been heard of when rank 0 decides");
}

static void a_report_comes_before_the_data(void)
{
    plant_in(schedule_tree,
             (schedule_request_t){
                 .operation = OPERATION_ALLGATHER, .size = 10, .arity = 3, .uniform = true});
    swap_phases(8, 1);
    found("rank 8: may not be done with its data when rank 0 decides");
}

static void a_rank_ends_before_the_decision(void)
{
    plant_in(schedule_tree,
             (schedule_request_t){
                 .operation = OPERATION_BARRIER, .size = 10, .arity = 3, .uniform = true});
    for (uint32_t i = 0; i < of(7)->send_count; i++)
        if (send_of(7, i)->peer == 9) {
            drop_send(7, i);
            break;
        }
    drop_receive(9, 0);
    found("rank 9: ends before it hears of the decision");
}

static void a_reduction_comes_after_the_decision(void)
{
    plant_in(schedule_tree, (schedule_request_t){.operation = OPERATION_ALLREDUCE,
                                                 .size = 2,
                                                 .arity = 2,
                                                 .uniform = true,
                                                 .small = true});
    phase_of(0, 0)->decides = true;
    phase_of(0, 1)->decides = false;
    found("rank 0 phase 1 (down [0,1)): reduces after the decision");
}

static void ranks_leave_a_barrier_early(void)
{
    plant_in_tree(OPERATION_BARRIER);
    for (uint32_t i = 0; i < of(4)->send_count; i++)
        if (send_of(4, i)->peer == 6)
            drop_send(4, i);
    drop_receive(6, 0);
    found("rank 6: leaves before all have arrived");
}

static void ranks_wait_in_a_circle(void)
{
    plant_in_tree(OPERATION_BARRIER);
    swap_phases(5, 0);
    found("waits for ever, in a circle of ranks");
}

static void early_is_said_of_a_place_in_use(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    receive_of(4, 2)->early = true;
    found(
        "rank 4 phase 2 (down [0,10)): block 0 of receive begins a region that is not free early");
}

static void early_is_not_said(void)
{
    plant_in_tree(OPERATION_BROADCAST);
    receive_of(6, 0)->early = false;
    found("block 0 of receive begins a region that is free early, unsaid");
}

static void rank_order_is_broken(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    schedule_receive_t receive = *receive_of(4, 0);
    *receive_of(4, 0) = *receive_of(4, 1);
    *receive_of(4, 1) = receive;
    found("rank 4 phase 0 (up [4,7)): values are combined out of rank order");
}

static void operands_change_places(void)
{
    plant_in_tree(OPERATION_SCAN);
    schedule_region_t left = step_of(5, 0)->left;
    step_of(5, 0)->left = step_of(5, 0)->from;
    step_of(5, 0)->from = left;
    found("values are combined out of rank order");
}

static void a_value_counts_twice(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    receive_of(7, 1)->into = receive_of(7, 0)->region;
    found("is placed and combined in one phase");
}

static void two_messages_share_staging(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    receive_of(4, 1)->region = receive_of(4, 0)->region;
    found("is where two messages of a phase go");
}

static void a_copy_is_missing(void)
{
    plant_in_tree(OPERATION_ALLGATHER);
    drop_step(4, 0);
    found("rank 4 phase 1 (up [0,10)): block 4 of receive is read, and was never written");
}

static void a_reduction_is_missing(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    drop_step(0, 0);
    found("rank 0: block 0 of receive is wrong in the end");
}

static void a_drain_is_missing(void)
{
    plant_in(schedule_direct,
             (schedule_request_t){
                 .operation = OPERATION_ALLREDUCE, .size = 5, .arity = 2, .in_place = true});
    phase_of(3, 1)->drain = false;
    found("rank 3 phase 1 (down [3,4)): block 0 of receive is overwritten while it may still be "
          "sent");
}

static void what_arrives_overwrites_what_is_sent(void)
{
    plant_in(schedule_direct,
             (schedule_request_t){
                 .operation = OPERATION_ALLTOALL, .size = 5, .arity = 2, .in_place = true});
    for (uint32_t i = 0; i < of(2)->send_count; i++)
        send_of(2, i)->region.buffer = SCHEDULE_SEND;
    found("of receive is overwritten while it may still be sent");
}

static void scratch_is_used_while_it_is_sent(void)
{
    plant_in_tree(OPERATION_ALLTOALL);
    for (uint32_t i = 0; i < of(4)->receive_count; i++)
        if (receive_of(4, i)->peer == 7) {
            receive_of(4, i)->region.offset = send_of(4, 0)->region.offset;
            receive_of(4, i)->early = false;
        }
    found("of scratch is overwritten while it may still be sent");
}

static void the_callers_input_is_written(void)
{
    plant_in_tree(OPERATION_ALLREDUCE);
    receive_of(5, 0)->region.buffer = SCHEDULE_SEND;
    found("block 0 of send is the caller's and may not be written");
}

static void an_untouched_result_is_written(void)
{
    plant_in(schedule_tree,
             (schedule_request_t){.operation = OPERATION_EXSCAN, .size = 2, .arity = 2});
    send_of(1, 0)->region = schedule_run(SCHEDULE_SEND, 0, 1);
    receive_of(0, 0)->region = schedule_run(SCHEDULE_RECEIVE, 0, 1);
    found("rank 0: block 0 of receive is wrong in the end");
}

static void a_block_goes_where_another_length_is(void)
{
    plant_in_tree(OPERATION_REDUCE_SCATTER);
    for (uint32_t i = 0; i < of(4)->receive_count; i++)
        if (receive_of(4, i)->peer == 0)
            receive_of(4, i)->region.offset++;
    found("is given a block of another length");
}

static void scratch_is_too_little(void)
{
    plant_in_tree(OPERATION_GATHER);
    of(4)->scratch_blocks--;
    found("is where a region leaves its buffer");
}

static void phases_overlap(void)
{
    plant_in_tree(OPERATION_BARRIER);
    phase_of(4, 1)->first_receive--;
    found("rank 4 phase 1 (up [0,10)): does not begin where the last one ends");
}

static void a_group_is_anothers(void)
{
    plant_in_tree(OPERATION_BARRIER);
    phase_of(4, 0)->group_left = 7;
    phase_of(4, 0)->group_right = 10;
    found("rank 4 phase 0 (up [7,10)): the rank is not of the group");
}

static void a_reduction_overlaps_its_operand(void)
{
    plant_in_tree(OPERATION_REDUCE_SCATTER_BLOCK);
    step_of(0, 0)->left = step_of(0, 0)->into;
    step_of(0, 0)->left.offset += 1;
    found("overlaps an operand");
}

static void a_flag_differs(void)
{
    plant_in_tree(OPERATION_ALLTOALLV);
    of(3)->carrier = false;
    found("rank 3: a flag differs from rank 0's");
}

static void (*const kinds[])(void) = {
    a_send_is_missing,
    a_receive_is_missing,
    two_receives_change_places,
    an_offset_is_shifted,
    a_region_leaves_its_buffer,
    a_stride_is_wrong,
    a_length_differs,
    a_peer_is_another,
    a_peer_is_a_stranger,
    a_slot_differs,
    a_message_is_sent_twice,
    nobody_decides,
    another_rank_decides,
    the_decision_is_too_early,
    a_report_comes_before_the_data,
    a_rank_ends_before_the_decision,
    a_reduction_comes_after_the_decision,
    ranks_leave_a_barrier_early,
    ranks_wait_in_a_circle,
    early_is_said_of_a_place_in_use,
    early_is_not_said,
    rank_order_is_broken,
    operands_change_places,
    a_value_counts_twice,
    two_messages_share_staging,
    a_copy_is_missing,
    a_reduction_is_missing,
    a_drain_is_missing,
    what_arrives_overwrites_what_is_sent,
    scratch_is_used_while_it_is_sent,
    the_callers_input_is_written,
    an_untouched_result_is_written,
    a_block_goes_where_another_length_is,
    scratch_is_too_little,
    phases_overlap,
    a_group_is_anothers,
    a_reduction_overlaps_its_operand,
    a_flag_differs,
};

START_TEST(each_kind_of_fault_is_found)
{
    kinds[_i]();
}
END_TEST

/* ---- Drawn faults ---------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((state >> 33) % below);
}

static void shift(uint64_t *number)
{
    *number += draw(2) ? 1 : UINT64_MAX;
}

static void spoil_region(schedule_region_t *region)
{
    switch (draw(6)) {
    case 0:
        shift(&region->offset);
        break;
    case 1:
        shift(&region->run);
        break;
    case 2:
        shift(&region->inner_count);
        break;
    case 3:
        shift(&region->inner_stride);
        break;
    case 4:
        region->offset = draw(24);
        break;
    default:
        region->buffer = (uint8_t)draw(5);
        break;
    }
}

static void spoil_receive(schedule_t *schedule)
{
    schedule_receive_t *receive = &schedule->receives[draw(schedule->receive_count)];
    switch (draw(6)) {
    case 0:
        receive->peer = draw(team.request.size);
        break;
    case 1:
        receive->action = (uint8_t)draw(2);
        break;
    case 2:
        receive->early = !receive->early;
        break;
    case 3: {
        schedule_receive_t *other = &schedule->receives[draw(schedule->receive_count)];
        schedule_receive_t kept = *receive;
        *receive = *other;
        *other = kept;
        break;
    }
    default:
        spoil_region(draw(4) == 0 ? &receive->into : &receive->region);
        break;
    }
}

static void spoil_step(schedule_t *schedule)
{
    schedule_step_t *step = &schedule->steps[draw(schedule->step_count)];
    switch (draw(5)) {
    case 0:
        step->work = (uint8_t)draw(2);
        break;
    case 1: {
        schedule_region_t kept = step->left;
        step->left = step->from;
        step->from = kept;
        break;
    }
    default:
        spoil_region(draw(3) == 0 ? &step->from : draw(2) == 0 ? &step->left : &step->into);
        break;
    }
}

static void spoil_phase(schedule_t *schedule)
{
    schedule_phase_t *phase = &schedule->phases[draw(schedule->phase_count)];
    switch (draw(5)) {
    case 0:
        phase->slot = (uint8_t)draw(2);
        break;
    case 1:
        phase->label = (uint8_t)draw(7);
        break;
    case 2:
        phase->decides = !phase->decides;
        break;
    case 3:
        phase->drain = !phase->drain;
        break;
    default:
        phase->group_right++;
        break;
    }
}

static void spoil_once(uint32_t rank)
{
    schedule_t *schedule = of(rank);
    switch (draw(8)) {
    case 0:
        if (schedule->phase_count > 0)
            spoil_phase(schedule);
        break;
    case 1:
    case 2:
        if (schedule->step_count > 0)
            spoil_step(schedule);
        break;
    case 3:
        if (schedule->send_count > 0)
            drop_send(rank, draw(schedule->send_count));
        break;
    case 4:
        if (schedule->step_count > 0)
            drop_step(rank, draw(schedule->step_count));
        break;
    case 5:
        if (schedule->send_count > 0)
            spoil_region(&schedule->sends[draw(schedule->send_count)].region);
        break;
    default:
        if (schedule->receive_count > 0)
            spoil_receive(schedule);
        break;
    }
}

/* Plants one fault, drawn until it changes anything. */
static void spoil(uint32_t rank)
{
    schedule_t kept = *of(rank);
    size_t size = schedule_memory(&kept);
    unsigned char *before = malloc(size);
    REQUIRE(before != NULL);
    memcpy(before, kept.phases, size);
    do
        spoil_once(rank);
    while (memcmp(of(rank), &kept, sizeof kept) == 0 && memcmp(before, kept.phases, size) == 0);
    free(before);
}

static int64_t route(uint32_t rank, uint32_t block)
{
    return 100 * ((int64_t)rank + 1) + block;
}

/* An exact record of order, for any size. */
static int64_t mix(int64_t left, int64_t right)
{
    /* Affine maps x -> a*x + b modulo 2^31, composed: associative, and not commutative. */
    uint64_t a = ((uint64_t)left >> 31) * ((uint64_t)right >> 31);
    uint64_t b =
        ((uint64_t)left >> 31) * ((uint64_t)right & 0x7fffffff) + ((uint64_t)left & 0x7fffffff);
    return (int64_t)((a & 0x7fffffff) << 31 | (b & 0x7fffffff));
}

static int64_t affine(uint32_t rank, uint32_t block)
{
    return (int64_t)(((uint64_t)rank * 2 + 3) << 31 | (uint64_t)(rank * 1000 + block + 7));
}

static bool same_result(const schedule_play_t *one, const schedule_play_t *other)
{
    const schedule_request_t *request = &one->team->request;
    for (uint32_t rank = 0; rank < request->size; rank++) {
        /* In place, a reduce_scatter's result is one block of the vector it replaces. */
        uint64_t blocks = 1;
        if (request->operation == OPERATION_ALLGATHER || request->operation == OPERATION_ALLTOALL ||
            (request->operation == OPERATION_GATHER && rank == request->root))
            blocks = request->size;
        if (request->operation == OPERATION_BARRIER ||
            (request->operation == OPERATION_BROADCAST && rank == request->root) ||
            ((request->operation == OPERATION_REDUCE || request->operation == OPERATION_GATHER) &&
             rank != request->root))
            blocks = 0;
        if (memcmp(one->receive[rank], other->receive[rank], blocks * sizeof(int64_t)) != 0)
            return false;
    }
    return true;
}

/* What is said to be right gives the right result, whatever has been done to it. */
static void try_one(schedule_request_t request, uint64_t *faults, uint64_t *passed)
{
    static const operation_t direct[] = {OPERATION_BARRIER, OPERATION_ALLGATHER, OPERATION_ALLTOALL,
                                         OPERATION_ALLREDUCE, OPERATION_REDUCE_SCATTER_BLOCK};
    static schedule_team_t right;
    schedule_play_t expected;
    schedule_builder_t builder = draw(4) == 0 ? schedule_direct : schedule_tree;
    if (builder == schedule_direct)
        request.operation = direct[draw(5)];
    bool reduces = operation_is_reducing(request.operation);
    schedule_team_build(&right, builder, request);
    schedule_play_begin(&expected, &right, mix);
    schedule_play_fill(&expected, reduces ? affine : route);
    for (uint32_t rank = 0; rank < request.size; rank++)
        *expected.initial[rank] = affine(99, 0);
    REQUIRE(schedule_play_run(&expected, 1));
    schedule_team_build(&team, builder, request);
    spoil(draw(request.size));
    ++*faults;
    if (schedule_team_check(&team) == MUSTER_OK) {
        ++*passed;
        for (uint32_t order = 0; order < 5; order++) {
            schedule_play_begin(&play, &team, mix);
            schedule_play_fill(&play, reduces ? affine : route);
            for (uint32_t rank = 0; rank < request.size; rank++)
                *play.initial[rank] = affine(99, 0);
            REQUIRE(schedule_play_run(&play, draw(1000)), "stuck: %s",
                    operation_name((uint8_t)request.operation));
            REQUIRE(same_result(&expected, &play), "wrong: %s",
                    operation_name((uint8_t)request.operation));
            schedule_play_end(&play);
        }
    }
    schedule_play_end(&expected);
}

START_TEST(drawn_faults_are_found_or_harmless)
{
    const char *given = getenv("MUSTER_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 20240 + (uint64_t)_i;
    uint64_t faults = 0, passed = 0;
    state = seed;
    for (unsigned round = 0; round < 10000; round++) {
        static const operation_t operations[] = {
            OPERATION_BARRIER,   OPERATION_BROADCAST, OPERATION_REDUCE,
            OPERATION_GATHER,    OPERATION_SCATTER,   OPERATION_ALLGATHER,
            OPERATION_ALLREDUCE, OPERATION_ALLTOALL,  OPERATION_REDUCE_SCATTER_BLOCK,
            OPERATION_SCAN,      OPERATION_EXSCAN};
        schedule_request_t request = {.operation = operations[draw(11)],
                                      .size = 2 + draw(11),
                                      .arity = 2 + draw(5),
                                      .in_place = draw(2),
                                      .initial = draw(2),
                                      .uniform = draw(2),
                                      .small = draw(2)};
        if (operation_is_rooted(request.operation))
            request.root = draw(request.size);
        try_one(request, &faults, &passed);
    }
    printf("seed %" PRIu64 ": %" PRIu64 " faults drawn, %" PRIu64 " found, %" PRIu64 " harmless\n",
           seed, faults, faults - passed, passed);
    schedule_team_free(&team);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule_mutants");
    TCase *tests = tcase_create("schedule_mutants");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, each_kind_of_fault_is_found, 0, sizeof kinds / sizeof *kinds);
    tcase_add_loop_test(tests, drawn_faults_are_found_or_harmless, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
