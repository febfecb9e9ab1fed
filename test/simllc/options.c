// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum key {
	OUT,
	SIZE,
	WAYS,
	SHARE,
	SAMPLE,
	PREFETCH,
	NODES,
	NODECPUS,
	MISS_NS,
	REMOTE_NS,
	NODE_NS,
	KEYS
};

/* The options. A value is a number from min to max, or a text if max is 0. */
static const struct {
	const char *name;
	uint64_t min, max;
} rows[KEYS] = {
	[OUT] = { "out", 0, 0 },
	[SIZE] = { "size", CACHE_LINE, (uint64_t)1 << 40 },
	[WAYS] = { "ways", 1, 1024 },
	[SHARE] = { "share", 1, 256 },
	[SAMPLE] = { "sample", 0, 16 },
	[PREFETCH] = { "prefetch", 0, 0 },
	[NODES] = { "nodes", 0, 0 },
	[NODECPUS] = { "nodecpus", 1, 256 },
	[MISS_NS] = { "miss_ns", 0, 1000000 },
	[REMOTE_NS] = { "remote_ns", 0, 1000000 },
	[NODE_NS] = { "node_ns", 0, 1000000 },
};

struct values {
	bool seen[KEYS];
	const char *text[KEYS];
	uint64_t number[KEYS];
};

static int __attribute__((format(printf, 3, 4)))
refuse(char *error, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(error, size, format, ap);
	va_end(ap);
	return -1;
}

/*
 * Parse digits, then K, M, G or nothing. Sets *END to the rest. If END is NULL, no rest is allowed.
 */
static int parse_number(const char *text, uint64_t *to, const char **end)
{
	static const char unit[] = "KMG";
	const char *u;
	char *rest;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*to = strtoull(text, &rest, 10);
	u = *rest ? strchr(unit, *rest) : NULL;
	if (u) {
		unsigned shift = 10 * (unsigned)(u - unit + 1);

		if (*to > UINT64_MAX >> shift)
			return -1;
		*to <<= shift;
		rest++;
	}
	if (end)
		*end = rest;
	return errno || (!end && *rest) ? -1 : 0;
}

static int take_word(struct values *v, const char *word, char *error, size_t size)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	unsigned k = 0;

	while (k < KEYS && (strlen(rows[k].name) != length || memcmp(rows[k].name, word, length)))
		k++;
	if (k == KEYS || !equals)
		return refuse(error, size, "unknown option \"%s\"", word);
	if (v->seen[k])
		return refuse(error, size, "option %s occurs twice", rows[k].name);
	v->seen[k] = true;
	v->text[k] = equals + 1;
	if (rows[k].max && (parse_number(equals + 1, &v->number[k], NULL) < 0 ||
			    v->number[k] < rows[k].min || v->number[k] > rows[k].max))
		return refuse(error, size, "%s: expected a number from %llu to %llu", word,
			      (unsigned long long)rows[k].min, (unsigned long long)rows[k].max);
	return 0;
}

/* Parse the sizes of the nodes, in order: "768M+768M". */
static int parse_nodes(struct memory *m, const char *text)
{
	uint64_t bytes, end = 0;

	for (;;) {
		if (m->nodes == MEMORY_NODES || parse_number(text, &bytes, &text) < 0 || !bytes ||
		    bytes > (uint64_t)1 << 50)
			return -1;
		m->end[m->nodes++] = end += bytes;
		if (!*text)
			return 0;
		if (*text++ != '+')
			return -1;
	}
}

static int check_nodes(struct options *o, const struct values *v, unsigned cpus, char *error,
		       size_t size)
{
	if (v->seen[NODES] != v->seen[NODECPUS])
		return refuse(error, size, "nodes and nodecpus must be given together");
	if (!v->seen[NODES])
		return v->number[REMOTE_NS] || v->number[NODE_NS]
			       ? refuse(error, size,
					"remote_ns and node_ns need nodes and nodecpus")
			       : 0;
	if (parse_nodes(&o->memory, v->text[NODES]) < 0)
		return refuse(error, size, "nodes=%s: expected SIZE+SIZE..., at most %d sizes",
			      v->text[NODES], MEMORY_NODES);
	if (o->memory.nodes * o->memory.node_cpus < cpus)
		return refuse(error, size, "%u nodes of %u vCPUs do not have all %u vCPUs",
			      o->memory.nodes, o->memory.node_cpus, cpus);
	return 0;
}

static int check_cache(const struct options *o, const char *prefetch, char *error, size_t size)
{
	if (strcmp(prefetch, "none") != 0 && strcmp(prefetch, "next") != 0)
		return refuse(error, size, "prefetch=%s: expected none or next", prefetch);
	if (o->shape.prefetch && o->shape.sample)
		return refuse(error, size,
			      "prefetch=next needs sample=0: with samples, no simulated line "
			      "follows another");
	if (!cache_sets(&o->shape))
		return refuse(error, size,
			      "size=%llu is not a multiple of %d bytes x %u ways x 2^%u",
			      (unsigned long long)o->shape.size, CACHE_LINE, o->shape.ways,
			      o->shape.sample);
	return 0;
}

int options_parse(struct options *o, int n, char **words, unsigned cpus, char *error, size_t size)
{
	struct values v = { .text[PREFETCH] = "none",
			    .number = { [SIZE] = 4 << 20, [WAYS] = 16, [SHARE] = cpus } };

	*o = (struct options){ 0 };
	for (int i = 0; i < n; i++)
		if (take_word(&v, words[i], error, size) < 0)
			return -1;
	if (!v.seen[OUT] || !*v.text[OUT])
		return refuse(error, size, "out=FILE is missing");
	o->out = v.text[OUT];
	o->shape.size = v.number[SIZE];
	o->shape.ways = (unsigned)v.number[WAYS];
	o->shape.sample = (unsigned)v.number[SAMPLE];
	o->shape.prefetch = strcmp(v.text[PREFETCH], "next") == 0;
	o->share = (unsigned)v.number[SHARE];
	o->memory.node_cpus = (unsigned)v.number[NODECPUS];
	o->memory.miss_ns = (int64_t)v.number[MISS_NS];
	o->memory.remote_ns = (int64_t)v.number[REMOTE_NS];
	o->memory.node_ns = (int64_t)v.number[NODE_NS];
	return check_cache(o, v.text[PREFETCH], error, size) < 0 ||
			       check_nodes(o, &v, cpus, error, size) < 0
		       ? -1
		       : 0;
}
