/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_CHOICE_H
#define NODEOS_MANIFEST_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "manifest/request.h"

/*
 * --nodeos-container: the containers of a step's ranks.
 *
 *   NAME                          every rank
 *   NAME:RANKS[,NAME:RANKS]...    RANKS: ranks of the step, such as 0-20,22
 *
 * NAME is a container's name or "none". Ranks outside all lists get what the containers leave. The
 * text comes to a node from a user: the parser is bounded, trusts nothing and needs libc only.
 */
#define CHOICE_RANGES_MAX 256
#define CHOICE_NONE "none"

struct choice {
	bool by_rank; /* the second form */
	unsigned n;
	struct choice_range {
		char name[REQUEST_NAME_MAX];
		uint32_t first;
		uint32_t last;
	} range[CHOICE_RANGES_MAX];
};

/* Parse TEXT; a rank may be in one list only. *OUT is undefined on failure. */
int choice_parse(struct choice *out, const char *text, struct errbuf *err);

/* Return the container of this rank of the step, or NULL when no list has it. */
const char *choice_of(const struct choice *c, uint32_t rank);

/* Check that every name is a container of R or "none"; the error has the first other name. */
int choice_check_names(const struct choice *c, const struct request *r, struct errbuf *err);

/* Check that no rank of a list is N_RANKS or more. */
int choice_check_ranks(const struct choice *c, uint32_t n_ranks, struct errbuf *err);

#endif
