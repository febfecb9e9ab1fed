/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as programs: headers made by hand, broken ones, scripts, and this test itself. */
#include "lwk/elf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/test/tap.h"

#define SIZE 0x3000UL
#define FAR 0x1800UL

static struct {
	Elf64_Ehdr h;
	Elf64_Phdr p[4];
	char interpreter[16];
	char between[FAR];
	Elf64_Phdr far[4];
	char far_interpreter[16];
} file;

static Elf64_Phdr *set_segment(int i, uint64_t offset, uint64_t address, uint64_t in_file,
			       uint64_t size)
{
	file.p[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = offset };
	file.p[i].p_vaddr = address;
	file.p[i].p_filesz = in_file;
	file.p[i].p_memsz = size;
	file.p[i].p_align = 0x1000;
	return &file.p[i];
}

static void begin(uint16_t type)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.h.e_ident, ELFMAG, SELFMAG);
	file.h.e_ident[EI_CLASS] = ELFCLASS64;
	file.h.e_ident[EI_DATA] = ELFDATA2LSB;
	file.h.e_machine = EM_X86_64;
	file.h.e_type = type;
	file.h.e_entry = 0x401000;
	file.h.e_phoff = sizeof(file.h);
	file.h.e_phentsize = sizeof(Elf64_Phdr);
	file.h.e_phnum = 3;
	set_segment(0, 0, 0x400000, 0x1000, 0x1000)->p_flags = PF_R | PF_X;
	set_segment(1, 0x1000, 0x402000, 0x10, 0x2345)->p_flags = PF_R | PF_W;
	file.p[2] = (Elf64_Phdr){ .p_type = PT_NOTE };
}

/* A file in memory, with zeros up to its size. */
struct memory_file {
	struct elf_file file;
	const void *bytes;
	size_t n;
};

static long read_memory(const struct elf_file *f, void *to, size_t bytes, uint64_t offset)
{
	const struct memory_file *m = (const struct memory_file *)f;

	if (offset > f->size)
		return 0;
	if (bytes > f->size - offset)
		bytes = f->size - offset;
	memset(to, 0, bytes);
	if (offset < m->n)
		memcpy(to, (const char *)m->bytes + offset,
		       bytes < m->n - offset ? bytes : m->n - offset);
	return (long)bytes;
}

static int read_text(struct elf *e, const void *text, size_t n, struct errbuf *err)
{
	struct memory_file m = { { n, read_memory }, text, n };

	return elf_read(e, &m.file, err);
}

static int read_it(struct elf *e, struct errbuf *err)
{
	struct memory_file m = { { SIZE, read_memory }, &file, sizeof(file) };

	return elf_read(e, &m.file, err);
}

static void check_good(void)
{
	struct elf e;
	struct errbuf err = { 0 };

	begin(ET_EXEC);
	is_int(read_it(&e, &err), 0, "a program at its own addresses is accepted: %s", err.text);
	ok(e.kind == ELF_PROGRAM && !e.movable, "a program at its own addresses is not movable");
	is_int((long long)e.low, 0x400000, "low is the lowest page of a program");
	is_int((long long)e.high, 0x405000, "high is the end of a program's last page");
	is_int((long long)e.entry, 0x401000, "entry is the address of the first instruction");
	is_int((long long)e.headers, 0x400040, "headers is the address of the program headers");
	is_int(e.segments, 2, "two segments are counted");
	is_int(e.segment[0].prot, PROT_READ | PROT_EXEC,
	       "a segment of code can be executed, not written");
	is_int(e.segment[1].prot, PROT_READ | PROT_WRITE,
	       "a segment of data can be written, not executed");
	is(e.interpreter, "", "a static program has no dynamic linker");
	begin(ET_DYN);
	file.p[2] = (Elf64_Phdr){ .p_type = PT_INTERP,
				  .p_offset = offsetof(typeof(file), interpreter) };
	file.p[2].p_filesz = 8;
	memcpy(file.interpreter, "/lib/ld", 8);
	file.p[1].p_align = 0x4000;
	is_int(read_it(&e, &err), 0, "a movable program is accepted: %s", err.text);
	ok(e.movable, "a program of type ET_DYN is movable");
	is(e.interpreter, "/lib/ld", "interpreter is the dynamic linker of a program");
	is_int((long long)e.align, 0x4000, "align is the largest alignment of the segments");
	/* as patchelf leaves a program with a longer path */
	file.p[2].p_offset = offsetof(typeof(file), far_interpreter);
	memcpy(file.far_interpreter, "/far/ld", 8);
	memcpy(file.far, file.p, sizeof(file.far));
	memset(file.p, 0, sizeof(file.p));
	file.h.e_phoff = offsetof(typeof(file), far);
	is_int(read_it(&e, &err), 0, "headers behind the first 4 KiB are accepted: %s", err.text);
	is(e.interpreter, "/far/ld", "a dynamic linker's name behind the first 4 KiB is read");
}

