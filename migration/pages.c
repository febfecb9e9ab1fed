/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/pages.h"

#include <errno.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "migration/pages_move.h"
#include "migration/process_memory.h"

/* A limit for a rank that forks without end. */
#define PROCESSES_MAX 65536

/* One pass over the processes of a cgroup. */
struct pass {
	const struct node_home *where;
	const struct pages_plan *plan; /* NULL: no target node; memory of any policy counts */
	struct pages_mover *mover; /* NULL: count memory by numa_maps only, and move no pages */
	bool moves;
	struct pages_progress *progress; /* NULL: none */
	struct pages_result *out;
	/* memory of all processes, or of the one process whose pages may be moved */
	struct node_memory sum;
	uint64_t all; /* bytes, including memory that the plan does not cover */
	unsigned n;
};

const char *pages_end_name(enum pages_end end)
{
	static const char *const names[] = {
		[PAGES_ENOUGH] = "enough",	 [PAGES_ROUNDS_USED] = "rounds used",
		[PAGES_NO_GAIN] = "no gain",	 [PAGES_FULL] = "node full",
		[PAGES_TIME_USED] = "time used", [PAGES_UNSUPPORTED] = "unsupported",
		[PAGES_GONE] = "gone",
	};

	return end < sizeof(names) / sizeof(names[0]) ? names[end] : "unknown";
}

/* Add the anonymous memory of a mapping to the sums of the pass. */
static void count_mapping(const struct numa_mapping *m, const struct maps_extent *extent, void *arg)
{
	struct pass *pass = arg;
	struct node_memory here = { 0 };

	(void)extent;
	if (pass->progress)
		pass->progress->beats++;
	/* leave out private copies of a file's pages, except those of hugetlbfs */
	if (!m->anon || (m->file && !m->huge))
		return;
	for (unsigned i = 0; i < m->n; i++) {
		node_memory_add(&here, pass->where, m->on[i].node, m->on[i].bytes);
		node_memory_add(&pass->sum, pass->where, m->on[i].node, m->on[i].bytes);
	}
	if (m->huge)
		pass->out->huge += here.elsewhere;
	else if (pass->plan && !numa_mapping_allows(m, pass->plan->to))
		pass->out->bound += here.elsewhere;
}

/*
 * Is more than NODE_MEMORY_ENOUGH of M elsewhere even if STAYS bytes of it, which cannot be moved,
 * count as at home? Only then is a further call worth its cost.
 */
static bool is_worth_a_call(const struct node_memory *m, uint64_t stays)
{
	struct node_memory best = *m;

	best.elsewhere -= stays < m->elsewhere ? stays : m->elsewhere;
	best.home += m->elsewhere - best.elsewhere;
	return node_memory_share(&best) > NODE_MEMORY_ENOUGH;
}

/*
 * Add the memory of P by location, as far as the plan covers it. Returns 0, or -1: it cannot be
 * read.
 */
static int look_at_process(struct pass *pass, const struct process_memory *p)
{
	const struct pages_plan *plan = pass->plan;
	struct pass all = {
		.where = pass->where, .plan = plan, .progress = pass->progress, .out = pass->out
	};

	if (process_memory_each(p, count_mapping, &all) < 0)
		return -1;
	pass->all += all.sum.home + all.sum.elsewhere + all.sum.outside;
	if (!plan || !plan->only) {
		pass->sum.home += all.sum.home;
		pass->sum.elsewhere += all.sum.elsewhere;
		pass->sum.outside += all.sum.outside;
		return 0;
	}
	/* pages_mover_count() counts only pages that can be moved */
	pass->out->bound = pass->out->huge = 0;
	pages_mover_count(pass->mover, p, &pass->sum);
	return 0;
}

/*
 * Move the process's pages if that is worth a call of move_pages(2): each call drains the LRU lists
 * of all CPUs. If each process of a rank has enough at home, so has the rank.
 */
static void move_process(struct pass *pass, const struct process_memory *p)
{
	struct pages_result found = { 0 };
	struct pass look = *pass;

	look.out = &found;
	look.sum = (struct node_memory){ 0 };
	if (look_at_process(&look, p) == 0 && is_worth_a_call(&look.sum, found.bound + found.huge))
		pages_mover_move(pass->mover, p);
}

