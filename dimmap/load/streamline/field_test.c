/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/streamline/field.h"

#include <math.h>
#include <unistd.h>

#include "base/test/tap.h"
#include "dimmap/load/random.h"
#include "dimmap/load/streamline/lines.h"

static char path[256];

/* The formula of the flow, written independently of the program. */
static void formula(const struct flow *f, const double p[3], double v[3])
{
	v[0] = f->a * sin(p[2]) + f->c * cos(p[1]);
	v[1] = f->b * sin(p[0]) + f->a * cos(p[2]);
	v[2] = f->c * sin(p[1]) + f->b * cos(p[0]);
}

static double apart(const double a[3], const double b[3])
{
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
		    (a[2] - b[2]) * (a[2] - b[2]));
}

static void test_a_flow(void)
{
	static const double origin[3] = { 0, 0, 0 }, quarter[3] = { M_PI / 2, M_PI / 2, M_PI / 2 };
	static const struct flow f = { 3, 5, 7 };
	double v[3], w[3], most = 0, steepest = 0;
	struct random r;

	flow_velocity(&f, origin, v);
	ok(apart(v, (double[]){ 7, 3, 5 }) < 1e-12,
	   "flow: the velocity at the origin is C, A, B: cosines are 1 and sines are 0");
	flow_velocity(&f, quarter, v);
	ok(apart(v, (double[]){ 3, 5, 7 }) < 1e-12, "flow: the velocity a quarter of a period away "
						    "is A, B, C: sines are 1 and cosines are 0");
	random_start(&r, 1, 0);
	for (unsigned i = 0; i < 100000; i++) {
		double p[3], q[3];

		for (unsigned k = 0; k < 3; k++) {
			p[k] = 7 * random_unit(random_next(&r));
			q[k] = p[k] + 0.2 * random_unit(random_next(&r)) - 0.1;
		}
		flow_velocity(&f, p, v);
		flow_velocity(&f, q, w);
		most = fmax(most, apart(v, origin));
		steepest = fmax(steepest, apart(v, w) / apart(p, q));
	}
	ok(most <= flow_speed_max(&f) && most > 0.6 * flow_speed_max(&f),
	   "flow_speed_max: is an upper bound of the speed: largest %.3f, bound %.3f", most,
	   flow_speed_max(&f));
	ok(steepest <= flow_lipschitz(&f) && steepest > 0.6 * flow_lipschitz(&f),
	   "flow_lipschitz: is an upper bound of the slope: largest %.3f, bound %.3f", steepest,
	   flow_lipschitz(&f));
}

/* A field whose streamlines turn around the z axis, so that their ends are known. */
static void turning(const void *of, const double p[3], double v[3])
{
	(void)of;
	v[0] = -p[1];
	v[1] = p[0];
	v[2] = 1;
}

static double error_of_circle(unsigned steps)
{
	double p[3] = { 1, 0, 0 }, end[3] = { cos(1), sin(1), 1 };

	for (unsigned i = 0; i < steps; i++)
		rk4_step(turning, NULL, p, 1.0 / steps);
	return apart(p, end);
}

static void test_steps(void)
{
	double ratio = error_of_circle(10) / error_of_circle(20);

	ok(error_of_circle(10) < 1e-6, "rk4_step: ten steps along a circle are off by %.2g",
	   error_of_circle(10));
	ok(ratio > 14 && ratio < 18,
	   "rk4_step: with half the step, the error is a sixteenth (order 4): %.2f", ratio);
}

static struct field made(uint32_t n, uint32_t brick, struct flow flow)
{
	struct shape s = { n, brick, flow };
	struct errbuf err;
	struct field f;

	if (field_generate(path, &s, &err) < 0 || field_open(&f, path, false, &err) < 0)
		bail("%s", err.text);
	return f;
}

/*
 * Return the largest error of the interpolated velocity at PLACES random places. VALUES gets 3
 * numbers for each place, unless it is NULL.
 */
static double furthest(const struct field *f, unsigned places, double *values)
{
	struct probe probe = { .field = f };
	double most = 0;
	struct random r;

	random_start(&r, 3, 0);
	for (unsigned i = 0; i < places; i++) {
		double p[3], v[3], w[3];

		for (unsigned k = 0; k < 3; k++)
			/* places are in a range of several periods */
			p[k] = 40 * random_unit(random_next(&r)) - 20;
		probe_velocity(&probe, p, v);
		formula(&f->shape.flow, p, w);
		most = fmax(most, apart(v, w));
		if (values)
			memcpy(values + 3 * i, v, sizeof(v));
	}
	return most;
}

static void points(uint32_t brick)
{
	struct field f = made(12, brick, flow_usual);
	struct probe probe = { .field = &f };
	double most = 0;

	for (int z = -12; z < 24; z++)
		for (int y = 0; y < 12; y++)
			for (int x = 0; x < 12; x++) {
				/*
				 * P is a point of the grid: other points contribute only because P
				 * is rounded
				 */
				double p[3] = { 2 * M_PI * x / 12, 2 * M_PI * y / 12,
						2 * M_PI * z / 12 },
				       v[3], w[3];

				probe_velocity(&probe, p, v);
				formula(&flow_usual, p, w);
				most = fmax(most, apart(v, w));
			}
	ok(most < 3e-7,
	   "field: layout %u: the points have the flow's velocity to the precision of float: error "
	   "%.2g",
	   brick, most);
	field_close(&f);
}

