/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "topology/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine_impl.h"

static const char *const near_name[] = { "an L3 domain of its cores",
					 "a NUMA locality of its cores", "a package of its cores",
					 "the rest of the machine" };

/* The levels of the domains in which a container grows, nearest first. */
static const int near_level[] = { LEVEL_L3, LEVEL_NUMA, LEVEL_PACKAGE, -1 };

#define NEAR_LEVELS (sizeof(near_level) / sizeof(near_level[0]))

static struct idset resize_core_cpus(const struct machine *m, unsigned c)
{
	struct idset s;

	idset_zero(&s);
	for (unsigned i = 0; i < m->core[c].n_pus; i++)
		idset_add(&s, m->pu[m->core[c].first_pu + i]);
	return s;
}

/*
 * Set OUT to the CPUs of FREE_CPUS that share a domain of LEVEL with a CPU of HELD. LEVEL -1 is the
 * machine.
 */
static int find_nearby_cpus(struct idset *out, const struct machine *m, int level,
			    const struct idset *held, const struct idset *free_cpus,
			    struct errbuf *err)
{
	bool *used = calloc(m->n_domains + 1u, sizeof(*used));
	struct idset s;

	*out = *free_cpus;
	if (!used)
		return errprintf(err, "out of memory");
	for (unsigned c = 0; level >= 0 && c < m->n_cores; c++) {
		s = resize_core_cpus(m, c);
		if (m->core[c].of[level] != NONE && idset_intersects(&s, held))
			used[m->core[c].of[level]] = true;
	}
	for (unsigned c = 0; level >= 0 && c < m->n_cores; c++) {
		s = resize_core_cpus(m, c);
		if (m->core[c].of[level] == NONE || !used[m->core[c].of[level]])
			idset_andnot(out, &s);
	}
	free(used);
	return 0;
}

/* Return how many threads of CPUS a container with SMT threads per core (0: all) can use. */
static unsigned usable_threads(const struct machine *m, const struct idset *cpus, unsigned smt)
{
	unsigned sum = 0;

	for (unsigned c = 0; c < m->n_cores; c++) {
		struct idset s = resize_core_cpus(m, c);
		unsigned n;

		idset_and(&s, cpus);
		n = idset_count(&s);
		sum += smt && n > smt ? smt : n;
	}
	return sum;
}

/* What resize_choose() asks the planner to choose. */
struct choice_ask {
	const struct idset *cpus, *mems; /* the sets to choose from */
	unsigned want; /* how many threads to choose */
	enum mems_kind kind; /* what WANT_MEMS counts */
	uint64_t want_mems;
	const struct mems_want *by_kind; /* replaces KIND and WANT_MEMS unless NULL */
};

static int resize_choose(struct plan_container *out, const struct machine *m,
			 const struct resize_ask *r, const struct choice_ask *a, struct errbuf *err)
{
	struct plan_ask ask = { .name = r->name,
				.placement = r->placement > PLACEMENT_PACK ? r->placement
									   : PLACEMENT_PACK,
				.cores = CORES_ANY,
				.cpus = a->want,
				.smt = r->smt,
				.mems_kind = a->by_kind ? MEMS_WANTS : a->kind,
				.mems = a->want_mems,
				.want = a->by_kind,
				.n_wants = a->by_kind != NULL };
	struct plan_opts opts = { .cpus = *a->cpus,
				  .mems = *a->mems,
				  .mems_taken = r->mems_taken,
				  .default_mems = MEMS_ALL };
	struct plan *p;

	if (plan_make(&p, m, &opts, &ask, 1, err) < 0)
		return -1;
	*out = p->container[0];
	p->container[0].why = NULL;
	plan_free(p);
	return 0;
}

/*
 * Choose all CPUs of a spread container again. If the choice includes all CPUs that the container
 * has, write it to OUT and return 1; otherwise return 0. Returns -1 with the reason on an error.
 */
static int respread(struct plan_container *out, const struct machine *m, const struct resize_ask *r,
		    struct errbuf *err)
{
	struct idset all = r->free_cpus;
	const struct choice_ask ask = { .cpus = &all,
					.mems = machine_mems(m),
					.want = r->want_cpus };
	struct plan_container got;

	idset_or(&all, &r->reserved);
	if (resize_choose(&got, m, r, &ask, err) < 0)
		return -1;
	free(got.why);
	if (!idset_subset(&r->reserved, &got.reserved) || !idset_subset(&r->cpus, &got.cpus))
		return 0;
	out->cpus = got.cpus;
	out->reserved = got.reserved;
	return 1;
}

