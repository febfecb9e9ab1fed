/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L /* open_memstream, strdup */
#include "topology/machine_xml.h"

#include <hwloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/idset.h"
#include "base/xml.h"

/* stands for Cache, Tile, Module and System, which only other releases have; no plan needs them */
#define GROUP_LIKE HWLOC_OBJ_GROUP
#define SHOWN 24 /* largest number of bytes of a value in a message */

enum part {
	SKIPPED,
	TOPOLOGY,
	OBJECT,
	LEAF,
	DISTANCES,
	DISTANCES_V1,
	INDEXES,
	VALUES,
	MEMATTR,
	MEMVALUE,
	CPUKIND
};

/* An open element. */
struct level {
	enum part part;
	/* only objects have the other members */
	unsigned line;
	hwloc_obj_type_t type;
	bool memory; /* a NUMANode or memory cache of format 2, which holds no CPUs */
	bool parent; /* an object inside this one has begun */
	struct idset cpus; /* cpuset of the object */
	struct idset all; /* CPUs that the objects inside may have */
	struct idset covered; /* CPUs of the objects inside, so far */
};

struct matrix {
	const char *name;
	unsigned n; /* number of memory nodes that the element announces */
	uint64_t kind;
	unsigned n_index;
	uint64_t *index; /* n */
	size_t n_value;
	uint64_t *value; /* n * n */
};

struct checker {
	struct xml x;
	struct errbuf *err;
	FILE *out;
	unsigned major;
	bool machine; /* the machine's object has begun */
	bool nodesets; /* the machine has a nodeset */
	struct idset pus, nodes; /* ids seen so far */
	struct matrix m;
	struct level level[XML_DEPTH_MAX];
};

static int bad_line(struct checker *c, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int bad_line(struct checker *c, unsigned line, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* a user may have chosen names and values; the message goes to terminals and logs */
	for (char *t = text; *t; t++)
		if (*t < ' ' || *t > '~')
			*t = '?';
	return errprintf(c->err, "line %u: %s", line, text);
}

#define bad(c, ...) bad_line((c), (c)->x.line, __VA_ARGS__)

static struct level *level_at(struct checker *c, unsigned up)
{
	return &c->level[c->x.depth - 1 - up];
}

static int machine_xml_parse_number(uint64_t *out, const char *text)
{
	uint64_t n = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || n > (UINT64_MAX - 9) / 10)
			return -1;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*out = n;
	return 0;
}

/* Read attribute NAME as a number up to MOST. Returns 1, 0 if the attribute is missing, or -1. */
static int number_attr(struct checker *c, uint64_t *out, const char *name, uint64_t most)
{
	const char *text = xml_attr(&c->x, name);

	if (!text)
		return 0;
	if (machine_xml_parse_number(out, text) == 0 && *out <= most)
		return 1;
	return bad(c, "%s=\"%.*s\": expected a number up to %llu", name, SHOWN, text,
		   (unsigned long long)most);
}

/* Parse a word of 32 bits, such as "0x0000000f"; an empty word is 0. */
static int machine_xml_parse_word(uint32_t *out, const char *text, size_t len)
{
	*out = 0;
	if (len >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		text += 2;
		len -= 2;
		if (!len)
			return -1;
	}
	if (len > 8)
		return -1;
	for (size_t i = 0; i < len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *found = strchr(digits, text[i] | 0x20);

		if (!found || text[i] < '0')
			return -1;
		*out = *out << 4 | (uint32_t)(found - digits);
	}
	return 0;
}

/*
 * Parse a set as hwloc writes it, the highest word first. Refuses an infinite set ("0xf...f"),
 * which no machine has.
 */
static int parse_set(struct checker *c, struct idset *set, const char *name, const char *text)
{
	const bool nodes = strstr(name, "nodeset") != NULL;
	const char *at = text;
	size_t words = 1, n;

	idset_zero(set);
	for (const char *t = text; *t; t++)
		words += *t == ',';
	for (; words; words--, at += n + 1) {
		uint32_t word;

		n = strcspn(at, ",");
		if (machine_xml_parse_word(&word, at, n) < 0 || (words == 1 && !n))
			return bad(
				c,
				"%s=\"%.*s\" is not a set (expected hexadecimal words of 32 bits, "
				"as 0x0000000f)",
				name, SHOWN, text);
		if (word && words > IDSET_MAX / 32)
			return bad(c, "%s: %s %zu is beyond the %d ids that NodeOS handles", name,
				   nodes ? "memory node" : "CPU",
				   words * 32 - 1 - (size_t)__builtin_clz(word), IDSET_MAX);
		if (word)
			set->word[(words - 1) / 2] |= (uint64_t)word << (words - 1) % 2 * 32;
	}
	return 0;
}

