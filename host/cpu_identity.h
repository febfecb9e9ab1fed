/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CPU_IDENTITY_H
#define NODEOS_HOST_CPU_IDENTITY_H

#include "base/errbuf.h"

#define CPU_IDENTITY_MAX 64 /* bytes with the final NUL */

/*
 * Write to OUT the model of the CPUs of the host whose files are below ROOT ("": this host), in the
 * form of nodeos-events(5): on x86 "VENDOR-FAMILY-MODEL-STEPPING" from /proc/cpuinfo, on ARM the
 * register MIDR from sysfs, such as "0x00000000410fd0c1". If the CPUs are of several kinds, the
 * first CPU counts. Returns 0, or -1 with the reason if neither file has the model.
 */
int cpu_identity_read(char out[CPU_IDENTITY_MAX], const char *root, struct errbuf *err);

#endif
