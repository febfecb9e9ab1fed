/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "hugepages/guest_given.h"
#include "hugepages/lwk_facts.h"
#include "hugepages/pages_plan.h"
#include "hugepages/pool_journal.h"
#include "hugepages/rank_counts.h"
#include "hugepages/rank_report.h"

#define NODE "sys/devices/system/node/node1"
#define POOL_OF_NODE NODE "/hugepages/hugepages-2048kB"
#define POOL_OF_ALL "sys/kernel/mm/hugepages/hugepages-2048kB"

static void test_pool_files(void)
{
	const struct pool p = { 1, 2 << 20 }, large = { 1, 1 << 30 };
	struct pool_state s;
	struct utsname kernel = { 0 };
	struct errbuf err = { 0 };
	char text[16] = "";
	FILE *f;

	scratch_dir(POOL_OF_NODE);
	scratch_dir(POOL_OF_ALL);
	scratch_file(POOL_OF_NODE "/nr_hugepages", "12\n");
	scratch_file(POOL_OF_NODE "/free_hugepages", "5\n");
	scratch_file(POOL_OF_NODE "/surplus_hugepages", "2\n");
	scratch_file(POOL_OF_ALL "/surplus_hugepages", "3\n");
	is_int(pool_read(&s, scratch, &p, &err), 0, "pool_read: reads four files: %s", err.text);
	uname(&kernel);
	ok(s.total == 12 && s.free == 5 && s.surplus == 2 &&
		   s.all_surplus == (pool_counts_all(kernel.release) ? 3 : 2),
	   "pool_read: gives each of the four numbers");
	ok(pool_counts_all("6.1.0-50-amd64") && pool_counts_all("5.14.0-570.el9") &&
		   pool_counts_all("6.6.99"),
	   "pool_counts_all: kernels before 6.7 count the surplus of all nodes");
	ok(!pool_counts_all("6.7.0") && !pool_counts_all("6.12.118+deb13-amd64") &&
		   !pool_counts_all("7.0.1"),
	   "pool_counts_all: those since 6.7 do not");
	ok(pool_persistent(&s) == 10, "pool_persistent: leaves out the surplus of the node");
	is_int(pool_read(&s, scratch, &large, &err), -1,
	       "pool_read: fails for a page size that is missing");
	is(err.text,
	   "memory node 1 has no huge pages of 1024 MiB: this kernel or this processor lacks them",
	   "pool_read: the message names the node and the missing page size");
	is_int(pool_write(scratch, &p, 77, &err), 0, "pool_write: writes the number");
	snprintf(text, sizeof(text), "%s", "");
	{
		char path[256];

		snprintf(path, sizeof(path), "%s/" POOL_OF_NODE "/nr_hugepages", scratch);
		f = fopen(path, "r");
	}
	if (!f || !fgets(text, sizeof(text), f))
		abort();
	fclose(f);
	is(text, "77", "pool_write: writes to the node's file");
}

static void test_room(void)
{
	struct pages_node room[] = { { .node = 1 }, { .node = 2 }, { .node = 0 } };

	scratch_dir(NODE);
	scratch_dir("proc");
	scratch_file(NODE "/meminfo", "Node 1 MemTotal:       100000 kB\n"
				      "Node 1 MemFree:         50000 kB\n");
	scratch_file("proc/zoneinfo", "Node 0, zone   Normal\n  pages free     9\n"
				      "        high     7000\n"
				      "Node 1, zone    DMA32\n        high     100\n"
				      "Node 1, zone   Normal\n        low      900\n"
				      "        high     1000\n");
	scratch_dir("sys/devices/system/node/node0");
	scratch_file("sys/devices/system/node/node0/meminfo", "Node 0 MemFree:         20000 kB\n");
	is_int(pool_read_rooms(room, 3, scratch), 0, "pool_read_rooms: reads three nodes");
	/* 50000 KiB less 1100 pages of 4 KiB */
	ok(room[0].room == (50000 - 4400) * 1024,
	   "pool_read_rooms: gives the free memory above the node's high watermarks");
	ok(room[1].room == 0, "pool_read_rooms: gives 0 for a missing node");
	ok(room[2].room == 0,
	   "pool_read_rooms: gives 0 for a node with less free memory than its watermarks");
}

static void test_facts(void)
{
	char text[256];

	is(lwk_facts(text, sizeof(text), scratch), "/dev/kvm: No such file or directory",
	   "lwk_facts: without /dev/kvm, gives only the error");
	scratch_dir("dev");
	scratch_file("dev/kvm", "");
	scratch_dir("sys/devices/system/clocksource/clocksource0");
	scratch_file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	scratch_file("sys/devices/system/node/has_memory", "1\n");
	is(lwk_facts(text, sizeof(text), scratch),
	   "/dev/kvm opens, but a machine does not run: KVM_CREATE_VM: Inappropriate ioctl for "
	   "device; slow clock: hpet, not tsc; node 1: 44 MiB for extents",
	   "lwk_facts: describes device, clock and free memory");
}

