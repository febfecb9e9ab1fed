/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTROL_RESIZE_REPORT_H
#define NODEOS_CONTROL_RESIZE_REPORT_H

#include <stdio.h>

#include "control/resize_mems.h"
#include "control/resize_ranks.h"

/* What became of a resize, or of a container that is deleted, for who asked for it. */
struct resize_told {
	uint32_t job_id;
	const struct planned_container *before, *after;
	const struct idset *mems_gone;
	const struct mapped *had, *left; /* on mems_gone, before and after */
	unsigned n;
	struct told_rank *rank; /* whose CPUs are others now */
};

/* Note the ranks of both groups (which may be freed then) in T. */
int resize_told_ranks(struct resize_told *t, const struct rank_group *in,
		      const struct rank_group *rest, struct errbuf *err);
void resize_told_free(struct resize_told *t);

/* As text, or as JSON; nodeosctl-resize(1) has the form. */
void resize_tell(FILE *out, const struct resize_told *t, bool json);

#endif
