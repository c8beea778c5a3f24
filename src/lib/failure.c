/* Failures as text. */
#include <stdio.h>

#include "muster.h"

size_t muster_failure_print(const muster_failure_t *failure, char *text, size_t size)
{
    if (!failure) {
        int length = snprintf(text, size, "no failure");
        return length > 0 ? (size_t)length : 0;
    }
    char where[MUSTER_HOST_MAX + 48] = "";
    if (failure->rank != MUSTER_NO_RANK && failure->host[0])
        snprintf(where, sizeof where, " (rank %u: process %u on %s)", failure->rank, failure->pid,
                 failure->host);
    const char *message =
        failure->message[0] ? failure->message : muster_status_text(failure->status);
    int length =
        snprintf(text, size, "%s: %s%s", muster_status_name(failure->status), message, where);
    return length > 0 ? (size_t)length : 0;
}
