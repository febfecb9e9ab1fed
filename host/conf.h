/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONF_H
#define NODEOS_HOST_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/fileio.h"
#include "host/conf_allow.h"
#include "host/conf_contention.h"
#include "host/partition.h"
#include "host/policy.h"
#include "manifest/isolator_name.h"
#include "topology/plan.h" /* enum mems_default */
#include "topology/service.h"

/*
 * nodeos.conf(5): what the site allows and prefers. Root reads it on every node, so the parser is
 * strict, bounded, and needs only libc. A fault in the file stops jobs that use NodeOS, and no
 * others.
 */
#define CONF_PATH "/etc/nodeos/nodeos.conf"
#define CONF_SIZE_MAX (64 * 1024)
#define CONF_UNITS_MAX 256 /* bytes of a list of units with the final NUL */
#define CONF_KEYS_MAX 68
#define CONF_COMMENT_MAX 160 /* bytes of a key's purpose with the final NUL */
#define CONF_GLOBS_MAX 512 /* bytes of a list of patterns with the final NUL */

/*
 * Memory nodes of steps without containers if the kernel has divided nodes (boot parameter fgmn=).
 */
enum unmanaged_mems {
	UNMANAGED_FREE_BLOCKS, /* blocks that no container has, up to their job's memory */
	UNMANAGED_ALL, /* every node, including containers' blocks */
};

enum lwk_use { LWK_AUTO, LWK_YES, LWK_NO };
/* What is kept off the CPUs of live partitions (serviceos/quiet.h). */
enum quiet { QUIET_IRQS, QUIET_KTHREADS, QUIET_MEMORY, QUIET_IDLE, QUIET_COUNT };

struct conf {
	uint32_t allow_policies; /* bit 1 << enum sched_policy */
	uint32_t allow_partitions; /* bit 1 << enum partition */
	uint32_t partition_quiet; /* bit 1 << enum quiet */
	bool strict; /* the step fails if an isolator cannot be enforced */
	bool kill_on_bad_exit; /* SLURM_KILL_BAD_EXIT=1 for steps in containers */
	enum sched_policy default_policy;
	/* policy used instead of hpc if the kernel has no SCHED_HPC; POLICY_UNSET: none */
	enum sched_policy hpc_fallback;
	/* hpc_fallback = partition: containers are partitions, and HPC_FALLBACK is POLICY_OTHER */
	bool hpc_partition;
	enum mems_default default_mems;
	enum unmanaged_mems unmanaged_mems;
	/* containers get blocks only up to the memory that Slurm gives their job */
	bool blocks_by_memory;
	/* live containers may get other memory nodes: see cgroup_write_mems() */
	bool resize_mems;
	unsigned max_rt_priority;
	unsigned helper_timeout; /* seconds */
	char state_dir[DIR_PATH_MAX];
	unsigned max_containers; /* greatest number of containers of one job on a node */
	struct service_ask service;
	char service_except[CONF_UNITS_MAX]; /* such as "a.service b.scope"; "": none */
	/* such as "/dev/nvme1n1p1 /dev/disk/by-id/nvme-*"; "": none */
	char dimmap_devices[CONF_GLOBS_MAX];
	bool dimmap_files; /* buffers may be of files that their user can open */
	/* jobs whose containers may request each isolator */
	struct conf_allow allow[ISOLATOR_COUNT];
	bool vnode; /* vnodes may run on this host */
	bool debug; /* log each decision about a step */
	struct conf_contention contention;
	enum lwk_use lwk; /* may ranks run in machines? auto: if their user may open /dev/kvm */
	uint64_t lwk_max; /* greatest number of bytes of a rank's extent; 0: no limit */
	bool lwk_native; /* without KVM, ranks run natively, and the step does not fail */
	/* greatest number of bytes of a buffer; 0: limited only by the job's memory */
	uint64_t dimmap_max;
};

