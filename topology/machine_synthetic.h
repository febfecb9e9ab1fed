/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOPOLOGY_MACHINE_SYNTHETIC_H
#define NODEOS_TOPOLOGY_MACHINE_SYNTHETIC_H

#include "base/errbuf.h"

/*
 * Is DESCRIPTION ("package:2 core:4 pu:2"; hwloc(7), "Synthetic topologies") one that hwloc may be
 * given? hwloc makes as many objects as it says, divides by what it multiplies, and refuses without
 * a reason. 0, or -1 with the reason.
 */
int machine_synthetic_check(const char *description, struct errbuf *err);

#endif
