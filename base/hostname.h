/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_HOSTNAME_H
#define NODEOS_BASE_HOSTNAME_H

#define NODE_NAME_MAX 256

/*
 * What Slurm calls this node: below slurmd it says so (SLURMD_NODENAME); else it is the host's name
 * up to its first dot, as slurmd itself looks for its line of slurm.conf. Reports of one node have
 * one name by this, whoever writes them.
 */
void hostname_short(char buf[NODE_NAME_MAX]);

/*
 * The same for a caller that is not below slurmd, of the node whose slurmd has made the cgroup
 * PATH: where a host has several, each has a scope of its node's name,
 * "/system.slice/NODE_slurmstepd.scope/...".
 */
void node_name_of(char buf[NODE_NAME_MAX], const char *path);

#endif
