/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The keys of vnode.d/NAME.conf: a row for each, with the function that parses its value. */
#include <arpa/inet.h>
#include <string.h>

#include "base/words.h"
#include "host/conf_allow.h"
#include "host/conf_contention.h"
#include "manifest/request.h"
#include "vnode/conf.h"

#define MIB (1024 * 1024)

static void *vnode_field(const struct vnode_key *key, struct vnode_conf *c)
{
	return (char *)c + key->at;
}

/* Type: a number from the row's MIN to its MAX. */
static int parse_vnode_count(const struct vnode_key *key, struct vnode_conf *c, const char *value)
{
	return word_parse_number(value, key->min, key->max, vnode_field(key, c));
}

/* Type: a number from the row's MIN to its MAX, or "default", which is kept as 0. */
static int parse_vnode_mtu(const struct vnode_key *key, struct vnode_conf *c, const char *value)
{
	*(unsigned *)vnode_field(key, c) = 0;
	return strcmp(value, "default") == 0 ? 0 : parse_vnode_count(key, c, value);
}

/* Type: bytes such as 4G, kept as MiB. */
static int parse_vnode_memory(const struct vnode_key *key, struct vnode_conf *c, const char *value)
{
	uint64_t bytes;

	if (request_parse_bytes(value, &bytes) < 0 || bytes / MIB < key->min ||
	    bytes / MIB > key->max)
		return -1;
	*(unsigned *)vnode_field(key, c) = (unsigned)(bytes / MIB);
	return 0;
}

/* Type: one text that IS_WORD of the row accepts. A default that it refuses is kept as "". */
static int parse_vnode_word(const struct vnode_key *key, struct vnode_conf *c, const char *value)
{
	char *out = vnode_field(key, c);
	size_t len = strlen(value);

	memset(out, 0, key->max);
	if (key->otherwise && strcmp(key->otherwise, value) == 0 && !key->is_word(value, len))
		return 0;
	if (len >= key->max || !key->is_word(value, len))
		return -1;
	memcpy(out, value, len);
	return 0;
}

/* Type: a list of texts that IS_WORD of the row accepts. "all" or "none" is kept as "". */
static int parse_vnode_words(const struct vnode_key *key, struct vnode_conf *c, const char *value)
{
	char *out = vnode_field(key, c);

	memset(out, 0, key->max);
	if (strcmp(value, strcmp(key->otherwise, "all") == 0 ? "all" : "none") == 0)
		return 0;
	return conf_texts_parse(out, key->max, value, key->is_word);
}

static bool is_of(const char *text, size_t len, const char *more)
{
	for (size_t i = 0; i < len; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9') &&
		    !strchr(more, text[i]))
			return false;
	return true;
}

bool vnode_is_name(const char *text, size_t len)
{
	return len > 0 && len < VNODE_NAME_MAX && text[0] >= 'a' && text[0] <= 'z' &&
	       is_of(text, len, "-");
}

