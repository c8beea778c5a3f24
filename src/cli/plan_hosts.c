/* muster plan: where ranks are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan.h"
#include "core/split.h"

/* A number from 1 on at *text, which moves behind it; 0: there is none. */
static uint32_t read_number(const char **text)
{
    if (**text < '0' || **text > '9')
        return 0;
    char *end;
    errno = 0;
    unsigned long number = strtoul(*text, &end, 10);
    *text = end;
    return errno == 0 && number <= INT32_MAX ? (uint32_t)number : 0;
}

static uint32_t *even_hosts(uint32_t hosts, uint32_t ranks)
{
    uint32_t *first = malloc(((size_t)hosts + 1) * sizeof *first);
    for (uint32_t host = 0; first != NULL && host <= hosts; host++)
        first[host] = (uint32_t)split_block(ranks, hosts, host);
    return first;
}

/* Appends so many hosts with so many ranks each; false: more ranks than there are. */
static bool add_hosts(uint32_t *first, uint32_t *count, uint32_t each, uint32_t times,
                      uint32_t ranks)
{
    for (uint32_t i = 0; i < times; i++) {
        if (each > ranks - first[*count])
            return false;
        first[*count + 1] = first[*count] + each;
        ++*count;
    }
    return true;
}

static const char *read_list(const char *text, uint32_t ranks, uint32_t *first, uint32_t *count)
{
    for (;;) {
        uint32_t each = read_number(&text), times = 1;
        if (each == 0)
            return "a number of ranks is missing or too large";
        if (*text == '*') {
            text++;
            times = read_number(&text);
            if (times == 0)
                return "a number of hosts is missing or too large";
        }
        if (!add_hosts(first, count, each, times, ranks))
            return "the hosts have more ranks than the team";
        if (*text == 0)
            break;
        if (*text != ',')
            return "only numbers, * and commas can stand here";
        text++;
    }
    return first[*count] == ranks ? NULL : "the hosts have fewer ranks than the team";
}

uint32_t *plan_hosts(const char *text, uint32_t ranks, uint32_t *count, const char **why)
{
    const char *at = text;
    *why = "there is no memory";
    *count = 0;
    if (strchr(text, ',') == NULL && strchr(text, '*') == NULL) {
        uint32_t hosts = read_number(&at);
        if (hosts == 0 || *at != 0 || hosts > ranks) {
            *why = "takes a number of hosts (not more than ranks), or ranks on each: 7,8 or 8*12";
            return NULL;
        }
        *count = hosts;
        return even_hosts(hosts, ranks);
    }
    uint32_t *first = calloc((size_t)ranks + 1, sizeof *first);
    if (first == NULL)
        return NULL;
    *why = read_list(text, ranks, first, count);
    if (*why == NULL)
        return first;
    free(first);
    return NULL;
}
