/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_POLICY_H
#define NODEOS_INVENTORY_POLICY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "inventory/record.h"

/*
 * Memory policies, which CRIU does not restore. Only a process itself can set them. So each thread
 * that had one is stopped for a moment after the restore, and made to call mbind() or
 * set_mempolicy() (ptrace; x86-64). Pages of mappings with a policy of their own move to its nodes.
 */
#define MOVE_POLICY_NODES 1024

struct move_policy {
	int mode; /* MPOL_*, with its flags */
	unsigned long mask[MOVE_POLICY_NODES / 64]; /* memory nodes */
};

/* Parse WORD of numa_maps: "bind:0-1", "prefer=static:1". Returns 0, or -1 for other words. */
int move_policy_parse(struct move_policy *out, const char *word);

/*
 * Set the policies of R in the tree of INIT. A user may hold a thread for ever: a process of its
 * own does the work, and the caller waits for it for SECONDS at most. Returns how many policies are
 * not set; their pages are placed by default.
 */
unsigned move_policies_apply(const struct move_record *r, pid_t init, unsigned seconds);

#endif
