/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests machine_xml_check() with two tables: XML that must load, and XML that NodeOS must refuse
 * with a given message, though hwloc would load it or crash.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "base/test/tap.h"
#include "topology/machine.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define SETS(c, n) \
	"cpuset=\"" c "\" complete_cpuset=\"" c "\" nodeset=\"" n "\" complete_nodeset=\"" n "\""
#define OBJ(type, c, more, inner) \
	"<object type=\"" type "\" " SETS(c, "0x1") " " more ">\n" inner "</object>\n"
#define PU(id, c) OBJ("PU", c, "os_index=\"" id "\"", "")
#define NUMA(id, c, n)                             \
	"<object type=\"NUMANode\" os_index=\"" id \
	"\" " SETS(c, n) " local_memory=\"1073741824\"/>\n"
#define ALLOWED "allowed_cpuset=\"0x3\" allowed_nodeset=\"0x1\""
#define MACHINE(inner) OBJ("Machine", "0x3", ALLOWED, inner)
#define TOPOLOGY(inner) "<topology version=\"2.0\">\n" inner "</topology>"
#define NODE NUMA("0", "0x3", "0x1")
#define CPUS PU("0", "0x1") PU("1", "0x2")
#define GOOD MACHINE(NODE CPUS)

#define TWO_NODES                                                                                 \
	"<topology version=\"2.0\"><object type=\"Machine\" " SETS(                               \
		"0x3", "0x3") " allowed_cpuset=\"0x3\" allowed_nodeset=\"0x3\">" NUMA("0", "0x3", \
										      "0x1")      \
		NUMA("1", "0x3", "0x2") CPUS "</object>"
#define MATRIX(n, indexes, values)                                     \
	"<distances2 type=\"NUMANode\" nbobjs=\"" n                    \
	"\" kind=\"5\" indexing=\"os\"><indexes length=\"4\">" indexes \
	"</indexes><u64values length=\"9\">" values "</u64values></distances2></topology>"

#define V1(inner)                                                                    \
	"<topology><object type=\"Machine\" cpuset=\"0x3\" complete_cpuset=\"0x3\" " \
	"allowed_cpuset=\"0x3\">" inner "</object></topology>"
#define V1_PU(id, c) \
	"<object type=\"PU\" os_index=\"" id "\" cpuset=\"" c "\" complete_cpuset=\"" c "\"/>"

/* Load XML. Returns NULL if it loads, else the error message. */
static const char *load(struct machine **m, const char *xml)
{
	static struct errbuf err;

	err.text[0] = '\0';
	*m = NULL;
	return machine_load_xml_buffer(m, xml, strlen(xml), &err) == 0 ? NULL : err.text;
}

static void test_machine_xml_taken(void)
{
	static const struct {
		const char *xml, *cpus, *mems, *what;
	} table[] = {
		{ TOPOLOGY(GOOD), "0-1", "0", "two PUs" },
		{ "<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE topology SYSTEM "
		  "\"hwloc2.dtd\"><!-- mine -->\n\n" TOPOLOGY(GOOD) "\n<!-- end -->\n",
		  "0-1", "0", "XML on one line with comments" },
		{ TOPOLOGY(MACHINE(NODE OBJ("Core", "0x3", "os_index=\"7\"", CPUS))), "0-1", "0",
		  "a core of CPUs" },
		{ TOPOLOGY(MACHINE(NODE CPUS "<object type=\"Bridge\" os_index=\"0\"><object "
					     "type=\"PCIDev\" pci_busid=\"x\"/></object>\n")),
		  "0-1", "0", "devices are left out" },
		{ TOPOLOGY(GOOD "<support name=\"discovery.pu\"/><future a=\"1\"><b/></future>"),
		  "0-1", "0", "elements of later releases are left out" },
		{ TOPOLOGY(OBJ("Machine", "0x3", "allowed_cpuset=\"0x2\" allowed_nodeset=\"0x1\"",
			       NODE CPUS)),
		  "1", "0", "one CPU of two allowed" },
		{ TOPOLOGY(GOOD "<cpukind cpuset=\"0x1\"><info name=\"CoreType\" "
				"value=\"IntelAtom\"/></cpukind><cpukind cpuset=\"0x2\"/>"),
		  "0-1", "0", "CPU kinds" },
		{ TWO_NODES MATRIX("2", "0 1 ", "10 20 20 10 "), "0-1", "0-1", "latencies" },
		{ TWO_NODES MATRIX("2", "0 1", "10 20\n20 10"), "0-1", "0-1",
		  "latencies without the count of bytes that hwloc writes" },
		{ TWO_NODES "<distances2 type=\"Core\" nbobjs=\"4294967295\" kind=\"5\" "
			    "indexing=\"gp\"/></topology>",
		  "0-1", "0-1", "other distances are left out" },
		{ V1(V1_PU("0", "0x1") V1_PU("1", "0x2")), "0-1", "0", "format 1" },
		{ V1("<object type=\"Socket\" os_index=\"0\" cpuset=\"0x3\" "
		     "complete_cpuset=\"0x7\">" V1_PU("0", "0x1") V1_PU("1", "0x2") "</object>"),
		  NULL, NULL, "format 1 with a complete_cpuset of more CPUs than the machine" },
	};
	char a[IDSET_LIST_MAX], b[IDSET_LIST_MAX];

	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m;
		const char *says = load(&m, table[i].xml);

		if (!table[i].cpus) {
			ok(says && strstr(says, "CPUs 2 do not belong to the parent object"),
			   "machine_xml_check: refuses %s: %s", table[i].what, says ? says : "");
			machine_free(m);
			continue;
		}
		if (!ok(!says, "machine_xml_check: accepts %s: %s", table[i].what,
			says ? says : ""))
			continue;
		idset_format(machine_cpus(m), a, sizeof(a));
		idset_format(machine_mems(m), b, sizeof(b));
		is(a, table[i].cpus, "machine_xml_check: %s: the machine has its CPUs",
		   table[i].what);
		is(b, table[i].mems, "machine_xml_check: %s: the machine has its memory nodes",
		   table[i].what);
		machine_free(m);
	}
}

