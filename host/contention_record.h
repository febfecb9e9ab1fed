/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONTENTION_RECORD_H
#define NODEOS_HOST_CONTENTION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "host/contention_message.h"

/*
 * Records of steps with --nodeos-contention, for a daemon that did not run when slurmstepd reported
 * the step's ranks. A record is a file of STATE_DIR, "contention-INODE", with the inode of the
 * step's cgroup directory in its name and the text of the message as its content. It overrides
 * nodeos.conf and the containers' requests: exactly its ranks are observed. A record without ranks
 * means that no rank of the step is observed. slurmstepd writes it after all ranks are forked, and
 * removes it at the end of the step. If slurmstepd is killed, the daemon removes the record after
 * its ranks have ended; a record without ranks then stays until STATE_DIR is removed. There is no
 * lock: files are replaced atomically.
 */

/* Write M as the record of the step INODE. Returns 0, or -1 with the reason. */
int contention_record_write(const char *state_dir, uint64_t inode,
			    const struct contention_message *m, struct errbuf *err);
void contention_record_remove(const char *state_dir, uint64_t inode);
/* Return whether the step INODE has a record, readable or not. */
bool contention_record_exists(const char *state_dir, uint64_t inode);

/*
 * Call FN for each readable record. FN may remove the record; M is valid only during the call.
 * Returns 0, or -1 with the reason if STATE_DIR cannot be read; a missing STATE_DIR has no records.
 */
int contention_record_each(const char *state_dir,
			   void (*fn)(uint64_t inode, const struct contention_message *m,
				      void *arg),
			   void *arg, struct errbuf *err);

#endif
