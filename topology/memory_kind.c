/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/memory_kind.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_name[MEMORY_KINDS] = {
	[MEMORY_DRAM] = "dram",	      [MEMORY_HBM] = "hbm", [MEMORY_SPM] = "spm",
	[MEMORY_UNKNOWN] = "unknown", [MEMORY_CXL] = "cxl", [MEMORY_NVM] = "nvm",
	[MEMORY_GPU] = "gpu",
};

const char *memory_kind_name(enum memory_kind kind)
{
	return kind_name[kind];
}

int memory_kind_by_name(const char *name)
{
	for (int k = 0; k < MEMORY_KINDS; k++)
		if (strcmp(name, kind_name[k]) == 0)
			return k;
	return -1;
}

const char *memory_kinds_format(char buf[MEMORY_KINDS_TEXT_MAX], unsigned kinds)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned k = 0; k < MEMORY_KINDS; k++)
		if (kinds & MEMORY_KIND_BIT(k))
			used += (size_t)snprintf(buf + used, MEMORY_KINDS_TEXT_MAX - used, "%s%s",
						 used ? "," : "", kind_name[k]);
	return buf;
}

int memory_kinds_parse(unsigned *kinds, const char *text)
{
	unsigned found = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		unsigned k = 0;

		while (k < MEMORY_KINDS &&
		       (strlen(kind_name[k]) != len || strncmp(kind_name[k], text, len) != 0))
			k++;
		if (k == MEMORY_KINDS)
			return -1;
		found |= MEMORY_KIND_BIT(k);
		if (!text[len])
			break;
		text += len + 1;
	}
	*kinds = found;
	return 0;
}
