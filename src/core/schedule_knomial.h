/*
 * The k-nomial tree: where ranks stand in it. Places are ranks counted from the top's on, around.
 * Written with radix k, a place's parent is the place with the lowest digit that is not 0 made 0;
 * where that is digit p, the place speaks for the k^p places from its own on, as far as there are
 * any. The tree of k = 2 is the binomial one (Johnsson and Ho, "Optimum broadcasting and
 * personalized communication in hypercubes", 1989).
 */
#ifndef MUSTER_CORE_SCHEDULE_KNOMIAL_H
#define MUSTER_CORE_SCHEDULE_KNOMIAL_H

#include "core/schedule.h"

typedef struct schedule_knomial_place {
    uint32_t size, radix;
    uint32_t top;     /* the rank at place 0 */
    uint32_t place;   /* the rank's */
    uint32_t parent;  /* place; of place 0: 0 */
    uint32_t level;   /* p: it meets its parent in round p, children in rounds below */
    uint32_t span;    /* places that it speaks for */
    uint32_t highest; /* p of the last round of the tree */
} schedule_knomial_place_t;

/* The radix of a request: its first factor, or 2. */
uint32_t schedule_knomial_radix(const schedule_request_t *request);
/* Where the tree's top is: the root, or rank 0 where a result is to be relayed (rank order). */
uint32_t schedule_knomial_top(const schedule_request_t *request);
/* Whether rank 0 decides in a data phase; no decision is appended then. */
bool schedule_knomial_decides_on_the_way(const schedule_request_t *request);

/* A rank alone is at the top, and has no children. */
schedule_knomial_place_t schedule_knomial_at(uint32_t size, uint32_t radix, uint32_t top,
                                             uint32_t rank);
/* The same from the top on, which is at place 0. */
schedule_knomial_place_t schedule_knomial_at_place(const schedule_knomial_place_t *top,
                                                   uint32_t place);
uint32_t schedule_knomial_rank(const schedule_knomial_place_t *at, uint32_t place);
/* The place's children in a round below its level: how many, the first, and how far apart. */
typedef struct schedule_knomial_round {
    uint32_t count;
    uint32_t first;
    uint32_t stride; /* places that each speaks for; the last one, as far as there are any */
} schedule_knomial_round_t;
schedule_knomial_round_t schedule_knomial_children(const schedule_knomial_place_t *at,
                                                   uint32_t round);
/*
 * The child of place 0 that speaks for ranks at both ends, the last one and rank 0; false where
 * there is none. Its blocks do not lie side by side at the top.
 */
bool schedule_knomial_wraps(const schedule_knomial_place_t *top, uint32_t *child, uint32_t *span);

#endif
