/* The gate, case by case. test_gate_search.c holds it to its definition in every state. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/gate.h"
#include "unit/require.h"

#define MEMBERS_MAX 4097

typedef struct meeting {
    gate_t gate;
    uint64_t words[GATE_MEMORY_WORDS(MEMBERS_MAX)];
} meeting_t;

static void meeting_open(meeting_t *meeting, uint32_t members, bool all, gate_policy_t policy)
{
    memset(meeting->words, 0xff, sizeof meeting->words);
    gate_open(&meeting->gate, meeting->words, members, all, policy, 1000);
}

static gate_answer_t step(meeting_t *meeting, gate_event_kind_t kind, uint32_t member)
{
    return gate_step(&meeting->gate, (gate_event_t){.kind = kind, .member = member}, 0);
}

static gate_answer_t define(meeting_t *meeting)
{
    return step(meeting, GATE_REGISTER, MUSTER_NO_RANK);
}

static void expect_over(const meeting_t *meeting, muster_status_t outcome, uint32_t culprit)
{
    ck_assert(meeting->gate.frozen);
    ck_assert_int_eq(meeting->gate.outcome, outcome);
    ck_assert_uint_eq(meeting->gate.culprit, culprit);
}

START_TEST(everybody_contributes) /* C701 */
{
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 128, 129, 4096, MEMBERS_MAX};
    static meeting_t meeting;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t members = sizes[i];
        meeting_open(&meeting, members, true, GATE_FAIL_ON_LOSS);
        for (uint32_t member = 0; member + 1 < members; member++) {
            /* From the back, so that the predicate sees the words in the other order. */
            REQUIRE(gate_next_awaited(&meeting.gate, 0) == 0);
            REQUIRE(step(&meeting, GATE_CONTRIBUTE, members - 1 - member) == GATE_WAIT);
            REQUIRE(!gate_is_complete(&meeting.gate));
            REQUIRE(gate_next_awaited(&meeting.gate, members - 1 - member) == MUSTER_NO_RANK);
        }
        ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_COMPLETE);
        ck_assert(gate_is_complete(&meeting.gate));
        expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
        ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_LATE);
    }
}
END_TEST

START_TEST(lost_after_contributing_changes_nothing) /* C702 */
{
    static const gate_policy_t policies[] = {GATE_FAIL_ON_LOSS, GATE_GO_ON};
    for (size_t i = 0; i < 2; i++) {
        meeting_t meeting;
        meeting_open(&meeting, 3, true, policies[i]);
        ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_WAIT);
        ck_assert_int_eq(step(&meeting, GATE_LOSE, 1), GATE_DUPLICATE);
        ck_assert_int_eq(gate_state(&meeting.gate, 1), GATE_CONTRIBUTED);
        ck_assert_uint_eq(gate_next_departed(&meeting.gate, 0), MUSTER_NO_RANK);
        ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_WAIT); /* 2 is waited for */
        ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 2), GATE_COMPLETE);
        expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
    }
}
END_TEST

START_TEST(lost_before_contributing_fails) /* C804: promptly, not at the deadline */
{
    meeting_t meeting;
    meeting_open(&meeting, 70, true, GATE_FAIL_ON_LOSS);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 3), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 66), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_PEER_LOST, 66);
    ck_assert_int_eq(gate_state(&meeting.gate, 66), GATE_DEPARTED);
    ck_assert_int_eq(gate_state(&meeting.gate, 3), GATE_CONTRIBUTED);
    ck_assert_int_eq(gate_state(&meeting.gate, 0), GATE_AWAITED);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 65), GATE_LATE);
    ck_assert_uint_eq(gate_next_departed(&meeting.gate, 0), 66);
    ck_assert_uint_eq(gate_next_departed(&meeting.gate, 10), 66);
    ck_assert_uint_eq(gate_next_departed(&meeting.gate, 66), 66);
    ck_assert_uint_eq(gate_next_departed(&meeting.gate, 67), MUSTER_NO_RANK);
}
END_TEST

START_TEST(the_rest_go_on) /* C703 */
{
    /* The order of events does not matter: the loss first, last, or between. */
    static const gate_event_t orders[3][3] = {
        {{GATE_LOSE, 1, 0}, {GATE_CONTRIBUTE, 0, 0}, {GATE_CONTRIBUTE, 2, 0}},
        {{GATE_CONTRIBUTE, 0, 0}, {GATE_LOSE, 1, 0}, {GATE_CONTRIBUTE, 2, 0}},
        {{GATE_CONTRIBUTE, 2, 0}, {GATE_CONTRIBUTE, 0, 0}, {GATE_LOSE, 1, 0}},
    };
    for (size_t i = 0; i < 3; i++) {
        meeting_t meeting;
        meeting_open(&meeting, 3, true, GATE_GO_ON);
        for (size_t e = 0; e < 3; e++)
            ck_assert_int_eq(gate_step(&meeting.gate, orders[i][e], 0),
                             e == 2 ? GATE_COMPLETE : GATE_WAIT);
        expect_over(&meeting, MUSTER_PARTIAL_SUCCESS, 1);
        ck_assert_uint_eq(gate_next_departed(&meeting.gate, 0), 1);
        ck_assert_uint_eq(gate_next_departed(&meeting.gate, 2), MUSTER_NO_RANK);
    }
}
END_TEST

