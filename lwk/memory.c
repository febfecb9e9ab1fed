/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mman.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "lwk/extent.h"
#include "lwk/machine/host.h"
#include "lwk/machine/lock.h"
#include "lwk/machine/machine.h"
#include "lwk/machine/window.h"
#include "lwk/threads/thread.h"

#define LARGE_PAGE (2UL << 20)
#define FILE_SHARE 8 /* a file's mapping takes at most 1/8 of the extent */
/*
 * Shared memory is populated at once if it is at most 1/4 of the extent's size and 1/8 of the free
 * memory of its file system. That includes the segment of a rank of Open MPI, 16 MiB.
 */
#define TOUCHED_SHARE 4
#define FREE_SHARE 8
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static struct {
	struct lock lock;
	struct extent extent;
	uint64_t first; /* address of the program's first page, behind the machine's */
	uint64_t brk;
	uint64_t stack, stack_size; /* the program's first stack */
	bool stale; /* processors may still have the old rights of freed pages in their TLBs */
	struct memory_numbers numbers;
} memory;

/* Return whether all of BYTES at ADDRESS are pages of the extent that the program may have. */
static bool is_program(uint64_t address, uint64_t bytes)
{
	return address >= memory.first && extent_holds(&memory.extent, address, bytes);
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + EXTENT_PAGE - 1) & ~(EXTENT_PAGE - 1);
}

static bool is_error(long rc)
{
	return rc < 0 && rc > -4096;
}

/*
 * Record the extent, whose memory is at MEMORY_BASE, make the machine in it, and open its windows.
 * USED: some of the extent is not zero.
 */
static int begin_extent(uint64_t size, bool used, struct errbuf *err)
{
	void *map = mmap(NULL, extent_map_size(size), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t share = machine_share(size);

	if (map == MAP_FAILED)
		return errprintf(err, "no memory for the map of the extent: %s", strerror(errno));
	extent_init(&memory.extent, MEMORY_BASE, size, map);
	if (used) {
		memset((void *)MEMORY_BASE, 0, share);
		extent_set_dirty(&memory.extent, MEMORY_BASE, size);
	}
	if (machine_begin((void *)MEMORY_BASE, size, err) < 0)
		return -1;
	extent_take_over(&memory.extent, MEMORY_BASE, share);
	memory.first = memory.brk = MEMORY_BASE + share;
	memory.numbers.size = size;
	window_set_extent(MEMORY_BASE, size);
	for (uint64_t at = MEMORY_BASE; at < MEMORY_BASE + size; at += WINDOW_SIZE) {
		int rc = window_open(at);

		if (rc < 0)
			return errprintf(err, "KVM refuses the extent: %s", strerror(-rc));
	}
	return 0;
}

static int say_no_pages(uint64_t size, enum memory_page page, struct errbuf *err)
{
	const char *name = page == MEMORY_1G ? "1048576kB" : "2048kB";
	unsigned long want = (unsigned long)(size >> page), have = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%s/free_hugepages", name);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%lu", &have) != 1)
			have = 0;
		fclose(f);
	}
	return errprintf(err,
			 "no room for the extent: it needs %lu free huge pages of %s, and"
			 " there are %lu; root reserves them with /sys/kernel/mm/hugepages/"
			 "hugepages-%s/nr_hugepages",
			 want, page == MEMORY_1G ? "1 GiB" : "2 MiB", have, name);
}

int memory_open(uint64_t size, enum memory_page page, struct memory_file *f, struct errbuf *err)
{
	void *at;

	if (f->fd < 0)
		f->fd = memfd_create("nodeos-lwk",
				     MFD_CLOEXEC | MFD_HUGETLB | (unsigned)page << MAP_HUGE_SHIFT);
	if (f->fd < 0)
		return errno == ENODEV || errno == ENOENT || errno == EINVAL
			       ? say_no_pages(size, page, err)
			       : errprintf(err, "memfd_create: %s", strerror(errno));
	/* the mapping gives the file its size: ftruncate() would be limited by RLIMIT_FSIZE */
	at = mmap((void *)MEMORY_BASE, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_SHARED | MAP_FIXED_NOREPLACE, f->fd, 0);
	if (at == MAP_FAILED) {
		close(f->fd);
		return say_no_pages(size, page, err);
	}
	/*
	 * not MAP_POPULATE, which reports no failure: a cgroup may allow fewer pages than are free
	 */
	if (madvise(at, size, MADV_POPULATE_WRITE) < 0) {
		errprintf(err,
			  "no room for the extent: only a part of its %lu huge pages is available "
			  "here: the cgroup (hugetlb.*.max) or its memory nodes allow no more",
			  (unsigned long)(size >> page));
		munmap(at, size);
		close(f->fd);
		return -1;
	}
	return begin_extent(size, f->used, err);
}

