/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* mkstemp, mkdtemp */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "topology/machine.h"

static void is_list(const struct idset *got, const char *want, const char *what)
{
	char text[IDSET_LIST_MAX];

	idset_format(got, text, sizeof(text));
	is(text, want, "%s", what);
}

static void test_synthetic(void)
{
	struct idset cpus;
	struct machine *m;
	struct plan_core *core;
	struct errbuf err;
	unsigned n;

	if (machine_load_synthetic(&m, "package:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
				   &err) < 0)
		bail("%s", err.text);
	is_list(machine_cpus(m), "0-7", "machine_cpus: gives the eight CPUs");
	is_list(machine_mems(m), "0-1", "machine_mems: gives the two memory nodes");
	idset_parse(&cpus, "1-3,5-6", NULL);
	is_int(machine_cores(m, &cpus, &core, &n, &err), 0,
	       "machine_cores: lists the cores of CPUs 1-3,5-6");
	is_int(n, 3, "machine_cores: CPUs 1-3,5-6 have three cores");
	is_list(&core[0].cpus, "1,5", "machine_cores: the first core has both threads");
	is_list(&core[1].cpus, "2,6", "machine_cores: the second core has both threads");
	is_list(&core[2].cpus, "3", "machine_cores: the third core has only the offered thread");
	ok(core[0].whole && core[1].whole && !core[2].whole,
	   "machine_cores: the third core is not whole");
	free(core);
	idset_zero(&cpus);
	is_int(machine_cores(m, &cpus, &core, &n, &err), 0,
	       "machine_cores: accepts an empty set of CPUs");
	is_int(n, 0, "machine_cores: an empty set of CPUs gives an empty list");
	free(core);
	machine_free(m);
}

static void parts(const char *machine, const char *want, const char *what)
{
	struct machine_part *part = NULL;
	struct machine *m;
	struct errbuf err;
	char text[1024] = "", cpus[128], mems[128];
	unsigned n = 0;

	if (machine_load_synthetic(&m, machine, &err) < 0)
		bail("%s", err.text);
	is_int(machine_parts(m, &part, &n, &err), 0, "machine_parts: lists the parts of %s",
	       machine);
	for (unsigned i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u:%s:%s ",
			 part[i].package, idset_brief(cpus, &part[i].cpus),
			 idset_brief(mems, &part[i].mems));
	is(text, want, "%s", what);
	free(part);
	machine_free(m);
}

static void test_machine_sources(void)
{
	char path[] = "/tmp/machine_test_XXXXXX";
	struct machine *m, *again;
	struct errbuf err;
	char *text;
	long len;
	int fd = mkstemp(path);
	FILE *f;

	if (fd < 0 || machine_load_arg(&m, "package:2 numa:1 core:2 pu:2", &err) < 0)
		bail("cannot set up");
	ok(machine_write_xml(m, path, &err) == 0, "machine_write_xml: writes a file");
	ok(machine_load_arg(&again, path, &err) == 0, "machine_load_arg: loads the written file");
	ok(idset_equal(machine_cpus(m), machine_cpus(again)),
	   "machine_load_arg: the file has the same CPUs");
	machine_free(again);
	f = fdopen(fd, "r");
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	text = malloc((size_t)len);
	ok(text && fread(text, 1, (size_t)len, f) == (size_t)len, "the test can read the XML file");
	ok(machine_load_xml_buffer(&again, text, (size_t)len, &err) == 0,
	   "machine_load_xml_buffer: loads a text without a final NUL");
	ok(idset_equal(machine_mems(m), machine_mems(again)),
	   "machine_load_xml_buffer: the text has the same memory nodes");
	machine_free(again);
	ok(machine_load_xml_buffer(&again, text, (size_t)len / 2, &err) < 0,
	   "machine_load_xml_buffer: the first half of a text is refused");
	free(text);
	fclose(f);
	unlink(path);
	ok(machine_write_xml(m, "/nonexistent/x.xml", &err) < 0 &&
		   strstr(err.text, "/nonexistent/x.xml"),
	   "machine_write_xml: the message names a path that cannot be written");
	ok(machine_write_xml(m, "/dev/full", &err) < 0 &&
		   strstr(err.text, "/dev/full: No space left on device"),
	   "machine_write_xml: the message names a full disk: %s", err.text);
	machine_free(m);
	ok(machine_load_this(&m, &err) == 0, "machine_load_this: loads this host");
	ok(!idset_empty(machine_cpus(m)) && !idset_empty(machine_mems(m)),
	   "machine_load_this: this host has CPUs and memory");
	machine_free(m);
	machine_free(NULL);
}

