/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choosing cores is a knapsack problem over the tree of domains. For each part of the tree a table
 * holds the best set of its cores for each sum of widths. Two parts merge by trying every split of
 * the sum; a domain then adds the price of using at least one of its cores. Prices are vectors that
 * add up and are compared lexicographically. Addition keeps that order, so the best sets of the
 * parts make the best set of the whole: the result is exact, at about (free cores)^2 / 2 steps.
 */
#include "topology/fit.h"

#include <stdlib.h>
#include <string.h>

enum { PRICES = 4 }; /* place, memory, waste, fit; most important first */

struct state {
	int64_t price[PRICES];
	bool possible;
	/* rank of this state's set among all sets of the table; rank 0 has the lowest cores */
	unsigned rank;
};

/* State s: the best set whose widths sum up to s units, as bits word0 .. word0 + words - 1. */
struct table {
	unsigned n; /* states */
	unsigned word0, words;
	struct state *state;
	uint64_t *set;
};

struct chooser {
	const struct fit_in *in;
	const unsigned *index; /* the candidates: positions in in->core */
	unsigned n;
	unsigned *free_before; /* per machine core: all free cores with a lower index */
	unsigned unit, states; /* common divisor of the widths; number of states worth keeping */
	unsigned slot_place, slot_memory, slot_waste, slot_fit;
	struct fit_key *best;
};

static void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->state);
	free(t->set);
	free(t);
}

static struct table *table_new(unsigned n, unsigned first, unsigned last)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->n = n;
	t->word0 = first / 64;
	t->words = last / 64 - t->word0 + 1;
	t->state = calloc(n, sizeof(*t->state));
	t->set = calloc((size_t)n * t->words, sizeof(*t->set));
	if (!t->state || !t->set) {
		table_free(t);
		return NULL;
	}
	return t;
}

static int64_t fit_pack(const unsigned *v, unsigned n, unsigned bits)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum << bits | (int64_t)v[i];
	return sum;
}

/* Compare sets of cores: returns < 0 if A has the lowest core that only one of the sets has. */
static int compare_sets(const uint64_t *a, const uint64_t *b, unsigned words)
{
	for (unsigned i = 0; i < words; i++) {
		uint64_t differ = a[i] ^ b[i];

		if (differ)
			return a[i] & differ & (~differ + 1) ? -1 : 1;
	}
	return 0;
}

/* Sort the sets by a merge sort; their ranks let the merge of tables compare only numbers. */
static void sort_ids(const struct table *t, unsigned *id, unsigned *scratch, unsigned n)
{
	unsigned half = n / 2;

	if (n < 2)
		return;
	sort_ids(t, id, scratch, half);
	sort_ids(t, id + half, scratch, n - half);
	memcpy(scratch, id, half * sizeof(*id));
	for (unsigned a = 0, b = half, to = 0; a < half; to++) {
		if (b < n && compare_sets(&t->set[(size_t)id[b] * t->words],
					  &t->set[(size_t)scratch[a] * t->words], t->words) < 0)
			id[to] = id[b++];
		else
			id[to] = scratch[a++];
	}
}

static int rank_sets(struct table *t)
{
	unsigned *id = malloc(2 * (size_t)t->n * sizeof(*id));

	if (!id)
		return -1;
	for (unsigned i = 0; i < t->n; i++)
		id[i] = i;
	sort_ids(t, id, id + t->n, t->n);
	for (unsigned i = 0; i < t->n; i++)
		t->state[id[i]].rank = i;
	free(id);
	return 0;
}

/* Return the number of free cores with indexes FIRST .. END - 1. */
static unsigned free_cores(const struct chooser *ch, unsigned first, unsigned end)
{
	return ch->free_before[end] - ch->free_before[first];
}

