/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_REPORT_MERGED_H
#define NODEOS_REPORT_MERGED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "manifest/request.h"

/*
 * Merge reports of several nodes: JSON documents of nodeosctl report and show, and of a launch
 * (--nodeos-report). The documents are not trusted: a text is refused unless it follows
 * doc/nodeos-report.schema.json, and all output is printable.
 */
#define MERGED_TEXT_MAX (64u << 20) /* bytes of one document */
#define MERGED_VALUES_MAX (1u << 21) /* values in one document */
#define MERGED_NAME_MAX 256
#define MERGED_NODES_MAX 65536
#define MERGED_CONTAINERS_MAX 4096 /* containers of a node: as many as it can have CPUs */

struct merged_container {
	char name[REQUEST_NAME_MAX];
	uint32_t job;
	char user[64]; /* "alice", "uid 1000" */
	char asked[160]; /* "cpus=12 mems=3" */
	struct idset cpus, reserved, mems;
	bool confined;
	char policy[24];
	char outcome[16]; /* the worst outcome of its isolators */
	long processes, irqs, threads; /* -1: not in the report */
	struct idset irq_cpus; /* CPUs where named interrupts arrive */
	uint64_t used, total; /* used and total bytes on its memory nodes; 0 and 0: unknown */
};

struct merged_part {
	unsigned package;
	struct idset mems;
	unsigned n_cores;
	struct idset *core;
};

struct merged_node {
	char name[MERGED_NAME_MAX];
	struct idset service_cpus, service_mems; /* mems: its own only */
	unsigned n_containers;
	struct merged_container *container;
	unsigned n_parts; /* 0: the reports do not describe the machine */
	struct merged_part *part;
};

struct json_object;

struct merged {
	unsigned n_nodes;
	struct merged_node *node; /* merged_done sorts them by name */
	unsigned n_missing;
	struct merged_missing {
		char node[MERGED_NAME_MAX];
		char reason[256];
	} * missing; /* nodes without a report */
	unsigned n_differences;
	char **difference; /* a line each */
	struct json_object *reports; /* the documents, unchanged */
};

/*
 * Add TEXT, a document of kind "node", "step" or "nodes"; messages call it NAME. Before the first
 * call *M is all zeros.
 */
int merged_add(struct merged *m, const char *name, const char *text, size_t len,
	       struct errbuf *err);
int merged_add_file(struct merged *m, const char *path, struct errbuf *err); /* "-": standard input
									      */
int merged_add_missing(struct merged *m, const char *node, const char *reason);

/* Call after the last addition: sort, and find the differences between nodes. */
int merged_done(struct merged *m, struct errbuf *err);

void merged_free(struct merged *m);

/* List the containers of M, sorted; containers of one name on several nodes count once. The caller
 * frees *OUT. */
struct merged_key {
	uint32_t job;
	char name[REQUEST_NAME_MAX];
	/*
	 * 0 for a node's first container of this job and name; 1, 2... for further ones, which are
	 * step containers
	 */
	unsigned turn;
};

int merged_keys(const struct merged *m, struct merged_key **out, unsigned *n);
const struct merged_container *merged_find(const struct merged_node *node,
					   const struct merged_key *key);

#endif
