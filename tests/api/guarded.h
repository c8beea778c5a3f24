/*
 * Memory between two pages that nobody may touch: whoever writes beyond a buffer's end or before
 * its beginning is stopped at once. Regions are kept by the thread that took them, and used again.
 */
#ifndef MUSTER_TESTS_API_GUARDED_H
#define MUSTER_TESTS_API_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct guarded {
    unsigned char *bytes; /* never NULL, also where size is 0 */
    size_t size;
    void *region; /* the memory's owner */
} guarded_t;

/*
 * size bytes; at_end: they end where the guard page begins, else they begin where one ends. size is
 * a multiple of the alignment that the contents need.
 */
guarded_t guarded_take(size_t size, bool at_end);
/* Gives it back; false: bytes beside it, within its pages, have been changed. */
bool guarded_give(guarded_t *memory);
/* Of this thread. */
void guarded_release_all(void);

#endif
