/*
 * C718: the gate against its definition, in every state that can be reached with up to MEMBERS_MAX
 * members, for every event: contribute (also twice, as a clone does), lose, register, the end of
 * the definition, a stranger, ticks, abort, freeze.
 *
 * The model below is the definition: what has happened to each member, in plain words and without
 * bits, and an outcome that is computed anew from that. A state is a gate and its model; it packs
 * into 64 bits, and a set of those that have been seen ends the search.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gate.h"
#include "unit/require.h"

#define MEMBERS_MAX 5
#define DEADLINE 10
#define CULPRIT_NOBODY 7 /* packed */

typedef enum fate { FATE_NONE = 0, FATE_CONTRIBUTED, FATE_LOST } fate_t; /* which came first */

typedef struct model {
    bool named[MEMBERS_MAX];
    fate_t fate[MEMBERS_MAX];
    bool definition_ended;
    bool frozen_open; /* frozen by its caller, before it was over */
    muster_status_t outcome;
    uint32_t culprit;
} model_t;

/* What is the same for all states of one search. */
typedef struct setting {
    uint32_t members;
    gate_policy_t policy;
    bool has_deadline;
} setting_t;

/* ---- The definition -------------------------------------------------------------------------- */

static uint32_t model_count(const model_t *model, const setting_t *setting, fate_t fate)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < setting->members; m++)
        count += model->named[m] && model->fate[m] == fate;
    return count;
}

static uint32_t model_lowest_lost(const model_t *model, const setting_t *setting)
{
    for (uint32_t m = 0; m < setting->members; m++)
        if (model->named[m] && model->fate[m] == FATE_LOST)
            return m;
    return MUSTER_NO_RANK;
}

/* The outcome that the members' fates amount to; IN_PROGRESS: none yet (C701, C703, C708). */
static muster_status_t model_outcome(const model_t *model, const setting_t *setting)
{
    uint32_t lost = model_count(model, setting, FATE_LOST);
    if (!model->definition_ended)
        return MUSTER_IN_PROGRESS;
    if (setting->policy == GATE_FAIL_ON_LOSS && lost > 0)
        return MUSTER_PEER_LOST;
    if (model_count(model, setting, FATE_NONE) > 0)
        return MUSTER_IN_PROGRESS;
    if (lost == 0)
        return MUSTER_OK;
    return model_count(model, setting, FATE_CONTRIBUTED) > 0 ? MUSTER_PARTIAL_SUCCESS
                                                             : MUSTER_LOST_CONNECTION;
}

static gate_answer_t model_settle(model_t *model, const setting_t *setting)
{
    model->outcome = model_outcome(model, setting);
    if (model->outcome == MUSTER_IN_PROGRESS)
        return GATE_WAIT;
    model->culprit = model_lowest_lost(model, setting);
    return GATE_COMPLETE;
}

static gate_answer_t model_fate(model_t *model, const setting_t *setting, uint32_t member,
                                fate_t fate)
{
    bool stranger =
        member >= setting->members || (model->definition_ended && !model->named[member]);
    if (stranger)
        return GATE_REFUSED; /* C706 */
    if (model->fate[member] != FATE_NONE)
        return GATE_DUPLICATE; /* C702, C705 */
    model->fate[member] = fate;
    return model_settle(model, setting);
}

static gate_answer_t model_register(model_t *model, const setting_t *setting, uint32_t member)
{
    if (member == MUSTER_NO_RANK) {
        if (model->definition_ended)
            return GATE_DUPLICATE;
        model->definition_ended = true;
        for (uint32_t m = 0; m < setting->members; m++)
            if (!model->named[m])
                model->fate[m] = FATE_NONE;
        return model_settle(model, setting);
    }
    if (member < setting->members && model->named[member])
        return GATE_DUPLICATE;
    if (member >= setting->members || model->definition_ended)
        return GATE_REFUSED;
    model->named[member] = true;
    return GATE_WAIT;
}

static gate_answer_t model_step(model_t *model, const setting_t *setting, gate_event_t event,
                                int64_t now)
{
    if (model->frozen_open || model->outcome != MUSTER_IN_PROGRESS)
        return GATE_LATE; /* C704 */
    switch (event.kind) {
    case GATE_CONTRIBUTE:
        return model_fate(model, setting, event.member, FATE_CONTRIBUTED);
    case GATE_LOSE:
        return model_fate(model, setting, event.member, FATE_LOST);
    case GATE_REGISTER:
        return model_register(model, setting, event.member);
    case GATE_TICK:
        if (!setting->has_deadline || now < DEADLINE)
            return GATE_WAIT;
        model->outcome = MUSTER_TIMED_OUT;
        return GATE_COMPLETE;
    case GATE_ABORT:
        model->outcome = event.status;
        model->culprit = event.member;
        return GATE_COMPLETE;
    case GATE_FREEZE:
        model->frozen_open = true;
        return GATE_WAIT;
    }
    return GATE_LATE;
}

/* ---- States ---------------------------------------------------------------------------------- */

