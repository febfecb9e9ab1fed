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

#define BUFFER_MAGIC 0x64696d6d /* f_type of statfs(2) */

/*
 * A container's buffer of dimmapfs (../dimmap): a mount with the file "data". It is made before the
 * first rank of the container. It is removed with the job, or with the step if the container is a
 * step's. Its mount point is STATE_DIR-dimmap/INODE.INDEX/m. INODE is the inode of the job's or
 * step's cgroup directory, as in the ledger, and INDEX the index of the container in its request.
 * The file "owner" beside the mount point has the properties by which a later step recognizes its
 * buffer. All other state is in the kernel.
 */
#define BUFFER_PATH_MAX (DIR_PATH_MAX + 64)
#define BUFFER_FILE "data"
#define BUFFER_FEATURE "dimmap" /* Slurm feature of nodes that can have buffers */

struct buffer {
	const struct request_dimmap *ask;
	unsigned index;
	uint64_t inode; /* inode of the job's or step's directory */
	const char *cgroup; /* path of this directory below the cgroup mount */
	uid_t uid;
	gid_t gid;
	/* N_GROUPS supplementary groups of the job; 0: those of the node's user database */
	const gid_t *group;
	int n_groups;
	const struct idset *mems; /* memory nodes of the buffer */
};

/*
 * The process that made a buffer and has the mount in its mount namespace, and the inode of that
 * namespace.
 */
struct buffer_maker {
	pid_t pid;
	uint64_t ns;
};

/* Return whether this process sees a buffer at PATH. */
bool buffer_is_at(const char *path);

#endif
