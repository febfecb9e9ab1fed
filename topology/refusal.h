/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_REFUSAL_H
#define NODEOS_TOPOLOGY_REFUSAL_H

/*
 * Why a plan, a resize or a rank map is refused: errbuf.code of an error of this room. Callers
 * choose by it the advice that they add: they know of jobs, options and the ServiceOS, this room
 * does not.
 */
enum plan_refusal {
	PLAN_OK, /* no refusal, or an error of another kind: out of memory, no such CPU */
	PLAN_NO_CPUS, /* a container needs more hardware threads than there are for it */
	PLAN_NO_MEMS, /* it needs more memory nodes, or larger ones, than there are for it */
	PLAN_NO_OFFER, /* no CPU, or no memory node, may be given to any container */
	PLAN_BAD_ASK, /* what is asked for is possible on no machine */
	PLAN_NO_RANK_CPUS, /* more ranks than their container has cores (or threads) */
	PLAN_REFUSALS /* how many there are; no refusal itself */
};

#endif
