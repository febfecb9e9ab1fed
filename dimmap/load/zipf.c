/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/zipf.h"

#include <math.h>

/*
 * Return the integral of x^-a from 1 to x. Near a = 1, the plain formula loses digits by
 * cancellation; expm1() does not.
 */
static double integral(const struct zipf *z, double x)
{
	double t = (1 - z->a) * log(x);

	return fabs(t) < 1e-12 ? log(x) : expm1(t) / (1 - z->a);
}

static double inverse_integral(const struct zipf *z, double y)
{
	double t = (1 - z->a) * y;

	if (fabs(t) < 1e-12)
		return exp(y);
	/* rounding must not make the argument of log() negative or 0 */
	return exp(log1p(t > -1 ? t : -1 + 0x1p-53) / (1 - z->a));
}

void zipf_start(struct zipf *z, double a, uint64_t n)
{
	z->a = a;
	z->n = (double)n;
	/*
	 * Rank k has the piece of the integral from k - 1/2 to k + 1/2. The piece of rank 1 begins
	 * later than 1/2, so that its size is exactly the weight of rank 1, which is 1.
	 */
	z->low = integral(z, 1.5) - 1;
	z->high = integral(z, z->n + 0.5);
	z->sure = 2 - inverse_integral(z, integral(z, 2.5) - pow(2, -a));
}

uint64_t zipf_next(const struct zipf *z, struct random *r)
{
	for (;;) {
		double y = z->high - random_unit(random_next(r)) * (z->high - z->low);
		double x = inverse_integral(z, y), k = floor(x + 0.5);

		if (k < 1)
			k = 1;
		if (k > z->n)
			k = z->n;
		if (k - x <= z->sure || y >= integral(z, k + 0.5) - pow(k, -z->a))
			return (uint64_t)k;
	}
}
