/*
 * Elements: every datatype under every reduction, floating point on every path, and counts and
 * displacements beyond 32 bits.
 */
#include "collective.h"
#include "reduce/reduce.h"

#include <string.h>
#include <sys/mman.h>

/* ---- Every datatype -------------------------------------------------------------------------- */

#define BIT(op) (1u << MUSTER_OP_##op)
#define ARITHMETIC (BIT(SUM) | BIT(PROD) | BIT(MIN) | BIT(MAX))
#define BITWISE (BIT(BAND) | BIT(BOR) | BIT(BXOR))
#define LOGICAL (BIT(LAND) | BIT(LOR) | BIT(LXOR))
#define LOCATING (BIT(MINLOC) | BIT(MAXLOC))

/* C417: what makes sense. */
static unsigned sense_of(muster_datatype_kind_t kind)
{
    switch (kind) {
    case MUSTER_DATATYPE_F32:
    case MUSTER_DATATYPE_F64:
    case MUSTER_DATATYPE_F16:
    case MUSTER_DATATYPE_BF16:
        return ARITHMETIC;
    case MUSTER_DATATYPE_C32:
    case MUSTER_DATATYPE_C64:
        return BIT(SUM) | BIT(PROD);
    case MUSTER_DATATYPE_BOOL:
        return LOGICAL;
    case MUSTER_DATATYPE_BYTE:
        return BITWISE;
    case MUSTER_DATATYPE_I32_I32:
    case MUSTER_DATATYPE_I64_I32:
    case MUSTER_DATATYPE_F32_I32:
    case MUSTER_DATATYPE_F64_I32:
        return LOCATING;
    case MUSTER_DATATYPE_USER:
        return 0;
    default:
        return ARITHMETIC | BITWISE | LOGICAL;
    }
}

#define ELEMENT_MAX 16
#define ELEMENTS 7

/* One element of a rank: numbers whose sums and products are exact in every floating type. */
static void element_fill(muster_datatype_kind_t kind, uint32_t rank, size_t index, uint8_t *bytes)
{
    static const uint16_t halves[4] = {0x3c00, 0x4000, 0x4400, 0xbc00};  /* 1 2 4 -1 */
    static const uint16_t bhalves[4] = {0x3f80, 0x4000, 0x4080, 0xbf80}; /* the same */
    static const double numbers[4] = {1, 2, 4, -1};
    unsigned which = (rank + (unsigned)index) % 4;
    double number = numbers[which];
    float single = (float)number;
    int32_t place = (int32_t)rank;
    uint64_t bits = ranks_mix(index, rank); /* integers: whatever, so that they wrap (case 26) */
    memset(bytes, 0, ELEMENT_MAX);
    switch (kind) {
    case MUSTER_DATATYPE_F16:
        memcpy(bytes, &halves[which], 2);
        break;
    case MUSTER_DATATYPE_BF16:
        memcpy(bytes, &bhalves[which], 2);
        break;
    case MUSTER_DATATYPE_F32:
    case MUSTER_DATATYPE_C32:
        memcpy(bytes, &single, 4);
        memcpy(bytes + 4, &single, 4);
        break;
    case MUSTER_DATATYPE_F64:
    case MUSTER_DATATYPE_C64:
        memcpy(bytes, &number, 8);
        memcpy(bytes + 8, &number, 8);
        break;
    case MUSTER_DATATYPE_BOOL:
        bytes[0] = bits & 1;
        break;
    case MUSTER_DATATYPE_F32_I32:
        memcpy(bytes, &single, 4);
        memcpy(bytes + 4, &place, 4);
        break;
    case MUSTER_DATATYPE_F64_I32:
        memcpy(bytes, &number, 8);
        memcpy(bytes + 8, &place, 4);
        break;
    case MUSTER_DATATYPE_I32_I32:
        memcpy(bytes, &(int32_t){(int32_t)number}, 4);
        memcpy(bytes + 4, &place, 4);
        break;
    case MUSTER_DATATYPE_I64_I32:
        memcpy(bytes, &(int64_t){(int64_t)number}, 8);
        memcpy(bytes + 8, &place, 4);
        break;
    default:
        memcpy(bytes, &bits, 8);
    }
}

static void fill(muster_datatype_kind_t kind, size_t size, uint32_t rank, uint8_t *bytes)
{
    uint8_t element[ELEMENT_MAX];
    for (size_t i = 0; i < ELEMENTS; i++) {
        element_fill(kind, rank, i, element);
        memcpy(bytes + i * size, element, size);
    }
}

