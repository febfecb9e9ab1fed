/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_REQUEST_H
#define NODEOS_MANIFEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "manifest/contention_name.h"
#include "manifest/isolator_name.h"
#include "manifest/mems_policy.h"
#include "manifest/partition_name.h"
#include "manifest/policy_name.h"
#include "manifest/request_limits.h"
#include "manifest/request_lwk.h"
#include "topology/plan.h" /* enum mems_kind */

/*
 * The request: what a job requests on every node, made from a manifest or from options. It travels
 * to nodes in no other form. It is in the job's environment, where any user can forge it, so the
 * parser trusts nothing; it needs libc only.
 *
 * Its canonical text is one line of printable ASCII, which survives environment dumps; records end
 * with ';', and fields are separated by one blank:
 *
 *   nodeos 1;c=sim cpus=44 mems=44 policy=hpc;c=vda cpus=2 smt=1 mems=17179869184b
 *   ignored=power,monitoring;
 *
 * Fields are in this order, and a field with its default is left out: cpus (0: all that is left),
 * smt (0: all threads), mems (N, or Nb for bytes, or KIND:N or KIND:Nb of kinds of memory), policy
 * (none: nodeos.conf's default), prio (0, which also means 1 for fifo and rr), quantum
 * (milliseconds, with hpc only; none: the node decides), partition (member), dimmap (bytes of a
 * buffer; none: no buffer) and with it dimmap_source, dimmap_policy and dimmap_fill (none:
 * dimmapfs's own default), dimmap_access (rw), ignored (the isolators of request_ignored_name that
 * the manifest names, in table order), the numbers of RANK_NUMBERS by their names (none:
 * unchanged), contention (a word of contention_name.h; none: nodeos.conf's default), placement (a
 * word of placement_word.h; none: packed, or spread where needed), memory, memory_request,
 * bandwidth and iops (request_limits.h; none: no limit), thp (never or always; none: unchanged),
 * mems_policy (a word of mems_policy.h; none: bind), cores (a word of placement_word.h; none: the
 * fastest kind that suffices), and lwk (bytes; none: no machine) with lwk_page (a word of
 * request_lwk.h) and lwk_loose (yes). A text that is not canonical is refused, so equal requests
 * are equal texts.
 */
#define REQUEST_TEXT_MAX 98304 /* bytes with the final NUL */
#define REQUEST_CONTAINERS_MAX 64
#define REQUEST_NAME_MAX 64 /* bytes with the final NUL */
/* number of CPUs; no node has more, and sums cannot overflow */
#define REQUEST_CPUS_MAX 1048576
#define REQUEST_SMT_MAX 64 /* threads of one core; no processor has more than 8 */
#define REQUEST_MEMS_MAX 4096 /* memory nodes */
#define REQUEST_MEMS_ALLOWED "1 to 4096, or for example 512M, 16G, 16GiB"
#define REQUEST_WANTS_ALLOWED "dram, hbm, spm, unknown, cxl, nvm, gpu" /* kinds of memory */
#define REQUEST_BYTES_MAX (UINT64_C(1) << 60)

/* A buffer of dimmapfs. */
#define REQUEST_DIMMAP_MIN (UINT64_C(1) << 20) /* bytes */
#define REQUEST_DIMMAP_MAX (UINT64_C(1) << 43) /* the limit of dimmapfs */
#define REQUEST_FILL_MIN 4096u /* bytes of one read, a power of two */
#define REQUEST_FILL_MAX (2u << 20)
#define REQUEST_SOURCE_MAX 256 /* bytes of a path with the final NUL */

extern const char *const request_dimmap_policies[]; /* NULL-terminated */

struct request_dimmap {
	uint64_t size; /* bytes; 0: no buffer, and all members below are unset */
	char source[REQUEST_SOURCE_MAX]; /* a block device or a file */
	unsigned policy; /* 1 + index in request_dimmap_policies; 0: the default */
	unsigned fill; /* bytes; 0: the default */
	bool read_only;
};

/*
 * Isolators of Argo and AppC that are accepted and have no effect: bit i of "ignored" is name i.
 * Names that are now in manifest_isolators occur only in requests of older releases. Argo's
 * isolators have the bare name ("power"), AppC's have their family ("resource/cpu"), so a name with
 * a '/' has no "argo/" spelling.
 */
extern const char *const request_ignored_name[]; /* NULL-terminated */

/* Return the index of NAME in request_ignored_name, or -1. */
int request_ignored_index(const char *name);

/* Return the number of names in request_ignored_name, less than 32. */
unsigned request_ignored_count(void);

