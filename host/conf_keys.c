/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The keys of nodeos.conf: a row for each, with the type that parses and prints its value. */
#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "host/conf.h"
#include "host/conf_allow.h"
#include "host/conf_contention.h"
#include "manifest/request.h"

static void *field(const struct conf_key *key, struct conf *c)
{
	return (char *)c + key->at;
}

static const void *conf_keys_value_of(const struct conf_key *key, const struct conf *c)
{
	return (const char *)c + key->at;
}

/* Type: a bool by the row's two words, the first for false. */
static int parse_flag(const struct conf_key *key, struct conf *c, const char *value)
{
	bool second = strcmp(value, key->words[1]) == 0;

	if (!second && strcmp(value, key->words[0]) != 0)
		return -1;
	*(bool *)field(key, c) = second;
	return 0;
}

static void print_flag(const struct conf_key *key, FILE *f, const struct conf *c)
{
	fputs(key->words[*(const bool *)conf_keys_value_of(key, c)], f);
}

static const char *const yes_words[] = { "no", "yes", NULL };
static const char *const when_words[] = { "contended", "always", NULL };
static const char *const pages_words[] = { "auto", "always", "never", NULL };
static const char *const steps_words[] = { "containers", "all", NULL };
static const char *const lwk_words[] = { "auto", "yes", "no", NULL };
static const char *const fallback_words[] = { "no", "native", NULL };
static const char *const count_words[] = { "all", "user", NULL };

/* Type: an enum whose constants are the indices of the row's words. */
static int conf_keys_parse_word(const struct conf_key *key, struct conf *c, const char *value)
{
	for (unsigned i = 0; key->words[i]; i++)
		if (strcmp(value, key->words[i]) == 0) {
			*(unsigned *)field(key, c) = i;
			return 0;
		}
	return -1;
}

static void conf_keys_print_word(const struct conf_key *key, FILE *f, const struct conf *c)
{
	fputs(key->words[*(const unsigned *)conf_keys_value_of(key, c)], f);
}

/* Type: a word of contention_name.h. */
static int conf_keys_parse_contention(const struct conf_key *key, struct conf *c, const char *value)
{
	enum contention_policy p = contention_policy_by_name(value);

	if (p == CONTENTION_UNSET)
		return -1;
	*(unsigned *)field(key, c) = p;
	return 0;
}

static void conf_keys_print_contention(const struct conf_key *key, FILE *f, const struct conf *c)
{
	fputs(contention_policy_name(*(const unsigned *)conf_keys_value_of(key, c)), f);
}

/* Type: a number from the row's MIN to its MAX. */
static int parse_count(const struct conf_key *key, struct conf *c, const char *value)
{
	return word_parse_number(value, key->min, key->max, field(key, c));
}

static void print_count(const struct conf_key *key, FILE *f, const struct conf *c)
{
	fprintf(f, "%u", *(const unsigned *)conf_keys_value_of(key, c));
}

/* Type: a list of words of the row's table, as bits: at least one word, and no word twice. */
static int parse_bits(const struct conf_key *key, struct conf *c, const char *value)
{
	uint32_t bits = 0;

	for (;;) {
		char word[16];
		size_t len = strcspn(value, ", \t");
		int bit;

		if (len >= sizeof(word))
			return -1;
		memcpy(word, value, len);
		word[len] = '\0';
		bit = key->set->by_name(word);
		if (bit < key->set->first || bits >> bit & 1)
			return -1;
		bits |= UINT32_C(1) << bit;
		value += len;
		value += strspn(value, " \t");
		if (*value == '\0')
			break;
		if (*value++ != ',')
			return -1;
		value += strspn(value, " \t");
	}
	if ((bits & key->min) != key->min)
		return -1;
	*(uint32_t *)field(key, c) = bits;
	return 0;
}

