/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choosing cores is a knapsack problem over the tree of domains. For each part of the tree, a table
 * holds the best set of cores for each sum of widths. The width of a core is the number of its
 * threads that the request would use. Two parts are merged by trying every split of the sum. A
 * domain then adds the price of using at least one of its cores. Prices are vectors, which are
 * added and compared lexicographically. Addition keeps the order of prices, so the best sets of the
 * parts make the best set of the whole: the result is exact. A merge takes up to (free cores)^2 / 2
 * steps. Two things save steps: equal neighbours share one table, and if all cores of equal domains
 * are alike, the best sets are the lowest cores.
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
	unsigned kind; /* 0: the set is empty; 1 + K: all its cores are of kind K; or KINDS_MIXED */
};

#define KINDS_MIXED UINT_MAX

/*
 * state[s] is the best set whose widths sum up to s units. If LEFT is NULL, it has the lowest s /
 * STEP cores; otherwise it has LEFT's best set for split[s] units and RIGHT's for the rest.
 */
struct table {
	unsigned n; /* number of states */
	struct state *state;
	unsigned step;
	const struct table *left, *right;
	unsigned *split;
	unsigned left_cores;
	bool regular; /* in several such parts side by side, the best sets are the lowest cores */
	unsigned levels; /* levels of the domains in this part, as bits (struct domain) */
	struct table *next; /* next table in the list of all tables, which is for freeing them */
};

struct chooser {
	const struct fit_in *in;
	const unsigned *index; /* the candidates: positions in in->core */
	unsigned n;
	/* for each core of the machine, how many free cores and candidates have a lower index */
	unsigned *free_before, *before;
	unsigned unit; /* common divisor of all widths */
	unsigned states; /* largest number of states of a table */
	unsigned slot_place, slot_memory, slot_waste, slot_fit;
	struct fit_key *best;
	struct table *tables;
};

static void free_tables(struct chooser *ch)
{
	while (ch->tables) {
		struct table *t = ch->tables;

		ch->tables = t->next;
		free(t->state);
		free(t->split);
		free(t);
	}
}

/* Make a table of N states, but of ch->states at most. CH owns the table. */
static struct table *table_new(struct chooser *ch, unsigned n)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->next = ch->tables;
	ch->tables = t;
	t->n = n < ch->states ? n : ch->states;
	t->state = calloc(t->n, sizeof(*t->state));
	return t->state ? t : NULL;
}

static int64_t fit_pack(const unsigned *v, unsigned n, unsigned bits)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum << bits | (int64_t)v[i];
	return sum;
}

/* Write the N ids of FROM to TO, sorted by KEY[id] (below RANGE). COUNT has room for RANGE + 1. */
static void sort_ids(unsigned *to, const unsigned *from, unsigned n, const unsigned *key,
		     unsigned *count, unsigned range)
{
	memset(count, 0, (range + 1) * sizeof(*count));
	for (unsigned i = 0; i < n; i++)
		count[key[from[i]] + 1]++;
	for (unsigned k = 0; k < range; k++)
		count[k + 1] += count[k];
	for (unsigned i = 0; i < n; i++)
		to[count[key[from[i]]]++] = from[i];
}

/*
 * Rank the sets of T by the rank of their left part, then of their right part. So a merge compares
 * ranks, not sets.
 */
static int rank_sets(struct table *t)
{
	const unsigned range = t->left->n > t->right->n ? t->left->n : t->right->n;
	unsigned *id = calloc(4 * (size_t)t->n + range + 1, sizeof(*id)), n = 0;
	unsigned *sorted, *by_left, *by_right, *count;

	if (!id)
		return -1;
	sorted = id + t->n;
	by_left = sorted + t->n;
	by_right = by_left + t->n;
	count = by_right + t->n;
	for (unsigned s = 0; s < t->n; s++) {
		if (!t->state[s].possible)
			continue;
		id[n++] = s;
		by_left[s] = t->left->state[t->split[s]].rank;
		by_right[s] = t->right->state[s - t->split[s]].rank;
	}
	sort_ids(sorted, id, n, by_right, count, range);
	sort_ids(id, sorted, n, by_left, count, range);
	for (unsigned i = 0; i < n; i++)
		t->state[id[i]].rank = i;
	free(id);
	return 0;
}

