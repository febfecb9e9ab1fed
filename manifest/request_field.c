/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/request_field.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int request_field_number(const char **p, const char *end, uint64_t max, uint64_t *value)
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

int request_field_signed(int *out, const char *value, const char *end, int min, int max)
{
	bool negative = value < end && *value == '-';
	uint64_t v;
	int number;

	if (negative)
		value++;
	if (request_field_number(&value, end, INT_MAX, &v) < 0 || value != end || (negative && !v))
		return -1;
	number = negative ? -(int)v : (int)v;
	if (number < min || number > max)
		return -1;
	*out = number;
	return 0;
}

/* Parse all of VALUE .. END as one number up to MAX. */
static int parse_unsigned(unsigned *out, const char *value, const char *end, uint64_t max)
{
	uint64_t v;

	if (request_field_number(&value, end, max, &v) < 0 || value != end)
		return -1;
	*out = (unsigned)v;
	return 0;
}

/* Copy VALUE .. END to BUF. */
static int copy_word(char *buf, size_t size, const char *value, const char *end)
{
	size_t len = (size_t)(end - value);

	if (len >= size)
		return -1;
	memcpy(buf, value, len);
	buf[len] = '\0';
	return 0;
}

static int field_name(struct requested_container *c, const char *value, const char *end)
{
	return copy_word(c->name, sizeof(c->name), value, end);
}

static int field_cpus(struct requested_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->cpus, value, end, REQUEST_CPUS_MAX);
}

static int field_smt(struct requested_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->smt, value, end, REQUEST_SMT_MAX);
}

/* Parse an amount: N, or Nb for bytes. */
static int parse_amount(const char **value, const char *end, uint64_t *amount, bool *sized)
{
	if (request_field_number(value, end, REQUEST_BYTES_MAX, amount) < 0)
		return -1;
	*sized = *value < end && **value == 'b';
	*value += *sized;
	return 0;
}

/* Parse amounts by kind: "dram:1,hbm:4096b". request_check() checks their order. */
static int parse_wants(struct requested_container *c, const char *value, const char *end)
{
	c->mems_kind = MEMS_WANTS;
	do {
		const char *colon = memchr(value, ':', (size_t)(end - value));
		struct mems_want *want = &c->want[c->n_wants];
		char word[16];
		int kind;

		if (!colon || c->n_wants == MEMS_WANTS_MAX ||
		    copy_word(word, sizeof(word), value, colon) < 0)
			return -1;
		kind = memory_kind_by_name(word);
		value = colon + 1;
		if (kind < 0 || parse_amount(&value, end, &want->amount, &want->sized) < 0)
			return -1;
		want->kind = (enum memory_kind)kind;
		c->n_wants++;
	} while (value < end && *value++ == ',');
	return value == end && value[-1] != ',' ? 0 : -1;
}

static int field_mems(struct requested_container *c, const char *value, const char *end)
{
	bool sized;

	if (value < end && *value >= 'a' && *value <= 'z')
		return parse_wants(c, value, end);
	if (parse_amount(&value, end, &c->mems, &sized) < 0)
		return -1;
	c->mems_kind = sized ? MEMS_SIZE : MEMS_COUNT;
	return value == end ? 0 : -1;
}

static int field_mems_policy(struct requested_container *c, const char *value, const char *end)
{
	char word[24];
	int p;

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	p = mems_policy_by_name(word);
	c->mems_policy = p < 0 ? MEMS_BIND : (enum mems_policy)p;
	return p < 0 ? -1 : 0;
}

static int field_cores(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->cores = cores_word_by_name(word);
	return c->cores == CORES_UNSET ? -1 : 0;
}

int request_field_policy(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->policy = policy_by_name(word);
	return c->policy == POLICY_UNSET ? -1 : 0;
}

int request_field_prio(struct requested_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->priority, value, end, 99);
}

int request_field_quantum(struct requested_container *c, const char *value, const char *end)
{
	c->quantum_named = true;
	return parse_unsigned(&c->quantum, value, end, HPC_QUANTUM_MAX);
}

