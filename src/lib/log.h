/*
 * Where the lines go that a user has asked for (the setting log_choice), unless the program takes
 * them: the one place of the library that prints.
 */
#ifndef MUSTER_LIB_LOG_H
#define MUSTER_LIB_LOG_H

/* One line, whole, to stderr. A muster_log_t. */
void log_to_stderr(const char *line, void *argument);

#endif