static void print_bits(const struct conf_key *key, FILE *f, const struct conf *c)
{
	uint32_t bits = *(const uint32_t *)conf_keys_value_of(key, c);
	const char *before = "";

	for (int i = key->set->first; i < key->set->end; i++)
		if (bits >> i & 1) {
			fprintf(f, "%s%s", before, key->set->name(i));
			before = ", ";
		}
}

static int policy_place(const char *word)
{
	return (int)policy_by_name(word);
}

static const char *policy_at(int i)
{
	return policy_name((enum sched_policy)i);
}

static const char *partition_at(int i)
{
	return partition_name((enum partition)i);
}

static const char *const quiet_words[] = { "irqs", "kthreads", "memory", "idle", NULL };

static int quiet_place(const char *word)
{
	for (int i = 0; i < QUIET_COUNT; i++)
		if (strcmp(word, quiet_words[i]) == 0)
			return i;
	return -1;
}

static const char *quiet_at(int i)
{
	return quiet_words[i];
}

/* Type: a list of enum quiet, or "none". */
static int parse_quiet(const struct conf_key *key, struct conf *c, const char *value)
{
	c->partition_quiet = 0;
	return strcmp(value, "none") == 0 ? 0 : parse_bits(key, c, value);
}

static void print_quiet(const struct conf_key *key, FILE *f, const struct conf *c)
{
	if (c->partition_quiet)
		print_bits(key, f, c);
	else
		fputs("none", f);
}

static const struct conf_set quiets = { QUIET_IRQS, QUIET_COUNT, quiet_place, quiet_at };
static const struct conf_set policies = { POLICY_OTHER, POLICY_COUNT, policy_place, policy_at };
static const struct conf_set partitions = { PARTITION_MEMBER, PARTITION_COUNT, partition_by_name,
					    partition_at };

/* Type: a policy up to policy MAX, or "none" if the row allows it (MIN 0). */
static int parse_policy(const struct conf_key *key, struct conf *c, const char *value)
{
	unsigned p = policy_by_name(value);

	if (p == POLICY_UNSET && (key->min > 0 || strcmp(value, "none") != 0))
		return -1;
	if (p > key->max)
		return -1;
	*(unsigned *)field(key, c) = p;
	return 0;
}

static void conf_keys_print_policy(const struct conf_key *key, FILE *f, const struct conf *c)
{
	unsigned p = *(const unsigned *)conf_keys_value_of(key, c);

	fputs(p == POLICY_UNSET ? "none" : policy_name(p), f);
}

/* Type: a policy up to policy rr, "none", or "partition", which is policy other in a partition. */
static int parse_fallback(const struct conf_key *key, struct conf *c, const char *value)
{
	const struct conf_key plain = { .at = key->at, .max = POLICY_RR };
	bool partition = strcmp(value, "partition") == 0;

	if (parse_policy(&plain, c, partition ? policy_name(POLICY_OTHER) : value) < 0)
		return -1;
	c->hpc_partition = partition;
	return 0;
}

static void print_fallback(const struct conf_key *key, FILE *f, const struct conf *c)
{
	if (c->hpc_partition)
		fputs("partition", f);
	else
		conf_keys_print_policy(key, f, c);
}

/* Type: a list of texts that IS_WORD of the row accepts, in MAX bytes, or "none". */
static int parse_texts(const struct conf_key *key, struct conf *c, const char *value)
{
	char *out = field(key, c);

	out[0] = '\0';
	if (strcmp(value, "none") == 0)
		return 0;
	return conf_texts_parse(out, key->max, value, key->is_word);
}

static void conf_keys_print_text(const struct conf_key *key, FILE *f, const struct conf *c)
{
	const char *text = conf_keys_value_of(key, c);

	fputs(*text ? text : "none", f);
}

/* Type: one text that IS_WORD of the row accepts, in MAX bytes; if MIN is 0, "none" means "". */
static int parse_text(const struct conf_key *key, struct conf *c, const char *value)
{
	char *out = field(key, c);
	size_t len = strlen(value);

	memset(out, 0, key->max);
	if (key->min == 0 && strcmp(value, "none") == 0)
		return 0;
	if (len >= key->max || !key->is_word(value, len))
		return -1;
	memcpy(out, value, len);
	return 0;
}

