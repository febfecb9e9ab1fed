/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_RANKS_H
#define NODEOS_CONTENTION_RANKS_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "contention/observed.h"
#include "host/contention_message.h"

/*
 * Which processes of this host are ranks, and what they use. Reads of a process only what the
 * kernel answers without its address space (/proc/PID/stat, cgroup, status), and cgroup v2. A user
 * chooses names, numbers and ends of his processes at any time: a process that has gone or that is
 * elsewhere is no error.
 *
 * Ranks of a step:
 *  - TASK: the first process (by start) of a task of srun, for all processes of its directory
 *    task_N. The batch script and an interactive shell are no tasks of srun.
 *  - CHILD: in a directory with a launcher of MPI (prted, orted, hydra's proxies; mpirun and its
 *    like, which start the ranks of their own host), each child of a launcher, without launchers
 *    and srun. The launcher is no rank then, and nor is the first process.
 *  - BUSY: a process of the step in no TASK's directory, with more than half a CPU between two
 *    looks. It stays a rank as long as it lives.
 */
struct ranks;

struct ranks_conf {
	const char *state_dir; /* of the ledger; NULL: none */
	int cgroup_fd; /* root of cgroup v2, see cgroup_open_root() */
	int proc_fd; /* "/proc", or a test's directory */
	int sys_fd; /* "/sys", likewise */
	bool all_steps; /* also steps and ranks without a container */
	/* Is CONTAINER observed, by the text of the ledger's REQUEST (never NULL)? NULL: each is.
	 * Not asked for what slurmstepd names. */
	bool (*wanted)(const char *request, const char *container, void *arg);
	void *arg;
};

/* Processes that one look reads of one step, and of all; ranks of a step: STEP_RANKS_MAX. */
#define RANKS_STEP_PROCESSES_MAX 4096u
#define RANKS_PROCESSES_MAX 65536u

/*
 * Fill the domains of NODE and open what counts traffic. Returns 0, or -1 with the reason. CONF's
 * descriptors stay the caller's, and open until ranks_close(); its text is copied.
 */
int ranks_open(struct ranks **out, const struct ranks_conf *conf, struct observed_node *node,
	       struct errbuf *err);
void ranks_close(struct ranks *r); /* NULL does nothing */

/*
 * Ranks of NODE's steps are added and removed by these functions alone, and each of the first two
 * may move them: pid and start name one across calls. The caller removes steps that have ended
 * (observed_remove_step()), when their last document is written.
 */

/*
 * Add a step and its ranks as slurmstepd names them. A process that has no directory
 * step_ID/user/task_N of that job is not believed, and one that is known already is not added
 * again. Returns how many processes of the message are ranks now, or -1 with the reason: none is.
 */
int ranks_announce(struct ranks *r, struct observed_node *node, const struct contention_message *m,
		   struct errbuf *err);

/*
 * Look for steps and ranks, by the ledger without its lock and by cgroups; drop the ranks that have
 * gone; mark steps as ended whose directory has gone (their ranks stay, for the last document).
 * Sets commands, CPUs, domains, threads. Returns 0; what could not be read, or was too much,
 * is in BAD, and all else is looked at.
 */
int ranks_look(struct ranks *r, struct observed_node *node, struct errbuf *bad);

/*
 * What the ranks have used: cpu since the last sample, MILLISECONDS ago; memory, of a task as
 * of the last look; totals. A number
 * that a rank shares with others (as sent and received of a CHILD), or that cannot be read here, is
 * unknown.
 */
void ranks_sample(struct ranks *r, struct observed_node *node, unsigned milliseconds);

/* How many jobs of Slurm have processes on this host, by its cgroups; CGROUP_FD as above. */
unsigned ranks_count_jobs(int cgroup_fd);

/* Why traffic of ranks is not counted here; "" where it is. */
const char *ranks_no_traffic(const struct ranks *r);

#endif