/* Add the price of using domains of LEVELS that have FREE free cores and MEMORY. */
static void charge_domains(const struct chooser *ch, struct state *s, unsigned levels,
			   unsigned free, int64_t memory)
{
	unsigned count[LEVELS + 1] = { 0 }, fit[LEVELS] = { 0 };

	for (unsigned l = 0; l < LEVELS; l++) {
		if (levels & 1u << l) {
			count[l + 1] = 1;
			fit[l] = free;
		}
	}
	s->price[ch->slot_place] += fit_pack(count, LEVELS + 1, 15);
	s->price[ch->slot_fit] += fit_pack(fit, LEVELS, 20);
	s->price[ch->slot_memory] -= memory;
}

/* Set PRICE to that of taking candidate I alone, without the domains around it. */
static void price_core(const struct chooser *ch, unsigned i, struct state *price)
{
	const struct machine *m = ch->in->m;
	const struct fit_core *fc = &ch->in->core[ch->index[i]];
	unsigned own = 0;

	memset(price, 0, sizeof(*price));
	/* A core outside every domain of a level counts as a domain of its own. */
	for (unsigned l = 0; l < LEVELS; l++)
		if (m->n_domains_of[l] && m->core[fc->core].of[l] == NONE)
			own |= 1u << l;
	charge_domains(ch, price, own, 1, ch->in->core_memory ? ch->in->core_memory[fc->core] : 0);
	price->price[ch->slot_waste] += fit_pack((unsigned[]){ fc->threads, 1 }, 2, 20);
	price->price[ch->slot_place] += (int64_t)fc->half << 15 * LEVELS;
}

/* Are the candidates I and K, neighbours in one domain and in no inner one, alike? */
static bool alike(const struct chooser *ch, unsigned i, unsigned k)
{
	const struct machine *m = ch->in->m;
	const struct fit_core *a = &ch->in->core[ch->index[i]], *b = &ch->in->core[ch->index[k]];

	for (unsigned l = 0; l < LEVELS; l++)
		if (m->core[a->core].of[l] != m->core[b->core].of[l])
			return false;
	return a->threads == b->threads && a->width == b->width && a->half == b->half &&
	       m->core[a->core].kind == m->core[b->core].kind &&
	       (!ch->in->core_memory ||
		ch->in->core_memory[a->core] == ch->in->core_memory[b->core]);
}

/*
 * Make the table of the candidates FIRST .. END - 1, which are alike: all sets of k of them have
 * the same price, and the best one is the lowest k.
 */
static struct table *table_of_run(const struct chooser *ch, unsigned first, unsigned end)
{
	const unsigned units = ch->in->core[ch->index[first]].width / ch->unit;
	unsigned n = (end - first) * units + 1;
	struct table *t;
	struct state one;

	n = n > ch->states ? ch->states : n;
	t = table_new(n, first, end - 1);
	if (!t)
		return NULL;
	price_core(ch, first, &one);
	for (unsigned k = 0; k <= end - first && k * units < n; k++) {
		struct state *state = &t->state[k * units];
		uint64_t *set = &t->set[(size_t)k * units * t->words];

		state->possible = true;
		/* of two such sets, the larger one has the lowest core that only one has */
		state->rank = end - first - k;
		for (unsigned p = 0; p < PRICES; p++)
			state->price[p] = one.price[p] * (int64_t)k;
		if (!k)
			continue;
		memcpy(set, set - (size_t)units * t->words, t->words * sizeof(*set));
		set[(first + k - 1) / 64 - t->word0] |= UINT64_C(1) << (first + k - 1) % 64;
	}
	return t;
}

/* Return whether A + B is better than STATE, whose left part has rank BEST_RANK. */
static bool improves_state(const struct state *a, const struct state *b, const struct state *state,
			   unsigned best_rank)
{
	if (!state->possible)
		return true;
	for (unsigned p = 0; p < PRICES; p++) {
		int64_t price = a->price[p] + b->price[p];

		if (price != state->price[p])
			return price < state->price[p];
	}
	/* each split has a different left set, so comparing the left sets is enough */
	return a->rank < best_rank;
}

static void join_sets(struct table *t, unsigned s, const struct table *from, unsigned from_s)
{
	for (unsigned w = 0; w < from->words; w++)
		t->set[(size_t)s * t->words + from->word0 - t->word0 + w] |=
			from->set[(size_t)from_s * from->words + w];
}