static int parse_allow(const struct conf_key *key, struct conf *c, const char *value)
{
	return conf_allow_parse(field(key, c), value);
}

static void print_allow(const struct conf_key *key, FILE *f, const struct conf *c)
{
	conf_allow_print(f, conf_keys_value_of(key, c));
}

static const char *const mems_words[] = { [MEMS_ALL] = "all", [MEMS_LOCAL] = "local", NULL };
static const char *const unmanaged_words[] = {
	[UNMANAGED_FREE_BLOCKS] = "free-blocks", [UNMANAGED_ALL] = "all", NULL
};
_Static_assert(sizeof(enum mems_default) == sizeof(unsigned) &&
		       sizeof(enum unmanaged_mems) == sizeof(unsigned) &&
		       sizeof(enum sched_policy) == sizeof(unsigned),
	       "parse_word and parse_policy write an unsigned");

const char conf_service_allowed[] =
	"none, N/node, N/socket, N/numa or N/l3 cores, or a list of CPUs, such as 0,32";
const char conf_service_mems_allowed[] =
	"all, homes (the rests of nodes divided by fgmn=), or a list of memory nodes, such as 0-1";

/* Parse a number of cores for each unit (service_unit()), such as "2/node". */
static int parse_counted(struct service_ask *out, const char *value)
{
	const char *slash = strchr(value, '/');
	char count[8];
	unsigned n;

	if (!slash || (size_t)(slash - value) >= sizeof(count))
		return -1;
	memcpy(count, value, (size_t)(slash - value));
	count[slash - value] = '\0';
	if (word_parse_number(count, 1, IDSET_MAX, &n) < 0)
		return -1;
	for (unsigned i = 0; i < SERVICE_KINDS; i++) {
		if (!service_unit(i) || strcmp(slash + 1, service_unit(i)) != 0)
			continue;
		out->kind = i;
		out->cores = n;
		return 0;
	}
	return -1;
}

int conf_parse_service(struct service_ask *out, const char *value)
{
	struct errbuf ignored;

	if (strcmp(value, "none") == 0) {
		out->kind = SERVICE_NONE;
		return 0;
	}
	if (strchr(value, '/'))
		return parse_counted(out, value);
	if (idset_parse(&out->cpus, value, &ignored) < 0 || idset_empty(&out->cpus))
		return -1;
	out->kind = SERVICE_CPUS;
	return 0;
}

int conf_parse_service_mems(struct service_ask *out, const char *value)
{
	struct errbuf ignored;

	out->own_mems = strcmp(value, "all") != 0;
	out->homes = strcmp(value, "homes") == 0;
	if (!out->own_mems || out->homes)
		return 0;
	return idset_parse(&out->mems, value, &ignored) < 0 || idset_empty(&out->mems) ? -1 : 0;
}

static int parse_serviceos(const struct conf_key *key, struct conf *c, const char *value)
{
	(void)key;
	return conf_parse_service(&c->service, value);
}

static int parse_serviceos_mems(const struct conf_key *key, struct conf *c, const char *value)
{
	(void)key;
	return conf_parse_service_mems(&c->service, value);
}

static void conf_keys_print_set(FILE *f, const struct idset *s)
{
	char list[IDSET_LIST_MAX];

	if (idset_format(s, list, sizeof(list)) >= 0)
		fputs(list, f);
}

static void print_serviceos(const struct conf_key *key, FILE *f, const struct conf *c)
{
	(void)key;
	if (c->service.kind == SERVICE_NONE)
		fputs("none", f);
	else if (c->service.kind == SERVICE_CPUS)
		conf_keys_print_set(f, &c->service.cpus);
	else
		fprintf(f, "%u/%s", c->service.cores, service_unit(c->service.kind));
}

