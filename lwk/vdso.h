/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_VDSO_H
#define NODEOS_LWK_VDSO_H

#include <stdint.h>

/*
 * The vDSO, by which libc reads the clock without a system call. It works in the machine, whose
 * time stamp counter is the host's. Only its getcpu() would read registers that the machine does
 * not have: vdso_prepare() replaces this function by the system call. Returns the address of the
 * vDSO; 0 if there is none or it cannot be changed, so that libc makes system calls.
 */
uint64_t vdso_prepare(void);

#endif
