/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/mempolicy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fileio.h"

/* numbers of the kernel, which older headers lack */
#define PREFERRED_MANY 5 /* Linux 5.15 */
#define WEIGHTED_INTERLEAVE 6 /* Linux 6.9 */

#define WEIGHT_MAX 32u
#define WEIGHTS "/sys/kernel/mm/mempolicy/weighted_interleave"

struct node_mask {
	unsigned long word[IDSET_MAX / (8 * sizeof(unsigned long))];
};

static void mask_of(struct node_mask *mask, const struct idset *nodes)
{
	const unsigned bits = 8 * sizeof(unsigned long);

	memset(mask, 0, sizeof(*mask));
	for (int n = idset_next(nodes, -1); n >= 0; n = idset_next(nodes, n))
		mask->word[(unsigned)n / bits] |= 1UL << (unsigned)n % bits;
}

int mempolicy_number(enum mems_policy policy)
{
	switch (policy) {
	case MEMS_PREFERRED_MANY:
		return PREFERRED_MANY;
	case MEMS_WEIGHTED_INTERLEAVE:
		return WEIGHTED_INTERLEAVE;
	default:
		return MPOL_BIND;
	}
}

bool mempolicy_is_known(enum mems_policy policy)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct node_mask mask;
	int mode;
	bool known;
	void *p;

	/* try the policy on a new page, with a node that the caller may use */
	if (syscall(SYS_get_mempolicy, &mode, mask.word, (unsigned long)IDSET_MAX, NULL,
		    MPOL_F_MEMS_ALLOWED) < 0)
		return false;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	known = syscall(SYS_mbind, p, page, mempolicy_number(policy), mask.word,
			(unsigned long)IDSET_MAX, 0) == 0;
	munmap(p, page);
	return known;
}

int mempolicy_set(enum mems_policy policy, const struct idset *nodes, struct errbuf *err)
{
	struct node_mask mask;

	mask_of(&mask, nodes);
	if (syscall(SYS_set_mempolicy, mempolicy_number(policy), mask.word,
		    (unsigned long)IDSET_MAX) == 0)
		return 0;
	return errprintf(err, "memory policy %s: %s", mems_policy_name(policy), strerror(errno));
}

/* Return the read bandwidth of NODE from its nearest CPUs in MB/s; 0: unknown. */
static uint64_t read_bandwidth(const char *root, unsigned node)
{
	char name[4096], text[32];
	struct errbuf ignored;

	snprintf(name, sizeof(name),
		 "%.3900s/sys/devices/system/node/node%u/access0/initiators/read_bandwidth", root,
		 node);
	return file_read(AT_FDCWD, name, text, sizeof(text), &ignored) < 0
		       ? 0
		       : strtoull(text, NULL, 10);
}

static int write_weight(const char *root, unsigned node, unsigned weight, struct errbuf *err)
{
	char name[4096], text[16];
	int len = snprintf(text, sizeof(text), "%u\n", weight), fd, rc;

	snprintf(name, sizeof(name), "%.3900s" WEIGHTS "/node%u", root, node);
	fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	rc = fd < 0 || write(fd, text, (size_t)len) != len ? -1 : 0;
	if (rc < 0)
		errprintf(err, "%s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

int mempolicy_weigh(const struct idset *nodes, const char *root, struct errbuf *err)
{
	uint64_t most = 0, least = UINT64_MAX;
	char name[4096], text[16] = "";
	struct errbuf ignored;
	int n = 0;

	snprintf(name, sizeof(name), "%.3900s" WEIGHTS "/auto", root);
	if (file_read(AT_FDCWD, name, text, sizeof(text), &ignored) > 0 && *text == 't')
		return 0;
	for (int i = idset_next(nodes, -1); i >= 0; i = idset_next(nodes, i)) {
		uint64_t mb = read_bandwidth(root, (unsigned)i);

		most = mb > most ? mb : most;
		least = mb < least ? mb : least;
	}
	if (!most || !least)
		return 0;
	for (int i = idset_next(nodes, -1); i >= 0; i = idset_next(nodes, i), n++) {
		uint64_t mb = read_bandwidth(root, (unsigned)i);
		/* the smallest weights of the same ratio, as far as WEIGHT_MAX allows it */
		uint64_t weight = most / least >= WEIGHT_MAX ? (mb * WEIGHT_MAX + most / 2) / most
							     : (mb + least / 2) / least;

		if (write_weight(root, (unsigned)i, weight ? (unsigned)weight : 1, err) < 0)
			return -1;
	}
	return n;
}
