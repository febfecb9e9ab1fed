/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "migration/exchange.h"
#include "placement/place_ranks.h"

/* A rank of the ledger, with the observations of its processes. */
struct decide_rank {
	const struct ledger_step *step;
	const struct ledger_rank *rank;
	unsigned container; /* number in the plan */
	unsigned seen; /* number of its processes that are observed */
	bool bound; /* the user has bound the rank: its CPUs are not those of the ledger */
	bool outside; /* one of its processes may use CPUs that are not the rank's */
	bool differ; /* two of its processes may use different CPUs */
	const struct idset *first; /* the CPUs of the first process; NULL if SEEN is 0 */
	enum contention_policy policy;
	struct place_rank place;
};

/* An observed process of a rank. */
struct decide_process {
	unsigned rank; /* number of the rank in decide_work */
	const struct observed_rank *seen;
};

struct decide_work {
	const struct decide_input *in;
	const struct job_plan *plan;
	uint64_t group;
	struct request *request;
	struct idset cpus; /* CPUs of all containers of the group */
	unsigned n;
	struct decide_rank *rank;
	unsigned n_processes;
	struct decide_process *process;
};

static const struct job_plan *decide_plan(const struct decide_input *in)
{
	return in->own ? in->own->plan : in->job->plan;
}

/* Return what the request asks for container I of the plan; NULL: the request does not have it. */
static const struct requested_container *decide_ask(const struct decide_work *w, unsigned i)
{
	int found = w->request ? request_find(w->request, w->plan->container[i].name) : -1;

	return found < 0 ? NULL : &w->request->container[found];
}

/* ------------------------------------------------------------------ ranks of the ledger */

static int decide_compare(const void *a, const void *b)
{
	const struct decide_rank *x = a, *y = b;

	if (x->step->inode != y->step->inode)
		return x->step->inode < y->step->inode ? -1 : 1;
	return strcmp(x->rank->task, y->rank->task);
}

/* Return the number of container PLACE in the plan; -1: it is not in the group. */
static int decide_number(const struct decide_work *w, const char *place)
{
	for (unsigned i = 0; i < w->plan->n; i++)
		if ((w->group >> i & 1) && strcmp(w->plan->container[i].name, place) == 0)
			return (int)i;
	return -1;
}

/* Collect the ranks of the group, sorted. Returns 0; -1: out of memory. */
static int decide_collect(struct decide_work *w)
{
	const struct ledger_job *job = w->in->job;
	unsigned n = 0;

	for (unsigned i = 0; i < job->n_steps; i++)
		n += job->step[i].n_placed;
	w->rank = calloc(n + 1u, sizeof(*w->rank));
	if (!w->rank)
		return -1;
	for (unsigned i = 0; i < job->n_steps; i++) {
		const struct ledger_step *s = &job->step[i];

		if (w->in->own ? s != w->in->own : s->plan != NULL)
			continue;
		for (unsigned k = 0; k < s->n_placed; k++) {
			int container = decide_number(w, s->placed[k].place);

			if (container >= 0)
				w->rank[w->n++] = (struct decide_rank){
					.step = s,
					.rank = &s->placed[k],
					.container = (unsigned)container,
					.place = { .cpus = s->placed[k].cpus },
				};
		}
	}
	qsort(w->rank, w->n, sizeof(*w->rank), decide_compare);
	return 0;
}

static struct decide_rank *decide_rank_find(struct decide_work *w, uint64_t step, const char *task)
{
	const struct ledger_step s = { .inode = step };
	struct ledger_rank r;
	const struct decide_rank key = { .step = &s, .rank = &r };

	snprintf(r.task, sizeof(r.task), "%s", task);
	return bsearch(&key, w->rank, w->n, sizeof(*w->rank), decide_compare);
}

/* ------------------------------------------------------------------ observations of ranks */