START_TEST(nobody_is_left) /* C703 */
{
    meeting_t meeting;
    meeting_open(&meeting, 2, true, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 1), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 1), GATE_DUPLICATE); /* departed once */
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_DUPLICATE);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 0), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_LOST_CONNECTION, 0);
}
END_TEST

START_TEST(frozen_is_driven_by_nothing) /* C704 */
{
    meeting_t meeting, before;
    meeting_open(&meeting, 3, true, GATE_GO_ON);
    step(&meeting, GATE_CONTRIBUTE, 0);
    ck_assert_int_eq(step(&meeting, GATE_FREEZE, 0), GATE_WAIT);
    ck_assert_int_eq(meeting.gate.outcome, MUSTER_IN_PROGRESS);
    before = meeting;
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_LATE);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_LATE);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 2), GATE_LATE);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 2), GATE_LATE);
    ck_assert_int_eq(define(&meeting), GATE_LATE);
    ck_assert_int_eq(step(&meeting, GATE_FREEZE, 0), GATE_LATE);
    gate_event_t abort_event = {GATE_ABORT, 1, MUSTER_CANCELLED};
    ck_assert_int_eq(gate_step(&meeting.gate, abort_event, 0), GATE_LATE);
    ck_assert_int_eq(gate_step(&meeting.gate, (gate_event_t){.kind = GATE_TICK}, INT64_MAX),
                     GATE_LATE);
    ck_assert_int_eq(memcmp(meeting.words, before.words, sizeof meeting.words), 0);
    ck_assert_int_eq(meeting.gate.outcome, before.gate.outcome);
}
END_TEST

START_TEST(a_second_contribution_is_idempotent) /* C705, case 20 */
{
    meeting_t meeting;
    meeting_open(&meeting, 2, true, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_WAIT);
    /* A clone's contribution counts with its rank, and never for another one. */
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_DUPLICATE);
    ck_assert(!gate_is_complete(&meeting.gate));
    ck_assert_uint_eq(gate_next_awaited(&meeting.gate, 0), 1);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
}
END_TEST

START_TEST(strangers_are_refused) /* C706, case 18 */
{
    meeting_t meeting;
    meeting_open(&meeting, 4, false, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 0), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 2), GATE_WAIT);
    ck_assert_int_eq(define(&meeting), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_REFUSED); /* not in the definition */
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 3), GATE_REFUSED);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 4), GATE_REFUSED); /* no member at all */
    ck_assert_int_eq(step(&meeting, GATE_LOSE, MUSTER_NO_RANK), GATE_REFUSED);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 1), GATE_REFUSED); /* too late to join */
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 0), GATE_DUPLICATE);
    ck_assert_int_eq(define(&meeting), GATE_DUPLICATE);
    ck_assert_int_eq(gate_state(&meeting.gate, 1), GATE_STRANGER);
    ck_assert_int_eq(gate_state(&meeting.gate, 4), GATE_STRANGER);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 2), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
}
END_TEST

START_TEST(dead_at_the_start_is_departed_at_once) /* C706, case 19 */
{
    meeting_t meeting;
    meeting_open(&meeting, 3, true, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 2), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_PARTIAL_SUCCESS, 2);
}
END_TEST

START_TEST(a_proper_leave_while_awaited_departs) /* C707: the caller says LOSE, without an event */
{
    meeting_t meeting;
    meeting_open(&meeting, 2, true, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 1), GATE_COMPLETE); /* nobody hangs */
    expect_over(&meeting, MUSTER_PARTIAL_SUCCESS, 1);
    /* Leaving after having contributed: every status OK. */
    meeting_open(&meeting, 2, true, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 1), GATE_DUPLICATE);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
}
END_TEST

START_TEST(registration_after_contributions) /* C708 */
{
    meeting_t meeting;
    meeting_open(&meeting, 4, false, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_WAIT); /* held */
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_DUPLICATE);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 3),
                     GATE_WAIT);                               /* a stranger's, as it will be */
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 2), GATE_WAIT); /* remembered */
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 2), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 1), GATE_WAIT);
    ck_assert_int_eq(gate_state(&meeting.gate, 1), GATE_CONTRIBUTED);
    ck_assert_int_eq(gate_state(&meeting.gate, 2), GATE_DEPARTED);
    ck_assert(!gate_is_complete(&meeting.gate)); /* nothing before the definition does */
    ck_assert_int_eq(define(&meeting), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_PARTIAL_SUCCESS, 2);
    ck_assert_int_eq(gate_state(&meeting.gate, 3), GATE_STRANGER);
}
END_TEST

