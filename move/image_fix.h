/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_MOVE_IMAGE_FIX_H
#define NODEOS_MOVE_IMAGE_FIX_H

#include <stddef.h>

#include "base/errbuf.h"

/*
 * slurmd and slurmstepd keep a descriptor of their own binary, opened with O_PATH
 * (src/common/run_command.c of Slurm). CRIU stores one entry for this descriptor and for the
 * executable of the process, and cannot restore a process from a descriptor with O_PATH
 * ("PR_SET_MM_MAP failed with -9"). So in the entries of these binaries in the image files.img,
 * O_PATH is removed, and O_LARGEFILE set, as in a descriptor for reading. No other entry is
 * changed: a user's descriptor with O_PATH, of a file that the user cannot read, would become one
 * for reading.
 */

/*
 * Edit DATA, the LEN bytes of files.img, in place: entries of regular files with one of NAMES (N
 * absolute paths in the vnode). An entry keeps its length, because a number may have leading zeros.
 * *FIXED: the number of changed entries. Users choose names in the file: the parser is bounded by
 * LEN. Returns 0, or -1: this is no files.img.
 */
int move_image_fix(unsigned char *data, size_t len, const char *const *names, unsigned n,
		   unsigned *fixed, struct errbuf *err);

/* Edit the file files.img below DIR in this way. Returns 0, or -1 with the reason. */
int move_image_fix_file(int dir, const char *const *names, unsigned n, unsigned *fixed,
			struct errbuf *err);

#endif
