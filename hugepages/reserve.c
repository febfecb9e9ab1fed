/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/proc.h"
#include "host/apart.h"
#include "host/cgroup.h"
#include "hugepages/borrow.h"
#include "hugepages/extent_file.h"
#include "hugepages/pages_plan.h"
#include "hugepages/pool.h"
#include "hugepages/pool_journal.h"

#define FIRST_FD 4096 /* descriptor of rank 0's extent in the holder */
#define SECONDS_MIN 60 /* for a reservation, and more for each GiB, which the kernel zeroes */
#define SECONDS_MAX 500 /* srun waits 600 s for a step to start */
#define SECONDS_GIVE_BACK 60

struct made {
	bool ok;
	char text[512];
	struct reserve_given given;
};
_Static_assert(sizeof(struct made) <= APART_RESULT_MAX, "the result of the process");

/* The work of the process that reserves. */
struct work {
	struct reserve_ask *ask;
	int journal;
	struct pool_entry *entry;
	unsigned n; /* memory nodes */
	struct pages_node *node;
	unsigned n_pieces;
	struct pages_piece *piece;
};

/* ------------------------------------------------------------------ give back */

/*
 * Record in the journal that the pages of part I of E leave their pool, and remove them. Returns -1
 * if some of these pages stay.
 */
static int lower_part(int journal, struct pool_entry *e, unsigned i)
{
	struct pool_part *p = &e->part[i];
	struct pool_state now;
	struct errbuf ignored;
	uint64_t value;

	if (pool_read(&now, "", &p->pool, &ignored) < 0)
		return -1;
	pool_part_settle(p, pool_persistent(&now));
	if (!p->pages)
		return 0;
	if (!pool_lower_value(&value, &now, p->pages))
		return -1;
	p->before = pool_persistent(&now);
	p->change = POOL_LOWERING;
	if (pool_journal_write(journal, e, &ignored) < 0 ||
	    pool_write("", &p->pool, value, &ignored) < 0 ||
	    pool_read(&now, "", &p->pool, &ignored) < 0)
		return -1;
	pool_part_settle(p, pool_persistent(&now));
	return p->pages ? -1 : 0;
}

/* Undo the parts of E from FIRST on. Write what is left of E to its file, or remove the file. */
static void undo_parts(int journal, struct pool_entry *e, unsigned first)
{
	struct errbuf ignored;
	unsigned left = first;

	for (unsigned i = first; i < e->n; i++)
		if (lower_part(journal, e, i) == 0)
			e->part[i].pages = 0;
	for (unsigned i = first; i < e->n; i++)
		if (e->part[i].pages)
			e->part[left++] = e->part[i];
	e->n = left;
	if (left)
		pool_journal_write(journal, e, &ignored);
	else
		pool_journal_remove(journal, e->step_inode);
}

/* State of a sweep over all entries. */
struct sweep {
	int cgroup_fd;
	uint64_t ended; /* step or job that ends now; 0: none */
	struct pool_entry *entry;
};

/*
 * Correct E if a process was killed during a change. The next change of the same pool would hide
 * how far the killed process came, so each process that opens the journal first settles all
 * entries.
 */
static void settle_entry(int journal, struct pool_entry *e)
{
	struct errbuf ignored;
	bool changed = false;

	for (unsigned i = 0; i < e->n; i++) {
		struct pool_state now;

		if (e->part[i].change == POOL_STABLE ||
		    pool_read(&now, "", &e->part[i].pool, &ignored) < 0)
			continue;
		pool_part_settle(&e->part[i], pool_persistent(&now));
		changed = true;
	}
	if (changed)
		pool_journal_write(journal, e, &ignored);
}

static void settle_one(int journal, uint64_t step_inode, void *arg)
{
	struct errbuf ignored;

	if (pool_journal_read(arg, journal, step_inode, &ignored) == 1)
		settle_entry(journal, arg);
}

/*
 * Undo the entry of a step that has ended. A step whose job ends has ended, even if its processes
 * still run, as after a kill of slurmstepd. A damaged entry is kept: its pages are unknown.
 */
