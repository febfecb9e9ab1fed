/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwloc's lstopo draws the picture: the info lstopoStyle of an object gives the colour of its box
 * (lstopo(1)).
 */
#include "report/picture.h"

#include <errno.h>
#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine.h"

static const char plain[] = "#ffffff", frame[] = "#f3f4f6", service[] = "#c3c9d1",
		  shared[] = PICTURE_SHARED;

void picture_colour(char out[PICTURE_COLOUR_MAX], enum picture_kind kind, unsigned number)
{
	static const char *const first[] = {
		"#7db4ff", "#ffb55e", "#86d38a", "#f79ab8", "#c4a6f2",
		"#ffe16b", "#78d5d5", "#d8b48f", "#bddb5c", "#ff9f8c",
	};
	static const double shift[] = { 0, 8, 4 };
	unsigned n_first = sizeof(first) / sizeof(first[0]), rgb[3];

	if (kind != PICTURE_CONTAINER || number < n_first) {
		snprintf(out, PICTURE_COLOUR_MAX, "%s",
			 kind == PICTURE_SERVICE ? service
			 : kind == PICTURE_FREE	 ? plain
						 : first[number]);
		return;
	}
	/* HSL: hue by the golden angle, saturation 0.6, lightness 0.75 */
	for (unsigned i = 0; i < 3; i++) {
		double k = fmod(shift[i] + (number - n_first) * 137.508 / 30, 12);
		double ramp = fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

		rgb[i] = (unsigned)lround(255 * (0.75 - 0.6 * 0.25 * ramp));
	}
	snprintf(out, PICTURE_COLOUR_MAX, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

static int paint(hwloc_obj_t obj, const char *colour)
{
	char style[64];

	snprintf(style, sizeof(style), "Background=%s;Text=#000000", colour);
	return hwloc_obj_add_info(obj, "lstopoStyle", style);
}

struct picture {
	hwloc_topology_t topo;
	const struct picture_part *part;
	unsigned n;
	char (*colour)[PICTURE_COLOUR_MAX];
	bool sharing; /* the picture has a memory node that several parts share */
};

/*
 * Return the colour of the part that has CPU OS or, if MEMORY, memory node OS: SHARED if several
 * parts have it, NULL if none has.
 */
static const char *colour_by(const struct picture *p, unsigned os, bool memory)
{
	const char *found = NULL;

	for (unsigned i = 0; i < p->n; i++) {
		if (!idset_has(memory ? &p->part[i].mems : &p->part[i].cpus, os))
			continue;
		if (found)
			return shared;
		found = p->colour[i];
	}
	return found;
}

/* A core has the colour of the part that has all of its threads. */
static const char *colour_of_core(const struct picture *p, hwloc_obj_t core)
{
	const char *all = NULL;

	for (int os = hwloc_bitmap_first(core->cpuset); os >= 0;
	     os = hwloc_bitmap_next(core->cpuset, os)) {
		const char *one = colour_by(p, (unsigned)os, false);

		if (!one || (all && strcmp(one, all) != 0))
			return plain;
		all = one;
	}
	return all ? all : plain;
}

static int paint_machine(struct picture *p)
{
	hwloc_obj_t obj;
	int rc = paint(hwloc_get_root_obj(p->topo), plain);

	for (obj = NULL;
	     rc == 0 && (obj = hwloc_get_next_obj_by_type(p->topo, HWLOC_OBJ_PACKAGE, obj));)
		rc = paint(obj, frame);
	for (obj = NULL;
	     rc == 0 && (obj = hwloc_get_next_obj_by_type(p->topo, HWLOC_OBJ_CORE, obj));)
		rc = paint(obj, colour_of_core(p, obj));
	/* CPUs and memory nodes of no part keep lstopo's own colours */
	for (obj = NULL;
	     rc == 0 && (obj = hwloc_get_next_obj_by_type(p->topo, HWLOC_OBJ_PU, obj));) {
		const char *colour = colour_by(p, obj->os_index, false);

		rc = colour ? paint(obj, colour) : 0;
	}
	for (obj = NULL;
	     rc == 0 && (obj = hwloc_get_next_obj_by_type(p->topo, HWLOC_OBJ_NUMANODE, obj));) {
		const char *colour = colour_by(p, obj->os_index, true);

		p->sharing |= colour == shared;
		rc = colour ? paint(obj, colour) : 0;
	}
	return rc;
}

static int picture_note(struct picture *p, const char *text, const char *colour)
{
	hwloc_obj_t box =
		hwloc_topology_insert_misc_object(p->topo, hwloc_get_root_obj(p->topo), text);

	return box ? paint(box, colour) : -1;
}

static int picture_draw(struct picture *p, const char *title)
{
	int rc = paint_machine(p);

	if (rc == 0)
		rc = picture_note(p, title, plain);
	for (unsigned i = 0; rc == 0 && i < p->n; i++)
		rc = picture_note(p, p->part[i].label, p->colour[i]);
	return rc == 0 && p->sharing ? picture_note(p, "memory node of several containers", shared)
				     : rc;
}

/* Copy TOPO into a topology that takes Misc objects, which must be enabled before the load. */
static int picture_copy(hwloc_topology_t *out, hwloc_topology_t topo)
{
	char *xml = NULL;
	int len, rc;

	if (hwloc_topology_export_xmlbuffer(topo, &xml, &len, 0) < 0)
		return -1;
	rc = hwloc_topology_init(out);
	if (rc == 0 &&
	    (hwloc_topology_set_flags(*out, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0 ||
	     hwloc_topology_set_type_filter(*out, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
	     hwloc_topology_set_xmlbuffer(*out, xml, len) < 0 || hwloc_topology_load(*out) < 0)) {
		hwloc_topology_destroy(*out);
		rc = -1;
	}
	hwloc_free_xmlbuffer(topo, xml);
	return rc;
}

static int picture_make(struct picture *p, const char *title, char **xml)
{
	char *own = NULL;
	int len;

	if (picture_draw(p, title) < 0 ||
	    hwloc_topology_export_xmlbuffer(p->topo, &own, &len, 0) < 0)
		return -1;
	*xml = strdup(own);
	hwloc_free_xmlbuffer(p->topo, own);
	return *xml ? 0 : -1;
}

int picture_xml(const struct machine *m, const char *title, const struct picture_part *part,
		unsigned n, char **xml, struct errbuf *err)
{
	struct picture p = { .part = part, .n = n, .colour = calloc(n + 1, PICTURE_COLOUR_MAX) };
	unsigned containers = 0;
	int rc = -1;

	*xml = NULL;
	errno = 0;
	for (unsigned i = 0; p.colour && i < n; i++)
		picture_colour(p.colour[i], part[i].kind,
			       part[i].kind == PICTURE_CONTAINER ? containers++ : 0);
	if (p.colour && picture_copy(&p.topo, machine_topology(m)) == 0) {
		rc = picture_make(&p, title, xml);
		hwloc_topology_destroy(p.topo);
	}
	if (rc < 0)
		errprintf(err, "hwloc cannot describe the picture: %s",
			  errno ? strerror(errno) : "no memory");
	free(p.colour);
	return rc;
}
