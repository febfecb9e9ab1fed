/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_OPTIONS_H
#define NODEOS_GUEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/idset.h"

#define GUEST_MEMORY_MIN (UINT64_C(32) << 20)
#define GUEST_MEMORY_MAX (UINT64_C(64) << 40)

/* The command line of nodeos-guest. */
struct guest_options {
	const char *image; /* a file; NULL: none */
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
	int memory_fd, kvm_fd; /* open descriptors; -1: none */
	bool help, version;
};

int guest_options_parse(struct guest_options *o, int argc, char *const *argv, struct errbuf *err);

#endif