static int field_partition(struct requested_container *c, const char *value, const char *end)
{
	char word[16];
	int p;

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	p = partition_by_name(word);
	c->partition = p < 0 ? PARTITION_MEMBER : (enum partition)p;
	return p < 0 ? -1 : 0;
}

static int field_dimmap(struct requested_container *c, const char *value, const char *end)
{
	return request_field_number(&value, end, REQUEST_BYTES_MAX, &c->dimmap.size) < 0 ||
			       value != end
		       ? -1
		       : 0;
}

static int field_source(struct requested_container *c, const char *value, const char *end)
{
	return copy_word(c->dimmap.source, sizeof(c->dimmap.source), value, end);
}

static int field_dimmap_policy(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->dimmap.policy = request_dimmap_policy(word);
	return c->dimmap.policy ? 0 : -1;
}

static int field_fill(struct requested_container *c, const char *value, const char *end)
{
	return parse_unsigned(&c->dimmap.fill, value, end, REQUEST_FILL_MAX);
}

static int field_access(struct requested_container *c, const char *value, const char *end)
{
	c->dimmap.read_only = end - value == 2 && memcmp(value, "ro", 2) == 0;
	return c->dimmap.read_only ? 0 : -1;
}

static int field_ignored(struct requested_container *c, const char *value, const char *end)
{
	while (value < end) {
		const char *comma = memchr(value, ',', (size_t)(end - value));
		size_t len = (size_t)((comma ? comma : end) - value);
		unsigned i = 0;

		while (request_ignored_name[i] &&
		       (strlen(request_ignored_name[i]) != len ||
			memcmp(request_ignored_name[i], value, len) != 0))
			i++;
		if (!request_ignored_name[i])
			return -1;
		c->ignored |= UINT32_C(1) << i;
		value += len + (comma ? 1 : 0);
	}
	return 0;
}

static bool print_number(char *value, uint64_t number)
{
	snprintf(value, REQUEST_VALUE_MAX, "%" PRIu64, number);
	return number != 0;
}

static bool request_field_print_word(char *value, const char *word)
{
	snprintf(value, REQUEST_VALUE_MAX, "%s", word);
	return true;
}

static bool print_name(char *value, const struct requested_container *c)
{
	return request_field_print_word(value, c->name);
}

static bool print_cpus(char *value, const struct requested_container *c)
{
	return print_number(value, c->cpus);
}

static bool print_smt(char *value, const struct requested_container *c)
{
	return print_number(value, c->smt);
}

static bool print_wants(char *value, const struct requested_container *c)
{
	size_t used = 0;

	for (unsigned i = 0; i < c->n_wants && used < REQUEST_VALUE_MAX; i++)
		used += (size_t)snprintf(value + used, REQUEST_VALUE_MAX - used,
					 "%s%s:%" PRIu64 "%s", used ? "," : "",
					 memory_kind_name(c->want[i].kind), c->want[i].amount,
					 c->want[i].sized ? "b" : "");
	return true;
}

static bool print_mems(char *value, const struct requested_container *c)
{
	if (c->mems_kind == MEMS_WANTS)
		return print_wants(value, c);
	print_number(value, c->mems);
	if (c->mems_kind == MEMS_SIZE)
		strcat(value, "b");
	return c->mems_kind != MEMS_UNSET;
}

static bool print_mems_policy(char *value, const struct requested_container *c)
{
	return c->mems_policy != MEMS_BIND &&
	       request_field_print_word(value, mems_policy_name(c->mems_policy));
}

static bool print_cores(char *value, const struct requested_container *c)
{
	return c->cores != CORES_UNSET &&
	       request_field_print_word(value, cores_word_name(c->cores));
}

static bool request_field_print_policy(char *value, const struct requested_container *c)
{
	return c->policy != POLICY_UNSET && request_field_print_word(value, policy_name(c->policy));
}

/* With fifo and rr, priorities 0 and 1 mean the same. */
static bool print_prio(char *value, const struct requested_container *c)
{
	return c->priority > (policy_is_realtime(c->policy) ? 1 : 0) &&
	       print_number(value, c->priority);
}

static bool print_quantum(char *value, const struct requested_container *c)
{
	print_number(value, c->quantum);
	return c->quantum_named;
}

