/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_BALANCING_H
#define NODEOS_LWK_BALANCING_H

/*
 * Linux's NUMA balancing (mm/mempolicy.c, vma_policy_mof()) takes pages out of page tables to see
 * which CPU uses them: page faults in all ordinary memory of a process whose memory policy is the
 * default one, among it the page tables of the machine. A process with a policy of its own is
 * left alone.
 */

/* Set MPOL_LOCAL, which gives memory as the default policy does, in place of the default policy of
 * this thread and of the threads and processes that it makes. */
void balancing_stop(void);

/* Set the default policy again if balancing_stop() has replaced it. */
void balancing_allow(void);

#endif
