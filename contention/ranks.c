/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contention/ranks_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "container/step_id.h"
#include "contention/domains.h"
#include "manifest/policy_name.h"

#define RANKS_IO_MAX 16384 /* bytes of the io.stat of a host with many disks */

int ranks_open(struct ranks **out, const struct ranks_conf *conf, struct observed_node *node,
	       struct errbuf *err)
{
	struct ranks *r = calloc(1, sizeof(*r));

	if (!r)
		return errprintf(err, "out of memory");
	r->conf = *conf;
	r->state_dir = conf->state_dir ? strdup(conf->state_dir) : NULL;
	if (conf->state_dir && !r->state_dir) {
		free(r);
		return errprintf(err, "out of memory");
	}
	r->conf.state_dir = r->state_dir;
	snprintf(r->proc, sizeof(r->proc), "/proc/self/fd/%d", conf->proc_fd);
	process_source_open(&r->source, conf->proc_fd);
	r->ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	if (domains_read(node, conf->sys_fd, err) < 0 ||
	    storage_open(&r->storage, conf->proc_fd, 0, err) < 0) {
		ranks_close(r);
		return -1;
	}
	domains_quiet_cpus(&r->quiet, conf->sys_fd, conf->cgroup_fd);
	if (traffic_open(&r->traffic, &r->no_traffic) < 0)
		r->traffic = NULL;
	*out = r;
	return 0;
}

static void ranks_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void ranks_forget_task(struct ranks *r, struct rank_step *s, unsigned i)
{
	struct rank_task *t = &s->task[i];

	ranks_close_fd(&t->dir);
	ranks_close_fd(&t->cpu_stat);
	ranks_close_fd(&t->memory);
	ranks_close_fd(&t->io);
	if (t->slot >= 0)
		traffic_detach(r->traffic, t->slot);
	*t = s->task[--s->n_tasks];
}

static void ranks_close_own(struct ranks *r, struct rank_own *own)
{
	ranks_close_fd(&own->status);
	if (own->slot >= 0)
		storage_remove(r->storage, own->slot);
}

static void ranks_free_step(struct ranks *r, struct rank_step *s)
{
	while (s->n_tasks)
		ranks_forget_task(r, s, s->n_tasks - 1);
	for (unsigned i = 0; i < s->n; i++)
		ranks_close_own(r, &s->own[i]);
	free(s->task);
	free(s->own);
	free(s->idle);
}

void ranks_close(struct ranks *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n_steps; i++)
		ranks_free_step(r, &r->step[i]);
	free(r->step);
	traffic_close(r->traffic);
	storage_close(r->storage);
	free(r->state_dir);
	free(r);
}

const char *ranks_no_traffic(const struct ranks *r)
{
	return r->no_traffic.text;
}

struct rank_step *ranks_step_find(struct ranks *r, uint64_t inode)
{
	for (unsigned i = 0; i < r->n_steps; i++)
		if (r->step[i].inode == inode)
			return &r->step[i];
	return NULL;
}

void ranks_forget_steps(struct ranks *r, const struct observed_node *node)
{
	for (unsigned i = r->n_steps; i-- > 0;) {
		bool kept = false;

		for (unsigned k = 0; k < node->n_steps && !kept; k++)
			kept = node->step[k].inode == r->step[i].inode;
		if (!kept) {
			ranks_free_step(r, &r->step[i]);
			r->step[i] = r->step[--r->n_steps];
		}
	}
}

/*
 * Return whether TEXT, which follows the number of a step, is empty or the number of a component,
 * "+1".
 */
static bool is_component(const char *text)
{
	size_t digits = *text == '+' ? strspn(text + 1, "0123456789") : 0;

	return !*text || (digits && !text[1 + digits]);
}

int ranks_parse_step(const char *name, uint32_t *step)
{
	static const uint32_t special[] = { STEP_ID_BATCH, STEP_ID_EXTERN, STEP_ID_INTERACTIVE };
	char word[16], *end;
	unsigned long n;

	if (strncmp(name, "step_", 5) != 0)
		return -1;
	name += 5;
	for (unsigned i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		step_id_format(special[i], word);
		if (strcmp(name, word) == 0) {
			*step = special[i];
			return 0;
		}
	}
	n = strtoul(name, &end, 10);
	if (*name < '0' || *name > '9' || n >= STEP_ID_INTERACTIVE || !is_component(end))
		return -1;
	*step = (uint32_t)n;
	return 0;
}

