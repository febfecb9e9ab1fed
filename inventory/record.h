/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_INVENTORY_RECORD_H
#define NODEOS_INVENTORY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/idset.h"

/*
 * The record of a vnode's processes: the files that they have open, and how their threads run. The
 * source writes it while the tree is frozen. The destination compares the files before its copy
 * runs: CRIU opens files again by their paths, as root, and a user could have put another file
 * there meanwhile. A process is recorded by its pid in the vnode, which is the same on both hosts.
 */

/* How a process has a file. */
enum move_what { MOVE_EXE, MOVE_CWD, MOVE_ROOT, MOVE_FD, MOVE_MAP };

/* Where a file is: this decides which parts of its identity are the same on both hosts. */
enum move_place {
	MOVE_OWN, /* a file system of the vnode, which the image contains */
	MOVE_SHARED, /* a mount that vnode.d names, the same file system on both hosts */
	MOVE_HOST, /* the host's own, read-only in the vnode, with the same content on both */
	MOVE_NOWHERE, /* no path: a socket, a pipe, an epoll, ... */
};

struct move_file {
	enum move_what what;
	enum move_place place;
	int pid;
	uint64_t at; /* the number of a descriptor, or the first address of a mapping; else 0 */
	uint64_t end; /* the first address behind a mapping; else 0 */
	uint64_t inode, size, device; /* DEVICE: st_rdev of a device */
	unsigned mode, flags; /* st_mode; open flags of a descriptor */
	uid_t uid; /* owner of the file */
	bool deleted; /* the file has no name any more, or another one than PATH */
	char *path; /* as the kernel shows it: "/home/a/x", "socket:[12]" */
	char *mount; /* where its file system is mounted in the vnode; "" for MOVE_NOWHERE */
};

struct move_thread {
	int pid, tid;
	uid_t uid; /* real user of the process */
	unsigned policy; /* SCHED_* */
	int priority, nice;
	struct idset cpus; /* allowed CPUs of the host */
};

/* The memory policy of a mapping or, if AT is 0, of the process itself, as in numa_maps. */
struct move_mempolicy {
	int pid;
	uint64_t at, end; /* END: the first address behind the mapping */
	char *word; /* "bind:0-1" */
};

struct move_record {
	struct move_file *file;
	struct move_thread *thread;
	struct move_mempolicy *policy;
	size_t files, threads, policies;
};

#define MOVE_RECORD_MAX (64u << 20) /* bytes of a record's text */
#define MOVE_ENTRIES_MAX (1u << 20) /* of each kind */

void move_record_free(struct move_record *r);

/* Append a copy of an entry; the caller keeps its texts. Returns 0, or -1: too many, no memory. */
int move_record_add_file(struct move_record *r, const struct move_file *f, struct errbuf *err);
int move_record_add_thread(struct move_record *r, const struct move_thread *t, struct errbuf *err);
int move_record_add_policy(struct move_record *r, const struct move_mempolicy *p,
			   struct errbuf *err);

/* Sort the entries by process and place, as move_record_compare() needs them. */
void move_record_sort(struct move_record *r);

/* Write R as text for the other host; *TEXT is malloc'ed. Returns 0, or -1. */
int move_record_print(const struct move_record *r, char **text, size_t *len, struct errbuf *err);

/*
 * Parse the text of another host, which is not trusted: its size is bounded, and each line must be
 * as this release writes it. On success the caller frees *R. Returns 0, or -1 with the line's
 * number.
 */
int move_record_parse(struct move_record *r, const char *text, size_t len, struct errbuf *err);

/* Like move_record_parse(), for the file NAME in the directory DIR. */
int move_record_load(struct move_record *r, int dir, const char *name, struct errbuf *err);

/*
 * Compare what was recorded with what is restored, both sorted: each file of BEFORE must be in
 * AFTER, with the same identity (enum move_place). AFTER may have more: CRIU's own descriptors. A
 * mapping may be in several parts, or a part of a larger one, because the kernel divides and joins
 * mappings. Returns 0, or -1 with the first difference.
 */
int move_record_compare(const struct move_record *before, const struct move_record *after,
			struct errbuf *err);

/* Check whether CRIU can restore what is in R: scheduling policies, kinds of descriptors, deleted
 * files. Returns 0, or -1 with the first thing that it cannot restore. */
int move_record_check(const struct move_record *r, struct errbuf *err);

#endif
