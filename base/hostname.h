/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_HOSTNAME_H
#define NODEOS_BASE_HOSTNAME_H

#define NODE_NAME_MAX 256

/*
 * Write Slurm's name of this node: SLURMD_NODENAME, which slurmd sets for its children; otherwise
 * the host name up to its first dot, by which slurmd itself finds its line of slurm.conf. So the
 * reports of all programs on a node carry the same name.
 */
void hostname_short(char buf[NODE_NAME_MAX]);

/*
 * Write the name of the node whose slurmd has made the cgroup PATH, for a caller that is not a
 * child of slurmd. If a host has several slurmds, the scope of each has the node's name,
 * "/system.slice/NODE_slurmstepd.scope/..."; otherwise the name is as in hostname_short().
 */
void node_name_of(char buf[NODE_NAME_MAX], const char *path);

#endif