/* Merge two neighbours, LEFT with the lower cores, for states from FROM on; frees both. */
static struct table *merge_tables(const struct chooser *ch, struct table *left, struct table *right,
				  unsigned from)
{
	struct table *t = NULL;
	unsigned *split = NULL;
	unsigned n;

	if (!left || !right)
		goto out;
	n = left->n + right->n - 1;
	if (n > ch->states)
		n = ch->states;
	t = table_new(n, left->word0 * 64, (right->word0 + right->words) * 64 - 1);
	split = calloc(n, sizeof(*split));
	if (!t || !split)
		goto error;
	for (unsigned i = 0; i < left->n && i < n; i++) {
		const struct state *a = &left->state[i];

		if (!a->possible)
			continue;
		for (unsigned j = from > i ? from - i : 0; j < right->n && i + j < n; j++) {
			const struct state *b = &right->state[j];
			struct state *to = &t->state[i + j];

			if (!b->possible ||
			    !improves_state(a, b, to, left->state[split[i + j]].rank))
				continue;
			to->possible = true;
			split[i + j] = i;
			for (unsigned p = 0; p < PRICES; p++)
				to->price[p] = a->price[p] + b->price[p];
		}
	}
	for (unsigned s = 0; s < n; s++) {
		if (!t->state[s].possible)
			continue;
		join_sets(t, s, left, split[s]);
		join_sets(t, s, right, s - split[s]);
	}
	if (rank_sets(t) < 0)
		goto error;
	goto out;
error:
	table_free(t);
	t = NULL;
out:
	free(split);
	table_free(left);
	table_free(right);
	return t;
}

static struct fit_key key_of(const struct chooser *ch, const struct table *t, unsigned s)
{
	const struct state *state = &t->state[s];
	struct fit_key key = {
		.place = state->price[ch->slot_place],
		.memory = state->price[ch->slot_memory],
		.waste = state->price[ch->slot_waste],
		.fit = state->price[ch->slot_fit],
		.given = s * ch->unit,
	};
	const struct machine *m = ch->in->m;
	unsigned kind = NONE;
	bool first = true;

	for (unsigned i = t->word0 * 64; m->n_kinds > 1 && i < ch->n; i++) {
		unsigned w = i / 64 - t->word0, this;

		if (w >= t->words)
			break;
		if (!(t->set[(size_t)s * t->words + w] >> i % 64 & 1))
			continue;
		this = m->core[ch->in->core[ch->index[i]].core].kind;
		key.mixed |= !first && this != kind;
		kind = this;
		first = false;
	}
	return key;
}

/* Return the best state of T that satisfies the request, or 0. */
static unsigned best_state(const struct chooser *ch, const struct table *t, struct fit_key *best)
{
	unsigned found = 0;

	memset(best, 0, sizeof(*best));
	for (unsigned s = (ch->in->need + ch->unit - 1) / ch->unit; s < t->n; s++) {
		struct fit_key key;
		int cmp = 0;

		if (!t->state[s].possible)
			continue;
		key = key_of(ch, t, s);
		if (found && fit_compare(&key, best, ch->in->thrift, &cmp) != FIT_EQUAL && cmp > 0)
			continue;
		if (found && cmp == 0 && t->state[s].rank > t->state[found].rank)
			continue;
		found = s;
		*best = key;
	}
	return found;
}

static struct table *table_of_domain(const struct chooser *ch, unsigned d, unsigned first,
				     unsigned end, unsigned from);

/*
 * Make the table of the candidates BORDER[0] .. BORDER[N] - 1: merge in halves at borders of inner
 * domains and of runs of cores that are alike.
 */
static struct table *table_of_range(const struct chooser *ch, const unsigned *border, unsigned n,
				    const unsigned *inner, unsigned from)
{
	unsigned half = n / 2;

	if (n == 1)
		return inner[0] == NONE ? table_of_run(ch, border[0], border[1])
					: table_of_domain(ch, inner[0], border[0], border[1], from);
	return merge_tables(ch, table_of_range(ch, border, half, inner, 0),
			    table_of_range(ch, border + half, n - half, inner + half, 0), from);
}

