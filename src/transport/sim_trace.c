/* Chance, and the record of what happened in a simulated cluster. */
#include "transport/sim_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SIM_LINE_MAX 256

/* The splitmix64 step: a counter in golden-ratio steps through a mixing function. */
uint64_t sim_random_next(sim_random_t *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = random->state;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

uint64_t sim_random_below(sim_random_t *random, uint64_t bound)
{
    return bound == 0 ? 0 : sim_random_next(random) % bound;
}

uint64_t sim_mix(uint64_t digest, uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x9fb21c651e98df25);
    return digest ^ (digest >> 29);
}

/* Keeps the latest lines: when the room is used up, the older half goes. */
static void sim_append(sim_cluster_t *cluster, const char *line)
{
    size_t limit = cluster->options.trace_limit;
    size_t length = strlen(line);
    if (length + 1 > limit) {
        return;
    }
    if (cluster->trace_length + length + 1 > limit) {
        char *half = cluster->trace + cluster->trace_length / 2;
        char *kept = memchr(half, '\n', cluster->trace_length - cluster->trace_length / 2);
        size_t rest = 0;
        if (kept != NULL) {
            rest = cluster->trace_length - (size_t)(kept + 1 - cluster->trace);
            memmove(cluster->trace, kept + 1, rest);
        }
        cluster->trace_length = rest + length + 1 > limit ? 0 : rest;
    }
    memcpy(cluster->trace + cluster->trace_length, line, length + 1);
    cluster->trace_length += length;
}

static const char *sim_kind_name(uint8_t kind)
{
    static const char *const names[WIRE_KIND_COUNT] = {"none",
#define X(name) #name,
                                                       WIRE_KIND_LIST(X)
#undef X
    };
    return kind < WIRE_KIND_COUNT ? names[kind] : "?";
}

void sim_record(sim_cluster_t *cluster, const char *what, uint32_t rank, uint32_t peer,
                const uint8_t *header, uint64_t length)
{
    uint64_t digest = sim_mix(cluster->digest, (uint64_t)cluster->now);
    digest = sim_mix(digest, (uint64_t)rank << 32 | peer);
    for (const char *letter = what; *letter != '\0'; letter++) {
        digest = sim_mix(digest, (uint8_t)*letter);
    }
    digest = sim_mix(digest, length);
    for (size_t i = 0; header != NULL && i < WIRE_HEADER_SIZE; i += 8) {
        digest = sim_mix(digest, wire_get_u64(header + i));
    }
    cluster->digest = digest;
    if (cluster->options.trace_limit == 0) {
        return;
    }
    char line[SIM_LINE_MAX];
    if (header == NULL) {
        snprintf(line, sizeof line, "%12lld %4u %-8s %4u\n", (long long)cluster->now, rank, what,
                 peer);
    } else {
        snprintf(line, sizeof line,
                 "%12lld %4u %-8s %4u %-7s comm %u.%u generation %llu label %u [%u,%u) "
                 "source %u, %llu bytes\n",
                 (long long)cluster->now, rank, what, peer, sim_kind_name(header[0]),
                 wire_get_u32(header + 16), wire_get_u32(header + 20),
                 (unsigned long long)wire_get_u64(header + 24), header[2],
                 wire_get_u32(header + 32), wire_get_u32(header + 36), wire_get_u32(header + 40),
                 (unsigned long long)length);
    }
    sim_append(cluster, line);
}

void sim_violate(sim_cluster_t *cluster, uint32_t rank, uint32_t peer, const char *what)
{
    if (cluster->violation[0] == '\0') {
        snprintf(cluster->violation, sizeof cluster->violation, "%lld ns, rank %u, peer %u: %s",
                 (long long)cluster->now, rank, peer, what);
    }
    sim_note(cluster, "VIOLATION rank %u peer %u: %s", rank, peer, what);
}

void sim_note(sim_cluster_t *cluster, const char *format, ...)
{
    char text[SIM_LINE_MAX - 32];
    char line[SIM_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "%12lld      %s\n", (long long)cluster->now, text);
    if (cluster->options.trace_limit != 0) {
        sim_append(cluster, line);
    }
}

const char *sim_trace(const sim_cluster_t *cluster)
{
    return cluster->trace == NULL ? "" : cluster->trace;
}

uint64_t sim_digest(const sim_cluster_t *cluster)
{
    return cluster->digest;
}

const char *sim_violation(const sim_cluster_t *cluster)
{
    return cluster->violation[0] == '\0' ? NULL : cluster->violation;
}
