/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trusted_open.h"
#include "base/words.h"
#include "manifest/request.h"

#define KEYS_MAX 24 /* of the table, with its end */
#define VALUE_MAX 256

static uint32_t policy_bit(enum sched_policy p)
{
	return UINT32_C(1) << p;
}

bool conf_allows_policy(const struct conf *c, enum sched_policy p)
{
	return p > POLICY_UNSET && p < POLICY_COUNT && (c->allow_policies & policy_bit(p));
}

bool conf_allows_partition(const struct conf *c, enum partition p)
{
	return (unsigned)p < PARTITION_COUNT && (c->allow_partitions >> p & 1);
}

bool conf_allows_fences(const struct conf *c)
{
	return conf_allows_partition(c, PARTITION_ROOT) ||
	       conf_allows_partition(c, PARTITION_ISOLATED);
}

bool conf_allows_device(const struct conf *c, const char *source)
{
	char glob[CONF_GLOBS_MAX];

	for (const char *at = c->dimmap_devices; *at; at += *at == ' ') {
		size_t len = strcspn(at, " ");

		memcpy(glob, at, len);
		glob[len] = '\0';
		if (fnmatch(glob, source, FNM_PATHNAME | FNM_PERIOD) == 0)
			return true;
		at += len;
	}
	return false;
}

int conf_check_source(const struct conf *c, const char *source, const char *conf_path,
		      struct errbuf *err)
{
	char quoted[WORD_QUOTE_MAX];
	bool device = strncmp(source, "/dev/", 5) == 0;

	if (conf_allows_device(c, source) || (!device && c->dimmap_files))
		return 0;
	word_quote(quoted, source, strlen(source));
	if (device && *c->dimmap_devices)
		return errprintf(err,
				 "source %s: buffers cannot be of that device at this site "
				 "(allowed: %s; dimmap_devices in %s)",
				 quoted, c->dimmap_devices, conf_path);
	return errprintf(err, "source %s: buffers cannot be of %s at this site (%s in %s)", quoted,
			 device ? "devices" : "files", device ? "dimmap_devices" : "dimmap_files",
			 conf_path);
}

void conf_defaults(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	c->allow_policies = policy_bit(POLICY_OTHER) | policy_bit(POLICY_BATCH) |
			    policy_bit(POLICY_IDLE) | policy_bit(POLICY_HPC);
	c->allow_partitions = UINT32_C(1) << PARTITION_MEMBER;
	c->strict = true;
	c->blocks_by_memory = true;
	c->default_policy = POLICY_OTHER;
	c->default_mems = MEMS_ALL;
	c->max_rt_priority = 50;
	c->helper_timeout = 10;
	memcpy(c->state_dir, "/run/nodeos", sizeof("/run/nodeos"));
	c->max_containers = REQUEST_CONTAINERS_MAX;
}

/* The place of VALUE among WORDS (NULL-terminated), or -1. */
static int parse_word(const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(value, words[i]) == 0)
			return i;
	return -1;
}

static const char *const yes_words[] = { "no", "yes", NULL };

static int parse_yes(bool *to, const char *value)
{
	int i = parse_word(value, yes_words);

	*to = i > 0;
	return i < 0 ? -1 : 0;
}

static const char *const mems_words[] = { [MEMS_ALL] = "all", [MEMS_LOCAL] = "local", NULL };

/* "a, b" with BIT telling a word's bit (0: unknown): one word at least, none twice. */
static int parse_list(uint32_t *out, const char *value, uint32_t (*bit)(const char *word))
{
	uint32_t bits = 0;

	for (;;) {
		char word[16];
		size_t len = strcspn(value, ", \t");
		uint32_t b;

		if (len >= sizeof(word))
			return -1;
		memcpy(word, value, len);
		word[len] = '\0';
		b = bit(word);
		if (!b || (bits & b))
			return -1;
		bits |= b;
		value += len;
		value += strspn(value, " \t");
		if (*value == '\0')
			break;
		if (*value++ != ',')
			return -1;
		value += strspn(value, " \t");
	}
	*out = bits;
	return 0;
}

static uint32_t policy_word_bit(const char *word)
{
	enum sched_policy p = policy_by_name(word);

	return p == POLICY_UNSET ? 0 : policy_bit(p);
}

