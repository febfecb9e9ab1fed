/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_COMMAND_H
#define NODEOS_GUEST_COMMAND_H

#include "base/errbuf.h"
#include "guest/agent/frames.h"
#include "guest/image.h"
#include "guest/shape.h"

/* All that QEMU's command line is made of. Texts are borrowed; a descriptor of -1 is none. */
struct guest_plan {
	const char *qemu; /* path of the program */
	const char *name; /* of the guest: letters, digits, '.', '_' and '-' */
	bool emulated; /* by TCG, not by KVM */
	const struct guest_shape *shape;
	bool binds; /* memory to the host's nodes of the shape */
	uint64_t page; /* bytes of a page of its memory; 0: ordinary memory */
	/* memory that is made already, for each node that has memory; 0: none is */
	int memory_fd[GUEST_NODES_MAX];
	unsigned memories;
	int kvm_fd; /* /dev/kvm, open */
	const struct guest_image *image;
	int qmp_fd, console_fd; /* connected stream sockets */
	int files_fd; /* the same, to virtiofsd */
	int agent_fd[AGENT_PROGRAMS_MAX]; /* the same, to the agent's ports, one for each program */
	unsigned agents;
	bool network; /* QEMU's own, with the user's rights; the host's loopback is its 10.0.2.2 */
	int initrd_fd; /* that `image` names by its number in /proc/self/fd */
};

/*
 * Make the command line of PLAN: a NULL-terminated array that the caller frees with
 * guest_command_free(). The guest is stopped before its first instruction. Returns NULL, with ERR,
 * when out of memory.
 */
char **guest_command(const struct guest_plan *plan, struct errbuf *err);

void guest_command_free(char **words);

#endif
