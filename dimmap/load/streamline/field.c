/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/streamline/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dimmap/load/frame.h"

uint64_t field_bytes(const struct shape *s)
{
	return LOAD_START + (uint64_t)s->n * s->n * s->n * FIELD_POINT;
}

double field_epsilon(const struct shape *s)
{
	double dx = 2 * M_PI / s->n;

	return flow_speed_max(&s->flow) * (dx * dx / 8 + 0x1p-24);
}

/* -------------------------------------------------------------------------- writing */

/* The sines and cosines of the coordinates of a grid's points along an axis. */
struct circle {
	double *sine, *cosine;
};

static void put_point(unsigned char *to, const struct flow *w, const struct circle *c,
		      const uint32_t at[3])
{
	float v[3] = {
		(float)(w->a * c->sine[at[2]] + w->c * c->cosine[at[1]]),
		(float)(w->b * c->sine[at[0]] + w->a * c->cosine[at[2]]),
		(float)(w->c * c->sine[at[1]] + w->b * c->cosine[at[0]]),
	};

	_Static_assert(sizeof(v) == FIELD_POINT, "a point has three floats");
	memcpy(to, v, sizeof(v));
}

/*
 * Write all points in the order of the file: one cube of SIDE points in each direction after
 * another.
 */
static void put_points(unsigned char *to, const struct shape *s, const struct circle *c)
{
	uint64_t side = s->brick ? s->brick : s->n, cube = side * side * side, row = s->n / side;
	uint64_t points = (uint64_t)s->n * s->n * s->n;

	for (uint64_t i = 0; i < points; i++) {
		uint64_t k = i % cube, b = i / cube;
		uint32_t at[3] = { (uint32_t)(b % row * side + k % side),
				   (uint32_t)(b / row % row * side + k / side % side),
				   (uint32_t)(b / row / row * side + k / side / side) };

		put_point(to + i * FIELD_POINT, &s->flow, c, at);
	}
}

int field_generate(const char *path, const struct shape *s, struct errbuf *err)
{
	double *table = malloc(2 * s->n * sizeof(*table));
	struct circle c = { table, table ? table + s->n : NULL };
	struct load_head head;
	struct mapped m;
	int result;

	if (!table)
		return errprintf(err, "out of memory");
	for (uint32_t i = 0; i < s->n; i++) {
		c.sine[i] = sin(2 * M_PI * i / s->n);
		c.cosine[i] = cos(2 * M_PI * i / s->n);
	}
	load_fill_head(&head, FIELD_MAGIC);
	head.number[0] = s->n;
	head.number[1] = s->brick;
	memcpy(head.word, &s->flow, sizeof(s->flow));
	result = mapped_create(&m, path, field_bytes(s), err);
	if (result == 0) {
		memset(m.data, 0, LOAD_START);
		memcpy(m.data, &head, sizeof(head));
		put_points(m.data + LOAD_START, s, &c);
		result = mapped_close(&m, err);
	}
	free(table);
	return result;
}

/* -------------------------------------------------------------------------- reading */

/*
 * Calculate the terms of the points' places. In both layouts, a place is the sum of a term for each
 * coordinate.
 */
static int make_parts(struct field *f, struct errbuf *err)
{
	uint64_t n = f->shape.n, b = f->shape.brick ? f->shape.brick : n;
	uint64_t *all = malloc(3 * n * sizeof(*all));
	uint64_t within = 1, brick = b * b * b;

	if (!all)
		return errprintf(err, "out of memory");
	for (unsigned axis = 0; axis < 3; axis++, within *= b, brick *= n / b) {
		f->part[axis] = all + axis * n;
		for (uint64_t i = 0; i < n; i++)
			f->part[axis][i] =
				LOAD_START + FIELD_POINT * (i / b * brick + i % b * within);
		if (axis)
			for (uint64_t i = 0; i < n; i++)
				f->part[axis][i] -= LOAD_START; /* LOAD_START is in one term only */
	}
	return 0;
}

int field_open(struct field *f, const char *path, bool random, struct errbuf *err)
{
	struct shape *s = &f->shape;
	struct load_head h;

	memset(f, 0, sizeof(*f));
	if (load_read_head(&h, path, FIELD_MAGIC, "vector field", err) < 0)
		return -1;
	s->n = h.number[0];
	s->brick = h.number[1];
	memcpy(&s->flow, h.word, sizeof(s->flow));
	if (s->n < FIELD_N_MIN || s->n > FIELD_N_MAX || (s->brick && s->n % s->brick) ||
	    !isfinite(s->flow.a) || !isfinite(s->flow.b) || !isfinite(s->flow.c))
		return errprintf(err,
				 "%s: header is damaged: %" PRIu32
				 " points in a direction, bricks of %" PRIu32,
				 path, s->n, s->brick);
	f->per_unit = s->n / (2 * M_PI);
	if (make_parts(f, err) < 0)
		return -1;
	if (mapped_open(&f->file, path, field_bytes(s), random ? MAPPED_RANDOM : 0, err) < 0) {
		free(f->part[0]);
		return -1;
	}
	return 0;
}

void field_close(struct field *f)
{
	mapped_close(&f->file, NULL);
	free(f->part[0]);
}

/* Find the neighbouring points of AT along an axis. Point 0 follows the last point. */
static void neighbours(const struct field *f, double at, uint32_t i[2], double *share)
{
	double cell = floor(at * f->per_unit), n = f->shape.n;
	double first = cell - floor(cell / n) * n;

	*share = at * f->per_unit - cell;
	/* AT may be infinite or NaN if velocities in a damaged file are */
	i[0] = first >= 0 && first < n ? (uint32_t)first : 0;
	i[1] = i[0] + 1 < f->shape.n ? i[0] + 1 : 0;
}

void probe_velocity(const void *of, const double p[3], double v[3])
{
	const struct probe *probe = of;
	const struct field *f = probe->field;
	uint32_t i[3][2];
	double share[3];

	for (unsigned axis = 0; axis < 3; axis++)
		neighbours(f, p[axis], i[axis], &share[axis]);
	v[0] = v[1] = v[2] = 0;
	for (unsigned corner = 0; corner < 8; corner++) {
		unsigned x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
		uint64_t at = f->part[0][i[0][x]] + f->part[1][i[1][y]] + f->part[2][i[2][z]];
		double weight = (x ? share[0] : 1 - share[0]) * (y ? share[1] : 1 - share[1]) *
				(z ? share[2] : 1 - share[2]);
		float point[3];

		if (probe->trace)
			trace_touch(probe->trace, probe->thread, at, FIELD_POINT, false);
		memcpy(point, f->file.data + at, sizeof(point));
		for (unsigned k = 0; k < 3; k++)
			v[k] += weight * (double)point[k];
	}
}
