/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTENTION_RANKS_H
#define NODEOS_CONTENTION_RANKS_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "contention/observed.h"
#include "host/contention_message.h"

/*
 * Find out which processes of this host are ranks, and which resources the ranks use. The
 * functions read cgroup v2, and only files of /proc/PID that the kernel prints without the
 * process's address space, except the command line of root's slurmstepd in a vnode. Users choose
 * the names of their processes, and can end or move them at any time; so a process that has ended
 * or moved is no error.
 *
 * Ranks of a step:
 *  - TASK: the process of a task of srun that started first. It represents all processes in its
 *    directory task_N. The batch script and an interactive shell are no tasks of srun.
 *  - CHILD: in a directory with a launcher of MPI (prted, orted, hydra's proxies; also mpirun and
 *    similar programs, which start the ranks of their own host), each child of a launcher, except
 *    other launchers, srun and ssh. Neither the launcher nor the first process of the directory is
 *    then a rank.
 *    In a vnode, each child of slurmstepd is a CHILD, too: all processes are in one directory.
 *  - BUSY: any other process of the step, in a directory without a TASK, that used more than half
 *    a CPU between two scans. This process stays a rank as long as it lives.
 */
struct ranks;

struct ranks_conf {
	const char *state_dir; /* directory of the ledger; NULL: there is no ledger */
	int cgroup_fd; /* root of cgroup v2, see cgroup_open_root() */
	int proc_fd; /* "/proc", or a test's directory */
	int sys_fd; /* "/sys", or a test's directory */
	bool all_steps; /* also observe steps and ranks without a container */
	/*
	 * Return whether ranks of CONTAINER are observed; REQUEST, never NULL, is its text in the
	 * ledger. If WANTED is NULL, all ranks are observed. Not called for ranks that slurmstepd
	 * reports.
	 */
	bool (*wanted)(const char *request, const char *container, void *arg);
	void *arg;
};

/*
 * The most processes that one scan reads: of one step, and of all steps. A step has at most
 * STEP_RANKS_MAX ranks.
 */
#define RANKS_STEP_PROCESSES_MAX 4096u
#define RANKS_PROCESSES_MAX 65536u

/*
 * Fill in the domains of NODE, and open the counters of traffic. Returns 0, or -1 with the reason.
 * The caller keeps CONF's descriptors open until ranks_close(); its texts are copied.
 */
int ranks_open(struct ranks **out, const struct ranks_conf *conf, struct observed_node *node,
	       struct errbuf *err);
void ranks_close(struct ranks *r); /* NULL does nothing */

/*
 * Only the next functions add and remove ranks of NODE's steps. ranks_announce() and ranks_scan()
 * may move ranks in memory, so use PID and START to identify a rank across calls. The caller
 * removes steps that have ended (observed_remove_step()) after their last document is written.
 */

/*
 * Add the step and the ranks that slurmstepd reports in M. A process that already is a rank is not
 * added again; a process that is in no directory step_ID/user/task_N of that job is ignored.
 * Returns how many processes of M are ranks now, or -1 with the reason if all were ignored.
 */
int ranks_announce(struct ranks *r, struct observed_node *node, const struct contention_message *m,
		   struct errbuf *err);

/*
 * Find steps and ranks by the ledger (without its lock) and by cgroups, and set their commands,
 * CPUs, domains and threads. Drop ranks that have ended. Mark steps whose directory was removed as
 * ended; their ranks stay for the last document. Returns 0. BAD gets the reason for one of the
 * things that could not be read or were too large; everything else is read.
 */
int ranks_scan(struct ranks *r, struct observed_node *node, struct errbuf *bad);

/*
 * Set the resources that ranks use: CPU since the last sample, which was MILLISECONDS ago; memory,
 * for a TASK only once after each scan; totals. A number that cannot be read, or that is counted
 * for several ranks together (such as SENT and RECEIVED of a CHILD), is unknown.
 */
void ranks_sample(struct ranks *r, struct observed_node *node, unsigned milliseconds);

/*
 * Return the number of Slurm's jobs that have processes on this host. CGROUP_FD is the root of
 * cgroup v2.
 */
unsigned ranks_count_jobs(int cgroup_fd);

/* Return the reason why traffic of ranks is not counted on this host; "" if it is counted. */
const char *ranks_no_traffic(const struct ranks *r);

#endif
