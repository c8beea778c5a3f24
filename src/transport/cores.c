#include "transport/cores.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORES_AFFINITY_MAX 65536
#define CORES_DEPTH_MAX 64 /* of nested cgroups */

/* Reads the beginning of a small file as text; false where it cannot be read. */
static bool cores_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, size - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return true;
}

static uint32_t cores_affinity(void)
{
    for (size_t processors = 1024; processors <= CORES_AFFINITY_MAX; processors *= 4) {
        cpu_set_t *set = CPU_ALLOC(processors);
        if (set == NULL)
            break;
        size_t size = CPU_ALLOC_SIZE(processors);
        int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return (uint32_t)count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

/* The quota in one directory of the cgroup tree; UINT32_MAX: none. */
static uint32_t cores_quota(const char *directory)
{
    char path[PATH_MAX + 32];
    char text[64];
    unsigned long long quota, period;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", directory);
    if (!cores_read(path, text, sizeof text) || sscanf(text, "%llu %llu", &quota, &period) != 2 ||
        period == 0)
        return UINT32_MAX;
    unsigned long long whole = quota / period;
    return whole < 1 ? 1 : whole > UINT32_MAX ? UINT32_MAX : (uint32_t)whole;
}

uint32_t cores_usable(void)
{
    uint32_t least = cores_affinity();
    char text[PATH_MAX];
    char *directory = NULL;
    if (cores_read("/proc/self/cgroup", text, sizeof text)) {
        directory = strstr(text, "0::/");
        if (directory != NULL) {
            directory += strlen("0::");
            directory[strcspn(directory, "\n")] = '\0';
        }
    }
    /* From the own group up to the root: each may limit those below it. */
    for (int depth = 0; directory != NULL && depth < CORES_DEPTH_MAX; depth++) {
        uint32_t quota = cores_quota(directory);
        if (quota < least)
            least = quota;
        char *last = strrchr(directory, '/');
        if (last == NULL || last[1] == '\0')
            break;
        if (last == directory)
            last[1] = '\0';
        else
            *last = '\0';
    }
    return least;
}
