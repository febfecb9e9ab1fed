/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_CHECK_H
#define NODEOS_VNODE_CHECK_H

#include "base/errbuf.h"
#include "vnode/conf.h"

/* Where the files of a host are; vnode_site_default() has the installed places. */
struct vnode_site {
	const char *conf; /* nodeos.conf */
	const char *conf_dir; /* vnode.d */
	const char *run_dir; /* VNODE_RUN_DIR */
	const char *host; /* name of this host, for the key hosts and for Slurm's nodes */
	bool ask_slurm; /* compare with the nodes and settings of slurmctld */
};

void vnode_site_default(struct vnode_site *out);

/*
 * Load the file of vnode NAME into *OUT, and check all that the vnode needs on this host:
 * nodeos.conf allows vnodes, the file allows this host, the bridge, mounts, directories, devices
 * and programs exist, no other vnode has the same address, and Slurm has a node for the vnode and
 * none for this host itself. Makes nothing. May take 60 s if slurmctld is down: hold no lock.
 * Returns 0, or -1 with the reason.
 */
int vnode_check(struct vnode_conf *out, const struct vnode_site *site, const char *name,
		struct errbuf *err);

#endif
