/*
 * An assertion for loops of millions of rounds: Check's own ones tell the runner about every
 * success. Where numbers say more than the expression does, they come behind it.
 */
#ifndef MUSTER_TESTS_REQUIRE_H
#define MUSTER_TESTS_REQUIRE_H

#include <check.h>

#define REQUIRE(expression, ...)                                                                   \
    ((expression) ? (void)0 : ck_abort_msg("does not hold: " #expression ". " __VA_ARGS__))

#endif
