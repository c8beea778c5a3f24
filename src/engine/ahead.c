#include "engine/ahead.h"

#include "core/assertion.h"
#include "engine/outcome.h"
#include "engine/request.h"

bool ahead_may_send(const muster_comm_t *comm, uint64_t generation)
{
    return generation <= comm->reached || generation - comm->reached <= COMM_LEAD ||
           comm->size == 1 || comm->has_lost;
}

bool ahead_has_to_ask(const muster_comm_t *comm, uint64_t generation)
{
    return generation <= comm->missed || !ahead_may_send(comm, generation);
}

void ahead_ask(muster_comm_t *comm, uint64_t generation, uint8_t operation)
{
    if (comm_is_decider(comm)) {
        ahead_answer(comm, comm->rank, generation);
        return;
    }
    muster_failure_t question;
    request_failure(comm, generation, operation, MUSTER_IN_PROGRESS, MUSTER_NO_RANK, &question);
    outcome_report(comm, generation, &question);
}

/* The highest generation that this rank has begun. */
static uint64_t ahead_own(const muster_comm_t *comm)
{
    return comm->clock.next - 1;
}

/* Tells the decider how far this rank has come, now and then until it is where it is awaited. */
static void ahead_report(muster_comm_t *comm)
{
    uint64_t own = ahead_own(comm);
    if (comm->awaited == 0 || own == 0 ||
        (own < comm->awaited && own < comm->reported + GENERATION_WINDOW))
        return;
    comm->reported = own;
    if (own >= comm->awaited)
        comm->awaited = 0;
    if (!comm_is_decider(comm))
        ahead_ask(comm, own, OPERATION_COUNT);
}

void ahead_begun(muster_comm_t *comm)
{
    if (comm->wanted > comm->reached && comm_is_decider(comm))
        ahead_heard(comm, comm->rank, ahead_own(comm));
    if (comm->awaited != 0)
        ahead_report(comm);
}

void ahead_reached(muster_comm_t *comm, uint64_t generation)
{
    if (generation <= comm->reached)
        return;
    comm->reached = generation;
    for (unsigned i = 0; comm->held > 0 && i < GENERATION_WINDOW; i++)
        if (comm->operations[i] && comm->operations[i]->held)
            request_advance(comm->operations[i]);
}

static void ahead_tell(muster_comm_t *comm, uint32_t rank)
{
    wire_message_t message = comm_message(comm, WIRE_VERDICT, comm->reached, 0);
    message.label = VERDICT_REACHED;
    comm_send_control(comm, rank, &message, NULL);
}

/* How far everybody has come: told where it is far enough to be of use. */
static void ahead_look(muster_comm_t *comm, uint64_t need)
{
    uint64_t least = ahead_own(comm);
    for (uint32_t rank = 0; rank < comm->size; rank++)
        if (rank != comm->rank && !comm_is_lost(comm, rank) && comm->heard[rank] < least)
            least = comm->heard[rank];
    if (least < need && least < comm->reached + GENERATION_WINDOW)
        return;
    ahead_reached(comm, least);
    for (uint32_t rank = 0; rank < comm->size; rank++)
        if (rank != comm->rank && !comm_is_lost(comm, rank))
            ahead_tell(comm, rank);
}

void ahead_heard(muster_comm_t *comm, uint32_t rank, uint64_t generation)
{
    MUSTER_ASSERT(comm_is_decider(comm));
    if (generation > comm->heard[rank])
        comm->heard[rank] = generation;
    if (comm->wanted > comm->reached)
        ahead_look(comm, comm->wanted);
}

void ahead_answer(muster_comm_t *comm, uint32_t rank, uint64_t generation)
{
    if (ahead_may_send(comm, generation)) {
        if (rank != comm->rank && comm->reached > 0)
            ahead_tell(comm, rank);
        return;
    }
    uint64_t need = generation - COMM_LEAD;
    wire_message_t message = comm_message(comm, WIRE_QUERY, need, 0);
    message.label = QUERY_BEGUN;
    for (uint32_t other = 0; need > comm->wanted && other < comm->size; other++)
        if (other != comm->rank && !comm_is_lost(comm, other) && comm->heard[other] < need)
            comm_send_control(comm, other, &message, NULL);
    if (need > comm->wanted)
        comm->wanted = need;
    ahead_look(comm, need);
}

void ahead_on_query(muster_comm_t *comm, const wire_message_t *message)
{
    uint64_t generation = generation_public(message->generation);
    if (generation > comm->awaited)
        comm->awaited = generation;
    ahead_report(comm);
}
