/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_HOST_CPUS_H
#define NODEOS_GUEST_HOST_CPUS_H

#include "base/errbuf.h"
#include "base/idset.h"
#include "guest/shape.h"
#include "topology/machine.h"

/*
 * Write to SHAPE the CPUs of M that are in CPUS, and the memory nodes of M that are in MEMS. Each
 * other node of M with some of these CPUs follows, as a node without memory. *MEMORY is the number
 * of nodes with memory. Distances are those of M. guest_shape_divide() and guest_shape_fit() do the
 * rest. Returns 0, or -1.
 */
int guest_host_shape(struct guest_shape *shape, unsigned *memory, const struct machine *m,
		     const struct idset *cpus, const struct idset *mems, struct errbuf *err);

#endif
