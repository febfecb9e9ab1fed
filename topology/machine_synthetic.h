/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_SYNTHETIC_H
#define NODEOS_TOPOLOGY_MACHINE_SYNTHETIC_H

#include "base/errbuf.h"

/*
 * Check that hwloc can load DESCRIPTION, such as "package:2 core:4 pu:2" (hwloc(7), "Synthetic
 * topologies"). Without this check, hwloc creates any number of objects, divides by 0, and gives no
 * reason for a refusal. Returns 0, or -1 with the reason.
 */
int machine_synthetic_check(const char *description, struct errbuf *err);

#endif
