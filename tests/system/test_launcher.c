/* `muster run`: exit codes, output, signals, environment, and that nobody is left behind. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/program.h"

/* muster run -n RANKS [OPTION [OPTION]] sh -c SCRIPT */
static void start_script(program_t *program, const char *ranks, const char *option,
                         const char *script)
{
    const char *arguments[10] = {program_path("muster"), "run", "-n", ranks};
    size_t count = 4;
    if (option != NULL)
        arguments[count++] = option;
    arguments[count++] = "sh";
    arguments[count++] = "-c";
    arguments[count++] = script;
    program_start(program, arguments, NULL, -1);
}

static void run_script(program_t *program, const char *ranks, const char *option,
                       const char *script)
{
    start_script(program, ranks, option, script);
    program_finish(program);
}

/* ---- Exit codes ------------------------------------------------------------------------------ */

START_TEST(test_exit_codes)
{
    static const struct {
        const char *script;
        int code;
    } cases[] = {
        {"exit 0", 0},
        {"[ $RANK = 2 ] && exit 7; exit 0", 7},
        {"[ $RANK = 1 ] && kill -9 $$; exit 0", 137},
        {"[ $RANK = 1 ] && kill -15 $$; exit 0", 143},
        {"[ $RANK = 0 ] && exit 255; exit 0", 255},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_t program;
        run_script(&program, "3", NULL, cases[i].script);
        ck_assert_int_eq(program.code, cases[i].code); /* C931: the first failing rank's */
        program_free(&program);
    }
}
END_TEST

START_TEST(test_first_failure_counts)
{
    program_t program;
    int input[2];
    /* Rank 0 fails when its input ends, and that is after rank 1's end was reported. */
    const char *script = "[ $RANK = 1 ] && exit 5; read line; exit 6";
    const char *arguments[] = {program_path("muster"), "run", "-n", "2", "sh", "-c", script, NULL};
    ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
    program_start(&program, arguments, NULL, input[0]);
    struct pollfd said = {.fd = program.pipes[1], .events = POLLIN};
    ck_assert_int_eq(poll(&said, 1, PROGRAM_LIMIT_MS), 1);
    close(input[0]);
    close(input[1]);
    program_finish(&program);
    ck_assert_int_eq(program.code, 5); /* C931 */
    ck_assert_ptr_nonnull(strstr(program.texts[1], "rank 1"));
    program_free(&program);
}
END_TEST

START_TEST(test_cannot_start)
{
    static const struct {
        const char *name;
        int code;
        const char *reason;
    } cases[] = {{"/nonexistent/program", 127, "No such file"}, {"/etc", 126, "denied"}};
    for (size_t i = 0; i < 2; i++) {
        program_t program;
        const char *arguments[] = {program_path("muster"), "run", "-n", "3", cases[i].name, NULL};
        program_run(&program, arguments, NULL);
        ck_assert_int_eq(program.code, cases[i].code);
        /* C913: a child that dies at start is reported at once, with the reason, and only once */
        ck_assert_int_lt(program.took_ms, 2000);
        ck_assert_ptr_nonnull(strstr(program.texts[1], cases[i].name));
        ck_assert_ptr_nonnull(strstr(program.texts[1], cases[i].reason));
        ck_assert_uint_eq(program_count(program.texts[1], "\n"), 1);
        program_free(&program);
    }
}
END_TEST

START_TEST(test_usage)
{
    static const char *const wrong[][5] = {
        {"run", "sh"},
        {"run", "-n", "0", "sh"},
        {"run", "-n", "x", "sh"},
        {"run", "-n", "2"},
        {"runn"},
        {NULL},
        {"run", "--unknown"},
        {"info", "more"},
        {"run", "-n", "99999999999", "sh"},
        {"run", "-n", "1", "--timeout=abc", "true"},
        {"run", "-n", "1", "--timeout=0", "true"},
        {"run", "-np", "2", "true"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        program_t program;
        const char *arguments[7] = {program_path("muster")};
        for (size_t j = 0; j < 5; j++)
            arguments[j + 1] = wrong[i][j];
        program_run(&program, arguments, NULL);
        ck_assert_int_eq(program.code, 2);
        ck_assert_str_eq(program.texts[0], "");
        ck_assert_uint_gt(program.lengths[1], 0);
        program_free(&program);
    }
}
END_TEST

START_TEST(test_hint)
{
    program_t program;
    const char *arguments[] = {program_path("muster"), "rum", NULL};
    program_run(&program, arguments, NULL);
    ck_assert_ptr_nonnull(strstr(program.texts[1], "did you mean \"run\""));
    program_free(&program);
    const char *other[] = {program_path("muster"), "run", "-np", "2", "true", NULL};
    program_run(&program, other, NULL);
    ck_assert_ptr_nonnull(strstr(program.texts[1], "-n NUMBER"));
    program_free(&program);
    const char *help[] = {program_path("muster"), "run", "-h", NULL};
    program_run(&program, help, NULL);
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.texts[0], "--timeout=SECONDS"));
    program_free(&program);
}
END_TEST

