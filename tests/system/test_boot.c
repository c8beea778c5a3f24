/* Start-up under the launcher and under the environment: it works, or everybody is told why. */
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire.h"
#include "system/program.h"

#define RANKS_MAX 8
/* Any: the address is this process's own (127.0.0.0/8 has one for everybody). */
#define PORT 29500

/* ---- Under the launcher ---------------------------------------------------------------------- */

static void launch(program_t *program, const char *plan, const char *const *variables)
{
    const char *arguments[] = {program_path("muster"),     "run", "--grace=5", "-n", "4",
                               program_path("child_boot"), plan,  NULL};
    program_run(program, arguments, variables);
}

/* Everybody but rank 2 has said it, once. */
static void assert_others_say(const program_t *program, const char *what)
{
    for (int rank = 0; rank < 4; rank++) {
        char line[256];
        snprintf(line, sizeof line, "[%d] %s", rank, what);
        ck_assert_msg(program_count(program->texts[0], line) == (rank == 2 ? 0 : 1),
                      "not once: \"%s\" in\n%s%s", line, program->texts[0], program->texts[1]);
    }
}

START_TEST(test_launched)
{
    program_t program;
    launch(&program, "none=0", NULL);
    ck_assert_msg(program.code == 0, "%s%s", program.texts[0], program.texts[1]);
    ck_assert_uint_eq(program_count(program.texts[0], "exchanged\n"), 4);
    ck_assert_uint_eq(program_count(program.texts[0], "done\n"), 4);
    program_free(&program);
}
END_TEST