static int parse_allow_policies(struct conf *c, const char *value)
{
	return parse_list(&c->allow_policies, value, policy_word_bit);
}

static uint32_t partition_word_bit(const char *word)
{
	int p = partition_by_name(word);

	return p < 0 ? 0 : UINT32_C(1) << p;
}

/* "member" is what every container can be. */
static int parse_allow_partitions(struct conf *c, const char *value)
{
	if (parse_list(&c->allow_partitions, value, partition_word_bit) < 0)
		return -1;
	return conf_allows_partition(c, PARTITION_MEMBER) ? 0 : -1;
}

static void print_allow_partitions(FILE *f, const struct conf *c)
{
	for (enum partition p = PARTITION_MEMBER; p < PARTITION_COUNT; p++)
		if (conf_allows_partition(c, p))
			fprintf(f, "%s%s", p == PARTITION_MEMBER ? "" : ", ", partition_name(p));
}

static void print_allow_policies(FILE *f, const struct conf *c)
{
	const char *before = "";

	for (enum sched_policy p = POLICY_OTHER; p < POLICY_COUNT; p++)
		if (conf_allows_policy(c, p)) {
			fprintf(f, "%s%s", before, policy_name(p));
			before = ", ";
		}
}

static int parse_kill_on_bad_exit(struct conf *c, const char *value)
{
	return parse_yes(&c->kill_on_bad_exit, value);
}

static void print_kill_on_bad_exit(FILE *f, const struct conf *c)
{
	fputs(yes_words[c->kill_on_bad_exit], f);
}

static int parse_strict(struct conf *c, const char *value)
{
	return parse_yes(&c->strict, value);
}

static void print_strict(FILE *f, const struct conf *c)
{
	fputs(yes_words[c->strict], f);
}

static int parse_default_policy(struct conf *c, const char *value)
{
	c->default_policy = policy_by_name(value);
	return c->default_policy == POLICY_UNSET ? -1 : 0;
}

static void print_default_policy(FILE *f, const struct conf *c)
{
	fputs(policy_name(c->default_policy), f);
}

static int parse_hpc_fallback(struct conf *c, const char *value)
{
	c->hpc_fallback = policy_by_name(value);
	if (c->hpc_fallback == POLICY_UNSET)
		return strcmp(value, "none") == 0 ? 0 : -1;
	return c->hpc_fallback == POLICY_HPC ? -1 : 0;
}

static void print_hpc_fallback(FILE *f, const struct conf *c)
{
	fputs(c->hpc_fallback == POLICY_UNSET ? "none" : policy_name(c->hpc_fallback), f);
}

static int parse_default_mems(struct conf *c, const char *value)
{
	int i = parse_word(value, mems_words);

	if (i < 0)
		return -1;
	c->default_mems = (enum mems_default)i;
	return 0;
}

static void print_default_mems(FILE *f, const struct conf *c)
{
	fputs(mems_words[c->default_mems], f);
}

static const char *const unmanaged_words[] = {
	[UNMANAGED_FREE_BLOCKS] = "free-blocks", [UNMANAGED_ALL] = "all", NULL
};

static int parse_unmanaged_mems(struct conf *c, const char *value)
{
	int i = parse_word(value, unmanaged_words);

	if (i < 0)
		return -1;
	c->unmanaged_mems = (enum unmanaged_mems)i;
	return 0;
}

static void print_unmanaged_mems(FILE *f, const struct conf *c)
{
	fputs(unmanaged_words[c->unmanaged_mems], f);
}

static int parse_blocks_by_memory(struct conf *c, const char *value)
{
	return parse_yes(&c->blocks_by_memory, value);
}

static void print_blocks_by_memory(FILE *f, const struct conf *c)
{
	fputs(yes_words[c->blocks_by_memory], f);
}

static int parse_max_rt_priority(struct conf *c, const char *value)
{
	return word_count(value, 1, 99, &c->max_rt_priority);
}

static void print_max_rt_priority(FILE *f, const struct conf *c)
{
	fprintf(f, "%u", c->max_rt_priority);
}

static int parse_helper_timeout(struct conf *c, const char *value)
{
	return word_count(value, 1, 60, &c->helper_timeout);
}

static void print_helper_timeout(FILE *f, const struct conf *c)
{
	fprintf(f, "%u", c->helper_timeout);
}

