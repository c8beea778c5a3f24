/*
 * Making communicators: names, order of arrival, subsets, ranks that leave at once, and ranks that
 * do not agree.
 */
#include "collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};

static void expect_sum(muster_comm_t *comm)
{
    uint32_t n = muster_comm_size(comm);
    uint64_t mine = muster_comm_rank(comm) + 1, sum = 0;
    muster_call_t call = {.failure = ranks_failure()};
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, &mine, &sum, 1, MUSTER_U64, MUSTER_SUM, &call));
    EXPECT_NUMBER(n * (n + 1) / 2, sum);
}

static muster_status_t create_among(muster_context_t *context, const char *name,
                                    const uint32_t *members, size_t count, muster_comm_t **comm)
{
    muster_comm_options_t options = flat;
    options.timeout = MUSTER_MILLISECONDS(30000);
    options.failure = ranks_failure();
    return muster_comm_create(context, name, members, count, &options, comm);
}

/* C111, C116: whoever comes last, the creator or a member. */
static void any_arrival(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *world = muster_context_world(context);
    for (uint32_t last = 0; last < ranks_size(); last++) {
        muster_comm_t *comm = NULL;
        muster_request_t *request = NULL;
        /* The last one goes on when the others are on their way. */
        EXPECT_STATUS(MUSTER_OK, muster_ibarrier(world, NULL, &request));
        if (ranks_rank() == last)
            EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
        EXPECT_STATUS(MUSTER_OK, create_among(context, "any arrival", NULL, 0, &comm));
        EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
        muster_request_destroy(request);
        expect_sum(comm);
        muster_comm_destroy(comm);
    }
}

/* C112: the name is the library's own copy, also in what is said much later. */
static void own_name(muster_context_t *context, const void *argument)
{
    (void)argument;
    char name[] = "a name that is overwritten";
    muster_comm_t *comm = ranks_comm(context, name, flat);
    memset(name, '?', sizeof name - 1);
    EXPECT(strcmp(muster_comm_name(comm), "a name that is overwritten") == 0, "\"%s\"",
           muster_comm_name(comm));
    muster_call_t call = {.timeout = MUSTER_MILLISECONDS(0), .failure = ranks_failure()};
    if (ranks_rank() == 0) {
        EXPECT_STATUS(MUSTER_TIMED_OUT, muster_barrier(comm, &call));
        ranks_meet(context);
    } else {
        muster_failure_t failure;
        ranks_meet(context);
        call = (muster_call_t){.failure = &failure};
        EXPECT_STATUS(MUSTER_TIMED_OUT, muster_barrier(comm, &call));
        char text[900];
        muster_failure_print(&failure, text, sizeof text);
        EXPECT(strstr(text, "a name that is overwritten") != NULL, "\"%s\"", text);
    }
    muster_comm_destroy(comm);
}

/* C113: two of one name, living at once, are told apart; C209: each counts for itself. */
static void one_name_twice(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *one = ranks_comm(context, "twice", flat);
    muster_comm_t *other = ranks_comm(context, "twice", flat);
    muster_comm_description_t first, second;
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(one, &first));
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(other, &second));
    EXPECT(first.creation != second.creation);
    ranks_expect_same(context, &first.creation, sizeof first.creation, __LINE__);
    for (int i = 0; i < 20; i++) {
        muster_comm_t *now = i % 3 ? one : other, *then = i % 3 ? other : one;
        uint64_t a = 1, b = 1000, sums[2] = {0, 0};
        muster_request_t *requests[2];
        /* Ranks take them in different orders: messages of one never count for the other. */
        muster_comm_t *lead = ranks_rank() % 2 ? now : then, *trail = ranks_rank() % 2 ? then : now;
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(lead, lead == now ? &a : &b, &sums[0], 1,
                                                   MUSTER_U64, MUSTER_SUM, NULL, &requests[0]));
        EXPECT_STATUS(MUSTER_OK, muster_iallreduce(trail, trail == now ? &a : &b, &sums[1], 1,
                                                   MUSTER_U64, MUSTER_SUM, NULL, &requests[1]));
        EXPECT_STATUS(MUSTER_OK, muster_wait_all(requests, 2, MUSTER_NO_DEADLINE));
        EXPECT_NUMBER((lead == now ? 1 : 1000) * ranks_size(), sums[0]);
        EXPECT_NUMBER((trail == now ? 1 : 1000) * ranks_size(), sums[1]);
        muster_request_destroy(requests[0]);
        muster_request_destroy(requests[1]);
    }
    EXPECT_STATUS(MUSTER_OK, muster_barrier(one, NULL));
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(one, &first));
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(other, &second));
    EXPECT_NUMBER(22, first.next_generation); /* C209 */
    EXPECT_NUMBER(21, second.next_generation);
    muster_comm_destroy(one);
    muster_comm_destroy(other);
}