enum contention_policy decide_policy(const struct observed_step *step,
				     const struct requested_container *ask, const struct conf *conf)
{
	return step->policy != CONTENTION_UNSET ? step->policy
						: contention_of_container(ask, &conf->contention);
}

static void decide_look(struct decide_work *w, struct decide_rank *d,
			const struct observed_step *step, const struct observed_rank *r)
{
	enum rank_class class = classify_for_placement(&r->state);
	double since = w->in->now - r->moved;

	d->policy = decide_policy(step, decide_ask(w, d->container), w->in->conf);
	/* several processes of one task move together: the worst class counts */
	if (!d->seen || class > d->place.class)
		d->place.class = class;
	if (r->state.has_adopted && r->state.adopted > d->place.rate)
		d->place.rate = r->state.adopted;
	if (!d->first)
		d->first = &r->cpus;
	/*
	 * a runtime binds the threads of a rank to some of the rank's CPUs (OMP_PROC_BIND); a user
	 * binds a rank before it has threads
	 */
	d->bound |= !idset_equal(&r->cpus, &d->rank->cpus) &&
		    !(r->threads_differ && idset_subset(&r->cpus, &d->rank->cpus));
	d->outside |= !idset_subset(&r->cpus, &d->rank->cpus);
	d->differ |= !idset_equal(&r->cpus, d->first);
	w->process[w->n_processes++] =
		(struct decide_process){ .rank = (unsigned)(d - w->rank), .seen = r };
	d->place.fixed |= d->bound || (r->moved > 0 && since < w->in->conf->contention.min_move);
	d->seen++;
}

/* Are the processes of D bound apart from each other, all within the rank's own CPUs? */
static bool decide_is_apart(const struct decide_rank *d)
{
	return d->differ && !d->outside;
}

/* Does SCHED_HPC place the container's ranks itself? */
static bool decide_is_topo(const struct decide_work *w, const struct requested_container *ask)
{
	bool named = ask->policy != POLICY_UNSET;
	enum sched_policy p = named ? ask->policy : w->in->conf->default_policy;

	return p == POLICY_HPC && (named ? ask->priority : request_default_priority(p)) == HPC_TOPO;
}

/*
 * Fill the observations of each rank. Returns the policy that places some of the ranks;
 * CONTENTION_UNSET: none is placed.
 */
static enum contention_policy decide_observe(struct decide_work *w)
{
	enum contention_policy policy = CONTENTION_UNSET;

	for (unsigned i = 0; i < w->in->node->n_steps; i++) {
		const struct observed_step *s = &w->in->node->step[i];

		if (s->ended || s->job != w->in->job->job_id)
			continue;
		for (unsigned k = 0; k < s->n; k++) {
			struct decide_rank *d =
				*s->rank[k].task ? decide_rank_find(w, s->inode, s->rank[k].task)
						 : NULL;

			if (d)
				decide_look(w, d, s, &s->rank[k]);
		}
	}
	for (unsigned i = 0; i < w->n; i++) {
		struct decide_rank *d = &w->rank[i];

		d->place.fixed |= decide_is_topo(w, decide_ask(w, d->container)) || !d->seen ||
				  d->step->launching || !contention_places(d->policy);
		if (policy == CONTENTION_UNSET && contention_places(d->policy))
			policy = d->policy;
	}
	return policy;
}

static void decide_end(struct decide_work *w)
{
	free(w->request);
	free(w->rank);
	free(w->process);
}

/* Make room for all observed processes of the job. Returns 0; -1: out of memory. */
static int decide_make_processes(struct decide_work *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->in->node->n_steps; i++)
		if (w->in->node->step[i].job == w->in->job->job_id)
			n += w->in->node->step[i].n;
	w->process = calloc(n + 1u, sizeof(*w->process));
	return w->process ? 0 : -1;
}

/*
 * Begin with GROUP, without the containers that have been deleted or that the request does not
 * have. *POLICY: the policy that places the group; CONTENTION_UNSET: none does. Returns 0; -1: out
 * of memory.
 */
