/*
 * Counts the words of files: the files are dealt to the ranks, each word goes to the rank that its
 * hash names (alltoallv), which adds up what all ranks have seen of it, and rank 0 prints the most
 * frequent ones (gatherv).
 *
 *     muster run -n 4 wordcount [-n HOW_MANY] FILE...
 *
 * HOW_MANY: how many words are printed, 10 unless given, 0 for all. A word is a run of ASCII
 * letters, taken in lower case. The same as
 *
 *     cat FILE... | tr -cs '[:alpha:]' '\n' | tr A-Z a-z | grep . | sort | uniq -c |
 *         sort -k1,1nr -k2 | head -n HOW_MANY
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <muster.h>

typedef struct entry {
    char *word; /* NULL: the place is free */
    uint64_t count;
} entry_t;

/* Words by hash, open addressing, at most half full. */
typedef struct table {
    entry_t *entries;
    size_t places; /* a power of two */
    size_t used;
} table_t;

/* Entries as bytes, one after the other: the count, 8 bytes, and the word with its closing zero. */
typedef struct bytes {
    char *data;
    size_t length;
    size_t room;
} bytes_t;

static void *grown(void *memory, size_t size)
{
    memory = realloc(memory, size ? size : 1);
    if (!memory) {
        fprintf(stderr, "wordcount: out of memory\n");
        exit(1); /* the launcher tells the other ranks */
    }
    return memory;
}

static uint64_t word_hash(const char *word)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

static entry_t *table_place(table_t *table, const char *word)
{
    size_t place = word_hash(word) & (table->places - 1);
    while (table->entries[place].word && strcmp(table->entries[place].word, word) != 0)
        place = (place + 1) & (table->places - 1);
    return &table->entries[place];
}

static void table_grow(table_t *table)
{
    table_t larger = {.places = table->places ? 2 * table->places : 1024, .used = table->used};
    larger.entries = grown(NULL, larger.places * sizeof *larger.entries);
    memset(larger.entries, 0, larger.places * sizeof *larger.entries);
    for (size_t i = 0; i < table->places; i++)
        if (table->entries[i].word)
            *table_place(&larger, table->entries[i].word) = table->entries[i];
    free(table->entries);
    *table = larger;
}

static void table_add(table_t *table, const char *word, uint64_t count)
{
    if (2 * table->used >= table->places)
        table_grow(table);
    entry_t *entry = table_place(table, word);
    if (!entry->word) {
        size_t length = strlen(word) + 1;
        entry->word = memcpy(grown(NULL, length), word, length);
        table->used++;
    }
    entry->count += count;
}

static void table_free(table_t *table)
{
    for (size_t i = 0; i < table->places; i++)
        free(table->entries[i].word);
    free(table->entries);
}

/* The most frequent first, equals in the order of the alphabet. */
static int entry_compare(const void *left, const void *right)
{
    const entry_t *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->word, b->word);
}

/* The table's entries in order; the caller frees the array, the words stay the table's. */
static entry_t *table_sorted(const table_t *table)
{
    entry_t *sorted = grown(NULL, table->used * sizeof *sorted);
    size_t used = 0;
    for (size_t i = 0; i < table->places; i++)
        if (table->entries[i].word)
            sorted[used++] = table->entries[i];
    qsort(sorted, used, sizeof *sorted, entry_compare);
    return sorted;
}

static void bytes_put(bytes_t *bytes, const entry_t *entry)
{
    size_t length = strlen(entry->word) + 1;
    if (bytes->room - bytes->length < sizeof entry->count + length) {
        bytes->room = 2 * bytes->room + sizeof entry->count + length;
        bytes->data = grown(bytes->data, bytes->room);
    }
    memcpy(bytes->data + bytes->length, &entry->count, sizeof entry->count);
    memcpy(bytes->data + bytes->length + sizeof entry->count, entry->word, length);
    bytes->length += sizeof entry->count + length;
}

static void table_add_bytes(table_t *table, const char *data, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint64_t count;
        memcpy(&count, data + at, sizeof count);
        const char *word = data + at + sizeof count;
        table_add(table, word, count);
        at += sizeof count + strlen(word) + 1;
    }
}

/* Adds the words of a file; 0, or -1 with a message where it cannot be read. */
static int count_file(table_t *table, const char *path)
{
    FILE *file = fopen(path, "r");
    char *word = NULL;
    size_t length = 0, room = 0;
    int letter = 0;
    while (file && letter != EOF) {
        letter = getc(file);
        if (length + 1 >= room)
            word = grown(word, room = 2 * room + 64);
        if (letter >= 'A' && letter <= 'Z')
            letter += 'a' - 'A';
        if (letter >= 'a' && letter <= 'z') {
            word[length++] = (char)letter;
        } else if (length > 0) {
            word[length] = '\0';
            table_add(table, word, 1);
            length = 0;
        }
    }
    free(word);
    int result = file && !ferror(file) ? 0 : -1;
    if (result != 0)
        fprintf(stderr, "wordcount: %s: %s\n", path, strerror(errno));
    if (file)
        fclose(file);
    return result;
}

