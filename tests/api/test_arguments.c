/*
 * What is refused to its caller alone, before anybody is met: every argument, in both forms, on
 * every path; and that a refused call harms nobody.
 */
#include "collective.h"

#include <string.h>

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
static const muster_comm_options_t tree = {.shape = MUSTER_SHAPE_TREE,
                                           .arity = {2, true},
                                           .flat_threshold = {0, true},
                                           .generations = MUSTER_GENERATION_COUNTED};
static const muster_comm_options_t fallen = {.shape = MUSTER_SHAPE_TREE,
                                             .arity = {2, true},
                                             .flat_threshold = {100, true},
                                             .generations = MUSTER_GENERATION_COUNTED};

/* Both forms are refused with the status, the failure says so, and no request is made. */
#define REFUSED(expected, name, ...)                                                               \
    do {                                                                                           \
        muster_failure_t said = {0};                                                               \
        call.failure = &said;                                                                      \
        EXPECT_STATUS(expected, muster_##name(comm, __VA_ARGS__, &call));                          \
        EXPECT(said.status == (expected) && said.message[0] != 0, "\"%s\"", said.message);         \
        muster_request_t *none = NULL;                                                             \
        EXPECT_STATUS(expected, muster_i##name(comm, __VA_ARGS__, &call, &none));                  \
        EXPECT(none == NULL);                                                                      \
    } while (0)

/* The text names the argument. */
#define REFUSED_NAMING(word, expected, name, ...)                                                  \
    do {                                                                                           \
        REFUSED(expected, name, __VA_ARGS__);                                                      \
        muster_failure_t said = {0};                                                               \
        call.failure = &said;                                                                      \
        muster_##name(comm, __VA_ARGS__, &call);                                                   \
        EXPECT(strstr(said.message, word) != NULL, "\"%s\" does not name %s", said.message, word); \
    } while (0)

/* C121: each bad argument gets the status that names it. */
static void refuse_buffers(muster_comm_t *comm)
{
    muster_call_t call = {0};
    int32_t one = 1, many[COLLECTIVE_RANKS_MAX] = {0};
    size_t counts[COLLECTIVE_RANKS_MAX];
    for (size_t i = 0; i < COLLECTIVE_RANKS_MAX; i++)
        counts[i] = 1;
    bool root = ranks_rank() == 0;
    REFUSED_NAMING("receive", MUSTER_INVALID_BUFFER, allreduce, &one, NULL, 1, MUSTER_I32,
                   MUSTER_SUM);
    REFUSED_NAMING("send", MUSTER_INVALID_BUFFER, allreduce, NULL, &one, 1, MUSTER_I32, MUSTER_SUM);
    REFUSED_NAMING("buffer", MUSTER_INVALID_BUFFER, broadcast, NULL, 1, MUSTER_I32, 0);
    REFUSED(MUSTER_INVALID_BUFFER, broadcast, MUSTER_IN_PLACE, 1, MUSTER_I32, 0);
    REFUSED(MUSTER_INVALID_BUFFER, allgather, &one, NULL, 1, MUSTER_I32);
    REFUSED(MUSTER_INVALID_BUFFER, allgather, &one, MUSTER_IN_PLACE, 1, MUSTER_I32);
    REFUSED(MUSTER_INVALID_BUFFER, alltoall, NULL, many, 1, MUSTER_I32);
    REFUSED(MUSTER_INVALID_BUFFER, scan, NULL, many, 1, MUSTER_I32, MUSTER_SUM);
    REFUSED(MUSTER_INVALID_BUFFER, exscan, many, NULL, NULL, 1, MUSTER_I32, MUSTER_SUM);
    REFUSED_NAMING("initial", MUSTER_INVALID_BUFFER, exscan, &one, many, MUSTER_IN_PLACE, 1,
                   MUSTER_I32, MUSTER_SUM);
    REFUSED(MUSTER_INVALID_BUFFER, reduce_scatter_block, many, NULL, 1, MUSTER_I32, MUSTER_SUM);
    REFUSED(MUSTER_INVALID_BUFFER, reduce_scatter, NULL, many, counts, MUSTER_I32, MUSTER_SUM);
    REFUSED(MUSTER_INVALID_BUFFER, alltoallv, many, counts, NULL, NULL, counts, NULL, MUSTER_I32);
    REFUSED(MUSTER_INVALID_BUFFER, reduce, NULL, &one, 1, MUSTER_I32, MUSTER_SUM, 0);
    if (root) {
        REFUSED(MUSTER_INVALID_BUFFER, gather, &one, NULL, 1, MUSTER_I32, 0);
        REFUSED(MUSTER_INVALID_BUFFER, scatter, NULL, &one, 1, MUSTER_I32, 0);
        REFUSED_NAMING("counts", MUSTER_INVALID_ARGUMENT, gatherv, &one, 1, many, NULL, NULL,
                       MUSTER_I32, 0);
        REFUSED_NAMING("counts", MUSTER_INVALID_ARGUMENT, scatterv, many, NULL, NULL, &one, 1,
                       MUSTER_I32, 0);
    } else { /* only the root has anything in place */
        REFUSED(MUSTER_INVALID_BUFFER, gather, MUSTER_IN_PLACE, many, 1, MUSTER_I32, 0);
        REFUSED(MUSTER_INVALID_BUFFER, reduce, MUSTER_IN_PLACE, many, 1, MUSTER_I32, MUSTER_SUM, 0);
        REFUSED(MUSTER_INVALID_BUFFER, scatter, NULL, MUSTER_IN_PLACE, 1, MUSTER_I32, 0);
    }
    REFUSED_NAMING("counts", MUSTER_INVALID_ARGUMENT, allgatherv, &one, 1, many, NULL, NULL,
                   MUSTER_I32);
    REFUSED_NAMING("count", MUSTER_INVALID_COUNT, allgatherv, &one, 2, many, counts, NULL,
                   MUSTER_I32);
}

static void refuse_numbers(muster_comm_t *comm, bool hierarchical)
{
    muster_call_t call = {0};
    int32_t one = 1, sum = 0;
    uint32_t n = ranks_size(), rank = ranks_rank();
    REFUSED_NAMING("datatype", MUSTER_INVALID_DATATYPE, broadcast, &one, 1, 0, 0);
    REFUSED_NAMING("datatype", MUSTER_INVALID_DATATYPE, broadcast, &one, 1, MUSTER_USER_DATATYPE(0),
                   0);
    REFUSED_NAMING("datatype", MUSTER_INVALID_DATATYPE, allreduce, &one, &sum, 1,
                   MUSTER_DATATYPE_I32 | 8u << 8, MUSTER_SUM);
    REFUSED(MUSTER_INVALID_DATATYPE, broadcast, &one, 1, MUSTER_DATATYPE_KIND_COUNT | 4u << 8, 0);
    REFUSED_NAMING("op", MUSTER_INVALID_OPERATION, allreduce, &one, &sum, 1, MUSTER_I32,
                   MUSTER_OP_BUILTIN(MUSTER_OP_NONE));
    REFUSED(MUSTER_INVALID_OPERATION, allreduce, &one, &sum, 1, MUSTER_I32,
            MUSTER_OP_BUILTIN(MUSTER_OP_KIND_COUNT));
    REFUSED(MUSTER_INVALID_OPERATION, allreduce, &one, &sum, 1, MUSTER_I32,
            MUSTER_USER_OP(NULL, NULL, true, 1));
    REFUSED_NAMING("count", MUSTER_INVALID_COUNT, broadcast, &one, SIZE_MAX / 2, MUSTER_I32, 0);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, broadcast, &one, 1, MUSTER_I32, n);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, reduce, &one, &sum, 1, MUSTER_I32, MUSTER_SUM,
                   MUSTER_NO_RANK);
    if (hierarchical) /* C122: by default, rank 0 only; also where the tree has fallen back */
        REFUSED_NAMING("root", MUSTER_INVALID_ROOT, broadcast, &one, 1, MUSTER_I32, 1);
    call.rank = MUSTER_GIVEN(rank + 1);
    REFUSED_NAMING("rank", MUSTER_INVALID_RANK, broadcast, &one, 1, MUSTER_I32, 0);
    call.rank = MUSTER_GIVEN((uint64_t)1 << 32 | rank); /* case 27: not cut to 32 bits */
    REFUSED_NAMING("rank", MUSTER_INVALID_RANK, broadcast, &one, 1, MUSTER_I32, 0);
    call.rank = MUSTER_NOT_GIVEN;
    call.outcome = (muster_outcome_t)9;
    REFUSED_NAMING("outcome", MUSTER_INVALID_ARGUMENT, broadcast, &one, 1, MUSTER_I32, 0);
    call.outcome = MUSTER_OUTCOME_DEFAULT;
    call.timeout.kind = 77;
    REFUSED_NAMING("timeout: kind 77 is unknown", MUSTER_INVALID_ARGUMENT, broadcast, &one, 1,
                   MUSTER_I32, 0);
    call.timeout.kind = 0;
    /* C106: 0 is a number like others; not given is something else. */
    call.generation = MUSTER_GIVEN(0);
    REFUSED(MUSTER_INVALID_GENERATION, broadcast, &one, 1, MUSTER_I32, 0);
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_ibarrier(comm, NULL, NULL));
}

