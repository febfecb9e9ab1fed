/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_JOURNAL_H
#define NODEOS_SERVICEOS_JOURNAL_H

#include "base/errbuf.h"

/*
 * The journal of nodeosctl provision is a file that only grows: before a value is changed for the
 * first time, it is written to the journal as a line. So provision can be killed at any point and
 * run again: it records no value twice, and unprovision restores the state before the first run.
 */
enum undo_kind {
	UNDO_MASK = 'm', /* name: a file's path; text: its content */
	UNDO_THREAD = 't', /* name: "PID NUMBER" of a thread (item.h); text: its CPUs */
	UNDO_FILE = 'f', /* name: the path of a file that provision made */
	UNDO_DIR = 'd', /* name: the path of a directory that provision made */
	/*
	 * name: an item that the kernel refused to change; text: the reason, "" once it was changed
	 */
	UNDO_FIXED = 'x',
	/* every value is recorded, and changes begin: an item without a line is new */
	UNDO_COMPLETE = 'c',
};

struct undo_line {
	enum undo_kind kind;
	char *name, *text;
};

struct undo {
	int dir; /* borrowed */
	const char *file; /* borrowed */
	int fd;
	unsigned n;
	struct undo_line **line; /* in the order of writing */
	void *tree; /* the same lines, by kind and name */
};

#define UNDO_FILE_NAME "serviceos.undo"

enum undo_mode {
	UNDO_READ, /* for reading: another process may be writing */
	UNDO_WRITE, /* for reading and writing: the caller has locked the directory */
	UNDO_MAKE, /* as UNDO_WRITE, and creates a missing journal */
};

/* Open the journal in DIR. Returns 0, 1 when there is none (*U is then empty), or -1. */
int undo_open(struct undo *u, int dir, enum undo_mode mode, struct errbuf *err);
/* Like undo_open(), for the journal FILE in DIR. */
int undo_open_file(struct undo *u, int dir, const char *file, enum undo_mode mode,
		   struct errbuf *err);
void undo_close(struct undo *u);

/* Return the line of KIND and NAME, or NULL. */
const struct undo_line *undo_find(const struct undo *u, enum undo_kind kind, const char *name);

/*
 * Record NAME with TEXT, unless a line of this KIND and NAME exists; for UNDO_FIXED the last text
 * counts. The caller changes the item only after undo_note() has returned 0.
 */
int undo_note(struct undo *u, enum undo_kind kind, const char *name, const char *text,
	      struct errbuf *err);

/* Remove the journal once every value is restored. */
int undo_remove(struct undo *u, struct errbuf *err);

#endif