/* Sends every word to its own rank, and adds up there what comes, into a table of its own. */
static muster_status_t exchange(muster_comm_t *world, const muster_call_t *call,
                                const table_t *seen, table_t *own)
{
    uint32_t size = muster_comm_size(world);
    bytes_t *rows = grown(NULL, size * sizeof *rows);
    memset(rows, 0, size * sizeof *rows);
    for (size_t i = 0; i < seen->places; i++)
        if (seen->entries[i].word)
            bytes_put(&rows[word_hash(seen->entries[i].word) % size], &seen->entries[i]);

    /* counts and offsets of what is sent, then of what is received */
    size_t *numbers = grown(NULL, 4 * (size_t)size * sizeof *numbers);
    size_t *send_counts = numbers, *send_offsets = numbers + size;
    size_t *receive_counts = numbers + 2 * size, *receive_offsets = numbers + 3 * size;
    size_t send_length = 0, receive_length = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        send_counts[rank] = rows[rank].length;
        send_offsets[rank] = send_length;
        send_length += rows[rank].length;
    }
    char *send = grown(NULL, send_length), *receive = NULL;
    for (uint32_t rank = 0; rank < size; rank++) {
        if (rows[rank].length > 0)
            memcpy(send + send_offsets[rank], rows[rank].data, rows[rank].length);
        free(rows[rank].data);
    }
    free(rows);

    muster_status_t status =
        muster_alltoall(world, send_counts, receive_counts, 1, MUSTER_U64, call);
    if (status == MUSTER_OK) {
        for (uint32_t rank = 0; rank < size; rank++) {
            receive_offsets[rank] = receive_length;
            receive_length += receive_counts[rank];
        }
        receive = grown(NULL, receive_length);
        status = muster_alltoallv(world, send, send_counts, send_offsets, receive, receive_counts,
                                  receive_offsets, MUSTER_BYTE, call);
    }
    if (status == MUSTER_OK)
        table_add_bytes(own, receive, receive_length);
    free(numbers);
    free(send);
    free(receive);
    return status;
}

/* Each rank's own most frequent words meet at rank 0, which prints the most frequent of all. */
static muster_status_t print_top(muster_comm_t *world, const muster_call_t *call,
                                 const table_t *own, size_t how_many)
{
    bytes_t mine = {0};
    entry_t *sorted = table_sorted(own);
    for (size_t i = 0; i < own->used && i < how_many; i++)
        bytes_put(&mine, &sorted[i]);
    free(sorted);

    uint32_t size = muster_comm_size(world);
    size_t *counts = grown(NULL, 2 * (size_t)size * sizeof *counts), *offsets = counts + size;
    size_t length = 0;
    char *all = NULL;
    muster_status_t status = muster_gather(world, &mine.length, counts, 1, MUSTER_U64, 0, call);
    if (status == MUSTER_OK) {
        for (uint32_t rank = 0; rank < size && muster_comm_rank(world) == 0; rank++) {
            offsets[rank] = length;
            length += counts[rank];
        }
        all = grown(NULL, length);
        status = muster_gatherv(world, mine.data, mine.length, all, counts, offsets, MUSTER_BYTE, 0,
                                call);
    }
    if (status == MUSTER_OK && muster_comm_rank(world) == 0) {
        table_t table = {0};
        table_add_bytes(&table, all, length);
        sorted = table_sorted(&table);
        for (size_t i = 0; i < table.used && i < how_many; i++)
            printf("%7" PRIu64 " %s\n", sorted[i].count, sorted[i].word);
        free(sorted);
        table_free(&table);
    }
    free(counts);
    free(all);
    free(mine.data);
    return status;
}

static muster_status_t count_words(muster_comm_t *world, const muster_call_t *call, int file_count,
                                   char **files, size_t how_many, uint32_t *unreadable)
{
    uint32_t rank = muster_comm_rank(world), size = muster_comm_size(world), mine = 0;
    table_t seen = {0}, own = {0};
    uint64_t words = 0;
    for (int i = (int)rank; i < file_count; i += (int)size)
        mine += count_file(&seen, files[i]) != 0;
    for (size_t i = 0; i < seen.places; i++)
        words += seen.entries[i].count;

    /* A file that one rank cannot read stops all of them, and all of them know. */
    muster_status_t status =
        muster_allreduce(world, &mine, unreadable, 1, MUSTER_U32, MUSTER_SUM, call);
    if (status == MUSTER_OK && *unreadable == 0)
        status = exchange(world, call, &seen, &own);
    uint64_t totals[2] = {words, own.used};
    if (status == MUSTER_OK && *unreadable == 0)
        status = muster_allreduce(world, MUSTER_IN_PLACE, totals, 2, MUSTER_U64, MUSTER_SUM, call);
    if (status == MUSTER_OK && *unreadable == 0)
        status = print_top(world, call, &own, how_many);
    if (status == MUSTER_OK && *unreadable == 0 && rank == 0)
        printf("total %" PRIu64 " words, %" PRIu64 " different\n", totals[0], totals[1]);
    table_free(&seen);
    table_free(&own);
    return status;
}

int main(int argc, char **argv)
{
    size_t how_many = 10;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        char *end;
        how_many = strtoul(argv[2], &end, 10);
        first = *end == '\0' && end != argv[2] ? 3 : argc;
        if (how_many == 0)
            how_many = SIZE_MAX;
    }
    if (first >= argc) {
        fprintf(stderr, "usage: wordcount [-n HOW_MANY] FILE...\n");
        return 2;
    }
    muster_context_t *context;
    muster_failure_t failure;
    muster_context_options_t options = {.failure = &failure};
    muster_status_t status = muster_context_create(&options, &context);
    if (status != MUSTER_OK) {
        fprintf(stderr, "wordcount: %s: %s\n", muster_status_name(status), failure.message);
        return 1;
    }
    muster_call_t call = {.failure = &failure};
    uint32_t unreadable = 0;
    status = count_words(muster_context_world(context), &call, argc - first, argv + first, how_many,
                         &unreadable);
    if (status != MUSTER_OK) {
        char line[1024];
        muster_failure_print(&failure, line, sizeof line);
        fprintf(stderr, "wordcount: %s\n", line);
    }
    muster_context_destroy(context);
    return status == MUSTER_OK && unreadable == 0 ? 0 : 1;
}
