/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_COLLECT_ADVISE_H
#define NODEOS_COLLECT_ADVISE_H

#include "collect/collect.h"

/*
 * nodeosctl contention advise with its options; it changes nothing. ARGV[0] begins getopt's
 * messages. Returns the exit status: 0 done, 1 failed with messages, 2 wrong usage.
 */
int advise_command(int argc, char **argv, collect_say *say);

#endif
