#include "core/radix_text.h"

#include <string.h>

#include "core/assertion.h"

#define SCAN_END (-1)
#define SIZE_STEP 10 /* bits between K and M, M and G, ... */

static const char size_suffixes[] = "KMGT";

/* ---- Memory types ---------------------------------------------------------------------------- */

static const char *const memory_names[] = {
#define X(name, text) [RADIX_MEMORY_##name] = text,
    RADIX_MEMORY_LIST(X)
#undef X
};

const char *radix_memory_name(radix_memory_t memory)
{
    return (size_t)memory < RADIX_MEMORY_COUNT ? memory_names[memory] : "?";
}

radix_memory_t radix_memory_named(const char *name, size_t length)
{
    for (size_t memory = 0; memory < RADIX_MEMORY_COUNT; memory++)
        if (strlen(memory_names[memory]) == length &&
            memcmp(memory_names[memory], name, length) == 0)
            return (radix_memory_t)memory;
    return RADIX_MEMORY_COUNT;
}

/* ---- Reading: characters, words, numbers ----------------------------------------------------- */

/* Every function that reads returns false after it has noted what is wrong, and where. */
typedef struct scan {
    const char *text;
    size_t length;
    size_t place;             /* of the next character */
    const char *const *names; /* that values are taken from; NULL: values are radices */
    uint32_t name_count;
    radix_error_t error;
} scan_t;

static int scan_ahead(const scan_t *scan, size_t distance)
{
    return distance < scan->length - scan->place ? (unsigned char)scan->text[scan->place + distance]
                                                 : SCAN_END;
}

