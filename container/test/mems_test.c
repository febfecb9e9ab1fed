/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of jobs. Physical node 0 has a home, node 0, and five blocks of 100 MiB, nodes 2 to 6,
 * none of them near the job's CPUs.
 */
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
static struct mems_in_use held;
static const struct service_set service; /* none */

static void set_others(const char *containers, const char *shares, unsigned mib_each)
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

/*
 * Check that the share of a job with MIB MiB of memory is WANT. PLAN_MEMS: the memory nodes of its
 * containers, "" for none.
 */
static void check_share(unsigned mib, const char *plan_mems, const char *want, const char *what)
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
	ok(job.share_bytes == needs, "%s: share_bytes is set", what);
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
	set_others("", "", 0);
	check_share(30, "", "2", "a small first job gets one block");
	check_share(250, "", "2-4", "a larger job gets as many blocks as hold it");
	check_share(9000, "", "2-6", "a job that needs more than all free blocks gets all of them");
	set_others("", "2", 30);
	check_share(50, "", "2", "a job gets the block of another job with enough space");
	check_share(80, "", "3", "a job gets its own block if another job's has too little space");
	check_share(150, "", "3-4",
		    "a job gets no part of another job's block that may become full");
	set_others("", "2-3", 100);
	held.even[2] = held.even[3] = 60 * MIB;
	check_share(40, "", "4",
		    "a job gets a free block if either block of another job may become full");
	set_others("4-6", "2-3", 100);
	held.even[2] = held.even[3] = 60 * MIB;
	check_share(30, "", "2",
		    "without a free block, a job shares a block that has space if other jobs fill "
		    "their blocks evenly");
	set_others("3-6", "2", 90);
	check_share(50, "", "2",
		    "without a free block, a job shares a block with too little space");
	set_others("4-6", "2-3", 100);
	check_share(50, "", "2-3", "without space, a job shares the full blocks of other jobs");
	set_others("2-6", "", 0);
	check_share(50, "", "0",
		    "if containers have all blocks, a job gets the home of the divided node");
	set_others("", "", 0);
	check_share(90, "4", "4", "a job whose containers have all its memory shares their nodes");
	check_share(190, "4", "2",
		    "a job with more memory than its containers gets a further block");
	set_others("2-3,5-6", "", 0);
	check_share(190, "4", "4",
		    "without a free block, a job's other ranks share its container's");
	held.siblings = set_of("4");
	check_share(50, "", "4", "memory nodes of the job's step containers can be shared");
	return tap_done();
}
