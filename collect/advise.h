/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_ADVISE_H
#define NODEOS_COLLECT_ADVISE_H

#include "collect/collect.h"

/*
 * Run "nodeosctl contention advise", which changes nothing. ARGV[0] begins the messages of getopt.
 * Returns the exit status: 0 success, 1 failure with messages, 2 wrong usage.
 */
int advise_command(int argc, char **argv, collect_say *say);

#endif