static void sweep_entry(int journal, uint64_t step_inode, void *arg)
{
	struct sweep *s = arg;
	struct pool_entry *e = s->entry;
	struct errbuf ignored;

	if (pool_journal_read(e, journal, step_inode, &ignored) != 1)
		return;
	if ((s->ended && (step_inode == s->ended || e->job_inode == s->ended)) ||
	    (s->cgroup_fd >= 0 && (cgroup_is_gone(s->cgroup_fd, e->cgroup, step_inode) ||
				   cgroup_is_empty(s->cgroup_fd, e->cgroup))))
		undo_parts(journal, e, 0);
}

static void give_back(void *arg, void *result)
{
	const struct reserve_ask *a = arg;
	struct sweep s = { a->cgroup_fd, a->step_inode, malloc(sizeof(*s.entry)) };
	struct errbuf ignored;
	int journal = s.entry ? pool_journal_open(a->state_dir, &ignored) : -1;

	(void)result;
	if (journal < 0)
		return;
	pool_journal_each(journal, settle_one, s.entry);
	pool_journal_each(journal, sweep_entry, &s);
	close(journal);
}

static void note_any(int journal, uint64_t step_inode, void *arg)
{
	(void)journal;
	(void)step_inode;
	*(bool *)arg = true;
}

void reserve_release(const char *state_dir, int cgroup_fd, uint64_t inode)
{
	struct reserve_ask a = { .state_dir = state_dir, .cgroup_fd = cgroup_fd };
	char path[DIR_PATH_MAX + 16], result[1];
	struct errbuf ignored;
	bool any = false;
	int journal;
	struct apart apart = {
		.work = give_back,
		.arg = &a,
		.size = 1,
		.seconds = SECONDS_GIVE_BACK,
		.keep_fd = cgroup_fd,
	};

	snprintf(path, sizeof(path), "%s-hugepages", state_dir);
	a.step_inode = inode;
	/* most hosts have no entry: start no process then */
	journal = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (journal >= 0) {
		pool_journal_each(journal, note_any, &any);
		close(journal);
	}
	if (any)
		apart_run(&apart, result, &ignored);
}

/* -------------------------------------------------------------------- reserve */

static int read_rooms(struct work *w, struct errbuf *err)
{
	const struct idset *mems = w->ask->mems;

	w->node = calloc(idset_count(mems) + 1, sizeof(*w->node));
	w->piece = calloc(idset_count(mems) + w->ask->ranks, sizeof(*w->piece));
	if (!w->node || !w->piece)
		return errprintf(err, "out of memory");
	for (int i = idset_next(mems, -1); i >= 0; i = idset_next(mems, i))
		w->node[w->n++].node = (unsigned)i;
	if (pool_read_rooms(w->node, w->n, "") < 0)
		return errprintf(err, "out of memory");
	return w->n ? 0 : errprintf(err, "the step has no memory node");
}

/* Add PAGES to the pool of NODE. The journal records the change before it and after it. */
static int raise_pool(struct work *w, unsigned node, uint64_t page, uint64_t pages,
		      struct errbuf *err)
{
	struct pool_part *p = &w->entry->part[w->entry->n];
	struct pool_state now;
	uint64_t value, others;

	if (w->entry->n == POOL_PARTS_MAX)
		return errprintf(err, "the step uses too many memory nodes");
	*p = (struct pool_part){ .pool = { node, page }, .change = POOL_RAISING };
	if (pool_read(&now, "", &p->pool, err) < 0)
		return -1;
	if (!pool_raise_value(&value, &now, pages))
		return errprintf(err, "the kernel has too many surplus huge pages");
	others = now.free; /* pages that the site keeps for other programs */
	p->before = pool_persistent(&now);
	p->pages = pages + now.surplus;
	w->entry->n++;
	if (pool_journal_write(w->journal, w->entry, err) < 0 ||
	    pool_write("", &p->pool, value, err) < 0 || pool_read(&now, "", &p->pool, err) < 0)
		return -1;
	pool_part_settle(p, pool_persistent(&now));
	if (pool_journal_write(w->journal, w->entry, err) < 0)
		return -1;
	return now.free >= others + pages
		       ? 0
		       : errprintf(err,
				   "memory node %u has %" PRIu64 " contiguous pages of %" PRIu64
				   " MiB, and %" PRIu64
				   " are needed: its memory is fragmented; ask for smaller extents",
				   node, now.free > others ? now.free - others : 0, page >> 20,
				   pages);
}

