/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_JOBPLAN_JOB_PLAN_H
#define NODEOS_JOBPLAN_JOB_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "manifest/request.h"
#include "topology/memory_kind.h"
#include "topology/refusal.h"

/*
 * A plan as text: its form between the unprivileged helper and root, and in the ledger.
 *
 *   nodeos-plan 1
 *   core 0,16                  every core of the job here, in logical order
 *   container sim cpus 0-3,16-19 reserved 0-3,16-19 mems 0-2 asked 8 confined 1 shared 0 kinds
 *     dram,hbm of 0-1;2          (one line) the kinds of its memory nodes, and the nodes of each
 *   why sim requests 8 threads lines "why TEXT" explain the container above
 *   deleted vda                its user has deleted this container (in the ledger only)
 *   end
 *
 * If there is no plan, the text is "error TEXT" and, if the planner has refused the request, a line
 * "refusal WORD" (enum plan_refusal), which earlier releases ignore.
 */
#define JOB_PLAN_TEXT_MAX (256u << 10)
#define JOB_PLAN_WHY_MAX 4096

struct planned_container {
	char name[REQUEST_NAME_MAX];
	struct idset cpus; /* CPUs that ranks may run on */
	struct idset reserved; /* CPUS and their idle siblings; no other container gets these */
	struct idset mems;
	unsigned kinds; /* kinds of memory in MEMS (bits of MEMORY_KIND_BIT); 0: unknown */
	/* the nodes of each kind in KINDS; all empty: unknown */
	struct idset kind_mems[MEMORY_KINDS];
	unsigned asked; /* hardware threads requested; 0: all that are left */
	bool confined; /* MEMS were chosen, and memory is bound to them */
	bool shared; /* another container also uses some of MEMS */
	bool deleted; /* all sets are empty */
	char why[JOB_PLAN_WHY_MAX];
};

struct job_plan {
	unsigned n_cores;
	struct idset *core;
	unsigned n;
	struct planned_container *container;
};

/* Return a new empty plan, or NULL when out of memory. job_plan_free() accepts NULL. */
struct job_plan *job_plan_new(void);
void job_plan_free(struct job_plan *p);

/* Append; return -1 when out of memory. */
int job_plan_add_core(struct job_plan *p, const struct idset *cpus);
struct planned_container *job_plan_add(struct job_plan *p, const char *name);

/* Add a line to the explanation of C. Text beyond JOB_PLAN_WHY_MAX bytes is dropped. */
void job_plan_add_why(struct planned_container *c, const char *line);

const struct planned_container *job_plan_find(const struct job_plan *p, const char *name);

/* Add the reserved CPUs of all containers to OUT. */
void job_plan_reserved(const struct job_plan *p, struct idset *out);

/*
 * Add the memory nodes of P's containers to OUT; CONFINED: only of confined containers. P may be
 * NULL.
 */
void job_plan_mems(const struct job_plan *p, bool confined, struct idset *out);

void job_plan_print(FILE *f, const struct job_plan *p);
void job_plan_print_error(FILE *f, const struct errbuf *err);

/*
 * Parse the text at *TEXT up to its line "end" and move *TEXT past that line. For a line "error",
 * returns -1 with its text and the refusal as the code. Accepts any bytes, and allocates a bounded
 * amount of memory.
 */
int job_plan_parse(struct job_plan **out, const char **text, struct errbuf *err);

#endif
