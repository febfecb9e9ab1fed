/* SPDX-License-Identifier: GPL-2.0-or-later */
/* New CPUs of ranks; expected values by hand. */
#include "placement/place_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"

/*
 * Two sockets of four cores of two threads: core c has CPUs 2c and 2c+1; cores 0-3 are domain 0,
 * cores 4-7 domain 1.
 */
static struct idset core[8], domain[2];

static void make_machine(void)
{
	for (unsigned c = 0; c < 8; c++) {
		idset_zero(&core[c]);
		idset_add(&core[c], 2 * c);
		idset_add(&core[c], 2 * c + 1);
		idset_or(&domain[c / 4], &core[c]);
	}
}

/* RANKS: "0-1D 2-3D 8-9T ..."; a letter D, S, T or U is the class; "!" after it fixes the rank. */
static unsigned parse_ranks(struct place_rank *rank, const char *text)
{
	char copy[256], *save;
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		size_t end = strcspn(w, "DSTU");
		char class = w[end];

		rank[n] = (struct place_rank){ .fixed = w[end + 1] == '!' };
		rank[n].class = class == 'D'   ? RANK_DEVIL
				: class == 'S' ? RANK_SEMI_DEVIL
				: class == 'T' ? RANK_TURTLE
					       : RANK_UNKNOWN;
		w[end] = 0;
		idset_parse(&rank[n++].cpus, w, NULL);
	}
	return n;
}

static void check_place(const char *ranks, unsigned cores, enum place_reason reason,
			const char *want, const char *what)
{
	struct place_rank rank[16];
	struct idset next[16];
	struct place_ask a = {
		.n_cores = cores, .core = core, .n_domains = 2, .domain = domain, .rank = rank
	};
	char got[512] = "";
	unsigned moved;
	enum place_reason is;

	a.n = parse_ranks(rank, ranks);
	is = place_ranks(place_policy_find("dino"), &a, next, &moved);
	for (unsigned i = 0; i < a.n; i++) {
		char text[64];

		idset_format(&next[i], text, sizeof(text));
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "", text);
	}
	if (!ok(is == reason && strcmp(got, want) == 0, "%s", what))
		diag("%s, %u moved: %s", place_reason_text(is), moved, got);
}

int main(void)
{
	make_machine();
	check_place("0-1D 2-3D 8-9T 10-11T", 8, PLACE_MOVES, "0-1 10-11 8-9 2-3",
		    "two devils on one socket: the second changes places with the last turtle");
	check_place("0-1D 8-9D 2-3T 10-11T", 8, PLACE_RIGHT, "0-1 8-9 2-3 10-11",
		    "a devil and a turtle on each socket: nothing moves");
	check_place("0-1T 2-3T 8-9T 10-11T", 8, PLACE_RIGHT, "0-1 2-3 8-9 10-11",
		    "turtles that are spread evenly stay");
	check_place("0-1D 2-3D", 8, PLACE_MOVES, "0-1 8-9",
		    "two devils alone: the second goes to a free core");
	check_place("0-1D 2-3D", 4, PLACE_ONE_DOMAIN, "0-1 2-3",
		    "a container of one domain: nothing to do");
	check_place("0-15D 0-15D", 8, PLACE_NONE_APART, "0-15 0-15",
		    "ranks that share all cores stay");
	check_place("0-3D 4-7D 8-11T 12-15T", 8, PLACE_MOVES, "0-3 12-15 8-11 4-7",
		    "ranks of two cores move whole");
	check_place("0D 2D 8T 11T", 8, PLACE_MOVES, "0 10 8 3",
		    "a rank with the first thread of a core has the first thread of the new one");
	check_place("0D 1T 2D 3T 8T 9T 10T 11T", 8, PLACE_MOVES, "0 1 10 11 8 9 2 3",
		    "ranks that share a core move together, by the worst of their classes");
	check_place("0-1D! 2-3D! 8-9T 10-11T", 8, PLACE_RIGHT, "0-1 2-3 8-9 10-11",
		    "ranks that are fixed stay");
	check_place("0-1D! 2-3D 8-9T 10-11T", 8, PLACE_MOVES, "0-1 10-11 8-9 2-3",
		    "a devil that shares a domain with a fixed devil moves");
	check_place("0-1T 2-3T! 8-9T", 8, PLACE_RIGHT, "0-1 2-3 8-9",
		    "a turtle stays if its move would only make another domain as full");
	check_place("0-1D 2-3D! 4-5D! 8-9T", 8, PLACE_MOVES, "10-11 2-3 4-5 8-9",
		    "a devil beside two fixed devils moves");
	check_place("6-9D 0-1D 2-3D 10-11T 12-13T", 8, PLACE_MOVES, "6-9 0-1 12-13 10-11 2-3",
		    "a rank with cores of two domains stays, and keeps its cores");
	check_place("0-1U 2-3U 8-9D", 8, PLACE_RIGHT, "0-1 2-3 8-9",
		    "ranks of unknown class count as turtles");
	check_place("", 8, PLACE_NONE_APART, "", "a container without ranks: nothing to do");
	return tap_done();
}
