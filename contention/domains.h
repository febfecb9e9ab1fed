/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_DOMAINS_H
#define NODEOS_CONTENTION_DOMAINS_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "contention/observed.h"

/*
 * The domains of a host. A domain has the CPUs that share a cache of the highest level (data or
 * unified), and the memory nodes of these CPUs with their blocks (boot parameter fgmn=). A CPU
 * without such a cache belongs to the domain of its package or, if its package is unknown, of its
 * memory node. Offline CPUs, and memory nodes without CPUs that are no blocks, are in no domain.
 */

/*
 * Fill in the domains of NODE, which has none, from SYS_FD ("/sys"), in the order of their first
 * CPU. Returns 0, or -1 with the reason: no CPU is listed, or out of memory.
 */
int domains_read(struct observed_node *node, int sys_fd, struct errbuf *err);

/* Return the size of the cache of DOMAIN in bytes; 0: unknown. */
uint64_t domains_cache_bytes(int sys_fd, const struct observed_domain *domain);

/* Return the number of the domain that has all of CPUS, or OBSERVED_NO_DOMAIN. */
int domains_of(const struct observed_node *node, const struct idset *cpus);

/*
 * Set OUT to the CPUs that interrupts should not disturb: those of the boot parameters nohz_full=
 * and isolcpus=, and of isolated cpuset partitions. CGROUP_FD is the root of cgroup v2.
 */
void domains_quiet_cpus(struct idset *out, int sys_fd, int cgroup_fd);

#endif
