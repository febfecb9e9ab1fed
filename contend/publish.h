/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_PUBLISH_H
#define NODEOS_CONTEND_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "contention/observed.h"

/*
 * Documents of steps, JOB.STEP.json in one directory. Root owns them: an owner could change its
 * file. A POSIX ACL lets the step's user, and no other user, read its document. Documents are
 * replaced atomically; if the disk is full, the old document stays.
 */
#define PUBLISH_DIR "/run/nodeos-contend/steps"
#define PUBLISH_NAME_MAX 48 /* bytes of a document's name with the final NUL */

struct publisher {
	int dir_fd; /* root's directory, which all users can enter; the caller closes it */
	unsigned keep; /* seconds for which the document of an ended step stays */
	size_t keep_bytes; /* bytes that documents of ended steps may have in total after a sweep */
	/* the last document could not be written, and the caller has got the reason */
	bool failing;
};

/* Write "JOB.STEP.json" to BUF. Returns BUF. */
const char *publish_name(char buf[PUBLISH_NAME_MAX], const struct observed_step *step);

/*
 * Write the LEN bytes of TEXT as the document of STEP. Returns 0; -1 with the reason for the first
 * failure after a success; 1 for each further failure.
 */
int publish_step(struct publisher *p, const struct observed_step *step, const char *text,
		 size_t len, struct errbuf *err);

/*
 * Remove documents of steps that have ended or that NODE does not have, and files left by a killed
 * daemon. First remove files last written KEEP seconds or more before NODE's time; then, because
 * there may be many short steps, remove the oldest until the rest have at most KEEP_BYTES in total.
 * Returns the number of removed files.
 */
unsigned publish_sweep(struct publisher *p, const struct observed_node *node);

#endif
