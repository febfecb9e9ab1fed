/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the explanation of a plan: at most a dozen lines for each container, on any machine. */
#include <stdlib.h>

#include "topology/plan_impl.h"

#define LISTED 4 /* largest number of domains that a line names; further ones are only counted */

static const char *const reason[FIT_RULES] = {
	[FIT_EQUAL] = "the lowest number",
	[FIT_HALF] = "fewer half cores",
	[FIT_PACKAGE] = "fewer packages",
	[FIT_NUMA] = "fewer NUMA localities",
	[FIT_L3] = "fewer L3 domains",
	[FIT_MIXED] = "CPU kinds not mixed",
	[FIT_MEMORY] = "more local memory free",
	[FIT_GIVEN] = "fewer threads beyond the request",
	[FIT_WASTE] = "fewer threads reserved or fewer cores",
	[FIT_FIT_PACKAGE] = "the tightest fit by packages",
	[FIT_FIT_NUMA] = "the tightest fit by NUMA localities",
	[FIT_FIT_L3] = "the tightest fit by L3 domains",
};

/* The rules in the order in which they decide (fit.h): [0] without thrift, [1] with thrift. */
static const enum fit_rule order[2][FIT_RULES] = {
	{ FIT_HALF, FIT_PACKAGE, FIT_NUMA, FIT_L3, FIT_MIXED, FIT_MEMORY, FIT_GIVEN, FIT_WASTE,
	  FIT_FIT_PACKAGE, FIT_FIT_NUMA, FIT_FIT_L3, FIT_EQUAL },
	{ FIT_GIVEN, FIT_WASTE, FIT_HALF, FIT_PACKAGE, FIT_NUMA, FIT_L3, FIT_MIXED, FIT_MEMORY,
	  FIT_FIT_PACKAGE, FIT_FIT_NUMA, FIT_FIT_L3, FIT_EQUAL },
};

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void explain_bytes(FILE *f, uint64_t bytes)
{
	if (bytes >= UINT64_C(1) << 30)
		fprintf(f, "%.1f GiB", (double)bytes / (double)(UINT64_C(1) << 30));
	else if (bytes >= UINT64_C(1) << 20)
		fprintf(f, "%.1f MiB", (double)bytes / (double)(UINT64_C(1) << 20));
	else
		fprintf(f, "%llu byte%s", (unsigned long long)bytes, plural(bytes));
}

static void explain_ask(FILE *f, const struct plan_ask *ask)
{
	if (ask->cpus)
		fprintf(f, "requests %u thread%s", ask->cpus, plural(ask->cpus));
	else
		fprintf(f, "requests every core that is left");
	if (ask->smt)
		fprintf(f, ", %u per core", ask->smt);
	if (ask->mems_kind == MEMS_COUNT)
		fprintf(f, ", %llu memory node%s", (unsigned long long)ask->mems,
			plural(ask->mems));
	if (ask->mems_kind == MEMS_SIZE) {
		fprintf(f, ", ");
		explain_bytes(f, ask->mems);
		fprintf(f, " of memory");
	}
	for (unsigned i = 0; ask->mems_kind == MEMS_WANTS && i < ask->n_wants; i++) {
		const struct mems_want *w = &ask->want[i];

		fprintf(f, ", ");
		if (w->sized) {
			explain_bytes(f, w->amount);
			fprintf(f, " of %s", memory_kind_name(w->kind));
			continue;
		}
		fprintf(f, "%llu %s node%s", (unsigned long long)w->amount,
			memory_kind_name(w->kind), plural(w->amount));
	}
}

static bool in_level(const struct domain *d, enum level level)
{
	return d->levels & 1u << level;
}

struct level_view {
	unsigned first_core, end_core; /* only domains inside this range of cores count */
	/* number of domains that the container uses; the last one of them */
	unsigned used, chosen;
	bool inside; /* one domain holds all of the container's cores */
	/* number of domains with free cores; number of domains that are large enough alone */
	unsigned free, fits;
	unsigned rules; /* bits 1 << RULE: why CHOSEN is better than other domains that fit */
	/* for each core, how many free threads and cores of the container come before it */
	unsigned *threads_before, *taken_before;
};

