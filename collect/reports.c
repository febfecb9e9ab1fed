/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/reports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".json"
#define FILES_MAX (4 * REPORT_HOSTS_MAX) /* the most files that are read in a job's directory */

/*
 * Return whether only the caller and root own and can change the file or directory that ST
 * describes. In a sticky directory, other users may add files.
 */
static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) &&
	       (!(st->st_mode & (S_IWGRP | S_IWOTH)) ||
		(S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX));
}

static const char *user_name(char buf[64], uid_t uid)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(buf, 64, "%s", pw->pw_name);
	else
		snprintf(buf, 64, "%u", (unsigned)uid);
	return buf;
}

int report_dir_open(const char *path, struct errbuf *err)
{
	char owner[64], me[64];
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errprintf(err, "%s: %s (see contention_report_dir in nodeos.conf(5))", path,
				 strerror(errno));
	if (fstat(fd, &st) < 0)
		errprintf(err, "%s: %s", path, strerror(errno));
	else if (st.st_uid != geteuid())
		errprintf(err,
			  "%s belongs to user %s, but this program runs as %s; run it as %s, which "
			  "must be contention_report_user and SlurmUser or an operator",
			  path, user_name(owner, st.st_uid), user_name(me, geteuid()),
			  user_name(owner, st.st_uid));
	else if (!is_trusted(&st))
		errprintf(err, "other users can write to %s; run \"chmod go-w %s\"", path, path);
	else
		return fd;
	close(fd);
	return -1;
}

int report_job_open(int dir, const char *name, struct errbuf *err)
{
	struct stat st;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errprintf(err, "%s", strerror(errno));
	if (fstat(fd, &st) < 0 || !is_trusted(&st)) {
		close(fd);
		return errprintf(err, "another user owns the directory or may write to it");
	}
	return fd;
}

/* Open the regular file NAME below DIR. Returns its descriptor, or -1 with errno and the reason. */
static int open_regular(int dir, const char *name, struct errbuf *err)
{
	/* O_NONBLOCK: opening a named pipe would wait for a writer */
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st = { 0 };

	if (fd < 0) {
		errprintf(err, "%s", errno == ELOOP ? "it is a symbolic link" : strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_trusted(&st))
		return fd;
	errprintf(err, "%s",
		  S_ISREG(st.st_mode) ? "another user owns the file or may write to it"
				      : "not a regular file");
	close(fd);
	errno = EPERM;
	return -1;
}

/*
 * Read the regular file NAME below DIR, at most SIZE - 1 bytes, and end the text with NUL. Returns
 * its length, or -1 with errno and the reason.
 */
static ssize_t read_file(int dir, const char *name, char *buf, size_t size, struct errbuf *err)
{
	int fd = open_regular(dir, name, err), error = 0;
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -1;
	while (n > 0 && used < size) {
		n = read(fd, buf + used, size - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		error = errno;
		errprintf(err, "%s", strerror(error));
	} else if (used == size) {
		error = EFBIG;
		errprintf(err, "the file has more than %zu bytes", size - 1);
	} else {
		buf[used] = '\0';
	}
	close(fd);
	errno = error;
	return error ? -1 : (ssize_t)used;
}

/* Return the length of HOST if NAME is "HOST.json", the name of a host's report; otherwise 0. */
static size_t host_length(const char *name)
{
	size_t len = strlen(name), suffix = strlen(SUFFIX);

	if (len <= suffix || strcmp(name + len - suffix, SUFFIX) != 0 || name[0] == '.' ||
	    strcmp(name, REPORT_RECORD) == 0)
		return 0;
	return len - suffix;
}

static int read_report(struct host_report *h, int dir, const char *name, uint32_t job,
		       struct errbuf *err)
{
	char text[HOST_REPORT_MAX];
	ssize_t len = read_file(dir, name, text, sizeof(text), err);

	if (len < 0 || host_report_parse(h, text, (size_t)len, err) < 0)
		return -1;
	if (h->job != job)
		return errprintf(err, "the report is on job %u", (unsigned)h->job);
	if (strlen(h->host) != host_length(name) || strncmp(h->host, name, strlen(h->host)) != 0)
		return errprintf(err, "the report is of another host");
	return 0;
}

/* Like opendir(), for the open directory DIR. DIR stays open after closedir(). */
static DIR *list_directory(int dir, struct errbuf *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d) {
		errprintf(err, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	return d;
}

int report_job_read(int job_dir, uint32_t job, const struct report_reader *r, struct errbuf *err)
{
	DIR *d = list_directory(job_dir, err);
	unsigned hosts = 0, files = 0;
	struct dirent *e;

	if (!d)
		return -1;
	while (files++ < FILES_MAX && (e = readdir(d))) {
		struct errbuf why = { 0 };
		struct host_report h;

		if (!host_length(e->d_name))
			continue;
		if (hosts == REPORT_HOSTS_MAX) {
			r->skipped(e->d_name, "hosts after the first 16384 are not read", r->arg);
			break;
		}
		if (read_report(&h, job_dir, e->d_name, job, &why) < 0) {
			r->skipped(e->d_name, why.text, r->arg);
			continue;
		}
		hosts++;
		r->read(&h, r->arg);
	}
	closedir(d);
	return 0;
}

char *report_file_read(int dir, const char *name, struct errbuf *err)
{
	char *buf = malloc(REPORT_FILE_MAX);

	errclear(err);
	if (!buf) {
		errprintf(err, "out of memory");
	} else if (read_file(dir, name, buf, REPORT_FILE_MAX, err) < 0) {
		if (errno == ENOENT)
			errclear(err);
		free(buf);
		buf = NULL;
	}
	return buf;
}

int report_job_remove(int dir, const char *name, struct errbuf *err)
{
	int fd = report_job_open(dir, name, err);
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return -1;
	d = list_directory(fd, err);
	if (!d) {
		close(fd);
		return -1;
	}
	/* a subdirectory stays, so the removal of NAME below fails */
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(fd, e->d_name, 0);
	closedir(d);
	close(fd);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return errprintf(err, "%s", strerror(errno));
	return 0;
}
