/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LOOP_H
#define NODEOS_CONTEND_LOOP_H

#include <stdbool.h>

#include "base/errbuf.h"

#define CONTEND_RUN_DIR "/run/nodeos-contend"

struct loop_options {
	const char *conf; /* path of nodeos.conf */
	/* a test's directory with proc and sys that replaces "/"; NULL: use "/" */
	const char *root;
	const char *run_dir; /* directory of the socket, the documents and the state */
	bool once; /* scan once, read counters, write documents, and return */
};

/*
 * Observe this host until SIGTERM or SIGINT. SIGHUP makes it read nodeos.conf again; if the file
 * has a fault or its settings cannot be used, the old settings stay, and the log has the reason.
 * Returns 0, or -1 with the reason why the daemon could not begin.
 */
int loop_run(const struct loop_options *opt, struct errbuf *err);

#endif
