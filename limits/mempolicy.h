/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LIMITS_MEMPOLICY_H
#define NODEOS_LIMITS_MEMPOLICY_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "manifest/mems_policy.h"

/* Memory policies over several nodes, and the weights of the kernel's weighted interleave. */

/* Return whether this kernel has POLICY; the caller's own policy is unchanged. */
bool mempolicy_is_known(enum mems_policy policy);

/*
 * Set POLICY over NODES for all memory that the caller and its later children will use. Returns 0,
 * or -1.
 */
int mempolicy_set(enum mems_policy policy, const struct idset *nodes, struct errbuf *err);

/* Return the number that the kernel has for POLICY (MPOL_*). */
int mempolicy_number(enum mems_policy policy);

/*
 * As root: give the kernel's weighted interleave weights for NODES in proportion to the bandwidths
 * that the firmware gives (HMAT), 1 to 32, unless the kernel does so itself. These weights apply to
 * the whole host, and stay after the step. ROOT: "", or a test's directory. Returns the number of
 * nodes with a weight, 0 if a bandwidth is unknown or the kernel sets weights itself, or -1.
 */
int mempolicy_weigh(const struct idset *nodes, const char *root, struct errbuf *err);

#endif
