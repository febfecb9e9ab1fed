/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_REFUSAL_H
#define NODEOS_TOPOLOGY_REFUSAL_H

/*
 * Reasons for refusing a plan, a resize or a rank map: values of errbuf.code. By the code, callers
 * choose the advice that they add. Unlike topology/, they know about jobs, options and the
 * ServiceOS.
 */
enum plan_refusal {
	PLAN_OK, /* not a refusal, but another error, such as out of memory */
	PLAN_NO_CPUS, /* a container needs more hardware threads than are available to it */
	/* a container needs more memory nodes, or larger ones, than are available to it */
	PLAN_NO_MEMS,
	PLAN_NO_OFFER, /* there is no CPU, or no memory node, that containers may get */
	PLAN_BAD_ASK, /* no machine can satisfy the request */
	PLAN_NO_RANK_CPUS, /* more ranks than their container has cores (or threads) */
	PLAN_REFUSALS /* number of codes, not a refusal */
};

#endif
