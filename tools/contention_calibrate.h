/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_CONTENTION_CALIBRATE_H
#define NODEOS_TOOLS_CONTENTION_CALIBRATE_H

#include <stdbool.h>
#include <stdio.h>

#include "counters/counters.h"

/* The options of nodeosctl contention --calibrate. */
struct calibration {
	const char *conf; /* path of nodeos.conf */
	const char *root; /* put before /sys and the directory of peaks; "" except in tests */
	bool json;
	bool force; /* calibrate also while jobs run on this node */
};

/* Calibrate with the counters of nodeos.conf, as root. Returns the exit status. */
int calibration_run(const struct calibration *o);

/*
 * Calibrate with the open counters C: measure each domain, write the peaks for nodeos-contend, and
 * print the results to OUT. With --json the table goes to standard error, line by line. Returns the
 * exit status: 3 if a figure differs from the expected one.
 */
int calibration_measure(const struct calibration *o, struct counters *c, FILE *out);

#endif
