#include "transport/tcp_address.h"

#include "core/wire.h"
#include "transport/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TCP_ADDRESS_FORM 1
#define TCP_ENDPOINT_SIZE 20
#define TCP_ENDPOINTS_AT 96
#define TCP_INTERFACES_MAX 4096 /* entries of the list that are looked at */
#define TCP_ROUTES_MAX 4096

/* ---- The blob -------------------------------------------------------------------------------- */

void tcp_location_encode(const tcp_location_t *location, uint8_t *bytes)
{
    memset(bytes, 0, TCP_ADDRESS_SIZE);
    memcpy(bytes, "MTCP", 4);
    bytes[4] = TCP_ADDRESS_FORM;
    bytes[5] = (uint8_t)location->count;
    wire_put_u32(bytes + 8, location->pid);
    memcpy(bytes + 16, location->host_id, TCP_HOST_ID_SIZE);
    memcpy(bytes + 32, location->host, strlen(location->host));
    for (uint32_t i = 0; i < location->count; i++) {
        uint8_t *entry = bytes + TCP_ENDPOINTS_AT + i * TCP_ENDPOINT_SIZE;
        entry[0] = location->endpoints[i].reach;
        entry[1] = location->endpoints[i].family;
        wire_put_u16(entry + 2, location->endpoints[i].port);
        memcpy(entry + 4, location->endpoints[i].address, 16);
    }
}

static bool tcp_all_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static bool tcp_endpoint_decode(const uint8_t *entry, tcp_endpoint_t *endpoint)
{
    endpoint->reach = entry[0];
    endpoint->family = entry[1];
    endpoint->port = wire_get_u16(entry + 2);
    memcpy(endpoint->address, entry + 4, 16);
    if (endpoint->reach != TCP_REACH_HOST && endpoint->reach != TCP_REACH_ALL)
        return false;
    if (endpoint->port == 0)
        return false;
    if (endpoint->family == 4)
        return tcp_all_zero(endpoint->address + 4, 12);
    return endpoint->family == 6;
}

bool tcp_location_decode(const uint8_t *bytes, tcp_location_t *location)
{
    tcp_location_t read = {.count = bytes[5], .pid = wire_get_u32(bytes + 8)};
    if (memcmp(bytes, "MTCP", 4) != 0 || bytes[4] != TCP_ADDRESS_FORM ||
        read.count > TCP_ENDPOINTS_MAX || !tcp_all_zero(bytes + 6, 2) ||
        !tcp_all_zero(bytes + 12, 4))
        return false;
    memcpy(read.host_id, bytes + 16, TCP_HOST_ID_SIZE);
    memcpy(read.host, bytes + 32, MUSTER_HOST_MAX);
    const char *end = memchr(read.host, '\0', sizeof read.host);
    if (end == NULL)
        return false;
    size_t host_length = (size_t)(end - read.host);
    if (!tcp_all_zero(bytes + 32 + host_length, MUSTER_HOST_MAX - host_length))
        return false;
    for (size_t i = 0; i < host_length; i++) {
        if (read.host[i] < ' ' || read.host[i] > '~')
            return false; /* it is printed in diagnostics */
    }
    for (uint32_t i = 0; i < read.count; i++) {
        if (!tcp_endpoint_decode(bytes + TCP_ENDPOINTS_AT + i * TCP_ENDPOINT_SIZE,
                                 &read.endpoints[i]))
            return false;
    }
    size_t used = TCP_ENDPOINTS_AT + read.count * TCP_ENDPOINT_SIZE;
    if (!tcp_all_zero(bytes + used, TCP_ADDRESS_SIZE - used))
        return false;
    *location = read;
    return true;
}