/* C121, C122: every operation that has a root, in every form. */
static void refuse_root(muster_comm_t *comm, uint32_t root)
{
    muster_call_t call = {0};
    int32_t one = 1, many[COLLECTIVE_RANKS_MAX] = {0};
    size_t counts[COLLECTIVE_RANKS_MAX];
    for (size_t i = 0; i < COLLECTIVE_RANKS_MAX; i++)
        counts[i] = 1;
    muster_carrier_t rows = muster_carrier_uniform(many, ranks_size(), 1), received = {0};
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, broadcast, &one, 1, MUSTER_I32, root);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, reduce, &one, many, 1, MUSTER_I32, MUSTER_SUM,
                   root);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, gather, &one, many, 1, MUSTER_I32, root);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, gatherv, &one, 1, many, counts, NULL, MUSTER_I32,
                   root);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, scatter, many, &one, 1, MUSTER_I32, root);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, scatterv, many, counts, NULL, &one, 1, MUSTER_I32,
                   root);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, gather_rows, &one, 1, MUSTER_I32, root, &received);
    REFUSED_NAMING("root", MUSTER_INVALID_ROOT, scatter_rows, &rows, MUSTER_I32, root, &received);
    EXPECT(!received.data && !received.offsets);
}

/* The right call, by everybody: nothing of the above has been noticed (C124). */
static void expect_unharmed(muster_comm_t *comm, uint64_t generation)
{
    uint32_t n = ranks_size();
    int32_t mine = (int32_t)ranks_rank() + 1, sum = 0;
    muster_call_t call = {.rank = MUSTER_GIVEN(ranks_rank()), .failure = ranks_failure()};
    muster_comm_description_t description;
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    EXPECT_NUMBER(generation, description.next_generation);
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, &call));
    EXPECT_NUMBER(n * (n + 1) / 2, sum);
    /* Null is good enough where there is nothing. */
    EXPECT_STATUS(MUSTER_OK, muster_broadcast(comm, NULL, 0, MUSTER_I32, 0, NULL));
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, NULL, NULL, 0, MUSTER_I32, MUSTER_SUM, NULL));
}

