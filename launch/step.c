/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/step.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hostname.h"
#include "container/hpc_reserve.h"
#include "container/ledger.h"
#include "container/mems.h"
#include "container/partitions.h"
#include "host/affinity.h"
#include "host/buffer.h"
#include "host/cgroup.h"
#include "host/vnode_mark.h"
#include "launch/observe.h"
#include "launch/step_impl.h"
#include "ranks/rankmap.h"

static const char *step_copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

/*
 * Parse the request before the fork, so that ranks inherit the result. If it is invalid,
 * step_prepare() reports that.
 */
static void parse_early(struct step *s)
{
	const char *text = s->in.job_request ? s->in.job_request : s->in.step_request;
	struct errbuf ignored;

	s->request = text ? malloc(sizeof(*s->request)) : NULL;
	if (s->request && request_parse(s->request, text, &ignored) < 0) {
		free(s->request);
		s->request = NULL;
	}
}

int step_new(struct step **out, const struct step_input *in, struct errbuf *err)
{
	struct step *s = calloc(1, sizeof(*s));

	if (!s)
		return errprintf(err, "out of memory");
	if (in->n_ranks == 0 || in->n_ranks > STEP_RANKS_MAX) {
		free(s);
		return errprintf(err,
				 "the step has %u ranks on this node, at most %d can be placed",
				 in->n_ranks, STEP_RANKS_MAX);
	}
	s->shared_size = sizeof(*s->shared) + in->n_ranks * sizeof(s->shared->rank[0]);
	s->shared = mmap(NULL, s->shared_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->shared == MAP_FAILED) {
		free(s);
		return errprintf(err, "out of memory");
	}
	s->in = *in;
	s->in.job_request = step_copy(in->job_request);
	s->in.step_request = step_copy(in->step_request);
	s->in.container = step_copy(in->container);
	s->in.report = step_copy(in->report);
	s->in.conf_path = step_copy(in->conf_path);
	s->in.script = step_copy(in->script);
	s->in.helper_path = step_copy(in->helper_path);
	s->in.script_path = step_copy(in->script_path);
	parse_early(s);
	for (unsigned i = 0; i < in->n_ranks; i++)
		s->shared->rank[i].global_rank = in->global_rank[i];
	s->in.global_rank = NULL; /* belongs to the caller */
	s->cgroup_fd = -1;
	hostname_short(s->node);
	*out = s;
	return 0;
}

void step_fail(struct step *s, const char *fmt, ...)
{
	va_list ap;

	/*
	 * several ranks may fail at once: one writes the text, and FAILED is set after the text is
	 * complete
	 */
	if (atomic_exchange(&s->shared->failing, 1))
		return;
	va_start(ap, fmt);
	vsnprintf(s->shared->error, sizeof(s->shared->error), fmt, ap);
	va_end(ap);
	/*
	 * the text also goes to slurmd's log and may quote a user's text: replace all but printable
	 * ASCII
	 */
	for (char *c = s->shared->error; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	atomic_store(&s->shared->failed, 1);
}

/* ------------------------------------------------------------------ root side */

/* Add to BUSY the CPUs that live sibling steps in the same place have divided among their ranks. */
static void add_busy(const struct ledger_job *job, const struct step *s, const struct step_part *p,
		     struct idset *busy)
{
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode != s->step_inode && step_is_in(s, &job->step[i], p))
			idset_or(busy, &job->step[i].cpus);
}

/* Record whether another live step has ranks on these CPUs: then the two steps share them. */
static void note_sharing(const struct ledger_job *job, const struct step *s, struct step_part *p,
			 const struct idset *chosen)
{
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *other = &job->step[i];

		/* a step that is launching will avoid our CPUs if it can */
		if (other->inode == s->step_inode || other->step_id >= STEP_ID_INTERACTIVE ||
		    other->launching || !step_is_in(s, other, p))
			continue;
		/* a step that divides nothing among its ranks uses the whole container */
		if (idset_empty(&other->cpus) || idset_intersects(&other->cpus, chosen)) {
			p->shares_ranks = true;
			p->shares_with = other->step_id;
			return;
		}
	}
}

/*
 * If -c requests more CPUs than a rank of this part has, record how many it has. A part with one
 * rank on this node is skipped: the rank may be a launcher. A step container is skipped, too: it
 * has the size that the step requests.
 */
