/*
 * Figures of the radix family. Exact sequences (C602): every rank sends the sum of (r-1) messages,
 * and P-1 blocks where all get everything.
 */
#include "core/schedule_radix_figures.h"
#include "core/schedule_radix_parts.h"

static schedule_radix_loads_t schedule_radix_loads_of(const schedule_request_t *request, bool far)
{
    switch (request->operation) {
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        return (schedule_radix_loads_t){.load = SCHEDULE_RADIX_GATHER, .residues = far};
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        return (schedule_radix_loads_t){
            .load = SCHEDULE_RADIX_SCATTER, .residues = !far, .reduces = true};
    case OPERATION_ALLREDUCE:
        return (schedule_radix_loads_t){.fixed = 1, .reduces = true};
    default:
        return (schedule_radix_loads_t){.fixed = 0};
    }
}

typedef struct schedule_radix_sums {
    const schedule_radix_plan_t *plan;
    const schedule_request_t *request;
    schedule_radix_loads_t loads;
    uint64_t in;  /* blocks that an extra hands in, and gets */
    uint64_t out; /* by residues of scattering and gathering: 1, and not by pairs */
} schedule_radix_sums_t;

/* Single blocks that a round beside the phases moves to or from those who hold them by residues. */
static void schedule_radix_add_moves(const schedule_radix_sums_t *sums, schedule_figures_t *figures)
{
    const schedule_radix_plan_t *plan = sums->plan;
    schedule_edges_t edges;
    schedule_edges_begin(&edges, sums->request, true, 0);
    if (sums->loads.load == SCHEDULE_RADIX_GATHER) {
        for (uint32_t rank = 0; rank < plan->size; ++rank) {
            uint32_t holder = schedule_radix_holder(plan, true, rank);
            if (holder != rank)
                schedule_edges_add(&edges, 0, rank, holder, 1);
        }
        edges.levels[0].round.received = 2;
    } else {
        for (uint32_t place = 0; place < plan->core; ++place) {
            schedule_radix_part_t held = schedule_radix_held(plan, true, place);
            uint32_t rank = schedule_radix_rank(plan, place);
            for (uint64_t i = 0; i < held.count; ++i)
                if (held.first + i * held.stride != rank)
                    schedule_edges_add(&edges, 0, rank, (uint32_t)(held.first + i * held.stride),
                                       1);
        }
    }
    schedule_edges_end(&edges, figures);
}

/* Messages of single blocks that a rank sends in that round. */
static uint64_t schedule_radix_moved_by(const schedule_radix_sums_t *sums, uint32_t rank)
{
    const schedule_radix_plan_t *plan = sums->plan;
    if (plan->extras == 0 || !sums->loads.residues)
        return 0;
    if (sums->loads.load == SCHEDULE_RADIX_GATHER)
        return schedule_radix_holder(plan, true, rank) != rank;
    if (schedule_radix_is_extra(plan, rank))
        return 0;
    schedule_radix_part_t held = schedule_radix_held(plan, true, schedule_radix_place(plan, rank));
    return held.count - schedule_radix_contains(&held, rank);
}

/* What a rank sends in all. */
static void schedule_radix_add_rank(const schedule_radix_sums_t *sums, uint32_t rank,
                                    schedule_figures_t *figures)
{
    const schedule_radix_plan_t *plan = sums->plan;
    uint32_t place = schedule_radix_place(plan, rank);
    uint64_t moved = schedule_radix_moved_by(sums, rank);
    uint64_t messages = moved;
    uint64_t blocks = moved;
    if (schedule_radix_is_extra(plan, rank)) {
        bool apart = sums->loads.residues && sums->loads.load == SCHEDULE_RADIX_GATHER;
        messages += !apart;
        blocks += apart ? 0 : sums->in;
    } else {
        for (uint32_t phase = 0; phase < plan->phases; ++phase) {
            messages += plan->radices[phase] - 1;
            blocks += schedule_radix_sent(plan, &sums->loads, phase, place);
        }
        bool apart = sums->loads.residues && sums->loads.load == SCHEDULE_RADIX_SCATTER;
        if (schedule_radix_extra(plan, place) != SCHEDULE_NO_RANK && !apart) {
            messages += 1;
            blocks += sums->out;
        }
    }
    schedule_radix_raise(sums->request, rank, messages, blocks, figures);
}

static void schedule_radix_add_rounds(const schedule_radix_sums_t *sums,
                                      schedule_figures_t *figures)
{
    const schedule_radix_plan_t *plan = sums->plan;
    const schedule_request_t *request = sums->request;
    bool gathers = sums->loads.load == SCHEDULE_RADIX_GATHER;
    bool scatters = sums->loads.load == SCHEDULE_RADIX_SCATTER;
    if (plan->extras > 0 && gathers && sums->loads.residues)
        schedule_radix_add_moves(sums, figures);
    else if (plan->extras > 0)
        schedule_radix_add_pairs(plan, request, true, sums->in, sums->loads.reduces, figures);
    for (uint32_t phase = 0; phase < plan->phases; ++phase)
        schedule_radix_add_phase(plan, request, &sums->loads, phase, figures);
    if (plan->extras > 0 && scatters && sums->loads.residues)
        schedule_radix_add_moves(sums, figures);
    else if (plan->extras > 0)
        schedule_radix_add_pairs(plan, request, false, sums->out, false, figures);
}

muster_status_t schedule_radix_figures(const schedule_request_t *request,
                                       schedule_figures_t *figures)
{
    schedule_request_t first = *request;
    schedule_t none = {0};
    schedule_radix_plan_t plan;
    first.rank = 0;
    first.uniform = false; /* the decision is counted by itself */
    if (schedule_radix(&first, &none) != MUSTER_OK)
        return MUSTER_NOT_SUPPORTED;
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1 ||
        schedule_radix_plan(&plan, &request->radix, request->size, SCHEDULE_NO_RANK) != MUSTER_OK)
        return MUSTER_OK;
    schedule_radix_sums_t sums = {
        .plan = &plan, .request = request, .loads = schedule_radix_loads_of(request, plan.far)};
    sums.in = sums.loads.load == SCHEDULE_RADIX_SCATTER  ? plan.size
              : sums.loads.load == SCHEDULE_RADIX_GATHER ? 1
                                                         : sums.loads.fixed;
    sums.out = sums.loads.load == SCHEDULE_RADIX_SCATTER  ? 1
               : sums.loads.load == SCHEDULE_RADIX_GATHER ? plan.size
                                                          : sums.loads.fixed;
    schedule_radix_add_rounds(&sums, figures);
    if (sums.loads.load == SCHEDULE_RADIX_GATHER && !request->in_place)
        figures->rounds[0].copied = 1;
    schedule_figures_decide(figures, request);
    figures->rank_messages = 0;
    for (uint32_t rank = 0; rank < (plan.extras > 0 ? plan.size : 1); ++rank)
        schedule_radix_add_rank(&sums, rank, figures);
    return MUSTER_OK;
}
