// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the plugin's options, and the model of memory that they set. */
#include "test/simllc/options.h"

#include "base/test/tap.h"

#define MIB ((uint64_t)1 << 20)

/* Parse LINE: at most eight words, separated by commas as in QEMU's argument. */
static int parse(struct options *o, const char *line, char *error, size_t size)
{
	static char text[512];
	char *words[8], *save, *w;
	int n = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (w = strtok_r(text, ",", &save); w && n < 8; w = strtok_r(NULL, ",", &save))
		words[n++] = w;
	error[0] = '\0';
	return options_parse(o, n, words, 8, error, size);
}

static void test_good(void)
{
	struct options o;
	char error[256];

	ok(parse(&o, "out=/f", error, sizeof(error)) == 0 && o.shape.size == 4 * MIB &&
		   o.shape.ways == 16 && o.share == 8 && !o.shape.sample && !o.shape.prefetch &&
		   !o.memory.nodes && !memory_has_time(&o.memory),
	   "options_parse: the default is 4 MiB in 16 ways for all vCPUs, no nodes, no time: %s",
	   error);
	ok(parse(&o, "out=/f,size=512K,ways=8,share=4,prefetch=next", error, sizeof(error)) == 0 &&
		   o.shape.size == MIB / 2 && o.shape.ways == 8 && o.share == 4 && o.shape.prefetch,
	   "options_parse reads size, ways, share and prefetch: %s", error);
	ok(parse(&o, "out=/f,nodes=768M+1G,nodecpus=4,sample=2,miss_ns=80,node_ns=5", error,
		 sizeof(error)) == 0 &&
		   o.memory.nodes == 2 && o.memory.end[0] == 768 * MIB &&
		   o.memory.end[1] == 1792 * MIB && o.memory.node_cpus == 4 &&
		   o.shape.sample == 2 && o.memory.miss_ns == 80 && o.memory.node_ns == 5 &&
		   memory_has_time(&o.memory),
	   "options_parse reads nodes and times: %s", error);
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"size=4M", /* no file */
		"out=",
		"out=/f,colour=red",
		"out=/f,size",
		"out=/f,sizes=4M",
		"out=/f,size=",
		"out=/f,size=4M,size=4M",
		"out=/f,size=-4M",
		"out=/f,size=4MB",
		"out=/f,size=4 M",
		"out=/f,size=99999999999999999999",
		"out=/f,size=17179869185G", /* 2^64 bytes, and 1 GiB */
		"out=/f,size=100",
		"out=/f,ways=0",
		"out=/f,ways=1025",
		"out=/f,share=0",
		"out=/f,prefetch=far",
		"out=/f,prefetch=next,sample=1",
		"out=/f,sample=13",
		"out=/f,nodes=768M+768M",
		"out=/f,nodecpus=4",
		"out=/f,nodes=768M+,nodecpus=8",
		"out=/f,nodes=768M+0,nodecpus=4",
		"out=/f,nodes=768M:768M,nodecpus=4",
		"out=/f,nodes=768M,nodecpus=4", /* of 8 vCPUs */
		"out=/f,remote_ns=50",
		"out=/f,node_ns=5",
		"out=/f,miss_ns=1000001",
	};
	struct options o;
	char error[256];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(parse(&o, bad[i], error, sizeof(error)) == -1 && error[0],
		   "options_parse refuses %s: %s", bad[i], error);
}