/* Write TEXT as the value of an attribute, escaped with entities that hwloc's reader knows. */
static void machine_xml_put_text(FILE *f, const char *text)
{
	static const struct {
		char c;
		const char *name;
	} known[] = { { '<', "&lt;" },	 { '>', "&gt;" },   { '&', "&amp;" }, { '"', "&quot;" },
		      { '\n', "&#10;" }, { '\r', "&#13;" }, { '\t', "&#9;" } };

	for (; *text; text++) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(known[0]) && known[i].c != *text)
			i++;
		if (i < sizeof(known) / sizeof(known[0]))
			fputs(known[i].name, f);
		else
			putc(*text, f);
	}
}

static void put_attr(FILE *f, const char *name, const char *value)
{
	fprintf(f, " %s=\"", name);
	machine_xml_put_text(f, value);
	putc('"', f);
}

static int open_topology(struct checker *c)
{
	const char *version = xml_attr(&c->x, "version");

	if (strcmp(c->x.name, "root") == 0)
		return bad(c, "the file is of hwloc 0.9, but NodeOS reads versions 1 and 2 of "
			      "hwloc's XML");
	if (strcmp(c->x.name, "topology") != 0)
		return bad(c,
			   "the outermost element is <%.*s>, expected <topology>, as lstopo writes "
			   "a machine",
			   SHOWN, c->x.name);
	c->major = 1;
	if (version && sscanf(version, "%4u.", &c->major) != 1)
		return bad(c, "version=\"%.*s\": expected 1.0 or 2.0", SHOWN, version);
	if (version && c->major > 2)
		return bad(c,
			   "version %.*s of hwloc's XML, but NodeOS reads 1 and 2: write the file "
			   "again, on the machine that it describes, with "
			   "\"lstopo --export-xml-flags v2 FILE.xml\"",
			   SHOWN, version);
	if (c->major < 1)
		return bad(c, "version %.*s of hwloc's XML, but NodeOS reads 1 and 2", SHOWN,
			   version);
	fputs(c->major == 2 ? "<topology version=\"2.0\">\n" : "<topology>\n", c->out);
	level_at(c, 0)->part = TOPOLOGY;
	return 0;
}

static int find_type(struct checker *c, hwloc_obj_type_t *type)
{
	static const char *const others[] = { "System", "Cache", "Tile", "Module" };
	const char *text = xml_attr(&c->x, "type");

	if (!text)
		return bad(c, "an object has no type");
	if (hwloc_type_sscanf(text, type, NULL, 0) == 0)
		return 0;
	*type = GROUP_LIKE;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcasecmp(text, others[i]) == 0)
			return 0;
	return bad(c, "type=\"%.*s\": not a type of object that hwloc %u.%u knows", SHOWN, text,
		   hwloc_get_api_version() >> 16, hwloc_get_api_version() >> 8 & 255);
}

/*
 * Check the id of a PU or memory node: the object's cpuset or nodeset, SET, must have this id
 * alone, and no earlier object may have it.
 */
static int check_id(struct checker *c, const char *what, const char *name, const struct idset *set,
		    struct idset *seen)
{
	struct idset own;
	uint64_t id;
	int rc = number_attr(c, &id, "os_index", UINT32_MAX);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return bad(c, "a %s has no os_index", what);
	if (id >= IDSET_MAX)
		return bad(c, "%s %llu is beyond the %d ids that NodeOS handles", what,
			   (unsigned long long)id, IDSET_MAX);
	idset_zero(&own);
	idset_add(&own, (unsigned)id);
	if (!idset_equal(&own, set))
		return bad(c, "%s %llu: its %s must have this id alone", what,
			   (unsigned long long)id, name);
	if (idset_has(seen, (unsigned)id))
		return bad(c, "%s %llu occurs twice", what, (unsigned long long)id);
	idset_add(seen, (unsigned)id);
	return 0;
}

