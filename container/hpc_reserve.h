/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_HPC_RESERVE_H
#define NODEOS_CONTAINER_HPC_RESERVE_H

#include <stdbool.h>

#include "base/idset.h"
#include "container/ledger.h"
#include "host/conf.h"
#include "jobplan/job_plan.h"
#include "manifest/request.h"

/*
 * On a node with SCHED_HPC containers, one CPU stays outside of them for the fair class
 * (slurmstepd, PMIx servers, RCU and hotplug threads): on the containers' CPUs, that class gets
 * only the part of each second that the kernel's fair server keeps for it. The CPU outside may be
 * one of a ServiceOS, but not one of a real-time container or a partition.
 */

/* Return whether any container of R takes CPUs from the system. */
bool hpc_reserve_matters(const struct request *r, const struct conf *conf);

/*
 * Remove from OUTSIDE the CPUs that containers of plan P, made from R, take from the system.
 * Returns whether any of them has SCHED_HPC.
 */
bool hpc_take(struct idset *outside, const struct request *r, const struct job_plan *p,
	      const struct conf *conf);

/*
 * As hpc_take(), for every live job, but without the containers of step MY_STEP. Returns 1 if any
 * of them has SCHED_HPC, 0 if none has, or -1 with the reason.
 */
int hpc_take_live(struct idset *outside, struct ledger *l, uint64_t my_step,
		  const struct conf *conf, struct errbuf *err);

/* Remove the CPUs of real-time containers of plan P, made from R, from LEFT. Returns whether P has
 * any. */
bool realtime_take(struct idset *left, const struct request *r, const struct job_plan *p,
		   const struct conf *conf);

/*
 * As realtime_take(), for all plans of JOB, but without the containers of step MY_STEP. Returns -1
 * if out of memory.
 */
int realtime_take_job(struct idset *left, const struct ledger_job *job, uint64_t my_step,
		      const struct conf *conf, struct errbuf *err);

/*
 * OFFER has the CPUs for the containers of R. If all these containers have SCHED_HPC and every CPU
 * of OUTSIDE is in OFFER, remove the first CPU of OUTSIDE from OFFER and return true. THIS_KERNEL:
 * as in outcome_sched().
 */
bool hpc_keep_one(struct idset *offer, const struct idset *outside, const struct request *r,
		  const struct conf *conf, bool this_kernel);

/*
 * Texts for users: why a container lacks one CPU of the job (HPC_KEPT_JOB) or of the node
 * (HPC_KEPT), and the hint for a step that has one rank too many because of HPC_KEPT.
 */
#define HPC_KEPT_JOB "one CPU of the job stays outside of the partition for policy \"hpc\""
#define HPC_KEPT "one CPU of the node stays outside of policy \"hpc\""
#define HPC_KEPT_ONE                                                                 \
	" (" HPC_KEPT ": start one rank fewer on each node, or let the site keep a " \
	"core for the system, a ServiceOS)"

#endif
