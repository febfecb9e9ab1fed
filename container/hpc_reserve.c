/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/hpc_reserve.h"

#include <stdlib.h>

#include "container/outcome.h"

/* Return whether GOT is the class SCHED_HPC. THIS_KERNEL: as in outcome_sched(). */
static bool is_hpc(const struct sched_given *got, bool this_kernel)
{
	return got->policy == POLICY_HPC && (!this_kernel || policy_supported(POLICY_HPC));
}

/* Return whether a container with GOT leaves the system little or no time on its CPUs. */
static bool takes_cpus(const struct sched_given *got)
{
	return is_hpc(got, true) || policy_is_realtime(got->policy) ||
	       got->partition != PARTITION_MEMBER;
}

bool hpc_reserve_matters(const struct request *r, const struct conf *conf)
{
	struct sched_given got;

	for (unsigned i = 0; i < r->n; i++) {
		outcome_sched(&got, &r->container[i], conf, true);
		if (takes_cpus(&got))
			return true;
	}
	return false;
}

bool hpc_take(struct idset *outside, const struct request *r, const struct job_plan *p,
	      const struct conf *conf)
{
	struct sched_given got;
	bool any = false;

	for (unsigned i = 0; i < r->n && i < p->n; i++) {
		outcome_sched(&got, &r->container[i], conf, true);
		if (p->container[i].deleted || !takes_cpus(&got))
			continue;
		idset_andnot(outside, got.partition != PARTITION_MEMBER ? &p->container[i].reserved
									: &p->container[i].cpus);
		any = any || is_hpc(&got, true);
	}
	return any;
}

struct live_walk {
	struct idset *outside;
	bool any;
	uint64_t my_step;
	const struct conf *conf;
	struct request *request; /* scratch space */
};

static void take_text(struct live_walk *k, const char *text, const struct job_plan *p)
{
	struct errbuf ignored;
	struct idset all;

	if (!text || !p)
		return;
	if (request_parse(k->request, text, &ignored) == 0) {
		k->any = hpc_take(k->outside, k->request, p, k->conf) || k->any;
		return;
	}
	/* a request that cannot be parsed is of another release: reserve all CPUs of its plan */
	idset_zero(&all);
	job_plan_reserved(p, &all);
	idset_andnot(k->outside, &all);
	k->any = true;
}

static int hpc_reserve_take_job(const struct ledger_job *job, void *arg)
{
	struct live_walk *k = arg;

	take_text(k, job->request, job->plan);
	for (unsigned i = 0; i < job->n_steps; i++)
		if (job->step[i].inode != k->my_step)
			take_text(k, job->step[i].request, job->step[i].plan);
	return 0;
}

int hpc_take_live(struct idset *outside, struct ledger *l, uint64_t my_step,
		  const struct conf *conf, struct errbuf *err)
{
	struct live_walk k = { outside, false, my_step, conf, malloc(sizeof(struct request)) };
	struct errbuf bad = { 0 };
	int rc;

	if (!k.request)
		return errprintf(err, "out of memory");
	rc = ledger_each(l, hpc_reserve_take_job, &k, NULL, &bad, err);
	free(k.request);
	/*
	 * the sweep removes entries of ended jobs, so an unreadable entry belongs to a live job,
	 * whose ranks may be on any CPU
	 */
	if (rc == 0 && *bad.text)
		rc = errprintf(err,
			       "%s; until the job of this entry has ended, the CPUs that it has "
			       "for policy \"hpc\", real time or a partition are unknown",
			       bad.text);
	return rc < 0 ? -1 : k.any;
}

bool realtime_take(struct idset *left, const struct request *r, const struct job_plan *p,
		   const struct conf *conf)
{
	struct sched_given got;
	bool any = false;

	for (unsigned i = 0; i < r->n && i < p->n; i++) {
		outcome_sched(&got, &r->container[i], conf, true);
		if (policy_is_realtime(got.policy)) {
			idset_andnot(left, &p->container[i].reserved);
			any = true;
		}
	}
	return any;
}

int realtime_take_job(struct idset *left, const struct ledger_job *job, uint64_t my_step,
		      const struct conf *conf, struct errbuf *err)
{
	struct request *r = malloc(sizeof(*r));
	struct errbuf ignored;

	if (!r)
		return errprintf(err, "out of memory");
	if (job->plan && job->request && request_parse(r, job->request, &ignored) == 0)
		realtime_take(left, r, job->plan, conf);
	for (unsigned k = 0; k < job->n_steps; k++)
		if (job->step[k].plan && job->step[k].request && job->step[k].inode != my_step &&
		    request_parse(r, job->step[k].request, &ignored) == 0)
			realtime_take(left, r, job->step[k].plan, conf);
	free(r);
	return 0;
}

bool hpc_keep_one(struct idset *offer, const struct idset *outside, const struct request *r,
		  const struct conf *conf, bool this_kernel)
{
	int first = idset_next(outside, -1);
	struct sched_given got;

	for (unsigned i = 0; i < r->n; i++) {
		outcome_sched(&got, &r->container[i], conf, this_kernel);
		if (!is_hpc(&got, this_kernel))
			return false;
	}
	if (first < 0 || !idset_subset(outside, offer))
		return false;
	idset_del(offer, (unsigned)first);
	return true;
}
