/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/lwk_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/idset.h"
#include "hugepages/kvm_probe.h"
#include "hugepages/pool.h"

#define FACTS_PATH_MAX 512
#define POOL_PAGE_2M (UINT64_C(2) << 20)
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static void add_rooms(char *buf, size_t size, const char *root)
{
	char path[FACTS_PATH_MAX], list[256];
	struct errbuf ignored;
	struct idset nodes;
	struct pages_node *room;
	unsigned n = 0;

	snprintf(path, sizeof(path), "%s/sys/devices/system/node/has_memory", root);
	if (file_read_line(path, list, sizeof(list)) < 0 || idset_parse(&nodes, list, &ignored) < 0)
		return;
	room = calloc(idset_count(&nodes) + 1, sizeof(*room));
	for (int i = idset_next(&nodes, -1); room && i >= 0; i = idset_next(&nodes, i))
		room[n++].node = (unsigned)i;
	if (!room || pool_read_rooms(room, n, root) < 0)
		n = 0;
	for (unsigned i = 0; i < n; i++) {
		size_t used = strlen(buf);

		if (room[i].room)
			snprintf(buf + used, size - used, "; node %u: %" PRIu64 " MiB for extents",
				 room[i].node, room[i].room / POOL_PAGE_2M * 2);
	}
	free(room);
}

const char *lwk_facts(char *buf, size_t size, const char *root)
{
	char path[FACTS_PATH_MAX], clock[64];
	struct errbuf err = { 0 };
	int fd;

	snprintf(path, sizeof(path), "%s/dev/kvm", root);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		snprintf(buf, size, "/dev/kvm: %s", strerror(errno));
	else if (kvm_probe(fd, &err) < 0)
		snprintf(buf, size, "/dev/kvm opens, but a machine does not run: %s", err.text);
	else
		snprintf(buf, size, "a machine runs");
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "%s" CLOCK, root);
	if (file_read_line(path, clock, sizeof(clock)) == 0 && strcmp(clock, "tsc") != 0) {
		size_t used = strlen(buf);

		snprintf(buf + used, size - used, "; slow clock: %s, not tsc", clock);
	}
	add_rooms(buf, size, root);
	return buf;
}
