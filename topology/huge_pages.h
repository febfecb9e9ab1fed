/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_HUGE_PAGES_H
#define NODEOS_TOPOLOGY_HUGE_PAGES_H

#include <stdint.h>

/*
 * Bytes of memory node NODE that the kernel holds as huge pages of all sizes now (0: none, or it
 * does not say): programs that do not ask for them get none of these. ROOT is before "/sys" ("":
 * this system; tests have another).
 */
uint64_t huge_pages_of(const char *root, unsigned node);

#endif
