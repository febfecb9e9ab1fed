// SPDX-License-Identifier: GPL-2.0-or-later
#include "placement/place_ranks.h"

#include <stdlib.h>

#define NO_UNIT UINT32_MAX

/* The cores and ranks of a container, and the units of place.h that are made of them. */
struct cores_work {
	const struct place_ask *ask;
	unsigned *core_domain; /* domain of each core in HOST; PLACE_DOMAINS_MAX: in none */
	unsigned *core_leader; /* leader of the unit that has each core; NO_UNIT: it is free */
	unsigned *leader; /* for each rank, the first rank of its unit (find_leader()) */
	/* for each leader, the index of its unit; NO_UNIT: the unit cannot be placed */
	unsigned *unit_of;
	unsigned *to; /* the new domain of each unit */
	struct place_unit *unit;
	struct place_host host;
};

const char *place_reason_text(enum place_reason reason)
{
	static const char *const text[] = {
		[PLACE_MOVES] = "ranks move",
		[PLACE_RIGHT] = "nothing to do: each rank is in a domain that suits it",
		[PLACE_ONE_DOMAIN] = "nothing to do: one domain",
		[PLACE_NONE_APART] = "nothing to do: no rank can move to another domain",
		[PLACE_NO_FIT] = "nothing to do: no other placement was found that fits",
		[PLACE_NO_MEMORY] = "out of memory",
	};

	return text[reason];
}

static void free_work(struct cores_work *w)
{
	free(w->core_domain);
	free(w->core_leader);
	free(w->leader);
	free(w->unit_of);
	free(w->to);
	free(w->unit);
}

static int begin_work(struct cores_work *w, const struct place_ask *a)
{
	*w = (struct cores_work){ .ask = a };
	w->core_domain = calloc(a->n_cores + 1, sizeof(*w->core_domain));
	w->core_leader = calloc(a->n_cores + 1, sizeof(*w->core_leader));
	w->leader = calloc(a->n + 1, sizeof(*w->leader));
	w->unit_of = calloc(a->n + 1, sizeof(*w->unit_of));
	w->to = calloc(a->n + 1, sizeof(*w->to));
	w->unit = calloc(a->n + 1, sizeof(*w->unit));
	if (w->core_domain && w->core_leader && w->leader && w->unit_of && w->to && w->unit)
		return 0;
	free_work(w);
	return -1;
}

/* Number the domains of which the container has cores, and count the cores of each. */
static void number_domains(struct cores_work *w)
{
	const struct place_ask *a = w->ask;

	for (unsigned c = 0; c < a->n_cores; c++)
		w->core_domain[c] = PLACE_DOMAINS_MAX;
	for (unsigned d = 0; d < a->n_domains; d++) {
		unsigned found = 0, number = w->host.n_domains;

		if (number == PLACE_DOMAINS_MAX)
			return;
		for (unsigned c = 0; c < a->n_cores; c++)
			if (idset_subset(&a->core[c], &a->domain[d])) {
				w->core_domain[c] = number;
				found++;
			}
		if (found)
			w->host.cores[w->host.n_domains++] = found;
	}
}

/* Return the leader of RANK's unit, and shorten the path from RANK to it in LEADER. */
static unsigned find_leader(unsigned *leader, unsigned rank)
{
	while (leader[rank] != rank)
		rank = leader[rank] = leader[leader[rank]];
	return rank;
}

/* Join ranks that share a core into one unit, whose leader is its first rank. */
static void join_ranks(struct cores_work *w)
{
	const struct place_ask *a = w->ask;

	for (unsigned i = 0; i < a->n; i++)
		w->leader[i] = i;
	for (unsigned c = 0; c < a->n_cores; c++) {
		w->core_leader[c] = NO_UNIT;
		for (unsigned i = 0; i < a->n; i++) {
			unsigned mine, other = w->core_leader[c];

			if (!idset_intersects(&a->rank[i].cpus, &a->core[c]))
				continue;
			mine = find_leader(w->leader, i);
			if (other != NO_UNIT) {
				other = find_leader(w->leader, other);
				if (other < mine)
					w->leader[mine] = other;
				else
					w->leader[other] = mine;
			}
			w->core_leader[c] = find_leader(w->leader, i);
		}
	}
	for (unsigned c = 0; c < a->n_cores; c++)
		if (w->core_leader[c] != NO_UNIT)
			w->core_leader[c] = find_leader(w->leader, w->core_leader[c]);
}

/* Fill *U with the unit of LEADER. Returns whether all its cores are of one domain, and all its
 * CPUs in the container. */
