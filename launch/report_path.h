/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LAUNCH_REPORT_PATH_H
#define NODEOS_LAUNCH_REPORT_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * --nodeos-report=PATTERN: %j job id, %s step ("batch", "0"), %N node, %% a
 * percent sign. %N and %s are demanded, or nodes and steps would overwrite each other.
 */
int report_path_check(const char *pattern, struct errbuf *err);

/* Whose report it is: what %j, %s and %N stand for. */
struct report_names {
	uint32_t job_id, step_id;
	const char *node;
};

int report_path(char *out, size_t size, const char *pattern, const struct report_names *names,
		struct errbuf *err);

#endif