/* Check that the CPUs of object L belong to its parent and to no earlier sibling. */
static int check_place(struct checker *c, struct level *l)
{
	struct level *around = level_at(c, 1);
	char list[128];
	struct idset odd = l->all;

	if (around->part != OBJECT)
		return 0;
	if (!l->memory && (around->type == HWLOC_OBJ_PU || around->memory))
		return bad(c, "a %s must not contain an object with CPUs",
			   hwloc_obj_type_string(around->type));
	around->parent = true;
	for (struct level *up = around; l->type != GROUP_LIKE && !l->memory && up->part == OBJECT;
	     up--)
		if (up->type == l->type)
			return bad(c, "a %s is inside of a %s (line %u)",
				   hwloc_obj_type_string(l->type), hwloc_obj_type_string(l->type),
				   up->line);
	idset_andnot(&odd, &around->all);
	if (!idset_empty(&odd))
		return bad(c, "cpuset: CPUs %s do not belong to the parent object (line %u)",
			   idset_brief(list, &odd), around->line);
	if (l->memory)
		return 0;
	odd = l->all;
	idset_and(&odd, &around->covered);
	if (!idset_empty(&odd))
		return bad(c, "cpuset: CPUs %s already belong to a sibling of this object",
			   idset_brief(list, &odd));
	idset_or(&around->covered, &l->all);
	return 0;
}

enum value { NUMBER, SIGNED, SET, TEXT };

static const struct {
	const char *name;
	enum value value;
} attributes[] = {
	{ "os_index", NUMBER },
	{ "gp_index", NUMBER },
	{ "id", TEXT },
	{ "cpuset", SET },
	{ "complete_cpuset", SET },
	{ "allowed_cpuset", SET },
	{ "nodeset", SET },
	{ "complete_nodeset", SET },
	{ "allowed_nodeset", SET },
	{ "name", TEXT },
	{ "subtype", TEXT },
	{ "local_memory", NUMBER },
	{ "cache_size", NUMBER },
	{ "cache_linesize", NUMBER },
	{ "cache_type", NUMBER },
	{ "cache_associativity", SIGNED },
	{ "depth", NUMBER },
	{ "kind", NUMBER },
	{ "subkind", NUMBER },
	{ "dont_merge", NUMBER },
};

/* Write the object's tag with the attributes that hwloc knows. */
static int put_object(struct checker *c)
{
	struct idset set;
	uint64_t n;

	fputs("<object", c->out);
	put_attr(c->out, "type", xml_attr(&c->x, "type"));
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const char *name = attributes[i].name, *text = xml_attr(&c->x, name);
		enum value value = attributes[i].value;

		if (!text)
			continue;
		if (value == SET && parse_set(c, &set, name, text) < 0)
			return -1;
		if ((value == NUMBER && machine_xml_parse_number(&n, text) < 0) ||
		    (value == SIGNED && machine_xml_parse_number(&n, text + (*text == '-')) < 0))
			return bad(c, "%s=\"%.*s\": expected a number", name, SHOWN, text);
		put_attr(c->out, name, text);
	}
	fputs(">\n", c->out);
	return 0;
}

/*
 * Read a set of the object. In format 1, cpuset and nodeset do not have offline and disallowed CPUs
 * and nodes, but these have objects, so the complete set is read.
 */
static int machine_xml_read_set(struct checker *c, struct idset *set, const char *name,
				const char *complete)
{
	const char *text = c->major < 2 ? xml_attr(&c->x, complete) : NULL;

	return text ? parse_set(c, set, complete, text)
		    : parse_set(c, set, name, xml_attr(&c->x, name));
}

/* Check that the object has the sets that hwloc needs. In format 1, hwloc adds nodesets itself. */
static int check_sets(struct checker *c)
{
	static const char *const names[] = { "cpuset", "complete_cpuset", "nodeset",
					     "complete_nodeset" };
	bool nodes = c->major >= 2 || level_at(c, 0)->type == HWLOC_OBJ_NUMANODE;

	for (size_t i = 0; i < (nodes ? 4 : 2); i++)
		if (!xml_attr(&c->x, names[i]))
			return bad(c, "a %.*s has no %s", SHOWN, xml_attr(&c->x, "type"), names[i]);
	if (!xml_attr(&c->x, "nodeset") != !xml_attr(&c->x, "complete_nodeset"))
		return bad(c, "a %.*s has only one of nodeset and complete_nodeset", SHOWN,
			   xml_attr(&c->x, "type"));
	return 0;
}

