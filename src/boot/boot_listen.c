/* Where rank 0 of the environment listens. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "boot/boot_fork.h"
#include "boot/boot_network.h"

#define BACKLOG 4096

/* 0: it listens. Otherwise errno. */
static int listen_at(boot_listeners_t *listeners, const struct addrinfo *address)
{
    int one = 1;
    int fd = boot_fork_socket(address->ai_family);
    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int reason = errno;
        boot_fork_close(fd);
        return reason;
    }
    listeners->fds[listeners->count++] = fd;
    return 0;
}

/* At as many as this host has of them; the others may try any. */
static muster_status_t listen_at_each(boot_listeners_t *listeners, const struct addrinfo *addresses,
                                      muster_failure_t *failure)
{
    unsigned before = listeners->count;
    int worst = EADDRNOTAVAIL;
    char endpoint[BOOT_ENDPOINT_MAX] = "";
    for (; addresses != NULL && listeners->count < BOOT_LISTENERS_MAX;
         addresses = addresses->ai_next) {
        int reason = listen_at(listeners, addresses);
        if (reason == 0)
            continue;
        worst = reason;
        boot_format_endpoint(addresses, endpoint);
        if (reason == EADDRINUSE)
            break;
    }
    if (listeners->count > before && worst != EADDRINUSE)
        return MUSTER_OK;
    muster_status_t status = worst == EADDRINUSE      ? MUSTER_ADDRESS_IN_USE
                             : worst == EADDRNOTAVAIL ? MUSTER_ADDRESS_NOT_AVAILABLE
                                                      : MUSTER_ENVIRONMENT;
    return boot_fail(failure, status, 0,
                     "rank 0 cannot listen at %s (MASTER_ADDR, MASTER_PORT or MUSTER_PORT): %s",
                     endpoint, strerror(worst));
}

/* name: numeric; NULL: all that this host has. */
static muster_status_t listen_at_name(boot_listeners_t *listeners, const char *name,
                                      const char *port, muster_failure_t *failure)
{
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST | AI_PASSIVE};
    int error = getaddrinfo(name, port, &hints, &found);
    if (error != 0 && name)
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, 0,
                         "MUSTER_BIND_ADDRESS is \"%.100s\", which is no numeric address", name);
    if (error != 0)
        return boot_fail(failure, MUSTER_ENVIRONMENT, 0,
                         "rank 0 cannot list this host's addresses: %s", gai_strerror(error));
    muster_status_t status = listen_at_each(listeners, found, failure);
    freeaddrinfo(found);
    return status;
}

muster_status_t boot_listen(const boot_place_t *place, boot_listeners_t *listeners,
                            muster_failure_t *failure)
{
    const char *bound = getenv("MUSTER_BIND_ADDRESS");
    listeners->count = 0;
    muster_status_t status;
    if (place->everywhere && bound == NULL)
        status = listen_at_name(listeners, NULL, place->port, failure);
    else
        status = listen_at_each(listeners, place->found, failure);
    if (status == MUSTER_OK && place->everywhere && bound != NULL)
        status = listen_at_name(listeners, bound, place->port, failure);
    if (status != MUSTER_OK)
        boot_stop_listening(listeners);
    return status;
}

void boot_stop_listening(boot_listeners_t *listeners)
{
    while (listeners->count > 0)
        boot_fork_close(listeners->fds[--listeners->count]);
}