static void print_serviceos_mems(const struct conf_key *key, FILE *f, const struct conf *c)
{
	(void)key;
	if (c->service.homes)
		fputs("homes", f);
	else if (c->service.own_mems)
		conf_keys_print_set(f, &c->service.mems);
	else
		fputs("all", f);
}

/*
 * Return whether WORD is the full name of a unit with its own processes. WORD becomes part of a
 * path.
 */
static bool is_unit_name(const char *word, size_t len)
{
	static const char *const type[] = { ".service", ".scope", ".socket", ".mount", ".swap" };

	/*
	 * a template ("a@.service") has no processes; units below user.slice are refused, since
	 * logins choose their names
	 */
	if (len == 0 || word[0] == '.' || word[0] == '@' || memmem(word, len, "@.", 2) ||
	    strncmp(word, "user@", 5) == 0 || strncmp(word, "session-", 8) == 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!(word[i] >= 'a' && word[i] <= 'z') && !(word[i] >= 'A' && word[i] <= 'Z') &&
		    !(word[i] >= '0' && word[i] <= '9') && !strchr(":-_.\\@", word[i]))
			return false;
	for (size_t i = 0; i < sizeof(type) / sizeof(type[0]); i++)
		if (len > strlen(type[i]) &&
		    memcmp(word + len - strlen(type[i]), type[i], strlen(type[i])) == 0)
			return true;
	return false;
}

/* Type: the largest size of something that a user requests; 0 for "none". */
static int parse_largest(const struct conf_key *key, struct conf *c, const char *value)
{
	uint64_t *most = field(key, c);

	*most = 0;
	if (strcmp(value, "none") == 0)
		return 0;
	return request_parse_bytes(value, most) < 0 || *most < REQUEST_DIMMAP_MIN ||
			       *most > REQUEST_DIMMAP_MAX
		       ? -1
		       : 0;
}

static void print_largest(const struct conf_key *key, FILE *f, const struct conf *c)
{
	uint64_t most = *(const uint64_t *)conf_keys_value_of(key, c);

	if (most)
		fprintf(f, "%" PRIu64, most);
	else
		fputs("none", f);
}

/*
 * Return whether TEXT is a path or a pattern in a directory below /dev where only root creates
 * names. The directory part may not be a pattern: it could match a directory where every user can
 * create names.
 */
static bool is_device_glob(const char *text, size_t len)
{
	char word[CONF_LINE_MAX];

	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	/* an open bracket without a closing one matches only itself */
	if (strchr(word, '[') && !strchr(strchr(word, '[') + 1, ']'))
		return false;
	return strncmp(word, "/dev/", 5) == 0 && request_is_source(word) &&
	       strncmp(word, "/dev/shm/", 9) != 0 && strncmp(word, "/dev/mqueue/", 12) != 0 &&
	       strcspn(word, "*?[") >= (size_t)(strrchr(word, '/') - word);
}

#define FLAG(f, list) \
	.at = offsetof(struct conf, f), .words = list, .parse = parse_flag, .print = print_flag
#define YES_NO(f) FLAG(f, yes_words)
#define WORD(f, list)                                                                 \
	.at = offsetof(struct conf, f), .words = list, .parse = conf_keys_parse_word, \
	.print = conf_keys_print_word
#define COUNT(f, from, to)                                                            \
	.at = offsetof(struct conf, f), .min = from, .max = to, .parse = parse_count, \
	.print = print_count
#define BITS(f, table, needed)                                                               \
	.at = offsetof(struct conf, f), .set = &(table), .min = needed, .parse = parse_bits, \
	.print = print_bits
#define POLICY(f, from, to)                                                            \
	.at = offsetof(struct conf, f), .min = from, .max = to, .parse = parse_policy, \
	.print = conf_keys_print_policy
#define CONTENTION_POLICY(f)                                                 \
	.at = offsetof(struct conf, f), .parse = conf_keys_parse_contention, \
	.print = conf_keys_print_contention
