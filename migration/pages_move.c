/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/pages_move.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/monotonic.h"

#define CALL_MAX ((uint64_t)1 << 30) /* upper limit of PLAN's bytes of a call */
#define RANGES 256 /* ranges of one scan */
#define NAP_MS 500 /* interval of progress updates while waiting */
#define MOVE_OWN (1 << 1) /* MPOL_MF_MOVE: pages that only this process maps */
#define UNTOUCHED INT_MIN /* a page that a call did not get to */

/* Bytes of a transparent huge page. */
static uint64_t huge_page_size(void)
{
	char text[32];
	uint64_t size = 0;

	if (file_read_line("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text,
			   sizeof(text)) == 0)
		size = strtoull(text, NULL, 10);
	return size && (size & (size - 1)) == 0 ? size : (uint64_t)2 << 20;
}

static void set_target(struct pages_mover *m, unsigned node)
{
	m->to = node;
	for (unsigned i = 0; i < m->max; i++)
		m->nodes[i] = (int)node;
}

int pages_mover_init(struct pages_mover *m, const struct pages_plan *plan,
		     struct pages_progress *progress, struct pages_result *out)
{
	*m = (struct pages_mover){ .plan = plan, .progress = progress, .out = out };
	m->started = monotonic_ms();
	m->end = m->started + 1000L * plan->seconds;
	m->call = plan->call ? plan->call : PAGES_CALL;
	if (m->call > CALL_MAX)
		m->call = CALL_MAX;
	m->page = (uint64_t)sysconf(_SC_PAGESIZE);
	m->huge_page = huge_page_size();
	m->max = m->call > m->page ? (unsigned)(m->call / m->page) : 1;
	m->address = calloc(m->max, sizeof(*m->address));
	m->huge = calloc(m->max, sizeof(*m->huge));
	m->nodes = calloc(m->max, sizeof(*m->nodes));
	m->status = calloc(m->max, sizeof(*m->status));
	m->where = calloc(m->max, sizeof(*m->where));
	if (m->address && m->huge && m->nodes && m->status && m->where) {
		set_target(m, plan->to);
		return 0;
	}
	pages_mover_free(m);
	return -1;
}

void pages_mover_free(struct pages_mover *m)
{
	free(m->address);
	free(m->huge);
	free(m->nodes);
	free(m->status);
	free(m->where);
	*m = (struct pages_mover){ .n = 0 };
}

bool pages_mover_stops(const struct pages_mover *m)
{
	return m->late || m->full || m->unsupported;
}

/* Is a further page useful? A pass that only counts goes on to its end. */
static bool goes_on(const struct pages_mover *m)
{
	return m->seen || !pages_mover_stops(m);
}

static uint64_t entry_bytes(const struct pages_mover *m, unsigned i)
{
	return m->huge[i] ? m->huge_page : m->page;
}

static void forget_pages(struct pages_mover *m)
{
	m->n = m->known = 0;
	m->bytes = 0;
}

/* ------------------------------------------------------------------ calls */

/* Write the nodes of the pages from FIRST on to WHERE. Moves no page, so drains no LRU list. */
static int ask_nodes(struct pages_mover *m, unsigned first)
{
	int rc = process_memory_probe(m->p);

	if (rc == 0 && first < m->n)
		rc = (int)syscall(SYS_move_pages, m->p->pid, (unsigned long)(m->n - first),
				  m->address + first, NULL, m->where + first, 0);
	m->progress->beats++;
	return rc;
}

static bool is_elsewhere(const struct pages_mover *m, int node)
{
	const struct node_home *where = &m->plan->where;

	return node >= 0 && node < IDSET_MAX && !idset_has(&where->home, (unsigned)node) &&
	       idset_has(&where->container, (unsigned)node);
}

static void count_seen(struct pages_mover *m)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->where[i] >= 0)
			node_memory_add(m->seen, &m->plan->where, (unsigned)m->where[i],
					entry_bytes(m, i));
}

/* Keep the new pages that lie elsewhere. A pass that only counts counts all new pages instead. */
static void keep_elsewhere(struct pages_mover *m)
{
	unsigned first = m->known;
	int rc = ask_nodes(m, first);

	if (rc == 0 && m->seen)
		count_seen(m);
	if (rc < 0 || m->seen) {
		forget_pages(m);
		return;
	}
	for (unsigned i = first; i < m->n; i++) {
		if (!is_elsewhere(m, m->where[i])) {
			m->bytes -= entry_bytes(m, i);
			continue;
		}
		m->address[m->known] = m->address[i];
		m->huge[m->known++] = m->huge[i];
	}
	m->n = m->known;
}

/* Wait until the mean rate allows another call, or the time is over. */
static void wait_for_rate(struct pages_mover *m)
{
	double ms = m->plan->rate ? 1000.0 * (double)m->progress->moved / (double)m->plan->rate : 0;
	long now;

	while ((now = monotonic_ms()) < m->end && (double)(now - m->started) < ms) {
		double left = ms - (double)(now - m->started);
		long nap = left < NAP_MS ? (long)left + 1 : NAP_MS;

		nanosleep(&(struct timespec){ nap / 1000, nap % 1000 * 1000000 }, NULL);
		m->progress->beats++;
	}
}