/* C417, C121: refused before anybody is met, by every operation that reduces. */
static void expect_no_sense(muster_comm_t *comm, const void *mine, void *result,
                            muster_datatype_t datatype, muster_op_t op)
{
    size_t counts[COLLECTIVE_RANKS_MAX] = {0};
    counts[0] = 1;
#define REFUSED(call) EXPECT_STATUS(MUSTER_INVALID_OPERATION, call)
    REFUSED(muster_reduce(comm, mine, result, 1, datatype, op, 0, NULL));
    REFUSED(muster_reduce_scatter(comm, mine, result, counts, datatype, op, NULL));
    REFUSED(muster_reduce_scatter_block(comm, mine, result, 1, datatype, op, NULL));
    REFUSED(muster_scan(comm, mine, result, 1, datatype, op, NULL));
    REFUSED(muster_exscan(comm, mine, result, NULL, 1, datatype, op, NULL));
#undef REFUSED
}

static void one_pair(muster_comm_t *comm, muster_datatype_t datatype, muster_op_kind_t kind)
{
    _Alignas(16) uint8_t mine[ELEMENTS * ELEMENT_MAX], result[ELEMENTS * ELEMENT_MAX];
    _Alignas(16) uint8_t expected[ELEMENTS * ELEMENT_MAX], other[ELEMENTS * ELEMENT_MAX];
    muster_datatype_kind_t type = (muster_datatype_kind_t)(datatype & 0xff);
    muster_op_t op = MUSTER_OP_BUILTIN(kind);
    size_t size = muster_datatype_size(datatype);
    muster_call_t call = {.failure = ranks_failure()};
    muster_request_t *request = NULL;
    fill(type, size, ranks_rank(), mine);
    if (!(sense_of(type) >> kind & 1)) {
        /* C417, C121: refused before anybody is met, in both forms */
        EXPECT_STATUS(MUSTER_INVALID_OPERATION,
                      muster_allreduce(comm, mine, result, ELEMENTS, datatype, op, &call));
        EXPECT_STATUS(MUSTER_INVALID_OPERATION, muster_iallreduce(comm, mine, result, ELEMENTS,
                                                                  datatype, op, &call, &request));
        EXPECT(request == NULL);
        expect_no_sense(comm, mine, result, datatype, op);
        return;
    }
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, mine, result, ELEMENTS, datatype, op, &call));
    fill(type, size, 0, expected);
    for (uint32_t rank = 1; rank < ranks_size(); rank++) {
        fill(type, size, rank, other);
        reduce_apply(&op, datatype, expected, other, expected, ELEMENTS);
    }
    /* C417; C420: exact results are bit-equal */
    EXPECT(memcmp(result, expected, ELEMENTS * size) == 0, "datatype %s, operation %d",
           muster_datatype_name(datatype), (int)kind);
}

static void every_datatype(muster_context_t *context, const void *argument)
{
    static const muster_datatype_t datatypes[] = {
#define X(name, size, text) MUSTER_##name,
        MUSTER_DATATYPE_LIST(X)
#undef X
            MUSTER_USER_DATATYPE(12),
    };
    (void)argument;
    muster_comm_t *comm = ranks_comm(context, "every datatype", (muster_comm_options_t){0});
    for (size_t i = 0; i < sizeof datatypes / sizeof datatypes[0]; i++)
        for (int kind = MUSTER_OP_NONE + 1; kind < MUSTER_OP_USER; kind++)
            one_pair(comm, datatypes[i], (muster_op_kind_t)kind);
    muster_comm_destroy(comm);
}

/* C417: elements of any size, which nobody splits: a size that is no power of anything. */
static void odd_elements(muster_context_t *context, const void *argument)
{
    static const size_t sizes[] = {1, 3, 7, 1021, 5003};
    (void)argument;
    uint32_t n = ranks_size(), rank = ranks_rank();
    muster_comm_t *comm = ranks_comm(context, "odd elements", (muster_comm_options_t){0});
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        guarded_t mine = guarded_take(2 * size, true), all = guarded_take(2 * n * size, true);
        memset(mine.bytes, (int)rank + 1, 2 * size);
        EXPECT_STATUS(MUSTER_OK, muster_allgather(comm, mine.bytes, all.bytes, 2,
                                                  MUSTER_USER_DATATYPE(size), NULL));
        for (size_t byte = 0; byte < 2 * n * size; byte++)
            if (all.bytes[byte] != byte / (2 * size) + 1) {
                EXPECT(all.bytes[byte] == byte / (2 * size) + 1, "size %zu, byte %zu", size, byte);
                break;
            }
        EXPECT(guarded_give(&mine) && guarded_give(&all));
    }
    muster_comm_destroy(comm);
}

