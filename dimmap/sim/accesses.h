/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_DIMMAP_SIM_ACCESSES_H
#define NODEOS_DIMMAP_SIM_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/errbuf.h"

/*
 * What programs did with pages of files, in its order. Pages have numbers, in the order in which
 * they are first touched, so that what belongs to a page is in an array.
 */
struct accesses {
	uint32_t *page; /* its number; ACCESS_WRITE: a write */
	size_t n, room;
	/* of page I: its file << 48 | its index there, as the policies know it */
	uint64_t *key;
	uint32_t pages, pages_room;
	uint32_t *slot; /* of a hash table of the keys: number + 1, or 0 */
	size_t slots;
	uint64_t *file_pages; /* of file I */
	unsigned files;
	uint64_t writes;
};

#define ACCESS_WRITE (1u << 31)
#define ACCESSES_MAX (UINT32_MAX - 1) /* and half as many pages */
#define ACCESS_FILES_MAX 1024

static inline uint32_t access_page(const struct accesses *a, size_t i)
{
	return a->page[i] & ~ACCESS_WRITE;
}

static inline bool access_write(const struct accesses *a, size_t i)
{
	return a->page[i] & ACCESS_WRITE;
}

/*
 * All of these return 0, or -1 with ERR, and A is good for accesses_free() only then. A begins as
 * zeros.
 */

/* Another file, of so many pages; what is added from now on is of this one. */
int accesses_file(struct accesses *a, uint64_t pages, struct errbuf *err);
int accesses_add(struct accesses *a, uint64_t index, bool write, struct errbuf *err);

/* All of a page trace (dimmap/load/trace.h), as another file. */
int accesses_read(struct accesses *a, const char *path, struct errbuf *err);
int accesses_parse(struct accesses *a, FILE *f, const char *name, struct errbuf *err);

/* An order of accesses to one file. */
struct pattern {
	enum pattern_kind {
		PATTERN_UNIFORM,
		PATTERN_ZIPF,
		PATTERN_DRIFT,
		PATTERN_SCAN,
		PATTERN_LOOP
	} kind;
	double a; /* of zipf and drift; of loop: percent of the pages that are hot */
};

/* "uniform", "zipf:A", "drift:A", "scan" or "loop:H"; -1 with ERR. */
int sim_pattern_parse(struct pattern *p, const char *text, struct errbuf *err);

/* Accesses to be made up. */
struct accesses_wish {
	struct pattern pattern;
	uint64_t size; /* pages */
	uint64_t n;
	unsigned writes; /* percent of the accesses */
	uint64_t seed;
};

int accesses_make(struct accesses *a, const struct accesses_wish *w, struct errbuf *err);

void accesses_free(struct accesses *a);

#endif
