/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's files in a scratch directory: two physical nodes of 4 CPUs. The first is divided
 * into two blocks (2, 3); node 1 is undivided; less than nine tenths of node 4 and less than half
 * of node 5 are usable; node 6 has no near CPU.
 */
#include "host/blocks.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define NODE "sys/devices/system/node"
#define PAGE UINT64_C(4096)
#define HUGE ((3 * UINT64_C(2048) + 4096) << 10) /* bytes of huge pages of node 2, of two sizes */

static void write_file(const char *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void write_file(const char *text, const char *fmt, ...)
{
	char path[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	scratch_write(path, text);
}

/* Append a zone in the form of /proc/zoneinfo; "high:" of the per-CPU lists is no watermark. */
static void append_zone(char *text, size_t size, unsigned node, const char *name, unsigned high,
			unsigned present, unsigned managed)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used,
		 "Node %u, zone %8s\n  pages free     %u\n        boost    0\n        min      1\n "
		 "       low      2\n        high     %u\n        promo    9\n"
		 "        spanned  %u\n        present  %u\n        managed  %u\n  pagesets\n    "
		 "cpu: 0\n              count:    1\n              high:     777\n",
		 node, name, managed, high, present, present, managed);
}

static void make_machine(void)
{
	static const struct {
		unsigned node, home;
		const char *cpus;
	} nodes[] = { { 0, 0, "0-3" }, { 1, 1, "4-7" }, { 2, 0, "" }, { 3, 0, "" },
		      { 4, 0, "" },    { 5, 0, "" },	{ 6, 6, "" } };
	char text[8192] = "", number[16];

	write_file("1\n", "sys/kernel/mm/fgmn/enabled");
	write_file("0-6\n", NODE "/has_memory");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		snprintf(number, sizeof(number), "%u\n", nodes[i].home);
		write_file(number, NODE "/node%u/physical_node", nodes[i].node);
		snprintf(number, sizeof(number), "%s\n", nodes[i].cpus);
		write_file(number, NODE "/node%u/cpulist", nodes[i].node);
	}
	append_zone(text, sizeof(text), 0, "DMA", 10, 4000, 3900);
	append_zone(text, sizeof(text), 0, "DMA32", 100, 50000, 48000);
	append_zone(text, sizeof(text), 0, "Movable", 0, 0, 0);
	append_zone(text, sizeof(text), 1, "Normal", 100, 50000, 49000);
	append_zone(text, sizeof(text), 2, "Normal", 50, 32768, 32200);
	append_zone(text, sizeof(text), 3, "Normal", 50, 32768, 32100);
	append_zone(text, sizeof(text), 4, "Normal", 50, 32768, 20000);
	append_zone(text, sizeof(text), 5, "Normal", 50, 32768, 10000);
	append_zone(text, sizeof(text), 6, "Normal", 50, 50000, 49000);
	write_file(text, "proc/zoneinfo");
	write_file("Node 2 MemTotal:         128800 kB\nNode 2 KernelStack:          16 kB\nNode 2 "
		   "PageTables:         4 kB\nNode 2 SecPageTables:         0 kB\n"
		   "Node 2 Slab:         400 kB\nNode 2 SReclaimable:       300 kB\nNode 2 "
		   "SUnreclaim:    "
		   "     100 kB\nNode 2 Shmem:         40 kB\nNode 2 HugePages_Total:     3\n",
		   NODE "/node2/meminfo");
	write_file("3\n", NODE "/node2/hugepages/hugepages-2048kB/nr_hugepages");
	write_file("1\n", NODE "/node2/hugepages/hugepages-4096kB/nr_hugepages");
}

static int load_blocks(struct blocks *b, struct errbuf *err)
{
	char state[128];

	snprintf(state, sizeof(state), "%s/state", scratch);
	return blocks_load(b, state, scratch, err);
}