static void every_argument(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "every argument", *options);
    refuse_buffers(comm);
    refuse_numbers(comm, options->shape == MUSTER_SHAPE_TREE);
    refuse_root(comm, ranks_size());
    refuse_root(comm, MUSTER_NO_RANK);
    if (options->shape == MUSTER_SHAPE_TREE) /* by default, rank 0 only */
        refuse_root(comm, ranks_size() - 1);
    expect_unharmed(comm, 1);
    muster_comm_destroy(comm);
}

/* C122 (+): where any root is allowed, every rooted operation works for every root. */
static void any_root(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_options_t options = tree;
    options.roots = MUSTER_ROOT_ANY;
    muster_comm_t *comm = ranks_comm(context, "any root", options);
    for (uint32_t root = 0; root < ranks_size(); root++)
        for (int operation = 0; operation < OPERATION_COUNT; operation++)
            if (operation_is_rooted((operation_t)operation))
                collective_run(comm, &(collective_t){.operation = (operation_t)operation,
                                                     .root = root,
                                                     .count = 3,
                                                     .salt = root});
    muster_comm_destroy(comm);
}

/* ---- A wrong call and then the right one (case 16) ------------------------------------------- */

/* C124: while the peers are inside, one rank calls wrongly, and then rightly. */
static void wrong_then_right(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *options = argument;
    muster_comm_t *comm = ranks_comm(context, "wrong then right", *options);
    uint32_t n = ranks_size();
    for (uint32_t wrong = 0; wrong < n; wrong++) {
        int32_t mine = (int32_t)ranks_rank() + 1, sum = 0;
        muster_request_t *request = NULL;
        if (ranks_rank() != wrong)
            EXPECT_STATUS(MUSTER_OK, muster_iallreduce(comm, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM,
                                                       NULL, &request));
        ranks_meet(context);
        if (ranks_rank() == wrong) {
            muster_call_t stated = {.rank = MUSTER_GIVEN(n)};
            EXPECT_STATUS(MUSTER_INVALID_BUFFER,
                          muster_allreduce(comm, &mine, NULL, 1, MUSTER_I32, MUSTER_SUM, NULL));
            EXPECT_STATUS(MUSTER_INVALID_OPERATION,
                          muster_allreduce(comm, &mine, &sum, 1, MUSTER_F16, MUSTER_LXOR, NULL));
            EXPECT_STATUS(MUSTER_INVALID_ROOT,
                          muster_broadcast(comm, &mine, 1, MUSTER_I32, n + 7, NULL));
            EXPECT_STATUS(MUSTER_INVALID_RANK, muster_barrier(comm, &stated));
            ranks_meet(context);
            EXPECT_STATUS(MUSTER_OK,
                          muster_allreduce(comm, &mine, &sum, 1, MUSTER_I32, MUSTER_SUM, NULL));
        } else {
            EXPECT_STATUS(MUSTER_IN_PROGRESS,
                          muster_test(request)); /* as if it had not been made */
            ranks_meet(context);
            EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
            muster_request_destroy(request);
        }
        EXPECT_NUMBER(n * (n + 1) / 2, sum);
    }
    muster_comm_destroy(comm);
}