static void test_machine_xml_refused(void)
{
	static const struct {
		const char *xml, *says;
	} table[] = {
		/*
		 * a core without a PU: hwloc counts cores as PUs, and would write beyond the end of
		 * a table
		 */
		{ TOPOLOGY(MACHINE(NODE OBJ("Core", "0x1", "", PU("0", "0x1"))
					   OBJ("Core", "0x2", "", ""))),
		  "line 8: this Core has CPU 1 in its cpuset, but no PU (hardware thread) for it" },
		{ TOPOLOGY(MACHINE(NODE PU("0", "0x1"))),
		  "line 2: this object has CPU 1 in its cpuset, but no PU" },
		{ TOPOLOGY(OBJ("Machine", "0x0", "", NUMA("0", "0x0", "0x1"))),
		  "the machine has no PU" },
		/* versions */
		{ "<topology version=\"3.0\">\n" GOOD "</topology>",
		  "line 1: version 3.0 of hwloc's XML, but NodeOS reads 1 and 2: write the file "
		  "again, on the machine that it describes, with \"lstopo --export-xml-flags v2 "
		  "FILE.xml\"" },
		{ "<topology version=\"4294967298.0\">" GOOD "</topology>",
		  "of hwloc's XML, but NodeOS reads 1 and 2" },
		{ "<topology version=\"0.9\">" GOOD "</topology>", "version 0.9 of hwloc's XML" },
		{ "<topology version=\"x\">" GOOD "</topology>",
		  "version=\"x\": expected 1.0 or 2.0" },
		/* hwloc 2.9 crashes without a '>' */
		{ "<topology version=\"2.0\"", "line 1: expected a blank" },
		{ "<root>" GOOD "</root>", "the file is of hwloc 0.9" },
		{ "<html/>", "the outermost element is <html>, expected <topology>" },
		{ "", "no element: this is not XML" },
		{ "\x7f"
		  "ELF",
		  "byte 0x7f" },
		{ TOPOLOGY(""), "the machine has no PU" },
		{ TOPOLOGY(MACHINE(CPUS)), "the machine has no NUMANode (memory node)" },
		{ TOPOLOGY("<object/>"), "an object has no type" },
		{ TOPOLOGY("<info name=\"a\" value=\"b\"/>" GOOD),
		  "<info> before the machine's <object>" },
		{ TOPOLOGY(GOOD GOOD), "there is a second machine" },
		{ TOPOLOGY(OBJ("Package", "0x3", "", NODE CPUS)),
		  "the outermost object is a Package, expected a Machine" },
		{ TOPOLOGY(MACHINE(NODE OBJ("Nothing", "0x3", "", CPUS))),
		  "type=\"Nothing\": not a type of object" },
		/* hwloc 2.9 crashes if a complete set is missing */
		{ TOPOLOGY(MACHINE(NODE
				   "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" "
				   "nodeset=\"0x1\" complete_nodeset=\"0x1\"/>" PU("1", "0x2"))),
		  "a PU has no complete_cpuset" },
		{ TOPOLOGY(MACHINE(NODE "<object type=\"PU\" os_index=\"0\"/>")),
		  "a PU has no cpuset" },
		{ TOPOLOGY(MACHINE(CPUS "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" "
					"complete_cpuset=\"0x1\"/>")),
		  "a NUMANode has no nodeset" },
		{ TOPOLOGY(OBJ("Machine", "0xf...f", "", NODE CPUS)),
		  "cpuset=\"0xf...f\" is not a set" },
		{ TOPOLOGY(OBJ("Machine", "0-3", "", NODE CPUS)), "cpuset=\"0-3\" is not a set" },
		{ TOPOLOGY(OBJ("Machine", "0x100000000", "", NODE CPUS)), "is not a set" },
		{ TOPOLOGY(OBJ("Machine", "", "", NODE CPUS)), "is not a set" },
		{ TOPOLOGY(OBJ("Machine", "0x3", "allowed_cpuset=\"0x0\" allowed_nodeset=\"0x1\"",
			       NODE CPUS)),
		  "none of the machine's CPUs is allowed" },
		{ TOPOLOGY(OBJ("Machine", "0x3", "allowed_cpuset=\"0x3\" allowed_nodeset=\"0x2\"",
			       NODE CPUS)),
		  "none of the machine's memory nodes is allowed" },
		/* ids */
		{ TOPOLOGY(MACHINE(NODE PU("0", "0x1") PU("0", "0x1") PU("1", "0x2"))),
		  "CPU 0 occurs twice" },
		{ TOPOLOGY(MACHINE(NODE PU("0", "0x1") PU("2", "0x2"))),
		  "CPU 2: its cpuset must have this id alone" },
		{ TOPOLOGY(MACHINE(NODE PU("0", "0x3"))),
		  "CPU 0: its cpuset must have this id alone" },
		{ TOPOLOGY(MACHINE(NODE OBJ("PU", "0x1", "", "") PU("1", "0x2"))),
		  "a CPU has no os_index" },
		{ TOPOLOGY(MACHINE(NODE PU("4096", "0x1") PU("1", "0x2"))),
		  "CPU 4096 is beyond the 4096 ids" },
		{ TOPOLOGY(MACHINE(NODE PU("4294967296", "0x1") PU("1", "0x2"))),
		  "os_index=\"4294967296\": expected a number up to" },
		{ TOPOLOGY(MACHINE(NODE PU("-1", "0x1") PU("1", "0x2"))),
		  "os_index=\"-1\": expected a number" },
		{ TOPOLOGY(MACHINE(NODE NODE CPUS)), "memory node 0 occurs twice" },
		{ TOPOLOGY(MACHINE(NUMA("1", "0x3", "0x1") CPUS)),
		  "memory node 1: its nodeset must have this id alone" },
		{ TOPOLOGY(MACHINE(NUMA("0", "0x4", "0x1") CPUS)),
		  "cpuset: CPUs 2 do not belong to the parent object (line 2)" },
		/* places */
		{ TOPOLOGY(MACHINE(NODE OBJ("Core", "0x3", "", CPUS) OBJ("Core", "0x2", "", ""))),
		  "CPUs 1 already belong to a sibling of this object" },
		{ TOPOLOGY(MACHINE(NODE OBJ("PU", "0x1", "os_index=\"0\"", PU("0", "0x1"))
					   PU("1", "0x2"))),
		  "CPU 0 occurs twice" },
		{ TOPOLOGY(MACHINE(NODE OBJ("PU", "0x1", "os_index=\"0\"",
					    OBJ("Core", "0x1", "", "")) PU("1", "0x2"))),
		  "a PU must not contain an object with CPUs" },
		{ TOPOLOGY(MACHINE(NODE OBJ("Core", "0x3", "", OBJ("Core", "0x3", "", CPUS)))),
		  "a Core is inside of a Core (line 4)" },
		{ TOPOLOGY(MACHINE(NODE CPUS "<info name=\"a\" value=\"b\"/>")),
		  "<info> must be before the first <object>" },
		{ TOPOLOGY(MACHINE("<info name=\"a\"/>" NODE CPUS)),
		  "<info> needs name and value" },
		{ TOPOLOGY(MACHINE("<page_type size=\"x\" count=\"1\"/>" NODE CPUS)),
		  "<page_type>: expected numbers" },
		{ TOPOLOGY(MACHINE("<info name=\"a\" value=\"b\"><c/></info>" NODE CPUS)),
		  "<c> is not allowed here" },
		{ TOPOLOGY(OBJ("Machine", "0x3", ALLOWED " local_memory=\"lots\"", NODE CPUS)),
		  "local_memory=\"lots\": expected a number" },
		/* without a check, hwloc would allocate matrices of the announced size */
		{ TWO_NODES MATRIX("65536", "0 1 ", "1 2 "), "expected a number up to 4096" },
		{ TWO_NODES MATRIX("3", "0 1 ", "1 2 "),
		  "distances between 3 memory nodes, but the machine has 2" },
		{ TWO_NODES MATRIX("2", "0 1 ", "1 2 3 "), "3 of 4 distances" },
		{ TWO_NODES MATRIX("2", "0 1 ", "1 2 3 4 5 "),
		  "more distances than 2 memory nodes need" },
		{ TWO_NODES MATRIX("2", "0 ", "1 2 3 4 "), "1 of 2 memory nodes" },
		{ TWO_NODES MATRIX("2", "0 1 0 ", "1 2 3 4 "), "more than 2 memory nodes" },
		{ TWO_NODES MATRIX("2", "0 0 ", "1 2 3 4 "),
		  "distances from memory node 0 occur twice" },
		{ TWO_NODES MATRIX("2", "0 7 ", "1 2 3 4 "),
		  "distances from memory node 7, which does not exist" },
		{ TWO_NODES MATRIX("2", "0 1 ", "1 2 x 4 "), "\"x\": expected numbers" },
		{ V1("<distances nbobjs=\"65536\" relative_depth=\"1\" "
		     "latency_base=\"1.0\"/>" V1_PU("0", "0x1") V1_PU("1", "0x2")),
		  "expected a number up to 4096" },
		{ V1("<distances nbobjs=\"2\" relative_depth=\"1\" latency_base=\"1.0\"><latency "
		     "value=\"1\"/></distances>" V1_PU("0", "0x1") V1_PU("1", "0x2")),
		  "<distances> has 1 latencies; 2 objects need 4" },
		/* elements of the whole machine */
		{ TOPOLOGY(GOOD "<cpukind/>"), "<cpukind> has no cpuset" },
		{ TOPOLOGY(GOOD "<cpukind cpuset=\"0x1\"><a/></cpukind>"), "<a> in <cpukind>" },
		{ TOPOLOGY(GOOD "<memattr name=\"a\"/>"), "<memattr> needs name and flags" },
		{ TOPOLOGY(
			  GOOD
			  "<memattr name=\"a\" flags=\"5\"><memattr_value value=\"1\"/></memattr>"),
		  "<memattr_value> without target_obj_gp_index" },
		{ TOPOLOGY(GOOD "<memattr name=\"a\" flags=\"5\"><memattr_value value=\"1\" "
				"target_obj_gp_index=\"2\" target_obj_type=\"X\"/></memattr>"),
		  "target_obj_type=\"X\" is not known" },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m;
		const char *says = load(&m, table[i].xml);

		ok(says && strstr(says, table[i].says),
		   "machine_xml_check: refuses a text with the message \"%s\": %s", table[i].says,
		   says ? says : "no message: the machine loads");
		machine_free(m);
	}
}

