/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/elf.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define USER_END (1UL << 47)
#define HEADERS_MAX 65536UL /* bytes; Linux has the same limit */

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
		return errprintf(err, "the first line names no interpreter");
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
		return errprintf(err, "more than %d segments", ELF_SEGMENTS);
	if (p->p_filesz > p->p_memsz || p->p_offset > file_size ||
	    p->p_filesz > file_size - p->p_offset || p->p_vaddr >= USER_END ||
	    p->p_memsz > USER_END - p->p_vaddr)
		return errprintf(err, "a segment lies outside of the file or of its memory");
	if ((p->p_vaddr - p->p_offset) % PAGE != 0)
		return errprintf(err, "a segment has another offset in its page of memory than in "
				      "its page of the file");
	if (e->segments && p->p_vaddr < e->segment[e->segments - 1].address)
		return errprintf(err, "the segments are not in the order of their addresses");
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

/*
 * Read BYTES of F at OFFSET, which may be any numbers. Returns 0, or -1 if the file does not have
 * these bytes.
 */
static int read_bytes(const struct elf_file *f, void *to, size_t bytes, uint64_t offset)
{
	return offset <= f->size && bytes <= f->size - offset &&
			       f->read(f, to, bytes, offset) == (long)bytes
		       ? 0
		       : -1;
}

static int read_interpreter(struct elf *e, const struct elf_file *f, const Elf64_Phdr *p,
			    struct errbuf *err)
{
	if (!p->p_filesz || p->p_filesz > sizeof(e->interpreter) ||
	    read_bytes(f, e->interpreter, p->p_filesz, p->p_offset) < 0 ||
	    e->interpreter[p->p_filesz - 1] != '\0')
		return errprintf(err, "the name of the dynamic linker cannot be read");
	return 0;
}

static int read_headers(struct elf *e, const struct elf_file *f, Elf64_Ehdr h, struct errbuf *err)
{
	Elf64_Phdr p;

	if (h.e_phentsize != sizeof(p) || h.e_phnum > HEADERS_MAX / sizeof(p))
		return errprintf(err, "the program headers have an unknown size");
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (read_bytes(f, &p, sizeof(p), h.e_phoff + i * sizeof(p)) < 0)
			return errprintf(err, "the program headers are not in the file");
		if (p.p_type == PT_INTERP && read_interpreter(e, f, &p, err) < 0)
			return -1;
		if (p.p_type == PT_GNU_STACK)
			e->executes_stack = p.p_flags & PF_X;
		if (p.p_type != PT_LOAD || !p.p_memsz)
			continue;
		if (add_segment(e, &p, f->size, err) < 0)
			return -1;
		if (h.e_phoff >= p.p_offset &&
		    h.e_phoff + h.e_phnum * sizeof(p) <= p.p_offset + p.p_filesz)
			e->headers = p.p_vaddr + (h.e_phoff - p.p_offset);
	}
	if (!e->segments)
		return errprintf(err, "the program has nothing to load");
	e->movable = h.e_type == ET_DYN;
	e->entry = h.e_entry;
	e->header_count = h.e_phnum;
	return 0;
}

int elf_read(struct elf *e, const struct elf_file *f, struct errbuf *err)
{
	char head[ELF_SCRIPT_MAX];
	const unsigned char *id = (const unsigned char *)head;
	long got = f->read(f, head, sizeof(head), 0);
	size_t n = got < 0 ? 0 : (size_t)got;
	Elf64_Ehdr h;

	memset(e, 0, sizeof(*e));
	e->kind = ELF_OTHER;
	e->align = PAGE;
	if (n >= 2 && memcmp(head, "#!", 2) == 0)
		return read_script_line(e, head, n, err);
	if (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)
		return errprintf(err, "neither an ELF program nor a script");
	if (n > EI_CLASS && id[EI_CLASS] == ELFCLASS32) {
		e->kind = ELF_FOREIGN;
		return errprintf(err, "32-bit programs are not supported");
	}
	if (n < sizeof(h))
		return errprintf(err, "the ELF header is cut off");
	memcpy(&h, head, sizeof(h));
	if (h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_X86_64) {
		e->kind = ELF_FOREIGN;
		return errprintf(err, "not a program for x86-64");
	}
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return errprintf(err, "not an executable ELF file");
	if (read_headers(e, f, h, err) < 0)
		return -1;
	e->kind = ELF_PROGRAM;
	return 0;
}
