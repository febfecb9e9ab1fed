/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_LWK_ELF_H
#define NODEOS_LWK_ELF_H

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/*
 * Parse executable files. Pure; a file may hold any bytes. Two kinds of files are programs: ELF
 * files of x86-64, and scripts whose first line names an interpreter.
 */
#define ELF_SEGMENTS 16 /* maximum number of segments of type PT_LOAD */
#define ELF_SCRIPT_MAX 256 /* bytes of a script's first line that count, as in Linux */

enum elf_kind {
	ELF_PROGRAM = 1,
	ELF_SCRIPT,
	ELF_OTHER, /* neither; execve() gives ENOEXEC, although Linux may be able to execute it */
	ELF_FOREIGN, /* a program of another machine, or of 32 bits */
};

struct elf_segment {
	uint64_t address; /* address of its first byte, before the program is moved */
	uint64_t size; /* in memory */
	uint64_t offset; /* in the file */
	uint64_t in_file; /* bytes */
	int prot; /* PROT_* */
};

struct elf {
	enum elf_kind kind;
	/* ELF_PROGRAM */
	bool movable; /* may be loaded anywhere: PIE, or a shared object */
	uint64_t entry, low, high; /* addresses; low and high are multiples of the page size */
	uint64_t align; /* alignment of low when the program is moved */
	uint64_t headers; /* address of the program headers, 0: not loaded */
	uint16_t header_count;
	/* PT_GNU_STACK asks for an executable stack, for example for nested functions */
	bool executes_stack;
	unsigned segments;
	struct elf_segment segment[ELF_SEGMENTS];
	/* dynamic linker of an ELF_PROGRAM, or interpreter of an ELF_SCRIPT; "": none */
	char interpreter[PATH_MAX];
	char argument[ELF_SCRIPT_MAX]; /* the argument of a script's interpreter, "" for none */
};

/*
 * A file. READ copies BYTES at OFFSET to TO. It returns the number of copied bytes, which is
 * smaller at the file's end, or -1.
 */
struct elf_file {
	uint64_t size;
	long (*read)(const struct elf_file *f, void *to, size_t bytes, uint64_t offset);
};

/*
 * Parse the file F. Returns 0, or -1 with a reason. kind is set in both cases; after a failure it
 * is ELF_OTHER or ELF_FOREIGN.
 */
int elf_read(struct elf *e, const struct elf_file *f, struct errbuf *err);

#endif
