/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"

/* Append only: the canonical text lists them in this order, and nodes may run an older release. */
const char *const request_ignored_name[] = {
	"perfwrapper",
	"power",
	"hwbind",
	"monitoring",
	"image",
	"resource/block-bandwidth",
	"resource/block-iops",
	"resource/cpu",
	"resource/memory",
	"resource/network-bandwidth",
	"os/linux/apparmor-profile",
	"os/linux/capabilities-remove-set",
	"os/linux/capabilities-retain-set",
	"os/linux/cpu-shares",
	"os/linux/no-new-privileges",
	"os/linux/oom-score-adj",
	"os/linux/seccomp-remove-set",
	"os/linux/seccomp-retain-set",
	"os/linux/selinux-context",
	"os/unix/sysctl",
	"powerpolicy",
	NULL,
};

#define IGNORED_COUNT (sizeof(request_ignored_name) / sizeof(request_ignored_name[0]) - 1)
_Static_assert(IGNORED_COUNT < 32, "request_container.ignored has 32 bits");

/* Bytes that hold any container's record: the name, every ignored name, the numbers. */
#define RECORD_MAX 1000
_Static_assert(sizeof("nodeos 1;") + REQUEST_CONTAINERS_MAX * RECORD_MAX <= REQUEST_TEXT_MAX,
	       "every valid request fits");

static const char header[] = "nodeos 1;";

int request_ignored_index(const char *name)
{
	for (unsigned i = 0; i < IGNORED_COUNT; i++)
		if (strcmp(name, request_ignored_name[i]) == 0)
			return (int)i;
	return -1;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* strchr() would find the final NUL too. */
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

static int check_mems(const struct request_container *c, struct errbuf *err)
{
	switch (c->mems_kind) {
	case MEMS_UNSET:
		return c->mems ? errprintf(err, "mems has a value without a kind") : 0;
	case MEMS_COUNT:
		if (c->mems < 1 || c->mems > REQUEST_MEMS_MAX)
			return errprintf(err, "mems=%" PRIu64 " (allowed: 1 to %d memory nodes)",
					 c->mems, REQUEST_MEMS_MAX);
		return 0;
	case MEMS_SIZE:
		if (c->mems < 1 || c->mems > REQUEST_BYTES_MAX)
			return errprintf(err, "mems=%" PRIu64 "b (allowed: 1 to %" PRIu64 " bytes)",
					 c->mems, REQUEST_BYTES_MAX);
		return 0;
	}
	return errprintf(err, "mems is of an unknown kind");
}

static int check_policy(const struct request_container *c, struct errbuf *err)
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

static int check_container(const struct request_container *c, struct errbuf *err)
{
	if (c->cpus > REQUEST_CPUS_MAX)
		return errprintf(err, "cpus=%u (allowed: 1 to %d)", c->cpus, REQUEST_CPUS_MAX);
	if (c->smt > REQUEST_SMT_MAX)
		return errprintf(err, "smt=%u (allowed: 1 to %d)", c->smt, REQUEST_SMT_MAX);
	if ((unsigned)c->partition >= PARTITION_COUNT)
		return errprintf(err, "unknown partition");
	if (c->ignored >> IGNORED_COUNT)
		return errprintf(err, "unknown bits in ignored");
	return check_mems(c, err) < 0 || request_check_dimmap(&c->dimmap, err) < 0
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
		const struct request_container *c = &r->container[i];

		if (request_check_name(c->name, err) < 0)
			return -1;
		if (request_find(r, c->name) != (int)i)
			return errprintf(err, "two containers are named \"%s\"", c->name);
		if (check_container(c, err) < 0)
			return errwrap(err, "container %s", c->name);
		for (unsigned k = 0; c->dimmap.size && k < i; k++)
			if (r->container[k].dimmap.size &&
			    strcmp(r->container[k].dimmap.source, c->dimmap.source) == 0)
				return errprintf(err,
						 "containers %s and %s: both have a buffer "
						 "(dimmap) of %s: only one can",
						 r->container[k].name, c->name, c->dimmap.source);
		if (c->cpus)
			continue;
		if (rest)
			return errprintf(err,
					 "containers %s and %s both ask for all CPUs that are left "
					 "(allowed: one)",
					 rest, c->name);
		rest = c->name;
	}
	return 0;
}

/* A bounded text; "used" reaches "size" when it did not fit. */
struct out {
	char *buf;
	size_t size, used;
};

