/*
 * The text of a radix setting, and the table it stands for (C605). One grammar for everything:
 *
 *     table  = entry *("," entry)             32 entries, 4095 bytes at most
 *     entry  = part *(":" part)               one value; a range and a memory list if wanted
 *     part   = value | range | memory *("^" memory)    in any order
 *     value  = "auto" | ["=" | "~"] factor *("x" factor) ["@" ("near" | "far")]
 *     factor = "node" | 2 to 65535
 *     range  = size "-" size                  both ends included, of the total message size
 *     size   = "inf" | number ["K" | "M" | "G" | "T"]    bytes, powers of 1024; k m g t as well
 *     memory = "host" | "cuda" | ...          RADIX_MEMORY_LIST
 *
 *     0-4K:host:8x6,4K-inf:cuda:4,auto
 *
 * The first entry that fits a message counts. A value is `auto`, one factor (a fixed radix) or a
 * sequence; `node` stands for the ranks per host, once; `=` asks for exact or nothing; `~` names
 * the factors that each team may be decomposed with, each once. Without a range an entry fits every
 * size, without a list every memory type.
 *
 * A number is of digits only: no sign, no blank, no zero in front of another digit, and no more
 * than 64 bits. Words are in small letters. An entry that can never match, since those before it
 * take all its sizes for all its memory types, is an error like any other: a setting of which a
 * part has no effect is not what was meant. So is whatever does not follow the grammar; the error
 * holds the place and the reason, and the table is untouched.
 */
#ifndef MUSTER_CORE_RADIX_TEXT_H
#define MUSTER_CORE_RADIX_TEXT_H

#include "core/radix.h"

#define RADIX_TEXT_MAX 4095  /* bytes of a text */
#define RADIX_ENTRIES_MAX 32 /* of a table */
#define RADIX_INF UINT64_MAX /* the end of a range without one */

typedef enum radix_memory {
#define X(name, text) RADIX_MEMORY_##name,
    RADIX_MEMORY_LIST(X)
#undef X
        RADIX_MEMORY_COUNT
} radix_memory_t;

#define RADIX_MEMORY_ALL ((UINT32_C(1) << RADIX_MEMORY_COUNT) - 1)

/* The name, "?" for a number that is no memory type; and the way back, COUNT for an unknown one. */
const char *radix_memory_name(radix_memory_t memory);
radix_memory_t radix_memory_named(const char *name, size_t length);

typedef struct radix_entry {
    uint64_t first; /* bytes; first..last, both included */
    uint64_t last;
    uint32_t memories; /* bit m: fits memory type m */
    radix_value_t value;
} radix_entry_t;

/* A value: copying the structure copies everything. All zero: empty, and nothing is found. */
typedef struct radix_table {
    uint32_t count;
    radix_entry_t entries[RADIX_ENTRIES_MAX];
} radix_table_t;

/*
 * Reads length bytes of text, which need no closing zero. OK, or INVALID_ARGUMENT, and then table
 * is untouched and error (may be NULL) says the byte and why.
 */
muster_status_t radix_table_parse(const char *text, size_t length, radix_table_t *table,
                                  radix_error_t *error);

/*
 * The same grammar with values from a list of names (small letters, digits, _; none of them is a
 * memory type), or auto: which algorithm for which size. At most 254 names.
 */
muster_status_t radix_table_parse_names(const char *text, size_t length, const char *const *names,
                                        uint32_t name_count, radix_table_t *table,
                                        radix_error_t *error);
void radix_table_print_names(const radix_table_t *table, const char *const *names, text_t *text);

/*
 * The table in the grammar's shortest form: what is printed parses to an equal table, and is no
 * longer than the text it came from.
 */
void radix_table_print(const radix_table_t *table, text_t *text);

bool radix_table_equal(const radix_table_t *one, const radix_table_t *other);

/*
 * The first entry for a message of so many bytes in total, in that memory; NULL where none fits.
 * Borrowed from the table.
 */
const radix_entry_t *radix_table_find(const radix_table_t *table, uint64_t bytes,
                                      radix_memory_t memory);

/* A deep copy; what clone made and what parse filled are given back by release, which empties. */
void radix_table_clone(const radix_table_t *table, radix_table_t *clone);
void radix_table_release(radix_table_t *table); /* NULL is taken */

#endif
