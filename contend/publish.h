/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_PUBLISH_H
#define NODEOS_CONTEND_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "contention/observed.h"

/*
 * Documents of steps in a directory, JOB.STEP.json: root's, readable to root and the step's user
 * alone (a POSIX ACL, as the owner may change a file). A reader sees the old or the new document
 * whole; where the disk is full the old one stays.
 */
#define PUBLISH_DIR "/run/nodeos-contend/steps"
#define PUBLISH_NAME_MAX 48 /* bytes of a document's name with the final NUL */

struct publisher {
	int dir_fd; /* the caller's: root's directory, which others can enter */
	unsigned keep; /* seconds that the document of an ended step stays */
	size_t keep_bytes; /* that these have together at most, at a sweep */
	bool failing; /* the last document could not be written, and this was said */
};

/* Write "JOB.STEP.json" to BUF; returns it. */
const char *publish_name(char buf[PUBLISH_NAME_MAX], const struct observed_step *step);

/*
 * Write the document of STEP, the LEN bytes of TEXT. Returns 0; -1 with the reason, the first time
 * of a row of failures; 1 when it fails like the ones before.
 */
int publish_step(struct publisher *p, const struct observed_step *step, const char *text,
		 size_t len, struct errbuf *err);

/*
 * Of documents of steps that NODE does not have or that have ended there, and of what a killed
 * daemon left, remove those that were last written KEEP seconds or more before NODE's time, and,
 * oldest first, what goes beyond KEEP_BYTES: short steps may be many. Returns how many.
 */
unsigned publish_sweep(struct publisher *p, const struct observed_node *node);

#endif