static void test_nodes(void)
{
	struct memory m = { .nodes = 4, .node_cpus = 4 };
	const uint64_t gib = 1024 * MIB;

	for (unsigned i = 0; i < 4; i++)
		m.end[i] = (i + 1) * 768 * MIB;
	/* 3 GiB in all. This is more than 2.75 GiB, so a q35 has only 2 GiB of it below 4 GiB. */
	is_int(memory_node(&m, 768 * MIB - 1, MEMORY_PHYSICAL), 0,
	       "memory_node: the first node has the byte before its end");
	is_int(memory_node(&m, 768 * MIB, MEMORY_PHYSICAL), 1,
	       "memory_node: the second node begins where the first one ends");
	is_int(memory_node(&m, 2 * gib - 1, MEMORY_PHYSICAL), 2,
	       "memory_node: the third node has the last byte below the hole");
	is_int(memory_node(&m, 4 * gib, MEMORY_PHYSICAL), 2,
	       "memory_node: the third node continues at 4 GiB");
	is_int(memory_node(&m, 4 * gib + 256 * MIB, MEMORY_PHYSICAL), 3,
	       "memory_node: the fourth node follows the third one");
	is_int(memory_node(&m, 5 * gib, MEMORY_PHYSICAL), -1,
	       "memory_node: returns -1 after the end of RAM");
	is_int(memory_node(&m, 768 * MIB - 1, MEMORY_DOUBLED), 0,
	       "memory_node, doubled: the first node has the byte before its end");
	is_int(memory_node(&m, 768 * MIB, MEMORY_DOUBLED), -1,
	       "memory_node, doubled: returns -1 between two nodes");
	is_int(memory_node(&m, 1536 * MIB, MEMORY_DOUBLED), 1,
	       "memory_node, doubled: the second node begins at twice the size of the first");
	is_int(memory_node(&m, 2 * 3 * 768 * MIB, MEMORY_DOUBLED), 3,
	       "memory_node, doubled: the fourth node begins at twice the size of all previous "
	       "nodes");
	ok(!memory_is_remote(&m, 1, 7) && memory_is_remote(&m, 1, 8) &&
		   memory_is_remote(&m, 0, 4) && !memory_is_remote(&m, -1, 0),
	   "memory_is_remote: node 1 has CPUs 4 to 7; an unknown node is not remote");
	m.nodes = 0;
	is_int(memory_node(&m, 0, MEMORY_PHYSICAL), -1,
	       "memory_node: returns -1 if no nodes are known");
}

static void test_time(void)
{
	struct memory m = { .nodes = 2, .node_cpus = 1, .miss_ns = 80, .remote_ns = 50 };

	is_int(memory_charge(&m, 0, false, 1, 1000, 0), 80, "memory_charge: a miss costs 80 ns");
	is_int(memory_charge(&m, 0, true, 1, 1000, 80), 210,
	       "memory_charge: a remote miss adds 80 + 50 ns to a debt of 80 ns");
	is_int(memory_charge(&m, 0, false, 8, 1000, 0), 640,
	       "memory_charge: a miss that stands for eight costs 640 ns");
	m = (struct memory){ .nodes = 2, .node_cpus = 1, .node_ns = 100 };
	is_int(memory_charge(&m, 0, false, 1, 1000, 0), 100,
	       "memory_charge: a line from an idle controller costs 100 ns");
	is_int(memory_charge(&m, 0, false, 1, 1000, 0), 200,
	       "memory_charge: a second line waits for the first one");
	is_int(memory_charge(&m, 1, false, 1, 1000, 0), 100,
	       "memory_charge: the other node's controller is idle");
	is_int(memory_charge(&m, 0, false, 1, 1150, 0), 150,
	       "memory_charge: a line costs 50 ns for earlier lines and 100 ns for itself");
	is_int(memory_charge(&m, 0, false, 1, 9000, 0), 100,
	       "memory_charge: a line costs 100 ns, even after idle time of the controller");
	is_int(memory_charge(&m, 0, false, 1, 9000, 500), 500,
	       "memory_charge: a debt longer than the queue stays the same");
	is_int(memory_charge(&m, -1, false, 1, 9000, 7), 7,
	       "memory_charge: a line without a node waits in no queue");
	is_int(memory_enqueue(&m, 1, 3, 20000), 20300,
	       "memory_enqueue: three lines take 300 ns, three times as long as one");
}

int main(void)
{
	test_good();
	test_refused();
	test_nodes();
	test_time();
	return tap_done();
}
