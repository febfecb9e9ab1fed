/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_AGENT_MOUNTS_H
#define NODEOS_GUEST_AGENT_MOUNTS_H

/* Mount the kernel's file systems for the agent alone: /proc, /sys, /dev. */
void agent_mount_kernel(void);

/*
 * Make the host's root, which virtiofs exports as "root", the root of all processes. It is
 * read-only except for DIRECTORY, an absolute path of the host; /tmp, /run and /dev/shm are in
 * memory. Returns NULL, or the name of what failed, with errno.
 */
const char *agent_mount_root(const char *directory);

#endif
