/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/extent_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/idset.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define PRESENT (1ULL << 63) /* bit of an entry of pagemap */
#define FRAME ((1ULL << 55) - 1)

static uint64_t extent_bytes(const struct extent_ask *ask)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ask->n; i++)
		sum += ask->piece[i].pages * ask->page;
	return sum;
}

static int bind_pieces(char *at, const struct extent_ask *ask, struct errbuf *err)
{
	for (unsigned i = 0; i < ask->n; i++) {
		unsigned node = ask->node[ask->piece[i].node].node;
		unsigned long length = ask->piece[i].pages * ask->page;
		struct idset mask;

		idset_zero(&mask);
		idset_add(&mask, node);
		if (syscall(SYS_mbind, at, length, MPOL_BIND, mask.word, (unsigned long)IDSET_MAX,
			    0UL) < 0)
			return errprintf(err, "mbind to memory node %u: %s", node, strerror(errno));
		at += length;
	}
	return 0;
}

/* Check that each page is on its node, if the kernel reports a node for the page. */
static int check_extent_nodes(char *at, const struct extent_ask *ask, struct errbuf *err)
{
	for (unsigned i = 0; i < ask->n; i++) {
		unsigned node = ask->node[ask->piece[i].node].node;

		for (uint64_t k = 0; k < ask->piece[i].pages; k++, at += ask->page) {
			int status = -1;
			void *page = at;

			if (syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status, 0) == 0 &&
			    status >= 0 && status != (int)node)
				return errprintf(err, "a page is on memory node %d, not on %u",
						 status, node);
		}
	}
	return 0;
}

/* Read the page frame numbers of N pages. */
static int read_frames(uint64_t *pfn, const char *at, uint64_t n, uint64_t page, struct errbuf *err)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -1 : 0;
	const uint64_t small = (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint64_t i = 0; i < n && rc == 0; i++) {
		uint64_t entry = 0;
		off_t where = (off_t)(((uintptr_t)at + i * page) / small * sizeof(entry));

		rc = pread(fd, &entry, sizeof(entry), where) == sizeof(entry) ? 0 : -1;
		pfn[i] = entry & FRAME;
		if (rc == 0 && (!(entry & PRESENT) || !pfn[i])) {
			errno = ENODATA;
			rc = -1;
		}
	}
	if (rc < 0)
		errprintf(err, "/proc/self/pagemap: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Count the runs of the N pages of PAGE bytes that are mapped AT. */
static int prove_frames(struct page_runs *proof, const char *at, uint64_t n, uint64_t page,
			struct errbuf *err)
{
	uint64_t *pfn = calloc(n, sizeof(*pfn));
	int rc;

	if (!pfn)
		return errprintf(err, "out of memory");
	rc = read_frames(pfn, at, n, page, err);
	if (rc == 0)
		page_runs_count(proof, pfn, n, page / (uint64_t)sysconf(_SC_PAGESIZE));
	free(pfn);
	return rc;
}

static int fill_extent(struct page_runs *proof, int fd, const struct extent_ask *ask,
		       struct errbuf *err)
{
	uint64_t size = extent_bytes(ask);
	char *at = MAP_FAILED;
	int rc = -1;

	if (ftruncate(fd, (off_t)size) == 0)
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return errprintf(err, "other programs have reserved the added huge pages: %s",
				 strerror(errno));
	if (bind_pieces(at, ask, err) == 0) {
		/* if a page is missing, this call fails; a write to the page would raise SIGBUS */
		while ((rc = madvise(at, size, MADV_POPULATE_WRITE)) < 0 && errno == EINTR)
			;
		if (rc < 0)
			errprintf(err, "other programs have taken the added huge pages: %s",
				  strerror(errno));
		else if (check_extent_nodes(at, ask, err) < 0 ||
			 prove_frames(proof, at, size / ask->page, ask->page, err) < 0)
			rc = -1;
	}
	munmap(at, size);
	return rc;
}

int extent_file_make(struct page_runs *proof, const struct extent_ask *ask, struct errbuf *err)
{
	unsigned shift = (unsigned)__builtin_ctzll(ask->page);
	int fd = (int)syscall(SYS_memfd_create, "nodeos-lwk",
			      MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB |
				      shift << MFD_HUGE_SHIFT);

	if (fd < 0)
		return errprintf(err, "memfd_create: %s", strerror(errno));
	if (fill_extent(proof, fd, ask, err) == 0) {
		if (fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
			return fd;
		errprintf(err, "seals: %s", strerror(errno));
	}
	close(fd);
	return -1;
}

int extent_file_prove(struct page_runs *proof, int fd, uint64_t page, struct errbuf *err)
{
	struct stat st;
	char *at;
	int rc;

	if (fstat(fd, &st) < 0)
		return errprintf(err, "%s", strerror(errno));
	/* MAP_POPULATE makes no page: all pages are there */
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (at == MAP_FAILED)
		return errprintf(err, "%s", strerror(errno));
	rc = prove_frames(proof, at, (uint64_t)st.st_size / page, page, err);
	munmap(at, (size_t)st.st_size);
	return rc;
}
