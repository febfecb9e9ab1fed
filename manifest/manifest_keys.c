/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest_keys.h"

#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "manifest/request_field.h"

#define KEYS_MAX 16 /* keys of one isolator, including the end of the list */

/* the number of a macro as text */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* AppC's words for policies, in any letter case */
#define PATTERN_POLICY                                                                       \
	"^[Ss][Cc][Hh][Ee][Dd]_([Oo][Tt][Hh][Ee][Rr]|[Bb][Aa][Tt][Cc][Hh]|[Ii][Dd][Ll][Ee]|" \
	"[Ff][Ii][Ff][Oo]|[Rr][Rr]|[Hh][Pp][Cc])$"

/* The allowed priorities depend on the policy. */
#define PRIORITY_HPC "a placement, user, rr or topo, or its number, 0 to 2"
#define PRIORITY_REALTIME "a whole number from 0 to 99; 0 means 1"
#define PRIORITY_NONE "0"

/* AppC's quantities */
#define PATTERN_QUANTITY "^[1-9][0-9]*([KMGTPE]i?)?$"

#define PATTERN_SIZE "^[1-9][0-9]*([bB]|[KkMmGgTtPpEe](iB?)?)?$"

/*
 * Copy a value that may be written "48" or 48 to BUF. A longer text is never valid, so it is cut at
 * SIZE.
 */
static int scalar(const struct json_doc *doc, const struct json_node *value, char *buf, size_t size)
{
	if (value->kind != JSON_STRING && value->kind != JSON_NUMBER)
		return json_doc_fail(doc, value, "expected a number or a string, got %s",
				     json_kind_name(value->kind));
	json_doc_scalar(doc, value, buf, size);
	return 0;
}

/* Return the text of a string, or NULL with a message when it is not a string. */
static const char *string(const struct json_doc *doc, const struct json_node *value)
{
	if (value->kind == JSON_STRING)
		return json_doc_string(doc, value);
	json_doc_fail(doc, value, "expected a string, got %s", json_kind_name(value->kind));
	return NULL;
}

/* Report that VALUE, written as TEXT, is not allowed; ALLOWED says what is. Returns -1. */
static int manifest_keys_refuse(const struct json_doc *doc, const struct json_node *value,
				const char *text, const char *allowed)
{
	char quoted[WORD_QUOTE_MAX];

	return json_doc_fail(doc, value, "%s (allowed: %s)", word_quote(quoted, text, strlen(text)),
			     allowed);
}

/* Load a whole number of the row's range. */
static int load_count(const struct json_doc *doc, const struct manifest_key *key,
		      const struct json_node *value, unsigned *out)
{
	char text[WORD_QUOTE_MAX];

	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (word_parse_number(text, (unsigned)key->min, (unsigned)key->max, out) < 0)
		return manifest_keys_refuse(doc, value, text, key->allowed);
	return 0;
}

/* Return the index of one of the row's words, or -1 with a message. */
static int load_word(const struct json_doc *doc, const struct manifest_key *key,
		     const struct json_node *value)
{
	const char *text = string(doc, value);

	if (!text)
		return -1;
	for (unsigned i = 0; key->word(i); i++)
		if (strcmp(text, key->word(i)) == 0)
			return (int)i;
	return manifest_keys_refuse(doc, value, text, key->allowed);
}

/* ------------------------------------------------------------------------- container */

static int load_cpus(const struct json_doc *doc, const struct manifest_key *key,
		     const struct json_node *value, struct requested_container *c)
{
	return load_count(doc, key, value, &c->cpus);
}

static const char *smt_word(unsigned i)
{
	return i == 0 ? "all" : NULL;
}

static int load_smt(const struct json_doc *doc, const struct manifest_key *key,
		    const struct json_node *value, struct requested_container *c)
{
	if (value->kind == JSON_STRING && strcmp(json_doc_string(doc, value), key->word(0)) == 0)
		return 0;
	return load_count(doc, key, value, &c->smt);
}

#define WANT_EXAMPLE "{\"kind\": \"hbm\", \"size\": \"16G\"}"
#define MEMS_BY_KIND "; or by kind a list: [" WANT_EXAMPLE ", {\"kind\": \"dram\", \"count\": 1}]"

/* Load one item of a list of wants: {"kind": "hbm", "size": "16G"} or {"kind": .., "count": 1}. */
static int load_want(const struct json_doc *doc, const struct json_node *item,
		     struct requested_container *c)
{
	const struct json_node *kind, *count, *size;
	struct mems_want want = { .sized = false };
	char text[WORD_QUOTE_MAX];
	struct errbuf why = { 0 };
	unsigned number;
	int k;