static int raise_pools(struct work *w, uint64_t page, struct errbuf *err)
{
	for (unsigned i = 0; i < w->n; i++) {
		uint64_t pages = 0;

		for (unsigned k = 0; k < w->n_pieces; k++)
			pages += w->piece[k].node == i ? w->piece[k].pages : 0;
		if (pages && raise_pool(w, w->node[i].node, page, pages, err) < 0)
			return -1;
	}
	return 0;
}

static void join_proof(struct page_runs *all, const struct page_runs *one)
{
	if (one->runs > all->runs)
		all->runs = one->runs;
	if (!all->longest || one->longest < all->longest)
		all->longest = one->longest;
	if (!all->shortest || one->shortest < all->shortest)
		all->shortest = one->shortest;
}

/* Make the extents of all ranks, at FIRST_FD and above. */
static int make_extents(struct work *w, struct reserve_given *g, struct errbuf *err)
{
	struct rlimit files = { FIRST_FD + w->ask->ranks + 64, FIRST_FD + w->ask->ranks + 64 };
	unsigned first = 0;

	setrlimit(RLIMIT_NOFILE, &files);
	for (unsigned rank = 0; rank < w->ask->ranks; rank++) {
		struct extent_ask ask = { g->page, w->node, w->piece + first, 0 };
		struct page_runs proof;
		int fd, to;

		while (first + ask.n < w->n_pieces && ask.piece[ask.n].rank == rank)
			ask.n++;
		first += ask.n;
		fd = extent_file_make(&proof, &ask, err);
		if (fd < 0)
			return errwrap(err, "rank %u", rank);
		to = dup3(fd, FIRST_FD + (int)rank, O_CLOEXEC);
		close(fd);
		if (to < 0)
			return errprintf(err, "rank %u: %s", rank, strerror(errno));
		join_proof(&g->proof, &proof);
	}
	return 0;
}

/* Close the extents and take their pages from the pools again. */
static void take_back(struct work *w, unsigned parts_before)
{
	for (unsigned rank = 0; rank < w->ask->ranks; rank++)
		close(FIRST_FD + (int)rank);
	undo_parts(w->journal, w->entry, parts_before);
}

/* Reserve in pages of PAGE bytes. */
static int try_page(struct work *w, struct reserve_given *g, uint64_t page, struct errbuf *err)
{
	const struct pages_ask ask = { w->ask->ranks, page, w->ask->bytes / page };
	int n = pages_plan(w->piece, w->node, w->n, &ask, err);
	unsigned before = w->entry->n;

	if (n < 0)
		return -1;
	w->n_pieces = (unsigned)n;
	*g = (struct reserve_given){ .page = page, .bytes = w->ask->bytes };
	if (raise_pools(w, page, err) == 0 && make_extents(w, g, err) == 0)
		return 0;
	take_back(w, before);
	return -1;
}

/* Sum of the other entries of the job. */
struct job_sum {
	uint64_t job_inode, bytes;
	struct pool_entry *entry;
};

static void add_job_entry(int journal, uint64_t step_inode, void *arg)
{
	struct job_sum *s = arg;
	struct errbuf ignored;

	if (pool_journal_read(s->entry, journal, step_inode, &ignored) == 1 &&
	    s->entry->job_inode == s->job_inode)
		s->bytes += pool_entry_bytes(s->entry);
}

