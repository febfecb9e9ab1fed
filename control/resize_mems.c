/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/resize_mems.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "container/mems.h"
#include "container/step_id.h"
#include "host/apart.h"

/* time limits, in seconds: */
#define LOCK_SECONDS 20 /* to lock the memory of one process */
#define LOOK_SECONDS 60 /* to read the mappings of one process with a terabyte of 4 KiB pages */
#define MOVE_SECONDS 900 /* to copy the memory of one process */
/* to change a cgroup, which includes the kernel's copy of the remaining pages */
#define CONFINE_SECONDS 300

/* Work on one process, with the user's rights. */
struct job {
	pid_t pid;
	const struct idset *nodes; /* nodes whose memory is counted, or is moved away */
	const struct idset *to; /* nodes that memory is moved to */
};

struct found {
	int error; /* errno; 0: done */
	struct mapped mapped;
};

/*
 * Return the bytes on NODES in LINE, a line of numa_maps such as "7f.. default file=/x anon=3 N0=2
 * N1=1 kernelpagesize_kB=4".
 */
static uint64_t bytes_on(const char *line, const struct idset *nodes)
{
	const char *size = strstr(line, " kernelpagesize_kB=");
	uint64_t pages = 0;

	for (const char *at = line; (at = strstr(at, " N")); at += 2) {
		unsigned node;
		unsigned long n;

		if (sscanf(at, " N%u=%lu", &node, &n) == 2 && idset_has(nodes, node))
			pages += n;
	}
	return size ? pages * strtoull(size + strlen(" kernelpagesize_kB="), NULL, 10) << 10 : 0;
}

static void resize_mems_read_numa(void *arg, void *result)
{
	const struct job *job = arg;
	struct found *o = result;
	char path[64], *line = NULL;
	struct process_facts p;
	bool any = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/numa_maps", (long)job->pid);
	f = fopen(path, "re");
	if (!f)
		o->error = errno;
	while (f && getline(&line, &size, f) > 0) {
		any = true;
		if (strstr(line, " file=") && !strstr(line, " anon="))
			o->mapped.files += bytes_on(line, job->nodes);
		else
			o->mapped.anonymous += bytes_on(line, job->nodes);
	}
	/* numa_maps is also empty if only the first thread of the process has ended */
	if (f && !any && process_read_facts_of(&p, job->pid) == 0 && !p.exiting)
		o->error = ENODATA;
	free(line);
	if (f)
		fclose(f);
}

static void migrate_pages(void *arg, void *result)
{
	const struct job *job = arg;
	struct found *o = result;

	/* IDSET_MAX + 1: the system call expects one more than the number of bits in a node mask */
	if (syscall(SYS_migrate_pages, job->pid, IDSET_MAX + 1, job->nodes->word, job->to->word) <
	    0)
		o->error = errno;
}

/*
 * Lock the address space for writing, as a change of a cpuset does: a lock for reading could
 * succeed where a lock for writing must wait. Of all calls by which a user can take this lock of
 * another process, this one has the least effect: it resets the peak of resident memory.
 */
static void lock_and_unlock(void *arg, void *result)
{
	const struct job *job = arg;
	struct found *o = result;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/clear_refs", (long)job->pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "5", 1) != 1)
		o->error = errno;
	if (fd >= 0)
		close(fd);
}

/* One walk over the processes of ranks. */
struct walk {
	void (*work)(void *arg, void *result);
	struct job job;
	unsigned seconds; /* time limit for one process */
	uid_t uid; /* owner of the processes */
	int cgroup_fd;
	const char *path; /* directory of the rank */
	struct mapped *out; /* NULL: do not count */
	struct errbuf *err;
	int rc;
};

/* Return whether PID is still in PATH. It may have ended, and another process may have its pid. */
static bool resize_mems_is_there(const struct walk *w, pid_t pid)
{
	char path[RANK_PATH_MAX];
	struct process_facts p;

	return process_cgroup_of(path, sizeof(path), pid) == 0 && strcmp(path, w->path) == 0 &&
	       process_read_facts_of(&p, pid) == 0 && !p.ended;
}

