/*
 * Test bodies that run over logical ranks and over real processes (C103): one executable, one list
 * of cases. For every size a job is started, of threads of this process (muster_local_create) or of
 * processes (muster run), and its ranks do all cases of that size one after the other.
 *
 *     program [threads | processes] [CASE [SIZE]]
 *
 * A check that does not hold prints rank, size, case and line, and makes the exit code nonzero; the
 * body goes on, since its peers are waiting for it. No job outlives its limit.
 */
#ifndef MUSTER_TESTS_API_RANKS_H
#define MUSTER_TESTS_API_RANKS_H

#include <muster.h>

/* Sizes as a set: bit n. */
typedef uint64_t ranks_sizes_t;
#define RANKS_SIZE(n) ((ranks_sizes_t)1 << (n))
#define RANKS_UP_TO(n) ((RANKS_SIZE(n) << 1) - 2)
#define RANKS_NEVER ((ranks_sizes_t)0)

typedef struct ranks_case {
    const char *name;
    void (*body)(muster_context_t *context, const void *argument);
    const void *argument;
    ranks_sizes_t threads, processes;
} ranks_case_t;

#define RANKS_CASES_MAX 64

/* The test's main. */
int ranks_main(int count, char **arguments, const ranks_case_t *cases, size_t case_count);

/* ---- For bodies, on the rank's own thread ---------------------------------------------------- */

uint32_t ranks_rank(void);
uint32_t ranks_size(void);
bool ranks_are_processes(void);
/* Instrumented by a sanitizer, or the like: products are thinned more. */
bool ranks_are_slow(void);
/* The rank's own record, for muster_call_t::failure and the options. */
muster_failure_t *ranks_failure(void);

#define EXPECT(holds, ...)                                                                         \
    ((holds) ? (void)0 : ranks_fail(__FILE__, __LINE__, #holds, " " __VA_ARGS__))
#define EXPECT_STATUS(expected, actual)                                                            \
    ranks_expect_status(__FILE__, __LINE__, #actual, (expected), (actual))
#define EXPECT_NUMBER(expected, actual)                                                            \
    ranks_expect_number(__FILE__, __LINE__, #actual, (uint64_t)(expected), (uint64_t)(actual))

void ranks_fail(const char *file, int line, const char *expression, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Where it is another, the rank's failure record is printed with it. */
void ranks_expect_status(const char *file, int line, const char *expression,
                         muster_status_t expected, muster_status_t actual);
void ranks_expect_number(const char *file, int line, const char *expression, uint64_t expected,
                         uint64_t actual);

/* Creates a communicator of all ranks, or ends the program. A deadline is set where none is. */
muster_comm_t *ranks_comm(muster_context_t *context, const char *name,
                          muster_comm_options_t options);

/* All ranks meet, on the world communicator: what one did before, the others see after. */
void ranks_meet(muster_context_t *context);
/* All ranks have the same bytes here: compared by number, on the world communicator. */
void ranks_expect_same(muster_context_t *context, const void *bytes, size_t length, int line);
/* Every rank has the same failure, in every field. */
void ranks_expect_same_failure(muster_context_t *context, const muster_failure_t *failure,
                               int line);

/* A number from a seed and its place: the same for the same arguments everywhere. */
uint64_t ranks_mix(uint64_t seed, uint64_t place);

int64_t ranks_milliseconds(void); /* monotonic */

#endif
