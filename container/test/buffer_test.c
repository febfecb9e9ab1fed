/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/buffer.h"

#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "container/buffer_source.h"
#include "container/cgroup.h"
#include "container/test/fixture.h"
#include "topology/test/tap.h"

#define NOBODY 65534

static struct conf conf = { .helper_timeout = 10, .dimmap_files = true };

/* What buffer_source_open says of NAME in the scratch directory for user UID: its first byte, or the reason without the path. */
static const char *source(const char *name, uid_t uid, bool read_only)
{
	static struct errbuf err;
	static char got[2];
	struct request_dimmap ask = { .size = REQUEST_DIMMAP_MIN, .read_only = read_only };
	int fd;

	snprintf(ask.source, sizeof(ask.source), "%s/%s", scratch, name);
	fd = buffer_source_open(&ask, uid, uid, &conf, "f", &err);
	if (fd < 0)
		return strstr(err.text, name) ? strstr(err.text, name) + strlen(name) + 2 : err.text;
	is_int(fcntl(fd, F_GETFL) & O_ACCMODE, read_only ? O_RDONLY : O_RDWR, "%s: opened for what was asked", name);
	ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "%s: closed by exec", name);
	got[0] = '?';
	if (read(fd, got, 1) != 1)
		got[0] = '!';
	close(fd);
	return got;
}

static void put(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		abort();
	close(fd);
}

static void sources(void)
{
	static const char denied[] = "cannot be opened for reading and writing by its user (uid 65534): Permission denied";
	struct request_dimmap ask = { .size = REQUEST_DIMMAP_MIN, .source = "/dev/null" };
	struct errbuf err;
	char path[512];

	if (geteuid() != 0) {
		puts("ok 1 - # SKIP needs root");
		tap_count++;
		return;
	}
	chmod(scratch, 0755);
	put("own", 0600, NOBODY, NOBODY);
	put("root", 0600, 0, 0);
	put("readable", 0644, 0, 0);
	put("group", 0660, 0, NOBODY);
	put("root-group", 0660, NOBODY + 1, 0);
	snprintf(path, sizeof(path), "%s/fifo", scratch);
	if (mkfifo(path, 0666) < 0 || chmod(path, 0666) < 0)
		abort();
	is(source("own", NOBODY, false), "x", "a file of the user");
	is(source("group", NOBODY, false), "x", "of his group");
	is(source("root", NOBODY, false), denied, "not root's");
	is(source("root-group", NOBODY, false), denied, "nor that of a group of root's");
	is(source("readable", NOBODY, false), denied, "nor one that he can read, for writing");
	is(source("readable", NOBODY, true), "x", "but for reading");
	is(source("fifo", NOBODY, false), "is no regular file", "a named pipe, without waiting");
	is(source("none", NOBODY, true), "cannot be opened for reading by its user (uid 65534): No such file or directory", "nothing");
	scratch_dir("dir");
	snprintf(path, sizeof(path), "%s/dir", scratch);
	chmod(path, 0755);
	is(source("dir", NOBODY, true), "is no regular file", "a directory");
	is_int((int)geteuid(), 0, "we are who we were");
	strcpy(conf.dimmap_devices, "/dev/null");
	is_int(buffer_source_open(&ask, NOBODY, NOBODY, &conf, "f", &err), -1, "a device that is no block device");
	is(err.text, "/dev/null: is no block device", "and the reason");
}

/* Directories of buffers, without mounts: what is swept away and what stays. */
static void sweep(void)
{
	char state[128], path[BUFFER_PATH_MAX], name[300];
	struct errbuf err;
	uint64_t inode, value = 0;
	int cgroup;

	scratch_dir("cgroup/job");
	snprintf(state, sizeof(state), "%s/run", scratch);
	snprintf(name, sizeof(name), "%s/cgroup", scratch);
	cgroup = cgroup_open_root(name, &err);
	inode = cgroup_inode(cgroup, "job");
	ok(inode > 0, "there is a job");
	buffer_sweep(state, cgroup);
	buffer_path(path, state, inode, 3);
	snprintf(name, sizeof(name), "%s/run-dimmap/%llu.3/m", scratch, (unsigned long long)inode);
	is(path, name, "path");

	snprintf(name, sizeof(name), "run-dimmap/%llu.3/m", (unsigned long long)inode);
	scratch_dir(name);
	snprintf(name, sizeof(name), "run-dimmap/%llu.3/owner", (unsigned long long)inode);
	put(name, 0600, getuid(), getgid());
	snprintf(name, sizeof(name), "%s/run-dimmap/%llu.3/owner", scratch, (unsigned long long)inode);
	{
		FILE *f = fopen(name, "w");

		fprintf(f, "%llu job\n", (unsigned long long)inode);
		fclose(f);
	}
	scratch_dir("run-dimmap/12345.0/m");
	scratch_dir("run-dimmap/other");
	snprintf(name, sizeof(name), "%s/run-dimmap", scratch);
	chmod(name, 0711);
	buffer_sweep(state, cgroup);
	is_int(access(path, F_OK), 0, "that of a live job stays");
	snprintf(name, sizeof(name), "%s/run-dimmap/12345.0", scratch);
	is_int(access(name, F_OK), -1, "that of none goes");
	snprintf(name, sizeof(name), "%s/run-dimmap/other", scratch);
	is_int(access(name, F_OK), 0, "what is no buffer stays");
	ok(!buffer_is_at(path), "a directory is no buffer");
	is_int(buffer_stats(path, name, sizeof(name)), -1, "and tells nothing");
	buffer_release(state, inode + 1);
	is_int(access(path, F_OK), 0, "another's end leaves it");
	snprintf(name, sizeof(name), "%s/run-dimmap", scratch);
	chmod(name, 0777);
	buffer_release(state, inode);
	is_int(access(path, F_OK), 0, "nothing is done in a directory that others can write to");
	chmod(name, 0711);
	buffer_release(state, inode);
	is_int(access(path, F_OK), -1, "with its job it goes");

	ok(buffer_stat("pages 12\nmajor 34\n", "major", &value) && value == 34, "a number by its name");
	ok(!buffer_stat("pages 12\nmajor 34\n", "maj", &value) && !buffer_stat("", "major", &value), "by its whole name");
}

int main(void)
{
	scratch_make();
	sources();
	sweep();
	return tap_done();
}
