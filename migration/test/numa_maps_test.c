/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/numa_maps.h"

#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct numa_mapping m;

static bool parse(const char *line)
{
	struct errbuf err = { 0 };
	int rc;

	memset(&m, 0x5a, sizeof(m));
	rc = numa_mapping_parse(&m, line, &err);
	if (rc < 0 && !*err.text)
		bail("a refusal without a reason: %s", line);
	return rc == 0;
}

/* As Linux 6.12 writes them. */
static void lines(void)
{
	ok(parse("7f0000000000 default anon=5 dirty=5 active=0 N0=3 N1=2 kernelpagesize_kB=4\n"),
	   "numa_maps: reads a mapping on two nodes");
	ok(m.start == 0x7f0000000000 && m.anon == 5 && m.n == 2 && !m.file && !m.huge,
	   "numa_maps: reads the address and the number of anonymous pages");
	ok(m.on[0].node == 0 && m.on[0].bytes == 12288 && m.on[1].node == 1 &&
		   m.on[1].bytes == 8192,
	   "numa_maps: bytes are pages of 4 KiB");
	ok(parse("55f3d3e18000 default file=/usr/bin/head mapped=2 N3=2 kernelpagesize_kB=64") &&
		   m.file && m.anon == 0 && m.n == 1 && m.on[0].bytes == 131072,
	   "numa_maps: reads a file with pages of 64 KiB");
	ok(parse("7f0000000000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N1=2 "
		 "kernelpagesize_kB=2048\n") &&
		   m.file && m.huge && m.anon == 2 && m.on[0].bytes == 4194304,
	   "numa_maps: reads pages of hugetlbfs");
	ok(parse("7f0000000000 default heap\n") && m.n == 0,
	   "numa_maps: reads a heap without pages");
	ok(parse("7f0000000000 default"), "numa_maps: reads a line without a line end");
	ok(parse("00400000 default file=/N1\\0757\\040huge N0=1 kernelpagesize_kB=4\n") &&
		   !m.huge && m.n == 1 && m.on[0].node == 0,
	   "numa_maps: reads a file whose name looks like other fields");
}

static void policies(void)
{
	static const struct {
		const char *text;
		bool zero, one;
	} want[] = {
		{ "default", true, true },
		{ "local", true, true },
		{ "prefer:1", false, true },
		{ "prefer=static:0", true, false },
		{ "prefer=relative:1", false, true },
		{ "prefer (many):0-1", true, true },
		{ "prefer (many):0,2", true, false },
		{ "prefer (many)=static:1-3", false, true },
		{ "bind:0", true, false },
		{ "bind:0-1", true, true },
		{ "bind=static:1", false, true },
		{ "bind=static|balancing:0-3", true, true },
		{ "interleave:0-1", false, false },
		{ "interleave=relative:0-1", false, false },
		{ "weighted interleave:0-1", false, false },
		{ "unknown", false, false },
		{ "defaults", false, false },
		{ "bind", false, false },
		{ "bind:", false, false },
		{ "bind:0-", false, false },
		{ "bind:x", false, false },
		/* policies of 62 and of 63 bytes: the kernel may have cut one of 63 bytes */
		{ "bind:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41", false, true },
		{ "bind:1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,410", false, false },
	};
	char line[256];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		snprintf(line, sizeof(line), "7f00 %s anon=1 N0=1 kernelpagesize_kB=4\n",
			 want[i].text);
		ok(parse(line) && m.n == 1 && m.anon == 1 &&
			   numa_mapping_allows(&m, 0) == want[i].zero &&
			   numa_mapping_allows(&m, 1) == want[i].one,
		   "numa_maps: reads policy \"%s\"", want[i].text);
	}
}

