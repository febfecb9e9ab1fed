/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_LRIOT_RUN_H
#define NODEOS_DIMMAP_LOAD_LRIOT_RUN_H

#include "dimmap/load/latency.h"
#include "dimmap/load/lriot/disturb.h"
#include "dimmap/load/lriot/errors.h"
#include "dimmap/load/lriot/findings.h"
#include "dimmap/load/lriot/options.h"
#include "dimmap/load/team.h"

/* What came of it. */
struct outcome {
	double seconds; /* from the first thread's start to the last one's end */
	uint64_t reads, writes, checked, syncs;
	uint64_t blocks_before, blocks_after; /* read by --verify */
	struct latency latency; /* of what was sampled */
	struct counts counts; /* of the threads, while they worked */
	struct disturbed disturbed;
	struct errors errors;
	struct findings found;
	bool ran; /* false: what was wrong before kept it from running */
};

/*
 * All that O asks for: the file made, checked, used by processes and threads, checked again. 0 with
 * OUT, whatever has been found wrong; -1 with ERR when it could not be done.
 */
int lriot_run(struct options *o, struct outcome *out, struct errbuf *err);

#endif