static void put(struct out *o, const char *s)
{
	size_t n = strlen(s);

	if (n >= o->size - o->used) {
		o->used = o->size;
		return;
	}
	memcpy(o->buf + o->used, s, n + 1);
	o->used += n;
}

static void put_number(struct out *o, const char *field, uint64_t value)
{
	char digits[24];

	put(o, field);
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	put(o, digits);
}

static void put_dimmap(struct out *o, const struct request_dimmap *d)
{
	if (!d->size)
		return;
	put_number(o, " dimmap=", d->size);
	put(o, " dimmap_source=");
	put(o, d->source);
	if (d->policy) {
		put(o, " dimmap_policy=");
		put(o, request_dimmap_policies[d->policy - 1]);
	}
	if (d->fill)
		put_number(o, " dimmap_fill=", d->fill);
	if (d->read_only)
		put(o, " dimmap_access=ro");
}

/* The record of a valid C, with its ';'. */
static void put_container(struct out *o, const struct request_container *c)
{
	const char *before = " ignored=";

	put(o, "c=");
	put(o, c->name);
	if (c->cpus)
		put_number(o, " cpus=", c->cpus);
	if (c->smt)
		put_number(o, " smt=", c->smt);
	if (c->mems_kind != MEMS_UNSET)
		put_number(o, " mems=", c->mems);
	if (c->mems_kind == MEMS_SIZE)
		put(o, "b");
	if (c->policy != POLICY_UNSET) {
		put(o, " policy=");
		put(o, policy_name(c->policy));
	}
	if (c->priority > (policy_is_realtime(c->policy) ? 1 : 0))
		put_number(o, " prio=", c->priority);
	if (c->quantum_named)
		put_number(o, " quantum=", c->quantum);
	if (c->partition != PARTITION_MEMBER) {
		put(o, " partition=");
		put(o, partition_name(c->partition));
	}
	put_dimmap(o, &c->dimmap);
	for (unsigned i = 0; i < IGNORED_COUNT; i++) {
		if (!(c->ignored >> i & 1))
			continue;
		put(o, before);
		put(o, request_ignored_name[i]);
		before = ",";
	}
	put(o, ";");
}

int request_format(const struct request *r, char *buf, size_t size, struct errbuf *err)
{
	struct out o = { buf, size, 0 };

	if (size)
		buf[0] = '\0';
	if (request_check(r, err) < 0)
		return -1;
	put(&o, header);
	for (unsigned i = 0; i < r->n; i++)
		put_container(&o, &r->container[i]);
	if (o.used == o.size) {
		if (size)
			buf[0] = '\0';
		return errprintf(err, "the request does not fit in %zu bytes", size);
	}
	return (int)o.used;
}

/* Decimal digits without a leading zero, up to MAX, at *P up to END; advances *P. */
static int parse_number(const char **p, const char *end, uint64_t max, uint64_t *value)
{
	const char *s = *p;
	uint64_t v = 0;

	if (s == end || *s < '0' || *s > '9' ||
	    (*s == '0' && end - s > 1 && s[1] >= '0' && s[1] <= '9'))
		return -1;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (v > max / 10 || v * 10 > max - digit)
			return -1;
		v = v * 10 + digit;
	}
	*p = s;
	*value = v;
	return 0;
}

/* All of VALUE .. END is one number up to MAX. */
static int parse_unsigned(unsigned *out, const char *value, const char *end, uint64_t max)
{
	uint64_t v;

	if (parse_number(&value, end, max, &v) < 0 || value != end)
		return -1;
	*out = (unsigned)v;
	return 0;
}

/* VALUE .. END as a text of its own. */
static int copy_word(char *buf, size_t size, const char *value, const char *end)
{
	size_t len = (size_t)(end - value);

	if (len >= size)
		return -1;
	memcpy(buf, value, len);
	buf[len] = '\0';
	return 0;
}

static int field_name(struct request_container *c, const char *value, const char *end)
{
	return copy_word(c->name, sizeof(c->name), value, end);
}

static int field_cpus(struct request_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->cpus, value, end, REQUEST_CPUS_MAX);
}

static int field_smt(struct request_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->smt, value, end, REQUEST_SMT_MAX);
}

