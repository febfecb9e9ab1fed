/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/vdso.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define PAGE 4096UL

/* mov $SYS_getcpu, %eax; syscall; ret */
static const uint8_t call_getcpu[] = { 0xb8, 0x35, 0x01, 0, 0, 0x0f, 0x05, 0xc3 };

/* Return the address in the entry TAG of the dynamic section; 0: there is no such entry. */
static uint64_t find_dynamic(uint64_t base, uint64_t dynamic, int64_t tag)
{
	for (const Elf64_Dyn *d = (const Elf64_Dyn *)dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
	return 0;
}

/* Return the address of the function NAME; 0: there is none. */
static uint64_t find_function(uint64_t base, const char *name)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(base + h->e_phoff);
	uint64_t dynamic = 0, symbols, texts;

	for (unsigned i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_DYNAMIC)
			dynamic = base + p[i].p_offset;
	symbols = dynamic ? find_dynamic(base, dynamic, DT_SYMTAB) : 0;
	texts = dynamic ? find_dynamic(base, dynamic, DT_STRTAB) : 0;
	/* the linker puts the names directly behind the symbols */
	for (const Elf64_Sym *s = (const Elf64_Sym *)symbols; s && (uint64_t)(s + 1) <= texts; s++)
		if (strcmp((const char *)(texts + s->st_name), name) == 0)
			return base + s->st_value;
	return 0;
}

/*
 * Return the size of the vDSO's mapping. Its file ends with the section headers. Linux refuses to
 * change only a part of the mapping.
 */
static size_t find_size(uint64_t base)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)base;

	return (h->e_shoff + (size_t)h->e_shnum * h->e_shentsize + PAGE - 1) / PAGE * PAGE;
}

uint64_t vdso_prepare(void)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR), at;
	size_t bytes;

	at = base ? find_function(base, "__vdso_getcpu") : 0;
	if (!at)
		return base;
	bytes = find_size(base);
	if (mprotect((void *)base, bytes, PROT_READ | PROT_WRITE) < 0)
		return 0;
	memcpy((void *)at, call_getcpu, sizeof(call_getcpu));
	return mprotect((void *)base, bytes, PROT_READ | PROT_EXEC) < 0 ? 0 : base;
}
