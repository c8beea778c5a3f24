/* The contract over `mem`, and what only it has. */
#include "contract.h"

#include "transport/mem.h"

static void mem_group_create(uint32_t size, contract_group_t *group)
{
    mem_hub_t *hub;
    ck_assert_int_eq(mem_hub_create(size, &hub), MUSTER_OK);
    for (uint32_t i = 0; i < size; i++) {
        ck_assert_int_eq(mem_create(hub, i, &group->transports[i]), MUSTER_OK);
        transport_t *again = NULL;
        ck_assert_int_eq(mem_create(hub, i, &again), MUSTER_DUPLICATE_RANK);
        ck_assert_ptr_null(again);
        ck_assert_uint_eq(group->transports[i]->local_ranks, size);
    }
    transport_t *stranger = NULL;
    ck_assert_int_eq(mem_create(hub, size, &stranger), MUSTER_INVALID_RANK);
    group->context = hub;
    if (size % 2 == 0) {
        /* The transports keep the hub. */
        mem_hub_destroy(hub);
        group->context = NULL;
    }
}

static void mem_group_destroy(contract_group_t *group)
{
    mem_hub_destroy(group->context);
}

const contract_factory_t contract_factory = {
    .name = "mem", .threads = true, .create = mem_group_create, .destroy = mem_group_destroy};