/* ---- Handles and creation -------------------------------------------------------------------- */

static void bad_handles(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *destroyed = ranks_comm(context, "destroyed", flat);
    muster_comm_description_t description;
    muster_traffic_t traffic;
    muster_request_t *request = NULL;
    muster_comm_t *other = NULL;
    int32_t one = 1;
    muster_comm_destroy(destroyed);
    muster_comm_destroy(NULL);
    muster_comm_t *const comms[2] = {destroyed, NULL};
    for (int i = 0; i < 2; i++) { /* C121: invalid or destroyed */
        muster_comm_t *comm = comms[i];
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_barrier(comm, NULL));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_ibarrier(comm, NULL, &request));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_broadcast(comm, &one, 1, MUSTER_I32, 0, NULL));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_comm_describe(comm, &description));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_comm_traffic(comm, &traffic));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_comm_duplicate(comm, NULL, &other));
        EXPECT_STATUS(MUSTER_INVALID_HANDLE,
                      muster_comm_split(comm, MUSTER_GIVEN(0), 0, NULL, &other));
        EXPECT_NUMBER(MUSTER_NO_RANK, muster_comm_rank(comm));
        EXPECT_NUMBER(0, muster_comm_size(comm));
        EXPECT(muster_comm_name(comm)[0] == 0);
    }
    EXPECT(request == NULL && other == NULL);
    EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_test(NULL));
    EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_wait(NULL, MUSTER_NO_DEADLINE));
    EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_cancel(NULL));
    EXPECT(muster_request_failure(NULL) == NULL);
    muster_request_destroy(NULL);
    EXPECT_STATUS(MUSTER_OK, muster_wait_all(NULL, 0, MUSTER_NO_DEADLINE));
    size_t index = 7;
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_wait_any(NULL, 0, MUSTER_NO_DEADLINE, &index));
    EXPECT_NUMBER(7, index);
    EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_progress(NULL));
    muster_comm_destroy(muster_context_world(context)); /* the context's own: nothing happens */
    ranks_meet(context);
}