static void resize_mems_visit(pid_t pid, void *arg)
{
	struct walk *w = arg;
	struct apart a = { .work = w->work,
			   .arg = &w->job,
			   .size = sizeof(struct found),
			   .seconds = w->seconds,
			   .keep_fd = w->cgroup_fd,
			   .cgroup = w->path,
			   .as_user = true,
			   .uid = w->uid };
	struct found o = { .error = 0 };
	struct errbuf why = { 0 };
	char name[32];
	struct stat st;
	enum apart_end end;

	snprintf(name, sizeof(name), "/proc/%ld", (long)pid);
	if (w->rc < 0 || !resize_mems_is_there(w, pid) || stat(name, &st) < 0)
		return;
	w->job.pid = pid;
	a.gid = st.st_gid;
	/*
	 * if root owns the process's directory in /proc, the kernel hides the process from its
	 * user: the process is set-user-ID, or has made itself undumpable
	 */
	end = st.st_uid == w->uid ? apart_run(&a, &o, &why) : APART_DONE;
	if (st.st_uid != w->uid)
		o.error = EPERM;
	if (end == APART_DONE && !o.error && w->out) {
		w->out->anonymous += o.mapped.anonymous;
		w->out->files = o.mapped.files > w->out->files ? o.mapped.files : w->out->files;
	}
	/* a process that has ended has no memory */
	if ((end == APART_DONE && !o.error) || !resize_mems_is_there(w, pid))
		return;
	if (end == APART_LATE)
		w->rc = errprintf(w->err,
				  "the memory of process %ld cannot be read or moved (%s): "
				  "does the process wait for a file server?",
				  (long)pid, why.text);
	else
		w->rc = errprintf(w->err,
				  "the memory of process %ld cannot be read or moved with its "
				  "user's rights: %s",
				  (long)pid, end == APART_DONE ? strerror(o.error) : why.text);
}

static int each_process(struct walk *w, const struct rank_group *g)
{
	char path[RANK_PATH_MAX];
	struct errbuf ended;

	w->path = path;
	for (unsigned i = 0; i < g->n; i++) {
		rank_path(path, g->moved[i].step, g->moved[i].rank);
		cgroup_each_pid(w->cgroup_fd, path, resize_mems_visit, w, &ended);
	}
	w->path = NULL;
	return w->rc;
}

int rank_group_mapped(struct mapped *out, const struct rank_group *g, int cgroup_fd, uid_t uid,
		      const struct idset *nodes, struct errbuf *err)
{
	struct walk w = { .work = resize_mems_read_numa,
			  .job = { .nodes = nodes },
			  .seconds = LOOK_SECONDS,
			  .uid = uid,
			  .cgroup_fd = cgroup_fd,
			  .out = out,
			  .err = err };

	memset(out, 0, sizeof(*out));
	return each_process(&w, g);
}

int rank_group_migrate(const struct rank_group *g, int cgroup_fd, uid_t uid,
		       const struct idset *from, const struct idset *to, struct errbuf *err)
{
	struct walk w = { .work = migrate_pages,
			  .job = { .nodes = from, .to = to },
			  .seconds = MOVE_SECONDS,
			  .uid = uid,
			  .cgroup_fd = cgroup_fd,
			  .err = err };

	return each_process(&w, g);
}

/* ------------------------------------------------------------------- cgroups */

/*
 * If the directory "user" of M's step is confined, set its memory nodes to the nodes of all its
 * ranks together. Call this before the ranks get new nodes, and after they have given up nodes.
 */
static int confine_user(const struct rank_moved *m, int cgroup_fd, const struct blocks *b,
			const struct idset *nodes, const struct idset *later, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 8], rank[RANK_PATH_MAX];
	struct idset has, left;
	bool own = true;

	snprintf(path, sizeof(path), "%s/user", m->step->cgroup);
	if (cgroup_read_set(cgroup_fd, path, "cpuset.mems", &has, err) < 0)
		return cgroup_inode(cgroup_fd, path) ? -1 : 0; /* the step has ended */
	if (idset_empty(&has))
		return 0;
	left = has;
	idset_or(&left, nodes);
	if (later)
		idset_andnot(&left, later);
	/* add the nodes of the step's ranks that are in other places */
	for (unsigned i = 0; i < m->step->n_placed; i++) {
		if (strcmp(m->step->placed[i].place, m->rank->place) == 0)
			continue;
		own = false;
		rank_path(rank, m->step, &m->step->placed[i]);
		if (cgroup_read_set(cgroup_fd, rank, "cpuset.mems.effective", &has, err) == 0)
			idset_or(&left, &has);
	}
	if (cgroup_write_mems(cgroup_fd, path, &left, err) < 0)
		return -1;
	return own && b->on ? mems_bound_again(b, cgroup_fd, path, &left, m->memory_limit, err) : 0;
}

/*
 * Return the memory limit of a rank's own directory: its part of the container's limit if the step
 * has ranks in other places; otherwise 0, because the directory above has the limit.
 */
static uint64_t rank_memory_limit(const struct rank_moved *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->step->n_placed; i++)
		n += strcmp(m->step->placed[i].place, m->rank->place) == 0;
	return n < m->step->n_placed ? m->memory_limit / (n ? n : 1) : 0;
}

