/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CPU_IDENTITY_H
#define NODEOS_HOST_CPU_IDENTITY_H

#include "base/errbuf.h"

#define CPU_IDENTITY_MAX 64 /* bytes with the final NUL */

/*
 * Write which processor the host below ROOT ("" for this host) has, in the words of
 * nodeos-events(5): of x86 "VENDOR-FAMILY-MODEL-STEPPING" by /proc/cpuinfo, of ARM the register
 * MIDR "0x00000000410fd0c1" by sysfs. It is that of the first CPU; a host with CPUs of several
 * kinds is taken for one of that. Returns 0, or -1: neither is there.
 */
int cpu_identity_read(char out[CPU_IDENTITY_MAX], const char *root, struct errbuf *err);

#endif