static void visit_process(const char *path, pid_t pid, void *arg)
{
	struct pass *pass = arg;
	struct process_memory p;

	if (pid <= 0 || pid == getpid() || ++pass->n > PROCESSES_MAX ||
	    (pass->moves && pages_mover_stops(pass->mover)))
		return;
	if (pass->progress) {
		pass->progress->pid = (uint32_t)pid;
		pass->progress->beats++;
	}
	if (process_memory_open(&p, pid, path) < 0) {
		pass->out->refused += !pass->moves && errno != ESRCH;
		return;
	}
	if (pass->moves)
		move_process(pass, &p);
	else if (look_at_process(pass, &p) == 0)
		pass->out->processes++;
	process_memory_close(&p);
}

/* Set OUT's sums: where the memory lies now. */
static int look_again(struct pages_result *out, struct pass *pass, int cgroup_fd, const char *path,
		      struct errbuf *err)
{
	pass->moves = false;
	pass->out = out;
	pass->n = 0;
	pass->all = 0;
	pass->sum = (struct node_memory){ 0 };
	out->processes = out->refused = 0;
	out->bound = out->huge = 0;
	if (cgroup_each_pid_below(cgroup_fd, path, visit_process, pass, err) < 0)
		return -1;
	out->after = pass->sum;
	return 0;
}

static int look_first(struct pages_result *out, struct pass *pass, int cgroup_fd, const char *path,
		      struct errbuf *err)
{
	*out = (struct pages_result){ .end = PAGES_ENOUGH };
	if (!cgroup_inode(cgroup_fd, path))
		return errprintf(err, "cgroup %s does not exist", path);
	if (look_again(out, pass, cgroup_fd, path, err) < 0)
		return -1;
	out->before = out->after;
	out->all = pass->all;
	return 0;
}

int pages_look(struct pages_result *out, const struct node_home *where, int cgroup_fd,
	       const char *path, struct errbuf *err)
{
	struct pass pass = { .where = where };

	return look_first(out, &pass, cgroup_fd, path, err);
}

/* Is another round useful? If not, OUT gets the end. IDLE: the last round moved next to nothing. */
static bool round_is_of_use(struct pages_result *out, const struct pages_mover *m, bool idle)
{
	const struct node_memory *now = &out->after;

	if (out->processes == 0)
		out->end = out->refused ? PAGES_NO_GAIN : PAGES_GONE;
	else if (m->unsupported)
		out->end = PAGES_UNSUPPORTED;
	else if (node_memory_share(now) <= NODE_MEMORY_ENOUGH)
		out->end = PAGES_ENOUGH;
	else if (m->full)
		out->end = PAGES_FULL;
	else if (m->late)
		out->end = PAGES_TIME_USED;
	else if (!is_worth_a_call(now, out->bound + out->huge) || (out->rounds && idle))
		out->end = PAGES_NO_GAIN;
	else if (out->rounds == PAGES_ROUNDS)
		out->end = PAGES_ROUNDS_USED;
	else
		return true;
	return false;
}

int pages_move(struct pages_result *out, const struct pages_plan *plan, int cgroup_fd,
	       const char *path, struct pages_progress *progress, struct errbuf *err)
{
	struct pass pass = { .where = &plan->where, .plan = plan, .progress = progress };
	struct pages_mover mover;
	bool idle = false;
	int rc;

	if (pages_mover_init(&mover, plan, progress, out) < 0)
		return errprintf(err, "out of memory");
	pass.mover = &mover;
	rc = look_first(out, &pass, cgroup_fd, path, err);
	while (rc == 0 && round_is_of_use(out, &mover, idle)) {
		uint64_t moved = out->moved;
		unsigned to = mover.to;

		out->rounds++;
		out->shared = out->busy = 0;
		pass.moves = true;
		pass.n = 0;
		rc = cgroup_each_pid_below(cgroup_fd, path, visit_process, &pass, err);
		if (rc == 0)
			rc = look_again(out, &pass, cgroup_fd, path, err);
		/*
		 * a round that found a full node is not idle: the next one fills another node of
		 * the home
		 */
		idle = mover.to == to && out->moved - moved <= out->after.elsewhere / 100;
	}
	pages_mover_free(&mover);
	return rc;
}