/* C115, case 11: communicators without rank 0 of the world, and in another order. */
static void subsets(muster_context_t *context, const void *argument)
{
    (void)argument;
    static const struct {
        uint32_t members[4];
        size_t count;
    } sets[] = {{{2, 3}, 2}, {{1, 2}, 2}, {{3, 1}, 2}, {{2, 0, 3}, 3}, {{3}, 1}, {{3, 2, 1, 0}, 4}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        uint32_t mine = MUSTER_NO_RANK, highest = 0;
        for (uint32_t j = 0; j < sets[i].count; j++) {
            if (sets[i].members[j] == ranks_rank())
                mine = j;
            highest = sets[i].members[j] > highest ? sets[i].members[j] : highest;
        }
        if (mine == MUSTER_NO_RANK || highest >= ranks_size())
            continue;
        muster_comm_t *comm = NULL;
        EXPECT_STATUS(MUSTER_OK,
                      create_among(context, "subset", sets[i].members, sets[i].count, &comm));
        EXPECT_NUMBER(mine, muster_comm_rank(comm));
        EXPECT_NUMBER(sets[i].count, muster_comm_size(comm));
        expect_sum(comm);
        for (int operation = 0; operation < OPERATION_COUNT; operation++)
            collective_run(comm, &(collective_t){.operation = (operation_t)operation,
                                                 .count = 2,
                                                 .root = (uint32_t)sets[i].count - 1});
        muster_comm_destroy(comm);
    }
    ranks_meet(context);
}

/* C116, case 12: a rank destroys its handle at once after its last call, while others are late. */
static void gone_at_once(muster_context_t *context, const void *argument)
{
    (void)argument;
    for (uint32_t late = 0; late < ranks_size(); late++) {
        muster_comm_t *comm = ranks_comm(context, "gone at once", flat);
        /* The root's part of a local broadcast is done when it has sent. */
        muster_call_t call = {.outcome = MUSTER_OUTCOME_LOCAL, .failure = ranks_failure()};
        uint32_t root = (late + 1) % ranks_size();
        uint64_t value = ranks_rank() == root ? 42 + late : 0;
        if (ranks_rank() == late)
            ranks_meet(context); /* the others have returned and destroyed theirs */
        EXPECT_STATUS(MUSTER_OK, muster_broadcast(comm, &value, 1, MUSTER_U64, root, &call));
        EXPECT_NUMBER(42 + late, value);
        muster_comm_destroy(comm);
        if (ranks_rank() != late)
            ranks_meet(context);
    }
}

/* Case 13: the same name right after destroy, with other members. */
static void name_used_again(muster_context_t *context, const void *argument)
{
    (void)argument;
    uint32_t n = ranks_size(), all[COLLECTIVE_RANKS_MAX];
    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    for (int round = 0; round < 60; round++) {
        size_t left_out = (size_t)round % n; /* everybody but the first so many */
        if (ranks_rank() < left_out)
            continue;
        muster_comm_t *comm = NULL;
        EXPECT_STATUS(MUSTER_OK,
                      create_among(context, "again", all + left_out, n - left_out, &comm));
        expect_sum(comm);
        muster_comm_destroy(comm);
    }
    ranks_meet(context);
}

