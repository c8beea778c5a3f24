/*
 * A rank dies: at every moment, in every manner, in every operation, and the others all get one
 * outcome, at once, and leave nothing behind. A fixed part of all cases runs; with
 * MUSTER_TEST_FULL=1 all of them do.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/program.h"

/* The calls' deadline is 30 s: an end that comes before is no deadline's. */
#define PROMPT_MS 15000
#define CALLS 4

static const char *const operations[] = {"barrier", "broadcast", "reduce",   "allreduce", "gather",
                                         "scatter", "allgather", "alltoall", "scan"};
static const char *const shapes[] = {"flat", "2", "3"};
static const char *const manners[] = {"kill", "exit0", "exit3", "abort"};
enum { OPERATIONS = 9, SHAPES = 3, MANNERS = 4 };

typedef struct death {
    const char *operation, *shape, *moment, *manner;
    unsigned size, root, victim;
} death_t;

static unsigned jobs;

static bool full(void)
{
    return getenv("MUSTER_TEST_FULL") != NULL;
}

/* Every so many of the cases, spread over all of them in a fixed pattern. */
static bool chosen(unsigned index, unsigned stride)
{
    return full() || index * 2654435761u % 65536 < 65536 / stride;
}

static void describe(const death_t *death, const program_t *program, char *text, size_t size)
{
    snprintf(text, size, "muster run --no-label -n %u child_death %s %s %u %u %s %s\n%s%s",
             death->size, death->operation, death->shape, death->root, death->victim, death->moment,
             death->manner, program->texts[0], program->texts[1]);
}

/* What every survivor says of a call is the same; whether that is its success. */
static bool check_call(const program_t *program, unsigned call, size_t survivors, const char *lost,
                       const char *why)
{
    char start[32], success[64], told[64];
    snprintf(start, sizeof start, "call %u ", call);
    snprintf(told, sizeof told, "before its end %u MUSTER_OK ", call);
    snprintf(success, sizeof success, "%sMUSTER_OK ", start);
    size_t all = program_count(program->texts[0], start);
    size_t good = program_count(program->texts[0], success);
    size_t bad = 0;
    if (lost != NULL) {
        char failure[256];
        snprintf(failure, sizeof failure, "%sMUSTER_PEER_LOST %s\n", start, lost);
        bad = program_count(program->texts[0], failure);
    }
    ck_assert_msg(all == survivors, "call %u: %zu of %zu survivors: %s", call, all, survivors, why);
    ck_assert_msg(good == all || bad == all, "call %u: outcomes differ: %s", call, why);
    /* What the victim was told is what everybody is told. */
    if (program_count(program->texts[0], told) > 0)
        ck_assert_msg(good == all, "call %u: the victim had the value: %s", call, why);
    return good == all;
}

/* Runs it and holds the survivors to the contract; false: the victim has not come to die. */
static bool run_death(const death_t *death)
{
    char size[16], root[16], victim[16], why[20000], lost[128] = "";
    snprintf(size, sizeof size, "%u", death->size);
    snprintf(root, sizeof root, "%u", death->root);
    snprintf(victim, sizeof victim, "%u", death->victim);
    const char *arguments[] = {program_path("muster"),
                               "run",
                               "--no-label",
                               "-n",
                               size,
                               program_path("child_death"),
                               death->operation,
                               death->shape,
                               root,
                               victim,
                               death->moment,
                               death->manner,
                               NULL};
    program_t program;
    program_run(&program, arguments, NULL);
    jobs++;
    describe(death, &program, why, sizeof why);
    char *name = program_line(program.texts[0], "victim ");
    ck_assert_msg(name != NULL, "%s", why);
    snprintf(lost, sizeof lost, "%u %s", death->victim, name + strlen("victim "));
    size_t ends = program_count(program.texts[0], "end 0\n");
    bool died = ends < death->size;
    size_t survivors = death->size - 1;
    if (!died)
        ends--; /* the victim's own */
    /* Nobody hangs or falls with it, and no descriptor is left. */
    ck_assert_msg(ends == survivors, "%s", why);
    ck_assert_msg(program_count(program.texts[0], "wrong") == 0, "%s", why);
    ck_assert_msg(program_count(program.texts[1], "Sanitizer") == 0, "%s", why);
    ck_assert_msg(program.took_ms < PROMPT_MS, "%lld ms: %s", (long long)program.took_ms, why);
    /* No process of the job is left. */
    ck_assert_int_eq(kill((pid_t)atol(name + strlen("victim ")), 0), -1);
    ck_assert_int_eq(errno, ESRCH);
    bool alone = strcmp(death->moment, "join") == 0;
    unsigned failed = 0;
    for (unsigned call = 0; call < (alone ? 1 : CALLS); call++) {
        /* C801 C804: the value or the loss, the same everywhere, and its rank, host and process */
        bool good = check_call(&program, call, survivors, died ? lost : NULL, why);
        ck_assert_msg(!good || failed == 0, "it works again: %s", why);
        failed += !good;
    }
    if (died && alone)
        ck_assert_msg(failed == 1, "%s", why);
    /* C804: killed after contributing: the value, and the loss on the next call */
    if (died && !alone && strpbrk(death->moment, "0123456789") == NULL)
        ck_assert_msg(failed >= CALLS - 1, "the loss is not told: %s", why);
    free(name);
    program_free(&program);
    return died;
}

