/* What `muster plan` asks, computes and shows: the parts of one command. */
#ifndef MUSTER_CLI_PLAN_H
#define MUSTER_CLI_PLAN_H

#include <stdio.h>

#include "core/select.h"

/* One row: a schedule that comes into question, with its figures. */
typedef struct plan_row {
    select_candidate_t candidate;
    schedule_figures_t *figures; /* owned by the list */
} plan_row_t;

typedef struct plan_question {
    schedule_request_t request; /* operation, size, hosts */
    uint64_t bytes;             /* of a vector or a block */
    select_parameters_t parameters;
    select_limits_t limits;
} plan_question_t;

/* A rank's part: messages to every peer, phase after phase, as a drawing in Graphviz's language. */
#define PLAN_DRAWN_MAX 64 /* ranks */
/* false: there was no memory. */
bool plan_draw(FILE *out, const plan_question_t *question, const select_plan_t *plan);

/*
 * Ranks on hosts from text: "12" hosts for all ranks as even as can be, "7,8,7" ranks on each,
 * "8*12" for 12 hosts of 8. first gets count + 1 entries, owned by the caller. NULL: refused, and
 * *why says what is wrong.
 */
uint32_t *plan_hosts(const char *text, uint32_t ranks, uint32_t *count, const char **why);

#endif
