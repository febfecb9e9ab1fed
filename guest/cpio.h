/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_CPIO_H
#define NODEOS_GUEST_CPIO_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * An initramfs: an archive in the format newc of Linux, Documentation/driver-api/early-userspace/
 * buffer-format.rst. All files are root's. A failed write shows in ferror().
 */
struct cpio_entry {
	const char *name; /* without a leading '/' */
	mode_t mode; /* permissions and type of the file */
	const void *data; /* content of a regular file, SIZE bytes */
	size_t size;
	unsigned major, minor; /* numbers of a device */
};

void cpio_put(FILE *f, const struct cpio_entry *entry);

/* Write the mark of the archive's end. */
void cpio_end(FILE *f);

#endif
