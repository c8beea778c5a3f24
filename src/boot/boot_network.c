/* What rank 0 of the environment and the others do alike with their sockets. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <sodium.h>

#include "boot/boot_network.h"

void boot_format_endpoint(const struct addrinfo *address, char text[BOOT_ENDPOINT_MAX])
{
    char host[64], port[8];
    if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        snprintf(text, BOOT_ENDPOINT_MAX, "?");
        return;
    }
    snprintf(text, BOOT_ENDPOINT_MAX, address->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
             port);
}

void boot_prepare_socket(int fd)
{
    int one = 1, idle = BOOT_SILENCE_MS / 4000, interval = idle, count = 3;
    unsigned silence = BOOT_SILENCE_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    /* While bytes are under way there are no probes. */
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
}

static void make_mac(void *context, const uint8_t *bytes, size_t length,
                     uint8_t mac[HANDSHAKE_MAC_SIZE])
{
    const boot_t *boot = context;
    crypto_generichash(mac, HANDSHAKE_MAC_SIZE, bytes, length, boot->hub_key, sizeof boot->hub_key);
}

void boot_identify(boot_t *boot, uint32_t number, handshake_identity_t *identity)
{
    *identity = (handshake_identity_t){.version = CONTROL_VERSION,
                                       .rank = number,
                                       .size = boot->size,
                                       .mac = make_mac,
                                       .mac_context = boot};
    memcpy(identity->job, boot->hub_name, sizeof identity->job);
}

/* false: the connection is broken. */
static bool say(int fd, handshake_t *handshake)
{
    const uint8_t *bytes;
    for (size_t length; (length = handshake_output(handshake, &bytes)) > 0;) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        handshake_sent(handshake, (size_t)sent);
    }
    return true;
}

boot_move_t boot_move_handshake(int fd, handshake_t *handshake)
{
    const uint8_t *unsent;
    uint8_t bytes[HANDSHAKE_MESSAGE_MAX];
    for (;;) {
        if (!say(fd, handshake))
            return BOOT_MOVE_BROKEN;
        if (handshake_output(handshake, &unsent) > 0)
            return BOOT_MOVE_WAITS;
        if (handshake->state != HANDSHAKE_OPEN)
            return BOOT_MOVE_MADE;
        ssize_t got = recv(fd, bytes, handshake_wants(handshake), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return BOOT_MOVE_WAITS;
        if (got <= 0)
            return BOOT_MOVE_BROKEN;
        handshake_input(handshake, bytes, (size_t)got);
    }
}
