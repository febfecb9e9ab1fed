/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choose one container's memory among ordinary nodes: local untaken ones first, then by distance,
 * taken ones last.
 */
#include <stdlib.h>

#include "topology/plan_impl.h"

/* A node that may be chosen; the fields are compared in this order, smaller first. */
struct candidate {
	bool used; /* by another container */
	bool remote;
	uint64_t distance; /* local: 0 */
	unsigned tie; /* of a local node: its logical index; of a remote node: its os index */
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
 * Return the node's distance from the nearest of the cores' own nodes, by the machine's latencies.
 * Without latencies, or for cores without memory: 1 if the node is in a package of the cores, else
 * 2.
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

/* List the nodes that the container can get, best first; *OUT is malloc'ed. */
static int candidates(const struct planner *p, const struct draft *d, struct candidate **out,
		      unsigned *n)
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

		if (!idset_has(&p->ordinary, node->os))
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

/* Append BYTES, rounded down, in a unit of the request's syntax. */
static void offer_size(uint64_t bytes, struct errbuf *err)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB" };
	unsigned i = 0;

	for (bytes >>= 10; i < 2 && bytes >> 10 >= 64; i++)
		bytes >>= 10;
	if (bytes)
		errappend(err, "the largest request that fits now is mems=%llu%s",
			  (unsigned long long)bytes, unit[i]);
	else
		errappend(err, "no size fits now");
}

static int plan_mems_too_few(const struct planner *p, const struct plan_ask *ask, uint64_t sum,
			     unsigned n, struct errbuf *err)
{
	const double gib = 1024.0 * 1024 * 1024;
	char special[PLAN_SPECIAL_MAX];

	if (n == 0)
		errcode(err, PLAN_NO_MEMS,
			"container %.64s: no ordinary memory node may be given on this machine",
			ask->name);
	else if (ask->mems_kind == MEMS_COUNT)
		errcode(err, PLAN_NO_MEMS,
			"container %.64s: needs %llu memory nodes, %u may be given on this "
			"machine; "
			"the largest request that fits now is mems=%u",
			ask->name, (unsigned long long)ask->mems, n, n);
	else
		errcode(err, PLAN_NO_MEMS,
			"container %.64s: needs %.1f GiB of memory (%llu bytes), the %u memory "
			"node%s that may be given %s %.1f GiB (%llu bytes)%s; ",
			ask->name, (double)ask->mems / gib, (unsigned long long)ask->mems, n,
			n == 1 ? "" : "s", n == 1 ? "holds" : "hold", (double)sum / gib,
			(unsigned long long)sum, n == 1 ? "" : " together");
	if (n && ask->mems_kind == MEMS_SIZE)
		offer_size(sum, err);
	plan_format_special(p, special);
	if (*special)
		errappend(err, " (special memory is not given to containers: %s)", special);
	return -1;
}

/* Return how many candidates, counted from the first one, hold the requested memory together; 0:
 * all of them hold less. */
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

/* Return how many nodes are local and untaken: these are at the head of the list. */
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
 * Choose no memory nodes. If the caller nevertheless binds the container, the memory of GPUs and
 * expanders must be left out.
 */
static int plan_unconfined(struct planner *p, unsigned i, struct errbuf *err)
{
	bool bound = p->opts->default_mems == MEMS_ORDINARY;

	if (bound && idset_empty(&p->ordinary))
		return plan_mems_too_few(p, &p->ask[i], 0, 0, err);
	p->draft[i].c.mems = bound ? p->ordinary : p->mems;
	plan_explain_mems(p, i, 0, 0);
	return 0;
}

int plan_mems(struct planner *p, unsigned i, struct errbuf *err)
{
	const struct plan_ask *ask = &p->ask[i];
	struct draft *d = &p->draft[i];
	struct candidate *c = NULL;
	unsigned n, many, local = 0, reused = 0;
	uint64_t sum = 0;

	if (ask->mems_kind == MEMS_UNSET && p->opts->default_mems != MEMS_LOCAL)
		return plan_unconfined(p, i, err);
	if (candidates(p, d, &c, &n) < 0)
		return errprintf(err, "out of memory");
	many = ask->mems_kind == MEMS_UNSET ? local_ones(c, n) : count_enough(p, ask, c, n, &sum);
	if (n == 0 || (!many && ask->mems_kind != MEMS_UNSET)) {
		free(c);
		return plan_mems_too_few(p, ask, sum, n, err);
	}
	d->c.mems_confined = true;
	for (unsigned k = 0; k < many; k++)
		if (plan_node_amount(&p->m->node[c[k].node], ask))
			plan_mems_give(p, d, &c[k]);
	/*
	 * no memory is requested and all local nodes are taken: share the local nodes, or the
	 * nearest ones if there are no local nodes
	 */
	for (unsigned k = 0; k < n && !many; k++)
		if (!c[k].remote)
			plan_mems_give(p, d, &c[k]);
	if (idset_empty(&d->c.mems))
		plan_mems_give(p, d, &c[0]);
	for (unsigned k = 0; k < n; k++) {
		if (!idset_has(&d->c.mems, p->m->node[c[k].node].os))
			continue;
		local += !c[k].remote;
		reused += c[k].used;
	}
	idset_or(&p->mems_used, &d->c.mems);
	plan_explain_mems(p, i, local, reused);
	free(c);
	return 0;
}
