/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/pool_journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fileio.h"

#define HEAD "nodeos-hugepages 1\n"
#define PREFIX "step-"

static const char *const change_word[] = { "added", "raising", "lowering", NULL };

int pool_entry_format(char *buf, size_t size, const struct pool_entry *e)
{
	int len = snprintf(buf, size, HEAD "step %" PRIu64 " job %" PRIu64 " cgroup %s\n",
			   e->step_inode, e->job_inode, e->cgroup);

	for (unsigned i = 0; i < e->n && len >= 0 && (size_t)len < size; i++) {
		const struct pool_part *p = &e->part[i];

		len += snprintf(buf + len, size - (size_t)len,
				"node %u page %" PRIu64 " before %" PRIu64 " %s %" PRIu64 "\n",
				p->pool.node, p->pool.page, p->before, change_word[p->change],
				p->pages);
	}
	if (len >= 0 && (size_t)len < size)
		len += snprintf(buf + len, size - (size_t)len, "end\n");
	return len >= 0 && (size_t)len < size ? len : -1;
}

/* Parse one line of a pool. Returns its length, or -1. */
static int parse_part(struct pool_part *p, const char *text)
{
	char word[16];
	int n = -1;

	sscanf(text, "node %u page %" SCNu64 " before %" SCNu64 " %15s %" SCNu64 "\n%n",
	       &p->pool.node, &p->pool.page, &p->before, word, &p->pages, &n);
	if (n < 0 || p->pool.node >= IDSET_MAX || p->pool.page < 1024)
		return -1;
	for (unsigned i = 0; change_word[i]; i++)
		if (strcmp(word, change_word[i]) == 0) {
			p->change = (enum pool_change)i;
			return n;
		}
	return -1;
}

int pool_entry_parse(struct pool_entry *e, const char *text, struct errbuf *err)
{
	int n = -1, len;

	_Static_assert(CGROUP_PATH_MAX == 1024, "the width in the next format");
	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return errprintf(err, "written by another version of NodeOS");
	text += strlen(HEAD);
	sscanf(text, "step %" SCNu64 " job %" SCNu64 " cgroup %1023[^\n]\n%n", &e->step_inode,
	       &e->job_inode, e->cgroup, &n);
	if (n < 0)
		return errprintf(err, "bad line \"%.60s\"", text);
	for (e->n = 0, text += n; strncmp(text, "node ", 5) == 0; text += len) {
		len = e->n < POOL_PARTS_MAX ? parse_part(&e->part[e->n], text) : -1;
		if (len < 0)
			return errprintf(err, "bad line \"%.60s\"", text);
		e->n++;
	}
	return strcmp(text, "end\n") == 0 ? 0
					  : errprintf(err, "it is truncated, or has unknown lines");
}

void pool_part_settle(struct pool_part *p, uint64_t now)
{
	if (p->change == POOL_RAISING)
		p->pages = pool_added(p->before, p->pages, now);
	else if (p->change == POOL_LOWERING)
		p->pages -= pool_added(now, p->pages, p->before);
	p->change = POOL_STABLE;
}

uint64_t pool_entry_bytes(const struct pool_entry *e)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->n; i++)
		sum += e->part[i].pages * e->part[i].pool.page;
	return sum;
}

static void journal_name(char name[64], uint64_t step_inode)
{
	snprintf(name, 64, PREFIX "%" PRIu64, step_inode);
}

int pool_journal_open(const char *state_dir, struct errbuf *err)
{
	char path[DIR_PATH_MAX + 16];
	int dir;

	snprintf(path, sizeof(path), "%s-hugepages", state_dir);
	dir = dir_open_private(path, err);
	/* a directory can be locked, too */
	while (dir >= 0 && flock(dir, LOCK_EX) < 0)
		if (errno != EINTR) {
			errprintf(err, "%s: %s", path, strerror(errno));
			close(dir);
			return -1;
		}
	return dir;
}

int pool_journal_write(int dir, const struct pool_entry *e, struct errbuf *err)
{
	char name[64], *text = malloc(POOL_ENTRY_MAX);
	int rc = -1;

	journal_name(name, e->step_inode);
	if (!text)
		return errprintf(err, "out of memory");
	if (pool_entry_format(text, POOL_ENTRY_MAX, e) < 0)
		errprintf(err, "the record of the step's huge pages is too long");
	else
		rc = file_replace(dir, name, text, 0600, err);
	free(text);
	return rc;
}

int pool_journal_read(struct pool_entry *e, int dir, uint64_t step_inode, struct errbuf *err)
{
	char name[64], *text = malloc(POOL_ENTRY_MAX);
	int rc;

	journal_name(name, step_inode);
	if (!text)
		return errprintf(err, "out of memory");
	rc = file_read(dir, name, text, POOL_ENTRY_MAX, err);
	if (rc < 0)
		rc = errno == ENOENT ? 0 : -1;
	else
		rc = pool_entry_parse(e, text, err) < 0 ? errwrap(err, "%s", name) : 1;
	if (!rc)
		errclear(err);
	free(text);
	return rc;
}

void pool_journal_remove(int dir, uint64_t step_inode)
{
	char name[64];

	journal_name(name, step_inode);
	unlinkat(dir, name, 0);
}

void pool_journal_each(int dir, void (*fn)(int dir, uint64_t step_inode, void *arg), void *arg)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;

	if (!list && own >= 0)
		close(own);
	while (list && (e = readdir(list)) != NULL) {
		char *end;
		uint64_t inode;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		inode = strtoull(e->d_name + strlen(PREFIX), &end, 10);
		if (!*end && inode)
			fn(dir, inode, arg);
	}
	if (list)
		closedir(list);
}
