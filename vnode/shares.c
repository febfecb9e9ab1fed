/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vnode/shares.h"

#include <stdlib.h>

int vnode_shares(struct idset *share, unsigned n, const struct machine *m, const struct idset *cpus,
		 struct errbuf *err)
{
	struct plan_core *core;
	unsigned cores;

	if (machine_cores(m, cpus, &core, &cores, err) < 0)
		return -1;
	if (!n || n > cores) {
		free(core);
		return errprintf(err, "%u vnodes cannot share %u cores", n, cores);
	}
	for (unsigned i = 0; i < n; i++)
		idset_zero(&share[i]);
	/*
	 * In logical order, the cores of each domain (package, memory node, cache) are consecutive.
	 * So giving cores to the vnodes in turn divides every domain evenly.
	 */
	for (unsigned i = 0; i < cores; i++)
		idset_or(&share[i % n], &core[i].cpus);
	free(core);
	return 0;
}