/* Case 6 without the deaths: overlapping sets, used in both orders. */
static void overlapping(muster_context_t *context, const void *argument)
{
    (void)argument;
    static const uint32_t sets[2][3] = {{0, 1, 2}, {1, 2, 3}};
    uint32_t rank = ranks_rank();
    muster_comm_t *comms[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        if (i == 0 ? rank < 3 : rank > 0)
            EXPECT_STATUS(MUSTER_OK, create_among(context, "overlapping", sets[i], 3, &comms[i]));
    for (int round = 0; round < 50; round++) {
        muster_request_t *requests[2] = {NULL, NULL};
        uint64_t mine = 1, sums[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            int which = (i + (int)rank) % 2;
            if (comms[which])
                EXPECT_STATUS(MUSTER_OK,
                              muster_iallreduce(comms[which], &mine, &sums[which], 1, MUSTER_U64,
                                                MUSTER_SUM, NULL, &requests[which]));
        }
        EXPECT_STATUS(MUSTER_OK, muster_wait_all(requests, 2, MUSTER_NO_DEADLINE));
        for (int i = 0; i < 2; i++) {
            EXPECT(!comms[i] || sums[i] == 3);
            muster_request_destroy(requests[i]);
        }
    }
    muster_comm_destroy(comms[0]);
    muster_comm_destroy(comms[1]);
    ranks_meet(context);
}

static void split_and_duplicate(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *comm = ranks_comm(context, "parent", flat), *same = NULL, *part = NULL;
    uint32_t n = ranks_size(), rank = ranks_rank();
    EXPECT_STATUS(MUSTER_OK, muster_comm_duplicate(comm, NULL, &same));
    EXPECT_NUMBER(rank, muster_comm_rank(same));
    expect_sum(same);
    /* Odd and even, backwards; the last takes part and gets none. */
    muster_optional_t color = rank == n - 1 ? MUSTER_NOT_GIVEN : MUSTER_GIVEN(rank % 2);
    EXPECT_STATUS(MUSTER_OK, muster_comm_split(comm, color, n - rank, NULL, &part));
    if (rank == n - 1) {
        EXPECT(part == NULL);
    } else {
        uint32_t higher = (n - 2 - rank) / 2; /* ranks of this color above, without the last */
        EXPECT_NUMBER(higher, muster_comm_rank(part));
        EXPECT_NUMBER((n - 1 + (rank % 2 == 0)) / 2, muster_comm_size(part));
        expect_sum(part);
    }
    muster_comm_destroy(part);
    muster_comm_destroy(comm);
    expect_sum(same); /* it lives on by itself */
    muster_comm_destroy(same);
}

/* ---- C117: ranks that do not agree ----------------------------------------------------------- */

typedef struct difference {
    const char *field;
    muster_comm_options_t others, odd;
} difference_t;

#define TREE .shape = MUSTER_SHAPE_TREE

static const difference_t differences[] = {
    {"shape", {.shape = MUSTER_SHAPE_FLAT}, {TREE}},
    {"arity", {TREE, .arity = {2, true}}, {TREE, .arity = {3, true}}},
    {"arity", {TREE}, {TREE, .arity = {2, true}}}, /* C106: not given is not the default's number */
    {"threshold", {TREE, .flat_threshold = {0, true}}, {TREE, .flat_threshold = {1, true}}},
    {"threshold", {TREE}, {TREE, .flat_threshold = {16, true}}},
    {"roots", {TREE}, {TREE, .roots = MUSTER_ROOT_ANY}},
    {"generations", {TREE}, {TREE, .generations = MUSTER_GENERATION_COUNTED}},
    {"outcome", {.outcome = MUSTER_OUTCOME_LOCAL}, {.outcome = MUSTER_OUTCOME_UNIFORM}},
    {"settings", {.settings = "reproducible = 1"}, {.settings = NULL}},
    {"settings", {.settings = "cores = 2"}, {.settings = "cores = 3"}},
};

static void expect_disagreement(muster_context_t *context, const char *field, uint32_t odd,
                                const uint32_t *members, size_t count,
                                muster_comm_options_t options)
{
    muster_comm_t *comm = NULL;
    muster_failure_t failure = {0};
    options.failure = &failure;
    options.timeout = MUSTER_MILLISECONDS(30000);
    EXPECT_STATUS(MUSTER_MISMATCH,
                  muster_comm_create(context, "differs", members, count, &options, &comm));
    EXPECT(comm == NULL);
    EXPECT(strcmp(failure.field, field) == 0, "\"%s\" of %s", failure.field, failure.message);
    char who[24];
    snprintf(who, sizeof who, "rank %u", odd);
    EXPECT(strstr(failure.message, who) && strstr(failure.message, "differs"), "\"%s\"",
           failure.message); /* who said what */
    ranks_expect_same_failure(context, &failure, __LINE__);
    ranks_meet(context);
}

static void disagreements(muster_context_t *context, const void *argument)
{
    (void)argument;
    uint32_t n = ranks_size(), rank = ranks_rank();
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        const difference_t *one = &differences[i];
        expect_disagreement(context, one->field, n - 1, NULL, 0,
                            rank == n - 1 ? one->odd : one->others);
        expect_disagreement(context, one->field, 0, NULL, 0, rank == 0 ? one->odd : one->others);
    }
    /* The same ranks in another order. */
    uint32_t members[COLLECTIVE_RANKS_MAX];
    for (uint32_t i = 0; i < n; i++)
        members[i] = i;
    if (rank == n - 1 && n > 2) {
        members[1] = n - 1;
        members[n - 1] = 1;
    }
    if (n > 2)
        expect_disagreement(context, n > 2 ? "rank" : "", n - 1, members, n, flat);
    /* C124: the next creation works, of the same name. */
    muster_comm_t *comm = ranks_comm(context, "differs", flat);
    expect_sum(comm);
    muster_comm_destroy(comm);
}

