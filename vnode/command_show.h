/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_VNODE_COMMAND_SHOW_H
#define NODEOS_VNODE_COMMAND_SHOW_H

#include "vnode/check.h"

/* The commands of "nodeosctl vnode" that only read. Each returns the exit status. */
int vnode_command_list(const struct vnode_site *site);
int vnode_command_show(const struct vnode_site *site, const char *name);
int vnode_command_slurm_conf(const struct vnode_site *site);

#endif