static int grow(struct plan_container *out, const struct machine *m, const struct resize_ask *r,
		FILE *why, struct errbuf *err)
{
	unsigned have = idset_count(&r->cpus), need = r->want_cpus - have,
		 all = usable_threads(m, &r->free_cpus, r->smt);
	struct idset left = r->free_cpus, part;
	struct plan_container more;
	const int kept = need <= all && r->placement > PLACEMENT_PACK ? respread(out, m, r, err)
								      : 0;
	char list[128];

	if (need > all)
		return errcode(err, PLAN_NO_CPUS,
			       "container %.64s has %u threads and can have %u at most here (%u "
			       "requested)",
			       r->name, have, have + all, r->want_cpus);
	if (kept)
		return kept > 0 ? 0 : -1;
	for (unsigned i = 0; need && i < NEAR_LEVELS; i++) {
		struct choice_ask ask = { .cpus = &part, .mems = machine_mems(m) };
		unsigned there;

		if (near_level[i] >= 0 && !m->n_domains_of[near_level[i]])
			continue;
		if (find_nearby_cpus(&part, m, near_level[i], &r->reserved, &left, err) < 0)
			return -1;
		there = usable_threads(m, &part, r->smt);
		if (!there)
			continue;
		ask.want = need < there ? need : there;
		if (resize_choose(&more, m, r, &ask, err) < 0)
			return -1;
		free(more.why);
		fprintf(why, "adds CPUs %s of %s\n", idset_brief(list, &more.cpus), near_name[i]);
		idset_or(&out->cpus, &more.cpus);
		idset_or(&out->reserved, &more.reserved);
		idset_andnot(&left, &more.reserved);
		need -= more.cpus_given < need ? more.cpus_given : need;
	}
	return 0;
}

static int shrink(struct plan_container *out, const struct machine *m, const struct resize_ask *r,
		  FILE *why, struct errbuf *err)
{
	struct choice_ask ask = { .cpus = &r->reserved,
				  .mems = machine_mems(m),
				  .want = r->want_cpus };
	struct idset gone = r->cpus, own = r->mems;
	struct plan_container less;
	char list[128];

	/* among equal choices, prefer CPUs near the container's ordinary memory */
	idset_and(&own, &m->ordinary);
	if (r->mems_confined && !idset_empty(&own)) {
		ask.mems = &own;
		ask.kind = MEMS_COUNT;
		ask.want_mems = idset_count(&own);
	}
	if (resize_choose(&less, m, r, &ask, err) < 0)
		return -1;
	free(less.why);
	out->cpus = less.cpus;
	out->reserved = less.reserved;
	idset_andnot(&gone, &out->cpus);
	if (!idset_empty(&gone))
		fprintf(why, "gives up CPUs %s\n", idset_brief(list, &gone));
	return 0;
}

/* Write to OUT the nodes that R counts. GAIN: only those that the container may get in addition. */
static void counted_nodes(const struct machine *m, const struct resize_ask *r, bool gain,
			  struct idset *out)
{
	*out = gain ? m->ordinary : m->all_mems;
	if (!r->by_kind)
		return;
	machine_of_kind(m, r->kind, out);
	/* if KIND is the ordinary kind, leave out nodes of KIND that a driver has added */
	if (gain && idset_intersects(out, &m->ordinary))
		idset_and(out, &m->ordinary);
}

/* Check that the container of R can grow by nodes of FROM. It has HAVE nodes or bytes. */
static int check_growth(const struct machine *m, const struct resize_ask *r, uint64_t have,
			const struct idset *from, struct errbuf *err)
{
	const char *kind = r->by_kind ? memory_kind_name(r->kind) : "";
	const char *blank = r->by_kind ? " " : "";
	const uint64_t more = r->want_mems - have;

	if (r->mems_kind == MEMS_COUNT && more > idset_count(from))
		return errcode(err, PLAN_NO_MEMS,
			       "container %.64s has %u %s%smemory nodes and can have %u at most "
			       "here (%llu requested)",
			       r->name, (unsigned)have, kind, blank,
			       (unsigned)have + idset_count(from),
			       (unsigned long long)r->want_mems);
	if (r->mems_kind == MEMS_SIZE && more > machine_usable(m, from))
		return errcode(err, PLAN_NO_MEMS,
			       "container %.64s has %s%smemory nodes of %llu MiB and can have %llu "
			       "MiB at most here (%llu MiB requested)",
			       r->name, kind, blank, (unsigned long long)(have >> 20),
			       (unsigned long long)((have + machine_usable(m, from)) >> 20),
			       (unsigned long long)(r->want_mems >> 20));
	return 0;
}

