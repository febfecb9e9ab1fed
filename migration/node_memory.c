/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/node_memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/cgroup.h"

/* memory.numa_stat has some 40 lines, each with at most 27 bytes for each node. */
#define TEXT_MAX (1 << 20)

static void add_capped(uint64_t *sum, uint64_t bytes)
{
	*sum = bytes > UINT64_MAX - *sum ? UINT64_MAX : *sum + bytes;
}

void node_memory_add(struct node_memory *out, const struct node_home *where, unsigned node,
		     uint64_t bytes)
{
	if (idset_has(&where->home, node))
		add_capped(&out->home, bytes);
	else if (idset_has(&where->container, node))
		add_capped(&out->elsewhere, bytes);
	else
		add_capped(&out->outside, bytes);
}

/* Parse "N1=4096". Returns the text after it, or NULL. */
static const char *read_node_bytes(unsigned *node, uint64_t *bytes, const char *at)
{
	unsigned long id;
	char *end;

	if (at[0] != 'N' || !isdigit((unsigned char)at[1]))
		return NULL;
	errno = 0;
	id = strtoul(at + 1, &end, 10);
	if (errno || id >= IDSET_MAX || end[0] != '=' || !isdigit((unsigned char)end[1]))
		return NULL;
	*bytes = strtoull(end + 1, &end, 10);
	*node = (unsigned)id;
	return errno ? NULL : end;
}

int node_memory_parse(struct node_memory *out, const struct node_home *where, const char *text,
		      struct errbuf *err)
{
	struct node_memory sum = { 0 };
	const char *at = text;
	uint64_t bytes;
	unsigned node;

	while (at && strncmp(at, "anon ", 5) != 0) {
		at = strchr(at, '\n');
		at += at != NULL;
	}
	for (at = at ? at + 4 : NULL; at && *at == ' ';) {
		at = read_node_bytes(&node, &bytes, at + 1);
		if (at)
			node_memory_add(&sum, where, node, bytes);
	}
	if (!at || (*at && *at != '\n'))
		return errprintf(err, "memory.numa_stat has no line of anonymous memory");
	*out = sum;
	return 0;
}

int node_memory_read(struct node_memory *out, const struct node_home *where, int cgroup_fd,
		     const char *path, struct errbuf *err)
{
	char *text = malloc(TEXT_MAX);
	int rc = -1;

	if (!text)
		errprintf(err, "out of memory");
	else if (cgroup_read(cgroup_fd, path, "memory.numa_stat", text, TEXT_MAX, err) == 0)
		rc = node_memory_parse(out, where, text, err);
	free(text);
	return rc;
}

unsigned node_memory_share(const struct node_memory *m)
{
	double all = (double)m->home + (double)m->elsewhere, share;

	if (m->elsewhere == 0)
		return 0;
	share = 1000 * ((double)m->elsewhere / all);
	return (unsigned)share + (share > (unsigned)share);
}
