/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_TOOLS_BUNDLE_H
#define NODEOS_TOOLS_BUNDLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

/*
 * An archive (tar, gzip) of what tells of a node: files are gathered in a directory of their own,
 * mode 0700, then packed. What cannot be had is noted in the archive's file MANIFEST and stops
 * nothing; -1 comes from the functions below only where the archive could not be made, as on a full
 * disk, and bundle_free() then leaves nothing behind.
 */
struct bundle;

#define BUNDLE_FILE_MAX (4u << 20) /* bytes of one file */
/* bytes of the name of the directory in the archive, with the final NUL */
#define BUNDLE_NAME_MAX 128

enum bundle_how {
	BUNDLE_MASK = 1, /* secret_mask() */
	BUNDLE_TAIL = 2, /* of a long file its end, not its start */
	BUNDLE_STDOUT = 4, /* of a program, without its standard error */
};

/*
 * Make the archive OUTPUT, empty, mode 0600, and a directory below TMP. OUTPUT must not be there,
 * not even as a symbolic link. NAME: of the directory that all files of the archive are in.
 */
int bundle_begin(struct bundle **out, const char *output, const char *tmp, const char *name,
		 struct errbuf *err);

/*
 * One more file. FILE: its name in the archive, with directories; WHAT: where it is from, for
 * MANIFEST. A FILE that is there already is left as it is.
 */
int bundle_text(struct bundle *b, const char *file, const char *what, const char *text,
		unsigned how, struct errbuf *err);

/* Not to be had, for the reason WHY. */
int bundle_missing(struct bundle *b, const char *file, const char *what, const char *why,
		   struct errbuf *err);

/* The regular file PATH, BUNDLE_FILE_MAX bytes of it at most; a NUL in it becomes '?'. */
int bundle_file(struct bundle *b, const char *file, const char *path, unsigned how,
		struct errbuf *err);

/*
 * What a program prints. ARGV[0] is the name of one that program_find() looks for, or an absolute
 * path. It runs with the caller's rights and without a shell, for at most TIMEOUT seconds. What it
 * prints is kept whatever its exit status, which MANIFEST tells.
 */
int bundle_program(struct bundle *b, const char *file, const char *const *argv, unsigned timeout,
		   unsigned how, struct errbuf *err);

/* The directory DIR of the archive, made, for programs that write files; its path goes to PATH, ""
 * when it cannot be made. */
void bundle_dir(const struct bundle *b, const char *dir, char path[PATH_MAX]);

/* A directory for what programs leave behind: not of the archive, and gone with bundle_free(). */
void bundle_scratch(const struct bundle *b, char path[PATH_MAX]);

/* What such a program has left there as FILE. */
int bundle_made(struct bundle *b, const char *file, const char *what, struct errbuf *err);

/* What there is: lines "FILE  BYTES  WHAT" and "FILE  WHAT: WHY"; the bundle's. */
struct bundle_sum {
	unsigned held, missing;
	const char *missing_lines;
	long long bytes; /* of the archive */
};

/* Write MANIFEST, which begins with ABOUT, and pack. */
int bundle_end(struct bundle *b, const char *about, struct bundle_sum *sum, struct errbuf *err);

/* Take the directory away, and, unless bundle_end() was well, OUTPUT. NULL is fine. */
void bundle_free(struct bundle *b);

#endif
