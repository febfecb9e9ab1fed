/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_CONTAINER_LEDGER_IMPL_H
#define NODEOS_CONTAINER_LEDGER_IMPL_H

/* Shared by ledger.c, ledger_text.c and sweep.c; no other file includes it. */

#include "container/ledger.h"

#define LEDGER_READ_MAX (8u << 20) /* bytes; earlier releases wrote entries of up to this size */
#define LEDGER_HEAD_MAX (CGROUP_PATH_MAX + 256) /* bytes of the lines up to the job's cgroup */

struct ledger {
	char *dir; /* path of the directory, for messages */
	int dir_fd;
	int lock_fd;
	int cgroup_fd;
	int policy; /* scheduling policy to restore; -1: unchanged */
};

/* As ledger_open(), without the sweep. */
int ledger_lock(struct ledger **out, const char *state_dir, int cgroup_fd, unsigned timeout,
		struct errbuf *err);

/* Write the name of the entry of the job with this inode to BUF. */
void ledger_entry_name(char *buf, size_t size, uint64_t inode);

/* Read entry NAME into *OUT, which ledger_job_free() frees. LIGHT: without its ranks. */
int ledger_read_entry(struct ledger *l, const char *name, bool light, struct ledger_job **out,
		      struct errbuf *err);

/*
 * Read the first lines of entry NAME, of any release, into JOB, and the size of the entry into
 * *SIZE (SIZE may be NULL). JOB then owns no memory. Returns 0, or -1 if there is no such entry
 * (errno ENOENT) or these lines are damaged.
 */
int ledger_read_head(struct ledger *l, const char *name, struct ledger_job *job, size_t *size);

/*
 * Return the text of JOB's entry, which the caller frees, or NULL if out of memory. ledger_parse()
 * reads such a text.
 */
char *ledger_format(const struct ledger_job *job);
int ledger_parse(struct ledger_job **out, const char *text, bool light, struct errbuf *err);

/* Parse the first lines of an entry of any release, up to the cgroup; move *TEXT past them. */
int ledger_take_head(const char **text, struct ledger_job *job, struct errbuf *err);

/* Return whether the directory of JOB or S is gone or has no processes. */
bool ledger_job_has_ended(const struct ledger *l, const struct ledger_job *job);
bool ledger_step_has_ended(const struct ledger *l, const struct ledger_step *s);

/* Call FN for the name of every entry; FN may remove or replace the entry. */
int ledger_each_name(struct ledger *l, void (*fn)(struct ledger *l, const char *name, void *arg),
		     void *arg, struct errbuf *err);

#endif
