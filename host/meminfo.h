/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_MEMINFO_H
#define NODEOS_HOST_MEMINFO_H

#include <stdint.h>

/*
 * Get MemTotal of memory node NODE and its used bytes. Returns 0, or -1 if the kernel does not show
 * them. ROOT is the open root directory, as in noise_read().
 */
int memory_node_use(int root, unsigned node, uint64_t *total, uint64_t *used);

#endif
