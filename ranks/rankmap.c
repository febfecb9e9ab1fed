/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/rankmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/runs.h"

#define NOWHERE UINT16_MAX

/*
 * The place of a CPU: its core's index in a list of cores, and its number among the core's threads.
 */
struct seat {
	uint16_t core, thread;
};

struct map {
	const struct rankmap_in *in;
	struct seat step[IDSET_MAX]; /* the seat of each CPU of the step; core NOWHERE: none */
	uint16_t step_threads[IDSET_MAX]; /* threads of each core of the step */
	uint16_t core[IDSET_MAX]; /* the container's cores: indexes in in->core */
	/* usable threads of container core c: cpu[first_cpu[c]] .. cpu[first_cpu[c + 1] - 1] */
	uint16_t cpu[IDSET_MAX], first_cpu[IDSET_MAX + 1];
	unsigned n_cores; /* cores of the container */
	unsigned threads; /* usable threads of the container's widest core */
	unsigned n_step; /* cores of the step; 0: unknown */
	/*
	 * cores of the widest mask: the most that a rank gets if the container is divided although
	 * the masks differ; 0: the masks are ignored
	 */
	unsigned bound;
	/* each rank's position when the ranks are sorted by the first core that Slurm gave them */
	uint16_t order[IDSET_MAX];
};

/* Return the threads of the container's core C. */
static struct idset container_core(const struct map *m, unsigned c)
{
	struct idset s = { 0 };

	for (unsigned i = m->first_cpu[c]; i < m->first_cpu[c + 1]; i++)
		idset_add(&s, m->cpu[i]);
	return s;
}

/* List the cores that have threads of the container; list_step() does the same for the step. */
static void list_container(struct map *m)
{
	const struct rankmap_in *in = m->in;

	for (unsigned c = 0; c < in->n_cores; c++) {
		const struct idset *core = &in->core[c];
		const unsigned first = m->first_cpu[m->n_cores];
		unsigned n = 0;

		for (int id = idset_next(core, -1); id >= 0; id = idset_next(core, id))
			if (idset_has(in->container, (unsigned)id) &&
			    (!in->threads_per_core || n < in->threads_per_core))
				m->cpu[first + n++] = (uint16_t)id;
		if (!n)
			continue;
		m->core[m->n_cores++] = (uint16_t)c;
		m->first_cpu[m->n_cores] = (uint16_t)(first + n);
		m->threads = n > m->threads ? n : m->threads;
	}
}

static void list_step(struct map *m)
{
	const struct rankmap_in *in = m->in;
	struct idset step = { 0 };
	uint16_t n = 0;

	if (in->step_cpus)
		step = *in->step_cpus;
	for (unsigned r = 0; r < in->n_ranks; r++)
		idset_or(&step, &in->bound[r]);
	for (unsigned i = 0; i < IDSET_MAX; i++)
		m->step[i].core = NOWHERE;
	for (unsigned c = 0; c < in->n_cores; c++) {
		uint16_t thread = 0;

		for (int id = idset_next(&in->core[c], -1); id >= 0;
		     id = idset_next(&in->core[c], id)) {
			if (!idset_has(&step, (unsigned)id))
				continue;
			m->step[id].core = n;
			m->step[id].thread = thread++;
		}
		if (thread)
			m->step_threads[n++] = thread;
	}
}

static uint16_t first_core(const struct map *m, const struct idset *bound)
{
	uint16_t first = NOWHERE;

	for (int id = idset_next(bound, -1); id >= 0; id = idset_next(bound, id))
		if (m->step[id].core < first)
			first = m->step[id].core;
	return first;
}

/*
 * Order the ranks by their first core in Slurm's masks. Masks that cannot be followed still show
 * the order that -m cyclic and similar options ask for.
 */
