/* The job that the environment describes. */
#include <stdlib.h>

#include "boot/boot_state.h"

muster_status_t boot_open_environment(boot_t *boot, int64_t deadline_ns, muster_failure_t *failure)
{
    (void)deadline_ns;
    if (getenv("WORLD_SIZE") != NULL) {
        return boot_fail(failure, MUSTER_NOT_SUPPORTED, MUSTER_NO_RANK, "WORLD_SIZE is not understood yet");
    }
    return boot_set_size(boot, 0, 1) ? MUSTER_OK
                                     : boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
}
