/*
 * What processes do to themselves and to each other besides dying in a call: fork, exec, few
 * descriptors, communicators that overlap and are given up, leaving at once.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire.h"
#include "system/program.h"

/* The calls' deadline is 30 s: an end that comes before is no deadline's. */
#define PROMPT_MS 15000

static void run_job(program_t *program, const char *size, const char *mode, const char *argument)
{
    const char *arguments[] = {program_path("muster"),        "run", "--no-label", "-n", size,
                               program_path("child_process"), mode,  argument,     NULL};
    program_run(program, arguments, NULL);
    ck_assert_msg(program_count(program->texts[0], "wrong") == 0, "%s%s", program->texts[0],
                  program->texts[1]);
    ck_assert_msg(program_count(program->texts[1], "Sanitizer") == 0, "%s", program->texts[1]);
}

static void check_ends(const program_t *program, size_t ends)
{
    ck_assert_msg(program_count(program->texts[0], "end\n") == ends, "%s%s", program->texts[0],
                  program->texts[1]);
}

static void check_heard(const program_t *program, size_t times)
{
    char heard[64];
    char *victim = program_line(program->texts[0], "victim ");
    ck_assert_ptr_nonnull(victim);
    snprintf(heard, sizeof heard, "heard MUSTER_PEER_LOST 0 %s\n", victim + strlen("victim "));
    ck_assert_msg(program_count(program->texts[0], heard) == times, "%s", program->texts[0]);
    ck_assert_int_lt(program->took_ms, PROMPT_MS);
    free(victim);
}

/* What was listed is what was there before the context was made. */
static void check_list(const program_t *program)
{
    char *before = program_line(program->texts[0], "before ");
    char *list = program_line(program->texts[0], "list ");
    ck_assert_ptr_nonnull(before);
    ck_assert_ptr_nonnull(list);
    ck_assert_str_eq(before + strlen("before"), list + strlen("list"));
    free(before);
    free(list);
}

/* C933, case 38 */
START_TEST(test_fork)
{
    program_t program;
    run_job(&program, "2", "fork", NULL);
    ck_assert_int_eq(program.code, 0);
    check_ends(&program, 2);
    program_free(&program);
}
END_TEST

/* C933 */
START_TEST(test_exec_in_a_child)
{
    program_t program;
    run_job(&program, "2", "exec", NULL);
    ck_assert_int_eq(program.code, 0);
    check_ends(&program, 2);
    check_list(&program);
    program_free(&program);
}
END_TEST

/* C933: exec closes everything, so the others hear at once that the rank is none any more. */
START_TEST(test_exec_in_the_rank)
{
    program_t program;
    run_job(&program, "3", "become", NULL);
    check_ends(&program, 2);
    check_list(&program);
    check_heard(&program, 2);
    program_free(&program);
}
END_TEST

/* C804: what the dead rank has forked holds its connections open, and hides nothing. */
START_TEST(test_outlived_by_a_child)
{
    program_t program;
    run_job(&program, "3", "outlived", NULL);
    ck_assert_int_eq(program.code, 137);
    check_ends(&program, 2);
    check_heard(&program, 2);
    char *child = program_line(program.texts[0], "child ");
    ck_assert_ptr_nonnull(child);
    ck_assert(program_await_end((pid_t)atol(child + strlen("child ")), PROMPT_MS));
    free(child);
    program_free(&program);
}
END_TEST

/*
 * C804: likewise without a launcher, who would see the process end: rank 0, or another. Nobody may
 * learn it from the end of the child, which comes after the others'.
 */
START_TEST(test_outlived_by_a_child_without_launcher)
{
    program_t programs[3];
    char texts[4][64], victim[8], heard[64];
    unsigned own = (unsigned)getpid();
    snprintf(victim, sizeof victim, "%d", _i);
    snprintf(texts[1], sizeof texts[1], "MASTER_ADDR=127.%u.%u.%u", 1 + own / 62500 % 254,
             1 + own / 250 % 250, 1 + own % 250);
    for (int rank = 0; rank < 3; rank++) {
        const char *arguments[] = {program_path("child_process"), "outlived", victim, NULL};
        const char *variables[] = {texts[0], texts[1], "WORLD_SIZE=3", "MASTER_PORT=29500", NULL};
        snprintf(texts[0], sizeof texts[0], "RANK=%d", rank);
        program_start(&programs[rank], arguments, variables, -1);
    }
    program_await(&programs[_i], "child ", 1);
    char *line = program_line(programs[_i].texts[0], "child ");
    pid_t child = (pid_t)atol(line + strlen("child "));
    snprintf(heard, sizeof heard, "heard MUSTER_PEER_LOST %d %d\n", _i, (int)programs[_i].pid);
    for (int rank = 0; rank < 3; rank++) {
        if (rank == _i)
            continue;
        program_finish(&programs[rank]);
        ck_assert_msg(strstr(programs[rank].texts[0], heard) != NULL, "%s",
                      programs[rank].texts[0]);
        ck_assert_uint_eq(program_count(programs[rank].texts[0], "wrong"), 0);
        ck_assert_int_lt(programs[rank].took_ms, PROMPT_MS);
    }
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    program_finish(&programs[_i]);
    ck_assert_int_eq(programs[_i].code, 137);
    free(line);
    for (int rank = 0; rank < 3; rank++)
        program_free(&programs[rank]);
}
END_TEST