static void order_by_core(struct map *m)
{
	uint16_t start[IDSET_MAX + 1] = { 0 };
	uint16_t key[IDSET_MAX];

	for (unsigned r = 0; r < m->in->n_ranks; r++) {
		uint16_t core = first_core(m, &m->in->bound[r]);

		key[r] = core == NOWHERE ? IDSET_MAX - 1 : core;
		start[key[r] + 1]++;
	}
	for (unsigned c = 0; c < IDSET_MAX; c++)
		start[c + 1] = (uint16_t)(start[c + 1] + start[c]);
	for (unsigned r = 0; r < m->in->n_ranks; r++)
		m->order[r] = start[key[r]]++;
}

static bool masks_say_nothing(const struct rankmap_in *in)
{
	if (!in->bound)
		return true;
	for (unsigned r = 1; r < in->n_ranks; r++)
		if (!idset_equal(&in->bound[0], &in->bound[r]))
			return false;
	return true;
}

/* Units to divide among ranks: the container's cores, or its threads. */
struct row {
	unsigned n;
	uint16_t of[IDSET_MAX]; /* the unit of each CPU, or NOWHERE */
	const uint16_t *cpu; /* the CPUs of unit u: cpu[first[u]] .. cpu[first[u + 1] - 1] */
	uint16_t first[IDSET_MAX + 1];
};

/*
 * Find the units of DOMAIN among those of CONTAINER. Returns false if DOMAIN has no units, or if
 * they are not neighbours.
 */
static bool find_row_run(const struct row *row, const struct idset *domain,
			 const struct idset *container, struct run *out)
{
	unsigned first = NOWHERE, last = 0, n = 0;
	struct idset cpus = *domain;
	bool seen[IDSET_MAX];

	idset_and(&cpus, container);
	memset(seen, 0, row->n * sizeof(*seen));
	for (int id = idset_next(&cpus, -1); id >= 0; id = idset_next(&cpus, id)) {
		unsigned u = row->of[id];

		if (u == NOWHERE || seen[u])
			continue;
		seen[u] = true;
		n++;
		first = u < first ? u : first;
		last = u > last ? u : last;
	}
	*out = (struct run){ (uint16_t)first, (uint16_t)(last + 1) };
	return n && n == last + 1 - first;
}

/*
 * Fill IN's domains from M's; in a row of THREADS, each core is a domain, too. The caller frees
 * in->domain. -1: out of memory.
 */
static int find_row_domains(struct runs_in *in, const struct map *m, const struct row *row,
			    bool threads)
{
	const unsigned cores = threads ? m->n_cores : 0;
	struct run *domain = calloc(m->in->n_domains + cores + 1u, sizeof(*domain));
	unsigned n = 0;

	if (!domain)
		return -1;
	for (unsigned i = 0; i < m->in->n_domains; i++)
		n += find_row_run(row, &m->in->domain[i], m->in->container, &domain[n]);
	for (unsigned c = 0; c < cores; c++)
		n += find_row_run(row, &m->in->core[m->core[c]], m->in->container, &domain[n]);
	in->n_domains = runs_sort(domain, n);
	in->domain = domain;
	return 0;
}

/* Fill ROW with the cores of the container, or with their threads. */
static void list_row(struct row *row, const struct map *m, bool threads)
{
	row->n = 0;
	row->cpu = m->cpu;
	for (unsigned i = 0; i < IDSET_MAX; i++)
		row->of[i] = NOWHERE;
	for (unsigned c = 0; c < m->n_cores; c++) {
		for (unsigned i = m->first_cpu[c]; i < m->first_cpu[c + 1]; i++) {
			if (threads || i == m->first_cpu[c])
				row->first[row->n++] = (uint16_t)i;
			row->of[m->cpu[i]] = (uint16_t)(row->n - 1);
		}
	}
	row->first[row->n] = m->first_cpu[m->n_cores];
}

static void add_unit(const struct row *row, unsigned u, struct idset *out)
{
	for (unsigned i = row->first[u]; i < row->first[u + 1]; i++)
		idset_add(out, row->cpu[i]);
}

/*
 * Give each rank EACH neighbouring units of a row, in the order of the ranks. If MAY_DIFFER, and
 * equal numbers would make ranks straddle domains, the numbers differ. Ranks without units of their
 * own share the units in turn.
 */
