/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/rankmap_renew.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The units that are divided: cores of the container, or its threads, in logical order. */
struct units {
	unsigned n;
	struct idset *cpus;
	bool *taken;
};

static bool is_whole(const struct rankmap_renew *in, unsigned rank)
{
	return idset_equal(&in->now[rank], in->before);
}

/* Return whether a rank that divides the container has only part of one of its cores. */
static bool by_thread(const struct rankmap_renew *in)
{
	for (unsigned r = 0; r < in->n_ranks; r++)
		for (unsigned c = 0; c < in->n_cores; c++) {
			struct idset s = in->core[c];

			idset_and(&s, in->before);
			if (!is_whole(in, r) && idset_intersects(&s, &in->now[r]) &&
			    !idset_subset(&s, &in->now[r]))
				return true;
		}
	return false;
}

static int list_units(struct units *u, const struct rankmap_renew *in, const struct idset *cpus,
		      bool threads)
{
	memset(u, 0, sizeof(*u));
	u->cpus = calloc(idset_count(cpus) + 1u, sizeof(*u->cpus));
	u->taken = calloc(idset_count(cpus) + 1u, sizeof(*u->taken));
	if (!u->cpus || !u->taken)
		return -1;
	for (unsigned c = 0; c < in->n_cores; c++) {
		struct idset s = in->core[c];

		idset_and(&s, cpus);
		if (!threads && !idset_empty(&s))
			u->cpus[u->n++] = s;
		for (int id = idset_next(&s, -1); threads && id >= 0; id = idset_next(&s, id))
			idset_add(&u->cpus[u->n++], (unsigned)id);
	}
	return 0;
}

static void units_free(struct units *u)
{
	free(u->cpus);
	free(u->taken);
}

/* Return how many units of BEFORE lie in CPUS. */
static unsigned units_of(const struct units *before, const struct idset *cpus)
{
	unsigned n = 0;

	for (unsigned i = 0; i < before->n; i++)
		n += idset_subset(&before->cpus[i], cpus);
	return n;
}

static void rankmap_renew_take(struct units *u, unsigned i, struct idset *out)
{
	u->taken[i] = true;
	idset_or(out, &u->cpus[i]);
}

/* Return the free unit nearest to number AT. At least one unit must be free. */
static unsigned nearest_free_unit(const struct units *u, unsigned at)
{
	for (unsigned far = 0;; far++) {
		if (far <= at && at - far < u->n && !u->taken[at - far])
			return at - far;
		if (at + far < u->n && !u->taken[at + far])
			return at + far;
	}
}

/* Take for RANK up to COUNT of the units that RANK has. */
static void rankmap_renew_keep(struct units *u, const struct rankmap_renew *in, unsigned rank,
			       unsigned count, struct idset *out, unsigned *got)
{
	*got = 0;
	idset_zero(out);
	for (unsigned i = 0; i < u->n && *got < count; i++)
		if (!u->taken[i] && idset_intersects(&u->cpus[i], &in->now[rank])) {
			rankmap_renew_take(u, i, out);
			++*got;
		}
}

/*
 * Take the remaining units near the kept ones. If none was kept, begin at unit EXPECTED, where the
 * rank would be if the units were divided in the order of the ranks.
 */
static void rankmap_renew_fill(struct units *u, unsigned count, unsigned got, unsigned expected,
			       struct idset *out)
{
	unsigned at = expected;

	for (unsigned i = 0; got && i < u->n; i++)
		if (idset_intersects(&u->cpus[i], out))
			at = i;
	for (; got < count; got++) {
		at = nearest_free_unit(u, at < u->n ? at : u->n - 1);
		rankmap_renew_take(u, at, out);
	}
}

struct division {
	unsigned n; /* ranks that divide the container */
	unsigned had; /* units of these ranks in total */
	bool shared; /* some units belonged to more than one rank */
	bool all; /* the ranks together had the whole container */
};

static struct division rankmap_renew_look(const struct rankmap_renew *in,
					  const struct units *before)
{
	struct division d = { 0 };
	struct idset all;

	idset_zero(&all);
	for (unsigned r = 0; r < in->n_ranks; r++) {
		if (is_whole(in, r))
			continue;
		d.n++;
		d.had += units_of(before, &in->now[r]);
		d.shared = d.shared || idset_intersects(&all, &in->now[r]);
		idset_or(&all, &in->now[r]);
	}
	d.all = idset_equal(&all, in->before);
	return d;
}

static int rankmap_renew_divide(const struct rankmap_renew *in, const struct units *before,
				struct units *after, const char *unit, struct idset *out,
				struct errbuf *err)
{
	struct division d = rankmap_renew_look(in, before);
	bool even = d.all || d.had > after->n || d.shared;
	unsigned *got, k = 0, next = 0;

	if (d.n > after->n && !d.shared)
		return errcode(err, PLAN_NO_RANK_CPUS, "%u ranks do not fit on %u %s%s", d.n,
			       after->n, unit, after->n == 1 ? "" : "s");
	got = calloc(in->n_ranks + 1u, sizeof(*got));
	if (!got)
		return errprintf(err, "out of memory");
	/* deal the units in turn: the numbers of ranks on two units differ by at most one */
	for (unsigned r = 0; d.n > after->n && r < in->n_ranks; r++)
		if (!is_whole(in, r))
			out[r] = after->cpus[k++ % after->n];
	for (int pass = 0; d.n <= after->n && pass < 2; pass++) {
		k = next = 0;
		for (unsigned r = 0; r < in->n_ranks; r++) {
			unsigned count;

			if (is_whole(in, r))
				continue;
			count = even ? after->n / d.n + (k < after->n % d.n)
				     : units_of(before, &in->now[r]);
			if (pass == 0)
				rankmap_renew_keep(after, in, r, count, &out[r], &got[r]);
			else
				rankmap_renew_fill(after, count, got[r], next, &out[r]);
			next += count;
			k++;
		}
	}
	free(got);
	return 0;
}

int rankmap_renew(const struct rankmap_renew *in, struct idset *out, struct errbuf *err)
{
	bool threads = by_thread(in);
	struct units before, after;
	int rc = 0;

	if (list_units(&before, in, in->before, threads) < 0)
		return units_free(&before), errprintf(err, "out of memory");
	if (list_units(&after, in, in->after, threads) < 0)
		rc = errprintf(err, "out of memory");
	else if (!after.n)
		rc = errprintf(err, "the container has no CPU left");
	for (unsigned r = 0; rc == 0 && r < in->n_ranks; r++)
		if (is_whole(in, r))
			out[r] = *in->after;
	if (rc == 0)
		rc = rankmap_renew_divide(in, &before, &after, threads ? "thread" : "core", out,
					  err);
	units_free(&before);
	units_free(&after);
	return rc;
}

struct idset rankmap_renew_thread(const struct idset *mask, const struct idset *before,
				  const struct idset *after)
{
	uint16_t to[IDSET_MAX];
	struct idset out;
	unsigned n = 0, k = 0;

	if (idset_subset(before, mask))
		return *after;
	if (!idset_empty(mask) && idset_subset(mask, after))
		return *mask;
	for (int id = idset_next(after, -1); id >= 0; id = idset_next(after, id))
		to[n++] = (uint16_t)id;
	idset_zero(&out);
	for (int id = idset_next(before, -1); id >= 0 && n; id = idset_next(before, id), k++)
		if (idset_has(mask, (unsigned)id))
			idset_add(&out, to[k % n]);
	return idset_empty(&out) ? *after : out;
}