static int confine_rank(const struct rank_moved *m, int cgroup_fd, const struct blocks *b,
			const struct idset *nodes, struct errbuf *err)
{
	char path[RANK_PATH_MAX], step[16];
	struct errbuf why;
	int rc;

	rank_path(path, m->step, m->rank);
	rc = cgroup_write_mems(cgroup_fd, path, nodes, &why);
	if (rc == 0 && b->on)
		rc = mems_bound_again(b, cgroup_fd, path, nodes, rank_memory_limit(m), &why);
	if (rc == 0 || cgroup_inode(cgroup_fd, path) == 0)
		return 0;
	step_id_format(m->step->step_id, step);
	return errprintf(err, "step %s, %s: %s", step, m->rank->task, why.text);
}

static void visit_in(const char *path, pid_t pid, void *arg)
{
	struct walk *w = arg;

	w->path = path;
	resize_mems_visit(pid, w);
}

/*
 * Write the path of the directory that rank_group_confine() changes for M: the rank's own or, if
 * the step is confined, the step's directory "user", which also has ranks of other containers and
 * processes outside of containers.
 */
static void changed_for(char path[RANK_PATH_MAX], const struct rank_moved *m, int cgroup_fd)
{
	struct idset has;
	struct errbuf ended;

	snprintf(path, RANK_PATH_MAX, "%s/user", m->step->cgroup);
	if (cgroup_read_set(cgroup_fd, path, "cpuset.mems", &has, &ended) == 0 && idset_empty(&has))
		rank_path(path, m->step, m->rank);
}

int rank_group_lockable(const struct rank_group *g, int cgroup_fd, uid_t uid, struct errbuf *err)
{
	struct walk w = { .work = lock_and_unlock,
			  .seconds = LOCK_SECONDS,
			  .uid = uid,
			  .cgroup_fd = cgroup_fd,
			  .err = err };
	char path[RANK_PATH_MAX], before[RANK_PATH_MAX] = "";

	for (unsigned i = 0; i < g->n && w.rc == 0; i++) {
		changed_for(path, &g->moved[i], cgroup_fd);
		/* ranks of a step are adjacent: check their directory only once */
		if (strcmp(path, before) != 0 &&
		    cgroup_each_pid_below(cgroup_fd, path, visit_in, &w, err) < 0)
			return -1;
		strcpy(before, path);
	}
	return w.rc;
}

static int resize_mems_confine(const struct rank_group *g, int cgroup_fd, const struct blocks *b,
			       const struct idset *nodes, const struct idset *later,
			       struct errbuf *err)
{
	/* a directory cannot have nodes that its parent lacks */
	for (unsigned i = 0; i < g->n; i++)
		if ((!later && confine_user(&g->moved[i], cgroup_fd, b, nodes, NULL, err) < 0) ||
		    confine_rank(&g->moved[i], cgroup_fd, b, nodes, err) < 0)
			return -1;
	for (unsigned i = 0; later && i < g->n; i++)
		if (confine_user(&g->moved[i], cgroup_fd, b, nodes, later, err) < 0)
			return -1;
	return 0;
}

struct confinement {
	const struct rank_group *g;
	const struct blocks *b;
	const struct idset *nodes, *later;
};

struct confined {
	int rc;
	struct errbuf err;
};

/*
 * Run rank_group_confine() in a child. Its open files have other numbers than in its parent, so
 * open the cgroup root again.
 */
static void confine_apart(void *arg, void *result)
{
	const struct confinement *c = arg;
	struct confined *o = result;
	int fd = cgroup_open_root(NULL, &o->err);

	o->rc = fd < 0 ? -1 : resize_mems_confine(c->g, fd, c->b, c->nodes, c->later, &o->err);
}

_Static_assert(sizeof(struct confined) <= APART_RESULT_MAX, "the result must fit in a pipe");

int rank_group_confine(const struct rank_group *g, const struct blocks *b,
		       const struct idset *nodes, const struct idset *later, struct errbuf *err)
{
	struct confinement c = { .g = g, .b = b, .nodes = nodes, .later = later };
	struct apart a = { .work = confine_apart,
			   .arg = &c,
			   .size = sizeof(struct confined),
			   .seconds = CONFINE_SECONDS,
			   .keep_fd = -1 };
	struct confined o = { .rc = 0 };
	struct errbuf why;

	switch (apart_run(&a, &o, &why)) {
	case APART_DONE:
		return o.rc < 0 ? errprintf(err, "%s", o.err.text) : 0;
	case APART_LATE:
		return errprintf(err,
				 "the kernel does not complete a change of memory nodes (%s): a "
				 "process of these ranks waits, perhaps for a file server, and "
				 "this host can start no process until it ends: kill it",
				 why.text);
	default:
		return errprintf(err, "cannot change memory nodes: %s", why.text);
	}
}
