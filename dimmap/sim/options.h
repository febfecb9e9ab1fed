/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_OPTIONS_H
#define NODEOS_DIMMAP_SIM_OPTIONS_H

#include "dimmap/sim/accesses.h"
#include "dimmap/sim/results.h"

#define POLICIES_MAX (LINES_MAX - 2)

/* A requested size of the buffer: a number of pages, or a percentage of the pages in use. */
struct wish {
	double amount;
	bool percent;
};

struct options {
	const struct dimmap_policy *policy[POLICIES_MAX];
	unsigned policies;
	struct wish wish[SIZES_MAX];
	unsigned wishes;
	uint64_t batch, fill, pools, victims;
	bool has_victims;
	bool has_pattern;
	struct pattern pattern;
	const char *pattern_text;
	uint64_t size, accesses, seed, writes;
	bool json, progress;
	const char *svg;
	char **trace; /* NULL at the end */
};

extern const char options_usage[];

/*
 * Parse the command line. Returns 0, 1 for --help, 2 for --version, or -1 with ERR for wrong usage.
 */
int sim_options_parse(struct options *o, int argc, char **argv, struct errbuf *err);

/*
 * Fill SIZE with the sizes for PAGES pages in use, ascending and without repeats. Returns their
 * number.
 */
unsigned options_sizes(const struct options *o, uint32_t pages, uint32_t size[SIZES_MAX]);

#endif
