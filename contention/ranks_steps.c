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

#define STEPS_SLICES_MAX 4 /* depth of slices above Slurm's scope */
/* a directory beside the jobs', with the process that keeps the scope alive */
#define STEPS_SYSTEM "system"
#define UNKNOWN_UID ((uid_t)-1)

struct steps_search {
	int cgroup_fd;
	unsigned *jobs; /* NULL: observe steps; otherwise only count jobs here */
	struct ranks *r;
	struct observed_node *node;
	struct errbuf *bad;
	unsigned n_recorded;
	uint64_t *recorded; /* inodes of the steps that have a record (see steps_take_record()) */
};

struct steps_owner {
	const struct process_source *from;
	bool found;
	uid_t uid;
	gid_t gid;
};

/*
 * Take the owner of process PID, unless the process is still a fork of slurmstepd, which runs as
 * root.
 */
static void steps_take_owner(pid_t pid, void *arg)
{
	struct steps_owner *o = arg;
	struct process_seen p;

	if (!o->found && process_seen_read(&p, o->from, pid) == 0 && !p.ended && !p.kept_from_exec)
		o->found = process_owner(&o->uid, &o->gid, o->from->fd, pid) == 0;
}

/*
 * Set the owner of SEEN from the first process in task NAME of the step at PATH. If SEEN has a uid
 * already, it stays: a process may run as another user, by sudo or with a subordinate uid. Returns
 * 0, or -1 if the task has no process yet.
 */
static int steps_find_owner(const struct steps_search *search, const char *path, const char *name,
			    struct observed_step *seen)
{
	struct steps_owner o = { .from = &search->r->source };
	char dir[CGROUP_PATH_MAX + RANK_TASK_NAME_MAX + 8];
	struct errbuf ignored;

	snprintf(dir, sizeof(dir), "%s/user/%.31s", path, name);
	cgroup_each_pid(search->r->conf.cgroup_fd, dir, steps_take_owner, &o, &ignored);
	if (!o.found)
		return -1;
	if (seen->uid == UNKNOWN_UID)
		seen->uid = o.uid;
	seen->gid = o.gid;
	return 0;
}

static bool steps_is_recorded(const struct steps_search *search, uint64_t inode)
{
	for (unsigned i = 0; i < search->n_recorded; i++)
		if (search->recorded[i] == inode)
			return true;
	return false;
}

/*
 * Observe task NAME of the step at PATH if the step has no record. SEEN has the step's number,
 * inode and job.
 */
static void steps_add_task(const struct steps_search *search, const char *path,
			   struct observed_step *seen, const char *name, const char *container)
{
	struct rank_step *s = ranks_step_find(search->r, seen->inode);
	char dir[CGROUP_PATH_MAX + RANK_TASK_NAME_MAX + 8];
	struct rank_task *t = s ? ranks_task_find(s, name) : NULL;

	if (steps_is_recorded(search, seen->inode))
		return;
	if (t && t->watched) {
		if (*container)
			ranks_watch_task(search->r, s, t, container);
		return;
	}
	snprintf(dir, sizeof(dir), "%s/user/%.31s", path, name);
	if (!cgroup_inode(search->r->conf.cgroup_fd, dir) ||
	    (!s && steps_find_owner(search, path, name, seen) < 0))
		return;
	/*
	 * slurmstepd writes a record before the step's programs start. This step's record may have
	 * come after this scan read the records; then the next scan reads it.
	 */
	if (!s && search->r->conf.state_dir &&
	    contention_record_exists(search->r->conf.state_dir, seen->inode))
		return;
	s = ranks_get_step(search->r, search->node, path, seen, search->bad);
	t = s ? ranks_get_task(s, name) : NULL;
	if (t)
		ranks_watch_task(search->r, s, t, container);
	else if (s)
		errprintf(search->bad, "job %u has a step of more than %u tasks", seen->job,
			  STEP_RANKS_MAX);
}

/* Return whether a process of M is in the step whose directory has this INODE. */
static bool steps_has_process(const struct steps_search *search, uint64_t inode,
			      const struct contention_message *m)
{
	struct cgroup_place place;
	struct errbuf ignored;

	for (unsigned i = 0; i < m->n; i++)
		if (cgroup_find_place(&place, search->r->conf.cgroup_fd, search->r->proc,
				      m->rank[i].pid, &ignored) == 0 &&
		    place.step_inode == inode)
			return true;
	return false;
}

