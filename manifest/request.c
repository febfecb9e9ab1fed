/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "manifest/request_field.h"

/*
 * bytes that suffice for any container's record: the name, every ignored name, the source of a
 * buffer, all numbers
 */
#define RECORD_MAX 1500
_Static_assert(sizeof("nodeos 1;") + REQUEST_CONTAINERS_MAX * RECORD_MAX <= REQUEST_TEXT_MAX,
	       "every valid request fits");

static const char header[] = "nodeos 1;";

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_separator(char c)
{
	return c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
}

int request_check_name(const char *name, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	size_t len = strnlen(name, REQUEST_NAME_MAX);

	if (len == 0)
		return errprintf(err, "a container's name is empty (allowed: a-z 0-9, and one of - "
				      ". _ ~ / between them)");
	if (len == REQUEST_NAME_MAX)
		return errprintf(err, "container name %s is too long (allowed: %d bytes)",
				 word_quote(quoted, name, len), REQUEST_NAME_MAX - 1);
	for (size_t i = 0; i < len; i++)
		if (!is_name_char(name[i]) && (!is_separator(name[i]) || i == 0 ||
					       !is_name_char(name[i - 1]) || i + 1 == len))
			return errprintf(err,
					 "%s is not a container's name (allowed: a-z 0-9, and one "
					 "of - . _ ~ / between them)",
					 word_quote(quoted, name, len));
	if (strcmp(name, "none") == 0)
		return errprintf(err, "no container can be named \"none\": it is the word for \"in "
				      "no container\"");
	return 0;
}

