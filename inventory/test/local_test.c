/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find the node of CPUs in a tree that replaces /sys/devices/system/node. test/guest/move.py checks
 * in a guest with two memory nodes that pages follow their CPUs.
 */
#include "inventory/local.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static void check_homes(void)
{
	/* node 0 has CPUs and memory, node 2 CPUs only, node 3 memory only, node 5 both */
	static const struct {
		const char *cpus;
		int home;
	} row[] = {
		{ "0", 0 },    { "0-3", 0 },  { "3-4", -1 }, { "4-5", -1 },
		{ "8,10", 5 }, { "0,8", -1 }, { "", -1 },    { "12", -1 },
	};
	struct move_nodes nodes;
	struct errbuf err = { 0 };
	struct idset cpus;
	char path[96];
	int dir;

	scratch_make();
	scratch_dir("nodes/node0");
	scratch_dir("nodes/node2");
	scratch_dir("nodes/node5");
	scratch_file("nodes/has_cpu", "0,2,5\n");
	scratch_file("nodes/has_memory", "0,3,5\n");
	scratch_file("nodes/node0/cpulist", "0-3\n");
	scratch_file("nodes/node2/cpulist", "4-7\n");
	scratch_file("nodes/node5/cpulist", "8-11\n");
	snprintf(path, sizeof(path), "%s/nodes", scratch);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(move_nodes_read(&nodes, dir, &err), 0, "move_nodes_read: reads three nodes");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		cpus = set_of(row[i].cpus);
		is_int(move_nodes_home(&nodes, &cpus), row[i].home,
		       "move_nodes_home: gives %d for CPUs \"%s\"", row[i].home, row[i].cpus);
	}
	move_nodes_free(&nodes);
	scratch_file("nodes/node5/cpulist", "x\n");
	ok(move_nodes_read(&nodes, dir, &err) < 0,
	   "move_nodes_read: refuses a list without numbers");
	close(dir);
}

int main(void)
{
	check_homes();
	return tap_done();
}
