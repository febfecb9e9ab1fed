/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_VDSO_H
#define NODEOS_LWK_VDSO_H

#include <stdint.h>

/*
 * The kernel's shared object in each process, by which libc reads the clock without a system call.
 * It works in the machine as its time stamp counter is the host's; only getcpu() in it would read
 * registers that the machine does not have, so that function is replaced by the system call.
 * Returns its address, 0 when there is none or it cannot be changed: libc makes calls then.
 */
uint64_t vdso_prepare(void);

#endif
