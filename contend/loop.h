/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTEND_LOOP_H
#define NODEOS_CONTEND_LOOP_H

#include <stdbool.h>

#include "base/errbuf.h"

#define CONTEND_RUN_DIR "/run/nodeos-contend"

struct loop_options {
	const char *conf; /* path of nodeos.conf */
	const char *root; /* a test's tree in place of "/", with proc and sys; NULL */
	const char *run_dir; /* of the socket, documents and state */
	bool once; /* look, read, write documents, and end */
};

/*
 * Observe this host until a signal ends it (SIGTERM, SIGINT). SIGHUP reads nodeos.conf anew; where
 * that has a fault, or cannot be followed, all stays as it was, and the log has the reason. Returns
 * 0, or -1 with the reason why it could not begin.
 */
int loop_run(const struct loop_options *opt, struct errbuf *err);

#endif