/* Case 3: a death in each step of start-up; everybody else fails at once, naming it. */
START_TEST(test_launched_death)
{
    static const struct {
        const char *plan;
        const char *said; /* in the failure of all others */
        int code;
    } cases[] = {
        {"begin=2", "was lost: killed by signal 9 before it joined", 137},
        {"begin=2:exit", "was lost: exited with 3 before it joined", 3},
        {"opened=2", "was lost: killed by signal 9 before it gave its address", 137},
        {"opened=2:exit", "was lost: exited with 3 before it gave its address", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_t program;
        launch(&program, cases[i].plan, NULL);
        ck_assert_int_eq(program.code, cases[i].code); /* C931 */
        ck_assert_int_lt(program.took_ms, 5000);       /* not after the deadline of 10 s */
        assert_others_say(&program, "failed exchange: MUSTER_PEER_LOST rank 2 pid ");
        ck_assert_uint_eq(program_count(program.texts[0], cases[i].said), 3);
        program_free(&program);
    }
}
END_TEST

/* Case 2: and after start-up. */
START_TEST(test_launched_loss)
{
    static const char *const stays[] = {"CHILD_STAYS=1", NULL};
    static const struct {
        const char *plan;
        const char *said;
    } cases[] = {
        {"exchanged=2", "lost 2: killed by signal 9\n"},
        {"exchanged=2:exit", "lost 2: exited with 3\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_t program;
        launch(&program, cases[i].plan, stays);
        assert_others_say(&program, cases[i].said);
        program_free(&program);
    }
}
END_TEST

/* A rank that leaves properly is no loss, whatever becomes of it afterwards. */
START_TEST(test_launched_leave)
{
    static const char *const stays[] = {"CHILD_STAYS=1", NULL};
    program_t program;
    const char *script = "[ $RANK = 1 ] && unset CHILD_STAYS; exec $0 left=1:exit";
    const char *arguments[] = {program_path("muster"),     "run", "-n", "2", "sh", "-c", script,
                               program_path("child_boot"), NULL};
    program_run(&program, arguments, stays);
    ck_assert_int_eq(program.code, 3);
    ck_assert_ptr_nonnull(strstr(program.texts[0], "[0] left 1\n[0] done\n"));
    ck_assert_ptr_null(strstr(program.texts[0], "lost"));
    program_free(&program);
}
END_TEST

START_TEST(test_launched_timeout)
{
    static const char *const short_time[] = {"CHILD_TIMEOUT_MS=1500", NULL};
    program_t program;
    const char *arguments[] = {program_path("muster"),     "run",           "--grace=2", "-n", "4",
                               program_path("child_boot"), "opened=2:stop", NULL};
    program_run(&program, arguments, short_time);
    assert_others_say(&program, "failed exchange: MUSTER_TIMED_OUT rank 2 pid 0 missing 2-2: "
                                "rank 2 did not join before the deadline");
    ck_assert_int_lt(program.took_ms, 10000);
    program_free(&program);
}
END_TEST

/* Who comes when the others have given up is told the same, and does not wait on. */
START_TEST(test_launched_late)
{
    static const char *const short_time[] = {"CHILD_TIMEOUT_MS=500", NULL};
    program_t program;
    const char *script =
        "[ $RANK = 2 ] && { sleep 1.5; export CHILD_TIMEOUT_MS=20000; }; exec $0 none=0";
    const char *arguments[] = {program_path("muster"),     "run", "-n", "4", "sh", "-c", script,
                               program_path("child_boot"), NULL};
    program_run(&program, arguments, short_time);
    ck_assert_uint_eq(program_count(program.texts[0], "MUSTER_TIMED_OUT rank 2 pid 0 missing 2-2:"),
                      4);
    ck_assert_int_lt(program.took_ms, 8000);
    program_free(&program);
}
END_TEST

/* A connection that is closed without leaving, though the process goes on. */
START_TEST(test_launched_quits)
{
    program_t program;
    const char *arguments[] = {program_path("muster"),     "run",           "--grace=2", "-n", "4",
                               program_path("child_boot"), "opened=2:quit", NULL};
    program_run(&program, arguments, NULL);
    assert_others_say(&program, "failed exchange: MUSTER_PEER_LOST rank 2");
    ck_assert_uint_eq(program_count(program.texts[0], "closed its control connection"), 3);
    program_free(&program);
}
END_TEST

/* A rank's program below a shell: its loss is heard though the shell goes on. */
START_TEST(test_launched_below_shell)
{
    static const char *const stays[] = {"CHILD_STAYS=1", NULL};
    program_t program;
    const char *arguments[] = {
        program_path("muster"),     "run", "-n", "4", "sh", "-c", "$0 exchanged=2; sleep 1",
        program_path("child_boot"), NULL};
    program_run(&program, arguments, stays);
    ck_assert_int_eq(program.code, 0);
    assert_others_say(&program, "lost 2: closed its control connection without leaving\n");
    program_free(&program);
}
END_TEST

/* Case 17: join and leave in a loop, at different speeds, is no loss to anybody. */
START_TEST(test_launched_again)
{
    static const char *const many[] = {"CHILD_JOBS=30", NULL};
    program_t program;
    launch(&program, "none=0", many);
    ck_assert_msg(program.code == 0, "%s%s", program.texts[0], program.texts[1]);
    ck_assert_uint_eq(program_count(program.texts[0], "exchanged\n"), 4 * 30);
    program_free(&program);
}
END_TEST

START_TEST(test_launched_duplicate)
{
    static const char *const short_time[] = {"CHILD_TIMEOUT_MS=3000", NULL};
    program_t program;
    /* Two processes are rank 1; whoever is second is refused while the first one holds it. */
    const char *script = "[ $RANK = 0 ] && exec $0; echo pid $$; $0 opened=1:stop & echo pid $!; "
                         "exec $0 opened=1:stop";
    const char *arguments[] = {
        program_path("muster"),     "run", "--grace=0", "-n", "2", "sh", "-c", script,
        program_path("child_boot"), NULL};
    program_run(&program, arguments, short_time);
    char *refused = program_line(program.texts[0], "[1] failed open: MUSTER_DUPLICATE_RANK");
    ck_assert_msg(refused != NULL, "%s%s", program.texts[0], program.texts[1]);
    char *held = strstr(refused, "rank 1 is held by process ");
    ck_assert_ptr_nonnull(held);
    long holder = strtol(held + strlen("rank 1 is held by process "), NULL, 10);
    char line[64];
    snprintf(line, sizeof line, "[1] pid %ld\n", holder);
    ck_assert_ptr_nonnull(strstr(program.texts[0], line)); /* C125: and told who holds it */
    free(refused);
    program_free(&program);
}
END_TEST

START_TEST(test_launched_fork)
{
    program_t program;
    launch(&program, "opened=2:fork", NULL);
    /* C933: what the child does with the inherited handle harms nobody */
    ck_assert_msg(program.code == 0, "%s%s", program.texts[0], program.texts[1]);
    ck_assert_uint_eq(program_count(program.texts[0], "exchanged\n"), 4);
    program_free(&program);
}
END_TEST

START_TEST(test_launched_garbage)
{
    program_t program;
    launch(&program, "begin=2:garbage", NULL);
    ck_assert_int_eq(program.code, 0);
    ck_assert_uint_eq(program_count(program.texts[0], "[2] closed\n"), 1); /* C922 */
    ck_assert_uint_eq(program_count(program.texts[0], "exchanged\n"), 4);
    program_free(&program);
}
END_TEST

START_TEST(test_launched_version)
{
    program_t program;
    char versions[128];
    launch(&program, "begin=2:version", NULL);
    ck_assert_int_eq(program.code, 4);
    /* C921: both versions are named, and the joiners fail fast */
    ck_assert_ptr_nonnull(strstr(program.texts[0], "[2] refused: MUSTER_VERSION_MISMATCH"));
    snprintf(versions, sizeof versions,
             "the launcher speaks version %d of the protocol, rank 2 version %d\n", WIRE_VERSION,
             WIRE_VERSION - 1);
    ck_assert_ptr_nonnull(strstr(program.texts[0], versions));
    assert_others_say(&program, "failed exchange: MUSTER_PEER_LOST rank 2");
    program_free(&program);
}
END_TEST

/* ---- Under the environment ------------------------------------------------------------------- */

typedef struct team {
    program_t programs[RANKS_MAX];
    unsigned size;
} team_t;

static char address[32];

static void choose_address(void)
{
    unsigned own = (unsigned)getpid();
    snprintf(address, sizeof address, "127.%u.%u.%u", 1 + own / 62500 % 254, 1 + own / 250 % 250,
             1 + own % 250);
}

/* One rank. more: further variables, closed by NULL. */
static void start_rank(program_t *program, unsigned rank, unsigned size, const char *plan,
                       const char *const *more)
{
    char texts[4][64];
    const char *variables[16] = {texts[0], texts[1], texts[2], texts[3]};
    const char *arguments[] = {program_path("child_boot"), plan, NULL};
    size_t count = 4;
    snprintf(texts[0], sizeof texts[0], "RANK=%u", rank);
    snprintf(texts[1], sizeof texts[1], "WORLD_SIZE=%u", size);
    snprintf(texts[2], sizeof texts[2], "MASTER_ADDR=%s", address);
    snprintf(texts[3], sizeof texts[3], "MASTER_PORT=%d", PORT);
    for (; more != NULL && *more != NULL && count < 15; more++)
        variables[count++] = *more;
    program_start(program, arguments, variables, -1);
}

static void run_team(team_t *team, unsigned size, const char *plan, const char *const *more)
{
    team->size = size;
    for (unsigned rank = 0; rank < size; rank++)
        start_rank(&team->programs[rank], rank, size, plan, more);
    for (unsigned rank = 0; rank < size; rank++)
        program_finish(&team->programs[rank]);
}

static void free_team(team_t *team)
{
    for (unsigned rank = 0; rank < team->size; rank++)
        program_free(&team->programs[rank]);
}

/* Everybody but one has said it. */
static void assert_team_says(const team_t *team, unsigned but, const char *what)
{
    for (unsigned rank = 0; rank < team->size; rank++) {
        if (rank == but)
            continue;
        ck_assert_msg(strstr(team->programs[rank].texts[0], what) != NULL,
                      "rank %u has not said \"%s\" but\n%s", rank, what,
                      team->programs[rank].texts[0]);
    }
}

START_TEST(test_environment)
{
    team_t team;
    static const char *const many[] = {"CHILD_JOBS=10", NULL};
    choose_address();
    run_team(&team, 5, "none=0", many);
    assert_team_says(&team, UINT32_MAX, "exchanged\ndone\n");
    for (unsigned rank = 0; rank < 5; rank++) {
        ck_assert_int_eq(team.programs[rank].code, 0);
        ck_assert_uint_eq(program_count(team.programs[rank].texts[0], "exchanged\n"), 10);
    }
    free_team(&team);
}
END_TEST

/* Case 3 without a launcher: a death names the rank, or the step before the deadline. */
START_TEST(test_environment_death)
{
    static const char *const short_time[] = {"CHILD_TIMEOUT_MS=2000", NULL};
    static const struct {
        const char *plan;
        unsigned who;
        const char *said;
    } cases[] = {
        {"begin=2", 2, "failed exchange: MUSTER_TIMED_OUT rank 2 pid 0 missing 2-2:"},
        {"opened=2", 2, "failed exchange: MUSTER_PEER_LOST rank 2 pid"},
        {"opened=2:quit", 2, "failed exchange: MUSTER_PEER_LOST rank 2 pid"},
        {"opened=2:stop", 2, "failed exchange: MUSTER_TIMED_OUT rank 2 pid 0 missing 2-2:"},
        {"begin=0", 0, "failed open: MUSTER_TIMED_OUT rank 0 pid 0 missing 0-0:"},
        {"opened=0:stop", 0, "failed open: MUSTER_TIMED_OUT rank 0 pid 0 missing 0-0:"},
    };
    choose_address();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        team_t team;
        team.size = 4;
        for (unsigned rank = 0; rank < 4; rank++)
            start_rank(&team.programs[rank], rank, 4, cases[i].plan, short_time);
        for (unsigned rank = 0; rank < 4; rank++) {
            if (rank == cases[i].who)
                continue;
            program_finish(&team.programs[rank]);
            ck_assert_int_lt(team.programs[rank].took_ms, 4000);
        }
        kill(team.programs[cases[i].who].pid, SIGKILL);
        program_finish(&team.programs[cases[i].who]);
        assert_team_says(&team, cases[i].who, cases[i].said);
        free_team(&team);
    }
}
END_TEST

START_TEST(test_environment_loss)
{
    static const char *const stays[] = {"CHILD_STAYS=1", NULL};
    team_t team;
    choose_address();
    run_team(&team, 4, "exchanged=2", stays);
    assert_team_says(&team, 2, "lost 2: closed its control connection without leaving\n");
    free_team(&team);
    run_team(&team, 4, "exchanged=0", stays);
    assert_team_says(&team, 0, "lost 0: closed its control connection without leaving\n");
    free_team(&team);
}
END_TEST

START_TEST(test_environment_variables)
{
    static const struct {
        const char *variables[7];
        const char *status;
        const char *named;
    } cases[] = {
        {{"RANK=2", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=1"},
         "INVALID_ARGUMENT",
         "RANK is 2"},
        {{"RANK=one", "WORLD_SIZE=2"}, "INVALID_ARGUMENT", "RANK is \"one\""},
        {{"RANK=-1", "WORLD_SIZE=2"}, "INVALID_ARGUMENT", "RANK is \"-1\""},
        {{"RANK=1x", "WORLD_SIZE=2"}, "INVALID_ARGUMENT", "RANK is \"1x\""},
        {{"RANK=0", "WORLD_SIZE=0"}, "INVALID_ARGUMENT", "WORLD_SIZE is \"0\""},
        {{"RANK=0", "WORLD_SIZE=4294967297"}, "INVALID_ARGUMENT", "WORLD_SIZE is"},
        {{"RANK=0"}, "INVALID_ARGUMENT", "WORLD_SIZE is not set"},
        {{"WORLD_SIZE=2"}, "INVALID_ARGUMENT", "RANK is not set"},
        {{"MASTER_ADDR=127.0.0.1"}, "INVALID_ARGUMENT", "WORLD_SIZE is not set"},
        {{"RANK=0", "WORLD_SIZE=2"}, "INVALID_ARGUMENT", "MASTER_ADDR is not set"},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1"},
         "INVALID_ARGUMENT",
         "MASTER_PORT is not set"},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=0"},
         "INVALID_ARGUMENT",
         "MASTER_PORT is \"0\""},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=65536"},
         "INVALID_ARGUMENT",
         "MASTER_PORT is \"65536\""},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=192.0.2.1", "MASTER_PORT=29500"},
         "INVALID_ARGUMENT",
         "set MUSTER_SECRET or MUSTER_SECRET_FILE"},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500",
          "MUSTER_SECRET=abc"},
         "INVALID_ARGUMENT",
         "MUSTER_SECRET is not 64"},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500",
          "MUSTER_SECRET_FILE=/nonexistent/secret"},
         "ENVIRONMENT",
         "MUSTER_SECRET_FILE, \"/nonexistent/secret\""},
        {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500",
          "MUSTER_SECRET_FILE=/dev/null"},
         "INVALID_ARGUMENT",
         "MUSTER_SECRET_FILE"},
        /* Case 31: a name that means loopback is of no use to ranks on other hosts. */
        {{"RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=127.0.1.1",
          "MASTER_PORT=29500"},
         "INVALID_ARGUMENT",
         "loopback"},
        {{"MUSTER_CONTROL_FD=x"}, "INVALID_ARGUMENT", "MUSTER_CONTROL_FD is \"x\""},
        {{"MUSTER_CONTROL_FD=0"}, "ENVIRONMENT", "MUSTER_CONTROL_FD names descriptor 0"},
    };
    const char *arguments[] = {program_path("child_boot"), NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_t program;
        char status[64];
        program_run(&program, arguments, cases[i].variables);
        snprintf(status, sizeof status, "failed open: MUSTER_%s ", cases[i].status);
        ck_assert_int_eq(program.code, 1);
        ck_assert_msg(strstr(program.texts[0], status) != NULL &&
                          strstr(program.texts[0], cases[i].named) != NULL,
                      "not %s with \"%s\" but %s", status, cases[i].named, program.texts[0]);
        program_free(&program);
    }
}
END_TEST

