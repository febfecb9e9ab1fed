/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/buffer.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"
#include "host/buffer_source.h"
#include "host/cgroup.h"

#define NOBODY 65534

static const gid_t *groups;
static int n_groups;
static struct conf conf = { .helper_timeout = 10, .dimmap_files = true };

/*
 * The answer of the user database for the test's uid: no user, one more group, many groups, or no
 * answer.
 */
static enum { UNKNOWN, ONE_GROUP, MANY_GROUPS, IS_AWAY } database;

/* The next two functions take the place of libc's. */
int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size, struct passwd **found)
{
	(void)buf;
	(void)size;
	while (database == IS_AWAY)
		pause();
	pw->pw_name = (char *)"alice";
	*found = uid == NOBODY && database != UNKNOWN ? pw : NULL;
	return 0;
}

int getgrouplist(const char *user, gid_t group, gid_t *list, int *n)
{
	int capacity = *n;

	(void)user;
	*n = database == MANY_GROUPS ? 100000 : 2;
	if (capacity < *n)
		return -1;
	list[0] = group;
	list[1] = NOBODY + 2;
	return *n;
}

/*
 * Return the result of buffer_source_open() for NAME in the scratch directory as user UID: the
 * first byte of the file, or the reason without the path.
 */
static const char *open_source(const char *name, uid_t uid, bool read_only)
{
	static struct errbuf err;
	static char got[2];
	struct request_dimmap ask = { .size = REQUEST_DIMMAP_MIN, .read_only = read_only };
	struct buffer b = {
		.ask = &ask, .uid = uid, .gid = uid, .group = groups, .n_groups = n_groups
	};
	int fd;

	snprintf(ask.source, sizeof(ask.source), "%s%s%s", *name == '/' ? "" : scratch,
		 *name == '/' ? "" : "/", name);
	fd = buffer_source_open(&b, &conf, "f", &err);
	if (fd < 0)
		return strstr(err.text, name) ? strstr(err.text, name) + strlen(name) + 2
					      : err.text;
	is_int(fcntl(fd, F_GETFL) & O_ACCMODE, read_only ? O_RDONLY : O_RDWR,
	       "buffer_source_open: opens \"%s\" with the requested access mode", name);
	ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "buffer_source_open: opens \"%s\" close-on-exec", name);
	got[0] = '?';
	if (read(fd, got, 1) != 1)
		got[0] = '!';
	close(fd);
	return got;
}

static void write_file(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		abort();
	close(fd);
}

