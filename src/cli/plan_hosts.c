/* muster plan: where ranks are. */
#include <stdlib.h>
#include <string.h>

#include "cli/plan.h"
#include "core/hosts.h"

uint32_t *plan_hosts(const char *text, uint32_t ranks, uint32_t *count, const char **why)
{
    hosts_t hosts;
    if (hosts_parse(text, strlen(text), &hosts, NULL, why) != MUSTER_OK)
        return NULL;
    *count = hosts_count(&hosts, ranks);
    *why = hosts.even > 0 ? "there are more hosts than ranks"
                          : "the ranks on these hosts are not as many as the team's";
    if (*count == 0)
        return NULL;
    uint32_t *first = malloc(((size_t)*count + 1) * sizeof *first);
    *why = "there is no memory";
    if (first != NULL)
        hosts_fill(&hosts, ranks, first);
    return first;
}
