/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_REQUEST_H
#define NODEOS_MANIFEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "manifest/isolator_name.h"
#include "manifest/partition_name.h"
#include "manifest/policy_name.h"
#include "topology/plan.h" /* enum mems_kind */

/*
 * The request: what a job asks of every node, made of a manifest or of options.
 * The only form that travels to nodes, in the job's environment, where any user
 * can forge it: the parser trusts nothing and needs libc only.
 *
 * Canonical text, one line of printable ASCII so that it survives environment
 * dumps; records end with ';', fields are separated by one blank:
 *
 *   nodeos 1;c=sim cpus=44 mems=44 policy=hpc;c=vda cpus=2 smt=1 mems=17179869184b
 * ignored=power,monitoring;
 *
 * Fields in this order, each left out when it has its default: cpus (0: all
 * that is left), smt (0: all threads), mems (N, or Nb for bytes), policy
 * (none: nodeos.conf's default), prio (0, and for fifo and rr also 1: there
 * they are the same), quantum (milliseconds, with hpc only; none: the node decides), partition
 * (member), dimmap (bytes of a buffer; none: no buffer) and with it dimmap_source, and
 * dimmap_policy and dimmap_fill (none: as dimmapfs has it), dimmap_access (rw), ignored (the
 * isolators of request_ignored_name that the manifest named, in table order), and the numbers of
 * RANK_NUMBERS by their names (none: left as it is). A text that is not canonical is refused, so
 * equal requests are equal texts.
 */
#define REQUEST_TEXT_MAX 65536 /* bytes with the final NUL */
#define REQUEST_CONTAINERS_MAX 64
#define REQUEST_NAME_MAX 64 /* bytes with the final NUL */
/* a count; a node never has more, and sums cannot overflow */
#define REQUEST_CPUS_MAX 1048576
#define REQUEST_SMT_MAX 64 /* threads of one core; no processor has more than 8 */
#define REQUEST_MEMS_MAX 4096 /* memory nodes */
#define REQUEST_MEMS_ALLOWED "1 to 4096, or for example 512M, 16G, 16GiB"
#define REQUEST_BYTES_MAX (UINT64_C(1) << 60)

/* A buffer of dimmapfs. */
#define REQUEST_DIMMAP_MIN (UINT64_C(1) << 20) /* bytes */
#define REQUEST_DIMMAP_MAX (UINT64_C(1) << 43) /* what dimmapfs can have */
#define REQUEST_FILL_MIN 4096u /* bytes that are read at once, a power of two */
#define REQUEST_FILL_MAX (2u << 20)
#define REQUEST_SOURCE_MAX 256 /* bytes of a path with the final NUL */

extern const char *const request_dimmap_policies[]; /* NULL-terminated */

struct request_dimmap {
	uint64_t size; /* bytes; 0: there is none, and nothing below is set */
	char source[REQUEST_SOURCE_MAX]; /* a block device or a file */
	unsigned policy; /* 1 + index in request_dimmap_policies; 0: the default */
	unsigned fill; /* bytes; 0: the default */
	bool read_only;
};

/*
 * Argo's and AppC's isolators that load and do nothing here: bit i of "ignored"
 * is name i. Those that manifest_isolators has by now are in requests of older releases only.
 * Argo's by bare name ("power"), AppC's with their family ("resource/cpu"), so a name with a '/'
 * has no "argo/" spelling.
 */
extern const char *const request_ignored_name[]; /* NULL-terminated */

/* Index of NAME in request_ignored_name, or -1. */
int request_ignored_index(const char *name);

/* How many names request_ignored_name has, less than 32. */
unsigned request_ignored_count(void);

struct requested_container {
	char name[REQUEST_NAME_MAX];
	unsigned cpus;
	unsigned smt;
	enum mems_kind mems_kind;
	uint64_t mems;
	enum sched_policy policy; /* POLICY_UNSET: the site's default */
	unsigned priority; /* with hpc: enum hpc_placement */
	bool quantum_named; /* else the node decides */
	unsigned quantum; /* milliseconds; 0: never */
	enum partition partition;
	struct request_dimmap dimmap;
	uint32_t ignored;
	struct rank_value number[RANK_NUMBER_COUNT];
};

struct request {
	unsigned n;
	struct requested_container container[REQUEST_CONTAINERS_MAX];
};

/* AppC ACIdentifier, "none" excluded (it is an option's word); -1 with the reason. */
int request_check_name(const char *name, struct errbuf *err);

/* Index of NAME in R, or -1. */
int request_find(const struct request *r, const char *name);

/*
 * Check every limit and cross-field rule of R: names unique, ranges, priority
 * with its policy, at most one container with all CPUs that are left.
 */
int request_check(const struct request *r, struct errbuf *err);

/* "no such container (there are: sim, vda, none)"; always -1. */
int request_no_such(const struct request *r, const char *name, struct errbuf *err);

/*
 * Does C ask for the isolator ID by name? Each container has CPUs: ISOLATOR_CPUS is always true.
 * False for memory nodes and for a scheduling policy that the site's defaults decide, for the
 * partition "member", which is none, and for an ID that is no isolator.
 */
bool request_container_wants(const struct requested_container *c, enum isolator_id id);

/* Does a container of R? False of an empty R. */
bool request_wants(const struct request *r, enum isolator_id id);

/* Write the canonical text of a valid R into BUF; returns its length, -1 if it does not fit. */
int request_format(const struct request *r, char *buf, size_t size, struct errbuf *err);

/* Parse canonical text. *R is untouched on failure. */
int request_parse(struct request *r, const char *text, struct errbuf *err);

/*
 * What --nodeos-sched takes -> policy, priority and quantum of C: "other", "fifo:10", "hpc",
 * "hpc:rr", "hpc:topo,quantum:20", "hpc,quantum:0".
 */
int request_parse_sched(struct requested_container *c, const char *text, struct errbuf *err);

/* The priority of a container that names POLICY alone: topology-aware placement with hpc, else 0.
 */
unsigned request_default_priority(enum sched_policy policy);

/* The quantum of C in milliseconds where it gets POLICY; 0: none, or another policy than hpc. */
unsigned request_quantum(const struct requested_container *c, enum sched_policy policy);

/* The policy of that name -> request_dimmap.policy; 0: there is none. */
unsigned request_dimmap_policy(const char *name);

/* Could SOURCE name what a buffer is of? FILL be what is read at once? */
#define REQUEST_SOURCE_ALLOWED \
	"an absolute path of up to 255 bytes without blanks, \";\", \".\" and \"..\""
bool request_is_source(const char *source);
bool request_is_fill(uint64_t fill);

/* Every limit of a buffer; -1 with the reason. */
int request_check_dimmap(const struct request_dimmap *d, struct errbuf *err);

/* A size: "16G", "512MiB", "64k" (powers of 1024), or a number of bytes. */
int request_parse_bytes(const char *text, uint64_t *bytes);

/* "N", or a size: "16G", "512MiB", "64k" (powers of 1024) -> kind and value. */
int request_parse_mems(const char *text, enum mems_kind *kind, uint64_t *value, struct errbuf *err);

#endif
