/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_RESERVE_H
#define NODEOS_HUGEPAGES_RESERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "hugepages/page_runs.h"

/*
 * Huge pages for the ranks of a step, added to the kernel's pools and taken from them at once, so
 * that no other program gets them. Everything that may wait for long runs in processes of its own,
 * with a limit of time, and without the ledger's lock.
 */
#define RESERVE_1G (UINT64_C(1) << 30)
#define RESERVE_2M (UINT64_C(2) << 20)
#define RESERVE_SHARE_MIN (UINT64_C(16) << 20) /* the smallest extent of a rank */

struct reserve_ask {
	const char *state_dir;
	int cgroup_fd; /* descriptor of the cgroup mount */
	const char *cgroup; /* path of the step's directory below the mount */
	uint64_t step_inode, job_inode;
	const struct idset *mems; /* nodes that may give pages */
	unsigned ranks;
	uint64_t bytes; /* of each rank, a multiple of 2 MiB; 0: its share, see pages_share() */
	uint64_t most; /* if BYTES is 0: the greatest number of bytes of all ranks together */
	/*
	 * RESERVE_2M; or RESERVE_1G: pages of 1 GiB if BYTES is a multiple of it and memory
	 * suffices, else pages of 2 MiB
	 */
	uint64_t page;
	uint64_t job_max; /* bytes that all steps of the job may have together; 0: no limit */
	pid_t owner; /* slurmstepd: when it ends, extents that no rank has taken are freed */
};

/* Plain data in memory that the step's processes share. */
struct reserve_given {
	pid_t holder; /* process that holds the extents until the ranks have taken them; 0: none */
	uint64_t holder_number; /* process_number() of the holder */
	uint64_t page, bytes;
	/* the worst of any rank: the most runs, the least `longest`, the least `shortest` */
	struct page_runs proof;
};

/*
 * Make an extent for each rank, or none at all. A second call for a step adds to the first. Returns
 * 0, or -1 with the reason: what is requested, and how much memory each node has free.
 */
int reserve_pages(struct reserve_given *out, const struct reserve_ask *ask, struct errbuf *err);

/*
 * In a rank, as root: get extent RANK, counted from 0, of G. Returns a descriptor that stays open
 * in execve(), or -1.
 */
int reserve_take(const struct reserve_given *g, unsigned rank, struct errbuf *err);

/*
 * Remove from the pools the pages of a step that ends, or of all steps of a job that ends; its
 * directory had INODE. Unless CGROUP_FD, the descriptor of the cgroup mount, is -1, also remove
 * those of steps that have ended without this call. Pages that a process still uses leave the pool
 * when the process ends. Idempotent; quick if there are no such pages.
 */
void reserve_release(const char *state_dir, int cgroup_fd, uint64_t inode);

#endif
