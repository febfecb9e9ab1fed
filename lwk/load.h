/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_LOAD_H
#define NODEOS_LWK_LOAD_H

#include "lwk/elf.h"

/* Files of programs: check whether execve() would start one, and load it into memory. */
struct program {
	struct elf elf;
	int fd; /* descriptor of the file; close-on-exec */
	int error; /* after a failure of program_open(): the errno that execve() would give */
	bool refused; /* nodeos-lwk does not execute it, but Linux could */
};

/*
 * Open the file PATH, which must be executable for this process, and read its head. Returns 0, or
 * -1 with a reason and P->error; nothing is open then.
 */
int program_open(struct program *p, const char *path, struct errbuf *err);
void program_close(struct program *p);

/* The place of a program in memory. */
struct loaded {
	uint64_t base; /* added to the file's addresses */
	uint64_t entry; /* address of the first instruction of the program itself */
	uint64_t headers; /* address of its program headers */
	uint16_t header_count;
};

/* Load an ELF program. A program that cannot be moved gets ordinary memory at its own addresses. */
int program_load(const struct program *p, struct loaded *l, struct errbuf *err);

#endif
