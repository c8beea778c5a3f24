/*
 * The launcher's job. The descriptor in MUSTER_CONTROL_FD is a door, not a connection: it may be
 * shared by all processes of a rank (a shell and what it starts), and a program may join more than
 * once. Who joins makes a pair of sockets, keeps one and passes the other through the door.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "boot/boot_fork.h"
#include "boot/boot_state.h"

static int parse_descriptor(const char *text)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || number < 0 || number > INT32_MAX)
        return -1;
    return (int)number;
}

static bool is_door(int fd)
{
    int domain, type;
    socklen_t domain_size = sizeof domain, type_size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_SEQPACKET;
}

static bool pass_through(int door, int fd)
{
    char byte = 'M';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    ssize_t sent;
    do {
        sent = sendmsg(door, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1;
}

muster_status_t boot_open_launcher(boot_t *boot, const char *descriptor, int64_t deadline_ns,
                                   muster_failure_t *failure)
{
    int pair[2];
    int door = parse_descriptor(descriptor);
    if (door < 0) {
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "MUSTER_CONTROL_FD is \"%.40s\", which is no descriptor", descriptor);
    }
    if (!is_door(door)) {
        return boot_fail(
            failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK,
            "MUSTER_CONTROL_FD names descriptor %d, which is not the launcher's: it was "
            "closed, or the variable was inherited from another job",
            door);
    }
    if (!boot_fork_pair(pair)) {
        return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK,
                         "cannot make a connection to the launcher: %s", strerror(errno));
    }
    bool passed = pass_through(door, pair[1]);
    int reason = errno;
    boot_fork_close(pair[1]);
    if (!passed) {
        boot_fork_close(pair[0]);
        return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK,
                         "cannot connect to the launcher, it seems to have ended: %s",
                         strerror(reason));
    }
    if (!boot_link_open(&boot->link, pair[0], CONTROL_FRAME_MAX)) {
        return boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
    }
    boot->launched = true;
    muster_status_t status = boot_join(boot, "the launcher", deadline_ns, failure);
    if (status != MUSTER_OK)
        return status;
    if (!boot_watch(boot)) {
        return boot_fail(failure, MUSTER_ENVIRONMENT, boot->rank,
                         "cannot watch the connection to the launcher: %s", strerror(errno));
    }
    return MUSTER_OK;
}
