/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check whether a rank has begun. Its user may keep it in execve() for ever. */
#include "control/resize_view.h"

#include "base/test/held.h"
#include "base/test/tap.h"
#include "container/test/ledger_fixture.h"

#define LIMIT_MS 5000 /* limit of calls that take a millisecond on an idle host */

static struct ledger_step *step;
static struct held held;

/* Write PIDS as the processes in the rank's cgroup. */
static void write_rank(const char *pids)
{
	cgroup_dir("job_7/step_0/user/task_0");
	scratch_file("cg/job_7/step_0/user/task_0/cgroup.procs", pids);
}

/* Fork a process whose name is COMM. */
static pid_t fork_named(const char *comm)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	if (pipe(ready) < 0 || (pid = fork()) < 0)
		bail("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, comm);
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		bail("read");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static bool begins_with(const char *comm)
{
	pid_t pid = fork_named(comm);
	char text[64];
	bool begins;

	/* the first process is a session that joined the rank's cgroup */
	snprintf(text, sizeof(text), "%d\n%d\n", (int)getpid(), (int)pid);
	write_rank(text);
	begins = resize_view_has_unbegun(step, root);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return begins;
}

static int check_held(void *arg)
{
	(void)arg;
	return resize_view_has_unbegun(step, root) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct ledger_job *job;
	struct ledger_rank *rank;
	char program[HELD_PATH_MAX], text[32];
	const char *why;

	(void)argc;
	ledger_fixture();
	job = job_in("job_7", 7, 1000);
	step = job ? ledger_job_add_step(job) : NULL;
	rank = step ? ledger_step_add_rank(step) : NULL;
	if (!rank)
		abort();
	strcpy(step->cgroup, "job_7/step_0");
	strcpy(rank->task, "task_0");
	ok(begins_with("slurmstepd"), "resize_view_has_unbegun: true for a copy of slurmstepd");
	/* the kernel keeps 15 bytes of a name */
	ok(begins_with("slurmstepd-25.05"),
	   "resize_view_has_unbegun: true for slurmstepd with a version");
	ok(!begins_with("slurmstep"), "resize_view_has_unbegun: false for another name");
	write_rank("");
	ok(!resize_view_has_unbegun(step, root),
	   "resize_view_has_unbegun: false for a rank that has ended");
	held_program(program, argv[0]);
	why = held_begin(&held, program);
	if (why) {
		skip(1, "%s", why);
	} else {
		snprintf(text, sizeof(text), "%d\n", (int)held.pid);
		write_rank(text);
		is_int(held_apart(check_held, NULL, LIMIT_MS), 0,
		       "resize_view_has_unbegun: false at once for a rank that hangs in execve");
	}
	held_end(&held);
	ledger_job_free(job);
	return tap_done();
}
