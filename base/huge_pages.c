/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Huge pages of a memory node, as /sys shows them. */
#include "base/huge_pages.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 512

static uint64_t huge_pages_number_in(const char *path)
{
	uint64_t number = 0;
	FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%" SCNu64, &number) != 1)
		number = 0;
	if (f)
		fclose(f);
	return number;
}

uint64_t huge_pages_of(const char *root, unsigned node)
{
	char dir[PATH_BYTES], path[PATH_BYTES + 300];
	struct dirent *e;
	uint64_t kib, sum = 0;
	DIR *d;
	int len;

	len = snprintf(dir, sizeof(dir), "%s/sys/devices/system/node/node%u/hugepages", root, node);
	if ((size_t)len >= sizeof(dir))
		return 0;
	d = opendir(dir);
	while (d && (e = readdir(d)) != NULL) {
		if (sscanf(e->d_name, "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/nr_hugepages", dir, e->d_name);
		sum += huge_pages_number_in(path) * (kib << 10);
	}
	if (d)
		closedir(d);
	return sum;
}
