/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_BUNDLE_NODE_H
#define NODEOS_TOOLS_BUNDLE_NODE_H

#include "host/cgroup.h"
#include "tools/bundle.h"

/*
 * What a support bundle holds of a node, beyond what programs print and files hold. Each function
 * is 0, or -1 as those of tools/bundle.h are.
 */

/*
 * The ledger and what stands beside it in STATE_DIR, as it is, nothing swept. JOB: only that job's
 * entry (0: all); its cgroup is written to CGROUP, "" when the ledger has no such job.
 */
int bundle_ledger(struct bundle *b, const char *state_dir, unsigned long job,
		  char cgroup[CGROUP_PATH_MAX], struct errbuf *err);

/*
 * The cpuset and memory files of the cgroup tree below ROOT (NULL: the one of this node): of its
 * first two levels, and of all that is in a directory with slurm in its name. ONLY: of that
 * directory and those in it instead, unless it is "".
 */
int bundle_cgroups(struct bundle *b, const char *root, const char *only, struct errbuf *err);

/* What the buffers that are mounted here tell of themselves. */
int bundle_buffers(struct bundle *b, struct errbuf *err);

/* The kernel's command line, the options of its configuration that matter to NodeOS, and its log's
 * lines on NodeOS and memory. */
int bundle_kernel(struct bundle *b, bool log, struct errbuf *err);

/* The files of the shared libraries that this program runs with: their names have their versions.
 */
int bundle_libraries(struct bundle *b, struct errbuf *err);

/*
 * Slurm: its configuration as slurmctld tells it, the files that it points to with those that they
 * include, the end of slurmd's log; all with secrets masked.
 */
int bundle_slurm(struct bundle *b, struct errbuf *err);

/* For it, and its tests: the file PATH as "files/PATH", and those that its lines "include PATTERN"
 * name; DEPTH: 0. */
int bundle_config_file(struct bundle *b, const char *path, unsigned depth, struct errbuf *err);

#endif
