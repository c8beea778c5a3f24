/*
 * How many processors the ranks of this host may use together, for the choice between spinning and
 * sleeping.
 */
#ifndef MUSTER_TRANSPORT_CORES_H
#define MUSTER_TRANSPORT_CORES_H

#include <stdint.h>

/*
 * The processors that this process may run on (affinity), or fewer where a cgroup (version 2) or
 * one above it has a quota in cpu.max: the quota, rounded down, but at least 1. Reads a few files
 * of /proc and /sys; what cannot be read limits nothing. Any thread.
 */
uint32_t cores_usable(void);

/* One moment of a waiting loop. */
static inline void cores_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
