/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/streamline/field.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct head {
	char magic[8];
	uint32_t version, n, brick, none;
	struct flow flow;
};
_Static_assert(sizeof(struct head) == 48, "the head of a field has no holes");

uint64_t field_bytes(const struct shape *s)
{
	return FIELD_START + (uint64_t)s->n * s->n * s->n * FIELD_POINT;
}

double field_epsilon(const struct shape *s)
{
	double dx = 2 * M_PI / s->n;

	return flow_speed_max(&s->flow) * (dx * dx / 8 + 0x1p-24);
}

/* -------------------------------------------------------------------------- writing */

/* The sines and cosines of a grid's coordinates. */
struct circle {
	double *sine, *cosine;
};

static void put_point(FILE *f, const struct shape *s, const struct circle *c, uint32_t x,
		      uint32_t y, uint32_t z)
{
	const struct flow *w = &s->flow;
	float v[3] = {
		(float)(w->a * c->sine[z] + w->c * c->cosine[y]),
		(float)(w->b * c->sine[x] + w->a * c->cosine[z]),
		(float)(w->c * c->sine[y] + w->b * c->cosine[x]),
	};

	_Static_assert(sizeof(v) == FIELD_POINT, "a point has three floats");
	fwrite(v, sizeof(v), 1, f);
}

/* The points of the cube of SIDE from AT (x, y, z) on. */
static void put_cube(FILE *f, const struct shape *s, const struct circle *c, const uint32_t at[3],
		     uint32_t side)
{
	for (uint32_t k = 0; k < side; k++)
		for (uint32_t j = 0; j < side; j++)
			for (uint32_t i = 0; i < side; i++)
				put_point(f, s, c, at[0] + i, at[1] + j, at[2] + k);
}

static void put_points(FILE *f, const struct shape *s, const struct circle *c)
{
	uint32_t side = s->brick ? s->brick : s->n; /* row-major: one brick */

	for (uint32_t z = 0; z < s->n; z += side)
		for (uint32_t y = 0; y < s->n; y += side)
			for (uint32_t x = 0; x < s->n && !ferror(f); x += side)
				put_cube(f, s, c, (const uint32_t[3]){ x, y, z }, side);
}

/* Is there room for so many bytes? Who has opened a file of dimmapfs, or a device, has them. */
static int check_room(FILE *f, uint64_t bytes, const char *path, struct errbuf *err)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fileno(f), &st) < 0 || fstatvfs(fileno(f), &fs) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size >= bytes || fs.f_bavail >= bytes / fs.f_frsize)
		return 0;
	return errprintf(err, "%s: the field has %" PRIu64 " bytes, and there is room for %" PRIu64,
			 path, bytes, (uint64_t)fs.f_bavail * fs.f_frsize);
}

int field_generate(const char *path, const struct shape *s, struct errbuf *err)
{
	struct head head = {
		.version = FIELD_VERSION, .n = s->n, .brick = s->brick, .flow = s->flow
	};
	double *table = malloc(2 * s->n * sizeof(*table));
	struct circle c = { table, table ? table + s->n : NULL };
	FILE *f = table ? fopen(path, "we") : NULL;
	int error = f ? 0 : errno;

	if (f && check_room(f, field_bytes(s), path, err) < 0) {
		fclose(f);
		free(table);
		return -1;
	}
	if (f) {
		for (uint32_t i = 0; i < s->n; i++) {
			c.sine[i] = sin(2 * M_PI * i / s->n);
			c.cosine[i] = cos(2 * M_PI * i / s->n);
		}
		memcpy(head.magic, FIELD_MAGIC, sizeof(head.magic));
		setvbuf(f, NULL, _IOFBF, 1 << 20);
		fwrite(&head, sizeof(head), 1, f);
		for (size_t i = sizeof(head); i < FIELD_START; i++)
			putc(0, f);
		errno = 0;
		put_points(f, s, &c);
		if (ferror(f) || fflush(f) != 0 || fsync(fileno(f)) < 0)
			error = errno ? errno : EIO;
		fclose(f);
	}
	free(table);
	return error ? errprintf(err, "%s: %s", path, strerror(error)) : 0;
}

/* -------------------------------------------------------------------------- reading */

static int field_read_head(const char *path, struct head *h, struct errbuf *err)
{
	int64_t n = file_head(path, h, sizeof(*h), err);

	if (n < 0)
		return -1;
	if ((size_t)n < sizeof(*h) || memcmp(h->magic, FIELD_MAGIC, sizeof(h->magic)) != 0)
		return errprintf(err, "%s: no vector field: nodeos-streamline generate makes one",
				 path);
	if (h->version != FIELD_VERSION)
		return errprintf(err, "%s: a vector field of %s", path,
				 h->version == __builtin_bswap32(FIELD_VERSION)
					 ? "a machine with another byte order"
					 : "another version; 1 is known");
	if (h->n < FIELD_N_MIN || h->n > FIELD_N_MAX || (h->brick && h->n % h->brick) ||
	    !isfinite(h->flow.a) || !isfinite(h->flow.b) || !isfinite(h->flow.c))
		return errprintf(err,
				 "%s: its head is damaged: %" PRIu32
				 " points in a direction, bricks of %" PRIu32,
				 path, h->n, h->brick);
	return 0;
}

/* Both layouts are sums of what each coordinate adds. */
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
				FIELD_START + FIELD_POINT * (i / b * brick + i % b * within);
		if (axis)
			for (uint64_t i = 0; i < n; i++)
				f->part[axis][i] -= FIELD_START; /* once is enough */
	}
	return 0;
}

int field_open(struct field *f, const char *path, bool random, struct errbuf *err)
{
	struct head h;

	memset(f, 0, sizeof(*f));
	if (field_read_head(path, &h, err) < 0)
		return -1;
	f->shape = (struct shape){ h.n, h.brick, h.flow };
	f->per_unit = h.n / (2 * M_PI);
	if (make_parts(f, err) < 0)
		return -1;
	if (mapped_open(&f->file, path, field_bytes(&f->shape), random, err) < 0) {
		free(f->part[0]);
		return -1;
	}
	return 0;
}

void field_close(struct field *f)
{
	mapped_close(&f->file);
	free(f->part[0]);
}

/* Point 0 comes again behind the last one, and the last before it. */
static void neighbours(const struct field *f, double at, uint32_t i[2], double *share)
{
	double cell = floor(at * f->per_unit), n = f->shape.n;
	double first = cell - floor(cell / n) * n;

	*share = at * f->per_unit - cell;
	/* a damaged file may lead far away */
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
