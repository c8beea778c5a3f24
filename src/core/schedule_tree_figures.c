/* Figures of the tree family: which stages an operation has. */
#include "core/assertion.h"
#include "core/schedule_tree_parts.h"
#include "core/schedule_tree_stage.h"

static void schedule_plan_add(schedule_plan_t *plan, schedule_stage_t stage)
{
    MUSTER_ASSERT(plan->count < SCHEDULE_STAGES_MAX);
    plan->stages[plan->count++] = stage;
}

static void schedule_plan_pass(schedule_plan_t *plan, schedule_stage_kind_t kind,
                               schedule_load_t load, uint64_t width)
{
    schedule_plan_add(plan, (schedule_stage_t){.kind = (uint8_t)kind,
                                               .load = (uint8_t)load,
                                               .width = width,
                                               .centre = plan->root,
                                               .except = SPLIT_NONE});
}

static void schedule_plan_reduce(schedule_plan_t *plan, schedule_load_t load, uint64_t width)
{
    schedule_plan_pass(plan, SCHEDULE_STAGE_UP, load, width);
    plan->stages[plan->count - 1].reduces = true;
}

static void schedule_plan_empty(schedule_plan_t *plan, schedule_stage_kind_t kind)
{
    schedule_plan_pass(plan, kind, SCHEDULE_LOAD_VALUE, 0);
    plan->stages[plan->count - 1].centre = 0;
}

/* From rank 0 to the root, or the other way. */
static void schedule_plan_relay(schedule_plan_t *plan, bool to_root, uint64_t width)
{
    if (plan->relayed)
        schedule_plan_add(plan, (schedule_stage_t){.kind = SCHEDULE_STAGE_RELAY,
                                                   .width = width,
                                                   .centre = to_root ? 0 : plan->root,
                                                   .except = to_root ? plan->root : 0});
}

static void schedule_plan_broadcast(schedule_plan_t *plan)
{
    if (plan->on_the_way)
        schedule_plan_empty(plan, SCHEDULE_STAGE_UP);
    schedule_plan_relay(plan, false, 1);
    schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_VALUE, 1);
    if (plan->relayed) /* the root has the data before its leader does */
        plan->stages[plan->count - 1].except = plan->root;
}

static void schedule_plan_alltoall(schedule_plan_t *plan)
{
    uint64_t size = plan->size;
    schedule_plan_pass(plan, SCHEDULE_STAGE_UP, SCHEDULE_LOAD_PART, size);
    if (!plan->flat) {
        plan->stages[0].top = 1;
        schedule_plan_add(
            plan, (schedule_stage_t){.kind = SCHEDULE_STAGE_EXCHANGE, .except = SPLIT_NONE});
    }
    schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_PART, size);
    plan->stages[plan->count - 1].top = plan->flat ? 0 : 1;
}

static void schedule_plan_both_ways(schedule_plan_t *plan)
{
    uint64_t size = plan->size;
    switch (plan->request->operation) {
    case OPERATION_BARRIER:
        schedule_plan_empty(plan, SCHEDULE_STAGE_UP);
        schedule_plan_empty(plan, SCHEDULE_STAGE_DOWN);
        break;
    case OPERATION_ALLREDUCE:
        schedule_plan_reduce(plan, SCHEDULE_LOAD_VALUE, 1);
        schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_VALUE, 1);
        break;
    case OPERATION_ALLGATHER:
    case OPERATION_ALLGATHERV:
        schedule_plan_pass(plan, SCHEDULE_STAGE_UP, SCHEDULE_LOAD_PART, 1);
        schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_VALUE, size);
        break;
    case OPERATION_REDUCE_SCATTER:
    case OPERATION_REDUCE_SCATTER_BLOCK:
        schedule_plan_reduce(plan, SCHEDULE_LOAD_VALUE, size);
        schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_PART, 1);
        break;
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
        schedule_plan_reduce(plan, SCHEDULE_LOAD_TOTAL, 1);
        schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_VALUE, 1);
        plan->stages[plan->count - 1].reduces = true;
        break;
    default:
        MUSTER_ASSERT(plan->request->operation == OPERATION_ALLTOALL ||
                      plan->request->operation == OPERATION_ALLTOALLV);
        schedule_plan_alltoall(plan);
        break;
    }
}

static void schedule_plan_rooted(schedule_plan_t *plan)
{
    uint64_t size = plan->size;
    switch (plan->request->operation) {
    case OPERATION_BROADCAST:
        schedule_plan_broadcast(plan);
        return;
    case OPERATION_REDUCE:
        schedule_plan_reduce(plan, SCHEDULE_LOAD_VALUE, 1);
        schedule_plan_relay(plan, true, 1);
        break;
    case OPERATION_SCATTER:
    case OPERATION_SCATTERV:
        schedule_plan_relay(plan, false, size);
        schedule_plan_pass(plan, SCHEDULE_STAGE_DOWN, SCHEDULE_LOAD_PART, 1);
        return;
    default: /* gather, gatherv */
        schedule_plan_pass(plan, SCHEDULE_STAGE_UP, SCHEDULE_LOAD_PART, 1);
        schedule_plan_relay(plan, true, size);
        break;
    }
    if (plan->on_the_way)
        schedule_plan_empty(plan, SCHEDULE_STAGE_DOWN);
}

muster_status_t schedule_tree_figures(const schedule_request_t *request,
                                      schedule_figures_t *figures)
{
    if ((unsigned)request->operation >= OPERATION_COUNT)
        return MUSTER_NOT_SUPPORTED;
    *figures = (schedule_figures_t){.pieces = 1};
    if (request->size == 1)
        return MUSTER_OK;
    bool rooted = operation_is_rooted(request->operation);
    bool flat = request->arity >= request->size;
    uint32_t root = rooted ? request->root : 0;
    schedule_plan_t plan = {
        .request = request,
        .size = request->size,
        .root = root,
        .arity = flat ? request->size : request->arity,
        .flat = flat,
        .relayed = root != 0 && !flat,
        .on_the_way = schedule_tree_decides_on_the_way(request),
    };
    if (rooted)
        schedule_plan_rooted(&plan);
    else
        schedule_plan_both_ways(&plan);
    if (request->uniform && !plan.on_the_way) {
        schedule_plan_empty(&plan, SCHEDULE_STAGE_UP);
        schedule_plan_empty(&plan, SCHEDULE_STAGE_DOWN);
    }
    for (uint32_t i = 0; i < plan.count; ++i)
        schedule_plan_stage(&plan, &plan.stages[i], figures);
    /* Leftmost parts are widest: nobody sends more than these. */
    schedule_plan_rank(&plan, 0, figures);
    schedule_plan_rank(&plan, root, figures);
    schedule_plan_rank(&plan, split_part(plan.size, plan.arity, 1).left, figures);
    return MUSTER_OK;
}