static int decide_begin(struct decide_work *w, const struct decide_input *in, uint64_t group,
			enum contention_policy *policy)
{
	const char *text = in->own ? in->own->request : in->job->request;

	*policy = CONTENTION_UNSET;
	*w = (struct decide_work){ .in = in, .plan = decide_plan(in), .group = group };
	w->request = malloc(sizeof(*w->request));
	if (!w->request)
		return -1;
	if (!text || request_parse(w->request, text, NULL) < 0)
		w->request->n = 0;
	for (unsigned i = 0; i < w->plan->n; i++)
		if (!(group >> i & 1) || w->plan->container[i].deleted || !decide_ask(w, i))
			w->group &= ~(UINT64_C(1) << i);
		else
			idset_or(&w->cpus, &w->plan->container[i].cpus);
	if (decide_collect(w) < 0 || decide_make_processes(w) < 0) {
		decide_end(w);
		return -1;
	}
	if (w->n)
		*policy = decide_observe(w);
	return 0;
}

/* ------------------------------------------------------------------ groups */

/* Does container C have memory nodes of each domain that CPUS are in? */
static bool decide_has_mems(const struct observed_node *node, const struct planned_container *c,
			    const struct idset *cpus)
{
	for (unsigned i = 0; i < node->n_domains; i++)
		if (idset_intersects(&node->domain[i].cpus, cpus) &&
		    !idset_intersects(&node->domain[i].mems, &c->mems))
			return false;
	return true;
}

/*
 * May container I, the only one of W, exchange cores with others? Not if a user has bound one of
 * its ranks: the rank could lose these cores.
 */
static bool decide_may_exchange(const struct decide_work *w, unsigned i)
{
	const struct requested_container *ask = decide_ask(w, i);

	for (unsigned k = 0; k < w->n; k++)
		if (w->rank[k].bound)
			return false;
	return ask && ask->partition == PARTITION_MEMBER && !decide_is_topo(w, ask) &&
	       exchange_threads(w->plan, i) > 0;
}

int decide_groups(uint64_t group[REQUEST_CONTAINERS_MAX], const struct decide_input *in)
{
	const struct job_plan *plan = decide_plan(in);
	enum contention_policy policy, pooled = CONTENTION_UNSET;
	unsigned threads = 0;
	struct idset cpus;
	uint64_t pool = 0, single = 0;
	int n = 0;

	idset_zero(&cpus);
	for (unsigned i = 0; plan && i < plan->n && i < REQUEST_CONTAINERS_MAX; i++) {
		struct decide_work w;

		if (decide_begin(&w, in, UINT64_C(1) << i, &policy) < 0)
			return -1;
		if (policy != CONTENTION_UNSET) {
			if (decide_may_exchange(&w, i) && (!pool || policy == pooled) &&
			    (!pool || exchange_threads(plan, i) == threads)) {
				pool |= UINT64_C(1) << i;
				pooled = policy;
				threads = exchange_threads(plan, i);
				idset_or(&cpus, &plan->container[i].cpus);
			} else {
				single |= UINT64_C(1) << i;
			}
		}
		decide_end(&w);
	}
	for (unsigned i = 0; plan && i < plan->n && i < REQUEST_CONTAINERS_MAX; i++)
		if ((pool >> i & 1) && !decide_has_mems(in->node, &plan->container[i], &cpus)) {
			pool &= ~(UINT64_C(1) << i);
			single |= UINT64_C(1) << i;
		}
	if (pool)
		group[n++] = pool;
	for (unsigned i = 0; i < REQUEST_CONTAINERS_MAX; i++)
		if (single >> i & 1)
			group[n++] = UINT64_C(1) << i;
	return n;
}

/* ------------------------------------------------------------------ the decision */

