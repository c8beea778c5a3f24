#include "core/text.h"

#include <string.h>

#include "core/assertion.h"

text_t text_over(char *bytes, size_t size)
{
    MUSTER_ASSERT(bytes != NULL || size == 0);
    if (size > 0)
        bytes[0] = '\0';
    return (text_t){.bytes = bytes, .size = size, .length = 0};
}

static void text_append(text_t *text, const char *bytes, size_t count)
{
    /* One byte stays for the closing zero; length runs on when the array is full. */
    if (text->length + 1 < text->size) {
        size_t room = text->size - 1 - text->length;
        size_t taken = count < room ? count : room;
        memcpy(text->bytes + text->length, bytes, taken);
        text->bytes[text->length + taken] = '\0';
    }
    text->length += count;
}

void text_string(text_t *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_number(text_t *text, uint64_t number)
{
    char digits[20]; /* of UINT64_MAX */
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    text_append(text, digits + first, sizeof digits - first);
}

void text_character(text_t *text, char character)
{
    text_append(text, &character, 1);
}