struct requested_container {
	char name[REQUEST_NAME_MAX];
	unsigned cpus;
	unsigned smt;
	enum mems_kind mems_kind;
	uint64_t mems;
	struct mems_want want[MEMS_WANTS_MAX]; /* by kind, ascending; with MEMS_WANTS only */
	unsigned n_wants;
	enum mems_policy mems_policy;
	enum sched_policy policy; /* POLICY_UNSET: the site's default */
	unsigned priority; /* enum hpc_placement with hpc */
	bool quantum_named; /* false: the node decides */
	unsigned quantum; /* milliseconds; 0: no limit */
	enum partition partition;
	struct request_dimmap dimmap;
	uint32_t ignored;
	struct rank_value number[RANK_NUMBER_COUNT];
	enum contention_policy contention;
	enum placement_word placement;
	struct request_limits limits;
	enum cores_word cores;
	struct request_lwk lwk;
};

struct request {
	unsigned n;
	struct requested_container container[REQUEST_CONTAINERS_MAX];
};

/*
 * Check that NAME is an AppC ACIdentifier, and not "none", which has a meaning as an option's
 * value. Returns 0, or -1 with the reason.
 */
int request_check_name(const char *name, struct errbuf *err);

/* Return the index of NAME in R, or -1. */
int request_find(const struct request *r, const char *name);

/*
 * Check every limit and cross-field rule of R: unique names, ranges, a priority that its policy
 * allows, at most one container with all CPUs that are left.
 */
int request_check(const struct request *r, struct errbuf *err);

/* Write "--nodeos-container=NAME: no such container (there are: sim, vda; or none)". Returns -1. */
int request_no_such(const struct request *r, const char *name, struct errbuf *err);

/*
 * Return whether C requests the isolator ID. Each container has CPUs, so ISOLATOR_CPUS is always
 * true. False for memory nodes and a scheduling policy that the site's defaults decide, for the
 * partition "member", which means no partition, and for an ID that is not an isolator.
 */
bool request_container_wants(const struct requested_container *c, enum isolator_id id);

/* Return whether a container of R requests the isolator ID; false for an empty R. */
bool request_wants(const struct request *r, enum isolator_id id);

/* Write the canonical text of a valid R to BUF. Returns its length, or -1 when it does not fit. */
int request_format(const struct request *r, char *buf, size_t size, struct errbuf *err);

/* Parse canonical text. *R is untouched on failure. */
int request_parse(struct request *r, const char *text, struct errbuf *err);

/*
 * Parse the value of --nodeos-sched to policy, priority and quantum of C: "other", "fifo:10",
 * "hpc", "hpc:rr", "hpc:topo,quantum:20", "hpc,quantum:0".
 */
int request_parse_sched(struct requested_container *c, const char *text, struct errbuf *err);

/*
 * Return the priority of a container that gives POLICY without a priority: topology-aware placement
 * with hpc, else 0.
 */
unsigned request_default_priority(enum sched_policy policy);

/*
 * Return the quantum of C in milliseconds if C gets POLICY; 0: no quantum, or a policy other than
 * hpc.
 */
unsigned request_quantum(const struct requested_container *c, enum sched_policy policy);

/* Return the request_dimmap.policy of NAME, or 0 for an unknown name. */
unsigned request_dimmap_policy(const char *name);

/* Return whether SOURCE is a valid path of a buffer's source, and FILL a valid size of one read. */
#define REQUEST_SOURCE_ALLOWED \
	"an absolute path of up to 255 bytes without blanks, \";\", \".\" and \"..\""
bool request_is_source(const char *source);
bool request_is_fill(uint64_t fill);

/* Check every limit of a buffer. Returns 0, or -1 with the reason. */
int request_check_dimmap(const struct request_dimmap *d, struct errbuf *err);

/* Parse a size: "16G", "512MiB", "64k" (powers of 1024), or a number of bytes. Returns 0 or -1. */
int request_parse_bytes(const char *text, uint64_t *bytes);

/*
 * Parse the value of --nodeos-mems to the memory of C: "N", a size ("16G", "512MiB", "64k", powers
 * of 1024), or amounts by kind ("dram:1,hbm:16G"); ",policy:WORD" may follow.
 */
int request_parse_mems(struct requested_container *c, const char *text, struct errbuf *err);

/*
 * Add WANT to the wants of C, in the order of kinds. Returns 0, or -1 with the reason.
 */
int request_add_want(struct requested_container *c, const struct mems_want *want,
		     struct errbuf *err);

#endif
