/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_RANKS_IMPL_H
#define NODEOS_CONTENTION_RANKS_IMPL_H

/* Inside ranks.c, ranks_look.c, ranks_scan.c and ranks_sample.c. */
#include "contention/process.h"
#include "contention/ranks.h"
#include "contention/storage.h"
#include "contention/traffic.h"
#include "host/cgroup.h"

#define RANK_TASK_NAME_MAX OBSERVED_TASK_MAX /* "task_4294967295", "task_special" */

/* A directory task_N of a step. */
struct rank_task {
	char name[RANK_TASK_NAME_MAX];
	char container[REQUEST_NAME_MAX]; /* "": none */
	int number; /* rank in the step, as slurmstepd names it; OBSERVED_NO_RANK: not named */
	bool watched; /* its processes may be ranks; else it is only listed */
	bool launcher; /* a launcher of MPI has been in it */
	bool gone; /* its directory has */
	bool alone; /* no more than one process has ever been seen in it */
	int dir; /* descriptors; -1: none */
	int cpu_stat, memory, io;
	int slot; /* of its traffic, -1: not counted */
	uint64_t read, written; /* totals of its io.stat when it was first seen */
};

/* What observed_rank does not say of the rank with the same index. */
struct rank_own {
	int status; /* descriptor of /proc/PID/status */
	int slot; /* of its storage; -1: none yet */
	char task[RANK_TASK_NAME_MAX];
	unsigned look; /* number of the last look that found it */
	unsigned remembered; /* look after which its memory was read */
	bool sampled; /* CPU is known */
	uint64_t cpu; /* microseconds at the last sample */
};

/* CPU time of a process that is no rank, at the last look. */
struct rank_idle {
	pid_t pid;
	uint64_t start, ticks;
};

struct rank_step {
	uint64_t inode; /* of its directory; names the struct observed_step */
	char path[CGROUP_PATH_MAX]; /* below the root of cgroup v2 */
	bool tasks_of_srun; /* not the batch script, an interactive shell, or adopted sessions */
	unsigned n_tasks, n, n_idle;
	unsigned next_task, next_rank; /* where the next search begins */
	struct rank_task *task;
	struct rank_own *own; /* n, as many as the observed step has */
	struct rank_idle *idle;
};

struct ranks {
	struct ranks_conf conf;
	char *state_dir;
	char proc[32]; /* a path to conf.proc_fd */
	struct process_source source; /* of conf.proc_fd */
	struct storage *storage;
	struct traffic *traffic; /* NULL: not counted */
	struct errbuf no_traffic;
	uint64_t ticks; /* of a second */
	struct idset quiet;
	unsigned look; /* number of the look */
	double looked; /* monotonic seconds of the last look; 0: none */
	unsigned n_steps;
	struct rank_step *step;
};

/* ------------------------------------------------------------------ ranks.c */

/* Close what is open of steps that the caller has removed from NODE. */
void ranks_forget_steps(struct ranks *r, const struct observed_node *node);

/* The step with this directory; NULL: none. */
struct rank_step *ranks_step(struct ranks *r, uint64_t inode);
struct observed_step *ranks_observed(struct observed_node *node, uint64_t inode);

/*
 * The step with directory PATH, made with what SEEN says where there is none yet; NULL with the
 * reason: out of memory.
 */
struct rank_step *ranks_meet_step(struct ranks *r, struct observed_node *node, const char *path,
				  const struct observed_step *seen, struct errbuf *err);

/* The task NAME of S, made unwatched where there is none yet; NULL: out of memory, too many. */
struct rank_task *ranks_meet_task(struct rank_step *s, const char *name);
struct rank_task *ranks_task(struct rank_step *s, const char *name);
/* Descriptors and traffic of a task that is watched from now on. */
void ranks_watch_task(struct ranks *r, struct rank_step *s, struct rank_task *t,
		      const char *container);
void ranks_forget_task(struct ranks *r, struct rank_step *s, unsigned i);

struct rank_found {
	const struct process_seen *process;
	const struct rank_task *task;
	enum observed_kind kind;
};

/*
 * FOUND is a rank of S now: find it among those of O or add it. -1 with the reason: too many, or
 * out of memory or descriptors.
 */
int ranks_keep(struct ranks *r, struct rank_step *s, struct observed_step *o,
	       const struct rank_found *found, struct errbuf *err);
/* CPUs, domain and quiet of RANK in T. */
void ranks_place(const struct ranks *r, const struct observed_node *node, struct rank_task *t,
		 struct observed_rank *rank);
/* The index of process P among the ranks of O, the observed step of S, or -1. */
int ranks_index(struct rank_step *s, const struct observed_step *o, const struct process_seen *p);
void ranks_drop(struct ranks *r, struct rank_step *s, struct observed_step *o, unsigned i);

/* Sums over all disks of an open io.stat; -1: unreadable, both unchanged. */
int ranks_read_io(int fd, uint64_t *read, uint64_t *written);

/* Parse "step_0", "step_batch". Returns 0, or -1. */
int ranks_parse_step(const char *name, uint32_t *step);

/* ------------------------------------------------------------- ranks_scan.c */

/* Which steps and tasks there are: add those that are to be observed to R and NODE. */
void ranks_scan(struct ranks *r, struct observed_node *node, struct errbuf *bad);

#endif
