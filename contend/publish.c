/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "container/step_id.h"

const char *publish_name(char buf[PUBLISH_NAME_MAX], const struct observed_step *step)
{
	char id[16];

	step_id_format(step->step, id);
	snprintf(buf, PUBLISH_NAME_MAX, "%u.%s.json", step->job, id);
	return buf;
}

/*
 * Let user READER read the file. The file's mode is then shown as 0640: the bits of the group show
 * the ACL's mask.
 */
static int grant_read(int fd, uid_t reader)
{
	char text[64];
	acl_t acl;
	int rc;

	if (fchmod(fd, 0640) < 0)
		return -1;
	snprintf(text, sizeof(text), "u::rw,u:%u:r,g::-,m::r,o::-", (unsigned)reader);
	acl = acl_from_text(text);
	if (!acl)
		return -1;
	rc = acl_set_fd(fd, acl);
	acl_free(acl);
	return rc;
}

static int write_document(int fd, uid_t reader, const char *text, size_t len)
{
	/* the file has mode 0600, so grant the right to read it before its text is written */
	return grant_read(fd, reader) < 0 || write_all(fd, text, len) < 0 ? -1 : 0;
}

static int replace_document(int dir_fd, const struct observed_step *step, const char *text,
			    size_t len, struct errbuf *err)
{
	char name[PUBLISH_NAME_MAX], temporary[PUBLISH_NAME_MAX + 8];
	int fd, rc;

	publish_name(name, step);
	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	unlinkat(dir_fd, temporary, 0); /* a killed daemon may have left this file */
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errprintf(err, "%s: %s", name, strerror(errno));
	rc = write_document(fd, step->uid, text, len);
	if (rc < 0 && errno == EOPNOTSUPP)
		errprintf(err, "%s: the file system of this directory has no access control lists",
			  name);
	else if (rc < 0)
		errprintf(err, "%s: %s", name, strerror(errno));
	if (close(fd) < 0 && rc == 0)
		rc = errprintf(err, "%s: %s", name, strerror(errno));
	if (rc == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		rc = errprintf(err, "%s: %s", name, strerror(errno));
	if (rc < 0)
		unlinkat(dir_fd, temporary, 0);
	return rc;
}

int publish_step(struct publisher *p, const struct observed_step *step, const char *text,
		 size_t len, struct errbuf *err)
{
	bool before = p->failing;

	p->failing = replace_document(p->dir_fd, step, text, len, err) < 0;
	return !p->failing ? 0 : before ? 1 : -1;
}

/* Return whether NAME is the document of a step of NODE that has not ended. */
static bool is_live(const char *name, const struct observed_node *node)
{
	char own[PUBLISH_NAME_MAX];

	for (unsigned i = 0; i < node->n_steps; i++)
		if (!node->step[i].ended && strcmp(publish_name(own, &node->step[i]), name) == 0)
			return true;
	return false;
}

struct left_document {
	char name[PUBLISH_NAME_MAX + 8];
	off_t size;
	time_t written;
};

struct left_documents {
	unsigned n, capacity;
	struct left_document *document; /* owned */
};

static int add_left_document(struct left_documents *all, const char *name, const struct stat *st)
{
	struct left_document *more = all->document;

	if (all->n == all->capacity) {
		all->capacity = all->capacity ? 2 * all->capacity : 64;
		more = reallocarray(more, all->capacity, sizeof(*more));
		if (!more)
			return -1;
		all->document = more;
	}
	more += all->n++;
	*more = (struct left_document){ .size = st->st_size, .written = st->st_mtime };
	snprintf(more->name, sizeof(more->name), "%s", name);
	return 0;
}

/* Sort the youngest document first. */
static int compare_left(const void *a, const void *b)
{
	const struct left_document *x = a, *y = b;

	if (x->written != y->written)
		return x->written > y->written ? -1 : 1;
	return strcmp(x->name, y->name);
}

static unsigned remove_left(const struct publisher *p, struct left_documents *all, double now)
{
	size_t bytes = 0;
	unsigned n = 0;

	if (all->n)
		qsort(all->document, all->n, sizeof(*all->document), compare_left);
	for (unsigned i = 0; i < all->n; i++) {
		const struct left_document *d = &all->document[i];

		bytes += (size_t)d->size;
		if ((double)d->written + p->keep <= now || bytes > p->keep_bytes)
			n += unlinkat(p->dir_fd, d->name, 0) == 0;
	}
	return n;
}

unsigned publish_sweep(struct publisher *p, const struct observed_node *node)
{
	int fd = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct left_documents left = { 0 };
	struct dirent *e;
	struct stat st;
	unsigned n;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(dir)) != NULL) {
		/* no document has a longer name */
		if (strlen(e->d_name) >= sizeof(left.document->name) || is_live(e->d_name, node) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (add_left_document(&left, e->d_name, &st) < 0)
			break;
	}
	closedir(dir);
	n = remove_left(p, &left, node->time);
	free(left.document);
	return n;
}
