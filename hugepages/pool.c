/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fileio.h"

#define POOL_PATH_MAX 512
#define READINGS_MAX 50

uint64_t pool_persistent(const struct pool_state *s)
{
	return s->total - s->surplus;
}

/*
 * A write to the node's nr_hugepages asks for VALUE pages. The kernel first makes the node's
 * surplus pages persistent, which adds no free page. So VALUE must count them, too, and be higher
 * by their number. The kernel compares VALUE with the node's total less S->all_surplus.
 */
bool pool_raise_value(uint64_t *value, const struct pool_state *s, uint64_t pages)
{
	uint64_t all = s->total + s->surplus + pages;

	*value = all - s->all_surplus;
	return all >= s->all_surplus;
}

bool pool_lower_value(uint64_t *value, const struct pool_state *s, uint64_t pages)
{
	uint64_t most = s->total - s->all_surplus;

	*value = pages < most ? most - pages : 0;
	return s->total > s->all_surplus;
}

uint64_t pool_added(uint64_t before, uint64_t asked, uint64_t now)
{
	uint64_t more = now > before ? now - before : 0;

	return more < asked ? more : asked;
}

/*
 * Write the path of FILE of pool P: the file of the pool's node if OF_NODE, else the file of all
 * nodes.
 */
static int pool_path(char path[POOL_PATH_MAX], const char *root, const struct pool *p, int of_node,
		     const char *file)
{
	char dir[64] = "kernel/mm";

	if (of_node)
		snprintf(dir, sizeof(dir), "devices/system/node/node%u", p->node);
	return snprintf(path, POOL_PATH_MAX, "%s/sys/%s/hugepages/hugepages-%" PRIu64 "kB/%s", root,
			dir, p->page >> 10, file) < POOL_PATH_MAX
		       ? 0
		       : -1;
}

static int read_count(uint64_t *out, const char *root, const struct pool *p, int of_node,
		      const char *file)
{
	char path[POOL_PATH_MAX], line[32];

	if (pool_path(path, root, p, of_node, file) < 0 ||
	    file_read_line(path, line, sizeof(line)) < 0)
		return -1;
	*out = strtoull(line, NULL, 10);
	return 0;
}

bool pool_counts_all(const char *release)
{
	unsigned major = 0, minor = 0;

	return sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 7));
}

static int read_once(struct pool_state *s, const char *root, const struct pool *p)
{
	struct utsname kernel = { 0 };
	int rc;

	uname(&kernel);
	rc = read_count(&s->surplus, root, p, 1, "surplus_hugepages");
	s->all_surplus = s->surplus;
	if (rc == 0 && pool_counts_all(kernel.release))
		rc = read_count(&s->all_surplus, root, p, 0, "surplus_hugepages");
	if (rc == 0)
		rc = read_count(&s->total, root, p, 1, "nr_hugepages");
	return rc == 0 ? read_count(&s->free, root, p, 1, "free_hugepages") : -1;
}

/*
 * A program may give a surplus page back between two readings, and the page then leaves the surplus
 * and the total: read again until nothing has changed.
 */
int pool_read(struct pool_state *out, const char *root, const struct pool *p, struct errbuf *err)
{
	struct pool_state s, again;
	int rc = read_once(&s, root, p);

	for (unsigned i = 0; rc == 0 && i < READINGS_MAX; i++) {
		rc = read_once(&again, root, p);
		if (rc == 0 && again.total == s.total && again.surplus == s.surplus &&
		    again.all_surplus == s.all_surplus)
			break;
		s = again;
	}
	if (rc < 0)
		return errprintf(err,
				 "memory node %u has no huge pages of %" PRIu64
				 " MiB: this kernel or this processor lacks them",
				 p->node, p->page >> 20);
	*out = s;
	return 0;
}

int pool_write(const char *root, const struct pool *p, uint64_t value, struct errbuf *err)
{
	char path[POOL_PATH_MAX], text[32];
	int fd = -1, rc = pool_path(path, root, p, 1, "nr_hugepages");

	if (rc == 0) {
		int len = snprintf(text, sizeof(text), "%" PRIu64, value);

		fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		rc = fd >= 0 && write(fd, text, (size_t)len) == len ? 0 : -1;
	}
	if (rc < 0)
		errprintf(err, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The index of NODE among the N nodes of ROOM; N: it is none of them. */
static unsigned index_of(const struct pages_node *room, unsigned n, unsigned node)
{
	unsigned i = 0;

	while (i < n && room[i].node != node)
		i++;
	return i;
}

/*
 * Set HIGH[I] to the sum of the high watermarks of the zones of ROOM[I].node, in pages; UINT64_MAX:
 * unknown. /proc/zoneinfo is long on a host with many CPUs and nodes, so it is read once for all.
 */
static void read_watermarks(uint64_t *high, const struct pages_node *room, unsigned n,
			    const char *root)
{
	char path[POOL_PATH_MAX], line[256];
	uint64_t value;
	unsigned node, at = n;
	FILE *f;

	for (unsigned i = 0; i < n; i++)
		high[i] = UINT64_MAX;
	snprintf(path, sizeof(path), "%s/proc/zoneinfo", root);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *word = line + strspn(line, " ");

		if (sscanf(line, "Node %u, zone", &node) == 1)
			at = index_of(room, n, node);
		else if (at < n && strncmp(word, "high ", 5) == 0 &&
			 sscanf(word + 5, "%" SCNu64, &value) == 1)
			high[at] = (high[at] == UINT64_MAX ? 0 : high[at]) + value;
	}
	if (f)
		fclose(f);
}

static uint64_t read_free(unsigned node, const char *root)
{
	uint64_t kib, bytes = 0;
	char path[POOL_PATH_MAX], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%u/meminfo", root, node);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Node %*u MemFree: %" SCNu64, &kib) == 1)
			bytes = kib << 10;
	if (f)
		fclose(f);
	return bytes;
}

int pool_read_rooms(struct pages_node *room, unsigned n, const char *root)
{
	uint64_t *high = calloc(n + 1, sizeof(*high));
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!high)
		return -1;
	read_watermarks(high, room, n, root);
	for (unsigned i = 0; i < n; i++) {
		uint64_t bytes = read_free(room[i].node, root);

		room[i].room = high[i] < bytes / page ? bytes - high[i] * page : 0;
	}
	free(high);
	return 0;
}
