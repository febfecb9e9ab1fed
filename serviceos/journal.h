/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SERVICEOS_JOURNAL_H
#define NODEOS_SERVICEOS_JOURNAL_H

#include "base/errbuf.h"

/*
 * The journal of nodeosctl provision: what everything was before the first
 * change, a line each, written before that change, in a file that is only
 * appended to. So provision can be killed anywhere and run again: what it finds
 * noted is not noted a second time, and unprovision puts back what was there
 * before the first run.
 */
enum undo_kind {
	UNDO_MASK = 'm', /* name: a file's path; text: what it held */
	UNDO_THREAD = 't', /* name: "PID START" of a kthread; text: its CPUs */
	UNDO_FILE = 'f', /* name: the path of a file that we made */
	UNDO_DIR = 'd', /* name: the path of a directory that we made */
	/* name: what the kernel would not change; text: why, "" when it did later */
	UNDO_FIXED = 'x',
	/* all that was there is noted, and changes begin: what is met and not noted is new */
	UNDO_COMPLETE = 'c',
};

struct undo_line {
	enum undo_kind kind;
	char *name, *text;
};

struct undo {
	int dir; /* borrowed */
	int fd;
	unsigned n;
	struct undo_line **line; /* in the order of writing */
	void *tree; /* of them, by kind and name */
};

#define UNDO_FILE_NAME "serviceos.undo"

enum undo_mode {
	UNDO_READ, /* to look at: another process may be writing */
	UNDO_WRITE, /* the directory is locked */
	UNDO_MAKE, /* the same, and made when missing */
};

/* Open the journal in DIR. 0; 1: there is none (and *U is an empty one); -1. */
int undo_open(struct undo *u, int dir, enum undo_mode mode, struct errbuf *err);
void undo_close(struct undo *u);

/* The noted line, or NULL. */
const struct undo_line *undo_find(const struct undo *u, enum undo_kind kind, const char *name);

/* Note it, unless it is; of UNDO_FIXED the last text counts. Nothing may be changed before this has
 * returned 0. */
int undo_note(struct undo *u, enum undo_kind kind, const char *name, const char *text,
	      struct errbuf *err);

/* All is put back: forget the journal. */
int undo_remove(struct undo *u, struct errbuf *err);

#endif