/*
 * Return a machine with one memory node of 1 GiB, which has 100 pages of 2 MiB. The node has the
 * XML INFO.
 */
static struct machine *huge_machine(const char *info)
{
	static const char set[] = "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
				  "complete_nodeset=\"0x1\"";
	struct machine *m;
	struct errbuf err;
	char xml[2048];

	snprintf(xml, sizeof(xml),
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "
		 "\"hwloc2.dtd\">\n"
		 "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" %s "
		 "allowed_cpuset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\">"
		 "<object type=\"NUMANode\" os_index=\"0\" %s gp_index=\"2\" "
		 "local_memory=\"1073741824\">%s<page_type size=\"4096\" count=\"210944\"/>"
		 "<page_type size=\"2097152\" count=\"100\"/></object>"
		 "<object type=\"PU\" os_index=\"0\" %s gp_index=\"3\"/></object></topology>",
		 set, set, info, set);
	if (machine_load_xml_buffer(&m, xml, strlen(xml), &err) < 0)
		bail("%s", err.text);
	return m;
}

/*
 * Set the number of node 0's huge pages of KIB to NUMBER in the files below ROOT, a tree like /sys.
 */
static void put_huge_pages(const char *root, unsigned kib, const char *number)
{
	char path[256], command[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/devices/system/node/node0/hugepages/hugepages-%ukB",
		 root, kib);
	snprintf(command, sizeof(command), "mkdir -p %s", path);
	if (system(command) != 0)
		bail("%s", command);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/nr_hugepages");
	f = fopen(path, "w");
	if (!f || fputs(number, f) < 0 || fclose(f) != 0)
		bail("%s", path);
}

static uint64_t usable_of(const struct machine *m)
{
	return machine_usable(m, machine_mems(m));
}

static void test_huge_pages(void)
{
	const uint64_t gib = UINT64_C(1) << 30, mib = UINT64_C(1) << 20;
	char root[] = "/tmp/machine_test_XXXXXX", command[64];
	struct machine *m = huge_machine("");

	if (!mkdtemp(root))
		bail("cannot set up");
	ok(usable_of(m) == gib - 200 * mib, "machine_usable: huge pages do not count");
	machine_note_huge_pages(m, root);
	ok(usable_of(m) == gib - 200 * mib,
	   "machine_note_huge_pages: changes nothing on a host without files of huge pages");
	put_huge_pages(root, 2048, "300\n");
	put_huge_pages(root, 1048576, "0\n");
	machine_note_huge_pages(m, root);
	ok(usable_of(m) == gib - 600 * mib,
	   "machine_usable: huge pages made since the load do not count");
	put_huge_pages(root, 1048576, "1\n");
	machine_note_huge_pages(m, root);
	ok(usable_of(m) == 0,
	   "machine_usable: is 0 if the huge pages have more bytes than the node");
	machine_free(m);
	m = huge_machine("<info name=\"NodeOSUsableBytes\" value=\"1048576\"/>");
	ok(usable_of(m) == mib,
	   "machine_usable: noted bytes count if they are fewer than the bytes without huge pages");
	machine_free(m);
	m = huge_machine("<info name=\"NodeOSUsableBytes\" value=\"1073741824\"/>");
	ok(usable_of(m) == gib - 200 * mib,
	   "machine_usable: noted bytes above the bytes without huge pages do not count");
	machine_free(m);
	snprintf(command, sizeof(command), "rm -r %s", root);
	if (system(command) != 0)
		diag("%s remains", root);
}