START_TEST(test_alone)
{
    static const char *const one[] = {"RANK=0", "WORLD_SIZE=1", NULL};
    const char *arguments[] = {program_path("child_boot"), NULL};
    program_t program;
    program_run(&program, arguments, NULL);
    ck_assert_str_eq(program.texts[0], "opened 0 of 1\nexchanged\ndone\n");
    program_free(&program);
    program_run(&program, arguments, one);
    ck_assert_str_eq(program.texts[0], "opened 0 of 1\nexchanged\ndone\n");
    program_free(&program);
}
END_TEST

START_TEST(test_environment_duplicate)
{
    static const char *const time[] = {"CHILD_TIMEOUT_MS=8000", NULL};
    choose_address();
    for (unsigned rank = 0; rank < 2; rank++) {
        program_t first, second, other;
        char expected[128];
        start_rank(&other, 1 - rank, 3, "none=0", time);
        start_rank(&first, rank, 3, "none=0", time);
        program_await(&first, "opened", 1);
        program_await(&other, "opened", 1);
        start_rank(&second, rank, 3, "none=0", time);
        program_finish(&second);
        /* C125, also for the rank that listens: refused, and told who holds it */
        snprintf(expected, sizeof expected, "failed open: MUSTER_DUPLICATE_RANK rank %u pid %d ",
                 rank, (int)first.pid);
        ck_assert_msg(strstr(second.texts[0], expected) != NULL, "%s", second.texts[0]);
        program_t last;
        start_rank(&last, 2, 3, "none=0", time);
        program_finish(&last);
        program_finish(&first);
        program_finish(&other);
        ck_assert_int_eq(first.code, 0); /* and nobody else is disturbed */
        ck_assert_int_eq(other.code, 0);
        ck_assert_int_eq(last.code, 0);
        program_free(&first);
        program_free(&second);
        program_free(&other);
        program_free(&last);
    }
}
END_TEST

