/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/hpc_room.h"

#include <stdlib.h>

#include "container/outcome.h"

static bool is_hpc(const struct request_container *ask, const struct conf *conf, bool this_kernel)
{
	struct sched_given got;

	outcome_sched(&got, ask, conf, this_kernel);
	return got.policy == POLICY_HPC && (!this_kernel || policy_supported(POLICY_HPC));
}

bool hpc_asked(const struct request *r, const struct conf *conf)
{
	for (unsigned i = 0; i < r->n; i++)
		if (is_hpc(&r->container[i], conf, true))
			return true;
	return false;
}

bool hpc_take(struct idset *outside, const struct request *r, const struct node_plan *p, const struct conf *conf)
{
	bool any = false;

	for (unsigned i = 0; i < r->n && i < p->n; i++)
		if (is_hpc(&r->container[i], conf, true)) {
			idset_andnot(outside, &p->container[i].cpus);
			any = true;
		}
	return any;
}

struct live {
	struct idset *outside;
	uint64_t my_step;
	const struct conf *conf;
	struct request *request; /* room for one */
};

static void take_text(struct live *k, const char *text, const struct node_plan *p)
{
	struct errbuf ignored;

	if (text && p && request_parse(k->request, text, &ignored) == 0)
		hpc_take(k->outside, k->request, p, k->conf);
}

static int take_job(const struct ledger_job *job, void *arg)
{
	struct live *k = arg;

	take_text(k, job->request, job->plan);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode != k->my_step)
			take_text(k, job->step[i].request, job->step[i].plan);
	return 0;
}

int hpc_take_live(struct idset *outside, struct ledger *l, uint64_t my_step, const struct conf *conf, struct errbuf *err)
{
	struct live k = { outside, my_step, conf, malloc(sizeof(struct request)) };
	struct errbuf ignored = { "" };
	int rc;

	if (!k.request)
		return errprintf(err, "out of memory");
	rc = ledger_each(l, take_job, &k, NULL, &ignored, err);
	free(k.request);
	return rc;
}

bool hpc_keep_one(struct idset *offer, const struct idset *outside, const struct request *r, const struct conf *conf,
		  bool this_kernel)
{
	int first = idset_next(outside, -1);

	for (unsigned i = 0; i < r->n; i++)
		if (!is_hpc(&r->container[i], conf, this_kernel))
			return false;
	if (first < 0 || !idset_subset(outside, offer))
		return false;
	idset_del(offer, (unsigned)first);
	return true;
}
