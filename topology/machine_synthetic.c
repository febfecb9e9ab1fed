/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/machine_synthetic.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"

#define LEVELS_MAX 12
/* largest number of siblings: hwloc compares all pairs, and 4096 would take 10 seconds */
#define BESIDE_MAX 1024
#define EXAMPLE "a machine such as \"package:2 core:4 pu:2\""

struct reader {
	const char *at;
	struct errbuf *err;
	unsigned cpus, nodes; /* numbers of the last level's objects and of nodes in brackets */
	unsigned levels, typed;
	unsigned types; /* types of the levels so far, as bits 1 << hwloc_obj_type_t */
	bool ends_in_pus, ends_typed;
};

/* Write the error WHAT to R->err, with a short piece of the description at AT. */
static int synthetic_bad(struct reader *r, const char *at, const char *what)
{
	char shown[25];

	snprintf(shown, sizeof(shown), "%s", at);
	for (char *c = shown; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return errprintf(r->err, "at \"%s\": %s (expected " EXAMPLE ", or FILE.xml)", shown, what);
}

static bool synthetic_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read a decimal number. Returns MOST + 1 if it is above MOST, or 0 if there is no digit. */
static unsigned synthetic_number(struct reader *r, unsigned most)
{
	unsigned n = 0;

	for (; synthetic_is_digit(*r->at); r->at++)
		if (n <= most)
			n = n * 10 + (unsigned)(*r->at - '0');
	return n <= most ? n : most + 1;
}

/* Read a list such as "0,4,1,5": TOTAL ids, all different. */
static int synthetic_read_list(struct reader *r, unsigned total)
{
	const char *start = r->at;
	struct idset seen;
	unsigned n = 0;

	idset_zero(&seen);
	for (;; r->at++) {
		unsigned id;

		if (!synthetic_is_digit(*r->at))
			return synthetic_bad(r, start,
					     "indexes must be ids with commas between them");
		id = synthetic_number(r, IDSET_MAX - 1);
		if (id >= IDSET_MAX)
			return errprintf(r->err,
					 "an index is beyond the %d ids that NodeOS handles",
					 IDSET_MAX);
		if (idset_has(&seen, id))
			return synthetic_bad(r, start, "an index occurs twice");
		idset_add(&seen, id);
		n++;
		if (*r->at != ',')
			break;
	}
	return n == total ? 0 : synthetic_bad(r, start, "each object needs one index");
}

/* Read "2*4:1*2". */
static int read_loops(struct reader *r, unsigned total)
{
	const char *start = r->at;
	unsigned product = 1;

	for (;; r->at++) {
		unsigned step = synthetic_number(r, total), most = total / product, n = 0;

		if (step && step <= total && *r->at == '*') {
			r->at++;
			n = synthetic_number(r, most);
		}
		if (!n || n > most)
			return synthetic_bad(r, start, "these steps do not interleave the objects");
		product *= n;
		if (*r->at != ':')
			return 0;
	}
}

/* Read level names such as "core:pu". Refuses names of later levels, on which hwloc aborts. */
static int read_names(struct reader *r)
{
	const char *start = r->at;

	for (;; r->at++) {
		hwloc_obj_type_t type;

		if (hwloc_type_sscanf(r->at, &type, NULL, 0) < 0 || !(r->types & 1u << type))
			return synthetic_bad(
				r, start,
				"indexes name a level that does not exist or comes later");
		r->at += strcspn(r->at, ": )]");
		if (*r->at != ':')
			return 0;
	}
}

static int read_indexes(struct reader *r, unsigned total)
{
	size_t list = strspn(r->at, "0123456789,");

	if (synthetic_is_digit(*r->at))
		return r->at[list] == '*' ? read_loops(r, total) : synthetic_read_list(r, total);
	return read_names(r);
}

/* Read attributes such as "(memory=1GB indexes=0,1)" of a level with TOTAL objects. */
static int read_attrs(struct reader *r, unsigned total)
{
	const char *start = r->at++;

	while (*r->at != ')') {
		if (strncmp(r->at, "indexes=", 8) == 0) {
			r->at += 8;
			if (read_indexes(r, total) < 0)
				return -1;
		} else {
			r->at += strcspn(r->at, " )");
		}
		if (*r->at != ' ' && *r->at != ')')
			return synthetic_bad(r, start, "this bracket is not closed");
		r->at += strspn(r->at, " ");
	}
	r->at++;
	return 0;
}

/* Read a memory node for each object of the last level, such as "[numa(memory=1GB)]". */
static int read_memory(struct reader *r)
{
	const char *start = r->at++;
	hwloc_obj_type_t type;

	if (hwloc_type_sscanf(r->at, &type, NULL, 0) < 0 || type != HWLOC_OBJ_NUMANODE)
		return synthetic_bad(r, start, "only memory (numa) can be in brackets");
	r->at += strcspn(r->at, " (]");
	r->nodes += r->cpus;
	if (r->nodes > IDSET_MAX)
		return errprintf(r->err, "memory node %d is beyond the %d ids that NodeOS handles",
				 IDSET_MAX, IDSET_MAX);
	if (*r->at == '(' && read_attrs(r, r->cpus) < 0)
		return -1;
	if (*r->at != ']')
		return synthetic_bad(r, start, "this bracket is not closed");
	r->at++;
	return 0;
}

/* Read "core:4(...)", or "4" alone. */
static int read_level(struct reader *r)
{
	const char *start = r->at;
	hwloc_obj_type_t type = HWLOC_OBJ_PU;
	bool typed = !synthetic_is_digit(*r->at);
	unsigned n;

	if (++r->levels > LEVELS_MAX)
		return synthetic_bad(r, start, "too many levels");
	if (typed) {
		r->at += strcspn(r->at, ": ");
		if (*r->at != ':')
			return synthetic_bad(
				r, start,
				"neither a level with a number of objects, nor the name of a "
				"file: it must end in .xml or have a /");
		r->at++;
		if (strncmp(start, "Tile", 4) == 0 || strncmp(start, "Module", 6) == 0)
			type = HWLOC_OBJ_GROUP;
		else if (hwloc_type_sscanf(start, &type, NULL, 0) < 0)
			return synthetic_bad(r, start, "hwloc has no such type of object");
		if (type == HWLOC_OBJ_MACHINE ||
		    (!hwloc_obj_type_is_normal(type) && type != HWLOC_OBJ_NUMANODE))
			return synthetic_bad(r, start, "objects of this type hold no CPUs");
		if (type != HWLOC_OBJ_GROUP && (r->types & 1u << type))
			return synthetic_bad(r, start, "another level has the same type");
		r->types |= 1u << type;
	}
	r->typed += typed;
	r->ends_typed = typed;
	r->ends_in_pus = type == HWLOC_OBJ_PU;
	n = synthetic_number(r, IDSET_MAX);
	if (!n)
		return synthetic_bad(r, start, "a level needs at least one object");
	if (n > IDSET_MAX / r->cpus)
		return errprintf(r->err, "CPU %d is beyond the %d ids that NodeOS handles",
				 IDSET_MAX, IDSET_MAX);
	if (n > BESIDE_MAX)
		return errprintf(r->err,
				 "a level has %u objects in each object above, but at most %d are "
				 "allowed: group them (such as \"package:8 core:512 pu:1\")",
				 n, BESIDE_MAX);
	r->cpus *= n;
	return *r->at == '(' ? read_attrs(r, r->cpus) : 0;
}

int machine_synthetic_check(const char *description, struct errbuf *err)
{
	struct reader r = { .at = description, .err = err, .cpus = 1 };

	if (*r.at == '(' && read_attrs(&r, 1) < 0)
		return -1;
	for (;;) {
		r.at += strspn(r.at, " \n");
		if (!*r.at)
			break;
		if ((*r.at == '[' ? read_memory(&r) : read_level(&r)) < 0)
			return -1;
	}
	if (!r.levels)
		return errprintf(err,
				 "the description is empty (expected " EXAMPLE ", or FILE.xml)");
	if (!r.ends_in_pus)
		return errprintf(err, "the last level must be PUs (hardware threads): end the text "
				      "with \"pu:1\" (such as \"package:2 core:4 pu:2\")");
	if (r.typed - r.ends_typed != 0 && r.typed - r.ends_typed != r.levels - 1)
		return errprintf(err, "some levels have a type and others do not (expected " EXAMPLE
				      ", or FILE.xml)");
	if (r.nodes && (r.types & 1u << HWLOC_OBJ_NUMANODE))
		return errprintf(err, "NUMA nodes are both a level and in brackets: hwloc takes "
				      "one or the other");
	return 0;
}
