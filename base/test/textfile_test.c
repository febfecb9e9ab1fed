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

#define ROOM 4096 /* a limit of the file's size takes the place of a full disk in this test */

static char dir[] = "/tmp/textfile_test.XXXXXX";
static char text[3 * ROOM];

static const char *at(const char *name)
{
	static char path[2][128];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

/* Return the bytes of NAME, or -1 when there is no such file. */
static long long size_of(const char *name)
{
	struct stat st;

	return stat(at(name), &st) < 0 ? -1 : (long long)st.st_size;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) == 0;
}

static void make(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "before\n", 7) != 7 || close(fd) < 0)
		bail("%s", at(name));
}

static void told(const char *name, const struct errbuf *err)
{
	char want[256];

	snprintf(want, sizeof(want), "%s: File too large", at(name));
	is(err->text, want, "textfile_write: the message has file and reason");
}

/* Fork a process that writes three parts to the pipe PATH, and then closes it or keeps it open. */
static pid_t writer(const char *path, bool closes)
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

	if (mkfifo(at("pipe"), 0600) < 0)
		bail("mkfifo");
	pid = writer(at("pipe"), true);
	is_int(textfile_read(&got, &len, at("pipe"), 100, &err), 0,
	       "textfile_read: reads a pipe that is written in parts %s", err.text);
	is(got ? got : "", "part\npart\npart\n", "textfile_read: reads such a pipe to its end");
	free(got);
	waitpid(pid, NULL, 0);
	pid = writer(at("pipe"), false);
	started = time(NULL);
	is_int(textfile_read(&got, &len, at("pipe"), 100, &err), -1,
	       "textfile_read: gives up a pipe that stays open without more text");
	ok(time(NULL) - started < 40, "textfile_read: gives up such a pipe within 40 seconds");
	snprintf(want, sizeof(want),
		 "%s: nothing more was written to this pipe within 10 seconds, and it was not "
		 "closed",
		 at("pipe"));
	is(err.text, want, "textfile_read: the message says that the pipe stayed open");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(at("pipe"));
}

int main(void)
{
	struct rlimit room = { ROOM, RLIM_INFINITY };
	struct errbuf err = { 0 };
	bool unheard;
	int fd;

	if (!mkdtemp(dir))
		bail("mkdtemp");
	memset(text, 'x', sizeof(text));
	is_int(textfile_write(at("whole"), text, sizeof(text), &err), 0,
	       "textfile_write: writes a new file");
	is_int(size_of("whole"), sizeof(text), "textfile_write: the new file has the whole text");
	is_int(textfile_write(at("whole"), text, 5, &err), 0,
	       "textfile_write: writes a shorter text over an old file");
	is_int(size_of("whole"), 5, "textfile_write: nothing of the old text remains");
	ok(textfile_write(at("no/such"), text, 5, &err) < 0 &&
		   strstr(err.text, "no/such: No such file or directory"),
	   "textfile_write: the message names a missing directory: %s", err.text);
	is_int(textfile_write("/dev/full", text, 5, &err), -1,
	       "textfile_write: fails on a full device");
	is(err.text, "/dev/full: No space left on device",
	   "textfile_write: the message names a full device");
	ok(access("/dev/full", F_OK) == 0, "textfile_write: a device is not removed");

	test_pipes();
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &room) < 0)
		bail("setrlimit");
	is_int(textfile_write(at("new"), text, sizeof(text), &err), -1,
	       "textfile_write: fails without room for a new file");
	told("new", &err);
	ok(!is_there("new"), "textfile_write: a new file without room is removed");
	make("old");
	is_int(textfile_write(at("old"), text, sizeof(text), &err), -1,
	       "textfile_write: fails without room over an old file");
	ok(!is_there("old"), "textfile_write: an old file without room is removed");
	make("linked");
	if (symlink("linked", at("link")) < 0 || link(at("linked"), at("twin")) < 0)
		bail("links");
	is_int(textfile_write(at("link"), text, sizeof(text), &err), -1,
	       "textfile_write: fails without room at the target of a symbolic link");
	told("link", &err);
	ok(is_there("link"), "textfile_write: a failure keeps the link");
	is_int(size_of("linked"), 0, "textfile_write: a failure leaves the link's target empty");
	is_int(textfile_write(at("twin"), text, sizeof(text), &err), -1,
	       "textfile_write: fails without room in a file with two names");
	ok(!is_there("twin") && size_of("linked") == 0,
	   "textfile_write: one name is removed, and the file of the other is empty");
	/* as by: --svg=/dev/stdout >FILE */
	fd = open(at("opened"), O_RDWR | O_CREAT, 0600);
	snprintf(text, 64, "/proc/self/fd/%d", fd);
	if (fd < 0 || symlink(text, at("stream")) < 0)
		bail("stream");
	memset(text, 'x', 64);
	is_int(textfile_write(at("stream"), text, sizeof(text), &err), -1,
	       "textfile_write: fails without room through the name of an open file");
	ok(is_there("stream") && size_of("opened") == 0,
	   "textfile_write: the name of an open file stays, and the file is empty");

	fd = dup(1);
	if (!freopen("/dev/full", "w", stdout))
		bail("freopen");
	unheard = textfile_write("-", text, 5, &err) == 0 || ferror(stdout);
	fflush(stdout);
	clearerr(stdout);
	if (dup2(fd, 1) < 0)
		bail("dup2");
	ok(!unheard, "textfile_write: fails on a full standard output, and says so once");
	is(err.text, "standard output: No space left on device",
	   "textfile_write: the message names standard output");

	for (int i = 0; i < 5; i++)
		unlink(at((const char *[]){ "whole", "link", "linked", "stream", "opened" }[i]));
	is_int(rmdir(dir), 0, "textfile_write: no other file remains");
	return tap_done();
}
