/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_COMMAND_H
#define NODEOS_GUEST_COMMAND_H

#include "base/errbuf.h"
#include "guest/agent/frames.h"
#include "guest/image.h"
#include "guest/shape.h"

/* The input of QEMU's command line. Texts are borrowed; a descriptor of -1 is none. */
struct guest_plan {
	const char *qemu; /* path of the program */
	const char *name; /* of the guest: letters, digits, '.', '_' and '-' */
	bool emulated; /* true: emulated by TCG; false: by KVM */
	bool alone; /* no other thread, not even QEMU's, runs on its CPUs of the host */
	const struct guest_shape *shape;
	bool binds; /* binds memory to the host's nodes that SHAPE names */
	uint64_t page; /* bytes of a page of its memory; 0: ordinary memory */
	/*
	 * descriptors of memory that exists already, one for each node with memory; MEMORIES is
	 * their number; 0: QEMU makes the memory
	 */
	int memory_fd[GUEST_NODES_MAX];
	unsigned memories;
	int kvm_fd; /* /dev/kvm, open */
	const struct guest_image *image;
	int qmp_fd, console_fd; /* connected stream sockets */
	int files_fd; /* connected stream socket to virtiofsd */
	/* connected stream sockets to the agent's ports, one for each program */
	int agent_fd[AGENT_PROGRAMS_MAX];
	unsigned agents;
	/* QEMU's user network, with the user's rights; its 10.0.2.2 is the host's loopback */
	bool network;
	bool incoming; /* whether QEMU first reads a saved guest, from INCOMING_FD */
	int incoming_fd;
	int initrd_fd; /* the initrd, which IMAGE names by this number in /proc/self/fd */
};

/*
 * Make the command line of PLAN: a NULL-terminated array that the caller frees with
 * guest_command_free(). The guest is stopped before its first instruction. Returns NULL, with ERR,
 * when out of memory.
 */
char **guest_command(const struct guest_plan *plan, struct errbuf *err);

void guest_command_free(char **words);

#endif
