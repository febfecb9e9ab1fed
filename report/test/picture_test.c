/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The XML for lstopo: hwloc reads it back, and the colours of boxes match those of the picture's
 * own legend.
 */
#include "report/picture.h"

#include <hwloc.h>

#include "base/test/tap.h"
#include "topology/machine.h"

static hwloc_topology_t read_back(const char *xml)
{
	hwloc_topology_t t;

	if (hwloc_topology_init(&t) < 0 ||
	    hwloc_topology_set_type_filter(t, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
	    hwloc_topology_set_xmlbuffer(t, xml, (int)strlen(xml) + 1) < 0 ||
	    hwloc_topology_load(t) < 0)
		bail("hwloc cannot read the picture's XML");
	return t;
}

static const char *style(hwloc_obj_t obj)
{
	return hwloc_obj_get_info_by_name(obj, "lstopoStyle");
}

/* Return the style of the legend's entry LABEL. */
static const char *style_of(hwloc_topology_t t, const char *label)
{
	for (hwloc_obj_t o = hwloc_get_root_obj(t)->misc_first_child; o; o = o->next_sibling)
		if (strcmp(o->name, label) == 0)
			return style(o);
	return NULL;
}

static struct picture_part part(enum picture_kind kind, const char *label, const char *cpus,
				const char *mems)
{
	struct picture_part p = { .kind = kind };
	struct errbuf err;

	snprintf(p.label, sizeof(p.label), "%s", label);
	if (idset_parse(&p.cpus, cpus, &err) < 0 || idset_parse(&p.mems, mems, &err) < 0)
		bail("%s", err.text);
	return p;
}

static void test_small(void)
{
	/* 2 packages of 2 cores of 2 threads, each package with a memory node; core c has CPUs 2c
	 * and 2c + 1 */
	struct picture_part parts[] = {
		part(PICTURE_SERVICE, "system", "0-1", "0-1"),
		part(PICTURE_CONTAINER, "a <&> \"b\"", "2-4", "0"),
		part(PICTURE_CONTAINER, "c", "6", ""),
		part(PICTURE_FREE, "free", "5", ""),
	};
	static const char *const of_cpu[] = { "system",	     "system", "a <&> \"b\"", "a <&> \"b\"",
					      "a <&> \"b\"", "free",   "c",	      NULL };
	/* a core of several parts looks free */
	static const char *const of_core[] = { "system", "a <&> \"b\"", "free", "free" };
	struct machine *m;
	struct errbuf err;
	hwloc_topology_t t;
	hwloc_obj_t o = NULL;
	char *xml;

	if (machine_load_synthetic(&m, "package:2 [numa] core:2 pu:2", &err) < 0)
		bail("%s", err.text);
	if (!ok(picture_xml(m, "the title", parts, 4, &xml, &err) == 0,
		"picture_xml: describes a small machine"))
		bail("%s", err.text);
	t = read_back(xml);
	while ((o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, o)))
		is(style(o), of_cpu[o->os_index] ? style_of(t, of_cpu[o->os_index]) : NULL,
		   "picture_xml: CPU %u has the colour of its part", o->os_index);
	while ((o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, o)))
		is(style(o), style_of(t, of_core[o->logical_index]),
		   "picture_xml: core %u has the colour of its part", o->logical_index);
	is(style(hwloc_get_numanode_obj_by_os_index(t, 0)),
	   style_of(t, "memory node of several containers"),
	   "picture_xml: a memory node that two parts share has the colour of shared nodes");
	is(style(hwloc_get_numanode_obj_by_os_index(t, 1)), style_of(t, "system"),
	   "picture_xml: a memory node that only one part has gets the colour of this part");
	ok(style_of(t, "the title"), "picture_xml: the title is drawn");
	ok(strcmp(style_of(t, "system"), style_of(t, "free")) != 0 &&
		   strcmp(style_of(t, "system"), style_of(t, "c")) != 0,
	   "picture_xml: parts have different colours");
	hwloc_topology_destroy(t);
	free(xml);
	machine_free(m);
}

/* The largest number of containers of a manifest: the colours of all parts differ. */
static void test_picture_many(void)
{
	struct picture_part *parts = calloc(66, sizeof(*parts));
	struct machine *m;
	struct errbuf err;
	const char *colour[66];
	unsigned same = 0, n = 0;
	hwloc_topology_t t;
	char *xml;

	if (!parts || machine_load_synthetic(&m, "core:66 pu:1", &err) < 0)
		bail("no machine");
	for (unsigned i = 0; i < 66; i++) {
		char label[16], cpu[16];

		snprintf(label, sizeof(label), "part %u", i);
		snprintf(cpu, sizeof(cpu), "%u", i);
		parts[i] = part(i == 0	  ? PICTURE_SERVICE
				: i == 65 ? PICTURE_FREE
					  : PICTURE_CONTAINER,
				label, cpu, "");
	}
	if (!ok(picture_xml(m, "many", parts, 66, &xml, &err) == 0,
		"picture_xml: describes 64 containers"))
		bail("%s", err.text);
	t = read_back(xml);
	for (hwloc_obj_t o = hwloc_get_root_obj(t)->misc_first_child; o; o = o->next_sibling)
		if (strncmp(o->name, "part ", 5) == 0 && n < 66)
			colour[n++] = style(o);
	is_int(n, 66, "picture_xml: each part has a line of the legend");
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			same += strcmp(colour[i], colour[k]) == 0;
	is_int(same, 0, "picture_xml: each part has a colour of its own");
	ok(!style_of(t, "memory node of several containers"),
	   "picture_xml: without shared memory nodes the legend has no line for them");
	hwloc_topology_destroy(t);
	free(xml);
	free(parts);
	machine_free(m);
}

int main(void)
{
	test_small();
	test_picture_many();
	return tap_done();
}
