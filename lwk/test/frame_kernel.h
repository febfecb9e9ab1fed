/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_TEST_FRAME_KERNEL_H
#define NODEOS_LWK_TEST_FRAME_KERNEL_H

#include <stddef.h>

/*
 * Offsets in the frame that the kernel writes for a signal. Another file has them: the kernel's
 * headers and libc's cannot be included in one file.
 */
struct frame_offset {
	const char *name;
	size_t offset; /* from the restorer's address on */
};
extern const struct frame_offset frame_kernel[];
extern const size_t frame_kernel_count;
extern const unsigned frame_kernel_magic[2];
extern const size_t frame_kernel_software; /* of the software's bytes in an XSAVE area */

#endif
