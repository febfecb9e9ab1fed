/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_MANIFEST_H
#define NODEOS_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "manifest/json_doc.h"
#include "manifest/request.h"

/*
 * AppC manifests in the NodeOS profile (doc/nodeos-manifest.5) -> the request.
 * Run with the user's rights, by the tools only: it needs json-c.
 */
#define MANIFEST_SIZE_MAX (1024 * 1024)

struct manifest_info {
	bool pod; /* PodManifest, not ImageManifest */
	/* malloc'ed: what each app that has an app.exec runs, a line "NAME WORDS" (app_exec.h) */
	char *apps;
	/* of a failure, the parts of the message; line 0: of the text as a whole */
	struct json_fault fault;
};

/*
 * Read the file PATH ("-": standard input) into *TEXT (malloc'ed; a NUL follows
 * the *LEN bytes). A regular file or a pipe; a named pipe that nobody writes to
 * is given up after ten seconds. -1: "PATH: reason".
 */
int manifest_read_file(char **text, size_t *len, const char *path, struct errbuf *err);

/*
 * Turn a manifest's text, or the #NODEOS lines of a job script, into the request; INFO may be NULL.
 * INFO->apps is the caller's to free. On failure it is NULL, *OUT is untouched, INFO->fault has
 * the place of the mistake, and ERR has the first mistake of the text, one line:
 * "NAME:LINE:COLUMN: PATH.TO.VALUE: what is wrong (allowed: ...)".
 * A request made here passes request_check and is not bound to any node.
 */
int manifest_load(struct request *out, struct manifest_info *info, const char *name_for_messages,
		  const char *text, size_t len, struct errbuf *err);

#endif