static bool may_be_outermost(const struct checker *c, hwloc_obj_type_t type)
{
	return type == HWLOC_OBJ_MACHINE ||
	       (c->major < 2 &&
		(type == HWLOC_OBJ_NUMANODE || strcasecmp(xml_attr(&c->x, "type"), "System") == 0));
}

static int open_object(struct checker *c)
{
	struct level *l = level_at(c, 0);
	struct idset nodes;

	if (find_type(c, &l->type) < 0)
		return -1;
	if (!c->machine && !may_be_outermost(c, l->type))
		return bad(c, "the outermost object is a %.*s, expected a Machine", SHOWN,
			   xml_attr(&c->x, "type"));
	/* in format 1, a Misc object with CPUs is a Group */
	if (hwloc_obj_type_is_io(l->type) ||
	    (l->type == HWLOC_OBJ_MISC && !xml_attr(&c->x, "cpuset"))) {
		level_at(c, 1)->parent = true;
		return 0;
	}
	if (l->type == HWLOC_OBJ_MISC || l->type == HWLOC_OBJ_MACHINE)
		l->type = GROUP_LIKE;
	if (check_sets(c) < 0)
		return -1;
	if (parse_set(c, &l->cpus, "cpuset", xml_attr(&c->x, "cpuset")) < 0 ||
	    machine_xml_read_set(c, &l->all, "cpuset", "complete_cpuset") < 0)
		return -1;
	if (l->type == HWLOC_OBJ_NUMANODE &&
	    (machine_xml_read_set(c, &nodes, "nodeset", "complete_nodeset") < 0 ||
	     check_id(c, "memory node", "nodeset", &nodes, &c->nodes) < 0))
		return -1;
	if (l->type == HWLOC_OBJ_PU && check_id(c, "CPU", "cpuset", &l->all, &c->pus) < 0)
		return -1;
	l->part = OBJECT;
	l->line = c->x.line;
	l->memory = c->major >= 2 && hwloc_obj_type_is_memory(l->type);
	c->nodesets = c->machine ? c->nodesets : xml_attr(&c->x, "nodeset") != NULL;
	c->machine = true;
	return check_place(c, l) < 0 ? -1 : put_object(c);
}

static int close_object(struct checker *c)
{
	struct level *l = level_at(c, 0);
	struct idset left = l->cpus;
	char list[128];

	idset_andnot(&left, &l->covered);
	if (!l->memory && l->type != HWLOC_OBJ_PU && !idset_empty(&left))
		return bad_line(
			c, l->line,
			"this %s has CPU %s in its cpuset, but no PU (hardware thread) for it",
			l->type == GROUP_LIKE ? "object" : hwloc_obj_type_string(l->type),
			idset_brief(list, &left));
	fputs("</object>\n", c->out);
	return 0;
}

/* Write only the attributes A and B: hwloc refuses others in this element. */
static int put_pair(struct checker *c, const char *a, const char *b, bool numbers)
{
	const char *first = xml_attr(&c->x, a), *second = xml_attr(&c->x, b);
	uint64_t n;

	level_at(c, 0)->part = LEAF;
	if (!first || !second)
		return bad(c, "<%.*s> needs %s and %s", SHOWN, c->x.name, a, b);
	if (numbers &&
	    (machine_xml_parse_number(&n, first) < 0 || machine_xml_parse_number(&n, second) < 0))
		return bad(c, "<%.*s>: expected numbers", SHOWN, c->x.name);
	fprintf(c->out, "<%s", c->x.name);
	put_attr(c->out, a, first);
	put_attr(c->out, b, second);
	fputs("/>\n", c->out);
	return 0;
}

/* Read latencies between memory nodes in format 1, where they are inside the machine's object. */
static int open_distances_v1(struct checker *c)
{
	static const char *const names[] = { "nbobjs", "relative_depth", "latency_base" };
	uint64_t n = 0;

	if (number_attr(c, &n, "nbobjs", IDSET_MAX) < 0)
		return -1;
	fputs("<distances", c->out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = xml_attr(&c->x, names[i]);

		if (!text || text[strspn(text, "0123456789.")] || strlen(text) > SHOWN)
			return bad(c, "<distances>: expected %s, a number", names[i]);
		put_attr(c->out, names[i], text);
	}
	fputs(">\n", c->out);
	c->m = (struct matrix){ .n = (unsigned)n };
	level_at(c, 0)->part = DISTANCES_V1;
	return 0;
}

