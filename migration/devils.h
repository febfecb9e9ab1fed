/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MIGRATION_DEVILS_H
#define NODEOS_MIGRATION_DEVILS_H

#include "container/ledger.h"
#include "contention/observed.h"
#include "host/conf.h"

/*
 * Record in JOB, whose ranks are loaded, which of its step containers now have ranks of class devil
 * and are placed by a policy. Returns how many names are new; -1: out of memory. No system call.
 */
int devils_note(struct ledger_job *job, const struct observed_node *node, const struct conf *conf);

/*
 * Do what devils_note() does in the ledger's entry of the job with inode JOB, and write the entry
 * if a name is new. If the lock is not free at once, nothing is written, and 0 is returned: a later
 * call writes it. Returns 0, or -1 with the reason.
 */
int devils_record(uint64_t job, int cgroup_fd, const struct observed_node *node,
		  const struct conf *conf, struct errbuf *err);

#endif
