/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture itself: lstopo draws it, and each CPU has its container's colour. */
#include "report/lstopo.h"

#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

/* The fill colour of the box whose id ends with _rect, of kind KIND and number NUMBER. */
static const char *fill_of(const char *svg, const char *kind, unsigned number, char buf[32])
{
	char id[64];
	const char *at;

	snprintf(id, sizeof(id), "<rect id='%s_%u_rect'", kind, number);
	at = strstr(svg, id);
	at = at ? strstr(at, "fill='") : NULL;
	snprintf(buf, 32, "%.*s", at ? (int)strcspn(at + 6, "'") : 0, at ? at + 6 : "");
	return buf;
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!f || !text || fread(text, 1, (1 << 20) - 1, f) == 0)
		bail("%s cannot be read", path);
	fclose(f);
	return text;
}

static void test_label(void)
{
	struct picture_part p = { .kind = PICTURE_CONTAINER };

	draw_label(&p, "x", "");
	is(p.label, "x: nothing", "draw_label: labels a part without CPUs and memory nodes");
	idset_add(&p.cpus, 3);
	draw_label(&p, "x", ", policy hpc");
	is(p.label, "x: CPU 3, policy hpc", "draw_label: labels a part with one CPU");
	idset_add(&p.cpus, 4);
	idset_add(&p.mems, 1);
	draw_label(&p, "x", "");
	is(p.label, "x: CPUs 3-4, memory node 1",
	   "draw_label: labels a part with CPUs and a memory node");
	for (unsigned i = 0; i < IDSET_MAX; i += 2)
		idset_add(&p.cpus, i);
	idset_add(&p.mems, 3);
	draw_label(&p, "x", "");
	is(p.label, "x: CPUs ..., memory nodes 1,3",
	   "draw_label: cuts a list of more CPUs than a label can hold");
}

int main(void)
{
	struct picture_part part[3] = { { .kind = PICTURE_CONTAINER, .label = "one" },
					{ .kind = PICTURE_CONTAINER, .label = "two" },
					{ .kind = PICTURE_FREE, .label = "free" } };
	struct machine *m = NULL;
	struct errbuf err = { 0 };
	char path[300], one[32], two[32];
	char *svg;

	test_label();
	scratch_make();
	snprintf(path, sizeof(path), "%s/p.svg", scratch);
	if (machine_load_synthetic(&m, "package:2 [numa] core:2 pu:1", &err) < 0)
		bail("%s", err.text);
	idset_add(&part[0].cpus, 0);
	idset_add(&part[0].cpus, 1);
	idset_add(&part[0].mems, 0);
	idset_add(&part[1].cpus, 2);
	idset_add(&part[2].cpus, 3);
	is_int(draw_svg(m, "title", part, 3, path, &err), 0, "draw_svg: draws a picture %s",
	       err.text);
	svg = read_all(path);
	if (ok(svg && strncmp(svg, "<?xml", 5) == 0 && strstr(svg, "</svg>"),
	       "draw_svg: the picture is complete")) {
		ok(strstr(svg, ">title<") && strstr(svg, ">one<") && strstr(svg, ">two<") &&
			   strstr(svg, ">free<"),
		   "draw_svg: the picture has its legend");
		ok(!strstr(svg, "px\"") && strstr(svg, "viewBox='0 0 ") &&
			   !strstr(strstr(svg, "viewBox='0 0 "), "px '"),
		   "draw_svg: the picture has a size that browsers can read");
		is(fill_of(svg, "PU", 0, one), fill_of(svg, "PU", 1, two),
		   "draw_svg: CPUs of a container have one colour");
		is(fill_of(svg, "Core", 0, one), fill_of(svg, "PU", 0, two),
		   "draw_svg: a container's core has the colour of its CPUs");
		is(fill_of(svg, "NUMANode", 0, one), fill_of(svg, "PU", 0, two),
		   "draw_svg: a container's memory node has the colour of its CPUs");
		ok(strcmp(fill_of(svg, "PU", 1, one), fill_of(svg, "PU", 2, two)) != 0,
		   "draw_svg: two containers have different colours");
		is(fill_of(svg, "PU", 3, one), "rgb(255,255,255)", "draw_svg: a free CPU is white");
	}
	free(svg);
	is_int(draw_svg(m, "title", part, 3, "/nonexistent/p.svg", &err), -1,
	       "draw_svg: fails for a file that cannot be made");
	is(err.text, "/nonexistent/p.svg: No such file or directory",
	   "draw_svg: the error names the file and the cause");
	machine_free(m);
	return tap_done();
}