static void note_fewer(const struct step *s, unsigned part)
{
	struct step_part *p = &s->shared->part[part];

	if (s->shared->own_container || p->n_ranks < 2)
		return;
	for (unsigned i = 0; i < s->in.n_ranks; i++)
		if (s->shared->rank[i].part == part &&
		    idset_count(&s->shared->rank[i].chosen) < s->in.cpus_per_task)
			p->fewer_cpus = idset_count(&s->shared->rank[i].chosen);
}

/* Ranks with the same CPUs. */
struct crowd {
	const struct idset *cpus;
	unsigned ranks;
};

/*
 * Group the ranks of PART by their CPUs. Thousands of ranks on one CPU make one element, so that
 * the caller does not hold the ledger's lock for long.
 */
static unsigned find_crowds(struct crowd *out, const struct step *s, unsigned part)
{
	unsigned n = 0, at;

	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		const struct step_rank *r = &s->shared->rank[i];

		if (r->part != part)
			continue;
		for (at = 0; at < n && !idset_equal(out[at].cpus, &r->chosen);)
			at++;
		if (at == n)
			out[n++] = (struct crowd){ .cpus = &r->chosen };
		out[at].ranks++;
	}
	return n;
}

/*
 * Record whether ranks of SCHED_HPC share CPUs, unless the request gives a quantum other than 0.
 * These ranks take turns by the quantum; with quantum 0 they wait for each other.
 */
static int note_turns(struct step *s, unsigned part, struct errbuf *err)
{
	struct step_part *p = &s->shared->part[part];
	struct crowd *crowd;
	unsigned n;

	if (p->given.policy != POLICY_HPC || (p->given.quantum_named && p->given.quantum))
		return 0;
	crowd = calloc(s->in.n_ranks, sizeof(*crowd));
	if (!crowd)
		return errprintf(err, "out of memory");
	n = find_crowds(crowd, s, part);
	for (unsigned i = 0; i < n; i++) {
		unsigned within = 0;

		for (unsigned k = 0; k < n; k++)
			if (idset_subset(crowd[k].cpus, crowd[i].cpus))
				within += crowd[k].ranks;
		if (within > idset_count(crowd[i].cpus))
			p->takes_turns = true;
	}
	free(crowd);
	return 0;
}

static int make_map(struct step *s, const struct step_part *p, const struct idset *container,
		    struct idset *bound, struct idset *out, struct errbuf *err)
{
	struct rankmap_in in = {
		.n_ranks = p->n_ranks,
		.bound = bound,
		.cpus_per_task = s->in.cpus_per_task,
		.sized = p->given.sized,
		.overcommit = s->in.overcommit,
		.by_thread = s->in.by_thread,
		.unbound = s->in.unbound,
		.threads_per_core = s->in.threads_per_core,
		.step_cpus = &s->step_cpus,
		.n_cores = s->n_cores,
		.core = s->core,
		.container = container,
		.n_domains = s->n_domains,
		.domain = s->domain,
	};

	if (rankmap_make(&in, out, err) == 0)
		return 0;
	if (s->kept && p->given.policy == POLICY_HPC && err->code == PLAN_NO_RANK_CPUS)
		errappend(err, HPC_KEPT_ONE);
	return errwrap(err, "%s%s", *p->container ? "container " : "the rest outside of containers",
		       p->container);
}

/* CPU masks of a part's ranks, with space for all ranks of the step. */
struct rank_masks {
	struct idset *bound; /* masks from Slurm */
	struct idset *map; /* masks after the division */
};

/* Divide the CPUs of PART among its ranks, by MASKS. Add the divided CPUs to TAKEN. */
static int map_part(struct step *s, unsigned part, const struct ledger_job *job,
		    const struct rank_masks *masks, struct idset *taken, struct errbuf *err)
{
	struct step_part *p = &s->shared->part[part];
	struct idset avail = p->given.cpus;
	struct idset busy, chosen;
	struct errbuf ignored;
	unsigned n = 0;

	for (unsigned i = 0; i < s->in.n_ranks; i++)
		if (s->shared->rank[i].part == part)
			masks->bound[n++] = s->shared->rank[i].bound;
	idset_zero(&busy);
	add_busy(job, s, p, &busy);
	idset_andnot(&avail, &busy);
	if ((idset_empty(&avail) ||
	     make_map(s, p, &avail, masks->bound, masks->map, &ignored) < 0) &&
	    make_map(s, p, &p->given.cpus, masks->bound, masks->map, err) < 0)
		return -1;
	n = 0;
	idset_zero(&chosen);
	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		if (s->shared->rank[i].part != part)
			continue;
		s->shared->rank[i].chosen = masks->map[n];
		idset_or(&chosen, &masks->map[n++]);
	}
	note_sharing(job, s, p, &chosen);
	note_fewer(s, part);
	if (note_turns(s, part, err) < 0)
		return -1;
	/*
	 * a rank that has the whole container, and is the only rank of its step here, divides
	 * nothing
	 */
	if (p->n_ranks > 1 || s->shared->n_parts > 1 || !idset_equal(&chosen, &p->given.cpus))
		idset_or(taken, &chosen);
	return 0;
}

