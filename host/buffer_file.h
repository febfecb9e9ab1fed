/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_BUFFER_FILE_H
#define NODEOS_HOST_BUFFER_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/fileio.h"
#include "base/idset.h"
#include "manifest/request.h"

#define BUFFER_MAGIC 0x64696d6d /* of statfs(2) */

/*
 * A container's buffer of dimmapfs (../dimmap): a mount with the file "data", made before the first
 * rank that is in the container, and gone with its job (of a step container: its step). It is at
 * STATE_DIR-dimmap/INODE.INDEX/m, where INODE is that of the cgroup directory that it lives as long
 * as, as in the ledger, and INDEX the container's in its request. The kernel knows everything else
 * of it.
 */
#define BUFFER_PATH_MAX (DIR_PATH_MAX + 64)
#define BUFFER_FILE "data"
#define BUFFER_FEATURE "dimmap" /* of nodes that can have one, in slurm.conf */

struct buffer {
	const struct request_dimmap *ask;
	unsigned index;
	uint64_t inode; /* of the job's or step's directory */
	const char *cgroup; /* this directory, below the cgroup mount */
	uid_t uid;
	gid_t gid;
	/* supplementary ones of the job, N_GROUPS of them; 0: those that the node's user database
	 * has */
	const gid_t *group;
	int n_groups;
	const struct idset *mems; /* where its memory is */
};

/* Who has made a buffer: a process whose mount namespace it is in, and this namespace's inode. */
struct buffer_maker {
	pid_t pid;
	uint64_t ns;
};

/* Is a buffer at PATH for this process? */
bool buffer_is_at(const char *path);

#endif