static void refuse_creation(muster_context_t *context, const char *name, const uint32_t *members,
                            size_t count, muster_comm_options_t options, muster_status_t expected)
{
    muster_comm_t *comm = NULL;
    muster_failure_t failure = {0};
    options.failure = &failure;
    EXPECT_STATUS(expected, muster_comm_create(context, name, members, count, &options, &comm));
    EXPECT(comm == NULL && failure.status == expected && failure.message[0], "\"%s\"",
           failure.message);
}

static void bad_creations(muster_context_t *context, const void *argument)
{
    (void)argument;
    uint32_t n = ranks_size(), rank = ranks_rank();
    char longest[MUSTER_NAME_MAX + 2];
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = 0;
    muster_comm_options_t none = {0};
    uint32_t beyond[2] = {rank, n}, twice[2] = {rank, rank}, others[1] = {(rank + 1) % n};
    refuse_creation(context, NULL, NULL, 0, none, MUSTER_INVALID_NAME);
    refuse_creation(context, "", NULL, 0, none, MUSTER_INVALID_NAME);
    refuse_creation(context, longest, NULL, 0, none, MUSTER_INVALID_NAME);
    refuse_creation(context, "x", beyond, 2, none, MUSTER_INVALID_RANK); /* C121: rank >= size */
    refuse_creation(context, "x", twice, 2, none, MUSTER_INVALID_RANK);
    refuse_creation(context, "x", others, 1, none, MUSTER_INVALID_RANK);
    /* Counts of which nothing may be copied: the array is not as long. */
    refuse_creation(context, "x", others, (size_t)n + 1, none, MUSTER_INVALID_RANK);
    refuse_creation(context, "x", others, ((size_t)1 << 32) + n, none, MUSTER_INVALID_RANK);
    refuse_creation(context, "x", others, ((size_t)1 << 62) + 1, none, MUSTER_INVALID_RANK);
    refuse_creation(context, "x", others, 0, none, MUSTER_INVALID_ARGUMENT);
    refuse_creation(context, "x", NULL, 2, none, MUSTER_INVALID_ARGUMENT);
    for (uint64_t arity = 0; arity < 2; arity++) { /* C123, C106: 0 is not "not given" */
        muster_comm_options_t options = {.shape = MUSTER_SHAPE_TREE, .arity = MUSTER_GIVEN(arity)};
        refuse_creation(context, "x", NULL, 0, options, MUSTER_INVALID_ARITY);
        options.shape = MUSTER_SHAPE_FLAT;
        refuse_creation(context, "x", NULL, 0, options, MUSTER_INVALID_ARITY);
    }
    muster_comm_options_t options = {.shape = (muster_shape_t)17};
    refuse_creation(context, "x", NULL, 0, options, MUSTER_INVALID_ARGUMENT);
    options = (muster_comm_options_t){.generations = (muster_generation_rule_t)2};
    refuse_creation(context, "x", NULL, 0, options, MUSTER_INVALID_ARGUMENT);
    options = (muster_comm_options_t){.timeout = {.kind = 3}};
    refuse_creation(context, "x", NULL, 0, options, MUSTER_INVALID_ARGUMENT);
    options = (muster_comm_options_t){.flat_threshold = MUSTER_GIVEN((uint64_t)1 << 32)};
    refuse_creation(context, "x", NULL, 0, options, MUSTER_INVALID_ARGUMENT);
    EXPECT_STATUS(MUSTER_INVALID_HANDLE, muster_comm_create(NULL, "x", NULL, 0, NULL, NULL));
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_comm_create(context, "x", NULL, 0, NULL, NULL));
    /* C124: the right one can be made next, of the same name. */
    muster_comm_destroy(ranks_comm(context, "x", flat));
}