/*
 * Use the record M of a step. If an option of srun chose which ranks of a step are observed,
 * slurmstepd has listed them in a record, for a daemon that starts later; no other ranks are then
 * observed. If all ranks in the record have ended, slurmstepd has failed to remove the record, so
 * remove it here. If the record of an observed step has no ranks, stop to observe the step.
 */
static void steps_take_record(uint64_t inode, const struct contention_message *m, void *arg)
{
	struct steps_search *search = arg;
	uint64_t *more = reallocarray(search->recorded, search->n_recorded + 1, sizeof(*more));
	struct observed_step *seen = observed_step_find(search->node, inode);
	struct errbuf err;

	if (!more) {
		errprintf(search->bad, "out of memory");
		return;
	}
	search->recorded = more;
	more[search->n_recorded++] = inode;
	if (!m->n && seen)
		seen->ended = true;
	if (!m->n || ranks_step_find(search->r, inode))
		return;
	if (!steps_has_process(search, inode, m))
		contention_record_remove(search->r->conf.state_dir, inode);
	else if (ranks_announce(search->r, search->node, m, &err) < 0)
		errcopy(search->bad, &err);
}

static bool steps_wants(const struct ranks *r, const struct ledger_job *job,
			const struct ledger_step *step, const char *place)
{
	const char *request = step->request ? step->request : job->request;

	if (strcmp(place, LEDGER_REST) == 0)
		return false;
	return !r->conf.wanted || r->conf.wanted(request ? request : "", place, r->conf.arg);
}

static int steps_job(const struct ledger_job *job, void *arg)
{
	const struct steps_search *search = arg;

	for (unsigned i = 0; i < job->n_steps; i++) {
		struct ledger_step *step = &job->step[i];
		struct observed_step seen = {
			.job = job->job_id,
			.step = step->step_id,
			.inode = step->inode,
			.contained = true,
			.uid = job->uid,
		};
		const char *place = NULL; /* the container that WANTS is about */
		bool wants = false;

		if (ledger_step_load_ranks(step, search->bad) < 0)
			continue;
		for (unsigned k = 0; k < step->n_placed; k++) {
			const struct ledger_rank *rank = &step->placed[k];

			if (!place || strcmp(place, rank->place) != 0) {
				place = rank->place;
				wants = steps_wants(search->r, job, step, place);
			}
			if (wants)
				steps_add_task(search, step->cgroup, &seen, rank->task,
					       rank->place);
		}
	}
	return 0;
}

/* Call FN for each directory PATH/NAME whose NAME begins with BEGIN and ends with END. */
static void steps_each_dir(const struct steps_search *search, const char *path, const char *begin,
			   const char *end,
			   void (*fn)(const struct steps_search *search, const char *path,
				      const char *name))
{
	int fd = openat(search->cgroup_fd, *path ? path : ".",
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
			fn(search, path, e->d_name);
	}
	closedir(dir);
}

/* Observe the task PATH/NAME, where PATH is the directory "user" of a step. */
static void steps_task(const struct steps_search *search, const char *path, const char *name)
{
	char step[CGROUP_PATH_MAX];
	const char *slash, *number;
	struct observed_step seen = { .job = 0, .uid = UNKNOWN_UID };

	snprintf(step, sizeof(step), "%.*s", (int)(strlen(path) - strlen("/user")), path);
	slash = strrchr(step, '/');
	number = strstr(step, "/job_");
	if (!slash || !number || ranks_parse_step(slash + 1, &seen.step) < 0)
		return;
	seen.job = (uint32_t)strtoul(number + strlen("/job_"), NULL, 10);
	seen.inode = cgroup_inode(search->r->conf.cgroup_fd, step);
	if (seen.job && seen.inode)
		steps_add_task(search, step, &seen, name, "");
}

static void steps_step(const struct steps_search *search, const char *path, const char *name)
{
	char user[CGROUP_PATH_MAX];

	if ((size_t)snprintf(user, sizeof(user), "%s/%s/user", path, name) < sizeof(user))
		steps_each_dir(search, user, "task_", "", steps_task);
}

