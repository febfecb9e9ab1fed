/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* Let READER read the file, whose mode shows as 0640 then: the group's bits are the ACL's mask. */
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
	/* the text last: no other user can open the file before it has its rights */
	return grant_read(fd, reader) < 0 || write_all(fd, text, len) < 0 ? -1 : 0;
}

static int replace_document(int dir_fd, const struct observed_step *step, const char *text,
			    size_t len, struct errbuf *err)
{
	char name[PUBLISH_NAME_MAX], temporary[PUBLISH_NAME_MAX + 8];
	int fd, rc;

	publish_name(name, step);
	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	unlinkat(dir_fd, temporary, 0); /* left over from a daemon that was killed */
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errprintf(err, "%s: %s", name, strerror(errno));
	rc = write_document(fd, step->uid, text, len);
	if (rc < 0 && errno == EOPNOTSUPP)
		errprintf(err, "%s: this file system has no access control lists", name);
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

/* Is NAME the document of a step that NODE has, and that runs? */
static bool is_live(const char *name, const struct observed_node *node)
{
	char own[PUBLISH_NAME_MAX];

	for (unsigned i = 0; i < node->n_steps; i++)
		if (!node->step[i].ended && strcmp(publish_name(own, &node->step[i]), name) == 0)
			return true;
	return false;
}

unsigned publish_sweep(struct publisher *p, const struct observed_node *node)
{
	int fd = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	unsigned n = 0;
	struct dirent *e;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(dir)) != NULL) {
		if (is_live(e->d_name, node) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		    (double)st.st_mtime + p->keep > node->time)
			continue;
		n += unlinkat(fd, e->d_name, 0) == 0;
	}
	closedir(dir);
	return n;
}
