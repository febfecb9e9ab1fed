/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_INSIDE_H
#define NODEOS_GUEST_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"
#include "guest/image.h"
#include "guest/shape.h"

/* A guest that runs a program with the host's kernel and files. */
struct guest_program {
	const char *kernel; /* a file; NULL: the host's, in /boot */
	const char *modules; /* directory of its modules; NULL: /lib/modules/RELEASE */
	const char *agent; /* the first process, a static program */
	bool ticks; /* each CPU of its kernel has a tick: without ticks, QEMU's emulation hangs */
};

/*
 * Fill IMAGE for PROGRAM: its kernel, an initrd with the agent and those drivers that are modules,
 * and a command line for SHAPE; unless PROGRAM->ticks, only the first CPU has ticks. *INITRD_FD is
 * the initrd, which IMAGE names by this number. The caller closes *INITRD_FD and frees IMAGE, also
 * after a failure.
 */
int guest_program_image(struct guest_image *image, int *initrd_fd,
			const struct guest_program *program, const struct guest_shape *shape,
			struct errbuf *err);

/*
 * Read the release of the kernel in HEAD, the first N bytes of a bzImage, into BUF of SIZE bytes.
 * Returns 0, or -1 if HEAD is not of a bzImage.
 */
int guest_kernel_release(char *buf, size_t size, const unsigned char *head, size_t n);

/*
 * Make the data of a FRAME_START (agent/frames.h): ARGV with this process's ids, directory, limits
 * and environment, on CPUS of the guest. Returns its length; the caller frees *OUT.
 */
long guest_program_start(unsigned char **out, char *const *argv, const char *cpus,
			 struct errbuf *err);

#endif
