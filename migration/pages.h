/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PAGES_H
#define NODEOS_MIGRATION_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "migration/around.h"
#include "migration/node_memory.h"

/*
 * Move the anonymous memory of a rank's processes to a memory node. This may wait for ever for an
 * address space that a user controls, so only a separate process with the user's rights calls it
 * (page_worker.h). Needs Linux 6.7 (PAGEMAP_SCAN), and no rights beyond the user's: Yama does not
 * restrict it.
 */

#define PAGES_ROUNDS 5 /* limit of rounds, each of which looks and moves */
#define PAGES_CALL ((uint64_t)64 << 20) /* bytes of one call of move_pages(2), unless set */

struct pages_plan {
	/* where the rank's memory belongs; pages on its home and outside of the container stay */
	struct node_home where;
	unsigned to; /* the first node to fill, one of WHERE.home */
	uint64_t rate; /* limit of the mean rate, bytes a second; 0: no limit */
	uint64_t call; /* bytes of one call; 0: PAGES_CALL */
	unsigned seconds; /* no call of move_pages() begins after this time */
	/* only these parts are looked at and moved; NULL: all memory. Borrowed */
	const struct around *only;
};

/*
 * Progress of the process so far, in memory that it shares with its caller, so that the caller
 * knows it even if the process never returns. Only the process writes it.
 */
struct pages_progress {
	_Atomic uint32_t beats; /* changes whenever an operation has ended */
	_Atomic uint32_t calls; /* calls of move_pages(), including the one under way */
	_Atomic uint32_t pid; /* process that is being looked at or moved; 0: none yet */
	_Atomic uint64_t moved; /* bytes */
};

enum pages_end {
	PAGES_ENOUGH, /* at most NODE_MEMORY_ENOUGH lies elsewhere */
	/* more lies elsewhere after PAGES_ROUNDS: the rank allocates new pages */
	PAGES_ROUNDS_USED,
	/*
	 * more lies elsewhere, and next to nothing of it can be moved or was moved in the last
	 * round: see the reasons
	 */
	PAGES_NO_GAIN,
	PAGES_FULL, /* no node of the home has memory left */
	PAGES_TIME_USED,
	PAGES_UNSUPPORTED, /* this kernel has no PAGEMAP_SCAN */
	PAGES_GONE, /* no process is left */
};

/* Return the name of END in reports: "enough", ... */
const char *pages_end_name(enum pages_end end);

struct pages_result {
	enum pages_end end;
	/*
	 * The memory of all processes that could be read. If the plan has ONLY, only the pages in
	 * ONLY that can be moved count.
	 */
	struct node_memory before, after;
	uint64_t all; /* bytes of these processes, also outside of ONLY, before the move */
	uint64_t moved; /* bytes */
	/*
	 * move_pages() calls that move pages: each drains the LRU lists of all online CPUs,
	 * including those of other jobs
	 */
	uint32_t calls;
	uint32_t rounds;
	uint32_t processes; /* number read in the last round */
	/*
	 * number not read: set-user-ID programs, or processes that made the kernel hide their
	 * memory
	 */
	uint32_t refused;
	/* bytes elsewhere that stayed in the last round, by reason */
	uint64_t bound; /* a memory policy of the user puts them there or spreads them */
	uint64_t huge; /* hugetlbfs */
	uint64_t shared; /* mapped by several processes */
	uint64_t busy; /* in use by the kernel, locked, or freed meanwhile */
};

/*
 * Count where the memory of the processes in PATH and below lies, and move nothing: the fields of
 * moves in OUT stay 0. Returns 0, or -1 when the cgroup cannot be read.
 */
int pages_look(struct pages_result *out, const struct node_home *where, int cgroup_fd,
	       const char *path, struct errbuf *err);

/*
 * Move what lies elsewhere. A probe precedes each move_pages(2): if a user holds the mmap_lock, the
 * probe waits. SIGKILL ends a wait of the probe, but none of move_pages(2). PROGRESS is never NULL.
 */
int pages_move(struct pages_result *out, const struct pages_plan *plan, int cgroup_fd,
	       const char *path, struct pages_progress *progress, struct errbuf *err);

#endif