/* ---- Floating point -------------------------------------------------------------------------- */

/* C420, case 23: whatever the order on this path, every rank has the same bytes. */
static void floats_agree(muster_context_t *context, const void *argument)
{
    static const double numbers[3] = {1e16, 1, -1e16};
    static const muster_comm_options_t shapes[] = {
        {.shape = MUSTER_SHAPE_FLAT},
        {.shape = MUSTER_SHAPE_TREE, .arity = {2, true}, .flat_threshold = {0, true}},
        {.shape = MUSTER_SHAPE_TREE, .arity = {3, true}, .flat_threshold = {0, true}},
        {.shape = MUSTER_SHAPE_AUTO},
    };
    (void)argument;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        muster_comm_options_t options = shapes[i];
        options.generations = MUSTER_GENERATION_COUNTED;
        muster_comm_t *comm = ranks_comm(context, "floats", options);
        for (size_t count = 1; count <= 3000; count += 2999) {
            double mine[3000], sum[3000];
            for (size_t j = 0; j < count; j++)
                mine[j] = numbers[(ranks_rank() + j) % 3] * (double)(j + 1);
            EXPECT_STATUS(MUSTER_OK,
                          muster_allreduce(comm, mine, sum, count, MUSTER_F64, MUSTER_SUM, NULL));
            ranks_expect_same(context, sum, count * sizeof *sum, __LINE__);
            /* Of equal zeros and of two NaNs, too, everybody has the same one. */
            static const uint64_t nans[3] = {UINT64_C(0x7ff8000000000001),
                                             UINT64_C(0xfff8000000000002),
                                             UINT64_C(0x7ff8000000000003)};
            for (size_t j = 0; j < count; j++) {
                mine[j] = (ranks_rank() + j) % 2 ? 0.0 : -0.0;
                if (j % 4 > 1)
                    memcpy(&mine[j], &nans[ranks_rank() % 3], sizeof mine[j]);
            }
            for (int kind = MUSTER_OP_SUM; kind <= MUSTER_OP_MAX; kind++) {
                muster_op_t op = MUSTER_OP_BUILTIN((muster_op_kind_t)kind);
                EXPECT_STATUS(MUSTER_OK,
                              muster_allreduce(comm, mine, sum, count, MUSTER_F64, op, NULL));
                ranks_expect_same(context, sum, count * sizeof *sum, __LINE__);
            }
        }
        muster_comm_destroy(comm);
    }
}

/* ---- Beyond 32 bits -------------------------------------------------------------------------- */

#define FAR_BYTES ((size_t)20 << 30)
#define FAR_STEP (((size_t)9 << 29) / 4) /* elements: 4.5 GiB and less, never a power of two */

