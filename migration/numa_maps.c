/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "migration/numa_maps.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The kernel cuts a policy to 64 bytes with the final NUL: a policy of this length may lack nodes.
 */
#define POLICY_CUT 63

static const struct {
	const char *word;
	enum numa_policy policy;
} policies[] = {
	{ "default", NUMA_POLICY_ANY },
	{ "local", NUMA_POLICY_ANY },
	{ "prefer (many)", NUMA_POLICY_NODES },
	{ "prefer", NUMA_POLICY_NODES },
	{ "bind", NUMA_POLICY_NODES },
	{ "interleave", NUMA_POLICY_SPREAD },
	{ "weighted interleave", NUMA_POLICY_SPREAD },
};

static bool at_end(char c)
{
	return c == '\0' || c == '\n';
}

/* Parse digits of BASE at AT. Returns the text after them, or NULL. */
static const char *read_number(uint64_t *out, const char *at, int base)
{
	char *end;

	if (base == 16 ? !isxdigit((unsigned char)*at) : !isdigit((unsigned char)*at))
		return NULL;
	errno = 0;
	*out = strtoull(at, &end, base);
	return errno ? NULL : end;
}

/* Parse the policy at AT, such as "bind=static:0-1". Returns the blank or the end after it. */
static const char *read_policy(struct numa_mapping *out, const char *at)
{
	const char *begin = at, *end, *colon;
	char list[POLICY_CUT + 1];
	size_t length = 0;

	out->policy = NUMA_POLICY_UNKNOWN;
	idset_zero(&out->nodes);
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]) && !length; i++) {
		size_t word = strlen(policies[i].word);

		if (strncmp(at, policies[i].word, word) == 0 &&
		    (strchr(" =:", at[word]) || at_end(at[word]))) {
			out->policy = policies[i].policy;
			length = word;
		}
	}
	end = at + length;
	end += strcspn(end, " \n");
	if ((size_t)(end - begin) >= POLICY_CUT) {
		out->policy = NUMA_POLICY_UNKNOWN;
		return end;
	}
	colon = memchr(at + length, ':', (size_t)(end - at) - length);
	if (out->policy != NUMA_POLICY_NODES)
		return end;
	if (colon) {
		memcpy(list, colon + 1, (size_t)(end - colon - 1));
		list[end - colon - 1] = '\0';
	}
	if (!colon || idset_parse(&out->nodes, list, NULL) < 0)
		out->policy = NUMA_POLICY_UNKNOWN;
	return end;
}

/* Parse " N1=40" at AT. The number counts pages until scale_pages() knows their size. */
static int read_node(struct numa_mapping *out, const char *at, struct errbuf *err)
{
	uint64_t node, pages;

	at = read_number(&node, at + 1, 10);
	if (at && *at == '=')
		at = read_number(&pages, at + 1, 10);
	else
		at = NULL;
	if (!at || (*at != ' ' && !at_end(*at)))
		return errprintf(err, "numa_maps: a node without a number of pages");
	if (node >= IDSET_MAX)
		return errprintf(err, "numa_maps: node %" PRIu64 ", above %d", node, IDSET_MAX - 1);
	if (out->n == NUMA_MAPS_NODES)
		return errprintf(err, "numa_maps: more than %d nodes", NUMA_MAPS_NODES);
	out->on[out->n].node = (unsigned)node;
	out->on[out->n++].bytes = pages;
	return 0;
}

/* Turn pages into bytes. */
static int scale_pages(struct numa_mapping *out, uint64_t size, struct errbuf *err)
{
	uint64_t sum = 0;

	if (out->n && (size == 0 || size > UINT64_MAX >> 10))
		return errprintf(err, "numa_maps: the page size is missing or invalid");
	size <<= 10;
	for (unsigned i = 0; i < out->n; i++) {
		if (out->on[i].bytes > (UINT64_MAX - sum) / size)
			return errprintf(err, "numa_maps: the number of bytes overflows");
		out->on[i].bytes *= size;
		sum += out->on[i].bytes;
	}
	return 0;
}

static bool is_word(const char *at, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(at, word, length) == 0;
}

int numa_mapping_parse(struct numa_mapping *out, const char *line, struct errbuf *err)
{
	static const char anon[] = "anon=", size[] = "kernelpagesize_kB=", file[] = "file=";
	const char *at = read_number(&out->start, line, 16);
	uint64_t page = 0;

	out->n = 0;
	out->anon = 0;
	out->file = out->huge = false;
	if (!at || *at != ' ' || at[1] == ' ' || at_end(at[1]))
		return errprintf(err, "numa_maps: a line has no address and policy");
	at = read_policy(out, at + 1);
	while (*at == ' ') {
		const char *word = at + 1;
		size_t length = strcspn(word, " \n");

		at = word + length;
		if (strncmp(word, file, strlen(file)) == 0)
			out->file = true;
		else if (is_word(word, length, "huge"))
			out->huge = true;
		else if (word[0] == 'N' && isdigit((unsigned char)word[1])) {
			if (read_node(out, word, err) < 0)
				return -1;
		} else if ((strncmp(word, anon, strlen(anon)) == 0 &&
			    read_number(&out->anon, word + strlen(anon), 10) != at) ||
			   (strncmp(word, size, strlen(size)) == 0 &&
			    read_number(&page, word + strlen(size), 10) != at))
			return errprintf(
				err, "numa_maps: a number of pages or bytes is missing or invalid");
	}
	return at_end(*at) ? scale_pages(out, page, err) : -1;
}

bool numa_mapping_allows(const struct numa_mapping *m, unsigned node)
{
	return m->policy == NUMA_POLICY_ANY ||
	       (m->policy == NUMA_POLICY_NODES && idset_has(&m->nodes, node));
}

/* ------------------------------------------------------------------ maps */

/* Is AT, the name in a line of maps, one of plain memory? */
static bool names_plain_memory(const char *at)
{
	static const char anon[] = "[anon:";
	size_t length = strcspn(at, "\n");

	return length == 0 || is_word(at, length, "[heap]") || is_word(at, length, "[stack]") ||
	       strncmp(at, anon, strlen(anon)) == 0;
}

/* "7f00-7f01 rw-p 00000000 00:00 0    [heap]" */
int maps_extent_parse(struct maps_extent *out, const char *line, struct errbuf *err)
{
	const char *at = read_number(&out->start, line, 16), *rights;
	uint64_t offset, major, minor, inode;

	at = at && *at == '-' ? read_number(&out->end, at + 1, 16) : NULL;
	rights = at && *at == ' ' && strcspn(at + 1, " \n") == 4 ? at + 1 : NULL;
	at = rights && rights[4] == ' ' ? read_number(&offset, rights + 5, 16) : NULL;
	at = at && *at == ' ' ? read_number(&major, at + 1, 16) : NULL;
	at = at && *at == ':' ? read_number(&minor, at + 1, 16) : NULL;
	at = at && *at == ' ' ? read_number(&inode, at + 1, 10) : NULL;
	if (!at || (*at != ' ' && !at_end(*at)) || out->start >= out->end)
		return errprintf(err, "maps: a line in an unknown format");
	at += strspn(at, " ");
	out->plain = rights[3] == 'p' && inode == 0 && names_plain_memory(at);
	return 0;
}