	if (item->kind != JSON_OBJECT)
		return json_doc_fail(doc, item, "expected an object such as " WANT_EXAMPLE);
	if (manifest_check_object(doc, item) < 0)
		return -1;
	for (const struct json_node *m = json_doc_first(doc, item); m; m = json_doc_next(doc, m))
		if (strcmp(m->key, "kind") != 0 && strcmp(m->key, "count") != 0 &&
		    strcmp(m->key, "size") != 0)
			return json_doc_fail_key(doc, m,
						 "unknown key (allowed: kind, count, size)");
	kind = json_scan_member(&doc->tree, item, "kind");
	count = json_scan_member(&doc->tree, item, "count");
	size = json_scan_member(&doc->tree, item, "size");
	if (!kind || !count == !size)
		return json_doc_fail(doc, item, "expected a kind, and a count or a size of it");
	if (!string(doc, kind))
		return -1;
	k = memory_kind_by_name(json_doc_string(doc, kind));
	if (k < 0)
		return manifest_keys_refuse(doc, kind, json_doc_string(doc, kind),
					    REQUEST_WANTS_ALLOWED);
	want.kind = (enum memory_kind)k;
	want.sized = size != NULL;
	if (scalar(doc, size ? size : count, text, sizeof(text)) < 0)
		return -1;
	/* a smaller size probably lacks its unit */
	if (size && (request_parse_bytes(text, &want.amount) < 0 || want.amount < 1 << 20))
		return manifest_keys_refuse(doc, size, text,
					    "1M to 1024P, for example 512M, 16G, 16GiB");
	if (count && word_parse_number(text, 1, REQUEST_MEMS_MAX, &number) < 0)
		return manifest_keys_refuse(doc, count, text,
					    "a whole number from 1 to " TEXT(REQUEST_MEMS_MAX));
	if (count)
		want.amount = number;
	return request_add_want(c, &want, &why) < 0 ? json_doc_fail(doc, kind, "%s", why.text) : 0;
}

static int load_mems(const struct json_doc *doc, const struct manifest_key *key,
		     const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX];
	struct errbuf why = { 0 };

	(void)key;
	if (value->kind == JSON_ARRAY) {
		for (const struct json_node *item = json_doc_first(doc, value); item;
		     item = json_doc_next(doc, item))
			if (load_want(doc, item, c) < 0)
				return -1;
		return c->n_wants ? 0 : json_doc_fail(doc, value, "the list is empty");
	}
	if (value->kind == JSON_OBJECT)
		return json_doc_fail(doc, value, "an object (allowed: %s)",
				     REQUEST_MEMS_ALLOWED MEMS_BY_KIND);
	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	/* only --nodeos-mems accepts lists of words */
	if (strpbrk(text, ":,"))
		return manifest_keys_refuse(doc, value, text, REQUEST_MEMS_ALLOWED MEMS_BY_KIND);
	return request_parse_mems(c, text, &why) < 0 ? json_doc_fail(doc, value, "%s", why.text)
						     : 0;
}

static const char *manifest_mems_policy_word(unsigned i)
{
	return i < MEMS_POLICY_COUNT ? mems_policy_name((enum mems_policy)i) : NULL;
}

static int load_mems_policy(const struct json_doc *doc, const struct manifest_key *key,
			    const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	if (i < 0)
		return -1;
	c->mems_policy = (enum mems_policy)i;
	if (i != MEMS_BIND && c->mems_kind == MEMS_UNSET)
		return json_doc_fail(doc, value, "it needs memory nodes: \"mems\" is missing");
	return 0;
}

static const char *manifest_cores_word(unsigned i)
{
	return i + CORES_FAST < CORES_COUNT ? cores_word_name((enum cores_word)(i + CORES_FAST))
					    : NULL;
}

static int load_cores(const struct json_doc *doc, const struct manifest_key *key,
		      const struct json_node *value, struct requested_container *c)
{
	int i;

	if (value->kind == JSON_NUMBER)
		return json_doc_fail(doc, value,
				     "expected one of " CORES_WORDS
				     "; the number of threads is \"cpus\"");
	i = load_word(doc, key, value);
	if (i >= 0)
		c->cores = (enum cores_word)(i + CORES_FAST);
	return i < 0 ? -1 : 0;
}

static const char *partition_word(unsigned i)
{
	return i < PARTITION_COUNT ? partition_name((enum partition)i) : NULL;
}

static int load_partition(const struct json_doc *doc, const struct manifest_key *key,
			  const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	if (i >= 0)
		c->partition = (enum partition)i;
	return i < 0 ? -1 : 0;
}

static const char *manifest_placement_word(unsigned i)
{
	return i + PLACEMENT_PACK < PLACEMENT_COUNT
		       ? placement_word_name((enum placement_word)(i + PLACEMENT_PACK))
		       : NULL;
}

static int load_placement(const struct json_doc *doc, const struct manifest_key *key,
			  const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	if (i >= 0)
		c->placement = (enum placement_word)(i + PLACEMENT_PACK);
	return i < 0 ? -1 : 0;
}

