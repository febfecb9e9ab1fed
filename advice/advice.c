/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "advice/advice.h"

#include "advice/advice_impl.h"

#define CPUS_MAX 1000000u /* the largest number of CPUs of a node or of a container */

const struct advice_weights advice_weights_default = { .devils = 4, .power = 1, .parting = 2 };
const struct advice_search advice_search_default = { .exact_nodes = 16,
						     .exact_states = 200000,
						     .ahead_nodes = 64 };

const char *advice_kind_name(enum advice_kind kind)
{
	static const char *const name[] = { "idle", "room", "swap" };

	return name[kind];
}

/* Refuse numbers and indices that are out of their range. */
static int check_advice_site(const struct advice_site *site, struct errbuf *err)
{
	const struct advice_weights *w = &site->weights;

	if (site->n_nodes > ADVICE_NODES_MAX || site->n > ADVICE_CONTAINERS_MAX)
		return errprintf(err, "the site has more than %d nodes or %d containers",
				 ADVICE_NODES_MAX, ADVICE_CONTAINERS_MAX);
	if (w->devils > ADVICE_WEIGHT_MAX || w->power > ADVICE_WEIGHT_MAX ||
	    w->parting > ADVICE_WEIGHT_MAX)
		return errprintf(err, "a weight of the cost is above %u, the largest allowed",
				 ADVICE_WEIGHT_MAX);
	for (unsigned i = 0; i < site->n_nodes; i++)
		if (site->node[i].cpus > CPUS_MAX || site->node[i].taken > site->node[i].cpus)
			return errprintf(
				err, "node %u has more than %u CPUs, or more taken CPUs than CPUs",
				i, CPUS_MAX);
	for (unsigned i = 0; i < site->n; i++)
		if (site->container[i].node >= site->n_nodes || site->container[i].cpus < 1 ||
		    site->container[i].cpus > CPUS_MAX)
			return errprintf(err,
					 "container %u: its node does not exist, or its CPUs are "
					 "not 1 to %u",
					 i, CPUS_MAX);
	return 0;
}

static int check_room(const struct layout *l, struct errbuf *err)
{
	for (unsigned i = 0; i < l->site->n_nodes; i++)
		if (l->used[i] > l->site->node[i].cpus)
			return errprintf(err, "node %u has more CPUs in use than it has", i);
	return 0;
}

int advice_make(struct advice *out, const struct advice_site *site,
		const struct advice_search *search, struct errbuf *err)
{
	struct layout l;
	int rc = 0;

	out->n = 0;
	out->exact = false;
	if (check_advice_site(site, err) < 0)
		return -1;
	if (layout_open(&l, site) < 0)
		return errprintf(err, "out of memory");
	if (check_room(&l, err) < 0) {
		layout_close(&l);
		return -1;
	}
	out->before = out->after = layout_cost(&l);
	if (site->n_nodes <= search->exact_nodes)
		rc = advice_search_all(out, &l, search->exact_states);
	out->exact = rc > 0;
	if (rc == 0)
		advice_search_greedy(out, &l, site->n_nodes <= search->ahead_nodes);
	layout_close(&l);
	return rc < 0 ? errprintf(err, "out of memory") : 0;
}