/* Count the results of a call for its pages. */
static void count_pages(struct pages_mover *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t bytes = entry_bytes(m, i);

		if (m->where[i] == (int)m->to) {
			m->out->moved += bytes;
			m->progress->moved += bytes;
		} else if (m->status[i] == -EACCES) {
			m->out->shared += bytes;
		} else {
			m->out->busy += bytes;
		}
	}
}

/* The target has no memory left: go on with another node of the home. */
static void leave_full_node(struct pages_mover *m)
{
	struct idset left = m->plan->where.home;

	idset_add(&m->filled, m->to);
	idset_andnot(&left, &m->filled);
	m->full = idset_empty(&left);
	if (!m->full)
		set_target(m, (unsigned)idset_next(&left, -1));
}

static void call_move(struct pages_mover *m)
{
	bool full;
	long rc;

	wait_for_rate(m);
	m->late = m->late || monotonic_ms() >= m->end;
	if (m->n == 0 || m->late || process_memory_probe(m->p) < 0) {
		forget_pages(m);
		return;
	}
	for (unsigned i = 0; i < m->n; i++)
		m->status[i] = UNTOUCHED;
	m->out->calls++;
	m->progress->calls++;
	m->progress->beats++;
	rc = syscall(SYS_move_pages, m->p->pid, (unsigned long)m->n, m->address, m->nodes,
		     m->status, MOVE_OWN);
	full = rc < 0 && errno == ENOMEM;
	m->progress->beats++;
	/* the call does not report pages whose migration failed */
	if (ask_nodes(m, 0) == 0)
		count_pages(m);
	if (full)
		leave_full_node(m);
	forget_pages(m);
}

/* ------------------------------------------------------------------ pages of a process */

/*
 * Make room for an entry of BYTES. As long as there are pages, a call has at least three quarters
 * of its maximum.
 */
static void make_room(struct pages_mover *m, uint64_t bytes)
{
	if (m->n == 0 || (m->n < m->max && m->bytes + bytes <= m->call))
		return;
	keep_elsewhere(m);
	if (m->bytes + bytes > m->call - m->call / 4 || m->n >= m->max - m->max / 4)
		call_move(m);
}

static void add_pages(struct pages_mover *m, const struct present_pages *range)
{
	uint64_t at = range->start, bytes = range->huge ? m->huge_page : m->page;

	while (at < range->end && goes_on(m)) {
		make_room(m, bytes);
		m->address[m->n] = (void *)(uintptr_t)at;
		m->huge[m->n++] = range->huge;
		m->bytes += bytes;
		at = (at & ~(bytes - 1)) + bytes;
	}
}

static bool has_elsewhere(const struct pages_mover *m, const struct numa_mapping *map)
{
	for (unsigned i = 0; i < map->n; i++)
		if (map->on[i].bytes && is_elsewhere(m, (int)map->on[i].node))
			return true;
	return false;
}

/* Add the present pages from AT to END of a mapping. */
static void scan_pages(struct pages_mover *m, uint64_t at, uint64_t end)
{
	struct present_pages found[RANGES];

	while (at < end && goes_on(m)) {
		int n = process_memory_scan(found, RANGES, m->pages_fd, &at, end);

		if (n < 0) {
			m->unsupported = errno == ENOTTY || errno == EINVAL;
			return;
		}
		for (int i = 0; i < n; i++)
			add_pages(m, &found[i]);
		m->progress->beats++;
	}
}

static void move_mapping(const struct numa_mapping *map, const struct maps_extent *extent,
			 void *arg)
{
	struct pages_mover *m = arg;
	uint64_t at = extent->start, to;

	m->progress->beats++;
	if (!extent->plain || map->file || map->huge || !numa_mapping_allows(map, m->to) ||
	    (!m->seen && !has_elsewhere(m, map)))
		return;
	if (!m->plan->only) {
		scan_pages(m, at, extent->end);
		return;
	}
	for (; around_next(m->plan->only, m->p->pid, &at, &to, extent->end); at = to)
		scan_pages(m, at, to);
}

/* Add the pages of P's mappings. Returns 0, or -1: P cannot be read. */
static int walk_process(struct pages_mover *m, const struct process_memory *p)
{
	m->p = p;
	m->pages_fd = process_memory_open_pages(p);
	if (m->pages_fd < 0)
		return -1;
	forget_pages(m);
	process_memory_each(p, move_mapping, m);
	keep_elsewhere(m);
	return 0;
}

void pages_mover_move(struct pages_mover *m, const struct process_memory *p)
{
	if (walk_process(m, p) < 0)
		return;
	call_move(m);
	close(m->pages_fd);
}

void pages_mover_count(struct pages_mover *m, const struct process_memory *p,
		       struct node_memory *sum)
{
	m->seen = sum;
	if (walk_process(m, p) == 0)
		close(m->pages_fd);
	m->seen = NULL;
}
