/*
 * Descriptors that end with this process. A forked child inherits all descriptors, and as long as
 * it holds a connection the other side does not see that the rank has ended; closing on exec does
 * not help where nothing is executed. So boot's descriptors are made and closed here, and a handler
 * of fork closes them in the child.
 *
 * What is written down for that is the one thing of which a process has one; it is empty again when
 * the last descriptor is closed. Any thread; the lock is held for single system calls that do not
 * block, and while fork runs. Processes made by _Fork, vfork or clone do not run the handler.
 */
#ifndef MUSTER_BOOT_BOOT_FORK_H
#define MUSTER_BOOT_BOOT_FORK_H

#include <stdbool.h>

/*
 * Each makes descriptors that close on exec and on fork; -1 or false: errno says why, and nothing
 * is open. Sockets are nonblocking, those of a pair are not.
 */
int boot_fork_socket(int family);
int boot_fork_accept(int listener);
int boot_fork_epoll(void);
bool boot_fork_pair(int pair[2]);

/* Closes one of them. Not in a child that has inherited it: there it is closed. */
void boot_fork_close(int fd);

#endif
