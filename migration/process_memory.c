/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/cgroup.h"

/* Is the process in its cgroup? Does not wait for an address space. */
static bool is_in_cgroup(const struct process_memory *p)
{
	char text[2 * CGROUP_PATH_MAX], *at;

	/* fails when the process has ended, even if another process has its pid */
	if (file_read(p->dir, "cgroup", text, sizeof(text), NULL) < 0)
		return false;
	at = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (!at)
		return false;
	at += 4 + (*at == '\n');
	at[strcspn(at, "\n")] = '\0';
	return cgroup_below(at, p->cgroup) != NULL;
}

int process_memory_probe(const struct process_memory *p)
{
	char byte;
	ssize_t n;
	int fd;

	if (!is_in_cgroup(p)) {
		errno = ESRCH;
		return -1;
	}
	fd = openat(p->dir, "numa_maps", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, &byte, 1);
	if (n == 0)
		errno = ESRCH; /* it no longer has an address space */
	if (fd >= 0)
		close(fd);
	return n == 1 ? 0 : -1;
}

int process_memory_open(struct process_memory *p, pid_t pid, const char *cgroup)
{
	char path[32];
	struct stat st;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	*p = (struct process_memory){ .pid = pid, .cgroup = cgroup };
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0) {
		errno = ESRCH;
		return -1;
	}
	if (fstat(p->dir, &st) < 0 || !is_in_cgroup(p))
		error = ESRCH;
	else if (st.st_uid != geteuid() || st.st_gid != getegid())
		error = EPERM;
	else if (process_memory_probe(p) < 0)
		error = errno;
	if (!error)
		return 0;
	process_memory_close(p);
	errno = error;
	return -1;
}

void process_memory_close(struct process_memory *p)
{
	close(p->dir);
	p->dir = -1;
}

/* ------------------------------------------------------------------ mappings */

struct walk {
	FILE *numa, *maps;
	struct numa_mapping mapping;
	struct maps_extent extent;
	char line[NUMA_MAPS_LINE];
};

/* Read a line to W. The part that does not fit is dropped. */
static bool read_line(struct walk *w, FILE *f)
{
	size_t length;
	int c = 0;

	if (!fgets(w->line, sizeof(w->line), f))
		return false;
	length = strlen(w->line);
	if (length == 0 || w->line[length - 1] != '\n')
		while (c != EOF && c != '\n')
			c = fgetc(f);
	return true;
}

/* Find the extent of the mapping in maps. Both files are ordered by address. */
static void find_extent(struct walk *w)
{
	uint64_t start = w->mapping.start;

	while (w->extent.start < start && read_line(w, w->maps))
		if (maps_extent_parse(&w->extent, w->line, NULL) < 0)
			w->extent = (struct maps_extent){ .start = 0 };
}

static FILE *walk_file(int fd)
{
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

int process_memory_each(const struct process_memory *p,
			void (*fn)(const struct numa_mapping *m, const struct maps_extent *extent,
				   void *arg),
			void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));
	int rc = -1;

	if (!w)
		return -1;
	w->numa = walk_file(openat(p->dir, "numa_maps", O_RDONLY | O_CLOEXEC));
	w->maps = walk_file(openat(p->dir, "maps", O_RDONLY | O_CLOEXEC));
	while (w->numa && w->maps && read_line(w, w->numa)) {
		struct maps_extent none = { .start = 0 };

		if (numa_mapping_parse(&w->mapping, w->line, NULL) < 0)
			continue;
		find_extent(w);
		fn(&w->mapping, w->extent.start == w->mapping.start ? &w->extent : &none, arg);
		rc = 0;
	}
	if (w->numa)
		fclose(w->numa);
	if (w->maps)
		fclose(w->maps);
	free(w);
	return rc;
}

/* ------------------------------------------------------------------ pages */

/*
 * PAGEMAP_SCAN of linux/fs.h, Linux 6.7: an ABI of the kernel, defined here for older headers. The
 * bits of a page are those of the kernel.
 */
#define IS_PRESENT (UINT64_C(1) << 3)
#define IS_ZERO (UINT64_C(1) << 5)
#define IS_HUGE (UINT64_C(1) << 6)

struct scanned_region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_MAX 256 /* regions of one call */

int process_memory_open_pages(const struct process_memory *p)
{
	return openat(p->dir, "pagemap", O_RDONLY | O_CLOEXEC);
}

int process_memory_scan(struct present_pages *out, unsigned max, int pages_fd, uint64_t *at,
			uint64_t end)
{
	struct scanned_region found[SCAN_MAX];
	struct scan s = { .size = sizeof(s),
			  .start = *at,
			  .end = end,
			  .vec = (uintptr_t)found,
			  .vec_len = max < SCAN_MAX ? max : SCAN_MAX,
			  .category_inverted = IS_ZERO,
			  .category_mask = IS_PRESENT | IS_ZERO,
			  .return_mask = IS_PRESENT | IS_HUGE };
	int n = ioctl(pages_fd, SCAN, &s);

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++)
		out[i] = (struct present_pages){ .start = found[i].start,
						 .end = found[i].end,
						 .huge = found[i].categories & IS_HUGE };
	/* the kernel always advances; if it did not, this loop must end all the same */
	*at = s.walk_end > *at ? s.walk_end : end;
	return n;
}