/* C117: one takes a rank for a member, or the first, that the others do not. */
static void other_members(muster_context_t *context, const void *argument)
{
    (void)argument;
    uint32_t rank = ranks_rank();
    static const uint32_t all[3] = {0, 1, 2}, turned[3] = {1, 0, 2}, without_last[2] = {0, 1};
    const struct {
        const uint32_t *members;
        size_t count;
    } odd[2] = {{without_last, 2}, {turned, 3}};
    for (int i = 0; i < 2; i++) {
        for (uint32_t who = 0; who < 2; who++) {
            muster_comm_t *comm = NULL;
            muster_failure_t failure = {0};
            muster_comm_options_t options = {.failure = &failure,
                                             .timeout = MUSTER_MILLISECONDS(30000)};
            bool odd_here = rank == who;
            int64_t begun = ranks_milliseconds();
            EXPECT_STATUS(MUSTER_MISMATCH,
                          muster_comm_create(context, "members", odd_here ? odd[i].members : all,
                                             odd_here ? odd[i].count : 3, &options, &comm));
            EXPECT(failure.field[0] && comm == NULL, "round %d, odd %u: \"%s\"", i, who,
                   failure.message);
            EXPECT(ranks_milliseconds() - begun < 20000, "not at the deadline");
            ranks_meet(context);
        }
    }
}

/* ---- Settings of one communicator ------------------------------------------------------------ */

/* Messages that this rank sends in one allreduce of so many numbers, checked. */
static uint64_t sent_by_allreduce(muster_comm_t *comm, size_t count)
{
    static _Thread_local uint32_t mine[4096], sums[4096];
    uint32_t n = muster_comm_size(comm);
    muster_traffic_t before = {0}, after = {0};
    muster_call_t call = {.failure = ranks_failure()};
    for (size_t i = 0; i < count; i++)
        mine[i] = (uint32_t)i + muster_comm_rank(comm);
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &before));
    EXPECT_STATUS(MUSTER_OK,
                  muster_allreduce(comm, mine, sums, count, MUSTER_U32, MUSTER_SUM, &call));
    EXPECT_STATUS(MUSTER_OK, muster_comm_traffic(comm, &after));
    for (size_t i = 0; i < count; i++)
        EXPECT_NUMBER(i * n + n * (n - 1) / 2, sums[i]);
    return after.messages_sent - before.messages_sent;
}

