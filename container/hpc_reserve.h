/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_HPC_RESERVE_H
#define NODEOS_CONTAINER_HPC_RESERVE_H

#include <stdbool.h>

#include "base/idset.h"
#include "container/job_plan.h"
#include "container/ledger.h"
#include "host/conf.h"
#include "manifest/request.h"

/*
 * Where containers with SCHED_HPC are, one CPU of a node stays outside of them: whatever is fair
 * (slurmstepd, PMIx servers, RCU and hotplug threads) has but the guard's share of theirs, in steps
 * of a second. Real-time containers and partitions are no place for it either. A ServiceOS is such
 * a CPU.
 */

/* Does any container of R take CPUs from the system? */
bool hpc_reserve_matters(const struct request *r, const struct conf *conf);

/*
 * Take the CPUs that containers of plan P, made of R, take from the system out of OUTSIDE; returns
 * whether any has SCHED_HPC.
 */
bool hpc_take(struct idset *outside, const struct request *r, const struct job_plan *p,
	      const struct conf *conf);

/* Likewise of every live job, but for what step MY_STEP has brought itself: 1, 0, or -1 with a
 * text. */
int hpc_take_live(struct idset *outside, struct ledger *l, uint64_t my_step,
		  const struct conf *conf, struct errbuf *err);

/* Take the CPUs of real-time containers of plan P, made of R, out of LEFT; returns whether there
 * are any. */
bool realtime_take(struct idset *left, const struct request *r, const struct job_plan *p,
		   const struct conf *conf);

/* Likewise of all plans of JOB, but for what step MY_STEP has brought itself; -1: out of memory. */
int realtime_take_job(struct idset *left, const struct ledger_job *job, uint64_t my_step,
		      const struct conf *conf, struct errbuf *err);

/*
 * OFFER, CPUs to be given to the containers of R: when these have SCHED_HPC all of them and OUTSIDE
 * has no CPU beside OFFER, take its first one away. THIS_KERNEL as in outcome_sched().
 */
bool hpc_keep_one(struct idset *offer, const struct idset *outside, const struct request *r,
		  const struct conf *conf, bool this_kernel);

/* Why hpc_keep_one() took one, and the hint when a step needs one rank more than is left. */
#define HPC_KEPT "one CPU of the node stays outside of policy \"hpc\""
#define HPC_KEPT_ONE                                                                 \
	" (" HPC_KEPT ": start one rank fewer on each node, or let the site keep a " \
	"core for the system, a ServiceOS)"

#endif
