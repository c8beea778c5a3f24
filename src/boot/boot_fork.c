#include "boot/boot_fork.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/assertion.h"

/* Under the lock, which is also held from before a fork until after it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *open_ones; /* a bit a descriptor */
static size_t size;              /* bytes of it */
static unsigned count;           /* bits that are set */
static bool has_handler;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* The bits are not freed: what another thread was doing to the heap is not known to be whole. */
static void in_child(void)
{
    for (size_t i = 0; i < size * CHAR_BIT && count > 0; i++) {
        if ((open_ones[i / CHAR_BIT] >> i % CHAR_BIT & 1) == 0)
            continue;
        close((int)i);
        count--;
    }
    if (size > 0)
        memset(open_ones, 0, size);
    pthread_mutex_unlock(&lock);
}

/* Room for the descriptor; false: errno says why. */
static bool reserve(int fd)
{
    size_t wanted = (size_t)fd / CHAR_BIT + 1;
    if (!has_handler) {
        int reason = pthread_atfork(before_fork, after_fork, in_child);
        has_handler = reason == 0;
        errno = reason;
    }
    if (!has_handler || wanted <= size)
        return has_handler;
    wanted = wanted > 2 * size ? wanted : 2 * size;
    unsigned char *grown = realloc(open_ones, wanted);
    if (grown == NULL)
        return false;
    memset(grown + size, 0, wanted - size);
    open_ones = grown;
    size = wanted;
    return true;
}

/* Under the lock. The descriptor, or -1. */
static int enter(int fd)
{
    if (fd < 0)
        return -1;
    if (!reserve(fd)) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    open_ones[fd / CHAR_BIT] |= (unsigned char)(1 << fd % CHAR_BIT);
    count++;
    return fd;
}

int boot_fork_socket(int family)
{
    pthread_mutex_lock(&lock);
    int fd = enter(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    pthread_mutex_unlock(&lock);
    return fd;
}

int boot_fork_accept(int listener)
{
    pthread_mutex_lock(&lock);
    int fd = enter(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
    pthread_mutex_unlock(&lock);
    return fd;
}

int boot_fork_epoll(void)
{
    pthread_mutex_lock(&lock);
    int fd = enter(epoll_create1(EPOLL_CLOEXEC));
    pthread_mutex_unlock(&lock);
    return fd;
}

static void leave(int fd)
{
    MUSTER_ASSERT(fd >= 0 && (size_t)fd / CHAR_BIT < size);
    unsigned char bit = (unsigned char)(1 << fd % CHAR_BIT);
    MUSTER_ASSERT((open_ones[fd / CHAR_BIT] & bit) != 0);
    open_ones[fd / CHAR_BIT] &= (unsigned char)~bit;
    close(fd);
    if (--count > 0)
        return;
    free(open_ones);
    open_ones = NULL;
    size = 0;
}

bool boot_fork_pair(int pair[2])
{
    int made[2];
    pthread_mutex_lock(&lock);
    bool good = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made) == 0;
    if (good) {
        pair[0] = enter(made[0]);
        pair[1] = enter(made[1]);
        good = pair[0] >= 0 && pair[1] >= 0;
        int reason = errno;
        for (int i = 0; i < 2 && !good; i++)
            if (pair[i] >= 0)
                leave(pair[i]);
        errno = reason;
    }
    pthread_mutex_unlock(&lock);
    return good;
}

void boot_fork_close(int fd)
{
    int reason = errno;
    pthread_mutex_lock(&lock);
    leave(fd);
    pthread_mutex_unlock(&lock);
    errno = reason;
}