static bool is_link_name(const char *text, size_t len)
{
	return len > 0 && len < 16 && text[0] != '-' && text[0] != '.' &&
	       is_of(text, len, "-_.ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static bool is_host_name(const char *text, size_t len)
{
	return len > 0 && len < VNODE_WORD_MAX && text[0] != '-' && text[0] != '.' &&
	       is_of(text, len, "-.ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static bool is_ipv4(const char *text, size_t len)
{
	char word[INET_ADDRSTRLEN];
	struct in_addr at;

	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	return inet_pton(AF_INET, word, &at) == 1;
}

/* Is TEXT an IPv4 address of a host with a prefix length, such as "10.77.0.2/24"? */
static bool is_address(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);
	char bits[4];
	unsigned n;

	if (!slash || (size_t)(text + len - slash - 1) >= sizeof(bits))
		return false;
	memset(bits, 0, sizeof(bits));
	memcpy(bits, slash + 1, (size_t)(text + len - slash - 1));
	return word_parse_number(bits, 1, 31, &n) == 0 && is_ipv4(text, (size_t)(slash - text));
}

/* Is TEXT a unicast hardware address in lowercase? */
static bool is_mac(const char *text, size_t len)
{
	if (len != 17)
		return false;
	for (size_t i = 0; i < len; i++)
		if (i % 3 == 2 ? text[i] != ':' : !text[i] || !strchr("0123456789abcdef", text[i]))
			return false;
	return strchr("02468ace", text[1]);
}

/* Is TEXT a path on which a vnode may mount a file system, such as "/home", but not "/"? */
static bool is_mount_path(const char *text, size_t len)
{
	static const char *const taken[] = { "/dev", "/proc", "/sys", "/tmp", "/run" };

	if (len < 2 || !conf_path_is_safe(text, len))
		return false;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		size_t n = strlen(taken[i]);

		if (len >= n && memcmp(text, taken[i], n) == 0 && (len == n || text[n] == '/'))
			return false;
	}
	return true;
}

static bool is_device_path(const char *text, size_t len)
{
	return len > 5 && memcmp(text, "/dev/", 5) == 0 && conf_path_is_safe(text, len);
}

#define PATHS "none, or a list of absolute paths, not below /dev, /proc, /sys, /tmp and /run"
#define FIELD(f) .at = offsetof(struct vnode_conf, f)
#define SIZED(f) FIELD(f), .max = sizeof(((struct vnode_conf *)0)->f)
#define ONE(f, allows) SIZED(f), .is_word = allows, .parse = parse_vnode_word
#define LIST(f, allows) SIZED(f), .is_word = allows, .parse = parse_vnode_words
#define COUNTED(f, from, to) FIELD(f), .min = from, .max = to, .parse = parse_vnode_count

static const struct vnode_key row[] = {
	{ "address", "an IPv4 address and the length of its network, such as 10.77.0.2/24", NULL,
	  "address of the vnode, on every host", ONE(address, is_address) },
	{ "bridge", "name of a bridge of the host", NULL,
	  "bridge that the vnode's link joins; it must reach the other hosts",
	  ONE(bridge, is_link_name) },
	{ "cpus", "1 to 4096", NULL, "CPUs that Slurm gives to the vnode's jobs",
	  COUNTED(cpus, 1, 4096) },
	{ "memory", "128M to 16T, such as 64G", NULL,
	  "memory that Slurm gives to the vnode's jobs, and limit of all that it uses",
	  FIELD(memory), .min = 128, .max = 16 * MIB, .parse = parse_vnode_memory },
	{ "gateway", "none, or an IPv4 address", "none", "default gateway", ONE(gateway, is_ipv4) },
	{ "mac", "default (made of the address), or a hardware address such as 02:4e:0a:4d:00:02",
	  "default", "hardware address of the vnode's link", ONE(mac, is_mac) },
	{ "mtu", "default, or 576 to 65535 bytes", "default", "MTU of the vnode's link", FIELD(mtu),
	  .min = 576, .max = 65535, .parse = parse_vnode_mtu },
	{ "hosts", "all, or a list of host names", "all",
	  "hosts on which the vnode may run; each needs this file", LIST(hosts, is_host_name) },
	{ "mounts", PATHS, "none",
	  "shared file systems that the vnode may write to, mounted on every host",
	  LIST(mounts, is_mount_path) },
	{ "mounts_ro", PATHS, "none",
	  "other file systems of the host that the vnode may read, such as a separate /usr",
	  LIST(mounts_ro, is_mount_path) },
	{ "tmpfs", PATHS, "/var/spool/slurmd",
	  "directories of the vnode that are empty at its start and in memory",
	  LIST(tmpfs, is_mount_path) },
	{ "devices", "none, or a list of devices below /dev", "none",
	  "devices besides null, zero, full, random, urandom, tty and pseudo-terminals",
	  LIST(devices, is_device_path) },
	{ "munge_key", "an absolute path", "/etc/munge/munge.key", "key of the vnode's munged",
	  ONE(munge_key, conf_path_is_safe) },
	{ "slurm_conf", "an absolute path", "/etc/slurm/slurm.conf",
	  "slurm.conf of the vnode's slurmd", ONE(slurm_conf, conf_path_is_safe) },
	{ "stop_timeout", "1 to 600", "20", "seconds for slurmd to end before it is killed",
	  COUNTED(stop_timeout, 1, 600) },
};
#define ROWS (sizeof(row) / sizeof(row[0]))
_Static_assert(ROWS <= VNODE_KEYS_MAX, "VNODE_KEYS_MAX is at least the number of keys");

const struct vnode_key *vnode_key_at(unsigned i)
{
	return i < ROWS ? &row[i] : NULL;
}