static const struct manifest_key container_keys[] = {
	{
		.name = "cpus",
		.isolator = ISOLATOR_CPUS,
		.load = load_cpus,
		.allowed = "a whole number from 1 to " TEXT(
			REQUEST_CPUS_MAX) "; without \"cpus\", all that are left",
		.says = "Usable hardware threads.",
		.absent = "all that are left",
		.min = 1,
		.max = REQUEST_CPUS_MAX,
		.others = "core thread threads cpu ncpu ncpus num_cpus vcpu vcpus processors "
			  "cpuset ",
	},
	{
		.name = "mems",
		.isolator = ISOLATOR_MEMS,
		.load = load_mems,
		.allowed = REQUEST_MEMS_ALLOWED
		"; or a list with kind and count or size of each, of " REQUEST_WANTS_ALLOWED,
		.says = "Memory nodes: their number, or the memory that they hold together.",
		.wants = true,
		.absent = "default_mems of nodeos.conf",
		.min = 1,
		.max = REQUEST_MEMS_MAX,
		.pattern = PATTERN_SIZE,
		.others =
			"mem memory ram numa numanodes numa_nodes node nodes nodeset memory_nodes "
			"domains ",
	},
	{
		.name = "smt",
		.isolator = ISOLATOR_CPUS,
		.load = load_smt,
		.allowed = "a whole number from 1 to " TEXT(
			REQUEST_SMT_MAX) " threads used of each core, or \"all\"",
		.says = "Threads used of each core; the others stay idle.",
		.absent = "all",
		.min = 1,
		.max = REQUEST_SMT_MAX,
		.word = smt_word,
		.others = "ht hyperthreads hyperthreading threads_per_core threadspercore ",
	},
	{
		.name = "partition",
		.isolator = ISOLATOR_PARTITION,
		.load = load_partition,
		.allowed = "member, root, isolated",
		.says = "The cpuset partition of a step of srun in this container.",
		.absent = "member",
		.word = partition_word,
		.others = "exclusive isolation cpuset_partition ",
	},
	{
		.name = "placement",
		.isolator = ISOLATOR_CPUS,
		.load = load_placement,
		.allowed = PLACEMENT_WORDS,
		.says = "The cores lie in few packages, memory nodes and caches, or evenly over "
			"all of them.",
		.absent = "pack; spread:numa if more memory is requested than one package has",
		.word = manifest_placement_word,
		.others = "distribution distribute scatter compact bind layout ",
	},
	{
		.name = "mems_policy",
		.isolator = ISOLATOR_MEMS,
		.load = load_mems_policy,
		.allowed = MEMS_POLICY_WORDS,
		.says = "How the ranks use the memory nodes.",
		.absent = "bind",
		.word = manifest_mems_policy_word,
		.others = "mempolicy numa_policy interleave membind ",
	},
	{
		.name = "cores",
		.isolator = ISOLATOR_CPUS,
		.load = load_cores,
		.allowed = CORES_WORDS,
		.says = "The kinds of cores, where they differ in speed.",
		.absent = "the fastest kind that suffices, else several",
		.word = manifest_cores_word,
		.others = "core_kind core_type cpukind performance ",
	},
	{ .name = NULL },
};

/* ------------------------------------------------------------------------- scheduler */

/* Return "other" and so on, then "SCHED_OTHER" and so on. */
static const char *manifest_keys_policy_word(unsigned i)
{
	const unsigned n = POLICY_COUNT - POLICY_OTHER;

	if (i < n)
		return policy_name((enum sched_policy)(POLICY_OTHER + i));
	return i < 2 * n ? policy_appc_name((enum sched_policy)(POLICY_OTHER + i - n)) : NULL;
}

static int load_policy(const struct json_doc *doc, const struct manifest_key *key,
		       const struct json_node *value, struct requested_container *c)
{
	const char *text = string(doc, value);

	if (!text)
		return -1;
	c->policy = policy_by_name(text);
	if (c->policy == POLICY_UNSET)
		return manifest_keys_refuse(doc, value, text, key->allowed);
	c->priority = request_default_priority(c->policy);
	return 0;
}

static const char *priority_word(unsigned i)
{
	return i < HPC_PLACEMENTS ? hpc_placement_name(i) : NULL;
}

static int load_priority(const struct json_doc *doc, const struct manifest_key *key,
			 const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];
	unsigned min, max;
	int placement;

	(void)key;
	/* manifest_keys_load() reports the missing policy */
	if (c->policy == POLICY_UNSET)
		return 0;
	policy_priority_range(c->policy, &min, &max);
	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (word_parse_number(text, 0, max, &c->priority) == 0)
		return 0;
	if (c->policy == POLICY_HPC) {
		placement = hpc_placement_by_name(text);
		c->priority = (unsigned)placement;
		return placement >= 0 ? 0 : manifest_keys_refuse(doc, value, text, PRIORITY_HPC);
	}
	return json_doc_fail(doc, value,
			     max ? "%s with policy \"%s\" (allowed: " PRIORITY_REALTIME ")"
				 : "%s: policy \"%s\" has no priorities (allowed: " PRIORITY_NONE
				   ")",
			     word_quote(quoted, text, strlen(text)), policy_name(c->policy));
}

