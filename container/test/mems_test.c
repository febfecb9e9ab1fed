/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares of jobs without containers: five blocks of 100 MiB, 2 to 6, of home 0, none of them near
 * the job's CPUs. */
#include "container/mems.h"

#include <stdlib.h>
#include <string.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

#define MIB (UINT64_C(1) << 20)

static struct block block[6] = {
	{ .node = 0, .home = 0, .usable = 500 * MIB, .present = 512 * MIB }
};
static struct blocks blocks = { .on = true, .n = 6, .block = block };
static struct mems_held held;
static const struct service_set service; /* none */

static void others(const char *containers, const char *shares, unsigned mib_each)
{
	memset(&held, 0, sizeof(held));
	if (*containers)
		held.containers = set_of(containers);
	if (*shares)
		held.shares = set_of(shares);
	for (int node = idset_next(&held.shares, -1); node >= 0;
	     node = idset_next(&held.shares, node))
		held.most[node] = held.even[node] = mib_each * MIB;
}

/* What a job of MIB MiB gets; PLAN: its containers' nodes, "" for none. */
static void gets(unsigned mib, const char *plan_mems, const char *want, const char *what)
{
	struct idset cpus, mems = set_of("0,2-6");
	const struct mems_given given = { mib * MIB, &cpus, &mems };
	struct job_plan *plan = *plan_mems ? job_plan_new() : NULL;
	struct ledger_job job = { .job_id = 1 };
	struct idset own = held.siblings;
	uint64_t needs;

	idset_zero(&cpus);
	if (plan) {
		struct planned_container *c = job_plan_add(plan, "sim");

		c->mems = set_of(plan_mems);
		c->confined = true;
		idset_or(&own, &c->mems);
	}
	needs = mib * MIB > blocks_usable(&blocks, &own) ? mib * MIB - blocks_usable(&blocks, &own)
							 : 0;
	mems_share(&job, &blocks, &held, plan, &given, &service);
	is(list_of(&job.share), want, "%s", what);
	ok(job.share_bytes == needs, "%s: and as much as it needs is noted", what);
	job_plan_free(plan);
}

int main(void)
{
	blocks.homes = set_of("0");
	blocks.nodes = set_of("2-6");
	for (unsigned i = 1; i < 6; i++)
		block[i] = (struct block){
			.node = i + 1, .home = 0, .usable = 100 * MIB, .present = 104 * MIB
		};
	others("", "", 0);
	gets(30, "", "2", "the first job, little: one block");
	gets(250, "", "2-4", "a larger one: as many as hold it");
	gets(9000, "", "2-6", "one that wants more than there is: all that is free");
	others("", "2", 30);
	gets(50, "", "2", "beside another: into what it leaves");
	gets(80, "", "3", "that is too little: a block of its own");
	gets(150, "", "3-4", "nor a part of it: where its memory goes, nobody knows");
	others("", "2-3", 100);
	held.even[2] = held.even[3] = 60 * MIB;
	gets(40, "", "4", "beside one with two blocks: either may be full");
	others("4-6", "2-3", 100);
	held.even[2] = held.even[3] = 60 * MIB;
	gets(30, "", "2", "if no block is free: where there is room if that is spread evenly");
	others("3-6", "2", 90);
	gets(50, "", "2", "no block is free: with the other, though there is too little room");
	others("4-6", "2-3", 100);
	gets(50, "", "2-3", "others' blocks are full: with them");
	others("2-6", "", 0);
	gets(50, "", "0", "containers have all blocks: what is left of the divided node");
	others("", "", 0);
	gets(90, "4", "4", "a job whose containers have its memory: its other ranks are there");
	gets(190, "4", "2", "a job with more memory than its containers: a block more");
	others("2-3,5-6", "", 0);
	gets(190, "4", "4", "and where none is free: with its own");
	held.siblings = set_of("4");
	gets(50, "", "4", "step containers are its own, too");
	return tap_done();
}