/* Is there contention in a domain of the group's CPUs? If not, WHY names the highest share. */
static bool decide_is_contended(const struct decide_work *w, char why[DECIDE_WHY_MAX])
{
	const struct conf_contention *conf = &w->in->conf->contention;
	const struct observed_domain *most = NULL;
	uint64_t share, highest = 0;

	for (unsigned i = 0; i < w->in->node->n_domains; i++) {
		const struct observed_domain *d = &w->in->node->domain[i];

		if (!idset_intersects(&d->cpus, &w->cpus) || !d->peak ||
		    d->peak == OBSERVED_UNKNOWN || d->rate == OBSERVED_UNKNOWN)
			continue;
		share = d->rate * 100 / d->peak;
		if (!most || share > highest) {
			most = d;
			highest = share;
		}
	}
	if (!most) {
		snprintf(why, DECIDE_WHY_MAX, "nothing to do: this host counts no misses");
		return false;
	}
	if (highest > conf->busy)
		return true;
	snprintf(why, DECIDE_WHY_MAX,
		 "nothing to do: no contention (domain %d has %u %% of its peak, contention_busy "
		 "is %u %%)",
		 most->id, (unsigned)highest, conf->busy);
	return false;
}

static bool decide_may_move(const struct decide_work *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (!w->rank[i].place.fixed)
			return true;
	return false;
}

/* The decision for a group: the new CPUs of its ranks, and of its containers by their numbers. */
struct decided {
	const struct idset *next;
	struct idset *cpus, *reserved;
};

/* Add the new CPUs of container I to R. Returns 0; -1: out of memory. */
static int decide_fill_place(struct rebind *r, const struct decide_work *w, unsigned i,
			     const struct decided *to)
{
	const struct planned_container *c = &w->plan->container[i];
	struct rebind_place *p = &r->place[r->n];
	bool swaps = !idset_equal(&c->cpus, &to->cpus[i]);

	*p = (struct rebind_place){ .cpus = c->cpus,
				    .next_cpus = to->cpus[i],
				    .reserved = c->reserved,
				    .next_reserved = to->reserved[i],
				    .rank = calloc(w->n + 1u, sizeof(*p->rank)) };
	strcpy(p->name, c->name);
	if (!p->rank)
		return -1;
	for (unsigned k = 0; k < w->n; k++) {
		const struct decide_rank *d = &w->rank[k];
		struct rebind_rank *rank = &p->rank[p->n];

		if (d->container != i || (!swaps && idset_equal(&to->next[k], &d->place.cpus)))
			continue;
		rank->step_inode = d->step->inode;
		strcpy(rank->task, d->rank->task);
		rank->now = d->place.cpus;
		rank->next = to->next[k];
		p->n++;
	}
	if (swaps || p->n)
		r->n++;
	else
		free(p->rank);
	return 0;
}

/* Fill in the new CPUs of each container of the group. Returns 0, or -1. */
static int decide_exchange(const struct decided *to, const struct decide_work *w)
{
	unsigned *container = calloc(w->n + 1u, sizeof(*container));
	const struct exchange x = { .plan = w->plan,
				    .group = w->group,
				    .n = w->n,
				    .container = container,
				    .next = to->next };
	bool alone = (w->group & (w->group - 1)) == 0;
	int rc = -1;

	for (unsigned i = 0; i < w->plan->n; i++) {
		to->cpus[i] = w->plan->container[i].cpus;
		to->reserved[i] = w->plan->container[i].reserved;
	}
	for (unsigned k = 0; container && k < w->n; k++)
		container[k] = w->rank[k].container;
	if (alone)
		rc = 0;
	else if (container)
		rc = exchange_cores(to->cpus, to->reserved, &x);
	free(container);
	return rc;
}