static int load_quantum(const struct json_doc *doc, const struct manifest_key *key,
			const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];

	if (c->policy == POLICY_UNSET)
		return 0;
	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (c->policy != POLICY_HPC)
		return json_doc_fail(doc, value,
				     "%s: policy \"%s\" has no quantum (\"SCHED_HPC\" has)",
				     word_quote(quoted, text, strlen(text)),
				     policy_name(c->policy));
	c->quantum_named = true;
	return load_count(doc, key, value, &c->quantum);
}

/* in the order of loading: a priority and a quantum need the policy */
static const struct manifest_key scheduler_keys[] = {
	{
		.name = "policy",
		.isolator = ISOLATOR_SCHED,
		.load = load_policy,
		.allowed = POLICY_NAMES ", also as \"SCHED_OTHER\" and so on",
		.says = "The scheduling policy of the ranks.",
		.missing = " (allowed: " POLICY_NAMES ")",
		.word = manifest_keys_policy_word,
		.pattern = PATTERN_POLICY,
		.others = "class sched type algorithm ",
	},
	{
		.name = "priority",
		.isolator = ISOLATOR_SCHED,
		.load = load_priority,
		.allowed = "with hpc " PRIORITY_HPC "; with other, batch and idle " PRIORITY_NONE
			   "; with fifo and rr " PRIORITY_REALTIME,
		.says = "The priority, or where threads of hpc start.",
		.absent = "topo with hpc, 1 with fifo and rr, else 0",
		.min = 0,
		.max = 99,
		.word = priority_word,
		.others = "prio rtprio nice placement ",
	},
	{
		.name = "quantum",
		.isolator = ISOLATOR_SCHED,
		.load = load_quantum,
		.allowed = "a whole number of milliseconds from 0 (no limit) to " TEXT(
			HPC_QUANTUM_MAX),
		.says = "The time that a thread of hpc may run while other threads wait for its "
			"CPU.",
		.absent = TEXT(HPC_QUANTUM_DEFAULT),
		.min = 0,
		.max = HPC_QUANTUM_MAX,
		.others = "timeslice time_slice slice interval rr_interval ",
	},
	{ .name = NULL },
};

/* ---------------------------------------------------------------------------- dimmap */

static int load_size(const struct json_doc *doc, const struct manifest_key *key,
		     const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX], quoted[WORD_QUOTE_MAX];

	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (request_parse_bytes(text, &c->dimmap.size) == 0 &&
	    c->dimmap.size >= REQUEST_DIMMAP_MIN && c->dimmap.size <= REQUEST_DIMMAP_MAX)
		return 0;
	return json_doc_fail(doc, value, "%s is not a size of a buffer (allowed: %s)",
			     word_quote(quoted, text, strlen(text)), key->allowed);
}

static int load_source(const struct json_doc *doc, const struct manifest_key *key,
		       const struct json_node *value, struct requested_container *c)
{
	const char *source = string(doc, value);

	if (!source)
		return -1;
	if (!request_is_source(source))
		return manifest_keys_refuse(doc, value, source, key->allowed);
	strcpy(c->dimmap.source, source);
	return 0;
}

static const char *dimmap_policy_word(unsigned i)
{
	return request_dimmap_policies[i];
}

static int load_dimmap_policy(const struct json_doc *doc, const struct manifest_key *key,
			      const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	c->dimmap.policy = (unsigned)(i + 1);
	return i < 0 ? -1 : 0;
}

static int load_fill(const struct json_doc *doc, const struct manifest_key *key,
		     const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX];
	uint64_t fill;

	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (request_parse_bytes(text, &fill) < 0 || !request_is_fill(fill))
		return manifest_keys_refuse(doc, value, text, key->allowed);
	c->dimmap.fill = (unsigned)fill;
	return 0;
}

static const char *access_word(unsigned i)
{
	static const char *const words[] = { "rw", "ro", NULL };

	return words[i];
}

static int load_access(const struct json_doc *doc, const struct manifest_key *key,
		       const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	c->dimmap.read_only = i == 1;
	return i < 0 ? -1 : 0;
}

#define SOURCE_MEANT "the path of a block device or a file on the node"