/* Record the ranks in the ledger, so that a resize of the container changes their CPUs, too. */
static int note_ranks(const struct step *s, struct ledger_step *mine, struct errbuf *err)
{
	ledger_step_clear_ranks(mine);
	for (unsigned i = 0; i < s->in.n_ranks; i++) {
		const struct step_rank *r = &s->shared->rank[i];
		const struct step_part *p = &s->shared->part[r->part];
		struct ledger_rank *to = p->kind == STEP_NONE ? NULL : ledger_step_add_rank(mine);

		if (!to && p->kind != STEP_NONE)
			return errprintf(err, "out of memory");
		if (!to)
			continue;
		snprintf(to->task, sizeof(to->task), "%s", r->task);
		snprintf(to->place, sizeof(to->place), "%s", step_part_word(p));
		to->cpus = r->chosen;
	}
	return 0;
}

/*
 * Divide each container among its ranks, once the masks of all ranks are known. Prefer cores to
 * which no other step in the container is bound. Write the cores into the ledger.
 */
static int step_map_ranks(struct step *s, struct errbuf *err)
{
	const struct rank_masks masks = {
		.bound = calloc(s->in.n_ranks, sizeof(*masks.bound)),
		.map = calloc(s->in.n_ranks, sizeof(*masks.map)),
	};
	struct ledger_job *job = NULL;
	struct ledger_step *mine;
	struct ledger *l = NULL;
	int rc = -1;

	if (!masks.bound || !masks.map) {
		errprintf(err, "out of memory");
		goto out;
	}
	if (ledger_open(&l, s->conf.state_dir, s->cgroup_fd, s->conf.helper_timeout, err) < 0 ||
	    ledger_read(l, s->job_inode, &job, err) < 0)
		goto out;
	mine = job ? ledger_job_step(job, s->step_inode) : NULL;
	if (!mine) {
		errprintf(err, "this step's ledger entry is missing");
		goto out;
	}
	if (!s->in.launching)
		mine->launching = false;
	idset_zero(&mine->cpus);
	for (unsigned i = 0; i < s->shared->n_parts; i++)
		if (s->shared->part[i].kind != STEP_NONE &&
		    map_part(s, i, job, &masks, &mine->cpus, err) < 0)
			goto out;
	rc = note_ranks(s, mine, err) < 0 ? -1 : ledger_write(l, job, err);
out:
	ledger_job_free(job);
	ledger_close(l);
	free(masks.bound);
	free(masks.map);
	return rc;
}

static int place_rank(struct step *s, unsigned rank, pid_t pid, struct errbuf *err)
{
	struct isolator_step step;
	struct isolator_part part;
	struct cgroup_place place;

	if (affinity_get(pid, &s->shared->rank[rank].bound, err) < 0 ||
	    cgroup_find_place(&place, s->cgroup_fd, "/proc", pid, err) < 0)
		return -1;
	if (place.step_inode != s->step_inode || !*place.task)
		return errprintf(err, "rank %u is in cgroup %s, which is not this step's", rank,
				 place.task);
	snprintf(s->shared->rank[rank].task, sizeof(s->shared->rank[rank].task), "%.23s",
		 strrchr(place.task, '/') + 1);
	step_isolators(&step, s, NULL);
	step.n = s->shared->n_parts;
	step_isolator_part(&part, &s->shared->part[s->shared->rank[rank].part], NULL);
	return isolators_rank(&step, &part, pid, place.task, err);
}

/*
 * After every rank is bound: make the step a partition if it requests one, and enable the
 * partitions of its sibling steps again.
 */