/* Return how many of the cores FIRST .. END - 1 are free. */
static unsigned free_cores(const struct chooser *ch, unsigned first, unsigned end)
{
	return ch->free_before[end] - ch->free_before[first];
}

/* Add to S the price of a domain that is of LEVELS (bits), and has FREE free cores and MEMORY. */
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

/* Set PRICE to the price of candidate I, without the price of the domains around it. */
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

/* Are the candidates I and K alike, if their domains are ignored? */
static bool same_core(const struct chooser *ch, unsigned i, unsigned k)
{
	const struct core *core = ch->in->m->core;
	const struct fit_core *a = &ch->in->core[ch->index[i]], *b = &ch->in->core[ch->index[k]];

	return a->threads == b->threads && a->width == b->width && a->half == b->half &&
	       core[a->core].kind == core[b->core].kind &&
	       (!ch->in->core_memory ||
		ch->in->core_memory[a->core] == ch->in->core_memory[b->core]);
}

/* Are the candidates I and K alike, and in the same domain at each level? */
static bool alike(const struct chooser *ch, unsigned i, unsigned k)
{
	const struct core *a = &ch->in->m->core[ch->in->core[ch->index[i]].core];
	const struct core *b = &ch->in->m->core[ch->in->core[ch->index[k]].core];

	return memcmp(a->of, b->of, sizeof(a->of)) == 0 && same_core(ch, i, k);
}

/*
 * Make the table of N equal parts side by side. ONE is the table of the first part, which has CORES
 * cores. ONE is regular: the lowest cores of all parts use the fewest domains of each level, so
 * they are the best set.
 */
static struct table *table_of_copies(struct chooser *ch, const struct table *one, unsigned cores,
				     unsigned n)
{
	struct table *t = table_new(ch, cores * n * one->step + 1);
	unsigned most, copies = 0, more = 0; /* full parts, and cores used of the next part */

	if (!t)
		return NULL;
	t->step = one->step;
	t->regular = true;
	t->levels = one->levels;
	most = (t->n - 1) / t->step;
	for (unsigned k = 0; k <= most; k++) {
		const struct state *whole = &one->state[k < cores ? 0 : cores * t->step];
		const struct state *rest = &one->state[more * t->step];
		struct state *state = &t->state[k * t->step];

		state->possible = true;
		/* of two such sets, the larger one has lower cores, so the better rank */
		state->rank = most - k;
		state->kind = k ? one->state[t->step].kind : 0;
		for (unsigned p = 0; p < PRICES; p++)
			state->price[p] = whole->price[p] * (int64_t)copies + rest->price[p];
		if (++more == cores) {
			more = 0;
			copies++;
		}
	}
	return t;
}

/* Make the table of the candidates FIRST .. END - 1, which are all alike. */
static struct table *table_of_run(struct chooser *ch, unsigned first, unsigned end)
{
	const struct fit_core *core = &ch->in->core[ch->index[first]];
	struct table *one = table_new(ch, core->width / ch->unit + 1);

	if (!one)
		return NULL;
	one->step = core->width / ch->unit;
	price_core(ch, first, &one->state[one->step]);
	one->state[one->step].kind = ch->in->m->core[core->core].kind + 1;
	return table_of_copies(ch, one, 1, end - first);
}

/* Return whether A with B is a better set than STATE, whose left part has rank BEST_RANK. */
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
	/* the left sets of two splits always differ, so their ranks decide */
	return a->rank < best_rank;
}

/* Return the kind (struct state) of a set that joins sets of the kinds A and B. */
static unsigned join_kinds(unsigned a, unsigned b)
{
	return !a || a == b ? b : !b ? a : KINDS_MIXED;
}

/* Find the best split of each state of T, from state FROM on. */
static void split_states(struct table *t, unsigned from)
{
	const struct table *left = t->left, *right = t->right;

	for (unsigned i = 0; i < left->n && i < t->n; i++) {
		const struct state *a = &left->state[i];

		if (!a->possible)
			continue;
		for (unsigned j = from > i ? from - i : 0; j < right->n && i + j < t->n; j++) {
			const struct state *b = &right->state[j];
			struct state *to = &t->state[i + j];

			if (!b->possible ||
			    !improves_state(a, b, to, left->state[t->split[i + j]].rank))
				continue;
			to->possible = true;
			t->split[i + j] = i;
			for (unsigned p = 0; p < PRICES; p++)
				to->price[p] = a->price[p] + b->price[p];
			to->kind = join_kinds(a->kind, b->kind);
		}
	}
}

