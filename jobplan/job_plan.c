/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobplan/job_plan.h"

#include <stdlib.h>
#include <string.h>

struct job_plan *job_plan_new(void)
{
	return calloc(1, sizeof(struct job_plan));
}

void job_plan_free(struct job_plan *p)
{
	if (!p)
		return;
	free(p->core);
	free(p->container);
	free(p);
}

int job_plan_add_core(struct job_plan *p, const struct idset *cpus)
{
	struct idset *core = reallocarray(p->core, p->n_cores + 1u, sizeof(*core));

	if (!core)
		return -1;
	p->core = core;
	p->core[p->n_cores++] = *cpus;
	return 0;
}

struct planned_container *job_plan_add(struct job_plan *p, const char *name)
{
	struct planned_container *c = reallocarray(p->container, p->n + 1u, sizeof(*c));

	if (!c)
		return NULL;
	p->container = c;
	c = &p->container[p->n++];
	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

const struct planned_container *job_plan_find(const struct job_plan *p, const char *name)
{
	for (unsigned i = 0; p && i < p->n; i++)
		if (strcmp(p->container[i].name, name) == 0)
			return &p->container[i];
	return NULL;
}

void job_plan_reserved(const struct job_plan *p, struct idset *out)
{
	for (unsigned i = 0; p && i < p->n; i++)
		idset_or(out, &p->container[i].reserved);
}

void job_plan_mems(const struct job_plan *p, bool confined, struct idset *out)
{
	for (unsigned i = 0; p && i < p->n; i++)
		if (!confined || p->container[i].confined)
			idset_or(out, &p->container[i].mems);
}

static void job_plan_print_set(FILE *f, const char *word, const struct idset *s)
{
	char *list = malloc(IDSET_LIST_MAX);

	/* out of memory: the line stays incomplete, and the reader refuses it */
	if (list && idset_format(s, list, IDSET_LIST_MAX) > 0)
		fprintf(f, "%s%s", word, list);
	free(list);
}

/* Print the nodes of each kind: " of 0-1;2". */
static void job_plan_print_kinds(FILE *f, const struct planned_container *c)
{
	const char *word = " of ";

	for (unsigned k = 0; k < MEMORY_KINDS; k++)
		if (!idset_empty(&c->kind_mems[k])) {
			job_plan_print_set(f, word, &c->kind_mems[k]);
			word = ";";
		}
}

void job_plan_print(FILE *f, const struct job_plan *p)
{
	fputs("nodeos-plan 1\n", f);
	for (unsigned i = 0; i < p->n_cores; i++) {
		job_plan_print_set(f, "core ", &p->core[i]);
		putc('\n', f);
	}
	for (unsigned i = 0; i < p->n; i++) {
		const struct planned_container *c = &p->container[i];
		char kinds[MEMORY_KINDS_TEXT_MAX];

		if (c->deleted) {
			fprintf(f, "deleted %s\n", c->name);
			continue;
		}
		fprintf(f, "container %s", c->name);
		job_plan_print_set(f, " cpus ", &c->cpus);
		job_plan_print_set(f, " reserved ", &c->reserved);
		job_plan_print_set(f, " mems ", &c->mems);
		fprintf(f, " asked %u confined %d shared %d", c->asked, c->confined, c->shared);
		if (c->kinds)
			fprintf(f, " kinds %s", memory_kinds_format(kinds, c->kinds));
		job_plan_print_kinds(f, c);
		putc('\n', f);
		for (const char *w = c->why; *w;) {
			size_t len = strcspn(w, "\n");

			fprintf(f, "why %.*s\n", (int)len, w);
			w += len + (w[len] == '\n');
		}
	}
	fputs("end\n", f);
}

/*
 * Copy the next line of *TEXT without its newline to BUF. Returns -1 at the end, or if the line is
 * too long.
 */
static int next_line(const char **text, char *buf, size_t size)
{
	size_t len = strcspn(*text, "\n");

	if ((*text)[len] != '\n' || len >= size)
		return -1;
	memcpy(buf, *text, len);
	buf[len] = '\0';
	*text += len + 1;
	return 0;
}

static struct planned_container *parse_name(struct job_plan *p, const char *word,
					    struct errbuf *err)
{
	struct planned_container *c = NULL;

