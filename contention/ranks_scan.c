/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find steps and tasks: in records of slurmstepd, in the ledger and in the tree of cgroups. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "container/ledger.h"
#include "container/step_id.h"
#include "contention/ranks_impl.h"
#include "host/contention_record.h"

#define SCAN_SLICES_MAX 4 /* depth of slices above Slurm's scope */
#define SCAN_SYSTEM "system" /* directory beside the jobs, of the process that holds the scope */

struct scan {
	int cgroup_fd;
	unsigned *jobs; /* number of jobs with processes, if only these are counted; else NULL */
	struct ranks *r;
	struct observed_node *node;
	struct errbuf *bad;
	unsigned n_recorded;
	uint64_t *recorded; /* inodes of steps that have a record, which names their ranks */
};

struct scan_owner {
	const struct process_source *from;
	bool found;
	uid_t uid;
	gid_t gid;
};

/* Take the owner of process PID, unless it is a fork of slurmstepd, which still runs as root. */
static void scan_take_owner(pid_t pid, void *arg)
{
	struct scan_owner *o = arg;
	struct process_seen p;

	if (!o->found && process_seen_look(&p, o->from, pid) == 0 && !p.ended && !p.kept_from_exec)
		o->found = process_owner(&o->uid, &o->gid, o->from->fd, pid) == 0;
}

/* Set the owner of SEEN from the first process in task NAME of the step at PATH. Returns 0, or -1
 * if the task has no process yet. */
static int scan_find_owner(const struct scan *scan, const char *path, const char *name,
			   struct observed_step *seen)
{
	struct scan_owner o = { .from = &scan->r->source };
	char dir[CGROUP_PATH_MAX + RANK_TASK_NAME_MAX + 8];
	struct errbuf ignored;

	snprintf(dir, sizeof(dir), "%s/user/%.31s", path, name);
	cgroup_each_pid(scan->r->conf.cgroup_fd, dir, scan_take_owner, &o, &ignored);
	if (!o.found)
		return -1;
	seen->uid = o.uid;
	seen->gid = o.gid;
	return 0;
}

static bool scan_is_recorded(const struct scan *scan, uint64_t inode)
{
	for (unsigned i = 0; i < scan->n_recorded; i++)
		if (scan->recorded[i] == inode)
			return true;
	return false;
}

/* Observe task NAME of the step at PATH, unless the step has a record. SEEN has the step's number,
 * inode and job. */
static void scan_add_task(const struct scan *scan, const char *path, struct observed_step *seen,
			  const char *name, const char *container)
{
	struct rank_step *s = ranks_step(scan->r, seen->inode);
	char dir[CGROUP_PATH_MAX + RANK_TASK_NAME_MAX + 8];
	struct rank_task *t = s ? ranks_task(s, name) : NULL;

	if (scan_is_recorded(scan, seen->inode))
		return;
	if (t && t->watched) {
		if (*container)
			ranks_watch_task(scan->r, s, t, container);
		return;
	}
	snprintf(dir, sizeof(dir), "%s/user/%.31s", path, name);
	if (!cgroup_inode(scan->r->conf.cgroup_fd, dir) ||
	    (!s && scan_find_owner(scan, path, name, seen) < 0))
		return;
	/* slurmstepd writes a record before it lets the step's programs start, but this one may
	 * have started since the records were read: the next look takes it */
	if (!s && scan->r->conf.state_dir &&
	    contention_record_exists(scan->r->conf.state_dir, seen->inode))
		return;
	s = ranks_meet_step(scan->r, scan->node, path, seen, scan->bad);
	t = s ? ranks_meet_task(s, name) : NULL;
	if (t)
		ranks_watch_task(scan->r, s, t, container);
	else if (s)
		errprintf(scan->bad, "job %u has a step of more than %u tasks", seen->job,
			  STEP_RANKS_MAX);
}