/* C123, C121: derived communicators are checked as created ones are, before anybody is met. */
static void bad_derivations(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *world = muster_context_world(context), *comm = NULL;
    muster_comm_description_t before, after;
    muster_failure_t failure;
    const struct {
        muster_comm_options_t options;
        muster_status_t status;
    } bad[] = {
        {{.shape = MUSTER_SHAPE_TREE, .arity = MUSTER_GIVEN(0)}, MUSTER_INVALID_ARITY},
        {{.shape = MUSTER_SHAPE_TREE, .arity = MUSTER_GIVEN(1)}, MUSTER_INVALID_ARITY},
        {{.arity = MUSTER_GIVEN(1)}, MUSTER_INVALID_ARITY},
        {{.shape = (muster_shape_t)17}, MUSTER_INVALID_ARGUMENT},
        {{.roots = (muster_root_rule_t)2}, MUSTER_INVALID_ARGUMENT},
        {{.timeout = {.kind = 77}}, MUSTER_INVALID_ARGUMENT},
    };
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(world, &before));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        muster_comm_options_t options = bad[i].options;
        options.failure = &failure;
        failure = (muster_failure_t){0};
        EXPECT_STATUS(bad[i].status, muster_comm_duplicate(world, &options, &comm));
        EXPECT(comm == NULL && failure.status == bad[i].status && failure.message[0]);
        failure = (muster_failure_t){0};
        EXPECT_STATUS(bad[i].status, muster_comm_split(world, MUSTER_GIVEN(0), 0, &options, &comm));
        EXPECT(comm == NULL && failure.status == bad[i].status && failure.message[0]);
    }
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(world, &after));
    EXPECT_NUMBER(before.next_generation, after.next_generation);
    ranks_meet(context);
}

/* C106: a default is not the number 0, nor any other. */
static void not_given(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_description_t description;
    muster_comm_options_t options = {.shape = MUSTER_SHAPE_TREE};
    muster_comm_t *comm = ranks_comm(context, "defaults", options);
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    EXPECT_NUMBER(16, description.flat_threshold); /* C311 */
    /* C311: strict: 15 is flat, 16 is a tree, of arity 2 by default */
    EXPECT_NUMBER(ranks_size() < 16 ? MUSTER_SHAPE_FLAT : MUSTER_SHAPE_TREE, description.shape);
    EXPECT_NUMBER(ranks_size() < 16 ? ranks_size() : 2, description.arity);
    muster_comm_destroy(comm);
    options.flat_threshold = MUSTER_GIVEN(0);
    comm = ranks_comm(context, "no fallback", options);
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    EXPECT_NUMBER(0, description.flat_threshold);
    EXPECT_NUMBER(ranks_size() > 2 ? MUSTER_SHAPE_TREE : MUSTER_SHAPE_FLAT, description.shape);
    muster_comm_destroy(comm);
    options.arity = MUSTER_GIVEN((uint64_t)1 << 32 | 2); /* case 27 */
    comm = ranks_comm(context, "wide", options);
    EXPECT_STATUS(MUSTER_OK, muster_comm_describe(comm, &description));
    EXPECT_NUMBER(MUSTER_SHAPE_FLAT, description.shape); /* C311: an arity >= n is flat */
    muster_comm_destroy(comm);
}