static int put_latency_v1(struct checker *c)
{
	const char *text = xml_attr(&c->x, "value");

	level_at(c, 0)->part = LEAF;
	if (strcmp(c->x.name, "latency") != 0 || !text || text[strspn(text, "0123456789.")] ||
	    strlen(text) > SHOWN)
		return bad(c, "expected <latency value=\"NUMBER\"/>");
	fputs("<latency", c->out);
	put_attr(c->out, "value", text);
	fputs("/>\n", c->out);
	c->m.n_value++;
	return 0;
}

static int close_distances_v1(struct checker *c)
{
	if (!c->m.n || c->m.n_value != (size_t)c->m.n * c->m.n)
		return bad(c, "<distances> has %zu latencies; %u objects need %zu", c->m.n_value,
			   c->m.n, (size_t)c->m.n * c->m.n);
	fputs("</distances>\n", c->out);
	return 0;
}

static void free_matrix(struct matrix *m)
{
	free(m->index);
	free(m->value);
	*m = (struct matrix){ .n = 0 };
}

/* Read a matrix of distances. Plans need only distances between memory nodes, by os_index. */
static int open_distances(struct checker *c)
{
	const char *type = xml_attr(&c->x, "type"), *indexing = xml_attr(&c->x, "indexing");
	hwloc_obj_type_t of;
	uint64_t n = 0, kind = 0;

	if (!type || hwloc_type_sscanf(type, &of, NULL, 0) < 0 || of != HWLOC_OBJ_NUMANODE ||
	    !indexing || strcmp(indexing, "os") != 0)
		return 0;
	if (number_attr(c, &n, "nbobjs", IDSET_MAX) < 0 ||
	    number_attr(c, &kind, "kind", UINT32_MAX) < 0)
		return -1;
	if (!n || !kind)
		return bad(c, "<distances2> needs nbobjs and kind");
	/* the number of memory nodes so far limits the allocation */
	if (n > idset_count(&c->nodes))
		return bad(c, "distances between %llu memory nodes, but the machine has %u",
			   (unsigned long long)n, idset_count(&c->nodes));
	c->m = (struct matrix){ .name = xml_attr(&c->x, "name"), .n = (unsigned)n, .kind = kind };
	c->m.index = calloc(n, sizeof(*c->m.index));
	c->m.value = calloc(n * n, sizeof(*c->m.value));
	if (!c->m.index || !c->m.value)
		return errprintf(c->err, "out of memory");
	level_at(c, 0)->part = DISTANCES;
	return 0;
}

static int open_numbers(struct checker *c)
{
	bool indexes = strcmp(c->x.name, "indexes") == 0;

	if (!indexes && strcmp(c->x.name, "u64values") != 0)
		return bad(c, "<%.*s> in <distances2>: expected <indexes> and <u64values>", SHOWN,
			   c->x.name);
	level_at(c, 0)->part = indexes ? INDEXES : VALUES;
	return 0;
}

static int add_number(struct checker *c, uint64_t n, bool index)
{
	struct matrix *m = &c->m;

	if (!index) {
		if (m->n_value == (size_t)m->n * m->n)
			return bad(c, "more distances than %u memory nodes need", m->n);
		m->value[m->n_value++] = n;
		return 0;
	}
	if (m->n_index == m->n)
		return bad(c, "more than %u memory nodes in <distances2>", m->n);
	if (n >= IDSET_MAX || !idset_has(&c->nodes, (unsigned)n))
		return bad(c, "distances from memory node %llu, which does not exist",
			   (unsigned long long)n);
	for (unsigned i = 0; i < m->n_index; i++)
		if (m->index[i] == n)
			return bad(c, "distances from memory node %llu occur twice",
				   (unsigned long long)n);
	m->index[m->n_index++] = n;
	return 0;
}

static int close_numbers(struct checker *c)
{
	const char *at = c->x.text, *end = at + c->x.text_len;

	while (at < end) {
		char word[24];
		size_t n = 0;
		uint64_t value;

		for (; at < end && strchr(" \n\t\r", *at); at++)
			;
		while (at < end && !strchr(" \n\t\r", *at) && n < sizeof(word) - 1)
			word[n++] = *at++;
		word[n] = '\0';
		if (!n)
			break;
		if (machine_xml_parse_number(&value, word) < 0)
			return bad(c, "\"%s\": expected numbers", word);
		if (add_number(c, value, level_at(c, 0)->part == INDEXES) < 0)
			return -1;
	}
	return 0;
}

