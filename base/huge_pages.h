/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_HUGE_PAGES_H
#define NODEOS_BASE_HUGE_PAGES_H

#include <stdint.h>

/*
 * Return the bytes of memory node NODE that the kernel holds as huge pages of all sizes now; 0 also
 * if the kernel does not report them. Only programs that request huge pages get them. ROOT is the
 * path before "/sys" ("": this system; a test's tree otherwise).
 */
uint64_t huge_pages_of(const char *root, unsigned node);

#endif
