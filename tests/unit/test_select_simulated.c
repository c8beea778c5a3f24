/*
 * The choice against a simulation of all schedules that come into question, message by message: a
 * rank sends one after the other, takes in what arrives one after the other, and bytes queue on its
 * way out and, between hosts, on its host's link. Team sizes and host maps are none that anything
 * was tuned on.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/select.h"
#include "unit/require.h"
#include "unit/schedule_team.h"

#define RANKS_MAX 64

typedef struct message {
    struct message *next; /* to the same rank */
    uint32_t source;
    const schedule_phase_t *phase; /* of the sender */
    uint64_t arrives;
} message_t;

typedef struct simulation {
    const schedule_team_t *team;
    const select_parameters_t *parameters;
    uint64_t bytes;
    uint64_t now[RANKS_MAX], out[RANKS_MAX], in[RANKS_MAX], link[RANKS_MAX];
    uint32_t phase[RANKS_MAX];
    uint32_t done[RANKS_MAX]; /* sends of the phase, and one when its receives are awaited */
    message_t *inbox[RANKS_MAX];
    message_t *messages;
    size_t used, room;
} simulation_t;

static simulation_t simulation;
static schedule_team_t team;
static select_candidate_t candidates[SELECT_PLANS_MAX];

static uint64_t later(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static uint64_t region_bytes(const schedule_region_t *region, uint32_t pieces)
{
    if (region->buffer == SCHEDULE_NOTHING)
        return 0;
    uint64_t parts = pieces > 1 ? pieces : 1;
    return (schedule_region_blocks(region) * simulation.bytes + parts - 1) / parts;
}

static void simulate_steps(uint32_t rank, const schedule_t *schedule, const schedule_phase_t *phase)
{
    for (uint32_t i = 0; i < phase->step_count; i++) {
        const schedule_step_t *step = &schedule->steps[phase->first_step + i];
        uint64_t byte = step->work == SCHEDULE_COPY ? simulation.parameters->copy
                                                    : simulation.parameters->reduce;
        simulation.now[rank] += region_bytes(&step->from, schedule->pieces) * byte;
    }
}

static void simulate_send(uint32_t rank, const schedule_t *schedule, const schedule_phase_t *phase,
                          const schedule_send_t *send)
{
    const schedule_request_t *request = &simulation.team->request;
    uint32_t host = schedule_host_of(request, rank);
    bool between = schedule_host_of(request, send->peer) != host;
    const select_link_t *link =
        between ? &simulation.parameters->between : &simulation.parameters->inside;
    uint64_t *way = between ? &simulation.link[host] : &simulation.out[rank];
    simulation.now[rank] += link->message;
    *way = later(*way, simulation.now[rank]) +
           region_bytes(&send->region, schedule->pieces) * link->byte;
    REQUIRE(simulation.used < simulation.room);
    message_t *message = &simulation.messages[simulation.used++];
    *message = (message_t){.next = simulation.inbox[send->peer],
                           .source = rank,
                           .phase = phase,
                           .arrives = *way + link->latency};
    simulation.inbox[send->peer] = message;
}

static bool is_one_phase(const schedule_phase_t *one, const schedule_phase_t *other)
{
    return one->group_left == other->group_left && one->group_right == other->group_right &&
           one->slot == other->slot && one->label == other->label && one->round == other->round;
}

static message_t *find_message(uint32_t rank, uint32_t source, const schedule_phase_t *phase)
{
    message_t *message = simulation.inbox[rank];
    while (message && (message->source != source || !is_one_phase(message->phase, phase)))
        message = message->next;
    return message;
}

static int compare_times(const void *one, const void *other)
{
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return left < right ? -1 : left > right;
}

/* False: something has not been sent yet. */
static bool simulate_receives(uint32_t rank, const schedule_t *schedule,
                              const schedule_phase_t *phase)
{
    static uint64_t times[RANKS_MAX * 4];
    uint64_t combined = 0;
    REQUIRE(phase->receive_count <= RANKS_MAX * 4);
    for (uint32_t i = 0; i < phase->receive_count; i++) {
        const schedule_receive_t *receive = &schedule->receives[phase->first_receive + i];
        const message_t *message = find_message(rank, receive->peer, phase);
        if (!message)
            return false;
        times[i] = message->arrives;
        if (receive->action == SCHEDULE_COMBINE)
            combined += region_bytes(&receive->region, schedule->pieces);
    }
    qsort(times, phase->receive_count, sizeof *times, compare_times);
    for (uint32_t i = 0; i < phase->receive_count; i++)
        simulation.in[rank] =
            later(simulation.in[rank] + simulation.parameters->inside.message, times[i]);
    if (phase->receive_count > 0)
        simulation.now[rank] = later(simulation.now[rank], simulation.in[rank]);
    simulation.now[rank] += combined * simulation.parameters->reduce;
    return true;
}

/* A send, or a phase's end, of the rank that is earliest and can go on; false: all have ended. */
static bool simulate_one(void)
{
    bool waiting[RANKS_MAX] = {false};
    for (;;) {
        uint32_t first = RANKS_MAX;
        for (uint32_t rank = 0; rank < simulation.team->request.size; rank++)
            if (!waiting[rank] &&
                simulation.phase[rank] < simulation.team->schedules[rank].phase_count &&
                (first == RANKS_MAX || simulation.now[rank] < simulation.now[first]))
                first = rank;
        if (first == RANKS_MAX)
            return false;
        const schedule_t *schedule = &simulation.team->schedules[first];
        const schedule_phase_t *phase = &schedule->phases[simulation.phase[first]];
        uint32_t done = simulation.done[first];
        if (done == 0)
            simulate_steps(first, schedule, phase);
        if (done < phase->send_count)
            simulate_send(first, schedule, phase, &schedule->sends[phase->first_send + done]);
        if (done <= phase->send_count)
            simulation.done[first]++;
        if (done < phase->send_count || simulate_receives(first, schedule, phase)) {
            if (done >= phase->send_count) {
                simulation.phase[first]++;
                simulation.done[first] = 0;
            }
            return true;
        }
        waiting[first] = true;
    }
}

/* ps until the last rank is done. */
static uint64_t simulate(const select_plan_t *plan, schedule_request_t request,
                         const select_parameters_t *parameters, uint64_t bytes)
{
    message_t *messages = simulation.messages;
    size_t room = simulation.room, sends = 0;
    select_apply(plan, &request);
    schedule_team_build(&team, schedule_family_builder(plan->family), request);
    for (uint32_t rank = 0; rank < request.size; rank++)
        sends += team.schedules[rank].send_count;
    if (sends > room) {
        messages = realloc(messages, sends * sizeof *messages);
        room = sends;
        REQUIRE(messages != NULL);
    }
    simulation = (simulation_t){.team = &team,
                                .parameters = parameters,
                                .bytes = bytes,
                                .messages = messages,
                                .room = room};
    while (simulate_one())
        ;
    uint64_t last = 0;
    for (uint32_t rank = 0; rank < request.size; rank++) {
        REQUIRE(simulation.phase[rank] == team.schedules[rank].phase_count, "rank %" PRIu32, rank);
        last = later(last, simulation.now[rank]);
    }
    return last;
}

static const operation_t operations[] = {OPERATION_BARRIER,   OPERATION_BROADCAST,
                                         OPERATION_REDUCE,    OPERATION_ALLREDUCE,
                                         OPERATION_ALLGATHER, OPERATION_ALLTOALL};
/* Of 54 choices each; to be lowered whenever the model gets better. */
static const unsigned missed_most[] = {6, 6, 9, 3, 3, 2};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))