/* Test that a cpuset with a CPU beyond the limit is refused. */
static void test_far_cpu(void)
{
	char set[2048] = "0x1", *xml;
	struct machine *m;
	const char *says;
	size_t len;
	FILE *f;

	for (unsigned i = 0; i < 128; i++)
		strcat(set, ",0x00000003");
	f = open_memstream(&xml, &len);
	fprintf(f,
		"<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"%s\" "
		"complete_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\"/></topology>",
		set);
	fclose(f);
	says = load(&m, xml);
	ok(says && strstr(says, "cpuset: CPU 4096 is beyond the 4096 ids that NodeOS handles"),
	   "machine_xml_check: refuses a CPU beyond the limit: %s",
	   says ? says : "no message: the machine loads");
	free(xml);
}

static void test_control_characters(void)
{
	struct machine *m;
	const char *says = load(&m, TOPOLOGY(MACHINE(NODE OBJ("&#10;\xc3\xa4", "0x3", "", CPUS))));

	ok(says && !strchr(says, '\n') && strstr(says, "type=\"???\""),
	   "machine_xml_check: the message is one printable line: %s", says ? says : "");
}

int main(void)
{
	test_machine_xml_taken();
	test_machine_xml_refused();
	test_far_cpu();
	test_control_characters();
	return tap_done();
}
