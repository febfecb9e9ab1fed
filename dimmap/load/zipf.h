/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_LOAD_ZIPF_H
#define NODEOS_DIMMAP_LOAD_ZIPF_H

#include <stdint.h>

#include "dimmap/load/random.h"

/*
 * Ranks 1 to N by Zipf's law: the probability of rank k is proportional to k^-A. Ranks are drawn by
 * rejection-inversion (Hoermann and Derflinger: Rejection-inversion to generate variates from
 * monotone discrete distributions, ACM TOMACS 6, 1996). This needs no table, and the time of a draw
 * does not depend on N.
 */
struct zipf {
	double a, n;
	double low, high; /* range of the integral of x^-A from which to draw */
	/* a rank that exceeds its x by at most SURE is accepted without calculating the integral */
	double sure;
};

#define ZIPF_A_MIN 0.01
#define ZIPF_A_MAX 10

void zipf_start(struct zipf *z, double a, uint64_t n);
uint64_t zipf_next(const struct zipf *z, struct random *r);

#endif
