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
 * A process that waits for a user's address space is killed and abandoned: it ends when the kernel
 * lets it, and until then holds up nothing. Its rank is marked, and not tried again until its step
 * ends. Workers end with the caller, unless the kernel holds them.
 */

/*
 * While this number of abandoned workers have not ended, no worker starts. No worker starts for a
 * user whose abandoned worker has not ended, so that no single user can stop the moves of others.
 */
#define PAGE_WORKERS_ABANDONED 8
/*
 * Seconds without progress and without CPU time after which a worker is abandoned. Pages of other
 * ranks, which are to follow within 30 s, wait for the worker meanwhile.
 */
#define PAGE_WORKER_SILENT_S 15

struct page_request {
	int cgroup_fd; /* the cgroup root; stays open until the worker has ended */
	/* the rank's cgroup below CGROUP_FD: "JOB/STEP/user/task_N" */
	char cgroup[CGROUP_PATH_MAX];
	uint64_t step; /* inode of the step's cgroup directory, for page_workers_forget() */
	uid_t uid; /* not 0 */
	gid_t gid;
	struct pages_plan plan;
	unsigned foreign_cpus; /* number of online CPUs outside of the rank's container */
};

enum page_start {
	PAGE_STARTED,
	PAGE_BUSY, /* another worker is active: retry later */
	PAGE_SILENT, /* the rank did not respond earlier: do not retry before its step ends */
	/*
	 * an abandoned worker of this user has not ended, or as many workers of any users as may be
	 * abandoned at a time: retry later
	 */
	PAGE_HELD,
	PAGE_FAILED, /* no process could be started, or the request is wrong */
};

enum page_state {
	PAGE_NONE, /* no worker */
	PAGE_AT_WORK,
	PAGE_DONE, /* the outcome is valid; its result says how it ended (enum pages_end) */
	/*
	 * the user killed or suspended the worker, the job is suspended, or the worker could not
	 * start or read the rank's memory
	 */
	PAGE_DIED,
	PAGE_ABANDONED, /* killed: it made no progress or took too long; the rank is marked */
};

/* The outcome of the worker that was active. */
struct page_outcome {
	char cgroup[CGROUP_PATH_MAX];
	uint64_t step;
	struct pages_result result; /* PAGE_DONE: valid */
	/* calls and bytes so far, also of a worker that was killed */
	uint32_t calls;
	uint64_t moved;
	/* times that a foreign CPU had to empty its LRU lists: CALLS times FOREIGN_CPUS */
	uint64_t drains;
	/* PAGE_ABANDONED: the process whose address space it waited for; 0: unknown */
	pid_t silent;
};

struct page_workers;

/* NULL: out of memory. */
struct page_workers *page_workers_new(void);

/* Replace the limit PAGE_WORKER_SILENT_S by MS milliseconds, for tests. */
void page_workers_set_silence(struct page_workers *w, unsigned ms);

/* Kill all workers, and free W; does not wait for them. NULL does nothing. */
void page_workers_free(struct page_workers *w);

/* Start a worker for a rank. ERR has the reason for all results except PAGE_STARTED. */
enum page_start page_worker_start(struct page_workers *w, const struct page_request *r,
				  struct errbuf *err);

/*
 * Check the active worker. Call this at least once a second, even without an active worker, because
 * it reaps abandoned workers. For each worker, one of the last three states is returned once. ERR
 * has the reason for PAGE_DIED and PAGE_ABANDONED.
 */
enum page_state page_worker_check(struct page_workers *w, struct page_outcome *out,
				  struct errbuf *err);

/* End the active worker, if there is one, and write to *OUT what it has done. Returns whether there
 * was one. */
bool page_worker_stop(struct page_workers *w, struct page_outcome *out);

/* Return whether the rank in CGROUP is marked as not responding. */
bool page_workers_silent(const struct page_workers *w, const char *cgroup);

/* Return whether an abandoned worker of user UID still runs. */
bool page_workers_held(const struct page_workers *w, uid_t uid);

/* Return the number of killed workers that still run. */
unsigned page_workers_abandoned(const struct page_workers *w);

/* The step has ended: remove the marks of its ranks, and kill its worker, if it has one. */
void page_workers_forget(struct page_workers *w, uint64_t step);

#endif