static int field_mems(struct request_container *c, const char *value, const char *end)
{
	if (parse_number(&value, end, REQUEST_BYTES_MAX, &c->mems) < 0)
		return -1;
	c->mems_kind = MEMS_COUNT;
	if (value < end && *value == 'b') {
		c->mems_kind = MEMS_SIZE;
		value++;
	}
	return value == end ? 0 : -1;
}

static int field_policy(struct request_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->policy = policy_by_name(word);
	return c->policy == POLICY_UNSET ? -1 : 0;
}

static int field_prio(struct request_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->priority, value, end, 99);
}

static int field_quantum(struct request_container *c, const char *value, const char *end)
{
	c->quantum_named = true;
	return parse_unsigned(&c->quantum, value, end, HPC_QUANTUM_MAX);
}

static int field_partition(struct request_container *c, const char *value, const char *end)
{
	char word[16];
	int p;

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	p = partition_by_name(word);
	c->partition = p < 0 ? PARTITION_MEMBER : (enum partition)p;
	return p < 0 ? -1 : 0;
}

static int field_dimmap(struct request_container *c, const char *value, const char *end)
{
	return parse_number(&value, end, REQUEST_BYTES_MAX, &c->dimmap.size) < 0 || value != end
		       ? -1
		       : 0;
}

static int field_source(struct request_container *c, const char *value, const char *end)
{
	return copy_word(c->dimmap.source, sizeof(c->dimmap.source), value, end);
}

static int field_dimmap_policy(struct request_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->dimmap.policy = request_dimmap_policy(word);
	return c->dimmap.policy ? 0 : -1;
}

static int field_fill(struct request_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->dimmap.fill, value, end, REQUEST_FILL_MAX);
}

static int field_access(struct request_container *c, const char *value, const char *end)
{
	c->dimmap.read_only = end - value == 2 && memcmp(value, "ro", 2) == 0;
	return c->dimmap.read_only ? 0 : -1;
}

static int field_ignored(struct request_container *c, const char *value, const char *end)
{
	while (value < end) {
		const char *comma = memchr(value, ',', (size_t)(end - value));
		size_t len = (size_t)((comma ? comma : end) - value);
		unsigned i = 0;

		while (i < IGNORED_COUNT && (strlen(request_ignored_name[i]) != len ||
					     memcmp(request_ignored_name[i], value, len) != 0))
			i++;
		if (i == IGNORED_COUNT)
			return -1;
		c->ignored |= UINT32_C(1) << i;
		value += len + (comma ? 1 : 0);
	}
	return 0;
}

/*
 * The fields, in any order: order, omitted defaults and single blanks are what
 * the comparison with the formatted record demands.
 */
static const struct field {
	const char *name;
	int (*parse)(struct request_container *c, const char *value, const char *end);
} fields[] = {
	{ "c", field_name },
	{ "cpus", field_cpus },
	{ "smt", field_smt },
	{ "mems", field_mems },
	{ "policy", field_policy },
	{ "prio", field_prio },
	{ "quantum", field_quantum },
	{ "partition", field_partition },
	{ "dimmap", field_dimmap },
	{ "dimmap_source", field_source },
	{ "dimmap_policy", field_dimmap_policy },
	{ "dimmap_fill", field_fill },
	{ "dimmap_access", field_access },
	{ "ignored", field_ignored },
};

static int parse_field(struct request_container *c, const char *field, const char *end,
		       struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	size_t len = (size_t)(end - field);
	const char *equals = memchr(field, '=', len);

	for (size_t i = 0; equals && i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strlen(fields[i].name) != (size_t)(equals - field) ||
		    memcmp(fields[i].name, field, (size_t)(equals - field)) != 0)
			continue;
		if (fields[i].parse(c, equals + 1, end) < 0)
			return errprintf(err, "bad value in %s", word_quote(quoted, field, len));
		return 0;
	}
	return errprintf(err,
			 "unknown field %s (allowed: c=, cpus=, smt=, mems=, policy=, prio=, "
			 "quantum=, partition=, dimmap=, dimmap_source=, dimmap_policy=, "
			 "dimmap_fill=, dimmap_access=, ignored=)",
			 word_quote(quoted, field, len));
}

/* One record, RECORD .. END with its ';'. */
static int parse_container(struct request_container *c, const char *record, const char *end,
			   struct errbuf *err)
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
	if (request_check_name(c->name, err) < 0 || check_container(c, err) < 0)
		return -1;
	put_container(&o, c);
	if (o.used != (size_t)(end - record) || memcmp(canonical, record, o.used) != 0)
		return errprintf(err, "the record is not canonical: it would be \"%.300s\"",
				 canonical);
	return 0;
}

