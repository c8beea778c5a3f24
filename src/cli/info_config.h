/* muster info --config: all settings, their values, where each came from, and the grammar. */
#ifndef MUSTER_CLI_INFO_CONFIG_H
#define MUSTER_CLI_INFO_CONFIG_H

#include <stdbool.h>

/* Prints; returns the exit code. */
int info_config(bool json);

#endif
