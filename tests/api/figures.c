/* What a rank's schedule says about its traffic, worked out from the schedule as data. */
#include "collective.h"
#include "core/schedule.h"
#include "engine/comm.h"
#include "transport/transport.h"

#include <stdlib.h>

static size_t figures_element(const collective_t *what)
{
    if (what->operation == OPERATION_BARRIER)
        return 0;
    return what->ordered && operation_is_reducing(what->operation) ? 16 : 8;
}

/* C506: a region that is no more than the spans of a message is sent from where it lies. */
static bool figures_is_packed(const schedule_region_t *region)
{
    return region->inner_count * region->outer_count > TRANSPORT_SPANS_MAX;
}

static void figures_add(const schedule_t *schedule, uint64_t width, collective_figures_t *figures)
{
    figures->messages_sent += schedule->send_count;
    figures->messages_received += schedule->receive_count;
    for (uint32_t i = 0; i < schedule->send_count; i++) {
        const schedule_region_t *region = &schedule->sends[i].region;
        uint64_t bytes = schedule_region_blocks(region) * width;
        figures->bytes_sent += bytes;
        if (bytes > 0 && figures_is_packed(region))
            figures->copied += bytes;
    }
    for (uint32_t i = 0; i < schedule->receive_count; i++)
        if (schedule->receives[i].action == SCHEDULE_COMBINE && width > 0)
            figures->reductions += schedule_region_blocks(&schedule->receives[i].region) > 0;
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const schedule_step_t *step = &schedule->steps[i];
        if (step->work == SCHEDULE_REDUCE)
            figures->reductions += width > 0;
        else
            figures->copied += schedule_region_blocks(&step->from) * width;
    }
}

static size_t figures_result(const collective_t *what, uint32_t size)
{
    size_t block = what->count * figures_element(what);
    switch (what->operation) {
    case OPERATION_BARRIER:
    case OPERATION_REDUCE:
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        return 0;
    case OPERATION_BROADCAST:
    case OPERATION_ALLREDUCE:
        return block;
    case OPERATION_ALLGATHER:
        return block * size;
    default:
        return SIZE_MAX;
    }
}

collective_figures_t collective_figures(const muster_comm_description_t *description,
                                        const collective_t *what, uint32_t rank)
{
    bool rooted = operation_is_rooted(what->operation);
    bool ordered = what->ordered && operation_is_reducing(what->operation);
    schedule_request_t request = {
        .operation = what->operation,
        .size = description->size,
        .root = rooted ? what->root : 0,
        .arity = description->arity,
        .initial = what->initial && what->operation == OPERATION_EXSCAN,
        .commutative = !ordered,
        .uniform = what->outcome != MUSTER_OUTCOME_LOCAL,
        .small = figures_result(what, description->size) <= COMM_SMALL,
    };
    bool ragged = operation_is_ragged(what->operation);
    collective_figures_t figures = {.bytes_known = !ragged, .copied_known = !ragged};
    uint32_t first = rank == COLLECTIVE_ALL ? 0 : rank;
    uint32_t last = rank == COLLECTIVE_ALL ? description->size - 1 : rank;
    for (request.rank = first; request.rank <= last; request.rank++) {
        schedule_t schedule = {0};
        request.in_place =
            what->in_place && schedule_may_be_in_place(what->operation, request.rank, request.root);
        if (schedule_tree(&request, &schedule) != MUSTER_OK)
            abort();
        void *memory = malloc(schedule_memory(&schedule) + 1);
        if (!memory)
            abort();
        schedule_place(&schedule, memory);
        schedule_tree(&request, &schedule);
        figures_add(&schedule, what->count * figures_element(what), &figures);
        free(memory);
    }
    return figures;
}
