/* Where ranks stand in a k-nomial tree: arithmetic, which builder and figures share. */
#include "core/assertion.h"
#include "core/schedule_knomial.h"

uint32_t schedule_knomial_radix(const schedule_request_t *request)
{
    return request->radix.count > 0 ? request->radix.factors[0] : 2;
}

uint32_t schedule_knomial_top(const schedule_request_t *request)
{
    bool in_order = request->operation == OPERATION_REDUCE && !request->commutative;
    return in_order ? 0 : request->root;
}

bool schedule_knomial_decides_on_the_way(const schedule_request_t *request)
{
    switch (request->operation) {
    case OPERATION_BROADCAST:
    case OPERATION_REDUCE:
    case OPERATION_GATHER:
    case OPERATION_GATHERV:
        return request->uniform && request->small && request->root == 0;
    default:
        return false;
    }
}

static uint32_t schedule_knomial_power(uint32_t radix, uint32_t exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0)
        power *= radix;
    MUSTER_ASSERT(power <= UINT32_MAX);
    return (uint32_t)power;
}

schedule_knomial_place_t schedule_knomial_at(uint32_t size, uint32_t radix, uint32_t top,
                                             uint32_t rank)
{
    MUSTER_ASSERT(radix >= RADIX_MIN && rank < size && top < size);
    schedule_knomial_place_t at = {.size = size, .radix = radix, .top = top, .span = size};
    for (uint32_t left = (size - 1) / radix; left > 0; left /= radix)
        ++at.highest;
    at.level = at.highest + 1;
    return schedule_knomial_at_place(&at, rank >= top ? rank - top : size - (top - rank));
}

schedule_knomial_place_t schedule_knomial_at_place(const schedule_knomial_place_t *top,
                                                   uint32_t place)
{
    MUSTER_ASSERT(top->place == 0 && place < top->size);
    schedule_knomial_place_t at = *top;
    if (place == 0)
        return at;
    uint32_t stride = 1;
    uint32_t digits = place;
    for (at.level = 0; digits % at.radix == 0; ++at.level) {
        digits /= at.radix;
        stride *= at.radix;
    }
    at.place = place;
    at.parent = place - digits % at.radix * stride;
    at.span = at.size - place < stride ? at.size - place : stride;
    return at;
}

uint32_t schedule_knomial_rank(const schedule_knomial_place_t *at, uint32_t place)
{
    uint32_t behind = at->size - at->top; /* ranks from the top to the last */
    return place < behind ? at->top + place : place - behind;
}

schedule_knomial_round_t schedule_knomial_children(const schedule_knomial_place_t *at,
                                                   uint32_t round)
{
    MUSTER_ASSERT(round < at->level);
    uint32_t stride = schedule_knomial_power(at->radix, round);
    uint32_t count = (at->size - 1 - at->place) / stride; /* as far as there are places */
    if (count > at->radix - 1)
        count = at->radix - 1;
    return (schedule_knomial_round_t){
        .count = count, .first = at->place + stride, .stride = stride};
}

bool schedule_knomial_wraps(const schedule_knomial_place_t *top, uint32_t *child, uint32_t *span)
{
    MUSTER_ASSERT(top->place == 0);
    if (top->top == 0)
        return false;
    uint32_t first = top->size - top->top; /* the place of rank 0 */
    uint32_t stride = 1;
    while (first / stride >= top->radix)
        stride *= top->radix;
    *child = first - first % stride;
    *span = top->size - *child < stride ? top->size - *child : stride;
    return *child != first;
}