/* Fill OUT->rebind with the ranks whose CPUs change to NEXT. Returns 0, or -1. */
static int decide_fill(struct decision *out, const struct decide_work *w, const struct idset *next)
{
	struct decided to = { .next = next,
			      .cpus = calloc(w->plan->n + 1u, sizeof(*to.cpus)),
			      .reserved = calloc(w->plan->n + 1u, sizeof(*to.reserved)) };
	int rc = -1;

	out->rebind =
		(struct rebind){ .job_inode = w->in->job->inode,
				 .own_inode = w->in->own ? w->in->own->inode : 0,
				 .place = calloc(w->plan->n + 1u, sizeof(*out->rebind.place)) };
	if (to.cpus && to.reserved && out->rebind.place)
		rc = decide_exchange(&to, w);
	for (unsigned i = 0; rc == 0 && i < w->plan->n; i++)
		if (w->group >> i & 1)
			rc = decide_fill_place(&out->rebind, w, i, &to);
	free(to.cpus);
	free(to.reserved);
	return rc;
}

/*
 * List the cores of the group, with the CPUs of each core that the group's containers have. Returns
 * the number of cores.
 */
static unsigned decide_cores(struct idset *core, const struct decide_work *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->plan->n_cores; i++) {
		core[n] = w->plan->core[i];
		idset_and(&core[n], &w->cpus);
		n += !idset_empty(&core[n]);
	}
	return n;
}

/* Write to UNITS the tasks with several processes, as many as fit. */
static void decide_say_units(char units[DECIDE_WHY_MAX], const struct decide_work *w)
{
	size_t used = 0;

	units[0] = '\0';
	for (unsigned i = 0; i < w->n; i++) {
		const struct decide_rank *d = &w->rank[i];
		size_t left = DECIDE_WHY_MAX - used;
		int n;

		if (d->seen < 2)
			continue;
		n = snprintf(units + used, left, "%s%s: %u processes %s", used ? "; " : "",
			     d->rank->task, d->seen,
			     decide_is_apart(d) ? "bound apart stay, as units of their own"
			     : d->bound		? "stay where they are bound"
						: "move as one");
		if (n < 0 || (size_t)n >= left) {
			snprintf(units + used, left, "; ..."); /* dots in place of half a clause */
			return;
		}
		used += (size_t)n;
	}
}

/* The units of a decision. A rank is one, or several if its processes are bound apart. */
struct decide_units {
	unsigned n;
	struct place_rank *unit;
	struct idset *next; /* the new CPUs of each unit */
	unsigned *of; /* the first unit of each rank */
};

static void decide_units_free(struct decide_units *u)
{
	free(u->unit);
	free(u->next);
	free(u->of);
}

/* Make the units of W's ranks. Returns 0; -1: out of memory. */
static int decide_units_make(struct decide_units *u, const struct decide_work *w)
{
	size_t most = 1;

	for (unsigned i = 0; i < w->n; i++)
		most += decide_is_apart(&w->rank[i]) ? w->rank[i].seen + w->in->node->n_domains : 1;
	*u = (struct decide_units){ .unit = calloc(most, sizeof(*u->unit)),
				    .next = calloc(most, sizeof(*u->next)),
				    .of = calloc(w->n + 1u, sizeof(*u->of)) };
	if (u->unit && u->next && u->of)
		return 0;
	decide_units_free(u);
	return -1;
}

/*
 * Add the processes of rank I, which are bound apart, as units that stay. Add the cores of the rank
 * that none of them uses, too, as a unit of unknown class in each domain.
 */