/* Is a process of M in the step whose directory has this INODE? */
static bool scan_has_process(const struct scan *scan, uint64_t inode,
			     const struct contention_message *m)
{
	struct cgroup_place place;
	struct errbuf ignored;

	for (unsigned i = 0; i < m->n; i++)
		if (cgroup_find_place(&place, scan->r->conf.cgroup_fd, scan->r->proc,
				      m->rank[i].pid, &ignored) == 0 &&
		    place.step_inode == inode)
			return true;
	return false;
}

/*
 * Take the record M of a step. A step has one if an option of srun chose which of its ranks are
 * observed: these and no others, even if the daemon did not run when slurmstepd named them. If all
 * of these ranks have ended, slurmstepd has failed to remove the record: it is removed here. A step
 * that was found before it had a record without ranks is observed no longer.
 */
static void scan_take_record(uint64_t inode, const struct contention_message *m, void *arg)
{
	struct scan *scan = arg;
	uint64_t *more = reallocarray(scan->recorded, scan->n_recorded + 1, sizeof(*more));
	struct observed_step *seen = observed_step_find(scan->node, inode);
	struct errbuf err;

	if (!more) {
		errprintf(scan->bad, "out of memory");
		return;
	}
	scan->recorded = more;
	more[scan->n_recorded++] = inode;
	if (!m->n && seen)
		seen->ended = true;
	if (!m->n || ranks_step(scan->r, inode))
		return;
	if (!scan_has_process(scan, inode, m))
		contention_record_remove(scan->r->conf.state_dir, inode);
	else if (ranks_announce(scan->r, scan->node, m, &err) < 0)
		errcopy(scan->bad, &err);
}

static bool scan_wants(const struct ranks *r, const struct ledger_job *job,
		       const struct ledger_step *step, const char *place)
{
	const char *request = step->request ? step->request : job->request;

	if (strcmp(place, LEDGER_REST) == 0)
		return false;
	return !r->conf.wanted || r->conf.wanted(request ? request : "", place, r->conf.arg);
}

static int scan_job(const struct ledger_job *job, void *arg)
{
	const struct scan *scan = arg;

	for (unsigned i = 0; i < job->n_steps; i++) {
		struct ledger_step *step = &job->step[i];
		struct observed_step seen = {
			.job = job->job_id,
			.step = step->step_id,
			.inode = step->inode,
			.contained = true,
		};
		const char *place = NULL; /* the container that WANTS is for */
		bool wants = false;

		if (ledger_step_load_ranks(step, scan->bad) < 0)
			continue;
		for (unsigned k = 0; k < step->n_placed; k++) {
			const struct ledger_rank *rank = &step->placed[k];

			if (!place || strcmp(place, rank->place) != 0) {
				place = rank->place;
				wants = scan_wants(scan->r, job, step, place);
			}
			if (wants)
				scan_add_task(scan, step->cgroup, &seen, rank->task, rank->place);
		}
	}
	return 0;
}

/* Call FN for each directory PATH/NAME whose NAME begins with BEGIN and ends in END. */
static void scan_each_dir(const struct scan *scan, const char *path, const char *begin,
			  const char *end,
			  void (*fn)(const struct scan *scan, const char *path, const char *name))
{
	int fd = openat(scan->cgroup_fd, *path ? path : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir)) != NULL) {
		size_t len = strlen(e->d_name), tail = strlen(end);

		if (e->d_type == DT_DIR && strncmp(e->d_name, begin, strlen(begin)) == 0 &&
		    len >= tail && strcmp(e->d_name + len - tail, end) == 0)
			fn(scan, path, e->d_name);
	}
	closedir(dir);
}

/* Observe the task PATH/NAME; PATH is the directory "user" of a step. */
static void scan_task(const struct scan *scan, const char *path, const char *name)
{
	char step[CGROUP_PATH_MAX];
	const char *slash, *number;
	struct observed_step seen = { .job = 0 };

	snprintf(step, sizeof(step), "%.*s", (int)(strlen(path) - strlen("/user")), path);
	slash = strrchr(step, '/');
	number = strstr(step, "/job_");
	if (!slash || !number || ranks_parse_step(slash + 1, &seen.step) < 0)
		return;
	seen.job = (uint32_t)strtoul(number + strlen("/job_"), NULL, 10);
	seen.inode = cgroup_inode(scan->r->conf.cgroup_fd, step);
	if (seen.job && seen.inode)
		scan_add_task(scan, step, &seen, name, "");
}

