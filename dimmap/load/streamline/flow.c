/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/streamline/flow.h"

#include <math.h>

const struct flow flow_usual = { 1.7320508075688772, 1.4142135623730951, 1 };

void flow_velocity(const void *of, const double p[3], double v[3])
{
	const struct flow *f = of;

	v[0] = f->a * sin(p[2]) + f->c * cos(p[1]);
	v[1] = f->b * sin(p[0]) + f->a * cos(p[2]);
	v[2] = f->c * sin(p[1]) + f->b * cos(p[0]);
}

double flow_speed_max(const struct flow *f)
{
	double a = fabs(f->a), b = fabs(f->b), c = fabs(f->c);

	return sqrt((a + c) * (a + c) + (b + a) * (b + a) + (c + b) * (c + b));
}

/*
 * Return the Frobenius norm of the Jacobian, whose columns have at most the lengths |B|, |C| and
 * |A|. The spectral norm is not larger.
 */
double flow_lipschitz(const struct flow *f)
{
	return sqrt(f->a * f->a + f->b * f->b + f->c * f->c);
}

static void point_ahead(double out[3], const double p[3], const double v[3], double h)
{
	for (unsigned i = 0; i < 3; i++)
		out[i] = p[i] + h * v[i];
}

void rk4_step(velocity *at, const void *of, double p[3], double h)
{
	double k1[3], k2[3], k3[3], k4[3], q[3];

	at(of, p, k1);
	point_ahead(q, p, k1, h / 2);
	at(of, q, k2);
	point_ahead(q, p, k2, h / 2);
	at(of, q, k3);
	point_ahead(q, p, k3, h);
	at(of, q, k4);
	for (unsigned i = 0; i < 3; i++)
		p[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

double flow_apart(const struct flow *f, double epsilon, double steps, double h)
{
	double l = flow_lipschitz(f);

	return l > 0 ? epsilon / l * expm1(l * steps * h) : epsilon * steps * h;
}
