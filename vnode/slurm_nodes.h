/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_SLURM_NODES_H
#define NODEOS_VNODE_SLURM_NODES_H

#include <stdio.h>

#include "base/errbuf.h"
#include "vnode/conf.h"

/*
 * Check NODES, the output of "scontrol show node", for the vnode C on HOST: Slurm must have a node
 * with the name and address of C, and no node for HOST itself. NAMES are the N vnodes of vnode.d,
 * which are allowed. Returns 0, or -1 with the reason.
 */
int vnode_slurm_check(const struct vnode_conf *c, const char *nodes, const char *host,
		      const char (*names)[VNODE_NAME_MAX], unsigned n, struct errbuf *err);

/*
 * Check CONFIG, the output of "scontrol show config", for the settings with which a slurmd in a
 * vnode works and can be moved. Returns 0, or -1 with the first wrong setting.
 */
int vnode_slurm_check_config(const char *config, struct errbuf *err);

/* Print the lines of slurm.conf and cgroup.conf that a cluster of the N vnodes C needs. */
void vnode_slurm_print(FILE *f, const struct vnode_conf *c, unsigned n);

#endif
