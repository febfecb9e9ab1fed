/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_SYNTHETIC_H
#define NODEOS_TOPOLOGY_MACHINE_SYNTHETIC_H

#include "base/errbuf.h"

/*
 * Check that hwloc can take DESCRIPTION ("package:2 core:4 pu:2"; hwloc(7), "Synthetic
 * topologies"): hwloc creates as many objects as the text names, however many, divides by its
 * numbers, even by 0, and gives no reason when it refuses. Returns 0, or -1 with the reason.
 */
int machine_synthetic_check(const char *description, struct errbuf *err);

#endif
