/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_PUBLISH_H
#define NODEOS_CONTEND_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "contention/observed.h"

/*
 * Documents of steps, JOB.STEP.json in one directory. Root owns them, and of other users only the
 * step's can read them: by a POSIX ACL, as an owner could change them. They are replaced
 * atomically; if the disk is full the old document stays.
 */
#define PUBLISH_DIR "/run/nodeos-contend/steps"
#define PUBLISH_NAME_MAX 48 /* bytes of a document's name with the final NUL */

struct publisher {
	int dir_fd; /* the caller's: root's directory, which others can enter */
	unsigned keep; /* seconds that the document of an ended step stays */
	size_t keep_bytes; /* that these have together at most, at a sweep */
	bool failing; /* the last document could not be written, and this was said */
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
 * Of documents of steps that NODE does not have or that have ended there, and of what a killed
 * daemon left, remove those that were last written KEEP seconds or more before NODE's time, and,
 * oldest first, what goes beyond KEEP_BYTES: short steps may be many. Returns how many.
 */
unsigned publish_sweep(struct publisher *p, const struct observed_node *node);

#endif