static void test_machine_refusals(void)
{
	static const char *const bad[][2] = {
		{ "", "the description is empty" },
		{ "  ", "the description is empty" },
		{ "nonsense", "nor the name of a file: it must end in .xml or have a /" },
		{ "core:0 pu:1", "at \"core:0 pu:1\": a level needs at least one object" },
		{ "package:2 core:", "at least one object" },
		{ "pu:4097", "CPU 4096 is beyond the 4096 ids that NodeOS handles" },
		{ "core:4097 pu:1", "CPU 4096 is beyond the 4096 ids that NodeOS handles" },
		{ "pu:2(indexes=0,4096)", "an index is beyond the 4096 ids" },
		{ "package:2 core:-1 pu:1", "at least one object" },
		{ "package:2 core:4",
		  "the last level must be PUs (hardware threads): end the text with \"pu:1\"" },
		{ "package:2 numa:1", "end the text with \"pu:1\"" },
		{ "pu:2 core:2", "end the text with \"pu:1\"" },
		{ "frob:2 pu:1", "hwloc has no such type of object" },
		{ "package:2 package:2 pu:1", "another level has the same type" },
		{ "package:2 2 pu:1", "some levels have a type and others do not" },
		{ "numa:2 [numa] pu:1", "NUMA nodes are both a level and in brackets" },
		{ "[numa package:2 pu:1", "this bracket is not closed" },
		{ "core:2(memory=1GB pu:1", "this bracket is not closed" },
		{ "package:10 core:10 pu:50",
		  "CPU 4096 is beyond the 4096 ids that NodeOS handles" },
		{ "package:11 core:100 pu:4",
		  "CPU 4096 is beyond the 4096 ids that NodeOS handles" },
		{ "[numa] package:17 l3:241 pu:1",
		  "CPU 4096 is beyond the 4096 ids that NodeOS handles" },
		{ "package:4294967297 pu:4294967297", "CPU 4096 is beyond" },
		{ "package:8 core:512 [numa] [numa] pu:1",
		  "memory node 4096 is beyond the 4096 ids" },
		{ "core:1025 pu:1",
		  "a level has 1025 objects in each object above, but at most 1024" },
		{ "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		  "too many levels" },
		/*
		 * without a check, hwloc would make bitmaps up to the id, and divide by products
		 * that overflow
		 */
		{ "pu:1(indexes=4294967295)", "an index is beyond the 4096 ids" },
		{ "pu:4(indexes=0,1,1,2)", "an index occurs twice" },
		{ "pu:4(indexes=0,1)", "each object needs one index" },
		{ "pu:4(indexes=0,1,2,)", "ids with commas between them" },
		{ "pu:4(indexes=2*65536:2*65536)", "these steps do not interleave the objects" },
		{ "pu:4(indexes=0*2)", "these steps do not interleave the objects" },
		{ "package:2 core:2(indexes=core:pu) pu:1",
		  "a level that does not exist or comes later" },
		{ "222 2(indexes=core:pu) 2 2", "a level that does not exist or comes later" },
		{ "[numa(indexes=core)] core:4 pu:1",
		  "a level that does not exist or comes later" },
		{ "core:4 pu:1(indexes=nothing)", "a level that does not exist or comes later" },
		/* without a check, these would fail an assertion in hwloc */
		{ "numa:6 MemCache:1 pu:1", "objects of this type hold no CPUs" },
		{ "bridge:2 pu:1", "objects of this type hold no CPUs" },
		{ "machine:2 pu:1", "objects of this type hold no CPUs" },
		{ "[core] core:2 pu:1", "only memory (numa) can be in brackets" },
		/* files */
		{ "/nonexistent.xml", "/nonexistent.xml: cannot open: No such file or directory" },
		{ "gone.xml", "gone.xml: cannot open: No such file or directory" },
		{ "/tmp", "/tmp is a directory (allowed: a file or a pipe)" },
		{ "/dev/zero", "/dev/zero is a device or a socket (allowed: a file or a pipe)" },
		{ "/dev/null", "is a device" },
		{ "/proc/self/cmdline",
		  "/proc/self/cmdline: line 1: byte 0x00 is not allowed" },
	};
	struct machine *m = NULL;
	struct errbuf err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		ok(machine_load_arg(&m, bad[i][0], &err) == -1 && !m && strstr(err.text, bad[i][1]),
		   "machine_load_arg: \"%s\" is refused: %s", bad[i][0], err.text);
	}
	ok(machine_load_xml_buffer(&m, "", 0, &err) == -1,
	   "machine_load_xml_buffer: an empty text is refused");
	ok(machine_load_xml_buffer(&m, "<topology>", 10, &err) == -1,
	   "machine_load_xml_buffer: a truncated text is refused");
}