START_TEST(test_info)
{
    program_t program;
    const char *arguments[] = {program_path("muster"), "info", "--json", NULL};
    program_run(&program, arguments, NULL);
    ck_assert_int_eq(program.code, 0);
    ck_assert_ptr_nonnull(strstr(program.texts[0], "\"version\""));
    ck_assert_ptr_nonnull(strstr(program.texts[0], "\"transports\""));
    ck_assert_int_eq(program.texts[0][0], '{');
    program_free(&program);
}
END_TEST

/* ---- Output ---------------------------------------------------------------------------------- */

START_TEST(test_labels)
{
    program_t program;
    run_script(&program, "3", NULL, "echo out $RANK; echo error $RANK >&2; printf 'last %d' $RANK");
    for (int rank = 0; rank < 3; rank++) {
        char line[64];
        snprintf(line, sizeof line, "[%d] out %d\n", rank, rank);
        ck_assert_uint_eq(program_count(program.texts[0], line), 1);
        snprintf(line, sizeof line, "[%d] last %d\n", rank, rank);
        ck_assert_uint_eq(program_count(program.texts[0], line), 1);
        snprintf(line, sizeof line, "[%d] error %d\n", rank, rank);
        ck_assert_uint_eq(program_count(program.texts[1], line), 1);
    }
    ck_assert_uint_eq(program_count(program.texts[0], "\n"), 6);
    program_free(&program);
}
END_TEST

START_TEST(test_no_label)
{
    program_t program;
    run_script(&program, "1", "--no-label", "printf 'a\\n\\nb\\000c\\nlast'");
    ck_assert_uint_eq(program.lengths[0], 11);
    ck_assert_int_eq(memcmp(program.texts[0], "a\n\nb\0c\nlast", 11), 0);
    program_free(&program);
    run_script(&program, "4", "--no-label", "printf partial");
    ck_assert_str_eq(program.texts[0], "partial\npartial\npartial\npartial");
    program_free(&program);
}
END_TEST

/* Every line of 8 ranks arrives whole and in its order, whatever pieces it was written in. */
START_TEST(test_output_is_whole)
{
    enum { RANKS = 8, LINES = 400 };
    program_t program;
    unsigned next[RANKS] = {0};
    char filler[1024];
    run_script(
        &program, "8", NULL,
        "i=0; pad=$(printf '%*s' 700 '' | tr ' ' x); while [ $i -lt 400 ]; do "
        "printf 'line %d ' $i; printf '%s' $pad; printf ' of %d\\n' $RANK; i=$((i+1)); done");
    ck_assert_int_eq(program.code, 0);
    memset(filler, 'x', 700);
    filler[700] = 0;
    char *line = program.texts[0];
    for (unsigned i = 0; i < RANKS * LINES; i++) {
        char expected[1100];
        unsigned rank = 0;
        ck_assert_int_eq(sscanf(line, "[%u] line", &rank), 1);
        ck_assert_uint_lt(rank, RANKS);
        int length = snprintf(expected, sizeof expected, "[%u] line %u %s of %u\n", rank,
                              next[rank]++, filler, rank);
        ck_assert_int_eq(strncmp(line, expected, (size_t)length), 0);
        line += length;
    }
    ck_assert_int_eq(*line, 0);
    program_free(&program);
}
END_TEST

START_TEST(test_long_line)
{
    program_t program;
    run_script(&program, "2", NULL, "head -c 900000 /dev/zero | tr '\\000' $RANK; echo");
    ck_assert_int_eq(program.code, 0);
    ck_assert_uint_eq(program_count(program.texts[0], "\n"), 2);
    ck_assert_uint_eq(program.lengths[0], 2 * (900000 + 5));
    program_free(&program);
}
END_TEST

/* A reader that goes away is a reader that goes away: the ranks get SIGPIPE, nobody hangs. */
START_TEST(test_reader_leaves)
{
    program_t program;
    start_script(&program, "2", NULL, "exec yes");
    program_await(&program, "y\n", 10);
    close(program.pipes[0]);
    program.pipes[0] = -1;
    program_finish(&program);
    ck_assert_int_eq(program.code, 128 + SIGPIPE);
    program_free(&program);
}
END_TEST

