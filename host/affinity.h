/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_AFFINITY_H
#define NODEOS_HOST_AFFINITY_H

#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"

/* CPU affinity and memory policy of a process, as sets. PID 0: the caller. */
int affinity_get(pid_t pid, struct idset *out, struct errbuf *err);
int affinity_set(pid_t pid, const struct idset *cpus, struct errbuf *err);

/* Bind all memory that the caller and its later children will use to NODES (MPOL_BIND). */
int membind_set(const struct idset *nodes, struct errbuf *err);

/* Get the caller's memory policy (MPOL_* of linux/mempolicy.h) and its nodes. */
int membind_get(int *mode, struct idset *nodes, struct errbuf *err);

/* Return the name of MODE (MPOL_*): "default", "bind", ... */
const char *membind_name(int mode);

/* Get Cpus_allowed_list and Mems_allowed_list of /proc/PID/status. */
int status_sets(const char *pid, struct idset *cpus, struct idset *mems, struct errbuf *err);
/* As status_sets(), for PID below ROOT, the descriptor of "/" or of a test's tree. */
int status_sets_at(int root, const char *pid, struct idset *cpus, struct idset *mems,
		   struct errbuf *err);

#endif