static bool print_partition(char *value, const struct requested_container *c)
{
	return c->partition != PARTITION_MEMBER &&
	       request_field_print_word(value, partition_name(c->partition));
}

static bool print_dimmap(char *value, const struct requested_container *c)
{
	return print_number(value, c->dimmap.size);
}

static bool print_source(char *value, const struct requested_container *c)
{
	return c->dimmap.size && request_field_print_word(value, c->dimmap.source);
}

static bool print_dimmap_policy(char *value, const struct requested_container *c)
{
	return c->dimmap.policy &&
	       request_field_print_word(value, request_dimmap_policies[c->dimmap.policy - 1]);
}

static bool print_fill(char *value, const struct requested_container *c)
{
	return print_number(value, c->dimmap.fill);
}

static bool print_access(char *value, const struct requested_container *c)
{
	return c->dimmap.read_only && request_field_print_word(value, "ro");
}

static bool print_ignored(char *value, const struct requested_container *c)
{
	size_t used = 0;

	for (unsigned i = 0; request_ignored_name[i] && used < REQUEST_VALUE_MAX; i++)
		if (c->ignored >> i & 1)
			used += (size_t)snprintf(value + used, REQUEST_VALUE_MAX - used, "%s%s",
						 used ? "," : "", request_ignored_name[i]);
	return used != 0;
}

static bool print_rank_value(char *value, const struct rank_value *v)
{
	snprintf(value, REQUEST_VALUE_MAX, "%d", v->value);
	return v->set;
}