/* Return the first candidate at or after FIRST whose core is not below END_CORE. */
static unsigned candidates_end(const struct chooser *ch, unsigned first, unsigned end_core)
{
	while (first < ch->n && ch->in->core[ch->index[first]].core < end_core)
		first++;
	return first;
}

/* Return the end of the run of candidates like FIRST, below core INNER and candidate END. */
static unsigned run_end(const struct chooser *ch, unsigned first, unsigned inner, unsigned end)
{
	unsigned i = first + 1;

	while (i < end && ch->in->core[ch->index[i]].core < inner && alike(ch, first, i))
		i++;
	return i;
}

/* Make the table of domain D with the candidates FIRST .. END - 1, for states from FROM on. */
static struct table *table_of_domain(const struct chooser *ch, unsigned d, unsigned first,
				     unsigned end, unsigned from)
{
	const struct machine *m = ch->in->m;
	const struct domain *domain = &m->domain[d];
	unsigned *border = malloc(2 * (size_t)(end - first + 1) * sizeof(*border));
	unsigned *inner = border ? border + (end - first + 1) : NULL;
	unsigned next = d + 1, parts = 0;
	struct table *t;

	if (!border)
		return NULL;
	for (unsigned i = first; i < end; parts++) {
		unsigned core = ch->in->core[ch->index[i]].core;

		while (next < domain->end && m->domain[next].end_core <= core)
			next = m->domain[next].end;
		border[parts] = i;
		if (next < domain->end && m->domain[next].first_core <= core) {
			inner[parts] = next;
			i = candidates_end(ch, i, m->domain[next].end_core);
		} else {
			inner[parts] = NONE;
			i = run_end(ch, i, next < domain->end ? m->domain[next].first_core : NONE,
				    end);
		}
	}
	border[parts] = end;
	t = table_of_range(ch, border, parts, inner, from);
	free(border);
	if (!t)
		return NULL;
	for (unsigned s = 1; s < t->n; s++)
		if (t->state[s].possible)
			charge_domains(ch, &t->state[s], domain->levels,
				       free_cores(ch, domain->first_core, domain->end_core),
				       ch->in->domain_memory ? ch->in->domain_memory[d] : 0);
	best_state(ch, t, &ch->best[d]);
	return t;
}

/* Add OUTER, the price of the domains around D, to the keys of D and of the domains in it. */
static void charge_outer(const struct chooser *ch, unsigned d, struct state outer)
{
	const struct machine *m = ch->in->m;
	const struct domain *domain = &m->domain[d];
	struct fit_key *key = &ch->best[d];

	if (key->given) {
		key->place += outer.price[ch->slot_place];
		key->memory += outer.price[ch->slot_memory];
		key->fit += outer.price[ch->slot_fit];
	}
	charge_domains(ch, &outer, domain->levels,
		       free_cores(ch, domain->first_core, domain->end_core),
		       ch->in->domain_memory ? ch->in->domain_memory[d] : 0);
	for (unsigned next = d + 1; next < domain->end; next = m->domain[next].end)
		charge_outer(ch, next, outer);
}