#define TEXTS(f, allows)                                                                         \
	.at = offsetof(struct conf, f), .max = sizeof(((struct conf *)0)->f), .is_word = allows, \
	.parse = parse_texts, .print = conf_keys_print_text
#define TEXT(f, allows, is_needed)                                                              \
	.at = offsetof(struct conf, f), .max = sizeof(((struct conf *)0)->f), .min = is_needed, \
	.is_word = allows, .parse = parse_text, .print = conf_keys_print_text
#define OWN(f, parses, prints) .at = offsetof(struct conf, f), .parse = parses, .print = prints

#define CONF_DIR_ALLOWED                                                                          \
	"none, or an absolute path without blanks, \".\" and \"..\", up to 127 bytes, not below " \
	"/tmp and similar directories"

/* Name, allowed values, default, one line for the administrator, and the type with its field. */
static const struct conf_key row[] = {
	{ "allow_policies", "a list of other, batch, idle, fifo, rr, hpc",
	  "other, batch, idle, hpc", "scheduling policies that jobs may request",
	  BITS(allow_policies, policies, 0) },
	{ "default_policy", "one of allow_policies", "other",
	  "policy of a container that requests none",
	  POLICY(default_policy, POLICY_OTHER, POLICY_HPC) },
	{ "hpc_fallback", "none, partition, other, batch, idle, fifo, rr", "partition",
	  "what hpc containers get if the kernel has no SCHED_HPC: a root partition, or a policy; "
	  "fifo and rr have their lowest priority",
	  OWN(hpc_fallback, parse_fallback, print_fallback) },
	{ "max_rt_priority", "1 to 99", "50", "highest priority of fifo and rr",
	  COUNT(max_rt_priority, 1, 99) },
	{ "allow_partitions", "a list of member, root, isolated, with member", "member",
	  "cpuset partitions that containers may be; not with OverSubscribe, gang scheduling or "
	  "suspension",
	  BITS(allow_partitions, partitions, 1u << PARTITION_MEMBER) },
	{ "default_mems", "all, local", "all",
	  "memory nodes of a container that requests none: all, or those local to its cores",
	  WORD(default_mems, mems_words) },
	{ "unmanaged_mems", "free-blocks, all", "free-blocks",
	  "memory nodes of steps without containers if the kernel has divided them (fgmn=)",
	  WORD(unmanaged_mems, unmanaged_words) },
	{ "blocks_by_memory", "yes, no", "yes",
	  "do containers get memory blocks (fgmn=) only up to the memory that Slurm gives their "
	  "job?",
	  YES_NO(blocks_by_memory) },
	{ "resize_mems", "no, yes", "no",
	  "may users change the memory nodes of live containers? A user with a FUSE server "
	  "can then hang the host",
	  YES_NO(resize_mems) },
	{ "strict", "yes, no", "yes",
	  "does an isolator that cannot be enforced on a node fail the step?", YES_NO(strict) },
	{ "kill_on_bad_exit", "yes, no", "no",
	  "does a rank's exit code other than 0 end the other ranks of a step in containers, as "
	  "srun -K does?",
	  YES_NO(kill_on_bad_exit) },
	{ "max_containers", "1 to 64", "64", "greatest number of containers of one job on a node",
	  COUNT(max_containers, 1, REQUEST_CONTAINERS_MAX) },
	{ "helper_timeout", "1 to 60", "10", "seconds that planning may take on a node",
	  COUNT(helper_timeout, 1, 60) },
	{ "state_dir", "an absolute path without blanks, \".\" and \"..\", up to 127 bytes",
	  "/run/nodeos", "directory of the ledger; it must not outlive a boot",
	  TEXT(state_dir, conf_path_is_safe, 1) },
	{ "serviceos", conf_service_allowed, "none",
	  "cores reserved for the node's system; nodeosctl provision applies this",
	  OWN(service, parse_serviceos, print_serviceos) },
	{ "serviceos_mems", conf_service_mems_allowed, "all",
	  "memory nodes of the system: all, shared with containers, or nodes that no container "
	  "gets",
	  OWN(service, parse_serviceos_mems, print_serviceos_mems) },
	{ "serviceos_except", "none, or a list of full names of units, such as lustre.service",
	  "none", "systemd units that may use all CPUs; slurmd and its jobs always may",
	  TEXTS(service_except, is_unit_name) },
	{ "dimmap_devices",
	  "none, or a list of block devices below /dev, such as /dev/nvme1n1p1, with *, ? and [] "
	  "after the last /",
	  "none",
	  "devices for buffers of dimmapfs: every user that can submit jobs can read "
	  "and write them",
	  TEXTS(dimmap_devices, is_device_glob) },
	{ "dimmap_files", "yes, no", "no",
	  "may buffers of dimmapfs use files that their user can open?", YES_NO(dimmap_files) },
	{ "dimmap_max", "none, or a size from 1M to 8T, such as 16G", "none",
	  "largest buffer of dimmapfs; its job's memory is a limit as well, with "
	  "ConstrainRAMSpace",
	  OWN(dimmap_max, parse_largest, print_largest) },
	{ "debug", "no, yes", "no", "do the plugin and its programs log the phases of their work?",
	  YES_NO(debug) },
	{ "contention", "off, observe, dino, di, spread", "off",
	  "default of containers: are misses in the last-level caches observed, and which policy "
	  "places the ranks?",
	  CONTENTION_POLICY(contention.policy) },
	{ "contention_steps", "containers, all", "containers",
	  "which steps contention applies to: those with containers, or all",
	  FLAG(contention.all_steps, steps_words) },
	{ "contention_source", "auto, perf, none, or replay:FILE", "auto",
	  "source of the counts of ranks' instructions and misses",
	  TEXT(contention.source, conf_contention_is_source, 1) },
	{ "contention_events", "none, or a row of nodeos-events(5), with \";\" between its clauses",
	  "none", "the events of this processor, in place of the installed tables",
	  TEXT(contention.events, conf_contention_is_events, 0) },
	{ "contention_count", "all, user", "all",
	  "which instructions and misses count: all, or only those of user code",
	  FLAG(contention.user_only, count_words) },
	{ "contention_interval", "1 to 60", "1", "seconds between two samples of a rank",
	  COUNT(contention.interval, 1, 60) },
	{ "contention_interval_quiet", "1 to 3600", "30",
	  "seconds between two samples of a rank on a quiet CPU (nohz_full, hpc, isolated)",
	  COUNT(contention.interval_quiet, 1, 3600) },
	{ "contention_turtle", "0 to 100000", "30",
	  "a rank with at most this number of misses in 10,000 instructions is a turtle",
	  COUNT(contention.turtle, 0, 100000) },
	{ "contention_devil", "1 to 100000", "45",
	  "a rank with more misses than this in 10,000 instructions is a devil",
	  COUNT(contention.devil, 1, 100000) },
	{ "contention_delta", "0 to 100000", "10",
	  "number of misses in 10,000 instructions by which a rank's mean must differ for a new "
	  "class",
	  COUNT(contention.delta, 0, 100000) },
	{ "contention_window", "1 to 32", "10",
	  "number of samples from which a rank's class is calculated",
	  COUNT(contention.window, 1, 32) },
	{ "contention_majority", "1 to 32", "5",
	  "number of these samples that must be in another class for a new class",
	  COUNT(contention.majority, 1, 32) },
	{ "contention_when", "contended, always", "contended",
	  "when ranks are placed: in caches with contention, or always",
	  WORD(contention.when, when_words) },
	{ "contention_busy", "1 to 100", "50",
	  "a cache has contention above this percentage of its peak of misses in a second",
	  COUNT(contention.busy, 1, 100) },
	{ "contention_min_move", "1 to 3600", "10",
	  "least number of seconds between two moves of a rank",
	  COUNT(contention.min_move, 1, 3600) },
	{ "contention_pages", "auto, always, never", "auto",
	  "do pages follow ranks that move? auto: not while another job has quiet CPUs, which "
	  "this would disturb",
	  WORD(contention.pages, pages_words) },
	{ "contention_page_rate", "1 to 65536", "256",
	  "greatest number of MiB of pages moved in a second",
	  COUNT(contention.page_rate, 1, 65536) },
	{ "contention_pages_around", "0 to 1048576", "0",
	  "number of pages around a sampled miss that follow their rank; 0, or without samples: "
	  "all pages of the rank",
	  COUNT(contention.pages_around, 0, 1048576) },
	{ "contention_metrics_dir", CONF_DIR_ALLOWED, "none",
	  "directory of metrics for node_exporter's textfile collector",
	  TEXT(contention.metrics_dir, conf_contention_is_dir, 0) },
	{ "contention_report_dir", CONF_DIR_ALLOWED, "none",
	  "shared directory of the reports that nodeosctl contention collect merges",
	  TEXT(contention.report_dir, conf_contention_is_dir, 0) },
	{ "contention_report_user", "none (root), or a user's name or number", "none",
	  "user that writes these reports, because shared file systems refuse root",
	  TEXT(contention.report_user, conf_allow_is_user, 0) },
	{ "contention_report_interval", "10 to 3600", "60",
	  "seconds between two reports of a running job",
	  COUNT(contention.report_interval, 10, 3600) },
	{ "contention_record", "no, yes", "no",
	  "does nodeosctl contention collect write comments of jobs that have none?",
	  YES_NO(contention.record) },
	{ "contention_node_extra", "no, yes", "no",
	  "does nodeosctl contention collect write Extra of nodes, for --extra?",
	  YES_NO(contention.node_extra) },
	{ "vnode", "no, yes", "no", "may vnodes (vnode.d) run on this host?", YES_NO(vnode) },
	{ "lwk", "auto, yes, no", "auto",
	  "may ranks run in machines (nodeos-lwk)? auto: if their user may open /dev/kvm",
	  WORD(lwk, lwk_words) },
	{ "lwk_max", "none, or a size from 1M to 8T, such as 16G", "none",
	  "largest memory of a rank's machine; the job's memory is a limit as well",
	  OWN(lwk_max, parse_largest, print_largest) },
	{ "lwk_fallback", "no, native", "no",
	  "do ranks for machines run natively on a node without KVM? no: the step fails",
	  FLAG(lwk_native, fallback_words) },
	{ "partition_quiet", "none, or a list of irqs, kthreads, memory, idle", "none",
	  "what is kept off the CPUs of live partitions, and is put back at their end",
	  .at = offsetof(struct conf, partition_quiet), .set = &quiets, .parse = parse_quiet,
	  .print = print_quiet },
};
#define ROWS ((unsigned)(sizeof(row) / sizeof(row[0])))
_Static_assert(ROWS + ISOLATOR_COUNT <= CONF_KEYS_MAX, "a table of CONF_KEYS_MAX holds every key");

bool conf_key_at(struct conf_key *out, unsigned i)
{
	if (i < ROWS) {
		*out = row[i];
		return true;
	}
	i -= ROWS;
	if (i >= ISOLATOR_COUNT)
		return false;
	*out = (struct conf_key){
		.allowed = "yes, no, users: a, b, accounts: a, b, or partitions: a, b",
		.otherwise = "yes",
		.at = offsetof(struct conf, allow) + i * sizeof(struct conf_allow),
		.parse = parse_allow,
		.print = print_allow,
	};
	snprintf(out->name, sizeof(out->name), "allow_%.20s", isolator_name(i));
	snprintf(out->comment, sizeof(out->comment),
		 "jobs whose containers may request isolator %.20s", isolator_name(i));
	return true;
}
