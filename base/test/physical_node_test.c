/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/physical_node.h"

#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define NODE_DIR "sys/devices/system/node"

/* Two physical nodes, numa=fake=2U: the distances that Linux 6.12 shows. */
static void test_fake(void)
{
	static const char first[] = "10 10 20 20\n", second[] = "20 20 10 10\n";

	scratch_write("proc/cmdline", "root=/dev/vda numa=fake=2U quiet\n");
	scratch_write(NODE_DIR "/online", "0-3\n");
	scratch_write(NODE_DIR "/node0/distance", first);
	scratch_write(NODE_DIR "/node1/distance", first);
	scratch_write(NODE_DIR "/node2/distance", second);
	scratch_write(NODE_DIR "/node3/distance", second);
	is_int(node_division(scratch), NODES_FAKE, "numa=fake=2U: nodes are divided");
	for (unsigned node = 0; node < 4; node++)
		is_int((int)physical_node(scratch, NODES_FAKE, node), node / 2 * 2,
		       "numa=fake=2U: the home of node %u is the first of its physical node", node);
	scratch_write("proc/cmdline", "numa=fake=4G\n");
	is_int(node_division(scratch), NODES_WHOLE,
	       "numa=fake=4G: nodes are whole, because nodes of a size may span physical nodes");
	scratch_write("proc/cmdline", "xnuma=fake=2U numa=fakes=2U\n");
	is_int(node_division(scratch), NODES_WHOLE,
	       "xnuma=fake=2U and numa=fakes=2U: nodes are whole");
	scratch_write("proc/cmdline", "numa=fake=off numa=fake=2U");
	is_int(node_division(scratch), NODES_FAKE, "numa=fake=2U may be the last word");
}

/* Node numbers with a gap. A line of distances has only the nodes that are online. */
static void test_gap(void)
{
	scratch_write(NODE_DIR "/online", "0,4-5\n");
	scratch_write(NODE_DIR "/node0/distance", "10 21 21\n");
	scratch_write(NODE_DIR "/node4/distance", "21 10 10\n");
	scratch_write(NODE_DIR "/node5/distance", "21 10 10\n");
	is_int((int)physical_node(scratch, NODES_FAKE, 5), 4,
	       "nodes 0, 4 and 5: node 5 is a part of node 4");
	is_int((int)physical_node(scratch, NODES_FAKE, 0), 0, "nodes 0, 4 and 5: node 0 is whole");
}

/* The kernel has ignored the parameter. */
static void test_ignored(void)
{
	scratch_write(NODE_DIR "/online", "0-1\n");
	scratch_write(NODE_DIR "/node0/distance", "10 20\n");
	scratch_write(NODE_DIR "/node1/distance", "20 10\n");
	is_int(node_division(scratch), NODES_WHOLE,
	       "numa=fake=2U, ignored by the kernel: nodes are whole");
	scratch_write(NODE_DIR "/node1/distance", "rubbish\n");
	is_int((int)physical_node(scratch, NODES_FAKE, 1), 1,
	       "unreadable distances: node 1 counts as whole");
	is_int((int)physical_node(scratch, NODES_FAKE, 7), 7, "a missing node counts as whole");
}

static void test_fgmn(void)
{
	scratch_write("sys/kernel/mm/fgmn/enabled", "0\n");
	scratch_write(NODE_DIR "/node5/physical_node", "1\n");
	is_int(node_division(scratch), NODES_WHOLE, "fgmn= is off: nodes are whole");
	is_int((int)physical_node(scratch, NODES_WHOLE, 5), 5, "fgmn= is off: node 5 is whole");
	scratch_write("sys/kernel/mm/fgmn/enabled", "1\n");
	is_int(node_division(scratch), NODES_FGMN, "fgmn= takes precedence over numa=fake=");
	is_int((int)physical_node(scratch, NODES_FGMN, 5), 1,
	       "fgmn=: the kernel's file physical_node gives the node");
	scratch_write(NODE_DIR "/node5/physical_node", "4096000\n");
	is_int((int)physical_node(scratch, NODES_FGMN, 5), 5,
	       "fgmn=: with a number out of range in physical_node, node 5 counts as whole");
}

int main(void)
{
	scratch_make();
	test_fake();
	test_gap();
	test_ignored();
	test_fgmn();
	return tap_done();
}