static int divide_row(const struct map *m, bool threads, unsigned each, bool may_differ,
		      struct idset *out)
{
	const unsigned n = m->in->n_ranks;
	struct runs_in in = { .n_ranks = n };
	struct run *run = calloc(n, sizeof(*run));
	struct row row;
	int straddling = -1;

	list_row(&row, m, threads);
	if (!run || find_row_domains(&in, m, &row, threads) < 0)
		goto out;
	in.n_units = row.n;
	if ((uint64_t)each * n <= row.n)
		straddling = runs_equal(run, &in, each);
	else
		straddling = 0;
	if (straddling > 0 && may_differ)
		straddling = runs_uneven(run, &in);
	for (unsigned r = 0; straddling >= 0 && r < n; r++) {
		const struct run *own = &run[m->order[r]];
		unsigned units = own->end ? (unsigned)(own->end - own->first) : each;

		idset_zero(&out[r]);
		for (unsigned k = 0; k < units; k++)
			add_unit(&row, own->end ? own->first + k : (m->order[r] * each + k) % row.n,
				 &out[r]);
	}
out:
	free((void *)in.domain);
	free(run);
	return straddling < 0 ? -1 : 0;
}

/*
 * Divide the cores in order: each rank gets neighbouring cores, or, if there are more ranks than
 * cores, one core in turn. Masks that cannot be followed still give the number of cores of a rank,
 * so that -m block and -m cyclic give a rank the same number of cores. A lone rank gets as many
 * cores as Slurm gave to its step: the whole job for a launcher daemon and a batch script, a part
 * for one of several steps of "srun --exact -n1 -c2".
 */
static int rankmap_divide(const struct map *m, struct idset *out)
{
	const unsigned n = m->in->n_ranks;
	const unsigned all = m->n_cores / n;
	const unsigned share = m->bound && m->bound < all ? m->bound : all;
	unsigned wish = (m->in->cpus_per_task + m->threads - 1) / m->threads;
	bool named = m->in->cpus_per_task > 1; /* -c has precedence */
	unsigned each = named ? wish : share;

	if (n == 1) {
		each = m->n_step && m->n_step < m->n_cores ? m->n_step : m->n_cores;
	} else if ((uint64_t)each * n > m->n_cores) {
		each = share;
		named = false;
	}
	named |= n == 1 || (m->bound && m->bound <= all);
	return divide_row(m, false, each ? each : 1, !named, out);
}

/*
 * --cpu-bind=threads: each rank gets one thread, on a core of its own as long as there are any;
 * with -c, neighbouring threads.
 */
static int divide_threads(const struct map *m, struct idset *out)
{
	uint16_t list[IDSET_MAX];
	unsigned n = 0;

	if (m->in->cpus_per_task > 1)
		return divide_row(m, true, m->in->cpus_per_task, false, out);
	for (unsigned i = 0; i < m->n_cores * m->threads; i++) {
		const unsigned core = i % m->n_cores, at = m->first_cpu[core] + i / m->n_cores;

		if (at < m->first_cpu[core + 1])
			list[n++] = m->cpu[at];
	}
	for (unsigned r = 0; r < m->in->n_ranks; r++) {
		idset_zero(&out[r]);
		idset_add(&out[r], list[m->order[r] % n]);
	}
	return 0;
}

/*
 * Add thread T of CORE, a core of the container, to OUT. T is the thread's number in the step's
 * core, and is taken modulo the number of CORE's threads.
 */
static void rankmap_add_thread(const struct idset *core, unsigned t, struct idset *out)
{
	int id = idset_next(core, -1);

	for (t %= idset_count(core); t > 0; t--)
		id = idset_next(core, id);
	idset_add(out, (unsigned)id);
}

/*
 * Set HELD to the number of threads of each step core that are in BOUND. The threads of a core need
 * not have neighbouring numbers.
 */