static void test_journal(void)
{
	static struct pool_entry e = {
		.step_inode = 77,
		.job_inode = 66,
		.cgroup = "a/job_1/step_0",
		.n = 2,
		.part = { { { 0, 1 << 30 }, POOL_STABLE, 3, 4 },
			  { { 1, 2 << 20 }, POOL_RAISING, 5, 6 } },
	};
	static struct pool_entry back;
	struct errbuf err = { 0 };
	char state_dir[128], path[160], text[POOL_ENTRY_MAX];
	int dir;

	is_int(pool_entry_format(text, sizeof(text), &e) > 0, 1,
	       "pool_entry_format: accepts two pools");
	is(text,
	   "nodeos-hugepages 1\nstep 77 job 66 cgroup a/job_1/step_0\n"
	   "node 0 page 1073741824 before 3 added 4\n"
	   "node 1 page 2097152 before 5 raising 6\nend\n",
	   "pool_entry_format: writes a line for each pool");
	is_int(pool_entry_format(text, 40, &e), -1, "pool_entry_format: refuses a short buffer");
	snprintf(state_dir, sizeof(state_dir), "%s/state", scratch);
	snprintf(path, sizeof(path), "%s-hugepages", state_dir);
	dir = pool_journal_open(state_dir, &err);
	ok(dir >= 0, "pool_journal_open: makes the directory: %s", err.text);
	is_int(pool_journal_read(&back, dir, 77, &err), 0,
	       "pool_journal_read: returns 0 without an entry");
	is_int(pool_journal_write(dir, &e, &err), 0, "pool_journal_write: writes an entry: %s",
	       err.text);
	is_int(pool_journal_read(&back, dir, 77, &err), 1, "pool_journal_read: finds an entry: %s",
	       err.text);
	ok(back.n == 2 && back.part[1].change == POOL_RAISING && back.part[1].pages == 6 &&
		   back.part[0].pool.page == 1 << 30 && strcmp(back.cgroup, e.cgroup) == 0,
	   "pool_journal_read: gives the entry as it was written");
	ok(pool_entry_bytes(&back) == (4ULL << 30) + (12 << 20),
	   "pool_entry_bytes: sums the pages of all pools");
	pool_journal_remove(dir, 77);
	is_int(pool_journal_read(&back, dir, 77, &err), 0, "pool_journal_remove: removes an entry");
	close(dir);
	is_int(pool_entry_parse(&back, "nodeos-hugepages 1\nstep 1 job 2 cgroup x\n", &err), -1,
	       "pool_entry_parse: refuses a cut text");
	is_int(pool_entry_parse(&back,
				"nodeos-hugepages 1\nstep 1 job 2 cgroup x\n"
				"node 9999 page 2097152 before 0 added 1\nend\n",
				&err),
	       -1, "pool_entry_parse: refuses a node beyond the largest");
	is_int(pool_entry_parse(&back, "nodeos-hugepages 2\nend\n", &err), -1,
	       "pool_entry_parse: refuses another version");
}

/* Calculated by hand: 16 GiB in whole pages are 8 GiB for each of two ranks, and so on. */
static void test_share(void)
{
	const struct pages_node node[] = { { 0, UINT64_C(10) << 30 },
					   { 2, (UINT64_C(6) << 30) + (1 << 20) } };

	ok(pages_share(node, 2, 2, UINT64_MAX) == UINT64_C(6) << 30,
	   "pages_share: gives three quarters of a rank's part of the room");
	ok(pages_share(node, 2, 3, UINT64_MAX) == (UINT64_C(4) << 30) - (2 << 20),
	   "pages_share: rounds down to 2 MiB below 4 GiB");
	ok(pages_share(node, 1, 1, UINT64_C(7) << 30) == UINT64_C(5) << 30,
	   "pages_share: rounds 5.25 GiB down to 5 GiB");
	ok(pages_share(node, 2, 1, 100 << 20) == 74 << 20,
	   "pages_share: gives three quarters of MOST if the nodes have more");
	ok(pages_share(node, 2, 4, 8 << 20) == 0, "pages_share: returns 0 for less than a page");
}

