/* The handler of failed assertions. Runs in any thread, in a signal handler, out of memory. */
#include "core/assertion.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASSERTION_LINE_MAX 512

/* Appends what fits and returns the new length; only calls that a signal handler may make. */
static size_t assertion_append(char *line, size_t length, const char *string)
{
    size_t room = ASSERTION_LINE_MAX - 1 - length;
    size_t wanted = strlen(string);
    size_t taken = wanted < room ? wanted : room;
    memcpy(line + length, string, taken);
    return length + taken;
}

static size_t assertion_append_number(char *line, size_t length, unsigned number)
{
    char digits[sizeof "4294967295"];
    size_t first = sizeof digits - 1;
    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return assertion_append(line, length, digits + first);
}

_Noreturn void muster_assertion_failed(const char *expression, const char *file, int line)
{
    char text[ASSERTION_LINE_MAX];
    size_t length = assertion_append(text, 0, "muster: ");
    length = assertion_append(text, length, file);
    length = assertion_append(text, length, ":");
    length = assertion_append_number(text, length, line < 0 ? 0u : (unsigned)line);
    length = assertion_append(text, length, ": does not hold: ");
    length = assertion_append(text, length, expression);
    text[length++] = '\n';
    /* One write, so that lines of several ranks do not mix; no one can be told if it fails. */
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written;
    abort();
}