/* Return the bytes that other steps of the job have. */
static uint64_t bytes_of_others(const struct work *w)
{
	struct job_sum s = { .job_inode = w->ask->job_inode, .entry = w->entry };

	pool_journal_each(w->journal, add_job_entry, &s);
	return s.bytes;
}

static int check_bound(const struct work *w, uint64_t others, struct errbuf *err)
{
	const struct reserve_ask *a = w->ask;

	if (!a->job_max || (a->bytes <= a->job_max && others <= a->job_max &&
			    a->bytes <= (a->job_max - others) / a->ranks))
		return 0;
	return errprintf(
		err,
		"%u extents of %" PRIu64 " MiB, and %" PRIu64
		" MiB of other steps of this job, are more than the job's memory on this node, "
		"%" PRIu64 " MiB: ask for more memory (--mem), or for smaller extents",
		a->ranks, a->bytes >> 20, others >> 20, a->job_max >> 20);
}

/* Append the free memory of each node to the reason in ERR. */
static void append_rooms(const struct work *w, struct errbuf *err)
{
	for (unsigned i = 0; i < w->n && i < 8; i++)
		errappend(err, "%s memory node %u has %" PRIu64 " MiB free", i ? "," : ";",
			  w->node[i].node, w->node[i].room >> 20);
}

/* Read this step's entry from an earlier call, or begin it. */
static int open_entry(struct work *w, struct errbuf *err)
{
	const struct reserve_ask *a = w->ask;
	int known = pool_journal_read(w->entry, w->journal, a->step_inode, err);

	if (known)
		return known < 0 ? -1 : 0;
	w->entry->n = 0;
	w->entry->step_inode = a->step_inode;
	w->entry->job_inode = a->job_inode;
	snprintf(w->entry->cgroup, sizeof(w->entry->cgroup), "%s", a->cgroup);
	return 0;
}

static int reserve_sized(struct work *w, struct reserve_given *g, struct errbuf *err)
{
	struct errbuf first = { 0 };

	if (w->ask->page == RESERVE_1G && w->ask->bytes % RESERVE_1G == 0 &&
	    try_page(w, g, RESERVE_1G, &first) == 0)
		return 0;
	return try_page(w, g, RESERVE_2M, err);
}

/* Reserve extents whose size is not given. If memory is fragmented, try smaller ones. */
static int reserve_shares(struct work *w, struct reserve_given *g, uint64_t others,
			  struct errbuf *err)
{
	struct reserve_ask *a = w->ask;
	uint64_t left = a->job_max > others ? a->job_max - others : 0;
	uint64_t most = a->job_max && left < a->most ? left : a->most;

	for (a->bytes = pages_share(w->node, w->n, a->ranks, most); a->bytes >= RESERVE_SHARE_MIN;
	     a->bytes = a->bytes / 2 / RESERVE_2M * RESERVE_2M) {
		errclear(err);
		if (reserve_sized(w, g, err) == 0)
			return 0;
	}
	return *err->text ? -1
			  : errprintf(err,
				      "the share of each of %u ranks is below %" PRIu64
				      " MiB, the smallest extent: ask for more memory (--mem)",
				      a->ranks, RESERVE_SHARE_MIN >> 20);
}

static int reserve_locked(struct work *w, struct reserve_given *g, struct errbuf *err)
{
	struct sweep dead = { w->ask->cgroup_fd, 0, w->entry };
	uint64_t others;
	int rc;

	pool_journal_each(w->journal, settle_one, w->entry);
	pool_journal_each(w->journal, sweep_entry, &dead);
	others = bytes_of_others(w);
	if (check_bound(w, others, err) < 0 || read_rooms(w, err) < 0 || open_entry(w, err) < 0)
		return -1;
	rc = w->ask->bytes ? reserve_sized(w, g, err) : reserve_shares(w, g, others, err);
	if (rc < 0)
		append_rooms(w, err);
	return rc;
}

/*
 * Hold the extents until each rank has taken its own and has sent a signal, or until slurmstepd has
 * ended.
 */
