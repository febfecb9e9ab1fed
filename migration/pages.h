/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PAGES_H
#define NODEOS_MIGRATION_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "migration/node_memory.h"

/*
 * Move the anonymous memory of a rank's processes to a memory node. What it does may wait for ever
 * for an address space that a user controls, so only a process apart calls it, with the user's
 * rights (page_worker.h). Needs Linux 6.7 (PAGEMAP_SCAN), and no right beside the user's: Yama
 * refuses nothing of it.
 */

#define PAGES_ROUNDS 5 /* at most, of looking and moving */
#define PAGES_CALL ((uint64_t)64 << 20) /* bytes of one call of move_pages(2), unless set */

struct pages_plan {
	struct node_home where; /* pages on its home and outside of the container stay */
	unsigned to; /* the first node to fill, one of WHERE.home */
	uint64_t rate; /* bytes a second at most, in the mean; 0: no bound */
	uint64_t call; /* bytes of one call; 0: PAGES_CALL */
	unsigned seconds; /* no call of move_pages() begins after that */
};

/*
 * What the process has done until now, in memory that it shares with its caller: all of it is
 * known of a process that never comes back. Written by the process alone.
 */
struct pages_progress {
	_Atomic uint32_t beats; /* changes whenever something has come to an end */
	_Atomic uint32_t calls; /* of move_pages(), with that which is under way */
	_Atomic uint32_t pid; /* process that is being looked at or moved; 0: none yet */
	_Atomic uint64_t moved; /* bytes */
};

enum pages_end {
	PAGES_ENOUGH, /* no more than NODE_MEMORY_ENOUGH lie elsewhere */
	PAGES_ROUNDS_USED, /* more do after PAGES_ROUNDS, as the rank makes new ones */
	/* more do, and next to nothing of them can be moved, or was in the last round: see the
	 * reasons */
	PAGES_NO_GAIN,
	PAGES_FULL, /* no node of the home has memory left */
	PAGES_TIME_USED,
	PAGES_UNSUPPORTED, /* this kernel has no PAGEMAP_SCAN */
	PAGES_GONE, /* no process is left */
};

/* "enough", ..., for reports. */
const char *pages_end_name(enum pages_end end);

struct pages_result {
	enum pages_end end;
	struct node_memory before, after; /* of all processes that could be looked at */
	uint64_t moved; /* bytes */
	/* move_pages() calls that move pages: each drains the LRU lists of all CPUs that are on,
	 * those of other jobs included */
	uint32_t calls;
	uint32_t rounds;
	uint32_t processes; /* looked at, in the last round */
	/* not looked at: set-user-ID, or the process asked the kernel to hide it */
	uint32_t refused;
	/* bytes elsewhere that stay, in the last round, each with its reason */
	uint64_t bound; /* a policy of the user's has them there or spread */
	uint64_t huge; /* hugetlbfs */
	uint64_t shared; /* mapped by several processes */
	uint64_t busy; /* in use by the kernel, or locked, or gone meanwhile */
};

/*
 * Count only: where the memory of the processes in PATH and below lies. OUT has no field of a move.
 * Returns 0, or -1 when the cgroup cannot be read.
 */
int pages_look(struct pages_result *out, const struct node_home *where, int cgroup_fd,
	       const char *path, struct errbuf *err);

/*
 * Move what lies elsewhere. Each process is asked by a probe before each call, so one whose address
 * space is held blocks the caller in the probe. PROGRESS is never NULL.
 */
int pages_move(struct pages_result *out, const struct pages_plan *plan, int cgroup_fd,
	       const char *path, struct pages_progress *progress, struct errbuf *err);

#endif
