/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_TEST_LEDGER_FIXTURE_H
#define NODEOS_CONTAINER_TEST_LEDGER_FIXTURE_H

/*
 * A ledger in the scratch directory: its entries are in "state"; plain directories below "cg" stand
 * for cgroups.
 */
#include "base/test/fixture.h"
#include "container/ledger.h"

static int root;
static char state[128];

static void ledger_fixture(void)
{
	struct errbuf err;
	char path[256];

	scratch_make();
	scratch_dir("cg");
	snprintf(path, sizeof(path), "%s/cg", scratch);
	snprintf(state, sizeof(state), "%s/state", scratch);
	root = cgroup_open_root(path, &err);
}

/* Make the directory DIR below "cg". Returns its inode. */
static uint64_t cgroup_dir(const char *dir)
{
	char path[256];

	snprintf(path, sizeof(path), "cg/%s", dir);
	scratch_dir(path);
	return cgroup_inode(root, dir);
}

/* Return a new job with number ID, of user UID, whose directory is DIR. */
static struct ledger_job *job_in(const char *dir, uint32_t id, uid_t uid)
{
	struct cgroup_place place = { .job_inode = cgroup_dir(dir) };

	snprintf(place.job, sizeof(place.job), "%s", dir);
	return ledger_job_new(&place, id, uid);
}

#endif