static void test_between(void)
{
	enum { PLACES = 20000 };
	static const uint32_t layout[] = { 0, 2, 8, 16, 48 };
	double *values[5], coarse, fine;
	struct field f;
	unsigned same = 0;

	for (unsigned i = 0; i < 5; i++) {
		values[i] = malloc(3 * PLACES * sizeof(double));
		f = made(48, layout[i], flow_usual);
		coarse = furthest(&f, PLACES, values[i]);
		same += memcmp(values[0], values[i], 3 * PLACES * sizeof(double)) == 0;
		if (i == 0)
			ok(coarse <= field_epsilon(&f.shape) &&
				   coarse > 0.4 * field_epsilon(&f.shape),
			   "field: the error between points is at most the theoretical bound: "
			   "%.3g, bound %.3g",
			   coarse, field_epsilon(&f.shape));
		field_close(&f);
	}
	is_int(same, 5, "field: five layouts give bitwise equal velocities");
	for (unsigned i = 0; i < 5; i++)
		free(values[i]);
	f = made(96, 0, flow_usual);
	fine = furthest(&f, PLACES, NULL);
	field_close(&f);
	ok(coarse / fine > 3.7 && coarse / fine < 4.3,
	   "field: at half the distance between points, the error is a quarter: %.2f",
	   coarse / fine);
}

/* Check that the file has the layout that field.h describes. */
static void test_layouts(void)
{
	/* in this flow v = sin x and w = cos x, so the velocity shows the x of a point */
	struct field f = made(8, 4, (struct flow){ 0, 1, 0 });
	const char *data = (const char *)f.file.data + LOAD_START;
	float point[3];
	unsigned bad = 0;

	for (unsigned i = 0; i < 8 * 8 * 8; i++) {
		/* i = 64 * brick + place in the brick; x runs fastest in both */
		unsigned x = i / 64 % 2 * 4 + i % 4;

		memcpy(point, data + 12 * i, sizeof(point));
		bad += fabs((double)point[1] - sin(2 * M_PI * x / 8)) > 1e-6 ||
		       fabs((double)point[2] - cos(2 * M_PI * x / 8)) > 1e-6;
	}
	is_int(bad, 0, "field: bricks: x runs fastest within a brick and over the bricks");
	field_close(&f);
	f = made(8, 4, (struct flow){ 1, 0, 0 }); /* in this flow u = sin z and v = cos z */
	data = (const char *)f.file.data + LOAD_START;
	for (unsigned i = bad = 0; i < 8 * 8 * 8; i++) {
		unsigned z = i / 256 * 4 + i % 64 / 16;

		memcpy(point, data + 12 * i, sizeof(point));
		bad += fabs((double)point[0] - sin(2 * M_PI * z / 8)) > 1e-6 ||
		       fabs((double)point[1] - cos(2 * M_PI * z / 8)) > 1e-6;
	}
	is_int(bad, 0, "field: bricks: z runs slowest within a brick and over the bricks");
	field_close(&f);
}

static void test_lines(void)
{
	struct lines l = {
		.seeds = 40, .load = { .seed = 1, .threads = 1 }, .steps = 200, .h = 0.01
	};
	struct lines_result one, other;
	struct lines_check check;
	struct field f = made(32, 0, flow_usual);
	double p[3], q[3];

	l.field = &f;
	lines_trace(&l, &one, NULL);
	l.load.threads = 7;
	lines_trace(&l, &other, NULL);
	ok(one.checksum == other.checksum,
	   "lines: the number of threads does not change the checksum");
	l.load.seed = 2;
	lines_trace(&l, &other, NULL);
	ok(one.checksum != other.checksum, "lines: another seed gives another checksum");
	lines_begin(&l, 0, p);
	lines_begin(&l, 1, q);
	ok(apart(p, q) > 0.01 && p[0] >= 0 && p[0] < 2 * M_PI && q[2] >= 0 && q[2] < 2 * M_PI,
	   "lines: streamlines begin within the cube");
	is_int(lines_check(&l, &check, NULL), 0, "lines_check: succeeds");
	ok(check.steps >= 1 && check.furthest > 0 && check.furthest <= check.bound &&
		   check.bound <= M_PI / 32 + 2e-9,
	   "lines_check: the error is at most the bound: %.3g after %llu steps, bound %.3g",
	   check.furthest, (unsigned long long)check.steps, check.bound);
	field_close(&f);
	/* change the flow in the header, as if all data were damaged */
	f = made(32, 0, flow_usual);
	f.shape.flow.b += 0.2;
	lines_check(&l, &check, NULL);
	ok(check.furthest > check.bound,
	   "lines_check: the error exceeds the bound if the field is of another flow: %.3g, bound "
	   "%.3g",
	   check.furthest, check.bound);
	field_close(&f);
	f = made(32, 0, (struct flow){ 0, 0, 0 });
	is_int(lines_check(&l, &check, NULL), 0, "lines_check: succeeds for a flow at rest");
	ok(check.furthest == 0, "lines_check: finds no error in a flow at rest");
	field_close(&f);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.200s/field_test.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		bail("%s cannot be made", path);
	close(fd);
	test_a_flow();
	test_steps();
	points(0);
	points(3);
	test_between();
	test_layouts();
	test_lines();
	unlink(path);
	return tap_done();
}
