/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned_file.h"
#include "counters/counters_provider.h"

/* The provider that replays a trace; counters.h describes the format. */

#define TRACE_MAX (64u * 1024 * 1024) /* bytes */
#define WORDS 6 /* words of a line */

struct replay_line {
	unsigned group;
	struct counter_reading reading;
	uint64_t remote;
};

struct replay {
	struct replay_line *line;
	size_t n, capacity;
	unsigned begun; /* number of groups begun so far */
};

struct replay_group {
	unsigned number;
	size_t next; /* the lines before this one were read, or belong to other groups */
};

/* Parse a decimal number without sign or blank. */
static int parse_total(uint64_t *out, const char *word)
{
	char *end;

	if (*word < '0' || *word > '9')
		return -1;
	errno = 0;
	*out = strtoull(word, &end, 10);
	return *end || errno ? -1 : 0;
}

static int parse_trace_line(struct replay_line *l, char *text, bool *has_remote)
{
	char *word[WORDS + 1], *save = NULL;
	uint64_t group;
	int n = 0;

	for (char *w = strtok_r(text, " \t\r", &save); w && n <= WORDS;
	     w = strtok_r(NULL, " \t\r", &save))
		word[n++] = w;
	if (n != WORDS || parse_total(&group, word[0]) < 0 || group > UINT32_MAX ||
	    parse_total(&l->reading.instructions, word[1]) < 0 ||
	    parse_total(&l->reading.misses, word[2]) < 0 ||
	    parse_total(&l->reading.enabled, word[4]) < 0 ||
	    parse_total(&l->reading.running, word[5]) < 0)
		return -1;
	l->group = (unsigned)group;
	l->remote = 0;
	if (strcmp(word[3], "-") == 0)
		return 0;
	*has_remote = true;
	return parse_total(&l->remote, word[3]);
}

static struct replay_line *add_trace_line(struct replay *r)
{
	if (r->n == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 64;
		struct replay_line *line = realloc(r->line, capacity * sizeof(*line));

		if (!line)
			return NULL;
		r->line = line;
		r->capacity = capacity;
	}
	return &r->line[r->n++];
}

static int parse_trace(struct counters *c, struct replay *r, char *text, struct errbuf *err)
{
	unsigned number = 0;

	for (char *line = text, *next; line; line = next) {
		struct replay_line *l;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		line += strspn(line, " \t\r");
		if (!*line || *line == '#')
			continue;
		l = add_trace_line(r);
		if (!l)
			return errprintf(err, "out of memory");
		if (parse_trace_line(l, line, &c->has_remote) < 0)
			return errprintf(err,
					 "%.200s:%u: expected six numbers: rank instructions misses"
					 " remote enabled running",
					 c->file, number);
	}
	return 0;
}

static void replay_close(struct counters *c)
{
	struct replay *r = c->data;

	free(r->line);
	free(r);
}

static int replay_open(struct counters *c, const struct counters_host *host, struct errbuf *why)
{
	struct replay *r;
	char *text;
	size_t len;
	int rc;

	if (owned_file_read(&text, &len, c->file, host->owner, TRACE_MAX, why) < 0)
		return -1;
	r = calloc(1, sizeof(*r));
	if (!r)
		rc = errprintf(why, "out of memory");
	else if (strlen(text) != len)
		rc = errprintf(why, "%.200s: contains a NUL byte", c->file);
	else
		rc = parse_trace(c, r, text, why);
	free(text);
	c->data = r;
	if (rc < 0 && r)
		replay_close(c);
	return rc;
}

static int replay_begin(struct counter_group *g, struct errbuf *err)
{
	struct replay *r = g->counters->data;
	struct replay_group *own = calloc(1, sizeof(*own));

	if (!own)
		return errprintf(err, "out of memory");
	own->number = r->begun++;
	g->data = own;
	return 0;
}

static int replay_read(struct counter_group *g, struct counter_reading *out, uint64_t *remote,
		       struct errbuf *err)
{
	const struct replay *r = g->counters->data;
	struct replay_group *own = g->data;

	for (; own->next < r->n; own->next++) {
		const struct replay_line *l = &r->line[own->next];

		if (l->group != own->number)
			continue;
		*out = l->reading;
		*remote = l->remote;
		own->next++;
		return 0;
	}
	return errprintf(err, "the trace has no more lines of rank %u", own->number);
}

static void replay_end(struct counter_group *g)
{
	free(g->data);
}

const struct counters_provider counters_replay = {
	.name = "replay",
	.open = replay_open,
	.close = replay_close,
	.begin = replay_begin,
	.read = replay_read,
	.end = replay_end,
};
