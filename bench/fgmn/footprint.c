/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * footprint GROUPS: print the memory that the kernel itself uses soon after the boot, and the
 * memory that GROUPS more cgroups with the memory controller use. kernel/test/init.c mounts /proc
 * and, on /cg, cgroup2, and runs this program. Lines are "footprint NAME NUMBER". NUMBER is in KiB
 * unless the name has another unit.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long meminfo(const char *name)
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			kib = strtol(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static long footprint_number_in(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (!f || fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* Return the number of kernel threads whose names begin with NAME. */
static int threads(const char *name)
{
	struct dirent *e;
	int n = 0;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d)) != NULL) {
		char path[300], comm[64] = "";
		FILE *f;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(comm, sizeof(comm), f))
			n += strncmp(comm, name, strlen(name)) == 0;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	static const char *const field[] = { "MemTotal", "MemFree",    "MemAvailable", "Slab",
					     "Percpu",	 "PageTables", "KernelStack" };
	int groups = argc > 1 ? atoi(argv[1]) : 50;
	long slab, percpu, free;
	char path[64];

	/* wait until khugepaged has set min_free_kbytes and the work of the boot has ended */
	sleep(3);
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		printf("footprint %s %ld\n", field[i], meminfo(field[i]));
	printf("footprint min_free_kbytes %ld\n",
	       footprint_number_in("/proc/sys/vm/min_free_kbytes"));
	printf("footprint kswapd_threads %d\n", threads("kswapd"));
	printf("footprint kcompactd_threads %d\n", threads("kcompactd"));
	slab = meminfo("Slab");
	percpu = meminfo("Percpu");
	free = meminfo("MemFree");
	for (int i = 0; i < groups; i++) {
		snprintf(path, sizeof(path), "/cg/c%d", i);
		if (mkdir(path, 0755) < 0) {
			printf("footprint: %s: %s\n", path, strerror(errno));
			return 1;
		}
	}
	sleep(1);
	printf("footprint groups %d\n", groups);
	printf("footprint groups_slab %ld\n", meminfo("Slab") - slab);
	printf("footprint groups_percpu %ld\n", meminfo("Percpu") - percpu);
	printf("footprint groups_free %ld\n", free - meminfo("MemFree"));
	return 0;
}
