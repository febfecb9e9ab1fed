/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find steps in vnodes. The slurmd of a vnode makes no cgroups, so all processes of a vnode are in
 * one directory. The processes of a step are those that descend from its slurmstepd.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contention/ranks_impl.h"

/*
 * A step in vnodes has no directory. Its member "inode" is this bit, which no inode of a cgroup
 * has, with the numbers of job and step.
 */
#define VNODE_STEP (UINT64_C(1) << 63)
#define VNODE_TITLE_MAX 128 /* bytes read of a process's command line */

struct vnode_search {
	struct ranks *r;
	struct observed_node *node;
	const char *name; /* name of the vnode */
	const char *path; /* the vnode's directory in cgroup v2 */
	struct errbuf *bad;
	unsigned left; /* number of processes that may still be read */
};

/* Parse the number at *AT, and move *AT behind it. Returns 0, or -1. */
static int vnode_number(const char **at, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(*at, &end, 10);

	if (**at < '0' || **at > '9' || n > UINT32_MAX)
		return -1;
	*out = (uint32_t)n;
	*at = end;
	return 0;
}

int ranks_parse_title(const char *title, uint32_t *job, uint32_t *step)
{
	static const char name[] = "slurmstepd: [";
	char word[32];
	uint32_t component;
	size_t len;

	if (strncmp(title, name, sizeof(name) - 1) != 0)
		return -1;
	title += sizeof(name) - 1;
	if (vnode_number(&title, job) < 0 || !*job)
		return -1;
	if (*title == '+' && (title++, vnode_number(&title, &component) < 0))
		return -1;
	len = strcspn(title, "]");
	if (*title != '.' || title[len] != ']' || len > sizeof(word) - sizeof("step_"))
		return -1;
	snprintf(word, sizeof(word), "step_%.*s", (int)len - 1, title + 1);
	return ranks_parse_step(word, step);
}

/*
 * Read the title (command line) of process PID. The process must be root's: this read waits for the
 * process's address space, which a user could hold for ever.
 */
static int vnode_read_title(char title[VNODE_TITLE_MAX], int proc_fd, pid_t pid)
{
	char name[32];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%d/cmdline", (int)pid);
	fd = openat(proc_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, title, VNODE_TITLE_MAX - 1);
	if (fd >= 0)
		close(fd);
	title[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

/*
 * The search for the owner of the step SEEN. It is the owner of a child of STEPD that runs the
 * user's program.
 */
struct vnode_owner {
	const struct ranks *r;
	pid_t stepd;
	struct observed_step *seen;
	bool found;
};

static void vnode_take_owner(pid_t pid, void *arg)
{
	struct vnode_owner *o = arg;
	struct process_seen p;

	if (!o->found && process_seen_read(&p, &o->r->source, pid) == 0 && !p.ended &&
	    !p.kept_from_exec && p.parent == o->stepd)
		o->found = process_owner(&o->seen->uid, &o->seen->gid, o->r->source.fd, pid) == 0;
}

/* Observe the part of step SEEN that slurmstepd P has started, once a program of the user runs. */
static void vnode_add_task(const struct vnode_search *v, const struct process_seen *p,
			   struct observed_step *seen)
{
	struct vnode_owner owner = { .r = v->r, .stepd = p->pid, .seen = seen };
	struct rank_step *s = ranks_step_find(v->r, seen->inode);
	struct rank_task *t = s ? ranks_task_find(s, v->name) : NULL;
	struct errbuf err;

	if (t && t->stepd == p->pid && t->stepd_start == p->start)
		return;
	if (cgroup_each_pid(v->r->conf.cgroup_fd, v->path, vnode_take_owner, &owner, &err) < 0 ||
	    !owner.found)
		return;
	s = ranks_get_step(v->r, v->node, "", seen, v->bad);
	t = s ? ranks_get_task(s, v->name) : NULL;
	if (!t)
		return;
	s->in_vnodes = true;
	t->watched = true;
	t->stepd = p->pid;
	t->stepd_start = p->start;
	if (t->dir < 0)
		t->dir = openat(v->r->conf.cgroup_fd, v->path,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* If process PID is a slurmstepd of root's, begin to observe its step. */
static void vnode_look(pid_t pid, void *arg)
{
	struct vnode_search *v = arg;
	struct observed_step seen = { .job = 0 };
	char title[VNODE_TITLE_MAX];
	struct process_seen p, parent;
	uid_t uid;
	gid_t gid;

	if (!v->left) {
		errprintf(v->bad, "a vnode has too many processes: only %u are searched for steps",
			  RANKS_STEP_PROCESSES_MAX);
		return;
	}
	v->left--;
	if (process_seen_read(&p, &v->r->source, pid) < 0 || p.ended || !p.kept_from_exec ||
	    process_owner(&uid, &gid, v->r->source.fd, pid) < 0 || uid != 0)
		return;
	/* leave out a fork of slurmstepd that will become a task */
	if (process_seen_read(&parent, &v->r->source, p.parent) == 0 && parent.kept_from_exec)
		return;
	if (vnode_read_title(title, v->r->source.fd, pid) < 0 ||
	    ranks_parse_title(title, &seen.job, &seen.step) < 0)
		return;
	seen.inode = VNODE_STEP | (uint64_t)seen.job << 32 | seen.step;
	vnode_add_task(v, &p, &seen);
}

void ranks_find_vnode_steps(struct ranks *r, struct observed_node *node, const char *name,
			    const char *path, struct errbuf *bad)
{
	struct vnode_search v = { .r = r,
				  .node = node,
				  .name = name,
				  .path = path,
				  .bad = bad,
				  .left = RANKS_STEP_PROCESSES_MAX };
	struct errbuf err;

	if (cgroup_each_pid(r->conf.cgroup_fd, path, vnode_look, &v, &err) < 0 &&
	    cgroup_inode(r->conf.cgroup_fd, path))
		errcopy(bad, &err);
}

bool ranks_stepd_lives(const struct ranks *r, const struct rank_task *t)
{
	struct process_seen p;

	return process_seen_read(&p, &r->source, t->stepd) == 0 && !p.ended &&
	       p.start == t->stepd_start;
}
