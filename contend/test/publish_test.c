/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contend/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fileio.h"
#include "base/test/tap.h"
#include "contend/test/example.h"

static char text[128 * 1024];

static bool can_read(const char *path, uid_t uid)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0 &&
				      open(path, O_RDONLY) >= 0
			      ? 0
			      : 1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_rights(struct publisher *p, const struct observed_node *n)
{
	struct errbuf err = { 0 };
	struct stat st;
	char path[128];

	if (publish_step(p, &n->step[0], "{}\n", 3, &err) < 0)
		bail("%s", err.text);
	snprintf(path, sizeof(path), "%s/41.0.json", scratch);
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640 && st.st_uid == geteuid(),
	   "the document belongs to the daemon and has mode 0640");
	if (geteuid() != 0) {
		skip(3, "needs root");
		return;
	}
	ok(can_read(path, 1000), "the step's user can read the document");
	ok(!can_read(path, 1001), "another user cannot read the document");
	snprintf(path, sizeof(path), "%s/42.batch.json", scratch);
	publish_step(p, &n->step[1], "{}\n", 3, &err);
	ok(can_read(path, 1001) && !can_read(path, 1000),
	   "each document can be read only by its step's user");
}

static unsigned count_files(void)
{
	DIR *dir = opendir(scratch);
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void test_full(struct publisher *p, const struct observed_node *n)
{
	struct errbuf err = { 0 };
	char path[128], got[16];

	if (geteuid() != 0 || mount("tmpfs", scratch, "tmpfs", 0, "size=64k") < 0) {
		skip(6, "no file system of a bounded size: %s", strerror(errno));
		return;
	}
	p->dir_fd = open(scratch, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/41.0.json", scratch);
	is_int(publish_step(p, &n->step[0], "old\n", 4, &err), 0, "a document is written");
	memset(text, 'x', sizeof(text));
	is_int(publish_step(p, &n->step[0], text, sizeof(text), &err), -1,
	       "publish_step: fails on a full disk: %s", err.text);
	is_int(publish_step(p, &n->step[0], text, sizeof(text), &err), 1,
	       "publish_step: returns 1, without a reason, for the second failure");
	ok(file_read(AT_FDCWD, path, got, sizeof(got), NULL) == 4 && strcmp(got, "old\n") == 0,
	   "the old document stays on a full disk");
	is_int(count_files(), 1, "no half-written document stays on a full disk");
	is_int(publish_step(p, &n->step[0], "new\n", 4, &err), 0,
	       "the next document that fits the disk is written");
	close(p->dir_fd);
	umount(scratch);
}

static void test_sweep(struct publisher *p, struct observed_node *n)
{
	struct errbuf err = { 0 };

	p->keep = 60;
	n->time = (double)time(NULL);
	publish_step(p, &n->step[0], "{}\n", 3, &err);
	publish_step(p, &n->step[1], "{}\n", 3, &err);
	scratch_file(".7.0.json.new", "half");
	n->step[0].ended = true;
	is_int(publish_sweep(p, n), 0, "publish_sweep: keeps new documents");
	n->time += 61;
	is_int(publish_sweep(p, n), 2,
	       "old documents of ended steps and half-written files are removed");
	is_int(count_files(), 1, "the document of a running step stays");
	observed_remove_step(n, 1);
	is_int(publish_sweep(p, n), 1, "the document of an unknown step is removed");
}

/*
 * Write 40 documents of 100 bytes, one second after the other. The last ten have 1,000 bytes in
 * total.
 */
static void test_bytes(struct publisher *p)
{
	struct observed_node none = { .time = 2000 };
	char name[32], path[128], body[101];

	memset(body, 'x', 100);
	body[100] = '\0';
	p->keep = 1500;
	for (int i = 0; i < 40; i++) {
		struct timespec t[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };

		snprintf(name, sizeof(name), "%d.0.json", 100 + i);
		scratch_file(name, body);
		snprintf(path, sizeof(path), "%s/%s", scratch, name);
		utimensat(AT_FDCWD, path, t, 0);
	}
	is_int(publish_sweep(p, &none), 30,
	       "publish_sweep: removes 30 documents beyond the limit in bytes");
	snprintf(path, sizeof(path), "%s/129.0.json", scratch);
	ok(access(path, F_OK) < 0, "the oldest documents are removed first");
	snprintf(path, sizeof(path), "%s/130.0.json", scratch);
	ok(access(path, F_OK) == 0, "the ten youngest documents stay");
}

int main(void)
{
	struct publisher p = { .keep = 60, .keep_bytes = 1000 };
	struct observed_node n;
	struct errbuf err = { 0 };

	scratch_make();
	chmod(scratch, 0755);
	p.dir_fd = open(scratch, O_RDONLY | O_DIRECTORY);
	example_node(&n);
	if (publish_step(&p, &n.step[0], "{}\n", 3, &err) < 0 && errno == EOPNOTSUPP)
		skip_all("%s", err.text);
	test_rights(&p, &n);
	test_sweep(&p, &n);
	test_bytes(&p);
	test_full(&p, &n);
	observed_free(&n);
	return tap_done();
}