/* What could not be written is no success. */
START_TEST(test_output_is_lost)
{
    program_t program;
    const char *script = "exec \"$0\" run -n 1 echo text > /dev/full";
    const char *arguments[] = {"sh", "-c", script, program_path("muster"), NULL};
    program_run(&program, arguments, NULL);
    ck_assert_int_eq(program.code, 1);
    ck_assert_ptr_nonnull(strstr(program.texts[1], "cannot write"));
    program_free(&program);
}
END_TEST

/* A reader who stands still does not keep the launcher from its timeout. */
START_TEST(test_reader_stands_still)
{
    program_t program;
    start_script(&program, "2", "--timeout=1", "exec yes");
    struct pollfd said = {.fd = program.pipes[1], .events = POLLIN};
    ck_assert_int_eq(poll(&said, 1, 10000), 1); /* and nothing is read from standard output */
    program_finish(&program);
    ck_assert_int_eq(program.code, 124);
    program_free(&program);
}
END_TEST

START_TEST(test_input)
{
    program_t program;
    int input[2];
    const char *arguments[] = {program_path("muster"), "run", "-n", "2", "sh", "-c",
                               "cat; echo end",        NULL};
    ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
    program_start(&program, arguments, NULL, input[0]);
    close(input[0]);
    ck_assert_int_eq(write(input[1], "one\ntwo\n", 8), 8);
    close(input[1]);
    program_finish(&program);
    ck_assert_ptr_nonnull(strstr(program.texts[0], "[0] one\n"));
    ck_assert_ptr_nonnull(strstr(program.texts[0], "[0] two\n"));
    ck_assert_ptr_nonnull(strstr(program.texts[0], "[0] end\n"));
    ck_assert_ptr_null(strstr(program.texts[0], "[1] one"));
    ck_assert_ptr_nonnull(strstr(program.texts[0], "[1] end\n"));
    program_free(&program);
}
END_TEST

/* ---- Environment ----------------------------------------------------------------------------- */

static bool has_duplicate(char **entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(entries[i], "=");
        for (size_t j = 0; j < i; j++) {
            if (strncmp(entries[i], entries[j], length + 1) == 0)
                return true;
        }
    }
    return false;
}

START_TEST(test_environment)
{
    /* An environment with names that stand twice, as no setenv makes it. */
    static char *const crooked[] = {"A=first", "RANK=9",       "A=second",
                                    "B=1",     "WORLD_SIZE=7", "RANK=8",
                                    "B=2",     "AA=x",         "MUSTER_CONTROL_FD=5",
                                    NULL};
    int ends[2];
    static char text[65536];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const char *command = program_path("muster");
        dup2(ends[1], 1);
        execle(command, "muster", "run", "--no-label", "-n", "1", "/usr/bin/env", "-0",
               (char *)NULL, crooked);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    char *entries[64];
    size_t count = 0;
    for (char *entry = text; entry < text + length && count < 64; entry += strlen(entry) + 1)
        entries[count++] = entry;
    ck_assert(!has_duplicate(entries, count)); /* C912 */
    ck_assert_uint_eq(count, 3 + 7);           /* A, AA, B and the job's */
    bool first = false, rank = false, size = false;
    for (size_t i = 0; i < count; i++) {
        first = first || strcmp(entries[i], "A=first") == 0;
        rank = rank || strcmp(entries[i], "RANK=0") == 0;
        size = size || strcmp(entries[i], "WORLD_SIZE=1") == 0;
    }
    ck_assert(first && rank && size);
}
END_TEST

/* Descriptors 0 to 2 and the door, and nothing of the launcher's own. */
START_TEST(test_descriptors)
{
    program_t program;
    run_script(&program, "3", "--no-label",
               "for fd in /proc/$$/fd/*; do n=${fd##*/}; [ $n -gt 2 ] && "
               "[ $n != $MUSTER_CONTROL_FD ] && readlink $fd; done; true");
    ck_assert_int_eq(program.code, 0);
    ck_assert_str_eq(program.texts[0], "");
    program_free(&program);
}
END_TEST