static void decide_add_apart(struct decide_units *u, const struct decide_work *w, unsigned i,
			     const struct place_ask *ask)
{
	struct idset used = { 0 }, rest = { 0 };

	for (unsigned k = 0; k < w->n_processes; k++) {
		const struct observed_rank *r = w->process[k].seen;

		if (w->process[k].rank != i)
			continue;
		idset_or(&used, &r->cpus);
		u->unit[u->n++] = (struct place_rank){
			.cpus = r->cpus,
			.class = classify_for_placement(&r->state),
			.rate = r->state.has_adopted ? r->state.adopted : 0,
			.fixed = true,
		};
	}
	for (unsigned c = 0; c < ask->n_cores; c++)
		if (!idset_intersects(&ask->core[c], &used))
			idset_or(&rest, &ask->core[c]);
	idset_and(&rest, &w->rank[i].rank->cpus);
	for (unsigned k = 0; k < ask->n_domains; k++) {
		struct idset cpus = rest;

		idset_and(&cpus, &ask->domain[k]);
		if (!idset_empty(&cpus))
			u->unit[u->n++] = (struct place_rank){ .cpus = cpus,
							       .class = RANK_UNKNOWN,
							       .fixed = true };
	}
}

/* Place the units of W's ranks; NEXT gets the new CPUs of each rank. */
static enum place_reason decide_place_units(struct decision *out, const struct decide_work *w,
					    struct place_ask *ask, struct idset *next)
{
	struct decide_units u;
	enum place_reason reason;

	if (decide_units_make(&u, w) < 0)
		return PLACE_NO_MEMORY;
	for (unsigned i = 0; i < w->n; i++) {
		u.of[i] = u.n;
		if (decide_is_apart(&w->rank[i]))
			decide_add_apart(&u, w, i, ask);
		else
			u.unit[u.n++] = w->rank[i].place;
	}
	ask->n = u.n;
	ask->rank = u.unit;
	reason = place_ranks(place_policy_find(contention_policy_name(out->policy)), ask, u.next,
			     &out->moves);
	for (unsigned i = 0; i < w->n; i++)
		next[i] = decide_is_apart(&w->rank[i]) ? w->rank[i].place.cpus : u.next[u.of[i]];
	decide_units_free(&u);
	return reason;
}

/* Place the ranks of W. Returns 0; -1: out of memory. */
static int decide_place(struct decision *out, const struct decide_work *w)
{
	const struct observed_node *node = w->in->node;
	struct place_ask ask = { .n_domains = node->n_domains };
	struct idset *core = calloc(w->plan->n_cores + 1u, sizeof(*core));
	struct idset *domain = calloc(node->n_domains + 1u, sizeof(*domain));
	struct idset *next = calloc(w->n + 1u, sizeof(*next));
	enum place_reason reason = PLACE_NO_MEMORY;
	int rc = 0;

	if (core && domain && next) {
		for (unsigned i = 0; i < node->n_domains; i++)
			domain[i] = node->domain[i].cpus;
		ask.n_cores = decide_cores(core, w);
		ask.core = core;
		ask.domain = domain;
		reason = decide_place_units(out, w, &ask, next);
	}
	snprintf(out->why, sizeof(out->why), "%s", place_reason_text(reason));
	if (reason == PLACE_MOVES)
		rc = decide_fill(out, w, next);
	else
		out->moves = 0;
	free(core);
	free(domain);
	free(next);
	return reason == PLACE_NO_MEMORY ? -1 : rc;
}

int decide_group(struct decision *out, const struct decide_input *in, uint64_t group)
{
	struct decide_work w;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (decide_begin(&w, in, group, &out->policy) < 0)
		return -1;
	out->containers = w.group;
	decide_say_units(out->units, &w);
	out->contended = in->conf->contention.when == CONTENTION_WHEN_ALWAYS ||
			 decide_is_contended(&w, out->why);
	if (out->contended && !decide_may_move(&w))
		snprintf(out->why, sizeof(out->why),
			 "nothing to do: each rank is bound by its user, placed by hpc:topo, or "
			 "has moved recently");
	else if (out->contended && out->policy != CONTENTION_UNSET)
		rc = decide_place(out, &w);
	if (rc < 0)
		decision_free(out);
	decide_end(&w);
	return rc;
}

void decision_free(struct decision *d)
{
	rebind_free(&d->rebind);
	d->moves = 0;
}
