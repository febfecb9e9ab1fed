/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CPU_DOMAINS_H
#define NODEOS_HOST_CPU_DOMAINS_H

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * List the CPUs of each package, memory node and L3 cache that has some of CPUS: *OUT is a
 * malloc'ed array of *N sets, in any order; some may be equal. No set has offline CPUs. Domains
 * that /sys below ROOT ("": this host) does not list are left out. Returns 0, or -1 if out of
 * memory.
 */
int cpu_domains_read(struct idset **out, unsigned *n, const char *root, const struct idset *cpus,
		     struct errbuf *err);

#endif