/*
 * HWLOC_XMLFILE makes hwloc load another machine than this host. NodeOS must check the machine that
 * hwloc has loaded.
 */
static void test_behind_the_back(void)
{
	const char *top = getenv("NODEOS_SOURCE");
	char path[4096];
	struct machine *m = NULL;
	struct errbuf err = { 0 };

	snprintf(path, sizeof(path), "%s/topology/test/corpus/topology/nopu.xml", top ? top : ".");
	setenv("HWLOC_XMLFILE", path, 1);
	ok(machine_load_this(&m, &err) == -1 &&
		   strstr(err.text, "this machine: a Core has CPU 1 in its cpuset, but no PU "
				    "(hardware thread) for it"),
	   "machine_load_this: refuses a core without a PU from HWLOC_XMLFILE: %s", err.text);
	ok(machine_load_whole(&m, &err) == -1,
	   "machine_load_whole: refuses a core without a PU from HWLOC_XMLFILE");
	unsetenv("HWLOC_XMLFILE");
	ok(machine_load_arg(&m, path, &err) == -1 &&
		   strstr(err.text, "nopu.xml: line 6: this Core has CPU 1 in its cpuset"),
	   "machine_load_arg: refuses a file with a core without a PU: %s", err.text);
}

/*
 * Load a pipe, such as <(lstopo --of xml), an empty file, and a file that is too large. The large
 * file is sparse, so it takes no space.
 */