/* C106, C802: a deadline of 0 ms is one; no deadline is another thing, and so is the default. */
static void no_time_at_all(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *comm = ranks_comm(context, "no time", flat);
    muster_call_t call = {.timeout = MUSTER_MILLISECONDS(0), .failure = ranks_failure()};
    if (ranks_rank() != 0)
        EXPECT_STATUS(MUSTER_TIMED_OUT, muster_barrier(comm, &call));
    ranks_meet(context);
    if (ranks_rank() == 0)
        EXPECT_STATUS(MUSTER_TIMED_OUT,
                      muster_barrier(comm, &(muster_call_t){.timeout = MUSTER_NO_DEADLINE}));
    EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, &(muster_call_t){.timeout = MUSTER_NO_DEADLINE}));
    EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, NULL));
    muster_comm_destroy(comm);
}

/* A kind of timeout that there is not: wherever a timeout is given. */
static void no_such_timeout(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_timeout_t odd = {.milliseconds = 1, .kind = 77};
    muster_request_t *request = NULL;
    muster_failure_t failure = {0};
    muster_context_t *other = NULL;
    size_t index = 7;
    EXPECT_STATUS(MUSTER_OK, muster_ibarrier(muster_context_world(context), NULL, &request));
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_wait(request, odd));
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_wait_any(&request, 1, odd, &index));
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_wait_all(&request, 1, odd));
    EXPECT_NUMBER(7, index);
    EXPECT_STATUS(MUSTER_OK, muster_wait(request, MUSTER_NO_DEADLINE));
    muster_request_destroy(request);
    muster_context_options_t options = {.timeout = odd, .failure = &failure};
    EXPECT_STATUS(MUSTER_INVALID_ARGUMENT, muster_context_create(&options, &other));
    EXPECT(other == NULL && strstr(failure.message, "timeout: kind 77 is unknown"), "\"%s\"",
           failure.message);
}

/*
 * C121: every rank's own part can be told in bytes, what the middle has to hold cannot: there is no
 * memory for it, on any rank, and nobody's buffers are looked at.
 */
static void more_than_bytes(muster_context_t *context, const void *argument)
{
    muster_comm_t *comm =
        ranks_comm(context, "more than bytes", *(const muster_comm_options_t *)argument);
    size_t most = SIZE_MAX / ranks_size();
    uint8_t one = 0, other = 0;
    muster_call_t call = {.failure = ranks_failure()};
    if (ranks_rank() != 0)
        ranks_meet(context);
    EXPECT_STATUS(MUSTER_NO_MEMORY, muster_alltoall(comm, &one, &other, most, MUSTER_U8, &call));
    if (ranks_rank() == 0)
        ranks_meet(context);
    EXPECT_STATUS(MUSTER_OK, muster_barrier(comm, NULL));
    muster_comm_destroy(comm);
}

static const ranks_case_t cases[] = {
    {"every argument, flat", every_argument, &flat, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(2)},
    {"every argument, tree", every_argument, &tree, RANKS_SIZE(3) | RANKS_SIZE(5), RANKS_SIZE(3)},
    {"every argument, fallen back", every_argument, &fallen, RANKS_SIZE(3), RANKS_SIZE(3)},
    {"any root", any_root, NULL, RANKS_UP_TO(9), RANKS_SIZE(5)},
    {"wrong then right, flat", wrong_then_right, &flat, RANKS_SIZE(2) | RANKS_SIZE(4),
     RANKS_SIZE(3)},
    {"wrong then right, tree", wrong_then_right, &tree, RANKS_SIZE(5) | RANKS_SIZE(8),
     RANKS_SIZE(5)},
    {"bad handles", bad_handles, NULL, RANKS_SIZE(2), RANKS_SIZE(2)},
    {"bad creations", bad_creations, NULL, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(3)},
    {"bad derivations", bad_derivations, NULL, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(3)},
    {"not given", not_given, NULL, RANKS_SIZE(2) | RANKS_SIZE(3) | RANKS_SIZE(15) | RANKS_SIZE(16),
     RANKS_SIZE(3)},
    {"no such timeout", no_such_timeout, NULL, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_NEVER},
    {"more than bytes", more_than_bytes, &flat, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(2)},
    {"no time at all", no_time_at_all, NULL, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(3)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