START_TEST(a_loss_before_the_definition_is_remembered) /* C708 */
{
    meeting_t meeting;
    meeting_open(&meeting, 3, false, GATE_FAIL_ON_LOSS);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 0), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 1), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 1), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 0), GATE_WAIT);
    ck_assert_int_eq(define(&meeting), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_PEER_LOST, 0); /* the lowest, whatever the order of events */
    /* A stranger's loss is nobody's failure. */
    meeting_open(&meeting, 3, false, GATE_FAIL_ON_LOSS);
    ck_assert_int_eq(step(&meeting, GATE_REGISTER, 0), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_LOSE, 2), GATE_WAIT);
    ck_assert_int_eq(define(&meeting), GATE_WAIT);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 0), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
}
END_TEST

START_TEST(an_empty_definition_is_over_at_once)
{
    meeting_t meeting;
    meeting_open(&meeting, 3, false, GATE_GO_ON);
    ck_assert_int_eq(step(&meeting, GATE_CONTRIBUTE, 1), GATE_WAIT);
    ck_assert_int_eq(define(&meeting), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_OK, MUSTER_NO_RANK);
}
END_TEST

START_TEST(the_deadline) /* C701, C802 */
{
    meeting_t meeting;
    gate_event_t tick = {.kind = GATE_TICK};
    meeting_open(&meeting, 3, true, GATE_GO_ON);
    ck_assert_int_eq(gate_step(&meeting.gate, tick, -5), GATE_WAIT);
    ck_assert_int_eq(gate_step(&meeting.gate, tick, 999), GATE_WAIT);
    /* Only a tick is time: who comes before it is in time. */
    ck_assert_int_eq(gate_step(&meeting.gate, (gate_event_t){.kind = GATE_CONTRIBUTE}, 2000),
                     GATE_WAIT);
    ck_assert_int_eq(gate_step(&meeting.gate, tick, 1000), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_TIMED_OUT, MUSTER_NO_RANK);
    /* The names of the missing. */
    ck_assert_uint_eq(gate_next_awaited(&meeting.gate, 0), 1);
    ck_assert_uint_eq(gate_next_awaited(&meeting.gate, 2), 2);
    ck_assert_uint_eq(gate_next_awaited(&meeting.gate, 3), MUSTER_NO_RANK);
    /* A definition that never comes does not hold anybody for ever either. */
    meeting_open(&meeting, 3, false, GATE_GO_ON);
    ck_assert_int_eq(gate_step(&meeting.gate, tick, 1001), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_TIMED_OUT, MUSTER_NO_RANK);
    /* No deadline by choice. */
    gate_open(&meeting.gate, meeting.words, 3, true, GATE_GO_ON, GATE_NO_DEADLINE);
    ck_assert_int_eq(gate_step(&meeting.gate, tick, INT64_MAX), GATE_WAIT);
}
END_TEST

START_TEST(an_abort_says_why_and_who) /* C701 */
{
    meeting_t meeting;
    meeting_open(&meeting, 3, true, GATE_GO_ON);
    gate_event_t event = {GATE_ABORT, 2, MUSTER_REDUCTION_FAILED};
    ck_assert_int_eq(gate_step(&meeting.gate, event, 0), GATE_COMPLETE);
    expect_over(&meeting, MUSTER_REDUCTION_FAILED, 2);
    event.status = MUSTER_CANCELLED;
    ck_assert_int_eq(gate_step(&meeting.gate, event, 0), GATE_LATE); /* the first stays */
    expect_over(&meeting, MUSTER_REDUCTION_FAILED, 2);
}
END_TEST

START_TEST(aborting_with_success_is_a_fault)
{
    meeting_t meeting;
    meeting_open(&meeting, 3, true, GATE_GO_ON);
    gate_step(&meeting.gate, (gate_event_t){GATE_ABORT, 2, MUSTER_OK}, 0);
}
END_TEST

START_TEST(an_unknown_event_is_a_fault)
{
    meeting_t meeting;
    meeting_open(&meeting, 3, true, GATE_GO_ON);
    step(&meeting, (gate_event_kind_t)17, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gate");
    TCase *tests = tcase_create("gate");
    tcase_add_test(tests, everybody_contributes);
    tcase_add_test(tests, lost_after_contributing_changes_nothing);
    tcase_add_test(tests, lost_before_contributing_fails);
    tcase_add_test(tests, the_rest_go_on);
    tcase_add_test(tests, nobody_is_left);
    tcase_add_test(tests, frozen_is_driven_by_nothing);
    tcase_add_test(tests, a_second_contribution_is_idempotent);
    tcase_add_test(tests, strangers_are_refused);
    tcase_add_test(tests, dead_at_the_start_is_departed_at_once);
    tcase_add_test(tests, a_proper_leave_while_awaited_departs);
    tcase_add_test(tests, registration_after_contributions);
    tcase_add_test(tests, a_loss_before_the_definition_is_remembered);
    tcase_add_test(tests, an_empty_definition_is_over_at_once);
    tcase_add_test(tests, the_deadline);
    tcase_add_test(tests, an_abort_says_why_and_who);
    tcase_add_test_raise_signal(tests, aborting_with_success_is_a_fault, SIGABRT);
    tcase_add_test_raise_signal(tests, an_unknown_event_is_a_fault, SIGABRT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
