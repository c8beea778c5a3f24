/* The contract over `sim`: rough clusters, in which waiting is what moves the time. */
#include "contract.h"

#include "transport/sim.h"

static void sim_group_create(uint32_t size, contract_group_t *group)
{
    static uint64_t seed;
    seed++;
    sim_options_t options = {.size = size,
                             .seed = seed,
                             .delay_minimum = 1000,
                             .delay_maximum = 100000,
                             .byte_time = seed % 3 == 0, /* ns; a payload comes bit by bit */
                             .late_chance = 300,
                             .window = seed % 2 == 0 ? 1 << 16 : 0,
                             .clock_spread = 1000000000,
                             .advance_alone = true};
    sim_cluster_t *cluster = NULL;
    ck_assert_int_eq(sim_cluster_create(&options, &cluster), MUSTER_OK);
    for (uint32_t i = 0; i < size; i++)
        group->transports[i] = sim_transport(cluster, i);
    group->context = cluster;
}

static void sim_group_destroy(contract_group_t *group)
{
    /* No test of the suite may have broken its own side of the contract. */
    const char *violation = sim_violation(group->context);
    ck_assert_msg(violation == NULL, "%s", violation);
    sim_cluster_destroy(group->context);
}

const contract_factory_t contract_factory = {
    .name = "sim", .threads = false, .create = sim_group_create, .destroy = sim_group_destroy};