static int resize_mems(struct plan_container *out, const struct machine *m,
		       const struct resize_ask *r, FILE *why, struct errbuf *err)
{
	struct idset mine, from;
	struct mems_want want = { r->kind, r->mems_kind == MEMS_SIZE, r->want_mems };
	struct choice_ask ask = { .cpus = &out->reserved,
				  .mems = &from,
				  .want = idset_count(&out->cpus),
				  .kind = r->mems_kind,
				  .by_kind = r->by_kind ? &want : NULL };
	struct plan_container got;
	char list[128];
	uint64_t have;
	bool more;

	counted_nodes(m, r, false, &mine);
	idset_and(&mine, &r->mems);
	have = r->mems_kind == MEMS_COUNT ? idset_count(&mine) : machine_usable(m, &mine);
	if (r->want_mems == have)
		return 0;
	more = r->want_mems > have;
	counted_nodes(m, r, true, &from);
	idset_and(&from, &r->free_mems);
	if (more && check_growth(m, r, have, &from, err) < 0)
		return -1;
	if (!more)
		from = mine;
	want.amount = ask.want_mems = more ? r->want_mems - have : r->want_mems;
	if (resize_choose(&got, m, r, &ask, err) < 0)
		return -1;
	free(got.why);
	out->mems_confined = true;
	out->mems_shared = got.mems_shared;
	idset_or(&out->mems, &got.mems);
	if (more) {
		fprintf(why, "adds memory nodes %s\n", idset_brief(list, &got.mems));
		return 0;
	}
	idset_andnot(&mine, &got.mems);
	idset_andnot(&out->mems, &mine);
	if (!idset_empty(&mine))
		fprintf(why, "gives up memory nodes %s\n", idset_brief(list, &mine));
	return 0;
}

/* Remove from R's free CPUs those that are not of the kind (fast, efficient) that R names. */
static void drop_other_kinds(struct resize_ask *r, const struct machine *m)
{
	if (!m->kinds_ranked || r->cores == CORES_UNSET || r->cores == CORES_ANY)
		return;
	for (unsigned c = 0; c < m->n_cores; c++) {
		struct idset cpus = resize_core_cpus(m, c);

		if ((m->core[c].kind == m->fastest) != (r->cores == CORES_FAST))
			idset_andnot(&r->free_cpus, &cpus);
	}
}

int plan_resize(struct plan_container *out, const struct machine *m, const struct resize_ask *asked,
		struct errbuf *err)
{
	struct resize_ask own = *asked, *ask = &own;
	unsigned have = idset_count(&ask->cpus), want = ask->want_cpus ? ask->want_cpus : have;
	char *text = NULL;
	size_t len;
	FILE *why;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	drop_other_kinds(ask, m);
	if (ask->mems_kind != MEMS_UNSET && !ask->want_mems)
		return errcode(err, PLAN_BAD_ASK, "container %.64s: needs at least one memory node",
			       ask->name);
	why = open_memstream(&text, &len);
	if (!why)
		return errprintf(err, "out of memory");
	out->cpus = ask->cpus;
	out->reserved = ask->reserved;
	out->mems = ask->mems;
	out->mems_confined = ask->mems_confined;
	if (want != have)
		fprintf(why, RESIZED " from %u threads to %u\n", have, want);
	else
		fprintf(why, RESIZED " in memory\n");
	if (want > have)
		rc = grow(out, m, ask, why, err);
	else if (want < have)
		rc = shrink(out, m, ask, why, err);
	if (rc == 0 && ask->mems_kind != MEMS_UNSET)
		rc = resize_mems(out, m, ask, why, err);
	out->cpus_asked = want;
	out->cpus_given = idset_count(&out->cpus);
	if (fclose(why) != 0 && rc == 0)
		rc = errprintf(err, "out of memory");
	if (rc < 0) {
		free(text);
		memset(out, 0, sizeof(*out));
		return -1;
	}
	/* like the planner's explanations, the text has no newline at its end */
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	out->why = text;
	return 0;
}