int memory_open_ordinary(uint64_t size, struct errbuf *err)
{
	void *at = mmap((void *)MEMORY_BASE, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return errprintf(err, "no room for the extent: %s", strerror(errno));
	memory.numbers.ordinary = true;
	return begin_extent(size, false, err);
}

void memory_lock(void)
{
	lock_take(&memory.lock);
}

void memory_unlock(void)
{
	lock_release(&memory.lock);
}

int memory_copy(void)
{
	uint64_t size = memory.numbers.size, at = memory.first, n;
	long to = host_call(SYS_mmap, 0, (long)(size + LARGE_PAGE),
			    PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     rc;
	uint64_t begin;

	if (is_error(to))
		return (int)to;
	begin = ((uint64_t)to + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	/* what other threads of the parent take behind this has no use here, and must be zero */
	memcpy((void *)begin, (void *)MEMORY_BASE, machine_first_used());
	while ((n = extent_next_used(&memory.extent, &at)) != 0) {
		memcpy((void *)(begin + (at - MEMORY_BASE)), (void *)at, n);
		at += n;
		if (at >= MEMORY_BASE + size)
			break;
	}
	memset(memory.extent.dirty, 0, extent_map_size(size) / 2);
	at = memory.first;
	while (at < MEMORY_BASE + size && (n = extent_next_used(&memory.extent, &at)) != 0) {
		extent_set_dirty(&memory.extent, at, n);
		at += n;
	}
	rc = host_call(SYS_mremap, (long)begin, (long)size, (long)size,
		       MREMAP_MAYMOVE | MREMAP_FIXED, (long)MEMORY_BASE);
	memory.numbers.ordinary = true;
	memory.lock = (struct lock){ 0 };
	return is_error(rc) ? (int)rc : 0;
}

bool memory_has(uint64_t address)
{
	return address >= MEMORY_BASE && address - MEMORY_BASE < memory.numbers.size;
}

bool memory_is_used(uint64_t address)
{
	return memory_has(address) && address >= memory.first &&
	       extent_is_used(&memory.extent, address & ~(EXTENT_PAGE - 1), EXTENT_PAGE);
}

bool memory_is_writable(uint64_t address, uint64_t bytes)
{
	uint64_t first = address & ~(EXTENT_PAGE - 1);

	for (uint64_t at = first; at < address + bytes; at += EXTENT_PAGE)
		if (memory_has(at) && !(window_protection(at) & PROT_WRITE))
			return false;
	return true;
}

/* Set PROT. When pages lose rights, no processor uses the old rights after the return. */
static long set_rights(uint64_t address, uint64_t bytes, int prot)
{
	int rc = window_protect(address, bytes, prot);

	if (rc < 0)
		return rc;
	if (rc > 0 || (memory.stale && (machine.copies_tables || !(prot & PROT_WRITE)))) {
		memory.stale = false;
		thread_forget_pages();
	}
	return 0;
}

static void clear_pages(uint64_t address, uint64_t bytes)
{
	for (uint64_t at = address; at < address + bytes; at += EXTENT_PAGE)
		if (extent_was_dirty(&memory.extent, at))
			memset((void *)at, 0, EXTENT_PAGE);
	extent_set_dirty(&memory.extent, address, bytes);
}

/* Free pages. Their old rights in TLBs matter only when the pages are used again with fewer
 * rights. */
static void give_pages(uint64_t address, uint64_t bytes)
{
	extent_give(&memory.extent, address, bytes);
	if (window_protect(address, bytes, PROT_NONE) > 0)
		memory.stale = true;
}

uint64_t memory_take(uint64_t bytes, uint64_t align, int prot)
{
	uint64_t at;

	memory_lock();
	at = extent_take(&memory.extent, round_up(bytes), align);
	if (at) {
		clear_pages(at, round_up(bytes));
		if (set_rights(at, round_up(bytes), prot) < 0) {
			give_pages(at, round_up(bytes));
			at = 0;
		}
	}
	memory_unlock();
	return at;
}

int memory_protect_part(uint64_t address, uint64_t bytes, int prot)
{
	long rc;

	memory_lock();
	rc = set_rights(address, bytes, prot);
	memory_unlock();
	return (int)rc;
}

void memory_note_stack(uint64_t address, uint64_t bytes)
{
	memory.stack = address;
	memory.stack_size = bytes;
}

/* The heap begins at the program's first page and grows up to the first used page. */
static void move_brk(uint64_t end)
{
	uint64_t old = round_up(memory.brk), new = round_up(end);

	if (new > old) {
		if (!extent_take_at(&memory.extent, old, new - old))
			return;
		clear_pages(old, new - old);
		if (set_rights(old, new - old, PROT_READ | PROT_WRITE) < 0) {
			give_pages(old, new - old);
			return;
		}
	} else if (new < old) {
		give_pages(new, old - new);
	}
	if (end<memory.brk &&new> end)
		memset((void *)end, 0, (memory.brk < new ? memory.brk : new) - end);
	memory.brk = end;
}

long memory_brk(uint64_t end)
{
	long result;

	memory_lock();
	if (end >= memory.first && end <= MEMORY_BASE + memory.numbers.size)
		move_brk(end);
	result = (long)memory.brk;
	memory_unlock();
	return result;
}

/* Let Linux make a mapping. ADDED: count it as private memory outside of the extent. */
static long map_outside(const long arg[6], bool added)
{
	long at = host_call_array(SYS_mmap, arg);

	if (!is_error(at) && added) {
		memory.numbers.outside += round_up((uint64_t)arg[1]);
		memory.numbers.outside_mappings++;
	}
	return at;
}

/*
 * Read LENGTH bytes at OFFSET of the file FD to the address TO, fewer at the end of the file.
 * Returns 0 or -errno.
 */
static long read_mapped_file(uint64_t to, uint64_t length, long fd, long offset)
{
	uint64_t done = 0;

	while (done < length) {
		long n = host_call(SYS_pread64, fd, (long)(to + done), (long)(length - done),
				   offset + (long)done);

		if (n < 0 && n != -EINTR)
			return n;
		if (n == 0)
			break;
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

/* Return whether the private mapping of ARG can be a copy in the extent. */
static bool can_copy(const long arg[6])
{
	struct stat s;

	if (arg[3] & MAP_ANONYMOUS)
		return true;
	return host_call(SYS_fstat, arg[4], (long)&s) == 0 && S_ISREG(s.st_mode) && arg[5] >= 0 &&
	       arg[5] % (long)EXTENT_PAGE == 0 &&
	       ((uint64_t)arg[1] <= memory.numbers.size / FILE_SHARE ||
		(arg[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)));
}

/* Find pages of the extent for the mapping of ARG: their address, 0 for none, or -errno. */
static long find_pages(const long arg[6], uint64_t bytes)
{
	struct extent *e = &memory.extent;
	uint64_t want = (uint64_t)arg[0];

	if (!(arg[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		return (long)extent_take(e, bytes, bytes >= LARGE_PAGE ? LARGE_PAGE : EXTENT_PAGE);
	if (want % EXTENT_PAGE)
		return -EINVAL;
	if (!extent_meets(e, want, bytes))
		return 0;
	if (!is_program(want, bytes))
		return -ENOMEM;
	if (arg[3] & MAP_FIXED_NOREPLACE && !extent_take_at(e, want, bytes))
		return -EEXIST;
	extent_take_over(e, want, bytes);
	return arg[0];
}

/* Make the private mapping of ARG, which has BYTES of whole pages. */
static long map_private(const long arg[6], uint64_t bytes)
{
	int prot = (int)arg[2];
	long at = find_pages(arg, bytes), rc;

	if (is_error(at))
		return at;
	if (!at)
		return map_outside(arg, true);
	clear_pages((uint64_t)at, bytes);
	rc = 0;
	if (!(arg[3] & MAP_ANONYMOUS))
		rc = read_mapped_file((uint64_t)at, bytes, arg[4], arg[5]);
	if (rc == 0)
		rc = set_rights((uint64_t)at, bytes, prot);
	if (rc == 0)
		return at;
	give_pages((uint64_t)at, bytes);
	return rc;
}

/*
 * Return whether all pages of the new shared mapping of ARG can be populated at once: it must be
 * memory, not a file on a disk, and small compared with the extent and with the free memory of its
 * file system.
 */
static bool can_populate(const long arg[6])
{
	uint64_t bytes = (uint64_t)arg[1];
	struct statfs s;

	if ((arg[3] & MAP_TYPE) == MAP_PRIVATE || arg[3] & (MAP_NORESERVE | MAP_HUGETLB) ||
	    !(arg[2] & PROT_WRITE) || bytes > memory.numbers.size / TOUCHED_SHARE)
		return false;
	if (arg[3] & MAP_ANONYMOUS)
		return true;
	if (host_call(SYS_fstatfs, arg[4], (long)&s) < 0 || s.f_type != TMPFS_MAGIC)
		return false;
	return !s.f_blocks || bytes / (uint64_t)s.f_bsize <= s.f_bavail / FREE_SHARE;
}

/*
 * Make a mapping outside of the extent. Memory that ranks share gets its pages here, not by later
 * page faults.
 */
static long map_and_populate(const long arg[6], bool private)
{
	long at = map_outside(arg, private);

	if (!is_error(at) && can_populate(arg))
		host_call(SYS_madvise, at, arg[1], MADV_POPULATE_WRITE);
	return at;
}

static long map_locked(const long arg[6])
{
	uint64_t bytes = round_up((uint64_t)arg[1]);
	bool private = (arg[3] & MAP_TYPE) == MAP_PRIVATE && !(arg[3] & (MAP_HUGETLB | MAP_32BIT));
	bool reserve = arg[3] & MAP_ANONYMOUS && arg[2] == PROT_NONE && !(arg[3] & MAP_STACK);
	bool fixed = arg[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE);

	if (!arg[1] || bytes < (uint64_t)arg[1])
		return arg[1] ? -ENOMEM : -EINVAL;
	if (fixed && extent_meets(&memory.extent, (uint64_t)arg[0], bytes)) {
		if (!private || !can_copy(arg))
			return -ENOMEM; /* the extent has no holes */
		return map_private(arg, bytes);
	}
	if (private && !reserve && can_copy(arg))
		return map_private(arg, bytes);
	return map_and_populate(arg, private && !reserve);
}

long memory_map(const long arg[6])
{
	long rc;

	memory_lock();
	rc = map_locked(arg);
	memory_unlock();
	return rc;
}

/*
 * Some of the BYTES at ARG[0] are in the extent: make Linux's call NR for the bytes below and above
 * the extent, with ARG[2]. Returns 0 or -errno.
 */
static long call_outside(long nr, const long arg[6], uint64_t bytes)
{
	uint64_t address = (uint64_t)arg[0], end = address + bytes;
	uint64_t high = MEMORY_BASE + memory.numbers.size;
	long rc = 0;

	if (address < MEMORY_BASE)
		rc = host_call(nr, arg[0], (long)(MEMORY_BASE - address), arg[2]);
	if (rc == 0 && end > high)
		rc = host_call(nr, (long)(address > high ? address : high),
			       (long)(end - (address > high ? address : high)), arg[2]);
	return rc;
}

/* Return the size of the part of BYTES at *ADDRESS that the program may have in the extent, and set
 * *ADDRESS to the start of this part. */
static uint64_t part_inside(uint64_t *address, uint64_t bytes)
{
	uint64_t end = *address + bytes, high = MEMORY_BASE + memory.numbers.size;

	if (*address < memory.first)
		*address = memory.first;
	if (end > high)
		end = high;
	return end > *address ? end - *address : 0;
}

long memory_unmap(const long arg[6])
{
	uint64_t address = (uint64_t)arg[0], bytes = round_up((uint64_t)arg[1]);
	long rc;

	if (address % EXTENT_PAGE || !bytes)
		return -EINVAL;
	if (address + bytes < address || !extent_meets(&memory.extent, address, bytes))
		return host_call_array(SYS_munmap, arg);
	memory_lock();
	rc = call_outside(SYS_munmap, arg, bytes);
	bytes = part_inside(&address, bytes);
	give_pages(address, bytes);
	memory_unlock();
	return rc;
}

long memory_protect(const long arg[6])
{
	uint64_t address = (uint64_t)arg[0], bytes = round_up((uint64_t)arg[1]);
	long prot = arg[2], rc;

	if (address % EXTENT_PAGE)
		return -EINVAL;
	if (!bytes || address + bytes < address || !extent_meets(&memory.extent, address, bytes))
		return host_call_array(SYS_mprotect, arg);
	if (prot & PROT_GROWSDOWN && address - memory.stack < memory.stack_size) {
		/* as Linux does: from the stack's lowest page on */
		bytes += address - memory.stack;
		address = memory.stack;
		prot &= ~(long)PROT_GROWSDOWN;
	}
	if (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC))
		return -EINVAL;
	memory_lock();
	rc = call_outside(SYS_mprotect, (const long[6]){ (long)address, 0, prot }, bytes);
	bytes = part_inside(&address, bytes);
	if (rc == 0)
		rc = bytes && extent_is_used(&memory.extent, address, bytes)
			     ? set_rights(address, bytes, (int)prot)
			     : -ENOMEM;
	memory_unlock();
	return rc;
}

/* Move OLD bytes at FROM to a new place of BYTES. Returns the new address, or -errno. */
static long move_part(uint64_t from, uint64_t old, uint64_t bytes)
{
	int prot = window_protection(from);
	uint64_t at =
		extent_take(&memory.extent, bytes, bytes >= LARGE_PAGE ? LARGE_PAGE : EXTENT_PAGE);

	if (!at)
		return -ENOMEM;
	clear_pages(at + old, bytes - old);
	extent_set_dirty(&memory.extent, at, old);
	memcpy((void *)at, (void *)from, old);
	if (set_rights(at, bytes, prot) < 0) {
		give_pages(at, bytes);
		return -ENOMEM;
	}
	give_pages(from, old);
	return (long)at;
}

static long remap_inside(const long arg[6])
{
	uint64_t address = (uint64_t)arg[0], old = round_up((uint64_t)arg[1]);
	uint64_t bytes = round_up((uint64_t)arg[2]);

	/* with these two flags, the extent would have holes */
	if (address % EXTENT_PAGE || !bytes || !old ||
	    arg[3] & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		return -EINVAL;
	if (!is_program(address, old) || !extent_is_used(&memory.extent, address, old))
		return -EFAULT;
	if (bytes <= old) {
		if (bytes < old)
			give_pages(address + bytes, old - bytes);
		return arg[0];
	}
	if (extent_take_at(&memory.extent, address + old, bytes - old)) {
		clear_pages(address + old, bytes - old);
		if (set_rights(address + old, bytes - old, window_protection(address)) == 0)
			return arg[0];
		give_pages(address + old, bytes - old);
	}
	return arg[3] & MREMAP_MAYMOVE ? move_part(address, old, bytes) : -ENOMEM;
}

long memory_remap(const long arg[6])
{
	long rc;

	if (arg[3] & MREMAP_FIXED &&
	    extent_meets(&memory.extent, (uint64_t)arg[4], round_up((uint64_t)arg[2]) | 1))
		return -EINVAL;
	if (!extent_meets(&memory.extent, (uint64_t)arg[0], round_up((uint64_t)arg[1]) | 1))
		return host_call_array(SYS_mremap, arg);
	memory_lock();
	rc = remap_inside(arg);
	memory_unlock();
	return rc;
}

/*
 * Advice that is ignored in the extent, because it changes nothing that a program can see: 0 to 3
 * and 8 to 25, without MADV_REMOVE, MADV_WIPEONFORK and MADV_DONTNEED_LOCKED. Other advice fails
 * with -EINVAL, as in a kernel that does not know it.
 */
#define MERE_ADVICE \
	(0xfUL | (0x3ffff00UL & ~(1UL << MADV_REMOVE | 1UL << MADV_WIPEONFORK | 1UL << 24)))

long memory_advise(const long arg[6])
{
	uint64_t address = (uint64_t)arg[0], bytes = round_up((uint64_t)arg[1]);

	if (!bytes || !extent_meets(&memory.extent, address, bytes))
		return host_call_array(SYS_madvise, arg);
	if (address % EXTENT_PAGE || !is_program(address, bytes))
		return -EINVAL;
	if (arg[2] != MADV_DONTNEED)
		return arg[2] >= 0 && arg[2] < 64 && MERE_ADVICE >> arg[2] & 1 ? 0 : -EINVAL;
	memory_lock();
	memset((void *)address, 0, bytes);
	memory_unlock();
	return 0;
}

void memory_count(struct memory_numbers *n)
{
	*n = memory.numbers;
	n->used = (memory.extent.pages - memory.extent.free) * EXTENT_PAGE -
		  (memory.first - MEMORY_BASE);
}