/* A socket at this process's address; listening where asked for. */
static struct sockaddr_in own_address(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    ck_assert_int_eq(inet_pton(AF_INET, address, &own.sin_addr), 1);
    return own;
}

START_TEST(test_environment_address)
{
    static const char secret[] =
        "MUSTER_SECRET=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    program_t program;
    int one = 1;
    choose_address();
    struct sockaddr_in own = own_address();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(listen(fd, 5), 0);
    start_rank(&program, 0, 2, "none=0", NULL);
    program_finish(&program);
    /* C104, C913: told apart, each with the endpoint */
    ck_assert_ptr_nonnull(strstr(program.texts[0], "MUSTER_ADDRESS_IN_USE"));
    ck_assert_ptr_nonnull(strstr(program.texts[0], address));
    ck_assert_ptr_nonnull(strstr(program.texts[0], ":29500"));
    program_free(&program);
    close(fd);
    const char *const elsewhere[] = {"MASTER_ADDR=192.0.2.1", secret, NULL};
    start_rank(&program, 0, 2, "none=0", elsewhere);
    program_finish(&program);
    ck_assert_ptr_nonnull(strstr(program.texts[0], "MUSTER_ADDRESS_NOT_AVAILABLE"));
    ck_assert_ptr_nonnull(strstr(program.texts[0], "192.0.2.1:29500"));
    program_free(&program);
}
END_TEST

