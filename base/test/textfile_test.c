/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/textfile.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"

#define SPACE 4096 /* limit of a file's size in bytes, which stands for a full disk */

static char dir[] = "/tmp/textfile_test.XXXXXX";
static char text[3 * SPACE];

static const char *path_of(const char *name)
{
	static char path[2][128];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

/* Return the size of file NAME in bytes, or -1 if there is no such file. */
static long long size_of(const char *name)
{
	struct stat st;

	return stat(path_of(name), &st) < 0 ? -1 : (long long)st.st_size;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(path_of(name), &st) == 0;
}

static void write_old_file(const char *name)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "before\n", 7) != 7 || close(fd) < 0)
		bail("%s", path_of(name));
}

static void check_file_too_large(const char *name, const struct errbuf *err)
{
	char want[256];

	snprintf(want, sizeof(want), "%s: File too large", path_of(name));
	is(err->text, want, "textfile_write: the message gives file and reason");
}

/*
 * Fork a process that writes three parts to the pipe PATH and then closes the pipe or keeps it
 * open.
 */
static pid_t fork_writer(const char *path, bool closes)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = open(path, O_WRONLY);
	for (int i = 0; i < 3; i++) {
		if (write(fd, "part\n", 5) != 5)
			_exit(1);
		usleep(200000);
	}
	if (!closes)
		sleep(60);
	_exit(0);
}

static void test_pipes(void)
{
	struct errbuf err = { 0 };
	char want[256], *got = NULL;
	size_t len = 0;
	time_t started;
	pid_t pid;

	if (mkfifo(path_of("pipe"), 0600) < 0)
		bail("mkfifo");
	pid = fork_writer(path_of("pipe"), true);
	is_int(textfile_read(&got, &len, path_of("pipe"), 100, &err), 0,
	       "textfile_read: reads a pipe that is written in parts %s", err.text);
	is(got ? got : "", "part\npart\npart\n",
	   "textfile_read: reads to the end of a pipe written in parts");
	free(got);
	waitpid(pid, NULL, 0);
	pid = fork_writer(path_of("pipe"), false);
	started = time(NULL);
	is_int(textfile_read(&got, &len, path_of("pipe"), 100, &err), -1,
	       "textfile_read: gives up if a pipe stays open without more text");
	ok(time(NULL) - started < 40,
	   "textfile_read: gives up on a pipe that stays open within 40 seconds");
	snprintf(want, sizeof(want),
		 "%s: nothing more was written to this pipe within 10 seconds, and it was not "
		 "closed",
		 path_of("pipe"));
	is(err.text, want, "textfile_read: the message says that the pipe stayed open");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path_of("pipe"));
}

int main(void)
{
	struct rlimit capacity = { SPACE, RLIM_INFINITY };
	struct errbuf err = { 0 };
	bool unheard;
	int fd;

	if (!mkdtemp(dir))
		bail("mkdtemp");
	memset(text, 'x', sizeof(text));
	is_int(textfile_write(path_of("whole"), text, sizeof(text), &err), 0,
	       "textfile_write: writes a new file");
	is_int(size_of("whole"), sizeof(text), "textfile_write: the new file has the whole text");
	is_int(textfile_write(path_of("whole"), text, 5, &err), 0,
	       "textfile_write: writes a shorter text over an old file");
	is_int(size_of("whole"), 5, "textfile_write: nothing of the old text remains");
	ok(textfile_write(path_of("no/such"), text, 5, &err) < 0 &&
		   strstr(err.text, "no/such: No such file or directory"),
	   "textfile_write: the message names a missing directory: %s", err.text);
	is_int(textfile_write("/dev/full", text, 5, &err), -1,
	       "textfile_write: fails on a full device");
	is(err.text, "/dev/full: No space left on device",
	   "textfile_write: the message names a full device");
	ok(access("/dev/full", F_OK) == 0, "textfile_write: a device is not removed");

	test_pipes();
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &capacity) < 0)
		bail("setrlimit");
	is_int(textfile_write(path_of("new"), text, sizeof(text), &err), -1,
	       "textfile_write: fails if a new file does not fit");
	check_file_too_large("new", &err);
	ok(!is_there("new"), "textfile_write: removes a new file that does not fit");
	write_old_file("old");
	is_int(textfile_write(path_of("old"), text, sizeof(text), &err), -1,
	       "textfile_write: fails if the text does not fit into an old file");
	ok(!is_there("old"), "textfile_write: removes an old file if the new text does not fit");
	write_old_file("linked");
	if (symlink("linked", path_of("link")) < 0 || link(path_of("linked"), path_of("twin")) < 0)
		bail("links");
	is_int(textfile_write(path_of("link"), text, sizeof(text), &err), -1,
	       "textfile_write: fails if the text does not fit behind a symbolic link");
	check_file_too_large("link", &err);
	ok(is_there("link"), "textfile_write: keeps a symbolic link on failure");
	is_int(size_of("linked"), 0, "textfile_write: empties the link's target on failure");
	is_int(textfile_write(path_of("twin"), text, sizeof(text), &err), -1,
	       "textfile_write: fails if the text does not fit in a file with two names");
	ok(!is_there("twin") && size_of("linked") == 0,
	   "textfile_write: removes one of two names and empties the file");
	/* --svg=/dev/stdout >FILE makes a program write so */
	fd = open(path_of("opened"), O_RDWR | O_CREAT, 0600);
	snprintf(text, 64, "/proc/self/fd/%d", fd);
	if (fd < 0 || symlink(text, path_of("stream")) < 0)
		bail("stream");
	memset(text, 'x', 64);
	is_int(textfile_write(path_of("stream"), text, sizeof(text), &err), -1,
	       "textfile_write: fails if the text does not fit through /proc/self/fd");
	ok(is_there("stream") && size_of("opened") == 0,
	   "textfile_write: keeps a link to /proc/self/fd and empties the file");

	fd = dup(1);
	if (!freopen("/dev/full", "w", stdout))
		bail("freopen");
	unheard = textfile_write("-", text, 5, &err) == 0 || ferror(stdout);
	fflush(stdout);
	clearerr(stdout);
	if (dup2(fd, 1) < 0)
		bail("dup2");
	ok(!unheard,
	   "textfile_write: fails once on a full standard output, and clears the stream's error");
	is(err.text, "standard output: No space left on device",
	   "textfile_write: the message names standard output");

	for (int i = 0; i < 5; i++)
		unlink(path_of(
			(const char *[]){ "whole", "link", "linked", "stream", "opened" }[i]));
	is_int(rmdir(dir), 0, "textfile_write: leaves no temporary file");
	return tap_done();
}