static int step_end_launch(struct step *s, struct errbuf *err)
{
	struct step_part *p = &s->shared->part[0];
	struct errbuf why = { 0 }, more = { 0 };
	int rc = 0;

	if (!s->in.launching && p->given.partition == PARTITION_MEMBER)
		return 0;
	if (p->given.partition != PARTITION_MEMBER)
		rc = cgroup_write_set(s->cgroup_fd, s->user, "cpuset.cpus",
				      &p->given.partition_cpus, &why);
	if (rc == 0)
		rc = step_launch_end(s->in.conf_path, &why);
	else
		/* let sibling steps that wait for this one continue */
		step_launch_end(s->in.conf_path, &more);
	s->in.launching = false;
	STEP_LOG(s, "partition", "%s: %s", partition_name(p->given.partition),
		 rc == 0 && !*why.text ? "as asked" : why.text);
	if (rc == 0 || p->given.partition == PARTITION_MEMBER) {
		step_add_warning(s, *why.text ? &why : &more);
		return 0;
	}
	if (rc < 0 && s->conf.strict && !p->given.for_hpc)
		return errprintf(err, "container %s: %s (outcome: failed; strict=yes in %s)",
				 p->container, why.text, s->in.conf_path);
	snprintf(p->given.no_partition, sizeof(p->given.no_partition), "%.199s", why.text);
	return 0;
}

static int launch_step_place(struct step *s, unsigned rank, pid_t pid, struct errbuf *err)
{
	if (!s->prepared && step_prepare(s, rank, pid, err) < 0)
		return -1;
	s->prepared = true;
	atomic_store(&s->shared->prepared, 1);
	if (place_rank(s, rank, pid, err) < 0)
		return -1;
	if (rank + 1 < s->in.n_ranks)
		return 0;
	if (s->shared->n_parts == 1 && s->shared->part[0].kind == STEP_NONE)
		return step_end_launch(s, err);
	if (step_map_ranks(s, err) < 0)
		return -1;
	/* before the ranks continue: task/affinity reads a rank's CPUs for --mem-bind=local */
	for (unsigned i = 0; i < s->in.n_ranks; i++)
		if (s->shared->part[s->shared->rank[i].part].kind != STEP_NONE &&
		    affinity_set(s->shared->rank[i].pid, &s->shared->rank[i].chosen, err) < 0)
			return -1;
	return step_end_launch(s, err);
}

bool step_ends_others(const struct step *s, unsigned nodes)
{
	return atomic_load(&s->shared->failed) && (nodes > 1 || atomic_load(&s->shared->passed));
}

void step_place(struct step *s, unsigned rank, pid_t pid)
{
	struct errbuf err = { 0 };

	if (rank >= s->in.n_ranks || atomic_load(&s->shared->failed))
		return;
	s->shared->rank[rank].pid = pid;
	if (access(VNODE_MARK, F_OK) == 0) {
		step_fail(s, "containers do not run in a vnode: its slurmd has no cgroup for each "
			     "job and step (nodeosctl-vnode(1))");
		return;
	}
	/*
	 * Every hook opens the cgroup root: with SlurmdParameters=contain_spank each hook runs in a
	 * process that shares slurmstepd's memory but not its open files.
	 */
	s->cgroup_fd = cgroup_open_root(NULL, &err);
	if (s->cgroup_fd < 0 || launch_step_place(s, rank, pid, &err) < 0) {
		STEP_LOG(s, "refuse", "rank %u: %s", rank, err.text);
		step_fail(s, "%s", err.text);
	} else if (rank + 1 == s->in.n_ranks) {
		observe_step(s);
	}
	if (s->cgroup_fd >= 0)
		close(s->cgroup_fd);
	s->cgroup_fd = -1;
}

void step_end(struct step *s)
{
	struct ledger_job *job = NULL;
	struct ledger *l = NULL;
	struct errbuf err;
	int fd;

	if (!s->step_inode)
		return; /* the step has no ledger entry */
	observe_step_end(s);
	fd = cgroup_open_root(NULL, &err);
	/* after a failure, the entry is swept the next time the ledger is opened */
	if (fd < 0 || ledger_open(&l, s->conf.state_dir, fd, s->conf.helper_timeout, &err) < 0)
		goto out;
	if (ledger_read(l, s->job_inode, &job, &err) == 0 && job) {
		struct ledger_step *mine = ledger_job_step(job, s->step_inode);
		bool launching = mine && mine->launching;
		struct idset gone;

		idset_zero(&gone);
		if (mine)
			isolators_drop(fd, mine, &gone);
		ledger_job_del_step(job, s->step_inode);
		/* the job keeps its share until it ends, because ssh sessions use it, too */
		if (!ledger_job_is_empty(job))
			ledger_write(l, job, &err);
		else
			ledger_remove(l, s->job_inode, &err);
		if (!idset_empty(&gone))
			partitions_refresh_job(fd, job);
		partitions_refresh_above(l, fd, job->cgroup, &gone);
		step_quiet(l, 0, &err);
		/* enable the partitions again: an earlier call may have failed */
		if (launching || partitions_wanted(job, &s->conf))
			partitions_enable(l, fd, job, 0, &err);
	}
	ledger_close(l);
	/* after the unlock: the log may block, and other launches would wait for the lock */
	if (job)
		STEP_LOG(s, "end", "removed from the ledger, which has %u other steps of this job",
			 job->n_steps);
	ledger_job_free(job);
out:
	if (fd >= 0)
		close(fd);
	/*
	 * release buffers of step containers with the ledger unlocked: to write them back may take
	 * long
	 */
	isolators_release(s->conf.state_dir, s->step_inode, -1);
}

