/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the memory nodes of one container, from the ordinary nodes or from the kinds that it
 * names. Free local nodes come first, then free nodes by distance, then used nodes.
 */
#include <stdlib.h>

#include "topology/plan_impl.h"

/* A node that may be chosen. Candidates are sorted by these members, in this order. */
struct candidate {
	bool used; /* another container or job uses the node */
	bool remote;
	uint64_t distance; /* local: 0 */
	unsigned tie; /* logical index of a local node, os index of a remote one */
	unsigned node;
};

static int plan_mems_compare(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	if (a->used != b->used)
		return a->used ? 1 : -1;
	if (a->remote != b->remote)
		return a->remote ? 1 : -1;
	if (a->distance != b->distance)
		return a->distance > b->distance ? 1 : -1;
	return a->tie > b->tie ? 1 : -(a->tie < b->tie);
}

static void plan_mems_packages_of(const struct machine *m, const bool *core, struct idset *packages)
{
	idset_zero(packages);
	for (unsigned c = 0; c < m->n_cores; c++)
		if (core[c] && m->core[c].of[LEVEL_PACKAGE] != NONE)
			idset_add(packages,
				  m->domain[m->core[c].of[LEVEL_PACKAGE]].number[LEVEL_PACKAGE]);
}

/*
 * Return the distance of node TO from the nearest of the nodes that are local to the cores in CORE,
 * by the machine's latencies. If there are no latencies, or no local nodes: 1 if TO is in one of
 * PACKAGES, else 2.
 */
static uint64_t plan_mems_distance(const struct machine *m, const bool *core,
				   const struct idset *packages, unsigned to)
{
	uint64_t least = UINT64_MAX;
	bool known = false;

	for (unsigned from = 0; m->latency && from < m->n_nodes; from++) {
		uint64_t d = m->latency[(size_t)from * m->n_nodes + to];

		if (!plan_node_is_local(&m->node[from], core))
			continue;
		known = true;
		least = d < least ? d : least;
	}
	if (known)
		return least;
	return idset_intersects(&m->node[to].packages, packages) ? 1 : 2;
}

/* List NODES as candidates of D, the best first: *OUT is a malloc'ed array of *N. */
static int candidates(const struct planner *p, const struct draft *d, const struct idset *nodes,
		      struct candidate **out, unsigned *n)
{
	const struct machine *m = p->m;
	struct idset packages;

	*n = 0;
	*out = calloc(m->n_nodes, sizeof(**out));
	if (!*out)
		return -1;
	plan_mems_packages_of(m, d->core, &packages);
	for (unsigned i = 0; i < m->n_nodes; i++) {
		const struct memnode *node = &m->node[i];
		struct candidate *c = &(*out)[*n];

		if (!idset_has(nodes, node->os))
			continue;
		c->node = i;
		c->used = idset_has(&p->mems_used, node->os);
		c->remote = !plan_node_is_local(node, d->core);
		c->distance = c->remote ? plan_mems_distance(m, d->core, &packages, i) : 0;
		c->tie = c->remote ? node->os : i;
		(*n)++;
	}
	qsort(*out, *n, sizeof(**out), plan_mems_compare);
	return 0;
}

/* Append the largest request that fits: BYTES of KIND ("": ordinary), rounded down to a unit. */
static void offer_size(const char *kind, uint64_t bytes, struct errbuf *err)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB" };
	unsigned i = 0;

	for (bytes >>= 10; i < 2 && bytes >> 10 >= 64; i++)
		bytes >>= 10;
	if (bytes)
		errappend(err, "the largest request that fits now is mems=%s%s%llu%s", kind,
			  *kind ? ":" : "", (unsigned long long)bytes, unit[i]);
	else
		errappend(err, "no size fits now");
}

/* Append which memory the machine has that WANT does not name. Returns -1. */
static int append_other_memory(const struct planner *p, const struct plan_want *want,
			       struct errbuf *err)
{
	char special[PLAN_SPECIAL_MAX], list[128], kinds[MEMORY_KINDS_TEXT_MAX];

	plan_format_special(p, special);
	if (want->kind == PLAN_ORDINARY) {
		if (*special)
			errappend(err,
				  " (special memory is given to containers that name its kind: %s)",
				  special);
		return -1;
	}
	if (idset_empty(&p->ordinary))
		return *special ? errappend(err, " (there is: %s)", special) : -1;
	memory_kinds_format(kinds, machine_kinds(p->m, &p->ordinary));
	return errappend(err, " (there is: %s %s%s%s)", kinds, idset_brief(list, &p->ordinary),
			 *special ? ", " : "", special);
}

/* Refuse WANT, which needs more than the N nodes that it may get. These have SUM bytes. */
static int plan_mems_too_few(const struct planner *p, const struct plan_want *want, uint64_t sum,
			     unsigned n, struct errbuf *err)
{
	const double gib = 1024.0 * 1024 * 1024;
	const struct plan_ask *ask = &want->ask;
	const char *kind = want->kind < 0 ? "" : memory_kind_name((enum memory_kind)want->kind);
	const char *blank = *kind ? " " : "";

	if (n == 0)
		errcode(err, PLAN_NO_MEMS,
			"container %.64s: this machine has no %s memory node to give", ask->name,
			*kind ? kind : "ordinary");
	else if (ask->mems_kind == MEMS_COUNT)
		errcode(err, PLAN_NO_MEMS,
			"container %.64s: needs %llu %s%smemory nodes, %u may be given on this "
			"machine; the largest request that fits now is mems=%s%s%u",
			ask->name, (unsigned long long)ask->mems, kind, blank, n, kind,
			*kind ? ":" : "", n);
	else
		errcode(err, PLAN_NO_MEMS,
			"container %.64s: needs %.1f GiB of %s%smemory (%llu bytes), the %u memory "
			"node%s that may be given %s %.1f GiB (%llu bytes)%s; ",
			ask->name, (double)ask->mems / gib, kind, blank,
			(unsigned long long)ask->mems, n, n == 1 ? "" : "s",
			n == 1 ? "holds" : "hold", (double)sum / gib, (unsigned long long)sum,
			n == 1 ? "" : " together");
	if (n && ask->mems_kind == MEMS_SIZE)
		offer_size(kind, sum, err);
	append_other_memory(p, want, err);
	return -1;
}

