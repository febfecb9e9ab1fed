/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/resize_mems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "container/mems.h"
#include "container/process.h"
#include "container/step.h"

/* ------------------------------------------------------------- what is where */

struct look {
	struct mapped *out;
	const struct idset *nodes;
};

/* Of one line of numa_maps: "7f.. default file=/x anon=3 N0=2 N1=1 kernelpagesize_kB=4" */
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

static void look_at(pid_t pid, void *arg)
{
	struct look *k = arg;
	uint64_t files = 0;
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/numa_maps", (long)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		if (strstr(line, " file=") && !strstr(line, " anon="))
			files += bytes_on(line, k->nodes);
		else
			k->out->anonymous += bytes_on(line, k->nodes);
	}
	free(line);
	if (f)
		fclose(f);
	k->out->files = files > k->out->files ? files : k->out->files;
}

struct visit {
	void (*fn)(pid_t pid, void *arg);
	void *arg;
	const char *path;
};

/* The list was read before the first of them was looked at, which takes its time: is this one in PATH still, or has its number become another's? */
static void visit(pid_t pid, void *arg)
{
	const struct visit *k = arg;
	char path[RANK_PATH_MAX];

	if (process_cgroup_of(path, sizeof(path), pid) == 0 && strcmp(path, k->path) == 0)
		k->fn(pid, k->arg);
}

static void each_process(const struct rank_group *g, int cgroup_fd, void (*fn)(pid_t pid, void *arg), void *arg)
{
	char path[RANK_PATH_MAX];
	struct visit k = { fn, arg, path };
	struct errbuf ended;

	for (unsigned i = 0; i < g->n; i++) {
		rank_path(path, g->moved[i].step, g->moved[i].rank);
		cgroup_each_pid(cgroup_fd, path, visit, &k, &ended);
	}
}

void rank_group_mapped(struct mapped *out, const struct rank_group *g, int cgroup_fd, const struct idset *nodes)
{
	struct look k = { out, nodes };

	memset(out, 0, sizeof(*out));
	each_process(g, cgroup_fd, look_at, &k);
}

/* -------------------------------------------------------------------- moving */

struct move {
	const struct idset *from, *to;
};

static void migrate(pid_t pid, void *arg)
{
	const struct move *m = arg;

	/* one bit more than there is, as all of its family take it */
	syscall(SYS_migrate_pages, pid, IDSET_MAX + 1, m->from->word, m->to->word);
}

void rank_group_migrate(const struct rank_group *g, int cgroup_fd, const struct idset *from, const struct idset *to)
{
	struct move m = { from, to };

	each_process(g, cgroup_fd, migrate, &m);
}

/* ------------------------------------------------------------------- cgroups */

/* What is above the ranks' directories, where it is kept to nodes at all: as much as each of them has, no less before no more. */
static int confine_user(const struct rank_moved *m, int cgroup_fd, const struct blocks *b, const struct idset *nodes, const struct idset *later, struct errbuf *err)
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
	/* ranks of the step that are elsewhere */
	for (unsigned i = 0; i < m->step->n_placed; i++) {
		if (strcmp(m->step->placed[i].place, m->rank->place) == 0)
			continue;
		own = false;
		rank_path(rank, m->step, &m->step->placed[i]);
		if (cgroup_read_set(cgroup_fd, rank, "cpuset.mems.effective", &has, err) == 0)
			idset_or(&left, &has);
	}
	if (cgroup_write_set(cgroup_fd, path, "cpuset.mems", &left, err) < 0)
		return -1;
	return own && b->on ? mems_bound_again(b, cgroup_fd, path, &left, err) : 0;
}

static int confine_rank(const struct rank_moved *m, int cgroup_fd, const struct blocks *b, const struct idset *nodes, struct errbuf *err)
{
	char path[RANK_PATH_MAX], step[16];
	struct errbuf why;
	int rc;

	rank_path(path, m->step, m->rank);
	rc = cgroup_write_set(cgroup_fd, path, "cpuset.mems", nodes, &why);
	if (rc == 0 && b->on)
		rc = mems_bound_again(b, cgroup_fd, path, nodes, &why);
	if (rc == 0 || cgroup_inode(cgroup_fd, path) == 0)
		return 0;
	step_id_format(m->step->step_id, step);
	return errprintf(err, "step %s, %s: %s", step, m->rank->task, why.text);
}

int rank_group_confine(const struct rank_group *g, int cgroup_fd, const struct blocks *b, const struct idset *nodes, const struct idset *later,
		       struct errbuf *err)
{
	/* a directory has no more than the one above it */
	for (unsigned i = 0; i < g->n; i++)
		if ((!later && confine_user(&g->moved[i], cgroup_fd, b, nodes, NULL, err) < 0) || confine_rank(&g->moved[i], cgroup_fd, b, nodes, err) < 0)
			return -1;
	for (unsigned i = 0; later && i < g->n; i++)
		if (confine_user(&g->moved[i], cgroup_fd, b, nodes, later, err) < 0)
			return -1;
	return 0;
}
