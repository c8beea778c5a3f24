/* Buffers between guard pages. */
#include "guarded.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARDED_PAGE ((size_t)4096)
#define GUARDED_BESIDE 64 /* bytes beside a buffer that are looked at */
#define GUARDED_FILL 0xa5

typedef struct region {
    struct region *next;
    unsigned char *begin; /* behind the first guard page */
    size_t room;
    bool taken;
} region_t;

static _Thread_local region_t *regions;

static region_t *guarded_map(size_t room)
{
    region_t *region = calloc(1, sizeof *region);
    unsigned char *pages = mmap(NULL, room + 2 * GUARDED_PAGE, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!region || pages == MAP_FAILED ||
        mprotect(pages + GUARDED_PAGE, room, PROT_READ | PROT_WRITE) != 0) {
        perror("guard pages");
        abort();
    }
    *region = (region_t){regions, pages + GUARDED_PAGE, room, false};
    regions = region;
    return region;
}

/* The part beside the buffer that lies in its own pages. */
static unsigned char *guarded_beside(const guarded_t *memory, size_t *length)
{
    const region_t *region = memory->region;
    size_t slack = region->room - memory->size;
    *length = slack < GUARDED_BESIDE ? slack : GUARDED_BESIDE;
    return memory->bytes == region->begin && slack > 0 ? memory->bytes + memory->size
                                                       : memory->bytes - *length;
}

guarded_t guarded_take(size_t size, bool at_end)
{
    size_t room = (size + GUARDED_PAGE) / GUARDED_PAGE * GUARDED_PAGE, length;
    region_t *best = NULL;
    for (region_t *region = regions; region; region = region->next)
        if (!region->taken && region->room >= room && (!best || region->room < best->room))
            best = region;
    if (!best)
        best = guarded_map(room);
    best->taken = true;
    guarded_t memory = {at_end ? best->begin + best->room - size : best->begin, size, best};
    unsigned char *beside = guarded_beside(&memory, &length);
    memset(beside, GUARDED_FILL, length);
    return memory;
}

bool guarded_give(guarded_t *memory)
{
    if (!memory->region)
        return true;
    size_t length;
    const unsigned char *beside = guarded_beside(memory, &length);
    bool whole = true;
    for (size_t i = 0; i < length; i++)
        whole = whole && beside[i] == GUARDED_FILL;
    ((region_t *)memory->region)->taken = false;
    *memory = (guarded_t){0};
    return whole;
}

void guarded_release_all(void)
{
    while (regions) {
        region_t *region = regions;
        regions = region->next;
        munmap(region->begin - GUARDED_PAGE, region->room + 2 * GUARDED_PAGE);
        free(region);
    }
}