static void count_held(const struct map *m, const struct idset *bound, uint16_t held[IDSET_MAX])
{
	memset(held, 0, IDSET_MAX * sizeof(*held));
	for (int id = idset_next(bound, -1); id >= 0; id = idset_next(bound, id))
		if (m->step[id].core != NOWHERE)
			held[m->step[id].core]++;
}

static unsigned widest_mask(const struct map *m)
{
	unsigned most = 0;

	for (unsigned r = 0; r < m->in->n_ranks; r++) {
		uint16_t held[IDSET_MAX];
		unsigned cores = 0;

		count_held(m, &m->in->bound[r], held);
		for (unsigned c = 0; c < IDSET_MAX; c++)
			cores += held[c] > 0;
		most = cores > most ? cores : most;
	}
	return most;
}

/*
 * Map the k-th core of the step to the k-th core of the container. Returns false when no core of
 * the step is in the mask.
 */
static bool rankmap_follow(const struct map *m, const struct idset *bound, struct idset *out)
{
	uint16_t held[IDSET_MAX];

	idset_zero(out);
	count_held(m, bound, held);
	for (int id = idset_next(bound, -1); id >= 0; id = idset_next(bound, id)) {
		const struct seat *seat = &m->step[id];
		struct idset core;

		if (seat->core == NOWHERE)
			continue;
		core = container_core(m, seat->core % m->n_cores);
		if (held[seat->core] == m->step_threads[seat->core])
			idset_or(out, &core);
		else
			rankmap_add_thread(&core, seat->thread, out);
	}
	return !idset_empty(out);
}

/*
 * Return whether OUT, made by rankmap_follow() modulo the container's cores, needlessly puts ranks
 * that Slurm kept apart on the same CPU: there are cores for all ranks, or a CPU without a rank.
 */
static bool collides(const struct map *m, const struct idset *out)
{
	const struct rankmap_in *in = m->in;
	struct idset all = { 0 };
	unsigned sum = 0;

	for (unsigned r = 0; r < in->n_ranks; r++) {
		idset_or(&all, &out[r]);
		sum += idset_count(&out[r]);
	}
	if (sum == idset_count(&all))
		return false;
	if (in->n_ranks > m->n_cores && idset_equal(&all, in->container))
		return false;
	for (unsigned a = 0; a < in->n_ranks; a++)
		for (unsigned b = a + 1; b < in->n_ranks; b++)
			if (idset_intersects(&out[a], &out[b]) &&
			    !idset_intersects(&in->bound[a], &in->bound[b]))
				return true;
	return false;
}

static int too_many(const struct map *m, struct errbuf *err)
{
	const struct rankmap_in *in = m->in;
	const char *s = m->n_cores > 1 ? "s" : "";
	char hint[48] = "";

	if (in->sized) {
		if (m->threads > 1)
			snprintf(hint, sizeof(hint), " (cpus=%u are %u threads)",
				 idset_count(in->container), idset_count(in->container));
		return errcode(err, PLAN_NO_RANK_CPUS,
			       "%u ranks on %u core%s%s: start fewer on each node, ask for a "
			       "larger container (cpus), or use -O",
			       in->n_ranks, m->n_cores, s, hint);
	}
	if (!in->by_thread && m->threads > 1)
		snprintf(hint, sizeof(hint), " (srun -c %u gives every rank a core)", m->threads);
	return errcode(err, PLAN_NO_RANK_CPUS,
		       "%u ranks on %u core%s: ask for more cpus%s, or use -O", in->n_ranks,
		       m->n_cores, s, hint);
}

/* Copy Slurm's masks to OUT. Returns false if a mask is empty or not in the container. */
static bool rankmap_keep(const struct rankmap_in *in, struct idset *out)
{
	for (unsigned r = 0; r < in->n_ranks; r++) {
		struct idset outside = in->bound[r];

		idset_andnot(&outside, in->container);
		if (idset_empty(&in->bound[r]) || !idset_empty(&outside))
			return false;
		out[r] = in->bound[r];
	}
	return true;
}

/*
 * Count the ranks of OUT that straddle a domain: they have a part of the domain, and CPUs of the
 * container outside of it.
 */
