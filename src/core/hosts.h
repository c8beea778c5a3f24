/*
 * Where ranks are, as text: "12": ranks are on 12 hosts, as evenly as can be; "7,8,7": so many on
 * each; "8*12": 8 on each of 12 hosts; and lists of both.
 */
#ifndef MUSTER_CORE_HOSTS_H
#define MUSTER_CORE_HOSTS_H

#include "core/text.h"
#include "muster.h"

#define HOSTS_RUNS_MAX 64

typedef struct hosts {
    uint32_t even;      /* hosts among which any number of ranks is divided; 0: runs */
    uint32_t run_count; /* 0 with even 0: nothing is said */
    struct {
        uint32_t ranks; /* on each */
        uint32_t hosts;
    } runs[HOSTS_RUNS_MAX];
} hosts_t;

/*
 * INVALID_ARGUMENT, hosts untouched: *position is the byte from 0, *reason a constant. Both may be
 * NULL.
 */
muster_status_t hosts_parse(const char *text, size_t length, hosts_t *hosts, size_t *position,
                            const char **reason);
/* As parse takes it. */
void hosts_print(const hosts_t *hosts, text_t *text);

/* Hosts that ranks ranks are on; 0: nothing is said, or it is said of another number of ranks. */
uint32_t hosts_count(const hosts_t *hosts, uint32_t ranks);
/* The first rank of each host, and ranks behind them: hosts_count + 1 numbers. */
void hosts_fill(const hosts_t *hosts, uint32_t ranks, uint32_t *first);
/* The host of a rank, where hosts_count is not 0. */
uint32_t hosts_of(const hosts_t *hosts, uint32_t ranks, uint32_t rank);

#endif