static void test_counts(void)
{
	static struct lwk_counted r = { .version = LWK_COUNTED_VERSION,
					.exits = { 60, 2, 1, 0, 4 },
					.calls = { [0] = 9, [1] = 7, [9] = 20, [3] = 7, [7] = 8 },
					.end_ns = 7,
					.interrupts = 5 };
	struct rank_counts c = { .owner = 0 };
	struct rank_counted got;
	struct errbuf err = { 0 };

	rank_counts_read(&got, &c, 0);
	ok(!got.known, "rank_counts_read: gives no counts without a file");
	is_int(rank_counts_make(&c, 2, &err), 0, "rank_counts_make: makes a file: %s", err.text);
	is_int(ftruncate(c.fd, 0), -1, "rank_counts_make: seals the size of the file");
	rank_counts_read(&got, &c, 1);
	ok(!got.known, "rank_counts_read: knows nothing of a rank whose machine has not run");
	r.calls[100] = 6;
	is_int(pwrite(c.fd, &r, sizeof(r), LWK_COUNTED_SIZE), sizeof(r),
	       "a rank writes its record");
	rank_counts_read(&got, &c, 1);
	ok(got.known && !got.ended && got.exits[COUNT_SIGNALS] == 4 && got.interrupts == 0,
	   "rank_counts_read: a machine that runs, or was killed, has no numbers of the end");
	ok(got.n_top == 5 && got.top[0].call == 9 && got.top[0].count == 20 &&
		   got.top[1].call == 0 && got.top[2].call == 7 && got.top[3].call == 1 &&
		   got.top[4].call == 3,
	   "rank_counts_read: gives the five most frequent calls in order, not the sixth");
	r.ended = 1;
	r.start_ns = 9;
	is_int(pwrite(c.fd, &r, sizeof(r), LWK_COUNTED_SIZE), sizeof(r),
	       "a rank writes its record at its end");
	rank_counts_read(&got, &c, 1);
	ok(got.ended && got.interrupts == 5 && got.run_ns == 0,
	   "rank_counts_read: gives the numbers of the end; the run time is 0 if it would be "
	   "negative");
	rank_counts_read(&got, &c, 0);
	ok(!got.known, "rank_counts_read: each rank has its own record");
	{
		int fd = rank_counts_take(&c, &err);

		ok(geteuid() != 0 || (fd >= 0 && fcntl(fd, F_GETFD) == 0),
		   "rank_counts_take: root gets a descriptor that stays open: %s", err.text);
	}
#ifdef __x86_64__
	is(rank_counts_call_name(1), "write", "rank_counts_call_name: gives the name of call 1");
#endif
	ok(!rank_counts_call_name(511) && !rank_counts_call_name(70000),
	   "rank_counts_call_name: NULL for rare calls");
}

/* Return rank_report_json()'s text for 12 pages of 2 MiB. */
static const char *report(const struct page_runs *own, const struct rank_counted *counted)
{
	static char text[2048];
	const struct reserve_given given = { .page = RESERVE_2M,
					     .bytes = 12 * RESERVE_2M,
					     .proof = { 5, 4, 1 } };
	struct json_out j = { .f = fmemopen(text, sizeof(text), "w") };
	struct idset mems;

	idset_zero(&mems);
	idset_add(&mems, 1);
	jout_open(&j, NULL, '{');
	rank_report_json(&j, &given, &mems, own, counted);
	jout_close(&j, '}');
	fclose(j.f);
	return text;
}

static void test_report(void)
{
	const struct page_runs none = { 0 }, equal = { 3, 4, 4 }, unequal = { 2, 9, 3 },
			       one = { 1, 12, 12 };
	struct rank_counted c = { .known = true, .ended = true, .interrupts = 500 };
	const struct rank_counted unknown = { 0 };

	ok(strstr(report(&none, &unknown),
		  "\"24 MiB in at most 5 extents of at least 2 MiB, node 1\""),
	   "rank_report_json: a rank without a proof of its own has the proof of all ranks");
	ok(strstr(report(&unequal, &unknown), "\"24 MiB in 2 extents of at least 6 MiB, node 1\""),
	   "rank_report_json: runs of 3 and 9 pages are 2 extents of at least 6 MiB");
	ok(strstr(report(&equal, &unknown), "\"24 MiB in 3 extents of 8 MiB, node 1\""),
	   "rank_report_json: three runs of 4 pages are 3 extents of 8 MiB");
	ok(strstr(report(&one, &unknown), "\"24 MiB in 1 extent of 24 MiB, node 1\""),
	   "rank_report_json: one run of 12 pages is 1 extent of 24 MiB");
	ok(!strstr(report(&one, &c), "per_second"),
	   "rank_report_json: gives no rate of interrupts without a run time");
	c.run_ns = 2500000000;
	ok(strstr(report(&one, &c), "\"interrupts_per_second\": 200"),
	   "rank_report_json: 500 interrupts in 2.5 s are 200 in a second");
	c.interrupts = UINT64_MAX;
	c.run_ns = 1;
	ok(!strstr(report(&one, &c), "per_second"),
	   "rank_report_json: gives no rate if the rank has written impossible numbers");
}

static void test_guest(void)
{
	const struct reserve_ask ask = { .ranks = 65 };
	struct guest_given g = { .ranks = 256 };
	struct reserve_given memory = { 0 };
	struct errbuf err = { 0 };

	ok(guest_given_bytes(384, 2) == 192 << 20, "a guest's memory is in equal parts");
	ok(guest_given_bytes(100, 3) == 40 << 20, "each part is a multiple of 8 MiB, not less");
	is_int(guest_given_make(&g, &memory, &ask, &err), -1, "256 ranks are refused: %s",
	       err.text);
	g.ranks = 255;
	is_int(guest_given_make(&g, &memory, &ask, &err), -1, "65 memory nodes are refused: %s",
	       err.text);
}

int main(void)
{
	scratch_make();
	test_pool_files();
	test_room();
	test_facts();
	test_journal();
	test_share();
	test_counts();
	test_report();
	test_guest();
	return tap_done();
}
