/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_LOAD_H
#define NODEOS_LWK_LOAD_H

#include "lwk/elf.h"

/*
 * Programs as files: whether execve() would start them, and how they are loaded into memory.
 */
struct program {
	struct elf elf;
	int fd; /* descriptor of the file; close-on-exec */
	int error; /* errno that execve() would give, after a failure of program_open() */
	bool refused; /* Linux could execute it, but this program does not */
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

/* Load an ELF program; one that cannot be moved gets ordinary memory at its addresses. */
int program_load(const struct program *p, struct loaded *l, struct errbuf *err);

#endif