static const struct manifest_key dimmap_keys[] = {
	{
		.name = "size",
		.isolator = ISOLATOR_DIMMAP,
		.load = load_size,
		.allowed = "1M to 8T, for example 512M, 16G, 16GiB",
		.says = "The size of the buffer.",
		.missing = ": the size of the buffer, for example \"16G\"",
		.min = REQUEST_DIMMAP_MIN,
		.max = REQUEST_DIMMAP_MAX,
		.pattern = PATTERN_SIZE,
		.others = "bytes capacity length buffer buffer_size ",
	},
	{
		.name = "source",
		.isolator = ISOLATOR_DIMMAP,
		.load = load_source,
		.allowed = SOURCE_MEANT ", " REQUEST_SOURCE_ALLOWED,
		.says = "The file or block device behind the buffer.",
		.missing = ": " SOURCE_MEANT,
		.pattern = "^/[!-:<-~]{1,254}$",
		.others = "file path device dev backing ",
	},
	{
		.name = "policy",
		.isolator = ISOLATOR_DIMMAP,
		.load = load_dimmap_policy,
		.allowed = "fifo, dimmap, sieve, s3fifo",
		.says = "The replacement policy: which pages stay in the buffer.",
		.absent = "s3fifo",
		.word = dimmap_policy_word,
		.others = "replacement eviction algorithm ",
	},
	{
		.name = "fill",
		.isolator = ISOLATOR_DIMMAP,
		.load = load_fill,
		.allowed = "a power of two from 4K to 2M",
		.says = "The size of one read from the source.",
		.absent = "4K",
		.min = REQUEST_FILL_MIN,
		.max = REQUEST_FILL_MAX,
		.pattern = PATTERN_SIZE,
		.others = "readahead read_ahead chunk block block_size ",
	},
	{
		.name = "access",
		.isolator = ISOLATOR_DIMMAP,
		.load = load_access,
		.allowed = "rw, ro",
		.says = "Whether ranks may write to the buffer.",
		.absent = "rw",
		.word = access_word,
		.others = "mode readonly read_only ro rw permissions ",
	},
	{ .name = NULL },
};

/* ------------------------------------------------------------------------ contention */

static const char *contention_word(unsigned i)
{
	/* in the order of CONTENTION_NAMES */
	static const enum contention_policy words[] = { CONTENTION_OBSERVE, CONTENTION_DINO,
							CONTENTION_DI, CONTENTION_SPREAD,
							CONTENTION_OFF };

	return i < sizeof(words) / sizeof(words[0]) ? contention_policy_name(words[i]) : NULL;
}

static int load_contention(const struct json_doc *doc, const struct manifest_key *key,
			   const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	if (i < 0)
		return -1;
	c->contention = contention_policy_by_name(key->word((unsigned)i));
	return 0;
}

static const struct manifest_key contention_keys[] = {
	{
		.name = "policy",
		.isolator = ISOLATOR_CONTENTION,
		.load = load_contention,
		.allowed = CONTENTION_NAMES,
		.says = "Whether the use of the last-level caches by the ranks is observed, and "
			"the "
			"policy that places them.",
		.missing = " (allowed: " CONTENTION_NAMES ")",
		.word = contention_word,
		.others = "mode observe type state enabled ",
	},
	{ .name = NULL },
};

/* ---------------------------------------------------------------------- limits and thp */

#define ALLOWED_BYTES "bytes, also as 64M, 16G (powers of 1000), 64Mi, 16Gi (powers of 1024)"

/* Load a quantity of AppC in the row's range. */
static int load_quantity(const struct json_doc *doc, const struct manifest_key *key,
			 const struct json_node *value, uint64_t *out)
{
	char text[WORD_QUOTE_MAX];
	uint64_t quantity;

	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (request_parse_quantity(text, &quantity) < 0 || quantity < (uint64_t)key->min ||
	    quantity > (uint64_t)key->max)
		return manifest_keys_refuse(doc, value, text, key->allowed);
	*out = quantity;
	return 0;
}

static int load_memory_limit(const struct json_doc *doc, const struct manifest_key *key,
			     const struct json_node *value, struct requested_container *c)
{
	return load_quantity(doc, key, value, &c->limits.memory);
}

static int load_memory_request(const struct json_doc *doc, const struct manifest_key *key,
			       const struct json_node *value, struct requested_container *c)
{
	if (load_quantity(doc, key, value, &c->limits.memory_request) < 0)
		return -1;
	/* manifest_keys_load() reports a missing limit */
	if (c->limits.memory && c->limits.memory_request > c->limits.memory)
		return json_doc_fail(doc, value, "the request is above the limit");
	return 0;
}

static int load_bandwidth(const struct json_doc *doc, const struct manifest_key *key,
			  const struct json_node *value, struct requested_container *c)
{
	return load_quantity(doc, key, value, &c->limits.bandwidth);
}

static int load_iops(const struct json_doc *doc, const struct manifest_key *key,
		     const struct json_node *value, struct requested_container *c)
{
	return load_quantity(doc, key, value, &c->limits.iops);
}