static int put_numbers(struct checker *c, const char *tag, const uint64_t *value, size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return errprintf(c->err, "out of memory");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%llu ", (unsigned long long)value[i]);
	if (fclose(f) != 0) {
		free(text);
		return errprintf(c->err, "out of memory");
	}
	fprintf(c->out, "<%s length=\"%zu\">%s</%s>\n", tag, len, text, tag);
	free(text);
	return 0;
}

static int close_distances(struct checker *c)
{
	struct matrix *m = &c->m;
	int rc;

	if (m->n_index != m->n || m->n_value != (size_t)m->n * m->n)
		return bad(c, "<distances2> has %u of %u memory nodes and %zu of %zu distances",
			   m->n_index, m->n, m->n_value, (size_t)m->n * m->n);
	fprintf(c->out, "<distances2 type=\"NUMANode\" nbobjs=\"%u\" kind=\"%llu\" indexing=\"os\"",
		m->n, (unsigned long long)m->kind);
	if (m->name)
		put_attr(c->out, "name", m->name);
	fputs(">\n", c->out);
	rc = put_numbers(c, "indexes", m->index, m->n) < 0
		     ? -1
		     : put_numbers(c, "u64values", m->value, m->n_value);
	fputs("</distances2>\n", c->out);
	free_matrix(m);
	return rc;
}

static int open_memattr(struct checker *c)
{
	const char *name = xml_attr(&c->x, "name");
	uint64_t flags = 0;
	int rc = number_attr(c, &flags, "flags", 7);

	if (rc < 0)
		return -1;
	if (!name || !*name || rc == 0)
		return bad(c, "<memattr> needs name and flags");
	fprintf(c->out, "<memattr flags=\"%llu\"", (unsigned long long)flags);
	put_attr(c->out, "name", name);
	fputs(">\n", c->out);
	level_at(c, 0)->part = MEMATTR;
	return 0;
}

static int put_memvalue(struct checker *c)
{
	static const struct {
		const char *name;
		enum value value;
	} known[] = {
		{ "target_obj_gp_index", NUMBER },
		{ "target_obj_type", TEXT },
		{ "value", NUMBER },
		{ "initiator_cpuset", SET },
		{ "initiator_obj_gp_index", NUMBER },
		{ "initiator_obj_type", TEXT },
	};
	struct idset set;
	hwloc_obj_type_t type;
	uint64_t n;

	level_at(c, 0)->part = MEMVALUE;
	if (strcmp(c->x.name, "memattr_value") != 0)
		return bad(c, "<%.*s> in <memattr>: expected <memattr_value>", SHOWN, c->x.name);
	fputs("<memattr_value", c->out);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *name = known[i].name, *text = xml_attr(&c->x, name);

		if (!text && i < 3)
			return bad(c, "<memattr_value> without %s", name);
		if (!text)
			continue;
		if (known[i].value == SET && parse_set(c, &set, name, text) < 0)
			return -1;
		if ((known[i].value == NUMBER && machine_xml_parse_number(&n, text) < 0) ||
		    (known[i].value == TEXT && hwloc_type_sscanf(text, &type, NULL, 0) < 0))
			return bad(c, "%s=\"%.*s\" is not known", name, SHOWN, text);
		put_attr(c->out, name, text);
	}
	fputs("/>\n", c->out);
	return 0;
}

static int open_cpukind(struct checker *c)
{
	const char *cpuset = xml_attr(&c->x, "cpuset"),
		   *forced = xml_attr(&c->x, "forced_efficiency");
	struct idset set;
	uint64_t n;

	if (!cpuset)
		return bad(c, "<cpukind> has no cpuset");
	if (parse_set(c, &set, "cpuset", cpuset) < 0)
		return -1;
	fputs("<cpukind", c->out);
	put_attr(c->out, "cpuset", cpuset);
	if (forced &&
	    (machine_xml_parse_number(&n, forced + (*forced == '-')) < 0 || n > INT32_MAX))
		return bad(c, "forced_efficiency=\"%.*s\": expected a number", SHOWN, forced);
	if (forced)
		put_attr(c->out, "forced_efficiency", forced);
	fputs(">\n", c->out);
	level_at(c, 0)->part = CPUKIND;
	return 0;
}

