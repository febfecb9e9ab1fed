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

#define ROOM 4096 /* bytes that a file may have here, in the place of a disk that is full */

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

/* Bytes of it, -1: it is not there. */
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
	is(err->text, want, "the message has file and reason");
}

/* Writes three parts to the pipe PATH, and closes it or does not. */
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

static void pipes(void)
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
	       "a pipe that is written in parts %s", err.text);
	is(got ? got : "", "part\npart\npart\n", "is read to its end");
	free(got);
	waitpid(pid, NULL, 0);
	pid = writer(at("pipe"), false);
	started = time(NULL);
	is_int(textfile_read(&got, &len, at("pipe"), 100, &err), -1,
	       "a pipe that stays open without more text is given up");
	ok(time(NULL) - started < 40, "within 40 seconds");
	snprintf(want, sizeof(want),
		 "%s: nothing more was written to this pipe within 10 seconds, and it was not "
		 "closed",
		 at("pipe"));
	is(err.text, want, "the message says that it stayed open");
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
	is_int(textfile_write(at("whole"), text, sizeof(text), &err), 0, "a text is written");
	is_int(size_of("whole"), sizeof(text), "all of it");
	is_int(textfile_write(at("whole"), text, 5, &err), 0, "and a shorter one over it");
	is_int(size_of("whole"), 5, "of which nothing else is left");
	ok(textfile_write(at("no/such"), text, 5, &err) < 0 &&
		   strstr(err.text, "no/such: No such file or directory"),
	   "where there is no directory: %s", err.text);
	is_int(textfile_write("/dev/full", text, 5, &err), -1, "where there is never any room");
	is(err.text, "/dev/full: No space left on device", "is told");
	ok(access("/dev/full", F_OK) == 0, "a device is not removed");

	pipes();
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &room) < 0)
		bail("setrlimit");
	is_int(textfile_write(at("new"), text, sizeof(text), &err), -1, "no room for a new file");
	told("new", &err);
	ok(!is_there("new"), "it is not there");
	make("old");
	is_int(textfile_write(at("old"), text, sizeof(text), &err), -1, "nor over an old one");
	ok(!is_there("old"), "which is not there, either");
	make("linked");
	if (symlink("linked", at("link")) < 0 || link(at("linked"), at("twin")) < 0)
		bail("links");
	is_int(textfile_write(at("link"), text, sizeof(text), &err), -1,
	       "nor in one that a symbolic link leads to");
	told("link", &err);
	ok(is_there("link"), "the link stays");
	is_int(size_of("linked"), 0, "what it leads to is empty");
	is_int(textfile_write(at("twin"), text, sizeof(text), &err), -1,
	       "nor in one with two names");
	ok(!is_there("twin") && size_of("linked") == 0, "the other one has no half of it");
	/* as in: --svg=/dev/stdout >FILE */
	fd = open(at("opened"), O_RDWR | O_CREAT, 0600);
	snprintf(text, 64, "/proc/self/fd/%d", fd);
	if (fd < 0 || symlink(text, at("stream")) < 0)
		bail("stream");
	memset(text, 'x', 64);
	is_int(textfile_write(at("stream"), text, sizeof(text), &err), -1,
	       "nor through a name of an open file");
	ok(is_there("stream") && size_of("opened") == 0, "which stays, and has no half of it");

	fd = dup(1);
	if (!freopen("/dev/full", "w", stdout))
		bail("freopen");
	unheard = textfile_write("-", text, 5, &err) == 0 || ferror(stdout);
	fflush(stdout);
	clearerr(stdout);
	if (dup2(fd, 1) < 0)
		bail("dup2");
	ok(!unheard, "standard output that is full");
	is(err.text, "standard output: No space left on device", "is called so, and told once");

	for (int i = 0; i < 5; i++)
		unlink(at((const char *[]){ "whole", "link", "linked", "stream", "opened" }[i]));
	is_int(rmdir(dir), 0, "nothing else is left");
	return tap_done();
}