struct rank_step *ranks_get_step(struct ranks *r, struct observed_node *node, const char *path,
				 const struct observed_step *seen, struct errbuf *err)
{
	struct rank_step *s, *grown;
	struct observed_step *o;
	struct timespec now;

	ranks_forget_steps(r, node);
	o = observed_step_find(node, seen->inode);
	s = ranks_step_find(r, seen->inode);
	if (o && s) {
		o->contained |= seen->contained;
		if (seen->policy != CONTENTION_UNSET)
			o->policy = seen->policy;
		return s;
	}
	grown = reallocarray(r->step, r->n_steps + 1, sizeof(*grown));
	if (!grown)
		goto full;
	r->step = grown;
	o = observed_add_step(node);
	if (!o)
		goto full;
	clock_gettime(CLOCK_REALTIME, &now);
	*o = *seen;
	o->started = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	o->n = 0;
	o->rank = NULL;
	s = &r->step[r->n_steps++];
	memset(s, 0, sizeof(*s));
	s->inode = seen->inode;
	s->tasks_of_srun = seen->step != STEP_ID_BATCH && seen->step != STEP_ID_EXTERN &&
			   seen->step != STEP_ID_INTERACTIVE;
	snprintf(s->path, sizeof(s->path), "%s", path);
	return s;
full:
	errprintf(err, "out of memory");
	return NULL;
}

struct rank_task *ranks_task_find(struct rank_step *s, const char *name)
{
	/* search after the last result: most callers go through the tasks in order */
	for (unsigned n = 0; n < s->n_tasks; n++) {
		unsigned i = (s->next_task + n) % s->n_tasks;

		if (strcmp(s->task[i].name, name) == 0) {
			s->next_task = i + 1;
			return &s->task[i];
		}
	}
	return NULL;
}

struct rank_task *ranks_get_task(struct rank_step *s, const char *name)
{
	struct rank_task *t = ranks_task_find(s, name);

	if (t)
		return t;
	if (s->n_tasks == STEP_RANKS_MAX || strlen(name) >= RANK_TASK_NAME_MAX)
		return NULL;
	if (!(s->n_tasks & (s->n_tasks - 1))) { /* the array is full: double it */
		t = reallocarray(s->task, s->n_tasks ? 2 * (size_t)s->n_tasks : 1, sizeof(*t));
		if (!t)
			return NULL;
		s->task = t;
	}
	t = &s->task[s->n_tasks++];
	*t = (struct rank_task){ .dir = -1, .cpu_stat = -1, .memory = -1, .io = -1, .slot = -1 };
	t->number = OBSERVED_NO_RANK;
	t->alone = true;
	strcpy(t->name, name);
	return t;
}

/* Return the sum of the numbers that follow WORD in TEXT. */
static uint64_t ranks_sum_words(const char *text, const char *word)
{
	uint64_t sum = 0;

	for (const char *at = text; (at = strstr(at, word)) != NULL;) {
		at += strlen(word);
		sum += strtoull(at, NULL, 10);
	}
	return sum;
}

int ranks_read_io(int fd, uint64_t *read, uint64_t *written)
{
	char text[RANKS_IO_MAX];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -1;
	text[n] = '\0';
	*read = ranks_sum_words(text, " rbytes=");
	*written = ranks_sum_words(text, " wbytes=");
	return 0;
}

static int ranks_read_set(struct idset *out, int dir, const char *name, struct errbuf *err)
{
	char text[IDSET_LIST_MAX + 2];

	return file_read(dir, name, text, sizeof(text), err) < 0 ? -1 : idset_parse(out, text, err);
}

