/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_REPORT_PATH_H
#define NODEOS_LAUNCH_REPORT_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * --nodeos-report=PATTERN: %j job id, %s step ("batch", "0"), %N node, %% a percent sign. %N and %s
 * are required: otherwise nodes and steps overwrite each other's reports.
 */
int report_path_check(const char *pattern, struct errbuf *err);

/* Values of %j, %s and %N. */
struct report_names {
	uint32_t job_id, step_id;
	const char *node;
};

int report_path(char *out, size_t size, const char *pattern, const struct report_names *names,
		struct errbuf *err);

#endif
