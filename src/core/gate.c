#include "core/gate.h"

#include <string.h>

#include "core/assertion.h"
#include "core/plant.h"

static bool gate_has(const uint64_t *set, uint32_t member)
{
    return set[member / 64] >> (member % 64) & 1;
}

static void gate_put(uint64_t *set, uint32_t member)
{
    set[member / 64] |= (uint64_t)1 << (member % 64);
}

/* The members of one word that the meeting waits for. */
static uint64_t gate_awaited_word(const gate_t *gate, size_t word)
{
    return gate->expected[word] & ~gate->contributed[word] & ~gate->departed[word];
}

static uint64_t gate_departed_word(const gate_t *gate, size_t word)
{
    return gate->expected[word] & gate->departed[word];
}

void gate_open(gate_t *gate, uint64_t *words, uint32_t members, bool all, gate_policy_t policy,
               int64_t deadline)
{
    MUSTER_ASSERT(members > 0 && members < MUSTER_NO_RANK && words != NULL);
    MUSTER_ASSERT(policy == GATE_FAIL_ON_LOSS || policy == GATE_GO_ON);
    size_t set_words = GATE_WORDS(members);
    memset(words, 0, GATE_MEMORY_WORDS(members) * sizeof *words);
    *gate = (gate_t){
        .expected = words,
        .contributed = words + set_words,
        .departed = words + 2 * set_words,
        .members = members,
        .policy = (uint8_t)policy,
        .defined = all,
        .outcome = MUSTER_IN_PROGRESS,
        .culprit = MUSTER_NO_RANK,
        .deadline = deadline,
    };
    if (!all)
        return;
    memset(gate->expected, 0xff, set_words * sizeof *words);
    if (members % 64 != 0)
        gate->expected[set_words - 1] = ((uint64_t)1 << (members % 64)) - 1;
}

bool gate_is_complete(const gate_t *gate)
{
    if (!gate->defined)
        return false;
    size_t set_words = GATE_WORDS(gate->members);
    for (size_t word = 0; word < set_words; word++) {
        uint64_t awaited = gate_awaited_word(gate, word);
        if (PLANT(1, awaited & (awaited - 1), awaited) != 0)
            return false;
    }
    return true;
}

gate_member_t gate_state(const gate_t *gate, uint32_t member)
{
    if (member >= gate->members || !gate_has(gate->expected, member))
        return GATE_STRANGER;
    bool contributed = gate_has(gate->contributed, member);
    bool departed = gate_has(gate->departed, member);
    MUSTER_ASSERT(!(contributed && departed));
    if (contributed)
        return GATE_CONTRIBUTED;
    return departed ? GATE_DEPARTED : GATE_AWAITED;
}