static void refuse(const char *what, const char *words)
{
	struct elf e;
	struct errbuf err = { 0 };

	ok(read_it(&e, &err) == -1 && strstr(err.text, words) && e.kind != ELF_PROGRAM,
	   "%s is refused: %s", what, err.text);
}

static void check_broken(void)
{
	begin(ET_EXEC);
	file.h.e_ident[EI_CLASS] = ELFCLASS32;
	refuse("a program of 32 bits", "32-bit");
	begin(ET_EXEC);
	file.h.e_machine = EM_AARCH64;
	refuse("a program of another machine", "x86-64");
	begin(ET_REL);
	refuse("an object file", "not an executable");
	begin(ET_EXEC);
	file.h.e_phnum = 5000;
	refuse("more headers than Linux takes", "size");
	begin(ET_EXEC);
	file.h.e_phoff = SIZE - 40;
	refuse("headers that are cut off", "not in the file");
	begin(ET_EXEC);
	file.h.e_phoff = ~0UL;
	refuse("an offset of headers that wraps", "not in the file");
	begin(ET_EXEC);
	file.p[1].p_filesz = 0x2001;
	refuse("a segment beyond the end of the file", "outside");
	begin(ET_EXEC);
	file.p[1].p_memsz = 1UL << 63;
	refuse("a segment beyond the user's addresses", "outside");
	begin(ET_EXEC);
	file.p[1].p_offset = 0x1001;
	refuse("an offset that does not fit the address", "another offset");
	begin(ET_EXEC);
	file.p[1].p_vaddr = 0x300000;
	refuse("a program with segments out of order", "order");
	begin(ET_EXEC);
	file.h.e_phnum = 0;
	refuse("a program with nothing to load", "nothing");
	begin(ET_DYN);
	file.p[2] = (Elf64_Phdr){ .p_type = PT_INTERP, .p_offset = SIZE - 3, .p_filesz = 5 };
	refuse("the name of a dynamic linker behind the end", "dynamic linker");
}

static void check_script(const char *text, const char *interpreter, const char *argument)
{
	struct elf e;
	struct errbuf err = { 0 };
	int rc = read_text(&e, text, strlen(text), &err);

	ok(rc == 0 && e.kind == ELF_SCRIPT, "a script is accepted: %s", err.text);
	is(e.interpreter, interpreter, "interpreter is that of the script");
	is(e.argument, argument, "argument is that of the script's interpreter");
}

static void check_scripts(void)
{
	char line[300] = "#! /bin/sh";
	struct elf e;
	struct errbuf err;

	check_script("#!/bin/sh\necho\n", "/bin/sh", "");
	check_script("#! \t/usr/bin/env  python3 -x \n", "/usr/bin/env", "python3 -x");
	check_script("#!/bin/sh", "/bin/sh", "");
	is_int(read_text(&e, "#!  \n", 5, &err), -1, "a script without an interpreter is refused");
	memset(line + 10, 'x', sizeof(line) - 10);
	is_int(read_text(&e, line, sizeof(line), &err), -1,
	       "a script with an endless first line is refused");
	is_int(read_text(&e, "hello", 5, &err), -1, "a plain text is refused");
	is_int(read_text(&e, "", 0, &err), -1, "an empty file is refused");
	ok(e.kind == ELF_OTHER, "an empty file is no program");
}

static void check_itself(void)
{
	static char all[16 << 20];
	struct elf e;
	struct errbuf err = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t n = read(fd, all, sizeof(all));

#ifdef __x86_64__
	is_int(read_text(&e, all, (size_t)n, &err), 0,
	       "the program of this test is read, or refused on other machines: %s", err.text);
	ok(e.headers && e.segments >= 2 && *e.interpreter,
	   "the program of this test has segments and a dynamic linker");
#else
	is_int(read_text(&e, all, (size_t)n, &err), -1,
	       "the program of this test is read, or refused on other machines: %s", err.text);
#endif
	close(fd);
}

int main(void)
{
	check_good();
	check_broken();
	check_scripts();
	check_itself();
	return tap_done();
}
