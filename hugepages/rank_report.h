/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_RANK_REPORT_H
#define NODEOS_HUGEPAGES_RANK_REPORT_H

#include "base/idset.h"
#include "base/json_out.h"
#include "hugepages/rank_counts.h"
#include "hugepages/reserve.h"

/*
 * Write member "lwk" of a rank in a report: the rank's extent as in E, on memory nodes MEMS; how
 * contiguous it is (OWN; if OWN->RUNS is 0, E's proof of all ranks); and what the rank's machine
 * has counted (C).
 */
void rank_report_json(struct json_out *j, const struct reserve_given *e, const struct idset *mems,
		      const struct page_runs *own, const struct rank_counted *c);

/*
 * Write member "guest" of a rank in a report: the memory of the guest in which this rank and
 * others, RANKS in all, run. The memory is EXTENTS extents of E, one on each of MEMS.
 */
void guest_report_json(struct json_out *j, const struct reserve_given *e, unsigned extents,
		       const struct idset *mems, unsigned ranks);

#endif
