/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * streamline: follows streamlines through a vector field in a mapped file that may be larger than
 * the memory. This is the second workload of the DI-MMAP papers (Van Essen et al.) and of Argo
 * NodeOS (Perarnau et al., IPDPS 2017). The streamlines can also be calculated from the flow,
 * without the file, as a check.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dimmap/load/json_real.h"
#include "dimmap/load/loads.h"
#include "dimmap/load/streamline/lines.h"
#include "dimmap/load/value.h"

static void put_shape(struct json_out *j, const struct shape *s)
{
	char layout[32] = "row";

	if (s->brick)
		snprintf(layout, sizeof(layout), "brick:%" PRIu32, s->brick);
	jout_number(j, "grid", s->n);
	jout_string(j, "layout", layout);
	jout_number(j, "bytes", field_bytes(s));
}

/* ------------------------------------------------------------------------- generate */

struct generate {
	struct load load;
	uint64_t grid, brick;
};

static int take_layout(void *options, const char *value, struct errbuf *err)
{
	struct generate *o = options;

	o->brick = 0;
	if (strcmp(value, "row") == 0 || (strncmp(value, "brick:", 6) == 0 &&
					  value_count(value + 6, 2, FIELD_N_MAX, &o->brick) == 0))
		return 0;
	return value_refuse(err, "layout", value, "row, or brick:B with B points from 2 on");
}

static const struct load_option generate_options[] = {
	{ "grid", LOAD_COUNT, offsetof(struct generate, grid),
	  "points in each direction, 4 to 16384", .min = FIELD_N_MIN, .max = FIELD_N_MAX },
	{ "layout", LOAD_OWN, 0, "row, or brick:B: B points in each direction",
	  .take = take_layout },
	{ 0 },
};

static int streamline_make(void *options, struct json_out *j, struct errbuf *err)
{
	const struct generate *o = options;
	struct shape s = { (uint32_t)o->grid, (uint32_t)o->brick, flow_usual };

	if (o->brick && o->grid % o->brick)
		return errprintf(err, "--layout=brick:%" PRIu64 ": does not divide --grid=%" PRIu64,
				 o->brick, o->grid);
	if (field_generate(o->load.file, &s, err) < 0)
		return -1;
	put_shape(j, &s);
	return 0;
}

const struct load_action streamline_generate = {
	.load = "streamline",
	.name = "generate",
	.does = "make a vector field of the Arnold-Beltrami-Childress flow",
	.options = generate_options,
	.defaults = &(const struct generate){ .grid = 64 },
	.size = sizeof(struct generate),
	.act = streamline_make,
};

/* ------------------------------------------------------------------------------ run */

struct run {
	struct lines lines;
	double step;
};

static int streamline_take_step(void *options, const char *value, struct errbuf *err)
{
	struct run *o = options;

	return value_real(value, 0.001, 100, &o->step) < 0
		       ? value_refuse(err, "step", value, "cells, from 0.001 to 100")
		       : 0;
}

static const struct load_option run_options[] = {
	{ "seeds", LOAD_COUNT, offsetof(struct lines, seeds),
	  "number of streamlines, which begin at random points", .min = 1, .max = UINT32_MAX },
	{ "steps", LOAD_COUNT, offsetof(struct lines, steps), "steps of each streamline", .min = 1,
	  .max = UINT32_MAX },
	{ "step", LOAD_OWN, 0, "length of a step where the flow is fastest, in cells",
	  .take = streamline_take_step },
	LOAD_SEED,
	{ 0 },
};

static void put_check(struct json_out *j, const struct lines_check *c)
{
	jout_open(j, "check", '{');
	jout_number(j, "steps", c->steps);
	jout_real(j, "furthest", c->furthest, 9);
	jout_real(j, "allowed", c->bound, 9);
	jout_bool(j, "passed", c->furthest <= c->bound);
	jout_close(j, '}');
}

static int follow(struct lines *l, struct json_out *j, struct errbuf *err)
{
	struct lines_check check = { 0 };
	struct lines_result r;

	if (load_open_trace(&l->load, l->field->file.size, true, err) < 0 ||
	    lines_trace(l, &r, err) < 0 || (l->load.check && lines_check(l, &check, err) < 0))
		return -1;
	put_shape(j, &l->field->shape);
	jout_number(j, "seeds", l->seeds);
	jout_number(j, "steps", l->seeds * l->steps);
	jout_number(j, "threads", l->load.threads);
	load_put_time(j, &r.time, "steps", l->seeds * l->steps);
	load_put_checksum(j, r.checksum);
	if (l->load.check)
		put_check(j, &check);
	return !(check.furthest <= check.bound);
}

static int streamline_act(void *options, struct json_out *j, struct errbuf *err)
{
	struct run *o = options;
	struct field field;
	int result;

	if (field_open(&field, o->lines.load.file, o->lines.load.random, err) < 0)
		return -1;
	o->lines.field = &field;
	if (flow_speed_max(&field.shape.flow) > 0)
		o->lines.h = o->step / field.per_unit / flow_speed_max(&field.shape.flow);
	result = follow(&o->lines, j, err);
	field_close(&field);
	return result;
}

const struct load_action streamline_run = {
	.load = "streamline",
	.name = "run",
	.does = "follow streamlines through a field",
	.runs = true,
	.options = run_options,
	.defaults =
		&(const struct run){ { { .threads = 1, .seed = 1 }, .seeds = 1000, .steps = 1000 },
				     0.5 },
	.size = sizeof(struct run),
	.act = streamline_act,
};