/*
 * Return how many candidates, from the first on, are needed for the memory of ASK, or 0 if all
 * candidates are not enough. *SUM gets the sum of the counted candidates.
 */
static unsigned count_enough(const struct planner *p, const struct plan_ask *ask,
			     const struct candidate *c, unsigned n, uint64_t *sum)
{
	*sum = 0;
	for (unsigned i = 0; i < n; i++) {
		*sum += (uint64_t)plan_node_amount(&p->m->node[c[i].node], ask);
		if (*sum >= ask->mems)
			return i + 1;
	}
	return 0;
}

/* Return how many candidates are local and free. They are the first ones of the list. */
static unsigned local_ones(const struct candidate *c, unsigned n)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++)
		count += !c[i].used && !c[i].remote;
	return count;
}

static void plan_mems_give(struct planner *p, struct draft *d, const struct candidate *c)
{
	idset_add(&d->c.mems, p->m->node[c->node].os);
}

/*
 * Set the memory nodes of a container that is not confined. Memory of GPUs and expanders is left
 * out if the caller binds the container to the ordinary nodes.
 */
static int plan_unconfined(struct planner *p, unsigned i, struct errbuf *err)
{
	const struct plan_want want = { PLAN_ORDINARY, p->ask[i] };
	bool bound = p->opts->default_mems == MEMS_ORDINARY;

	if (bound && idset_empty(&p->ordinary))
		return plan_mems_too_few(p, &want, 0, 0, err);
	p->draft[i].c.mems = bound ? p->ordinary : p->mems;
	plan_explain_mems(p, i, 0, 0);
	return 0;
}

/* Of the N candidates C in D, add the local ones to *LOCAL and the used ones to *REUSED. */
static void count_given(const struct planner *p, const struct draft *d, const struct candidate *c,
			unsigned n, unsigned *local, unsigned *reused)
{
	for (unsigned k = 0; k < n; k++) {
		if (!idset_has(&d->c.mems, p->m->node[c[k].node].os))
			continue;
		*local += !c[k].remote;
		*reused += c[k].used;
	}
}

/* Give request I the memory of WANT. Adds to *LOCAL and *REUSED as count_given() does. */
static int give_want(struct planner *p, unsigned i, const struct plan_want *want, unsigned *local,
		     unsigned *reused, struct errbuf *err)
{
	struct draft *d = &p->draft[i];
	struct candidate *c = NULL;
	struct idset nodes;
	unsigned n, many;
	uint64_t sum;

	plan_nodes_of(p, want->kind, &nodes);
	if (candidates(p, d, &nodes, &c, &n) < 0)
		return errprintf(err, "out of memory");
	many = count_enough(p, &want->ask, c, n, &sum);
	for (unsigned k = 0; k < many; k++)
		if (plan_node_amount(&p->m->node[c[k].node], &want->ask))
			plan_mems_give(p, d, &c[k]);
	count_given(p, d, c, n, local, reused);
	free(c);
	return many ? 0 : plan_mems_too_few(p, want, sum, n, err);
}

/*
 * Give request I, which requests no memory, its free local nodes. If there are none, give it the
 * used local nodes; if it has no local node, give it the best candidate.
 */
static int give_local(struct planner *p, unsigned i, unsigned *local, unsigned *reused,
		      struct errbuf *err)
{
	struct draft *d = &p->draft[i];
	struct plan_want want = { PLAN_ORDINARY, p->ask[i] };
	struct candidate *c = NULL;
	unsigned n, many;

	if (candidates(p, d, &p->ordinary, &c, &n) < 0)
		return errprintf(err, "out of memory");
	many = local_ones(c, n);
	for (unsigned k = 0; k < n; k++)
		if (many ? k < many : !c[k].remote)
			plan_mems_give(p, d, &c[k]);
	if (n && idset_empty(&d->c.mems))
		plan_mems_give(p, d, &c[0]);
	count_given(p, d, c, n, local, reused);
	free(c);
	return n ? 0 : plan_mems_too_few(p, &want, 0, 0, err);
}

int plan_mems(struct planner *p, unsigned i, struct errbuf *err)
{
	const struct plan_ask *ask = &p->ask[i];
	struct draft *d = &p->draft[i];
	unsigned local = 0, reused = 0;

	if (ask->mems_kind == MEMS_UNSET && p->opts->default_mems != MEMS_LOCAL)
		return plan_unconfined(p, i, err);
	d->c.mems_confined = true;
	if (ask->mems_kind == MEMS_UNSET && give_local(p, i, &local, &reused, err) < 0)
		return -1;
	for (unsigned w = 0; w < plan_ask_wants(ask); w++) {
		struct plan_want want;

		plan_ask_want(ask, w, &want);
		if (give_want(p, i, &want, &local, &reused, err) < 0)
			return -1;
	}
	idset_or(&p->mems_used, &d->c.mems);
	plan_explain_mems(p, i, local, reused);
	return 0;
}
