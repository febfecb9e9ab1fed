/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crash: ends by an instruction that does not exist; crash CORE: checks whether that core dump has
 * the address of that instruction in RIP, and a word of the heap. Both runs have the same addresses
 * only when linked with -no-pie.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>

#define WORD "a-word-of-the-heap-in-a-core-dump"

extern char here[];

static const struct elf_prstatus *find_status(const char *core)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)core;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(core + h->e_phoff);

	for (int i = 0; i < h->e_phnum; i++) {
		const Elf64_Nhdr *n = (const Elf64_Nhdr *)(core + p[i].p_offset);

		if (p[i].p_type == PT_NOTE && n->n_type == NT_PRSTATUS)
			return (const struct elf_prstatus *)((const char *)(n + 1) +
							     (n->n_namesz + 3) / 4 * 4);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char word[sizeof(WORD)];
	struct stat s;
	const struct elf_prstatus *status;
	char *core;
	int fd;

	/* the word in one piece is only on the heap */
	memcpy(word, WORD, sizeof(word));
	if (argc < 2) {
		if (!strdup(word))
			return 1;
		__asm__ volatile(".globl here\nhere: ud2");
	}
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &s) < 0) {
		puts("core dump: none");
		return 1;
	}
	core = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, fd, 0);
	status = find_status(core);
	printf("core dump: signal %d, RIP %s, heap %s\n", status ? status->pr_cursig : 0,
	       status && ((const unsigned long *)&status->pr_reg)[16] == (unsigned long)here
		       ? "right"
		       : "wrong",
	       memmem(core, (size_t)s.st_size, word, sizeof(word) - 1) ? "dumped" : "missing");
	return 0;
}