uint32_t tcp_location_choose(const tcp_location_t *own, const tcp_location_t *peer,
                             tcp_endpoint_t *endpoints)
{
    bool same = memcmp(own->host_id, peer->host_id, TCP_HOST_ID_SIZE) == 0;
    uint32_t count = 0;
    for (uint32_t i = 0; same && i < peer->count; i++) {
        if (peer->endpoints[i].reach == TCP_REACH_HOST)
            endpoints[count++] = peer->endpoints[i];
    }
    if (count > 0)
        return count;
    for (uint32_t i = 0; i < peer->count; i++) {
        if (peer->endpoints[i].reach == TCP_REACH_ALL)
            endpoints[count++] = peer->endpoints[i];
    }
    return count;
}

/* ---- Endpoints ------------------------------------------------------------------------------- */

static bool tcp_endpoint_read(const struct sockaddr *address, tcp_endpoint_t *endpoint)
{
    memset(endpoint, 0, sizeof *endpoint);
    bool loopback;
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        endpoint->family = 4;
        endpoint->port = ntohs(in.sin_port);
        memcpy(endpoint->address, &in.sin_addr, 4);
        loopback = endpoint->address[0] == 127;
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        endpoint->family = 6;
        endpoint->port = ntohs(in6.sin6_port);
        memcpy(endpoint->address, &in6.sin6_addr, 16);
        loopback = IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
    } else {
        return false;
    }
    endpoint->reach = loopback ? TCP_REACH_HOST : TCP_REACH_ALL;
    return true;
}

socklen_t tcp_endpoint_socket(const tcp_endpoint_t *endpoint, struct sockaddr_storage *address)
{
    memset(address, 0, sizeof *address);
    if (endpoint->family == 4) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(endpoint->port)};
        memcpy(&in.sin_addr, endpoint->address, 4);
        memcpy(address, &in, sizeof in);
        return sizeof in;
    }
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(endpoint->port)};
    memcpy(&in6.sin6_addr, endpoint->address, 16);
    memcpy(address, &in6, sizeof in6);
    return sizeof in6;
}

void tcp_endpoint_print(const tcp_endpoint_t *endpoint, text_t *text)
{
    char name[INET6_ADDRSTRLEN] = "?";
    bool six = endpoint->family == 6;
    inet_ntop(six ? AF_INET6 : AF_INET, endpoint->address, name, sizeof name);
    text_string(text, six ? "[" : "");
    text_string(text, name);
    text_string(text, six ? "]:" : ":");
    text_number(text, endpoint->port);
}

/* ---- This host ------------------------------------------------------------------------------- */

void tcp_location_describe(tcp_location_t *location)
{
    /* One kernel, and one set of network interfaces in it: there loopback means the same. */
    struct {
        char boot[64];
        uint64_t device;
        uint64_t inode;
    } place;
    memset(&place, 0, sizeof place);
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t length = read(file, place.boot, sizeof place.boot);
        (void)length;
        close(file);
    }
    struct stat space;
    if (stat("/proc/self/ns/net", &space) == 0) {
        place.device = space.st_dev;
        place.inode = space.st_ino;
    }
    crypto_generichash(location->host_id, sizeof location->host_id, (const uint8_t *)&place,
                       sizeof place, NULL, 0);
    location->pid = (uint32_t)getpid();
    memset(location->host, 0, sizeof location->host);
    if (gethostname(location->host, sizeof location->host - 1) != 0)
        location->host[0] = '\0';
    size_t length = strlen(location->host);
    for (size_t i = 0; i < length; i++) {
        if (location->host[i] < ' ' || location->host[i] > '~')
            location->host[i] = '?';
    }
}

/* The interface of the IPv4 default route; "" where there is none. */
static void tcp_default_interface(char name[IF_NAMESIZE])
{
    name[0] = '\0';
    FILE *routes = fopen("/proc/self/net/route", "re");
    if (routes == NULL)
        return;
    char line[256];
    for (int i = 0; i < TCP_ROUTES_MAX && fgets(line, sizeof line, routes) != NULL; i++) {
        char interface[IF_NAMESIZE];
        unsigned long destination;
        if (sscanf(line, "%15s %lx", interface, &destination) == 2 && destination == 0 &&
            i > 0 /* the heading */) {
            memcpy(name, interface, sizeof interface);
            break;
        }
    }
    fclose(routes);
}

