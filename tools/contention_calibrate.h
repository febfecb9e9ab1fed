/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_CONTENTION_CALIBRATE_H
#define NODEOS_TOOLS_CONTENTION_CALIBRATE_H

#include <stdbool.h>
#include <stdio.h>

#include "counters/counters.h"

/* nodeosctl contention --calibrate. */
struct calibration {
	const char *conf; /* nodeos.conf */
	const char *root; /* of /sys and of the file of peaks; "": this host's, else a test's */
	bool json;
	bool force; /* also while jobs run here */
};

/* For root: calibrate with the counters of nodeos.conf. Returns the exit status. */
int calibration_run(const struct calibration *o);

/*
 * The same with open counters: measure each domain, keep the peaks for nodeos-contend, and print to
 * OUT. With JSON the table goes to standard error, line by line. Returns the exit status: 3 where a
 * figure differs from what is known.
 */
int calibration_measure(const struct calibration *o, struct counters *c, FILE *out);

#endif