/* The decider, who is also the root where root is 0; a leader of the tree of arity 2; a leaf. */
static unsigned victim_of(unsigned size, unsigned which)
{
    return which == 0 ? 0 : which == 1 ? size / 2 : size - 1;
}

START_TEST(test_every_moment)
{
    static const unsigned sizes[] = {2, 3, 5, 8};
    static const char *const moments[] = {"join", "first", "before", "started", "done"};
    unsigned index = 0;
    for (unsigned s = 0; s < 4; s++)
        for (unsigned shape = 0; shape < SHAPES; shape++)
            for (unsigned victim = 0; victim < 3; victim++)
                for (unsigned moment = 0; moment < 5; moment++)
                    for (unsigned manner = 0; manner < MANNERS; manner++) {
                        if (!chosen(++index, 11))
                            continue;
                        death_t death = {operations[_i],
                                         shapes[shape],
                                         moments[moment],
                                         manners[manner],
                                         sizes[s],
                                         index % 2 ? sizes[s] - 1 : 0,
                                         victim_of(sizes[s], victim)};
                        run_death(&death);
                    }
}
END_TEST

/*
 * The victim falls silent at its first, second, third, ... send: between telling one and telling
 * the next, in particular where it is the decider.
 */
START_TEST(test_every_send)
{
    static const char *const kinds[] = {"", "torn", "cold"};
    unsigned index = (unsigned)_i * 1000;
    for (unsigned size = 4; size <= 5; size++)
        for (unsigned shape = 0; shape < 2; shape++)
            for (unsigned victim = 0; victim < 3; victim++)
                for (unsigned kind = 0; kind < 3; kind++) {
                    bool dies = true;
                    for (unsigned send = 1; send <= 20 && dies; send++) {
                        char moment[16];
                        if (!chosen(++index, victim == 0 && kind == 0 ? 2 : 12))
                            continue;
                        snprintf(moment, sizeof moment, "%s%u", kinds[kind], send);
                        death_t death = {operations[_i],
                                         shapes[shape],
                                         moment,
                                         "kill",
                                         size,
                                         victim == 0 && index % 3 == 0 ? size - 1 : 0,
                                         victim_of(size, victim)};
                        dies = run_death(&death);
                    }
                }
}
END_TEST

/* In the middle of a combination: what has been told by then is known, the rest is not. */
START_TEST(test_inside_a_reduction)
{
    static const char *const reducing[] = {"reduce", "allreduce", "scan"};
    for (unsigned shape = 0; shape < SHAPES; shape++)
        for (unsigned victim = 0; victim < 2; victim++) {
            death_t death = {reducing[_i], shapes[shape], "reduce", "kill", 5, 0, victim * 3};
            run_death(&death);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("deaths");
    TCase *tcase = tcase_create("deaths");
    tcase_set_timeout(tcase, full() ? 3000 : 300);
    tcase_add_loop_test(tcase, test_every_moment, 0, OPERATIONS);
    tcase_add_loop_test(tcase, test_every_send, 0, OPERATIONS);
    tcase_add_loop_test(tcase, test_inside_a_reduction, 0, 3);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
