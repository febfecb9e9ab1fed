/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_REPORT_H
#define NODEOS_CONTROL_RESIZE_REPORT_H

#include <stdio.h>

#include "control/resize_mems.h"
#include "control/resize_ranks.h"

/* The result of a resize or a deletion, for the caller. */
struct resize_told {
	uint32_t job_id;
	const struct planned_container *before, *after;
	const struct idset *mems_gone;
	const struct mapped *had, *left; /* bytes on MEMS_GONE before and after the change */
	unsigned n;
	struct told_rank *rank; /* ranks whose CPUs have changed */
};

/*
 * Add the changed ranks of both groups to T. The caller may free the groups afterwards. Returns 0,
 * or -1 with the reason.
 */
int resize_told_ranks(struct resize_told *t, const struct rank_group *in,
		      const struct rank_group *rest, struct errbuf *err);
void resize_told_free(struct resize_told *t);

/* Print T as text or JSON, in the form of nodeosctl-resize(1). */
void resize_tell(FILE *out, const struct resize_told *t, bool json);

#endif
