/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_BALANCING_H
#define NODEOS_LWK_BALANCING_H

/*
 * NUMA balancing of Linux unmaps pages to find out which CPU uses them. So a process with the
 * default memory policy has page faults in all of its ordinary memory, which includes the page
 * tables of the machine. Linux spares a process with another policy (vma_policy_mof() in
 * mm/mempolicy.c).
 */

/*
 * Replace the default memory policy of this thread by MPOL_LOCAL, which places memory in the same
 * way. The threads and processes that this thread makes inherit it.
 */
void balancing_stop(void);

/* Set the default policy again if balancing_stop() has replaced it. */
void balancing_allow(void);

#endif
