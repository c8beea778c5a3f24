/* A failed assertion says what did not hold, where, in one write, and aborts. */
#include "core/assertion.h"

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs the handler in a child and returns what it wrote to stderr; checks how the child ended. */
static size_t assertion_said(const char *expression, int line, char *text, size_t size)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        muster_assertion_failed(expression, "core/gate.c", line);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; length < size - 1; length += (size_t)got) {
        got = read(ends[0], text + length, size - 1 - length);
        ck_assert_int_ge(got, 0);
        if (got == 0)
            break;
    }
    close(ends[0]);
    text[length] = '\0';
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    return length;
}

START_TEST(says_what_and_where)
{
    char text[1024];
    assertion_said("rank < size", 4096, text, sizeof text);
    ck_assert_str_eq(text, "muster: core/gate.c:4096: does not hold: rank < size\n");
    assertion_said("true", 0, text, sizeof text);
    ck_assert_str_eq(text, "muster: core/gate.c:0: does not hold: true\n");
}
END_TEST

START_TEST(cuts_what_is_too_long)
{
    char expression[2000], text[4096];
    memset(expression, 'x', sizeof expression - 1);
    expression[sizeof expression - 1] = '\0';
    size_t length = assertion_said(expression, 7, text, sizeof text);
    ck_assert_uint_eq(length, 512);
    ck_assert_int_eq(text[length - 1], '\n');
}
END_TEST

static int assertion_evaluations;

static bool assertion_holds(void)
{
    assertion_evaluations++;
    return true;
}

START_TEST(evaluates_once_and_goes_on)
{
    MUSTER_ASSERT(assertion_holds());
    ck_assert_int_eq(assertion_evaluations, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("assertion");
    TCase *cases = tcase_create("assertion");
    tcase_add_test(cases, says_what_and_where);
    tcase_add_test(cases, cuts_what_is_too_long);
    tcase_add_test(cases, evaluates_once_and_goes_on);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