static void test_buffer_sources(void)
{
	static const char denied[] = "cannot be opened for reading and writing by its user (uid "
				     "65534): Permission denied";
	static const char not_his[] =
		"uid 65534 must own the file or have write access to it: while a buffer uses a "
		"file, no other process can write to it";
	static const gid_t told[] = { NOBODY, NOBODY + 2 };
	struct request_dimmap ask = { .size = REQUEST_DIMMAP_MIN, .source = "/dev/null" };
	struct buffer b = { .ask = &ask, .uid = NOBODY, .gid = NOBODY };
	struct errbuf err;
	char path[512];

	if (geteuid() != 0) {
		puts("ok 1 - # SKIP needs root");
		tap_count++;
		return;
	}
	chmod(scratch, 0755);
	write_file("own", 0600, NOBODY, NOBODY);
	write_file("root", 0600, 0, 0);
	write_file("readable", 0644, 0, 0);
	write_file("own-ro", 0400, NOBODY, NOBODY);
	write_file("writable", 0666, 0, 0);
	write_file("other-group", 0660, 0, NOBODY + 2);
	write_file("group", 0660, 0, NOBODY);
	write_file("root-group", 0660, NOBODY + 1, 0);
	snprintf(path, sizeof(path), "%s/fifo", scratch);
	if (mkfifo(path, 0666) < 0 || chmod(path, 0666) < 0)
		abort();
	is(open_source("own", NOBODY, false), "x", "buffer_source_open: opens a file of the user");
	is(open_source("group", NOBODY, false), "x",
	   "buffer_source_open: opens a file of the user's group");
	is(open_source("root", NOBODY, false), denied,
	   "buffer_source_open: refuses a file of root");
	is(open_source("root-group", NOBODY, false), denied,
	   "buffer_source_open: refuses a file of one of root's groups");
	is(open_source("readable", NOBODY, false), denied,
	   "buffer_source_open: refuses to open for writing a file that the user can only read");
	is(open_source("readable", NOBODY, true), not_his,
	   "buffer_source_open: refuses to open for reading a file that the user neither owns nor "
	   "can write");
	is(open_source("own-ro", NOBODY, true), "x",
	   "buffer_source_open: opens the user's own read-only file");
	is(open_source("writable", NOBODY, true), "x",
	   "buffer_source_open: opens a file that every user can write");
	is(open_source("other-group", NOBODY, false), denied,
	   "buffer_source_open: refuses a file of another group");
	groups = told;
	n_groups = 2;
	is(open_source("other-group", NOBODY, false), "x",
	   "buffer_source_open: opens a file of a group that Slurm gives the user");
	n_groups = 0;
	database = ONE_GROUP;
	is(open_source("other-group", NOBODY, false), "x",
	   "buffer_source_open: opens a file of a group that the user database gives the user");
	database = MANY_GROUPS;
	is(open_source("other-group", NOBODY, false),
	   "uid 65534 has more than 500 groups, and Slurm did not report them",
	   "buffer_source_open: refuses a user with too many groups");
	database = IS_AWAY;
	conf.helper_timeout = 2;
	is(open_source("other-group", NOBODY, false),
	   "the user database does not report the groups of uid 65534: not finished within 2 s",
	   "buffer_source_open: fails if the user database does not answer");
	conf.helper_timeout = 10;
	database = UNKNOWN;
	is(open_source("/proc/self/exe", NOBODY, true),
	   "a file below /proc cannot be the source of a buffer",
	   "buffer_source_open: refuses a name below /proc, which leads to root's files");
	is(open_source("fifo", NOBODY, false), "is not a regular file",
	   "buffer_source_open: refuses a named pipe without waiting");
	is(open_source("none", NOBODY, true),
	   "cannot be opened for reading by its user (uid 65534): No such file or directory",
	   "buffer_source_open: refuses a missing file");
	scratch_dir("dir");
	snprintf(path, sizeof(path), "%s/dir", scratch);
	chmod(path, 0755);
	is(open_source("dir", NOBODY, true), "is not a regular file",
	   "buffer_source_open: refuses a directory");
	is_int((int)geteuid(), 0, "buffer_source_open: the caller keeps its uid");
	strcpy(conf.dimmap_devices, "/dev/null");
	is_int(buffer_source_open(&b, &conf, "f", &err), -1,
	       "buffer_source_open: refuses a character device");
	is(err.text, "/dev/null: is not a block device",
	   "buffer_source_open: the message says that /dev/null is no block device");
}

/*
 * Wait until PATH is removed: a sweep does not wait for the processes that remove buffers. Returns
 * -1 once it is removed, 0 if it still exists after 10 s.
 */
static int wait_until_removed(const char *path)
{
	const struct timespec step = { 0, 10000000 };

	for (int i = 0; i < 1000 && access(path, F_OK) == 0; i++)
		nanosleep(&step, NULL);
	return access(path, F_OK);
}

/* Make the directory NAME of a buffer that belongs to CGROUP. */
static void make_entry(char *path, const char *cgroup, uint64_t inode, unsigned index)
{
	FILE *f;

	snprintf(path, 300, "run-dimmap/%llu.%u/m", (unsigned long long)inode, index);
	scratch_dir(path);
	snprintf(path, 300, "%s/run-dimmap/%llu.%u/owner", scratch, (unsigned long long)inode,
		 index);
	f = fopen(path, "w");
	fprintf(f, "%llu %s\nuid 1 gid 1\n", (unsigned long long)inode, cgroup);
	fclose(f);
	*strrchr(path, '/') = '\0';
}