static bool gather_unit(struct cores_work *w, unsigned leader, struct place_unit *u)
{
	const struct place_ask *a = w->ask;
	struct idset own;
	bool apart = true;

	*u = (struct place_unit){ .class = RANK_UNKNOWN, .domain = PLACE_DOMAINS_MAX };
	idset_zero(&own);
	for (unsigned c = 0; c < a->n_cores; c++) {
		if (w->core_leader[c] != leader)
			continue;
		idset_or(&own, &a->core[c]);
		if (u->cores++ == 0)
			u->domain = w->core_domain[c];
		apart = apart && u->domain == w->core_domain[c];
	}
	for (unsigned i = 0; i < a->n; i++) {
		const struct place_rank *r = &a->rank[i];

		if (find_leader(w->leader, i) != leader)
			continue;
		u->fixed = u->fixed || r->fixed;
		u->class = r->class > u->class ? r->class : u->class;
		u->rate = r->rate > u->rate ? r->rate : u->rate;
		apart = apart && idset_subset(&r->cpus, &own);
	}
	return apart && u->domain < PLACE_DOMAINS_MAX;
}

/* Make the units, and return how many of them can move. */
static unsigned make_units(struct cores_work *w)
{
	const struct place_ask *a = w->ask;
	unsigned movable = 0;

	for (unsigned i = 0; i < a->n; i++) {
		struct place_unit u;

		w->unit_of[i] = NO_UNIT;
		if (find_leader(w->leader, i) != i)
			continue;
		if (gather_unit(w, i, &u)) {
			w->unit_of[i] = w->host.n;
			w->unit[w->host.n++] = u;
			movable += !u.fixed;
			continue;
		}
		for (unsigned c = 0; c < a->n_cores; c++)
			if (w->core_leader[c] == i && w->core_domain[c] < PLACE_DOMAINS_MAX)
				w->host.cores[w->core_domain[c]]--;
	}
	w->host.unit = w->unit;
	return movable;
}

static bool unit_moves(const struct cores_work *w, unsigned leader)
{
	unsigned unit = w->unit_of[leader];

	return unit != NO_UNIT && w->to[unit] != w->unit[unit].domain;
}

/* Add to *OUT, for each CPU of HAD that is the k-th CPU of the core OLD, the k-th CPU of NEW. */
static void translate_core(struct idset *out, const struct idset *had, const struct idset *old,
			   const struct idset *new)
{
	int to = -1;

	for (int from = idset_next(old, -1); from >= 0; from = idset_next(old, from)) {
		to = idset_next(new, to);
		if (to < 0) /* NEW has fewer CPUs: begin with its first one again */
			to = idset_next(new, -1);
		if (idset_has(had, (unsigned)from))
			idset_add(out, (unsigned)to);
	}
}

/* Return the first core of DOMAIN, from core FROM on, that is free or that a moving unit leaves. */
static unsigned next_free_core(const struct cores_work *w, unsigned domain, unsigned from)
{
	for (unsigned c = from; c < w->ask->n_cores; c++)
		if (w->core_domain[c] == domain &&
		    (w->core_leader[c] == NO_UNIT || unit_moves(w, w->core_leader[c])))
			return c;
	return w->ask->n_cores;
}

static unsigned give_cores(const struct cores_work *w, struct idset *next)
{
	const struct place_ask *a = w->ask;
	unsigned at[PLACE_DOMAINS_MAX] = { 0 }, moved = 0;

	for (unsigned i = 0; i < a->n; i++) {
		next[i] = a->rank[i].cpus;
		if (unit_moves(w, find_leader(w->leader, i))) {
			idset_zero(&next[i]);
			moved++;
		}
	}
	for (unsigned c = 0; c < a->n_cores; c++) {
		unsigned leader = w->core_leader[c], to, domain;

		if (leader == NO_UNIT || !unit_moves(w, leader))
			continue;
		domain = w->to[w->unit_of[leader]];
		to = next_free_core(w, domain, at[domain]);
		at[domain] = to + 1;
		for (unsigned i = 0; to < a->n_cores && i < a->n; i++)
			if (find_leader(w->leader, i) == leader)
				translate_core(&next[i], &a->rank[i].cpus, &a->core[c],
					       &a->core[to]);
	}
	return moved;
}

enum place_reason place_ranks(const struct place_policy *p, const struct place_ask *a,
			      struct idset *next, unsigned *moved)
{
	enum place_reason reason = PLACE_RIGHT;
	struct cores_work w;
	struct errbuf err;
	int n = 0;

	*moved = 0;
	for (unsigned i = 0; i < a->n; i++)
		next[i] = a->rank[i].cpus;
	if (begin_work(&w, a) < 0)
		return PLACE_NO_MEMORY;
	number_domains(&w);
	join_ranks(&w);
	if (w.host.n_domains < 2)
		reason = PLACE_ONE_DOMAIN;
	else if (make_units(&w) == 0)
		reason = PLACE_NONE_APART;
	else if ((n = place_units(p, &w.host, w.to, &err)) < 0)
		reason = PLACE_NO_FIT;
	else if (n > 0)
		reason = PLACE_MOVES;
	if (reason == PLACE_MOVES)
		*moved = give_cores(&w, next);
	free_work(&w);
	return reason;
}