/*
 * Merge the tables of two neighbours, for states from FROM on. LEFT has the lower cores, LEFT_CORES
 * of them. If LEFT or RIGHT is NULL, the result is NULL.
 */
static struct table *merge_tables(struct chooser *ch, const struct table *left, unsigned left_cores,
				  const struct table *right, unsigned from)
{
	struct table *t = left && right ? table_new(ch, left->n + right->n - 1) : NULL;

	if (!t)
		return NULL;
	t->left = left;
	t->left_cores = left_cores;
	t->right = right;
	t->split = calloc(t->n, sizeof(*t->split));
	if (!t->split)
		return NULL;
	split_states(t, from);
	return rank_sets(t) < 0 ? NULL : t;
}

/* Merge N neighbours with the same table ONE, of CORES cores each. */
static struct table *merge_equal(struct chooser *ch, struct table *one, unsigned cores, unsigned n)
{
	struct table *half, *t;

	if (n == 1 || !one)
		return one;
	half = merge_equal(ch, one, cores, n / 2);
	t = merge_tables(ch, half, n / 2 * cores, half, 0);
	return n % 2 ? merge_tables(ch, t, n / 2 * 2 * cores, one, 0) : t;
}

static struct fit_key key_of(const struct chooser *ch, const struct table *t, unsigned s)
{
	const struct state *state = &t->state[s];

	return (struct fit_key){
		.place = state->price[ch->slot_place],
		.memory = state->price[ch->slot_memory],
		.waste = state->price[ch->slot_waste],
		.fit = state->price[ch->slot_fit],
		.given = s * ch->unit,
		.mixed = ch->in->m->n_kinds > 1 && state->kind == KINDS_MIXED,
	};
}

/* Return the best state of T that satisfies the request, and set BEST to its key; 0: no state. */
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

/*
 * A part of a domain: either consecutive candidates that are alike, or equal inner domains side by
 * side. Only the first of equal domains is searched.
 */
struct part {
	unsigned first; /* the first candidate */
	unsigned inner; /* the first inner domain; NONE: the part is candidates */
	unsigned copies; /* number of equal inner domains, or 1 */
	unsigned next; /* the next domain after the part */
};

static struct table *table_of_domain(struct chooser *ch, unsigned d, unsigned from);

/* Copy the best keys of D, and of the domains in it, to the N - 1 equal domains after D. */
static void copy_best(struct chooser *ch, unsigned d, unsigned n)
{
	const unsigned size = ch->in->m->domain[d].end - d;

	for (unsigned k = 1; k < n; k++)
		memcpy(&ch->best[d + k * size], &ch->best[d], size * sizeof(*ch->best));
}

/* Make the table of PART, whose last candidate is END - 1. */
static struct table *table_of_part(struct chooser *ch, const struct part *part, unsigned end,
				   unsigned from)
{
	const unsigned cores = (end - part->first) / part->copies;
	struct table *one;

	if (part->inner == NONE)
		return table_of_run(ch, part->first, end);
	one = table_of_domain(ch, part->inner, part->copies > 1 ? 0 : from);
	if (!one || part->copies == 1)
		return one;
	copy_best(ch, part->inner, part->copies);
	return one->regular ? table_of_copies(ch, one, cores, part->copies)
			    : merge_equal(ch, one, cores, part->copies);
}

/* Make the table of the N parts at PART, by merging halves. PART[N] begins where the last ends. */
static struct table *table_of_parts(struct chooser *ch, const struct part *part, unsigned n,
				    unsigned from)
{
	const unsigned half = n / 2;
	const struct table *left;

	if (n == 1)
		return table_of_part(ch, part, part[1].first, from);
	left = table_of_parts(ch, part, half, 0);
	return merge_tables(ch, left, part[half].first - part->first,
			    left ? table_of_parts(ch, part + half, n - half, 0) : NULL, from);
}