static void scan_step(const struct scan *scan, const char *path, const char *name)
{
	char user[CGROUP_PATH_MAX];

	if ((size_t)snprintf(user, sizeof(user), "%s/%s/user", path, name) < sizeof(user))
		scan_each_dir(scan, user, "task_", "", scan_task);
}

static void scan_job_dir(const struct scan *scan, const char *path, const char *name)
{
	char job[CGROUP_PATH_MAX];

	if ((size_t)snprintf(job, sizeof(job), "%s/%s", path, name) < sizeof(job))
		scan_each_dir(scan, job, "step_", "", scan_step);
}

static void scan_count_job(const struct scan *scan, const char *path, const char *name)
{
	char job[CGROUP_PATH_MAX];

	if ((size_t)snprintf(job, sizeof(job), "%s/%s", path, name) < sizeof(job) &&
	    strcmp(name, SCAN_SYSTEM) != 0 && !cgroup_is_empty(scan->cgroup_fd, job))
		++*scan->jobs;
}

/* Report a directory of a job whose name, "s...", does not have the job's number, as some builds of
 * Slurm make it. */
static void scan_nameless_job(const struct scan *scan, const char *path, const char *name)
{
	(void)path;
	if (strcmp(name, SCAN_SYSTEM) == 0)
		return;
	errprintf(scan->bad,
		  "the name of the cgroup %.64s of a job does not have the job's number: steps "
		  "without a container are not observed with this build of Slurm",
		  name);
}

static void scan_scope(const struct scan *scan, const char *path, const char *name)
{
	char scope[CGROUP_PATH_MAX];

	if ((size_t)snprintf(scope, sizeof(scope), "%s%s%s", path, *path ? "/" : "", name) >=
	    sizeof(scope))
		return;
	scan_each_dir(scan, scope, "job_", "", scan->jobs ? scan_count_job : scan_job_dir);
	scan_each_dir(scan, scope, "s", "", scan->jobs ? scan_count_job : scan_nameless_job);
}

static void scan_slice(const struct scan *scan, const char *path, const char *name)
{
	char slice[CGROUP_PATH_MAX];
	unsigned depth = 1;

	if ((size_t)snprintf(slice, sizeof(slice), "%s%s%s", path, *path ? "/" : "", name) >=
	    sizeof(slice))
		return;
	for (const char *c = slice; *c; c++)
		depth += *c == '/';
	scan_each_dir(scan, slice, "", "slurmstepd.scope", scan_scope);
	if (depth < SCAN_SLICES_MAX)
		scan_each_dir(scan, slice, "", ".slice", scan_slice);
}

static void scan_slurm(const struct scan *scan)
{
	scan_each_dir(scan, "", "", "slurmstepd.scope", scan_scope);
	scan_each_dir(scan, "", "", ".slice", scan_slice);
}

void ranks_scan(struct ranks *r, struct observed_node *node, struct errbuf *bad)
{
	const struct ledger_at at = { r->conf.state_dir, r->conf.cgroup_fd };
	const struct ledger_whose all = { .uid = (uid_t)-1 };
	struct scan scan = { .cgroup_fd = r->conf.cgroup_fd, .r = r, .node = node, .bad = bad };
	struct errbuf err;

	if (r->conf.state_dir &&
	    contention_record_each(r->conf.state_dir, scan_take_record, &scan, &err) < 0)
		errcopy(bad, &err);
	if (r->conf.state_dir && ledger_look(&at, &all, scan_job, &scan, bad, &err) < 0)
		errcopy(bad, &err);
	if (r->conf.all_steps)
		scan_slurm(&scan);
	free(scan.recorded);
}

unsigned ranks_count_jobs(int cgroup_fd)
{
	unsigned n = 0;
	const struct scan scan = { .cgroup_fd = cgroup_fd, .jobs = &n };

	scan_slurm(&scan);
	return n;
}
