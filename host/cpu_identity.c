/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cpu_identity.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"

#define FIRST_CPU_MAX 4096 /* bytes of cpuinfo that contain the first CPU's identity */
#define VALUE_MAX 32 /* bytes of a value of cpuinfo with the final NUL */

/* Get the value of KEY in the first CPU's part of INFO, without surrounding blanks. */
static bool find_cpuinfo(char value[VALUE_MAX], const char *info, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = info; *line && *line != '\n';) {
		size_t end = strcspn(line, "\n");
		const char *at = line + len;

		if (end > len && strncmp(line, key, len) == 0 && strchr("\t :", *at)) {
			at += strspn(at, "\t ");
			if (*at == ':') {
				at += 1 + strspn(at + 1, "\t ");
				len = (size_t)(line + end - at);
				while (len && strchr("\t ", at[len - 1]))
					len--;
				if (!len || len >= VALUE_MAX)
					return false;
				memcpy(value, at, len);
				value[len] = '\0';
				return true;
			}
		}
		line += end + (line[end] == '\n');
	}
	return false;
}

static bool find_number(unsigned *out, const char *info, const char *key)
{
	char value[VALUE_MAX], *end;
	unsigned long n;

	if (!find_cpuinfo(value, info, key) || *value < '0' || *value > '9')
		return false;
	n = strtoul(value, &end, 10);
	*out = (unsigned)n;
	return *end == '\0' && n < 0x10000;
}

int cpu_identity_read(char out[CPU_IDENTITY_MAX], const char *root, struct errbuf *err)
{
	char path[PATH_MAX], info[FIRST_CPU_MAX], vendor[VALUE_MAX];
	unsigned family, model, stepping;
	int n;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
		 root);
	if (file_read_line(path, out, CPU_IDENTITY_MAX) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	n = file_read_head(path, info, sizeof(info) - 1);
	if (n < 0)
		return errprintf(err, "cannot read %.200s", path);
	info[n] = '\0';
	if (!find_cpuinfo(vendor, info, "vendor_id") || !find_number(&family, info, "cpu family") ||
	    !find_number(&model, info, "model") || !find_number(&stepping, info, "stepping"))
		return errprintf(err, "%.200s: no vendor_id, cpu family, model and stepping", path);
	snprintf(out, CPU_IDENTITY_MAX, "%s-%u-%X-%X", vendor, family, model, stepping);
	return 0;
}