/* C605: what a communicator's options set binds it and its duplicates, and nobody else. */
static void own_settings(muster_context_t *context, const void *argument)
{
    (void)argument;
    uint32_t n = ranks_size();
    char text[] = "# for this one\nallreduce_algorithm = 0-1K:direct,ring\n";
    muster_comm_options_t options = {.outcome = MUSTER_OUTCOME_LOCAL, .settings = text};
    muster_comm_t *comm = ranks_comm(context, "own settings", options), *same = NULL, *part = NULL;
    memset(text, '?', sizeof text - 1); /* it was read during the call */
    EXPECT_NUMBER(n - 1, sent_by_allreduce(comm, 8));
    EXPECT_NUMBER(2 * (n - 1), sent_by_allreduce(comm, 4096));
    EXPECT_STATUS(MUSTER_OK, muster_comm_duplicate(comm, NULL, &same));
    EXPECT_NUMBER(2 * (n - 1), sent_by_allreduce(same, 4096));
    options.settings = NULL; /* options that set nothing: the job's again */
    EXPECT_STATUS(MUSTER_OK,
                  muster_comm_split(comm, (muster_optional_t)MUSTER_GIVEN(1), 0, &options, &part));
    muster_comm_destroy(comm);
    options.settings = "allreduce_algorithm = direct";
    muster_comm_t *other = ranks_comm(context, "other settings", options);
    EXPECT_NUMBER(n - 1, sent_by_allreduce(other, 4096));
    EXPECT_NUMBER(2 * (n - 1), sent_by_allreduce(same, 4096));
    sent_by_allreduce(part, 4096);
    muster_comm_destroy(part);
    muster_comm_destroy(same);
    muster_comm_destroy(other);
    ranks_meet(context);
}

/* What rank gives at i: of sizes so different that the order of a sum shows in its bits. */
static float uneven(uint32_t rank, uint32_t i)
{
    return (float)(i % 97 + 1) / 3 * (rank % 3 == 0 ? 1e-4f : rank % 3 == 1 ? 1e7f : -1e3f);
}

/* C420: one communicator alone asks for reproducible sums: folds from rank 0 on, to the bit. */
static void reproducible_sums(muster_context_t *context, const void *argument)
{
    (void)argument;
    enum { LARGEST = 40000 };
    static const uint32_t counts[] = {1, 100, LARGEST};
    float *mine = malloc(LARGEST * sizeof *mine), *sums = malloc(LARGEST * sizeof *sums);
    muster_comm_t *comm = ranks_comm(context, "reproducible",
                                     (muster_comm_options_t){.settings = "reproducible = 1"});
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        muster_call_t call = {.failure = ranks_failure()};
        unsigned differ = 0;
        for (uint32_t i = 0; i < counts[c]; i++)
            mine[i] = uneven(ranks_rank(), i);
        EXPECT_STATUS(MUSTER_OK,
                      muster_allreduce(comm, mine, sums, counts[c], MUSTER_F32, MUSTER_SUM, &call));
        for (uint32_t i = 0; i < counts[c]; i++) {
            float fold = uneven(0, i);
            for (uint32_t rank = 1; rank < ranks_size(); rank++)
                fold += uneven(rank, i);
            differ += memcmp(&fold, &sums[i], sizeof fold) != 0;
        }
        EXPECT_NUMBER(0, differ);
    }
    muster_comm_destroy(comm);
    free(mine);
    free(sums);
    ranks_meet(context);
}

/* C606: a text that is wrong is refused where it is wrong, and before anybody hears of it. */
static void wrong_settings(muster_context_t *context, const void *argument)
{
    (void)argument;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"allgather_radix = 8xx6", "line 1, column 21"},
        {"reproducible = 1\nnothing_such = 1", "line 2, column 1"},
        {"cores", "line 1"},
        {"hosts = 2", "hosts"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        muster_failure_t failure = {0};
        muster_comm_options_t options = {.settings = wrong[i].text, .failure = &failure};
        muster_comm_t *comm = NULL;
        EXPECT_STATUS(MUSTER_INVALID_ARGUMENT,
                      muster_comm_create(context, "wrong", NULL, 0, &options, &comm));
        EXPECT(comm == NULL && strstr(failure.message, "settings") &&
                   strstr(failure.message, wrong[i].message),
               "%zu: \"%s\"", i, failure.message);
        EXPECT_STATUS(MUSTER_INVALID_ARGUMENT,
                      muster_comm_duplicate(muster_context_world(context), &options, &comm));
        EXPECT_STATUS(MUSTER_INVALID_ARGUMENT,
                      muster_comm_split(muster_context_world(context),
                                        (muster_optional_t)MUSTER_GIVEN(1), 0, &options, &comm));
        EXPECT(comm == NULL);
    }
    ranks_meet(context);
}

