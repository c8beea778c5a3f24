#include "core/status.h"

#include <stddef.h>

static const char *const status_names[MUSTER_STATUS_COUNT] = {
#define X(name, text) "MUSTER_" #name,
    MUSTER_STATUS_LIST(X)
#undef X
};

static const char *const status_texts[MUSTER_STATUS_COUNT] = {
#define X(name, text) text,
    MUSTER_STATUS_LIST(X)
#undef X
};

const char *muster_status_name(muster_status_t status)
{
    return (size_t)status < MUSTER_STATUS_COUNT ? status_names[status] : "MUSTER_UNKNOWN";
}

const char *muster_status_text(muster_status_t status)
{
    return (size_t)status < MUSTER_STATUS_COUNT ? status_texts[status] : "not a status";
}

/* The list is ordered by scope: each bound is the last status of its group. */
status_scope_t status_scope(muster_status_t status)
{
    size_t number = (size_t)status;
    if (number <= MUSTER_REFUSED)
        return STATUS_SCOPE_CALL;
    if (number <= MUSTER_NO_MEMORY)
        return STATUS_SCOPE_GENERATION;
    if (number <= MUSTER_LOST_CONNECTION)
        return STATUS_SCOPE_COMM;
    return STATUS_SCOPE_CONTEXT; /* also what is no status: nothing is known to be sound */
}
