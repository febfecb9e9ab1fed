/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages PID: reads maps and pagemap of a process as root and prints the present pages of its
 * private memory and of its extent (shared huge pages, the memfd "nodeos-lwk"), and how many runs
 * of page frames the extent has.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRESENT (1UL << 63)
#define FILE_PAGE (1UL << 61)
#define FRAME ((1UL << 55) - 1)

int main(int argc, char **argv)
{
	char path[64], line[512], mode[8];
	unsigned long begin, end, extent = 0, private = 0, runs = 0, last = 0;
	FILE *maps;
	int fd;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/pagemap", argv[1]);
	fd = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		int in_extent = strstr(line, "memfd:nodeos-lwk") != NULL;

		if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) != 3 ||
		    (mode[3] == 's' && !in_extent))
			continue;
		for (unsigned long at = begin; at < end; at += 4096) {
			uint64_t e = 0;

			if (pread(fd, &e, 8, (off_t)(at / 4096 * 8)) != 8 || !(e & PRESENT))
				continue;
			if (in_extent) {
				extent++;
				runs += (e & FRAME) != last + 1;
				last = e & FRAME;
			} else if (!(e & FILE_PAGE)) {
				private++;
			}
		}
	}
	printf("outside pages extent %lu runs %lu private %lu\n", extent, runs, private);
	return 0;
}