static unsigned free_threads(const struct level_view *v, const struct domain *d)
{
	return v->threads_before[d->end_core] - v->threads_before[d->first_core];
}

static unsigned taken_cores(const struct level_view *v, const struct domain *d)
{
	return v->taken_before[d->end_core] - v->taken_before[d->first_core];
}

/* Fill V's arrays; the caller always frees them. Returns 0, or -1 if out of memory. */
static int count_cores(struct level_view *v, const struct planner *p, const struct draft *draft,
		       const struct fit_in *in)
{
	const unsigned n = p->m->n_cores;

	v->threads_before = calloc(n + 1, sizeof(*v->threads_before));
	v->taken_before = calloc(n + 1, sizeof(*v->taken_before));
	if (!v->threads_before || !v->taken_before)
		return -1;
	for (unsigned k = 0; k < in->n; k++)
		v->threads_before[in->core[k].core + 1] = in->core[k].width;
	for (unsigned c = 0; c < n; c++) {
		v->threads_before[c + 1] += v->threads_before[c];
		v->taken_before[c + 1] = v->taken_before[c] + draft->core[c];
	}
	return 0;
}

static bool in_view(const struct domain *d, enum level level, const struct level_view *v)
{
	return in_level(d, level) && d->first_core >= v->first_core && d->end_core <= v->end_core;
}

static void plan_why_look(const struct planner *p, const struct draft *draft,
			  const struct fit_in *in, const struct fit_out *fit, enum level level,
			  struct level_view *v)
{
	const struct machine *m = p->m;
	const struct domain *chosen;

	v->used = v->free = v->fits = v->rules = 0;
	v->chosen = NONE;
	for (unsigned d = 0; d < m->n_domains; d++) {
		const struct domain *dom = &m->domain[d];

		if (!in_view(dom, level, v))
			continue;
		v->free += free_threads(v, dom) > 0;
		v->fits += fit->best[d].given > 0;
		if (taken_cores(v, dom)) {
			v->used++;
			v->chosen = d;
		}
	}
	v->inside = v->used == 1 && taken_cores(v, &m->domain[v->chosen]) == draft->n_cores;
	if (!v->inside)
		return;
	chosen = &m->domain[v->chosen];
	for (unsigned d = 0; d < m->n_domains; d++) {
		const struct domain *dom = &m->domain[d];
		bool apart = dom->end_core <= chosen->first_core ||
			     dom->first_core >= chosen->end_core;

		if (in_view(dom, level, v) && apart && fit->best[d].given)
			v->rules |= 1u << fit_compare(&fit->best[v->chosen], &fit->best[d],
						      in->thrift, NULL);
	}
}

/* Write RULES, each of which ruled out a domain: "fewer packages, then the lowest number". */
static void list_rules(FILE *f, unsigned rules, bool thrift)
{
	const char *before = "";

	if (!rules)
		fprintf(f, "no other domain fits");
	if (rules == 1u << FIT_EQUAL)
		fprintf(f, "equal otherwise, ");
	for (unsigned i = 0; i < FIT_RULES; i++) {
		if (!(rules & 1u << order[thrift][i]))
			continue;
		fprintf(f, "%s%s", before, reason[order[thrift][i]]);
		before = ", then ";
	}
}

/* Write a line such as "package: 0 (22 threads free) too small, 1 (24) fits". */
static void list_candidates(FILE *f, const struct planner *p, const struct fit_out *fit,
			    enum level level, const struct level_view *v)
{
	const struct machine *m = p->m;
	unsigned listed = 0;

	fprintf(f, "\n%s:", level_name[level]);
	for (unsigned d = 0; d < m->n_domains; d++) {
		const struct domain *dom = &m->domain[d];
		unsigned threads;

		if (!in_view(dom, level, v))
			continue;
		threads = free_threads(v, dom);
		if (!threads || listed++ >= LISTED)
			continue;
		fprintf(f, "%s %u (%u%s) %s", listed > 1 ? "," : "", dom->number[level], threads,
			listed > 1    ? ""
			: threads > 1 ? " threads free"
				      : " thread free",
			fit->best[d].given ? "fits" : "too small");
	}
	if (v->free > LISTED)
		fprintf(f, ", %u more (%u of all fit)", v->free - LISTED, v->fits);
}