/* The allowed words of a list that is stored as bits 1 << number. */
struct conf_set {
	int first, end; /* numbers of the words: FIRST to END - 1 */
	/* returns the number of WORD, or less than FIRST if it is not allowed */
	int (*by_name)(const char *word);
	const char *(*name)(int place);
};

/* One key, for the parser, etc/nodeos.conf and nodeos.conf(5). */
struct conf_key {
	char name[28];
	const char *allowed; /* allowed values, for messages */
	const char *otherwise; /* the default, in the form of the file */
	char comment[CONF_COMMENT_MAX]; /* one line */
	size_t at; /* offset of the key's field in struct conf */
	unsigned min, max; /* their meaning depends on the type, see conf_keys.c */
	const char *const *words;
	const struct conf_set *set;
	bool (*is_word)(const char *text, size_t len);
	int (*parse)(const struct conf_key *key, struct conf *c,
		     const char *value); /* returns -1 for a wrong value */
	void (*print)(const struct conf_key *key, FILE *f, const struct conf *c);
};

/* Indices of keys that depend on each other. */
enum { CONF_KEY_ALLOW_POLICIES, CONF_KEY_DEFAULT_POLICY };

/* Copy key number I, counted from 0, to *OUT. Returns false after the last key. */
bool conf_key_at(struct conf_key *out, unsigned i);

void conf_defaults(struct conf *c);

/*
 * Parse the value of serviceos or serviceos_mems, also for options with the same values. Returns 0,
 * or -1 if the value is not allowed.
 */
int conf_parse_service(struct service_ask *out, const char *value);
int conf_parse_service_mems(struct service_ask *out, const char *value);
extern const char conf_service_allowed[], conf_service_mems_allowed[];

/*
 * Check by conf_allow_check() that U's job may request isolator ID. Returns 0, or -1 with a line in
 * ERR that names the key of CONF_PATH.
 */
int conf_check_isolator(const struct conf *c, enum isolator_id id, const struct conf_user *u,
			const char *conf_path, struct errbuf *err);

/* Return whether conf_check_isolator() needs the job's account or its partition in Slurm. */
bool conf_needs_job(const struct conf *c, enum isolator_id id);

/* Return whether jobs may have policy P. */
bool conf_allows_policy(const struct conf *c, enum sched_policy p);

/*
 * conf_allows_partition(): does the site allow containers to be partition P?
 * conf_allows_any_partition(): does the site allow partition root or isolated, or do partitions
 * replace policy hpc on this kernel?
 */
bool conf_allows_partition(const struct conf *c, enum partition p);
bool conf_allows_any_partition(const struct conf *c);

/*
 * conf_allows_device(): may buffers use the block device SOURCE? conf_check_source() checks a
 * SOURCE of any kind, and returns 0, or -1 with the reason.
 */
bool conf_allows_device(const struct conf *c, const char *source);
int conf_check_source(const struct conf *c, const char *source, const char *conf_path,
		      struct errbuf *err);

/*
 * Parse TEXT of LEN bytes, named NAME in messages: "NAME:LINE: KEY: reason (allowed: ...)". Keys
 * that TEXT does not set get their defaults.
 */
int conf_parse(struct conf *out, const char *name, const char *text, size_t len,
	       struct errbuf *err);

/*
 * Load the file PATH. If the installation's own file (NODEOS_CONF_PATH) is missing, *OUT gets the
 * defaults; any other missing file is an error. A user that can write the file decides what root
 * does. So the file must be a regular file that belongs to root or OWNER and that only its owner
 * can write. The symbolic links and directories that lead to it must meet the same conditions
 * (trusted_open.h). OWNER is 0 except in tests.
 */
int conf_load(struct conf *out, const char *path, uid_t owner, struct errbuf *err);

/*
 * Write every key with its comment, its allowed values and C's value, as a file that conf_parse()
 * accepts. BEFORE is written before each key: "" or "#".
 */
void conf_print(FILE *f, const struct conf *c, const char *before);

#endif