int request_find(const struct request *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (strcmp(r->container[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int check_wants(const struct requested_container *c, struct errbuf *err)
{
	if (c->n_wants < 1 || c->n_wants > MEMS_WANTS_MAX || c->mems)
		return errprintf(err, "%u kinds of memory (allowed: 1 to %d)", c->n_wants,
				 MEMS_WANTS_MAX);
	for (unsigned i = 0; i < c->n_wants; i++) {
		const struct mems_want *w = &c->want[i];

		if ((unsigned)w->kind >= MEMORY_KINDS || (i && w->kind <= c->want[i - 1].kind))
			return errprintf(err, "kinds of memory out of order");
		if (w->amount < 1 || w->amount > (w->sized ? REQUEST_BYTES_MAX : REQUEST_MEMS_MAX))
			return errprintf(err, "mems=%s:%" PRIu64 "%s (allowed: 1 to %" PRIu64 ")",
					 memory_kind_name(w->kind), w->amount, w->sized ? "b" : "",
					 w->sized ? REQUEST_BYTES_MAX : (uint64_t)REQUEST_MEMS_MAX);
	}
	return 0;
}

static int check_mems(const struct requested_container *c, struct errbuf *err)
{
	if ((unsigned)c->mems_policy >= MEMS_POLICY_COUNT)
		return errprintf(err, "unknown policy of memory");
	if (c->mems_policy != MEMS_BIND && c->mems_kind == MEMS_UNSET)
		return errprintf(err, "policy %s without memory nodes (mems)",
				 mems_policy_name(c->mems_policy));
	if (c->n_wants && c->mems_kind != MEMS_WANTS)
		return errprintf(err, "mems has kinds of memory and also a number or size");
	switch (c->mems_kind) {
	case MEMS_UNSET:
		return c->mems ? errprintf(err, "mems has a value without a kind") : 0;
	case MEMS_COUNT:
		if (c->mems < 1 || c->mems > REQUEST_MEMS_MAX)
			return errprintf(err, "mems=%" PRIu64 " (allowed: 1 to %d memory nodes)",
					 c->mems, REQUEST_MEMS_MAX);
		return 0;
	case MEMS_WANTS:
		return check_wants(c, err);
	case MEMS_SIZE:
		if (c->mems < 1 || c->mems > REQUEST_BYTES_MAX)
			return errprintf(err, "mems=%" PRIu64 "b (allowed: 1 to %" PRIu64 " bytes)",
					 c->mems, REQUEST_BYTES_MAX);
		return 0;
	}
	return errprintf(err, "the kind of mems is unknown");
}

static int check_policy(const struct requested_container *c, struct errbuf *err)
{
	unsigned min, max;

	if ((unsigned)c->policy >= POLICY_COUNT)
		return errprintf(err, "unknown policy (allowed: %s)", policy_names());
	policy_priority_range(c->policy, &min, &max);
	if (c->priority > max && max == 0)
		return errprintf(err, "prio=%u with policy %s (allowed: 0)", c->priority,
				 policy_name(c->policy));
	if (c->priority > max && c->policy == POLICY_HPC)
		return errprintf(
			err, "placement %u with policy hpc (allowed: user, rr, topo, or 0 to %u)",
			c->priority, max);
	if (c->priority > max)
		return errprintf(err, "prio=%u with policy %s (allowed: 0 to %u)", c->priority,
				 policy_name(c->policy), max);
	if (c->quantum_named && c->policy != POLICY_HPC)
		return errprintf(err, "quantum with policy %s (allowed with hpc)",
				 policy_name(c->policy));
	if (c->quantum > (c->quantum_named ? HPC_QUANTUM_MAX : 0))
		return errprintf(err, "quantum=%u (allowed: 0 to %d milliseconds)", c->quantum,
				 HPC_QUANTUM_MAX);
	return 0;
}

static int request_check_container(const struct requested_container *c, struct errbuf *err)
{
	if (c->cpus > REQUEST_CPUS_MAX)
		return errprintf(err, "cpus=%u (allowed: 1 to %d)", c->cpus, REQUEST_CPUS_MAX);
	if (c->smt > REQUEST_SMT_MAX)
		return errprintf(err, "smt=%u (allowed: 1 to %d)", c->smt, REQUEST_SMT_MAX);
	if ((unsigned)c->partition >= PARTITION_COUNT)
		return errprintf(err, "unknown partition");
	if ((unsigned)c->contention >= CONTENTION_COUNT)
		return errprintf(err, "unknown policy of contention");
	if ((unsigned)c->placement >= PLACEMENT_COUNT)
		return errprintf(err, "unknown placement");
	if ((unsigned)c->cores >= CORES_COUNT)
		return errprintf(err, "unknown word for cores");
	if (c->ignored >> request_ignored_count())
		return errprintf(err, "unknown bits in ignored");
	for (unsigned i = 0; i < RANK_NUMBER_COUNT; i++) {
		const struct rank_number *n = &rank_numbers[i];
		const struct rank_value *v = &c->number[i];

		if (v->set ? v->value < n->min || v->value > n->max : v->value != 0)
			return errprintf(err, "%s=%d (allowed: %d to %d)",
					 isolator_name(n->isolator), v->value, n->min, n->max);
	}
	return check_mems(c, err) < 0 || request_check_dimmap(&c->dimmap, err) < 0 ||
			       request_check_limits(&c->limits, err) < 0 ||
			       request_check_lwk(&c->lwk, err) < 0
		       ? -1
		       : check_policy(c, err);
}

int request_check(const struct request *r, struct errbuf *err)
{
	const char *rest = NULL;

	if (r->n < 1 || r->n > REQUEST_CONTAINERS_MAX)
		return errprintf(err, "%u containers (allowed: 1 to %d)", r->n,
				 REQUEST_CONTAINERS_MAX);
	for (unsigned i = 0; i < r->n; i++) {
		const struct requested_container *c = &r->container[i];

		if (request_check_name(c->name, err) < 0)
			return -1;
		if (request_find(r, c->name) != (int)i)
			return errprintf(err, "two containers are named \"%s\"", c->name);
		if (request_check_container(c, err) < 0)
			return errwrap(err, "container %s", c->name);
		for (unsigned k = 0; c->dimmap.size && k < i; k++)
			if (r->container[k].dimmap.size &&
			    strcmp(r->container[k].dimmap.source, c->dimmap.source) == 0)
				return errprintf(err,
						 "containers %s and %s both have a buffer (dimmap) "
						 "of %s (allowed: one container)",
						 r->container[k].name, c->name, c->dimmap.source);
		if (c->cpus)
			continue;
		if (rest)
			return errprintf(err,
					 "containers %s and %s both request all CPUs that are left "
					 "(allowed: one container)",
					 rest, c->name);
		rest = c->name;
	}
	return 0;
}

/* A bounded text; USED is at least SIZE if the text does not fit. */
struct out {
	char *buf;
	size_t size, used;
};

static void request_put(struct out *o, const char *s)
{
	size_t n = strlen(s);

	if (n >= o->size - o->used) {
		o->used = o->size;
		return;
	}
	memcpy(o->buf + o->used, s, n + 1);
	o->used += n;
}

/* Append the record of a valid C, with its ';'. */
static void put_container(struct out *o, const struct requested_container *c)
{
	char value[REQUEST_VALUE_MAX];

	for (const struct request_field *f = request_fields; f->name; f++) {
		if (!f->print(value, c))
			continue;
		request_put(o, f == request_fields ? "" : " ");
		request_put(o, f->name);
		request_put(o, "=");
		request_put(o, value);
	}
	request_put(o, ";");
}

int request_format(const struct request *r, char *buf, size_t size, struct errbuf *err)
{
	struct out o = { buf, size, 0 };

	if (size)
		buf[0] = '\0';
	if (request_check(r, err) < 0)
		return -1;
	request_put(&o, header);
	for (unsigned i = 0; i < r->n; i++)
		put_container(&o, &r->container[i]);
	if (o.used == o.size) {
		if (size)
			buf[0] = '\0';
		return errprintf(err, "the request does not fit in %zu bytes", size);
	}
	return (int)o.used;
}

static int unknown_field(const char *field, size_t len, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	const char *before = "";

	errprintf(err, "unknown field %s (allowed: ", word_quote(quoted, field, len));
	for (const struct request_field *f = request_fields; f->name; f++) {
		errappend(err, "%s%s=", before, f->name);
		before = ", ";
	}
	return errappend(err, ")");
}

/* Parse one field "NAME=VALUE", FIELD .. END. */
static int parse_field(struct requested_container *c, const char *field, const char *end,
		       struct errbuf *err)
{
	size_t len = (size_t)(end - field);
	const char *equals = memchr(field, '=', len);
	const struct request_field *f;
	char quoted[WORD_QUOTE_MAX];

	f = equals ? request_field_find(field, (size_t)(equals - field)) : NULL;
	if (!f)
		return unknown_field(field, len, err);
	if (f->parse(c, equals + 1, end) < 0)
		return errprintf(err, "bad value in %s", word_quote(quoted, field, len));
	return 0;
}

/* Parse one record, RECORD .. END with its ';'. */
static int request_parse_container(struct requested_container *c, const char *record,
				   const char *end, struct errbuf *err)
{
	const char *field = record;
	char canonical[RECORD_MAX];
	struct out o = { canonical, sizeof(canonical), 0 };

	memset(c, 0, sizeof(*c));
	while (field < end) {
		const char *stop = field;

		while (*stop != ' ' && *stop != ';')
			stop++;
		if (parse_field(c, field, stop, err) < 0)
			return -1;
		field = stop + 1;
	}
	if (request_check_name(c->name, err) < 0 || request_check_container(c, err) < 0)
		return -1;
	put_container(&o, c);
	if (o.used != (size_t)(end - record) || memcmp(canonical, record, o.used) != 0)
		return errprintf(err, "the record is not in canonical form, which is \"%.300s\"",
				 canonical);
	return 0;
}

static int manifest_request_parse(struct request *r, const char *text, struct errbuf *err)
{
	size_t len = strnlen(text, REQUEST_TEXT_MAX);
	const char *p = text + sizeof(header) - 1;

	if (len == REQUEST_TEXT_MAX)
		return errprintf(err, "longer than %d bytes", REQUEST_TEXT_MAX - 1);
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return errprintf(err, "byte %zu is 0x%02x (allowed: printable ASCII)",
					 i + 1, (unsigned)(unsigned char)text[i]);
	if (strncmp(text, header, sizeof(header) - 1) != 0) {
		char quoted[WORD_QUOTE_MAX];

		return errprintf(err,
				 "the text starts with %s, expected \"%s\": was it made by another "
				 "version of NodeOS?",
				 word_quote(quoted, text, strcspn(text, ";")), header);
	}
	while (*p) {
		const char *end = strchr(p, ';');

		if (!end)
			return errprintf(err, "the last record has no ';': the text is cut short");
		if (r->n == REQUEST_CONTAINERS_MAX)
			return errprintf(err, "too many containers (allowed: %d)",
					 REQUEST_CONTAINERS_MAX);
		if (request_parse_container(&r->container[r->n], p, end + 1, err) < 0)
			return errwrap(err, "container %u", r->n + 1);
		r->n++;
		p = end + 1;
	}
	return request_check(r, err);
}

int request_parse(struct request *r, const char *text, struct errbuf *err)
{
	struct request out;

	memset(&out, 0, sizeof(out));
	if (manifest_request_parse(&out, text, err) < 0)
		return errwrap(err, "request");
	*r = out;
	return 0;
}

/*
 * Return the shift of a unit: "", "b", or one of k m g t p e alone or with "i" or "iB"; -1:
 * unknown.
 */
static int size_shift(const char *unit)
{
	static const char letters[] = "kKmMgGtTpPeE";
	const char *letter;

	if (unit[0] == '\0' || strcmp(unit, "b") == 0 || strcmp(unit, "B") == 0)
		return 0;
	letter = strchr(letters, unit[0]);
	if (!letter || (unit[1] && strcmp(unit + 1, "i") != 0 && strcmp(unit + 1, "iB") != 0))
		return -1;
	return (int)((letter - letters) / 2 + 1) * 10;
}

int request_parse_bytes(const char *text, uint64_t *bytes)
{
	const char *unit = text;
	int shift;

	if (request_field_number(&unit, text + strnlen(text, REQUEST_NAME_MAX), REQUEST_BYTES_MAX,
				 bytes) < 0)
		return -1;
	shift = size_shift(unit);
	if (shift < 0 || *bytes > REQUEST_BYTES_MAX >> shift)
		return -1;
	*bytes <<= shift;
	return 0;
}

unsigned request_default_priority(enum sched_policy policy)
{
	return policy == POLICY_HPC ? HPC_TOPO : 0;
}

unsigned request_quantum(const struct requested_container *c, enum sched_policy policy)
{
	if (policy != POLICY_HPC)
		return 0;
	return c->quantum_named ? c->quantum : HPC_QUANTUM_DEFAULT;
}

/* Parse the text after "hpc:" or "fifo:", up to END. */
static int sched_priority(struct requested_container *c, const char *word, const char *end)
{
	char text[16];
	int p;

	if (request_field_prio(c, word, end) == 0)
		return 0;
	if (c->policy != POLICY_HPC || end - word >= (ptrdiff_t)sizeof(text))
		return -1;
	memcpy(text, word, (size_t)(end - word));
	text[end - word] = '\0';
	p = hpc_placement_by_name(text);
	c->priority = (unsigned)p;
	return p < 0 ? -1 : 0;
}

int request_parse_sched(struct requested_container *c, const char *text, struct errbuf *err)
{
	static const char quantum[] = "quantum:";
	struct requested_container got = *c;
	char quoted[WORD_QUOTE_MAX];
	const char *word = text, *end = text + strcspn(text, ":,");

	if (request_field_policy(&got, text, end) < 0)
		goto bad;
	got.priority = request_default_priority(got.policy);
	got.quantum_named = false;
	got.quantum = 0;
	if (*end == ':') {
		word = end + 1;
		end = word + strcspn(word, ",");
		if (sched_priority(&got, word, end) < 0)
			goto bad;
	}
	if (*end == ',') {
		word = end + 1;
		end = word + strlen(word);
		if (strncmp(word, quantum, sizeof(quantum) - 1) != 0 ||
		    request_field_quantum(&got, word + sizeof(quantum) - 1, end) < 0)
			goto bad;
	}
	if (check_policy(&got, err) < 0)
		return -1;
	*c = got;
	return 0;
bad:
	return errprintf(
		err,
		"%s: expected POLICY, POLICY:PRIORITY or hpc[:user|rr|topo][,quantum:MS], with "
		"POLICY one of %s, PRIORITY 0 to 99 (0 to 2 with hpc) and MS 0 to %d milliseconds",
		word_quote(quoted, text, strnlen(text, REQUEST_NAME_MAX)), policy_names(),
		HPC_QUANTUM_MAX);
}

int request_no_such(const struct request *r, const char *name, struct errbuf *err)
{
	char names[300] = "";
	unsigned i = 0;

	for (; i < r->n && strlen(names) + REQUEST_NAME_MAX + 8 < sizeof(names); i++)
		sprintf(names + strlen(names), "%s%s", i ? ", " : "", r->container[i].name);
	return errprintf(err,
			 "--nodeos-container=%.64s: no such container (there are: %s%s; or none%s)",
			 name, names, i < r->n ? ", ..." : "",
			 strchr(name, ',') ? "; several in one step: NAME:RANKS,NAME:RANKS" : "");
}
