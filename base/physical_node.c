/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/physical_node.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/idset.h"

#define NODE_DIR "/sys/devices/system/node"
/*
 * distance of a node to itself (include/linux/topology.h), and between the parts of one physical
 * node
 */
#define LOCAL_DISTANCE 10

static int physical_node_line(char *buf, size_t size, const char *root, const char *path)
{
	char whole[512];

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) >= sizeof(whole))
		return -1;
	return file_read_line(whole, buf, size);
}

/* Return whether the kernel's command line has "numa=fake=NU", N being a number. */
static bool asks_for_fake(const char *root)
{
	static const char word[] = "numa=fake=";
	char text[4096];
	const char *at = text;

	if (physical_node_line(text, sizeof(text), root, "/proc/cmdline") < 0)
		return false;
	while ((at = strstr(at, word)) != NULL) {
		bool begins = at == text || at[-1] == ' ';
		size_t digits = strspn(at += sizeof(word) - 1, "0123456789");

		if (begins && digits && at[digits] == 'U')
			return true;
	}
	return false;
}

/*
 * Return the first node at local distance: the kernel gives the parts of a physical node this
 * distance.
 */
static unsigned first_at_local_distance(const char *root, unsigned node)
{
	char path[96], text[8192], *at = text, *end;
	struct idset online;
	int other = -1;

	snprintf(path, sizeof(path), NODE_DIR "/node%u/distance", node);
	if (physical_node_line(text, sizeof(text), root, NODE_DIR "/online") < 0 ||
	    idset_parse(&online, text, NULL) < 0 ||
	    physical_node_line(text, sizeof(text), root, path) < 0)
		return node;
	for (; (other = idset_next(&online, other)) >= 0; at = end) {
		long distance = strtol(at, &end, 10);

		if (end == at)
			return node;
		if (distance == LOCAL_DISTANCE)
			return (unsigned)other;
	}
	return node;
}

enum node_division node_division(const char *root)
{
	struct idset online;
	char text[4096];

	if (physical_node_line(text, sizeof(text), root, "/sys/kernel/mm/fgmn/enabled") == 0 &&
	    strcmp(text, "1") == 0)
		return NODES_FGMN;
	if (!asks_for_fake(root) ||
	    physical_node_line(text, sizeof(text), root, NODE_DIR "/online") < 0 ||
	    idset_parse(&online, text, NULL) < 0)
		return NODES_WHOLE;
	/* the kernel ignores a parameter that it cannot obey, and prints nothing */
	for (int node = -1; (node = idset_next(&online, node)) >= 0;)
		if (first_at_local_distance(root, (unsigned)node) != (unsigned)node)
			return NODES_FAKE;
	return NODES_WHOLE;
}

unsigned physical_node(const char *root, enum node_division how, unsigned node)
{
	char path[96], text[16], *end;
	unsigned long number;

	if (how == NODES_FAKE)
		return first_at_local_distance(root, node);
	snprintf(path, sizeof(path), NODE_DIR "/node%u/physical_node", node);
	if (how == NODES_WHOLE || physical_node_line(text, sizeof(text), root, path) < 0)
		return node;
	number = strtoul(text, &end, 10);
	return end != text && number < IDSET_MAX ? (unsigned)number : node;
}