static unsigned rows, missed;
static uint64_t worst; /* percent of the best */

static void one_row(schedule_request_t request, const select_parameters_t *parameters,
                    uint64_t bytes)
{
    uint32_t count = select_candidates(&request, parameters, NULL, bytes, candidates);
    uint64_t best = UINT64_MAX, chosen = 0;
    uint32_t best_at = 0;
    REQUIRE(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time = simulate(&candidates[i].plan, request, parameters, bytes);
        if (i == 0)
            chosen = time;
        if (time < best) {
            best = time;
            best_at = i;
        }
    }
    rows++;
    worst = later(worst, chosen * 100 / best);
    if (chosen * 10 <= best * 11)
        return;
    missed++;
    char names[2][64];
    for (int i = 0; i < 2; i++) {
        text_t text = text_over(names[i], sizeof names[i]);
        select_print(&candidates[i == 0 ? 0 : best_at].plan, &text);
    }
    printf("%s, %" PRIu32 " ranks, %" PRIu32 " hosts, %" PRIu64 " bytes: %s takes %.1f us (%.1f by "
           "the model), %s %.1f (%.1f)\n",
           operation_name((uint8_t)request.operation), request.size,
           request.hosts ? request.hosts->count : 1, bytes, names[0], (double)chosen / 1e6,
           (double)candidates[0].cost / 1e6, names[1], (double)best / 1e6,
           (double)candidates[best_at].cost / 1e6);
}

/*
 * Most choices are within a tenth of the best of all, and none is half as long again. Where they
 * are not, ranks get ahead of each other in the simulation, which rounds of the model do not.
 */
START_TEST(choices_hold_in_simulation)
{
    static const uint32_t sizes[] = {5, 7, 18, 33, 45, 60};
    static const uint64_t bytes[] = {8, 1000, 50000};
    select_parameters_t parameters = select_builtin();
    parameters.measured = true;
    rows = missed = 0;
    worst = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t size = sizes[i];
        uint32_t even[] = {0, size / 3, 2 * (size / 3), size}, uneven[] = {0, size / 2 + 1, size};
        const schedule_hosts_t maps[] = {{.count = 3, .first = even},
                                         {.count = 2, .first = uneven}};
        for (size_t j = 0; j < 3 * sizeof bytes / sizeof *bytes; j++)
            one_row((schedule_request_t){.operation = operations[_i],
                                         .size = size,
                                         .arity = size,
                                         .hosts = j % 3 == 0 ? NULL : &maps[j % 3 - 1],
                                         .commutative = true},
                    &parameters, operations[_i] == OPERATION_BARRIER ? 0 : bytes[j / 3]);
    }
    printf("%s: %u of %u choices within a tenth of the best, the worst takes %" PRIu64 " %%\n",
           operation_name((uint8_t)operations[_i]), rows - missed, rows, worst);
    ck_assert_uint_le(missed, missed_most[_i]);
    ck_assert_uint_lt(worst, 150);
    schedule_team_free(&team);
    free(simulation.messages);
    simulation.messages = NULL;
    simulation.room = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choices, simulated");
    TCase *tests = tcase_create("choices");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, choices_hold_in_simulation, 0, OPERATIONS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