/*
 * Return whether LEVEL and the level above divide the cores of V in the same way, so that one line
 * describes both.
 */
static bool repeats_level(const struct machine *m, enum level level, const struct level_view *v)
{
	for (unsigned c = v->first_core; level > 0 && c < v->end_core; c++) {
		unsigned a = m->core[c].of[level - 1], b = m->core[c].of[level];

		if (a == NONE || b == NONE || m->domain[a].first_core != m->domain[b].first_core ||
		    m->domain[a].end_core != m->domain[b].end_core)
			return false;
	}
	return level > 0;
}

/* Write a line for LEVEL if there was a choice, and narrow V to the chosen domain. */
static void explain_level(const struct planner *p, const struct draft *draft,
			  const struct fit_in *in, const struct fit_out *fit, enum level level,
			  struct level_view *v)
{
	const struct machine *m = p->m;
	FILE *f = draft->why;

	plan_why_look(p, draft, in, fit, level, v);
	if (v->free >= 2 && !repeats_level(m, level, v)) {
		list_candidates(f, p, fit, level, v);
		if (!v->inside) {
			fprintf(f, "; uses %u of %u", v->used, v->free);
		} else {
			fprintf(f, "; takes %u: ", m->domain[v->chosen].number[level]);
			list_rules(f, v->rules, in->thrift);
		}
	}
	if (v->inside) {
		v->first_core = m->domain[v->chosen].first_core;
		v->end_core = m->domain[v->chosen].end_core;
	}
}

/* Write a line for each level at which there was a choice. Returns 0, or -1 if out of memory. */
static int explain_levels(const struct planner *p, const struct draft *draft,
			  const struct fit_in *in, const struct fit_out *fit)
{
	struct level_view v = { .end_core = p->m->n_cores };
	int rc = count_cores(&v, p, draft, in);

	for (unsigned l = 0; rc == 0 && l < LEVELS; l++)
		explain_level(p, draft, in, fit, (enum level)l, &v);
	free(v.threads_before);
	free(v.taken_before);
	return rc;
}

int plan_explain_cores(struct planner *p, unsigned i, const struct fit_in *in,
		       const struct fit_out *fit)
{
	const struct plan_ask *ask = &p->ask[i];
	struct draft *d = &p->draft[i];
	unsigned half = 0, half_taken = 0, reserved = idset_count(&d->c.reserved);

	for (unsigned k = 0; k < in->n; k++) {
		half += in->core[k].half;
		half_taken += in->core[k].half && d->core[in->core[k].core];
	}
	explain_ask(d->why, ask);
	fprintf(d->why, "; gets %u thread%s on %u of %u free cores", d->c.cpus_given,
		plural(d->c.cpus_given), d->n_cores, in->n);
	if (ask->cpus && d->c.cpus_given > ask->cpus)
		fprintf(d->why, "\nrounded up to whole cores: %u threads for %u requested",
			d->c.cpus_given, ask->cpus);
	if (reserved > d->c.cpus_given)
		fprintf(d->why, "\n%u sibling thread%s reserved and idle",
			reserved - d->c.cpus_given,
			reserved - d->c.cpus_given > 1 ? "s stay" : " stays");
	/* give no reason with cpus=0, which takes all cores, or with thrift: waste decides first */
	if (half_taken)
		fprintf(d->why, "\nhalf cores: takes %u of %u%s", half_taken, half,
			ask->cpus && !p->thrift ? ", whole cores do not suffice" : "");
	else if (half)
		fprintf(d->why, "\nhalf cores: leaves %u alone, whole cores suffice", half);
	if (p->thrift)
		fprintf(d->why,
			"\nwaste before locality: the reverse order left too few threads for "
			"a container");
	if (fit && explain_levels(p, d, in, fit) < 0)
		return -1;
	if (fit && fit->key.mixed)
		fprintf(d->why, "\nCPU kinds are mixed: no single kind fits as well");
	return 0;
}