/* AppC requires "default": true, which means all block devices. */
static int load_default(const struct json_doc *doc, const struct manifest_key *key,
			const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX];

	(void)c;
	if (value->kind != JSON_BOOL)
		return json_doc_fail(doc, value, "expected true, got %s",
				     json_kind_name(value->kind));
	json_doc_scalar(doc, value, text, sizeof(text));
	return strcmp(text, "true") == 0 ? 0 : manifest_keys_refuse(doc, value, text, key->allowed);
}

static const char *thp_word(unsigned i)
{
	return i + THP_NEVER < THP_COUNT ? thp_word_name((enum thp_word)(i + THP_NEVER)) : NULL;
}

static int load_thp(const struct json_doc *doc, const struct manifest_key *key,
		    const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	if (i >= 0)
		c->limits.thp = (enum thp_word)(i + THP_NEVER);
	return i < 0 ? -1 : 0;
}

static const struct manifest_key memory_keys[] = {
	{
		.name = "limit",
		.isolator = ISOLATOR_LIMITS,
		.load = load_memory_limit,
		.allowed = "from 1 MiB, " ALLOWED_BYTES,
		.says = "The most memory of a step's ranks in the container.",
		.missing = ": the most memory, for example \"16Gi\"",
		.min = REQUEST_MEMORY_MIN,
		.max = REQUEST_BYTES_MAX,
		.pattern = PATTERN_QUANTITY,
		.others = "max maximum size bytes memory memory_max ",
	},
	{
		.name = "request",
		.isolator = ISOLATOR_LIMITS,
		.load = load_memory_request,
		.allowed = "up to the limit, " ALLOWED_BYTES,
		.says = "The memory that AppC would protect; it is not protected.",
		.absent = "none",
		.min = 1,
		.max = REQUEST_BYTES_MAX,
		.pattern = PATTERN_QUANTITY,
		.others = "min minimum low reservation ",
	},
	{ .name = NULL },
};

#define DEFAULT_KEY                                                                   \
	{                                                                             \
		.name = "default", .isolator = ISOLATOR_LIMITS, .load = load_default, \
		.allowed = "true", .says = "The limit holds for each block device.",  \
		.absent = "true", .truth = true, .others = "",                        \
	}

static const struct manifest_key bandwidth_keys[] = {
	DEFAULT_KEY,
	{
		.name = "limit",
		.isolator = ISOLATOR_LIMITS,
		.load = load_bandwidth,
		.allowed = "from 4096, " ALLOWED_BYTES,
		.says = "The limit for reads and for writes, each in bytes a second.",
		.missing = ": the most bytes a second, for example \"100M\"",
		.min = REQUEST_BANDWIDTH_MIN,
		.max = REQUEST_BYTES_MAX,
		.pattern = PATTERN_QUANTITY,
		.others = "max maximum rate bandwidth bps ",
	},
	{ .name = NULL },
};

static const struct manifest_key iops_keys[] = {
	DEFAULT_KEY,
	{
		.name = "limit",
		.isolator = ISOLATOR_LIMITS,
		.load = load_iops,
		.allowed = "a whole number from 1 to 4294967295, also as 2K",
		.says = "The limit for reads and for writes, each in operations a second.",
		.missing = ": the most operations a second, for example 1000",
		.min = 1,
		.max = REQUEST_IOPS_MAX,
		.pattern = PATTERN_QUANTITY,
		.others = "max maximum rate iops ",
	},
	{ .name = NULL },
};

static const struct manifest_key thp_keys[] = {
	{
		.name = "policy",
		.isolator = ISOLATOR_THP,
		.load = load_thp,
		.allowed = THP_WORDS,
		.says = "Whether ranks may get transparent huge pages.",
		.missing = " (allowed: " THP_WORDS ")",
		.word = thp_word,
		.others = "mode enabled state type ",
	},
	{ .name = NULL },
};

/* ------------------------------------------------------------------------------- lwk */

static int load_lwk_memory(const struct json_doc *doc, const struct manifest_key *key,
			   const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX];

	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (strcmp(text, REQUEST_LWK_SHARE_WORD) == 0) {
		c->lwk.memory = REQUEST_LWK_SHARE;
		return 0;
	}
	if (request_parse_bytes(text, &c->lwk.memory) < 0 || c->lwk.memory < REQUEST_LWK_MIN ||
	    c->lwk.memory > REQUEST_LWK_MAX || c->lwk.memory % REQUEST_LWK_UNIT)
		return manifest_keys_refuse(doc, value, text, key->allowed);
	return 0;
}

static const char *lwk_memory_word(unsigned i)
{
	return i == 0 ? REQUEST_LWK_SHARE_WORD : NULL;
}

static const char *lwk_page_word(unsigned i)
{
	return i + 1 < LWK_PAGE_COUNT ? lwk_page_name((enum lwk_page)(i + 1)) : NULL;
}

