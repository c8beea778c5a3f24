/* The contract over `tcp`, on loopback. */
#include "contract.h"

#include "transport/tcp.h"

#include <string.h>

static void tcp_group_create(uint32_t size, contract_group_t *group)
{
    uint8_t table[CONTRACT_RANKS_MAX * TCP_ADDRESS_SIZE];
    for (uint32_t i = 0; i < size; i++) {
        tcp_options_t options = {
            .rank = i, .size = size, .bind_address = i % 2 == 0 ? "127.0.0.1" : "::1"};
        memset(options.job, 0x5a, sizeof options.job);
        memset(options.secret, 0xa5, sizeof options.secret);
        muster_failure_t failure;
        ck_assert_msg(tcp_create(&options, &group->transports[i], &failure) == MUSTER_OK, "%s",
                      failure.message);
        tcp_address(group->transports[i], table + i * TCP_ADDRESS_SIZE);
    }
    for (uint32_t i = 0; i < size; i++)
        ck_assert_int_eq(tcp_connect_table(group->transports[i], table, NULL), MUSTER_OK);
}

static void tcp_group_destroy(contract_group_t *group)
{
    (void)group;
}

const contract_factory_t contract_factory = {
    .name = "tcp", .threads = true, .create = tcp_group_create, .destroy = tcp_group_destroy};
