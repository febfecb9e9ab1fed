/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_MANIFEST_H
#define NODEOS_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "manifest/json_doc.h"
#include "manifest/request.h"

/*
 * Turns AppC manifests in the NodeOS profile (doc/nodeos-manifest.5) into the request. Needs
 * json-c, so only tools use it, with the user's rights.
 */
#define MANIFEST_SIZE_MAX (1024 * 1024)

struct manifest_info {
	bool pod; /* PodManifest, not ImageManifest */
	/*
	 * malloc'ed: the command of each app that has app.exec, as lines "NAME WORDS" (app_exec.h)
	 */
	char *apps;
	/* the parts of a failure's message; line 0: the text as a whole */
	struct json_fault fault;
};

/*
 * Read the file PATH ("-": standard input) into *TEXT (malloc'ed; a NUL follows the *LEN bytes).
 * PATH must be a regular file or a pipe; a read of a named pipe without a writer fails after ten
 * seconds. Returns 0, or -1 with "PATH: reason".
 */
int manifest_read_file(char **text, size_t *len, const char *path, struct errbuf *err);

/*
 * Turn a manifest's text, or the #NODEOS lines of a job script, into the request. INFO may be NULL;
 * the caller frees INFO->apps. On failure INFO->apps is NULL, *OUT is untouched, INFO->fault has
 * the place of the mistake, and ERR has the first mistake of the text in one line:
 * "NAME:LINE:COLUMN: PATH.TO.VALUE: what is wrong (allowed: ...)". The request passes
 * request_check() and is not bound to any node.
 */
int manifest_load(struct request *out, struct manifest_info *info, const char *name_for_messages,
		  const char *text, size_t len, struct errbuf *err);

#endif
