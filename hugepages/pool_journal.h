/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HUGEPAGES_POOL_JOURNAL_H
#define NODEOS_HUGEPAGES_POOL_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "host/cgroup.h"
#include "hugepages/pool.h"

/*
 * What a step has added to the kernel's pools: a file of root in a directory beside the ledger, and
 * like the ledger in memory. The file is written before each change, so that the next process can
 * undo what a killed process has done.
 */
#define POOL_PARTS_MAX 512
#define POOL_ENTRY_MAX (64u << 10) /* bytes of a file */

/* A change that may be going on, or was interrupted. */
enum pool_change {
	POOL_STABLE,
	POOL_RAISING,
	POOL_LOWERING,
};

struct pool_part {
	struct pool pool;
	enum pool_change change;
	uint64_t before; /* persistent pages of the pool before the change */
	uint64_t pages; /* that the step has added, or that RAISING was to add */
};

struct pool_entry {
	uint64_t step_inode, job_inode; /* inodes of the directories in Slurm's cgroup tree */
	char cgroup[CGROUP_PATH_MAX]; /* path of the step's directory */
	unsigned n;
	struct pool_part part[POOL_PARTS_MAX];
};

/* Write E as the text of a file. Returns its length, or -1 when it does not fit. */
int pool_entry_format(char *buf, size_t size, const struct pool_entry *e);

/* Parse the text of a file. Returns 0, or -1 with the reason; *E is then undefined. */
int pool_entry_parse(struct pool_entry *e, const char *text, struct errbuf *err);

/*
 * Correct P after a change that may have been interrupted: the pool has NOW persistent pages. The
 * caller has locked the journal since before NOW was read, so that no other step changes the pool.
 */
void pool_part_settle(struct pool_part *p, uint64_t now);

/* Return the bytes of all pages of E. */
uint64_t pool_entry_bytes(const struct pool_entry *e);

/*
 * Open and lock the journal of STATE_DIR (made if missing). Waits for the lock as long as another
 * process changes pools. Returns the directory's descriptor, whose close releases the lock, or -1.
 */
int pool_journal_open(const char *state_dir, struct errbuf *err);

int pool_journal_write(int dir, const struct pool_entry *e, struct errbuf *err);

/* Read the entry of the step with this inode into E. Returns 1; 0: no entry; -1: it is damaged. */
int pool_journal_read(struct pool_entry *e, int dir, uint64_t step_inode, struct errbuf *err);

void pool_journal_remove(int dir, uint64_t step_inode);

/* Call FN for the step of each entry. */
void pool_journal_each(int dir, void (*fn)(int dir, uint64_t step_inode, void *arg), void *arg);

#endif