static int ranks_open_file(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

void ranks_watch_task(struct ranks *r, struct rank_step *s, struct rank_task *t,
		      const char *container)
{
	char path[CGROUP_PATH_MAX + RANK_TASK_NAME_MAX + 8];
	struct errbuf err;

	snprintf(t->container, sizeof(t->container), "%s", container);
	if (t->watched)
		return;
	t->watched = true;
	snprintf(path, sizeof(path), "%s/user/%s", s->path, t->name);
	t->dir = openat(r->conf.cgroup_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->dir < 0)
		return;
	t->cpu_stat = ranks_open_file(t->dir, "cpu.stat");
	t->memory = ranks_open_file(t->dir, "memory.current");
	t->io = ranks_open_file(t->dir, "io.stat");
	ranks_read_io(t->io, &t->read, &t->written);
	/* only a rank of srun is an OBSERVED_TASK, which has the traffic of its whole directory */
	if (r->traffic && s->tasks_of_srun) {
		t->slot = traffic_attach(r->traffic, t->dir, &err);
		if (t->slot < 0)
			errcopy(&r->no_traffic, &err);
	}
}

int ranks_index(struct rank_step *s, const struct observed_step *o, const struct process_seen *p)
{
	for (unsigned n = 0; n < o->n; n++) {
		unsigned i = (s->next_rank + n) % o->n;

		if (o->rank[i].pid == p->pid && o->rank[i].start == p->start) {
			s->next_rank = i + 1;
			return (int)i;
		}
	}
	return -1;
}

static int ranks_add(struct ranks *r, struct rank_step *s, struct observed_step *o,
		     const struct process_seen *p, struct errbuf *err)
{
	struct observed_rank *rank;
	struct process_seen again;
	struct rank_own *own;
	int fd;

	if (o->n >= STEP_RANKS_MAX)
		return errprintf(err, "job %u has a step of more than %u ranks", o->job,
				 STEP_RANKS_MAX);
	if (!(s->n & (s->n - 1))) { /* the array is full: double it */
		own = reallocarray(s->own, s->n ? 2 * (size_t)s->n : 1, sizeof(*own));
		if (!own)
			return errprintf(err, "out of memory");
		s->own = own;
	}
	fd = process_seen_open(&again, &r->source, p->pid);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return errprintf(err, "cannot observe process %d: /proc/%d/status: %s", (int)p->pid,
				 (int)p->pid, strerror(errno));
	if (fd < 0 || again.start != p->start) {
		ranks_close_fd(
			&fd); /* the process has ended, and another process may have its pid */
		return 0;
	}
	rank = observed_add_rank(o);
	if (!rank) {
		close(fd);
		return errprintf(err, "out of memory");
	}
	rank->pid = p->pid;
	rank->start = p->start;
	s->own[s->n++] = (struct rank_own){ .status = fd, .slot = -1, .remembered = r->scan - 1 };
	return 0;
}

void ranks_place(const struct ranks *r, const struct observed_node *node, struct rank_task *t,
		 struct observed_rank *rank)
{
	struct errbuf ignored;
	struct idset cpus;

	if (process_cpus(&rank->cpus, &rank->threads_differ, &r->source, rank->pid, rank->threads) <
	    0)
		return; /* the process has ended or is ending, and the next scan drops it */
	if (t->dir >= 0 && ranks_read_set(&cpus, t->dir, "cpuset.cpus.effective", &ignored) == 0)
		idset_and(&rank->cpus, &cpus);
	rank->domain = domains_of(node, &rank->cpus);
	rank->quiet = idset_intersects(&rank->cpus, &r->quiet) ||
		      process_policy(&r->source, rank->pid) == NODEOS_SCHED_HPC;
}

int ranks_keep(struct ranks *r, struct rank_step *s, struct observed_step *o,
	       const struct rank_found *found, struct errbuf *err)
{
	const struct process_seen *p = found->process;
	const struct rank_task *t = found->task;
	enum observed_kind kind = found->kind;
	int i = ranks_index(s, o, p);
	struct observed_rank *rank;

	if (i < 0) {
		if (ranks_add(r, s, o, p, err) < 0)
			return -1;
		i = ranks_index(s, o, p);
		if (i < 0)
			return 0;
	}
	rank = &o->rank[i];
	if (rank->kind != kind)
		/* the rank's CPU time comes from another file from now on */
		s->own[i].sampled = false;
	rank->kind = kind;
	/*
	 * N in "task_N" is the rank's number in the step; with Slurm 22.05, its number on the node
	 */
	if (kind != OBSERVED_TASK)
		rank->rank = OBSERVED_NO_RANK;
	else if (t->number != OBSERVED_NO_RANK)
		rank->rank = t->number;
	else if (rank->rank == OBSERVED_NO_RANK)
		rank->rank = (int)strtol(t->name + strlen("task_"), NULL, 10);
	rank->threads = p->threads;
	rank->ticks = p->ticks;
	memcpy(rank->command, p->command, sizeof(rank->command));
	memcpy(rank->container, t->container, sizeof(rank->container));
	memcpy(rank->task, t->name, sizeof(rank->task));
	strcpy(s->own[i].task, t->name);
	s->own[i].scan = r->scan;
	return 0;
}

void ranks_drop(struct ranks *r, struct rank_step *s, struct observed_step *o, unsigned i)
{
	ranks_close_own(r, &s->own[i]);
	s->n--;
	memmove(&s->own[i], &s->own[i + 1], (s->n - i) * sizeof(*s->own));
	observed_remove_rank(o, i);
}
