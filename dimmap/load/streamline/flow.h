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

/*
 * Write the velocity at P to V. OF is a struct flow; functions of other fields have another type of
 * argument here.
 */
typedef void velocity(const void *of, const double p[3], double v[3]);
velocity flow_velocity;

/*
 * Return upper bounds of the speed, of the change of velocity per distance, and of the second
 * derivatives of the velocity (as vectors of u, v, w).
 */
double flow_speed_max(const struct flow *f);
double flow_lipschitz(const struct flow *f);

/* Make a step of the classical Runge-Kutta method of order 4. */
void rk4_step(velocity *at, const void *of, double p[3], double h);

/*
 * Return an upper bound of the distance between two RK4 paths after STEPS steps of H. Both begin at
 * one point: one is in this flow, one in a field that differs from it by at most EPSILON. L is the
 * Lipschitz constant. Each step stretches the distance by at most exp(L H), and adds at most
 * EPSILON / L (exp(L H) - 1). So the bound is EPSILON / L (exp(L STEPS H) - 1).
 */
double flow_apart(const struct flow *f, double epsilon, double steps, double h);

#endif
