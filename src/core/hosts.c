#include "core/hosts.h"

#include "core/assertion.h"
#include "core/split.h"

#define HOSTS_MOST ((uint64_t)INT32_MAX)

typedef struct hosts_scan {
    const char *text;
    size_t length, place;
    const char *reason;
} hosts_scan_t;

static bool hosts_refuse(hosts_scan_t *scan, const char *reason)
{
    scan->reason = reason;
    return false;
}

static bool hosts_number(hosts_scan_t *scan, uint32_t *number)
{
    uint64_t value = 0;
    size_t begin = scan->place;
    while (scan->place < scan->length && scan->text[scan->place] >= '0' &&
           scan->text[scan->place] <= '9') {
        value = value * 10 + (uint64_t)(scan->text[scan->place] - '0');
        if (value > HOSTS_MOST)
            return hosts_refuse(scan, "this number is too large");
        scan->place++;
    }
    if (scan->place == begin)
        return hosts_refuse(scan, "a number has to stand here");
    if (value == 0) {
        scan->place = begin;
        return hosts_refuse(scan, "0 is no number of ranks or hosts");
    }
    *number = (uint32_t)value;
    return true;
}

static bool hosts_accept(hosts_scan_t *scan, char c)
{
    if (scan->place == scan->length || scan->text[scan->place] != c)
        return false;
    scan->place++;
    return true;
}

static bool hosts_scan_all(hosts_scan_t *scan, hosts_t *hosts)
{
    uint64_t total = 0;
    bool list = false;
    do {
        if (hosts->run_count == HOSTS_RUNS_MAX)
            return hosts_refuse(scan, "there are more than 64 parts");
        uint32_t ranks, count = 1;
        if (!hosts_number(scan, &ranks))
            return false;
        if (hosts_accept(scan, '*')) {
            list = true;
            if (!hosts_number(scan, &count))
                return false;
        }
        total += (uint64_t)ranks * count;
        if (total > HOSTS_MOST)
            return hosts_refuse(scan, "these are more ranks than a job can have");
        hosts->runs[hosts->run_count].ranks = ranks;
        hosts->runs[hosts->run_count++].hosts = count;
    } while (hosts_accept(scan, ','));
    if (scan->place < scan->length)
        return hosts_refuse(scan, "only numbers, * and commas can stand here");
    if (hosts->run_count == 1 && !list)
        *hosts = (hosts_t){.even = hosts->runs[0].ranks};
    return true;
}

muster_status_t hosts_parse(const char *text, size_t length, hosts_t *hosts, size_t *position,
                            const char **reason)
{
    hosts_scan_t scan = {.text = text, .length = length};
    hosts_t parsed = {0};
    if (hosts_scan_all(&scan, &parsed)) {
        *hosts = parsed;
        return MUSTER_OK;
    }
    if (position != NULL)
        *position = scan.place;
    if (reason != NULL)
        *reason = scan.reason;
    return MUSTER_INVALID_ARGUMENT;
}

void hosts_print(const hosts_t *hosts, text_t *text)
{
    if (hosts->even > 0)
        text_number(text, hosts->even);
    for (uint32_t i = 0; i < hosts->run_count; i++) {
        if (i > 0)
            text_character(text, ',');
        text_number(text, hosts->runs[i].ranks);
        if (hosts->runs[i].hosts > 1 || hosts->run_count == 1) {
            text_character(text, '*');
            text_number(text, hosts->runs[i].hosts);
        }
    }
}

uint32_t hosts_count(const hosts_t *hosts, uint32_t ranks)
{
    if (hosts->even > 0)
        return hosts->even <= ranks ? hosts->even : 0;
    uint64_t count = 0, total = 0;
    for (uint32_t i = 0; i < hosts->run_count; i++) {
        count += hosts->runs[i].hosts;
        total += (uint64_t)hosts->runs[i].ranks * hosts->runs[i].hosts;
    }
    return total == ranks ? (uint32_t)count : 0;
}

void hosts_fill(const hosts_t *hosts, uint32_t ranks, uint32_t *first)
{
    uint32_t count = hosts_count(hosts, ranks), host = 0;
    MUSTER_ASSERT(count > 0);
    first[0] = 0;
    for (; hosts->even > 0 && host < count; host++)
        first[host + 1] = (uint32_t)split_block(ranks, count, host + 1);
    for (uint32_t i = 0; i < hosts->run_count; i++)
        for (uint32_t j = 0; j < hosts->runs[i].hosts; j++, host++)
            first[host + 1] = first[host] + hosts->runs[i].ranks;
}

uint32_t hosts_of(const hosts_t *hosts, uint32_t ranks, uint32_t rank)
{
    MUSTER_ASSERT(rank < ranks);
    if (hosts->even > 0)
        return hosts->even == 1 ? 0 : split_classify(ranks, hosts->even, rank);
    uint32_t host = 0, before = 0;
    for (uint32_t i = 0; i < hosts->run_count; i++) {
        uint32_t run = hosts->runs[i].ranks * hosts->runs[i].hosts;
        if (rank < before + run)
            return host + (rank - before) / hosts->runs[i].ranks;
        before += run;
        host += hosts->runs[i].hosts;
    }
    return host;
}
