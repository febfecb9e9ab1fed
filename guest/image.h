/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_IMAGE_H
#define NODEOS_GUEST_IMAGE_H

#include <stddef.h>

#include "base/errbuf.h"

#define GUEST_IMAGE_MAX (64u << 10) /* bytes of an image's file */
#define GUEST_APPEND_MAX 2047 /* bytes of a command line that Linux on x86 takes */

/*
 * What a guest boots: a kernel, or a disk or ISO image. A member is NULL if the file lacks it. A
 * disk is raw unless its name ends in ".qcow2".
 */
struct guest_image {
	char *kernel, *initrd, *append, *disk, *iso;
};

/*
 * Parse TEXT of LEN bytes, the content of the file PATH: an object with some of the members kernel,
 * initrd, append, disk and iso, all of them strings. File names that are not absolute are relative
 * to PATH's directory. The caller frees *OUT with guest_image_free(). Returns 0, or -1 with
 * "PATH:LINE:COLUMN: MEMBER: reason".
 */
int guest_image_parse(struct guest_image *out, const char *path, const char *text, size_t len,
		      struct errbuf *err);

/* Read and parse the file PATH. Fails also if the caller cannot read a file that PATH names. */
int guest_image_read(struct guest_image *out, const char *path, struct errbuf *err);

void guest_image_free(struct guest_image *image);

#endif
