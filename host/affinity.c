/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/affinity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fileio.h"

/*
 * An idset has the layout of the kernel's CPU and node masks (unsigned longs of 64 bits, lowest id
 * first), so the raw system calls take it.
 */
_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "the masks are arrays of unsigned long");

int affinity_get(pid_t pid, struct idset *out, struct errbuf *err)
{
	idset_zero(out);
	if (syscall(SYS_sched_getaffinity, pid, sizeof(out->word), out->word) < 0)
		return errprintf(err, "sched_getaffinity of process %ld: %s", (long)pid,
				 strerror(errno));
	return 0;
}

int affinity_set(pid_t pid, const struct idset *cpus, struct errbuf *err)
{
	char list[200];

	if (syscall(SYS_sched_setaffinity, pid, sizeof(cpus->word), cpus->word) == 0)
		return 0;
	if (idset_format(cpus, list, sizeof(list)) < 0)
		strcpy(list, "...");
	return errprintf(err, "sched_setaffinity of process %ld to CPUs %s: %s", (long)pid, list,
			 strerror(errno));
}

int membind_set(const struct idset *nodes, struct errbuf *err)
{
	/* the kernel reads bits 0 .. maxnode - 2, so pass one more than the mask has */
	if (syscall(SYS_set_mempolicy, MPOL_BIND, nodes->word, (unsigned long)IDSET_MAX + 1) == 0)
		return 0;
	return errprintf(err, "set_mempolicy(MPOL_BIND): %s", strerror(errno));
}

int membind_get(int *mode, struct idset *nodes, struct errbuf *err)
{
	idset_zero(nodes);
	if (syscall(SYS_get_mempolicy, mode, nodes->word, (unsigned long)IDSET_MAX + 1, NULL,
		    0UL) == 0)
		return 0;
	return errprintf(err, "get_mempolicy: %s", strerror(errno));
}

const char *membind_name(int mode)
{
	static const char *const name[] = {
		"default",	  "preferred",		"bind", "interleave", "local",
		"preferred-many", "weighted-interleave"
	};

	return mode >= 0 && (size_t)mode < sizeof(name) / sizeof(name[0]) ? name[mode] : "?";
}

/* Parse the list in the line of TEXT that begins with KEY; KEY has the newline before it. */
static int status_line(const char *text, const char *key, struct idset *out, struct errbuf *err)
{
	const char *at = strstr(text, key);
	char list[IDSET_LIST_MAX];
	size_t len;

	if (!at)
		return errprintf(err, "no line \"%s\"", key + 1);
	at += strlen(key);
	at += strspn(at, " \t");
	len = strcspn(at, "\n");
	if (len >= sizeof(list))
		return errprintf(err, "the line \"%s\" is too long", key + 1);
	memcpy(list, at, len);
	list[len] = '\0';
	return idset_parse(out, list, err);
}

int status_sets_at(int root, const char *pid, struct idset *cpus, struct idset *mems,
		   struct errbuf *err)
{
	/* large: an earlier line of the file may list 65,536 groups */
	const size_t size = 1 << 20;
	char *text = malloc(size);
	char path[64];
	int rc = -1;

	if (!text)
		return errprintf(err, "out of memory");
	snprintf(path, sizeof(path), "%sproc/%s/status", root == AT_FDCWD ? "/" : "", pid);
	if (file_read(root, path, text, size, err) >= 0)
		rc = status_line(text, "\nCpus_allowed_list:", cpus, err) < 0 ||
				     status_line(text, "\nMems_allowed_list:", mems, err) < 0
			     ? -1
			     : 0;
	free(text);
	return rc;
}

int status_sets(const char *pid, struct idset *cpus, struct idset *mems, struct errbuf *err)
{
	return status_sets_at(AT_FDCWD, pid, cpus, mems, err);
}
