/*
 * The text of a radix setting: what is taken prints to itself, each of its entries can match, and
 * teams get exact sequences only; what is refused has a place and a reason.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/assertion.h"
#include "core/radix_choice.h"
#include "core/radix_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_print(const radix_table_t *table, size_t size)
{
    static char bytes[RADIX_TEXT_MAX + 1];
    text_t text = text_over(bytes, sizeof bytes);
    radix_table_t again;
    radix_error_t error;
    radix_table_print(table, &text);
    MUSTER_ASSERT(text.length <= size);
    MUSTER_ASSERT(radix_table_parse(bytes, text.length, &again, &error) == MUSTER_OK);
    MUSTER_ASSERT(radix_table_equal(table, &again));
}

/* A message that only entry i takes begins where its range does, or behind another one. */
static void fuzz_reach(const radix_table_t *table, uint32_t i)
{
    const radix_entry_t *entry = &table->entries[i];
    for (uint32_t memory = 0; memory < RADIX_MEMORY_COUNT; memory++) {
        if (radix_table_find(table, entry->first, (radix_memory_t)memory) == entry)
            return;
        for (uint32_t other = 0; other < i; other++) {
            uint64_t bytes = table->entries[other].last + 1; /* may wrap: then it is not found */
            if (radix_table_find(table, bytes, (radix_memory_t)memory) == entry)
                return;
        }
    }
    MUSTER_ASSERT(!"an entry that never matches");
}

static void fuzz_resolve(const radix_value_t *value, uint32_t team, uint32_t per_host)
{
    radix_sequence_t sequence;
    radix_reason_t reason;
    radix_fixed_t figures;
    switch (radix_resolve(value, team, per_host, &sequence, &reason)) {
    case RADIX_EXACT:
        MUSTER_ASSERT(radix_sequence_product(&sequence) == team);
        MUSTER_ASSERT(reason == RADIX_REASON_NONE);
        break;
    case RADIX_FIXED:
        MUSTER_ASSERT(sequence.count == 1 && value->kind == RADIX_KIND_PLAIN);
        MUSTER_ASSERT(radix_fixed(team, sequence.factors[0], &figures));
        break;
    case RADIX_AUTO:
        MUSTER_ASSERT(reason != RADIX_REASON_NONE && value->kind != RADIX_KIND_STRICT);
        break;
    case RADIX_REFUSED:
        MUSTER_ASSERT(reason != RADIX_REASON_NONE && value->kind == RADIX_KIND_STRICT);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t teams[] = {1, 2, 48, 96, 97, 1024, UINT32_C(3491888400), UINT32_MAX};
    radix_table_t table;
    radix_error_t error = {.position = SIZE_MAX, .fault = RADIX_FAULT_NONE};
    if (radix_table_parse((const char *)data, size, &table, &error) != MUSTER_OK) {
        MUSTER_ASSERT(error.position <= size && error.fault != RADIX_FAULT_NONE);
        MUSTER_ASSERT(strlen(radix_fault_text(error.fault)) > 0);
        return 0;
    }
    fuzz_print(&table, size);
    for (uint32_t i = 0; i < table.count; i++) {
        const radix_value_t *value = &table.entries[i].value;
        fuzz_reach(&table, i);
        for (size_t team = 0; team < sizeof teams / sizeof *teams; team++)
            fuzz_resolve(value, teams[team], 8);
        fuzz_resolve(value, radix_sequence_product(&value->sequence), 0);
    }
    return 0;
}
