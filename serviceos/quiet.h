/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_QUIET_H
#define NODEOS_SERVICEOS_QUIET_H

#include <stdint.h>

#include "host/conf.h"

/*
 * Settings of the kernel that keep its work off the CPUs of live partitions (partition_quiet of
 * nodeos.conf), and that are put back when the partitions have ended: interrupts, kernel threads
 * that can be moved, the kernel's own moves of pages, and idle states of these CPUs. Earlier values
 * are in a journal of their own (serviceos/journal.h) in DIR, state_dir; the caller has locked it.
 * ROOT is the fd of "/", or of a test's tree.
 */
#define QUIET_FILE "quiet.undo"

/*
 * Before CPUs become a partition: note which CPUs each kernel thread that can be moved may use, if
 * WORDS selects kernel threads. Linux itself takes the partition's CPUs from all of these threads.
 * At the partition's end, Linux gives all CPUs to each, even to kswapd and kcompactd, which had the
 * CPUs of their memory node. Returns 0, or -1 when the journal cannot be written.
 */
int quiet_note(int root, int dir, uint32_t words, struct errbuf *err);

/*
 * Make the settings that the bits WORDS (enum quiet) select for CPUS, all CPUs of live partitions.
 * Changes only values that differ. A setting that this kernel does not have or change is left as it
 * is. Returns 0, or -1 when the journal cannot be written: nothing more is changed then.
 */
int quiet_claim(int root, int dir, uint32_t words, const struct idset *cpus, struct errbuf *err);

/*
 * Put back what was noted and what quiet_claim() has changed, except for CPUS, the CPUs of
 * partitions that are still live. Does nothing without a journal. Idempotent.
 */
int quiet_return(int root, int dir, const struct idset *cpus, struct errbuf *err);

#endif