/* Read an element of <topology>: the machine's object, or one that describes the whole machine. */
static int open_global(struct checker *c)
{
	const char *name = c->x.name;

	if (strcmp(name, "object") == 0)
		return c->machine ? bad(c, "there is a second machine") : open_object(c);
	if (!c->machine)
		return bad(c, "<%.*s> before the machine's <object>", SHOWN, name);
	if (c->major < 2)
		return 0;
	if (strcmp(name, "distances2") == 0)
		return open_distances(c);
	if (strcmp(name, "memattr") == 0)
		return open_memattr(c);
	return strcmp(name, "cpukind") == 0 ? open_cpukind(c) : 0;
}

static int open_in_object(struct checker *c)
{
	struct level *around = level_at(c, 1);
	const char *name = c->x.name;
	bool machine = c->x.depth == 3;

	if (strcmp(name, "object") == 0)
		return open_object(c);
	if (around->parent)
		return bad(c, "<%.*s> must be before the first <object>", SHOWN, name);
	if (strcmp(name, "info") == 0)
		return put_pair(c, "name", "value", false);
	if (strcmp(name, "page_type") == 0 && (machine || around->type == HWLOC_OBJ_NUMANODE))
		return put_pair(c, "size", "count", true);
	return strcmp(name, "distances") == 0 && machine && c->major < 2 ? open_distances_v1(c) : 0;
}

static int open_element(struct checker *c)
{
	struct level *l = level_at(c, 0);

	memset(l, 0, sizeof(*l));
	if (c->x.depth == 1)
		return open_topology(c);
	switch (level_at(c, 1)->part) {
	case SKIPPED:
		return 0;
	case TOPOLOGY:
		return open_global(c);
	case OBJECT:
		return open_in_object(c);
	case DISTANCES_V1:
		return put_latency_v1(c);
	case DISTANCES:
		return open_numbers(c);
	case MEMATTR:
		return put_memvalue(c);
	case CPUKIND:
		return strcmp(c->x.name, "info") == 0
			       ? put_pair(c, "name", "value", false)
			       : bad(c, "<%.*s> in <cpukind>", SHOWN, c->x.name);
	case LEAF:
	case MEMVALUE:
	case INDEXES:
	case VALUES:
		break;
	}
	return bad(c, "<%.*s> is not allowed here", SHOWN, c->x.name);
}

static int close_element(struct checker *c)
{
	switch (level_at(c, 0)->part) {
	case OBJECT:
		return close_object(c);
	case DISTANCES_V1:
		return close_distances_v1(c);
	case DISTANCES:
		return close_distances(c);
	case INDEXES:
	case VALUES:
		return close_numbers(c);
	case TOPOLOGY:
		return fputs("</topology>\n", c->out), 0;
	case MEMATTR:
		return fputs("</memattr>\n", c->out), 0;
	case CPUKIND:
		return fputs("</cpukind>\n", c->out), 0;
	case SKIPPED:
	case LEAF:
	case MEMVALUE:
		break;
	}
	return 0;
}

static int machine_xml_read_all(struct checker *c, char *text, size_t len)
{
	enum xml_event event;
	int rc = xml_open(&c->x, text, len, c->err);

	while (rc == 0 && (event = xml_next(&c->x, c->err)) != XML_DONE)
		rc = event == XML_BAD	  ? -1
		     : event == XML_START ? open_element(c)
					  : close_element(c);
	if (rc == 0 && idset_empty(&c->pus))
		return errprintf(c->err, "the machine has no PU (hardware thread)");
	if (rc == 0 && c->nodesets && idset_empty(&c->nodes))
		return errprintf(c->err, "the machine has no NUMANode (memory node)");
	return rc;
}

int machine_xml_check(char **out, size_t *out_len, const char *text, size_t len, struct errbuf *err)
{
	struct checker *c = calloc(1, sizeof(*c));
	char *copy = malloc(len + 1), *written = NULL;
	size_t written_len;
	int rc = -1;

	if (c && copy)
		c->out = open_memstream(&written, &written_len);
	if (!c || !copy || !c->out) {
		free(c);
		free(copy);
		return errprintf(err, "out of memory");
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	c->err = err;
	rc = machine_xml_read_all(c, copy, len);
	if (fclose(c->out) != 0 && rc == 0)
		rc = errprintf(err, "out of memory");
	free_matrix(&c->m);
	free(c);
	free(copy);
	if (rc < 0) {
		free(written);
		return -1;
	}
	*out = written;
	*out_len = written_len + 1;
	return 0;
}