static int load_lwk_page(const struct json_doc *doc, const struct manifest_key *key,
			 const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	if (i < 0)
		return -1;
	c->lwk.page = (enum lwk_page)(i + 1);
	/* manifest_keys_load() reports a missing memory */
	if (c->lwk.memory > REQUEST_LWK_SHARE && c->lwk.page == LWK_PAGE_1G &&
	    c->lwk.memory % (UINT64_C(1) << 30))
		return json_doc_fail(doc, value, "the memory is not a multiple of 1G");
	return 0;
}

static const char *lwk_loose_word(unsigned i)
{
	return i == 0 ? "no" : i == 1 ? "yes" : NULL;
}

static int load_lwk_loose(const struct json_doc *doc, const struct manifest_key *key,
			  const struct json_node *value, struct requested_container *c)
{
	int i = load_word(doc, key, value);

	c->lwk.loose = i == 1;
	return i < 0 ? -1 : 0;
}

static const struct manifest_key lwk_keys[] = {
	{
		.name = "memory",
		.isolator = ISOLATOR_LWK,
		.load = load_lwk_memory,
		.allowed = REQUEST_LWK_ALLOWED,
		.says = "The private memory of each rank, in huge pages.",
		.missing = ": the memory of each rank, for example \"4G\"",
		.min = REQUEST_LWK_MIN,
		.max = REQUEST_LWK_MAX,
		.word = lwk_memory_word,
		.pattern = PATTERN_SIZE,
		.others = "size bytes extent mem ",
	},
	{
		.name = "page",
		.isolator = ISOLATOR_LWK,
		.load = load_lwk_page,
		.allowed = "2M, 1G",
		.says = "The size of the huge pages.",
		.absent = "1G where the memory is a multiple of it and the node has them",
		.word = lwk_page_word,
		.others = "pages page_size pagesize hugepage ",
	},
	{
		.name = "loose",
		.isolator = ISOLATOR_LWK,
		.load = load_lwk_loose,
		.allowed = "no, yes",
		.says = "Whether programs that a rank executes run outside of a machine.",
		.absent = "no",
		.word = lwk_loose_word,
		.others = "strict escape ",
	},
	{ .name = NULL },
};

/* ---------------------------------------------------------------------- RANK_NUMBERS */

static int load_rank_number(const struct json_doc *doc, const struct manifest_key *key,
			    const struct json_node *value, struct requested_container *c)
{
	char text[WORD_QUOTE_MAX];
	struct rank_value *out = c->number;

	while (rank_numbers[out - c->number].isolator != key->isolator)
		out++;
	if (scalar(doc, value, text, sizeof(text)) < 0)
		return -1;
	if (request_field_signed(&out->value, text, text + strlen(text), (int)key->min,
				 (int)key->max) < 0)
		return manifest_keys_refuse(doc, value, text, key->allowed);
	out->set = true;
	return 0;
}

/*
 * A key named "" is the only key of its isolator: the isolator's value is that of the key, not an
 * object.
 */
#define NUMBER_KEYS(id, field, isolator_, member, min_, max_, says_, others_) \
	static const struct manifest_key field##_keys[] = {                   \
		{                                                             \
			.name = "",                                           \
			.isolator = ISOLATOR_##id,                            \
			.load = load_rank_number,                             \
			.allowed = TEXT(min_) " to " TEXT(max_),              \
			.missing = "",                                        \
			.min = min_,                                          \
			.max = max_,                                          \
			.others = "",                                         \
		},                                                            \
		{ .name = NULL },                                             \
	};
RANK_NUMBERS(NUMBER_KEYS)

/* ------------------------------------------------------------------------- isolators */

#define NUMBER_ISOLATOR(id, field, name, member, min, max, says, others) \
	{ name, says, field##_keys, others },

const struct manifest_isolator manifest_isolators[] = {
	{ "container", "How much of a node the container gets.", container_keys,
	  "containers compute_container cgroup cgroups resources limits " },
	{ "scheduler", "The scheduling policy of the container's ranks.", scheduler_keys,
	  "sched scheduling " },
	{ "dimmap", "A buffer for a file or device larger than memory.", dimmap_keys,
	  "dimmapfs di-mmap mmap buffer " },
	{ "contention", "Whether the ranks' use of the last-level caches is observed.",
	  contention_keys, "cache caches llc clavis interference contend " },
	{ "resource/memory", "The most memory of the container.", memory_keys,
	  "memory_limit memlimit memory-limit " },
	{ "resource/block-bandwidth", "The most bytes a second of each block device.",
	  bandwidth_keys, "block-bandwidth io_bandwidth disk_bandwidth " },
	{ "resource/block-iops", "The most operations a second of each block device.", iops_keys,
	  "block-iops iops io io.max " },
	{ "thp", "Transparent huge pages of the ranks.", thp_keys,
	  "hugepages huge_pages transparent_hugepage transparent_hugepages " },
	{ "lwk", "Each rank runs in a machine of its own, without a kernel.", lwk_keys,
	  "nodeos-lwk lightweight_kernel kitten vm machine kvm " },
	RANK_NUMBERS(NUMBER_ISOLATOR){ NULL, NULL, NULL, NULL },
};

const struct manifest_isolator *manifest_isolator_find(const char *name)
{
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		if (strcmp(i->name, name) == 0)
			return i;
	return NULL;
}

const char *manifest_bare_name(const char *name)
{
	return strncmp(name, "argo/", 5) == 0 && !strchr(name + 5, '/') ? name + 5 : name;
}

int manifest_check_object(const struct json_doc *doc, const struct json_node *value)
{
	if (value->kind == JSON_OBJECT)
		return 0;
	return json_doc_fail(doc, value, "expected an object, got %s", json_kind_name(value->kind));
}

/* Return whether WORD, in any letter case, is one of LIST, which has a blank after each word. */
static bool is_listed(const char *word, const char *list)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, " ") + 1)
		if (len && strcspn(list, " ") == len && strncasecmp(word, list, len) == 0)
			return true;
	return false;
}

