/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/exchange.h"

#include <stdlib.h>

unsigned exchange_threads(const struct job_plan *plan, unsigned i)
{
	const struct planned_container *c = &plan->container[i];
	struct idset covered;
	unsigned threads = 0;

	idset_zero(&covered);
	for (unsigned k = 0; k < plan->n_cores; k++) {
		struct idset has = plan->core[k], kept = plan->core[k];
		unsigned n;

		idset_and(&has, &c->cpus);
		idset_and(&kept, &c->reserved);
		n = idset_count(&has);
		if (n == 0)
			continue;
		if ((threads && n != threads) || !idset_equal(&kept, &plan->core[k]))
			return 0;
		threads = n;
		idset_or(&covered, &plan->core[k]);
	}
	return idset_equal(&covered, &c->reserved) ? threads : 0;
}

#define NO_CONTAINER (-1)

/* The cores of the plan while they are divided. */
struct division {
	const struct exchange *x;
	int *owner; /* for each core, the container of the group that has it now */
	int *user; /* for each core, the container whose ranks will have it */
	unsigned spare[REQUEST_CONTAINERS_MAX]; /* cores that each container may have in addition */
};

static int division_begin(struct division *d, const struct exchange *x)
{
	const struct job_plan *plan = x->plan;

	*d = (struct division){ .x = x,
				.owner = calloc(plan->n_cores + 1u, sizeof(*d->owner)),
				.user = calloc(plan->n_cores + 1u, sizeof(*d->user)) };
	if (!d->owner || !d->user)
		return -1;
	for (unsigned k = 0; k < plan->n_cores; k++) {
		d->owner[k] = d->user[k] = NO_CONTAINER;
		for (unsigned i = 0; i < plan->n; i++)
			if ((x->group >> i & 1) &&
			    idset_intersects(&plan->container[i].reserved, &plan->core[k])) {
				d->owner[k] = (int)i;
				d->spare[i]++;
			}
		for (unsigned r = 0; r < x->n; r++) {
			if (!idset_intersects(&x->next[r], &plan->core[k]))
				continue;
			if (d->user[k] != NO_CONTAINER && d->user[k] != (int)x->container[r])
				return -1;
			d->user[k] = (int)x->container[r];
		}
	}
	for (unsigned k = 0; k < plan->n_cores; k++) {
		if (d->user[k] == NO_CONTAINER)
			continue;
		if (d->spare[d->user[k]] == 0)
			return -1;
		d->spare[d->user[k]]--;
	}
	return 0;
}

/* A container that may have one more core, or NO_CONTAINER. */
static int division_find_spare(const struct division *d)
{
	for (unsigned i = 0; i < d->x->plan->n; i++)
		if ((d->x->group >> i & 1) && d->spare[i])
			return (int)i;
	return NO_CONTAINER;
}

/* Give each core of the group that no rank will have to a container. */
static void division_give_rest(struct division *d)
{
	const struct job_plan *plan = d->x->plan;

	for (unsigned k = 0; k < plan->n_cores; k++)
		if (d->owner[k] != NO_CONTAINER && d->user[k] == NO_CONTAINER &&
		    d->spare[d->owner[k]]) {
			d->user[k] = d->owner[k];
			d->spare[d->owner[k]]--;
		}
	for (unsigned k = 0; k < plan->n_cores; k++)
		if (d->owner[k] != NO_CONTAINER && d->user[k] == NO_CONTAINER) {
			d->user[k] = division_find_spare(d);
			if (d->user[k] != NO_CONTAINER)
				d->spare[d->user[k]]--;
		}
}

int exchange_cores(struct idset *cpus, struct idset *reserved, const struct exchange *x)
{
	const struct job_plan *plan = x->plan;
	struct division d;
	struct idset all;
	int rc = division_begin(&d, x);

	idset_zero(&all);
	for (unsigned i = 0; i < plan->n; i++) {
		idset_zero(&reserved[i]);
		if (x->group >> i & 1)
			idset_or(&all, &plan->container[i].cpus);
	}
	if (rc == 0)
		division_give_rest(&d);
	for (unsigned k = 0; rc == 0 && k < plan->n_cores; k++)
		if (d.user[k] != NO_CONTAINER)
			idset_or(&reserved[d.user[k]], &plan->core[k]);
	for (unsigned i = 0; i < plan->n; i++) {
		cpus[i] = reserved[i];
		idset_and(&cpus[i], &all);
	}
	free(d.owner);
	free(d.user);
	return rc;
}