/* ---- What is said on request ----------------------------------------------------------------- */

typedef struct lines {
    unsigned count, choices, unbound;
    char last[512];
} lines_t;

static void take_line(const char *line, void *argument)
{
    lines_t *lines = argument;
    lines->count++;
    lines->choices += strstr(line, "allreduce on \"logged\"") && strstr(line, "ring");
    lines->unbound += strstr(line, "radix that is set is not used") != NULL;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

/* C608: rank 0 says once what was chosen for a size, and once that a radix is none for the team. */
static void logged(muster_context_t *context, const void *argument)
{
    (void)argument;
    lines_t lines = {0};
    EXPECT_STATUS(MUSTER_OK, muster_context_set_log(context, take_line, &lines));
    muster_comm_options_t options = {
        .settings = "log_choice = 1\nallreduce_algorithm = ring\nallgather_radix = 17x19"};
    muster_comm_t *comm = ranks_comm(context, "logged", options);
    uint32_t mine = 1, all[COLLECTIVE_RANKS_MAX];
    for (int i = 0; i < 3; i++) {
        sent_by_allreduce(comm, 1024);
        EXPECT_STATUS(MUSTER_OK, muster_allgather(comm, &mine, all, 1, MUSTER_U32, NULL));
    }
    bool speaks = ranks_rank() == 0;
    EXPECT_NUMBER(speaks ? 1 : 0, lines.choices);
    EXPECT_NUMBER(speaks ? 1 : 0, lines.unbound);
    EXPECT_NUMBER(speaks ? 3 : 0, lines.count); /* and what allgather runs instead */
    EXPECT_STATUS(MUSTER_OK, muster_context_set_log(context, NULL, NULL));
    muster_comm_destroy(comm);
    ranks_meet(context);
}

#define SMALL (RANKS_SIZE(2) | RANKS_SIZE(3) | RANKS_SIZE(4))

static const ranks_case_t cases[] = {
    {"any arrival", any_arrival, NULL, SMALL | RANKS_SIZE(9), RANKS_SIZE(3)},
    {"own name", own_name, NULL, RANKS_SIZE(2), RANKS_SIZE(2)},
    {"one name twice", one_name_twice, NULL, SMALL, RANKS_SIZE(3)},
    {"subsets", subsets, NULL, RANKS_SIZE(3) | RANKS_SIZE(4), RANKS_SIZE(3) | RANKS_SIZE(4)},
    {"gone at once", gone_at_once, NULL, SMALL, RANKS_SIZE(3) | RANKS_SIZE(4)},
    {"name used again", name_used_again, NULL, SMALL | RANKS_SIZE(7), RANKS_SIZE(3)},
    {"overlapping", overlapping, NULL, RANKS_SIZE(4), RANKS_SIZE(4)},
    {"split and duplicate", split_and_duplicate, NULL, SMALL | RANKS_SIZE(7), RANKS_SIZE(4)},
    {"disagreements", disagreements, NULL, SMALL | RANKS_SIZE(5), RANKS_SIZE(3)},
    {"own settings", own_settings, NULL, SMALL, RANKS_SIZE(3)},
    {"reproducible sums", reproducible_sums, NULL, SMALL | RANKS_SIZE(7), RANKS_SIZE(4)},
    {"logged", logged, NULL, SMALL, RANKS_SIZE(3)},
    {"wrong settings", wrong_settings, NULL, RANKS_SIZE(2), RANKS_SIZE(2)},
    {"other members", other_members, NULL, RANKS_SIZE(3), RANKS_SIZE(3)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