/* Case 36 */
START_TEST(test_descriptors_and_memory_stay_flat)
{
    program_t program;
    run_job(&program, "3", "descriptors", "10000");
    ck_assert_int_eq(program.code, 0);
    check_ends(&program, 3);
    ck_assert_uint_eq(program_count(program.texts[0], "flat "), 3);
    program_free(&program);
}
END_TEST

static const char *const sides[] = {"left", "right"};

/* Case 6 */
START_TEST(test_overlapping_communicators_are_given_up)
{
    program_t program;
    run_job(&program, "4", "overlap", sides[_i]);
    ck_assert_int_eq(program.code, 0);
    check_ends(&program, 4);
    for (int side = 0; side < 2; side++) {
        char good[32], bad[32];
        snprintf(good, sizeof good, "%s MUSTER_OK\n", sides[side]);
        snprintf(bad, sizeof bad, "%s MUSTER_CANCELLED\n", sides[side]);
        size_t completed = program_count(program.texts[0], good);
        /* C801: one outcome on each; of the first one it is known which */
        ck_assert_uint_eq(program_count(program.texts[0], bad), 3 - completed);
        ck_assert_msg(completed == 0 || (completed == 3 && side != _i), "%s", program.texts[0]);
    }
    ck_assert_int_lt(program.took_ms, PROMPT_MS);
    program_free(&program);
}
END_TEST

/* Case 6: a member of one is killed, then a member of the other. */
START_TEST(test_overlapping_communicators_lose_members)
{
    program_t program;
    run_job(&program, "4", "killed", sides[_i]);
    check_ends(&program, 2);
    ck_assert_uint_eq(program_count(program.texts[0], "over\n"), 2);
    ck_assert_int_lt(program.took_ms, PROMPT_MS);
    program_free(&program);
}
END_TEST

/* Case 12 */
START_TEST(test_leaving_at_once)
{
    char directory[] = P_tmpdir "/processes-XXXXXX", fifo[64];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    program_t program;
    run_job(&program, "3", "leave", fifo);
    unlink(fifo);
    rmdir(directory);
    ck_assert_int_eq(program.code, 0);
    check_ends(&program, 3);
    ck_assert_uint_eq(program_count(program.texts[0], "got 42\n"), 3);
    program_free(&program);
}
END_TEST

/* C921, case 40: whoever meets the other version fails at once, and names both. */
START_TEST(test_two_versions)
{
    program_t program;
    const char *arguments[] = {program_path("muster"),        "run", "-n", "4",
                               program_path("child_version"), NULL};
    program_run(&program, arguments, NULL);
    check_ends(&program, 4);
    ck_assert_uint_eq(program_count(program.texts[0], "call MUSTER_PEER_LOST: barrier of "), 8);
    /* Those of one version have one outcome. */
    char lost[128], other[128];
    snprintf(lost, sizeof lost,
             "rank 1 was lost: it speaks version 4711 of the protocol, this rank version %d\n",
             WIRE_VERSION);
    snprintf(other, sizeof other, "version %d of the protocol, this rank version 4711",
             WIRE_VERSION);
    ck_assert_uint_eq(program_count(program.texts[0], lost), 6);
    ck_assert_uint_eq(program_count(program.texts[0], "[1] call MUSTER_PEER_LOST: "), 2);
    ck_assert_uint_eq(program_count(program.texts[0], other), 2);
    ck_assert_int_lt(program.took_ms, PROMPT_MS);
    program_free(&program);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("processes");
    TCase *tcase = tcase_create("processes");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_fork);
    tcase_add_test(tcase, test_exec_in_a_child);
    tcase_add_test(tcase, test_exec_in_the_rank);
    tcase_add_test(tcase, test_outlived_by_a_child);
    tcase_add_loop_test(tcase, test_outlived_by_a_child_without_launcher, 0, 3);
    tcase_add_test(tcase, test_descriptors_and_memory_stay_flat);
    tcase_add_loop_test(tcase, test_overlapping_communicators_are_given_up, 0, 2);
    tcase_add_loop_test(tcase, test_overlapping_communicators_lose_members, 0, 2);
    tcase_add_test(tcase, test_leaving_at_once);
    tcase_add_test(tcase, test_two_versions);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
