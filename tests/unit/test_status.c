/* Statuses: a name and a text for each, the scope of what has to be rebuilt; calls that differ. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/status.h"

START_TEST(every_status_has_its_own_name_and_text)
{
    for (int one = 0; one < MUSTER_STATUS_COUNT; one++) {
        const char *name = muster_status_name((muster_status_t)one);
        const char *text = muster_status_text((muster_status_t)one);
        ck_assert_int_eq(strncmp(name, "MUSTER_", 7), 0);
        ck_assert_uint_gt(strlen(text), 0);
        for (int other = 0; other < one; other++) {
            ck_assert_str_ne(name, muster_status_name((muster_status_t)other));
            ck_assert_str_ne(text, muster_status_text((muster_status_t)other));
        }
    }
    ck_assert_str_eq(muster_status_name(MUSTER_OK), "MUSTER_OK");
    ck_assert_str_eq(muster_status_name(MUSTER_INTERNAL), "MUSTER_INTERNAL");
    /* C104: the environment has a status of its own, not that of a peer that never came. */
    ck_assert_str_ne(muster_status_name(MUSTER_ENVIRONMENT), muster_status_name(MUSTER_TIMED_OUT));
}
END_TEST

START_TEST(numbers_that_are_no_status_have_a_name_too)
{
    static const int numbers[] = {MUSTER_STATUS_COUNT, MUSTER_STATUS_COUNT + 1, INT32_MAX, -1,
                                  INT32_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ck_assert_str_eq(muster_status_name((muster_status_t)numbers[i]), "MUSTER_UNKNOWN");
        ck_assert_str_eq(muster_status_text((muster_status_t)numbers[i]), "not a status");
        ck_assert_int_eq(status_scope((muster_status_t)numbers[i]), STATUS_SCOPE_CONTEXT);
    }
}
END_TEST

START_TEST(the_scope_says_what_has_to_be_rebuilt)
{
    static const struct {
        muster_status_t status;
        status_scope_t scope;
    } known[] = {
        {MUSTER_OK, STATUS_SCOPE_CALL},
        {MUSTER_INVALID_ARGUMENT, STATUS_SCOPE_CALL},
        {MUSTER_STALE_GENERATION, STATUS_SCOPE_CALL},
        {MUSTER_REFUSED, STATUS_SCOPE_CALL},
        {MUSTER_MISMATCH, STATUS_SCOPE_GENERATION},
        {MUSTER_TIMED_OUT, STATUS_SCOPE_GENERATION},
        {MUSTER_REDUCTION_FAILED, STATUS_SCOPE_GENERATION},
        {MUSTER_CANCELLED, STATUS_SCOPE_GENERATION},
        {MUSTER_NO_MEMORY, STATUS_SCOPE_GENERATION},
        {MUSTER_PEER_LOST, STATUS_SCOPE_COMM},
        {MUSTER_UNDECIDED, STATUS_SCOPE_COMM},
        {MUSTER_LOST_CONNECTION, STATUS_SCOPE_COMM},
        {MUSTER_ENVIRONMENT, STATUS_SCOPE_CONTEXT},
        {MUSTER_SHUT_DOWN, STATUS_SCOPE_CONTEXT},
        {MUSTER_INTERNAL, STATUS_SCOPE_CONTEXT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_int_eq(status_scope(known[i].status), known[i].scope);
    for (int status = 1; status < MUSTER_STATUS_COUNT; status++)
        ck_assert_int_ge(status_scope((muster_status_t)status),
                         status_scope((muster_status_t)(status - 1)));
}
END_TEST

START_TEST(operations_have_names_that_fit_a_failure)
{
    muster_failure_t failure;
    for (int operation = 0; operation < OPERATION_COUNT; operation++)
        ck_assert_uint_lt(strlen(operation_name((uint8_t)operation)), sizeof failure.operation);
    for (int field = 0; field <= CALL_FIELD_INITIAL; field++)
        ck_assert_uint_lt(strlen(call_field_name((call_field_t)field)), sizeof failure.field);
    ck_assert_str_eq(operation_name(OPERATION_ALLREDUCE), "allreduce");
    ck_assert_str_eq(operation_name(OPERATION_COUNT), "?");
    ck_assert_str_eq(operation_name(255), "?");
    const call_t forms[] = {{.operation = OPERATION_GATHERV, .rows = true},
                            {.operation = OPERATION_SCATTERV, .rows = true},
                            {.operation = OPERATION_ALLTOALLV, .rows = true},
                            {.operation = OPERATION_ALLGATHERV, .rows = true},
                            {.operation = OPERATION_GATHERV}};
    ck_assert_str_eq(operation_name(call_form(&forms[0])), "gather_rows");
    ck_assert_str_eq(operation_name(call_form(&forms[1])), "scatter_rows");
    ck_assert_str_eq(operation_name(call_form(&forms[2])), "alltoall_rows");
    ck_assert_str_eq(operation_name(call_form(&forms[3])), "allgather_rows");
    ck_assert_str_eq(operation_name(call_form(&forms[4])), "gatherv");
    ck_assert_str_eq(operation_name(OPERATION_BARRIER | OPERATION_ROWS), "?");
    ck_assert_str_eq(call_field_name(CALL_FIELD_NONE), "");
    ck_assert(operation_is_rooted(OPERATION_SCATTERV) && operation_is_ragged(OPERATION_SCATTERV));
    ck_assert(!operation_is_reducing(OPERATION_SCATTERV) && operation_is_reducing(OPERATION_SCAN));
    ck_assert(!operation_is_rooted(OPERATION_ALLREDUCE));
}
END_TEST

START_TEST(calls_differ_in_each_agreed_part)
{
    call_t call = {.operation = OPERATION_ALLREDUCE,
                   .mode = GENERATION_EXPLICIT,
                   .outcome = MUSTER_OUTCOME_UNIFORM,
                   .op_kind = MUSTER_OP_SUM,
                   .commutative = true,
                   .datatype = MUSTER_I32,
                   .count = 7};
    call_t other = call;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_NONE);
    /* C105, C821: any part alone, and the first of several in the order of the list. */
    other.initial = true;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_INITIAL);
    other.op_identity = 1;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_REDUCTION);
    other.root = 1;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_ROOT);
    other.count = (uint64_t)7 + (UINT64_C(1) << 32); /* case 27: beyond 32 bits */
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_COUNT);
    ck_assert_uint_eq(call_value(&other, CALL_FIELD_COUNT), UINT64_C(4294967303));
    other.datatype = MUSTER_U32;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_DATATYPE);
    other.outcome = MUSTER_OUTCOME_LOCAL;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_OUTCOME);
    other.mode = GENERATION_AUTOMATIC;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_MODE);
    other.operation = OPERATION_BARRIER;
    ck_assert_int_eq(call_compare(&call, &other), CALL_FIELD_OPERATION);
    for (int field = CALL_FIELD_OPERATION; field <= CALL_FIELD_INITIAL; field++)
        ck_assert_uint_ne(call_value(&call, (call_field_t)field),
                          call_value(&other, (call_field_t)field));
}
END_TEST