/* Directories of buffers without mounts: which of them does a sweep remove? */
static void test_buffer_sweep(void)
{
	char state[128], path[BUFFER_PATH_MAX], name[320], empty[300], odd[300];
	struct errbuf err;
	uint64_t inode, value = 0;
	int cgroup;

	scratch_dir("cgroup/job");
	snprintf(state, sizeof(state), "%s/run", scratch);
	snprintf(name, sizeof(name), "%s/cgroup", scratch);
	cgroup = cgroup_open_root(name, &err);
	inode = cgroup_inode(cgroup, "job");
	ok(inode > 0, "buffer_sweep: the cgroup of the test's job exists");
	buffer_sweep(state, cgroup);
	buffer_path(path, state, inode, 3);
	snprintf(name, sizeof(name), "%s/run-dimmap/%llu.3/m", scratch, (unsigned long long)inode);
	is(path, name, "buffer_path: gives the mount point");

	/*
	 * the root cgroup's file, to which the removing process moves, and a job without processes
	 */
	write_file("cgroup/cgroup.procs", 0600, getuid(), getgid());
	scratch_dir("cgroup/ended");
	write_file("cgroup/ended/cgroup.events", 0600, getuid(), getgid());
	snprintf(name, sizeof(name), "%s/cgroup/ended/cgroup.events", scratch);
	{
		FILE *f = fopen(name, "w");

		fputs("populated 0\nfrozen 0\n", f);
		fclose(f);
	}
	make_entry(name, "job", inode, 3);
	make_entry(empty, "ended", cgroup_inode(cgroup, "ended"), 0);
	/* a buffer whose owner cannot be read */
	make_entry(odd, "job", 54321, 0);
	snprintf(name, sizeof(name), "%s/owner", odd);
	unlink(name);
	snprintf(name, sizeof(name), "run-dimmap/54321.0/owner/x");
	scratch_dir(name);
	scratch_dir("run-dimmap/12345.0/m");
	scratch_dir("run-dimmap/other");
	snprintf(name, sizeof(name), "%s/run-dimmap", scratch);
	chmod(name, 0711);
	buffer_sweep(state, cgroup);
	snprintf(name, sizeof(name), "%s/run-dimmap/12345.0", scratch);
	is_int(wait_until_removed(name), -1, "buffer_sweep: removes a buffer without an owner");
	is_int(wait_until_removed(empty), -1,
	       "buffer_sweep: removes a buffer of a job without a process");
	is_int(access(path, F_OK), 0, "buffer_sweep: keeps a buffer of a live job");
	is_int(access(odd, F_OK), 0, "buffer_sweep: keeps a buffer whose owner cannot be read");
	snprintf(name, sizeof(name), "%s/run-dimmap/other", scratch);
	is_int(access(name, F_OK), 0, "buffer_sweep: keeps a directory that is not a buffer's");
	ok(!buffer_is_at(path), "buffer_is_at: false for a plain directory");
	is_int(buffer_stats(path, name, sizeof(name)), -1,
	       "buffer_stats: a plain directory has no statistics");
	buffer_release(state, inode + 1);
	is_int(access(path, F_OK), 0, "buffer_release: keeps another job's buffer");
	snprintf(name, sizeof(name), "%s/run-dimmap", scratch);
	chmod(name, 0777);
	buffer_release(state, inode);
	is_int(access(path, F_OK), 0,
	       "buffer_release: does nothing in a directory that others can write to");
	chmod(name, 0711);
	buffer_release(state, inode);
	is_int(access(path, F_OK), -1, "buffer_release: removes the job's buffer");

	if (geteuid() == 0) {
		struct request_dimmap ask = { .size = REQUEST_DIMMAP_MIN, .source = "/dev/null" };
		struct buffer b = { .ask = &ask, .cgroup = "job", .inode = inode };
		struct stat st;
		mode_t old = umask(0777);

		snprintf(conf.state_dir, sizeof(conf.state_dir), "%s/other", scratch);
		is_int(buffer_make(&b, &conf, "f", &err), -1,
		       "buffer_make: fails for a source that is not a block device");
		umask(old);
		snprintf(name, sizeof(name), "%s/other-dimmap", scratch);
		is_int(stat(name, &st) == 0 ? (long)(st.st_mode & 07777) : -1, 0711,
		       "buffer_make: the directory has mode 0711 despite the job's umask");
	}
	ok(buffer_stat("pages 12\nmajor 34\n", "major", &value) && value == 34,
	   "buffer_stat: finds a number by its name");
	ok(!buffer_stat("pages 12\nmajor 34\n", "maj", &value) && !buffer_stat("", "major", &value),
	   "buffer_stat: needs the whole name");
}

int main(void)
{
	alarm(120); /* time limit of the test, in case a wait has none */
	scratch_make();
	test_buffer_sources();
	test_buffer_sweep();
	return tap_done();
}