static const struct manifest_key *find_key(const struct manifest_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

/* Return the key that has WORD among its OTHERS, or NULL. */
static const struct manifest_key *find_other(const struct manifest_key *keys, const char *word)
{
	for (; keys->name; keys++)
		if (is_listed(word, keys->others))
			return keys;
	return NULL;
}

const struct manifest_isolator *manifest_isolator_other(const char *word)
{
	for (const struct manifest_isolator *i = manifest_isolators; i->name; i++)
		if (is_listed(word, i->others))
			return i;
	return NULL;
}

const char *manifest_key_meant(const char *word, const struct manifest_isolator **isolator)
{
	const struct manifest_key *key = NULL;

	for (*isolator = manifest_isolators; (*isolator)->name; ++*isolator)
		if (*word && find_key((*isolator)->keys, word))
			return word;
	for (*isolator = manifest_isolators; (*isolator)->name; ++*isolator) {
		key = find_other((*isolator)->keys, word);
		if (key)
			return key->name;
	}
	return NULL;
}

/* Report a key that ISOLATOR does not have; other isolators may have a key of that name. */
static int manifest_keys_unknown_key(const struct json_doc *doc, const struct json_node *node,
				     const struct manifest_isolator *isolator)
{
	const char *bare = manifest_bare_name(node->key), *names[KEYS_MAX] = { NULL };
	const struct manifest_key *other = find_other(isolator->keys, node->key);
	const struct manifest_isolator *meant = manifest_isolator_other(bare);
	char quoted[WORD_QUOTE_MAX], list[128];
	const char *near;

	word_quote(quoted, node->key, strlen(node->key));
	if (manifest_isolator_find(bare) || request_ignored_index(bare) >= 0)
		return json_doc_fail_key(doc, node,
					 "%s is a separate isolator: write it beside \"%s\"",
					 quoted, isolator->name);
	for (unsigned i = 0; i < KEYS_MAX - 1 && isolator->keys[i].name; i++)
		names[i] = isolator->keys[i].name;
	word_list(list, sizeof(list), names);
	near = other ? other->name : word_near(node->key, names);
	if (near)
		return json_doc_fail_key(doc, node,
					 "unknown key %s, did you mean \"%s\"? (allowed: %s)",
					 quoted, near, list);
	if (meant)
		return json_doc_fail_key(doc, node,
					 "unknown key %s, did you mean the isolator \"%s\", beside "
					 "\"%s\"? (allowed: %s)",
					 quoted, meant->name, isolator->name, list);
	return json_doc_fail_key(doc, node, "unknown key %s (allowed: %s)", quoted, list);
}

int manifest_keys_load(const struct json_doc *doc, const struct json_node *value,
		       const struct manifest_isolator *isolator, struct requested_container *c)
{
	if (!*isolator->keys->name)
		return isolator->keys->load(doc, isolator->keys, value, c);
	if (manifest_check_object(doc, value) < 0)
		return -1;
	for (const struct json_node *m = json_doc_first(doc, value); m; m = json_doc_next(doc, m))
		if (!find_key(isolator->keys, m->key))
			return manifest_keys_unknown_key(doc, m, isolator);
	for (const struct manifest_key *k = isolator->keys; k->name; k++) {
		const struct json_node *m = json_scan_member(&doc->tree, value, k->name);

		if (m && k->load(doc, k, m, c) < 0)
			return -1;
	}
	for (const struct manifest_key *k = isolator->keys; k->name; k++)
		if (!k->absent && !json_scan_member(&doc->tree, value, k->name))
			return json_doc_fail(doc, value, "\"%s\" is missing%s", k->name,
					     k->missing);
	return 0;
}