/* Return the end of the run of candidates like FIRST. It is at core INNER or at END at most. */
static unsigned run_end(const struct chooser *ch, unsigned first, unsigned inner, unsigned end)
{
	unsigned i = first + 1;

	while (i < end && ch->in->core[ch->index[i]].core < inner && alike(ch, first, i))
		i++;
	return i;
}

/*
 * Are the neighbouring domains A and B equal in all that matters, with their inner domains and
 * candidates?
 */
static bool equal_domains(const struct chooser *ch, unsigned a, unsigned b)
{
	const struct machine *m = ch->in->m;
	const struct domain *from = &m->domain[a], *to = &m->domain[b];
	const unsigned shift = to->first_core - from->first_core;
	const unsigned i = ch->before[from->first_core], k = ch->before[to->first_core];
	const unsigned n = ch->before[from->end_core] - i;

	if (to->end - b != from->end - a || ch->before[to->end_core] - k != n)
		return false;
	for (unsigned d = a, e = b; d < from->end; d++, e++) {
		const struct domain *x = &m->domain[d], *y = &m->domain[e];

		if (x->first_core + shift != y->first_core || x->end_core + shift != y->end_core ||
		    x->end - d != y->end - e || x->levels != y->levels ||
		    free_cores(ch, x->first_core, x->end_core) !=
			    free_cores(ch, y->first_core, y->end_core) ||
		    (ch->in->domain_memory && ch->in->domain_memory[d] != ch->in->domain_memory[e]))
			return false;
	}
	for (unsigned c = 0; c < n; c++) {
		const unsigned x = ch->in->core[ch->index[i + c]].core;

		if (x + shift != ch->in->core[ch->index[k + c]].core ||
		    !same_core(ch, i + c, k + c))
			return false;
	}
	return true;
}

/*
 * Fill PART, whose FIRST is set. NEXT is the first inner domain of DOMAIN that may belong to PART.
 * Returns the first candidate after PART.
 */
static unsigned find_part(const struct chooser *ch, const struct domain *domain, unsigned next,
			  struct part *part)
{
	const struct machine *m = ch->in->m;
	const unsigned core = ch->in->core[ch->index[part->first]].core;
	unsigned last;

	while (next < domain->end && m->domain[next].end_core <= core)
		next = m->domain[next].end;
	part->copies = 1;
	part->inner = NONE;
	part->next = next;
	if (next >= domain->end || m->domain[next].first_core > core)
		return run_end(ch, part->first,
			       next < domain->end ? m->domain[next].first_core : NONE,
			       ch->before[domain->end_core]);
	part->inner = last = next;
	part->next = m->domain[next].end;
	while (part->next < domain->end &&
	       ch->before[m->domain[part->next].first_core] ==
		       ch->before[m->domain[last].end_core] &&
	       equal_domains(ch, next, part->next)) {
		last = part->next;
		part->next = m->domain[last].end;
		part->copies++;
	}
	return ch->before[m->domain[last].end_core];
}

/* Add the price of using domain D to all sets of T except the empty one. */
static void charge_table(const struct chooser *ch, unsigned d, struct table *t)
{
	const struct domain *domain = &ch->in->m->domain[d];
	const int64_t memory = ch->in->domain_memory ? ch->in->domain_memory[d] : 0;
	struct state price = { .possible = true };

	charge_domains(ch, &price, domain->levels,
		       free_cores(ch, domain->first_core, domain->end_core), memory);
	for (unsigned s = 1; s < t->n; s++)
		for (unsigned p = 0; p < PRICES; p++)
			t->state[s].price[p] += price.price[p];
	/*
	 * The table stays regular if D is of a level and no domain in D is of the same level, or if
	 * D is of no level and its memory has no price.
	 */
	t->regular &= domain->levels ? !(t->levels & domain->levels) : !memory;
	t->levels |= domain->levels;
}

/* Make the table of domain D, which has at least one candidate, for states from FROM on. */
static struct table *table_of_domain(struct chooser *ch, unsigned d, unsigned from)
{
	const struct domain *domain = &ch->in->m->domain[d];
	const unsigned end = ch->before[domain->end_core];
	unsigned at = ch->before[domain->first_core], n = 0, next = d + 1;
	struct part *part = malloc((end - at + 1) * sizeof(*part));
	struct table *t;