static void steps_job_dir(const struct steps_search *search, const char *path, const char *name)
{
	char job[CGROUP_PATH_MAX];

	if ((size_t)snprintf(job, sizeof(job), "%s/%s", path, name) < sizeof(job))
		steps_each_dir(search, job, "step_", "", steps_step);
}

static void steps_count_job(const struct steps_search *search, const char *path, const char *name)
{
	char job[CGROUP_PATH_MAX];

	if ((size_t)snprintf(job, sizeof(job), "%s/%s", path, name) < sizeof(job) &&
	    strcmp(name, STEPS_SYSTEM) != 0 && !cgroup_is_empty(search->cgroup_fd, job))
		++*search->jobs;
}

/*
 * Report a job's directory whose name, "s...", lacks the job's number, as in some builds of Slurm.
 */
static void steps_nameless_job(const struct steps_search *search, const char *path,
			       const char *name)
{
	(void)path;
	if (strcmp(name, STEPS_SYSTEM) == 0)
		return;
	errprintf(search->bad,
		  "the name of a job's cgroup, %.64s, lacks the job's number; steps without a "
		  "container are not observed with this build of Slurm",
		  name);
}

static void steps_scope(const struct steps_search *search, const char *path, const char *name)
{
	char scope[CGROUP_PATH_MAX];

	if ((size_t)snprintf(scope, sizeof(scope), "%s%s%s", path, *path ? "/" : "", name) >=
	    sizeof(scope))
		return;
	steps_each_dir(search, scope, "job_", "", search->jobs ? steps_count_job : steps_job_dir);
	steps_each_dir(search, scope, "s", "", search->jobs ? steps_count_job : steps_nameless_job);
}

/* Observe the steps of the vnode of the unit NAME, nodeos-vnode@NODE.service. */
static void steps_vnode(const struct steps_search *search, const char *path, const char *name)
{
	char vnode[CGROUP_PATH_MAX], node[RANK_TASK_NAME_MAX];
	const char *at = strchr(name, '@');
	int len = at ? (int)(strlen(at + 1) - strlen(".service")) : 0;

	if (search->jobs || len <= 0 || len >= (int)sizeof(node) ||
	    (size_t)snprintf(vnode, sizeof(vnode), "%s/%s/vnode", path, name) >= sizeof(vnode))
		return;
	snprintf(node, sizeof(node), "%.*s", len, at + 1);
	ranks_find_vnode_steps(search->r, search->node, node, vnode, search->bad);
}

static void steps_slice(const struct steps_search *search, const char *path, const char *name)
{
	char slice[CGROUP_PATH_MAX];
	unsigned depth = 1;

	if ((size_t)snprintf(slice, sizeof(slice), "%s%s%s", path, *path ? "/" : "", name) >=
	    sizeof(slice))
		return;
	for (const char *c = slice; *c; c++)
		depth += *c == '/';
	steps_each_dir(search, slice, "", "slurmstepd.scope", steps_scope);
	steps_each_dir(search, slice, "nodeos-vnode", ".service", steps_vnode);
	if (depth < STEPS_SLICES_MAX)
		steps_each_dir(search, slice, "", ".slice", steps_slice);
}

static void steps_slurm(const struct steps_search *search)
{
	steps_each_dir(search, "", "", "slurmstepd.scope", steps_scope);
	steps_each_dir(search, "", "", ".slice", steps_slice);
}

void ranks_find_steps(struct ranks *r, struct observed_node *node, struct errbuf *bad)
{
	const struct ledger_at at = { r->conf.state_dir, r->conf.cgroup_fd };
	const struct ledger_whose all = { .uid = (uid_t)-1 };
	struct steps_search search = {
		.cgroup_fd = r->conf.cgroup_fd, .r = r, .node = node, .bad = bad
	};
	struct errbuf err;

	if (r->conf.state_dir &&
	    contention_record_each(r->conf.state_dir, steps_take_record, &search, &err) < 0)
		errcopy(bad, &err);
	if (r->conf.state_dir && ledger_read_unlocked(&at, &all, steps_job, &search, bad, &err) < 0)
		errcopy(bad, &err);
	if (r->conf.all_steps)
		steps_slurm(&search);
	free(search.recorded);
}

unsigned ranks_count_jobs(int cgroup_fd)
{
	unsigned n = 0;
	const struct steps_search search = { .cgroup_fd = cgroup_fd, .jobs = &n };

	steps_slurm(&search);
	return n;
}
