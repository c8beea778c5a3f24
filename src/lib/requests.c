/* Requests: test, wait, cancel, completion callbacks. */
#include "lib/check.h"

/* Its engine, locked, where the handle can be used; NULL where it cannot. */
static engine_t *requests_lock(const muster_request_t *request)
{
    if (!check_request(request))
        return NULL;
    engine_t *engine = request->comm->engine;
    engine_lock(engine);
    if (request_is_given(request))
        return engine;
    engine_unlock(engine);
    return NULL;
}

muster_status_t muster_test(muster_request_t *request)
{
    engine_t *engine = requests_lock(request);
    if (!engine)
        return MUSTER_INVALID_HANDLE;
    request_visit(request);
    if (request->state != REQUEST_FINISHED)
        engine_progress(engine);
    muster_status_t status = request->status;
    request_leave(request);
    engine_unlock(engine);
    return status;
}

typedef struct requests_set {
    muster_request_t *const *requests;
    size_t count;
    size_t index;
    bool calling; /* inside a callback: does not wait for another to return */
} requests_set_t;

static bool requests_settled(const requests_set_t *set, const muster_request_t *request)
{
    return set->calling ? request->state == REQUEST_FINISHED : request_is_settled(request);
}

static bool requests_any(void *argument)
{
    requests_set_t *set = argument;
    for (size_t i = 0; i < set->count; i++) {
        if (set->requests[i] && requests_settled(set, set->requests[i])) {
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
        if (set->requests[set->index] && !requests_settled(set, set->requests[set->index]))
            return false;
    return true;
}

/* Where the time is over, an outcome is one though its callback has not returned. */
static bool requests_wait(engine_t *engine, bool (*done)(void *argument), requests_set_t *set,
                          muster_timeout_t timeout)
{
    if (engine_wait(engine, done, set, engine_deadline(engine, timeout, INT64_MAX)))
        return true;
    set->calling = true;
    return done(set);
}

/*
 * All of one context; NULL entries are passed over. The engine of the first, locked, or NULL: none,
 * or not valid.
 */
static engine_t *requests_lock_all(muster_request_t *const *requests, size_t count, bool *valid)
{
    engine_t *engine = NULL;
    *valid = requests || count == 0;
    for (size_t i = 0; *valid && i < count; i++) {
        if (!requests[i])
            continue;
        *valid = check_request(requests[i]) && (!engine || engine == requests[i]->comm->engine);
        if (*valid && !engine)
            engine_lock(engine = requests[i]->comm->engine);
        *valid = *valid && request_is_given(requests[i]);
    }
    if (!*valid && engine)
        engine_unlock(engine);
    return *valid ? engine : NULL;
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

muster_status_t muster_wait(muster_request_t *request, muster_timeout_t timeout)
{
    engine_t *engine = requests_lock(request);
    if (!engine)
        return MUSTER_INVALID_HANDLE;
    muster_status_t status = MUSTER_INVALID_ARGUMENT;
    if (check_timeout(timeout)) {
        requests_set_t set = {&request, 1, 0, request_is_calling(engine)};
        request_visit(request);
        requests_wait(engine, requests_all, &set, timeout);
        status = request->status;
        request_leave(request);
    }
    engine_unlock(engine);
    return status;
}

muster_status_t muster_wait_any(muster_request_t *const *requests, size_t count,
                                muster_timeout_t timeout, size_t *index)
{
    bool valid;
    engine_t *engine = requests_lock_all(requests, count, &valid);
    if (!valid)
        return MUSTER_INVALID_HANDLE;
    if (!engine)
        return MUSTER_INVALID_ARGUMENT;
    if (!index || !check_timeout(timeout)) {
        engine_unlock(engine);
        return MUSTER_INVALID_ARGUMENT;
    }
    requests_set_t set = {requests, count, 0, request_is_calling(engine)};
    muster_status_t status = MUSTER_IN_PROGRESS;
    requests_visit_all(requests, count);
    if (requests_wait(engine, requests_any, &set, timeout)) {
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
    engine_t *engine = requests_lock_all(requests, count, &valid);
    if (!valid)
        return MUSTER_INVALID_HANDLE;
    if (!engine)
        return check_timeout(timeout) ? MUSTER_OK : MUSTER_INVALID_ARGUMENT;
    if (!check_timeout(timeout)) {
        engine_unlock(engine);
        return MUSTER_INVALID_ARGUMENT;
    }
    requests_set_t set = {requests, count, 0, request_is_calling(engine)};
    muster_status_t status = MUSTER_IN_PROGRESS;
    requests_visit_all(requests, count);
    if (requests_wait(engine, requests_all, &set, timeout)) {
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
    engine_t *engine = requests_lock(request);
    if (!engine)
        return MUSTER_INVALID_HANDLE;
    if (request->state != REQUEST_FINISHED)
        request_cancel(request);
    engine_unlock(engine);
    return MUSTER_OK;
}

const muster_failure_t *muster_request_failure(const muster_request_t *request)
{
    engine_t *engine = requests_lock(request);
    if (!engine)
        return NULL;
    bool failed = request->state == REQUEST_FINISHED && request->status != MUSTER_OK;
    engine_unlock(engine);
    return failed ? &request->failure : NULL;
}

muster_status_t muster_request_on_complete(muster_request_t *request, muster_completion_t function,
                                           void *argument)
{
    engine_t *engine = requests_lock(request);
    if (!engine)
        return MUSTER_INVALID_HANDLE;
    if (function && request->state == REQUEST_FINISHED) {
        request_run_callback(request, function, argument);
    } else if (function) {
        request->on_complete = function;
        request->on_complete_argument = argument;
    }
    engine_unlock(engine);
    return function ? MUSTER_OK : MUSTER_INVALID_ARGUMENT;
}

void muster_request_destroy(muster_request_t *request)
{
    engine_t *engine = requests_lock(request);
    if (!engine)
        return;
    request_visit(request);
    while (request_is_called(request) && !request_is_calling(engine))
        engine_await(engine);
    request_release(request); /* nothing where the callback has done it */
    request_leave(request);
    engine_unlock(engine);
}
