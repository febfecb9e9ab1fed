/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_BASE_PHYSICAL_NODE_H
#define NODEOS_BASE_PHYSICAL_NODE_H

/* How the kernel has divided physical memory nodes at boot. */
enum node_division {
	NODES_WHOLE,
	NODES_FGMN, /* fgmn= (kernel/patches): blocks for containers, and a home for the system */
	/*
	 * numa=fake=NU of a stock kernel (Documentation/arch/x86/x86_64/boot-options.rst): each
	 * physical node becomes N equal memory nodes, all of which the kernel uses. The first
	 * counts as the home.
	 */
	NODES_FAKE,
};

/* ROOT is the path before "/sys" and "/proc" ("": this system; a test's tree otherwise). */
enum node_division node_division(const char *root);

/*
 * Return the number of the home of the physical node that memory node NODE is a part of. Return
 * NODE itself if it is a home or is not divided, or if the kernel's files cannot be read.
 */
unsigned physical_node(const char *root, enum node_division how, unsigned node);

#endif
