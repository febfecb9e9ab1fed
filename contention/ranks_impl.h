/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_RANKS_IMPL_H
#define NODEOS_CONTENTION_RANKS_IMPL_H

/* Shared by the files ranks*.c; other files include ranks.h. */
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
	int number; /* the rank's number in the step, from slurmstepd; OBSERVED_NO_RANK: unknown */
	bool watched; /* true: its processes may be ranks; false: the task is only listed */
	bool launcher; /* a launcher of MPI has been in its directory */
	bool gone; /* its directory is removed */
	bool alone; /* at most one process has ever been seen in its directory */
	int dir; /* DIR, CPU_STAT, MEMORY, IO: descriptors; -1: not open */
	int cpu_stat, memory, io;
	/*
	 * for a task in a vnode, whose DIR is the vnode's directory: PID and start (see struct
	 * process_seen) of the step's slurmstepd in this vnode; otherwise 0
	 */
	pid_t stepd;
	uint64_t stepd_start;
	int slot; /* slot of its traffic (traffic.h); -1: its traffic is not counted */
	uint64_t read, written; /* totals of its io.stat when the task was first seen */
};

/* The data of a rank that struct observed_rank of the same index lacks. */
struct rank_own {
	int status; /* descriptor of its /proc/PID/status */
	int slot; /* slot of its bytes of storage (storage.h); -1: none so far */
	char task[RANK_TASK_NAME_MAX];
	unsigned scan; /* number of the last scan that found it */
	unsigned remembered; /* number of the scan after which its memory was last read */
	bool sampled; /* CPU is valid */
	uint64_t cpu; /* CPU time at the last sample, in microseconds */
};

/* A process that may become a rank of kind OBSERVED_BUSY, with its CPU time at the last scan. */
struct rank_idle {
	pid_t pid;
	uint64_t start, ticks;
};

struct rank_step {
	uint64_t inode; /* inode of the step's directory, as in struct observed_step */
	char path[CGROUP_PATH_MAX]; /* below the root of cgroup v2 */
	/* false: the tasks are a batch script, an interactive shell or adopted sessions */
	bool tasks_of_srun;
	bool in_vnodes; /* each task is the step's part in a vnode, with its name; PATH is unused */
	unsigned n_tasks, n, n_idle;
	unsigned next_task, next_rank; /* index at which the next search begins */
	struct rank_task *task;
	struct rank_own *own; /* N elements, as in struct observed_step */
	struct rank_idle *idle;
};

struct ranks {
	struct ranks_conf conf;
	char *state_dir;
	char proc[32]; /* path of the directory conf.proc_fd */
	struct process_source source; /* reads from conf.proc_fd */
	struct storage *storage;
	struct traffic *traffic; /* NULL: traffic is not counted */
	struct errbuf no_traffic;
	uint64_t ticks; /* clock ticks in a second */
	struct idset quiet;
	unsigned scan; /* number of the current scan */
	double scanned; /* monotonic seconds of the last scan; 0: none */
	unsigned n_steps;
	struct rank_step *step;
};

/* ------------------------------------------------------------------ ranks.c */

/* Free the steps that the caller has removed from NODE, and close their descriptors. */
void ranks_forget_steps(struct ranks *r, const struct observed_node *node);

/* Return the step whose directory has this INODE, or NULL. */
struct rank_step *ranks_step_find(struct ranks *r, uint64_t inode);

/*
 * Return the step with the inode of SEEN. If the step is new, add it to R and NODE, with directory
 * PATH. Returns NULL with the reason if out of memory.
 */
struct rank_step *ranks_get_step(struct ranks *r, struct observed_node *node, const char *path,
				 const struct observed_step *seen, struct errbuf *err);

/*
 * Return the task NAME of S. If the task is new, add it, not watched yet. Returns NULL if out of
 * memory or if S has too many tasks.
 */
struct rank_task *ranks_get_task(struct rank_step *s, const char *name);
/* Return the task NAME of S, or NULL. */
struct rank_task *ranks_task_find(struct rank_step *s, const char *name);
/* Begin to watch a task: open its descriptors, and count its traffic. */
void ranks_watch_task(struct ranks *r, struct rank_step *s, struct rank_task *t,
		      const char *container);
void ranks_forget_task(struct ranks *r, struct rank_step *s, unsigned i);

struct rank_found {
	const struct process_seen *process;
	const struct rank_task *task;
	enum observed_kind kind;
};

/*
 * Mark the rank FOUND of S as found by this scan; add it to O if it is new. Returns 0, or -1 with
 * the reason if there are too many ranks, or no memory or descriptors are left.
 */
int ranks_keep(struct ranks *r, struct rank_step *s, struct observed_step *o,
	       const struct rank_found *found, struct errbuf *err);
/* Set CPUs, domain and QUIET of RANK in task T. */
void ranks_place(const struct ranks *r, const struct observed_node *node, struct rank_task *t,
		 struct observed_rank *rank);
/* Return the index of process P among the ranks of O, the observed step of S, or -1. */
int ranks_index(struct rank_step *s, const struct observed_step *o, const struct process_seen *p);
void ranks_drop(struct ranks *r, struct rank_step *s, struct observed_step *o, unsigned i);

/*
 * Read an open io.stat and set READ and WRITTEN to the sums over all disks, in bytes. Returns 0, or
 * -1 with both unchanged.
 */
int ranks_read_io(int fd, uint64_t *read, uint64_t *written);

/*
 * Parse names such as "step_0" and "step_batch". "step_0+1" (Slurm before 26.05) is the second
 * component of the heterogeneous step 0; srun gives each component its own hosts. Returns 0, or -1.
 */
int ranks_parse_step(const char *name, uint32_t *step);

/* ----------------------------------------------------------- ranks_vnodes.c */

/*
 * Find the steps of the vnode NAME, whose directory is PATH, and add them to R and NODE. A step of
 * several vnodes of this host is one step.
 */
void ranks_find_vnode_steps(struct ranks *r, struct observed_node *node, const char *name,
			    const char *path, struct errbuf *bad);

/* Return whether the slurmstepd of T, a task of a step in vnodes, still runs. */
bool ranks_stepd_lives(const struct ranks *r, const struct rank_task *t);

/*
 * Parse the title that slurmstepd gives its process, such as "slurmstepd: [41.0]". Returns 0, or
 * -1.
 */
int ranks_parse_title(const char *title, uint32_t *job, uint32_t *step);

/* ------------------------------------------------------------- ranks_scan.c */

/* Find the steps and tasks that are to be observed, and add them to R and NODE. */
void ranks_find_steps(struct ranks *r, struct observed_node *node, struct errbuf *bad);

#endif