void plan_explain_kind(struct planner *p, unsigned i, bool fastest)
{
	const struct plan_ask *ask = &p->ask[i];
	FILE *f = p->draft[i].why;

	if (fastest)
		fprintf(f, "\nCPU kinds: only cores of the fastest kind that suffices");
	else if (ask->cores != CORES_UNSET)
		fprintf(f, "\nCPU kinds: %s, as asked%s", cores_word_name(ask->cores),
			p->m->kinds_ranked || ask->cores == CORES_ANY ? ""
			: p->m->n_kinds > 1 ? ", but the machine does not say which are fast"
					    : ", but all cores of the machine are of one kind");
}

/* Write such as "2 packages, 4 L3 domains": only the levels that the machine has. */
static void explain_used(FILE *f, const struct fit_in *in, const bool *take)
{
	static const char *const several[LEVELS] = { "packages", "NUMA localities", "L3 domains" };
	static const char *const one[LEVELS] = { "package", "NUMA locality", "L3 domain" };
	const char *before = "";

	for (unsigned l = 0; l < LEVELS; l++) {
		unsigned n = plan_count_domains(in, take, (enum level)l);

		if (n)
			fprintf(f, "%s%u %s", before, n, (n > 1 ? several : one)[l]);
		before = n ? ", " : before;
	}
	if (!*before)
		fprintf(f, "the machine, which has no domains");
}

void plan_explain_placement(struct planner *p, unsigned i, const struct fit_in *in,
			    const struct placement_choice *choice)
{
	const struct plan_ask *ask = &p->ask[i];
	FILE *f = p->draft[i].why;

	fprintf(f, "\nplacement: %s",
		choice->spread ? "spread over each " : "packed, as asked: uses ");
	if (choice->spread)
		fprintf(f, "%s, %s%s: uses ", level_name[choice->level],
			ask->placement == PLACEMENT_UNSET
				? "since one package has less memory than is asked"
				: "as asked",
			p->m->n_domains_of[choice->level] ? "" : ", but this machine has none");
	explain_used(f, in, choice->take);
	fprintf(f, "; %s it would use ", choice->spread ? "packed" : "spread");
	explain_used(f, in, choice->other);
}

void plan_format_special(const struct planner *p, char out[PLAN_SPECIAL_MAX])
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned k = 0; k < MEMORY_KINDS; k++) {
		struct idset nodes;
		char list[128];

		machine_of_kind(p->m, (enum memory_kind)k, &nodes);
		idset_and(&nodes, &p->mems);
		idset_andnot(&nodes, &p->ordinary);
		if (!idset_empty(&nodes) && used < PLAN_SPECIAL_MAX)
			used += (size_t)snprintf(out + used, PLAN_SPECIAL_MAX - used, "%s%s %s",
						 used ? ", " : "",
						 memory_kind_name((enum memory_kind)k),
						 idset_brief(list, &nodes));
	}
}

void plan_explain_mems(struct planner *p, unsigned i, unsigned local, unsigned reused)
{
	const struct plan_ask *ask = &p->ask[i];
	struct draft *d = &p->draft[i];
	unsigned n = idset_count(&d->c.mems);
	char list[128], kinds[MEMORY_KINDS_TEXT_MAX], special[PLAN_SPECIAL_MAX];

	if (!d->c.mems_confined) {
		fprintf(d->why, "\nmemory: not requested, not confined (%u %snode%s)", n,
			p->opts->default_mems == MEMS_ORDINARY ? "ordinary " : "", plural(n));
		return;
	}
	if (idset_format(&d->c.mems, list, sizeof(list)) < 0)
		snprintf(list, sizeof(list), "%d and %u more", idset_next(&d->c.mems, -1), n - 1);
	memory_kinds_format(kinds, machine_kinds(p->m, &d->c.mems));
	fprintf(d->why, "\nmemory: %snode%s %s (%s); %u local, %u remote",
		ask->mems_kind != MEMS_UNSET ? ""
		: local			     ? "not requested, local "
					     : "not requested, no local one: ",
		plural(n), list, kinds, local, n - local);
	if (reused)
		fprintf(d->why, "; %u shared: no other %s%s node is left", reused,
			ask->mems_kind == MEMS_UNSET && local ? "local " : "", kinds);
	plan_format_special(p, special);
	if (*special && ask->mems_kind != MEMS_WANTS)
		fprintf(d->why, "\nspecial memory, for containers that name its kind: %s", special);
}
