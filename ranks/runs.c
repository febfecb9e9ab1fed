/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs_equal() and runs_uneven() search exactly, by dynamic programming. */
#include "ranks/runs.h"

#include <stdlib.h>
#include <string.h>

static int runs_compare(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->first != y->first ? x->first - y->first : y->end - x->end;
}

/* Is DOMAIN new, and inside, around or apart from each of the N sorted domains at KEPT? */
static bool runs_nests(const struct run *kept, unsigned n, const struct run *domain)
{
	while (n-- > 0) {
		if (kept[n].end <= domain->first)
			continue;
		/* kept[n] is the innermost domain that can contain DOMAIN */
		return domain->end <= kept[n].end && runs_compare(&kept[n], domain) != 0;
	}
	return true;
}

unsigned runs_sort(struct run *domain, unsigned n)
{
	unsigned kept = 0;

	qsort(domain, n, sizeof(*domain), runs_compare);
	for (unsigned i = 0; i < n; i++)
		if (runs_nests(domain, kept, &domain[i]))
			domain[kept++] = domain[i];
	return kept;
}

/* ------------------------------------------------------------------ runs of one width */

/* Set BAD[u] for each unit u at which a run of WIDTH units would straddle the domain D. */
static void runs_flag(bool *bad, const struct run *d, unsigned width)
{
	const unsigned before = d->first >= width ? d->first - width + 1u : 0;
	const unsigned inside = d->end >= width ? d->end - width + 1u : 0;

	/*
	 * first the runs that begin before the domain and end in it; then the runs that begin in
	 * the domain, but after its first unit, and end behind it
	 */
	for (unsigned u = before; u < d->first && u + width < d->end; u++)
		bad[u] = true;
	for (unsigned u = inside > d->first ? inside : d->first + 1u; u < d->end; u++)
		bad[u] = true;
}

int runs_equal(struct run *out, const struct runs_in *in, unsigned width)
{
	const unsigned n = in->n_ranks, idle = in->n_units - n * width;
	/*
	 * least[r * (idle + 1) + g]: the fewest straddling runs of the ranks from r on, if g units
	 * before these runs are idle
	 */
	uint16_t *least = calloc((size_t)(n + 1) * (idle + 1), sizeof(*least));
	bool *bad = calloc(in->n_units, sizeof(*bad));
	int straddling;

	if (!least || !bad) {
		free(least);
		free(bad);
		return -1;
	}
	for (unsigned i = 0; i < in->n_domains; i++)
		runs_flag(bad, &in->domain[i], width);
	for (unsigned r = n; r-- > 0;)
		for (unsigned g = idle + 1; g-- > 0;) {
			uint16_t *at = &least[(size_t)r * (idle + 1) + g];

			*at = (uint16_t)(at[idle + 1] + bad[r * width + g]);
			if (g < idle && at[1] < *at)
				*at = at[1];
		}
	straddling = least[0];
	for (unsigned r = 0, g = 0; r < n; r++) {
		const uint16_t *at = &least[(size_t)r * (idle + 1)];

		while (at[g] != at[idle + 1 + g] + bad[r * width + g])
			g++;
		out[r].first = (uint16_t)(r * width + g);
		out[r].end = (uint16_t)(out[r].first + width);
	}
	free(least);
	free(bad);
	return straddling;
}

/* ------------------------------------------------------------- runs of different widths */

/*
 * The value of a division, the smaller the better: the number of idle units in the upper half, the
 * sum of the squares of the sizes in the lower half.
 */
typedef uint64_t runs_cost;

/* there is no such division; the sum of two such costs does not overflow */
#define RUNS_NEVER (UINT64_C(1) << 62)

/* A domain, or neighbouring units of a domain that are in none of its inner domains. */
struct runs_part {
	struct run run;
	unsigned most; /* ranks that it has room for */
	unsigned n_inner, first_inner; /* the parts in it: tree.inner[first_inner ..] */
	/*
	 * best[k * (most + 1) + r]: the cost of the best division of the first k inner parts among
	 * r ranks; the last row is for the whole part
	 */
	runs_cost *best;
	bool borrowed; /* BEST belongs to another part */
};

struct runs_tree {
	const struct runs_in *in;
	unsigned width; /* units of the smallest run */
	unsigned n, n_listed;
	struct runs_part *part; /* each part before the parts in it; [0] has all units */
	unsigned *inner; /* indexes of parts */
};

