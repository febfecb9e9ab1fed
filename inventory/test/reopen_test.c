/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are opened again at the destination: what is refused before anything stops. */
#include "inventory/reopen.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static char path[256];

/* Fill F with the file NAME below the scratch directory, as a scan of a process finds it. */
static void describe(struct move_file *f, enum move_place place, const char *name)
{
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	if (stat(path, &st) < 0)
		bail("%s", path);
	*f = (struct move_file){ .what = MOVE_FD,
				 .place = place,
				 .pid = 2,
				 .at = 3,
				 .inode = st.st_ino,
				 .size = (uint64_t)st.st_size,
				 .mode = st.st_mode,
				 .flags = O_RDWR,
				 .uid = st.st_uid,
				 .path = path,
				 .mount = (char *)"/" };
}

static int check_one(const struct move_file *f, struct errbuf *err)
{
	struct move_record r = { 0 };
	int rc;

	errclear(err);
	if (move_record_add_file(&r, f, err) < 0)
		bail("%s", err->text);
	rc = move_reopen_check(&r, err);
	move_record_free(&r);
	return rc;
}

/* Check that F is refused, with its path and with WORDS. */
static void is_refused(const struct move_file *f, const char *words, const char *what)
{
	struct errbuf err = { 0 };
	int rc = check_one(f, &err);

	ok(rc == -1 && strstr(err.text, f->path) && strstr(err.text, words), "%s is refused: %s",
	   what, err.text);
}

static void files(void)
{
	struct errbuf err = { 0 };
	struct move_file f;

	scratch_file("data", "12345678");
	describe(&f, MOVE_SHARED, "data");
	is_int(check_one(&f, &err), 0, "a file that is the same there passes %s", err.text);
	f.inode++;
	is_refused(&f, "another file", "another file of a shared file system");
	describe(&f, MOVE_SHARED, "data");
	f.uid++;
	is_refused(&f, "another owner", "a file with another owner");
	describe(&f, MOVE_HOST, "data");
	is_int(check_one(&f, &err), 0, "a file of the host passes %s", err.text);
	f.size++;
	is_refused(&f, "another file", "a library of another size");
	describe(&f, MOVE_SHARED, "data");
	f.mode = S_IFIFO | 0600;
	is_refused(&f, "another kind", "a file in place of a pipe");
	describe(&f, MOVE_SHARED, "data");
	unlink(path);
	is_refused(&f, "No such file", "a file that is gone");
}

static void links(void)
{
	struct move_file f;
	char link[256];

	scratch_dir("real");
	scratch_file("real/data", "12345678");
	snprintf(link, sizeof(link), "%s/way", scratch);
	if (symlink("real", link) < 0)
		bail("symlink");
	describe(&f, MOVE_SHARED, "way/data");
	is_refused(&f, "symbolic link", "a path with a symbolic link in a shared file system");
	if (mkfifoat(AT_FDCWD, strcat(link, "x"), 0600) < 0)
		bail("mkfifo");
	describe(&f, MOVE_SHARED, "real/data");
	snprintf(path, sizeof(path), "%s/wayx", scratch);
	is_refused(&f, "another kind", "a pipe in place of a file, which is not opened,");
}

/* Open as root without its capabilities for files: a server with root_squash treats root so. */
static void squashed(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct move_file f;
	int status;
	pid_t child;

	scratch_file("secret", "12345678");
	describe(&f, MOVE_SHARED, "secret");
	f.uid = 65534;
	if (geteuid() != 0 || chown(path, f.uid, f.uid) < 0 || chmod(path, 0600) < 0 ||
	    chmod(scratch, 0755) < 0) {
		skip(1, "only root can give a file to another user");
		return;
	}
	describe(&f, MOVE_SHARED, "secret");
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct errbuf err = { 0 };

		_exit(syscall(SYS_capset, &head, none) < 0 || check_one(&f, &err) == 0 ||
		      !strstr(err.text, path) || !strstr(err.text, "Permission denied"));
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		bail("fork");
	is_int(status, 0, "a file that root cannot open there is refused, with its path");
}

int main(void)
{
	scratch_make();
	files();
	links();
	squashed();
	return tap_done();
}