	if (!word || request_check_name(word, err) < 0 || p->n >= REQUEST_CONTAINERS_MAX ||
	    job_plan_find(p, word))
		errprintf(err, "bad container line");
	else if (!(c = job_plan_add(p, word)))
		errprintf(err, "out of memory");
	return c;
}

/* Parse the nodes of each kind of C, "0-1;2". */
static int parse_kind_mems(struct planned_container *c, char *lists, struct errbuf *err)
{
	for (unsigned k = 0; k < MEMORY_KINDS; k++) {
		char *list = c->kinds & MEMORY_KIND_BIT(k) ? strsep(&lists, ";") : NULL;

		if (!(c->kinds & MEMORY_KIND_BIT(k)))
			continue;
		if (!list || idset_parse(&c->kind_mems[k], list, err) < 0 ||
		    idset_empty(&c->kind_mems[k]) || !idset_subset(&c->kind_mems[k], &c->mems))
			return errprintf(err, "container %s: bad list of memory nodes by kind",
					 c->name);
	}
	return lists ? errprintf(err, "container %s: nodes of too many kinds", c->name) : 0;
}

/*
 * Parse the end of a container's line: "kinds dram,hbm of 0-1;2". A ledger of an earlier release
 * may lack all of it, or the part from "of" on.
 */
static int parse_kinds(struct planned_container *c, char **save, struct errbuf *err)
{
	char *word = strtok_r(NULL, " ", save);

	if (word && strcmp(word, "kinds") == 0) {
		word = strtok_r(NULL, " ", save);
		if (!word || memory_kinds_parse(&c->kinds, word) < 0)
			return errprintf(err, "container %s: bad \"kinds\"", c->name);
		word = strtok_r(NULL, " ", save);
	}
	if (word && c->kinds && strcmp(word, "of") == 0) {
		word = strtok_r(NULL, " ", save);
		if (!word)
			return errprintf(err, "container %s: no nodes of its kinds", c->name);
		if (parse_kind_mems(c, word, err) < 0)
			return -1;
		word = strtok_r(NULL, " ", save);
	}
	if (word)
		return errprintf(err, "container %s: unexpected text at the end of the line",
				 c->name);
	return 0;
}

static int job_plan_parse_container(struct job_plan *p, char *line, struct errbuf *err)
{
	static const char *const key[] = {
		"cpus", "reserved", "mems", "asked", "confined", "shared"
	};
	char *save = NULL;
	char *word = strtok_r(line, " ", &save);
	struct planned_container *c = parse_name(p, word, err);

	if (!c)
		return -1;
	for (size_t k = 0; k < sizeof(key) / sizeof(key[0]); k++) {
		struct idset *set[] = { &c->cpus, &c->reserved, &c->mems };
		unsigned long number;
		char *end;

		word = strtok_r(NULL, " ", &save);
		if (!word || strcmp(word, key[k]) != 0 || !(word = strtok_r(NULL, " ", &save)))
			return errprintf(err, "container %s: no \"%s\"", c->name, key[k]);
		if (k < 3) {
			if (idset_parse(set[k], word, err) < 0)
				return -1;
			continue;
		}
		number = strtoul(word, &end, 10);
		if (*word < '0' || *word > '9' || *end || number > (k == 3 ? REQUEST_CPUS_MAX : 1))
			return errprintf(err, "container %s: bad \"%s\"", c->name, key[k]);
		if (k == 3)
			c->asked = (unsigned)number;
		else if (k == 4)
			c->confined = number;
		else
			c->shared = number;
	}
	return parse_kinds(c, &save, err);
}

/*
 * Append LINE, cut to the space left, with '?' in place of every byte that is not printable ASCII:
 * terminals show the text.
 */
void job_plan_add_why(struct planned_container *c, const char *line)
{
	size_t used = strlen(c->why);

	if (used + 2 >= sizeof(c->why))
		return;
	if (used)
		c->why[used++] = '\n';
	for (; *line && used + 1 < sizeof(c->why); line++)
		c->why[used++] = *line >= ' ' && *line <= '~' ? *line : '?';
	c->why[used] = '\0';
}

static int job_plan_parse_lines(struct job_plan *p, const char **text, char *line, size_t size,
				struct errbuf *err)
{
	for (;;) {
		struct idset core;

		if (next_line(text, line, size) < 0)
			return errprintf(err, "plan text ends before its \"end\" line");
		if (strcmp(line, "end") == 0)
			return 0;
		if (strncmp(line, "why ", 4) == 0 && p->n) {
			job_plan_add_why(&p->container[p->n - 1], line + 4);
		} else if (strncmp(line, "container ", 10) == 0) {
			if (job_plan_parse_container(p, line + 10, err) < 0)
				return -1;
		} else if (strncmp(line, "deleted ", 8) == 0) {
			struct planned_container *c = parse_name(p, line + 8, err);

			if (!c)
				return -1;
			c->deleted = true;
		} else if (strncmp(line, "core ", 5) == 0 && !p->n && p->n_cores < IDSET_MAX) {
			if (idset_parse(&core, line + 5, err) < 0)
				return -1;
			if (job_plan_add_core(p, &core) < 0)
				return errprintf(err, "out of memory");
		} else {
			return errprintf(err, "unexpected line \"%.60s\"", line);
		}
	}
}

/* The words for refusals in the output of the planning helper. */
static const char *const refusal[PLAN_REFUSALS] = {
	[PLAN_NO_CPUS] = "no-cpus",	      [PLAN_NO_MEMS] = "no-mems",
	[PLAN_NO_OFFER] = "no-offer",	      [PLAN_BAD_ASK] = "bad-ask",
	[PLAN_NO_RANK_CPUS] = "no-rank-cpus",
};

void job_plan_print_error(FILE *f, const struct errbuf *err)
{
	fprintf(f, "error %s\n", err->text);
	if (err->code > PLAN_OK && err->code < PLAN_REFUSALS)
		fprintf(f, "refusal %s\n", refusal[err->code]);
}

/* Return the refusal in REST, the text after the line "error"; PLAN_OK if there is none. */
static enum plan_refusal parse_refusal(const char *rest)
{
	char line[64];

	for (int i = PLAN_OK + 1; i < PLAN_REFUSALS; i++) {
		snprintf(line, sizeof(line), "refusal %s\n", refusal[i]);
		if (strcmp(rest, line) == 0)
			return (enum plan_refusal)i;
	}
	return PLAN_OK;
}

int job_plan_parse(struct job_plan **out, const char **text, struct errbuf *err)
{
	size_t size = 4 * IDSET_LIST_MAX;
	char *line = malloc(size);
	struct job_plan *p = job_plan_new();
	const char *at = *text;
	int rc = -1;

	if (!line || !p) {
		errprintf(err, "out of memory");
	} else if (next_line(&at, line, size) < 0) {
		errprintf(err, "no plan");
	} else if (strncmp(line, "error ", 6) == 0) {
		for (char *c = line; *c; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
		errcode(err, (int)parse_refusal(at), "%.400s", line + 6);
	} else if (strcmp(line, "nodeos-plan 1") != 0) {
		errprintf(err, "not a plan: \"%.40s\"", line);
	} else {
		rc = job_plan_parse_lines(p, &at, line, size, err);
	}
	free(line);
	if (rc < 0) {
		job_plan_free(p);
		return -1;
	}
	*text = at;
	*out = p;
	return 0;
}
