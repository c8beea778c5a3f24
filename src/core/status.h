/* Status names and texts come from the public list (muster.h); here is what only core needs. */
#ifndef MUSTER_CORE_STATUS_H
#define MUSTER_CORE_STATUS_H

#include "muster.h"

/* What a user has to rebuild after a status. */
typedef enum status_scope {
    STATUS_SCOPE_CALL,
    STATUS_SCOPE_GENERATION,
    STATUS_SCOPE_COMM,
    STATUS_SCOPE_CONTEXT
} status_scope_t;
status_scope_t status_scope(muster_status_t status);

#endif