START_TEST(test_environment_secret)
{
    static const char *const right[] = {
        "MUSTER_SECRET=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", NULL};
    static const char *const wrong[] = {
        "MUSTER_SECRET=10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", NULL};
    const char *const other_job[] = {"MUSTER_JOB=other", right[0], NULL};
    program_t first, second;
    choose_address();
    start_rank(&first, 0, 2, "none=0", right);
    program_await(&first, "opened", 1);
    const char *const *const strangers[] = {wrong, other_job};
    for (int i = 0; i < 2; i++) {
        start_rank(&second, 1, 2, "none=0", strangers[i]);
        program_finish(&second);
        /* C921: nobody joins without the job's secret */
        ck_assert_ptr_nonnull(strstr(second.texts[0], "failed open: MUSTER_NOT_AUTHENTICATED"));
        program_free(&second);
    }
    /* One that thinks the job is larger is told so, and does no harm either. */
    start_rank(&second, 1, 3, "none=0", right);
    program_finish(&second);
    ck_assert_ptr_nonnull(strstr(second.texts[0], "WORLD_SIZE is 3 for rank 1 and 2 for rank 0"));
    program_free(&second);
    start_rank(&second, 1, 2, "none=0", right);
    program_finish(&second);
    program_finish(&first);
    ck_assert_int_eq(second.code, 0);
    ck_assert_int_eq(first.code, 0);
    program_free(&first);
    program_free(&second);
}
END_TEST