/* define field_NAME() and print_NAME() of a row of RANK_NUMBERS, and the row of request_fields */
#define NUMBER_FUNCTIONS(id, field, isolator, member, min, max, ...)                             \
	static int field_##field(struct requested_container *c, const char *value,               \
				 const char *end)                                                \
	{                                                                                        \
		c->number[RANK_NUMBER_##id].set = true;                                          \
		return request_field_signed(&c->number[RANK_NUMBER_##id].value, value, end, min, \
					    max);                                                \
	}                                                                                        \
	static bool print_##field(char *value, const struct requested_container *c)              \
	{                                                                                        \
		return print_rank_value(value, &c->number[RANK_NUMBER_##id]);                    \
	}
RANK_NUMBERS(NUMBER_FUNCTIONS)

static int field_contention(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->contention = contention_policy_by_name(word);
	return c->contention == CONTENTION_UNSET ? -1 : 0;
}

static bool print_contention(char *value, const struct requested_container *c)
{
	return c->contention != CONTENTION_UNSET &&
	       request_field_print_word(value, contention_policy_name(c->contention));
}

static int field_placement(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->placement = placement_word_by_name(word);
	return c->placement == PLACEMENT_UNSET ? -1 : 0;
}

static bool print_placement(char *value, const struct requested_container *c)
{
	return c->placement != PLACEMENT_UNSET &&
	       request_field_print_word(value, placement_word_name(c->placement));
}

/* define field_NAME() and print_NAME() of a limit that is a number */
#define LIMIT_FUNCTIONS(field, max)                                                    \
	static int field_##field(struct requested_container *c, const char *value,     \
				 const char *end)                                      \
	{                                                                              \
		return request_field_number(&value, end, max, &c->limits.field) < 0 || \
				       value != end                                    \
			       ? -1                                                    \
			       : 0;                                                    \
	}                                                                              \
	static bool print_##field(char *value, const struct requested_container *c)    \
	{                                                                              \
		return print_number(value, c->limits.field);                           \
	}
LIMIT_FUNCTIONS(memory, REQUEST_BYTES_MAX)
LIMIT_FUNCTIONS(memory_request, REQUEST_BYTES_MAX)
LIMIT_FUNCTIONS(bandwidth, REQUEST_BYTES_MAX)
LIMIT_FUNCTIONS(iops, REQUEST_IOPS_MAX)

static int field_thp(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->limits.thp = thp_word_by_name(word);
	return c->limits.thp == THP_UNSET ? -1 : 0;
}

static bool print_thp(char *value, const struct requested_container *c)
{
	return c->limits.thp != THP_UNSET &&
	       request_field_print_word(value, thp_word_name(c->limits.thp));
}

static int field_lwk(struct requested_container *c, const char *value, const char *end)
{
	return request_field_number(&value, end, REQUEST_LWK_MAX, &c->lwk.memory) < 0 ||
			       value != end
		       ? -1
		       : 0;
}

static bool print_lwk(char *value, const struct requested_container *c)
{
	return print_number(value, c->lwk.memory);
}

static int field_lwk_page(struct requested_container *c, const char *value, const char *end)
{
	char word[16];

	if (copy_word(word, sizeof(word), value, end) < 0)
		return -1;
	c->lwk.page = lwk_page_by_name(word);
	return c->lwk.page == LWK_PAGE_UNSET ? -1 : 0;
}

static bool print_lwk_page(char *value, const struct requested_container *c)
{
	return c->lwk.page != LWK_PAGE_UNSET &&
	       request_field_print_word(value, lwk_page_name(c->lwk.page));
}

static int field_lwk_loose(struct requested_container *c, const char *value, const char *end)
{
	c->lwk.loose = end - value == 3 && memcmp(value, "yes", 3) == 0;
	return c->lwk.loose ? 0 : -1;
}

static bool print_lwk_loose(char *value, const struct requested_container *c)
{
	return c->lwk.loose && request_field_print_word(value, "yes");
}

#define NUMBER_FIELD(id, field, ...) { #field, ISOLATOR_##id, field_##field, print_##field },

const struct request_field request_fields[] = {
	/* each container has CPUs, and each record has a name */
	{ "c", ISOLATOR_CPUS, field_name, print_name },
	{ "cpus", ISOLATOR_CPUS, field_cpus, print_cpus },
	{ "smt", ISOLATOR_CPUS, field_smt, print_smt },
	{ "mems", ISOLATOR_MEMS, field_mems, print_mems },
	{ "policy", ISOLATOR_SCHED, request_field_policy, request_field_print_policy },
	{ "prio", ISOLATOR_SCHED, request_field_prio, print_prio },
	{ "quantum", ISOLATOR_SCHED, request_field_quantum, print_quantum },
	{ "partition", ISOLATOR_PARTITION, field_partition, print_partition },
	{ "dimmap", ISOLATOR_DIMMAP, field_dimmap, print_dimmap },
	{ "dimmap_source", ISOLATOR_DIMMAP, field_source, print_source },
	{ "dimmap_policy", ISOLATOR_DIMMAP, field_dimmap_policy, print_dimmap_policy },
	{ "dimmap_fill", ISOLATOR_DIMMAP, field_fill, print_fill },
	{ "dimmap_access", ISOLATOR_DIMMAP, field_access, print_access },
	{ "ignored", ISOLATOR_COUNT, field_ignored, print_ignored },
	RANK_NUMBERS(NUMBER_FIELD){ "contention", ISOLATOR_CONTENTION, field_contention,
				    print_contention },
	{ "placement", ISOLATOR_CPUS, field_placement, print_placement },
	{ "memory", ISOLATOR_LIMITS, field_memory, print_memory },
	{ "memory_request", ISOLATOR_LIMITS, field_memory_request, print_memory_request },
	{ "bandwidth", ISOLATOR_LIMITS, field_bandwidth, print_bandwidth },
	{ "iops", ISOLATOR_LIMITS, field_iops, print_iops },
	{ "thp", ISOLATOR_THP, field_thp, print_thp },
	{ "mems_policy", ISOLATOR_MEMS, field_mems_policy, print_mems_policy },
	{ "cores", ISOLATOR_CPUS, field_cores, print_cores },
	{ "lwk", ISOLATOR_LWK, field_lwk, print_lwk },
	{ "lwk_page", ISOLATOR_LWK, field_lwk_page, print_lwk_page },
	{ "lwk_loose", ISOLATOR_LWK, field_lwk_loose, print_lwk_loose },
	{ NULL, ISOLATOR_COUNT, NULL, NULL },
};

const struct request_field *request_field_find(const char *name, size_t len)
{
	for (const struct request_field *f = request_fields; f->name; f++)
		if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
			return f;
	return NULL;
}
