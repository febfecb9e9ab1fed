/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/streamline/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dimmap/load/random.h"

void lines_begin(const struct lines *l, uint64_t i, double p[3])
{
	/* the seeds of two streamlines are 2^32 apart, as those of two threads in random.h */
	uint64_t state = l->load.seed + (i << 32);

	for (unsigned axis = 0; axis < 3; axis++)
		p[axis] = 2 * M_PI * random_unit(random_split(&state));
}

/*
 * Return a hash of streamline I and its end point P. The caller adds hashes, so the order of
 * streamlines does not matter.
 */
static uint64_t sum_of(uint64_t i, const double p[3])
{
	uint64_t sum = random_mix(i + 1), bits;

	for (unsigned axis = 0; axis < 3; axis++) {
		memcpy(&bits, &p[axis], sizeof(bits));
		sum = random_mix(sum ^ bits);
	}
	return sum;
}

struct job {
	const struct lines *lines;
	uint64_t compare; /* number of steps to compare with the flow; 0: only follow and trace */
	struct part {
		_Alignas(64) uint64_t checksum;
		double furthest;
	} * part; /* an element for each thread */
};

static double lines_distance(const double a[3], const double b[3])
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return sqrt(x * x + y * y + z * z);
}

static void one_line(const struct job *j, const struct probe *probe, uint64_t i, struct part *part)
{
	const struct lines *l = j->lines;
	double p[3], q[3];

	lines_begin(l, i, p);
	lines_begin(l, i, q);
	for (uint64_t n = 0; n < (j->compare ? j->compare : l->steps); n++) {
		rk4_step(probe_velocity, probe, p, l->h);
		if (j->compare)
			rk4_step(flow_velocity, &l->field->shape.flow, q, l->h);
	}
	part->checksum += sum_of(i, p);
	part->furthest = fmax(part->furthest, lines_distance(p, q));
}

static void lines_work(void *arg, unsigned thread)
{
	const struct job *j = arg;
	const struct lines *l = j->lines;
	struct probe probe = { l->field, j->compare ? NULL : l->load.trace, thread };
	struct part part = { 0 };

	for (uint64_t i = l->seeds * thread / l->load.threads;
	     i < l->seeds * (thread + 1) / l->load.threads; i++)
		one_line(j, &probe, i, &part);
	j->part[thread] = part;
}

static int lines_run(struct lines *l, uint64_t compare, struct lines_result *out, double *furthest,
		     struct errbuf *err)
{
	struct job j = { l, compare, aligned_alloc(64, l->load.threads * sizeof(struct part)) };
	int result;

	if (!j.part)
		return errprintf(err, "out of memory");
	out->checksum = 0;
	result = load_run(&l->load, lines_work, &j, &out->time, err);
	for (unsigned i = 0; i < l->load.threads && result == 0; i++) {
		out->checksum += j.part[i].checksum;
		*furthest = fmax(*furthest, j.part[i].furthest);
	}
	free(j.part);
	return result;
}

int lines_trace(struct lines *l, struct lines_result *out, struct errbuf *err)
{
	double ignored = 0;

	return lines_run(l, 0, out, &ignored, err);
}

int lines_check(struct lines *l, struct lines_check *out, struct errbuf *err)
{
	const struct shape *s = &l->field->shape;
	double half = M_PI / s->n, epsilon = field_epsilon(s), steps;
	struct lines_result ignored;

	/* the number of steps for which flow_apart() is half */
	steps = flow_lipschitz(&s->flow) > 0 ? log1p(half * flow_lipschitz(&s->flow) / epsilon) /
						       flow_lipschitz(&s->flow) / l->h
					     : 1;
	out->steps = steps < (double)l->steps ? (uint64_t)steps : l->steps;
	if (!out->steps)
		out->steps = 1;
	/* 1e-9 allows for rounding */
	out->bound = flow_apart(&s->flow, epsilon, (double)out->steps, l->h) + 1e-9;
	out->furthest = 0;
	return lines_run(l, out->steps, &ignored, &out->furthest, err);
}
