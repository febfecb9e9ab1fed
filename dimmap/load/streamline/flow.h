/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_STREAMLINE_FLOW_H
#define NODEOS_DIMMAP_LOAD_STREAMLINE_FLOW_H

/*
 * The flow of Arnold, Beltrami and Childress, of period 2 pi in each direction:
 *
 *	u = A sin z + C cos y,  v = B sin x + A cos z,  w = C sin y + B cos x
 */
struct flow {
	double a, b, c;
};

extern const struct flow flow_usual; /* A, B and C are the square roots of 3, 2 and 1 */

/* Put the velocity at P into V. OF is a struct flow, or the argument of another field. */
typedef void velocity(const void *of, const double p[3], double v[3]);
velocity flow_velocity;

/*
 * Upper bounds of the speed, of the change of velocity by distance, and of the second derivatives
 * of the velocity (as vectors of u, v, w).
 */
double flow_speed_max(const struct flow *f);
double flow_lipschitz(const struct flow *f);

/* One step of the classical Runge-Kutta method of order 4. */
void rk4_step(velocity *at, const void *of, double p[3], double h);

/*
 * Upper bound of the distance between two RK4 paths from one point after STEPS steps of H, one in
 * this flow and one in a field that differs from it by at most EPSILON: EPSILON / L (exp(L STEPS H)
 * - 1), as each step stretches the distance by exp(L H) at most, L being the Lipschitz constant,
 * and adds EPSILON / L (exp(L H) - 1).
 */
double flow_apart(const struct flow *f, double epsilon, double steps, double h);

#endif