static uint32_t *far_map(void)
{
    void *bytes = mmap(NULL, FAR_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT(bytes != MAP_FAILED, "no address space for a sparse mapping");
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* C419, cases 25, 27: rows that lie gigabytes apart, over every path. */
static void far_rows(muster_context_t *context, const void *argument)
{
    const muster_comm_options_t *shape = argument;
    muster_comm_t *comm = ranks_comm(context, "far", *shape);
    uint32_t n = ranks_size(), rank = ranks_rank(), *space = NULL;
    size_t counts[COLLECTIVE_RANKS_MAX], places[COLLECTIVE_RANKS_MAX];
    for (uint32_t i = 0; i < n; i++) {
        counts[i] = 2;
        places[i] = (n - 1 - i) * FAR_STEP + 3; /* beyond 2^32 bytes, and backwards */
    }
    uint32_t mine[2] = {rank * 10, rank * 10 + 1};
    if (rank == 0)
        space = far_map();
    EXPECT_STATUS(MUSTER_OK,
                  muster_gatherv(comm, mine, 2, space, counts, places, MUSTER_U32, 0, NULL));
    for (uint32_t i = 0; space && i < n; i++)
        EXPECT(space[places[i]] == i * 10 && space[places[i] + 1] == i * 10 + 1, "row %u", i);
    uint32_t back[2] = {0, 0};
    EXPECT_STATUS(MUSTER_OK,
                  muster_scatterv(comm, space, counts, places, back, 2, MUSTER_U32, 0, NULL));
    EXPECT(back[0] == mine[0] && back[1] == mine[1], "%u %u", back[0], back[1]);
    if (!space)
        space = far_map();
    for (uint32_t i = 0; space && i < n; i++)
        space[places[i]] = space[places[i] + 1] = rank * 100 + i;
    EXPECT_STATUS(MUSTER_OK, muster_alltoallv(comm, MUSTER_IN_PLACE, NULL, NULL, space, counts,
                                              places, MUSTER_U32, NULL));
    for (uint32_t i = 0; space && i < n; i++)
        EXPECT_NUMBER(i * 100 + rank, space[places[i] + 1]);
    EXPECT_STATUS(MUSTER_OK,
                  muster_allgatherv(comm, mine, 2, space, counts, places, MUSTER_U32, NULL));
    for (uint32_t i = 0; space && i < n; i++)
        EXPECT_NUMBER(i * 10 + 1, space[places[i] + 1]);
    if (space)
        munmap(space, FAR_BYTES);
    muster_comm_destroy(comm);
}

/* C419, C121: what does not fit into a size_t is refused to its caller alone. */
static void overflows(muster_context_t *context, const void *argument)
{
    (void)argument;
    muster_comm_t *comm = ranks_comm(context, "overflows", (muster_comm_options_t){0});
    uint64_t word = 1, sum = 0;
    size_t n = ranks_size(), many[COLLECTIVE_RANKS_MAX], far[COLLECTIVE_RANKS_MAX];
    for (size_t i = 0; i < n; i++) {
        many[i] = i == n - 1 ? SIZE_MAX / 8 + 1 : 1;
        far[i] = i == n - 1 ? SIZE_MAX / 8 : i;
    }
    size_t ones[COLLECTIVE_RANKS_MAX];
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
#define REFUSED(call) EXPECT_STATUS(MUSTER_INVALID_COUNT, call)
    REFUSED(muster_allreduce(comm, &word, &sum, SIZE_MAX / 8 + 1, MUSTER_U64, MUSTER_SUM, NULL));
    REFUSED(muster_allgather(comm, &word, &sum, SIZE_MAX / 8 / n + 1, MUSTER_U64, NULL));
    REFUSED(muster_alltoall(comm, &word, &sum, SIZE_MAX / 8 / n + 1, MUSTER_U64, NULL));
    REFUSED(muster_broadcast(comm, &word, SIZE_MAX, MUSTER_U16, 0, NULL));
    REFUSED(muster_broadcast(comm, &word, (size_t)1 << 24, MUSTER_USER_DATATYPE((uint64_t)1 << 40),
                             0, NULL));
    REFUSED(muster_allgatherv(comm, &word, many[ranks_rank()], &sum, many, NULL, MUSTER_U64, NULL));
    REFUSED(muster_alltoallv(comm, &word, ones, NULL, &sum, ones, far, MUSTER_U64, NULL));
    REFUSED(muster_reduce_scatter(comm, &word, &sum, many, MUSTER_U64, MUSTER_SUM, NULL));
#undef REFUSED
    /* C124: nobody has noticed. */
    EXPECT_STATUS(MUSTER_OK, muster_allreduce(comm, &word, &sum, 1, MUSTER_U64, MUSTER_SUM, NULL));
    EXPECT_NUMBER(n, sum);
    muster_comm_destroy(comm);
}

static const muster_comm_options_t flat = {.shape = MUSTER_SHAPE_FLAT};
static const muster_comm_options_t tree = {.shape = MUSTER_SHAPE_TREE,
                                           .arity = {2, true},
                                           .flat_threshold = {0, true},
                                           .generations = MUSTER_GENERATION_COUNTED};
static const muster_comm_options_t automatic = {.shape = MUSTER_SHAPE_AUTO};

static const ranks_case_t cases[] = {
    {"every datatype", every_datatype, NULL, RANKS_UP_TO(3), RANKS_SIZE(3)},
    {"odd elements", odd_elements, NULL, RANKS_SIZE(3) | RANKS_SIZE(5), RANKS_SIZE(3)},
    {"floats agree", floats_agree, NULL, RANKS_UP_TO(9), RANKS_SIZE(3) | RANKS_SIZE(5)},
    {"far rows, flat", far_rows, &flat, RANKS_SIZE(4), RANKS_SIZE(3)},
    {"far rows, tree", far_rows, &tree, RANKS_SIZE(4), RANKS_SIZE(3)},
    {"far rows, auto", far_rows, &automatic, RANKS_SIZE(4), RANKS_SIZE(3)},
    {"overflows", overflows, NULL, RANKS_SIZE(2) | RANKS_SIZE(3), RANKS_SIZE(2)},
};

int main(int count, char **arguments)
{
    return ranks_main(count, arguments, cases, sizeof cases / sizeof cases[0]);
}
