/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_OPTIONS_H
#define NODEOS_GUEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"
#include "guest/shape.h"

#define GUEST_MEMORY_MIN (UINT64_C(32) << 20)
#define GUEST_MEMORY_MAX (UINT64_C(64) << 40)

/* The command line of nodeos-guest. */
struct guest_options {
	const char *image; /* a file; NULL: none */
	const char *restore; /* the file of a saved guest; NULL: none */
	uint64_t memory; /* bytes */
	uint64_t page; /* bytes of a huge page; 0: ordinary memory */
	bool has_cpus, has_mems;
	struct idset cpus, mems;
	bool emulated;
	bool dry_run; /* print QEMU's command line, a word a line */
	unsigned grace; /* seconds from SIGTERM until QEMU is killed */
	const char *qemu; /* path; NULL: it is searched for */
	const char *kernel, *modules, *agent, *virtiofsd; /* see inside.h; NULL: the default */
	char *const *argv; /* a program that runs inside; NULL: none */
	bool network; /* a program has a network */
	int kvm_fd; /* an open descriptor; -1: none */
	int memory_fd[GUEST_NODES_MAX]; /* open descriptors of the memory of each node */
	unsigned memories;
	/*
	 * number of this rank among the RANKS of its guest, and descriptors for meet.h; -1: the
	 * rank has a guest of its own
	 */
	unsigned rank, ranks;
	int meet_send, meet_receive;
	bool help, version;
};

/* The words of the environment variable GUEST_VARIABLE, if it is set, are parsed before ARGV. */
#define GUEST_VARIABLE "NODEOS_GUEST"

int guest_options_parse(struct guest_options *o, int argc, char *const *argv, struct errbuf *err);

#endif