/*
 * How late an interface is tried: bridges of containers and virtual machines are often dead ends.
 */
static int tcp_interface_order(const char *name, const char *preferred)
{
    static const char *const doubtful[] = {"docker", "br-", "virbr", "veth", "lxc", "cni", "vnet"};
    if (strcmp(name, preferred) == 0)
        return 0;
    for (size_t i = 0; i < sizeof doubtful / sizeof doubtful[0]; i++) {
        if (strncmp(name, doubtful[i], strlen(doubtful[i])) == 0)
            return 2;
    }
    return 1;
}

/* Whether an interface's address can be given to others, for a socket bound to all of a family. */
static bool tcp_interface_endpoint(const struct ifaddrs *interface, uint8_t family,
                                   tcp_endpoint_t *endpoint)
{
    if (interface->ifa_addr == NULL || !(interface->ifa_flags & IFF_UP) ||
        !tcp_endpoint_read(interface->ifa_addr, endpoint))
        return false;
    if (family == 4 && endpoint->family != 4)
        return false;
    /* Of loopback, 127.0.0.1 and ::1 only. Link-local IPv6 means something on one link alone. */
    if (endpoint->family == 4 && endpoint->reach == TCP_REACH_HOST)
        return endpoint->address[1] == 0 && endpoint->address[2] == 0 && endpoint->address[3] == 1;
    return endpoint->family == 4 || endpoint->address[0] != 0xfe ||
           (endpoint->address[1] & 0xc0) != 0x80;
}

static bool tcp_location_has(const tcp_location_t *location, const tcp_endpoint_t *endpoint)
{
    for (uint32_t i = 0; i < location->count; i++) {
        if (memcmp(&location->endpoints[i], endpoint, sizeof *endpoint) == 0)
            return true;
    }
    return false;
}

/* Adds the endpoints of one kind, in the order of interfaces; two places stay free for loopback. */
static void tcp_location_add(tcp_location_t *location, const struct ifaddrs *interfaces,
                             const tcp_endpoint_t *bound, const char *preferred, int order,
                             tcp_reach_t reach)
{
    uint32_t limit = reach == TCP_REACH_ALL ? TCP_ENDPOINTS_MAX - 2 : TCP_ENDPOINTS_MAX;
    for (uint8_t family = 4; family <= 6; family += 2) {
        int left = TCP_INTERFACES_MAX;
        for (const struct ifaddrs *i = interfaces; i != NULL && left > 0; i = i->ifa_next, left--) {
            tcp_endpoint_t endpoint;
            if (location->count == limit || !tcp_interface_endpoint(i, bound->family, &endpoint) ||
                endpoint.family != family || endpoint.reach != reach ||
                (reach == TCP_REACH_ALL && tcp_interface_order(i->ifa_name, preferred) != order))
                continue;
            endpoint.port = bound->port;
            if (!tcp_location_has(location, &endpoint))
                location->endpoints[location->count++] = endpoint;
        }
    }
}

muster_status_t tcp_location_advertise(tcp_location_t *location,
                                       const struct sockaddr_storage *bound)
{
    tcp_endpoint_t endpoint;
    if (!tcp_endpoint_read((const struct sockaddr *)bound, &endpoint))
        return MUSTER_ENVIRONMENT;
    location->count = 0;
    if (!tcp_all_zero(endpoint.address, sizeof endpoint.address)) {
        location->endpoints[location->count++] = endpoint;
        return MUSTER_OK;
    }
    struct ifaddrs *interfaces;
    if (getifaddrs(&interfaces) != 0)
        return MUSTER_ENVIRONMENT;
    char preferred[IF_NAMESIZE];
    tcp_default_interface(preferred);
    for (int order = 0; order <= 2; order++)
        tcp_location_add(location, interfaces, &endpoint, preferred, order, TCP_REACH_ALL);
    tcp_location_add(location, interfaces, &endpoint, preferred, 0, TCP_REACH_HOST);
    freeifaddrs(interfaces);
    return MUSTER_OK;
}