typedef struct state {
    gate_t gate;
    uint64_t words[GATE_MEMORY_WORDS(MEMBERS_MAX)];
    model_t model;
} state_t;

typedef struct packer {
    uint64_t bits;
    unsigned used;
} packer_t;

static void pack(packer_t *packer, uint64_t value, unsigned width)
{
    REQUIRE(value >> width == 0 && packer->used + width <= 64);
    packer->bits |= value << packer->used;
    packer->used += width;
}

static uint64_t unpack(packer_t *packer, unsigned width)
{
    uint64_t value = packer->bits >> packer->used & ((UINT64_C(1) << width) - 1);
    packer->used += width;
    return value;
}

static uint64_t state_pack(const state_t *state)
{
    packer_t packer = {0, 0};
    for (unsigned set = 0; set < 3; set++)
        pack(&packer, state->words[set], MEMBERS_MAX);
    pack(&packer, state->gate.defined, 1);
    pack(&packer, state->gate.frozen, 1);
    pack(&packer, state->gate.outcome, 6);
    pack(&packer, state->gate.culprit == MUSTER_NO_RANK ? CULPRIT_NOBODY : state->gate.culprit, 3);
    for (unsigned m = 0; m < MEMBERS_MAX; m++) {
        pack(&packer, state->model.named[m], 1);
        pack(&packer, state->model.fate[m], 2);
    }
    pack(&packer, state->model.definition_ended, 1);
    pack(&packer, state->model.frozen_open, 1);
    pack(&packer, state->model.outcome, 6);
    pack(&packer, state->model.culprit == MUSTER_NO_RANK ? CULPRIT_NOBODY : state->model.culprit,
         3);
    return packer.bits;
}

static uint32_t unpack_culprit(packer_t *packer)
{
    uint64_t culprit = unpack(packer, 3);
    return culprit == CULPRIT_NOBODY ? MUSTER_NO_RANK : (uint32_t)culprit;
}

static void state_unpack(state_t *state, const setting_t *setting, uint64_t bits)
{
    packer_t packer = {bits, 0};
    gate_open(&state->gate, state->words, setting->members, false, setting->policy,
              setting->has_deadline ? DEADLINE : GATE_NO_DEADLINE);
    for (unsigned set = 0; set < 3; set++)
        state->words[set] = unpack(&packer, MEMBERS_MAX);
    state->gate.defined = unpack(&packer, 1);
    state->gate.frozen = unpack(&packer, 1);
    state->gate.outcome = (muster_status_t)unpack(&packer, 6);
    state->gate.culprit = unpack_culprit(&packer);
    for (unsigned m = 0; m < MEMBERS_MAX; m++) {
        state->model.named[m] = unpack(&packer, 1);
        state->model.fate[m] = (fate_t)unpack(&packer, 2);
    }
    state->model.definition_ended = unpack(&packer, 1);
    state->model.frozen_open = unpack(&packer, 1);
    state->model.outcome = (muster_status_t)unpack(&packer, 6);
    state->model.culprit = unpack_culprit(&packer);
}

static gate_member_t model_state(const model_t *model, uint32_t member)
{
    if (!model->named[member])
        return GATE_STRANGER;
    return model->fate[member] == FATE_CONTRIBUTED ? GATE_CONTRIBUTED
           : model->fate[member] == FATE_LOST      ? GATE_DEPARTED
                                                   : GATE_AWAITED;
}

/* Everything that can be asked of a gate, against its model. */
static void state_check(const state_t *state, const setting_t *setting)
{
    const gate_t *gate = &state->gate;
    const model_t *model = &state->model;
    bool over = model->outcome != MUSTER_IN_PROGRESS;
    REQUIRE(gate->outcome == model->outcome && gate->culprit == model->culprit);
    REQUIRE(gate->frozen == (over || model->frozen_open));
    REQUIRE(gate->defined == model->definition_ended);
    if (gate->defined) /* nothing is held of strangers */
        REQUIRE(((state->words[1] | state->words[2]) & ~state->words[0]) == 0);
    REQUIRE(gate_is_complete(gate) ==
            (model->definition_ended && model_count(model, setting, FATE_NONE) == 0));
    for (uint32_t from = 0; from <= setting->members; from++) {
        uint32_t awaited = MUSTER_NO_RANK, departed = MUSTER_NO_RANK;
        for (uint32_t m = setting->members; m-- > from;) {
            if (model_state(model, m) == GATE_AWAITED)
                awaited = m;
            if (model_state(model, m) == GATE_DEPARTED)
                departed = m;
        }
        REQUIRE(gate_next_awaited(gate, from) == awaited);
        REQUIRE(gate_next_departed(gate, from) == departed);
    }
    for (uint32_t m = 0; m < setting->members; m++)
        REQUIRE(gate_state(gate, m) == model_state(model, m));
    REQUIRE(gate_state(gate, setting->members) == GATE_STRANGER);
}

/* ---- The search ------------------------------------------------------------------------------ */

