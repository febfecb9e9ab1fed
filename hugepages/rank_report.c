/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/rank_report.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Write a summary of PROOF, such as "4 GiB in 3 extents of at least 1 GiB, node 1". AT_MOST: PROOF
 * is the worst of all ranks.
 */
static void put_summary(struct json_out *j, const struct reserve_given *e, const struct idset *mems,
			const struct page_runs *proof, bool at_most)
{
	uint64_t shortest = proof->shortest * e->page;
	bool gib = e->bytes % RESERVE_1G == 0;
	char text[256], list[128];

	snprintf(text, sizeof(text),
		 "%" PRIu64 " %s in %s%" PRIu64 " extent%s of %s%" PRIu64 " %s, node %s",
		 e->bytes >> (gib ? 30 : 20), gib ? "GiB" : "MiB",
		 at_most && proof->runs > 1 ? "at most " : "", proof->runs,
		 proof->runs == 1 ? "" : "s",
		 proof->shortest * proof->runs * e->page == e->bytes ? "" : "at least ",
		 shortest % RESERVE_1G ? shortest >> 20 : shortest >> 30,
		 shortest % RESERVE_1G ? "MiB" : "GiB", idset_brief(list, mems));
	jout_string(j, "summary", text);
}

static void put_calls(struct json_out *j, const struct rank_counted *c)
{
	jout_open(j, "calls", '[');
	for (unsigned i = 0; i < c->n_top; i++) {
		const char *name = rank_counts_call_name(c->top[i].call);
		char number[32];

		snprintf(number, sizeof(number), "number %u", c->top[i].call);
		jout_open(j, NULL, '{');
		jout_string(j, "name", name ? name : number);
		jout_number(j, "count", c->top[i].count);
		jout_close(j, '}');
	}
	jout_close(j, ']');
}

static void put_exits(struct json_out *j, const struct rank_counted *c)
{
	jout_open(j, "exits", '{');
	jout_number(j, "calls", c->exits[COUNT_CALLS]);
	jout_number(j, "windows", c->exits[COUNT_WINDOWS]);
	jout_number(j, "faults", c->exits[COUNT_FAULTS]);
	jout_number(j, "searches", c->exits[COUNT_SEARCHES]);
	jout_number(j, "signals", c->exits[COUNT_SIGNALS]);
	jout_close(j, '}');
}

/* The rank may have written any numbers. */
static void put_interrupt_rate(struct json_out *j, const struct rank_counted *c)
{
	double rate = c->run_ns ? (double)c->interrupts * 1e9 / (double)c->run_ns : 0;

	if (c->run_ns && rate < (double)INT64_MAX)
		jout_number(j, "interrupts_per_second", (uint64_t)rate);
}

static void put_counts(struct json_out *j, const struct rank_counted *c)
{
	jout_open(j, "counts", '{');
	put_exits(j, c);
	put_calls(j, c);
	if (c->ended) {
		jout_number(j, "run_ms", c->run_ns / 1000000);
		jout_number(j, "processor_exits", c->all_exits);
		jout_number(j, "interrupts", c->interrupts);
		put_interrupt_rate(j, c);
		jout_number(j, "nested_faults", c->nested_faults);
		jout_number(j, "calls_inside", c->answered);
		jout_number(j, "faults", c->host_faults);
		jout_number(j, "used_bytes", c->used);
		jout_number(j, "outside_mappings", c->outside_mappings);
		jout_number(j, "outside_bytes", c->outside);
	}
	jout_close(j, '}');
}

void guest_report_json(struct json_out *j, const struct reserve_given *e, unsigned extents,
		       const struct idset *mems, unsigned ranks)
{
	jout_open(j, "guest", '{');
	jout_number(j, "memory_bytes", e->bytes * extents);
	jout_number(j, "page_bytes", e->page);
	jout_number(j, "shortest_bytes", e->proof.shortest * e->page);
	jout_set(j, "mems", mems);
	jout_number(j, "ranks", ranks);
	jout_close(j, '}');
}

void rank_report_json(struct json_out *j, const struct reserve_given *e, const struct idset *mems,
		      const struct page_runs *own, const struct rank_counted *c)
{
	const struct page_runs *proof = own->runs ? own : &e->proof;

	jout_open(j, "lwk", '{');
	jout_number(j, "memory_bytes", e->bytes);
	jout_number(j, "page_bytes", e->page);
	jout_number(j, "extents", proof->runs);
	jout_number(j, "shortest_bytes", proof->shortest * e->page);
	jout_set(j, "mems", mems);
	put_summary(j, e, mems, proof, !own->runs);
	if (c->known)
		put_counts(j, c);
	jout_close(j, '}');
}