START_TEST(test_signals_are_reset)
{
    program_t program;
    run_script(&program, "1", "--no-label", "exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
    unsigned long long blocked, ignored;
    ck_assert_int_eq(sscanf(program.texts[0], "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    ck_assert_uint_eq(blocked, 0);
    /* Signals 32 and 33 are the C library's own: a runner may ignore them, none can reset. */
    ck_assert_uint_eq(ignored & ~(3ull << 31), 0);
    program_free(&program);
}
END_TEST

/* ---- Signals --------------------------------------------------------------------------------- */

START_TEST(test_signals_are_passed_on)
{
    static const struct {
        int signal;
        const char *name;
    } cases[] = {{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}, {SIGQUIT, "QUIT"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_t program;
        char script[256];
        snprintf(
            script, sizeof script,
            "n=0; trap 'n=$((n+1)); echo got; sleep 0.2; echo count $n; exit 9' %s; echo ready; "
            "while :; do sleep 0.01; done",
            cases[i].name);
        start_script(&program, "3", NULL, script);
        program_await(&program, "ready", 3);
        /* As a terminal does: to the whole group that the launcher is in. */
        kill(-program.pid, cases[i].signal);
        program_finish(&program);
        /* C931: every rank has got it, once */
        ck_assert_uint_eq(program_count(program.texts[0], "got\n"), 3);
        ck_assert_uint_eq(program_count(program.texts[0], "count 1\n"), 3);
        ck_assert_int_eq(program.code, 9);
        program_free(&program);
    }
}
END_TEST

START_TEST(test_stubborn_ranks_are_killed)
{
    program_t program;
    start_script(&program, "2", "--kill-grace=0.3",
                 "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    program_await(&program, "ready", 2);
    kill(program.pid, SIGTERM);
    program_finish(&program);
    ck_assert_int_eq(program.code, 137);
    program_free(&program);
}
END_TEST

START_TEST(test_timeout)
{
    program_t program;
    run_script(&program, "3", "--timeout=0.3", "[ $RANK = 1 ] && exit 0; exec sleep 100");
    ck_assert_int_eq(program.code, 124);
    ck_assert_int_lt(program.took_ms, 10000);
    ck_assert_ptr_nonnull(strstr(program.texts[1], "still running: ranks 0, 2"));
    program_free(&program);
}
END_TEST

START_TEST(test_grace_after_failure)
{
    program_t program;
    run_script(&program, "3", "--grace=0.3", "[ $RANK = 1 ] && exit 4; exec sleep 100");
    ck_assert_int_eq(program.code, 4);
    ck_assert_int_lt(program.took_ms, 10000);
    ck_assert_ptr_nonnull(strstr(program.texts[1], "rank 1"));
    ck_assert_ptr_nonnull(strstr(program.texts[1], "ending ranks 0, 2"));
    program_free(&program);
}
END_TEST

/* ---- Nobody is left behind ------------------------------------------------------------------- */

/* The processes whose numbers the ranks have printed as "pid N", as descriptors. */
static size_t open_processes(const char *text, int *descriptors, size_t most)
{
    size_t count = 0;
    for (const char *next = strstr(text, "pid "); next != NULL && count < most;
         next = strstr(next + 1, "pid ")) {
        int fd = (int)syscall(SYS_pidfd_open, (pid_t)atol(next + 4), 0);
        if (fd >= 0)
            descriptors[count++] = fd;
    }
    return count;
}

static void assert_end_within(int *descriptors, size_t count, int64_t limit_ms)
{
    int64_t until = program_now() + limit_ms;
    for (size_t i = 0; i < count; i++) {
        struct pollfd ready = {.fd = descriptors[i], .events = POLLIN};
        int64_t left = until - program_now();
        ck_assert_int_eq(poll(&ready, 1, left > 0 ? (int)left : 0), 1);
        close(descriptors[i]);
    }
}

/* A rank, a process it has started, one that ignores everything, and one that is a daemon. */
static const char *const family =
    "echo pid $$; (sleep 1000 & echo pid $!; wait) & "
    "(trap '' TERM HUP INT; echo pid $(sh -c 'echo $PPID'); while :; do sleep 0.2; done) & "
    "setsid sh -c 'echo pid $$; exec sleep 1000 <&- >/dev/null 2>&1' & ";

START_TEST(test_launcher_is_killed)
{
    enum { RANKS = 3, EACH = 4 };
    program_t program;
    char script[1024];
    int descriptors[RANKS * EACH];
    snprintf(script, sizeof script, "%s wait", family);
    start_script(&program, "3", NULL, script);
    program_await(&program, "pid ", (size_t)RANKS * EACH);
    size_t count = open_processes(program.texts[0], descriptors, (size_t)RANKS * EACH);
    ck_assert_uint_ge(count, RANKS * 3);
    kill(program.pid, SIGKILL);
    assert_end_within(descriptors, count, 2000); /* C931, also in case 9 */
    program_finish(&program);
    ck_assert_int_eq(program.code, 137);
    program_free(&program);
}
END_TEST

/* What ranks leave behind when they end properly goes, too, and does not hold up the launcher. */
START_TEST(test_leftovers)
{
    enum { RANKS = 2, EACH = 4 };
    program_t program;
    char script[1024];
    int descriptors[RANKS * EACH];
    snprintf(script, sizeof script, "%s sleep 0.3; exit 0", family);
    start_script(&program, "2", NULL, script);
    program_await(&program, "pid ", (size_t)RANKS * EACH);
    size_t count = open_processes(program.texts[0], descriptors, (size_t)RANKS * EACH);
    program_finish(&program);
    ck_assert_int_eq(program.code, 0);
    ck_assert_int_lt(program.took_ms, 10000);
    assert_end_within(descriptors, count, 0); /* C931 */
    program_free(&program);
}
END_TEST

/* A launcher under a launcher: the outer one's death takes the inner one's ranks along. */
START_TEST(test_nested)
{
    program_t program;
    char script[2048];
    int descriptors[4];
    snprintf(script, sizeof script, "exec '%s' run -n 2 sh -c 'echo pid $$; exec sleep 1000'",
             program_path("muster"));
    start_script(&program, "2", NULL, script);
    program_await(&program, "pid ", 4);
    size_t count = open_processes(program.texts[0], descriptors, 4);
    ck_assert_uint_eq(count, 4);
    kill(program.pid, SIGKILL);
    assert_end_within(descriptors, count, 2000); /* C931 */
    program_finish(&program);
    program_free(&program);
}
END_TEST

/* ---- Many ------------------------------------------------------------------------------------ */

START_TEST(test_fifty_at_once)
{
    enum { JOBS = 50 };
    static program_t programs[JOBS];
    static const char *const patience[] = {"CHILD_TIMEOUT_MS=50000", NULL};
    const char *arguments[] = {program_path("muster"),     "run", "-n", "2",
                               program_path("child_boot"), NULL};
    for (int i = 0; i < JOBS; i++)
        program_start(&programs[i], arguments, patience, -1);
    for (int i = 0; i < JOBS; i++) {
        program_finish(&programs[i]);
        /* C911: 50 concurrent starts never collide (case 34) */
        ck_assert_msg(programs[i].code == 0, "%s%s", programs[i].texts[0], programs[i].texts[1]);
        ck_assert_uint_eq(program_count(programs[i].texts[0], "exchanged\n"), 2);
        program_free(&programs[i]);
    }
}
END_TEST

START_TEST(test_many_ranks)
{
    program_t program;
    const char *arguments[] = {program_path("muster"),     "run", "-n", "96",
                               program_path("child_boot"), NULL};
    static const char *const patience[] = {"CHILD_TIMEOUT_MS=50000", NULL};
    program_run(&program, arguments, patience);
    ck_assert_msg(program.code == 0, "%.1000s%.1000s", program.texts[0], program.texts[1]);
    ck_assert_uint_eq(program_count(program.texts[0], "exchanged\n"), 96);
    program_free(&program);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("launcher");
    TCase *tcase = tcase_create("launcher");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_exit_codes);
    tcase_add_test(tcase, test_first_failure_counts);
    tcase_add_test(tcase, test_cannot_start);
    tcase_add_test(tcase, test_usage);
    tcase_add_test(tcase, test_hint);
    tcase_add_test(tcase, test_info);
    tcase_add_test(tcase, test_labels);
    tcase_add_test(tcase, test_no_label);
    tcase_add_test(tcase, test_output_is_whole);
    tcase_add_test(tcase, test_long_line);
    tcase_add_test(tcase, test_reader_leaves);
    tcase_add_test(tcase, test_output_is_lost);
    tcase_add_test(tcase, test_reader_stands_still);
    tcase_add_test(tcase, test_input);
    tcase_add_test(tcase, test_environment);
    tcase_add_test(tcase, test_descriptors);
    tcase_add_test(tcase, test_signals_are_reset);
    tcase_add_test(tcase, test_signals_are_passed_on);
    tcase_add_test(tcase, test_stubborn_ranks_are_killed);
    tcase_add_test(tcase, test_timeout);
    tcase_add_test(tcase, test_grace_after_failure);
    tcase_add_test(tcase, test_launcher_is_killed);
    tcase_add_test(tcase, test_leftovers);
    tcase_add_test(tcase, test_nested);
    tcase_add_test(tcase, test_fifty_at_once);
    tcase_add_test(tcase, test_many_ranks);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