static _Noreturn void hold_extents(const struct reserve_ask *a, const sigset_t *taken)
{
	const struct timespec pause = { 0, 100000000 };
	int owner = (int)syscall(SYS_pidfd_open, a->owner, 0);
	struct pollfd gone = { .fd = owner, .events = POLLIN };
	unsigned left = a->ranks;

	setsid();
	while (left && owner >= 0 && poll(&gone, 1, 0) == 0)
		if (sigtimedwait(taken, NULL, &pause) > 0)
			left--;
	_exit(0);
}

/* Start a process that holds the extents after this one has ended. */
static int start_holder(const struct work *w, struct reserve_given *g, struct errbuf *err)
{
	sigset_t taken;
	pid_t pid;

	sigemptyset(&taken);
	sigaddset(&taken, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &taken, NULL);
	pid = fork();
	if (pid == 0) {
		close(w->journal); /* the holder must not keep the journal locked */
		hold_extents(w->ask, &taken);
	}
	if (pid < 0)
		return errprintf(err, "fork: %s", strerror(errno));
	g->holder = pid;
	g->holder_number = process_number(pid);
	return 0;
}

/*
 * Check that slurmstepd lives. If it was killed meanwhile, the job may have ended, too, and nothing
 * else would give the pages back. If it is killed later, the job's end waits for the journal and
 * finds the entry there.
 */
static int check_owner(int owner, struct errbuf *err)
{
	struct pollfd gone = { .fd = owner, .events = POLLIN };

	if (owner >= 0 && poll(&gone, 1, 0) == 0)
		return 0;
	return errprintf(err, "slurmstepd of the step has ended");
}

static void reserve_apart(void *arg, void *result)
{
	struct reserve_ask ask = *(const struct reserve_ask *)arg;
	struct work w = { .ask = &ask, .entry = malloc(sizeof(*w.entry)) };
	int owner = (int)syscall(SYS_pidfd_open, ask.owner, 0);
	struct made *m = result;
	struct errbuf err = { 0 };

	if (!w.entry)
		return;
	w.journal = pool_journal_open(w.ask->state_dir, &err);
	if (w.journal >= 0 && reserve_locked(&w, &m->given, &err) == 0) {
		m->ok = check_owner(owner, &err) == 0 && start_holder(&w, &m->given, &err) == 0;
		if (!m->ok)
			take_back(&w, 0);
	}
	snprintf(m->text, sizeof(m->text), "%s", err.text);
}

static unsigned reserve_seconds(const struct reserve_ask *a)
{
	uint64_t gib = a->bytes ? (a->bytes >> 20) * a->ranks >> 10 : a->most >> 30;

	return gib > SECONDS_MAX - SECONDS_MIN ? SECONDS_MAX : SECONDS_MIN + (unsigned)gib;
}

int reserve_pages(struct reserve_given *out, const struct reserve_ask *ask, struct errbuf *err)
{
	struct made m;
	struct apart apart = {
		.work = reserve_apart,
		.arg = (void *)ask,
		.size = sizeof(m),
		.seconds = reserve_seconds(ask),
		.keep_fd = ask->cgroup_fd,
	};

	if (apart_run(&apart, &m, err) != APART_DONE)
		return errwrap(err, "huge pages");
	if (!m.ok)
		return errprintf(err, "%.500s", m.text);
	*out = m.given;
	return 0;
}

/* ----------------------------------------------------------------------- take */

int reserve_take(const struct reserve_given *g, unsigned rank, struct errbuf *err)
{
	int fd = borrow_descriptor(g->holder, g->holder_number, FIRST_FD + (int)rank, err);
	int holder = fd < 0 ? -1 : (int)syscall(SYS_pidfd_open, g->holder, 0);

	if (holder >= 0) {
		if (process_number(g->holder) == g->holder_number)
			syscall(SYS_pidfd_send_signal, holder, SIGRTMIN, NULL, 0);
		close(holder);
	}
	return fd < 0 ? errwrap(err, "the extents") : fd;
}
