/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MANIFEST_CHOICE_H
#define NODEOS_MANIFEST_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "manifest/request.h"

/*
 * --nodeos-container: which container which rank of a step goes into.
 *
 *   NAME                          every rank
 *   NAME:RANKS[,NAME:RANKS]...    RANKS a list of ranks of the step as in 0-20,22
 *
 * NAME is a container's or "none". Ranks that nobody names get what the containers
 * leave. The text reaches a node from a user's hand: bounded, trusts nothing, libc only.
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

/* Parse TEXT; a rank may be named once only. *OUT is not to be used on failure. */
int choice_parse(struct choice *out, const char *text, struct errbuf *err);

/* The container of this rank of the step, or NULL: it is not named. */
const char *choice_of(const struct choice *c, uint32_t rank);

/* Every name must be a container of R, or "none"; -1 names the first that is not. */
int choice_check_names(const struct choice *c, const struct request *r, struct errbuf *err);

/* No rank of the second form may be N_RANKS or more. */
int choice_check_ranks(const struct choice *c, uint32_t n_ranks, struct errbuf *err);

#endif
