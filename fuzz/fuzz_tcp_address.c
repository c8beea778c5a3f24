/* The blob that says where a rank is reached: what is accepted is what encoding writes. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/assertion.h"
#include "transport/tcp.h"
#include "transport/tcp_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tcp_location_t location;
    if (size != TCP_ADDRESS_SIZE || !tcp_location_decode(data, &location))
        return 0;
    uint8_t again[TCP_ADDRESS_SIZE];
    tcp_location_encode(&location, again);
    MUSTER_ASSERT(memcmp(data, again, sizeof again) == 0);
    tcp_location_t elsewhere = location;
    elsewhere.host_id[0] ^= 1;
    tcp_endpoint_t chosen[TCP_ENDPOINTS_MAX];
    MUSTER_ASSERT(tcp_location_choose(&location, &location, chosen) <= TCP_ENDPOINTS_MAX);
    uint32_t count = tcp_location_choose(&elsewhere, &location, chosen);
    MUSTER_ASSERT(count <= TCP_ENDPOINTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct sockaddr_storage address;
        char name[64];
        text_t text = text_over(name, sizeof name);
        MUSTER_ASSERT(chosen[i].reach == TCP_REACH_ALL);
        tcp_endpoint_socket(&chosen[i], &address);
        tcp_endpoint_print(&chosen[i], &text);
    }
    return 0;
}