/* Absolute, without "", "." and ".." among its parts, printable and without blanks, not "/". */
static int parse_state_dir(struct conf *c, const char *value)
{
	size_t len = strlen(value);

	if (value[0] != '/' || len >= sizeof(c->state_dir))
		return -1;
	for (const char *part = value; *part;) {
		size_t n = strcspn(++part, "/");

		if (n == 0 || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return -1;
		for (size_t i = 0; i < n; i++)
			if (part[i] <= ' ' || part[i] > '~')
				return -1;
		part += n;
	}
	memset(c->state_dir, 0, sizeof(c->state_dir));
	memcpy(c->state_dir, value, len);
	return 0;
}

static void print_state_dir(FILE *f, const struct conf *c)
{
	fputs(c->state_dir, f);
}

static int parse_max_containers(struct conf *c, const char *value)
{
	return word_count(value, 1, REQUEST_CONTAINERS_MAX, &c->max_containers);
}

static void print_max_containers(FILE *f, const struct conf *c)
{
	fprintf(f, "%u", c->max_containers);
}

const char conf_service_allowed[] = "none, N/node or N/socket cores, or a list of CPUs as 0,32";
const char conf_service_mems_allowed[] =
	"all, homes (what fgmn= leaves of divided nodes), or a list of memory nodes as 0-1";

/* "2/node": cores of the node, of a socket */
static int parse_counted(struct service_ask *out, const char *value)
{
	const char *slash = strchr(value, '/');
	char count[8];
	unsigned n;

	if (!slash || (size_t)(slash - value) >= sizeof(count))
		return -1;
	memcpy(count, value, (size_t)(slash - value));
	count[slash - value] = '\0';
	if (word_count(count, 1, IDSET_MAX, &n) < 0 ||
	    (strcmp(slash, "/node") != 0 && strcmp(slash, "/socket") != 0))
		return -1;
	out->kind = strcmp(slash, "/node") == 0 ? SERVICE_PER_NODE : SERVICE_PER_SOCKET;
	out->cores = n;
	return 0;
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

static int parse_serviceos(struct conf *c, const char *value)
{
	return conf_parse_service(&c->service, value);
}

static int parse_serviceos_mems(struct conf *c, const char *value)
{
	return conf_parse_service_mems(&c->service, value);
}

static void print_set(FILE *f, const struct idset *s)
{
	char list[IDSET_LIST_MAX];

	if (idset_format(s, list, sizeof(list)) >= 0)
		fputs(list, f);
}

static void print_serviceos(FILE *f, const struct conf *c)
{
	if (c->service.kind == SERVICE_NONE)
		fputs("none", f);
	else if (c->service.kind == SERVICE_CPUS)
		print_set(f, &c->service.cpus);
	else
		fprintf(f, "%u/%s", c->service.cores,
			c->service.kind == SERVICE_PER_NODE ? "node" : "socket");
}

static void print_serviceos_mems(FILE *f, const struct conf *c)
{
	if (c->service.homes)
		fputs("homes", f);
	else if (c->service.own_mems)
		print_set(f, &c->service.mems);
	else
		fputs("all", f);
}

/* A unit with processes of its own, by its full name: it becomes part of a path. */
static bool is_unit_name(const char *word, size_t len)
{
	static const char *const type[] = { ".service", ".scope", ".socket", ".mount", ".swap" };

	/* a template has no processes ("a@.service"); below user.slice nobody is excepted, and
	 * logins choose these names */
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

static int parse_serviceos_except(struct conf *c, const char *value)
{
	size_t used = 0;

	c->service_except[0] = '\0';
	if (strcmp(value, "none") == 0)
		return 0;
	while (*value) {
		size_t len = strcspn(value, " \t,");

		if (!is_unit_name(value, len) || used + len + 2 > sizeof(c->service_except))
			return -1;
		if (used)
			c->service_except[used++] = ' ';
		memcpy(c->service_except + used, value, len);
		used += len;
		c->service_except[used] = '\0';
		value += len;
		value += strspn(value, " \t,");
	}
	return used ? 0 : -1;
}

static void print_serviceos_except(FILE *f, const struct conf *c)
{
	fputs(*c->service_except ? c->service_except : "none", f);
}

/*
 * "/dev/nvme1n1p1, /dev/disk/by-id/nvme-*": in directories below /dev where only root puts names. A
 * directory that is a pattern might be one of those where everybody does.
 */
static int parse_dimmap_devices(struct conf *c, const char *value)
{
	size_t used = 0;

	c->dimmap_devices[0] = '\0';
	if (strcmp(value, "none") == 0)
		return 0;
	while (*value) {
		size_t len = strcspn(value, " \t,");
		char word[VALUE_MAX];

		if (len >= sizeof(word) || used + len + 2 > sizeof(c->dimmap_devices))
			return -1;
		memcpy(word, value, len);
		word[len] = '\0';
		/* an open bracket matches itself only */
		if (strchr(word, '[') && !strchr(strchr(word, '[') + 1, ']'))
			return -1;
		if (strncmp(word, "/dev/", 5) != 0 || !request_is_source(word) ||
		    strncmp(word, "/dev/shm/", 9) == 0 || strncmp(word, "/dev/mqueue/", 12) == 0 ||
		    strcspn(word, "*?[") < (size_t)(strrchr(word, '/') - word))
			return -1;
		if (used)
			c->dimmap_devices[used++] = ' ';
		memcpy(c->dimmap_devices + used, word, len + 1);
		used += len;
		value += len;
		value += strspn(value, " \t,");
	}
	return used ? 0 : -1;
}

static void print_dimmap_devices(FILE *f, const struct conf *c)
{
	fputs(*c->dimmap_devices ? c->dimmap_devices : "none", f);
}

static int parse_dimmap_files(struct conf *c, const char *value)
{
	return parse_yes(&c->dimmap_files, value);
}

static void print_dimmap_files(FILE *f, const struct conf *c)
{
	fputs(yes_words[c->dimmap_files], f);
}

static int parse_dimmap_max(struct conf *c, const char *value)
{
	c->dimmap_max = 0;
	if (strcmp(value, "none") == 0)
		return 0;
	return request_parse_bytes(value, &c->dimmap_max) < 0 ||
			       c->dimmap_max < REQUEST_DIMMAP_MIN ||
			       c->dimmap_max > REQUEST_DIMMAP_MAX
		       ? -1
		       : 0;
}

static void print_dimmap_max(FILE *f, const struct conf *c)
{
	if (c->dimmap_max)
		fprintf(f, "%" PRIu64, c->dimmap_max);
	else
		fputs("none", f);
}

static int parse_resize_mems(struct conf *c, const char *value)
{
	return parse_yes(&c->resize_mems, value);
}

static void print_resize_mems(FILE *f, const struct conf *c)
{
	fputs(yes_words[c->resize_mems], f);
}

enum { KEY_ALLOW_POLICIES, KEY_DEFAULT_POLICY };

const struct conf_key conf_keys[] = {
	[KEY_ALLOW_POLICIES] = { "allow_policies", "a list of other, batch, idle, fifo, rr, hpc",
				 "scheduling policies that jobs may ask for", parse_allow_policies,
				 print_allow_policies },
	[KEY_DEFAULT_POLICY] = { "default_policy", "one of allow_policies",
				 "the policy of a container that asks for none",
				 parse_default_policy, print_default_policy },
	{ "hpc_fallback", "none, other, batch, idle, fifo, rr",
	  "what containers with policy hpc get where the kernel has no SCHED_HPC; of fifo and rr "
	  "the lowest priority",
	  parse_hpc_fallback, print_hpc_fallback },
	{ "max_rt_priority", "1 to 99", "highest priority of fifo and rr", parse_max_rt_priority,
	  print_max_rt_priority },
	{ "allow_partitions", "a list of member, root, isolated, with member",
	  "cpuset partitions that containers may be; not with OverSubscribe, gang scheduling or "
	  "suspension",
	  parse_allow_partitions, print_allow_partitions },
	{ "default_mems", "all, local",
	  "memory nodes of a container that asks for none: all, or those local to its cores",
	  parse_default_mems, print_default_mems },
	{ "unmanaged_mems", "free-blocks, all",
	  "memory nodes of steps without containers where the kernel has divided them (fgmn=)",
	  parse_unmanaged_mems, print_unmanaged_mems },
	{ "blocks_by_memory", "yes, no",
	  "do containers get blocks of memory (fgmn=) only as far as their job has as much memory "
	  "of Slurm?",
	  parse_blocks_by_memory, print_blocks_by_memory },
	{ "resize_mems", "no, yes",
	  "may users change the memory nodes of live containers? A user with a file server of his "
	  "own can then hang the host",
	  parse_resize_mems, print_resize_mems },
	{ "strict", "yes, no", "does an isolator that cannot be enforced on a node fail the step?",
	  parse_strict, print_strict },
	{ "kill_on_bad_exit", "yes, no",
	  "does a rank's exit code other than 0 end the other ranks of a step in containers, as "
	  "srun -K does?",
	  parse_kill_on_bad_exit, print_kill_on_bad_exit },
	{ "max_containers", "1 to 64", "containers of one job on a node", parse_max_containers,
	  print_max_containers },
	{ "helper_timeout", "1 to 60", "seconds that planning may take on a node",
	  parse_helper_timeout, print_helper_timeout },
	{ "state_dir", "an absolute path without blanks, \".\" and \"..\", up to 127 bytes",
	  "directory of the ledger; it must not outlive a boot", parse_state_dir, print_state_dir },
	{ "serviceos", conf_service_allowed,
	  "cores that the node keeps for its system; put to work by nodeosctl provision",
	  parse_serviceos, print_serviceos },
	{ "serviceos_mems", conf_service_mems_allowed,
	  "memory nodes of the system: all, shared with containers, or nodes that no container "
	  "gets",
	  parse_serviceos_mems, print_serviceos_mems },
	{ "serviceos_except", "none, or a list of units with their type, as lustre.service",
	  "units that may run everywhere; slurmd and its jobs always may", parse_serviceos_except,
	  print_serviceos_except },
	{ "dimmap_devices",
	  "none, or a list of block devices below /dev as /dev/nvme1n1p1, with *, ? and [] behind "
	  "the last /",
	  "devices that buffers of dimmapfs may be of: whoever can submit jobs can read and write "
	  "them",
	  parse_dimmap_devices, print_dimmap_devices },
	{ "dimmap_files", "yes, no",
	  "may buffers of dimmapfs be of files that their user can open?", parse_dimmap_files,
	  print_dimmap_files },
	{ "dimmap_max", "none, or a size from 1M to 8T as 16G",
	  "the largest buffer of dimmapfs; its job's memory is a limit, too, with "
	  "ConstrainRAMSpace",
	  parse_dimmap_max, print_dimmap_max },
	{ NULL, NULL, NULL, NULL, NULL },
};
_Static_assert(sizeof(conf_keys) / sizeof(conf_keys[0]) <= KEYS_MAX,
	       "names[] and line[] hold every key");

struct parser {
	const char *name;
	struct conf conf;
	unsigned line;
	unsigned key_line[KEYS_MAX]; /* where each key stands, 0: nowhere */
	struct errbuf *err;
};

static int unknown_key(const struct parser *p, const char *key)
{
	const char *names[KEYS_MAX] = { NULL };
	char quoted[WORD_QUOTE_MAX], list[256];
	const char *near;

	for (unsigned i = 0; conf_keys[i].name; i++)
		names[i] = conf_keys[i].name;
	word_quote(quoted, key, strlen(key));
	word_list(list, sizeof(list), names);
	near = word_near(key, names);
	if (near)
		return errprintf(p->err,
				 "%.160s:%u: %s: unknown key, did you mean \"%s\"? (allowed: %s)",
				 p->name, p->line, quoted, near, list);
	return errprintf(p->err, "%.160s:%u: %s: unknown key (allowed: %s)", p->name, p->line,
			 quoted, list);
}

static int parse_pair(struct parser *p, const char *key, const char *value)
{
	char quoted[WORD_QUOTE_MAX];

	for (unsigned i = 0; conf_keys[i].name; i++) {
		if (strcmp(conf_keys[i].name, key) != 0)
			continue;
		if (p->key_line[i])
			return errprintf(
				p->err,
				"%.160s:%u: %s: given a second time: the first is at line %u",
				p->name, p->line, key, p->key_line[i]);
		p->key_line[i] = p->line;
		if (conf_keys[i].parse(&p->conf, value) < 0)
			return errprintf(p->err, "%.160s:%u: %s: %s (allowed: %s)", p->name,
					 p->line, key, word_quote(quoted, value, strlen(value)),
					 conf_keys[i].allowed);
		return 0;
	}
	return unknown_key(p, key);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Copy the LEN bytes at S without blanks round them; -1 when they do not fit. */
static int copy_trimmed(char buf[VALUE_MAX], const char *s, size_t len)
{
	while (len && is_blank(s[0])) {
		s++;
		len--;
	}
	while (len && is_blank(s[len - 1]))
		len--;
	if (len >= VALUE_MAX)
		return -1;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return 0;
}

/* One line without its '\n'. */
static int parse_line(struct parser *p, const char *line, size_t len)
{
	const char *comment = memchr(line, '#', len);
	const char *equals;
	char key[VALUE_MAX], value[VALUE_MAX], quoted[WORD_QUOTE_MAX];

	if (memchr(line, '\0', len))
		return errprintf(p->err, "%.160s:%u: a NUL byte: this is not a text", p->name,
				 p->line);
	if (comment)
		len = (size_t)(comment - line);
	equals = memchr(line, '=', len);
	if (copy_trimmed(key, line, equals ? (size_t)(equals - line) : len) < 0 ||
	    (equals && copy_trimmed(value, equals + 1, (size_t)(line + len - equals - 1)) < 0))
		return errprintf(
			p->err,
			"%.160s:%u: the line is too long (allowed: %d bytes of key or value)",
			p->name, p->line, VALUE_MAX - 1);
	if (!equals && key[0] == '\0')
		return 0;
	if (!equals || key[0] == '\0')
		return errprintf(p->err, "%.160s:%u: %s: expected \"key = value\" or \"# comment\"",
				 p->name, p->line, word_quote(quoted, line, len));
	return parse_pair(p, key, value);
}

/* default_policy may come before allow_policies, so this waits for the end. */
static int check_default_policy(const struct parser *p)
{
	unsigned line = p->key_line[KEY_DEFAULT_POLICY];
	char list[64] = "";
	FILE *f;

	if (conf_allows_policy(&p->conf, p->conf.default_policy))
		return 0;
	if (!line)
		line = p->key_line[KEY_ALLOW_POLICIES];
	f = fmemopen(list, sizeof(list), "w");
	if (f) {
		print_allow_policies(f, &p->conf);
		fclose(f);
	}
	return errprintf(
		p->err,
		"%.160s:%u: default_policy: \"%s\" is not one of allow_policies (allowed: %s)",
		p->name, line, policy_name(p->conf.default_policy), list);
}

int conf_parse(struct conf *out, const char *name, const char *text, size_t len, struct errbuf *err)
{
	struct parser p = { .name = name, .err = err };
	const char *end = text + len;

	conf_defaults(&p.conf);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		p.line++;
		if (parse_line(&p, text, (size_t)(stop - text)) < 0)
			return -1;
		text = stop + 1;
	}
	if (check_default_policy(&p) < 0)
		return -1;
	*out = p.conf;
	return 0;
}

/* Read FD into BUF of SIZE bytes; the length, or -1 for an error or when it is full. */
static ssize_t read_file(int fd, char *buf, size_t size, const char *path, struct errbuf *err)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errprintf(err, "%.160s: cannot read: %s", path, strerror(errno));
		if (n == 0)
			return (ssize_t)used;
		used += (size_t)n;
	}
	return errprintf(err, "%.160s: too large (allowed: %d bytes)", path, CONF_SIZE_MAX);
}

int conf_load(struct conf *out, const char *path, uid_t owner, struct errbuf *err)
{
	char text[CONF_SIZE_MAX + 1];
	ssize_t len;
	int fd = trusted_open(path, owner, err);

	/* a file that was named must be there */
	if (fd < 0 && errno == ENOENT && strcmp(path, NODEOS_CONF_PATH) == 0) {
		conf_defaults(out);
		return 0;
	}
	if (fd < 0)
		return -1;
	len = read_file(fd, text, sizeof(text), path, err);
	close(fd);
	return len < 0 ? -1 : conf_parse(out, path, text, (size_t)len, err);
}

void conf_print(FILE *f, const struct conf *c)
{
	for (const struct conf_key *key = conf_keys; key->name; key++) {
		fprintf(f, "%s# %s (%s)\n%s = ", key == conf_keys ? "" : "\n", key->comment,
			key->allowed, key->name);
		key->print(f, c);
		fputc('\n', f);
	}
}
