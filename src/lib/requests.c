/* Requests: test, wait, cancel, completion callbacks. */
#include "lib/check.h"

static bool requests_finished(void *argument)
{
    return ((const muster_request_t *)argument)->state == REQUEST_FINISHED;
}

muster_status_t muster_test(muster_request_t *request)
{
    if (!check_request(request))
        return MUSTER_INVALID_HANDLE;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    request_visit(request);
    if (request->state != REQUEST_FINISHED)
        engine_progress(engine);
    muster_status_t status = request->status;
    request_leave(request);
    engine_unlock(engine);
    return status;
}

muster_status_t muster_wait(muster_request_t *request, muster_timeout_t timeout)
{
    if (!check_request(request))
        return MUSTER_INVALID_HANDLE;
    if (!check_timeout(timeout))
        return MUSTER_INVALID_ARGUMENT;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    request_visit(request);
    engine_wait(engine, requests_finished, request, engine_deadline(engine, timeout, INT64_MAX));
    muster_status_t status = request->status;
    request_leave(request);
    engine_unlock(engine);
    return status;
}

typedef struct requests_set {
    muster_request_t *const *requests;
    size_t count;
    size_t index;
} requests_set_t;

static bool requests_any(void *argument)
{
    requests_set_t *set = argument;
    for (size_t i = 0; i < set->count; i++) {
        if (set->requests[i] && set->requests[i]->state == REQUEST_FINISHED) {
            set->index = i;
            return true;
        }
    }
    return false;
}

static bool requests_all(void *argument)
{
    requests_set_t *set = argument;
    for (; set->index < set->count; set->index++)
        if (set->requests[set->index] && set->requests[set->index]->state != REQUEST_FINISHED)
            return false;
    return true;
}

/* All of one context; NULL entries are passed over. The engine of the first, or NULL. */
static engine_t *requests_engine(muster_request_t *const *requests, size_t count, bool *valid)
{
    engine_t *engine = NULL;
    *valid = requests || count == 0;
    for (size_t i = 0; *valid && i < count; i++) {
        if (!requests[i])
            continue;
        *valid = check_request(requests[i]) && (!engine || engine == requests[i]->comm->engine);
        if (*valid)
            engine = requests[i]->comm->engine;
    }
    return engine;
}

/* With the lock. */
static void requests_visit_all(muster_request_t *const *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (requests[i])
            request_visit(requests[i]);
}

static void requests_leave_all(muster_request_t *const *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (requests[i])
            request_leave(requests[i]);
}

muster_status_t muster_wait_any(muster_request_t *const *requests, size_t count,
                                muster_timeout_t timeout, size_t *index)
{
    bool valid;
    engine_t *engine = requests_engine(requests, count, &valid);
    if (!valid)
        return MUSTER_INVALID_HANDLE;
    if (!engine || !index || !check_timeout(timeout))
        return MUSTER_INVALID_ARGUMENT;
    requests_set_t set = {requests, count, 0};
    muster_status_t status = MUSTER_IN_PROGRESS;
    engine_lock(engine);
    requests_visit_all(requests, count);
    if (engine_wait(engine, requests_any, &set, engine_deadline(engine, timeout, INT64_MAX))) {
        status = requests[set.index]->status;
        *index = set.index;
    }
    requests_leave_all(requests, count);
    engine_unlock(engine);
    return status;
}

muster_status_t muster_wait_all(muster_request_t *const *requests, size_t count,
                                muster_timeout_t timeout)
{
    bool valid;
    engine_t *engine = requests_engine(requests, count, &valid);
    if (!valid)
        return MUSTER_INVALID_HANDLE;
    if (!check_timeout(timeout))
        return MUSTER_INVALID_ARGUMENT;
    if (!engine)
        return MUSTER_OK;
    requests_set_t set = {requests, count, 0};
    muster_status_t status = MUSTER_IN_PROGRESS;
    engine_lock(engine);
    requests_visit_all(requests, count);
    if (engine_wait(engine, requests_all, &set, engine_deadline(engine, timeout, INT64_MAX))) {
        status = MUSTER_OK;
        for (size_t i = 0; i < count && status == MUSTER_OK; i++)
            if (requests[i])
                status = requests[i]->status;
    }
    requests_leave_all(requests, count);
    engine_unlock(engine);
    return status;
}

muster_status_t muster_cancel(muster_request_t *request)
{
    if (!check_request(request))
        return MUSTER_INVALID_HANDLE;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    if (request->state != REQUEST_FINISHED)
        request_cancel(request);
    engine_unlock(engine);
    return MUSTER_OK;
}

const muster_failure_t *muster_request_failure(const muster_request_t *request)
{
    if (!check_request(request))
        return NULL;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    bool failed = request->state == REQUEST_FINISHED && request->status != MUSTER_OK;
    engine_unlock(engine);
    return failed ? &request->failure : NULL;
}

muster_status_t muster_request_on_complete(muster_request_t *request, muster_completion_t function,
                                           void *argument)
{
    if (!check_request(request))
        return MUSTER_INVALID_HANDLE;
    if (!function)
        return MUSTER_INVALID_ARGUMENT;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    bool finished = request->state == REQUEST_FINISHED;
    muster_status_t status = request->status;
    if (!finished) {
        request->on_complete = function;
        request->on_complete_argument = argument;
    }
    engine_unlock(engine);
    if (finished)
        function(request, status, argument);
    return MUSTER_OK;
}

void muster_request_destroy(muster_request_t *request)
{
    if (!check_request(request))
        return;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    request_release(request);
    engine_unlock(engine);
}
