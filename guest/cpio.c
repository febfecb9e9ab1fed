/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/cpio.h"

#include <string.h>

#define HEAD 110 /* bytes before a name */

/* Write N bytes of data, and zeros up to a multiple of 4. */
static void put_padded(FILE *f, const void *data, size_t n, size_t before)
{
	static const char zeros[4];

	if (n)
		fwrite(data, 1, n, f);
	fwrite(zeros, 1, (4 - (before + n) % 4) % 4, f);
}

void cpio_put(FILE *f, const struct cpio_entry *e)
{
	size_t name = strlen(e->name) + 1;

	/* magic, inode, mode, uid, gid, links, time, size, device, its own number, name, check */
	fprintf(f, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 0u,
		(unsigned)e->mode, 0u, 0u, 1u, 0u, (unsigned)e->size, 0u, 0u, e->major, e->minor,
		(unsigned)name, 0u);
	put_padded(f, e->name, name, HEAD);
	put_padded(f, e->data, e->size, 0);
}

void cpio_end(FILE *f)
{
	const struct cpio_entry end = { .name = "TRAILER!!!" };

	cpio_put(f, &end);
}
