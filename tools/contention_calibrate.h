/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_CONTENTION_CALIBRATE_H
#define NODEOS_TOOLS_CONTENTION_CALIBRATE_H

#include <stdbool.h>
#include <stdio.h>

#include "counters/counters.h"

/* The options of nodeosctl contention --calibrate. */
struct calibration {
	const char *conf; /* path of nodeos.conf */
	const char *root; /* path before /sys and the directory of peaks; "" except in tests */
	bool json;
	bool force; /* calibrate even while jobs run on this node */
};

/* Calibrate with the counters that nodeos.conf selects. For root. Returns the exit status. */
int calibration_run(const struct calibration *o);

/*
 * Calibrate with the open counters C: measure each domain, write the peaks for nodeos-contend, and
 * print the results to OUT. With O->json, OUT gets JSON, and the table goes to standard error.
 * Returns the exit status: 3 if a figure differs from the expected one.
 */
int calibration_measure(const struct calibration *o, struct counters *c, FILE *out);

#endif
