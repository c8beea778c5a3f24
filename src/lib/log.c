#include "lib/log.h"

#include <stdio.h>

void log_to_stderr(const char *line, void *argument)
{
    (void)argument;
    fprintf(stderr, "muster: %s\n", line);
}
