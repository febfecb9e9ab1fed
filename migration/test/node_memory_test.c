/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/node_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static struct node_home where(const char *home, const char *container)
{
	struct node_home w;
	struct errbuf err;

	ok(idset_parse(&w.home, home, &err) == 0 && idset_parse(&w.container, container, &err) == 0,
	   "the test's lists of nodes parse: %s of %s", home, container);
	return w;
}

/* memory.numa_stat as Linux 6.12 writes it, shortened. */
static const char four[] = "anon N0=1048576 N1=4096 N2=8192 N3=3000000\n"
			   "file N0=7 N1=7 N2=7 N3=7\n"
			   "anon_thp N0=99 N1=99 N2=99 N3=99\n";

static void parses(void)
{
	static const char *const wrong[] = {
		"",
		"file N0=1\n",
		"file N0=1\nanon",
		"anon_thp N0=1\n",
		"anon N=1\n",
		"anon N0=\n",
		"anon N0=-1\n",
		"anon N0=1 x\n",
		"anon N0=1  N1=1\n",
		"anon N4096=1\n",
		"anon N0=18446744073709551616\n",
	};
	struct node_home w = where("0,2", "0-2");
	struct node_memory m = { 1, 2, 3 };
	struct errbuf err = { 0 };

	ok(node_memory_parse(&m, &w, four, &err) == 0, "numa_stat of four nodes is read: %s",
	   err.text);
	is_int((long long)m.home, 1048576 + 8192, "numa_stat: counts bytes on the home nodes");
	is_int((long long)m.elsewhere, 4096,
	       "numa_stat: counts bytes on other nodes of the container");
	is_int((long long)m.outside, 3000000,
	       "numa_stat: counts bytes on nodes outside of the container");
	ok(node_memory_parse(&m, &w, "file N0=1\nanon N0=5", &err) == 0 && m.home == 5,
	   "numa_stat: the line of anonymous memory may be the last line");
	m.home = 7;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err.text[0] = '\0';
		ok(node_memory_parse(&m, &w, wrong[i], &err) < 0 && *err.text && m.home == 7,
		   "numa_stat %zu in a wrong format is refused: %s", i, err.text);
	}
}

static void shares(void)
{
	static const struct {
		uint64_t home, elsewhere;
		unsigned share;
	} of[] = {
		{ 0, 0, 0 },	   { 5, 0, 0 },
		{ 0, 5, 1000 },	   { 800, 200, 200 },
		{ 799, 201, 201 }, { 100000, 1, 1 },
		{ 3, 1, 250 },	   { UINT64_MAX, UINT64_MAX, 500 },
	};
	struct node_home w = where("0", "0-1");
	struct node_memory m = { 0 };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		m.home = of[i].home;
		m.elsewhere = of[i].elsewhere;
		is_int(node_memory_share(&m), of[i].share,
		       "the share elsewhere is as calculated by hand in case %zu", i);
	}
	m.home = 10;
	node_memory_add(&m, &w, 0, UINT64_MAX - 5);
	ok(m.home == UINT64_MAX, "a sum of bytes does not wrap");
}

static void reads(void)
{
	struct node_home w = where("1", "0-1");
	struct node_memory m = { 0 };
	struct errbuf err = { 0 };
	int fd = open(scratch, O_RDONLY | O_DIRECTORY);

	scratch_dir("job");
	scratch_file("job/memory.numa_stat", "anon N0=10 N1=20\nfile N0=1 N1=1\n");
	ok(node_memory_read(&m, &w, fd, "job", &err) == 0 && m.home == 20 && m.elsewhere == 10,
	   "the memory of a cgroup is read by node: %s", err.text);
	scratch_dir("other");
	ok(node_memory_read(&m, &w, fd, "other", &err) < 0 && *err.text,
	   "without the memory controller, the memory is unknown: %s", err.text);
	close(fd);
}

int main(void)
{
	scratch_make();
	parses();
	shares();
	reads();
	return tap_done();
}
