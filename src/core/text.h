/*
 * Bounded text: appends to a caller's array, never past its end, always closed by a zero byte.
 * length counts what the whole text would have taken, so that a caller can see a cut.
 */
#ifndef MUSTER_CORE_TEXT_H
#define MUSTER_CORE_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct text {
    char *bytes; /* may be NULL when size is 0 */
    size_t size;
    size_t length;
} text_t;

text_t text_over(char *bytes, size_t size);
void text_string(text_t *text, const char *string);
void text_number(text_t *text, uint64_t number);
void text_character(text_t *text, char character);

#endif
