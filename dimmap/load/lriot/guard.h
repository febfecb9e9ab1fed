/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_GUARD_H
#define NODEOS_DIMMAP_LOAD_LRIOT_GUARD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy words from and to a mapping whose pages may fail: 0, or the signal that ended it, after
 * which some of the words may have been copied. Words are 64 bits and are not torn. SIGBUS always
 * comes back so, SIGSEGV only to who has asked for it: to others it is what it always is.
 */
void guard_install(void); /* once a process */

int guarded_load(uint64_t *to, const void *from, size_t words, int segv_too);
int guarded_store(void *to, const uint64_t *from, size_t words, int segv_too);

#endif
