/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONTENTION_RECORD_H
#define NODEOS_HOST_CONTENTION_RECORD_H

#include <stdint.h>

#include "base/errbuf.h"
#include "host/contention_message.h"

/*
 * Steps with --nodeos-contention, for a daemon that was not there when their ranks were named: a
 * file of each in STATE_DIR, "contention-INODE" by the inode of the step's cgroup directory, with
 * the text of the message. It decides over nodeos.conf and the containers' requests: its ranks are
 * observed and no others of the step, so without a rank none is. slurmstepd writes it when all
 * ranks are forked and removes it at the step's end; where it was killed, the daemon removes it
 * when the ranks have gone, and one without ranks stays until the directory goes. No lock: a file
 * is replaced as a whole.
 */

/* Write M as the record of the step INODE. Returns 0, or -1 with the reason. */
int contention_record_write(const char *state_dir, uint64_t inode,
			    const struct contention_message *m, struct errbuf *err);
void contention_record_remove(const char *state_dir, uint64_t inode);

/*
 * Call FN with each readable record, which it may remove; M is valid in FN only. Returns 0, or -1
 * with the reason where STATE_DIR cannot be read; no STATE_DIR is no record.
 */
int contention_record_each(const char *state_dir,
			   void (*fn)(uint64_t inode, const struct contention_message *m,
				      void *arg),
			   void *arg, struct errbuf *err);

#endif