START_TEST(a_form_with_rows_is_another_operation)
{
    const call_t lengths = {.operation = OPERATION_GATHERV, .datatype = MUSTER_I32};
    call_t rows = lengths;
    rows.rows = true;
    ck_assert_int_eq(call_compare(&lengths, &rows), CALL_FIELD_OPERATION);
    ck_assert_uint_ne(call_value(&lengths, CALL_FIELD_OPERATION),
                      call_value(&rows, CALL_FIELD_OPERATION));
}
END_TEST

START_TEST(reductions_differ_in_kind_order_and_identity)
{
    call_t call = {.op_kind = MUSTER_OP_USER, .commutative = true, .op_identity = 5};
    call_t kind = call, order = call, identity = call;
    kind.op_kind = MUSTER_OP_SUM;
    order.commutative = false;
    identity.op_identity = 6;
    ck_assert_int_eq(call_compare(&call, &kind), CALL_FIELD_REDUCTION);
    ck_assert_int_eq(call_compare(&call, &order), CALL_FIELD_REDUCTION);
    ck_assert_int_eq(call_compare(&call, &identity), CALL_FIELD_REDUCTION);
    ck_assert_uint_ne(call_value(&call, CALL_FIELD_REDUCTION),
                      call_value(&order, CALL_FIELD_REDUCTION));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, every_status_has_its_own_name_and_text);
    tcase_add_test(tests, numbers_that_are_no_status_have_a_name_too);
    tcase_add_test(tests, the_scope_says_what_has_to_be_rebuilt);
    tcase_add_test(tests, operations_have_names_that_fit_a_failure);
    tcase_add_test(tests, calls_differ_in_each_agreed_part);
    tcase_add_test(tests, a_form_with_rows_is_another_operation);
    tcase_add_test(tests, reductions_differ_in_kind_order_and_identity);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
