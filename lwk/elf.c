/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/elf.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define USER_END (1UL << 47)

/* "#! INTERPRETER [ARGUMENT]": the argument is the rest of the line, as for Linux. */
static int read_script_line(struct elf *e, const char *head, size_t n, struct errbuf *err)
{
	size_t end = 2, begin, last;

	if (n > ELF_SCRIPT_MAX)
		n = ELF_SCRIPT_MAX;
	while (end < n && head[end] != '\n' && head[end] != '\0')
		end++;
	for (begin = 2; begin < end && strchr(" \t", head[begin]);)
		begin++;
	for (last = begin; last < end && !strchr(" \t", head[last]);)
		last++;
	if (last == begin || last == ELF_SCRIPT_MAX)
		return errprintf(err, "its first line names no interpreter");
	memcpy(e->interpreter, head + begin, last - begin);
	e->interpreter[last - begin] = '\0';
	while (end > last && strchr(" \t\r", head[end - 1]))
		end--;
	while (last < end && strchr(" \t", head[last]))
		last++;
	memcpy(e->argument, head + last, end - last);
	e->argument[end - last] = '\0';
	e->kind = ELF_SCRIPT;
	return 0;
}

static int add_segment(struct elf *e, const Elf64_Phdr *p, uint64_t file_size, struct errbuf *err)
{
	struct elf_segment *s;

	if (e->segments == ELF_SEGMENTS)
		return errprintf(err, "it has more than %d segments", ELF_SEGMENTS);
	if (p->p_filesz > p->p_memsz || p->p_offset > file_size ||
	    p->p_filesz > file_size - p->p_offset || p->p_vaddr >= USER_END ||
	    p->p_memsz > USER_END - p->p_vaddr)
		return errprintf(err, "a segment lies outside of the file or of its memory");
	if ((p->p_vaddr - p->p_offset) % PAGE != 0)
		return errprintf(err, "a segment begins elsewhere in its page than in the file's");
	if (e->segments && p->p_vaddr < e->segment[e->segments - 1].address)
		return errprintf(err, "its segments are not in order");
	s = &e->segment[e->segments++];
	*s = (struct elf_segment){ p->p_vaddr, p->p_memsz, p->p_offset, p->p_filesz, 0 };
	s->prot = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
		  (p->p_flags & PF_X ? PROT_EXEC : 0);
	if (e->segments == 1)
		e->low = p->p_vaddr / PAGE * PAGE;
	if (p->p_vaddr + p->p_memsz > e->high)
		e->high = (p->p_vaddr + p->p_memsz + PAGE - 1) / PAGE * PAGE;
	if (p->p_align > e->align && (p->p_align & (p->p_align - 1)) == 0 &&
	    p->p_align <= 2UL << 20)
		e->align = p->p_align;
	return 0;
}

static int read_interpreter(struct elf *e, const char *head, size_t n, const Elf64_Phdr *p,
			    struct errbuf *err)
{
	if (p->p_offset > n || p->p_filesz > n - p->p_offset || !p->p_filesz ||
	    p->p_filesz > sizeof(e->interpreter) || head[p->p_offset + p->p_filesz - 1] != '\0')
		return errprintf(err, "the name of its dynamic linker cannot be read");
	memcpy(e->interpreter, head + p->p_offset, p->p_filesz);
	return 0;
}

static int read_headers(struct elf *e, const char *head, size_t n, uint64_t file_size,
			struct errbuf *err)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	memcpy(&h, head, sizeof(h));
	if (h.e_phentsize != sizeof(p) || h.e_phoff > n || h.e_phnum > (n - h.e_phoff) / sizeof(p))
		return errprintf(err, "its program headers are not in the first %lu bytes",
				 (unsigned long)n);
	for (unsigned i = 0; i < h.e_phnum; i++) {
		memcpy(&p, head + h.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_INTERP && read_interpreter(e, head, n, &p, err) < 0)
			return -1;
		if (p.p_type == PT_GNU_STACK)
			e->executes_stack = p.p_flags & PF_X;
		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		if (add_segment(e, &p, file_size, err) < 0)
			return -1;
		if (h.e_phoff >= p.p_offset &&
		    h.e_phoff + h.e_phnum * sizeof(p) <= p.p_offset + p.p_filesz)
			e->headers = p.p_vaddr + (h.e_phoff - p.p_offset);
	}
	if (!e->segments)
		return errprintf(err, "it has nothing to load");
	e->movable = h.e_type == ET_DYN;
	e->entry = h.e_entry;
	e->header_count = h.e_phnum;
	return 0;
}

int elf_read(struct elf *e, const void *head, size_t n, uint64_t file_size, struct errbuf *err)
{
	const unsigned char *id = head;
	Elf64_Ehdr h;

	memset(e, 0, sizeof(*e));
	e->kind = ELF_OTHER;
	e->align = PAGE;
	if (n >= 2 && memcmp(head, "#!", 2) == 0)
		return read_script_line(e, head, n, err);
	if (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)
		return errprintf(err, "it is neither an ELF program nor a script");
	if (n > EI_CLASS && id[EI_CLASS] == ELFCLASS32) {
		e->kind = ELF_FOREIGN;
		return errprintf(err, "32-bit programs are not supported");
	}
	if (n < sizeof(h))
		return errprintf(err, "its ELF header is cut off");
	memcpy(&h, head, sizeof(h));
	if (h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_X86_64) {
		e->kind = ELF_FOREIGN;
		return errprintf(err, "it is no program of x86-64");
	}
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return errprintf(err, "it is no executable ELF file");
	if (read_headers(e, head, n, file_size, err) < 0)
		return -1;
	e->kind = ELF_PROGRAM;
	return 0;
}