/* The first member at or after from in a set that is given word by word. */
static uint32_t gate_next(const gate_t *gate, uint32_t from,
                          uint64_t (*word_of)(const gate_t *gate, size_t word))
{
    if (from >= gate->members)
        return MUSTER_NO_RANK;
    size_t set_words = GATE_WORDS(gate->members);
    uint64_t mask = UINT64_MAX << (from % 64);
    for (size_t word = from / 64; word < set_words; word++) {
        uint64_t found = word_of(gate, word) & mask;
        if (found != 0)
            return (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(found);
        mask = UINT64_MAX;
    }
    return MUSTER_NO_RANK;
}

uint32_t gate_next_awaited(const gate_t *gate, uint32_t from)
{
    return gate_next(gate, from, gate_awaited_word);
}

uint32_t gate_next_departed(const gate_t *gate, uint32_t from)
{
    return gate_next(gate, from, gate_departed_word);
}

static bool gate_anyone_contributed(const gate_t *gate)
{
    size_t set_words = GATE_WORDS(gate->members);
    for (size_t word = 0; word < set_words; word++)
        if ((gate->expected[word] & gate->contributed[word]) != 0)
            return true;
    return false;
}

/* The one place where a gate gets its outcome. */
static gate_answer_t gate_finish(gate_t *gate, muster_status_t outcome, uint32_t culprit)
{
    MUSTER_ASSERT(!gate->frozen && gate->outcome == MUSTER_IN_PROGRESS);
    MUSTER_ASSERT(outcome != MUSTER_IN_PROGRESS);
    gate->frozen = true;
    gate->outcome = outcome;
    gate->culprit = culprit;
    return GATE_COMPLETE;
}

/* Finishes where the predicate holds; the outcome follows from the members' states alone. */
static gate_answer_t gate_evaluate(gate_t *gate)
{
    if (!gate->defined)
        return GATE_WAIT;
    uint32_t departed = gate_next_departed(gate, 0);
    if (departed != MUSTER_NO_RANK && gate->policy == GATE_FAIL_ON_LOSS)
        return gate_finish(gate, MUSTER_PEER_LOST, departed);
    if (!gate_is_complete(gate))
        return GATE_WAIT;
    if (departed == MUSTER_NO_RANK)
        return gate_finish(gate, MUSTER_OK, MUSTER_NO_RANK);
    return gate_finish(
        gate, gate_anyone_contributed(gate) ? MUSTER_PARTIAL_SUCCESS : MUSTER_LOST_CONNECTION,
        departed);
}

/* A contribution or a loss: whichever comes first is the member's state for good. */
static gate_answer_t gate_settle(gate_t *gate, uint64_t *set, uint32_t member)
{
    if (member >= gate->members)
        return GATE_REFUSED;
    if (gate->defined && !gate_has(gate->expected, member))
        return GATE_REFUSED;
    if (gate_has(gate->contributed, member) || gate_has(gate->departed, member))
        return GATE_DUPLICATE;
    gate_put(set, member); /* held, where the member is not registered yet */
    return gate_evaluate(gate);
}

/* The definition is complete: what is held of others was a stranger's and counts no more. */
static gate_answer_t gate_define(gate_t *gate)
{
    if (gate->defined)
        return GATE_DUPLICATE;
    gate->defined = true;
    size_t set_words = GATE_WORDS(gate->members);
    for (size_t word = 0; word < set_words; word++) {
        gate->contributed[word] &= gate->expected[word];
        gate->departed[word] &= gate->expected[word];
    }
    return gate_evaluate(gate);
}

static gate_answer_t gate_register(gate_t *gate, uint32_t member)
{
    if (member == MUSTER_NO_RANK)
        return gate_define(gate);
    if (member >= gate->members)
        return GATE_REFUSED;
    if (gate_has(gate->expected, member))
        return GATE_DUPLICATE;
    if (gate->defined)
        return GATE_REFUSED;
    gate_put(gate->expected, member);
    return GATE_WAIT;
}

gate_answer_t gate_step(gate_t *gate, gate_event_t event, int64_t now)
{
    if (gate->frozen)
        return GATE_LATE;
    MUSTER_ASSERT(gate->outcome == MUSTER_IN_PROGRESS);
    switch (event.kind) {
    case GATE_CONTRIBUTE:
        return gate_settle(gate, gate->contributed, event.member);
    case GATE_LOSE:
        return gate_settle(gate, gate->departed, event.member);
    case GATE_REGISTER:
        return gate_register(gate, event.member);
    case GATE_TICK:
        if (gate->deadline == GATE_NO_DEADLINE || now < gate->deadline)
            return GATE_WAIT;
        return gate_finish(gate, MUSTER_TIMED_OUT, MUSTER_NO_RANK);
    case GATE_ABORT:
        MUSTER_ASSERT(event.status > MUSTER_PARTIAL_SUCCESS && event.status < MUSTER_STATUS_COUNT);
        return gate_finish(gate, event.status, event.member);
    case GATE_FREEZE:
        gate->frozen = true;
        return GATE_WAIT;
    }
    muster_assertion_failed("event.kind is an event", __FILE__, __LINE__);
}
