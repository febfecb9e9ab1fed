/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lwk/machine/host.h"
#include "lwk/machine/window.h"
#include "lwk/memory.h"

#define PAGE 4096UL

static int fail_open(struct program *p, int error, struct errbuf *err)
{
	if (p->fd >= 0)
		host_call(SYS_close, p->fd);
	p->fd = -1;
	p->error = error;
	return errprintf(err, "%s", strerror(error));
}

/* Return whether Linux would start the file with other rights: it is set-user-ID or set-group-ID,
 * or has capabilities. */
static bool changes_rights(const struct program *p, const struct stat *s)
{
	char value[64];
	long n;

	if (s->st_mode & S_ISUID || (s->st_mode & S_ISGID && s->st_mode & S_IXGRP))
		return true;
	n = host_call(SYS_fgetxattr, p->fd, (long)"security.capability", (long)value,
		      sizeof(value));
	return n > 0 || n == -ERANGE;
}

/* Record that nodeos-lwk refuses a program that Linux would execute; ERR has the reason. */
static int refuse_program(struct program *p)
{
	host_call(SYS_close, p->fd);
	p->fd = -1;
	p->refused = true;
	p->error = EPERM;
	return -1;
}

/* A file for elf_read(). */
struct open_file {
	struct elf_file file;
	int fd;
};

static long read_open_file(const struct elf_file *f, void *to, size_t bytes, uint64_t offset)
{
	const struct open_file *o = (const struct open_file *)f;

	return host_call(SYS_pread64, o->fd, (long)to, (long)bytes, (long)offset);
}

int program_open(struct program *p, const char *path, struct errbuf *err)
{
	struct open_file file = { .file.read = read_open_file };
	struct stat s;
	long n;

	memset(p, 0, sizeof(*p));
	p->fd = (int)host_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0)
		return fail_open(p, -p->fd, err);
	if (host_call(SYS_fstat, p->fd, (long)&s) < 0 || !S_ISREG(s.st_mode))
		return fail_open(p, EACCES, err);
	n = host_call(SYS_faccessat2, AT_FDCWD, (long)path, 1 /* X_OK */, AT_EACCESS);
	if (n < 0)
		return fail_open(p, (int)-n, err);
	if (changes_rights(p, &s)) {
		errprintf(err, "programs that get other rights (setuid, setgid or capabilities) "
			       "are not supported");
		return refuse_program(p);
	}
	file.fd = p->fd;
	file.file.size = (uint64_t)s.st_size;
	if (elf_read(&p->elf, &file.file, err) == 0)
		return 0;
	if (p->elf.kind == ELF_FOREIGN)
		return refuse_program(p);
	host_call(SYS_close, p->fd);
	p->fd = -1;
	p->error = ENOEXEC;
	return -1;
}

void program_close(struct program *p)
{
	if (p->fd >= 0)
		host_call(SYS_close, p->fd);
	p->fd = -1;
}

/* Get memory from Linux for a program that must be at its own addresses. */
static int map_fixed(const struct elf *e, struct errbuf *err)
{
	void *at = mmap((void *)e->low, e->high - e->low, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		return errprintf(err, "the program's addresses are in use in this process: %s",
				 strerror(errno));
	for (uint64_t w = e->low / WINDOW_SIZE * WINDOW_SIZE; w < e->high; w += WINDOW_SIZE)
		window_open(w);
	return 0;
}

static int set_prot(const struct elf *e, const struct elf_segment *s, uint64_t base)
{
	uint64_t first = (base + s->address) / PAGE * PAGE;
	uint64_t end = (base + s->address + s->size + PAGE - 1) / PAGE * PAGE;

	return e->movable ? memory_protect_part(first, end - first, s->prot)
			  : mprotect((void *)first, end - first, s->prot);
}

/*
 * Read a segment, and the bytes before it in its first page of the file. A mapping would have these
 * bytes, and some programs look at them.
 */
static int read_segment(const struct program *p, const struct elf_segment *s, uint64_t base)
{
	uint64_t before = s->address % PAGE, want = before + s->in_file, done = 0;
	uint64_t to = base + s->address - before;

	while (done < want) {
		long n = host_call(SYS_pread64, p->fd, (long)(to + done), (long)(want - done),
				   (long)(s->offset - before + done));

		if (n <= 0)
			return -1;
		done += (uint64_t)n;
	}
	return 0;
}

int program_load(const struct program *p, struct loaded *l, struct errbuf *err)
{
	const struct elf *e = &p->elf;
	uint64_t base = 0;

	if (e->movable) {
		uint64_t at = memory_take(e->high - e->low, e->align, PROT_NONE);

		if (!at)
			return errprintf(err, "the extent is too small for the program: raise "
					      "--memory");
		base = at - e->low;
	} else if (map_fixed(e, err) < 0) {
		return -1;
	}
	for (unsigned i = 0; i < e->segments; i++)
		if (read_segment(p, &e->segment[i], base) < 0)
			return errprintf(err, "the program cannot be read");
	for (unsigned i = 0; i < e->segments; i++)
		if (set_prot(e, &e->segment[i], base) < 0)
			return errprintf(err, "no page table is left for the program");
	*l = (struct loaded){ base, base + e->entry, e->headers ? base + e->headers : 0,
			      e->header_count };
	return 0;
}
