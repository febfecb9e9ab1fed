/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/blocks_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "host/blocks.h"
#include "topology/service.h"

#define FGMN_SPEC "/sys/kernel/mm/fgmn/spec"
#define MIB (UINT64_C(1) << 20)
#define FAKE_MIN (32 * MIB) /* FAKE_NODE_MIN_SIZE of arch/x86/include/asm/numa.h */
#define FAKE_MAX 64 /* parts of a memory node; nodeos(7) says what many parts cost */

void blocks_append_words(char *buf, size_t size, const char *begin)
{
	char line[4096];

	if (file_read_line("/proc/cmdline", line, sizeof(line)) < 0)
		return;
	for (const char *word = line; *word; word += strcspn(word, " "), word += strspn(word, " "))
		if (strncmp(word, begin, strlen(begin)) == 0)
			snprintf(buf + strlen(buf), size - strlen(buf), " %.*s",
				 (int)strcspn(word, " "), word);
}

/* Describe the blocks of a kernel that has divided its memory nodes; PARAMETER asked for them. */
static void describe_made(char *buf, size_t size, const char *parameter)
{
	unsigned asked = 0, homes = 0, made = 0;
	struct blocks b;
	struct errbuf ignored;

	buf[0] = '\0';
	if (blocks_read(&b, "", &ignored) == 0) {
		snprintf(buf, size,
			 "%u of %" PRIu64 " MiB usable, homes (what is left of divided nodes): "
			 "%u; ",
			 idset_count(&b.nodes), blocks_usable(&b, &b.nodes) >> 20,
			 idset_count(&b.homes));
		homes = idset_count(&b.homes);
		made = b.n;
		blocks_free(&b);
	}
	snprintf(buf + strlen(buf), size - strlen(buf), "%s", parameter);
	if (sscanf(parameter, "numa=fake=%uU", &asked) == 1 && made != asked * homes)
		snprintf(buf + strlen(buf), size - strlen(buf),
			 ", not all as requested: %u memory nodes on %u physical ones", made,
			 homes);
}

static void describe_fgmn(char *buf, size_t size, const char *spec)
{
	char error[256] = "", parameter[4096 + 300];

	file_read_line("/sys/kernel/mm/fgmn/error", error, sizeof(error));
	if (blocks_are_on("")) {
		snprintf(parameter, sizeof(parameter), "fgmn=%s%s%s", spec,
			 *error ? ", not all as requested: " : "", error);
		describe_made(buf, size, parameter);
	} else {
		snprintf(buf, size, "none%s%s%s%s",
			 *spec ? ": fgmn=" : " (no fgmn= on the kernel's command line)", spec,
			 *error ? ": " : "", error);
	}
}

void blocks_describe(char *buf, size_t size)
{
	char spec[4096], words[512] = "";
	const char *fake = words;

	blocks_append_words(words, sizeof(words), "numa=fake=");
	fake += *words == ' ';
	if (file_read_line(FGMN_SPEC, spec, sizeof(spec)) == 0 && (*spec || !*fake))
		describe_fgmn(buf, size, spec);
	else if (blocks_are_on(""))
		describe_made(buf, size, fake);
	else if (*fake)
		snprintf(buf, size,
			 "none: with %s the kernel has not divided each memory node (a value such "
			 "as 4U divides each node into 4 blocks; the kernel's log has \"Faking a "
			 "node\" or the reason)",
			 fake);
	else
		snprintf(buf, size,
			 "none (this kernel has no fgmn=, and no numa=fake=NU on its "
			 "command line)");
}

/*
 * Return the bytes of M's smallest physical memory node. If the kernel has divided the nodes, they
 * count as equal in size.
 */
static uint64_t smallest_node(const struct machine *m)
{
	const struct idset *mems = machine_ordinary(m);
	uint64_t least = UINT64_MAX;
	struct idset one, homes;

	machine_homes(m, &homes);
	if (!idset_empty(&homes))
		return service_bytes(m, mems) / idset_count(&homes);
	for (int node = -1; (node = idset_next(mems, node)) >= 0;) {
		uint64_t bytes;

		idset_zero(&one);
		idset_add(&one, (unsigned)node);
		bytes = service_bytes(m, &one);
		least = bytes < least ? bytes : least;
	}
	return least == UINT64_MAX ? 0 : least;
}

int blocks_parameter(char *buf, size_t size, const struct machine *m, uint64_t bytes,
		     struct errbuf *err)
{
	uint64_t node = smallest_node(m), parts = bytes ? node / bytes : 0;

	if (parts < 2)
		return errprintf(err,
				 "blocks of %" PRIu64
				 " MiB are too large: the smallest memory node has %" PRIu64
				 " MiB, and the system keeps one part of it; at most %" PRIu64 "M",
				 bytes / MIB, node / MIB, node / 2 / MIB);
	if (bytes < FAKE_MIN || parts > FAKE_MAX)
		return errprintf(
			err,
			"blocks of %" PRIu64 " MiB are too small: a memory node of %" PRIu64
			" MiB has at most %d parts, so a block has at least %" PRIu64 "M",
			bytes / MIB, node / MIB, FAKE_MAX,
			(node / FAKE_MAX > FAKE_MIN ? node / FAKE_MAX : FAKE_MIN) / MIB + 1);
	if (access(FGMN_SPEC, F_OK) == 0)
		snprintf(buf, size, "fgmn=all:%" PRIu64 "x%" PRIu64 "M", parts - 1, bytes / MIB);
	else
		snprintf(buf, size, "numa=fake=%" PRIu64 "U", parts);
	return 0;
}