static int scan_peek(const scan_t *scan)
{
    return scan_ahead(scan, 0);
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_word(int c)
{
    return is_letter(c) || is_digit(c) || c == '-' || c == '_';
}

static bool is_blank(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool scan_refuse(scan_t *scan, size_t position, radix_fault_t fault)
{
    scan->error = (radix_error_t){.position = position, .fault = fault};
    return false;
}

/* Not what was expected here: where the character itself says more, it gives the reason. */
static bool scan_refuse_here(scan_t *scan, radix_fault_t fault)
{
    int c = scan_peek(scan);
    bool number = fault == RADIX_FAULT_NO_RADIX || fault == RADIX_FAULT_NO_SIZE;
    if (c == '\0')
        fault = RADIX_FAULT_NUL;
    else if (is_blank(c))
        fault = RADIX_FAULT_BLANK;
    else if (number && (c == '+' || c == '-'))
        fault = RADIX_FAULT_SIGN;
    return scan_refuse(scan, scan->place, fault);
}

static bool scan_accept(scan_t *scan, char c)
{
    if (scan_peek(scan) != c)
        return false;
    scan->place++;
    return true;
}

static bool scan_sees(const scan_t *scan, const char *word)
{
    size_t length = strlen(word);
    return length <= scan->length - scan->place &&
           memcmp(scan->text + scan->place, word, length) == 0;
}

static bool scan_accept_word(scan_t *scan, const char *word)
{
    if (!scan_sees(scan, word))
        return false;
    scan->place += strlen(word);
    return true;
}

/* The word stands here, and no longer one: what follows may only join a factor to it. */
static bool scan_sees_whole(const scan_t *scan, const char *word)
{
    if (!scan_sees(scan, word))
        return false;
    int after = scan_ahead(scan, strlen(word));
    return after == 'x' || !is_of_word(after);
}

static bool scan_number(scan_t *scan, radix_fault_t missing, uint64_t *number)
{
    size_t start = scan->place;
    if (!is_digit(scan_peek(scan)))
        return scan_refuse_here(scan, missing);
    if (scan_peek(scan) == '0' && is_digit(scan_ahead(scan, 1)))
        return scan_refuse(scan, start, RADIX_FAULT_LEADING_ZERO);
    *number = 0;
    for (; is_digit(scan_peek(scan)); scan->place++) {
        uint64_t digit = (uint64_t)(scan_peek(scan) - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return scan_refuse(scan, start, RADIX_FAULT_DIGITS);
        *number = *number * 10 + digit;
    }
    /* Before anybody wonders what the number is: it may go on behind the blank. */
    return !is_blank(scan_peek(scan)) || scan_refuse_here(scan, RADIX_FAULT_BLANK);
}

/* ---- Reading a value ------------------------------------------------------------------------- */

static bool value_allows(const radix_value_t *value, uint64_t factor)
{
    for (size_t i = 0; i < value->sequence.count; i++)
        if (value->sequence.factors[i] == factor)
            return true;
    return false;
}

/* One factor; product is that of the factors so far, without `node`. */
static bool scan_factor(scan_t *scan, radix_value_t *value, uint64_t *product)
{
    size_t start = scan->place;
    uint64_t factor = 0; /* stands for node */
    bool node = scan_accept_word(scan, "node");
    if (!node && !scan_number(scan, RADIX_FAULT_NO_RADIX, &factor))
        return false;
    if (!node && (factor < RADIX_MIN || factor > RADIX_MAX))
        return scan_refuse(scan, start, RADIX_FAULT_OUT_OF_RANGE);
    if (node && value->node != RADIX_NO_NODE)
        return scan_refuse(scan, start, RADIX_FAULT_NODE_TWICE);
    if (value->sequence.count == RADIX_FACTORS_MAX)
        return scan_refuse(scan, start, RADIX_FAULT_TOO_MANY_FACTORS);
    if (value->kind == RADIX_KIND_ALLOWED && value_allows(value, factor))
        return scan_refuse(scan, start, RADIX_FAULT_ALLOWED_TWICE);
    if (value->kind != RADIX_KIND_ALLOWED && !node) {
        *product *= factor; /* at most 48 bits */
        if (*product > UINT32_MAX)
            return scan_refuse(scan, start, RADIX_FAULT_PRODUCT);
    }
    if (node)
        value->node = value->sequence.count;
    value->sequence.factors[value->sequence.count++] = (uint16_t)factor;
    return true;
}

static bool scan_place_of_phases(scan_t *scan, bool *far)
{
    *far = scan_sees(scan, "far");
    if (!scan_accept_word(scan, "far") && !scan_accept_word(scan, "near"))
        return scan_refuse_here(scan, RADIX_FAULT_NO_PLACE);
    if (scan_peek(scan) == '@')
        return scan_refuse_here(scan, RADIX_FAULT_PLACE_TWICE);
    return true;
}

/* How many characters of a word stand here. */
static size_t scan_word(const scan_t *scan)
{
    size_t length = 0;
    while (is_of_word(scan_ahead(scan, length)))
        length++;
    return length;
}

static bool scan_name(scan_t *scan, radix_value_t *value)
{
    size_t length = scan_word(scan);
    *value = (radix_value_t){.kind = RADIX_KIND_AUTO, .node = RADIX_NO_NODE};
    for (uint32_t name = 0; name < scan->name_count; name++) {
        if (strlen(scan->names[name]) != length || !scan_sees(scan, scan->names[name]))
            continue;
        *value = (radix_value_t){.kind = RADIX_KIND_NAME, .node = (uint8_t)name};
        scan->place += length;
        return true;
    }
    if (length != strlen("auto") || !scan_accept_word(scan, "auto"))
        return scan_refuse_here(scan, RADIX_FAULT_NO_NAME);
    return true;
}

static bool scan_value(scan_t *scan, radix_value_t *value)
{
    if (scan->names != NULL)
        return scan_name(scan, value);
    *value = (radix_value_t){.kind = RADIX_KIND_AUTO, .node = RADIX_NO_NODE};
    if (scan_accept_word(scan, "auto")) {
        bool more = scan_peek(scan) == 'x' || scan_peek(scan) == '@';
        return !more || scan_refuse_here(scan, RADIX_FAULT_AUTO_PLAIN);
    }
    value->kind = scan_accept(scan, '=')   ? RADIX_KIND_STRICT
                  : scan_accept(scan, '~') ? RADIX_KIND_ALLOWED
                                           : RADIX_KIND_PLAIN;
    if (scan_sees(scan, "auto"))
        return scan_refuse_here(scan, RADIX_FAULT_AUTO_PLAIN);
    uint64_t product = 1;
    do {
        if (!scan_factor(scan, value, &product))
            return false;
    } while (scan_accept(scan, 'x'));
    return !scan_accept(scan, '@') || scan_place_of_phases(scan, &value->sequence.far);
}

/* ---- Reading a size range -------------------------------------------------------------------- */

static bool scan_suffix(scan_t *scan, uint32_t *shift)
{
    *shift = 0;
    if (!is_letter(scan_peek(scan)))
        return true;
    for (uint32_t i = 0; size_suffixes[i] != '\0'; i++)
        if ((scan_peek(scan) | 0x20) == (size_suffixes[i] | 0x20))
            *shift = (i + 1) * SIZE_STEP;
    if (*shift == 0)
        return scan_refuse_here(scan, RADIX_FAULT_SUFFIX);
    scan->place++;
    return !is_letter(scan_peek(scan)) || scan_refuse_here(scan, RADIX_FAULT_SUFFIX);
}

static bool scan_size(scan_t *scan, uint64_t *size)
{
    size_t start = scan->place;
    uint32_t shift;
    *size = RADIX_INF;
    if (scan_accept_word(scan, "inf"))
        return true;
    if (!scan_number(scan, RADIX_FAULT_NO_SIZE, size) || !scan_suffix(scan, &shift))
        return false;
    if (*size > UINT64_MAX >> shift)
        return scan_refuse(scan, start, RADIX_FAULT_DIGITS);
    *size <<= shift;
    return true;
}

static bool scan_range(scan_t *scan, radix_entry_t *entry)
{
    size_t start = scan->place;
    if (!scan_size(scan, &entry->first))
        return false;
    if (!scan_accept(scan, '-'))
        return scan_refuse_here(scan, RADIX_FAULT_RANGE_OPEN);
    size_t second = scan->place;
    if (!scan_size(scan, &entry->last))
        return false;
    if (entry->first == RADIX_INF)
        return scan_refuse(scan, start, RADIX_FAULT_RANGE_INFINITE);
    if (entry->last < entry->first)
        return scan_refuse(scan, second, RADIX_FAULT_RANGE_SWAPPED);
    return true;
}

/* ---- Reading memory types -------------------------------------------------------------------- */

static bool scan_memories(scan_t *scan, uint32_t *memories)
{
    *memories = 0;
    do {
        size_t start = scan->place;
        while (is_of_word(scan_peek(scan)))
            scan->place++;
        if (scan->place == start)
            return scan_refuse_here(scan, RADIX_FAULT_NO_MEMORY);
        radix_memory_t memory = radix_memory_named(scan->text + start, scan->place - start);
        if (memory == RADIX_MEMORY_COUNT)
            return scan_refuse(scan, start, RADIX_FAULT_WORD);
        if (*memories & UINT32_C(1) << memory)
            return scan_refuse(scan, start, RADIX_FAULT_MEMORY_TWICE);
        *memories |= UINT32_C(1) << memory;
    } while (scan_accept(scan, '^'));
    return true;
}

/* ---- Reading entries ------------------------------------------------------------------------- */

typedef enum part { PART_VALUE, PART_RANGE, PART_MEMORIES, PART_COUNT } part_t;

/* What kind of part begins here; COUNT: none does. */
static part_t scan_part_kind(const scan_t *scan)
{
    int c = scan_peek(scan);
    if (is_digit(c)) {
        size_t digits = 1;
        while (is_digit(scan_ahead(scan, digits)))
            digits++;
        int after = scan_ahead(scan, digits);
        return after == '-' || (is_letter(after) && after != 'x') ? PART_RANGE : PART_VALUE;
    }
    if (scan_sees(scan, "inf") && (scan_ahead(scan, 3) == '-' || !is_of_word(scan_ahead(scan, 3))))
        return PART_RANGE;
    /* x, @ and signs begin nothing, but where they stand somebody has forgotten a radix. */
    if (c == '=' || c == '~' || c == 'x' || c == '@' || c == '+' || c == '-' ||
        scan_sees_whole(scan, "auto") || scan_sees_whole(scan, "node"))
        return PART_VALUE;
    if (scan->names != NULL && is_letter(c) &&
        radix_memory_named(scan->text + scan->place, scan_word(scan)) == RADIX_MEMORY_COUNT)
        return PART_VALUE;
    return is_letter(c) || c == '^' ? PART_MEMORIES : PART_COUNT;
}

static bool scan_part(scan_t *scan, radix_entry_t *entry, bool seen[PART_COUNT])
{
    static const radix_fault_t twice[PART_COUNT] = {
        [PART_VALUE] = RADIX_FAULT_TWO_VALUES,
        [PART_RANGE] = RADIX_FAULT_TWO_RANGES,
        [PART_MEMORIES] = RADIX_FAULT_TWO_MEMORIES,
    };
    part_t kind = scan_part_kind(scan);
    if (kind == PART_COUNT)
        return scan_refuse_here(scan, RADIX_FAULT_UNEXPECTED);
    if (seen[kind])
        return scan_refuse_here(scan, twice[kind]);
    seen[kind] = true;
    bool whole = kind == PART_VALUE   ? scan_value(scan, &entry->value)
                 : kind == PART_RANGE ? scan_range(scan, entry)
                                      : scan_memories(scan, &entry->memories);
    if (!whole)
        return false;
    int c = scan_peek(scan);
    return c == SCAN_END || c == ',' || c == ':' || scan_refuse_here(scan, RADIX_FAULT_UNEXPECTED);
}

static bool scan_entry(scan_t *scan, radix_entry_t *entry)
{
    size_t start = scan->place;
    bool seen[PART_COUNT] = {false};
    *entry = (radix_entry_t){.first = 0, .last = RADIX_INF, .memories = RADIX_MEMORY_ALL};
    if (scan_peek(scan) == ',' || scan_peek(scan) == SCAN_END)
        return scan_refuse(scan, start, RADIX_FAULT_EMPTY_ENTRY);
    do {
        int c = scan_peek(scan);
        if (c == ':' || c == ',' || c == SCAN_END)
            return scan_refuse(scan, scan->place, RADIX_FAULT_EMPTY_PART);
        if (!scan_part(scan, entry, seen))
            return false;
    } while (scan_accept(scan, ':'));
    return seen[PART_VALUE] || scan_refuse(scan, start, RADIX_FAULT_NO_VALUE);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const radix_entry_t *table_find(const radix_table_t *table, uint64_t bytes, uint32_t memory)
{
    MUSTER_ASSERT(table->count <= RADIX_ENTRIES_MAX);
    for (uint32_t i = 0; i < table->count; i++) {
        const radix_entry_t *entry = &table->entries[i];
        if (bytes >= entry->first && bytes <= entry->last && entry->memories >> memory & 1)
            return entry;
    }
    return NULL;
}

/* Whether the table leaves nothing of the entry: it walks from the end of one range to the next. */
static bool table_covers(const radix_table_t *table, const radix_entry_t *entry)
{
    for (uint32_t memory = 0; memory < RADIX_MEMORY_COUNT; memory++) {
        if (!(entry->memories >> memory & 1))
            continue;
        uint64_t bytes = entry->first;
        const radix_entry_t *found;
        /* Each round ends behind another entry, so there are no more rounds than entries. */
        while ((found = table_find(table, bytes, memory)) != NULL && found->last < entry->last)
            bytes = found->last + 1;
        if (found == NULL)
            return false;
    }
    return true;
}

static bool scan_table(scan_t *scan, radix_table_t *table)
{
    do {
        size_t start = scan->place;
        if (table->count == RADIX_ENTRIES_MAX)
            return scan_refuse(scan, start, RADIX_FAULT_TOO_MANY_ENTRIES);
        radix_entry_t *entry = &table->entries[table->count];
        if (!scan_entry(scan, entry))
            return false;
        if (table_covers(table, entry))
            return scan_refuse(scan, start, RADIX_FAULT_NEVER_MATCHES);
        table->count++;
    } while (scan_accept(scan, ','));
    return true;
}

static muster_status_t table_parse(scan_t scan, radix_table_t *table, radix_error_t *error)
{
    size_t length = scan.length;
    radix_table_t parsed = {.count = 0};
    bool whole;
    if (length == 0)
        whole = scan_refuse(&scan, 0, RADIX_FAULT_EMPTY);
    else if (scan.text == NULL)
        whole = scan_refuse(&scan, 0, RADIX_FAULT_STORAGE);
    else if (length > RADIX_TEXT_MAX)
        whole = scan_refuse(&scan, RADIX_TEXT_MAX, RADIX_FAULT_TOO_LONG);
    else
        whole = scan_table(&scan, &parsed);
    if (!whole) {
        if (error != NULL)
            *error = scan.error;
        return MUSTER_INVALID_ARGUMENT;
    }
    MUSTER_ASSERT(scan.place == length);
    *table = parsed;
    return MUSTER_OK;
}

muster_status_t radix_table_parse(const char *text, size_t length, radix_table_t *table,
                                  radix_error_t *error)
{
    return table_parse((scan_t){.text = text, .length = length}, table, error);
}

muster_status_t radix_table_parse_names(const char *text, size_t length, const char *const *names,
                                        uint32_t name_count, radix_table_t *table,
                                        radix_error_t *error)
{
    MUSTER_ASSERT(name_count < RADIX_NO_NODE);
    scan_t scan = {.text = text, .length = length, .names = names, .name_count = name_count};
    return table_parse(scan, table, error);
}

static void size_print(uint64_t size, text_t *text)
{
    if (size == RADIX_INF) {
        text_string(text, "inf");
        return;
    }
    uint32_t steps = 0;
    while (size > 0 && size_suffixes[steps] != '\0' && size % (UINT64_C(1) << SIZE_STEP) == 0) {
        size >>= SIZE_STEP;
        steps++;
    }
    text_number(text, size);
    if (steps > 0)
        text_character(text, size_suffixes[steps - 1]);
}

static void entry_print(const radix_entry_t *entry, const char *const *names, text_t *text)
{
    if (entry->first != 0 || entry->last != RADIX_INF) {
        size_print(entry->first, text);
        text_character(text, '-');
        size_print(entry->last, text);
        text_character(text, ':');
    }
    if (entry->memories != RADIX_MEMORY_ALL) {
        bool more = false;
        for (size_t memory = 0; memory < RADIX_MEMORY_COUNT; memory++) {
            if (!(entry->memories >> memory & 1))
                continue;
            if (more)
                text_character(text, '^');
            text_string(text, memory_names[memory]);
            more = true;
        }
        text_character(text, ':');
    }
    if (entry->value.kind == RADIX_KIND_NAME)
        text_string(text, names[entry->value.node]);
    else
        radix_value_print(&entry->value, text);
}

void radix_table_print(const radix_table_t *table, text_t *text)
{
    radix_table_print_names(table, NULL, text);
}

void radix_table_print_names(const radix_table_t *table, const char *const *names, text_t *text)
{
    MUSTER_ASSERT(table->count <= RADIX_ENTRIES_MAX);
    for (uint32_t i = 0; i < table->count; i++) {
        if (i > 0)
            text_character(text, ',');
        entry_print(&table->entries[i], names, text);
    }
}

bool radix_table_equal(const radix_table_t *one, const radix_table_t *other)
{
    MUSTER_ASSERT(one->count <= RADIX_ENTRIES_MAX);
    if (one->count != other->count)
        return false;
    for (uint32_t i = 0; i < one->count; i++) {
        const radix_entry_t *mine = &one->entries[i], *theirs = &other->entries[i];
        if (mine->first != theirs->first || mine->last != theirs->last ||
            mine->memories != theirs->memories || !radix_value_equal(&mine->value, &theirs->value))
            return false;
    }
    return true;
}

const radix_entry_t *radix_table_find(const radix_table_t *table, uint64_t bytes,
                                      radix_memory_t memory)
{
    return (size_t)memory < RADIX_MEMORY_COUNT ? table_find(table, bytes, memory) : NULL;
}

void radix_table_clone(const radix_table_t *table, radix_table_t *clone)
{
    memmove(clone, table, sizeof *clone); /* may be one and the same */
}

void radix_table_release(radix_table_t *table)
{
    if (table != NULL)
        memset(table, 0, sizeof *table);
}