static unsigned runs_size(const struct run *r)
{
	return (unsigned)(r->end - r->first);
}

/* Append the part FIRST .. END - 1, unless it is empty. */
static void runs_add_part(struct runs_tree *t, unsigned first, unsigned end)
{
	if (first < end)
		t->part[t->n++].run = (struct run){ (uint16_t)first, (uint16_t)end };
}

/* Add the part RUN and all parts in it. domain[*NEXT] is the first domain that may be in RUN. */
static void runs_add_tree(struct runs_tree *t, struct run run, unsigned *next)
{
	const struct runs_in *in = t->in;
	unsigned me = t->n, at = run.first;

	runs_add_part(t, run.first, run.end);
	while (*next < in->n_domains && in->domain[*next].first < run.end) {
		struct run inner = in->domain[(*next)++];

		if (runs_compare(&inner, &run) == 0)
			continue;
		runs_add_part(t, at, inner.first);
		runs_add_tree(t, inner, next);
		at = inner.end;
	}
	if (t->n > me + 1)
		runs_add_part(t, at, run.end);
}

/* List the parts directly in each part. */
static void runs_list_inner(struct runs_tree *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct runs_part *p = &t->part[i];
		unsigned at = p->run.first;

		p->first_inner = t->n_listed;
		for (unsigned k = i + 1; k < t->n && t->part[k].run.end <= p->run.end; k++) {
			if (t->part[k].run.first < at)
				continue; /* part K is inside the one listed before */
			t->inner[t->n_listed++] = k;
			p->n_inner++;
			at = t->part[k].run.end;
		}
	}
}

static const struct runs_part *runs_inner(const struct runs_tree *t, const struct runs_part *p,
					  unsigned k)
{
	return &t->part[t->inner[p->first_inner + k]];
}

/*
 * Set the number of ranks that each part has room for, with WIDTH units for each rank. Returns the
 * number for the whole row.
 */
static unsigned runs_count_room(struct runs_tree *t, unsigned width)
{
	t->width = width;
	for (unsigned i = t->n; i-- > 0;) {
		struct runs_part *p = &t->part[i];
		unsigned small = 0; /* units of neighbours that are too small for a rank */

		p->most = p->n_inner ? 0 : runs_size(&p->run) / width;
		for (unsigned k = 0; k < p->n_inner; k++) {
			const struct runs_part *inner = runs_inner(t, p, k);

			small = inner->most ? 0 : small + runs_size(&inner->run);
			p->most += inner->most + (small >= width);
			small = small < width ? small : 0;
		}
		p->most = p->most < t->in->n_ranks ? p->most : t->in->n_ranks;
	}
	return t->part[0].most;
}

static runs_cost runs_idle(unsigned units)
{
	return (runs_cost)units << 32;
}

/* Return the cost if one rank has the inner parts FIRST .. LAST of P together. */
static runs_cost runs_group(const struct runs_tree *t, const struct runs_part *p, unsigned first,
			    unsigned last)
{
	unsigned size =
		(unsigned)(runs_inner(t, p, last)->run.end - runs_inner(t, p, first)->run.first);

	return size < t->width ? RUNS_NEVER : size * size;
}

/* How the last of the first K inner parts is used; see runs_choose(). */
struct runs_step {
	unsigned parts; /* 1, or the parts that one rank has together */
	unsigned ranks;
};

/* Find the best division of the first K inner parts of P among R ranks. */
static runs_cost runs_choose(const struct runs_tree *t, const struct runs_part *p, unsigned k,
			     unsigned r, struct runs_step *how)
{
	const struct runs_part *last = runs_inner(t, p, k - 1);
	const unsigned row = p->most + 1;
	const runs_cost *before = &p->best[(k - 1) * row];
	const runs_cost *value = &last->best[last->n_inner * (last->most + 1)];
	runs_cost best = RUNS_NEVER;

	for (unsigned x = (r < last->most ? r : last->most) + 1; x-- > 0;) {
		if (before[r - x] + value[x] < best) {
			best = before[r - x] + value[x];
			*how = (struct runs_step){ 1, x };
		}
	}
	for (unsigned parts = 2; r && parts <= k; parts++) {
		runs_cost c =
			p->best[(k - parts) * row + r - 1] + runs_group(t, p, k - parts, k - 1);

		if (c < best) {
			best = c;
			*how = (struct runs_step){ parts, 1 };
		}
	}
	return best;
}