	if (!part)
		return NULL;
	for (; at < end; next = part[n++].next) {
		part[n].first = at;
		at = find_part(ch, domain, next, &part[n]);
	}
	part[n].first = end;
	t = table_of_parts(ch, part, n, from);
	free(part);
	if (!t)
		return NULL;
	charge_table(ch, d, t);
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

/* Set in TAKE the flags of the cores of state S of T. FIRST is the first candidate of T. */
static void take_state(const struct chooser *ch, const struct table *t, unsigned s, unsigned first,
		       bool *take)
{
	for (; t->left; s -= t->split[s], first += t->left_cores, t = t->right)
		take_state(ch, t->left, t->split[s], first, take);
	for (unsigned k = 0; k < s / t->step; k++)
		take[ch->index[first + k]] = true;
}

/* Set the largest number of states of a table, and the order of the prices. */
static void prepare_states(struct chooser *ch, unsigned widest)
{
	/* a best set has no superfluous core, so the sum of its widths is below need + widest */
	ch->states = (ch->in->need + widest - 1) / ch->unit + 1;
	ch->slot_waste = ch->in->thrift ? 0 : 2;
	ch->slot_place = ch->in->thrift ? 1 : 0;
	ch->slot_memory = ch->in->thrift ? 2 : 1;
	ch->slot_fit = 3;
}

/*
 * Fill CH except its BEST; *INDEX is malloc'ed. Returns 1, 0 if all candidates together have too
 * few threads, or -1 if out of memory.
 */
static int prepare_chooser(struct chooser *ch, unsigned **index)
{
	const struct fit_in *in = ch->in;
	const struct machine *m = in->m;
	unsigned widest = 0, sum = 0, next = 0, width = 0;

	*index = malloc(in->n * sizeof(**index));
	ch->free_before = malloc(2 * (size_t)(m->n_cores + 1) * sizeof(*ch->free_before));
	if (!*index || !ch->free_before)
		return -1;
	ch->index = *index;
	ch->before = ch->free_before + m->n_cores + 1;
	for (unsigned c = 0; c <= m->n_cores; c++) {
		ch->free_before[c] = next;
		ch->before[c] = ch->n;
		if (next == in->n || in->core[next].core != c)
			continue;
		if (in->kind == NONE || m->core[c].kind == in->kind) {
			(*index)[ch->n++] = next;
			if (in->core[next].width != width) {
				width = in->core[next].width;
				ch->unit = gcd(width, ch->unit);
				widest = width > widest ? width : widest;
			}
			sum += width;
		}
		next++;
	}
	if (sum < in->need)
		return 0;
	prepare_states(ch, widest);
	return 1;
}

int fit_cores(const struct fit_in *in, struct fit_out *out)
{
	struct chooser ch = { .in = in };
	struct table *t = NULL;
	unsigned *index = NULL;
	int rc = prepare_chooser(&ch, &index);

	memset(out, 0, sizeof(*out));
	if (rc > 0) {
		out->take = calloc(in->n, sizeof(*out->take));
		out->best = ch.best = calloc(in->m->n_domains, sizeof(*ch.best));
		if (out->take && out->best)
			t = table_of_domain(&ch, 0, (in->need + ch.unit - 1) / ch.unit);
		rc = t ? 1 : -1;
	}
	if (t) {
		charge_outer(&ch, 0, (struct state){ .possible = true });
		take_state(&ch, t, best_state(&ch, t, &out->key), 0, out->take);
	}
	free_tables(&ch);
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

/* Return the highest field, from 0, in which X and Y differ, of N fields of BITS bits. */
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
	/* PLACE has four rules in one number, FIT has three: the highest bits decide */
	if (rule == FIT_HALF)
		return (enum fit_rule)(FIT_HALF + (int)highest_field(x, y, LEVELS + 1, 15));
	if (rule == FIT_FIT_PACKAGE)
		return (enum fit_rule)(FIT_FIT_PACKAGE + (int)highest_field(x, y, LEVELS, 20));
	return rule;
}