static void test_kinds_of_file(void)
{
	char dir[] = "/tmp/machine_test_XXXXXX", path[64];
	struct machine *m;
	struct errbuf err;
	int fd;

	if (!mkdtemp(dir))
		bail("mkdtemp");
	snprintf(path, sizeof(path), "%s/m.xml", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ok(fd >= 0 && ftruncate(fd, (off_t)MACHINE_XML_MAX + 1) == 0,
	   "the test can make a file of 64 MiB plus one byte");
	close(fd);
	ok(machine_load_arg(&m, path, &err) == -1 &&
		   strstr(err.text, "67108865 bytes (allowed: 67108864)"),
	   "machine_load_arg: a file above 64 MiB is refused: %s", err.text);
	truncate(path, 0);
	ok(machine_load_arg(&m, path, &err) == -1 &&
		   strstr(err.text, "no element: this is not XML"),
	   "machine_load_arg: an empty file is refused: %s", err.text);
	unlink(path);
	if (mkfifo(path, 0600) < 0)
		bail("mkfifo");
	if (fork() == 0) {
		if (machine_load_arg(&m, "package:2 core:2 pu:1", &err) < 0 ||
		    machine_write_xml(m, path, &err) < 0)
			_exit(1);
		_exit(0);
	}
	if (ok(machine_load_arg(&m, path, &err) == 0,
	       "machine_load_arg: loads a machine from a pipe")) {
		is_list(machine_cpus(m), "0-3",
			"machine_load_arg: the machine from the pipe has its four CPUs");
		machine_free(m);
	}
	wait(NULL);
	unlink(path);
	rmdir(dir);
}

/* Test shapes of real machines. Each must load, and one container must get all its CPUs. */
static void test_machine_shapes(void)
{
	static const struct {
		const char *machine;
		unsigned cores;
	} shape[] = {
		{ "pu:1", 1 },
		{ "pu:7", 7 },
		{ "core:3 pu:2", 3 },
		{ "numa:4 pu:2", 8 },
		{ "group:2 package:2 core:2 pu:2", 8 },
		{ "package:2 die:2 l3:2 core:2 pu:1", 16 },
		{ "l3:2 numa:2 core:2 pu:2", 8 },
		{ "numa:1 package:4 core:2 pu:2", 8 },
		{ "package:2 group:2 [numa] [numa] core:2 pu:2", 8 },
		{ "[numa] package:2 [numa] core:2 pu:1", 4 },
		{ "package:2 core:2 [numa] pu:2", 4 },
		{ "[numa] package:2 l3:2 [numa] core:1 pu:4", 4 },
		{ "core:4 [numa] [numa] pu:1", 4 },
		{ "package:8 l3:8 core:32 pu:2", 2048 },
		{ "2 2 2", 8 },
		{ "pu:4(indexes=2*2:1*2)", 4 },
		{ "package:2 core:2 pu:2(indexes=core:pu)", 4 },
		{ "package:2 group:2 group:2 pu:1", 8 },
		{ "package:8 core:512 pu:1", 4096 },
	};

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		struct plan_opts opts = { .default_mems = MEMS_LOCAL };
		struct plan_ask ask = { .name = "all" };
		struct plan_core *core;
		struct machine *m;
		struct plan *plan;
		struct errbuf err;
		unsigned n;

		if (machine_load_synthetic(&m, shape[i].machine, &err) < 0)
			bail("%s", err.text);
		opts.cpus = *machine_cpus(m);
		opts.mems = *machine_mems(m);
		machine_cores(m, &opts.cpus, &core, &n, &err);
		is_int(n, shape[i].cores, "machine_cores: counts the cores of %s",
		       shape[i].machine);
		if (ok(plan_make(&plan, m, &opts, &ask, 1, &err) == 0,
		       "plan_make: plans a container of the whole machine")) {
			ok(idset_equal(&plan->container[0].cpus, &opts.cpus),
			   "plan_make: a container of the whole machine has all CPUs");
			plan_free(plan);
		}
		ask.cpus = 1;
		if (ok(plan_make(&plan, m, &opts, &ask, 1, &err) == 0,
		       "plan_make: plans a container of one CPU")) {
			ok(idset_equal(&plan->container[0].cpus, &core[0].cpus),
			   "plan_make: a container of one CPU has the first core");
			plan_free(plan);
		}
		free(core);
		machine_free(m);
	}
}

int main(void)
{
	test_synthetic();
	parts("package:2 numa:2 core:2 pu:1", "0:0-1:0 0:2-3:1 1:4-5:2 1:6-7:3 ",
	      "machine_parts: two packages of two memory nodes each are four parts");
	parts("package:2 [numa] [numa] core:2 pu:2", "0:0-3:0-1 1:4-7:2-3 ",
	      "machine_parts: two memory nodes of one package are in one part");
	parts("[numa] package:2 core:2 pu:1", "0:0-1:0 1:2-3: ",
	      "machine_parts: the memory node of the whole machine is in the first part");
	parts("core:2 pu:2", "0:0-3:0 ", "machine_parts: a machine without packages is one part");
	test_machine_sources();
	test_huge_pages();
	test_machine_refusals();
	test_behind_the_back();
	test_kinds_of_file();
	test_machine_shapes();
	return tap_done();
}