/* Packed states, in the order in which they were found; a table of places in it, plus one. */
typedef struct search {
    setting_t setting;
    uint64_t *found;
    uint32_t *table;
    uint32_t count;
    uint64_t steps;
} search_t;

#define SEARCH_TABLE ((uint32_t)1 << 19)
#define SEARCH_STATES_MAX (SEARCH_TABLE / 2)

static void search_add(search_t *search, const state_t *state)
{
    uint64_t bits = state_pack(state);
    uint32_t place = (uint32_t)((bits ^ bits >> 23) * UINT64_C(0x9e3779b97f4a7c15) >> 45);
    while (search->table[place] != 0) {
        if (search->found[search->table[place] - 1] == bits)
            return;
        place = (place + 1) % SEARCH_TABLE;
    }
    REQUIRE(search->count < SEARCH_STATES_MAX, "more states than expected");
    search->found[search->count++] = bits;
    search->table[place] = search->count;
    state_check(state, &search->setting);
}

static void search_try(search_t *search, uint64_t from, gate_event_t event, int64_t now)
{
    state_t state;
    state_unpack(&state, &search->setting, from);
    bool over = state.model.outcome != MUSTER_IN_PROGRESS;
    gate_answer_t expected = model_step(&state.model, &search->setting, event, now);
    gate_answer_t answer = gate_step(&state.gate, event, now);
    REQUIRE(answer == expected, "event %d of %u: answer %d, not %d", event.kind, event.member,
            answer, expected);
    REQUIRE(!(over && answer == GATE_COMPLETE), "said twice");
    search->steps++;
    search_add(search, &state);
    if (answer != GATE_WAIT && answer != GATE_COMPLETE)
        REQUIRE(state_pack(&state) == from, "changed nothing, it said");
}

static void search_expand(search_t *search, uint64_t from)
{
    uint32_t members = search->setting.members;
    for (uint32_t member = 0; member <= members; member++) { /* the last one is a stranger */
        search_try(search, from, (gate_event_t){GATE_CONTRIBUTE, member, MUSTER_OK}, 0);
        search_try(search, from, (gate_event_t){GATE_LOSE, member, MUSTER_OK}, 0);
        search_try(search, from, (gate_event_t){GATE_REGISTER, member, MUSTER_OK}, 0);
        search_try(search, from, (gate_event_t){GATE_ABORT, member, MUSTER_CANCELLED}, 0);
    }
    search_try(search, from, (gate_event_t){GATE_CONTRIBUTE, MUSTER_NO_RANK, MUSTER_OK}, 0);
    search_try(search, from, (gate_event_t){GATE_REGISTER, MUSTER_NO_RANK, MUSTER_OK}, 0);
    search_try(search, from, (gate_event_t){GATE_ABORT, MUSTER_NO_RANK, MUSTER_REVOKED}, 0);
    search_try(search, from, (gate_event_t){GATE_FREEZE, 0, MUSTER_OK}, 0);
    search_try(search, from, (gate_event_t){GATE_TICK, 0, MUSTER_OK}, DEADLINE - 1);
    search_try(search, from, (gate_event_t){GATE_TICK, 0, MUSTER_OK}, DEADLINE);
}

static void search_run(search_t *search, bool all)
{
    const setting_t *setting = &search->setting;
    state_t first;
    memset(&first, 0, sizeof first);
    gate_open(&first.gate, first.words, setting->members, all, setting->policy,
              setting->has_deadline ? DEADLINE : GATE_NO_DEADLINE);
    for (uint32_t m = 0; m < setting->members; m++)
        first.model.named[m] = all;
    first.model.definition_ended = all;
    first.model.outcome = MUSTER_IN_PROGRESS;
    first.model.culprit = MUSTER_NO_RANK;
    memset(search->table, 0, SEARCH_TABLE * sizeof *search->table);
    search->count = 0;
    search_add(search, &first);
    for (uint32_t next = 0; next < search->count; next++)
        search_expand(search, search->found[next]);
}

START_TEST(every_state_agrees_with_the_definition) /* C701 to C708, C718 */
{
    search_t search = {.found = malloc(SEARCH_STATES_MAX * sizeof *search.found),
                       .table = malloc(SEARCH_TABLE * sizeof *search.table)};
    ck_assert(search.found != NULL && search.table != NULL);
    uint64_t states = 0;
    for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
        for (unsigned variant = 0; variant < 8; variant++) {
            search.setting = (setting_t){
                .members = members,
                .policy = variant & 1 ? GATE_GO_ON : GATE_FAIL_ON_LOSS,
                .has_deadline = (variant & 2) != 0,
            };
            search_run(&search, (variant & 4) != 0);
            states += search.count;
        }
        printf("up to %u members: %llu states, %llu steps\n", members, (unsigned long long)states,
               (unsigned long long)search.steps);
    }
    free(search.found);
    free(search.table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gate_search");
    TCase *tests = tcase_create("gate_search");
    tcase_set_timeout(tests, 100);
    tcase_add_test(tests, every_state_agrees_with_the_definition);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
