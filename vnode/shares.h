/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_SHARES_H
#define NODEOS_VNODE_SHARES_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "topology/machine.h"

/*
 * Divide the cores of M that hold CPUS among N vnodes. SHARE[0] to SHARE[N - 1] are disjoint, have
 * whole cores, and are CPUS together. In the machine and in each domain (package, memory node,
 * cache), the numbers of cores of any two vnodes differ by one at most. So each vnode can spread
 * its ranks over all domains. Returns 0, or -1 with the reason, such as more vnodes than cores.
 */
int vnode_shares(struct idset *share, unsigned n, const struct machine *m, const struct idset *cpus,
		 struct errbuf *err);

#endif
