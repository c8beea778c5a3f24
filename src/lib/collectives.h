/* What the operations' functions have in common: from arguments to an outcome. */
#ifndef MUSTER_LIB_COLLECTIVES_H
#define MUSTER_LIB_COLLECTIVES_H

#include "engine/request.h"

/* The blocking form: checks, starts and waits. Fills call->failure where it fails. */
muster_status_t collectives_run(muster_comm_t *comm, request_arguments_t *arguments,
                                const muster_call_t *call);

/* The nonblocking form: checks and starts; *request is the caller's. */
muster_status_t collectives_post(muster_comm_t *comm, request_arguments_t *arguments,
                                 const muster_call_t *call, muster_request_t **request);

/*
 * X-macro: one body for both forms. PARAMETERS and the designated initializers of the arguments.
 */
#define COLLECTIVE(name, PARAMETERS, ...)                                                          \
    muster_status_t muster_##name PARAMETERS(const muster_call_t *call)                            \
    {                                                                                              \
        request_arguments_t arguments = {__VA_ARGS__};                                             \
        return collectives_run(comm, &arguments, call);                                            \
    }                                                                                              \
    muster_status_t muster_i##name PARAMETERS(const muster_call_t *call,                           \
                                              muster_request_t **request)                          \
    {                                                                                              \
        request_arguments_t arguments = {__VA_ARGS__};                                             \
        return collectives_post(comm, &arguments, call, request);                                  \
    }

#endif