static unsigned gcd(unsigned a, unsigned b)
{
	while (b) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Set candidates' positions, free cores below every core, and widths; -1: out of memory. */
static int prepare_chooser(struct chooser *ch, unsigned **index)
{
	const struct fit_in *in = ch->in;
	const struct machine *m = in->m;
	unsigned widest = 0, sum = 0, next = 0;

	*index = malloc(in->n * sizeof(**index));
	ch->free_before = malloc((m->n_cores + 1) * sizeof(*ch->free_before));
	if (!*index || !ch->free_before)
		return -1;
	for (unsigned c = 0; c <= m->n_cores; c++) {
		while (next < in->n && in->core[next].core < c)
			next++;
		ch->free_before[c] = next;
	}
	for (unsigned i = 0; i < in->n; i++) {
		if (in->kind != NONE && m->core[in->core[i].core].kind != in->kind)
			continue;
		(*index)[ch->n++] = i;
		ch->unit = gcd(in->core[i].width, ch->unit);
		widest = in->core[i].width > widest ? in->core[i].width : widest;
		sum += in->core[i].width;
	}
	ch->index = *index;
	if (sum < in->need)
		return 0;
	/* a best set has no core to spare, so its sum stays below need + widest */
	ch->states = (in->need + widest - 1) / ch->unit + 1;
	ch->slot_waste = in->thrift ? 0 : 2;
	ch->slot_place = in->thrift ? 1 : 0;
	ch->slot_memory = in->thrift ? 2 : 1;
	ch->slot_fit = 3;
	return 1;
}

int fit_cores(const struct fit_in *in, struct fit_out *out)
{
	struct chooser ch = { .in = in };
	struct table *t = NULL;
	unsigned *index = NULL;
	int rc = prepare_chooser(&ch, &index);

	memset(out, 0, sizeof(*out));
	if (rc <= 0)
		goto out;
	rc = -1;
	out->take = calloc(in->n, sizeof(*out->take));
	out->best = ch.best = calloc(in->m->n_domains, sizeof(*ch.best));
	if (!out->take || !out->best)
		goto out;
	t = table_of_domain(&ch, 0, 0, ch.n, (in->need + ch.unit - 1) / ch.unit);
	if (!t)
		goto out;
	rc = 1;
	charge_outer(&ch, 0, (struct state){ .possible = true });
	for (unsigned i = 0, s = best_state(&ch, t, &out->key); i < ch.n; i++) {
		unsigned w = i / 64 - t->word0;

		out->take[index[i]] = t->set[(size_t)s * t->words + w] >> i % 64 & 1;
	}
out:
	table_free(t);
	free(index);
	free(ch.free_before);
	if (rc <= 0)
		fit_free(out);
	return rc;
}

void fit_free(struct fit_out *out)
{
	free(out->take);
	free(out->best);
	out->take = NULL;
	out->best = NULL;
}

/* Return the first of N fields of BITS bits, 0 being the highest, that differs in X and Y. */
static unsigned highest_field(int64_t x, int64_t y, unsigned n, unsigned bits)
{
	unsigned i = 0;

	while (i + 1 < n && x >> bits * (n - 1 - i) == y >> bits * (n - 1 - i))
		i++;
	return i;
}

enum fit_rule fit_compare(const struct fit_key *a, const struct fit_key *b, bool thrift, int *cmp)
{
	static const unsigned char order[2][5] = {
		{ FIT_HALF, FIT_MIXED, FIT_MEMORY, FIT_GIVEN, FIT_WASTE },
		{ FIT_GIVEN, FIT_WASTE, FIT_HALF, FIT_MIXED, FIT_MEMORY },
	};
	enum fit_rule rule = FIT_FIT_PACKAGE;
	int64_t x = a->fit, y = b->fit;

	for (unsigned i = 0; i < 5; i++) {
		int64_t u = 0, v = 0;

		switch (order[thrift][i]) {
		case FIT_HALF:
			u = a->place;
			v = b->place;
			break;
		case FIT_MIXED:
			u = a->mixed;
			v = b->mixed;
			break;
		case FIT_MEMORY:
			u = a->memory;
			v = b->memory;
			break;
		case FIT_GIVEN:
			u = a->given;
			v = b->given;
			break;
		case FIT_WASTE:
			u = a->waste;
			v = b->waste;
			break;
		}
		if (u == v)
			continue;
		x = u;
		y = v;
		rule = (enum fit_rule)order[thrift][i];
		break;
	}
	if (cmp)
		*cmp = x < y ? -1 : x > y;
	if (x == y)
		return FIT_EQUAL;
	/* PLACE packs four rules into one number, FIT three: the highest differing field decides */
	if (rule == FIT_HALF)
		return (enum fit_rule)(FIT_HALF + (int)highest_field(x, y, LEVELS + 1, 15));
	if (rule == FIT_FIT_PACKAGE)
		return (enum fit_rule)(FIT_FIT_PACKAGE + (int)highest_field(x, y, LEVELS, 20));
	return rule;
}
