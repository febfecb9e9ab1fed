/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_CHECKLIST_H
#define NODEOS_SERVICEOS_CHECKLIST_H

#include <stdbool.h>

#include "base/json_out.h"
#include "host/conf.h"

/*
 * The checklist of nodeosctl features --noise: what of this node's kernel and system takes time
 * from ranks, what would be better, and how to set it. For kernels of every distribution.
 */
enum checklist_verdict {
	CHECKLIST_GOOD,
	CHECKLIST_NOISE,
	CHECKLIST_UNKNOWN, /* this kernel or machine does not have it */
};

struct checklist_line {
	const char *check; /* a word, the same in every release */
	enum checklist_verdict verdict;
	const char *found, *wanted, *how; /* FOUND is "" if the verdict is CHECKLIST_UNKNOWN */
};

struct checklist {
	int root; /* fd of "/", or of a test's tree */
	const struct conf *conf;
	const struct service_set *service; /* empty: no ServiceOS */
};

/* Call FN for each line of the checklist. Returns 0, or -1 if out of memory. */
int checklist_each(const struct checklist *in,
		   void (*fn)(const struct checklist_line *line, void *arg), void *arg,
		   struct errbuf *err);

/*
 * Print the checklist of this node with the configuration in CONF_PATH: to J as its member "noise",
 * or, if J is NULL, to stdout as text. Returns 0, or -1.
 */
int checklist_print(struct json_out *j, const char *conf_path, struct errbuf *err);

#endif
