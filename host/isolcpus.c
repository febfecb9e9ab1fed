/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/fileio.h"
#include "host/isolcpus.h"

static void read_boot_list(const char *root, const char *name, struct idset *out)
{
	char path[512], text[IDSET_LIST_MAX + 2];

	idset_zero(out);
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/%s", root, name);
	if (file_read_line(path, text, sizeof(text)) >= 0)
		idset_parse(out, text, NULL); /* without a list, OUT stays empty */
}

void isolcpus_read(const char *root, struct idset *out)
{
	read_boot_list(root, "isolated", out);
}

void nohz_full_read(const char *root, struct idset *out)
{
	read_boot_list(root, "nohz_full", out); /* "(null)" without the parameter */
}
