/*
 * Replays a fuzzer's corpus as an ordinary test: every file of a directory, every beginning of it,
 * and every file with one byte changed. Each input lies in memory of exactly its size, so that a
 * sanitizer sees a read past the end.
 *
 *     replay_NAME DIRECTORY
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_SIZE_MAX ((size_t)1 << 20)
/* Beginnings and changes of large files are tried at so many places, evenly spaced. */
#define REPLAY_PLACES 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_one(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void replay_variants(uint8_t *bytes, size_t size)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    size_t stride = size / REPLAY_PLACES + 1;
    for (size_t place = 0; place < size; place += stride) {
        replay_one(bytes, place);
        for (size_t i = 0; i < sizeof changes; i++) {
            bytes[place] ^= changes[i];
            replay_one(bytes, size);
            bytes[place] ^= changes[i];
        }
    }
}

static int replay_file(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(REPLAY_SIZE_MAX);
    if (file == NULL || bytes == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    size_t size = fread(bytes, 1, REPLAY_SIZE_MAX, file);
    fclose(file);
    replay_one(bytes, size);
    replay_variants(bytes, size);
    free(bytes);
    return 1;
}

int main(int argc, char **argv)
{
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (directory == NULL) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return EXIT_FAILURE;
    }
    int files = 0;
    replay_one((const uint8_t *)"", 0);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.')
            files += replay_file(argv[1], entry->d_name);
    }
    closedir(directory);
    printf("%d files\n", files);
    return files == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