/* Case 39: nonsense and silence at rank 0's socket; the job starts nevertheless. */
START_TEST(test_environment_strangers)
{
    enum { STRANGERS = 300 };
    program_t first, second;
    int descriptors[STRANGERS];
    char noise[512];
    choose_address();
    struct sockaddr_in own = own_address();
    memset(noise, 0x5a, sizeof noise);
    start_rank(&first, 0, 2, "none=0", NULL);
    program_await(&first, "opened", 1);
    for (int i = 0; i < STRANGERS; i++) {
        descriptors[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(descriptors[i], (struct sockaddr *)&own, sizeof own), 0);
        if (i % 3 == 0)
            ck_assert_int_gt(send(descriptors[i], noise, sizeof noise, MSG_NOSIGNAL), 0);
        if (i % 3 == 1)
            ck_assert_int_gt(send(descriptors[i], "MUSTERhi", 8, MSG_NOSIGNAL), 0);
    }
    start_rank(&second, 1, 2, "none=0", NULL);
    program_finish(&second);
    program_finish(&first);
    ck_assert_int_eq(second.code, 0); /* C922 */
    ck_assert_int_eq(first.code, 0);
    for (int i = 0; i < STRANGERS; i++)
        close(descriptors[i]);
    program_free(&first);
    program_free(&second);
}
END_TEST

/* What answers at rank 0's place is no Muster: said at once. */
START_TEST(test_environment_other_server)
{
    program_t program;
    int one = 1;
    choose_address();
    struct sockaddr_in own = own_address();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(listen(fd, 5), 0);
    start_rank(&program, 1, 2, "none=0", NULL);
    int guest = accept(fd, NULL, NULL);
    ck_assert_int_ge(guest, 0);
    ck_assert_int_gt(send(guest, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL), 0);
    program_finish(&program);
    ck_assert_ptr_nonnull(strstr(program.texts[0], "failed open: MUSTER_PROTOCOL rank 0"));
    ck_assert_int_lt(program.took_ms, 5000);
    program_free(&program);
    close(guest);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boot");
    TCase *tcase = tcase_create("boot");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_launched);
    tcase_add_test(tcase, test_launched_death);
    tcase_add_test(tcase, test_launched_loss);
    tcase_add_test(tcase, test_launched_leave);
    tcase_add_test(tcase, test_launched_timeout);
    tcase_add_test(tcase, test_launched_late);
    tcase_add_test(tcase, test_launched_quits);
    tcase_add_test(tcase, test_launched_below_shell);
    tcase_add_test(tcase, test_launched_again);
    tcase_add_test(tcase, test_launched_duplicate);
    tcase_add_test(tcase, test_launched_fork);
    tcase_add_test(tcase, test_launched_garbage);
    tcase_add_test(tcase, test_launched_version);
    tcase_add_test(tcase, test_environment);
    tcase_add_test(tcase, test_environment_death);
    tcase_add_test(tcase, test_environment_loss);
    tcase_add_test(tcase, test_environment_variables);
    tcase_add_test(tcase, test_alone);
    tcase_add_test(tcase, test_environment_duplicate);
    tcase_add_test(tcase, test_environment_address);
    tcase_add_test(tcase, test_environment_secret);
    tcase_add_test(tcase, test_environment_strangers);
    tcase_add_test(tcase, test_environment_other_server);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