/* Fill the first row of P's table: for no inner parts or, if P has none, for the whole of P. */
static void runs_fill_first(struct runs_part *p)
{
	const unsigned size = runs_size(&p->run);

	p->best[0] = p->n_inner ? 0 : runs_idle(size);
	for (unsigned r = 1; r <= p->most; r++) {
		const unsigned each = size / r, more = size % r;

		p->best[r] = p->n_inner ? RUNS_NEVER
					: more * (each + 1) * (each + 1) + (r - more) * each * each;
	}
}

/* Do A and B have the same size, and inner parts that use the same tables, one by one? */
static bool runs_alike(const struct runs_tree *t, const struct runs_part *a,
		       const struct runs_part *b)
{
	if (runs_size(&a->run) != runs_size(&b->run) || a->n_inner != b->n_inner)
		return false;
	for (unsigned k = 0; k < a->n_inner; k++)
		if (runs_inner(t, a, k)->best != runs_inner(t, b, k)->best)
			return false;
	return true;
}

/* Let part I use the table of the next part of its size, if both are alike. */
static bool runs_borrow_table(struct runs_tree *t, unsigned i)
{
	struct runs_part *p = &t->part[i];
	unsigned k = i + 1;

	while (k < t->n && runs_size(&t->part[k].run) != runs_size(&p->run))
		k++;
	if (k == t->n || !runs_alike(t, p, &t->part[k]))
		return false;
	p->best = t->part[k].best;
	return p->borrowed = true;
}

/* Fill the tables of all parts, the inner ones first. -1: out of memory. */
static int runs_fill_tables(struct runs_tree *t)
{
	for (unsigned i = t->n; i-- > 0;) {
		struct runs_part *p = &t->part[i];
		const unsigned row = p->most + 1;
		struct runs_step ignored;

		if (runs_borrow_table(t, i))
			continue;
		p->best = malloc((size_t)(p->n_inner + 1) * row * sizeof(*p->best));
		if (!p->best)
			return -1;
		runs_fill_first(p);
		for (unsigned k = 1; k <= p->n_inner; k++)
			for (unsigned r = 0; r < row; r++)
				p->best[k * row + r] = runs_choose(t, p, k, r, &ignored);
	}
	return 0;
}

/* Write the division of P among R ranks to END[-R] .. END[-1]. */
static void runs_write(const struct runs_tree *t, const struct runs_part *p, unsigned r,
		       struct run *end)
{
	unsigned each = r ? runs_size(&p->run) / r : 0, more = r ? runs_size(&p->run) % r : 0;
	uint16_t at = p->run.first;

	for (unsigned i = 0; !p->n_inner && i < r; i++) {
		struct run *out = end - r + i;

		*out = (struct run){ at, (uint16_t)(at + each + (i < more)) };
		at = out->end;
	}
	for (unsigned k = p->n_inner; k > 0 && r > 0;) {
		struct runs_step how = { 1, 0 };

		runs_choose(t, p, k, r, &how);
		if (how.parts == 1)
			runs_write(t, runs_inner(t, p, k - 1), how.ranks, end);
		else
			end[-1] = (struct run){ runs_inner(t, p, k - how.parts)->run.first,
						runs_inner(t, p, k - 1)->run.end };
		end -= how.ranks;
		r -= how.ranks;
		k -= how.parts;
	}
}

int runs_uneven(struct run *out, const struct runs_in *in)
{
	/*
	 * at most three for each domain: the domain, the units before it, those behind its inner
	 * domains
	 */
	const size_t most = 3 * ((size_t)in->n_domains + 1);
	struct runs_tree t = {
		.in = in,
		.part = calloc(most, sizeof(*t.part)),
		.inner = calloc(most, sizeof(*t.inner)),
	};
	unsigned next = 0, width = in->n_units / in->n_ranks;
	int rc = -1;

	if (t.part && t.inner) {
		runs_add_tree(&t, (struct run){ 0, (uint16_t)in->n_units }, &next);
		runs_list_inner(&t);
		while (runs_count_room(&t, width) < in->n_ranks)
			width--;
		rc = runs_fill_tables(&t);
	}
	if (rc == 0)
		runs_write(&t, &t.part[0], in->n_ranks, out + in->n_ranks);
	for (unsigned i = 0; t.part && i < t.n; i++)
		if (!t.part[i].borrowed)
			free(t.part[i].best);
	free(t.part);
	free(t.inner);
	return rc;
}