static int parse(struct request *r, const char *text, struct errbuf *err)
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

		return errprintf(
			err,
			"it starts with %s, expected \"%s\": made by another version of NodeOS?",
			word_quote(quoted, text, strcspn(text, ";")), header);
	}
	while (*p) {
		const char *end = strchr(p, ';');

		if (!end)
			return errprintf(err, "the last record has no ';': the text is cut short");
		if (r->n == REQUEST_CONTAINERS_MAX)
			return errprintf(err, "too many containers (allowed: %d)",
					 REQUEST_CONTAINERS_MAX);
		if (parse_container(&r->container[r->n], p, end + 1, err) < 0)
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
	if (parse(&out, text, err) < 0)
		return errwrap(err, "request");
	*r = out;
	return 0;
}

/* "", "b", or one of k m g t p e with nothing, "i" or "iB" after it -> shift, or -1. */
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

	if (parse_number(&unit, text + strnlen(text, REQUEST_NAME_MAX), REQUEST_BYTES_MAX, bytes) <
	    0)
		return -1;
	shift = size_shift(unit);
	if (shift < 0 || *bytes > REQUEST_BYTES_MAX >> shift)
		return -1;
	*bytes <<= shift;
	return 0;
}

int request_parse_mems(const char *text, enum mems_kind *kind, uint64_t *value, struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	size_t len = strnlen(text, REQUEST_NAME_MAX);
	struct request_container c = { .mems_kind = MEMS_COUNT };
	const char *unit = text;
	int shift;

	word_quote(quoted, text, len);
	if (parse_number(&unit, text + len, UINT64_MAX, &c.mems) < 0)
		goto bad;
	shift = size_shift(unit);
	if (shift < 0)
		goto bad;
	if (*unit) {
		c.mems_kind = MEMS_SIZE;
		if (c.mems > REQUEST_BYTES_MAX >> shift)
			return errprintf(err, "%s is too large (allowed: up to 1E, an exbibyte)",
					 quoted);
		c.mems <<= shift;
	}
	if (c.mems == 0 || (c.mems_kind == MEMS_COUNT && c.mems > REQUEST_MEMS_MAX))
		goto bad;
	*kind = c.mems_kind;
	*value = c.mems;
	return 0;
bad:
	return errprintf(err,
			 "%s is neither a number of memory nodes nor a size (allowed: 1 to %d, or "
			 "for example 512M, 16G, 16GiB)",
			 quoted, REQUEST_MEMS_MAX);
}

unsigned request_default_priority(enum sched_policy policy)
{
	return policy == POLICY_HPC ? HPC_TOPO : 0;
}

unsigned request_quantum(const struct request_container *c, enum sched_policy policy)
{
	if (policy != POLICY_HPC)
		return 0;
	return c->quantum_named ? c->quantum : HPC_QUANTUM_DEFAULT;
}

/* What follows "hpc:" or "fifo:", up to END. */
static int sched_priority(struct request_container *c, const char *word, const char *end)
{
	char text[16];
	int p;

	if (parse_unsigned(&c->priority, word, end, 99) == 0)
		return 0;
	if (c->policy != POLICY_HPC || end - word >= (ptrdiff_t)sizeof(text))
		return -1;
	memcpy(text, word, (size_t)(end - word));
	text[end - word] = '\0';
	p = hpc_placement_by_name(text);
	c->priority = (unsigned)p;
	return p < 0 ? -1 : 0;
}

int request_parse_sched(struct request_container *c, const char *text, struct errbuf *err)
{
	static const char quantum[] = "quantum:";
	struct request_container got = *c;
	char quoted[WORD_QUOTE_MAX];
	const char *word = text, *end = text + strcspn(text, ":,");

	if (field_policy(&got, text, end) < 0)
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
		    field_quantum(&got, word + sizeof(quantum) - 1, end) < 0)
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

	for (unsigned i = 0; i < r->n && strlen(names) + REQUEST_NAME_MAX + 3 < sizeof(names); i++)
		sprintf(names + strlen(names), "%s, ", r->container[i].name);
	return errprintf(err, "--nodeos-container=%.64s: no such container (there are: %snone%s)",
			 name, names,
			 strchr(name, ',') ? "; several in one step: NAME:RANKS,NAME:RANKS" : "");
}