static void check_blocks(const struct blocks *b, const char *how)
{
	struct idset two = set_of("2"), both = set_of("2,3");

	ok(b->on && b->n == 7, "%s: finds the divided nodes, seven memory nodes in all", how);
	is(list_of(&b->special), "6", "%s: node 6 is special, because no CPU is near", how);
	is(list_of(&b->homes), "0", "%s: node 0 is the home of a divided node", how);
	is(list_of(&b->nodes), "1-4", "%s: nodes for containers are at least half usable", how);
	is(list_of(&b->poor), "4", "%s: node 4, of which less than nine tenths are usable, is poor",
	   how);
	is(list_of(&b->taken), "5", "%s: node 5, of which less than half is usable, is taken", how);
	ok(blocks_usable(b, &two) == (32200 - 50) * PAGE - HUGE,
	   "%s: usable bytes are managed minus high watermarks and huge pages", how);
	ok(blocks_usable(b, &both) == (32200 - 50 + 32100 - 50) * PAGE - HUGE,
	   "%s: usable bytes of two nodes are their sum", how);
	ok(blocks_usable_now(b, scratch, &two) ==
		   (32200 - 50) * PAGE - HUGE - ((16 + 4 + 100 + 40) << 10),
	   "%s: bytes usable now exclude those of the kernel and of files in memory", how);
}

static void check_near(const struct blocks *b)
{
	struct idset out, cpus = set_of("2"), far = set_of("5-6");

	blocks_near(b, scratch, &b->nodes, &cpus, &out);
	is(list_of(&out), "2-4", "blocks_near: CPU 2 is near the blocks of node 0");
	blocks_near(b, scratch, &b->nodes, &far, &out);
	is(list_of(&out), "1", "blocks_near: CPUs 5 and 6 are near the undivided node");
}

static void check_damaged(const char *text, const char *why)
{
	struct errbuf err = { 0 };
	struct blocks b;

	write_file(text, "state/" BLOCKS_FILE);
	ok(load_blocks(&b, &err) == 0 && strstr(err.text, why),
	   "blocks_load: reads the kernel's files if its file is damaged: %s", err.text);
	check_blocks(&b, "blocks_load, damaged file");
	blocks_free(&b);
}

int main(void)
{
	struct errbuf err = { 0 };
	struct blocks b;
	int dir;

	scratch_make();
	scratch_dir("state");
	ok(load_blocks(&b, &err) == 0 && !b.on && b.n == 0 && idset_empty(&b.nodes),
	   "blocks_load: a kernel without fgmn= has no blocks");
	make_machine();
	ok(blocks_are_on(scratch), "blocks_are_on: true for a kernel with fgmn=");
	ok(load_blocks(&b, &err) == 0,
	   "blocks_load: reads the kernel's files if no file is saved %s", err.text);
	check_blocks(&b, "blocks_load, kernel's files");
	check_near(&b);
	{
		char state[128];

		snprintf(state, sizeof(state), "%s/state", scratch);
		dir = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	ok(dir >= 0 && blocks_save(dir, &b, &err) == 0, "blocks_save: writes the file %s",
	   err.text);
	close(dir);
	blocks_free(&b);
	write_file("", "proc/zoneinfo");
	ok(load_blocks(&b, &err) == 0, "blocks_load: reads the saved file %s", err.text);
	check_blocks(&b, "blocks_load, saved file");
	blocks_free(&b);
	make_machine();
	check_damaged("", "written by another version");
	check_damaged("nodeos-blocks 1\nnode 2 home 0 usable 1 present 1\n", "truncated");
	check_damaged(
		"nodeos-blocks 1\nnode 2 home 0 usable 1 present 1\nnode 2 home 0 usable 1 present "
		"1\nend\n",
		"bad line");
	check_damaged("nodeos-blocks 1\nnode 99999 home 0 usable 1 present 1\nend\n", "bad line");
	check_damaged("nodeos-blocks 1\nnode 2 home\n", "bad line");
	write_file("0\n", "sys/kernel/mm/fgmn/enabled");
	ok(load_blocks(&b, &err) == 0 && !b.on,
	   "blocks_load: a damaged file is ignored on a kernel without blocks");
	write_file("1\n", "sys/kernel/mm/fgmn/enabled");
	write_file("0-x\n", NODE "/has_memory");
	ok(blocks_read(&b, scratch, &err) < 0 && strstr(err.text, "has_memory"),
	   "blocks_read: refuses a text that the kernel never writes: %s", err.text);
	return tap_done();
}