static unsigned count_straddling(const struct rankmap_in *in, const struct idset *out)
{
	unsigned straddling = 0;

	for (unsigned r = 0; r < in->n_ranks; r++)
		for (unsigned d = 0; d < in->n_domains; d++) {
			struct idset domain;

			if (!idset_intersects(&in->domain[d], &out[r]) ||
			    idset_subset(&out[r], &in->domain[d]))
				continue;
			domain = in->domain[d];
			idset_and(&domain, in->container);
			if (idset_subset(&domain, &out[r]))
				continue;
			straddling++;
			break;
		}
	return straddling;
}

static int divide_ranks(const struct map *m, struct idset *out, struct errbuf *err)
{
	int rc = (m->in->by_thread ? divide_threads : rankmap_divide)(m, out);

	return rc < 0 ? errprintf(err, "out of memory") : 0;
}

/*
 * Replace OUT, which follows the masks, by a division of the cores if fewer ranks straddle domains
 * in the division.
 */
static int divide_if_better(struct map *m, struct idset *out, struct errbuf *err)
{
	const size_t size = m->in->n_ranks * sizeof(*out);
	unsigned straddling = count_straddling(m->in, out);
	struct idset *other;
	int rc;

	if (!straddling)
		return 0;
	other = malloc(size);
	if (!other)
		return errprintf(err, "out of memory");
	rc = divide_ranks(m, other, err);
	if (rc == 0 && count_straddling(m->in, other) < straddling)
		memcpy(out, other, size);
	free(other);
	return rc;
}

/* Map the ranks by Slurm's masks, which differ between ranks. */
static int map_by_masks(struct map *m, struct idset *out, struct errbuf *err)
{
	bool ok = true;

	if (!m->in->threads_per_core && rankmap_keep(m->in, out))
		return 0;
	list_step(m);
	for (unsigned r = 0; ok && r < m->in->n_ranks; r++)
		ok = rankmap_follow(m, &m->in->bound[r], &out[r]);
	order_by_core(m);
	m->bound = ok ? widest_mask(m) : 0;
	if (!ok || collides(m, out))
		return divide_ranks(m, out, err);
	return divide_if_better(m, out, err);
}

static void give_all(const struct map *m, struct idset *out)
{
	for (unsigned r = 0; r < m->in->n_ranks; r++) {
		idset_zero(&out[r]);
		for (unsigned i = 0; i < m->first_cpu[m->n_cores]; i++)
			idset_add(&out[r], m->cpu[i]);
	}
}

int rankmap_make(const struct rankmap_in *in, struct idset *out, struct errbuf *err)
{
	struct map m;

	if (in->n_ranks == 0)
		return 0;
	if (in->n_cores > IDSET_MAX || in->n_ranks > IDSET_MAX)
		return errprintf(err, "%u cores and %u ranks: NodeOS handles at most %d of each",
				 in->n_cores, in->n_ranks, IDSET_MAX);
	memset(&m, 0, sizeof(m));
	m.in = in;
	list_container(&m);
	if (!m.n_cores)
		return errprintf(err, "the container has no CPU on this machine's cores");
	if (in->unbound) {
		give_all(&m, out);
		return 0;
	}
	if (in->n_ranks > (in->by_thread ? m.first_cpu[m.n_cores] : m.n_cores) && !in->overcommit)
		return too_many(&m, err);
	for (unsigned c = 0; in->step_cpus && c < in->n_cores; c++)
		m.n_step += idset_intersects(&in->core[c], in->step_cpus);
	for (unsigned r = 0; r < in->n_ranks; r++)
		m.order[r] = (uint16_t)r;
	if (in->n_ranks == 1 && in->bound && m.n_step && m.n_step < m.n_cores &&
	    !in->threads_per_core && rankmap_keep(in, out))
		return 0; /* one of several small steps, such as those of "--exact -n1 -c2" */
	return masks_say_nothing(in) ? divide_ranks(&m, out, err) : map_by_masks(&m, out, err);
}
