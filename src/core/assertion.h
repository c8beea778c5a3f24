/* Assertions stay on. The handler lives outside of core, which only imports its name. */
#ifndef MUSTER_CORE_ASSERTION_H
#define MUSTER_CORE_ASSERTION_H

/* Says on stderr what did not hold and aborts. Any thread. */
_Noreturn void muster_assertion_failed(const char *expression, const char *file, int line);

#define MUSTER_ASSERT(expression)                                                                  \
    ((expression) ? (void)0 : muster_assertion_failed(#expression, __FILE__, __LINE__))

#endif
