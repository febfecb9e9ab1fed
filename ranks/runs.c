/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both searches are exact, by tables of the best division for each number of ranks. */
#include "ranks/runs.h"

#include <stdlib.h>
#include <string.h>

static int runs_compare(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->first != y->first ? x->first - y->first : y->end - x->end;
}

static bool runs_nested(const struct run *a, const struct run *b)
{
	return a->end <= b->first || b->end <= a->first ||
	       (a->first <= b->first && b->end <= a->end) ||
	       (b->first <= a->first && a->end <= b->end);
}

unsigned runs_sort(struct run *domain, unsigned n)
{
	unsigned kept = 0;

	qsort(domain, n, sizeof(*domain), runs_compare);
	for (unsigned i = 0; i < n; i++) {
		bool fits = true;

		for (unsigned k = 0; fits && k < kept; k++)
			fits = runs_nested(&domain[k], &domain[i]) &&
			       runs_compare(&domain[k], &domain[i]) != 0;
		if (fits)
			domain[kept++] = domain[i];
	}
	return kept;
}

bool runs_straddles(const struct runs_in *in, const struct run *r)
{
	for (unsigned i = 0; i < in->n_domains && in->domain[i].first < r->end; i++)
		if (!runs_nested(&in->domain[i], r))
			return true;
	return false;
}

/* ------------------------------------------------------------------ runs of one width */

int runs_equal(struct run *out, const struct runs_in *in, unsigned width)
{
	const unsigned n = in->n_ranks, idle = in->n_units - n * width;
	/* least[r * (idle + 1) + g]: straddling runs of ranks r .., if g units before them are idle
	 */
	uint16_t *least = calloc((size_t)(n + 1) * (idle + 1), sizeof(*least));
	bool *bad = calloc(in->n_units, sizeof(*bad));
	int straddling;

	if (!least || !bad) {
		free(least);
		free(bad);
		return -1;
	}
	for (unsigned u = 0; u + width <= in->n_units; u++) {
		struct run r = { (uint16_t)u, (uint16_t)(u + width) };

		bad[u] = runs_straddles(in, &r);
	}
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

/* The value of a division, the smaller the better. */
struct runs_cost {
	uint32_t idle; /* units; RUNS_NEVER: there is no such division */
	uint32_t squares;
};

#define RUNS_NEVER UINT32_MAX

/* A domain, or a row of units outside of the inner domains of the one around it. */
struct runs_part {
	struct run run;
	unsigned most; /* ranks that it has room for */
	unsigned n_inner, first_inner; /* the parts in it: tree.inner[first_inner ..] */
	/* best[k * (most + 1) + r]: the best division of the first k parts in it among r ranks */
	struct runs_cost *best;
};

struct runs_tree {
	const struct runs_in *in;
	unsigned width; /* of the smallest run */
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

/* Add the part RUN and all in it. domain[*NEXT] is the first that may be in it. */
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
				continue; /* in the one before */
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

/* Set for each part the number of ranks it has room for, WIDTH units each. Returns that of [0]. */
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

/* Return the value of the best division of P among R ranks. */
static struct runs_cost runs_value(const struct runs_part *p, unsigned r)
{
	unsigned size = runs_size(&p->run), more = r ? size % r : 0, each = r ? size / r : 0;

	if (r == 0)
		return (struct runs_cost){ .idle = size };
	if (r > p->most)
		return (struct runs_cost){ .idle = RUNS_NEVER };
	if (p->n_inner)
		return p->best[p->n_inner * (p->most + 1) + r];
	return (struct runs_cost){ .squares = more * (each + 1) * (each + 1) +
					      (r - more) * each * each };
}

static struct runs_cost runs_sum(struct runs_cost before, struct runs_cost add)
{
	if (before.idle == RUNS_NEVER || add.idle == RUNS_NEVER)
		return (struct runs_cost){ .idle = RUNS_NEVER };
	return (struct runs_cost){ before.idle + add.idle, before.squares + add.squares };
}

/* Return the value of one rank on all of the inner parts FIRST .. LAST of P. */
static struct runs_cost runs_group(const struct runs_tree *t, const struct runs_part *p,
				   unsigned first, unsigned last)
{
	unsigned size =
		(unsigned)(runs_inner(t, p, last)->run.end - runs_inner(t, p, first)->run.first);

	if (size < t->width)
		return (struct runs_cost){ .idle = RUNS_NEVER };
	return (struct runs_cost){ .squares = size * size };
}

/* How the last of some inner parts is used. */
struct runs_step {
	unsigned parts; /* 1, or the parts that one rank has together */
	unsigned ranks;
};

/* Find the best division of the first K inner parts of P among R ranks. */
static struct runs_cost runs_choose(const struct runs_tree *t, const struct runs_part *p,
				    unsigned k, unsigned r, struct runs_step *how)
{
	const struct runs_part *last = runs_inner(t, p, k - 1);
	const unsigned row = p->most + 1;
	struct runs_cost best = { .idle = RUNS_NEVER };

	for (unsigned x = (r < last->most ? r : last->most) + 1; x-- > 0;) {
		struct runs_cost c = runs_sum(p->best[(k - 1) * row + r - x], runs_value(last, x));

		if (c.idle < best.idle || (c.idle == best.idle && c.squares < best.squares)) {
			best = c;
			*how = (struct runs_step){ 1, x };
		}
	}
	for (unsigned parts = 2; r && parts <= k; parts++) {
		struct runs_cost c = runs_sum(p->best[(k - parts) * row + r - 1],
					      runs_group(t, p, k - parts, k - 1));

		if (c.idle < best.idle || (c.idle == best.idle && c.squares < best.squares)) {
			best = c;
			*how = (struct runs_step){ parts, 1 };
		}
	}
	return best;
}

static int runs_fill_tables(struct runs_tree *t)
{
	for (unsigned i = t->n; i-- > 0;) {
		struct runs_part *p = &t->part[i];
		const unsigned row = p->most + 1;
		struct runs_step ignored;

		if (!p->n_inner)
			continue;
		p->best = malloc((size_t)(p->n_inner + 1) * row * sizeof(*p->best));
		if (!p->best)
			return -1;
		for (unsigned r = 0; r < row; r++)
			p->best[r] = (struct runs_cost){ .idle = r ? RUNS_NEVER : 0 };
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
	/* at most a domain, the units before it, and those behind its inner domains */
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
		free(t.part[i].best);
	free(t.part);
	free(t.inner);
	return rc;
}
