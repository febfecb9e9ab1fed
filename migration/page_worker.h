/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_PAGE_WORKER_H
#define NODEOS_MIGRATION_PAGE_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "host/cgroup.h"
#include "migration/pages.h"

/*
 * Moves of ranks' pages (pages.h) in processes of their own, one at a time; no function here waits.
 * A process that a user's address space holds is killed and abandoned: it ends when the kernel lets
 * it, and until then holds up nothing. Its rank is marked and not tried again until its step ends.
 * Workers end with the caller, unless the kernel holds them.
 */

/*
 * With as many that have not ended, no other is started; and none for a user who holds one, so that
 * no user alone can stop the moves of others.
 */
#define PAGE_WORKERS_ABANDONED 8
#define PAGE_WORKER_SILENT_S 30 /* a worker without progress for so long is abandoned */

struct page_request {
	int cgroup_fd; /* the cgroup root; stays open until the worker has ended */
	char cgroup[CGROUP_PATH_MAX]; /* of the rank, below it: "JOB/STEP/user/task_N" */
	uint64_t step; /* inode of the step's directory, for page_workers_forget() */
	uid_t uid; /* not 0 */
	gid_t gid;
	struct pages_plan plan;
	unsigned foreign_cpus; /* CPUs that are on and not of the rank's container */
};

enum page_start {
	PAGE_STARTED,
	PAGE_BUSY, /* another worker is active: later */
	PAGE_SILENT, /* the rank did not answer earlier: not before its step ends */
	PAGE_HELD, /* abandoned workers have not ended, of this user or of many: later, perhaps */
	PAGE_FAILED, /* no process could be started, or the request is wrong */
};

enum page_state {
	PAGE_NONE, /* no worker */
	PAGE_AT_WORK,
	PAGE_DONE, /* the outcome is valid, and ended as pages.h says */
	/* its user killed or suspended it, its job is suspended, or it could not start or look */
	PAGE_DIED,
	PAGE_ABANDONED, /* killed: it made no progress or took too long; the rank is marked */
};

/* The outcome of the worker that was active. */
struct page_outcome {
	char cgroup[CGROUP_PATH_MAX];
	uint64_t step;
	struct pages_result result; /* PAGE_DONE: valid */
	/* also of a worker that did not come back: calls and bytes until then */
	uint32_t calls;
	uint64_t moved;
	/* times that a foreign CPU had to empty its LRU lists: CALLS times FOREIGN_CPUS */
	uint64_t drains;
	pid_t silent; /* PAGE_ABANDONED: the process that it waited for; 0: unknown */
};

struct page_workers;

/* NULL: out of memory. */
struct page_workers *page_workers_new(void);

/* Another limit than PAGE_WORKER_SILENT_S, in milliseconds: for tests. */
void page_workers_set_silence(struct page_workers *w, unsigned ms);

/* Kill all workers, and free W; does not wait for them. NULL does nothing. */
void page_workers_free(struct page_workers *w);

/* Start a worker for a rank. ERR has the reason for all results but PAGE_STARTED. */
enum page_start page_worker_start(struct page_workers *w, const struct page_request *r,
				  struct errbuf *err);

/*
 * Look at the active worker; call it at least once a second, also without one, as it reaps those
 * that were abandoned. Each worker has one of the last three states once. ERR has the reason for
 * PAGE_DIED and PAGE_ABANDONED.
 */
enum page_state page_worker_check(struct page_workers *w, struct page_outcome *out,
				  struct errbuf *err);

/* End the active worker, if there is one, and write to *OUT what it has done. Returns whether there
 * was one. */
bool page_worker_stop(struct page_workers *w, struct page_outcome *out);

/* Is the rank marked as one that does not answer? */
bool page_workers_silent(const struct page_workers *w, const char *cgroup);

/* Has a worker of this user been abandoned, and not ended? */
bool page_workers_held(const struct page_workers *w, uid_t uid);

/* How many workers were killed and have not ended. */
unsigned page_workers_abandoned(const struct page_workers *w);

/* The step has ended: remove the marks of its ranks, and kill its worker, if it has one. */
void page_workers_forget(struct page_workers *w, uint64_t step);

#endif