static void refusals(void)
{
	static const char *const wrong[] = {
		"",
		"\n",
		"x default",
		"7f00",
		"7f00 ",
		"7f00  default",
		"-1 default",
		"11111111111111111 default",
		"7f00 default anon= N0=1 kernelpagesize_kB=4",
		"7f00 default anon=1x N0=1 kernelpagesize_kB=4",
		"7f00 default anon=-1 N0=1 kernelpagesize_kB=4",
		"7f00 default anon=18446744073709551616 N0=1 kernelpagesize_kB=4",
		"7f00 default N0=1",
		"7f00 default N0=1 kernelpagesize_kB=0",
		"7f00 default N0=1 kernelpagesize_kB=18014398509481984",
		"7f00 default N0 kernelpagesize_kB=4",
		"7f00 default N0= kernelpagesize_kB=4",
		"7f00 default N0=1,2 kernelpagesize_kB=4",
		"7f00 default N4096=1 kernelpagesize_kB=4",
		/* 2^52 pages of 4 KiB are 2^64 bytes */
		"7f00 default N0=4503599627370496 kernelpagesize_kB=4",
		"7f00 default N0=4503599627370495 N1=1 kernelpagesize_kB=4",
	};
	char line[16384];
	int at;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(!parse(wrong[i]), "numa_maps: wrong line %zu is refused", i);
	ok(parse("7f00 default N0=4503599627370494 N1=1 kernelpagesize_kB=4"),
	   "numa_maps: the largest sum of bytes is accepted");
	at = snprintf(line, sizeof(line), "7f00 default");
	for (int i = 0; i < NUMA_MAPS_NODES; i++)
		at += snprintf(line + at, sizeof(line) - (size_t)at, " N%d=1", i);
	snprintf(line + at, sizeof(line) - (size_t)at, " kernelpagesize_kB=4");
	ok(parse(line) && m.n == NUMA_MAPS_NODES,
	   "numa_maps: the largest number of nodes is accepted");
	snprintf(line + at, sizeof(line) - (size_t)at, " N0=1 kernelpagesize_kB=4");
	ok(!parse(line), "numa_maps: one more node is refused");
}

static void extents(void)
{
	static const struct {
		const char *line;
		bool plain;
	} want[] = {
		{ "7f00-9f00 rw-p 00000000 00:00 0 \n", true },
		{ "7f00-9f00 rw-p 00000000 00:00 0", true },
		{ "7f00-9f00 ---p 00000000 00:00 0                   [stack]\n", true },
		{ "7f00-9f00 rw-p 00000000 00:00 0                   [heap]\n", true },
		{ "7f00-9f00 rw-p 00000000 00:00 0                   [anon:a b [c]\n", true },
		{ "7f00-9f00 r-xp 00000000 00:00 0                   [vdso]\n", false },
		{ "7f00-9f00 r--p 00000000 00:00 0                   [vvar]\n", false },
		{ "7f00-9f00 rw-s 00000000 00:00 0 \n", false },
		{ "7f00-9f00 rw-p 00000000 00:05 7 \n", false },
		{ "7f00-9f00 rw-p 00001000 fd:01 1234                /tmp/[heap]\n", false },
		{ "7f00-9f00 rw-s 00000000 00:01 9                   [anon_shmem:x]\n", false },
		{ "7f00-9f00 rw-p 00000000 00:00 0                   /memfd:x (deleted)\n", false },
	};
	static const char *const wrong[] = {
		"",
		"7f00",
		"7f00-7f00 rw-p 00000000 00:00 0",
		"9f00-7f00 rw-p 00000000 00:00 0",
		"7f00-9f00 rw- 00000000 00:00 0",
		"7f00-9f00 rw-p 00000000 00:00",
		"7f00-9f00 rw-p 00000000 00:00 x",
		"7f00-9f00 rw-p 00000000 00.00 0",
		"7f00-9f00\n",
	};
	struct maps_extent e;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ok(maps_extent_parse(&e, want[i].line, NULL) == 0 && e.start == 0x7f00 &&
			   e.end == 0x9f00 && e.plain == want[i].plain,
		   "maps: line %zu is %s memory", i, want[i].plain ? "plain" : "other");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(maps_extent_parse(&e, wrong[i], NULL) < 0, "maps: wrong line %zu is refused", i);
}

int main(void)
{
	lines();
	policies();
	refusals();
	extents();
	return tap_done();
}
