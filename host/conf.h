/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONF_H
#define NODEOS_HOST_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/fileio.h"
#include "host/partition.h"
#include "host/policy.h"
#include "topology/plan.h" /* enum mems_default */
#include "topology/service.h"

/*
 * nodeos.conf(5): what the site allows and prefers. Read as root on every node,
 * so the parser is strict, bounded and needs libc only; a fault stops whoever
 * asked for NodeOS, and nobody else.
 */
#define CONF_PATH "/etc/nodeos/nodeos.conf"
#define CONF_SIZE_MAX (64 * 1024)
#define CONF_UNITS_MAX 256 /* bytes of a list of units with the final NUL */
#define CONF_GLOBS_MAX 512 /* bytes of a list of patterns with the final NUL */

/* What steps without containers get of a node whose memory nodes the kernel has divided (fgmn=). */
enum unmanaged_mems {
	UNMANAGED_FREE_BLOCKS, /* blocks that no container has, by their job's memory */
	UNMANAGED_ALL, /* every node, containers' blocks, too */
};

struct conf {
	uint32_t allow_policies; /* bit 1 << enum sched_policy */
	uint32_t allow_partitions; /* bit 1 << enum partition */
	bool strict; /* an isolator that cannot be enforced fails the step */
	bool kill_on_bad_exit; /* SLURM_KILL_BAD_EXIT=1 for steps in containers */
	enum sched_policy default_policy;
	/* where the kernel has no SCHED_HPC; POLICY_UNSET: there is none */
	enum sched_policy hpc_fallback;
	enum mems_default default_mems;
	enum unmanaged_mems unmanaged_mems;
	bool blocks_by_memory; /* blocks of containers need as much of Slurm's memory */
	/* live containers may get other memory nodes: see cgroup_write_mems */
	bool resize_mems;
	unsigned max_rt_priority;
	unsigned helper_timeout; /* seconds */
	char state_dir[DIR_PATH_MAX];
	unsigned max_containers; /* of one job on a node */
	struct service_ask service;
	char service_except[CONF_UNITS_MAX]; /* "a.service b.scope"; "" */
	char dimmap_devices[CONF_GLOBS_MAX]; /* "/dev/nvme1n1p1 /dev/disk/by-id/nvme-*"; "" */
	bool dimmap_files; /* may buffers be of files that their user can open? */
	uint64_t dimmap_max; /* bytes of one buffer; 0: no limit but the job's memory */
};

/* One key, for the parser, --print-defaults and the manual page's test. */
struct conf_key {
	const char *name;
	const char *allowed; /* what may stand there, for messages */
	const char *comment; /* one line */
	int (*parse)(struct conf *c, const char *value); /* -1: not allowed */
	void (*print)(FILE *f, const struct conf *c);
};
extern const struct conf_key conf_keys[]; /* up to one without a name */

void conf_defaults(struct conf *c);

/* The value of serviceos and of serviceos_mems, for options that stand for them; -1: not allowed.
 */
int conf_parse_service(struct service_ask *out, const char *value);
int conf_parse_service_mems(struct service_ask *out, const char *value);
extern const char conf_service_allowed[], conf_service_mems_allowed[];

/* May jobs have policy P? */
bool conf_allows_policy(const struct conf *c, enum sched_policy p);

/* May containers be partition P? Any but members? */
bool conf_allows_partition(const struct conf *c, enum partition p);
bool conf_allows_fences(const struct conf *c);

/* May buffers of dimmapfs be of this block device? Of SOURCE at all: -1 with the reason when not.
 */
bool conf_allows_device(const struct conf *c, const char *source);
int conf_check_source(const struct conf *c, const char *source, const char *conf_path,
		      struct errbuf *err);

/*
 * Parse TEXT of LEN bytes, which messages call NAME: "NAME:LINE: KEY: reason
 * (allowed: ...)". Keys that it does not set have their defaults.
 */
int conf_parse(struct conf *out, const char *name, const char *text, size_t len,
	       struct errbuf *err);

/*
 * Load the file PATH; a missing one means the defaults. It must be a regular
 * file that root or OWNER owns and only its owner can write, and so must be what
 * symbolic links lead there by (trusted_open.h): who writes it decides what root
 * does. OWNER is 0 but in tests.
 */
int conf_load(struct conf *out, const char *path, uid_t owner, struct errbuf *err);

/* Write every key with its comment and value, as a file that conf_parse reads. */
void conf_print(FILE *f, const struct conf *c);

#endif
