/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch/report_path.h"

#include <stdio.h>
#include <string.h>

#include "launch/step.h"

int report_path_check(const char *pattern, struct errbuf *err)
{
	int node = 0, step = 0;

	for (const char *p = pattern; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			return errprintf(err, "--nodeos-report: byte %d is a control character",
					 (int)(p - pattern) + 1);
	for (const char *p = strchr(pattern, '%'); p; p = strchr(p + 2, '%')) {
		if (!p[1] || !strchr("jsN%", p[1]))
			return errprintf(err,
					 "--nodeos-report=%.200s: \"%%%c\" is not known (allowed: "
					 "%%j job, %%s step, %%N node, %%%%)",
					 pattern, p[1] ? p[1] : ' ');
		node |= p[1] == 'N';
		step |= p[1] == 's';
	}
	if (!node || !step)
		return errprintf(
			err,
			"--nodeos-report=%.200s: needs %%N (node) and %%s (step), for example "
			"report.%%j.%%s.%%N.json; otherwise reports overwrite each other",
			pattern);
	return 0;
}

int report_path(char *out, size_t size, const char *pattern, const struct report_names *names,
		struct errbuf *err)
{
	size_t used = 0;

	if (report_path_check(pattern, err) < 0)
		return -1;
	for (const char *p = pattern; *p; p++) {
		char text[256] = { *p, '\0' };

		if (*p == '%') {
			p++;
			if (*p == 'j')
				snprintf(text, sizeof(text), "%u", names->job_id);
			else if (*p == 's')
				step_id_format(names->step_id, text);
			else if (*p == 'N')
				snprintf(text, sizeof(text), "%s", names->node);
		}
		if (used + strlen(text) >= size)
			return errprintf(err, "--nodeos-report: the path is longer than %zu bytes",
					 size - 1);
		strcpy(out + used, text);
		used += strlen(text);
	}
	return 0;
}