bool step_job_is_planned(const char *conf_path, bool *partitions)
{
	struct cgroup_place place;
	char path[sizeof(((struct conf *)0)->state_dir) + 64];
	/* the first lines of the entry: header, job, cgroup, request */
	char head[CGROUP_PATH_MAX + 256];
	struct errbuf ignored;
	const char *request, *first_step;
	struct conf conf;
	int fd, len = -1;

	*partitions = false;
	if (conf_load(&conf, conf_path, 0, &ignored) < 0)
		return false;
	*partitions = conf_allows_any_partition(&conf);
	if (access(conf.state_dir, F_OK) < 0)
		return false;
	fd = cgroup_open_root(NULL, &ignored);
	if (fd >= 0 && cgroup_find_place(&place, fd, "/proc", getpid(), &ignored) == 0) {
		ledger_entry_path(path, sizeof(path), conf.state_dir, place.job_inode);
		/* rename(2) replaces entries as a whole, so reading needs no lock */
		len = file_read_head(path, head, sizeof(head) - 1);
	}
	if (fd >= 0)
		close(fd);
	if (len <= 0)
		return false;
	head[len] = '\0';
	request = strstr(head, "\nrequest ");
	first_step = strstr(head, "\nstep ");
	return request && (!first_step || request < first_step);
}

struct job_end {
	struct ledger *l;
	uint32_t job_id;
	const char *node; /* NULL: unknown */
	const struct conf *conf;
	int root_fd;
	struct idset partition_cpus;
	char cgroup[CGROUP_PATH_MAX];
	uint64_t inode;
};

static int end_one(const struct ledger_job *job, void *arg)
{
	struct job_end *e = arg;
	struct ledger_job none = *job;
	struct errbuf err;

	if (job->job_id != e->job_id || (e->node && !cgroup_is_of_node(job->cgroup, e->node)))
		return 0;
	for (unsigned i = 0; i < job->n_steps; i++)
		isolators_drop(e->root_fd, &job->step[i], &e->partition_cpus);
	none.n_steps = 0;
	if (partitions_wanted(job, e->conf))
		partitions_refresh_job(e->root_fd, &none);
	strcpy(e->cgroup, job->cgroup);
	e->inode = job->inode;
	return ledger_remove(e->l, job->inode, &err);
}

void step_job_end(const char *conf_path, uint32_t job_id, struct errbuf *err)
{
	struct conf conf;
	struct job_end e = {
		.job_id = job_id,
		.node = getenv("SLURMD_NODENAME"),
		.conf = &conf,
	};
	struct errbuf bad;
	int fd;

	if (conf_load(&conf, conf_path, 0, err) < 0 || access(conf.state_dir, F_OK) < 0)
		return;
	fd = cgroup_open_root(NULL, err);
	if (fd < 0)
		return;
	e.root_fd = fd;
	if (ledger_open(&e.l, conf.state_dir, fd, conf.helper_timeout, err) == 0)
		ledger_each(e.l, end_one, &e, NULL, &bad, err);
	if (e.l) {
		partitions_refresh_above(e.l, fd, e.cgroup, &e.partition_cpus);
		/* a step whose slurmstepd was killed leaves its settings */
		step_quiet(e.l, 0, &bad);
	}
	ledger_close(e.l);
	if (e.inode)
		isolators_release(conf.state_dir, e.inode, -1);
	/* release buffers of steps that were killed with their slurmstepd */
	buffer_sweep(conf.state_dir, fd);
	close(fd);
}
